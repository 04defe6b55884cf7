//! The diamond: what both roles may send at once must be fine in either order.
//!
//! In: two automata, after [`super::close`]. Out: the shortest races, with the remedy that fits. Refuses to relate
//! the roles: what only one of them has is no race.
//!
//! Judged on pairs of configurations in which the roles can meet. Where the client may send `a` and the server may
//! send `b`, each must accept the other's message after its own, either role must still be able to send its own
//! after the other's (its program lags behind the wire and may send it then), and both orders must lead to the same
//! place. A cancellation is exempt against the replies of its own request, as long as all lead to the same place:
//! the late one is swallowed by its id.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Action, Kind, Origin, Side};

use super::disagreement::matched;
use super::machine::{Event, Locations, Machine, Move};
use super::product::{Grouping, Pair, PairIndex, TooMany, Walk};
use super::{RACE, report, resting, words};
use crate::automaton::Automaton;
use crate::diagnostic::Diagnostic;
use crate::resolve::Message;

/// How many races are reported; those after them mostly follow from them.
pub(super) const REPORTED: usize = 5;

/// How many races of one place are counted; in a wide choice all might race with all.
const COUNTED: usize = 100;

/// Every race, the shortest first, up to a few. Empty if the roles have the diamond.
pub fn races(client: &Automaton, server: &Automaton, messages: &[Message]) -> Vec<Diagnostic> {
    let (client, server) = (Machine::new(client), Machine::new(server));
    let walk = match explore(&client, &server) {
        Ok(walk) => walk,
        Err(limit) => return vec![report::too_many(&client, &server, &limit)],
    };
    let mut told: HashSet<(Event, Event)> = HashSet::new();
    let mut diagnostics = Vec::new();
    for index in walk.all() {
        if walk.is_split(index) {
            continue;
        }
        let mut races = races_at(&walk, index, messages);
        races.retain(|race| told.insert(race.events()));
        let Some((first, others)) = races.split_first() else { continue };
        let report = first.report(&walk, index, messages);
        diagnostics.push(match also(others, messages) {
            Some(note) => report.with_note(note),
            None => report,
        });
        if diagnostics.len() == REPORTED {
            break;
        }
    }
    diagnostics.extend(resting::races(&walk, messages, REPORTED - diagnostics.len()));
    diagnostics
}

/// Every pair in which the roles can meet.
pub(super) fn explore<'a, 'b>(
    client: &'b Machine<'a>,
    server: &'b Machine<'a>,
) -> Result<Walk<'a, 'b>, TooMany> {
    let mut walk = Walk::pairs(client, server, Grouping::Apart)?;
    while let Some(index) = walk.next() {
        for both in shared(&walk, index) {
            walk.follow(index, &both.client, &both.server)?;
        }
    }
    Ok(walk)
}

/// A move that both roles have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) client: Move,
    pub(super) server: Move,
}

impl Shared {
    pub(super) fn event(&self) -> Event {
        self.client.arrow.event
    }

    pub(super) fn is_loop(&self) -> bool {
        self.client.is_loop() && self.server.is_loop()
    }
}

/// The moves that both roles have in a pair. An edge added by closing the diamond counts only where it returns to
/// the same place on both sides: elsewhere it belongs to another pair.
pub(super) fn shared(walk: &Walk<'_, '_>, index: PairIndex) -> Vec<Shared> {
    let (client, server) = walk.moves(index);
    let closed = |step: &Move| step.arrow.origin == Origin::Closure;
    matched(&client, &server)
        .into_iter()
        .filter_map(|found| Some(Shared { client: found.client?, server: found.server? }))
        .filter(|both| both.client.is_linear() == both.server.is_linear())
        .filter(|both| both.is_loop() || !(closed(&both.client) || closed(&both.server)))
        .collect()
}

/// Why two messages may not cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// This role does not accept the other's message after its own.
    Refuses(Side),
    /// This role may not send its own message any more after the other's.
    Lags(Side),
    /// The roles end in different places, depending on the order.
    Parts,
}

struct Race {
    pair: Pair,
    from_client: Shared,
    from_server: Shared,
    fault: Fault,
    after_client: (Locations, Locations),
    after_server: (Locations, Locations),
}

/// The other races of a place, in one note.
fn also(others: &[Race], messages: &[Message]) -> Option<String> {
    const NAMED: usize = 4;
    let name = |event: Event| words::name(messages, event.message);
    let named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|race| format!("`{}` and `{}`", name(race.events().0), name(race.events().1)))
        .collect();
    match others.len().saturating_sub(NAMED) {
        _ if others.is_empty() => None,
        0 => Some(format!("the same place has more races: {}", named.join("; "))),
        _ if others.len() + 1 == COUNTED => {
            Some(format!("the same place has many more races: {}; …", named.join("; ")))
        }
        more => Some(format!("the same place has more races: {}; and {more} more", named.join("; "))),
    }
}

/// Every race of a place, in the order of the messages.
fn races_at(walk: &Walk<'_, '_>, index: PairIndex, messages: &[Message]) -> Vec<Race> {
    let mut races = Vec::new();
    let Some(pair) = walk.pair(index) else { return races };
    let shared = shared(walk, index);
    let mut sides: [Vec<Shared>; 2] = [Vec::new(), Vec::new()];
    for both in shared {
        let [clients, servers] = &mut sides;
        if both.event().sender == Side::Client { clients.push(both) } else { servers.push(both) }
    }
    let [clients, servers] = &sides;
    let step = |both: &Shared| {
        (
            walk.client.step(&pair.client.locations, &both.client),
            walk.server.step(&pair.server.locations, &both.server),
        )
    };
    for from_client in clients {
        for from_server in servers {
            if !from_client.client.is_linear() && !from_server.client.is_linear() {
                continue;
            }
            let (after_client, after_server) = (step(from_client), step(from_server));
            if is_exempt(from_client, from_server, messages) && after_client == after_server {
                continue;
            }
            let fault = fault(walk, from_client, from_server, &after_client, &after_server);
            if let Some(fault) = fault {
                let (pair, from_client, from_server) = (pair.clone(), *from_client, *from_server);
                races.push(Race { pair, from_client, from_server, fault, after_client, after_server });
                if races.len() == COUNTED {
                    return races;
                }
            }
        }
    }
    races
}

/// Whether one cancels a request and the other is that request's reply or refusal. In a state that waits for a
/// reply only one request of its channel is open.
fn is_exempt(from_client: &Shared, from_server: &Shared, messages: &[Message]) -> bool {
    let pair = [(from_client, from_server), (from_server, from_client)];
    pair.iter().any(|(cancel, reply)| {
        let request = match words::kind(messages, reply.event().message) {
            Some(Kind::Reply { request } | Kind::Refusal { request }) => request,
            _ => return false,
        };
        cancel.client.arrow.origin == Origin::Cancel
            && cancel.client.from == reply.client.from
            && messages.get(usize::from(request.0)).is_some_and(|message| message.table.cancellable)
    })
}

fn fault(
    walk: &Walk<'_, '_>,
    from_client: &Shared,
    from_server: &Shared,
    after_client: &(Locations, Locations),
    after_server: &(Locations, Locations),
) -> Option<Fault> {
    let (client, server) = (walk.client, walk.server);
    let (sent, answered) = (from_client.event(), from_server.event());
    // A copy that the one message ends swallows the other, which would have changed nothing.
    let over = |after: &(Locations, Locations)| client.is_over(&after.0) && server.is_over(&after.1);
    if over(after_client) && from_server.is_loop() || over(after_server) && from_client.is_loop() {
        return None;
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
    let same_copy = |one: &Move, other: &Move| match (one.arrow.action, other.arrow.action) {
        (Action::Spawn(one), Action::Spawn(other)) => one == other,
        (Action::Step(_), Action::Step(_)) => true,
        _ => false,
    };
    let agree = client.step(&after_client.0, &client_accepts) == client.step(&after_server.0, &client_sends)
        && server.step(&after_client.1, &server_sends) == server.step(&after_server.1, &server_accepts)
        && same_copy(&from_client.client, &client_sends)
        && same_copy(&from_client.server, &server_accepts)
        && same_copy(&from_server.client, &client_accepts)
        && same_copy(&from_server.server, &server_sends);
    (!agree).then_some(Fault::Parts)
}

impl Race {
    /// What the client sends and what the server sends.
    fn events(&self) -> (Event, Event) {
        (self.from_client.event(), self.from_server.event())
    }

    fn report(&self, walk: &Walk<'_, '_>, index: PairIndex, messages: &[Message]) -> Diagnostic {
        let (one, other) = self.events();
        let (first, second) = (words::name(messages, one.message), words::name(messages, other.message));
        let way = walk.way(index);
        let client = words::place(walk.client, &self.pair.client.locations);
        let server = words::place(walk.server, &self.pair.server.locations);
        let diagnostic = Diagnostic::error(
            RACE,
            self.from_client.client.arrow.span,
            format!(
                "`{first}` and `{second}` race: {}, the client may send `{first}` while the server sends `{second}`",
                words::way(messages, &way)
            ),
        )
        .label(format!("the client may send `{first}`, in {client}"))
        .also(self.from_server.server.arrow.span, format!("the server may send `{second}`, in {server}"))
        .with_note(self.consequence(walk, first, second));
        let diagnostic = match words::seen_from(&way) {
            Some(note) => diagnostic.with_note(note),
            None => diagnostic,
        };
        diagnostic.help(self.remedy(walk, messages))
    }

    fn consequence(&self, walk: &Walk<'_, '_>, first: &str, second: &str) -> String {
        let client = |locations: &Locations| words::place(walk.client, locations);
        let server = |locations: &Locations| words::place(walk.server, locations);
        match self.fault {
            Fault::Refuses(Side::Client) => format!(
                "having sent `{first}`, the client is in {}, which does not accept `{second}`",
                client(&self.after_client.0)
            ),
            Fault::Refuses(Side::Server) => format!(
                "having sent `{second}`, the server is in {}, which does not accept `{first}`",
                server(&self.after_server.1)
            ),
            Fault::Lags(Side::Client) => format!(
                "when `{second}` has arrived, the client is in {}, which may not send `{first}` any more",
                client(&self.after_server.0)
            ),
            Fault::Lags(Side::Server) => format!(
                "when `{first}` has arrived, the server is in {}, which may not send `{second}` any more",
                server(&self.after_client.1)
            ),
            Fault::Parts => {
                "each accepts the other's message, but where that leads depends on which came first"
                    .to_owned()
            }
        }
    }

    /// The remedy that fits. What changes nothing for its sender can become a loop in the places that lack it; two
    /// that both lead back to where they started are independent, and belong in channels of their own; else one of
    /// them has to wait for the other.
    fn remedy(&self, walk: &Walk<'_, '_>, messages: &[Message]) -> String {
        let (one, other) = (&self.from_client, &self.from_server);
        let (first, second) =
            (words::name(messages, one.event().message), words::name(messages, other.event().message));
        if one.is_loop() && !other.is_loop() {
            let place = words::place(walk.server, &self.after_server.1);
            return format!(
                "let `{first}` return to the same state in {place}, too, or use another message there"
            );
        }
        if other.is_loop() && !one.is_loop() {
            let place = words::place(walk.client, &self.after_client.0);
            return format!(
                "let `{second}` return to the same state in {place}, too, or use another message there"
            );
        }
        if self.returns(walk, one) && self.returns(walk, other) {
            return format!(
                "the two do not depend on each other: give `{second}` a channel of its own beside the other, `( …, … )`, \
                 or a `*`"
            );
        }
        format!(
            "let one of them wait for the other: have the server send `{second}` only when the client asked for it, \
             or have `{first}` acknowledged and `{second}` sent after that"
        )
    }

    /// Whether a message leads back to the pair it left, by moves that both roles have.
    fn returns(&self, walk: &Walk<'_, '_>, both: &Shared) -> bool {
        let step = |from: &Pair, both: &Shared| {
            (
                walk.client.step(&from.client.locations, &both.client),
                walk.server.step(&from.server.locations, &both.server),
            )
        };
        let home = (self.pair.client.locations.clone(), self.pair.server.locations.clone());
        let mut waiting = vec![step(&self.pair, both)];
        let mut seen: HashSet<_> = waiting.iter().cloned().collect();
        // A remedy is worth a short search only.
        while let Some((client, server)) = waiting.pop() {
            if (&client, &server) == (&home.0, &home.1) {
                return true;
            }
            if seen.len() > 1000 {
                return false;
            }
            let (from_client, from_server) = (walk.client.moves(&client), walk.server.moves(&server));
            for found in matched(&from_client, &from_server) {
                let (Some(one), Some(other)) = (found.client, found.server) else { continue };
                if !one.is_linear() || !other.is_linear() {
                    continue;
                }
                let next = (walk.client.step(&client, &one), walk.server.step(&server, &other));
                if seen.insert(next.clone()) {
                    waiting.push(next);
                }
            }
        }
        false
    }
}
