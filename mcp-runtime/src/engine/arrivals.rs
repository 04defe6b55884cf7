//! What the peer sent and somebody has to take: linear inputs for session values, replicated ones for `incoming`.
//!
//! In: accepted messages. Out: the same, to whoever polls. Refuses to hold more than the settings say; what that
//! means for the message is decided where it comes in.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{RequestId, StepKind, SubSessionNumber, Token};

use super::context::Caller;
use super::order::{DispatcherKey, Held};
use super::state::Engine;
use super::wakers::Waiter;
use crate::budget::{Exhausted, Permit};
use crate::driver::Extension;
use crate::epoch::Epoch;
use crate::error::{DisconnectReason, Error};
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// A step with a payload of up to this many bytes is taken also where no more may wait.
const SMALL_STEP: usize = 16 * 1024;

/// A replicated input.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The token that reports about it carry.
    pub(crate) token: Option<Token>,
    /// The sub-session that it opens, and the state that this is in, if a value is to stand for it.
    pub(crate) sub_session: Option<(SubSessionNumber, StateIndex)>,
    pub(crate) payload: Option<Box<str>>,
    /// What it holds of the budgets for input, until it has been worked on.
    pub(crate) permit: Permit,
    /// What the transport knows of it.
    pub(crate) extension: Option<Extension>,
    pub(super) at: Instant,
    /// The number of the message.
    pub(super) came: u64,
    /// The epoch that it arrived in.
    pub(crate) epoch: Epoch,
}

impl Arrived {
    /// Whether somebody would have to answer, or to go on with what it opens.
    pub(super) fn is_asked(&self) -> bool {
        self.id.is_some() || self.sub_session.is_some()
    }
}

/// A linear input.
#[derive(Debug)]
pub(crate) struct LinearInput {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The id of the request of this side that it answers, if it answers one.
    pub(crate) answers: Option<i64>,
    pub(crate) body: Body,
    /// What it announces, if the program cannot work with it.
    pub(crate) negotiation: Option<Box<Error>>,
    /// What it holds of the budgets for input, until it is taken.
    pub(super) permit: Permit,
    /// The number of the message.
    pub(super) came: u64,
}

impl LinearInput {
    /// How many bytes its payload has.
    pub(super) fn length(&self) -> usize {
        match &self.body {
            Body::Payload(payload) => payload.as_ref().map_or(0, |payload| payload.len()),
            Body::Refusal(error) => error.message.len(),
            Body::Rejected(_) => 0,
        }
    }
}

/// What a linear input carries.
#[derive(Debug)]
pub(crate) enum Body {
    Payload(Option<Box<str>>),
    Refusal(RpcError),
    /// The reply that came cannot be accepted. Whatever it says, the state behind it is the same, or the session is
    /// over.
    Rejected(Error),
}

/// What a session value does with a linear input that waits.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Takes it.
    Take,
    /// Leaves it for later, or for another value, and looks further.
    Skip,
    /// Can neither take it nor anything behind it.
    Stop(Error),
}

impl Engine {
    /// Takes the first linear input that `judge` wants. `Ok(None)`: the session is over, and the peer was allowed to
    /// end it here.
    pub(crate) fn poll_linear(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let mut judged =
            self.linear.iter().enumerate().map(|(place, input)| (place, input.came, judge(input)));
        let wanted = judged.find(|(.., verdict)| !matches!(verdict, Verdict::Skip));
        let mut held = false;
        if let Some((place, came, verdict)) = wanted {
            if self.held_back_for(context, &mut waiter.turns, Some((came, Held::Linear))) {
                return Poll::Ready(match verdict {
                    Verdict::Stop(error) => Err(error),
                    Verdict::Take | Verdict::Skip => Ok(self.linear.remove(place)),
                });
            }
            held = true;
        }
        if held || self.goes_on() {
            self.linear_waiting.register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(match self.lifecycle.error() {
            Some(Error::Disconnected { reason: DisconnectReason::PeerClosed }) => Ok(None),
            error => Err(error.unwrap_or(Error::Closed)),
        })
    }

    /// Waits until there is a linear input that `judge` wants, or there will be none. Takes nothing.
    pub(crate) fn poll_linear_ready(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<()> {
        let mut judge = judge;
        let wanted = self.linear.iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let held = wanted.map(|input| (input.came, Held::Linear));
        if held.is_some() && self.held_back_for(context, &mut waiter.turns, held) {
            return Poll::Ready(());
        }
        if held.is_some() || self.goes_on() {
            self.linear_waiting.register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Takes the next replicated input that somebody can work on who works on `handlers` requests already, and on a
    /// notification or not; `None` when the session is over.
    ///
    /// A notification waits for the one before it, and requests wait until fewer are worked on, but neither waits
    /// for the other: what a handler waits for may depend on what stands behind it.
    pub(crate) fn poll_served(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        key: DispatcherKey,
        handlers: usize,
        notified: bool,
    ) -> Poll<Option<Arrived>> {
        self.dispatcher_polled(key, handlers, notified);
        let taken = self.next_for(key).and_then(|place| self.incoming.remove(place));
        self.reached();
        if taken.is_some() {
            return Poll::Ready(taken);
        }
        if self.goes_on() {
            self.incoming_waiting.register(context, waiter, &mut self.effects);
            if handlers >= self.most_handlers() {
                self.room_waiting.register(context, waiter, &mut self.effects);
            }
            return Poll::Pending;
        }
        // What came before the end still counts.
        if self.incoming.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Takes the next replicated input, if there is one.
    pub(crate) fn next_incoming(&mut self) -> Option<Arrived> {
        if self.incoming.front().is_some_and(|arrived| self.is_behind_start(arrived)) {
            return None;
        }
        let taken = self.incoming.pop_front();
        self.reached();
        taken
    }

    /// Takes the next replicated input; `None` when the session is over.
    pub(crate) fn poll_incoming(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
    ) -> Poll<Option<Arrived>> {
        if let Some(arrived) = self.next_incoming() {
            return Poll::Ready(Some(arrived));
        }
        if self.goes_on() || !self.incoming.is_empty() {
            self.incoming_waiting.register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(None)
    }

    /// Somebody holds `incoming`.
    pub(crate) fn attend(&mut self) {
        self.attendants += 1;
        self.unattended = false;
    }

    /// Somebody has let go of `incoming`. What waits then has its time to be taken by somebody else.
    pub(crate) fn leave(&mut self) {
        self.attendants = self.attendants.saturating_sub(1);
        // A session without types leaves what comes to whoever else attends.
        self.incoming_waiting.wake(&mut self.effects);
        if self.attendants == 0 && !self.incoming.is_empty() {
            if self.lifecycle.is_live() {
                self.wake_driver();
            } else {
                self.drop_untaken();
            }
        }
    }

    /// The session is over, and what has come will not be taken.
    pub(super) fn drop_untaken(&mut self) {
        self.drop_untaken_of(|_| true);
    }

    /// The same for some of it.
    pub(super) fn drop_untaken_of(&mut self, which: impl Fn(&Arrived) -> bool) {
        let (dropped, kept): (VecDeque<_>, _) =
            std::mem::take(&mut self.incoming).into_iter().partition(which);
        self.incoming = kept;
        for arrived in dropped {
            self.forget_owed(arrived.id.as_ref());
            let message = self.name(arrived.message);
            self.report(Report::Dropped { message, cause: DropReason::Closed });
        }
        self.reached();
    }

    /// When what waits in `incoming` has waited long enough for somebody to attend.
    pub(super) fn unattended_deadline(&self) -> Option<Instant> {
        if self.attendants > 0 {
            return None;
        }
        self.incoming.front().and_then(|first| first.at.checked_add(self.options.unattended_after))
    }

    /// Refuses what has waited long enough.
    pub(super) fn refuse_unattended(&mut self, now: Instant) {
        while self.unattended_deadline().is_some_and(|deadline| deadline <= now) {
            self.unattended = true;
            let Some(arrived) = self.incoming.pop_front() else { return };
            self.refuse_arrived(Caller::ANY, &arrived, DropReason::Unattended);
        }
        self.reached();
    }

    /// An input that was accepted will not be worked on.
    pub(crate) fn refuse_arrived(&mut self, caller: Caller, arrived: &Arrived, cause: DropReason) {
        let error = match cause {
            DropReason::QueueFull => RpcError::busy("too many requests are waiting: try again later"),
            DropReason::TooMany => RpcError::busy("too many requests are unanswered: try again later"),
            DropReason::TooFast => RpcError::busy("too many requests in too short a time: try again later"),
            DropReason::TooManyBytes => RpcError::busy("too many bytes are waiting: try again later"),
            DropReason::TooManyHandlers => RpcError::busy("too many handlers are running: try again later"),
            DropReason::Unattended => RpcError::method_not_found(&self.method(arrived.message)),
            DropReason::Abandoned | DropReason::Closed | DropReason::PassedOver | DropReason::PeerClosed => {
                RpcError::internal_error("the request was dropped unanswered")
            }
        };
        self.refuse_with(caller, arrived, cause, &error);
    }

    /// A request came too soon after those before it.
    pub(super) fn refuse_early(&mut self, arrived: &Arrived, wait: Duration) {
        // Rounded up, so that whoever waits so long has waited long enough.
        let wait = wait.as_nanos().div_ceil(1_000_000);
        let error = RpcError::busy(format!("too many requests in too short a time: try again in {wait} ms"))
            .with_data(serde_json::json!({ "retryAfterMs": u64::try_from(wait).unwrap_or(u64::MAX) }));
        self.refuse_with(Caller::ANY, arrived, DropReason::TooFast, &error);
    }

    /// An input that was accepted goes beyond a limit that is shared with others.
    pub(crate) fn refuse_exhausted(
        &mut self,
        caller: Caller,
        arrived: &Arrived,
        cause: DropReason,
        exhausted: Exhausted,
    ) {
        let error =
            RpcError::busy(exhausted.to_string()).with_data(serde_json::json!({ "limit": exhausted.name }));
        self.refuse_with(caller, arrived, cause, &error);
    }

    fn refuse_with(&mut self, caller: Caller, arrived: &Arrived, cause: DropReason, error: &RpcError) {
        if let Some(id) = &arrived.id {
            // The session lives: the checker has the request running. Should it not, there is nobody to answer.
            let _ = self.reply_error(caller, id, error);
        }
        if let Some((sub_session, _)) = arrived.sub_session {
            self.leave_sub_session(caller, sub_session);
        }
        let message = self.name(arrived.message);
        self.report(Report::Dropped { message, cause });
    }

    /// Whether a request of the peer was cancelled, or nobody waits for its answer any more.
    pub(crate) fn is_cancelled(&self, caller: Caller, id: Option<&RequestId>) -> bool {
        if self.lifecycle.is_over() || self.is_lost(caller) {
            return true;
        }
        // Once this side has closed the session, only requests that are still to be answered are worked on.
        id.and_then(|id| self.owed.get(id)).map_or(self.lifecycle.is_closing(), |owed| owed.cancelled)
    }

    /// Waits until a request of the peer is cancelled.
    pub(crate) fn poll_cancelled(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: Option<&RequestId>,
    ) -> Poll<()> {
        if self.is_cancelled(caller, id) {
            return Poll::Ready(());
        }
        match id.and_then(|id| self.owed.get_mut(id)) {
            Some(owed) => owed.waiting.register(context, waiter, &mut self.effects),
            // It is answered. That can no longer be undone, but the session can still end.
            None => self.closing_waiting.register(context, waiter, &mut self.effects),
        }
        Poll::Pending
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
                self.report(Report::Dropped { message, cause: DropReason::QueueFull });
            } else {
                self.end(DisconnectReason::InputFull(self.linear.len()));
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
            Some(DropReason::Unattended)
        } else if self.incoming.len() >= self.options.max_incoming {
            Some(DropReason::QueueFull)
        } else if arrived.id.is_some() && self.owed.len() > self.options.max_requests.max(1) {
            Some(DropReason::TooMany)
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
                return self.refuse_exhausted(Caller::ANY, &arrived, DropReason::TooManyBytes, exhausted);
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
}
