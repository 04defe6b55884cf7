//! Messages that suspend a step of a sub-session which the other role may just have sent.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Side;

use super::machine::Event;
use super::product::{PairIndex, Walk};
use super::report;
use super::shared::{Shared, shared};
use super::suspension::{goes_on, may_suspend};
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;

/// Every message that suspends sub-sessions while a step of one may be on its way to its sender, the nearest first.
pub(super) fn races(walk: &Walk<'_, '_>, messages: &[Message], most: usize) -> Vec<Diagnostic> {
    let mut told: HashSet<Event> = HashSet::new();
    let mut found = Vec::new();
    if !may_suspend(walk.client) && !may_suspend(walk.server) {
        return found;
    }
    for index in walk.all().filter(|index| walk.extent(*index).is_some_and(|extent| !extent.is_body())) {
        for both in shared(walk, index) {
            if found.len() == most {
                return found;
            }
            if let Some(race) = race(walk, index, &both, messages)
                && told.insert(both.event())
            {
                found.push(race);
            }
        }
    }
    found
}

/// Whether the receiver of a message may have gone on with a sub-session that is suspended for its sender from then on,
/// or that its own machine has suspended before its program knows.
fn race(walk: &Walk<'_, '_>, index: PairIndex, both: &Shared, messages: &[Message]) -> Option<Diagnostic> {
    let pair = walk.pair(index)?;
    let sender = both.event().sender;
    let peer = sender.other();
    let client_after = walk.client.step(&pair.client.locations, &both.client);
    let server_after = walk.server.step(&pair.server.locations, &both.server);
    let (machine, from, after, senders, senders_after, step) = match sender {
        Side::Client => {
            (walk.server, &pair.server.locations, &server_after, walk.client, &client_after, both.client)
        }
        Side::Server => {
            (walk.client, &pair.client.locations, &client_after, walk.server, &server_after, both.server)
        }
    };
    let fine = !goes_on(machine, from, peer)
        || (goes_on(senders, senders_after, peer) && goes_on(machine, after, peer));
    if fine {
        return None;
    }
    Some(report::suspends(walk, index, &step, (machine, from), (senders, senders_after), messages))
}
