//! Words for reports: names of messages, places, and the way to a place.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Origin, Side, StateIndex};

use super::machine::{Event, Machine, Move, position};
use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::Edit;
use crate::findings::listed;
use crate::source::Span;

/// How many messages of a way are written out before it is shortened.
const SHOWN: usize = 10;

/// The name of a message.
pub(super) fn name(messages: &[Message], message: MessageIndex) -> &str {
    messages.get(usize::from(message.0)).map_or("?", |message| message.table.name.as_ref())
}

/// What a message is.
pub(super) fn kind(messages: &[Message], message: MessageIndex) -> Option<Kind> {
    messages.get(usize::from(message.0)).map(|message| message.table.kind)
}

/// An event as one role writes it, `!Initialize`.
pub(super) fn action(messages: &[Message], event: Event, side: Side) -> String {
    let mark = match event.direction(side) {
        Direction::Send => '!',
        Direction::Receive => '?',
    };
    format!("{mark}{}", name(messages, event.message))
}

/// A `*` that has the event, as one role writes it.
pub(super) fn replicated(messages: &[Message], event: Event, side: Side) -> String {
    let action_text = action(messages, event, side);
    if kind(messages, event.message) != Some(Kind::Request) {
        return format!("*( {action_text} . End )");
    }
    let mut replies = messages
        .iter()
        .filter(|message| message.table.kind == Kind::Reply { request: event.message })
        .map(|message| message.table.name.as_ref());
    let reply = match (replies.next(), replies.next()) {
        (Some(only), None) => only,
        _ => "reply",
    };
    let mark = if event.direction(side) == Direction::Send { '?' } else { '!' };
    format!("*( {action_text} . {mark}{reply} . End )")
}

/// `the client`.
pub(crate) fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "the client",
        Side::Server => "the server",
    }
}

/// `` `Active` and `Listening` ``.
pub(super) fn place(machine: &Machine<'_>, locations: &[StateIndex]) -> String {
    names(machine.automaton(), locations)
}

/// The names of states of a role.
pub(super) fn names(automaton: &Automaton, locations: &[StateIndex]) -> String {
    let states = locations.iter().filter_map(|&location| automaton.states.get(position(location)));
    match listed(states.map(|state| state.name.as_str())) {
        none if none.is_empty() => "no state of its own".to_owned(),
        names => names,
    }
}

/// `` at the start of `Guest` ``, `` in `Active` of `McpClient` ``; a place that no definition names is somewhere in
/// its role, and the marks say where.
pub(super) fn within(machine: &Machine<'_>, locations: &[StateIndex], at_start: bool) -> String {
    let role = &machine.automaton().name;
    let named = locations.iter().all(|&location| machine.state(location).is_some_and(|state| state.named));
    match locations {
        [] => format!("in `{role}`"),
        _ if at_start => format!("at the start of `{role}`"),
        _ if named => format!("in {} of `{role}`", place(machine, locations)),
        _ => format!("in `{role}`"),
    }
}

/// How to suspend sub-sessions in a place, too.
pub(super) fn mark_only(machine: &Machine<'_>, locations: &[StateIndex]) -> String {
    let mut states = locations.iter().filter_map(|&location| machine.state(location));
    match states.find(|state| state.named) {
        Some(state) => format!("write `{} only = …`, too", state.name),
        None => "give this place a definition of its own, `Name only = …`".to_owned(),
    }
}

/// What types `only`, where a definition is the place.
pub(super) fn only_edit(machine: &Machine<'_>, locations: &[StateIndex]) -> Option<Edit> {
    let mut states = locations.iter().filter_map(|&location| machine.state(location));
    let state = states.find(|state| state.named)?;
    let name = u32::try_from(state.name.len()).ok()?;
    Some(Edit::after(Span { end: state.span.start.saturating_add(name), ..state.span }, " only"))
}

/// The moves that the text itself has in a configuration, in its order.
pub(super) fn written(machine: &Machine<'_>, locations: &[StateIndex]) -> Vec<Move> {
    let mut moves = machine.moves(locations);
    moves.retain(|step| step.arrow.origin == Origin::Written);
    moves.sort_by_key(|step| step.arrow.span);
    moves
}

/// `` after `!Initialize`, `?InitializeResult` ``, as the client sees it; a long way keeps both its ends.
pub(super) fn way(messages: &[Message], way: &[Event]) -> String {
    if way.is_empty() {
        return "at the start".to_owned();
    }
    let one = |event: &Event| format!("`{}`", action(messages, *event, Side::Client));
    let mut words: Vec<String> = Vec::new();
    if way.len() <= SHOWN {
        words.extend(way.iter().map(one));
    } else {
        let (head, tail) = (SHOWN / 2, way.len().saturating_sub(SHOWN / 2));
        words.extend(way.iter().take(head).map(one));
        words.push(format!("… {} more …", tail.saturating_sub(head)));
        words.extend(way.iter().skip(tail).map(one));
    }
    format!("after {}", words.join(", "))
}

/// The note that says from where a way is seen, where there is a way at all.
pub(super) fn seen_from(way: &[Event]) -> Option<&'static str> {
    (!way.is_empty()).then_some("`!` and `?` on the way are seen from the client")
}
