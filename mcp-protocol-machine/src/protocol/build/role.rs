//! Constructors of roles, their states and levels.

use std::borrow::Cow;

use super::put;
use crate::protocol::{
    Advice, Direction, Edge, Level, List, MessageIndex, Only, Role, State, StateIndex, StateKind, Strictness,
    Text,
};

impl Level {
    /// A level without a rule or a code.
    pub const fn new(strictness: Strictness) -> Level {
        Level { strictness, rule: None, error: None }
    }

    /// Sets the code of the error that refuses a request.
    #[must_use]
    pub const fn error(mut self, code: i64) -> Level {
        self.error = Some(code);
        self
    }
}

impl Advice {
    /// The level of an action.
    pub const fn new(direction: Direction, message: MessageIndex, level: Level) -> Advice {
        Advice { direction, message, level }
    }
}

impl Role {
    /// The machine of a role.
    pub const fn new(name: Text, states: List<State>) -> Role {
        Role { name, states }
    }

    /// The constant machine of a role.
    pub const fn table(name: &'static str, states: &'static [State]) -> Role {
        Role::new(Cow::Borrowed(name), Cow::Borrowed(states))
    }
}

impl State {
    /// A state of a channel that reaches its end, where no side may close yet and every refusal is an error.
    pub const fn new(name: Text, kind: StateKind, edges: List<Edge>) -> State {
        State {
            name,
            kind,
            edges,
            parts: Cow::Borrowed(&[]),
            may_close: false,
            peer_may_close: false,
            reaches_end: true,
            only: Only::NONE,
            outward: Level::MUST,
            inward: Level::MUST,
            advice: Cow::Borrowed(&[]),
        }
    }

    const fn plain(name: &'static str, kind: StateKind, edges: &'static [Edge]) -> State {
        State::new(Cow::Borrowed(name), kind, Cow::Borrowed(edges))
    }

    /// A linear channel that goes on.
    pub const fn linear(name: &'static str, edges: &'static [Edge]) -> State {
        State::plain(name, StateKind::Linear, edges)
    }

    /// A channel or a sub-session with nothing left.
    pub const fn end(name: &'static str, edges: &'static [Edge]) -> State {
        State::plain(name, StateKind::End, edges)
    }

    /// A state with replicated channels only; the linear channel does not come to an end any more.
    pub const fn replicated(name: &'static str, edges: &'static [Edge]) -> State {
        State::plain(name, StateKind::Replicated, edges).endless()
    }

    /// The linear channel splits in these.
    pub const fn fork(name: &'static str, parts: &'static [StateIndex]) -> State {
        let mut state = State::plain(name, StateKind::Fork, &[]);
        put(&mut state.parts, Cow::Borrowed(parts));
        state
    }

    /// Sets that the end cannot be reached from here along this channel.
    #[must_use]
    pub const fn endless(mut self) -> State {
        self.reaches_end = false;
        self
    }

    /// Sets that the end can be reached from here along this channel.
    #[must_use]
    pub const fn ends(mut self) -> State {
        self.reaches_end = true;
        self
    }

    /// Lets this role close here.
    #[must_use]
    pub const fn may_close(mut self) -> State {
        self.may_close = true;
        self
    }

    /// Lets the peer close here.
    #[must_use]
    pub const fn peer_may_close(mut self) -> State {
        self.peer_may_close = true;
        self
    }

    /// Suspends the sub-sessions in a direction.
    #[must_use]
    pub const fn suspends(mut self, direction: Direction) -> State {
        self.only = self.only.with(direction);
        self
    }

    /// Sets how bad it is to send what is refused here: for this role, and for the peer.
    #[must_use]
    pub const fn levels(mut self, outward: Level, inward: Level) -> State {
        put(&mut self.outward, outward);
        put(&mut self.inward, inward);
        self
    }

    /// Sets the levels of actions that are accepted here and reported.
    #[must_use]
    pub const fn advises(mut self, advice: &'static [Advice]) -> State {
        put(&mut self.advice, Cow::Borrowed(advice));
        self
    }
}
