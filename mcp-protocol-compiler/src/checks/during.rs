//! `during`: the requests that it names are sent by the other side than the message, and may run where it stands.

use std::collections::{BTreeSet, HashSet};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};

use super::not_running;
use crate::compiled::Compiled;
use crate::declarations::During;
use crate::diagnostic::{Diagnostic, Edit};
use crate::findings::during::never_runs;
use crate::source::Span;

/// Looks at every message that a role can send or receive; what no session type has is not looked at.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    if declarations.messages.iter().all(|message| message.during.is_empty()) {
        return Vec::new();
    }
    let mut said: BTreeSet<(Side, MessageIndex)> = BTreeSet::new();
    for machine in compiled.client.iter().chain(&compiled.server) {
        for edge in machine.states.iter().flat_map(|state| &state.edges) {
            let sender = match edge.direction {
                Direction::Send => machine.side,
                Direction::Receive => machine.side.other(),
            };
            said.insert((sender, edge.message));
        }
    }
    let mut found = Vec::new();
    let mut reported: HashSet<Span> = HashSet::new();
    for (index, message) in declarations.indices().zip(&declarations.messages) {
        let senders = [Side::Client, Side::Server].into_iter().filter(|side| said.contains(&(*side, index)));
        let senders: Vec<Side> = senders.collect();
        let Some(sender) = senders.first().copied() else { continue };
        for during in &message.during {
            for (place, (name, requests)) in during.names.iter().enumerate() {
                let asks = |side: &Side| requests.iter().any(|request| said.contains(&(*side, *request)));
                if senders.iter().any(|sender| asks(&sender.other())) || !reported.insert(name.span) {
                    continue;
                }
                found.push(never_runs(name, message, sender, asks(&sender), without(during, place)));
            }
        }
    }
    if found.is_empty() { not_running::check(compiled) } else { found }
}

/// The edit that deletes a name with the `|` next to it, and whether that leaves nothing of the modifier.
fn without(during: &During, place: usize) -> (Edit, bool) {
    let span = |place: usize| during.names.get(place).map(|(name, _)| name.span);
    let own = span(place).unwrap_or(during.span);
    match (place.checked_sub(1).and_then(span), span(place + 1)) {
        (Some(before), _) => (Edit::delete(before.after().to(own)), false),
        (None, Some(next)) => (Edit::delete(Span { end: next.start, ..own }), false),
        (None, None) => (Edit::delete(during.span), true),
    }
}
