//! Timeouts of calls and steps, with a paused clock.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Error, Options, RequestId, StepError, TimeoutKind};
use serde_json::{Value, json};

use super::help_desk::{self, Clerk, Visitor, server};
use super::kitchen::{Chef, Guest, Seated, server as chef};
use super::raw::{Raw, raw, raw_with_room};
use super::watching::Watcher;
use super::{open, open_with};
use mcp_runtime::transport::duplex;

const SECOND: Duration = Duration::from_secs(1);

fn is_overdue(error: &Error, seconds: u32) -> bool {
    matches!(error, Error::Timeout { after, what: TimeoutKind::Reply, .. } if *after == SECOND * seconds)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_reaches_the_handler_as_a_cancel() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let before = tokio::time::Instant::now();
    let handler = async {
        let Some(server::Incoming::Ask(_, responder)) = incoming.next().await else { panic!() };
        responder.context().cancelled().await;
        responder.respond("late".to_owned()).unwrap();
    };
    let (outcome, ()) = tokio::join!(visitor.ask("?".into()).timeout(SECOND * 5), handler);
    let error = outcome.unwrap_err();
    assert!(is_overdue(&error, 5), "{error}");
    assert_eq!(
        error.to_string(),
        "`ask` was not answered within 5s: see `Options::timeout`, and `timeout` of the call"
    );
    assert_eq!(before.elapsed(), SECOND * 5);
    assert_eq!(visitor.ping().timeout(SECOND).await.unwrap(), json!({}), "the session lives on");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_step_says_which_of_the_two_limits_it_reached() {
    for (options, expected) in [
        (Options::default().timeout(SECOND * 3).max_timeout(SECOND * 9), TimeoutKind::Reply),
        (Options::default().timeout(SECOND * 3).max_timeout(SECOND * 3), TimeoutKind::Reply),
        (Options::default().timeout(SECOND * 9).max_timeout(SECOND * 3), TimeoutKind::Total),
        (Options::default().max_timeout(SECOND * 3), TimeoutKind::Total),
    ] {
        let (mut visitor, _clerk) = open_with(options, Options::default()).await;
        let error = visitor.count(1).await.unwrap_err();
        assert!(
            matches!(error, Error::Timeout { after, what, .. } if after == SECOND * 3 && what == expected),
            "{error}"
        );
        let error = visitor.count(1).timeout(SECOND).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_session_can_have_a_limit_for_all_calls_and_each_call_its_own() {
    let (visitor, clerk) = open_with(Options::default().timeout(SECOND * 3), Options::default()).await;
    let _nobody_answers = clerk.incoming();
    let started = tokio::time::Instant::now();
    assert!(is_overdue(&visitor.look(None).await.unwrap_err(), 3));
    assert_eq!(started.elapsed(), SECOND * 3);
    let handle = visitor.handle();
    let (short, long) =
        tokio::join!(visitor.look(None).timeout(SECOND), handle.look(None).timeout(SECOND * 9));
    assert!(is_overdue(&short.unwrap_err(), 1) && is_overdue(&long.unwrap_err(), 9));
    assert_eq!(started.elapsed(), SECOND * 12);
    let forever = visitor.look(None).timeout(Duration::MAX);
    assert!(tokio::time::timeout(SECOND * 1000, forever).await.is_err(), "nothing ends it");
}

#[tokio::test(start_paused = true)]
async fn reports_put_the_end_off_until_the_most_that_a_call_may_take() {
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(Ticking));
    let started = tokio::time::Instant::now();
    let call = visitor.look(None).timeout(SECOND * 2).reset_on_progress().max_timeout(SECOND * 10);
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::Timeout { what: TimeoutKind::Total, .. }), "{error}");
    assert_eq!(started.elapsed(), SECOND * 10);
    let started = tokio::time::Instant::now();
    let call = visitor.look(None).timeout(SECOND * 2).on_progress(|_| ());
    assert!(is_overdue(&call.await.unwrap_err(), 2), "reports alone put nothing off");
    assert_eq!(started.elapsed(), SECOND * 2);
}

/// Reports every second and never answers.
struct Ticking;

impl server::Handler for Ticking {
    async fn look(&self, context: server::Context, _: Option<Value>) -> Result<Value, mcp_runtime::RpcError> {
        assert!(context.wants_progress());
        for step in 1.. {
            tokio::time::sleep(SECOND).await;
            context.send_progress(json!({ "progress": step })).await.unwrap();
        }
        Ok(Value::Null)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_has_its_place_its_id_and_its_time() {
    let (visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let mut one = visitor.ask("1".into()).timeout(SECOND * 5).send().await.unwrap();
    let two = visitor.ask("2".into()).send().await.unwrap();
    assert!(matches!((one.id(), two.id()), (RequestId::Number(1), RequestId::Number(2))));
    let Some(server::Incoming::Ask(first, one_back)) = incoming.next().await else { panic!() };
    let Some(server::Incoming::Ask(second, two_back)) = incoming.next().await else { panic!() };
    assert_eq!((&*first, &*second), ("1", "2"), "in the order in which they were sent");
    two_back.respond("two".into()).unwrap();
    assert_eq!(two.await.unwrap(), "two");
    // The first one is not polled, and is cancelled all the same.
    one_back.context().cancelled().await;
    assert!(is_overdue(&(&mut one).await.unwrap_err(), 5));
    one.canceller().cancel().unwrap();
    // A dropped call is cancelled.
    drop(visitor.ask("3".into()).send().await.unwrap());
    let _four = visitor.ask("4".into()).send().await.unwrap();
    let Some(server::Incoming::Ask(third, three_back)) = incoming.next().await else { panic!() };
    assert_eq!(third, "4", "a request that was cancelled before it was taken is gone");
    drop(three_back);
}

#[tokio::test]
async fn reports_can_be_taken_one_by_one() {
    let (visitor, clerk) = open().await;
    test_support::spawn(clerk.incoming().serve(super::cancelling_calls::Reporting));
    let mut look = visitor.look(None).with_progress().send().await.unwrap();
    let mut steps = Vec::new();
    while let Some(report) = look.progress().await {
        steps.push(report["step"].as_u64().unwrap());
    }
    assert_eq!(steps, [1, 2, 3]);
    look.await.unwrap();
}

/// A guest who is seated, over a wire that the test speaks on.
async fn seated(options: Options) -> (Guest<Seated>, Raw) {
    let (wire, mut peer) = raw();
    let guest = Guest::with_options(wire, options);
    let seating = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{}})).await;
    };
    let (seated, ()) = tokio::join!(guest.table(json!({})), seating);
    (seated.unwrap().1, peer)
}

#[tokio::test(start_paused = true)]
async fn a_cancellable_step_is_cancelled_after_its_timeout() {
    for dropped in [true, false] {
        let (mut guest, mut peer) = seated(Options::default()).await;
        if dropped {
            assert!(tokio::time::timeout(SECOND, guest.cook("soup".into())).await.is_err());
        } else {
            assert!(is_overdue(&guest.cook("soup".into()).timeout(SECOND).await.unwrap_err(), 1));
        }
        assert_eq!(peer.hear().await.unwrap()["method"], json!("cook"));
        let stop = peer.hear().await.unwrap();
        assert_eq!((&stop["method"], &stop["params"]["requestId"]), (&json!("stop"), &json!(1)));
        assert_eq!(stop["params"].get("reason").is_some(), !dropped, "{stop}");
        // The next step does not wait for the reply, which comes late and between.
        let late = async {
            assert_eq!(peer.hear().await.unwrap()["params"], json!("bread"));
            peer.say(json!({"jsonrpc":"2.0","id":1,"result":"late soup"})).await;
            peer.say(json!({"jsonrpc":"2.0","id":2,"result":"bread"})).await;
        };
        let (meal, ()) = tokio::join!(guest.cook("bread".into()), late);
        assert_eq!(meal.unwrap(), "bread");
    }
}

#[tokio::test(start_paused = true)]
async fn an_uncancellable_step_leaves_an_abandoned_reply() {
    for dropped in [true, false] {
        let (mut guest, mut peer) = seated(Options::default()).await;
        if dropped {
            assert!(tokio::time::timeout(SECOND, guest.bill()).await.is_err());
        } else {
            assert!(is_overdue(&guest.bill().timeout(SECOND).await.unwrap_err(), 1));
        }
        assert_eq!(peer.hear().await.unwrap()["id"], json!(1));
        // As long as it is not paid the next step is not written.
        let error = guest.cook("soup".into()).timeout(SECOND).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { what: TimeoutKind::EarlierReply, .. }), "{error}");
        peer.say(json!({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}})).await;
        let cooking = async {
            let cook = peer.hear().await.unwrap();
            assert_eq!((&cook["id"], &cook["params"]), (&json!(2), &json!("bread")));
            peer.say(json!({"jsonrpc":"2.0","id":2,"result":"bread"})).await;
        };
        let (meal, ()) = tokio::join!(guest.cook("bread".into()), cooking);
        assert_eq!(meal.unwrap(), "bread");
        let guest = guest.send_leave().await.unwrap();
        drop(guest.close());
        assert_eq!(peer.hear().await.unwrap()["method"], json!("leave"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_waits_for_its_turn_can_be_cancelled() {
    let (mut guest, mut peer) = seated(Options::default()).await;
    assert!(tokio::time::timeout(SECOND, guest.bill()).await.is_err());
    assert_eq!(peer.hear().await.unwrap()["method"], json!("bill"));
    let mut soup = guest.cook("soup".into());
    let canceller = soup.canceller();
    // In a task of its own, so that nothing but the canceller wakes the step, which waits by then.
    test_support::spawn(async move {
        tokio::time::sleep(SECOND).await;
        canceller.cancel().unwrap();
    });
    // If no task is woken, only the clock moves.
    let before = tokio::time::Instant::now();
    let outcome = tokio::time::timeout(SECOND * 60, soup).await.expect("it is woken");
    assert!(matches!(outcome, Err(Error::Cancelled)));
    assert_eq!(before.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_leads_on_ends_the_session_and_is_never_cancelled() {
    for dropped in [true, false] {
        let (wire, mut peer) = raw();
        let guest = Guest::new(wire);
        if dropped {
            assert!(tokio::time::timeout(SECOND, guest.table(json!({}))).await.is_err());
        } else {
            let Err(StepError::Ended(error)) = guest.table(json!({})).timeout(SECOND).await else { panic!() };
            assert!(is_overdue(&error, 1), "{error}");
        }
        assert_eq!(peer.hear().await.unwrap()["method"], json!("table"));
        assert_eq!(peer.hear().await, None, "no cancel, and the end of the stream");
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_session_holds_for_steps_in_one_and_in_two() {
    let options = || Options::default().timeout(SECOND * 2);
    let (mut guest, _peer) = seated(options()).await;
    assert!(is_overdue(&guest.bill().await.unwrap_err(), 2));
    let (guest, _peer) = seated(options()).await;
    let waiting = guest.send_bill().await.unwrap();
    let Err(error) = waiting.recv_amount().await else { panic!() };
    assert!(is_overdue(&Error::from(error), 2));
    // An input other than a reply has no timeout.
    let (_here, there) = duplex();
    let chef = Chef::with_options(there, options());
    assert!(tokio::time::timeout(SECOND * 1000, chef.recv_table()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_not_awaited_indefinitely() {
    let (wire, mut peer) = raw_with_room(256);
    let visitor = Visitor::with_options(wire, Options::default().output_high_water(300).timeout(SECOND * 2));
    let shaking = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}})).await;
    };
    let (greeted, ()) = tokio::join!(visitor.hello(json!({})), shaking);
    let mut visitor = greeted.unwrap().1.send_ready().await.unwrap();
    // The transport takes the first one, and nothing more as long as it is not rid of that.
    let (long, short) = ("x".repeat(100_000), "x".repeat(1000));
    let first = visitor.handle().ask(long.clone()).timeout(Duration::MAX).send().await.unwrap();
    tokio::task::yield_now().await;
    visitor.send_note(short.clone()).await.unwrap();
    let error = visitor.ask("?".into()).timeout(SECOND * 3).await.unwrap_err();
    assert!(
        matches!(error, Error::Timeout { after, what: TimeoutKind::Write, .. } if after == SECOND * 3),
        "{error}"
    );
    let error = visitor.count(1).timeout(SECOND).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { what: TimeoutKind::Write, .. }), "{error}");
    // What has no reply has the time of the session.
    let started = tokio::time::Instant::now();
    assert!(has_no_room(&visitor.send_bell(1).await.unwrap_err(), "bell"));
    assert!(has_no_room(&visitor.send_note("late".into()).await.unwrap_err(), "note"));
    assert_eq!(started.elapsed(), SECOND * 4);
    // When it reads again, it finds nothing of what was given up, and the value is where it was.
    assert_eq!(peer.hear().await.unwrap()["method"], json!("ready"));
    assert_eq!(peer.hear().await.unwrap()["params"], json!(long));
    assert_eq!(peer.hear().await.unwrap()["params"], json!(short));
    drop(first);
    assert_eq!(peer.hear().await.unwrap()["method"], json!("cancelled"));
    visitor.send_note("on".into()).await.unwrap();
    assert_eq!(peer.hear().await.unwrap()["method"], json!("note"));
}

/// Whether it was not written within the two seconds that a session has for it.
fn has_no_room(error: &Error, method: &str) -> bool {
    let expected = format!(
        "`{method}` could not be written, because the peer does not read: gave up after 2s: see `Options::timeout` and \
         `Options::max_timeout`"
    );
    matches!(error, Error::Timeout { what: TimeoutKind::Write, .. }) && error.to_string() == expected
}

fn little_room() -> Options {
    Options::default().output_high_water(300).timeout(SECOND * 2)
}

#[tokio::test(start_paused = true)]
async fn nor_is_it_for_a_sub_session_that_is_opened() {
    let (wire, mut peer) = raw_with_room(256);
    let watcher = Watcher::with_options(wire, little_room());
    let shaking = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{}})).await;
    };
    let (watcher, ()) = tokio::join!(watcher.hello(), shaking);
    let watcher = watcher.unwrap();
    let document = |name: &str| json!({"document": {"uri": name}});
    let _long = watcher.send_did_open(document(&"x".repeat(100_000))).await.unwrap();
    tokio::task::yield_now().await;
    let _short = watcher.send_did_open(document(&"x".repeat(1000))).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = watcher.send_did_open(document("late")).await.unwrap_err();
    assert!(has_no_room(&error, "textDocument/didOpen"), "{error}");
    let error = watcher.subscribe(json!({"uri": "late"})).await.unwrap_err();
    assert!(has_no_room(&error, "resources/subscribe"), "{error}");
    assert_eq!(started.elapsed(), SECOND * 4);
    // What was given up is not open, so that it can be opened now.
    for _ in 0..2 {
        assert!(peer.hear().await.unwrap()["params"]["document"]["uri"].as_str().unwrap().starts_with("xx"));
    }
    let _late = watcher.send_did_open(document("late")).await.unwrap();
    assert_eq!(peer.hear().await.unwrap()["params"], document("late"));
}

#[tokio::test(start_paused = true)]
async fn nor_is_it_for_a_handler_that_reports() {
    let (wire, mut peer) = raw_with_room(256);
    let clerk = Clerk::with_options(wire, little_room());
    peer.say(json!({"jsonrpc":"2.0","id":0,"method":"hello","params":{}})).await;
    let clerk = clerk.recv_hello().await.unwrap().1.send_welcome(json!({})).await.unwrap();
    peer.hear().await.unwrap();
    let incoming = clerk.incoming();
    let meta = json!({"progressToken": "t"});
    peer.say(json!({"jsonrpc":"2.0","id":1,"method":"look","params":{"_meta": meta}})).await;
    let Some(server::Incoming::Look(_, responder)) = incoming.next().await else { panic!() };
    let report = |progress: u32, length: usize| json!({"progress": progress, "text": "x".repeat(length)});
    let context = responder.context();
    context.report(help_desk::messages::PROGRESS, &report(1, 100_000)).await.unwrap();
    tokio::task::yield_now().await;
    context.report(help_desk::messages::PROGRESS, &report(2, 1000)).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = context.report(help_desk::messages::PROGRESS, &report(3, 0)).await.unwrap_err();
    assert!(has_no_room(&error, "progress"), "{error}");
    assert_eq!(started.elapsed(), SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn nor_is_it_without_types() {
    let (wire, mut peer) = raw_with_room(256);
    let mut visitor = CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Client, little_room());
    let shaking = async {
        peer.hear().await.unwrap();
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}})).await;
    };
    let hello = json!({});
    let (greeted, ()) = tokio::join!(visitor.call::<_, Value>("hello", &hello), shaking);
    greeted.unwrap();
    visitor.notify("ready", &()).await.unwrap();
    let (long, short) = ("x".repeat(100_000), "x".repeat(1000));
    visitor.notify("note", &long).await.unwrap();
    tokio::task::yield_now().await;
    visitor.notify("note", &short).await.unwrap();
    let started = tokio::time::Instant::now();
    // On a replicated channel, and on a linear one.
    assert!(has_no_room(&visitor.call::<_, Value>("ask", "?").await.unwrap_err(), "ask"));
    assert!(has_no_room(&visitor.call::<_, u32>("count", &1).await.unwrap_err(), "count"));
    assert!(has_no_room(&visitor.request("look", &()).await.unwrap_err(), "look"));
    assert!(has_no_room(&visitor.request("count", &1).await.unwrap_err(), "count"));
    assert!(has_no_room(&visitor.notify("bell", &1).await.unwrap_err(), "bell"));
    assert!(has_no_room(&visitor.notify("note", "late").await.unwrap_err(), "note"));
    assert_eq!(started.elapsed(), SECOND * 12);
    // The time of a call is one, for what it waits before it is written and for its reply.
    let reading = async {
        tokio::time::sleep(SECOND).await;
        for method in ["ready", "note", "note", "count"] {
            assert_eq!(peer.hear().await.unwrap()["method"], json!(method));
        }
    };
    let started = tokio::time::Instant::now();
    let (late, ()) = tokio::join!(visitor.call::<_, u32>("count", &1), reading);
    assert!(is_overdue(&late.unwrap_err(), 2));
    assert_eq!(started.elapsed(), SECOND * 2);
}

#[tokio::test]
async fn a_select_can_wait_for_an_input_without_taking_it() {
    let (here, there) = duplex();
    let (guest, chef) = (Guest::new(here), Chef::new(there));
    let seating = async {
        let (_, chef) = chef.recv_table().await.unwrap();
        chef.send_seat(json!({})).await.unwrap()
    };
    let (guest, mut chef) = tokio::join!(guest.table(json!({})), seating);
    let (mut guest, served) = (guest.unwrap().1, Arc::new(Mutex::new(0)));
    let count = Arc::clone(&served);
    let cooking = test_support::spawn(async move {
        let mut bells = tokio::sync::mpsc::unbounded_channel::<()>();
        bells.0.send(()).unwrap();
        loop {
            tokio::select! {
                biased;
                // Loses each time that there is a bell, and nothing is lost by that.
                Some(()) = bells.1.recv() => *count.lock().unwrap() += 1,
                () = chef.readable() => match chef.next().await.unwrap() {
                    chef::SeatedNext::Cook(dish, cook) => {
                        chef = cook.send_meal(dish).await.unwrap();
                        bells.0.send(()).unwrap();
                    }
                    chef::SeatedNext::Bill(bill) => chef = bill.send_amount(1).await.unwrap(),
                    chef::SeatedNext::Leave(_) => return,
                },
            }
        }
    });
    assert_eq!(guest.cook("soup".into()).await.unwrap(), "soup");
    assert_eq!(guest.cook("bread".into()).await.unwrap(), "bread");
    guest.send_leave().await.unwrap().close().await.unwrap();
    cooking.await.unwrap();
    assert_eq!(*served.lock().unwrap(), 3);
}

/// A waker that knows of no other, also of none of the same task.
struct Anew(Waker);

impl Wake for Anew {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// Polls a future with a waker of its own each time, and counts.
async fn polls<F: Future>(future: F) -> (F::Output, usize) {
    let (mut future, mut polls) = (pin!(future), 0);
    let output = poll_fn(|context| {
        polls += 1;
        assert!(polls < 100, "a task that waits wakes itself");
        let waker = Waker::from(Arc::new(Anew(context.waker().clone())));
        future.as_mut().poll(&mut Context::from_waker(&waker))
    });
    (output.await, polls)
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_polled_only_when_something_has_come() {
    let (mut visitor, clerk) = open().await;
    let incoming = clerk.incoming();
    let answers = async {
        let Some(server::Incoming::Look(_, responder)) = incoming.next().await else { panic!() };
        tokio::time::sleep(SECOND * 3).await;
        responder.respond(json!(1)).unwrap();
    };
    let ((looked, ()), count) = polls(async { tokio::join!(visitor.look(None), answers) }).await;
    assert_eq!(looked.unwrap(), json!(1));
    assert!(count < 10, "a call with a limit of time, and a handler: {count} polls");
    let steps = async {
        let call = visitor.look(None).timeout(SECOND);
        assert!(is_overdue(&call.await.unwrap_err(), 1));
        visitor.count(5).timeout(SECOND * 3).await.unwrap_err();
    };
    let ((), count) = polls(steps).await;
    assert!(count < 10, "a call and a step that take too long: {count} polls");
    let waits = async { tokio::join!(clerk.readable(), clerk.ended(), incoming.next(), incoming.next()) };
    let (passed, count) = polls(tokio::time::timeout(SECOND, waits)).await;
    assert!(passed.is_ok() || count < 10, "{count} polls");
}
