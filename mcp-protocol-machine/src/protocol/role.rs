//! The machine of one role: its states, and what may happen in each.

use super::{Direction, Level, List, MessageIndex, StateIndex, Text};

/// The machine of one role, in its own point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Role {
    /// The role's name, `McpClient`.
    pub name: Text,
    /// All states, in order of appearance; the first is where a session starts. The states of `*` bodies are here
    /// too, each reached only through a [`Action::Spawn`] edge.
    pub states: List<State>,
}

impl Role {
    /// Where a session starts.
    pub const START: StateIndex = StateIndex(0);

    /// The state with this name.
    pub fn by_name(&self, name: &str) -> Option<StateIndex> {
        (0..=u32::MAX)
            .map(StateIndex)
            .zip(self.states.iter())
            .find(|(_, state)| state.name == name)
            .map(|(index, _)| index)
    }

    /// The state at an index.
    pub fn state(&self, index: StateIndex) -> Option<&State> {
        self.states.get(usize::try_from(index.0).unwrap_or(usize::MAX))
    }
}

/// One state: the place of one linear channel, or of one running sub-session of a `*` body, together with the
/// replicated channels that run from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct State {
    /// The name in reports and in generated code.
    pub name: Text,
    /// What this place is.
    pub kind: StateKind,
    /// What may happen here, sorted by direction and message, each pair at most once.
    pub edges: List<Edge>,
    /// Where `kind` is [`StateKind::Fork`], the linear channels that run from here on, two or more.
    pub parts: List<StateIndex>,
    /// Whether a bare `End` branch lets this role close here.
    pub may_close: bool,
    /// Whether a bare `End` branch lets the peer close here.
    pub peer_may_close: bool,
    /// Whether `End` can be reached from here along this channel.
    pub reaches_end: bool,
    /// Which ways running sub-sessions take no steps while the session is here: `only`.
    pub only: Only,
    /// How bad it is for this role to send what is refused here.
    pub outward: Level,
    /// How bad it is for the peer to send what is refused here.
    pub inward: Level,
    /// Levels written after actions: what is accepted here but reported. Mostly empty.
    pub advice: List<Advice>,
}

impl State {
    /// What a message does here, if it may happen here. Relies on the edges being sorted.
    pub fn edge(&self, direction: Direction, message: MessageIndex) -> Option<&Edge> {
        let place =
            self.edges.binary_search_by_key(&(direction, message), |edge| (edge.direction, edge.message));
        place.ok().and_then(|place| self.edges.get(place))
    }

    /// The level written after an action that may happen here.
    pub fn advice(&self, direction: Direction, message: MessageIndex) -> Option<&Level> {
        let matching = |advice: &&Advice| advice.direction == direction && advice.message == message;
        self.advice.iter().find(matching).map(|advice| &advice.level)
    }
}

/// For which side running sub-sessions are suspended in a state: they take no step there. The reply to a running
/// request, its progress and its cancellation are not steps of a sub-session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Only {
    /// This role sends nothing in sub-sessions.
    pub outward: bool,
    /// The peer sends nothing in sub-sessions.
    pub inward: bool,
}

impl Only {
    /// Sub-sessions go on both ways.
    pub const NONE: Only = Only { outward: false, inward: false };

    /// Whether sub-sessions take no step in a direction.
    pub const fn suspends(self, direction: Direction) -> bool {
        match direction {
            Direction::Send => self.outward,
            Direction::Receive => self.inward,
        }
    }

    /// The same with one more direction.
    #[must_use]
    pub const fn with(self, direction: Direction) -> Only {
        match direction {
            Direction::Send => Only { outward: true, ..self },
            Direction::Receive => Only { inward: true, ..self },
        }
    }

    /// The same, seen from the other role.
    #[must_use]
    pub const fn flip(self) -> Only {
        Only { outward: self.inward, inward: self.outward }
    }
}

/// A level written after an action: the action is accepted, and reported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message.
    pub message: MessageIndex,
    /// How bad it is, and by which rule.
    pub level: Level,
}

/// What a state's place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// A linear channel that goes on.
    Linear,
    /// A linear channel, or a sub-session, with nothing left.
    End,
    /// The last linear channel turned into replicated ones: the session has no linear channel any more.
    Replicated,
    /// The linear channel splits in several; see [`State::parts`]. A fork has no edges of its own: replicated channels
    /// in parallel with the parts are spawn edges of each part.
    Fork,
}

/// One thing that may happen in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message.
    pub message: MessageIndex,
    /// What follows.
    pub action: Action,
    /// Who wrote the edge.
    pub origin: Origin,
}

/// What taking an edge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The channel goes on in that state.
    Step(StateIndex),
    /// The channel stays; a new sub-session of a `*` body starts and has already taken this first action: it is in the
    /// state named here.
    Spawn(StateIndex),
}

impl Action {
    /// The state the edge leads to, of the channel or of the new sub-session.
    pub const fn target(self) -> StateIndex {
        match self {
            Action::Step(state) | Action::Spawn(state) => state,
        }
    }
}

/// Where an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The author wrote it.
    Written,
    /// A refusal that every request has.
    Refusal,
    /// The cancellation of a linear request.
    Cancel,
    /// Added to close the diamond: the message may come late. The compiler adds edges to receive along only.
    Closure,
}
