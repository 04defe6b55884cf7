//! How sessions end: whatever ends one, and whatever is under way, no task is left waiting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use serde_json::json;

use super::desk::messages::{ASK, BELL, LOOK};
use super::pair::End;
use crate::driver::{End as InputEnd, Endpoint, Finish, Outcome, TransportEvent};
use crate::engine::{Engine, Waiter};
use crate::error::{DisconnectReason, Error};
use crate::options::Options;

#[test]
fn closing_writes_what_is_left_and_drops_what_comes() {
    let client = End::ready_client(Options::default());
    let call = client.call(LOOK, "null");
    client.link.with(|engine| engine.value_closed());
    assert_eq!(client.outcome(call), Some(Err("the session is closed".to_owned())));
    let (bytes, then) = client.output();
    assert!(!bytes.is_empty(), "the call was written before");
    assert_eq!(then, Some(Finish::Complete));
    client.feed(&format!(r#"{{"jsonrpc":"2.0","id":{call},"result":1}}"#));
    client.feed(r#"{"jsonrpc":"2.0","id":1,"method":"approve","params":"?"}"#);
    client.feed("garbage");
    assert!(client.reports().is_empty() && client.output().0.is_empty());
    assert!(matches!(
        client.link.speak(|engine, caller| engine.request(caller, LOOK, "null", false, true)),
        Err(Error::Closed)
    ));
    client.end_input(InputEnd::Eof);
    client.link.notify(TransportEvent::Terminated(Outcome::Closed));
    let context = Context::from_waker(Waker::noop());
    assert!(matches!(
        client.link.with(|engine| engine.poll_terminated(&context, &mut Waiter::default())),
        Poll::Ready(Ok(Outcome::Closed))
    ));
}

#[test]
fn what_the_peer_has_told_before_its_end_still_counts() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    server.end_input(InputEnd::Eof);
    assert_eq!(server.output().1, Some(Finish::Complete), "nothing is owed, so the transport may go");
    server.link.notify(TransportEvent::Terminated(Outcome::Closed));
    assert_eq!(server.incoming().map(|arrived| arrived.message), Some(BELL));
    assert!(server.incoming().is_none());

    // What it has asked cannot be answered once nothing can be written.
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#);
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    server.link.notify(TransportEvent::OutputFailed(io::ErrorKind::BrokenPipe.into()));
    assert_eq!(server.incoming().map(|arrived| arrived.message), Some(BELL));
    assert!(server.incoming().is_none());
}

#[test]
fn a_peer_that_asks_and_closes_gets_its_answers() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#);
    server.feed_bytes(br#"{"jsonrpc":"2.0","id":2,"method":"look"}"#);
    server.end_input(InputEnd::Eof);
    assert_eq!(server.output().1, None);
    for id in 1..=2 {
        let look = server.incoming().unwrap();
        server.link.speak(|engine, caller| engine.reply_result(caller, &look.id.unwrap(), "7")).unwrap();
        assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":id,"result":7})]);
    }
    assert_eq!(server.output().1, Some(Finish::Complete));
    assert!(matches!(
        server.link.speak(|engine, caller| engine.lifecycle().closed(caller)),
        Some(Error::Disconnected { .. })
    ));
}

#[test]
fn a_peer_that_closes_and_does_not_read_its_answers_has_closed_the_connection() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#);
    server.end_input(InputEnd::Eof);
    server.link.notify(TransportEvent::OutputFailed(io::ErrorKind::BrokenPipe.into()));
    assert_eq!(server.output().1, Some(Finish::Complete));
    let closed = server.link.speak(|engine, caller| engine.lifecycle().closed(caller));
    assert!(
        matches!(closed, Some(Error::Disconnected { reason: DisconnectReason::PeerClosed })),
        "{closed:?}"
    );
}

#[test]
fn a_dropped_value_does_not_take_the_answers_with_it() {
    let server = End::ready_server(Options::default());
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"look"}"#);
    server.feed(r#"{"jsonrpc":"2.0","id":2,"method":"count","params":1}"#);
    let look = server.incoming().unwrap();
    server.end_input(InputEnd::Eof);
    server.link.with(|engine| engine.value_dropped(true));
    assert_eq!(server.output().1, None, "the handler works on");
    server.link.speak(|engine, caller| engine.reply_result(caller, &look.id.unwrap(), "7")).unwrap();
    let (bytes, then) = server.output();
    assert!(!bytes.is_empty());
    assert_eq!(then, Some(Finish::Complete), "what only the value could answer is waited for no more");
}

#[test]
fn a_vanishing_peer_fails_every_call_with_the_reason() {
    let client = End::ready_client(Options::default());
    let calls: Vec<_> = (0..3).map(|_| client.call(ASK, "\"?\"")).collect();
    client.end_input(InputEnd::Failed(io::Error::other("cable cut")));
    for call in calls {
        let error = client.outcome(call).unwrap().unwrap_err();
        assert!(error.contains("cable cut"), "{error}");
    }
    assert_eq!(client.output().1, Some(Finish::Complete));
}

#[test]
fn a_failing_output_ends_the_session() {
    let client = End::ready_client(Options::default());
    let call = client.call(ASK, "\"?\"");
    client.link.notify(TransportEvent::OutputFailed(io::Error::from(io::ErrorKind::BrokenPipe)));
    assert!(client.outcome(call).unwrap().is_err());
    client.link.notify(TransportEvent::Terminated(Outcome::Dropped));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_transport_that_was_told_the_end_still_hears_of_what_follows() {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let server = End::ready_server(Options::default());
    server.end_input(InputEnd::Eof);
    // Notice for the first time, and told again: the waker is kept each time.
    for rung in 1..=2 {
        assert_eq!(server.link.status(&mut context).finish, Some(Finish::Complete));
        assert_eq!(bell.0.load(Ordering::Relaxed), rung - 1);
        if rung == 1 {
            server.link.with(|engine| engine.value_dropped(true));
        } else {
            server.link.with(|engine| engine.close());
        }
        assert_eq!(bell.0.load(Ordering::Relaxed), rung);
    }
}

#[test]
fn output_that_cannot_be_written_is_not_waited_for() {
    let about = mcp_protocol_machine::About::Nothing;
    for (act, stuck) in [(Engine::close as fn(&mut Engine), Some(Finish::Complete)), (Engine::abandon, None)]
    {
        let client = End::ready_client(Options::default());
        client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).unwrap();
        client.link.with(act);
        assert_eq!(client.finish(), stuck);
        let context = Context::from_waker(Waker::noop());
        let drained =
            || client.link.with(|engine| engine.poll_drained(&context, &mut Waiter::default())).is_ready();
        assert_eq!(drained(), stuck.is_none(), "an abandoned session is not waited for");
        client.link.notify(TransportEvent::OutputFailed(io::Error::from(io::ErrorKind::BrokenPipe)));
        assert!(client.finish().is_some() && drained());
    }
}

#[test]
fn a_peer_that_does_not_read_ends_the_session_and_not_the_memory() {
    let mut options = Options::default();
    options.output_limit = 1000;
    let server = End::ready_server(options);
    for id in 0..200 {
        server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nothing"}}"#));
    }
    let error = server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).unwrap().to_string();
    assert!(error.contains("does not read"), "{error}");
    assert!(server.output().0.is_empty());
}

#[test]
fn writers_wait_for_room() {
    let mut options = Options::default();
    options.output_high_water = 50;
    let client = End::ready_client(options);
    let context = Context::from_waker(Waker::noop());
    let about = mcp_protocol_machine::About::Nothing;
    let room = |client: &End| {
        client.link.with(|engine| engine.poll_room(&context, &mut Waiter::default())).is_ready()
    };
    assert!(room(&client));
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).unwrap();
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "2", about)).unwrap();
    assert!(!room(&client));
    client.said();
    assert!(room(&client));
}

#[test]
fn an_abandoned_session_writes_what_it_was_given_for_a_while() {
    let mut client = End::ready_client(Options::default());
    let about = mcp_protocol_machine::About::Nothing;
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).unwrap();
    client.link.with(|engine| engine.value_dropped(true));
    assert_eq!(client.finish(), None, "it is on its way");
    assert_eq!(client.output().1, Some(Finish::Abandoned));

    client = End::ready_client(Options::default());
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).unwrap();
    client.link.with(|engine| engine.value_dropped(true));
    assert_eq!(client.finish(), None, "the transport is stuck");
    assert!(client.deadline().is_some());
    client.later(Duration::ZERO);
    client.later(Duration::from_secs(1));
    assert_eq!(client.finish(), Some(Finish::Abandoned));
}

#[test]
fn the_protocol_in_which_nothing_is_said_can_be_followed() {
    for side in [mcp_protocol_machine::protocol::Side::Client, mcp_protocol_machine::protocol::Side::Server] {
        crate::engine::Engine::idle(side, Default::default());
    }
}
