//! Lines of the peer.
//!
//! In: bytes. Out: completed calls, queued inputs, answers of the engine itself. Refuses what is no message, what the
//! checker does not permit and what does not fit into the queues, each with an answer if it asked for one, and with a
//! report. It never waits and never panics, whatever comes.

use std::time::Instant;

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, Side, StateIndex};
use mcp_protocol_machine::{About, Awaiting, CopyNumber, RequestId, Step, StepKind, Ties};

use super::alternatives::applies;
use super::arrivals::{Arrived, Body, LinearInput};
use super::context::{Accepted, Caller, Inbound};
use super::engine::{Engine, Owed};
use super::faces::Told;
use super::names::{Names, id_at, to_be_read};
use super::order::Held;
use super::outgoing::Answer;
use super::trace::Outcome;
use crate::budget::Permit;
use crate::driver::{MessageKind, Received};
use crate::error::{Error, Reason, ReplyProblem};
use crate::jsonrpc::{Envelope, Line, Malformed, RpcError, Seems, is_batch, parse};
use crate::report::{Cause, Report};

/// A step with a payload of up to this many bytes is taken also where no more may wait.
const SMALL_STEP: usize = 16 * 1024;

impl Engine {
    /// Takes the next bytes.
    pub(crate) fn receive(&mut self, bytes: &[u8], now: Instant) {
        self.now = Some(now);
        self.direct_used = false;
        let mut lines = std::mem::take(&mut self.lines);
        // A stream has no names for its messages, and is told nothing of them.
        lines.feed(bytes, |line| drop(self.line(Inbound::alone(None, now), line)));
        self.lines = lines;
        // A peer that keeps the transport busy must not hold up what is due. What it said counts first.
        if self.timers.first().is_some_and(|first| first <= now) {
            self.ring(now);
        }
    }

    /// Takes what stood behind the last line end.
    pub(super) fn last_line(&mut self) {
        // Without a single byte received there is no last line either, and no clock is needed for it.
        let Some(now) = self.now else { return };
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(|line| drop(self.line(Inbound::alone(None, now), line)));
        self.lines = lines;
    }

    pub(super) fn line(&mut self, inbound: Inbound, line: Line<'_>) -> Received {
        if !self.lifecycle.is_open() {
            // A session that is closed accepts everything and drops it.
            return Received::default();
        }
        let parsed = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => return Received::default(),
            Line::Whole(line) if self.protocol.batch && is_batch(line) => {
                return self.batch_came(inbound, line);
            }
            Line::Whole(line) => parse(line, self.options.max_depth),
            Line::TooLong(sketch) => Err(Malformed::too_long(self.options.max_message_bytes, sketch)),
        };
        self.message_came(inbound, parsed)
    }

    /// Takes one message, from a line of its own or from a batch.
    pub(super) fn message_came(
        &mut self,
        inbound: Inbound,
        parsed: Result<Envelope<'_>, Malformed>,
    ) -> Received {
        self.came = self.came.wrapping_add(1);
        let received = match parsed {
            Ok(Envelope::Request { id, method, params }) => self.request_came(inbound, id, &method, params),
            Ok(Envelope::Notification { method, params }) => self.notification_came(inbound, &method, params),
            Ok(Envelope::Result { id, result }) => self.reply_came(inbound, &id, Ok(result)),
            Ok(Envelope::Error { id, error, problem }) => {
                if let Some(problem) = problem {
                    let error = RpcError::invalid_request(problem);
                    self.report(Report::Malformed { error, id: Some(id.clone()) });
                }
                self.reply_came(inbound, &id, Err(error))
            }
            Ok(Envelope::Complaint { error }) => {
                self.report(Report::Complaint { error });
                Received::default()
            }
            Err(malformed) => self.malformed_came(inbound, malformed),
        };
        self.judge_early();
        received
    }

    pub(super) fn malformed_came(&mut self, inbound: Inbound, malformed: Malformed) -> Received {
        let Malformed { error, id, raw_id, seems, fault, structured } = malformed;
        let error = *error;
        self.report(Report::Malformed { error: error.clone(), id: id.clone() });
        // Without a `method`, the id of a running request of this side is what tells a reply. Replies are not answered,
        // but the caller is told.
        let answers = id.as_ref().filter(|id| {
            seems != Seems::Other
                && matches!(self.checker.awaiting(Direction::Receive, id), Awaiting::Request(_))
        });
        if let Some(id) = answers {
            self.malformed_reply_came(id, fault, error);
            return Received::default();
        }
        if seems == Seems::Reply {
            return Received::default();
        }
        match (&id, raw_id) {
            (Some(id), _) => self.write_error(inbound, Some(id), &error),
            (None, Some(raw)) => {
                self.write_reply(inbound.reply_to(), MessageKind::Error, |into| {
                    crate::jsonrpc::write::error_to_raw(into, &raw, &error)
                });
                Received::default()
            }
            // A server that prints a line of its log is told nothing by its client: it asked nothing.
            (None, None) if structured || self.side == Side::Server => {
                self.write_error(inbound, None, &error)
            }
            (None, None) => Received::default(),
        }
    }

    fn named(&self, request: bool, method: &str, params: Option<&str>) -> Option<MessageIndex> {
        self.read_as(Direction::Receive, request, method, params)
    }

    /// Nothing is known by this method, or nothing that its payload fits.
    fn unnamed(&mut self, inbound: Inbound, id: Option<&RequestId>, method: &str) -> Received {
        let judged = match self.names.any_of(&self.protocol, id.is_some(), method) {
            Some(message) => self.fits_none(message, id),
            None => self.checker.unknown_method(Direction::Receive, id, method).map(drop),
        };
        match judged {
            Ok(()) => Received::default(),
            Err(violation) => self.refused(inbound, id, violation),
        }
    }

    pub(super) fn request_came(
        &mut self,
        inbound: Inbound,
        id: RequestId,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        let Some(message) = self.named(true, method, params) else {
            return self.unnamed(inbound, Some(&id), method);
        };
        if let Some(refused) = self.refused_in_batch(inbound, message, &id) {
            return refused;
        }
        if self.is_early_request(inbound, message, &id) {
            return self.hold_early(inbound, message, Some(id), method, params);
        }
        let token = self.token(params);
        let keys = Names::keys(&self.protocol, message, Some(&id), params);
        let ties = Ties::keys(&keys);
        let judged =
            self.checker.request_tied(Direction::Receive, message, &id, token.clone(), ties, applies(params));
        let step = match judged {
            Ok(step) => step,
            Err(violation) => return self.refused(inbound, Some(&id), violation),
        };
        if let StepKind::Late(late) = step.kind {
            return self.late_came(inbound, message, late, Some(&id));
        }
        let Accepted { step, negotiation } = self.accepted(step, message, params, true);
        if step.kind.is_dropped() {
            return Received::default();
        }
        self.report_tolerated(message, params);
        let linear = matches!(step.kind, StepKind::Linear { .. });
        if let Some(batch) = inbound.batch {
            self.batches.join(batch);
        }
        let owed = Owed {
            linear,
            progress: None,
            copy: step.copy,
            cancelled: false,
            waiting: Default::default(),
            to: inbound.reply_to(),
            face: None,
        };
        self.owed.insert(id.clone(), owed);
        self.trace_asked(Direction::Receive, &id, message);
        if let Some(rate) = self.options.request_rate
            && let Err(wait) = self.rate.take(rate, inbound.now)
        {
            let copy = self.opened(&step);
            let came = self.came;
            let epoch = self.epoch();
            let arrived = Arrived {
                message,
                id: Some(id),
                token,
                copy,
                payload: None,
                permit: Permit::default(),
                extension: None,
                at: inbound.now,
                came,
                epoch,
            };
            self.refuse_early(&arrived, wait);
            return inbound.took_request();
        }
        if self.message(message).is_some_and(|message| message.answered) {
            // The reply of an `answered` request is empty, so it cannot fail to be written.
            let _ = self.reply_result(Caller::ANY, &id, "{}");
            return inbound.took_request();
        }
        match step.kind {
            StepKind::Linear { .. } => {
                let body = Body::Payload(params.map(Box::from));
                let input = self.input(message, Some(id), None, body, negotiation);
                self.linear_came(input, step.kind);
            }
            StepKind::Copy { .. } if step.copy.is_some() => {
                let body = Body::Payload(params.map(Box::from));
                let input = self.input(message, Some(id), None, body, negotiation);
                self.hand_to_copy(&step, input);
            }
            _ => {
                let payload = params.map(Box::from);
                let copy = self.opened(&step);
                self.replicated_came(Arrived {
                    message,
                    id: Some(id),
                    token,
                    copy,
                    payload,
                    permit: Permit::default(),
                    extension: self.messages.extension(inbound.tag),
                    at: inbound.now,
                    came: self.came,
                    epoch: self.epoch(),
                });
            }
        }
        inbound.took_request()
    }

    pub(super) fn notification_came(
        &mut self,
        inbound: Inbound,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        let Some(message) = self.named(false, method, params) else {
            return self.unnamed(inbound, None, method);
        };
        let table = self.message(message);
        let cancels = table.and_then(|table| table.cancels.as_ref());
        let cancelled = cancels.and_then(|path| id_at(params, path));
        if self.is_early_notification(inbound, message, cancelled.as_ref()) {
            return self.hold_early(inbound, message, None, method, params);
        }
        let table = self.message(message);
        let reports = table.and_then(|table| table.reports.as_ref());
        let token = reports.and_then(|reports| id_at(params, &reports.token));
        let about = match (&cancelled, &token) {
            (Some(id), _) => About::Request(id),
            (None, Some(token)) => About::Token(token),
            (None, None) => About::Nothing,
        };
        let reported =
            token.as_ref().and_then(|token| self.checker.reported(Direction::Receive, token)).cloned();
        let keys = Names::keys(&self.protocol, message, None, params);
        let ties = Ties::keys(&keys);
        let judged =
            self.checker.notification_tied(Direction::Receive, message, about, ties, applies(params));
        let step = match judged {
            Ok(step) => step,
            Err(violation) => return self.refused(inbound, None, violation),
        };
        if let StepKind::Late(late) = step.kind {
            return self.late_came(inbound, message, late, None);
        }
        let Accepted { step, negotiation } = self.accepted(step, message, params, true);
        if step.kind.is_dropped() {
            return Received::default();
        }
        self.report_tolerated(message, params);
        if let Some(id) = cancelled {
            self.cancel_came(&id);
            if let (Some(copy), StepKind::Copy { ended: true }) = (step.copy, step.kind) {
                self.copy_ended(copy, Error::Cancelled);
            }
        } else if token.is_some() {
            if let Some(RequestId::Number(id)) = reported {
                self.progress_came(id, params);
            }
        } else if matches!(step.kind, StepKind::Linear { .. }) {
            let body = Body::Payload(params.map(Box::from));
            let input = self.input(message, None, None, body, negotiation);
            self.linear_came(input, step.kind);
        } else if matches!(step.kind, StepKind::Copy { .. }) && step.copy.is_some() {
            let body = Body::Payload(params.map(Box::from));
            let input = self.input(message, None, None, body, negotiation);
            self.hand_to_copy(&step, input);
        } else {
            let payload = params.map(Box::from);
            let copy = self.opened(&step);
            self.replicated_came(Arrived {
                message,
                id: None,
                token: None,
                copy,
                payload,
                permit: Permit::default(),
                extension: self.messages.extension(inbound.tag),
                at: inbound.now,
                came: self.came,
                epoch: self.epoch(),
            });
        }
        Received::default()
    }

    fn reply_came(&mut self, inbound: Inbound, id: &RequestId, outcome: Result<&str, RpcError>) -> Received {
        let Awaiting::Request(request) = self.checker.awaiting(Direction::Receive, id) else {
            // The copy of a call that was taken back may have got its key already.
            let retired = self.checker.retired(Direction::Receive, id);
            let message = retired
                .zip(outcome.as_ref().ok())
                .and_then(|(request, result)| self.names.reply(&self.protocol, request, result));
            let keys = message.map_or_else(Vec::new, |message| {
                Names::keys(&self.protocol, message, Some(id), outcome.as_ref().ok().copied())
            });
            return match self.checker.stray_reply_tied(Direction::Receive, id, Ties::keys(&keys)) {
                Ok(_) => Received::default(),
                Err(violation) => self.refused(inbound, None, violation),
            };
        };
        let message = match &outcome {
            Ok(result) => self.names.reply(&self.protocol, request, result),
            Err(_) => self.names.refusal(&self.protocol, request),
        };
        let judged = match (message, self.names.any_reply(request)) {
            (Some(message), _) => {
                let keys = Names::keys(&self.protocol, message, Some(id), outcome.as_ref().ok().copied());
                let ties = Ties::keys(&keys);
                self.checker.reply_tied(Direction::Receive, id, message, ties).map(|step| (step, message))
            }
            (None, Some(reply)) if outcome.is_ok() => {
                self.checker.fits_none(Direction::Receive, reply, Some(id)).map(|step| (step, request))
            }
            // A request without any reply is a flaw of the tables; the call must end all the same.
            (None, _) => self.checker.stray_reply(Direction::Receive, id).map(|step| (step, request)),
        };
        let (step, message) = match judged {
            Ok(judged) => judged,
            Err(violation) => {
                let received = self.refused(inbound, None, violation.clone());
                self.reply_rejected(id, ReplyProblem::NotPermitted(violation));
                return received;
            }
        };
        let Accepted { step, negotiation } =
            self.accepted(step, message, outcome.as_ref().ok().copied(), true);
        let became = outcome.as_ref().map_or_else(|error| Outcome::Error(error.code), |_| Outcome::Result);
        self.trace_over(Direction::Send, id, became);
        self.not_awaited(id);
        if step.kind.is_dropped() {
            return Received::default();
        }
        if let RequestId::Number(number) = id
            && self.calls.contains_key(number)
        {
            // A session without types shows what came; a type is read from what stands for it.
            let is_typed = self.calls.get(number).is_some_and(|pending| pending.face.is_none());
            let table = self.message(message).filter(|_| is_typed);
            let read = outcome.map(|result| Answer {
                message,
                text: table.map_or(result, |table| to_be_read(table, Some(result))).into(),
            });
            let read = negotiation.map_or_else(|| read.map_err(Error::Refused), |error| Err(*error));
            self.complete_in_order(*number, read);
        } else if self.debt_paid(id) {
            // The request leads back to where it was sent, so nobody misses the reply.
        } else if matches!(step.kind, StepKind::Linear { .. }) {
            let body = match outcome {
                Ok(result) => Body::Payload(Some(result.into())),
                Err(error) => Body::Refusal(error),
            };
            let input = self.input(message, None, number(id), body, negotiation);
            self.linear_came(input, step.kind);
        } else if let Some(copy) = step.copy {
            let refused = outcome.as_ref().err().map(|error| Error::Refused(error.clone()));
            let body = match outcome {
                Ok(result) => Body::Payload(Some(result.into())),
                Err(error) => Body::Refusal(error),
            };
            let input = self.input(message, None, number(id), body, negotiation);
            self.hand_to_copy(&step, input);
            if let (Some(error), StepKind::Copy { ended: true }) = (refused, step.kind) {
                // The refusal may have come where its value waits for something else.
                self.copy_ended(copy, error);
            }
        }
        // Otherwise the call was dropped while it ran; nobody waits for its reply.
        Received::default()
    }

    /// A linear input, as it has just come.
    pub(super) fn input(
        &self,
        message: MessageIndex,
        id: Option<RequestId>,
        answers: Option<i64>,
        body: Body,
        negotiation: Option<Box<Error>>,
    ) -> LinearInput {
        LinearInput { message, id, answers, body, negotiation, permit: Permit::default(), came: self.came }
    }

    /// An input of a copy was accepted.
    fn hand_to_copy(&mut self, step: &Step, input: LinearInput) {
        if let Some(copy) = step.copy {
            self.copy_came(copy, input);
        }
    }

    /// What a message of the peer has opened, if a value is to stand for it.
    fn opened(&mut self, step: &Step) -> Option<(CopyNumber, StateIndex)> {
        let (Some(copy), StepKind::Spawned { state }) = (step.copy, step.kind) else { return None };
        self.seat_copy(Caller::ANY, copy, None);
        Some((copy, state))
    }

    /// A linear input was accepted.
    pub(super) fn linear_came(&mut self, mut input: LinearInput, kind: StepKind) {
        let room = self.admit_step(&mut input);
        if self.linear.len() >= self.options.max_linear || !room {
            let left_out = match &input.id {
                Some(id) if self.is_undone_by_refusal(input.message, kind) => {
                    let error = RpcError::busy("too many messages are waiting: try again later");
                    self.reply_error(Caller::ANY, id, &error).is_ok()
                }
                Some(_) => false,
                // The state is the same with the message and without it, so it can be dropped.
                None => matches!(kind, StepKind::Linear { from, to } if from == to),
            };
            if left_out {
                let message = self.name(input.message);
                self.report(Report::Dropped { message, cause: Cause::QueueFull });
            } else {
                self.end(Reason::InputFull(self.linear.len()));
            }
            return;
        }
        if input.answers.is_none() {
            self.peer_stepped();
        }
        self.linear.push_back(input);
        if self.may_wake(Held::Linear) {
            self.linear_waiting.wake(&mut self.effects);
        }
    }

    /// Counts a step's bytes, whether or not there is room for them if they are few: most steps cannot be left out.
    /// Whether it was counted.
    pub(super) fn admit_step(&mut self, input: &mut LinearInput) -> bool {
        let length = input.length();
        match self.input.take(length) {
            Ok(permit) => input.permit = permit,
            Err(_) if length <= SMALL_STEP => input.permit = self.input.overdraw(length),
            Err(_) => return false,
        }
        true
    }

    /// Whether a linear request that is refused leaves its channel where it was before. A refusal with a branch of its
    /// own leads on, and the value that has not seen the request could not follow.
    fn is_undone_by_refusal(&self, request: MessageIndex, kind: StepKind) -> bool {
        let StepKind::Linear { from, to } = kind else { return false };
        let refusal = self.names.refusal(&self.protocol, request);
        let asked = self.role().and_then(|role| role.state(to));
        let edge = refusal.zip(asked).and_then(|(refusal, asked)| asked.edge(Direction::Send, refusal));
        edge.is_some_and(|edge| edge.action == Action::Step(from))
    }

    /// A replicated input was accepted.
    pub(super) fn replicated_came(&mut self, mut arrived: Arrived) {
        let cause = if self.unattended && self.attendants == 0 {
            Some(Cause::Unattended)
        } else if self.incoming.len() >= self.options.max_incoming {
            Some(Cause::QueueFull)
        } else if arrived.id.is_some() && self.owed.len() > self.options.max_requests.max(1) {
            Some(Cause::TooMany)
        } else {
            None
        };
        if let Some(cause) = cause {
            self.refuse_arrived(Caller::ANY, &arrived, cause);
            return;
        }
        match self.input.take(arrived.payload.as_ref().map_or(0, |payload| payload.len())) {
            Ok(permit) => arrived.permit = permit,
            Err(exhausted) => {
                return self.refuse_exhausted(Caller::ANY, &arrived, Cause::TooManyBytes, exhausted);
            }
        }
        // What waited for a value that is gone may be older than what waits here.
        let place = self.incoming.partition_point(|waiting| waiting.came <= arrived.came);
        self.incoming.insert(place, arrived);
        self.incoming_waiting.wake(&mut self.effects);
        if self.attendants == 0 {
            // The deadline for somebody to attend may be new.
            self.wake_driver();
        }
    }

    /// The peer has taken a request back.
    fn cancel_came(&mut self, id: &RequestId) {
        // It gets no reply, so the replies beside it need not wait for one.
        let to = self.unanswerable(id);
        self.leave_batch(to.batch);
        self.trace_over(Direction::Receive, id, Outcome::Cancelled);
        if let Some(place) = self.incoming.iter().position(|arrived| arrived.id.as_ref() == Some(id)) {
            // Nobody has begun to work on it.
            let removed = self.incoming.remove(place);
            self.owed.remove(id);
            self.settle_tag(to.tag);
            if let Some((copy, _)) = removed.and_then(|arrived| arrived.copy) {
                self.leave_copy(Caller::ANY, copy);
            }
            self.reached();
        } else if let Some(owed) = self.owed.get_mut(id) {
            owed.cancelled = true;
            owed.waiting.wake(&mut self.effects);
            if let Some(face) = owed.face {
                self.tell_face(face, Told::TakenBack(id.clone()));
            }
            self.settle_tag(to.tag);
        }
    }

    fn progress_came(&mut self, id: i64, params: Option<&str>) {
        self.renew(id);
        let most = self.options.max_progress;
        let permit = self.input.take(params.map_or(0, str::len));
        let Some(pending) = self.calls.get_mut(&id) else {
            return self.copy_reported(id, params.unwrap_or("null"));
        };
        let message = pending.message;
        let Some(progress) = &mut pending.progress else { return };
        let Ok(permit) = permit else {
            let message = self.name(message);
            return self.report(Report::Dropped { message, cause: Cause::TooManyBytes });
        };
        // Whoever is told of each report knows of this one already.
        let told = progress.len() >= most && progress.pop_front().is_some();
        let first = progress.is_empty();
        progress.push_back((self.came, params.unwrap_or("null").into(), permit));
        let face = pending.face;
        // Behind another report it is found with that.
        if first && self.may_wake(Held::Call(id)) {
            self.wake_call(id);
        }
        if let Some(face) = face.filter(|_| !told) {
            self.tell_face(face, Told::Progress(id));
        }
    }
}

/// The id of a request of this side.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::Text(_) => None,
    }
}
