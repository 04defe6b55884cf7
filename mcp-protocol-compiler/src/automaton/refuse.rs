//! Refusals: every request may be answered by an error.
//!
//! In: a minimal [`Raw`] automaton as the author wrote it. Out: one with the error and cancel edges that the language
//! implies. A refusal undoes its request, so a state that waits for a reply remembers who sent the request: it is one
//! state per sender. Refuses refusals that would undo something else. `cancel` adds the cancels.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Origin, StateKind};

use super::cancel;
use super::raw::{Open, Raw, RawEdge, RawState, answer, end_of_copies, sign};
use crate::checks::refusals;
use crate::diagnostic::Diagnostic;
use crate::hash::Map;
use crate::resolve::Declarations;
use crate::source::Span;

/// Where a refusal leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sender {
    /// Back to the state that sent the request.
    State(usize),
    /// It opened the copy: the copy ends.
    Opener,
    /// Nowhere: this message came after the request and would be undone.
    Lost(Direction, MessageIndex, Span),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    state: usize,
    senders: Vec<(Open, Sender)>,
}

struct Refuser<'a> {
    raw: &'a Raw,
    declarations: &'a Declarations,
    states: Vec<RawState>,
    keys: Map<Key, usize>,
    waiting: Vec<(usize, Key)>,
    /// Where each state's open requests lead when they are refused, for the cancel edges.
    senders: Vec<Vec<(Open, Sender)>>,
    reported: BTreeSet<(MessageIndex, Span)>,
    /// The state of a copy that is over.
    over: Option<usize>,
}

/// Adds the implied edges.
pub(super) fn refuse(raw: &Raw, declarations: &Declarations, diagnostics: &mut Vec<Diagnostic>) -> Raw {
    let mut refuser = Refuser {
        raw,
        declarations,
        states: Vec::new(),
        keys: Map::default(),
        waiting: Vec::new(),
        senders: Vec::new(),
        reported: BTreeSet::new(),
        over: None,
    };
    let start = refuser.state(Key { state: raw.start, senders: Vec::new() });
    while let Some((state, key)) = refuser.waiting.pop() {
        refuser.expand(state, &key, diagnostics);
    }
    let mut result = Raw { states: refuser.states, start };
    let cancellable: Vec<Vec<Open>> = refuser
        .senders
        .iter()
        .map(|senders| {
            let linear = senders.iter().filter(|(_, sender)| *sender != Sender::Opener);
            linear.map(|(open, _)| *open).collect()
        })
        .collect();
    cancel::add(&mut result, &cancellable, declarations, diagnostics);
    result
}

impl Refuser<'_> {
    fn state(&mut self, key: Key) -> usize {
        if let Some(state) = self.keys.get(&key) {
            return *state;
        }
        let number = self.states.len();
        if let Some(place) = self.raw.states.get(key.state) {
            self.states.push(RawState { edges: Vec::new(), parts: Vec::new(), ..place.clone() });
            self.senders.push(key.senders.clone());
        }
        self.keys.insert(key.clone(), number);
        self.waiting.push((number, key));
        number
    }

    fn expand(&mut self, number: usize, key: &Key, diagnostics: &mut Vec<Diagnostic>) {
        let raw = self.raw;
        let Some(place) = raw.states.get(key.state) else { return };
        let mut edges = Vec::with_capacity(place.edges.len() + key.senders.len());
        for edge in &place.edges {
            let senders = self.after(number, key, edge);
            let target = self.state(Key { state: edge.target, senders });
            edges.push(RawEdge { target, ..edge.clone() });
        }
        for (open, sender) in &key.senders {
            self.refusal(place, *open, *sender, &mut edges, diagnostics);
        }
        let parts =
            place.parts.iter().map(|part| self.state(Key { state: *part, senders: Vec::new() })).collect();
        if let Some(state) = self.states.get_mut(number) {
            state.edges = edges;
            state.parts = parts;
        }
    }

    /// Who sent what is open after an edge.
    fn after(&self, number: usize, key: &Key, edge: &RawEdge) -> Vec<(Open, Sender)> {
        let kind = self.declarations.message(edge.message).map(|message| message.table.kind);
        if edge.spawn {
            return match kind {
                Some(Kind::Request) => vec![((edge.direction, edge.message), Sender::Opener)],
                _ => Vec::new(),
            };
        }
        if edge.target == key.state {
            return key.senders.clone();
        }
        let answered = match kind {
            Some(Kind::Reply { request } | Kind::Refusal { request }) => {
                Some((edge.direction.flip(), request))
            }
            _ => None,
        };
        let mut senders: Vec<(Open, Sender)> = key
            .senders
            .iter()
            .filter(|(open, _)| Some(*open) != answered)
            .map(|(open, sender)| match sender {
                Sender::State(_) => (*open, Sender::Lost(edge.direction, edge.message, edge.span)),
                other => (*open, *other),
            })
            .collect();
        if kind == Some(Kind::Request) {
            senders.push(((edge.direction, edge.message), Sender::State(number)));
            senders.sort_unstable_by_key(|(open, _)| *open);
        }
        senders
    }

    /// The edge of one request's refusal, where its reply may come.
    fn refusal(
        &mut self,
        place: &RawState,
        (direction, request): Open,
        sender: Sender,
        edges: &mut Vec<RawEdge>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let Some(refusal) = self.declarations.refusal(request) else { return };
        let answers = |edge: &&RawEdge, reply: bool| {
            edge.direction == direction.flip()
                && match self.declarations.message(edge.message).map(|message| message.table.kind) {
                    Some(Kind::Reply { request: of }) => reply && of == request,
                    Some(Kind::Refusal { request: of }) => !reply && of == request,
                    _ => false,
                }
        };
        let Some(reply) = place.edges.iter().find(|edge| answers(edge, true)) else { return };
        if place.edges.iter().any(|edge| answers(&edge, false)) {
            return;
        }
        let target = match sender {
            Sender::State(state) => state,
            Sender::Opener => self.over(),
            Sender::Lost(undone_direction, undone, at) => {
                if self.reported.insert((request, reply.span)) {
                    let name = |direction, message| {
                        format!("{}{}", sign(direction), self.declarations.message_name(message))
                    };
                    diagnostics.push(refusals::would_undo(
                        &name(direction, request),
                        (&answer(self.declarations, direction, request), reply.span),
                        &name(direction.flip(), refusal),
                        (&name(undone_direction, undone), at),
                    ));
                }
                return;
            }
        };
        edges.push(RawEdge {
            direction: direction.flip(),
            message: refusal,
            target,
            spawn: false,
            copy: None,
            origin: Origin::Refusal,
            cancels: None,
            span: reply.span,
            level: None,
        });
    }

    /// The state of a copy that is over; one for all.
    fn over(&mut self) -> usize {
        if let Some(over) = self.over {
            return over;
        }
        let over = match end_of_copies(&self.raw.states) {
            Some(state) => self.state(Key { state, senders: Vec::new() }),
            // A body that never ends by itself still ends when its request is refused.
            None => {
                let end = RawState::of_copy(StateKind::End, None, Vec::new(), Span::default());
                self.states.push(end);
                self.senders.push(Vec::new());
                self.states.len() - 1
            }
        };
        self.over = Some(over);
        over
    }
}
