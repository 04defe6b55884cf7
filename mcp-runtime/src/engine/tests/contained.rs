//! What the program gave: closures that panic, and closures that own a part of the session.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::Side;
use mcp_protocol_machine::{ProtocolRef, SubSessionNumber};
use serde_json::json;

use super::garden::messages::DIG;
use super::pair::End;
use super::{desk, garden};
use crate::driver::{Delivery, Endpoint, SharedLimits};
use crate::engine::{Engine, Link, Sent, Verdict, Waiter};
use crate::options::Options;

/// An owner of a bed that is dug, under the id 0, and may still be reported on.
fn dug() -> (End, SubSessionNumber) {
    let owner = End::over(&garden::PROTOCOL, Side::Client, Options::default());
    let (id, sub_session, _) = owner
        .link
        .speak(|engine, caller| engine.call_sub_session(caller, DIG, r#"{"bed":"a"}"#, true))
        .unwrap();
    owner.feed(r#"{"jsonrpc":"2.0","id":0,"result":"deep"}"#);
    let context = Context::from_waker(Waker::noop());
    let polled = owner.link.speak(|engine, caller| engine.calls().poll_call(caller, &context, id));
    assert!(matches!(polled, Poll::Ready(Sent::Done(Ok(_)))));
    owner.said();
    (owner, sub_session)
}

fn progress(step: u32) -> String {
    json!({"jsonrpc":"2.0","method":"progress","params":{"progressToken":0,"step":step}}).to_string()
}

/// Asks the session when it is dropped, as the values of a session do.
struct Asks(Link, mpsc::Sender<()>);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.with(|engine| engine.lifecycle().epoch());
        self.1.send(()).unwrap();
    }
}

/// Has a closure dropped in a way; it owns a part of the session.
fn is_dropped_unlocked(
    way: impl FnOnce(&Link, SubSessionNumber, &mut dyn FnMut(&Link, SubSessionNumber)) + Send + 'static,
) {
    let (owner, sub_session) = dug();
    let (told, dropped) = mpsc::channel();
    // In a thread of its own, which a lock that is taken twice would stop for good.
    thread::spawn(move || {
        let mut listen = |link: &Link, sub_session: SubSessionNumber| {
            let owned = Asks(owner.link.clone(), told.clone());
            let on_progress = Box::new(move |_: &str| {
                let _ = &owned;
                Ok(())
            });
            link.with(|engine| engine.inbox().listen_to(sub_session, on_progress));
        };
        way(&owner.link, sub_session, &mut listen);
    });
    dropped.recv_timeout(Duration::from_secs(20)).expect("it is dropped, and not under the lock");
}

#[test]
fn the_listener_of_a_sub_session_is_dropped_with_its_value_and_unlocked() {
    is_dropped_unlocked(|link, sub_session, listen| {
        listen(link, sub_session);
        link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
    });
}

#[test]
fn the_listener_of_a_sub_session_without_a_value_is_dropped_unlocked() {
    is_dropped_unlocked(|link, sub_session, listen| {
        link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
        listen(link, sub_session);
    });
}

#[test]
fn a_listener_that_is_replaced_is_dropped_unlocked() {
    is_dropped_unlocked(|link, sub_session, listen| {
        listen(link, sub_session);
        link.with(|engine| engine.inbox().listen_to(sub_session, Box::new(|_| Ok(()))));
    });
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_panic_of_a_listener_ends_the_hearing_alone() {
    let (owner, sub_session) = dug();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let waiting = Context::from_waker(&waker);
    let mut waiter = Waiter::default();
    let polled = owner.link.speak(|engine, caller| {
        engine.inbox().poll_input(caller, &waiting, &mut waiter, Some(sub_session), |_| Verdict::Take)
    });
    assert!(polled.is_pending());
    let heard = Arc::new(AtomicUsize::new(0));
    let (hears, wakes) = (Arc::clone(&heard), Arc::clone(&woken));
    let on_progress = move |_: &str| {
        hears.fetch_add(1, Ordering::SeqCst);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "the task that waits is woken before");
        panic!("too deep")
    };
    owner.link.with(|engine| engine.inbox().listen_to(sub_session, Box::new(on_progress)));
    let grown = json!({"jsonrpc":"2.0","method":"bed/grown","params":{"bed":"a"}});
    // Both in one piece, so that both follow from it.
    owner.feed_bytes(format!("{}\n{grown}\n", progress(1)).as_bytes());
    assert_eq!(owner.reports(), ["the handler of `Dig` panicked: too deep"]);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    owner.feed(&progress(2));
    assert_eq!((owner.reports().len(), heard.load(Ordering::SeqCst)), (0, 1), "it hears no more");
    let mut waiter = Waiter::default();
    let polled = owner.link.speak(|engine, caller| {
        engine.inbox().poll_input(caller, &waiting, &mut waiter, Some(sub_session), |_| Verdict::Take)
    });
    assert!(matches!(polled, Poll::Ready(Ok(Some(_)))));
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("broken");
    }
}

#[test]
fn a_panic_of_what_is_let_go_of_is_reported_as_well() {
    let (owner, sub_session) = dug();
    let owned = Fragile;
    let on_progress = move |_: &str| {
        let _ = &owned;
        Ok(())
    };
    owner.link.with(|engine| engine.inbox().listen_to(sub_session, Box::new(on_progress)));
    owner.link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
    assert_eq!(owner.reports(), ["the handler of `Dig` panicked: broken"]);
}

#[test]
fn a_panic_of_the_reader_of_reports_ends_nothing() {
    let told = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&told);
    let options = Arc::new(Options::default().on_report(move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        panic!("enough")
    }));
    let protocol = ProtocolRef::Static(&desk::PROTOCOL);
    let engine = Engine::new(protocol.clone(), Side::Server, Arc::clone(&options)).unwrap();
    let link = Link::new(engine, protocol, Side::Server, options, SharedLimits::default());
    for times in 1..3 {
        link.receive(Delivery::message(b"no message"), Instant::now());
        assert_eq!(told.load(Ordering::SeqCst), times);
    }
    assert!(link.speak(|engine, caller| engine.lifecycle().closed(caller)).is_none());
}
