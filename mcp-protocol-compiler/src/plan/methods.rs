//! Which methods a state has.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};

use super::types::{
    Body, Exchange, Method, MethodKind, NextPlan, Replicated, body, call_name, indexed, kind, next_name,
    state,
};
use crate::automaton::{Automaton, Edge, State};
use crate::declarations::{Declarations, Message};
use crate::plan::names::snake;

/// Finds the methods of one role.
pub(super) struct Planner<'a> {
    pub(super) automaton: &'a Arc<Automaton>,
    pub(super) declarations: &'a Declarations,
}

impl<'a> Planner<'a> {
    pub(super) fn methods(&self, index: StateIndex, state: &State) -> Vec<Method> {
        let mut methods = Vec::with_capacity(state.edges.len());
        if state.kind == StateKind::Fork {
            let what = MethodKind::Split { parts: state.parts.clone() };
            methods.push(Method { name: "split".into(), what, span: state.span });
        }
        for edge in &state.edges {
            self.methods_of_edge(index, state, edge, &mut methods);
        }
        self.tell_refusals_apart(&mut methods);
        methods.extend(self.next(index, state));
        if state.may_close || matches!(state.kind, StateKind::End | StateKind::Replicated) {
            methods.push(Method { name: "close".into(), what: MethodKind::Close, span: state.span });
        }
        methods
    }

    fn methods_of_edge(&self, here: StateIndex, state: &State, edge: &Edge, methods: &mut Vec<Method>) {
        let Some(kind) = kind(self.declarations, edge.message) else { return };
        let mut add = |name: String, what: MethodKind| methods.push(Method { name, what, span: edge.span });
        let message = edge.message;
        let snake_name = snake(self.name(message));
        match (edge.action, edge.direction, kind) {
            // A refusal sent is `refuse`, a refusal received comes through `StepError` or `next`.
            (Action::Step(target), Direction::Send, Kind::Refusal { request }) => {
                add("refuse".into(), MethodKind::Refuse { request, target });
                if self.may_be_cancelled(request) {
                    add("cancelled".into(), MethodKind::Cancelled { request });
                }
            }
            (_, _, Kind::Refusal { .. }) => {}
            // What the compiler added is on the wire and in the checker only.
            _ if edge.origin != Origin::Written => {}
            (Action::Step(target), Direction::Send, _) => {
                add(format!("send_{snake_name}"), MethodKind::Send { message, target });
                if let Some(what) = self.exchange(here, message, target) {
                    add(call_name(self.declarations, message), what);
                }
            }
            (Action::Step(target), Direction::Receive, _) => {
                let refused = self.refused_in_place_of(state, kind);
                add(format!("recv_{snake_name}"), MethodKind::Receive { message, target, refused });
            }
            (Action::Spawn(target), Direction::Send, _) if self.opening(message, target).is_some() => {
                let Some(opening) = self.opening(message, target) else { return };
                let step = match kind {
                    Kind::Request => format!("send_{snake_name}"),
                    _ => notify_name(self.declarations, message),
                };
                add(step, MethodKind::Open { message, opening });
                if let Some((reply, target)) = opening.answer {
                    let what = MethodKind::OpenExchange { request: message, reply, target, opening };
                    add(call_name(self.declarations, message), what);
                }
            }
            (Action::Spawn(target), Direction::Send, Kind::Request) => {
                if let Body::Reply(replies) = body(self.automaton, self.declarations, target) {
                    let call = Exchange { request: message, replies };
                    let pages = pages_name(self.declarations, message);
                    let pages = pages.map(|name| (name, MethodKind::Pages(call.clone())));
                    add(call_name(self.declarations, message), MethodKind::Call(call));
                    if let Some((name, pages)) = pages {
                        add(name, pages);
                    }
                }
            }
            (Action::Spawn(_), Direction::Send, _) => {
                add(notify_name(self.declarations, message), MethodKind::Notify { message });
            }
            (Action::Spawn(_), Direction::Receive, _) => {}
        }
    }

    /// Where several requests may be refused, the methods say which one is meant.
    fn tell_refusals_apart(&self, methods: &mut [Method]) {
        let refuses = |method: &&Method| matches!(method.what, MethodKind::Refuse { .. });
        if methods.iter().filter(refuses).count() < 2 {
            return;
        }
        for method in methods {
            if let MethodKind::Refuse { request, .. } | MethodKind::Cancelled { request } = method.what {
                method.name = format!("{}_{}", method.name, snake(self.name(request)));
            }
        }
    }

    fn may_be_cancelled(&self, request: MessageIndex) -> bool {
        self.declarations.message(request).is_some_and(|message| message.table.cancellable)
            && self.declarations.messages.iter().any(|message| message.table.cancels.is_some())
    }

    fn name(&self, message: MessageIndex) -> &'a str {
        self.declarations.messages.get(usize::from(message.0)).map_or("", |message| &message.table.name)
    }

    /// Where the session goes when the reply awaited in a state is a refusal.
    fn refused(&self, state: &State, wanted: impl Fn(&Edge) -> bool) -> Option<StateIndex> {
        let refusal = |edge: &&Edge| {
            edge.direction == Direction::Receive
                && matches!(kind(self.declarations, edge.message), Some(Kind::Refusal { .. }))
                && matches!(edge.action, Action::Step(_))
                && matches!(edge.origin, Origin::Written | Origin::Refusal)
        };
        state.edges.iter().filter(refusal).find(|edge| wanted(edge)).map(|edge| edge.action.target())
    }

    /// The same for one input. In place of a reply only the refusal of its own request is taken.
    fn refused_in_place_of(&self, state: &State, input: Kind) -> Option<StateIndex> {
        self.refused(state, |edge| match (input, kind(self.declarations, edge.message)) {
            (Kind::Reply { request }, Some(Kind::Refusal { request: refused })) => request == refused,
            _ => true,
        })
    }

    /// The combined form of a linear request: only where nothing but its reply can happen in between, and where a
    /// refusal undoes it.
    fn exchange(&self, here: StateIndex, request: MessageIndex, waiting: StateIndex) -> Option<MethodKind> {
        self.exchange_from(Some(here), request, waiting)
    }

    pub(super) fn exchange_from(
        &self,
        here: Option<StateIndex>,
        request: MessageIndex,
        waiting: StateIndex,
    ) -> Option<MethodKind> {
        if kind(self.declarations, request) != Some(Kind::Request) {
            return None;
        }
        let state = state(self.automaton, waiting)?;
        let refused = self.refused(state, |_| true);
        // A refusal takes the session back, or is the end of a sub-session.
        let elsewhere = |to: StateIndex| here.is_some_and(|here| to != here) && !is_over(self.automaton, to);
        if state.may_close || state.peer_may_close || refused.is_some_and(elsewhere) {
            return None;
        }
        let mut replies = Vec::new();
        let mut targets = Vec::new();
        let mut others = false;
        for edge in state.edges.iter().filter(|edge| edge.origin == Origin::Written) {
            let Action::Step(target) = edge.action else { continue };
            match kind(self.declarations, edge.message)? {
                Kind::Refusal { .. } => {}
                _ if target == waiting => others |= edge.direction == Direction::Receive,
                Kind::Reply { request: of } if of == request => {
                    replies.push(edge.message);
                    targets.push(target);
                }
                _ => return None,
            }
        }
        match targets.as_slice() {
            [] => None,
            [target, more @ ..] if more.iter().all(|other| other == target) => {
                Some(MethodKind::Exchange { request, replies, target: *target, refused: refused.or(here) })
            }
            // What else may come in between would be a choice of its own.
            _ => (!others).then_some(MethodKind::Choose { request, waiting }),
        }
    }

    fn next(&self, here: StateIndex, state: &State) -> Option<Method> {
        let inputs = self.inputs(state);
        // A sub-session takes what comes on its replicated channels in the order in which it came, between its steps.
        let replicated = match state.body {
            true => self.replicated_in([(here, state)], Direction::Receive, is_taken),
            false => Vec::new(),
        };
        let alone = inputs.is_empty() || inputs.len() + usize::from(state.peer_may_close) < 2;
        if alone && replicated.is_empty() {
            return None;
        }
        let next = NextPlan {
            name: next_name(state),
            here: inputs.iter().all(|(_, target)| *target == here),
            inputs,
            replicated,
            closed: state.peer_may_close,
            refused: self.refused(state, |edge| edge.origin == Origin::Refusal),
        };
        Some(Method { name: "next".into(), what: MethodKind::Next(next), span: state.span })
    }

    /// The inputs that move a value, or leave it where it is, as the author wrote them.
    fn inputs(&self, state: &State) -> Vec<(MessageIndex, StateIndex)> {
        let written = state
            .edges
            .iter()
            .filter(|edge| edge.direction == Direction::Receive && edge.origin == Origin::Written);
        written
            .filter_map(|edge| match edge.action {
                Action::Step(target) => Some((edge.message, target)),
                Action::Spawn(_) => None,
            })
            .collect()
    }

    pub(super) fn replicated(
        &self,
        direction: Direction,
        wanted: impl Fn(&Message) -> bool,
    ) -> Vec<Replicated> {
        let states = indexed(&self.automaton.states).filter(|(_, state)| !state.body);
        self.replicated_in(states, direction, wanted)
    }

    /// What may be sent, or come, on the replicated channels of some states.
    pub(super) fn replicated_in<'s>(
        &self,
        states: impl IntoIterator<Item = (StateIndex, &'s State)>,
        direction: Direction,
        wanted: impl Fn(&Message) -> bool,
    ) -> Vec<Replicated> {
        let mut found: Vec<Replicated> = Vec::new();
        for (index, state) in states {
            for edge in state.edges.iter().filter(|edge| edge.direction == direction) {
                let Action::Spawn(target) = edge.action else { continue };
                let Some(message) = self.declarations.messages.get(usize::from(edge.message.0)) else {
                    continue;
                };
                if edge.origin != Origin::Written || !wanted(message) {
                    continue;
                }
                if let Some(known) = found.iter_mut().find(|known| known.message == edge.message) {
                    known.states.push(index);
                    continue;
                }
                let opening = self.opening(edge.message, target);
                let replies = match (body(self.automaton, self.declarations, target), message.table.kind) {
                    (Body::Reply(replies), Kind::Request) => replies,
                    (Body::Over, Kind::Notification) => Vec::new(),
                    _ if opening.is_some() => Vec::new(),
                    _ => continue,
                };
                let (message, states) = (edge.message, vec![index]);
                found.push(Replicated { message, replies, opening, step: false, span: edge.span, states });
            }
        }
        found
    }
}

/// Whether a program takes a message that comes on a replicated channel. A cancel goes with its request, and what is
/// `answered` the runtime answers.
pub(super) fn is_taken(message: &Message) -> bool {
    let table = &message.table;
    !table.answered && table.cancels.is_none()
}

/// Whether nothing is left of a sub-session in a state.
pub(super) fn is_over(automaton: &Automaton, index: StateIndex) -> bool {
    state(automaton, index).is_some_and(|state| state.body && state.kind == StateKind::End)
}

/// The name of a replicated notification's method: the one after `as`, else like every other step.
pub(crate) fn notify_name(declarations: &Declarations, message: MessageIndex) -> String {
    match declarations.messages.get(usize::from(message.0)) {
        Some(Message { call_name: Some(name), .. }) => name.text.clone(),
        Some(message) => format!("send_{}", snake(&message.table.name)),
        None => String::new(),
    }
}

/// The name of the method that asks for page after page, for a request whose result comes in pages.
pub(crate) fn pages_name(declarations: &Declarations, request: MessageIndex) -> Option<String> {
    let message = declarations.messages.get(usize::from(request.0))?;
    message.pages.as_ref().map(|_| format!("{}_pages", call_name(declarations, request)))
}
