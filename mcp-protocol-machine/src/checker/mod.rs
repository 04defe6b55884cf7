//! The checker: follows one role's machine through a session, message by message.
//!
//! A message that the protocol permits is a [`Step`], and the state moves. Any other message is a [`Violation`], and
//! the state does not change. Only the id of a refused request is remembered, so that the error which answers it is not
//! a second violation.
//!
//! Replies are found by their id, cancellations and reports by the request that they name: they never reach the
//! machine if that exchange is over. Everything else is looked up in the state of each linear channel.
//!
//! - `mod.rs`: the type, and what it takes to move.
//! - `channels.rs`: the linear channels and their states.
//! - `judge.rs`: whether a message may come.
//! - `early.rs`: messages that come before a step that they wait for.
//! - `keyed.rs`: sub-sessions with a correlation key.
//! - `late.rs`: what comes late, and until when.
//! - `notification.rs`, `reply.rs`: what belongs to a running exchange.
//! - `questions.rs`: queries that do not change the state.
//! - `report.rs`: how a refusal becomes a [`Violation`].

mod channels;
mod early;
mod judge;
mod keyed;
mod late;
mod notification;
mod questions;
mod reply;
mod report;
#[cfg(test)]
pub(crate) mod tests;

use crate::capability::Capabilities;
use crate::exchange::{Exchange, Exchanges, Place};
use crate::fence::Receipts;
use crate::id::{Limits, RequestId, SubSessionNumber, Token};
use crate::protocol::{
    Action, Condition, Direction, Kind, MessageIndex, Protocol, Role, Side, State, StateIndex, StateKind,
};
use crate::sub_sessions::{Correlation, Layout, SubSessions};
use crate::tables::{ProtocolRef, TableError, examine};
use crate::trail::{Left, Trail};
use crate::violation::Violation;
use channels::Channels;
use judge::{Found, Judged};

/// Follows one role's machine through a session.
///
/// ```
/// use mcp_protocol_machine::protocol::edges::{receive, send};
/// use mcp_protocol_machine::protocol::{
///     Direction, Edge, Message, MessageIndex, Role, Side, State, StateIndex,
/// };
/// use mcp_protocol_machine::{Checker, Protocol, RequestId};
///
/// const SUM: MessageIndex = MessageIndex(0);
/// const TOTAL: MessageIndex = MessageIndex(1);
/// const READY: StateIndex = StateIndex(0);
/// const WAITING: StateIndex = StateIndex(1);
/// static MESSAGES: [Message; 2] =
///     [Message::request("Sum", "calculator/sum"), Message::reply("Total", SUM)];
/// static ASKING: [Edge; 1] = [send(SUM, WAITING)];
/// static ANSWERED: [Edge; 1] = [receive(TOTAL, READY)];
/// static STATES: [State; 2] = [State::linear("Ready", &ASKING), State::linear("Waiting", &ANSWERED)];
/// static CALCULATOR: Protocol =
///     Protocol::table("Calculator", &MESSAGES).client(Role::table("Client", &STATES));
///
/// let mut checker = Checker::new(&CALCULATOR, Side::Client).unwrap();
/// let sent = checker.request(Direction::Send, SUM, &RequestId::Number(1), None, |_| false);
/// assert!(sent.is_ok());
/// // A second request has to wait for the reply to the first one.
/// let again = checker.request(Direction::Send, SUM, &RequestId::Number(2), None, |_| false);
/// assert!(again.unwrap_err().to_string().contains("Waiting"));
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    protocol: ProtocolRef,
    side: Side,
    channels: Channels,
    /// The exchanges that the followed role opened.
    sent: Exchanges,
    /// The exchanges that its peer opened.
    received: Exchanges,
    /// The sub-sessions that a key ties together.
    sub_sessions: SubSessions,
    /// The requests of the followed role that the end of the last sub-session has left without a reply, until they are
    /// taken.
    left: Vec<RequestId>,
    client: Capabilities,
    server: Capabilities,
    /// What the peer may use though it was not announced.
    tolerated: Capabilities,
    limits: Limits,
    closed: bool,
    /// The tables are those of another revision than the one that the session is written against.
    governed: bool,
    /// Messages are seen in the order in which each side wrote them.
    ordered: bool,
}

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About<'a> {
    /// About nothing, or the place that should say so is empty.
    Nothing,
    /// For a message with `cancels`: the id of the request to cancel.
    Request(&'a RequestId),
    /// For a message with `reports`: the token that the request carried.
    Token(&'a Token),
}

/// Where the exchange that a reply belongs to stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaiting {
    /// It runs: the reply is one of this request's, or its refusal.
    Request(MessageIndex),
    /// It was cancelled: a late reply is to be swallowed, [`Checker::stray_reply`] keeps count.
    Retired,
    /// The request was a violation and has been reported: the reply is to be swallowed, too.
    Refused,
    /// It has its reply.
    Completed,
    /// The request never existed, or is forgotten.
    Unknown,
}

/// What an accepted message did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What moved.
    pub kind: StepKind,
    /// The message; for a reply to nothing that runs, nothing.
    pub message: Option<MessageIndex>,
    /// The sub-session that it belongs to, of those that a key ties together: one that was opened, moved or ended.
    pub sub_session: Option<SubSessionNumber>,
    /// Accepted, but the protocol advises against it here: of kind [`Discouraged`](crate::ViolationKind::Discouraged).
    pub advice: Option<Violation>,
}

/// What moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A linear channel, from one state to the next, which may be the same. The next one may be a fork.
    Linear {
        /// Where it was.
        from: StateIndex,
        /// Where it is.
        to: StateIndex,
    },
    /// A new sub-session of a `*` body was opened, and may be over at once.
    Spawned {
        /// The state that the new sub-session is in.
        state: StateIndex,
    },
    /// A running sub-session went on.
    SubSession {
        /// Whether it is over now.
        ended: bool,
    },
    /// Nothing: the message belongs to a running exchange whose state does not mind it.
    Reported,
    /// Nothing: the message comes too late for its exchange and is to be dropped.
    Swallowed,
    /// Nothing: the message is late for the state, and is to be reported and dropped. A request is to be answered with
    /// an error, which is judged as the reply to a refused request.
    Late(Late),
    /// Nothing: the session is closed and the message is to be dropped.
    Closed,
}

/// Why a message is late: its sender had not heard of a step of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Late {
    /// The state in which it arrived, of a linear channel or of a sub-session.
    pub state: StateIndex,
    /// The message that it has crossed; nothing where that is not known, in a session that was begun elsewhere.
    pub crossed: Option<MessageIndex>,
    /// The sub-session that it belongs to is over: `state` is the one that the end found it in.
    pub over: bool,
}

impl StepKind {
    /// Whether the message is to be dropped.
    pub const fn is_dropped(self) -> bool {
        matches!(self, StepKind::Swallowed | StepKind::Late(_) | StepKind::Closed)
    }
}

impl Step {
    const fn plain(kind: StepKind, message: MessageIndex) -> Step {
        Step { kind, message: Some(message), sub_session: None, advice: None }
    }
}

impl Checker {
    /// A new session, in the start state of one side's role. Directions are relative to that side from here on.
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn new(protocol: impl Into<ProtocolRef>, side: Side) -> Result<Checker, TableError> {
        Checker::resume(protocol, side, Role::START)
    }

    /// A session that is already in a state, because it was opened elsewhere. Nothing runs in it, and no capability
    /// is announced; the caller adds what it knows with [`announce`](Self::announce).
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn resume(
        protocol: impl Into<ProtocolRef>,
        side: Side,
        state: StateIndex,
    ) -> Result<Checker, TableError> {
        Checker::resume_channels(protocol, side, state, &[])
    }

    /// The same with several linear channels: the state of the first, and those of the others.
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn resume_channels(
        protocol: impl Into<ProtocolRef>,
        side: Side,
        state: StateIndex,
        others: &[StateIndex],
    ) -> Result<Checker, TableError> {
        let protocol = protocol.into();
        examine(&protocol, side)?;
        for state in others.iter().chain([&state]) {
            protocol.role(side).and_then(|role| role.state(*state)).ok_or(TableError::NoState(*state))?;
        }
        // Where a session began elsewhere, it is not known what is still on its way.
        let unseen = state != Role::START || !others.is_empty();
        let next = Receipts::default().next();
        let trail = if unseen { Trail::unseen(next, next) } else { Trail::default() };
        let layout = protocol.role(side).map(|role| Layout::new(&protocol, role)).unwrap_or_default();
        let mut checker = Checker {
            protocol,
            side,
            channels: Channels::new(state, trail.clone()),
            sent: Exchanges::default(),
            received: Exchanges::default(),
            sub_sessions: SubSessions::new(layout),
            left: Vec::new(),
            client: Capabilities::none(),
            server: Capabilities::none(),
            tolerated: Capabilities::none(),
            limits: Limits::default(),
            closed: false,
            governed: false,
            ordered: true,
        };
        checker.move_channel(0, state);
        for state in others {
            let place = checker.channels.states().len();
            checker.channels.add(*state, trail.clone());
            checker.move_channel(place, *state);
        }
        Ok(checker)
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Checker {
        self.limits = limits;
        self
    }

    /// Judges a request and, if it is permitted, opens its exchange.
    ///
    /// `token` is what a `reports` notification about it will carry. `applies` is asked whether the payload fits a
    /// condition, and only for gates that have one.
    ///
    /// An endpoint that is refused has not written the message, so its id is free; it therefore asks
    /// [`permits_if`](Self::permits_if) first and spends an id only then.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        self.request_correlated(direction, message, id, token, Correlation::default(), applies)
    }

    /// Refuses a request whose token belongs to a request that is still running, which keeps it.
    fn take_token(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<&Token>,
    ) -> Result<(), Violation> {
        let Some(violation) = self.token_in_use(direction, message, id, token) else { return Ok(()) };
        let limits = self.limits;
        self.asked_mut(direction).refuse(id, None, &limits);
        Err(violation)
    }

    /// The same for a message that carries keys.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn request_correlated(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        correlation: Correlation<'_>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step::plain(StepKind::Closed, message));
        }
        let found = match self.judge_request(direction, message, id, correlation, &applies) {
            Ok(found) => found,
            Err(violation) => {
                let limits = self.limits;
                self.asked_mut(direction).refuse(id, token.as_ref(), &limits);
                return Err(violation);
            }
        };
        let found = match found {
            Judged::Found(found) => found,
            Judged::Later(later) => {
                if let keyed::Later::SubSession { .. } = later {
                    self.take_token(direction, message, id, token.as_ref())?;
                }
                return Ok(self.step_later(later, direction, message, Some((id, token)), correlation));
            }
        };
        let limits = self.limits;
        if let Some(late) = self.lateness(&found, true) {
            let opened = match found.action {
                Action::Spawn(start) => {
                    self.sub_sessions.open_late(start, direction, message, correlation.keys, &limits)
                }
                Action::Step(_) => None,
            };
            self.asked_mut(direction).refuse_opening(id, token.as_ref(), opened, &limits);
            self.said(&found, direction, message);
            return Ok(Step::plain(StepKind::Late(late), message));
        }
        self.take_token(direction, message, id, token.as_ref())?;
        let advice = self.advice(direction, message, found.state, Some(id));
        let mut sub_session = None;
        let kind = match found.action {
            Action::Step(to) => {
                let place = Place::Linear(found.channel);
                self.asked_mut(direction).open_exchange(id, message, place, token, &limits);
                self.step(found, to, direction, message, Some(id))
            }
            Action::Spawn(state) => {
                self.said(&found, direction, message);
                let ended = self.is_end(state);
                let opener = || Some(id.clone());
                let (_, sub_sessions, evidence) = self.with_evidence();
                sub_session = sub_sessions.start(state, direction, opener(), correlation.keys, &evidence);
                let place = sub_session.map_or(Place::SubSession(state), Place::Keyed);
                let asked = self.asked_mut(direction);
                asked.open_exchange(id, message, place, token, &limits);
                if ended {
                    asked.finish(id);
                }
                StepKind::Spawned { state }
            }
        };
        Ok(Step { kind, message: Some(message), sub_session, advice })
    }

    /// Reports a request or a notification with a method that no message has. The id of a request is remembered, as
    /// that of any refused request.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn unknown_method(
        &mut self,
        direction: Direction,
        id: Option<&RequestId>,
        method: &str,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step { kind: StepKind::Closed, message: None, sub_session: None, advice: None });
        }
        let violation = self.unknown_violation(direction, id, method);
        if let Some(id) = id {
            let limits = self.limits;
            self.asked_mut(direction).refuse(id, None, &limits);
        }
        Err(violation)
    }

    /// Reports a message whose payload fits none of the conditions that tell the messages of its method apart, or the
    /// replies of its request; `message` is one of these. The id of a request is remembered, as that of any refused
    /// request.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn fits_none(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step { kind: StepKind::Closed, message: None, sub_session: None, advice: None });
        }
        let violation = self.fits_none_violation(direction, message, id);
        if let (Some(id), Some(Kind::Request)) = (id, violation.got.kind) {
            let limits = self.limits;
            self.asked_mut(direction).refuse(id, None, &limits);
        }
        Err(violation)
    }

    /// One side has announced what it can do; an announcement replaces an earlier one. The caller says so when it has
    /// seen the payload that announces.
    pub fn announce(&mut self, side: Side, capabilities: Capabilities) {
        match side {
            Side::Client => self.client = capabilities,
            Side::Server => self.server = capabilities,
        }
    }

    /// Accepts messages of the peer that need these capabilities although they were not announced. What the followed
    /// role sends needs them as before.
    pub fn tolerate(&mut self, capabilities: Capabilities) {
        self.tolerated = capabilities;
    }

    /// Another revision of the protocol governs from here on, as [`Protocol::governed_by`] gives it: the states and all
    /// numbers are those of the tables that were followed so far.
    pub fn govern(&mut self, protocol: impl Into<ProtocolRef>) {
        self.protocol = protocol.into();
        self.governed = true;
    }

    /// Whether another revision governs than the one that the session is written against.
    pub fn is_governed(&self) -> bool {
        self.governed
    }

    /// The session was begun once more, with a peer that knows nothing of what was before, and its linear channels are
    /// in the states that they are in. Of what runs, the linear requests of the followed role go on, and those that
    /// `goes_on` names and of which nothing was heard yet: they are sent once more, or fail. Everything else is as in a
    /// new session: no ids, no tokens, no sub-sessions, nothing that could come late. Gives the requests of the
    /// followed role whose replies will not come.
    ///
    /// `None` if the peer waits for a reply in a linear channel: no beginning leads there, and nothing has changed.
    pub fn renew(&mut self, goes_on: impl Fn(&RequestId) -> bool) -> Option<Vec<RequestId>> {
        if self.received.running().any(|exchange| matches!(exchange.place, Place::Linear(_))) {
            return None;
        }
        self.received = Exchanges::default();
        let (sub_sessions, limits) = (&self.sub_sessions, self.limits);
        let kept = |id: &RequestId, exchange: &Exchange| match exchange.place {
            Place::Linear(_) => true,
            Place::SubSession(_) => !exchange.answered && goes_on(id),
            Place::Keyed(sub_session) => {
                !exchange.answered
                    && goes_on(id)
                    && sub_sessions.is_as_opened(sub_session, Direction::Send, id)
            }
        };
        let lost = self.sent.renew(kept, &limits);
        self.channels.renew();
        let sent = &self.sent;
        self.sub_sessions.renew(|running| {
            let opener = running.opener.as_ref();
            opener.is_some_and(|(asker, id)| *asker == Direction::Send && sent.running_under(id).is_some())
        });
        Some(lost)
    }

    /// The session is closed: from here on everything is accepted and to be dropped.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Takes an edge of a linear channel, apart from what it does to an exchange.
    fn take(&mut self, found: Found, direction: Direction, message: MessageIndex) -> StepKind {
        match found.action {
            Action::Step(to) => self.step(found, to, direction, message, None),
            Action::Spawn(state) => {
                self.said(&found, direction, message);
                StepKind::Spawned { state }
            }
        }
    }

    /// Opens the sub-session of a notification, if a key ties together what follows.
    fn open_sub_session(
        &mut self,
        found: Found,
        direction: Direction,
        correlation: Correlation<'_>,
    ) -> Option<SubSessionNumber> {
        let Action::Spawn(state) = found.action else { return None };
        let (_, sub_sessions, evidence) = self.with_evidence();
        sub_sessions.start(state, direction, None, correlation.keys, &evidence)
    }

    /// Moves a linear channel. A request is booked before.
    fn step(
        &mut self,
        found: Found,
        to: StateIndex,
        direction: Direction,
        message: MessageIndex,
        request: Option<&RequestId>,
    ) -> StepKind {
        self.said(&found, direction, message);
        if to != found.state {
            let left = Left { by: Some(message), fence: self.fence(direction, request) };
            let (channels, _, evidence) = self.with_evidence();
            channels.leave(found.place, direction, left, &evidence);
        }
        self.move_channel(found.place, to);
        StepKind::Linear { from: found.state, to }
    }

    fn move_channel(&mut self, place: usize, to: StateIndex) {
        if let Some(role) = self.protocol.role(self.side) {
            self.channels.put(place, to, role);
        }
    }

    fn is_end(&self, state: StateIndex) -> bool {
        self.state(state).is_some_and(|table| table.kind == StateKind::End)
    }

    /// The followed role. The constructor made sure that there is one.
    fn role(&self) -> Option<&Role> {
        self.protocol.role(self.side)
    }

    fn state(&self, state: StateIndex) -> Option<&State> {
        self.role().and_then(|role| role.state(state))
    }

    /// The exchanges whose requests go in a direction.
    fn asked(&self, direction: Direction) -> &Exchanges {
        match direction {
            Direction::Send => &self.sent,
            Direction::Receive => &self.received,
        }
    }

    fn asked_mut(&mut self, direction: Direction) -> &mut Exchanges {
        match direction {
            Direction::Send => &mut self.sent,
            Direction::Receive => &mut self.received,
        }
    }

    /// Who sends what goes in a direction.
    fn sender(&self, direction: Direction) -> Side {
        match direction {
            Direction::Send => self.side,
            Direction::Receive => self.side.other(),
        }
    }

    /// The protocol that is followed.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }
}
