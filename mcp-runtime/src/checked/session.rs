//! The checked session.

use std::fmt;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{MessageIndex, Protocol, Side, StateIndex};
use mcp_protocol_machine::{Capabilities, ProtocolRef, Violation};

use super::exchanges::Exchanges;
use super::named::Name;
use crate::driver::Transport;
use crate::engine::{Link, MailboxId};
use crate::options::Options;
use crate::rules::announcements;
use crate::typed::{Closing, Session, StateKind, checker_at, permits, permitted};

/// A session whose steps are checked at run time.
///
/// Dropping it abandons the session, like dropping a typed one. If the session continues without it, requests that
/// [`next`](Self::next) returned and that were not answered are answered with an error.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::protocol::Side;
/// use mcp_runtime::transport::duplex;
/// use mcp_runtime::{CheckedSession, Error, Options};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// let (near, _far) = duplex();
/// let mut session = CheckedSession::start(near, &weather::PROTOCOL, Side::Client, Options::default());
/// assert_eq!(session.state_name(), "Start");
/// // No forecast before the service is open.
/// let early = session.request("weather/forecast", &json!({ "city": "Oslo" })).await;
/// assert!(matches!(early, Err(Error::NotPermitted(_))));
/// # Ok(())
/// # }
/// ```
pub struct CheckedSession {
    /// One for each linear channel, or the one that stands for a sub-session.
    pub(super) parts: Vec<Session>,
    pub(super) link: Link,
    /// What the engine keeps for this value; nothing for a sub-session.
    pub(super) channel: Option<MailboxGuard>,
    /// The exchanges of a sub-session besides its steps; nothing for a session, whose mailbox has them.
    pub(super) exchanges: Option<Box<Exchanges>>,
    /// What it is restricted to, which each of the parts is, too: they judge what they send themselves.
    pub(super) within: Option<Arc<Capabilities>>,
    /// It was told that the peer has closed the session.
    pub(super) closed: bool,
}

/// What the engine keeps for a session without types, for as long as this lives.
#[derive(Debug)]
pub(super) struct MailboxGuard {
    link: Link,
    pub(super) key: MailboxId,
}

impl Drop for MailboxGuard {
    fn drop(&mut self) {
        self.link.speak(|engine, caller| engine.mailbox_closed(caller, self.key));
    }
}

impl CheckedSession {
    /// Starts a session over a transport. The protocol is a constant of generated code, or was read at run time. A task
    /// on the current tokio runtime carries the session.
    pub fn start(
        transport: impl Transport,
        protocol: impl Into<ProtocolRef>,
        side: Side,
        options: Options,
    ) -> CheckedSession {
        Session::start(transport, protocol, side, options).into_checked()
    }

    pub(crate) fn of(session: Session) -> CheckedSession {
        let link = session.channel.link.clone();
        let within = session.channel.within.clone();
        let channel = session.channel.sub_session.is_none().then(|| {
            let key = link.with(|engine| {
                let key = engine.inbox().open_mailbox();
                // What the value has taken before is this one's to answer, and to learn of if it is cancelled.
                session.open.ids().for_each(|id| engine.hold(id, key));
                key
            });
            MailboxGuard { link: link.clone(), key }
        });
        let exchanges = channel.is_none().then(|| {
            let mut own = Exchanges::new(link.clone());
            session.open.ids().for_each(|id| own.watch(id.clone()));
            Box::new(own)
        });
        CheckedSession { parts: vec![session], link, channel, exchanges, within, closed: false }
    }

    /// The protocol that the session follows.
    pub fn protocol(&self) -> &Protocol {
        self.link.protocol()
    }

    /// The state of each linear channel that the value stands for, or that of the sub-session. The wire may be ahead of
    /// it by inputs that [`next`](Self::next) has not taken yet.
    pub fn states(&self) -> Vec<StateIndex> {
        self.parts.iter().map(Session::state).collect()
    }

    /// The names of these states: `Active`, or `RequestChannel and NotificationChannel`.
    pub fn state_name(&self) -> String {
        let names = self.parts.iter().filter_map(|part| part.channel.table()).map(|state| &*state.name);
        names.collect::<Vec<_>>().join(" and ")
    }

    /// Whether a message may be sent now, and if not, why: the state, or a capability, which
    /// [`Violation::missing_capability`] tells apart. Conditions of its payload are taken not to hold.
    ///
    /// ```
    /// use mcp_runtime::CheckedSession;
    ///
    /// fn can_ask(session: &CheckedSession) -> bool {
    ///     session.permits("weather/forecast").is_ok()
    /// }
    /// ```
    ///
    /// # Errors
    /// The violation that sending the message would be.
    pub fn permits<'m>(&self, message: impl Into<Name<'m>>) -> Result<(), Violation> {
        let message = message.into().any(&self.link)?;
        if self.is_over() {
            return Err(self.link.with(|engine| engine.rules().checker().over(message)));
        }
        permits(&self.link, &self.states(), message, &self.capabilities())
    }

    /// What may be sent now.
    pub fn permitted(&self) -> Vec<MessageIndex> {
        if self.is_over() {
            return Vec::new();
        }
        permitted(&self.link, &self.states(), &self.capabilities())
    }

    /// Whether the value stands for a sub-session, all of whose linear channels are at their end. What is replicated next
    /// to them is over with them.
    pub(super) fn is_over(&self) -> bool {
        self.link.sub_session().is_some() && self.parts.iter().all(|part| part.channel.is_at_end())
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.within.as_deref().cloned().unwrap_or_else(Capabilities::unknown)
    }

    /// From now on a side can do more than it has announced: the gates of a capability are open in this session. Nothing is
    /// written; the peer has to learn of it in some other way. What is granted more than once has to be revoked as often.
    /// Returns `false` if no message needs the capability.
    ///
    /// ```
    /// use mcp_runtime::CheckedSession;
    /// use mcp_runtime::protocol::Side;
    ///
    /// /// Both sides have agreed on this outside of the session.
    /// fn agree(session: &CheckedSession) -> bool {
    ///     session.grant_capability(Side::Server, "hoverProvider")
    /// }
    /// ```
    pub fn grant_capability(&self, side: Side, capability: impl AsRef<str>) -> bool {
        self.link.with(|engine| announcements::change(engine.rules_mut(), side, capability.as_ref(), true))
    }

    /// Takes back what was granted while the session ran. What the side has announced stays announced. Messages of the
    /// peer that are on their way are late until the peer has answered a request that this side sends after this. Returns
    /// `false` if no message needs the capability.
    pub fn revoke_capability(&self, side: Side, capability: impl AsRef<str>) -> bool {
        self.link.with(|engine| announcements::change(engine.rules_mut(), side, capability.as_ref(), false))
    }

    /// Refuses from now on to send what needs other capabilities than these. A restriction cannot be undone; two
    /// restrictions leave their intersection. Everything made from the session inherits it: the typed value, its
    /// handles and handlers, and sub-sessions of either side.
    ///
    /// ```
    /// use mcp_runtime::{Capabilities, CheckedSession};
    ///
    /// /// What this session becomes may send nothing that needs a capability.
    /// fn restrict(session: &mut CheckedSession) {
    ///     session.restrict(&Capabilities::none());
    /// }
    /// ```
    pub fn restrict(&mut self, capabilities: &Capabilities) {
        self.within = Some(Arc::new(self.capabilities().meet(capabilities)));
        for part in &mut self.parts {
            part.channel.within.clone_from(&self.within);
        }
    }

    /// Closes the session, where the protocol permits this side to. Pending output is written, running calls fail with
    /// [`Error::Closed`](crate::Error::Closed), and later input is dropped. The session closes whether or not the
    /// result is awaited. Where this side may not close, returns the session.
    ///
    /// ```
    /// use mcp_runtime::CheckedSession;
    ///
    /// async fn finish(session: CheckedSession) {
    ///     match session.close() {
    ///         Ok(closing) => println!("{:?}", closing.await),
    ///         Err(session) => session.abort(),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The session, if the protocol does not let this side close it here.
    pub fn close(mut self) -> Result<Closing, CheckedSession> {
        let may = checker_at(&self.link, &self.states()).is_none_or(|checker| checker.quiescent());
        if !may || self.parts.first().is_none_or(|part| part.channel.sub_session.is_some()) {
            return Err(self);
        }
        let closing = Closing::new(self.link.clone());
        for part in self.parts.drain(..) {
            // The last one closes the session.
            drop(part.close());
        }
        Ok(closing)
    }

    /// Abandons the session in any state; the peer sees the end of the stream.
    pub fn abort(mut self) {
        for part in self.parts.drain(..) {
            part.abort();
        }
    }

    /// Waits until the peer has closed its side and has all its answers, or the session has ended.
    pub async fn ended(&self) {
        if let Some(part) = self.parts.first() {
            part.ended().await;
        }
    }

    /// A value in a fork becomes one for each linear channel.
    pub(super) fn split_forks(&mut self) {
        let in_fork =
            |part: &Session| part.channel.table().is_some_and(|state| state.kind == StateKind::Fork);
        while let Some(place) = self.parts.iter().position(in_fork) {
            let parts = self.parts.remove(place).into_parts();
            self.parts.splice(place..place, parts);
        }
    }
}

impl fmt::Debug for CheckedSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CheckedSession")
            .field("protocol", &self.protocol().name)
            .field("state", &self.state_name())
            .finish_non_exhaustive()
    }
}
