//! The inbox as it is opened, without a session around it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Side;

use super::OpenInbox;
use crate::budget::{Account, Permit};
use crate::engine::owners::context::Caller;
use crate::engine::owners::early::EarlyMessage;
use crate::engine::owners::inbox::Inbox;
use crate::engine::owners::inbox::open_calls::OpenCalls;
use crate::engine::owners::inputs::{Background, Body, LinearInput, Verdict};
use crate::engine::owners::lifecycle::Lifecycle;
use crate::engine::owners::mailboxes::{Notice, Turn};
use crate::engine::owners::order::DispatcherKey;
use crate::engine::owners::replicated::Arrived;
use crate::engine::owners::timers::Timers;
use crate::engine::owners::wakers::{Effects, Waiter};
use crate::engine::tests::desk;
use crate::epoch::Epoch;
use crate::options::Options;
use crate::report::DropReason;
use crate::rules::Rules;

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
        let background = Background::default();
        let input = LinearInput {
            message,
            id: None,
            answers: None,
            body,
            negotiation: None,
            permit,
            came,
            background,
        };
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
    let early = EarlyMessage {
        id: None,
        method: "m".into(),
        params: None,
        tag: None,
        extension: None,
        members: crate::jsonrpc::OwnMembers::default(),
    };
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
