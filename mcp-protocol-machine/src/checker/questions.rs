//! What can be asked of a checker without moving it.
//!
//! In: a checker. Out: what is permitted now, where the session is, whether it may be closed, what runs. Refuses to
//! be fast where that would cost the hot path something: the lists here are made when they are asked for, and those
//! that speak of replies look at every running exchange.

use std::collections::BTreeSet;

use crate::capability::Capabilities;
use crate::exchange::{Place, RequestId, Token};
use crate::protocol::{Condition, Direction, Kind, MessageIndex, Side, StateIndex, StateKind};
use crate::violation::{Violation, ViolationKind};

use super::Checker;

/// What the exchanges of one direction allow, gathered in one walk.
struct Summary {
    /// The requests that await their reply, each with the state of a copy, or none where it is linear.
    awaiting: BTreeSet<(MessageIndex, Option<StateIndex>)>,
    cancellable: bool,
    token: bool,
}

impl Checker {
    /// Whether a message may be sent now in a direction: first by the state, then by the gates. Conditions are taken
    /// not to apply, so this is right for every payload that needs nothing special; see
    /// [`permits_if`](Self::permits_if).
    ///
    /// A reply is permitted if some running request awaits it, a cancellation if some request may be cancelled, a
    /// report if some request carries a token. Everything is permitted once closed.
    pub fn permits(&self, direction: Direction, message: MessageIndex) -> Result<(), Violation> {
        self.permits_if(direction, message, &Capabilities::unknown(), |_| false)
    }

    /// The same for one payload, and for a handle with a narrower set of capabilities: a gate must be announced *and*
    /// in `within`. `applies` is asked whether the payload fits a condition.
    pub fn permits_if(
        &self,
        direction: Direction,
        message: MessageIndex,
        within: &Capabilities,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<(), Violation> {
        if self.closed {
            return Ok(());
        }
        if self.find(direction, message).is_none()
            && !self.exchanges_allow(
                direction,
                message,
                &self.summary(Direction::Send),
                &self.summary(Direction::Receive),
            )
        {
            let kind = if self.is_tied(direction, message) {
                ViolationKind::NothingRunning
            } else {
                ViolationKind::NotPermitted
            };
            return Err(self.violation(direction, message, None, kind));
        }
        self.gates(direction, message, within, &applies)
            .map_err(|kind| self.violation(direction, message, None, kind))
    }

    /// Every message that is permitted now in a direction, in order of declaration; the gates are open for all of
    /// them. Empty once closed, for then there is nothing left to say.
    pub fn permitted(&self, direction: Direction) -> Vec<MessageIndex> {
        if self.closed {
            return Vec::new();
        }
        let (sent, received) = (self.summary(Direction::Send), self.summary(Direction::Receive));
        let within = Capabilities::unknown();
        let permitted = self.protocol.indexed().map(|(index, _)| index).filter(|message| {
            (self.find(direction, *message).is_some()
                || self.exchanges_allow(direction, *message, &sent, &received))
                && self.gates(direction, *message, &within, &|_: &Condition| false).is_ok()
        });
        permitted.collect()
    }

    fn summary(&self, direction: Direction) -> Summary {
        let mut summary = Summary { awaiting: BTreeSet::new(), cancellable: false, token: false };
        for exchange in self.asked(direction).running() {
            summary.token |= exchange.token.is_some();
            if !exchange.answered {
                let state = match exchange.place {
                    Place::Linear(_) => None,
                    Place::Copy(state) => Some(state),
                };
                summary.awaiting.insert((exchange.message, state));
            }
        }
        let cancellable = |message| self.protocol.message(message).is_some_and(|table| table.cancellable);
        summary.cancellable = summary.awaiting.iter().any(|(message, _)| cancellable(*message));
        summary
    }

    /// Whether a message belongs to some running exchange, whatever the linear channels say.
    fn exchanges_allow(
        &self,
        direction: Direction,
        message: MessageIndex,
        sent: &Summary,
        received: &Summary,
    ) -> bool {
        let (own, others) = match direction {
            Direction::Send => (sent, received),
            Direction::Receive => (received, sent),
        };
        let Some(table) = self.protocol.message(message) else { return false };
        match table.kind {
            Kind::Request => false,
            Kind::Notification => {
                (table.cancels.is_some() && own.cancellable) || (table.reports.is_some() && others.token)
            }
            Kind::Reply { request } | Kind::Refusal { request } => {
                let refusal = matches!(table.kind, Kind::Refusal { .. });
                let copies =
                    others.awaiting.range((request, None)..).take_while(|(awaiting, _)| *awaiting == request);
                copies.filter_map(|(_, state)| *state).any(|state| {
                    refusal || self.state(state).is_some_and(|state| state.edge(direction, message).is_some())
                })
            }
        }
    }

    /// Whether a message that is not permitted now belongs to an exchange, and no such exchange runs.
    fn is_tied(&self, direction: Direction, message: MessageIndex) -> bool {
        self.protocol.message(message).is_some_and(|table| match table.kind {
            Kind::Request => false,
            Kind::Notification => table.cancels.is_some() || table.reports.is_some(),
            Kind::Reply { request } | Kind::Refusal { request } => {
                let mut others = self.asked(direction.flip()).running();
                !others.any(|exchange| exchange.message == request && !exchange.answered)
            }
        })
    }

    /// The state of each linear channel: one, unless the session has forked.
    pub fn states(&self) -> &[StateIndex] {
        self.channels.states()
    }

    /// The names of these states: `Active`, or `RequestChannel and NotificationChannel`.
    pub fn state_names(&self) -> String {
        let names = self.states().iter().filter_map(|state| self.state(*state)).map(|state| &*state.name);
        names.collect::<Vec<_>>().join(" and ")
    }

    /// Whether the followed role may close now.
    pub fn quiescent(&self) -> bool {
        self.may_close(|state| state.may_close)
    }

    /// Whether its peer may close now.
    pub fn peer_may_close(&self) -> bool {
        self.may_close(|state| state.peer_may_close)
    }

    /// Every linear channel that can end has ended or offers the end, and there is such a channel, or no linear one.
    fn may_close(&self, offers: impl Fn(&crate::protocol::State) -> bool) -> bool {
        let (mut linear, mut ending) = (false, false);
        for state in self.states().iter().filter_map(|state| self.state(*state)) {
            match state.kind {
                StateKind::Replicated | StateKind::Fork => {}
                StateKind::End => (linear, ending) = (true, true),
                StateKind::Linear if !state.reaches_end => linear = true,
                StateKind::Linear if offers(state) => (linear, ending) = (true, true),
                StateKind::Linear => return false,
            }
        }
        ending || !linear
    }

    /// What one side has announced; nothing before it has.
    pub fn capabilities(&self, side: Side) -> &Capabilities {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// How many requests that went in a direction await their reply.
    pub fn running(&self, direction: Direction) -> usize {
        self.asked(direction).awaiting()
    }

    /// The id of the open linear request that awaits a reply in this direction, by its message; the oldest, should
    /// there be several.
    pub fn linear_request(&self, direction: Direction, request: MessageIndex) -> Option<&RequestId> {
        self.asked(direction.flip()).linear_request(request)
    }

    /// The id of the running request that a report in this direction is about.
    pub fn reported(&self, direction: Direction, token: &Token) -> Option<&RequestId> {
        self.asked(direction.flip()).token(token).1
    }

    /// Whether the session was closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The side whose role is followed.
    pub fn side(&self) -> Side {
        self.side
    }
}
