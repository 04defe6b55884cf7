//! What to type where two messages race.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Action, Kind, MessageIndex, Origin, Side, StateIndex, StateKind};

use super::machine::{Event, Locations, Machine};
use super::product::Walk;
use super::shared::Shared;
use super::words;
use crate::declarations::Message;
use crate::diagnostic::{Edit, TextChange};
use crate::source::Span;

/// How many steps or branches are written out in a suggestion.
pub(super) const SHOWN: usize = 4;

/// What to do, and what else.
pub(super) struct Remedy {
    pub(super) first: String,
    pub(super) second: Option<String>,
    /// What does the first.
    pub(super) edits: Vec<Edit>,
    /// The same, where it depends on what stands around its places.
    pub(super) changes: Vec<TextChange>,
    /// What to do where the edits do not mend the race.
    pub(super) otherwise: Option<String>,
}

impl Remedy {
    pub(super) fn one(first: String) -> Self {
        Remedy { first, second: None, edits: Vec::new(), changes: Vec::new(), otherwise: None }
    }
}

/// The side whose text is to be changed; the other one may be written as its dual.
pub(super) fn author(walk: &Walk<'_, '_>) -> Side {
    if walk.client.automaton().derived { Side::Server } else { Side::Client }
}

/// The request that an event answers.
pub(super) fn answers(messages: &[Message], event: Event) -> Option<MessageIndex> {
    match messages.get(usize::from(event.message.0))?.table.kind {
        Kind::Reply { request } | Kind::Refusal { request } => Some(request),
        Kind::Request | Kind::Notification => None,
    }
}

/// Whether a round of events can be a channel: each reply in it has its request in front of it.
pub(super) fn stands_alone(messages: &[Message], round: &[Event]) -> bool {
    let mut asked: Vec<(Side, MessageIndex)> = Vec::new();
    round.iter().all(|event| {
        asked.push((event.sender, event.message));
        answers(messages, *event).is_none_or(|request| asked.contains(&(event.sender.other(), request)))
    })
}

/// A request that comes back to where it was sent as soon as it is answered may be an exchange of its own there, which begins
/// as long as the other message has not come, and ends at any time. `None` for any other round.
pub(super) fn exchange(
    walk: &Walk<'_, '_>,
    messages: &[Message],
    round: Option<&[Event]>,
    otherwise: String,
) -> Option<Remedy> {
    let [request, reply] = round? else { return None };
    if words::kind(messages, request.message) != Some(Kind::Request)
        || answers(messages, *reply) != Some(request.message)
    {
        return None;
    }
    let author = author(walk);
    if another_leads_on(walk.machine(author), messages, *request, *reply) {
        return None;
    }
    let (branch, answer) =
        (words::action(messages, *request, author), words::action(messages, *reply, author));
    let own = words::replicated(messages, *request, author);
    let derived = walk.client.automaton().derived || walk.server.automaton().derived;
    let text = format!(
        "make `{}` an exchange of its own, which begins here and may end later{}: `{own}` in place of each `{branch} . {answer} . …` that leads back",
        words::name(messages, request.message),
        if derived { "" } else { ", in both roles" },
    );
    let places = if derived { exchanges(walk.machine(author), *request, *reply) } else { BTreeSet::new() };
    let changes = places.into_iter().map(|span| TextChange::ReplaceRest(span, own.clone())).collect();
    Some(Remedy { changes, otherwise: Some(otherwise), ..Remedy::one(text) })
}

/// A request that ends a sub-session, which the other message ends, too, may be an exchange of the sub-session: then that
/// message alone ends it, also as what the request leads to. `behind` is where each of the two leads.
pub(super) fn ending_exchange(
    walk: &Walk<'_, '_>,
    messages: &[Message],
    (request, behind): (Event, &(Locations, Locations)),
    (other, behind_other): (Event, &(Locations, Locations)),
    otherwise: String,
) -> Option<Remedy> {
    let author = author(walk);
    let machine = walk.machine(author);
    let of_author = |behind: &(Locations, Locations)| match author {
        Side::Client => behind.0.clone(),
        Side::Server => behind.1.clone(),
    };
    let is_over = |locations: &Locations| {
        let mut states = locations.iter().filter_map(|&location| machine.state(location));
        states.all(|state| state.kind == StateKind::End)
    };
    let is_request = words::kind(messages, request.message) == Some(Kind::Request);
    if !is_request || !is_over(&of_author(behind_other)) || answers(messages, other).is_some() {
        return None;
    }
    let waiting = of_author(behind);
    let mut replies = words::written(machine, &waiting);
    replies.retain(|step| answers(messages, step.arrow.event) == Some(request.message));
    // Behind one that does not end it something follows, which would be lost.
    if !replies.iter().all(|reply| is_over(&machine.step(&waiting, reply))) {
        return None;
    }
    let reply = replies.first()?.arrow.event;
    let (branch, answer) = (words::action(messages, request, author), words::action(messages, reply, author));
    let own = words::replicated(messages, request, author);
    let name = |event: Event| words::name(messages, event.message);
    let derived = walk.client.automaton().derived || walk.server.automaton().derived;
    let text = format!(
        "make `{}` an exchange of its own, and let only `{}` end the sub-session, also as its consequence: `{own}` in place of \
         `{branch} . {answer} . End`{}",
        name(request),
        name(other),
        if derived { "" } else { ", in both roles" },
    );
    let ends = |state: StateIndex| machine.state(state).is_some_and(|state| state.kind == StateKind::End);
    let places =
        if derived { written_with(machine, request, reply, |_, home| ends(home)) } else { BTreeSet::new() };
    let changes = places.into_iter().map(|span| TextChange::ReplaceRest(span, own.clone())).collect();
    Some(Remedy { changes, otherwise: Some(otherwise), ..Remedy::one(text) })
}

/// Where a role writes a request whose reply leads back at once: one message is not an exchange of its own in one
/// state, and a step in the next.
fn exchanges(machine: &Machine<'_>, request: Event, reply: Event) -> BTreeSet<Span> {
    written_with(machine, request, reply, |state, home| home == state)
}

/// Whether the request, where this reply to it leads back, has another reply that does not: what follows that one would be
/// lost.
fn another_leads_on(machine: &Machine<'_>, messages: &[Message], request: Event, reply: Event) -> bool {
    let states =
        (0..machine.automaton().states.len()).filter_map(|state| u32::try_from(state).ok()).map(StateIndex);
    let leads_on = |state: StateIndex| {
        let Action::Step(waiting) = machine.arrow(state, request)?.action else { return None };
        let back = Action::Step(state);
        let mut replies = machine.arrows(waiting).iter().filter(|arrow| {
            arrow.origin == Origin::Written && answers(messages, arrow.event) == Some(request.message)
        });
        let leads_back = machine.arrow(waiting, reply)?.action == back;
        Some(leads_back && replies.any(|other| other.action != back))
    };
    states.filter_map(leads_on).any(|leads_on| leads_on)
}

/// Where a role writes a request and, directly behind it, a reply that leads where it should.
fn written_with(
    machine: &Machine<'_>,
    request: Event,
    reply: Event,
    should: impl Fn(StateIndex, StateIndex) -> bool,
) -> BTreeSet<Span> {
    let states =
        (0..machine.automaton().states.len()).filter_map(|state| u32::try_from(state).ok()).map(StateIndex);
    let fits = |&state: &StateIndex| {
        let asked = machine.arrow(state, request)?;
        let Action::Step(waiting) = asked.action else { return None };
        let Action::Step(home) = machine.arrow(waiting, reply)?.action else { return None };
        (should(state, home) && asked.origin == Origin::Written).then_some(asked.span)
    };
    states.filter_map(|state| fits(&state)).collect()
}

/// `late` changes nothing where it is sent, so it may as well be accepted behind `step`.
pub(super) fn accept(
    walk: &Walk<'_, '_>,
    messages: &[Message],
    step: &Shared,
    late: &Shared,
    after: &(Locations, Locations),
) -> Remedy {
    let author = author(walk);
    let (machine, locations) = match author {
        Side::Client => (walk.client, &after.0),
        Side::Server => (walk.server, &after.1),
    };
    let name = words::name(messages, late.event().message);
    let there = words::within(machine, locations, false);
    let taken = walk.client.find(&after.0, late.event()).is_some()
        || walk.server.find(&after.1, late.event()).is_some();
    if taken && !late.client.is_linear() {
        return Remedy::one(format!(
            "have `{name}` open the same sub-session in both places, or use another message {there}"
        ));
    }
    if taken {
        return Remedy::one(format!(
            "`{name}` leads elsewhere {there}: let it lead back there, too, or use another message"
        ));
    }
    let second = "or leave `--without-closure` out: then the compiler adds that by itself";
    let action = |event: Event| words::action(messages, event, author);
    let (step, late_action) = (action(step.event()), action(late.event()));
    let first = match (late.client.arrow.action, branches(machine, locations, late.event(), messages)) {
        (Action::Step(_), Some((branches, operator))) => {
            let branches: Vec<String> =
                branches.into_iter().chain([format!("{late_action} . wait")]).collect();
            let branches = branches.join(&format!(" {operator} "));
            format!("let `{late_action}` come there, too: `{step} . ( rec wait . ( {branches} ) )`")
        }
        (Action::Step(_), None) => {
            format!("let `{late_action}` come behind `{step}`, too, and lead back there")
        }
        (Action::Spawn(_), _) => format!(
            "let instances start behind `{step}`, too: `{}` in parallel with what follows there",
            words::replicated(messages, late.event(), author)
        ),
    };
    let first = match walk.client.automaton().derived || walk.server.automaton().derived {
        true => first,
        false => format!("{first}, and in the other role with `!` and `?` exchanged"),
    };
    Remedy { second: Some(second.to_owned()), ..Remedy::one(first) }
}

/// What stands in a place that is one channel, as branches, and the operator between them.
fn branches(
    machine: &Machine<'_>,
    locations: &Locations,
    late: Event,
    messages: &[Message],
) -> Option<(Vec<String>, char)> {
    let [location] = &locations[..] else { return None };
    let state = machine.state(*location)?;
    let moves = words::written(machine, locations);
    if moves.len() > SHOWN || moves.iter().any(|step| !step.is_linear()) {
        return None;
    }
    let branch = |event: Event| format!("{} . …", words::action(messages, event, machine.side()));
    let mut branches: Vec<String> = moves.iter().map(|step| branch(step.arrow.event)).collect();
    match (state.kind == StateKind::End || state.may_close, state.peer_may_close) {
        (true, true) => None,
        (own, peer) => {
            branches.extend((own || peer).then(|| "End".to_owned()));
            // The late message goes with the operator that its sender would write.
            Some((branches, if own || (!peer && late.sender == machine.side()) { '⊕' } else { '&' }))
        }
    }
}
