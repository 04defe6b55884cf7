//! How messages are put into the inbox, and how tasks wait for them and take them.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber};

use super::Inbox;
use crate::budget::Exhausted;
use crate::engine::owners::context::Caller;
use crate::engine::owners::dispatch::most_handlers;
use crate::engine::owners::inputs::{LinearInput, Verdict, Wanted};
use crate::engine::owners::lifecycle::Lifecycle;
use crate::engine::owners::mailboxes::{MailboxId, Notice, Turn};
use crate::engine::owners::order::{DispatcherKey, Held, POLL_TIMEOUT, TaskKey};
use crate::engine::owners::replicated::{Arrived, Scope};
use crate::engine::owners::sub_sessions::Opener;
use crate::engine::owners::turns::Turns;
use crate::engine::owners::wakers::{Effects, Listener, OnProgress, Waiter};
use crate::error::{DisconnectReason, Error};
use crate::report::{DropReason, Report};
use crate::rules::Rules;

/// The inbox, with the parts of the session that decide what is taken from it and when.
///
/// What every message passes here is inlined: the compiler would otherwise call it across the files that it builds apart.
pub(crate) struct OpenInbox<'e> {
    pub(super) inbox: &'e mut Inbox,
    pub(super) rules: &'e Rules,
    pub(super) lifecycle: &'e mut Lifecycle,
    pub(super) effects: &'e mut Effects,
    /// What time it is, as far as the transport has told.
    now: Option<Instant>,
}

/// Says what a value does with an input that waits.
type Judge<'s> = Box<dyn Fn(&LinearInput) -> Verdict + Send + Sync + 's>;

/// What a program takes messages of the peer from.
pub(crate) enum Source<'s> {
    /// The value of a linear channel, or that of a sub-session or of one of its channels.
    Value(Option<SubSessionNumber>, Judge<'s>),
    /// The replicated inputs of a scope.
    Incoming(Scope),
}

/// What can be taken from a source. What is there goes before the end, and the earlier message before the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Readable {
    /// The message with this number.
    Message(u64),
    /// Nothing, now or later.
    Over,
}

impl<'e> OpenInbox<'e> {
    #[inline]
    pub(super) fn new(
        inbox: &'e mut Inbox,
        rules: &'e Rules,
        lifecycle: &'e mut Lifecycle,
        effects: &'e mut Effects,
        now: Option<Instant>,
    ) -> OpenInbox<'e> {
        OpenInbox { inbox, rules, lifecycle, effects, now }
    }
}

/// What has reached the program, and what is held back until more has.
impl OpenInbox<'_> {
    #[inline]
    fn most_handlers(&self) -> usize {
        most_handlers(self.rules)
    }

    /// A message has come: wakes the task that waits for it, now or as soon as the message is free.
    #[inline]
    pub(super) fn came(&mut self, held: Held) {
        let most = self.most_handlers();
        if self.inbox.dispatch.may_wake(held, most) {
            self.wake(held);
        }
    }

    fn wake(&mut self, held: Held) {
        match held {
            Held::Call(id) => self.inbox.calls.wake(id, self.effects),
            Held::Linear => self.inbox.values.wake(None, self.effects),
            Held::SubSession(sub_session) => self.inbox.values.wake(Some(sub_session), self.effects),
            Held::Mailbox(key) => self.inbox.mailboxes.wake(key, self.effects),
        }
    }

    /// More has reached the program than before: the tasks that waited for that are woken.
    pub(crate) fn reached(&mut self) {
        if self.inbox.dispatch.order().holds_back() {
            let barrier = self.inbox.dispatch.barrier(self.most_handlers());
            while let Some(held) = self.inbox.dispatch.take_free(barrier) {
                self.wake(held);
            }
            self.inbox.dispatch.hear_free(barrier, self.effects);
        }
        if !self.lifecycle.is_open() && !self.inbox.dispatch.is_handing_out() {
            self.lifecycle.waiting().wake(self.effects);
            self.effects.wake_driver();
        }
    }

    /// A future has looked for a message which is held back. `true`: it is no longer.
    pub(crate) fn held_back_for(
        &mut self,
        context: &Context<'_>,
        turns: &mut Turns,
        held: Option<(u64, Held)>,
    ) -> bool {
        let is_free = |inbox: &OpenInbox<'_>| {
            held.is_some_and(|(came, _)| inbox.inbox.dispatch.is_free(came, inbox.most_handlers()))
        };
        if is_free(self) {
            return true;
        }
        let here = TaskKey::current();
        if self.inbox.dispatch.order_mut().begin_in(here) {
            self.reached();
            if is_free(self) {
                return true;
            }
        }
        if self.inbox.dispatch.could_begin(here, self.most_handlers()) {
            // The task polls this future, but maybe not the dispatcher: that is so where one of them is in a branch of
            // a `select!`, and the other in parallel. Then only this future can let it have its turn.
            if !self.inbox.dispatch.order().leave_turn(here, turns) {
                self.inbox.dispatch.order_mut().stall(Some(here));
                self.reached();
                return held.is_none() || is_free(self);
            }
            self.effects.wake(context.waker().clone());
        }
        if self.inbox.dispatch.order_mut().hold(held) {
            // There is a deadline now.
            self.effects.wake_driver();
        }
        false
    }

    /// When dispatchers are no longer waited for.
    pub(crate) fn order_deadline(&mut self) -> Option<Instant> {
        let dispatch = &mut self.inbox.dispatch;
        let waits = dispatch.order().holds_back() || (!self.lifecycle.is_open() && dispatch.is_handing_out());
        dispatch.order_mut().deadline(waits, self.now)
    }

    /// Waits no longer for dispatchers that were not polled in all the time that they had.
    pub(crate) fn stop_waiting_for_dispatchers(&mut self, now: Instant) {
        if self.inbox.dispatch.order_mut().take_expired(now) {
            self.inbox.dispatch.order_mut().stall(None);
            self.reached();
            self.effects.report(Report::NotServed { after: POLL_TIMEOUT });
        }
    }

    /// Waits until nothing waits for a dispatcher any more, in a session that is over.
    pub(crate) fn poll_settled(&mut self, context: &Context<'_>, waiter: &mut Waiter) -> Poll<()> {
        if self.order_deadline().is_none() {
            return Poll::Ready(());
        }
        self.lifecycle.waiting().register(context, waiter, self.effects);
        Poll::Pending
    }
}

/// Replicated inputs: requests and notifications of the peer that handlers take, in addition to the linear channels.
impl OpenInbox<'_> {
    /// There is one more dispatcher.
    pub(crate) fn dispatcher_began(&mut self, scope: Scope) -> DispatcherKey {
        self.inbox.dispatch.order_mut().dispatcher_began(scope)
    }

    /// A dispatcher is gone, and nothing waits for it any more.
    pub(crate) fn dispatcher_left(&mut self, key: DispatcherKey) {
        self.inbox.dispatch.left(key, self.effects);
        self.reached();
    }

    /// Takes the next replicated input for a dispatcher that works on `handlers` requests already, and on a notification
    /// or not; `None` when the session is over.
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
        let most = self.most_handlers();
        self.inbox.dispatch.polled(key, handlers, notified, self.effects);
        let taken = self.inbox.dispatch.take_next(key, most);
        self.reached();
        if taken.is_some() {
            return Poll::Ready(taken);
        }
        let scope = self.inbox.dispatch.order().scope(key);
        if self.incoming_ended(scope) {
            return Poll::Ready(None);
        }
        // What came before the end still counts.
        self.register_incoming(context, waiter, scope);
        if handlers >= most {
            self.inbox.dispatch.queue_mut().room_waiting().register(context, waiter, self.effects);
        }
        Poll::Pending
    }

    /// Takes the next replicated input of a scope, if there is one.
    pub(crate) fn next_incoming(&mut self, scope: Scope) -> Option<Arrived> {
        self.inbox.dispatch.first(scope)?;
        let taken = self.inbox.dispatch.queue_mut().take_first(scope);
        self.reached();
        taken
    }

    /// Takes the next replicated input of a scope; `None` when that is over.
    pub(crate) fn poll_incoming(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        scope: Scope,
    ) -> Poll<Option<Arrived>> {
        if let Some(arrived) = self.next_incoming(scope) {
            return Poll::Ready(Some(arrived));
        }
        if self.incoming_ended(scope) {
            return Poll::Ready(None);
        }
        self.register_incoming(context, waiter, scope);
        Poll::Pending
    }

    /// Whether no further replicated input of a scope comes, and none waits.
    fn incoming_ended(&self, scope: Scope) -> bool {
        let sub_session_goes_on =
            |sub_session| matches!(self.inbox.sub_sessions().over(sub_session), Some(None));
        let is_over = !self.goes_on() || !scope.is_none_or(sub_session_goes_on);
        is_over && self.inbox.dispatch.queue().is_empty(scope)
    }

    fn register_incoming(&mut self, context: &Context<'_>, waiter: &mut Waiter, scope: Scope) {
        self.inbox.dispatch.queue_mut().waiting().register(context, waiter, self.effects);
        if scope.is_some() {
            // The sub-session may end, and the session go on.
            self.inbox.values.register(scope, context, waiter, self.effects);
        }
    }

    /// There is one more attendant. Returns the exchanges that wait for the value of its sub-session: they are put where
    /// the attendant takes them.
    pub(crate) fn attend(&mut self, scope: Scope) -> VecDeque<LinearInput> {
        self.inbox.dispatch.queue_mut().attend(scope);
        scope.map(|scope| self.inbox.sub_sessions_mut().take_exchanges(scope)).unwrap_or_default()
    }

    /// An attendant is gone. Returns whether it was the last one of its scope.
    pub(crate) fn leave(&mut self, scope: Scope) -> bool {
        let queue = self.inbox.dispatch.queue_mut();
        queue.leave(scope);
        // A session without types leaves what comes to the other attendants.
        queue.waiting().wake(self.effects);
        queue.attendants(scope) == 0
    }

    /// Counts the bytes of a replicated input and says whether it may wait, where so many requests are owed a reply.
    #[inline]
    pub(crate) fn admit_replicated(
        &self,
        arrived: &mut Arrived,
        owed: usize,
    ) -> Result<(), (DropReason, Option<Exhausted>)> {
        let (queue, options) = (self.inbox.dispatch.queue(), self.rules.options());
        if arrived.scope.is_none() && queue.is_closed() {
            return Err((DropReason::Unattended, None));
        }
        if queue.len() >= options.max_incoming {
            return Err((DropReason::QueueFull, None));
        }
        if arrived.id.is_some() && owed > options.max_requests.max(1) {
            return Err((DropReason::TooMany, None));
        }
        let bytes = arrived.payload.as_ref().map_or(0, |payload| payload.len());
        let permit = self.inbox.values.count(bytes);
        arrived.permit = permit.map_err(|exhausted| (DropReason::TooManyBytes, Some(exhausted)))?;
        Ok(())
    }

    /// Puts a replicated input that was admitted where handlers take it.
    #[inline]
    pub(crate) fn put_replicated(&mut self, arrived: Arrived) {
        let queue = self.inbox.dispatch.queue_mut();
        let unattended = queue.attendants(arrived.scope) == 0;
        queue.insert(arrived);
        queue.waiting().wake(self.effects);
        if unattended {
            // There may be a new deadline for an attendant to come.
            self.effects.wake_driver();
        }
    }

    /// Takes the first input of the session that has waited long enough for an attendant.
    pub(crate) fn take_unattended(&mut self, now: Instant) -> Option<Arrived> {
        let patience = self.rules.options().unattended_after;
        self.inbox.dispatch.queue_mut().take_expired(patience, now)
    }
}

/// The inputs of values: those of the linear channels, and those of sub-sessions.
impl OpenInbox<'_> {
    /// Takes the first input that `judge` wants: of a sub-session, or of the linear channels. `Ok(None)`: the session is
    /// over, and the peer was allowed to end it here.
    pub(crate) fn poll_input(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let wanted = self.inbox.values.inputs(sub_session).and_then(|queue| queue.wanted(judge));
        if let Some(Wanted { place, came, verdict }) = wanted {
            if self.held_back_for(context, &mut waiter.turns, Some((came, Held::of_value(sub_session)))) {
                return Poll::Ready(match verdict {
                    Verdict::Stop(error) => Err(error),
                    Verdict::Take | Verdict::Skip => Ok(self.inbox.values.take(sub_session, place)),
                });
            }
        } else if let Some(error) = self.inputs_ended(caller, sub_session) {
            return Poll::Ready(match error {
                Error::Disconnected { reason: DisconnectReason::PeerClosed } if sub_session.is_none() => {
                    Ok(None)
                }
                error => Err(error),
            });
        }
        self.inbox.values.register(sub_session, context, waiter, self.effects);
        Poll::Pending
    }

    /// Why no further input comes, if that is so.
    fn inputs_ended(&self, caller: Caller, sub_session: Option<SubSessionNumber>) -> Option<Error> {
        let over = match sub_session {
            None if self.goes_on() => return None,
            None => return Some(self.lifecycle.error().unwrap_or(Error::Closed)),
            Some(sub_session) => self.inbox.sub_sessions().over(sub_session),
        };
        match over {
            Some(Some(error)) => Some(error.clone()),
            Some(None) if self.lifecycle.is_open() => None,
            Some(None) | None => Some(self.lifecycle.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// The first input that waits for a value, and that the value would take.
    pub(crate) fn first_input(
        &self,
        sub_session: Option<SubSessionNumber>,
        takes: impl Fn(&LinearInput) -> bool,
    ) -> Option<MessageIndex> {
        self.inbox.values.inputs(sub_session)?.iter().find(|input| takes(input)).map(|input| input.message)
    }

    /// Puts an input that was admitted where its value takes it.
    pub(crate) fn put_input(&mut self, sub_session: Option<SubSessionNumber>, input: LinearInput) {
        self.inbox.values.push(sub_session, input);
        self.came(Held::of_value(sub_session));
    }

    /// Nothing follows what waits for the value of a sub-session.
    pub(crate) fn end_sub_session(&mut self, sub_session: SubSessionNumber, error: Error) {
        self.inbox.sub_sessions_mut().end(sub_session, error, self.effects);
    }

    /// A step was taken that the value of a sub-session does not take itself. If it was the last one, the value learns
    /// that nothing follows.
    pub(crate) fn end_behind_value(&mut self, step: &Step) {
        if let (Some(sub_session), StepKind::SubSession { ended: true }) = (step.sub_session, step.kind) {
            self.end_sub_session(sub_session, Error::Closed);
        }
    }

    /// Why the value of a sub-session can send nothing any more, if that is so.
    pub(crate) fn sub_session_over(&self, sub_session: SubSessionNumber) -> Option<Error> {
        self.inbox.sub_sessions().why_over(sub_session)
    }

    /// The request that opened a sub-session has its reply: from here on reports on it go there.
    pub(crate) fn listen_to(&mut self, sub_session: SubSessionNumber, on_progress: OnProgress) {
        let opener = self.inbox.sub_sessions().opener(sub_session);
        let name = opener.map(|Opener { message, .. }| self.rules.name(message)).unwrap_or_default();
        let listener = Listener::new(on_progress, name);
        self.inbox.sub_sessions_mut().listen(sub_session, listener, self.effects);
    }

    /// A report has come on a request that has its reply.
    pub(super) fn sub_session_reported(&mut self, id: i64, report: &str) {
        let sub_session = self.rules.checker().sub_session_of(Direction::Send, &RequestId::Number(id));
        let sub_sessions = self.inbox.sub_sessions();
        if let Some(listener) = sub_session.and_then(|sub_session| sub_sessions.listener(sub_session)) {
            self.inbox.dispatch.hear(listener, report.into(), self.rules, self.effects);
        }
    }

    /// One more value stands for a sub-session: one for each of its linear channels.
    pub(crate) fn sub_session_value_made(&mut self, sub_session: SubSessionNumber) {
        self.inbox.sub_sessions_mut().value_made(sub_session);
    }

    /// A value of a sub-session is gone, for others that stand for its parts.
    pub(crate) fn sub_session_value_gone(&mut self, sub_session: SubSessionNumber) {
        self.inbox.sub_sessions_mut().value_gone(sub_session);
    }
}

/// What of several sources has the first message.
impl OpenInbox<'_> {
    /// Waits until one of several sources has something to take, or will have nothing. Gives the place of the one whose
    /// message came first. Takes nothing.
    pub(crate) fn poll_readable(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sources: &[Source<'_>],
    ) -> Poll<usize> {
        let readable = sources.iter().enumerate();
        let readable = readable.filter_map(|(place, source)| Some((self.readable(source)?, place, source)));
        let first = readable.min_by_key(|(readable, place, _)| (*readable, *place));
        if let Some((readable, place, source)) = first
            && self.is_free(context, waiter, readable, source)
        {
            return Poll::Ready(place);
        }
        for source in sources {
            match source {
                Source::Value(sub_session, _) => {
                    self.inbox.values.register(*sub_session, context, waiter, self.effects);
                }
                Source::Incoming(scope) => self.register_incoming(context, waiter, *scope),
            }
        }
        Poll::Pending
    }

    /// Whether what can be taken may reach the program now.
    fn is_free(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        readable: Readable,
        source: &Source<'_>,
    ) -> bool {
        match (readable, source) {
            (Readable::Message(came), Source::Value(sub_session, _)) => {
                self.held_back_for(context, &mut waiter.turns, Some((came, Held::of_value(*sub_session))))
            }
            // Nothing is held back for those that take replicated inputs, or for the end.
            (_, Source::Incoming(_)) | (Readable::Over, _) => true,
        }
    }

    fn readable(&self, source: &Source<'_>) -> Option<Readable> {
        let (message, is_over) = match source {
            Source::Value(sub_session, judge) => {
                let wanted = self.inbox.values.inputs(*sub_session).and_then(|queue| queue.wanted(judge));
                (wanted.map(|wanted| wanted.came), self.inputs_ended(Caller::ANY, *sub_session).is_some())
            }
            Source::Incoming(scope) => (self.inbox.dispatch.first(*scope), self.incoming_ended(*scope)),
        };
        message.map(Readable::Message).or(is_over.then_some(Readable::Over))
    }

    /// Waits until there is something for a session without types to take, and says where: what came first is taken first.
    pub(crate) fn poll_turn(
        &mut self,
        context: &Context<'_>,
        key: MailboxId,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Turn> {
        let Inbox { dispatch, values, mailboxes, .. } = &mut *self.inbox;
        let linear = values.linear().iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let linear = linear.map(|input| (input.came, Turn::Linear(input.message)));
        // A queue that something else consumes is not read here.
        let mine = dispatch.queue().attendants(None) <= mailboxes.len();
        let replicated = dispatch.queue().first(None).filter(|_| mine);
        let replicated = replicated.map(|arrived| (arrived.came, Turn::Replicated));
        let Some((notice, mut turns)) = mailboxes.first(key) else { return Poll::Ready(Turn::Over) };
        let notice = notice.map(|came| (came, Turn::Notice));
        if let Some((came, turn)) = linear.into_iter().chain(replicated).chain(notice).min() {
            if self.held_back_for(context, &mut turns, Some((came, Held::Mailbox(key)))) {
                return Poll::Ready(turn);
            }
        } else if !self.goes_on() {
            return Poll::Ready(Turn::Over);
        }
        let Inbox { dispatch, values, mailboxes, .. } = &mut *self.inbox;
        let (linear, replicated) = (values.linear_mut().waiting(), dispatch.queue_mut().waiting());
        mailboxes.wait(key, turns, context, self.effects, |waiter, effects| {
            linear.register(context, waiter, effects);
            replicated.register(context, waiter, effects);
        });
        Poll::Pending
    }

    /// Opens a mailbox. It is an attendant of the session.
    pub(crate) fn open_mailbox(&mut self) -> MailboxId {
        self.inbox.dispatch.queue_mut().attend(None);
        self.inbox.mailboxes.open()
    }

    /// Closes a mailbox.
    pub(crate) fn close_mailbox(&mut self, key: MailboxId) {
        self.inbox.mailboxes.close(key, self.effects);
    }

    /// Takes the first notice of a mailbox.
    pub(crate) fn next_notice(&mut self, key: MailboxId) -> Option<Notice> {
        self.inbox.mailboxes.take(key)
    }

    /// Adds a notice to a mailbox.
    pub(crate) fn notify_mailbox(&mut self, key: MailboxId, notice: Notice) {
        let came = self.inbox.latest();
        if self.inbox.mailboxes.notify(key, came, notice) {
            self.came(Held::Mailbox(key));
        }
    }
}

/// The end of the session.
impl OpenInbox<'_> {
    /// Whether something may still come: from the peer, or of what it has said already.
    pub(crate) fn goes_on(&self) -> bool {
        self.inbox.goes_on(self.lifecycle)
    }

    /// Tasks that wait for something of the inbox look again: the session has come closer to its end.
    pub(crate) fn wake_everyone(&mut self) {
        let queue = self.inbox.dispatch.queue_mut();
        queue.waiting().wake(self.effects);
        queue.room_waiting().wake(self.effects);
        self.inbox.values.wake(None, self.effects);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use mcp_protocol_machine::protocol::Side;

    use super::*;
    use crate::budget::{Account, Permit};
    use crate::engine::owners::early::EarlyMessage;
    use crate::engine::owners::inbox::open_calls::OpenCalls;
    use crate::engine::owners::inputs::Body;
    use crate::engine::owners::timers::Timers;
    use crate::engine::tests::desk;
    use crate::epoch::Epoch;
    use crate::options::Options;

    /// An inbox, and what it works with.
    pub(crate) struct Parts {
        pub(crate) inbox: Inbox,
        pub(crate) lifecycle: Lifecycle,
        pub(crate) timers: Timers,
        pub(crate) effects: Effects,
        rules: Rules,
    }

    impl Parts {
        pub(crate) fn new(options: Options) -> Parts {
            let protocol = (&desk::PROTOCOL).into();
            Parts {
                inbox: Inbox::new(Account::default(), 0),
                lifecycle: Lifecycle::default(),
                timers: Timers::default(),
                effects: Effects::default(),
                rules: Rules::new(protocol, Side::Client, Arc::new(options)).unwrap(),
            }
        }

        pub(crate) fn open(&mut self) -> OpenInbox<'_> {
            self.inbox.open(&self.rules, &mut self.lifecycle, &mut self.effects, None)
        }

        pub(crate) fn calls(&mut self) -> OpenCalls<'_> {
            let inbox = self.inbox.open(&self.rules, &mut self.lifecycle, &mut self.effects, None);
            OpenCalls::new(inbox, &mut self.timers)
        }

        /// A task waits for the linear channels, or for what there is.
        fn poll_linear(&mut self, waiter: &mut Waiter) -> Poll<Option<u64>> {
            let context = Context::from_waker(Waker::noop());
            let polled = self.open().poll_input(Caller::ANY, &context, waiter, None, |_| Verdict::Take);
            polled.map(|taken| taken.unwrap().map(|input| input.came))
        }

        /// A dispatcher looks for something to do.
        fn poll_served(&mut self, key: DispatcherKey, handlers: usize) -> Option<u64> {
            let context = Context::from_waker(Waker::noop());
            match self.open().poll_served(&context, &mut Waiter::default(), key, handlers, false) {
                Poll::Ready(taken) => taken.map(|arrived| arrived.came),
                Poll::Pending => None,
            }
        }

        /// The next message, which handlers take.
        fn request_comes(&mut self) -> Result<(), DropReason> {
            self.inbox.next_message();
            let mut arrived = Arrived {
                message: desk::messages::LOOK,
                id: Some(RequestId::Number(1)),
                token: None,
                scope: None,
                sub_session: None,
                payload: None,
                permit: Permit::default(),
                extension: None,
                at: Instant::now(),
                came: self.inbox.latest(),
                epoch: Epoch::FIRST,
            };
            self.open().admit_replicated(&mut arrived, 0).map_err(|(cause, _)| cause)?;
            self.open().put_replicated(arrived);
            Ok(())
        }

        /// The next message, which the value of a linear channel takes.
        fn step_comes(&mut self) {
            self.inbox.next_message();
            let came = self.inbox.latest();
            let (message, body) = (desk::messages::READY, Body::Payload(None));
            let permit = Permit::default();
            let input =
                LinearInput { message, id: None, answers: None, body, negotiation: None, permit, came };
            self.open().put_input(None, input);
        }
    }

    #[test]
    fn a_task_is_woken_once_its_message_is_free() {
        let (mut parts, mut waiter) = (Parts::new(Options::new()), Waiter::default());
        let key = parts.open().dispatcher_began(None);
        parts.request_comes().unwrap();
        assert!(parts.poll_linear(&mut waiter).is_pending());
        drop(parts.effects.take());
        parts.step_comes();
        assert!(parts.effects.take().is_none(), "the handler of the request was not polled");
        assert!(parts.poll_linear(&mut waiter).is_pending());
        assert_eq!(parts.poll_served(key, 0), Some(1));
        drop(parts.effects.take());
        assert_eq!(parts.poll_served(key, 1), None);
        assert!(parts.effects.take().is_some(), "it has begun");
        assert_eq!(parts.poll_linear(&mut waiter), Poll::Ready(Some(2)));
    }

    #[test]
    fn no_more_waits_for_handlers_than_may() {
        let mut parts = Parts::new(Options::new().max_incoming(1));
        assert!(parts.open().attend(None).is_empty());
        parts.request_comes().unwrap();
        assert_eq!(parts.request_comes(), Err(DropReason::QueueFull));
        assert!(parts.open().next_incoming(None).is_some_and(|arrived| arrived.came == 1));
        parts.request_comes().unwrap();
        assert!(parts.open().leave(None), "it was the only attendant");
    }

    #[test]
    fn what_has_come_is_taken_before_the_end() {
        let (mut parts, mut waiter) = (Parts::new(Options::new()), Waiter::default());
        parts.step_comes();
        parts.lifecycle.peer_closed();
        assert_eq!(parts.poll_linear(&mut waiter), Poll::Ready(Some(1)));
        let early = EarlyMessage { id: None, method: "m".into(), params: None, tag: None, extension: None };
        let options = Options::new();
        parts.inbox.early_mut().hold(early, &[], &options).unwrap();
        assert!(parts.poll_linear(&mut waiter).is_pending(), "what came early may still be for the value");
        parts.inbox.early_mut().clear();
        assert_eq!(parts.poll_linear(&mut waiter), Poll::Ready(None));
    }

    #[test]
    fn a_mailbox_has_the_first_of_what_came() {
        let (mut parts, context) = (Parts::new(Options::new()), Context::from_waker(Waker::noop()));
        let key = parts.open().open_mailbox();
        let turn = |parts: &mut Parts| parts.open().poll_turn(&context, key, |_| Verdict::Take);
        assert!(turn(&mut parts).is_pending());
        parts.step_comes();
        parts.request_comes().unwrap();
        parts.open().notify_mailbox(key, Notice::Answered(7));
        assert_eq!(turn(&mut parts), Poll::Ready(Turn::Linear(desk::messages::READY)));
        assert_eq!(parts.poll_linear(&mut Waiter::default()), Poll::Ready(Some(1)));
        assert_eq!(turn(&mut parts), Poll::Ready(Turn::Replicated));
        assert!(parts.open().next_incoming(None).is_some());
        assert_eq!(turn(&mut parts), Poll::Ready(Turn::Notice));
        assert!(matches!(parts.open().next_notice(key), Some(Notice::Answered(7))));
        parts.lifecycle.close();
        assert_eq!(turn(&mut parts), Poll::Ready(Turn::Over));
    }
}
