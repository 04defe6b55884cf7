//! Automata from a line of text.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol as machine;
use mcp_protocol_machine::protocol::{
    Action, Direction, Kind, Level, MessageIndex, Only, Origin, Payload, Side, StateIndex, StateKind,
};

use crate::automaton::{Automaton, Edge, State};
use crate::declarations::{Message, PayloadType};
use crate::source::{FileId, Span};

/// Messages by name: `Call -> Result | Other cancellable; Stop`.
pub(in crate::relation) fn messages(text: &str) -> Vec<Message> {
    let mut list: Vec<Message> = Vec::new();
    for item in text.split(';').map(str::trim).filter(|item| !item.is_empty()) {
        let (item, cancellable) = match item.strip_suffix("cancellable") {
            Some(rest) => (rest.trim(), true),
            None => (item, false),
        };
        let Some((request, replies)) = item.split_once("->") else {
            list.push(message(item, item, Kind::Notification, false));
            continue;
        };
        let request = request.trim();
        let index = MessageIndex(u16::try_from(list.len()).unwrap());
        list.push(message(request, request, Kind::Request, cancellable));
        for reply in replies.split('|').map(str::trim) {
            list.push(message(reply, request, Kind::Reply { request: index }, false));
        }
        list.push(message(&format!("{request}Error"), request, Kind::Refusal { request: index }, false));
    }
    list
}

fn message(name: &str, method: &str, kind: Kind, cancellable: bool) -> Message {
    let mut table =
        machine::Message::new(name.to_owned().into(), kind, method.to_owned().into(), Payload::None);
    table.cancellable = cancellable;
    Message {
        table,
        span: Span::default(),
        requires: Vec::new(),
        during: Vec::new(),
        documentation: Vec::new(),
        payload: PayloadType::None,
        call_name: None,
        until_reply: None,
        pages: None,
        undeclared: false,
    }
}

/// A state without edges.
pub(in crate::relation) fn state(index: usize) -> State {
    let level = Level::MUST;
    State {
        name: format!("S{index}"),
        named: true,
        aliases: Vec::new(),
        kind: StateKind::Linear,
        edges: Vec::new(),
        parts: Vec::new(),
        may_close: false,
        peer_may_close: false,
        end: None,
        reaches_end: false,
        only: Only::NONE,
        outward: level.clone(),
        inward: level,
        body: false,
        span: Span::default(),
        documentation: Vec::new(),
    }
}

/// An automaton from its notation; new names become notifications.
pub(in crate::relation) fn automaton(side: Side, text: &str, messages: &mut Vec<Message>) -> Automaton {
    let mut states: BTreeMap<usize, State> = BTreeMap::new();
    let mut said: BTreeSet<usize> = BTreeSet::new();
    let at = |states: &mut BTreeMap<usize, State>, index: usize| {
        states.entry(index).or_insert_with(|| state(index));
    };
    let mut offset = 0;
    for item in text.split(';') {
        let start = offset + item.len() - item.trim_start().len();
        let span = span(side, start, offset + item.trim_end().len());
        offset += item.len() + 1;
        let words: Vec<&str> = item.split_whitespace().collect();
        let [from, word, rest @ ..] = words.as_slice() else {
            assert!(words.is_empty(), "cannot read `{item}`");
            continue;
        };
        let from: usize = from.parse().unwrap();
        at(&mut states, from);
        match *word {
            "=" => {
                said.insert(from);
                let rest = rest.join(" ");
                let parts: Vec<StateIndex> = rest
                    .trim_matches(['(', ')'])
                    .split(',')
                    .filter_map(|part| part.trim().parse().ok().map(StateIndex))
                    .collect();
                let state = states.get_mut(&from).unwrap();
                state.kind = match rest.as_str() {
                    "End" => StateKind::End,
                    "Replicated" => StateKind::Replicated,
                    "Linear" => StateKind::Linear,
                    _ => StateKind::Fork,
                };
                state.parts = parts;
                state.span = span;
            }
            "only" => {
                let only = &mut states.get_mut(&from).unwrap().only;
                (only.outward, only.inward) = (rest[0].contains('!'), rest[0].contains('?'));
            }
            "+" => states.get_mut(&from).unwrap().may_close = true,
            "&" => states.get_mut(&from).unwrap().peer_may_close = true,
            action => {
                let direction = if action.starts_with('!') { Direction::Send } else { Direction::Receive };
                let name = action.trim_start_matches(['!', '?']);
                let known = messages.iter().position(|message| message.table.name == name);
                let message = known.unwrap_or_else(|| {
                    messages.push(message(name, name, Kind::Notification, false));
                    messages.len() - 1
                });
                let refusal = matches!(messages[message].table.kind, Kind::Refusal { .. });
                let target = rest[0];
                let spawn = target.starts_with('*');
                let target: usize = target.trim_start_matches('*').parse().unwrap();
                at(&mut states, target);
                let index = StateIndex(u32::try_from(target).unwrap());
                let origin = match (rest.get(1), refusal) {
                    (Some(_), _) => Origin::Cancel,
                    (None, true) => Origin::Refusal,
                    (None, false) => Origin::Written,
                };
                let cancelled = messages.iter().position(|message| message.table.cancellable);
                let cancelled = cancelled.map(|place| MessageIndex(u16::try_from(place).unwrap()));
                let state = states.get_mut(&from).unwrap();
                if state.span == Span::default() {
                    state.span = span;
                }
                state.edges.push(Edge {
                    direction,
                    message: MessageIndex(u16::try_from(message).unwrap()),
                    action: if spawn { Action::Spawn(index) } else { Action::Step(index) },
                    origin,
                    cancels: cancelled.filter(|_| origin == Origin::Cancel),
                    span,
                    level: None,
                });
            }
        }
    }
    let count = states.keys().next_back().map_or(0, |last| last + 1);
    for index in 0..count {
        at(&mut states, index);
    }
    for (index, state) in &mut states {
        if !said.contains(index) && state.edges.is_empty() {
            state.kind = StateKind::End;
        }
    }
    of_states(side, span(side, 0, text.len()), states.into_values().collect())
}

/// A role of these states, closed under what they imply.
pub(super) fn of_states(side: Side, span: Span, states: Vec<State>) -> Automaton {
    let name = if side == Side::Client { "Client" } else { "Server" };
    let mut automaton = Automaton {
        side,
        name: name.to_owned(),
        span,
        documentation: Vec::new(),
        inline: false,
        derived: false,
        states,
        sub_sessions: Vec::new(),
    };
    complete(&mut automaton);
    automaton
}

fn span(side: Side, start: usize, end: usize) -> Span {
    let file = FileId(u32::from(side == Side::Server));
    Span { file, start: u32::try_from(start).unwrap(), end: u32::try_from(end).unwrap() }
}

/// Works out which states reach an end and which belong to bodies.
pub(in crate::relation) fn complete(automaton: &mut Automaton) {
    let ends = |state: &State| state.kind == StateKind::End || state.may_close || state.peer_may_close;
    let mut reaches: Vec<bool> = automaton.states.iter().map(ends).collect();
    loop {
        let mut changed = false;
        for (index, state) in automaton.states.iter().enumerate().rev() {
            let steps = state.edges.iter().filter_map(|edge| match edge.action {
                Action::Step(target) => Some(target),
                Action::Spawn(_) => None,
            });
            let next = steps.chain(state.parts.iter().copied()).any(|target| reaches[target.0 as usize]);
            changed |= next && !reaches[index];
            reaches[index] |= next;
        }
        if !changed {
            break;
        }
    }
    let mut waiting: Vec<StateIndex> = Vec::new();
    for state in &automaton.states {
        waiting.extend(state.edges.iter().filter_map(|edge| match edge.action {
            Action::Spawn(target) => Some(target),
            Action::Step(_) => None,
        }));
    }
    let mut bodies: BTreeSet<StateIndex> = BTreeSet::new();
    while let Some(state) = waiting.pop() {
        if bodies.insert(state) {
            let state = &automaton.states[state.0 as usize];
            waiting.extend(state.edges.iter().map(|edge| edge.action.target()));
            waiting.extend(&state.parts);
        }
    }
    for (index, state) in automaton.states.iter_mut().enumerate() {
        state.reaches_end = reaches[index];
        state.body = bodies.contains(&StateIndex(u32::try_from(index).unwrap()));
    }
}

/// The same automaton, seen from the other side.
pub(in crate::relation) fn flip(automaton: &Automaton) -> Automaton {
    let mut other = automaton.clone();
    other.side = automaton.side.other();
    other.name = if other.side == Side::Client { "Client" } else { "Server" }.to_owned();
    for state in &mut other.states {
        std::mem::swap(&mut state.may_close, &mut state.peer_may_close);
        state.only = state.only.flip();
        for edge in &mut state.edges {
            edge.direction = edge.direction.flip();
        }
    }
    other
}

/// An automaton in its notation, for messages of failing tests.
pub(in crate::relation) fn show(automaton: &Automaton, messages: &[Message]) -> String {
    let mut items = Vec::new();
    for (index, state) in automaton.states.iter().enumerate().rev() {
        let parts: Vec<String> = state.parts.iter().map(|part| part.0.to_string()).collect();
        match state.kind {
            StateKind::Fork => items.push(format!("{index} = ({})", parts.join(", "))),
            StateKind::End | StateKind::Replicated => items.push(format!("{index} = {:?}", state.kind)),
            StateKind::Linear if state.edges.is_empty() => items.push(format!("{index} = Linear")),
            StateKind::Linear => {}
        }
        match (state.only.outward, state.only.inward) {
            (false, false) => {}
            (outward, inward) => items.push(format!(
                "{index} only {}{}",
                if outward { "!" } else { "" },
                if inward { "?" } else { "" }
            )),
        }
        if state.may_close {
            items.push(format!("{index} + End"));
        }
        if state.peer_may_close {
            items.push(format!("{index} & End"));
        }
        for edge in &state.edges {
            let mark = if edge.direction == Direction::Send { '!' } else { '?' };
            let name = &messages[usize::from(edge.message.0)].table.name;
            let target = match edge.action {
                Action::Step(target) => target.0.to_string(),
                Action::Spawn(target) => format!("*{}", target.0),
            };
            let origin = match edge.origin {
                Origin::Written | Origin::Refusal => "",
                Origin::Cancel => " cancel",
                Origin::Closure => " closure",
            };
            items.push(format!("{index} {mark}{name} {target}{origin}"));
        }
    }
    items.join("; ")
}
