//! Sessions that began elsewhere: the state, the version, and the capabilities that are known of them.

use mcp_protocol_machine::protocol::{Side, StateIndex, Text};
use mcp_protocol_machine::{Capabilities, TableError};

use super::names::announced;
use super::{Rules, checker};
use crate::error::{AnnouncedVersion, Error};
use crate::options::{Announced, Resumed};

impl Rules {
    /// The session was begun elsewhere, and is in this state. Gives what is wrong with the version that was agreed on,
    /// if this side does not speak it.
    ///
    /// # Errors
    /// If the tables have no such state.
    pub(crate) fn resume(
        &mut self,
        state: StateIndex,
        resumed: &Resumed,
    ) -> Result<Option<Error>, TableError> {
        self.checker = checker(&self.protocol, self.side, state, &self.options)?;
        let unusable = self.govern_resumed(resumed);
        for (side, said) in [(Side::Client, &resumed.client), (Side::Server, &resumed.server)] {
            let capabilities = match said {
                Announced::Unknown => Capabilities::unknown(),
                Announced::Said(payload) => self.granted(side, payload),
            };
            self.checker.announce(side, capabilities);
        }
        Ok(unusable)
    }

    /// The session is in this state, and nothing is known of what has happened before.
    ///
    /// # Errors
    /// If the tables have no such state.
    pub(crate) fn begin_in(&mut self, state: StateIndex) -> Result<(), TableError> {
        self.checker = checker(&self.protocol, self.side, state, &self.options)?;
        self.checker.announce(Side::Client, Capabilities::unknown());
        self.checker.announce(Side::Server, Capabilities::unknown());
        Ok(())
    }

    /// What a side has announced with that payload.
    fn granted(&self, side: Side, payload: &str) -> Capabilities {
        let own = self.protocol.announcements.iter().filter(|announcement| announcement.side == side);
        let granted = own.flat_map(|announcement| {
            let granted = announced(&self.protocol, announcement, Some(payload));
            granted.gates(self.protocol.gates.len()).collect::<Vec<_>>()
        });
        granted.collect()
    }

    /// The version that was agreed on says which revision governs. Where this side does not speak it, its own governs.
    fn govern_resumed(&mut self, resumed: &Resumed) -> Option<Error> {
        let announced = || {
            let field = self.protocol.announced_version()?;
            let place =
                self.protocol.announcements.iter().find(|place| place.message == Some(field.message))?;
            match if place.side == Side::Client { &resumed.client } else { &resumed.server } {
                Announced::Said(payload) => {
                    self.version_at(field, Some(payload.as_str())).as_deref().map(str::to_owned)
                }
                Announced::Unknown => None,
            }
        };
        let agreed = resumed.version.clone().or_else(announced);
        let mut unusable = None;
        if let Some(version) = &agreed {
            unusable = self.look_at_version(AnnouncedVersion::Named(version.clone()), None);
            self.govern(version);
        }
        self.negotiation.agree(agreed.map(Text::Owned).or_else(|| self.protocol.version.clone()));
        unusable
    }
}
