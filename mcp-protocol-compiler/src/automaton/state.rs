//! What is built: an automaton with its states and edges.

use mcp_protocol_machine::protocol::{
    Action, Direction, Level, MessageIndex, Only, Origin, Side, StateIndex, StateKind,
};

use crate::reach::reachable;
use crate::source::Span;

/// The machine of one role, with what the text says of each part.
///
/// The shape is that of [`mcp_protocol_machine::protocol::Role`], which is made from it; here everything is owned
/// and knows its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// Which side.
    pub side: Side,
    /// The role's name.
    pub name: String,
    /// Where the role is declared.
    pub span: Span,
    /// Documentation of the role's definition.
    pub documentation: Vec<String>,
    /// Whether the role's session type stands in the item that declares it, `server Shop = …`.
    pub inline: bool,
    /// Whether its session type is written as the dual of something.
    pub derived: bool,
    /// All states in order of appearance, the start first; states of `*` bodies have [`State::body`] set.
    pub states: Vec<State>,
    /// The session types of `*` bodies that are longer than a request and its reply.
    pub sub_sessions: Vec<SubSessionType>,
}

impl Automaton {
    /// Whether a message may pass in a direction before certain others have. What happens on one of several channels says
    /// nothing of the others.
    pub(crate) fn passes_before(
        &self,
        (direction, message): (Direction, MessageIndex),
        is_after: impl Fn(MessageIndex) -> bool,
    ) -> bool {
        let state = |index: StateIndex| self.states.get(usize::try_from(index.0).ok()?);
        let next = |index: StateIndex| {
            let edges = state(index).into_iter().flat_map(|state| &state.edges);
            let targets = edges.filter(|edge| !is_after(edge.message)).map(|edge| edge.action.target());
            let parts = state(index).into_iter().flat_map(|state| state.parts.iter().copied());
            parts.chain(targets).collect::<Vec<_>>()
        };
        let is_it = |edge: &Edge| {
            // What comes late was sent where it is written.
            edge.direction == direction && edge.message == message && edge.origin != Origin::Closure
        };
        let passes = |index| state(index).is_some_and(|state| state.edges.iter().any(is_it));
        reachable([StateIndex(0)], next).into_iter().any(passes)
    }
}

/// The session type of the sub-sessions of a `*` body that is longer than a request and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubSessionType {
    /// The name of the definition that is the body.
    pub name: String,
    /// The definition.
    pub span: Span,
    /// Documentation of the definition.
    pub documentation: Vec<String>,
    /// The states in which sub-sessions start, one for each first action; the other states follow from these.
    pub starts: Vec<StateIndex>,
}

/// One state of an [`Automaton`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The name, unique within the role; the same name in both roles is the same marker.
    pub name: String,
    /// Whether a definition has this name, so that it stands in the text.
    pub named: bool,
    /// Further definitions that are this state.
    pub aliases: Vec<String>,
    /// What this place is.
    pub kind: StateKind,
    /// What may happen here, in order of appearance in the text. All [`Action::Spawn`] edges of replicated channels
    /// that run here are included.
    pub edges: Vec<Edge>,
    /// For [`StateKind::Fork`], the linear channels that run from here on.
    pub parts: Vec<StateIndex>,
    /// Whether a bare `End` branch lets this role close here.
    pub may_close: bool,
    /// Whether a bare `End` branch lets the peer close here.
    pub peer_may_close: bool,
    /// Where the bare `End` branch stands.
    pub end: Option<Span>,
    /// Whether `End` can be reached from here along this channel.
    pub reaches_end: bool,
    /// In which directions sub-sessions are suspended while the session is here.
    pub only: Only,
    /// How bad it is for this role to send what is refused here.
    pub outward: Level,
    /// How bad it is for the peer to send what is refused here.
    pub inward: Level,
    /// The state of a `*` body: reached only through a spawn edge. Named after the request that opens it.
    pub body: bool,
    /// The definition or the choice that is this state.
    pub span: Span,
    /// Documentation comments of the definition that names the state.
    pub documentation: Vec<String>,
}

/// One edge of an [`Automaton`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message, in [`crate::declarations::Declarations::messages`].
    pub message: MessageIndex,
    /// What follows.
    pub action: Action,
    /// Who wrote the edge.
    pub origin: Origin,
    /// For the cancel of a linear request, that request. A cancel names its request by id, so cancels of different
    /// requests are different messages, though they have one name.
    pub cancels: Option<MessageIndex>,
    /// The action in the text; for an implied edge the action it comes from.
    pub span: Span,
    /// The level written after the action, for what is accepted but reported.
    pub level: Option<Box<Level>>,
}
