//! Messages on their way to the checker: what their payloads say of keys, tokens and capabilities goes with them.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::{About, Correlation, RequestId, Step, Token, Violation};

use super::Rules;
use super::names::{Names, applies, id_at};
use crate::jsonrpc::RawPayload;

/// What a notification names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The request that it cancels.
    pub(crate) cancelled: Option<RequestId>,
    /// The token of the request that it reports on.
    pub(crate) token: Option<Token>,
}

impl Rules {
    /// Judges a request. If it is permitted, the session moves.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        params: Option<impl RawPayload>,
    ) -> Result<Step, Violation> {
        let sender = self.sender(direction);
        let keys = Names::keys(&self.protocol, message, Some(id), params);
        let announces = self.announces(sender, message, params);
        let (grants, revokes) = self.changes(sender, message, params);
        let correlation = Correlation::keys(&keys)
            .announcing(announces.as_ref())
            .changing(grants.as_ref(), revokes.as_ref());
        self.checker.request_correlated(direction, message, id, token, correlation, applies(params))
    }

    /// Judges a notification. If it is permitted, the session moves.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn notification(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        named: &Named,
        params: Option<impl RawPayload>,
    ) -> Result<Step, Violation> {
        let sender = self.sender(direction);
        let about = match (&named.cancelled, &named.token) {
            (Some(id), _) => About::Request(id),
            (None, Some(token)) => About::Token(token),
            (None, None) => About::Nothing,
        };
        let keys = Names::keys(&self.protocol, message, None, params);
        let (grants, revokes) = self.changes(sender, message, params);
        let correlation = Correlation::keys(&keys).changing(grants.as_ref(), revokes.as_ref());
        self.checker.notification_correlated(direction, message, about, correlation, applies(params))
    }

    /// Judges a reply to a request that runs: its result, or nothing where it is an error. If it is permitted, the
    /// session moves.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn reply(
        &mut self,
        direction: Direction,
        id: &RequestId,
        reply: MessageIndex,
        result: Option<impl RawPayload>,
    ) -> Result<Step, Violation> {
        let keys = Names::keys(&self.protocol, reply, Some(id), result);
        self.checker.reply_correlated(direction, id, reply, Correlation::keys(&keys))
    }

    /// Judges a reply to a request that does not run.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn stray_reply(
        &mut self,
        direction: Direction,
        id: &RequestId,
        result: Option<impl RawPayload>,
    ) -> Result<Step, Violation> {
        // The sub-session of a request that was cancelled may have its key already.
        let retired = self.checker.retired(direction, id);
        let reply = retired.zip(result).and_then(|(request, result)| self.reply_of(request, result));
        let keys = reply.map_or_else(Vec::new, |reply| Names::keys(&self.protocol, reply, Some(id), result));
        self.checker.stray_reply_correlated(direction, id, Correlation::keys(&keys))
    }

    /// Judges a request or a notification whose method the protocol does not have, or whose payload fits none of the
    /// messages of its method.
    ///
    /// # Errors
    /// Always, unless the session is closed.
    pub(crate) fn unnamed(
        &mut self,
        direction: Direction,
        id: Option<&RequestId>,
        method: &str,
    ) -> Result<Step, Violation> {
        match self.names.any_of(&self.protocol, id.is_some(), method) {
            Some(message) => self.checker.fits_none(direction, message, id),
            None => self.checker.unknown_method(direction, id, method),
        }
    }

    /// Which request a notification names.
    pub(crate) fn named(&self, notification: MessageIndex, params: Option<impl RawPayload>) -> Named {
        let Some(table) = self.message(notification) else { return Named::default() };
        Named {
            cancelled: table.cancels.as_ref().and_then(|cancels| id_at(params, &cancels.id)),
            token: table.reports.as_ref().and_then(|reports| id_at(params, &reports.token)),
        }
    }

    /// The side that sends in a direction.
    pub(crate) fn sender(&self, direction: Direction) -> Side {
        match direction {
            Direction::Send => self.side,
            Direction::Receive => self.side.other(),
        }
    }
}
