//! Describes races: which messages cross, what follows, and what to type.

use std::collections::{HashSet, VecDeque};

use mcp_protocol_machine::protocol::{Action, Direction, Kind, Side, StateKind};

use super::disagreement::matched;
use super::machine::{Event, Locations, Machine, RoleEdge};
use super::outcome::RACE;
use super::product::{Pair, PairIndex, Walk};
use super::remedy::{Remedy, SHOWN, accept, answers, author, ending_exchange, exchange, stands_alone};
use super::shared::Shared;
use super::{roles, words};
use crate::declarations::Message;
use crate::diagnostic::{Diagnostic, Edit};

/// How many races of one place are counted; in a wide choice all might race with all.
pub(super) const COUNTED: usize = 100;

/// Why two messages may not cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// This role does not accept the other's message after its own.
    Refuses(Side),
    /// This role may not send its own message any more after the other's.
    Lags(Side),
    /// The roles end in different places, depending on the order.
    Parts,
}

/// Two messages that may cross, and where each leads.
pub(super) struct Race {
    pub(super) pair: Pair,
    pub(super) from_client: Shared,
    pub(super) from_server: Shared,
    pub(super) fault: Fault,
    pub(super) after_client: (Locations, Locations),
    pub(super) after_server: (Locations, Locations),
}

/// The other races of a place, in one note.
pub(super) fn also(others: &[Race], messages: &[Message]) -> Option<String> {
    const NAMED: usize = 4;
    let name = |event: Event| words::name(messages, event.message);
    let named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|race| format!("`{}` and `{}`", name(race.events().0), name(race.events().1)))
        .collect();
    match others.len().saturating_sub(NAMED) {
        _ if others.is_empty() => None,
        0 => {
            Some(format!("the same place has more races, to be mended each by itself: {}", named.join("; ")))
        }
        _ if others.len() + 1 == COUNTED => Some(format!(
            "the same place has many more races, to be mended each by itself: {}; …",
            named.join("; ")
        )),
        more => Some(format!(
            "the same place has more races, to be mended each by itself: {}; and {more} more",
            named.join("; ")
        )),
    }
}

impl Race {
    /// What the client sends and what the server sends.
    pub(super) fn events(&self) -> (Event, Event) {
        (self.from_client.event(), self.from_server.event())
    }

    /// What is wrong, in one line.
    pub(super) fn title(&self, way: &[Event], messages: &[Message]) -> String {
        let (one, other) = self.events();
        let (first, second) = (words::name(messages, one.message), words::name(messages, other.message));
        format!(
            "`{first}` and `{second}` race: {}, the client may send `{first}` while the server sends `{second}`",
            words::way(messages, way)
        )
    }

    pub(super) fn report(&self, walk: &Walk<'_, '_>, index: PairIndex, messages: &[Message]) -> Diagnostic {
        let (one, other) = self.events();
        let (first, second) = (words::name(messages, one.message), words::name(messages, other.message));
        let way = walk.way(index);
        let start = way.is_empty();
        let client = words::within(walk.client, &self.pair.client.locations, start);
        let server = words::within(walk.server, &self.pair.server.locations, start);
        let diagnostic =
            Diagnostic::error(RACE, self.from_client.client.arrow.span, self.title(&way, messages))
                .label(format!("the client may send `{first}`, {client}"))
                .also(
                    self.from_server.server.arrow.span,
                    format!("the server may send `{second}`, {server}"),
                );
        let diagnostic = match self.other_body(walk) {
            Some(other) => {
                let (name, there) = (words::name(messages, other.event.message), self.behind(walk, &other));
                diagnostic.also(other.span, format!("{there}, `{name}` opens this sub-session instead"))
            }
            None => diagnostic,
        };
        let diagnostic = diagnostic.with_note(self.consequence(walk, messages));
        let diagnostic = match words::seen_from(&way) {
            Some(note) => diagnostic.with_note(note),
            None => diagnostic,
        };
        let Remedy { first, second, edits, changes, otherwise } = self.remedy(walk, index, messages);
        let diagnostic = match changes.is_empty() {
            true => diagnostic.suggest(first, edits).of_state(),
            false => diagnostic.changes(first, changes),
        };
        let diagnostic = match otherwise {
            Some(otherwise) => diagnostic.otherwise(otherwise),
            None => diagnostic,
        };
        match second {
            Some(second) => diagnostic.help(second),
            None => diagnostic,
        }
    }

    fn consequence(&self, walk: &Walk<'_, '_>, messages: &[Message]) -> String {
        let (one, other) = self.events();
        let (first, second) = (words::name(messages, one.message), words::name(messages, other.message));
        let client = |locations: &Locations| situation(walk.client, messages, locations);
        let server = |locations: &Locations| situation(walk.server, messages, locations);
        match self.fault {
            Fault::Refuses(Side::Client) => format!(
                "having sent `{first}`, the client {} and does not accept `{second}`",
                client(&self.after_client.0)
            ),
            Fault::Refuses(Side::Server) => format!(
                "having sent `{second}`, the server {} and does not accept `{first}`",
                server(&self.after_server.1)
            ),
            Fault::Lags(Side::Client) => format!(
                "when `{second}` has arrived, the client {} and may not send `{first}` any more",
                client(&self.after_server.0)
            ),
            Fault::Lags(Side::Server) => format!(
                "when `{first}` has arrived, the server {} and may not send `{second}` any more",
                server(&self.after_client.1)
            ),
            Fault::Parts if self.other_body(walk).is_some() => {
                "if they cross, one role opens one of the sub-sessions and the other role the other one"
                    .to_owned()
            }
            Fault::Parts => match self.undone(walk) {
                Some(undone) => undone.consequence(messages),
                None => "each accepts the other's message, but where that leads depends on which came first"
                    .to_owned(),
            },
        }
    }

    /// The remedy that fits. What changes nothing for its sender can become a loop in the places that lack it; two
    /// that both lead back to where they started may be independent, and then belong in channels of their own, as does a
    /// request whose reply leads back, which may be an exchange of a sub-session, too; else one of them has to wait for the
    /// other.
    fn remedy(&self, walk: &Walk<'_, '_>, index: PairIndex, messages: &[Message]) -> Remedy {
        let (one, other) = (&self.from_client, &self.from_server);
        if one.is_loop() && !other.is_loop() {
            return accept(walk, messages, other, one, &self.after_server);
        }
        if other.is_loop() && !one.is_loop() {
            return accept(walk, messages, one, other, &self.after_client);
        }
        let (first, second) =
            (self.round(walk, index, messages, one), self.round(walk, index, messages, other));
        let independent = |round: &Vec<Event>| stands_alone(messages, round);
        // What belongs to one sub-session has no channel of its own outside of it.
        let apart = !self.in_sub_session(walk);
        if let (Some(first), Some(second)) = (&first, &second)
            && apart
            && independent(first)
            && independent(second)
            && let Some(remedy) = self.channels(walk, messages, first, second)
        {
            return remedy;
        }
        for round in [&first, &second] {
            if let Some(remedy) = exchange(walk, messages, round.as_deref(), self.wait(walk, messages)) {
                return remedy;
            }
        }
        if !apart {
            let (client, server) = ((one.event(), &self.after_client), (other.event(), &self.after_server));
            for (request, ends) in [(client, server), (server, client)] {
                let wait = self.wait(walk, messages);
                if let Some(remedy) = ending_exchange(walk, messages, request, ends, wait) {
                    return remedy;
                }
            }
        }
        if apart && first.as_ref().is_some_and(independent) && second.as_ref().is_some_and(independent) {
            return Remedy::one(self.of_its_own(messages));
        }
        Remedy::one(self.wait(walk, messages))
    }

    /// One of the two waits for the other.
    fn wait(&self, walk: &Walk<'_, '_>, messages: &[Message]) -> String {
        let (one, other) = self.events();
        let (first, second) = (words::name(messages, one.message), words::name(messages, other.message));
        let both_orders = |reply: &str, message: &str| {
            format!(
                "nothing follows `{reply}`, so write both orders: let `{reply}` come after `{message}`, too, and let both \
                 lead to one state"
            )
        };
        let is_over = |(client, _): &(Locations, Locations)| {
            let mut states = client.iter().filter_map(|&location| walk.client.state(location));
            states.all(|state| state.kind == StateKind::End)
        };
        if answers(messages, other).is_some() && is_over(&self.after_server) {
            return both_orders(second, first);
        }
        if answers(messages, one).is_some() && is_over(&self.after_client) {
            return both_orders(first, second);
        }
        if answers(messages, other).is_some() {
            format!("have the client send `{first}` only after `{second}` has come")
        } else if answers(messages, one).is_some() {
            format!("have the server send `{second}` only after `{first}` has come")
        } else {
            let orders = self.orders(walk, messages);
            if self.fault == Fault::Parts || self.follows(walk).0 != self.follows(walk).1 {
                return format!("{orders}, or let one of them wait for the other");
            }
            format!(
                "let one of them wait for the other: have the server send `{second}` only when the client asked for \
                 it, or have `{first}` acknowledged and `{second}` sent after that; or {orders}"
            )
        }
    }

    /// Whether the server's message may follow the client's, and the client's the server's.
    fn follows(&self, walk: &Walk<'_, '_>) -> (bool, bool) {
        let (one, other) = self.events();
        let follows = |(client, server): &(Locations, Locations), event: Event| {
            walk.client.find(client, event).is_some() && walk.server.find(server, event).is_some()
        };
        (follows(&self.after_client, other), follows(&self.after_server, one))
    }

    /// Both orders: which of them the text does not have yet, as its author writes them.
    fn orders(&self, walk: &Walk<'_, '_>, messages: &[Message]) -> String {
        let (one, other) = self.events();
        let author = author(walk);
        let action = |event: Event| words::action(messages, event, author);
        let (first, second) = (action(one), action(other));
        let both = "and let both orders lead to one state";
        match self.follows(walk) {
            (false, false) => {
                format!("write `{second}` behind `{first}`, too, and `{first}` behind `{second}`, {both}")
            }
            (true, false) => format!("write `{first}` behind `{second}`, too, {both}"),
            (false, true) => format!("write `{second}` behind `{first}`, too, {both}"),
            (true, true) => match self.undone(walk) {
                Some(undone) => undone.remedy(messages, author),
                None => {
                    format!(
                        "let `{first}` before `{second}` and `{second}` before `{first}` lead to one state"
                    )
                }
            },
        }
    }

    /// Whether the race is inside a sub-session.
    fn in_sub_session(&self, walk: &Walk<'_, '_>) -> bool {
        let mut states =
            self.pair.client.locations.iter().filter_map(|&location| walk.client.state(location));
        states.any(|state| state.body)
    }

    /// Where one of the two opens a sub-session, and another one behind the other message: that one, as the author of
    /// the text has it.
    fn other_body(&self, walk: &Walk<'_, '_>) -> Option<RoleEdge> {
        let of = |both: &Shared, after: &(Locations, Locations)| {
            let (machine, step, locations) = match author(walk) {
                Side::Client => (walk.client, &both.client, &after.0),
                Side::Server => (walk.server, &both.server, &after.1),
            };
            let other = machine.find(locations, both.event())?.arrow;
            let spawns = !step.is_linear() && matches!(other.action, Action::Spawn(_));
            (spawns && other.action != step.arrow.action).then_some(other)
        };
        of(&self.from_client, &self.after_server).or_else(|| of(&self.from_server, &self.after_client))
    }

    /// The place in which the other one of the two opens another sub-session.
    fn behind(&self, walk: &Walk<'_, '_>, other: &RoleEdge) -> String {
        let after =
            if other.event == self.from_client.event() { &self.after_server } else { &self.after_client };
        match author(walk) {
            Side::Client => words::within(walk.client, &after.0, false),
            Side::Server => words::within(walk.server, &after.1, false),
        }
    }

    /// Two loops that cannot be written as channels here.
    fn of_its_own(&self, messages: &[Message]) -> String {
        let name = words::name(messages, self.events().1.message);
        format!(
            "if the two are independent, give `{name}` a channel of its own, and put both in parentheses with a comma \
             between them"
        )
    }

    /// Two loops as channels of their own, where they are all that stands in the place.
    fn channels(
        &self,
        walk: &Walk<'_, '_>,
        messages: &[Message],
        first: &[Event],
        second: &[Event],
    ) -> Option<Remedy> {
        let author = author(walk);
        let (machine, locations) = self.role(walk, author);
        let steps = |events: &[Event], side: Side| -> String {
            events.iter().map(|event| format!("{} . ", words::action(messages, *event, side))).collect()
        };
        let round =
            |events: &[Event], name: &str, side: Side| format!("rec {name} . {}{name}", steps(events, side));
        let both = |side: Side| format!("({}, {})", round(first, "a", side), round(second, "b", side));
        let ends = locations
            .iter()
            .filter_map(|&location| machine.state(location))
            .any(|state| state.may_close || state.peer_may_close);
        let short = first.len() <= SHOWN && second.len() <= SHOWN;
        let apart = first.iter().all(|event| !second.contains(event));
        (short && apart && !ends && words::written(machine, locations).len() == 2).then(|| {
            let derived = walk.client.automaton().derived || walk.server.automaton().derived;
            let sides = [Some(author), Some(author.other()).filter(|_| !derived)];
            let edit = |side: Side| {
                let (machine, locations) = self.role(walk, side);
                Edit::replace(roles::span(machine, locations), both(side))
            };
            let first = format!(
                "if the two are independent, give each a channel of its own{}: `{}`",
                if derived { "" } else { ", in both roles" },
                both(author)
            );
            Remedy {
                edits: sides.into_iter().flatten().map(edit).collect(),
                otherwise: Some(self.wait(walk, messages)),
                ..Remedy::one(first)
            }
        })
    }

    /// A role where the race is.
    fn role<'w, 'a>(&'w self, walk: &'w Walk<'a, '_>, side: Side) -> (&'w Machine<'a>, &'w Locations) {
        match side {
            Side::Client => (walk.client, &self.pair.client.locations),
            Side::Server => (walk.server, &self.pair.server.locations),
        }
    }

    /// The messages that lead back to the pair where the race is, this one first, by moves that both roles have. A
    /// refusal leads back always, and what leads over a place that lies before the pair has left it and comes in again:
    /// neither is a round.
    fn round(
        &self,
        walk: &Walk<'_, '_>,
        index: PairIndex,
        messages: &[Message],
        both: &Shared,
    ) -> Option<Vec<Event>> {
        let step = |from: &Pair, both: &Shared| {
            (
                walk.client.step(&from.client.locations, &both.client),
                walk.server.step(&from.server.locations, &both.server),
            )
        };
        let home = (self.pair.client.locations.clone(), self.pair.server.locations.clone());
        let first = step(&self.pair, both);
        let mut seen: HashSet<_> = walk.passed(index).into_iter().filter(|passed| *passed != home).collect();
        if !seen.insert(first.clone()) {
            return None;
        }
        let mut waiting = VecDeque::from([(first, vec![both.event()])]);
        // A remedy is worth a short search only.
        while let Some(((client, server), way)) = waiting.pop_front() {
            if (&client, &server) == (&home.0, &home.1) {
                return Some(way);
            }
            if seen.len() > 1000 {
                return None;
            }
            let (from_client, from_server) = (walk.client.moves(&client), walk.server.moves(&server));
            for found in matched(&from_client, &from_server) {
                let (Some(one), Some(other)) = (found.client, found.server) else { continue };
                let refuses =
                    matches!(words::kind(messages, found.event.message), Some(Kind::Refusal { .. }));
                if !one.is_linear() || !other.is_linear() || refuses {
                    continue;
                }
                let next = (walk.client.step(&client, &one), walk.server.step(&server, &other));
                if seen.insert(next.clone()) {
                    let mut way = way.clone();
                    way.push(found.event);
                    waiting.push_back((next, way));
                }
            }
        }
        None
    }
}

/// A role where it is, as a clause.
fn situation(machine: &Machine<'_>, messages: &[Message], locations: &Locations) -> String {
    let states = || locations.iter().filter_map(|&location| machine.state(location));
    let moves = words::written(machine, locations);
    let names: Vec<String> = moves
        .iter()
        .take(SHOWN)
        .map(|step| format!("`{}`", words::name(messages, step.arrow.event.message)))
        .collect();
    let all = |direction| moves.iter().all(|step| step.arrow.event.direction(machine.side()) == direction);
    if states().any(|state| state.named) {
        format!("is in {}", words::place(machine, locations))
    } else if states().all(|state| state.kind == StateKind::End) {
        "is at `End`".to_owned()
    } else if !moves.is_empty() && moves.len() <= SHOWN && all(Direction::Receive) {
        format!("waits for {}", names.join(" or "))
    } else if !moves.is_empty() && moves.len() <= SHOWN && all(Direction::Send) {
        format!("goes on with {}", names.join(" or "))
    } else {
        format!("is in {}", words::place(machine, locations))
    }
}
