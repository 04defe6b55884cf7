//! The diamond: what both roles may send at once must be fine in either order.
//!
//! Judged on pairs of configurations in which the roles can meet. Where the client may send `a` and the server may
//! send `b`, each must accept the other's message after its own, and both orders must lead to the same place. A role that
//! may not send its own message any more after the other's has sent it before it heard of the other's: [`completion`]
//! follows where that leads. A cancellation is exempt against the replies of its own request, as long as all lead to the same place:
//! the late one is swallowed by its id.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Kind, Side};

use super::completion::Completion;
use super::machine::{Event, Locations, Machine};
use super::product::{Grouping, PRODUCT_LIMIT, Pair, PairIndex, TooMany, Walk};
use super::race::{COUNTED, Fault, Race, also};
use super::shared::{Shared, shared};
use super::{report, suspension, suspension_races, words};
use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;

/// How many races are reported; those after them mostly follow from them.
pub(super) const REPORTED: usize = 5;

/// Every race, the shortest first, up to a few. Empty if the roles have the diamond.
pub fn races(client: &Automaton, server: &Automaton, messages: &[Message]) -> Vec<Diagnostic> {
    let (client, server) = (Machine::new(client), Machine::new(server));
    let nothing_suspends = !suspension::may_suspend(&client) && !suspension::may_suspend(&server);
    if nothing_suspends && (client.is_half_duplex() || server.is_half_duplex()) {
        return Vec::new();
    }
    let walk = match explore(&client, &server, Grouping::Apart) {
        Ok(walk) => walk,
        Err(limit) => return vec![report::too_many(&client, &server, messages, &limit)],
    };
    let mut told: HashSet<(Event, Event)> = HashSet::new();
    let mut diagnostics = Vec::new();
    let mut completion = Completion::new(walk);
    while let Some(index) = completion.next() {
        let mut races = races_at(&completion, index, messages);
        if races.len() < MOST_AT_ONCE {
            races.retain(|race| !completion.complete(index, race));
        }
        races.truncate(COUNTED);
        races.retain(|race| told.insert(race.events()));
        let Some((first, others)) = races.split_first() else { continue };
        let way = completion.walk().way(index);
        let titles: Vec<String> = others.iter().map(|race| race.title(&way, messages)).collect();
        let report = first.report(completion.walk(), index, messages).standing_for(&titles);
        diagnostics.push(match also(others, messages) {
            Some(note) => report.with_note(note),
            None => report,
        });
        if diagnostics.len() == REPORTED {
            break;
        }
    }
    let walk = completion.walk();
    if let Some(limit) = completion.limit() {
        return vec![report::too_many(&client, &server, messages, limit)];
    }
    diagnostics.extend(suspension_races::races(walk, messages, REPORTED - diagnostics.len()));
    diagnostics
}

/// How many pairs of messages that may race are looked at in one place.
const MOST_AT_ONCE: usize = 10_000;

/// Every pair in which the roles can meet, grouped as asked.
pub(super) fn explore<'a, 'b>(
    client: &'b Machine<'a>,
    server: &'b Machine<'a>,
    grouping: Grouping,
) -> Result<Walk<'a, 'b>, TooMany> {
    let mut walk = Walk::pairs(client, server, grouping, PRODUCT_LIMIT)?;
    while let Some(index) = walk.next() {
        for both in shared(&walk, index) {
            walk.follow(index, &both.client, &both.server)?;
        }
    }
    Ok(walk)
}

/// Every race of a place, in the order of the messages.
fn races_at(completion: &Completion<'_, '_>, index: PairIndex, messages: &[Message]) -> Vec<Race> {
    let mut races = Vec::new();
    let walk = completion.walk();
    let Some(pair) = walk.pair(index) else { return races };
    let shared = completion.moves(index);
    let after = |both: &Shared| {
        (
            walk.client.step(&pair.client.locations, &both.client),
            walk.server.step(&pair.server.locations, &both.server),
        )
    };
    let (clients, servers): (Vec<_>, Vec<_>) = shared
        .iter()
        .map(|both| (both, after(both)))
        .partition(|(both, _)| both.event().sender == Side::Client);
    // Of two messages that change nothing neither is in the other's way.
    let moving: Vec<_> = servers.iter().filter(|(both, _)| !both.is_loop()).collect();
    let all: Vec<_> = servers.iter().collect();
    for (from_client, after_client) in &clients {
        for (from_server, after_server) in if from_client.is_loop() { &moving } else { &all } {
            if !from_client.client.is_linear() && !from_server.client.is_linear() {
                continue;
            }
            if after_client == after_server && is_exempt(from_client, from_server, messages) {
                continue;
            }
            let fault = fault(walk, &pair, from_client, from_server, after_client, after_server);
            if let Some(fault) = fault {
                let (pair, from_client, from_server) = (pair.clone(), **from_client, **from_server);
                let (after_client, after_server) = (after_client.clone(), after_server.clone());
                races.push(Race { pair, from_client, from_server, fault, after_client, after_server });
                if races.len() == MOST_AT_ONCE {
                    return races;
                }
            }
        }
    }
    races
}

/// Whether one cancels a request and the other is that request's reply or refusal.
fn is_exempt(from_client: &Shared, from_server: &Shared, messages: &[Message]) -> bool {
    let pair = [(from_client, from_server), (from_server, from_client)];
    pair.iter().any(|(cancel, reply)| {
        let request = match words::kind(messages, reply.event().message) {
            Some(Kind::Reply { request } | Kind::Refusal { request }) => request,
            _ => return false,
        };
        cancel.event().cancels == Some(request)
    })
}

fn fault(
    walk: &Walk<'_, '_>,
    pair: &Pair,
    from_client: &Shared,
    from_server: &Shared,
    after_client: &(Locations, Locations),
    after_server: &(Locations, Locations),
) -> Option<Fault> {
    let (client, server) = (walk.client, walk.server);
    let (sent, answered) = (from_client.event(), from_server.event());
    let ends = Ends { walk, pair };
    if let Some(found) = ends
        .crossed(Side::Server, after_server, after_client, from_client.is_loop(), answered)
        .or_else(|| ends.crossed(Side::Client, after_client, after_server, from_server.is_loop(), sent))
    {
        return found;
    }
    let Some(client_accepts) = client.find(&after_client.0, answered) else {
        return Some(Fault::Refuses(Side::Client));
    };
    let Some(server_accepts) = server.find(&after_server.1, sent) else {
        return Some(Fault::Refuses(Side::Server));
    };
    let Some(client_sends) = client.find(&after_server.0, sent) else {
        return Some(Fault::Lags(Side::Client));
    };
    let Some(server_sends) = server.find(&after_client.1, answered) else {
        return Some(Fault::Lags(Side::Server));
    };
    let agree = client.step(&after_client.0, &client_accepts) == client.step(&after_server.0, &client_sends)
        && server.step(&after_client.1, &server_sends) == server.step(&after_server.1, &server_accepts)
        && from_client.client.does_same(&client_sends)
        && from_client.server.does_same(&server_accepts)
        && from_server.client.does_same(&client_accepts)
        && from_server.server.does_same(&server_sends);
    (!agree).then_some(Fault::Parts)
}

/// Where a message ends the sub-session that it is of, in the view of one pair.
struct Ends<'w, 'a, 'b> {
    walk: &'w Walk<'a, 'b>,
    pair: &'w Pair,
}

impl Ends<'_, '_, '_> {
    fn is_over(&self, side: Side, locations: &Locations) -> bool {
        self.walk.is_over(self.pair, self.walk.machine(side), locations)
    }

    fn are_over(&self, after: &(Locations, Locations)) -> bool {
        self.is_over(Side::Client, &after.0) && self.is_over(Side::Server, &after.1)
    }

    /// Whether a message ends the sub-session for a role; nothing if the role does not have it.
    fn ends(&self, side: Side, before: &(Locations, Locations), event: Event) -> Option<bool> {
        let before = if side == Side::Client { &before.0 } else { &before.1 };
        let machine = self.walk.machine(side);
        let step = machine.find(before, event)?;
        Some(self.is_over(side, &machine.step(before, &step)))
    }

    /// What is wrong where a message of `sender` ends the sub-session and crosses another one, if that can be said
    /// without what comes late. The sub-session swallows the other one if it ends in either order: by the same message,
    /// which the sender may not have any more after the other one, or by both.
    fn crossed(
        &self,
        sender: Side,
        ended: &(Locations, Locations),
        after_other: &(Locations, Locations),
        other_is_loop: bool,
        ending: Event,
    ) -> Option<Option<Fault>> {
        if !self.are_over(ended) {
            return None;
        }
        if other_is_loop || self.are_over(after_other) {
            return Some(None);
        }
        match (self.ends(sender.other(), after_other, ending), self.ends(sender, after_other, ending)) {
            (Some(true), Some(true)) => Some(None),
            (Some(true), None) => Some(Some(Fault::Lags(sender))),
            _ => None,
        }
    }
}
