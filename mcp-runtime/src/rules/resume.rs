//! Sessions that began elsewhere: the state, the version, and the capabilities that are known of them.

use mcp_protocol_machine::protocol::{Side, StateIndex, Text};
use mcp_protocol_machine::{Capabilities, TableError};

use super::names::announced;
use super::{Rules, checker, version};
use crate::error::{AnnouncedVersion, Error};
use crate::options::{Announced, Resumed};

/// The session was begun elsewhere, and is in this state. Gives what is wrong with the version that was agreed on,
/// if this side does not speak it.
///
/// # Errors
/// If the tables have no such state.
pub(crate) fn resume(
    rules: &mut Rules,
    state: StateIndex,
    resumed: &Resumed,
) -> Result<Option<Error>, TableError> {
    rules.checker = checker(&rules.protocol, rules.side, state, &rules.options)?;
    let unusable = govern_resumed(rules, resumed);
    for (side, said) in [(Side::Client, &resumed.client), (Side::Server, &resumed.server)] {
        let capabilities = match said {
            Announced::Unknown => Capabilities::unknown(),
            Announced::Said(payload) => granted(rules, side, payload),
        };
        rules.checker.announce(side, capabilities);
    }
    Ok(unusable)
}

/// The session is in this state, and nothing is known of what has happened before.
///
/// # Errors
/// If the tables have no such state.
pub(crate) fn begin_in(rules: &mut Rules, state: StateIndex) -> Result<(), TableError> {
    rules.checker = checker(&rules.protocol, rules.side, state, &rules.options)?;
    rules.checker.announce(Side::Client, Capabilities::unknown());
    rules.checker.announce(Side::Server, Capabilities::unknown());
    Ok(())
}

/// What a side has announced with that payload.
fn granted(rules: &Rules, side: Side, payload: &str) -> Capabilities {
    let own = rules.protocol.announcements.iter().filter(|announcement| announcement.side == side);
    let granted = own.flat_map(|announcement| {
        let granted = announced(&rules.protocol, announcement, Some(payload));
        granted.gates(rules.protocol.gates.len()).collect::<Vec<_>>()
    });
    granted.collect()
}

/// The version that was agreed on says which revision governs. Where this side does not speak it, its own governs.
fn govern_resumed(rules: &mut Rules, resumed: &Resumed) -> Option<Error> {
    let announced = || {
        let field = rules.protocol.announced_version()?;
        let place = rules.protocol.announcements.iter().find(|place| place.message == Some(field.message))?;
        match if place.side == Side::Client { &resumed.client } else { &resumed.server } {
            Announced::Said(payload) => {
                version::at(rules, field, Some(payload.as_str())).as_deref().map(str::to_owned)
            }
            Announced::Unknown => None,
        }
    };
    let agreed = resumed.version.clone().or_else(announced);
    let mut unusable = None;
    if let Some(version) = &agreed {
        unusable = version::look_at(rules, AnnouncedVersion::Named(version.clone()), None);
        version::govern(rules, version);
    }
    rules.negotiation.agree(agreed.map(Text::Owned).or_else(|| rules.protocol.version.clone()));
    unusable
}
