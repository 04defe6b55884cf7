//! Sessions that began elsewhere and that this program attaches to.

use mcp_protocol_machine::protocol::{Side, StateIndex, Text};
use mcp_protocol_machine::{Capabilities, Checker, TableError};

use super::names::announced;
use super::negotiation::version_at;
use super::state::{Engine, limits};
use crate::error::AnnouncedVersion;
use crate::options::{Announced, Resumed};

impl Engine {
    /// The session was begun elsewhere, and is in this state.
    pub(crate) fn resume(&mut self, state: StateIndex, resumed: &Resumed) -> Result<(), TableError> {
        self.checker = Checker::resume(&self.protocol, self.side, state)?.with_limits(limits(&self.options));
        self.calls.start_ids_at(resumed.id());
        self.resumed = true;
        self.govern_resumed(resumed);
        let protocol = self.protocol.clone();
        for (side, said) in [(Side::Client, &resumed.client), (Side::Server, &resumed.server)] {
            let capabilities = match said {
                Announced::Unknown => Capabilities::unknown(),
                Announced::Said(payload) => {
                    let own = protocol.announcements.iter().filter(|announcement| announcement.side == side);
                    let granted = own.flat_map(|announcement| {
                        let granted = announced(&protocol, announcement, Some(payload));
                        granted.gates(protocol.gates.len()).collect::<Vec<_>>()
                    });
                    granted.collect()
                }
            };
            self.checker.announce(side, capabilities);
        }
        Ok(())
    }

    /// Whether the session was begun elsewhere.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The version that was agreed on says which revision governs. One that this side does not speak is reported, and
    /// it is its own that governs.
    fn govern_resumed(&mut self, resumed: &Resumed) {
        let protocol = self.protocol.clone();
        let announced = || {
            let field = protocol.version_field.as_ref()?;
            let place = protocol.announcements.iter().find(|place| place.field.message == field.message)?;
            match if place.side == Side::Client { &resumed.client } else { &resumed.server } {
                Announced::Said(payload) => version_at(field, Some(payload)).as_deref().map(str::to_owned),
                Announced::Unknown => None,
            }
        };
        let agreed = resumed.version.clone().or_else(announced);
        if let Some(version) = &agreed {
            // No message carries the error to the program; the report does.
            let _ = self.look_at_version(AnnouncedVersion::Named(version.clone()), None);
            self.govern(version);
        }
        self.negotiation.agree(agreed.map(Text::Owned).or_else(|| self.protocol.version.clone()));
    }
}
