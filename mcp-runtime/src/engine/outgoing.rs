//! Messages of this side. Nothing is written that the checker refuses.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Text};
use mcp_protocol_machine::{About, Awaiting, Correlation, Meant, RequestId, Step, StepKind, Token};

use super::late::is_written;
use super::owed::CancelOutcome;
use super::owners::batches::ReplyTo;
use super::owners::context::{Accepted, Caller};
use super::owners::trace::Outcome;
use super::state::Engine;
use crate::driver::MessageKind;
use crate::error::{Error, MismatchError};
use crate::jsonrpc::{RpcError, path, write};
use crate::report::{DropReason, Report};
use crate::rules::method::Opening;
use crate::rules::names::applies;
use crate::rules::names::{Names, id_at, on_the_wire};

impl Engine {
    /// Writes a request and gives its id. With `progress`, reports are asked for: the id becomes the token.
    pub(crate) fn request(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
        call: bool,
    ) -> Result<i64, Error> {
        self.ask(caller, message, written, progress, call, caller.meant()).map(|(id, _)| id)
    }

    /// The same for a request that is meant for a sub-session, or for none; tells what it did as well.
    pub(crate) fn ask(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
        call: bool,
        meant: Meant,
    ) -> Result<(i64, Step), Error> {
        if let Some(error) = self.lifecycle.closed(caller) {
            return Err(error);
        }
        let protocol = self.rules.protocol().clone();
        let Some(table) = protocol.message(message) else { return Err(Error::Closed) };
        let number = self.calls.next_id();
        let id = RequestId::Number(number);
        let mut opening = Opening::of(table, written)?;
        let with_token;
        let mut token = None;
        if progress && let Some(place) = self.rules.token_path() {
            with_token = path::set(opening.params, place, &write::id_text(&id))
                .map_err(|error| Error::payload(&table.name, error))?;
            opening.params = Some(&with_token);
            token = Some(Token::Number(number));
        }
        self.rules.check_told_apart(message, &opening)?;
        let Opening { method, params } = opening;
        self.rules.check_asked_version(message, params)?;
        self.rules.check_shape(message, params)?;
        self.rules.checker().check_closed_gates(message, applies(params))?;
        let token = token.or_else(|| self.rules.token(params));
        // A refused request has used its id up as far as the checker is concerned.
        self.calls.use_id();
        let keys = Names::keys(&protocol, message, Some(&id), params);
        let announces = self.rules.announces(self.rules.side(), message, params);
        let (grants, revokes) = self.rules.changes(self.rules.side(), message, params);
        let correlation = Correlation::meant(&keys, meant)
            .announcing(announces.as_ref())
            .changing(grants.as_ref(), revokes.as_ref());
        let step = self.rules.checker_mut().request_correlated(
            Direction::Send,
            message,
            &id,
            token,
            correlation,
            applies(params),
        )?;
        if step.kind.is_dropped() {
            // What it belongs to is over on the wire, so no answer would come.
            return Err(self.lifecycle.closed(caller).unwrap_or(Error::Cancelled));
        }
        let Accepted { step, .. } = self.accepted(step, message, params, false);
        write::request(self.outbox.composing(), self.rules.dialect(), &id, &method, params);
        if call {
            // A step is of this sub-session, and is lost with it.
            let is_bound = caller.is_bound() || matches!(meant, Meant::SubSession(_));
            let within = match step.kind {
                StepKind::Spawned { within, .. } => within,
                _ => None,
            };
            self.calls.begin(number, message, progress, is_bound, within);
        }
        self.traces.asked(&self.rules, Direction::Send, &id, message);
        // The peer may have to ask something before it answers.
        self.replicated.room_waiting().wake(&mut self.effects);
        self.said(
            caller,
            MessageKind::Request { id: number, place: self.rules.place(caller.is_bound(), step.kind) },
        );
        Ok((number, step))
    }

    /// A message of the caller was appended to the output.
    fn said(&mut self, caller: Caller, kind: MessageKind) {
        if !caller.is_in_batch() {
            self.appended(kind, caller.in_reply_to());
            self.judge_early();
        }
    }

    /// Writes a notification. What belongs to an exchange that is over is swallowed; that is the `false`.
    pub(crate) fn notification(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        about: About<'_>,
    ) -> Result<bool, Error> {
        let half_closed = self.lifecycle.is_answering() && !self.outbox.may_route();
        if half_closed && !self.lifecycle.is_lost(caller) {
            // It may not be read any more, and some peers stumble over it. Replies are still owed.
            let message = self.rules.name(message);
            self.report(Report::Dropped { message, cause: DropReason::PeerClosed });
            return Ok(false);
        }
        self.tell(caller, message, written, about, caller.meant()).map(|step| is_written(&step))
    }

    /// The same for a notification that is meant for a sub-session, or for none; tells what it did.
    pub(crate) fn tell(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        about: About<'_>,
        meant: Meant,
    ) -> Result<Step, Error> {
        // Once this side has said everything, replies may still be owed to the peer, and so may be reports on them.
        // Where the input alone has ended, the peer still reads what it has asked for.
        let answering = (self.lifecycle.is_answering() && self.outbox.may_route())
            || (self.lifecycle.is_closing() && matches!(about, About::Token(_)));
        if let Some(error) = self.lifecycle.closed(caller)
            && (self.lifecycle.is_written() || !answering || self.lifecycle.is_lost(caller))
        {
            return Err(error);
        }
        let protocol = self.rules.protocol().clone();
        let Some(table) = protocol.message(message) else { return Err(Error::Closed) };
        let opening = Opening::of(table, written)?;
        self.rules.check_told_apart(message, &opening)?;
        let Opening { method, params } = opening;
        self.rules.check_shape(message, params)?;
        self.rules.checker().check_closed_gates(message, applies(params))?;
        // The peer reads the token, too.
        let reports = table.reports.as_ref().filter(|_| matches!(about, About::Nothing));
        let token = reports.and_then(|reports| id_at(params, &reports.token));
        let about = token.as_ref().map_or(about, About::Token);
        let keys = Names::keys(&protocol, message, None, params);
        let (grants, revokes) = self.rules.changes(self.rules.side(), message, params);
        let correlation = Correlation::meant(&keys, meant).changing(grants.as_ref(), revokes.as_ref());
        if matches!(meant, Meant::SubSession(_))
            && let Some(sub_session) = self.rules.checker().would_end(message, correlation, applies(params))
        {
            self.close_within(caller, sub_session, message);
        }
        let step = self.rules.checker_mut().notification_correlated(
            Direction::Send,
            message,
            about,
            correlation,
            applies(params),
        )?;
        let Accepted { step, .. } = self.accepted(step, message, params, false);
        if is_written(&step) {
            write::notification(self.outbox.composing(), self.rules.dialect(), &method, params);
            let place = self.rules.place(caller.is_bound(), step.kind);
            self.said(
                caller,
                match about {
                    About::Request(RequestId::Number(id)) => MessageKind::Cancel { id: *id, place },
                    _ => MessageKind::Notification { place },
                },
            );
            if let About::Request(id) = about
                && step.kind != StepKind::Reported
            {
                // It ends the exchange: no reply follows.
                self.outbox.not_awaited(id, &mut self.effects);
            }
        }
        Ok(step)
    }

    /// Whether a notification of this side is a report on a request of the peer, by its token.
    pub(crate) fn is_report(&self, message: MessageIndex, token: Option<&Token>, written: &str) -> bool {
        let keys = Names::keys(self.rules.protocol(), message, None, Some(written));
        token.is_some_and(|token| self.rules.checker().is_report(Direction::Send, message, token, &keys))
    }

    /// Reports on a request of the peer that carried a token. A report that says how far the work is, in the
    /// number of [`Options::progress_field`](crate::Options::progress_field), must say more than the one before it.
    pub(crate) fn report_on(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        token: &Token,
        id: Option<&RequestId>,
    ) -> Result<(), Error> {
        let protocol = self.rules.protocol().clone();
        let reports = protocol.message(message).and_then(|table| Some((table, table.reports.as_ref()?)));
        let Some((table, reports)) = reports else { return Ok(()) };
        let params = path::set(Some(written), &reports.token, &write::id_text(token))
            .map_err(|error| Error::payload(&table.name, error))?;
        if self.lifecycle.is_lost(caller) {
            return Err(Error::SessionReplaced);
        }
        let field = self.rules.options().progress_field;
        let now = field.and_then(|field| path::find(written, &[Text::Borrowed(field)])?.parse::<f64>().ok());
        if let (Some(now), Some(before)) = (now, id.and_then(|id| self.reported_on(id))) {
            if let Some(before) = before.filter(|before| now <= *before) {
                let problem = MismatchError::NotMore { before, now };
                return Err(Error::Mismatch { message: table.name.clone(), problem });
            }
            *before = Some(now);
        }
        self.notification(caller, message, &params, About::Token(token)).map(drop)
    }

    /// What the last report on a request of the peer said.
    fn reported_on(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        if self.owed.has(id) {
            return self.owed.progress_mut(id);
        }
        self.sub_session_progress(id)
    }

    /// Cancels a request of this side. `extra` are further members of the notification.
    pub(crate) fn cancel(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
    ) -> Result<CancelOutcome, Error> {
        self.cancel_with(caller, id, extra, Error::Cancelled)
    }

    /// The same, and says what a call then ends with.
    pub(super) fn cancel_with(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
        error: Error,
    ) -> Result<CancelOutcome, Error> {
        let name = RequestId::Number(id);
        if self.calls.is_complete(id) || self.is_past_cancel(&name) {
            return Ok(CancelOutcome::TooLate);
        }
        let _protocol = self.rules.protocol().clone();
        let Some((message, cancels)) = self.rules.cancels() else { return Ok(CancelOutcome::TooLate) };
        let params = path::set(extra, &cancels.id, &write::id_text(&name))
            .map_err(|error| Error::payload(&self.rules.name(message), error))?;
        if let Some(sub_session) = self.ended_by_cancel(&name).filter(|_| cancels.reply_error.is_none()) {
            self.close_within(caller, sub_session, message);
        }
        if !self.notification(caller, message, &params, About::Request(&name))? {
            return Ok(CancelOutcome::TooLate);
        }
        if cancels.reply_error.is_some() {
            return Ok(CancelOutcome::ReplyFollows);
        }
        let outcome =
            if matches!(error, Error::Timeout { .. }) { Outcome::Timeout } else { Outcome::Cancelled };
        self.traces.over(Direction::Send, &name, outcome);
        self.complete(id, Err(error));
        Ok(CancelOutcome::Ended)
    }

    /// Whether a request of this side has its reply and may be cancelled only until then, although what it has opened
    /// goes on.
    fn is_past_cancel(&self, id: &RequestId) -> bool {
        let answered = self.rules.checker().answered_opener(Direction::Send, id);
        answered.and_then(|request| self.rules.message(request)).is_some_and(|message| message.until_reply)
    }

    /// Answers a request of the peer with a result; which of its replies that is, the result says.
    pub(crate) fn reply_result(
        &mut self,
        caller: Caller,
        id: &RequestId,
        written: &str,
    ) -> Result<(), Error> {
        self.reply_with(caller, id, None, written)
    }

    /// Answers a request of the peer with one of its replies. Fails before anything has happened if the peer would
    /// read another one.
    pub(crate) fn reply_with(
        &mut self,
        caller: Caller,
        id: &RequestId,
        message: Option<MessageIndex>,
        written: &str,
    ) -> Result<(), Error> {
        self.rules.check_reply_told_apart(id, message, written)?;
        self.rules.check_version(id, written)?;
        self.rules.check_reply_shape(id, message, written)?;
        self.answering(caller, id, |engine, to| engine.result_to(caller, to, id, message, written))
    }

    /// Answers a request of the peer with an error.
    pub(crate) fn reply_error(
        &mut self,
        caller: Caller,
        id: &RequestId,
        error: &RpcError,
    ) -> Result<(), Error> {
        self.answering(caller, id, |engine, to| engine.error_to(caller, to, id, error))
    }

    /// Answers a request, whose batch, if it came in one, waits for this answer no more, whatever becomes of it.
    fn answering(
        &mut self,
        caller: Caller,
        id: &RequestId,
        answer: impl FnOnce(&mut Engine, ReplyTo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.lifecycle.is_lost(caller) {
            // The peer may have used the id again.
            return Err(Error::SessionReplaced);
        }
        let to = self.owed.take_route(id);
        let answered = answer(self, to);
        self.leave_batch(to.batch);
        self.outbox.settled(to.tag, &mut self.effects);
        self.judge_early();
        answered
    }

    fn result_to(
        &mut self,
        caller: Caller,
        to: ReplyTo,
        id: &RequestId,
        message: Option<MessageIndex>,
        written: &str,
    ) -> Result<(), Error> {
        let most = self.rules.options().output_limit / 2;
        if !self.batches.has_room(to, written.len(), most) {
            let error = RpcError::busy(format!(
                "the replies to the batch take more than {most} bytes: send the request on its own"
            ));
            self.error_to(caller, to, id, &error)?;
            return Err(Error::BatchFull(most));
        }
        let protocol = self.rules.protocol().clone();
        let Some(request) = self.settle(id)? else { return Ok(()) };
        let message = message.or_else(|| self.rules.reply_of(request, written));
        let Some((message, table)) = message.and_then(|message| Some((message, protocol.message(message)?)))
        else {
            return Ok(());
        };
        let result = on_the_wire(table, written).unwrap_or("{}");
        let keys = Names::keys(&protocol, message, Some(id), Some(result));
        let ends = self.rules.checker().reply_would_end(id, message, Correlation::keys(&keys));
        if let Some(sub_session) = ends {
            self.close_within(caller, sub_session, message);
        }
        let step = self.rules.checker_mut().reply_correlated(
            Direction::Send,
            id,
            message,
            Correlation::keys(&keys),
        )?;
        let Accepted { step, .. } = self.accepted(step, message, Some(result), false);
        self.traces.over(Direction::Receive, id, Outcome::Result);
        if !step.kind.is_dropped() {
            let kind = MessageKind::Result { place: self.rules.place(caller.is_bound(), step.kind) };
            self.write_reply(to, kind, |into, dialect| write::result(into, dialect, id, result));
        }
        Ok(())
    }

    fn error_to(
        &mut self,
        caller: Caller,
        to: ReplyTo,
        id: &RequestId,
        error: &RpcError,
    ) -> Result<(), Error> {
        let _protocol = self.rules.protocol().clone();
        let Some(request) = self.settle(id)? else { return Ok(()) };
        if let Some(message) = self.rules.refusal_of(request) {
            if let Some(ends) = self.rules.checker().reply_would_end(id, message, Correlation::default()) {
                self.close_within(caller, ends, message);
            }
            let step = self.rules.checker_mut().reply(Direction::Send, id, message)?;
            self.traces.step(&self.rules, &step);
            self.end_awaiting();
            if step.kind.is_dropped() {
                return Ok(());
            }
        }
        self.traces.over(Direction::Receive, id, Outcome::Error(error.code));
        self.write_reply(to, MessageKind::Error, |into, dialect| {
            write::error(into, dialect, Some(id), error)
        });
        Ok(())
    }

    /// The request that an answer is for; nothing if it was cancelled, for then the peer does not wait for one.
    fn settle(&mut self, id: &RequestId) -> Result<Option<MessageIndex>, Error> {
        if let Some(owed) = self.owed.end(id, &mut self.effects) {
            // Reports may go on as long as what the request has opened.
            if let Some(progress) = self.sub_session_progress(id) {
                *progress = owed.progress;
            }
        }
        // It may have been the last thing that kept a session open in which nothing else is said any more.
        if self.lifecycle.is_answering() || self.lifecycle.is_closing() {
            self.lifecycle.waiting().wake(&mut self.effects);
            self.effects.wake_driver();
        }
        if self.lifecycle.is_over() {
            return self.lifecycle.error().map_or(Ok(None), Err);
        }
        match self.rules.checker().awaiting(Direction::Send, id) {
            Awaiting::Request(request) => Ok(Some(request)),
            Awaiting::Retired | Awaiting::Refused => {
                // Keeps count, so that the id is free of its past.
                let _ = self.rules.checker_mut().stray_reply(Direction::Send, id);
                Ok(None)
            }
            Awaiting::Completed | Awaiting::Unknown => {
                match self.rules.checker_mut().stray_reply(Direction::Send, id) {
                    Ok(_) => Ok(None),
                    Err(violation) => Err(violation.into()),
                }
            }
        }
    }
}
