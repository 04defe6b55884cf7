//! Looks messages up by wire method, for checked sessions.

use mcp_protocol_machine::Violation;
use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use crate::engine::{Engine, Link};

/// Names a message, by its wire method, `"tools/call"`, or by its index in the tables, for which generated code has a
/// constant, `messages::TOOLS_CALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'m> {
    /// By its wire method. Where conditions tell several messages of a method apart, the payload says which it is.
    Method(&'m str),
    /// By its index.
    Index(MessageIndex),
}

impl<'m> From<&'m str> for Name<'m> {
    fn from(method: &'m str) -> Name<'m> {
        Name::Method(method)
    }
}

impl<'m> From<&'m String> for Name<'m> {
    fn from(method: &'m String) -> Name<'m> {
        Name::Method(method)
    }
}

impl From<MessageIndex> for Name<'_> {
    fn from(message: MessageIndex) -> Self {
        Name::Index(message)
    }
}

impl Name<'_> {
    /// The request or the notification that is named so.
    pub(super) fn find(
        self,
        link: &Link,
        kind: Kind,
        written: Option<&str>,
    ) -> Result<MessageIndex, Violation> {
        link.with(|engine| self.find_in(engine, kind, written))
    }

    /// The message that is named so, of whatever kind.
    pub(super) fn any(self, link: &Link) -> Result<MessageIndex, Violation> {
        link.with(|engine| match self {
            Name::Index(message) => Ok(message),
            Name::Method(method) => {
                let of = |kind| {
                    engine
                        .rules()
                        .of_method(kind, method, None)
                        .or_else(|| engine.rules().some_of(kind, method))
                };
                of(Kind::Request)
                    .or_else(|| of(Kind::Notification))
                    .ok_or_else(|| engine.rules().checker().no_such_message(Kind::Request, method))
            }
        })
    }

    fn find_in(
        self,
        engine: &mut Engine,
        kind: Kind,
        written: Option<&str>,
    ) -> Result<MessageIndex, Violation> {
        let other = match kind {
            Kind::Request => Kind::Notification,
            _ => Kind::Request,
        };
        match self {
            Name::Index(message) => match engine.rules().checker().protocol().message(message) {
                Some(table) if table.kind == kind => Ok(message),
                Some(_) => Err(engine.rules().checker().other_kind(message, kind)),
                None => {
                    Err(engine.rules().checker().no_such_message(kind, &format!("message {}", message.0)))
                }
            },
            Name::Method(method) => {
                if let Some(message) = engine.rules().of_method(kind, method, written) {
                    return Ok(message);
                }
                if let Some(message) = engine.rules().some_of(kind, method) {
                    return Err(engine.rules().checker().would_fit_none(Direction::Send, message));
                }
                Err(match engine.rules().some_of(other, method) {
                    Some(message) => engine.rules().checker().other_kind(message, kind),
                    None => engine.rules().checker().no_such_message(kind, method),
                })
            }
        }
    }
}
