//! What is kept for the values of sub-sessions.

use std::collections::{HashMap, HashSet};
use std::task::Context;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, StateIndex};
use mcp_protocol_machine::{About, Meant, RequestId, Step, StepKind, SubSessionNumber};

use super::context::Caller;
use super::inputs::{InputQueue, LinearInput, too_much};
use super::order::Held;
use super::owed::AnsweredBy;
use super::state::Engine;
use super::uncorrelated::SubSessionLeft;
use super::wakers::{Effects, Listener, OnProgress, Waiter};
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// How many queues of the longest permitted length all sub-sessions may fill together.
const TOGETHER: usize = 64;

/// What waits for the value of one sub-session.
#[derive(Debug, Default)]
pub(crate) struct SubSessionInbox {
    inputs: InputQueue,
    /// The sub-session is over, or has lost an input: what is left to be said once the queue is empty.
    over: Option<Error>,
    /// The request of this side that opened it.
    opener: Option<(MessageIndex, i64)>,
    /// The value that opened it belongs to this epoch: in another one it means nothing.
    bound: bool,
    /// Hears the progress of the request that opened it, once that has its reply.
    listener: Option<Listener>,
    /// What the last report of this side on the request that opened it said, once that has its reply.
    progress: Option<f64>,
}

/// The inboxes of all sub-sessions.
#[derive(Debug, Default)]
pub(crate) struct SubSessions {
    inboxes: HashMap<SubSessionNumber, SubSessionInbox>,
    /// How many inputs wait in all of them.
    queued: usize,
}

impl SubSessions {
    /// What waits for the value of a sub-session.
    pub(super) fn inputs(&self, sub_session: SubSessionNumber) -> Option<&InputQueue> {
        self.inboxes.get(&sub_session).map(|inbox| &inbox.inputs)
    }

    /// Takes an input from the queue of a sub-session.
    pub(super) fn take(
        &mut self,
        sub_session: SubSessionNumber,
        take: impl FnOnce(&mut InputQueue) -> Option<LinearInput>,
    ) -> Option<LinearInput> {
        let taken = take(&mut self.inboxes.get_mut(&sub_session)?.inputs)?;
        self.queued = self.queued.saturating_sub(1);
        Some(taken)
    }

    /// Why nothing follows what waits for a value, if that is so. `None`: there is no value.
    pub(super) fn over(&self, sub_session: SubSessionNumber) -> Option<Option<&Error>> {
        self.inboxes.get(&sub_session).map(|inbox| inbox.over.as_ref())
    }

    pub(super) fn register(
        &mut self,
        sub_session: SubSessionNumber,
        context: &Context<'_>,
        waiter: &mut Waiter,
        effects: &mut Effects,
    ) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.inputs.waiting().register(context, waiter, effects);
        }
    }
}

impl Engine {
    /// A sub-session was opened, and a value will stand for it.
    pub(super) fn keep_sub_session(
        &mut self,
        caller: Caller,
        sub_session: SubSessionNumber,
        opener: Option<(MessageIndex, i64)>,
    ) {
        let bound = caller.is_bound();
        self.sub_sessions
            .inboxes
            .insert(sub_session, SubSessionInbox { opener, bound, ..SubSessionInbox::default() });
    }

    /// Opens a sub-session: writes its first message, and gives the sub-session and the state that it is in.
    pub(crate) fn open_sub_session(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        request: bool,
    ) -> Result<(SubSessionNumber, StateIndex), Error> {
        let (id, step) = if request {
            let (id, step) = self.ask(caller, message, written, false, false, Meant::New)?;
            (Some((message, id)), step)
        } else {
            (None, self.tell(caller, message, written, About::Nothing, Meant::New)?)
        };
        self.keep_opened(caller, &step, id)
    }

    /// The same by a call: its reply is the call's.
    pub(crate) fn call_sub_session(
        &mut self,
        caller: Caller,
        message: MessageIndex,
        written: &str,
        progress: bool,
    ) -> Result<(i64, SubSessionNumber, StateIndex), Error> {
        let (id, step) = self.ask(caller, message, written, progress, true, Meant::New)?;
        let opened = self.keep_opened(caller, &step, Some((message, id)));
        if opened.is_err() {
            self.let_go(caller, id);
        }
        opened.map(|(sub_session, state)| (id, sub_session, state))
    }

    fn keep_opened(
        &mut self,
        caller: Caller,
        step: &Step,
        opener: Option<(MessageIndex, i64)>,
    ) -> Result<(SubSessionNumber, StateIndex), Error> {
        match (step.sub_session, step.kind) {
            (Some(sub_session), StepKind::Spawned { state }) => {
                self.keep_sub_session(caller, sub_session, opener);
                Ok((sub_session, state))
            }
            // The tables say that this opens no sub-session of its own; generated code never asks for that.
            _ => Err(self.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// Why the value of a sub-session can send nothing any more, if that is so.
    pub(crate) fn sub_session_over(&self, sub_session: SubSessionNumber) -> Option<Error> {
        match self.sub_sessions.inboxes.get(&sub_session) {
            Some(inbox) => inbox.over.clone(),
            None => Some(Error::Closed),
        }
    }

    /// An input of a sub-session was accepted.
    pub(super) fn sub_session_came(&mut self, sub_session: SubSessionNumber, mut input: LinearInput) {
        let (most, all) = (self.options.max_linear, self.options.max_linear.saturating_mul(TOGETHER));
        let admitted = self.admit_step(&mut input);
        let full = self.sub_sessions.queued >= all || admitted.is_err();
        let (name, id) = (self.name(input.message), input.id.clone());
        match self.sub_sessions.inboxes.get_mut(&sub_session) {
            Some(inbox) if inbox.over.is_none() && inbox.inputs.len() < most && !full => {
                inbox.inputs.push(input);
                self.sub_sessions.queued += 1;
                if self.may_wake(Held::SubSession(sub_session)) {
                    self.wake_sub_session(sub_session);
                }
                return;
            }
            Some(inbox) => {
                // The value cannot follow without this input.
                let waiting = inbox.inputs.len();
                let reason = too_much(&input, waiting, admitted.err());
                inbox.over.get_or_insert(Error::Disconnected { reason });
                inbox.inputs.waiting().wake(&mut self.effects);
                let cause = if admitted.is_err() { DropReason::TooManyBytes } else { DropReason::QueueFull };
                self.report(Report::Dropped { message: name, cause });
            }
            None => self.outlive_sub_session(input, SubSessionLeft::Before),
        }
        if let Some(id) = id {
            let error = RpcError::internal_error("what the request belongs to was dropped");
            let _ = self.reply_error(Caller::ANY, &id, &error);
        }
    }

    /// The request that opened a sub-session has its reply: from here on reports on it go there.
    pub(crate) fn listen_to(&mut self, sub_session: SubSessionNumber, on_progress: OnProgress) {
        let opener = self.sub_sessions.inboxes.get(&sub_session).and_then(|inbox| inbox.opener);
        let name = opener.map(|(message, _)| self.name(message)).unwrap_or_default();
        let mut listener = Some(Listener::new(on_progress, name));
        if let Some(inbox) = self.sub_sessions.inboxes.get_mut(&sub_session) {
            std::mem::swap(&mut inbox.listener, &mut listener);
        }
        if let Some(unheard) = listener {
            self.effects.let_go(unheard);
        }
    }

    /// A report has come on a request that has its reply.
    pub(super) fn sub_session_reported(&mut self, id: i64, report: &str) {
        let sub_session = self.checker.sub_session_of(Direction::Send, &RequestId::Number(id));
        let inbox = sub_session.and_then(|sub_session| self.sub_sessions.inboxes.get(&sub_session));
        if let Some(listener) = inbox.and_then(|inbox| inbox.listener.clone()) {
            self.hear_in_order(listener, report.into());
        }
    }

    /// What the last report on the request of the peer said that opened a sub-session and has its reply.
    pub(super) fn sub_session_progress(&mut self, id: &RequestId) -> Option<&mut Option<f64>> {
        let sub_session = self.checker.sub_session_of(Direction::Receive, id)?;
        let opens = self.checker.sub_session_opener(sub_session) == Some(id);
        self.sub_sessions.inboxes.get_mut(&sub_session).filter(|_| opens).map(|inbox| &mut inbox.progress)
    }

    /// Wakes the task that waits for an input of a sub-session.
    pub(super) fn wake_sub_session(&mut self, sub_session: SubSessionNumber) {
        if let Some(inbox) = self.sub_sessions.inboxes.get_mut(&sub_session) {
            inbox.inputs.waiting().wake(&mut self.effects);
        }
    }

    /// A sub-session was ended by something that is not an input of its value.
    pub(super) fn sub_session_ended(&mut self, sub_session: SubSessionNumber, error: Error) {
        if let Some(inbox) = self.sub_sessions.inboxes.get_mut(&sub_session) {
            inbox.over.get_or_insert(error);
            inbox.inputs.waiting().wake(&mut self.effects);
        }
    }

    /// The requests of this side that have opened sub-sessions for values that belong to every epoch.
    pub(super) fn unbound_openers(&self) -> HashSet<i64> {
        let inboxes = self.sub_sessions.inboxes.values().filter(|inbox| !inbox.bound);
        inboxes.filter_map(|inbox| inbox.opener.map(|(_, id)| id)).collect()
    }

    /// The peer has lost the session: sub-sessions that the checker does not know any more are over. What came before
    /// still counts.
    pub(super) fn end_lost_sub_sessions(&mut self) {
        let mut lost: Vec<SubSessionNumber> = self.sub_sessions.inboxes.keys().copied().collect();
        lost.retain(|sub_session| self.checker.sub_session_state(*sub_session).is_none());
        lost.sort_unstable();
        for sub_session in lost {
            self.trace_sub_session_over(sub_session);
            if let Some(inbox) = self.sub_sessions.inboxes.get_mut(&sub_session) {
                // The peer does not wait for an answer any more.
                let dropped = inbox.inputs.retain(|input| input.id.is_none());
                self.sub_sessions.queued = self.sub_sessions.queued.saturating_sub(dropped);
            }
            self.sub_session_ended(sub_session, Error::SessionReplaced);
        }
    }

    /// The value of a sub-session is gone. What it owed is answered with an error; if the sub-session goes on and may
    /// be cancelled, it is.
    pub(crate) fn leave_sub_session(&mut self, caller: Caller, sub_session: SubSessionNumber) {
        self.leave_sub_session_as(caller, sub_session, SubSessionLeft::Before);
    }

    /// The same, of a value that may have taken the last message.
    pub(crate) fn leave_sub_session_as(
        &mut self,
        caller: Caller,
        sub_session: SubSessionNumber,
        left: SubSessionLeft,
    ) {
        let Some(mut inbox) = self.sub_sessions.inboxes.remove(&sub_session) else { return };
        inbox.inputs.waiting().wake(&mut self.effects);
        if let Some(listener) = inbox.listener.take() {
            self.effects.let_go(listener);
        }
        self.sub_sessions.queued = self.sub_sessions.queued.saturating_sub(inbox.inputs.len());
        for id in self.owed.ids(|owed| owed.answered_by == AnsweredBy::SubSession(sub_session)) {
            // The peer may have ended the sub-session meanwhile, and wait for nothing any more.
            let _ = self.reply_error(
                caller,
                &id,
                &RpcError::internal_error("the request was dropped unanswered"),
            );
        }
        for input in inbox.inputs.into_inputs() {
            self.outlive_sub_session(input, left);
        }
        let lives = self.checker.sub_session_state(sub_session).is_some() && self.lifecycle.is_open();
        if let Some((message, id)) = inbox.opener.filter(|_| lives)
            && self.message(message).is_some_and(|message| message.cancellable)
        {
            let _ = self.cancel(caller, id, None);
        }
    }

    /// How many sub-sessions something is kept for, and how many inputs wait in all of them.
    #[cfg(test)]
    pub(crate) fn sub_sessions_kept(&self) -> (usize, usize) {
        (self.sub_sessions.inboxes.len(), self.sub_sessions.queued)
    }

    /// The session is over: the tasks that wait learn of it. What the peer sent before still counts if `kept`.
    pub(super) fn end_sub_sessions(&mut self, kept: bool) {
        for inbox in self.sub_sessions.inboxes.values_mut() {
            if !kept {
                inbox.inputs.clear();
            }
            inbox.inputs.waiting().wake(&mut self.effects);
        }
        if !kept {
            self.sub_sessions.queued = 0;
        }
    }
}
