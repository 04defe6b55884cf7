//! Copies with a life of their own: what is kept for the values that stand for them.
//!
//! In: accepted messages of a copy, and its value's steps. Out: a queue for each value. Refuses to keep anything for
//! a copy whose value is gone: requests are answered with an error, what may occur uncorrelated goes to `incoming`, and
//! what else comes is dropped with a report.

use std::collections::{HashMap, HashSet, VecDeque};
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{About, CopyNumber, Meant, RequestId, Step, StepKind};

use super::arrivals::{LinearInput, Verdict};
use super::context::Caller;
use super::engine::Engine;
use super::order::Held;
use super::uncorrelated::CopyLeft;
use super::wakers::{Listener, OnProgress, Waiter, Waiting};
use crate::error::{Error, Reason};
use crate::jsonrpc::RpcError;
use crate::report::{Cause, Report};

/// How many queues of the longest permitted length all copies may fill together.
const TOGETHER: usize = 64;

/// What waits for the value of one copy.
#[derive(Debug, Default)]
pub(crate) struct CopySeat {
    inputs: VecDeque<LinearInput>,
    waiting: Waiting,
    /// The copy is over, or has lost an input: what is left to be said once the queue is empty.
    over: Option<Error>,
    /// The request of this side that opened it.
    opener: Option<(MessageIndex, i64)>,
    /// Whoever opened it works on something of this session: in another one it means nothing.
    bound: bool,
    /// Whoever hears the reports on the request that opened it, once that has its reply.
    listener: Option<Listener>,
    /// What the last report of this side on the request that opened it said, once that has its reply.
    progress: Option<f64>,
}

/// The seats of all copies.
#[derive(Debug, Default)]
pub(crate) struct CopySeats {
    seats: HashMap<CopyNumber, CopySeat>,
    /// How many inputs wait in all of them.
    queued: usize,
}

impl Engine {
    /// A copy was opened, and a value will stand for it.
    pub(super) fn seat_copy(
        &mut self,
        caller: Caller,
        copy: CopyNumber,
        opener: Option<(MessageIndex, i64)>,
    ) {
        let bound = caller.is_bound();
        self.copies.seats.insert(copy, CopySeat { opener, bound, ..CopySeat::default() });
    }

    /// Opens a copy: writes its first message, and gives the copy and the state that it is in.
    pub(crate) fn open_copy(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        request: bool,
    ) -> Result<(CopyNumber, StateIndex), Error> {
        let (id, step) = if request {
            let (id, step) = self.ask(caller, message, written, false, false, Meant::New)?;
            (Some((message, id)), step)
        } else {
            (None, self.tell(caller, message, written, About::Nothing, Meant::New)?)
        };
        self.seat_opened(caller, &step, id)
    }

    /// The same by a call: its reply is the call's.
    pub(crate) fn call_copy(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
    ) -> Result<(i64, CopyNumber, StateIndex), Error> {
        let (id, step) = self.ask(caller, message, written, progress, true, Meant::New)?;
        let opened = self.seat_opened(caller, &step, Some((message, id)));
        if opened.is_err() {
            self.let_go(caller, id);
        }
        opened.map(|(copy, state)| (id, copy, state))
    }

    fn seat_opened(
        &mut self,
        caller: Caller,
        step: &Step,
        opener: Option<(MessageIndex, i64)>,
    ) -> Result<(CopyNumber, StateIndex), Error> {
        match (step.copy, step.kind) {
            (Some(copy), StepKind::Spawned { state }) => {
                self.seat_copy(caller, copy, opener);
                Ok((copy, state))
            }
            // The tables say that this opens no copy of its own; generated code never asks for that.
            _ => Err(self.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// Why the value of a copy can send nothing any more, if that is so.
    pub(crate) fn copy_over(&self, copy: CopyNumber) -> Option<Error> {
        match self.copies.seats.get(&copy) {
            Some(seat) => seat.over.clone(),
            None => Some(Error::Closed),
        }
    }

    /// An input of a copy was accepted.
    pub(super) fn copy_came(&mut self, copy: CopyNumber, mut input: LinearInput) {
        let (most, all) = (self.options.max_linear, self.options.max_linear.saturating_mul(TOGETHER));
        let full = self.copies.queued >= all || !self.admit_step(&mut input);
        let (name, id) = (self.name(input.message), input.id.clone());
        match self.copies.seats.get_mut(&copy) {
            Some(seat) if seat.over.is_none() && seat.inputs.len() < most && !full => {
                seat.inputs.push_back(input);
                self.copies.queued += 1;
                if self.may_wake(Held::Copy(copy)) {
                    self.wake_copy(copy);
                }
                return;
            }
            Some(seat) => {
                // The value cannot follow without this input.
                let waiting = seat.inputs.len();
                seat.over.get_or_insert(Error::Disconnected { reason: Reason::InputFull(waiting) });
                seat.waiting.wake(&mut self.effects);
                self.report(Report::Dropped { message: name, cause: Cause::QueueFull });
            }
            None => self.outlive_copy(input, CopyLeft::Before),
        }
        if let Some(id) = id {
            let error = RpcError::internal_error("what the request belongs to was dropped");
            let _ = self.reply_error(Caller::ANY, &id, &error);
        }
    }

    /// What waits for the value of a copy.
    pub(super) fn copy_inputs(&self, copy: CopyNumber) -> Option<&VecDeque<LinearInput>> {
        self.copies.seats.get(&copy).map(|seat| &seat.inputs)
    }

    /// Throws an input away that waits for the value of a copy.
    pub(super) fn drop_copy_input(&mut self, copy: CopyNumber, place: usize) -> Option<MessageIndex> {
        let dropped = self.copies.seats.get_mut(&copy)?.inputs.remove(place)?;
        self.copies.queued = self.copies.queued.saturating_sub(1);
        Some(dropped.message)
    }

    /// Throws a reply away that waits for the value of a copy.
    pub(super) fn forget_copy_reply(&mut self, copy: CopyNumber, id: i64) -> bool {
        let Some(seat) = self.copies.seats.get_mut(&copy) else { return false };
        let Some(place) = seat.inputs.iter().position(|input| input.answers == Some(id)) else {
            return false;
        };
        self.copies.queued = self.copies.queued.saturating_sub(1);
        seat.inputs.remove(place).is_some()
    }

    /// Waits until there is an input of a copy that `judge` wants, or there will be none. Takes nothing.
    pub(crate) fn poll_copy_ready(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        copy: CopyNumber,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<()> {
        let open = self.lifecycle.is_open();
        let Some(seat) = self.copies.seats.get_mut(&copy) else { return Poll::Ready(()) };
        let mut judge = judge;
        let wanted = seat.inputs.iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let held = wanted.map(|input| (input.came, Held::Copy(copy)));
        if held.is_none() && (seat.over.is_some() || !open) {
            return Poll::Ready(());
        }
        if held.is_some() && self.held_back_for(context, &mut waiter.turns, held) {
            return Poll::Ready(());
        }
        let Some(seat) = self.copies.seats.get_mut(&copy) else { return Poll::Ready(()) };
        seat.waiting.register(context, waiter, &mut self.effects);
        Poll::Pending
    }

    /// The first input that waits for a value, on the linear channels or of a copy, which it would take.
    pub(crate) fn first_linear(
        &self,
        copy: Option<CopyNumber>,
        takes: impl Fn(&LinearInput) -> bool,
    ) -> Option<MessageIndex> {
        let inputs = match copy {
            Some(copy) => &self.copies.seats.get(&copy)?.inputs,
            None => &self.linear,
        };
        inputs.iter().find(|input| takes(input)).map(|input| input.message)
    }

    /// The request that opened a copy has its reply: from here on reports on it go there.
    pub(crate) fn listen_to(&mut self, copy: CopyNumber, on_progress: OnProgress) {
        let opener = self.copies.seats.get(&copy).and_then(|seat| seat.opener);
        let name = opener.map(|(message, _)| self.name(message)).unwrap_or_default();
        let mut listener = Some(Listener::new(on_progress, name));
        if let Some(seat) = self.copies.seats.get_mut(&copy) {
            std::mem::swap(&mut seat.listener, &mut listener);
        }
        if let Some(unheard) = listener {
            self.effects.let_go(unheard);
        }
    }

    /// A report has come on a request that has its reply.
    pub(super) fn copy_reported(&mut self, id: i64, report: &str) {
        let copy = self.checker.copy_of(Direction::Send, &RequestId::Number(id));
        let seat = copy.and_then(|copy| self.copies.seats.get(&copy));
        if let Some(listener) = seat.and_then(|seat| seat.listener.clone()) {
            self.hear_in_order(listener, report.into());
        }
    }

    /// What the last report on the request of the peer said that opened a copy and has its reply.
    pub(super) fn copy_progress(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        let copy = self.checker.copy_of(Direction::Receive, id)?;
        let opens = self.checker.copy_opener(copy) == Some(id);
        self.copies.seats.get_mut(&copy).filter(|_| opens).map(|seat| &mut seat.progress)
    }

    /// Whoever waits for an input of a copy looks again.
    pub(super) fn wake_copy(&mut self, copy: CopyNumber) {
        if let Some(seat) = self.copies.seats.get_mut(&copy) {
            seat.waiting.wake(&mut self.effects);
        }
    }

    /// A copy was ended by something that is no input of its value.
    pub(super) fn copy_ended(&mut self, copy: CopyNumber, error: Error) {
        if let Some(seat) = self.copies.seats.get_mut(&copy) {
            seat.over.get_or_insert(error);
            seat.waiting.wake(&mut self.effects);
        }
    }

    /// The requests of this side that have opened copies, for somebody who is at home in every session.
    pub(super) fn unbound_openers(&self) -> HashSet<i64> {
        let seats = self.copies.seats.values().filter(|seat| !seat.bound);
        seats.filter_map(|seat| seat.opener.map(|(_, id)| id)).collect()
    }

    /// The peer has lost the session: copies that the checker does not know any more are over. What came before
    /// still counts.
    pub(super) fn end_lost_copies(&mut self) {
        let mut lost: Vec<CopyNumber> = self.copies.seats.keys().copied().collect();
        lost.retain(|copy| self.checker.copy_state(*copy).is_none());
        lost.sort_unstable();
        for copy in lost {
            self.trace_copy_over(copy);
            if let Some(seat) = self.copies.seats.get_mut(&copy) {
                let before = seat.inputs.len();
                // Nobody waits for an answer.
                seat.inputs.retain(|input| input.id.is_none());
                let dropped = before.saturating_sub(seat.inputs.len());
                self.copies.queued = self.copies.queued.saturating_sub(dropped);
            }
            self.copy_ended(copy, Error::SessionRenewed);
        }
    }

    /// Takes the first input of a copy that `judge` wants.
    pub(crate) fn poll_copy(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        copy: CopyNumber,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let Some(seat) = self.copies.seats.get(&copy) else {
            return Poll::Ready(Err(self.closed(caller).unwrap_or(Error::Closed)));
        };
        let mut judged =
            seat.inputs.iter().enumerate().map(|(place, input)| (place, input.came, judge(input)));
        let wanted = judged.find(|(.., verdict)| !matches!(verdict, Verdict::Skip));
        let held = wanted.as_ref().map(|(_, came, _)| (*came, Held::Copy(copy)));
        let free = held.is_some() && self.held_back_for(context, &mut waiter.turns, held);
        let Some(seat) = self.copies.seats.get_mut(&copy) else {
            return Poll::Ready(Err(self.closed(caller).unwrap_or(Error::Closed)));
        };
        if let Some((place, _, verdict)) = wanted {
            if !free {
                seat.waiting.register(context, waiter, &mut self.effects);
                return Poll::Pending;
            }
            if let Verdict::Stop(error) = verdict {
                return Poll::Ready(Err(error));
            }
            self.copies.queued = self.copies.queued.saturating_sub(1);
            return Poll::Ready(Ok(seat.inputs.remove(place)));
        }
        if let Some(error) = &seat.over {
            return Poll::Ready(Err(error.clone()));
        }
        if self.lifecycle.is_open() {
            seat.waiting.register(context, waiter, &mut self.effects);
            return Poll::Pending;
        }
        Poll::Ready(Err(self.closed(caller).unwrap_or(Error::Closed)))
    }

    /// The value of a copy is gone. What it owed is answered with an error; if the copy goes on and may be taken
    /// back, it is.
    pub(crate) fn leave_copy(&mut self, caller: Caller, copy: CopyNumber) {
        self.leave_copy_as(caller, copy, CopyLeft::Before);
    }

    /// The same, of a value that may have taken the last message.
    pub(crate) fn leave_copy_as(&mut self, caller: Caller, copy: CopyNumber, left: CopyLeft) {
        let Some(mut seat) = self.copies.seats.remove(&copy) else { return };
        seat.waiting.wake(&mut self.effects);
        if let Some(listener) = seat.listener.take() {
            self.effects.let_go(listener);
        }
        self.copies.queued = self.copies.queued.saturating_sub(seat.inputs.len());
        let mut owed: Vec<RequestId> =
            self.owed.iter().filter(|(_, owed)| owed.copy == Some(copy)).map(|(id, _)| id.clone()).collect();
        owed.sort_unstable();
        for id in owed {
            // The peer may have ended the copy meanwhile, and wait for nothing any more.
            let _ = self.reply_error(
                caller,
                &id,
                &RpcError::internal_error("the request was dropped unanswered"),
            );
        }
        for input in seat.inputs {
            self.outlive_copy(input, left);
        }
        let lives = self.checker.copy_state(copy).is_some() && self.lifecycle.is_open();
        if let Some((message, id)) = seat.opener.filter(|_| lives)
            && self.message(message).is_some_and(|message| message.cancellable)
        {
            let _ = self.cancel(caller, id, None);
        }
    }

    /// How many copies something is kept for, and how many inputs wait in all of them.
    #[cfg(test)]
    pub(crate) fn copies_kept(&self) -> (usize, usize) {
        (self.copies.seats.len(), self.copies.queued)
    }

    /// The session is over: whoever waits learns of it. What the peer sent before still counts if `kept`.
    pub(super) fn end_copies(&mut self, kept: bool) {
        for seat in self.copies.seats.values_mut() {
            if !kept {
                seat.inputs.clear();
            }
            seat.waiting.wake(&mut self.effects);
        }
        if !kept {
            self.copies.queued = 0;
        }
    }
}
