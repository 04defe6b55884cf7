//! [`Session`]: the value of a linear channel.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{MessageIndex, Protocol, Role, Side, StateIndex};
use mcp_protocol_machine::{ProtocolRef, SubSessionNumber, TableError, Violation};

use super::channel::Channel;
use super::closing::Closing;
use super::open_exchanges::OpenExchanges;
use super::overtime::overtime;
use super::permissions::{permits, permitted};
use super::within::Within;
use crate::driver::{Endpoint, Outcome, Transport};
use crate::engine::{Engine, Link, Waiter};
use crate::error::DisconnectReason;
use crate::options::Options;
use crate::rules::announcements;

/// The value of one linear channel of a session, or of a sub-session. Dropping it abandons the session, or the
/// sub-session, unless that can continue without it.
#[derive(Debug)]
pub struct Session {
    pub(crate) channel: Channel,
    pub(crate) open: OpenExchanges,
    /// Its steps wait one at a time, so they share it.
    pub(crate) waiter: Waiter,
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
        let (limits, carrier) = (transport.limits(), transport.carrier());
        let engine = Engine::sharing(protocol.clone(), side, Arc::clone(&options), &limits);
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
            carrier.start(&runtime, carry(transport, link.clone()));
        }
        Session {
            channel: Channel::new(link, None, None, state),
            open: OpenExchanges::default(),
            waiter: Waiter::default(),
        }
    }

    /// The parts of a session or a sub-session in a fork, in their order.
    pub fn split<const PARTS: usize>(self) -> [Session; PARTS] {
        let (link, within) = (self.channel.link.clone(), self.channel.within.clone());
        let (sub_session, state) = (self.channel.sub_session, self.channel.state);
        let mut parts = self.into_parts().into_iter();
        // There are as many as generated code asks for.
        std::array::from_fn(|_| {
            parts.next().unwrap_or_else(|| Session::part(link.clone(), within.clone(), sub_session, state))
        })
    }

    /// The same, however many there are.
    pub(crate) fn into_parts(mut self) -> Vec<Session> {
        self.channel.left = true;
        let sub_session = self.channel.sub_session.take();
        let (link, within) = (&self.channel.link, &self.channel.within);
        let parts: Vec<StateIndex> =
            self.channel.table().map(|state| state.parts.to_vec()).unwrap_or_default();
        let part = |state| Session::part(link.clone(), within.clone(), sub_session, state);
        let mut parts: Vec<Session> = parts.into_iter().map(part).collect();
        link.with(|engine| match sub_session {
            Some(sub_session) => engine.inbox().sub_session_value_gone(sub_session),
            None => engine.value_gone(),
        });
        // The request that has opened a sub-session is open in its first channel; no other is open where channels start.
        if let Some(first) = parts.first_mut() {
            first.open = std::mem::take(&mut self.open);
        }
        parts
    }

    fn part(link: Link, within: Within, sub_session: Option<SubSessionNumber>, state: StateIndex) -> Session {
        link.with(|engine| match sub_session {
            Some(sub_session) => engine.inbox().sub_session_value_made(sub_session),
            None => engine.value_made(),
        });
        let channel = Channel::part(link, within, sub_session, state);
        Session { channel, open: OpenExchanges::default(), waiter: Waiter::default() }
    }

    /// Closes the session. Pending output is written, running calls fail with [`Error::Closed`](crate::Error::Closed),
    /// and later input is dropped. The session closes whether or not the result is awaited. One of several channels
    /// closes the session when the others have ended, too.
    pub fn close(mut self) -> Closing {
        self.channel.left = true;
        self.channel.link.with(|engine| engine.value_closed());
        Closing::new(self.channel.link.clone())
    }

    /// Abandons the session in any state; the peer sees the end of the stream.
    pub fn abort(mut self) {
        self.channel.left = true;
        self.channel.link.with(|engine| engine.value_dropped(true));
    }

    /// Waits until the peer has closed its side and has all its answers, or the session has ended.
    pub async fn ended(&self) {
        self.channel.link.wait(Engine::poll_ended).await;
    }

    /// The state that the value is in.
    pub fn state(&self) -> StateIndex {
        self.channel.state
    }

    /// The protocol that the session follows.
    pub fn protocol(&self) -> &Protocol {
        self.channel.link.protocol()
    }

    /// Returns whether a message may be sent now, or the violation: first of the state of this value, then of the
    /// negotiated capabilities, then of the value's restriction.
    ///
    /// # Errors
    /// The violation that sending the message would be.
    pub fn permits(&self, message: MessageIndex) -> Result<(), Violation> {
        permits(&self.channel.link, &[self.channel.state], message, &self.channel.capabilities())
    }

    /// What may be sent now.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        permitted(&self.channel.link, &[self.channel.state], &self.channel.capabilities())
    }

    /// From now on a side can do more than it has announced: the gates of a capability are open in this session. Nothing is
    /// written; the peer has to learn of it in some other way. What is granted more than once has to be revoked as often.
    ///
    /// Returns `false` if no message needs the capability.
    pub fn grant_capability(&self, side: Side, capability: impl AsRef<str>) -> bool {
        self.channel
            .link
            .with(|engine| announcements::change(engine.rules_mut(), side, capability.as_ref(), true))
    }

    /// Takes back what was granted while the session ran. What the side has announced stays announced. Messages of the
    /// peer that are on their way are late until the peer has answered a request that this side sends after this.
    ///
    /// Returns `false` if no message needs the capability.
    pub fn revoke_capability(&self, side: Side, capability: impl AsRef<str>) -> bool {
        self.channel
            .link
            .with(|engine| announcements::change(engine.rules_mut(), side, capability.as_ref(), false))
    }
}
