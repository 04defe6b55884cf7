//! An automaton in the making, as the stages from exploring to finishing hand it on.
//!
//! States and edges point at each other by number. What the text says of them, spans and definitions, stays with them.
//! Refuses nothing.

use mcp_protocol_machine::protocol::{Direction, Kind, Level, MessageIndex, Only, Origin, StateKind};

use crate::declarations::Declarations;
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

#[derive(Clone, Debug)]
pub(super) struct RawState {
    pub(super) kind: StateKind,
    pub(super) edges: Vec<RawEdge>,
    /// How many of the edges are the channel's own; those of `*` channels beside it come behind.
    pub(super) own: usize,
    pub(super) parts: Vec<usize>,
    pub(super) may_close: bool,
    pub(super) peer_may_close: bool,
    /// Where the bare `End` branch stands.
    pub(super) end: Option<Span>,
    /// Which ways copies rest here.
    pub(super) only: Only,
    pub(super) outward: Option<Level>,
    pub(super) inward: Option<Level>,
    /// The request that opened the `*` copy whose state this is; `None` inside for a notification.
    pub(super) body: Option<Option<MessageIndex>>,
    /// Definitions that are this state, in the order in which they were met.
    pub(super) definitions: Vec<usize>,
    pub(super) span: Span,
}

impl RawState {
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

    /// A state of copies that the text has no place for: the end of one, or the wait for a reply in one.
    pub(super) fn of_copy(
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
            body: Some(request),
            definitions: Vec::new(),
            span,
        }
    }
}

/// Where copies end by themselves, with nothing beside them, if any does.
pub(super) fn end_of_copies(states: &[RawState]) -> Option<usize> {
    states
        .iter()
        .position(|state| state.body.is_some() && state.kind == StateKind::End && state.edges.is_empty())
}

#[derive(Clone, Debug)]
pub(super) struct RawEdge {
    pub(super) direction: Direction,
    pub(super) message: MessageIndex,
    pub(super) target: usize,
    pub(super) spawn: bool,
    /// The definition that is the body of the copy that is opened.
    pub(super) copy: Option<usize>,
    pub(super) origin: Origin,
    /// The request that a cancel edge withdraws.
    pub(super) cancels: Option<MessageIndex>,
    pub(super) span: Span,
    pub(super) level: Option<Box<Level>>,
}

/// A request that waits for its reply, and who sent it.
pub(super) type Open = (Direction, MessageIndex);

/// `!` or `?`.
pub(super) fn sign(direction: Direction) -> char {
    match direction {
        Direction::Send => '!',
        Direction::Receive => '?',
    }
}

/// The action that answers a request, as it is written: `?R`, or `?reply` where there are several.
pub(super) fn answer(declarations: &Declarations, direction: Direction, request: MessageIndex) -> String {
    let mut replies = declarations.replies(request);
    let name = match (replies.next(), replies.next()) {
        (Some(only), None) => declarations.message_name(only),
        _ => "reply",
    };
    format!("{}{name}", sign(direction.flip()))
}
