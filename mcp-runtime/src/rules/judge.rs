//! Messages on their way to the checker: what their payloads say of keys, tokens and capabilities goes with them.

use mcp_protocol_machine::protocol::{Action, Direction, Edge, MessageIndex, Side, Text};
use mcp_protocol_machine::{
    About, Awaiting, Correlation, Meant, RequestId, Step, StepKind, Token, Violation,
};

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
        self.request_meant(direction, message, id, token, Meant::Anything, params)
    }

    /// The same for a request that is meant for a sub-session, or for none.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn request_meant(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        meant: Meant,
        params: Option<impl RawPayload>,
    ) -> Result<Step, Violation> {
        let sender = self.sender(direction);
        let keys = Names::keys(&self.protocol, message, Some(id), params);
        let announces = self.announces(sender, message, params);
        let (grants, revokes) = self.changes(sender, message, params);
        let correlation = Correlation::meant(&keys, meant)
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

    /// Judges what the peer has replied to a request that runs: its result, or nothing where it is an error. Returns the
    /// step, and which message the reply is.
    ///
    /// # Errors
    /// If it is not permitted.
    pub(crate) fn reply_to(
        &mut self,
        id: &RequestId,
        request: MessageIndex,
        result: Option<&str>,
    ) -> Result<(Step, MessageIndex), Violation> {
        let message = match result {
            Some(result) => self.reply_of(request, result),
            None => self.refusal_of(request),
        };
        let misshapen =
            message.zip(result).and_then(|(message, result)| self.misshapen(message, Some(result)));
        let (step, message) = match (message, misshapen, self.any_reply_to(request)) {
            (Some(message), Some(mismatch), _) => {
                (self.checker.misshapen(Direction::Receive, message, Some(id), mismatch), message)
            }
            (Some(message), None, _) => (self.reply(Direction::Receive, id, message, result), message),
            (None, _, Some(reply)) if result.is_some() => {
                (self.checker.fits_none(Direction::Receive, reply, Some(id)), request)
            }
            // A request without any reply is a flaw of the tables; the call must end all the same.
            (None, ..) => (self.checker.stray_reply(Direction::Receive, id), request),
        };
        Ok((step?, message))
    }

    /// The request that an answer of this side is for; nothing if it was cancelled, for then the peer does not wait for
    /// one.
    ///
    /// # Errors
    /// If the request is unknown, or was answered.
    pub(crate) fn answered(&mut self, id: &RequestId) -> Result<Option<MessageIndex>, Violation> {
        match self.checker.awaiting(Direction::Send, id) {
            Awaiting::Request(request) => Ok(Some(request)),
            Awaiting::Retired | Awaiting::Refused => {
                // Keeps count, so that the id is free of its past.
                let _ = self.checker.stray_reply(Direction::Send, id);
                Ok(None)
            }
            Awaiting::Completed | Awaiting::Unknown => {
                self.checker.stray_reply(Direction::Send, id).map(|_| None)
            }
        }
    }

    /// Whether a notification of this side is a report on a request of the peer, by its token.
    pub(crate) fn is_report(&self, message: MessageIndex, token: Option<&Token>, written: &str) -> bool {
        let keys = Names::keys(&self.protocol, message, None, Some(written));
        token.is_some_and(|token| self.checker.is_report(Direction::Send, message, token, &keys))
    }

    /// The state in which a message of the peer is a step of a linear channel now, if it is one.
    pub(crate) fn stepped_from(&self, message: MessageIndex) -> Option<Text> {
        let is_step = |edge: &Edge| matches!(edge.action, Action::Step(_));
        let mut states = self.checker.states().iter().filter_map(|state| self.state(*state));
        let here = states.find(|state| state.edge(Direction::Receive, message).is_some_and(is_step));
        here.map(|state| state.name.clone())
    }

    /// Whether a linear request of the peer that is refused leaves its channel where it was before. A refusal with a branch
    /// of its own leads on, and the value that has not seen the request could not follow.
    pub(crate) fn is_undone_by_refusal(&self, request: MessageIndex, kind: StepKind) -> bool {
        let StepKind::Linear { from, to } = kind else { return false };
        let refusal = self.refusal_of(request);
        let asked = self.state(to);
        let edge = refusal.zip(asked).and_then(|(refusal, asked)| asked.edge(Direction::Send, refusal));
        edge.is_some_and(|edge| edge.action == Action::Step(from))
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
        let message = self.checker.retired(direction, id).and_then(|request| match result {
            Some(result) => self.reply_of(request, result),
            None => self.refusal_of(request),
        });
        let Some(message) = message else { return self.checker.stray_reply(direction, id) };
        // The sub-session of a request that was cancelled may have its key already.
        let keys = Names::keys(&self.protocol, message, Some(id), result);
        let step = self.checker.reply_correlated(direction, id, message, Correlation::keys(&keys))?;
        self.note_capabilities(message, result);
        Ok(step)
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
