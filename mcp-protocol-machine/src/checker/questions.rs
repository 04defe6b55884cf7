//! What can be asked of a checker without moving it.

use std::collections::BTreeSet;

use crate::capability::Capabilities;
use crate::exchange::{Place, Standing};
use crate::id::{KeyValue, RequestId, SubSessionNumber, Token};
use crate::protocol::{
    Action, Condition, Direction, Edge, KeyIndex, Kind, MessageIndex, Origin, Side, StateIndex, StateKind,
};
use crate::shape::ShapeMismatch;
use crate::sub_sessions::Running;
use crate::violation::{RoundFault, Violation, ViolationKind};

use super::find::Found;
use super::state::Checker;

impl Checker {
    /// Whether a message may be sent now in a direction: first by the state, then by the gates. Conditions are taken
    /// not to apply, so this is right for every payload that needs nothing special; see
    /// [`permits_if`](Self::permits_if).
    ///
    /// A message that may only come late, because it may cross another one, is not permitted.
    ///
    /// A reply is permitted if some running request awaits it now, a cancellation if some request may be cancelled, a
    /// report if some request carries a token. Everything is permitted once closed.
    ///
    /// # Errors
    /// The [`Violation`] that the message would be.
    pub fn permits(&self, direction: Direction, message: MessageIndex) -> Result<(), Violation> {
        self.permits_if(direction, message, &Capabilities::unknown(), |_| false)
    }

    /// The same for one payload, and for a handle with a narrower set of capabilities: a gate must be announced *and*
    /// in `within`. `applies` is asked whether the payload fits a condition.
    ///
    /// # Errors
    /// The [`Violation`] that the message would be.
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
        if !self.allows(direction, message, self.open(direction), self.open(direction.flip())) {
            let kind = if self.lacks_its_exchange(direction, message) {
                ViolationKind::NothingRunning
            } else if self.is_suspended(direction) && self.sub_sessions.later(direction, message).is_some() {
                ViolationKind::Suspended
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
        // Each request and place once, because every reply of the protocol is held against them.
        let gather = |direction| self.open(direction).collect::<BTreeSet<_>>();
        let (own, others) = (gather(direction), gather(direction.flip()));
        let permitted = self.protocol.indexed().map(|(index, _)| index).filter(|message| {
            self.allows(direction, *message, own.iter().copied(), others.iter().copied())
                && self.are_gates_open(direction, *message)
        });
        permitted.collect()
    }

    /// Whether a message is among those that are [`permitted`](Self::permitted) now.
    pub fn is_permitted(&self, direction: Direction, message: MessageIndex) -> bool {
        !self.closed
            && self.allows(direction, message, self.open(direction), self.open(direction.flip()))
            && self.are_gates_open(direction, message)
    }

    /// Whether every capability that a message needs was announced, whatever the state says, or was when the sender of the
    /// message may have sent it.
    pub fn gates_open(
        &self,
        direction: Direction,
        message: MessageIndex,
        applies: impl Fn(&Condition) -> bool,
    ) -> bool {
        self.gates_on_arrival(direction, message, self.during(message), &applies).is_ok()
    }

    /// A message of the followed role that passes a gate only because its peer, or an observer, cannot know that the role
    /// has received what closed it. An endpoint does not send it.
    ///
    /// # Errors
    /// The [`Violation`] that the message would be.
    pub fn check_closed_gates(
        &self,
        message: MessageIndex,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<(), Violation> {
        match self.gates_on_arrival(Direction::Send, message, self.during(message), &applies) {
            Ok(Some(_)) => {
                let within = Capabilities::unknown();
                self.gates(Direction::Send, message, &within, &applies)
                    .map_err(|kind| self.violation(Direction::Send, message, None, kind))
            }
            _ => Ok(()),
        }
    }

    /// Whether a running sub-session may take a step now, as far as the states of the linear channels say; what the
    /// sub-session itself says is not asked.
    ///
    /// # Errors
    /// The [`Violation`] that the message would be.
    pub fn sub_sessions_go_on(&self, direction: Direction, message: MessageIndex) -> Result<(), Violation> {
        let alone = self.find(direction, message).is_some();
        if !alone && self.is_suspended(direction) && self.sub_sessions.later(direction, message).is_some() {
            return Err(self.violation(direction, message, None, ViolationKind::Suspended));
        }
        Ok(())
    }

    /// Whether the state permits a message on a replicated channel.
    pub fn is_replicated(&self, direction: Direction, message: MessageIndex) -> bool {
        self.find(direction, message).is_some_and(|found| matches!(found.action, Action::Spawn(_)))
    }

    /// Whether a message that is permitted now opens a sub-session that a key ties together, with later steps of its
    /// own.
    pub fn opens_sub_session(&self, direction: Direction, message: MessageIndex) -> bool {
        self.find(direction, message).is_some_and(|found| match found.action {
            Action::Spawn(start) => self.has_steps(start),
            Action::Step(_) => false,
        })
    }

    /// Whether a `*` body that starts in a state goes on, so that a key ties its steps together.
    pub fn has_steps(&self, start: StateIndex) -> bool {
        self.sub_sessions.starts(start).is_some()
    }

    /// What the followed role would do wrong that sent a message after the end of the session.
    pub fn over(&self, message: MessageIndex) -> Violation {
        self.violation(Direction::Send, message, None, ViolationKind::Over)
    }

    /// What the followed role would do wrong that sent a request or notification which the protocol does not have.
    pub fn no_such_message(&self, kind: Kind, method: &str) -> Violation {
        self.missing(Direction::Send, kind, None, method)
    }

    /// What would be wrong with a payload that fits none of the messages of its method, of which one is named.
    pub fn would_fit_none(&self, direction: Direction, message: MessageIndex) -> Violation {
        self.fits_none_violation(direction, message, None)
    }

    /// What would be wrong with a message whose payload does not have its shape.
    pub fn would_be_misshapen(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        mismatch: ShapeMismatch,
    ) -> Violation {
        self.violation(direction, message, id, ViolationKind::Misshapen { mismatch })
    }

    /// What is wrong with another round of a request, or with the reply that asks for it.
    pub fn would_be_wrong_round(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        fault: RoundFault,
    ) -> Violation {
        self.violation(direction, message, id, ViolationKind::Round { fault })
    }

    /// What the followed role would do wrong that sent a message as something that it is not.
    pub fn other_kind(&self, message: MessageIndex, taken_for: Kind) -> Violation {
        self.violation(Direction::Send, message, None, ViolationKind::OtherKind { taken_for })
    }

    /// The request under an id that has its reply, where the sub-session that it opened goes on.
    pub fn answered_opener(&self, direction: Direction, id: &RequestId) -> Option<MessageIndex> {
        let exchange = self.asked(direction).running_under(id)?;
        exchange.is_answered().then_some(exchange.message)
    }

    /// Whether a running request was cancelled by its sender, and still gets its reply.
    pub fn is_cancelled(&self, direction: Direction, id: &RequestId) -> bool {
        self.asked(direction).running_under(id).is_some_and(|exchange| exchange.cancelled)
    }

    /// The requests that went in a direction and await their reply, with where they belong.
    fn open(&self, direction: Direction) -> impl Iterator<Item = (MessageIndex, Place)> {
        let running = self.asked(direction).running().filter(|exchange| !exchange.is_answered());
        running.map(|exchange| (exchange.message, exchange.place))
    }

    /// Whether a linear channel, or a sub-session, has a message as a step of its own here, not only as one that may be
    /// late.
    pub fn has_step(
        &self,
        sub_session: Option<SubSessionNumber>,
        direction: Direction,
        message: MessageIndex,
    ) -> bool {
        let written = |state: &StateIndex| {
            let edge = self.state(*state).and_then(|table| table.edge(direction, message));
            edge.is_some_and(|edge| edge.origin != Origin::Closure)
        };
        match sub_session {
            Some(sub_session) => self.sub_session_states(sub_session).iter().any(written),
            None => self.states().iter().any(written),
        }
    }

    /// Whether a message may come, by the state and by what runs, gates aside. The open requests, of the same sender
    /// and of the other side, are looked at only where the message belongs to one of them.
    fn allows(
        &self,
        direction: Direction,
        message: MessageIndex,
        own: impl Iterator<Item = (MessageIndex, Place)>,
        others: impl Iterator<Item = (MessageIndex, Place)>,
    ) -> bool {
        let Some(table) = self.protocol.message(message) else { return false };
        // What may only come late is not permitted: it is dropped.
        let written = |found: Found| found.origin != Origin::Closure;
        match table.kind {
            Kind::Request => {
                self.find(direction, message).is_some_and(written)
                    || self.some_sub_session_accepts(direction, message)
            }
            Kind::Notification => {
                self.find(direction, message).is_some_and(written)
                    || self.some_sub_session_accepts(direction, message)
                    || (table.cancels.is_some() && self.may_cancel(direction, message, own))
                    || (table.reports.is_some() && self.asked(direction.flip()).any_token())
            }
            Kind::Reply { request } | Kind::Refusal { request } => {
                let refusal = matches!(table.kind, Kind::Refusal { .. });
                let mut places = others.filter(|(awaiting, _)| *awaiting == request).map(|(_, place)| place);
                places.any(|place| match place {
                    Place::Linear(channel) => self.find_in(channel, direction, message).is_some_and(written),
                    Place::Keyed(sub_session, channel) => {
                        self.sub_sessions.get(sub_session).is_some_and(|running| {
                            // Which of its requests it is does not matter: its opener's refusal needs no edge.
                            let opener = refusal && self.opens(running, direction.flip(), request);
                            let its = |number| number == channel;
                            opener
                                || self
                                    .find_among(&running.channels, direction, message, its)
                                    .is_some_and(written)
                        })
                    }
                    Place::SubSession(state) => {
                        refusal
                            || self.state(state).is_some_and(|state| state.edge(direction, message).is_some())
                    }
                })
            }
        }
    }

    /// Whether a sub-session was opened by such a request.
    fn opens(&self, running: &Running, asker: Direction, request: MessageIndex) -> bool {
        running.opener.as_ref().is_some_and(|(by, id)| {
            *by == asker
                && self.asked(asker).running_under(id).is_some_and(|exchange| exchange.message == request)
        })
    }

    /// Whether some running request of the same sender can be cancelled by a notification.
    fn may_cancel(
        &self,
        direction: Direction,
        message: MessageIndex,
        mut own: impl Iterator<Item = (MessageIndex, Place)>,
    ) -> bool {
        let cancellable = |request| self.protocol.message(request).is_some_and(|table| table.cancellable);
        let cancels = self.protocol.message(message).and_then(|table| table.cancels.as_ref());
        if cancels.is_some_and(|cancels| cancels.reply_error.is_some()) {
            let mut running = self.asked(direction).running();
            return running.any(|exchange| {
                !exchange.is_answered() && !exchange.cancelled && cancellable(exchange.message)
            });
        }
        own.any(|(request, place)| {
            cancellable(request)
                && match place {
                    Place::SubSession(_) | Place::Keyed(..) => true,
                    Place::Linear(channel) => self
                        .find_in(channel, direction, message)
                        .is_some_and(|found| matches!(found.action, Action::Step(_))),
                }
        })
    }

    /// Whether a message that is not permitted now belongs to an exchange, and no such exchange runs.
    fn lacks_its_exchange(&self, direction: Direction, message: MessageIndex) -> bool {
        self.protocol.message(message).is_some_and(|table| match table.kind {
            Kind::Request => false,
            Kind::Notification => table.cancels.is_some() || table.reports.is_some(),
            Kind::Reply { request } | Kind::Refusal { request } => {
                let mut others = self.asked(direction.flip()).running();
                !others.any(|exchange| exchange.message == request && !exchange.is_answered())
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

    /// The requests that went in a direction and await their reply, with their ids, in no particular order.
    pub fn unanswered(&self, direction: Direction) -> impl Iterator<Item = (&RequestId, MessageIndex)> {
        let running = self.asked(direction).entries().filter(|(_, exchange)| !exchange.is_answered());
        running.map(|(id, exchange)| (id, exchange.message))
    }

    /// The values that a running request, which went in a direction, has in members of its envelope.
    pub fn members_of(&self, direction: Direction, id: &RequestId) -> &[(KeyIndex, KeyValue)] {
        self.asked(direction).members(id).unwrap_or_default()
    }

    /// The id of the open linear request that awaits a reply in this direction, by its message; the oldest, should
    /// there be several.
    pub fn linear_request(&self, direction: Direction, request: MessageIndex) -> Option<&RequestId> {
        self.asked(direction.flip()).linear_request(request)
    }

    /// Whether it matters to a linear channel which reply in this direction a running request gets: its replies and its
    /// refusal lead to different states.
    pub fn reply_decides(&self, direction: Direction, id: &RequestId) -> bool {
        let Standing::Running(request, Place::Linear(channel)) = self.asked(direction.flip()).standing(id)
        else {
            return false;
        };
        let answers = |edge: &&Edge| {
            let kind = self.protocol.message(edge.message).map(|table| table.kind);
            let of = match kind {
                Some(Kind::Reply { request } | Kind::Refusal { request }) => Some(request),
                _ => None,
            };
            edge.direction == direction && of == Some(request)
        };
        let place = self.channels.iter().find(|(_, number, _)| *number == channel);
        let state = place.and_then(|(_, _, state)| self.state(state));
        let mut targets =
            state.iter().flat_map(|state| state.edges.iter()).filter(answers).map(|edge| edge.action);
        match targets.next() {
            Some(first) => targets.any(|other| other != first),
            None => true,
        }
    }

    /// The id of the running request that a report in this direction is about.
    pub fn reported(&self, direction: Direction, token: &Token) -> Option<&RequestId> {
        self.asked(direction.flip()).token(token).holder()
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
