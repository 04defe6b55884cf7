//! Time: calls that take too long, and what comes late, in every order. The clock moves only where a test moves it.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::json;

use super::desk::messages::{ASK, COUNT, LOOK};
use super::pair::End;
use crate::driver::Endpoint;
use crate::engine::{Sent, Waiter};
use crate::error::{Error, TimeoutKind};
use crate::options::{CallTimeouts, Options};

const SECOND: Duration = Duration::from_secs(1);

fn within(seconds: u32) -> CallTimeouts {
    CallTimeouts { timeout: Some(SECOND * seconds), ..CallTimeouts::default() }
}

/// A call that asks for reports and may take so long.
fn call(client: &End, timeouts: CallTimeouts) -> i64 {
    let id = client.link.speak(|engine, caller| engine.request(caller, ASK, "{}", true, true)).unwrap();
    client.link.with(|engine| engine.calls().limit_call(id, client.now, timeouts));
    client.said();
    id
}

fn error(client: &End, id: i64) -> Error {
    let context = Context::from_waker(Waker::noop());
    match client.link.speak(|engine, caller| engine.calls().poll_call(caller, &context, id)) {
        Poll::Ready(Sent::Done(Err(error))) => error,
        other => panic!("{other:?}"),
    }
}

fn reply(client: &End, id: i64) {
    // In one piece: what comes at the deadline counts as far as it is there.
    client.feed_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"!\"}}\n").as_bytes());
}

fn progress(client: &End, id: i64) {
    client.feed(&format!(r#"{{"jsonrpc":"2.0","method":"progress","params":{{"progressToken":{id}}}}}"#));
}

fn is_idle(client: &End) -> bool {
    client.link.with(|engine| engine.timers.is_empty())
}

#[test]
fn a_call_that_takes_too_long_is_taken_back_and_ends() {
    let mut client = End::ready_client(Options::default());
    assert!(is_idle(&client));
    let id = call(&client, within(5));
    assert_eq!(client.deadline(), Some(client.now + SECOND * 5));
    client.later(SECOND * 5 - Duration::from_nanos(1));
    assert!(client.said().is_empty() && client.outcome(id).is_none());
    client.later(Duration::from_nanos(1));
    let reason = "`ask` was not answered within 5s";
    assert_eq!(
        client.said(),
        [json!({"jsonrpc":"2.0","method":"cancelled","params":{"requestId":id,"reason":reason}})]
    );
    let error = error(&client, id);
    // The peer cannot change the settings of this side.
    let settings = "see `Options::timeout`, and `timeout` of the call";
    assert_eq!(error.to_string(), format!("{reason}: {settings}"));
    assert!(
        matches!(error, Error::Timeout { message, after, what: TimeoutKind::Reply, .. } if message == "Ask" && after == SECOND * 5)
    );
    assert!(is_idle(&client));
}

#[test]
fn what_comes_late_is_harmless_in_every_order() {
    // `taken`: whether the caller has seen the timeout before.
    for taken in [true, false] {
        for late in [[reply as fn(&End, i64), progress], [progress, reply]] {
            let mut client = End::ready_client(Options::default());
            let id = call(&client, within(5));
            client.later(SECOND * 6);
            if taken {
                assert!(matches!(error(&client, id), Error::Timeout { .. }));
            }
            late.iter().for_each(|late| late(&client, id));
            if !taken {
                assert!(matches!(error(&client, id), Error::Timeout { .. }));
            }
            assert_eq!(client.said().len(), 1, "the cancel");
            assert_eq!(client.reports(), [""; 0]);
            assert!(client.link.with(|engine| engine.inbox.calls().is_empty()) && is_idle(&client));
            let after = client.call(LOOK, "null");
            reply(&client, after);
            assert_eq!(client.outcome(after), Some(Ok("\"!\"".to_owned())), "the session lives on");
        }
    }
}

#[test]
fn a_reply_in_time_stops_the_clock() {
    let mut client = End::ready_client(Options::default());
    let id = call(&client, within(5));
    reply(&client, id);
    assert!(is_idle(&client), "also before the caller has seen it");
    client.later(SECOND * 6);
    assert_eq!(client.outcome(id), Some(Ok("\"!\"".to_owned())));
    assert!(client.said().is_empty());
}

#[test]
fn a_reply_that_comes_with_the_deadline_wins() {
    let mut client = End::ready_client(Options::default());
    let id = call(&client, within(5));
    client.now += SECOND * 5;
    reply(&client, id);
    assert_eq!(client.outcome(id), Some(Ok("\"!\"".to_owned())));
    assert!(client.said().is_empty() && is_idle(&client));
}

#[test]
fn a_peer_that_never_stops_talking_cannot_hold_up_the_time() {
    let mut client = End::ready_client(Options::default());
    let id = call(&client, within(5));
    client.now += SECOND * 5;
    // No tick, for the transport is busy.
    client.feed(r#"{"jsonrpc":"2.0","method":"changed"}"#);
    assert!(matches!(error(&client, id), Error::Timeout { .. }));
}

#[test]
fn what_may_not_be_taken_back_ends_too_and_its_reply_is_dropped() {
    for taken in [true, false] {
        let mut client = End::ready_client(Options::default());
        let id = client.call(LOOK, "null");
        client.link.with(|engine| engine.calls().limit_call(id, client.now, within(1)));
        client.said();
        client.later(SECOND);
        if taken {
            assert!(matches!(error(&client, id), Error::Timeout { .. }));
        }
        reply(&client, id);
        if !taken {
            assert!(matches!(error(&client, id), Error::Timeout { .. }));
        }
        assert!(client.said().is_empty() && client.reports().is_empty());
    }
}

#[test]
fn reports_renew_the_time_only_where_they_are_asked_to() {
    let mut client = End::ready_client(Options::default());
    let (plain, renewed) =
        (call(&client, within(5)), call(&client, CallTimeouts { reset_on_progress: true, ..within(5) }));
    client.later(SECOND * 4);
    progress(&client, plain);
    progress(&client, renewed);
    client.later(SECOND);
    let outcomes = [plain, renewed].map(|id| {
        // The reports come first.
        assert!(client.outcome(id).unwrap().unwrap().starts_with("progress"));
        client.outcome(id)
    });
    assert!(matches!(&outcomes, [Some(Err(_)), None]), "{outcomes:?}");
    client.later(SECOND * 3);
    progress(&client, renewed);
    assert!(client.outcome(renewed).unwrap().is_ok());
    client.later(SECOND * 4);
    assert!(client.outcome(renewed).is_none());
    client.later(SECOND);
    assert!(
        matches!(error(&client, renewed), Error::Timeout { after, what: TimeoutKind::Reply, .. } if after == SECOND * 5)
    );
}

#[test]
fn the_most_that_a_call_may_take_is_not_put_off() {
    let mut client = End::ready_client(Options::default());
    let id = call(
        &client,
        CallTimeouts { timeout: Some(SECOND * 2), most: Some(SECOND * 5), reset_on_progress: true },
    );
    for _ in 0..4 {
        client.later(SECOND);
        progress(&client, id);
        assert!(client.outcome(id).unwrap().is_ok());
        assert!(client.outcome(id).is_none());
    }
    client.later(SECOND);
    let error = error(&client, id);
    assert!(
        matches!(error, Error::Timeout { after, what: TimeoutKind::Total, .. } if after == SECOND * 5),
        "{error}"
    );
    assert_eq!(client.said().len(), 1);
}

#[test]
fn letting_go_of_a_call_stops_its_clock() {
    let mut client = End::ready_client(Options::default());
    let id = call(&client, within(5));
    client.link.speak(|engine, caller| engine.let_go(caller, id));
    assert!(is_idle(&client));
    assert_eq!(client.said().len(), 1);
    client.later(SECOND * 9);
    assert!(client.said().is_empty(), "it is cancelled once");
}

#[test]
fn the_end_of_the_session_stops_every_clock() {
    let client = End::ready_client(Options::default());
    let id = call(&client, within(5));
    client.end_input(crate::driver::End::Eof);
    assert!(matches!(error(&client, id), Error::Disconnected { .. }));
    assert!(is_idle(&client));
}

#[test]
fn the_reason_stands_where_the_options_say_or_nowhere() {
    for (field, members) in [(None, 1), (Some("why"), 2), (Some("requestId"), 1)] {
        let mut client = End::ready_client(Options::default().cancel_reason(field));
        let id = call(&client, within(5));
        client.later(SECOND * 5);
        let params = client.said()[0]["params"].clone();
        assert_eq!((&params["requestId"], params.as_object().unwrap().len()), (&json!(id), members));
        assert_eq!(params["why"].is_string(), members == 2);
    }
}

#[test]
fn the_transport_is_woken_for_a_time_only_if_it_sleeps_longer() {
    let woken = std::sync::Arc::new(Count::default());
    let waker = Waker::from(std::sync::Arc::clone(&woken));
    let mut client = End::ready_client(Options::default());
    let count = |client: &End, seconds: u32| {
        // The transport goes to sleep, and a call comes and goes.
        let until = client.link.status(&mut Context::from_waker(&waker)).deadline;
        let before = woken.0.load(std::sync::atomic::Ordering::SeqCst);
        let alarm = client.link.with(|engine| engine.set_alarm(client.now + SECOND * seconds));
        client.link.with(|engine| engine.clear_alarm(alarm));
        (until.is_some(), woken.0.load(std::sync::atomic::Ordering::SeqCst) - before)
    };
    assert_eq!(count(&client, 5), (false, 1));
    let alarm = client.link.with(|engine| engine.set_alarm(client.now + SECOND * 5));
    assert_eq!(count(&client, 6), (true, 0));
    client.link.with(|engine| engine.clear_alarm(alarm));
    assert_eq!(count(&client, 6), (true, 0), "it comes back anyway");
    assert_eq!(count(&client, 4), (true, 1));
    client.later(SECOND * 5);
    assert_eq!(count(&client, 6), (false, 1), "it has come back");
}

#[derive(Default)]
struct Count(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn an_alarm_that_no_task_waits_for_is_gone() {
    let mut client = End::ready_client(Options::default());
    let context = Context::from_waker(Waker::noop());
    let at = client.now + SECOND;
    let (one, two) = client.link.with(|engine| (engine.set_alarm(at), engine.set_alarm(at)));
    assert!(client.link.with(|engine| engine.poll_alarm(&context, one)).is_pending());
    client.link.with(|engine| engine.clear_alarm(one));
    assert_eq!(client.deadline(), Some(at));
    client.later(SECOND);
    assert!(client.link.with(|engine| engine.poll_alarm(&context, two)).is_ready());
    assert!(is_idle(&client));
}

fn count(client: &End) -> i64 {
    let id = client.link.speak(|engine, caller| engine.request(caller, COUNT, "1", false, false)).unwrap();
    client.said();
    id
}

fn debt(client: &End, id: i64) -> Poll<Result<(), Error>> {
    let context = Context::from_waker(Waker::noop());
    client
        .link
        .speak(|engine, caller| engine.calls().poll_abandoned(caller, &context, &mut Waiter::default(), id))
}

#[test]
fn a_debt_is_paid_by_its_reply_or_its_refusal() {
    for answer in [r#""result":5}"#, r#""error":{"code":1,"message":"no"}}"#] {
        let client = End::ready_client(Options::default());
        let id = count(&client);
        assert_eq!(
            client.link.speak(|engine, caller| engine.abandon_exchange(caller, COUNT, id, None, None)),
            Some(id)
        );
        assert!(client.said().is_empty(), "it may not be cancelled");
        assert!(debt(&client, id).is_pending());
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}"#));
        assert!(matches!(debt(&client, id), Poll::Ready(Ok(()))));
        assert!(client.linear().is_none() && client.reports().is_empty(), "the reply reaches no task");
        let second = count(&client);
        client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{second},"result":6}}"#));
        assert!(client.linear().is_some());
    }
}

#[test]
fn a_reply_that_is_there_already_leaves_no_debt() {
    let client = End::ready_client(Options::default());
    let id = count(&client);
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":5}}"#));
    assert_eq!(
        client.link.speak(|engine, caller| engine.abandon_exchange(caller, COUNT, id, None, None)),
        None
    );
    assert!(client.linear().is_none());
}

#[test]
fn a_debt_does_not_outlive_the_session() {
    let client = End::ready_client(Options::default());
    let id = count(&client);
    client.link.speak(|engine, caller| engine.abandon_exchange(caller, COUNT, id, None, None));
    client.end_input(crate::driver::End::Eof);
    assert!(matches!(debt(&client, id), Poll::Ready(Err(Error::Disconnected { .. }))));
}
