//! Converts checked sessions into typed ones. A conversion that would lose an event fails and returns the session.

use std::fmt;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Text;

use super::session::CheckedSession;
use crate::engine::Verdict;
use crate::typed::{Session, Typed, Wanted};

/// A checked session that could not be converted: the session, unchanged, and the reason.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotTyped {
    /// The session, as it was.
    pub session: CheckedSession,
    /// Why not.
    pub why: WhyNot,
}

/// Why a checked session could not become a typed one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNot {
    /// It follows another protocol.
    Protocol {
        /// The one that it follows.
        is: Text,
        /// The one of the type.
        wanted: Text,
    },
    /// It is the other role, or a sub-session where a session is wanted, or the other way round.
    Role {
        /// What it is.
        is: Text,
        /// The role of the type.
        wanted: Text,
    },
    /// It is in another state.
    State {
        /// The state that it is in.
        is: Text,
        /// The state of the type.
        wanted: Text,
    },
    /// It stands for several linear channels; the type is that of one.
    Split,
    /// A linear input waits that was not taken: take it with [`next`](CheckedSession::next).
    Pending {
        /// The message, by its name in the `.session` file.
        message: Text,
    },
    /// Requests of this side wait for their replies, which come to this value: take them with
    /// [`next`](CheckedSession::next).
    Asked {
        /// The requests.
        ids: Vec<RequestId>,
    },
    /// Requests of the peer wait for their answers by this value.
    Held {
        /// The requests.
        ids: Vec<RequestId>,
    },
}

impl fmt::Display for WhyNot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyNot::Protocol { is, wanted } => {
                write!(
                    formatter,
                    "the session follows the protocol `{is}`, and the type is one of `{wanted}`"
                )
            }
            WhyNot::Role { is, wanted } => {
                write!(formatter, "the session is one of `{is}`, and the type is one of `{wanted}`")
            }
            WhyNot::State { is, wanted } => {
                write!(formatter, "the session is in `{is}`, and the type is that of `{wanted}`")
            }
            WhyNot::Split => formatter
                .write_str("the session stands for several linear channels, and the type is that of one"),
            WhyNot::Pending { message } => {
                write!(formatter, "`{message}` waits to be taken: take it with `next`")
            }
            WhyNot::Asked { ids } => {
                write!(formatter, "requests wait for their replies: {}: take these with `next`", List(ids))
            }
            WhyNot::Held { ids } => {
                write!(formatter, "requests of the peer wait for their answers: {}", List(ids))
            }
        }
    }
}

struct List<'a>(&'a [RequestId]);

impl fmt::Display for List<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, id) in self.0.iter().enumerate() {
            write!(formatter, "{}{id}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for NotTyped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(formatter)
    }
}

impl std::error::Error for NotTyped {}

impl Session {
    /// Returns the same session as a checked one. A restriction stays.
    pub fn into_checked(self) -> CheckedSession {
        CheckedSession::of(self)
    }
}

impl CheckedSession {
    /// Returns the same session with a type: `try_into_typed::<McpClient<Active>>()`. The session must be in that
    /// state, and no event may wait that the typed value would not receive.
    ///
    /// A restriction by [`restrict`](Self::restrict) stays: methods that need other capabilities fail with
    /// [`Error::NotPermitted`](crate::Error::NotPermitted).
    ///
    /// ```
    /// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
    /// use mcp_runtime::CheckedSession;
    /// use weather::{Active, WeatherClient};
    ///
    /// fn opened(session: CheckedSession) -> Option<WeatherClient<Active>> {
    ///     match session.try_into_typed() {
    ///         Ok(client) => Some(client),
    ///         Err(not_typed) => {
    ///             println!("{}: {:?}", not_typed.why, not_typed.session);
    ///             None
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns the session, unchanged, with the reason.
    #[expect(clippy::result_large_err, reason = "the session comes back; it is the point of the error")]
    pub fn try_into_typed<S: Typed>(mut self) -> Result<S, NotTyped> {
        match self.why_not_typed::<S>() {
            Some(why) => Err(NotTyped { session: self, why }),
            None => match self.parts.pop() {
                Some(part) => Ok(S::at(part)),
                None => Err(NotTyped { session: self, why: WhyNot::Split }),
            },
        }
    }

    fn why_not_typed<S: Typed>(&self) -> Option<WhyNot> {
        let (protocol, wanted) = (self.protocol(), S::protocol());
        if !std::ptr::eq(protocol, wanted) && protocol != wanted {
            return Some(WhyNot::Protocol { is: protocol.name.clone(), wanted: wanted.name.clone() });
        }
        let [part] = self.parts.as_slice() else { return Some(WhyNot::Split) };
        let role = part.channel.role();
        let side = self.link.with(|engine| engine.rules().checker().side());
        let name = |of: Option<&mcp_protocol_machine::protocol::Role>| {
            of.map(|role| role.name.clone()).unwrap_or_default()
        };
        if side != S::SIDE {
            return Some(WhyNot::Role { is: name(role), wanted: name(wanted.role(S::SIDE)) });
        }
        if part.state() != S::STATE || part.channel.sub_session.is_some() != S::SUB_SESSION {
            let state = |state| role.and_then(|role| role.state(state)).map(|state| state.name.clone());
            let (is, wanted) = (state(part.state()), state(S::STATE));
            return Some(WhyNot::State { is: is.unwrap_or_default(), wanted: wanted.unwrap_or_default() });
        }
        let takes = |input: &_| !matches!(part.channel.judge(Wanted::Any, input), Verdict::Skip);
        if let Some(message) =
            self.link.with(|engine| engine.inbox().first_input(part.channel.sub_session, takes))
        {
            return Some(WhyNot::Pending { message: self.name_of(message) });
        }
        let (asked, held) = match (&self.channel, &self.exchanges) {
            (Some(channel), _) => self
                .link
                .with(|engine| (engine.calls().calls_of(channel.key), engine.owed().held_by(channel.key))),
            (None, Some(own)) => (own.asked().to_vec(), own.held().to_vec()),
            (None, None) => (Vec::new(), Vec::new()),
        };
        if !asked.is_empty() {
            return Some(WhyNot::Asked { ids: asked.into_iter().map(RequestId::Number).collect() });
        }
        (!held.is_empty()).then_some(WhyNot::Held { ids: held })
    }
}
