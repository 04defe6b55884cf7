//! Messages of this side. Nothing is written that the checker refuses.

use mcp_protocol_machine::protocol::{Direction, Message, MessageIndex, Text};
use mcp_protocol_machine::{
    About, Correlation, Meant, RequestId, Step, StepKind, SubSessionNumber, Token, ViolationKind,
};

use super::owners::context::{Accepted, Caller};
use super::state::Engine;
use crate::driver::{MessageKind, RequestText};
use crate::error::{Error, MismatchError};
use crate::jsonrpc::{JsonReader, LookedUp, path, write};
use crate::report::{DropReason, Report};
use crate::rules::members::{self, Carried};
use crate::rules::method::Opening;
use crate::rules::names::{Names, applies, id_at};
use crate::rules::{alternatives, announcements, judge, place, shapes, version};

/// Whether what was judged is to be written. What is late while its sub-session goes on is for the peer to judge, which
/// may be where it is a step again.
fn is_written(step: &Step) -> bool {
    match step.kind {
        StepKind::Late(late) => !late.over,
        kind => !kind.is_dropped(),
    }
}

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
        self.check_length(table, written)?;
        let number = self.inbox.calls().next_id();
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
        alternatives::check(&self.rules, message, &opening)?;
        let Opening { method, params: text } = opening;
        let mut reader = JsonReader::default();
        let params = self.rules.params(self.rules.side(), text.map(LookedUp::Text), &mut reader);
        version::check_asked(&self.rules, message, params)?;
        shapes::check(&self.rules, message, params)?;
        self.rules.checker().check_closed_gates(message, applies(params))?;
        let token = token.or_else(|| self.rules.token(params));
        // A refused request has used its id up as far as the checker is concerned.
        self.inbox.calls_mut().use_id();
        let members = members::of_own(&self.rules, message, meant, About::Nothing);
        let carried = Carried { payload: params, members: &members };
        let step =
            judge::request_meant(&mut self.rules, Direction::Send, message, &id, token, meant, carried)?;
        if step.kind.is_dropped() {
            // What it belongs to is over on the wire, so no answer would come.
            let over = if matches!(meant, Meant::NewWithin(_)) { Error::Closed } else { Error::Cancelled };
            return Err(self.lifecycle.closed(caller).unwrap_or(over));
        }
        let Accepted { step, .. } = self.accepted(step, message, params, false);
        write::request(self.outbox.composing(), self.rules.dialect(), &id, &method, text, &members);
        if call {
            // A step is of this sub-session, and is lost with it.
            let is_bound = caller.is_bound() || matches!(meant, Meant::SubSession(_));
            let within = match step.kind {
                StepKind::Spawned { within, .. } => within,
                _ => None,
            };
            self.inbox.calls_mut().begin(number, message, progress, is_bound, within);
        }
        self.traces.asked(&self.rules, Direction::Send, &id, message);
        // The peer may have to ask something before it answers.
        self.inbox.wake_room(&mut self.effects);
        let place = place::of(&self.rules, caller.is_bound(), step.kind);
        let request = RequestText { method: &method, params };
        self.said(caller, MessageKind::Request { id: number, place }, Some(request));
        Ok((number, step))
    }

    /// A message that never fits into the output must not end the session, as if the peer did not read.
    fn check_length(&self, table: &Message, written: &str) -> Result<(), Error> {
        let (bytes, most) = (written.len(), self.rules.options().most_payload_bytes());
        match bytes > most {
            true => Err(Error::MessageTooLarge { method: table.method.clone(), bytes, most }),
            false => Ok(()),
        }
    }

    /// A message of the caller was appended to the output.
    fn said(&mut self, caller: Caller, kind: MessageKind, request: Option<RequestText<'_>>) {
        if !caller.is_in_batch() {
            self.appended_request(kind, caller.in_reply_to(), request);
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
        let step = self.tell(caller, message, written, about, caller.meant())?;
        // Who sends it for a sub-session that is over on the wire has to know: nothing is written.
        if let (StepKind::Late(late), Some(_), About::Nothing) = (step.kind, caller.sub_session(), about)
            && late.over
        {
            return Err(Error::Closed);
        }
        Ok(is_written(&step))
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
        self.check_length(table, written)?;
        let opening = Opening::of(table, written)?;
        alternatives::check(&self.rules, message, &opening)?;
        let Opening { method, params } = opening;
        shapes::check(&self.rules, message, params)?;
        self.rules.checker().check_closed_gates(message, applies(params))?;
        // The peer reads the token, too.
        let reports = table.reports.as_ref().filter(|_| matches!(about, About::Nothing));
        let token = reports.and_then(|reports| id_at(params, &reports.token));
        let about = token.as_ref().map_or(about, About::Token);
        let members = members::of_own(&self.rules, message, meant, about);
        let keys = Names::keys(&protocol, message, None, params, &members);
        let (grants, revokes) = announcements::changes(&self.rules, self.rules.side(), message, params);
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
            write::notification(self.outbox.composing(), self.rules.dialect(), &method, params, &members);
            let place = place::of(&self.rules, caller.is_bound(), step.kind);
            self.said(
                caller,
                match about {
                    About::Request(RequestId::Number(id)) => MessageKind::Cancel { id: *id, place },
                    _ => MessageKind::Notification { place },
                },
                None,
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

    /// Sends a linear notification for a value. Where the wire has left the value's state, one that changes nothing may
    /// come too late even to be late: the peer knows that this side has heard of the step, so it is not written.
    pub(crate) fn tell_for_value(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        sub_session: Option<SubSessionNumber>,
        stays: bool,
    ) -> Result<(), Error> {
        let meant = sub_session.map_or(Meant::Anything, Meant::SubSession);
        let is_written = match self.tell(caller, message, written, About::Nothing, meant) {
            Err(Error::NotPermitted(violation))
                if stays
                    && violation.kind == ViolationKind::NotPermitted
                    && !self.rules.checker().has_step(sub_session, Direction::Send, message) =>
            {
                false
            }
            told => is_written(&told?),
        };
        if !is_written {
            let message = self.rules.name(message);
            self.report(Report::Dropped { message, cause: DropReason::TooLate });
        }
        Ok(())
    }

    /// Writes several messages of this side as one list.
    ///
    /// # Errors
    /// [`Error::NoBatches`] if the protocol does not permit batches.
    pub(crate) fn batched(
        &mut self,
        caller: Caller,
        write: impl FnOnce(&mut Engine, Caller),
    ) -> Result<(), Error> {
        if let Some(error) = self.lifecycle.closed(caller) {
            return Err(error);
        }
        if !self.rules.protocol().batch {
            let (protocol, version) =
                (self.rules.protocol().name.clone(), self.rules.protocol().version.clone());
            return Err(Error::NoBatches { protocol, version });
        }
        let start = self.outbox.composing().len();
        write(self, caller.in_batch());
        let output = self.outbox.composing();
        let written = output.split_off(start);
        let mut separator = b'[';
        // A message is one line, without an end of line in it.
        for message in written.split(|byte| *byte == b'\n').filter(|message| !message.is_empty()) {
            output.push(separator);
            output.extend_from_slice(message);
            separator = b',';
        }
        if output.len() > start {
            output.extend_from_slice(b"]\n");
            self.appended(MessageKind::Several { bound: caller.is_bound() }, caller.in_reply_to());
        }
        Ok(())
    }
}
