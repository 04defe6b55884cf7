//! [`Session`]: the value of a linear channel.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{
    Action, Direction, Kind, MessageIndex, Origin, Protocol, Role, Side, State, StateIndex, StateKind,
};
use mcp_protocol_machine::{Capabilities, Checker, ProtocolRef, SubSessionNumber, TableError, Violation};
use serde::Serialize;

use super::call::{Call, Within};
use super::closing::Closing;
use super::handle::Handle;
use super::incoming::IncomingQueue;
use super::notify::Notify;
use super::open_exchanges::OpenExchanges;
use super::overtime::overtime;
use super::reply::ReadReply;
use crate::driver::{Endpoint, Outcome, Transport};
use crate::engine::{Engine, Link, Moved, SubSessionLeft, Waiter};
use crate::error::{DisconnectReason, Error};
use crate::options::Options;

/// The value of one linear channel of a session. Dropping it abandons the session, unless the session can continue
/// without it.
#[derive(Debug)]
pub struct Session {
    pub(crate) seat: Seat,
    pub(crate) open: OpenExchanges,
    /// Its steps wait one at a time, so they share it.
    pub(crate) waiter: Waiter,
}

/// The state of a value. Its drop notifies the engine.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) link: Link,
    pub(crate) state: StateIndex,
    /// The messages that come in on this channel, where there are several channels.
    pub(crate) channel: Option<Arc<[MessageIndex]>>,
    /// The sub-session that the value stands for, if it stands for no linear channel.
    pub(crate) sub_session: Option<SubSessionNumber>,
    /// The capabilities that the value is restricted to, if it is. Whatever is made of the value inherits them.
    pub(crate) within: Within,
    /// The value was closed or split: dropping it has no effect.
    left: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(sub_session) = self.sub_session {
            let ended = self.table().is_some_and(|state| state.kind == StateKind::End);
            let left = if ended { SubSessionLeft::AtEnd } else { SubSessionLeft::Before };
            return self.link.speak(|engine, caller| engine.leave_sub_session_as(caller, sub_session, left));
        }
        if self.left {
            return;
        }
        let split = self.channel.is_some();
        let done = self.table().is_none_or(|state| state.kind == StateKind::End || !state.reaches_end);
        self.link.with(|engine| engine.value_dropped(!(split && done)));
    }
}

impl Seat {
    pub(super) fn of_sub_session(
        link: Link,
        within: Within,
        sub_session: SubSessionNumber,
        state: StateIndex,
    ) -> Seat {
        Seat { link, state, channel: None, sub_session: Some(sub_session), within, left: false }
    }

    /// Why a value of a sub-session can send nothing any more, if that is so.
    pub(super) fn sub_session_over(&self) -> Option<Error> {
        self.sub_session.and_then(|sub_session| self.link.with(|engine| engine.sub_session_over(sub_session)))
    }

    pub(crate) fn role(&self) -> Option<&Role> {
        self.link.role()
    }

    pub(crate) fn table(&self) -> Option<&State> {
        self.role()?.state(self.state)
    }

    /// Where a message leads from here; `None` where it is not for this value.
    pub(crate) fn target(&self, direction: Direction, message: MessageIndex) -> Option<StateIndex> {
        let edge = self.table()?.edge(direction, message)?;
        match edge.action {
            _ if edge.origin == Origin::Closure => None,
            Action::Step(state) => Some(state),
            Action::Spawn(_) => Some(self.state),
        }
    }

    /// Moves the value. What waits for a state before is dropped.
    pub(crate) fn move_to(&mut self, state: StateIndex, moved: Moved) {
        if state != self.state {
            self.state = state;
            self.link.with(|engine| {
                engine.leave_behind(self.sub_session, state, moved, |message| self.is_mine(message));
            });
        }
    }

    /// The capabilities that the value may use, as far as it is restricted.
    fn capabilities(&self) -> Capabilities {
        self.within.as_deref().cloned().unwrap_or_else(Capabilities::unknown)
    }

    /// Whether a message comes in on this value's channel.
    pub(crate) fn is_mine(&self, message: MessageIndex) -> bool {
        self.channel.as_deref().is_none_or(|channel| channel.binary_search(&message).is_ok())
    }
}

/// Carries a session until its transport has come to its end, which has limited time once the session is over.
async fn carry(transport: impl Transport, link: Link) {
    // A future that is passed to another takes its place twice.
    let transport = transport.run(Arc::new(link.clone()));
    let limit = link.options().close_timeout;
    tokio::select! {
        biased;
        () = transport => {}
        () = overtime(&link, Some(limit)) => link.with(|engine| engine.terminated(Outcome::TimedOut(limit))),
    }
    // What has come may still wait for its handler.
    link.settle().await;
}

impl Session {
    /// Starts a session over a transport. A task on the current tokio runtime carries it. Without a runtime, every step
    /// and call fails with [`DisconnectReason::NoRuntime`].
    pub fn start(
        transport: impl Transport,
        protocol: impl Into<ProtocolRef>,
        side: Side,
        options: Options,
    ) -> Session {
        Session::begin(transport, protocol.into(), side, options, Role::START, |_| Ok(()))
    }

    /// Starts a session in a state, with an engine that was brought there.
    pub(super) fn begin(
        transport: impl Transport,
        protocol: ProtocolRef,
        side: Side,
        options: Options,
        state: StateIndex,
        bring: impl FnOnce(&mut Engine) -> Result<(), TableError>,
    ) -> Session {
        let options = Arc::new(options);
        let limits = transport.limits();
        let engine = Engine::new(protocol.clone(), side, Arc::clone(&options));
        let engine = engine.map(|engine| engine.sharing(&limits));
        let engine = engine.and_then(|mut engine| bring(&mut engine).map(|()| engine));
        let (mut engine, unusable) = match engine {
            Ok(engine) => (engine, None),
            Err(error) => (Engine::idle(side, Arc::clone(&options)), Some(DisconnectReason::Protocol(error))),
        };
        let runtime = tokio::runtime::Handle::try_current();
        let hopeless = unusable.or(runtime.is_err().then_some(DisconnectReason::NoRuntime));
        engine.set_ordered(transport.is_ordered());
        engine.value_made();
        if let Some(reason) = hopeless.clone() {
            engine.end(reason);
            engine.terminated(Outcome::Dropped);
        }
        let link = Link::new(engine, protocol, side, options, limits);
        if let (None, Ok(runtime)) = (hopeless, runtime) {
            link.tick(tokio::time::Instant::now().into_std());
            runtime.spawn(carry(transport, link.clone()));
        }
        Session {
            seat: Seat { link, state, channel: None, sub_session: None, within: None, left: false },
            open: OpenExchanges::default(),
            waiter: Waiter::default(),
        }
    }

    /// A request of a replicated channel, sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'_, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.seat.link.clone(), request, params).within(self.seat.within.clone())
    }

    /// A notification of a replicated channel, sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'_> {
        Notify::new(self.seat.link.clone(), message, params).within(self.seat.within.clone())
    }

    /// Returns a handle for calls that outlive a borrow of the session.
    pub fn handle(&self) -> Handle {
        Handle::new(self.seat.link.clone(), self.seat.within.clone())
    }

    /// The queue of replicated inputs.
    pub fn incoming(&self) -> IncomingQueue {
        IncomingQueue::new(self.seat.link.clone(), self.seat.within.clone())
    }

    /// The parts of a session in a fork, in their order.
    pub fn split<const PARTS: usize>(self) -> [Session; PARTS] {
        let (link, within, state) = (self.seat.link.clone(), self.seat.within.clone(), self.seat.state);
        let mut parts = self.into_parts().into_iter();
        // There are as many as generated code asks for.
        std::array::from_fn(|_| {
            parts.next().unwrap_or_else(|| Session::part(link.clone(), within.clone(), state))
        })
    }

    /// The same, however many there are.
    pub(crate) fn into_parts(mut self) -> Vec<Session> {
        self.seat.left = true;
        let (link, within) = (&self.seat.link, &self.seat.within);
        let parts: Vec<StateIndex> = self.seat.table().map(|state| state.parts.to_vec()).unwrap_or_default();
        let parts =
            parts.into_iter().map(|state| Session::part(link.clone(), within.clone(), state)).collect();
        link.with(|engine| engine.value_gone());
        parts
    }

    fn part(link: Link, within: Within, state: StateIndex) -> Session {
        link.with(|engine| engine.value_made());
        let channel = Some(inputs(link.protocol(), link.role(), state));
        let seat = Seat { link, state, channel, sub_session: None, within, left: false };
        Session { seat, open: OpenExchanges::default(), waiter: Waiter::default() }
    }

    /// Closes the session. Pending output is written, running calls fail with [`Error::Closed`](crate::Error::Closed),
    /// and later input is dropped. The session closes whether or not the result is awaited. One of several channels
    /// closes the session when the others have ended, too.
    pub fn close(mut self) -> Closing {
        self.seat.left = true;
        self.seat.link.with(|engine| engine.value_closed());
        Closing::new(self.seat.link.clone())
    }

    /// Abandons the session in any state; the peer sees the end of the stream.
    pub fn abort(mut self) {
        self.seat.left = true;
        self.seat.link.with(|engine| engine.value_dropped(true));
    }

    /// Waits until the peer has closed its side and has all its answers, or the session has ended.
    pub async fn ended(&self) {
        self.seat.link.wait(Engine::poll_ended).await;
    }

    /// The state that the value is in.
    pub fn state(&self) -> StateIndex {
        self.seat.state
    }

    /// The protocol that the session follows.
    pub fn protocol(&self) -> &Protocol {
        self.seat.link.protocol()
    }

    /// Returns whether a message may be sent now, or the violation: first of the state of this value, then of the
    /// negotiated capabilities, then of the value's restriction.
    ///
    /// # Errors
    /// The violation that sending the message would be.
    pub fn permits(&self, message: MessageIndex) -> Result<(), Violation> {
        permits(&self.seat.link, &[self.seat.state], message, &self.seat.capabilities())
    }

    /// What may be sent now.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        permitted(&self.seat.link, &[self.seat.state], &self.seat.capabilities())
    }
}

/// Whether a message may be sent now by values in these states, and if not, why.
pub(crate) fn permits(
    link: &Link,
    states: &[StateIndex],
    message: MessageIndex,
    within: &Capabilities,
) -> Result<(), Violation> {
    let here = checker_at(link, states);
    link.with(|engine| may_send(engine, here.as_ref(), message, within))
}

/// What may be sent now by values in these states.
pub(crate) fn permitted(link: &Link, states: &[StateIndex], within: &Capabilities) -> Vec<MessageIndex> {
    let here = checker_at(link, states);
    link.with(|engine| {
        let messages = link.protocol().indexed().map(|(index, _)| index);
        messages.filter(|message| may_send(engine, here.as_ref(), *message, within).is_ok()).collect()
    })
}

fn may_send(
    engine: &Engine,
    here: Option<&Checker>,
    message: MessageIndex,
    within: &Capabilities,
) -> Result<(), Violation> {
    engine.not_over(message)?;
    // What belongs to a running exchange is known at the wire only.
    let wire = engine.checker();
    let tied = wire.protocol().message(message).is_some_and(|message| match message.kind {
        Kind::Reply { .. } | Kind::Refusal { .. } => true,
        Kind::Notification => message.cancels.is_some() || message.reports.is_some(),
        Kind::Request => false,
    });
    let checker = here.filter(|_| !tied).unwrap_or(wire);
    checker.may_send(message, within, |_| false)?;
    // A sub-session that could go on may be suspended where the session is.
    wire.sub_sessions_go_on(Direction::Send, message)
}

/// A checker in the states of values, which may lag those of the wire, with the capabilities of the session.
pub(crate) fn checker_at(link: &Link, states: &[StateIndex]) -> Option<Checker> {
    let (first, others) = states.split_first()?;
    link.with(|engine| {
        let checker = engine.checker();
        let protocol = engine.protocol_ref();
        let mut here = Checker::resume_channels(protocol, checker.side(), *first, others).ok()?;
        if checker.is_governed() {
            here.govern(protocol);
        }
        for side in [Side::Client, Side::Server] {
            here.announce(side, checker.capabilities(side).clone());
        }
        Some(here)
    })
}

/// The messages that can come in on the linear channel that starts in a state, sorted.
fn inputs(protocol: &Protocol, role: Option<&Role>, start: StateIndex) -> Arc<[MessageIndex]> {
    let mut seen = vec![start];
    let mut inputs = Vec::new();
    let mut next = 0;
    while let Some(state) = seen.get(next).copied() {
        next += 1;
        let Some(state) = role.and_then(|role| role.state(state)) else { continue };
        let mut reach = |state: StateIndex| {
            if !seen.contains(&state) {
                seen.push(state);
            }
        };
        state.parts.iter().copied().for_each(&mut reach);
        for edge in state.edges.iter() {
            let Action::Step(target) = edge.action else { continue };
            reach(target);
            if edge.direction == Direction::Receive && protocol.message(edge.message).is_some() {
                inputs.push(edge.message);
            }
        }
    }
    inputs.sort();
    inputs.dedup();
    inputs.into()
}
