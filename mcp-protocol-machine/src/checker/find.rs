//! Which edge a message takes: of a linear channel of the session, or of a sub-session.

use crate::channels::Channels;
use crate::protocol::{Action, Direction, MessageIndex, Origin, StateIndex};
use crate::sub_sessions::Lead;

use super::state::Checker;

/// An edge of the state of a linear channel, of the session or of a sub-session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Which of the linear channels of the session, or of the sub-session.
    pub(super) place: usize,
    /// Its number.
    pub(super) channel: u32,
    /// Where that channel is.
    pub(super) state: StateIndex,
    pub(super) action: Action,
    pub(super) origin: Origin,
    /// For an edge that was added to close the diamond: the step that the message has crossed, if that is known.
    pub(super) crossed: Option<MessageIndex>,
    /// The message shows that its sender takes the channel to be in this state. One that opens a sub-session, or is
    /// uncorrelated, shows nothing if it may have been sent for a sub-session before, wherever the channel was.
    pub(super) shows_state: bool,
    /// It came through a gate that has closed, and its sender may not have received what closed it.
    pub(super) closed_gate: Option<ClosedGate>,
}

/// A gate that has closed behind a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedGate {
    /// The message that closed it, if one did.
    pub(super) by: Option<MessageIndex>,
}

impl Found {
    /// A step that takes the edge to a state.
    pub(super) fn leads(&self, to: StateIndex) -> Lead {
        Lead { place: self.place, to, shows_state: self.shows_state }
    }
}

impl Checker {
    /// The edge that a message takes in the linear channels, spawn edges included.
    pub(super) fn find(&self, direction: Direction, message: MessageIndex) -> Option<Found> {
        self.find_among(&self.channels, direction, message, |_| true)
    }

    /// The edge that a message takes in one linear channel.
    pub(super) fn find_in(&self, channel: u32, direction: Direction, message: MessageIndex) -> Option<Found> {
        self.find_among(&self.channels, direction, message, |number| number == channel)
    }

    /// The edge that a message takes in some of the linear channels of the session, or of a sub-session.
    pub(super) fn find_among(
        &self,
        channels: &Channels,
        direction: Direction,
        message: MessageIndex,
        which: impl Fn(u32) -> bool,
    ) -> Option<Found> {
        let role = self.role()?;
        let mut late = None;
        for (place, channel, state) in channels.iter().filter(|(_, channel, _)| which(*channel)) {
            let Some(edge) = role.state(state).and_then(|table| table.edge(direction, message)) else {
                if late.is_none() && direction == Direction::Send {
                    late = self.sent_before(channels, place, channel, state, message);
                }
                continue;
            };
            let found = Found {
                place,
                channel,
                state,
                action: edge.action,
                origin: edge.origin,
                crossed: None,
                shows_state: true,
                closed_gate: None,
            };
            if edge.origin != Origin::Closure {
                return Some(found);
            }
            // What was added to close the diamond is for what may have crossed a step of this channel.
            if late.is_none() {
                let crossed = channels.crossed(place, direction, message, &self.evidence());
                let crossed = crossed.map(|left| left.by).or((!self.ordered).then_some(None));
                late = crossed.map(|crossed| Found { crossed, ..found });
            }
        }
        late
    }

    /// What the followed role has sent for a channel in a state before the present one: a message that comes late for the
    /// peer, or a step that has crossed another one.
    fn sent_before(
        &self,
        channels: &Channels,
        place: usize,
        channel: u32,
        state: StateIndex,
        message: MessageIndex,
    ) -> Option<Found> {
        let crossed =
            channels.sent(place, message, &self.evidence()).filter(|_| self.is_received(message))?;
        let (action, crossed) = (crossed.action, crossed.left.by);
        let origin = match action {
            Action::Step(to) if to != state => Origin::Written,
            Action::Step(_) | Action::Spawn(_) => Origin::Closure,
        };
        Some(Found { place, channel, state, action, origin, crossed, shows_state: true, closed_gate: None })
    }

    /// Whether the peer of the followed role has a message in some state. The tables of a role without its peer do not
    /// say what may be late.
    pub(super) fn is_received(&self, message: MessageIndex) -> bool {
        let peer = self.protocol.role(self.side.other());
        let mut states = peer.into_iter().flat_map(|peer| &*peer.states);
        states.any(|state| state.edge(Direction::Receive, message).is_some())
    }
}
