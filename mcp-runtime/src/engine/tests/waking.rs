//! Who is woken, and how often.
//!
//! Two wakers of one task may not know of each other that they are. So each poll here brings a waker of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_protocol_machine::protocol::Side;

use super::desk::messages::LOOK;
use super::pair::End;
use crate::driver::{Endpoint, TransportEvent};
use crate::engine::{Caller, Engine, Source, Verdict, Waiter};
use crate::options::Options;

/// One task, which counts how often it is woken and how many of its wakers are kept.
#[derive(Clone, Default)]
struct Task(Arc<AtomicUsize>);

struct Bell {
    rung: Task,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Task {
    /// A waker that knows of no other.
    fn waker(&self) -> Waker {
        Waker::from(Arc::new(Bell { rung: self.clone() }))
    }

    fn woken(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// How many wakers are kept somewhere.
    fn kept(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    /// Polls so often; the last waker replaces those before it.
    fn poll(&self, times: usize, mut poll: impl FnMut(&Context<'_>) -> bool) {
        for _ in 0..times {
            assert!(poll(&Context::from_waker(&self.waker())), "it waits");
        }
    }
}

fn waits<T>(polled: Poll<T>) -> bool {
    polled.is_pending()
}

#[test]
fn a_call_that_waits_wakes_no_task_and_keeps_one_waker() {
    let (client, task) = (End::ready_client(Options::default()), Task::default());
    let id = client.call(LOOK, "null");
    task.poll(100, |context| {
        waits(client.link.speak(|engine, caller| engine.calls().poll_call(caller, context, id)))
    });
    assert_eq!((task.woken(), task.kept()), (0, 1));
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    assert_eq!((task.woken(), task.kept()), (1, 0));
}

#[test]
fn the_transport_and_its_alarm_wake_no_task_by_being_polled() {
    let (mut client, task) = (End::ready_client(Options::default()), Task::default());
    client.said();
    task.poll(100, |context| {
        let mut context = Context::from_waker(context.waker());
        client.link.status(&mut context).finish.is_none()
    });
    assert_eq!((task.woken(), task.kept()), (0, 1));
    let alarm = client.link.with(|engine| engine.set_alarm(client.now + Duration::from_secs(1)));
    assert_eq!((task.woken(), task.kept()), (1, 0), "the transport has a new deadline");
    task.poll(100, |context| waits(client.link.with(|engine| engine.poll_alarm(context, alarm))));
    assert_eq!((task.woken(), task.kept()), (1, 1));
    client.later(Duration::from_secs(1));
    assert_eq!((task.woken(), task.kept()), (2, 0));
}

#[test]
fn an_alarm_and_a_call_that_are_dropped_wake_no_task() {
    let (client, task) = (End::ready_client(Options::default()), Task::default());
    let alarm = client.link.with(|engine| engine.set_alarm(client.now + Duration::from_secs(1)));
    let id = client.call(LOOK, "null");
    task.poll(1, |context| waits(client.link.with(|engine| engine.poll_alarm(context, alarm))));
    task.poll(1, |context| {
        waits(client.link.speak(|engine, caller| engine.calls().poll_call(caller, context, id)))
    });
    assert_eq!((task.woken(), task.kept()), (0, 2));
    client.link.with(|engine| engine.clear_alarm(alarm));
    client.link.speak(|engine, caller| engine.let_go(caller, id));
    assert_eq!((task.woken(), task.kept()), (0, 0));
}

/// Whatever a future can wait for in a list with others.
type Wait = fn(&mut Engine, &Context<'_>, &mut Waiter) -> bool;

const WAITS: [(&str, Wait); 6] = [
    ("linear", |engine, context, waiter| {
        waits(engine.inbox().poll_input(Caller::ANY, context, waiter, None, |_| Verdict::Take))
    }),
    ("ready", |engine, context, waiter| {
        let sources = [Source::Value(None, Box::new(|_| Verdict::Take)), Source::Incoming(None)];
        waits(engine.inbox().poll_readable(context, waiter, &sources))
    }),
    ("incoming", |engine, context, waiter| waits(engine.inbox().poll_incoming(context, waiter, None))),
    ("served", |engine, context, waiter| {
        let key = engine.inbox().dispatcher_began(None);
        waits(engine.inbox().poll_served(context, waiter, key, usize::MAX, true))
    }),
    ("cancelled", |engine, context, waiter| waits(engine.poll_cancelled(Caller::ANY, context, waiter, None))),
    ("ended", |engine, context, waiter| waits(engine.poll_ended(context, waiter))),
];

#[test]
fn each_future_that_waits_has_one_place_however_often_it_is_polled() {
    for (name, wait) in WAITS {
        let (end, task) = (End::ready_client(Options::default()), Task::default());
        let mut waiter = Waiter::default();
        task.poll(100, |context| end.link.with(|engine| wait(engine, context, &mut waiter)));
        assert_eq!((task.woken(), task.kept()), (0, 1), "{name}");
        assert_eq!(end.link.with(|engine| engine.longest_waiting()), 1, "{name}");
        drop(waiter);
        assert_eq!((task.woken(), task.kept()), (0, 0), "{name}: a waker goes with its future");
        // Futures that come and go, as the branches of a `select!` do.
        let other = Task::default();
        for _ in 0..1000 {
            let mut waiter = Waiter::default();
            other.poll(2, |context| end.link.with(|engine| wait(engine, context, &mut waiter)));
        }
        assert!(end.link.with(|engine| engine.longest_waiting()) < 8, "{name}");
        let mut both = [Waiter::default(), Waiter::default()];
        for waiter in &mut both {
            other.poll(3, |context| end.link.with(|engine| wait(engine, context, waiter)));
        }
        assert_eq!((other.woken(), other.kept()), (0, 2), "{name}");
        end.end_input(crate::driver::End::Eof);
        end.link.notify(TransportEvent::Terminated(crate::driver::Outcome::Closed));
        assert_eq!((other.woken(), other.kept()), (2, 0), "{name}: each is woken once");
    }
}

/// Looking for each future among all that wait would take these some billion steps.
#[test]
fn polling_a_future_again_takes_as_long_with_many_others_as_alone() {
    let (end, task) = (End::ready_client(Options::default()), Task::default());
    let mut waiters: Vec<Waiter> = Vec::new();
    waiters.resize_with(50_000, Waiter::default);
    for _ in 0..4 {
        for waiter in &mut waiters {
            task.poll(1, |context| {
                end.link.with(|engine| waits(engine.inbox().poll_incoming(context, waiter, None)))
            });
        }
    }
    assert_eq!(end.link.with(|engine| engine.longest_waiting()), waiters.len());
    assert_eq!((task.woken(), task.kept()), (0, waiters.len()));
    // A future that is gone makes room for others, and keeps its own place only.
    waiters.truncate(10);
    let mut others: Vec<Waiter> = Vec::new();
    others.resize_with(60_000, Waiter::default);
    for waiter in waiters.iter_mut().chain(&mut others) {
        task.poll(2, |context| {
            end.link.with(|engine| waits(engine.inbox().poll_incoming(context, waiter, None)))
        });
    }
    assert_eq!(task.kept(), waiters.len() + others.len());
    end.end_input(crate::driver::End::Eof);
    end.link.notify(TransportEvent::Terminated(crate::driver::Outcome::Closed));
    assert_eq!((task.woken(), task.kept()), (waiters.len() + others.len(), 0), "each is woken once");
}

#[test]
fn a_future_that_waits_for_several_things_is_woken_by_each_of_them() {
    let end = End::new(Side::Client, Options::default());
    let task = Task::default();
    let key = end.link.with(|engine| engine.inbox().open_mailbox());
    let turn = |context: &Context<'_>| {
        waits(end.link.with(|engine| engine.inbox().poll_turn(context, key, |_| Verdict::Take)))
    };
    task.poll(10, turn);
    assert_eq!((task.woken(), task.kept()), (0, 1));
    end.link.with(|engine| engine.leave(None));
    assert_eq!((task.woken(), task.kept()), (1, 0), "the queue of replicated inputs is free");
    task.poll(10, turn);
    end.link.with(|engine| engine.nudge());
    assert_eq!((task.woken(), task.kept()), (2, 0), "a linear input may be there");
    task.poll(1, turn);
    end.link.speak(|engine, caller| engine.mailbox_closed(caller, key));
    assert_eq!((task.woken(), task.kept()), (2, 0), "a waker goes with the session without types");
}
