//! Messages of the peer, judged and handed on.

use std::time::Instant;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side, StateIndex};
use mcp_protocol_machine::shape::ShapeMismatch;
use mcp_protocol_machine::{Awaiting, RequestId, Step, StepKind, SubSessionNumber};

use super::owners::calls::Progress;
use super::owners::context::{Accepted, Caller, Inbound};
use super::owners::inputs::LinearInput;
use super::owners::mailboxes::Notice;
use super::owners::order::Held;
use super::owners::owed::AnsweredBy;
use super::owners::replicated::Arrived;
use super::state::Engine;
use crate::budget::Permit;
use crate::driver::{Delivery, Frame, MessageKind, Received};
use crate::error::Error;
use crate::jsonrpc::{Envelope, Malformed, RpcError, Seems, is_batch, parse, write};
use crate::report::{DropReason, Report};
use crate::rules::method;

impl Engine {
    /// Takes what the transport delivers.
    pub(crate) fn receive(&mut self, delivery: Delivery<'_>, now: Instant) -> Received {
        let mut all = Received::default();
        if delivery.epoch().is_some_and(|epoch| epoch != self.lifecycle.epoch()) {
            return all;
        }
        self.timers.set_now(now);
        let inbound = Inbound { extension: delivery.extension(), ..Inbound::alone(delivery.tag(), now) };
        delivery.frames(self.rules.options().max_message_bytes, |frame| all.add(self.frame(inbound, frame)));
        // A peer that keeps the transport busy must not hold up what is due. What it said counts first.
        if self.timers.first().is_some_and(|first| first <= now) {
            self.ring(now);
        }
        all
    }

    /// Takes one whole message, or a batch.
    fn frame(&mut self, inbound: Inbound<'_>, frame: Frame<'_>) -> Received {
        if !self.lifecycle.is_open() {
            // A session that is closed accepts everything and drops it.
            return Received::default();
        }
        let parsed = match frame {
            Frame::Whole(message) if message.trim_ascii().is_empty() => return Received::default(),
            Frame::Whole(message) if self.rules.protocol().batch && is_batch(message) => {
                return self.batch_came(inbound, message);
            }
            Frame::Whole(message) => parse(message, self.rules.options().max_depth, self.rules.dialect()),
            Frame::TooLong(sketch) => {
                Err(Malformed::too_long(self.rules.options().max_message_bytes, sketch))
            }
        };
        self.message_came(inbound, parsed)
    }

    /// Takes one message, which came by itself or in a batch.
    pub(super) fn message_came(
        &mut self,
        inbound: Inbound<'_>,
        parsed: Result<Envelope<'_>, Malformed>,
    ) -> Received {
        self.order.next_message();
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

    pub(super) fn malformed_came(&mut self, inbound: Inbound<'_>, malformed: Malformed) -> Received {
        let Malformed { error, id, raw_id, seems, fault, structured } = malformed;
        let error = *error;
        self.report(Report::Malformed { error: error.clone(), id: id.clone() });
        // Without a `method`, the id of a running request of this side is what tells a reply. Replies are not answered,
        // but the caller learns of it.
        let answers = id.as_ref().filter(|id| {
            seems != Seems::Other
                && matches!(self.rules.checker().awaiting(Direction::Receive, id), Awaiting::Request(_))
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
                self.write_reply(inbound.reply_to(), MessageKind::Error, |into, dialect| {
                    write::error_to_raw(into, dialect, &raw, &error)
                });
                Received::default()
            }
            // A client does not answer a line that a server prints into its log: it asked nothing.
            (None, None) if structured || self.rules.side() == Side::Server => {
                self.write_error(inbound, None, &error)
            }
            (None, None) => Received::default(),
        }
    }

    fn named(&self, request: bool, method: &str, params: Option<&str>) -> Option<MessageIndex> {
        self.rules.read_as(Direction::Receive, request, method, params)
    }

    /// Nothing is known by this method, or nothing that its payload fits.
    fn unnamed(&mut self, inbound: Inbound<'_>, id: Option<&RequestId>, method: &str) -> Received {
        match self.rules.unnamed(Direction::Receive, id, method) {
            Ok(_) => Received::default(),
            Err(violation) => self.refused(inbound, id, violation),
        }
    }

    /// A request or a notification has a payload that does not have its shape.
    fn misshapen_came(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: Option<&RequestId>,
        mismatch: ShapeMismatch,
    ) -> Received {
        match self.rules.checker_mut().misshapen(Direction::Receive, message, id, mismatch) {
            Ok(_) => Received::default(),
            Err(violation) => self.refused(inbound, id, violation),
        }
    }

    pub(super) fn request_came(
        &mut self,
        inbound: Inbound<'_>,
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
        if self.is_reused_too_soon(&id) {
            return self.refuse_reused(inbound, message, &id);
        }
        if self.is_early_request(inbound, message, &id) {
            return self.hold_early(inbound, message, Some(id), method, params);
        }
        if let Some(mismatch) = self.rules.misshapen(message, params) {
            return self.misshapen_came(inbound, message, Some(&id), mismatch);
        }
        let token = self.rules.token(params);
        let step = match self.rules.request(Direction::Receive, message, &id, token.clone(), params) {
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
        if let Some(batch) = inbound.batch {
            self.batches.join(batch);
        }
        let answered_by = match (step.kind, step.sub_session) {
            (StepKind::Linear { .. }, _) => AnsweredBy::Channel,
            (_, Some(sub_session)) => AnsweredBy::SubSession(sub_session),
            (StepKind::Spawned { within: Some(outer), .. }, None) => AnsweredBy::SubSession(outer),
            (_, None) => AnsweredBy::Handler,
        };
        self.owed.begin(id.clone(), answered_by, inbound.reply_to());
        let received = self.took_request(inbound);
        self.traces.asked(&self.rules, Direction::Receive, &id, message);
        let arrived = self.arrived(inbound, message, &step, method, params);
        let arrived = Arrived { id: Some(id), token, ..arrived };
        if let Some(rate) = self.rules.options().request_rate
            && let Err(wait) = self.rate.take(rate, inbound.now)
        {
            self.refuse_early(&arrived, wait);
        } else if let (StepKind::Spawned { .. }, Some(error @ Error::MissingCapabilities { .. })) =
            (step.kind, negotiation.as_deref())
        {
            // No value waits for it that could refuse it.
            self.refuse_request(Caller::ANY, &arrived, &error.as_answer());
        } else if self.rules.message(message).is_some_and(|message| message.answered) {
            if let Some(id) = &arrived.id {
                // The reply of an `answered` request is empty, so it cannot fail to be written.
                let _ = self.reply_result(Caller::ANY, id, "{}");
            }
        } else {
            self.hand_on(&step, arrived, negotiation);
        }
        received
    }

    /// Whether an id that may be used again is that of a request which the peer has cancelled, and which is still being
    /// worked on. Elsewhere the checker refuses an id that was used.
    fn is_reused_too_soon(&self, id: &RequestId) -> bool {
        self.rules.protocol().reuses_ids
            && self.owed.is_cancelled(id) == Some(true)
            && !self.is_reply_awaited(id)
    }

    /// Refuses a request with such an id: what is said last of the cancelled one would be taken for the answer to it.
    fn refuse_reused(&mut self, inbound: Inbound<'_>, message: MessageIndex, id: &RequestId) -> Received {
        let problem =
            format!("the request {id}, which was cancelled, is still being worked on: use another id");
        let received = self.write_error(inbound, Some(id), &RpcError::busy(problem));
        self.report(Report::Dropped { message: self.rules.name(message), cause: DropReason::IdInUse });
        received
    }

    pub(super) fn notification_came(
        &mut self,
        inbound: Inbound<'_>,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        let Some(message) = self.named(false, method, params) else {
            return self.unnamed(inbound, None, method);
        };
        let named = self.rules.named(message, params);
        if self.is_early_notification(inbound, message, named.cancelled.as_ref()) {
            return self.hold_early(inbound, message, None, method, params);
        }
        if let Some(mismatch) = self.rules.misshapen(message, params) {
            return self.misshapen_came(inbound, message, None, mismatch);
        }
        let checker = self.rules.checker();
        let token = named.token.as_ref();
        let reported = token.and_then(|token| checker.reported(Direction::Receive, token)).cloned();
        let step = match self.rules.notification(Direction::Receive, message, &named, params) {
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
        if let Some(id) = named.cancelled {
            let cancels = self.rules.message(message).and_then(|table| table.cancels.as_ref());
            let reply_error = cancels.and_then(|cancels| cancels.reply_error);
            self.cancel_came(&id, reply_error);
            if let (Some(sub_session), StepKind::SubSession { ended: true }) = (step.sub_session, step.kind) {
                self.sub_sessions.end(sub_session, Error::Cancelled, &mut self.effects);
            }
        } else if step.kind == StepKind::Reported {
            if let Some(RequestId::Number(id)) = reported {
                self.progress_came(id, params);
            }
        } else {
            let arrived = self.arrived(inbound, message, &step, method, params);
            self.hand_on(&step, arrived, negotiation);
        }
        Received::default()
    }

    /// A message of the peer that was accepted, as it has just come. A request has its id and its token in addition.
    fn arrived(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        step: &Step,
        method: &str,
        params: Option<&str>,
    ) -> Arrived {
        let table = self.rules.message(message);
        let payload = table.and_then(|table| method::arrived(table, method, params));
        Arrived {
            message,
            id: None,
            token: None,
            scope: match step.kind {
                StepKind::Spawned { within, .. } => within,
                _ => None,
            },
            sub_session: self.opened(step),
            payload,
            permit: Permit::default(),
            extension: inbound.extension.cloned(),
            at: inbound.now,
            came: self.order.latest(),
            epoch: self.lifecycle.epoch(),
        }
    }

    /// Hands an accepted message on to what takes it: the values of the linear channels, that of a sub-session, or handlers.
    fn hand_on(&mut self, step: &Step, arrived: Arrived, negotiation: Option<Box<Error>>) {
        match (step.kind, step.sub_session) {
            (StepKind::Linear { .. }, _) => {
                self.linear_came(LinearInput::of(arrived, negotiation), step.kind)
            }
            (StepKind::SubSession { .. }, Some(sub_session)) => {
                self.sub_session_came(sub_session, LinearInput::of(arrived, negotiation));
            }
            (StepKind::Spawned { within: Some(outer), .. }, _) => self.exchange_came(outer, arrived),
            _ => self.replicated_came(arrived),
        }
    }

    /// What a message of the peer has opened, if a value is to stand for it.
    fn opened(&mut self, step: &Step) -> Option<(SubSessionNumber, StateIndex)> {
        let (Some(sub_session), StepKind::Spawned { state, .. }) = (step.sub_session, step.kind) else {
            return None;
        };
        self.sub_sessions.begin(sub_session, None, false);
        Some((sub_session, state))
    }

    fn progress_came(&mut self, id: i64, params: Option<&str>) {
        self.restart_timeout(id);
        let most = self.rules.options().max_progress;
        let permit = self.input.take(params.map_or(0, str::len));
        let text = params.unwrap_or("null");
        match self.calls.add_progress(id, self.order.latest(), text, permit, most) {
            Progress::NoCall => self.sub_session_reported(id, text),
            Progress::Unwanted => {}
            Progress::TooLarge(message) => {
                let message = self.rules.name(message);
                self.report(Report::Dropped { message, cause: DropReason::TooManyBytes });
            }
            Progress::Queued { is_first, notify } => {
                // Behind other progress it is found with that.
                if is_first && self.may_wake(Held::Call(id)) {
                    self.calls.wake(id, &mut self.effects);
                }
                if let Some(mailbox) = notify {
                    self.notify_mailbox(mailbox, Notice::Progress(id));
                }
            }
        }
    }
}
