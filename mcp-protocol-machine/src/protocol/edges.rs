//! Constructors of edges, by the names that tables have for them.

use super::{Action, Direction, Edge, MessageIndex, Origin, StateIndex};

impl Edge {
    /// An edge.
    pub const fn new(direction: Direction, message: MessageIndex, action: Action, origin: Origin) -> Edge {
        Edge { direction, message, action, origin }
    }

    /// An edge of an output.
    pub const fn send(message: MessageIndex, action: Action, origin: Origin) -> Edge {
        Edge::new(Direction::Send, message, action, origin)
    }

    /// An edge of an input.
    pub const fn receive(message: MessageIndex, action: Action, origin: Origin) -> Edge {
        Edge::new(Direction::Receive, message, action, origin)
    }

    /// The message is the first one of a sub-session, or of an exchange of a replicated channel, which is then in that
    /// state.
    #[must_use]
    pub const fn spawn(mut self) -> Edge {
        self.action = Action::Spawn(self.action.target());
        self
    }

    /// The compiler added the edge to close the diamond: the message may come late here.
    #[must_use]
    pub const fn closure(mut self) -> Edge {
        self.origin = Origin::Closure;
        self
    }
}

/// This role sends a message; the channel goes on in a state.
pub const fn send(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::send(message, Action::Step(to), Origin::Written)
}

/// This role receives a message.
pub const fn receive(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::receive(message, Action::Step(to), Origin::Written)
}

/// This role refuses a request, which the file does not write.
pub const fn refuse(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::send(message, Action::Step(to), Origin::Refusal)
}

/// The peer refuses a request, which the file does not write.
pub const fn refused(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::receive(message, Action::Step(to), Origin::Refusal)
}

/// This role cancels its linear request.
pub const fn cancel(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::send(message, Action::Step(to), Origin::Cancel)
}

/// The peer cancels its linear request.
pub const fn cancelled(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::receive(message, Action::Step(to), Origin::Cancel)
}
