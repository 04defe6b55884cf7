//! Messages of the peer, judged and handed on.
//!
//! The messages of a batch are judged each by itself, in order. A request that is a step of a linear channel cannot stand in
//! a batch: its reply is a step, too, and would wait for the other replies.
//!
//! Messages that the state accepts only behind a step of this side, such as what a client writes in one go with
//! `initialize`, are held. They are judged in order once this side has taken the step.

use std::time::Instant;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber};
use serde_json::value::RawValue;

use super::owners::context::{Accepted, Caller, Inbound};
use super::owners::early::EarlyMessage;
use super::owners::owed::AnsweredBy;
use super::owners::replicated::Arrived;
use super::owners::trace::RequestName;
use super::state::Engine;
use crate::budget::Permit;
use crate::driver::{Delivery, Frame, Received};
use crate::error::Error;
use crate::jsonrpc::{
    Envelope, JsonReader, LookedUp, Malformed, MessageText, RawPayload, RpcError, batch, is_batch,
};
use crate::report::{DropReason, Report};
use crate::rules::ended::{self, ReceiverCancels};
use crate::rules::members::{self, Carried};
use crate::rules::{alternatives, cancelling, judge, method, shapes, version};

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
        match frame {
            Frame::Whole(message) if message.bytes().trim_ascii().is_empty() => Received::default(),
            Frame::Whole(message) if is_batch(message.bytes()) => {
                if self.rules.protocol().batch {
                    return self.batch_came(inbound, message.bytes());
                }
                let received = self.text_came(inbound, message);
                self.list_rejected(message.bytes());
                received
            }
            Frame::Whole(message) => self.text_came(inbound, message),
            Frame::TooLong(sketch) => {
                let limit = self.rules.options().max_message_bytes;
                self.message_came(inbound, Err(Malformed::too_long(limit, sketch)))
            }
        }
    }

    /// Reads one message, and takes it.
    fn text_came(&mut self, inbound: Inbound<'_>, message: MessageText<'_>) -> Received {
        let mut parsed = message.parse(self.rules.options().max_depth, self.rules.dialect());
        let members = members::read(&self.rules, message, &mut parsed);
        self.message_came(Inbound { members: &members, ..inbound }, parsed)
    }

    /// Takes a line that is a list.
    pub(super) fn batch_came(&mut self, inbound: Inbound<'_>, line: &[u8]) -> Received {
        let messages = match batch(line, self.rules.options().max_batch) {
            Ok(messages) => messages,
            Err(malformed) => return self.malformed_came(inbound, malformed),
        };
        let key = self.owed.begin_batch(inbound.tag);
        let inbound = Inbound { batch: Some(key), ..inbound };
        let mut all = Received::default();
        for message in messages.into_iter().map(RawValue::get) {
            // A message may end the session for those behind it.
            if self.lifecycle.is_open() {
                all.add(self.text_came(inbound, message.as_bytes().into()));
            }
        }
        self.leave_batch(Some(key));
        all
    }

    /// Takes one message, which came by itself or in a batch.
    pub(super) fn message_came(
        &mut self,
        inbound: Inbound<'_>,
        parsed: Result<Envelope<'_, LookedUp<'_>>, Malformed>,
    ) -> Received {
        self.inbox.next_message();
        let received = match parsed {
            Ok(Envelope::Request { id, method, params }) => self.request_came(inbound, id, &method, params),
            Ok(Envelope::Notification { method, params }) => {
                self.notification_came(inbound, &method, params.as_ref().map(RawPayload::written))
            }
            Ok(Envelope::Result { id, result }) => self.reply_came(inbound, &id, Ok(result.written())),
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

    pub(super) fn request_came(
        &mut self,
        inbound: Inbound<'_>,
        id: RequestId,
        method: &str,
        payload: Option<LookedUp<'_>>,
    ) -> Received {
        let params = payload.as_ref().map(RawPayload::written);
        let Some(message) = alternatives::read_as(&self.rules, Direction::Receive, true, method, params)
        else {
            return self.unnamed(inbound, Some(&id), method);
        };
        if let Some(refused) = self.refused_in_batch(inbound, message, &id) {
            return refused;
        }
        if self.is_reused_too_soon(&id) {
            return self.refuse_reused(inbound, message, &id);
        }
        if self.inbox.early().is_early_request(&self.rules, inbound, message, &id) {
            return self.hold_early(inbound, message, Some(id), method, params);
        }
        let mut reader = JsonReader::default();
        let said = self.rules.params(self.rules.side().other(), payload, &mut reader);
        if let Some(mismatch) = shapes::mismatch(&self.rules, message, said) {
            return self.misshapen_came(inbound, message, Some(&id), mismatch);
        }
        let token = self.rules.token(said);
        let carried = Carried { payload: said, members: inbound.members };
        let step =
            match judge::request(&mut self.rules, Direction::Receive, message, &id, token.clone(), carried) {
                Ok(step) => step,
                Err(violation) => return self.refused(inbound, Some(&id), violation),
            };
        if let StepKind::Late(late) = step.kind {
            return self.late_came(inbound, message, late, Some(&id), params);
        }
        let Accepted { step, negotiation } = self.accepted(step, message, said, true);
        if step.kind.is_dropped() {
            return Received::default();
        }
        self.report_tolerated(message, said);
        self.owed.begin(id.clone(), message, AnsweredBy::of(&step), inbound.reply_to());
        let received = self.took_request(inbound);
        self.traces.asked(&self.rules, Direction::Receive, &id, message);
        let arrived = self.arrived(inbound, message, &step, method, params);
        let arrived = Arrived { id: Some(id), token, ..arrived };
        if let Some(rate) = self.rules.options().request_rate
            && let Err(wait) = self.owed.count(rate, inbound.now)
        {
            self.refuse_early(&arrived, wait);
        } else if let (StepKind::Spawned { .. }, Some(error)) = (step.kind, negotiation.as_deref()) {
            // No value waits for it that could refuse it.
            let answer = version::answer_to(&self.rules, error);
            self.refuse_request(Caller::ANY, &arrived, &answer);
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
            && !cancelling::is_reply_awaited(&self.rules, id)
    }

    pub(super) fn notification_came(
        &mut self,
        inbound: Inbound<'_>,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        let Some(message) = alternatives::read_as(&self.rules, Direction::Receive, false, method, params)
        else {
            return self.unnamed(inbound, None, method);
        };
        let named = judge::named(&self.rules, message, params);
        if self.inbox.early().is_early_notification(&self.rules, inbound, message, named.cancelled.as_ref()) {
            return self.hold_early(inbound, message, None, method, params);
        }
        if let Some(mismatch) = shapes::mismatch(&self.rules, message, params) {
            return self.misshapen_came(inbound, message, None, mismatch);
        }
        let cancelled = named.cancelled.as_ref();
        let cancels = cancelled.and_then(|id| {
            Some((id, ended::receiver_cancels(&mut self.rules, Direction::Receive, message, id)?))
        });
        match cancels {
            Some((id, ReceiverCancels::Ends(_))) => {
                // The peer ends what a request of this side has opened: that is over as after an error.
                let received = self.reply_came(inbound, id, Err(cancelling::error(&self.rules)));
                ended::note_cancel(&mut self.rules, Direction::Receive, id);
                return received;
            }
            Some((id, ReceiverCancels::Again)) => {
                self.traces.ignored(&self.rules, Some(message), RequestName::Id(id.clone()));
                return Received::default();
            }
            None => {}
        }
        let checker = self.rules.checker();
        let token = named.token.as_ref();
        let reported = token.and_then(|token| checker.reported(Direction::Receive, token)).cloned();
        let carried = Carried { payload: params, members: inbound.members };
        let step = match judge::notification(&mut self.rules, Direction::Receive, message, &named, carried) {
            Ok(step) => step,
            Err(violation) => return self.refused(inbound, None, violation),
        };
        if let StepKind::Late(late) = step.kind {
            return self.late_came(inbound, message, late, None, params);
        }
        let Accepted { step, negotiation } = self.accepted(step, message, params, true);
        if step.kind.is_dropped() {
            if step.kind == StepKind::Swallowed
                && let Some(about) = RequestName::of(named)
            {
                self.traces.ignored(&self.rules, Some(message), about);
            }
            return Received::default();
        }
        self.report_tolerated(message, params);
        if let Some(id) = named.cancelled {
            let cancels = self.rules.message(message).and_then(|table| table.cancels.as_ref());
            let reply_error = cancels.and_then(|cancels| cancels.reply_error);
            self.cancel_came(&id, reply_error);
            if let (Some(sub_session), StepKind::SubSession { ended: true }) = (step.sub_session, step.kind) {
                self.inbox().end_sub_session(sub_session, Error::Cancelled);
            }
        } else if step.kind == StepKind::Reported {
            if let Some(RequestId::Number(id)) = reported {
                self.calls().progress_came(id, params);
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
        let payload = table.and_then(|table| method::arrived(self.rules.protocol(), table, method, params));
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
            came: self.inbox.latest(),
            epoch: self.lifecycle.epoch(),
        }
    }

    /// What a message of the peer has opened, if a value is to stand for it.
    fn opened(&mut self, step: &Step) -> Option<(SubSessionNumber, StateIndex)> {
        let (Some(sub_session), StepKind::Spawned { state, .. }) = (step.sub_session, step.kind) else {
            return None;
        };
        self.inbox.sub_sessions_mut().begin(sub_session, None, false);
        Some((sub_session, state))
    }

    /// Holds a message that comes too early.
    pub(super) fn hold_early(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: Option<RequestId>,
        method: &str,
        params: Option<&str>,
    ) -> Received {
        // The answer to a request is awaited where it came in.
        let mut received = if id.is_some() { self.took_request(inbound) } else { Received::default() };
        let early = EarlyMessage {
            id,
            method: method.into(),
            params: params.map(Box::from),
            tag: inbound.tag,
            extension: inbound.extension.cloned(),
            members: inbound.members.clone(),
        };
        let name = self.rules.name(message);
        match self.inbox.early_mut().hold(early, self.rules.checker().states(), self.rules.options()) {
            Ok(()) => self.report(Report::Early { message: name }),
            Err(early) => {
                if let Some(id) = &early.id {
                    let problem = format!("`{method}` came too early, and too much did: try again later");
                    // The request counts as accepted, and is settled with that.
                    received.refused = self.write_error(inbound, Some(id), &RpcError::busy(problem)).refused;
                    self.outbox.settled(early.tag, &mut self.effects);
                }
                self.report(Report::Dropped { message: name, cause: DropReason::QueueFull });
            }
        }
        received
    }

    /// This side may have taken the step that early messages wait for: judges them, in their order. Those that are
    /// early still are held again.
    pub(super) fn judge_early(&mut self) {
        let Some(now) = self.timers.now() else { return };
        if !self.inbox.early().are_due(self.rules.checker().states()) {
            return;
        }
        for early in self.inbox.early_mut().take() {
            if !self.lifecycle.is_live() {
                return;
            }
            if self.inbox.early().is_early_still(&self.rules, Inbound::alone(early.tag, now), &early) {
                // There was room for all of them before.
                let _ =
                    self.inbox.early_mut().hold(early, self.rules.checker().states(), self.rules.options());
                continue;
            }
            let EarlyMessage { id, method, params, tag, extension, members } = early;
            let inbound = Inbound {
                held: true,
                extension: extension.as_ref(),
                members: &members,
                ..Inbound::alone(tag, now)
            };
            self.inbox.next_message();
            match id {
                Some(id) => {
                    if self.request_came(inbound, id, &method, params.as_deref().map(LookedUp::Text)).requests
                        == 0
                    {
                        // It was refused, and has its answer.
                        self.outbox.settled(tag, &mut self.effects);
                    }
                }
                None => drop(self.notification_came(inbound, &method, params.as_deref())),
            }
        }
        if !self.inbox().is_receiving() {
            // Tasks that wait for what may still come learn that nothing will.
            self.wake_everyone();
        }
    }
}
