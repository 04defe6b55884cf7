//! `is_timeout`, `is_cancelled`, `is_closed`, `is_refused`, `is_unreachable` and `is_unsent`.

use super::variants::Error;

impl Error {
    /// Returns whether a timeout has passed: [`Error::Timeout`].
    ///
    /// ```
    /// use mcp_runtime::{Error, RpcError};
    ///
    /// fn worth_another_try(error: &Error) -> bool {
    ///     error.is_timeout() && !error.is_closed()
    /// }
    ///
    /// assert!(!worth_another_try(&Error::Closed));
    /// assert!(!worth_another_try(&Error::from(RpcError::method_not_found("tools/list"))));
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, Error::Timeout { .. })
    }

    /// Returns whether the call was cancelled by this side, or the sub-session by the side that opened it:
    /// [`Error::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Error::Cancelled)
    }

    /// Returns whether the session has ended, so that nothing more can be sent in it: [`Error::Closed`],
    /// [`Error::Disconnected`] and [`Error::SessionInvalid`], and [`Error::SessionReplaced`] for what belongs to a session
    /// that the peer has lost.
    pub fn is_closed(&self) -> bool {
        matches!(
            self,
            Error::Closed | Error::Disconnected { .. } | Error::SessionInvalid | Error::SessionReplaced
        )
    }

    /// Returns whether the peer answered the request with an error: [`Error::Refused`].
    pub fn is_refused(&self) -> bool {
        matches!(self, Error::Refused(_))
    }

    /// Returns whether the message did not reach the peer and may reach it later, which only a client over HTTP can tell: false
    /// without the feature `http-client`.
    #[cfg(not(feature = "http-client"))]
    pub fn is_unreachable(&self) -> bool {
        false
    }

    /// Returns whether the message was not sent at all, which only a client over HTTP can tell: false without the
    /// feature `http-client`.
    #[cfg(not(feature = "http-client"))]
    pub fn is_unsent(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::limits::TimeoutKind;
    use crate::error::reason::DisconnectReason;
    use crate::jsonrpc::RpcError;

    fn timeout() -> Error {
        let (message, method) = ("Ping".into(), "ping".into());
        Error::Timeout { message, method, after: Duration::from_secs(1), what: TimeoutKind::Reply }
    }

    /// Timeout, cancelled, closed, refused.
    fn of(error: &Error) -> [bool; 4] {
        [error.is_timeout(), error.is_cancelled(), error.is_closed(), error.is_refused()]
    }

    #[test]
    fn each_error_answers_one_question_at_most() {
        let refused = || RpcError::new(1, "no");
        for (error, expected) in [
            (timeout(), [true, false, false, false]),
            (Error::Cancelled, [false, true, false, false]),
            (Error::Closed, [false, false, true, false]),
            (Error::Disconnected { reason: DisconnectReason::PeerClosed }, [false, false, true, false]),
            (Error::SessionInvalid, [false, false, true, false]),
            (Error::SessionReplaced, [false, false, true, false]),
            (Error::Refused(refused()), [false, false, false, true]),
            (Error::OtherSession, [false; 4]),
        ] {
            assert_eq!(of(&error), expected, "{error}");
        }
    }
}
