//! [`Raw`]: an automaton between exploring and finishing.
//!
//! States and edges point at each other by number. Each keeps its spans and definitions.

use mcp_protocol_machine::protocol::{Direction, Kind, Level, MessageIndex, Only, Origin, StateKind};

use crate::declarations::Declarations;
use crate::lists::Lists;
use crate::reach::reachable;
use crate::source::Span;

/// An automaton in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    pub(super) states: Vec<RawState>,
    pub(super) start: usize,
}

impl Raw {
    /// Whether a request is sent or received in some state.
    pub(super) fn has_requests(&self, declarations: &Declarations) -> bool {
        let mut edges = self.states.iter().flat_map(|state| &state.edges);
        edges.any(|edge| {
            declarations.message(edge.message).is_some_and(|message| message.table.kind == Kind::Request)
        })
    }
}

/// Whose state it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The session's.
    Session,
    /// A sub-session's, with the request that opened it if it was one.
    SubSession(Option<MessageIndex>),
    /// The same, in one of several channels of the sub-session: where it ends, the others may go on.
    Part(Option<MessageIndex>),
}

impl Owner {
    /// Whose the states of several channels are that start in a state.
    pub(super) fn part(self) -> Owner {
        match self {
            Owner::Session => Owner::Session,
            Owner::SubSession(opener) | Owner::Part(opener) => Owner::Part(opener),
        }
    }

    /// The request that opened the sub-session.
    pub(super) fn opener(self) -> Option<MessageIndex> {
        match self {
            Owner::Session => None,
            Owner::SubSession(opener) | Owner::Part(opener) => opener,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct RawState {
    pub(super) kind: StateKind,
    pub(super) edges: Vec<RawEdge>,
    /// How many of the edges are the channel's own; those of parallel `*` channels follow.
    pub(super) own: usize,
    pub(super) parts: Vec<usize>,
    pub(super) may_close: bool,
    pub(super) peer_may_close: bool,
    /// Where the bare `End` branch stands.
    pub(super) end: Option<Span>,
    /// In which directions sub-sessions are suspended here.
    pub(super) only: Only,
    pub(super) outward: Option<Level>,
    pub(super) inward: Option<Level>,
    pub(super) owner: Owner,
    /// Definitions that are this state, in the order in which they were met.
    pub(super) definitions: Vec<usize>,
    pub(super) span: Span,
}

impl RawState {
    /// Whether it is a state of a `*` body.
    pub(super) fn in_body(&self) -> bool {
        self.owner != Owner::Session
    }

    /// Takes the state, edges and all, out of a list in which it is not looked for any more.
    pub(super) fn take(&mut self) -> RawState {
        let edges = std::mem::take(&mut self.edges);
        let parts = std::mem::take(&mut self.parts);
        RawState { edges, parts, ..self.without_edges() }
    }

    /// The same state, with nothing that leads on.
    pub(super) fn without_edges(&self) -> RawState {
        RawState {
            edges: Vec::new(),
            parts: Vec::new(),
            end: self.end,
            outward: self.outward.clone(),
            inward: self.inward.clone(),
            definitions: self.definitions.clone(),
            ..*self
        }
    }

    /// A state of sub-sessions that the text has no place for: the end of one, or the wait for a reply in one.
    pub(super) fn of_sub_session(
        kind: StateKind,
        request: Option<MessageIndex>,
        edges: Vec<RawEdge>,
        span: Span,
    ) -> RawState {
        RawState {
            kind,
            own: edges.len(),
            edges,
            parts: Vec::new(),
            may_close: false,
            peer_may_close: false,
            end: None,
            only: Only::NONE,
            outward: None,
            inward: None,
            owner: Owner::SubSession(request),
            definitions: Vec::new(),
            span,
        }
    }
}

/// The state in which sub-sessions end alone, with no parallel channel, if any does.
pub(super) fn end_of_sub_sessions(states: &[RawState]) -> Option<usize> {
    states.iter().position(|state| state.in_body() && state.kind == StateKind::End && state.edges.is_empty())
}

#[derive(Clone, Debug)]
pub(super) struct RawEdge {
    pub(super) direction: Direction,
    pub(super) message: MessageIndex,
    pub(super) target: usize,
    pub(super) spawn: bool,
    /// The definition that is the body of the sub-session that is opened.
    pub(super) sub_session: Option<usize>,
    pub(super) origin: Origin,
    /// The request that a cancel edge withdraws.
    pub(super) cancels: Option<MessageIndex>,
    pub(super) span: Span,
    pub(super) level: Option<Box<Level>>,
}

/// A message and which way it goes.
pub(super) type Step = (Direction, MessageIndex);

/// `!` or `?`.
pub(super) fn sign(direction: Direction) -> char {
    match direction {
        Direction::Send => '!',
        Direction::Receive => '?',
    }
}

/// The edges of a state that open no sub-session.
pub(super) fn steps(states: &[RawState], state: usize) -> impl Iterator<Item = &RawEdge> + Clone {
    states.get(state).into_iter().flat_map(|place| place.edges.iter().filter(|edge| !edge.spawn))
}

/// The channels that start in a state.
pub(super) fn parts(states: &[RawState], state: usize) -> impl Iterator<Item = usize> + Clone {
    states.get(state).into_iter().flat_map(|place| place.parts.iter().copied())
}

/// Where a state leads along its channel, and the channels that it starts.
pub(super) fn after(states: &[RawState], state: usize) -> impl Iterator<Item = usize> + Clone {
    steps(states, state).map(|edge| edge.target).chain(parts(states, state))
}

/// Which states can come to `End`, or to a bare `End` branch, along their channel.
pub(super) fn reaches_end(states: &[RawState]) -> Vec<bool> {
    let steps = (0..states.len()).flat_map(|state| after(states, state).map(move |next| (next, state)));
    let backwards = Lists::grouped(states.len(), steps);
    let over = |place: &RawState| place.kind == StateKind::End || place.may_close || place.peer_may_close;
    let ends = states.iter().enumerate().filter(|(_, place)| over(place)).map(|(state, _)| state);
    let mut reaching = vec![false; states.len()];
    for state in reachable(ends, |state| backwards.get(state).iter().copied()) {
        if let Some(slot) = reaching.get_mut(state) {
            *slot = true;
        }
    }
    reaching
}
