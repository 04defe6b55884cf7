//! Closing while handlers work, and how many requests may be unanswered.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_protocol_machine::RequestId;
use serde_json::json;

use super::desk::messages::{APPROVE, BELL, PROGRESS};
use super::pair::End;
use crate::driver::{Endpoint, Finish, TransportEvent};
use crate::engine::{Arrived, Waiter};
use crate::options::Options;

const SECOND: Duration = Duration::from_secs(1);

fn ask(server: &End, id: i64) {
    server.feed(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"ask","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
    ));
}

fn is_cancelled(server: &End, id: &RequestId) -> bool {
    server.link.speak(|engine, caller| engine.is_cancelled(caller, Some(id)))
}

/// A server that works on a request, the other of two waiting, and then closes.
fn closing(options: Options) -> (End, RequestId) {
    let server = End::ready_server(options);
    ask(&server, 1);
    ask(&server, 2);
    let id = server.incoming().unwrap().id.unwrap();
    server.link.with(|engine| engine.close());
    (server, id)
}

#[test]
fn what_is_worked_on_is_answered_after_the_close() {
    let (server, id) = closing(Options::default());
    assert!(server.output().1.is_none(), "the transport stays");
    assert!(!is_cancelled(&server, &id));
    assert!(server.incoming().is_none(), "what no handler has begun is dropped");
    server.feed(r#"{"jsonrpc":"2.0","id":3,"method":"ask","params":"?"}"#);
    assert!(server.incoming().is_none(), "and so is what comes");
    let refused = server.link.speak(|engine, caller| engine.request(caller, APPROVE, "\"?\"", false, true));
    assert_eq!(refused.unwrap_err().to_string(), "the session is closed");
    let about = mcp_protocol_machine::About::Nothing;
    assert!(server.link.speak(|engine, caller| engine.notification(caller, BELL, "1", about)).is_err());
    let report = r#"{"progress":1}"#;
    server
        .link
        .speak(|engine, caller| engine.report_on(caller, PROGRESS, report, &RequestId::Number(1), Some(&id)))
        .unwrap();
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"done\"")).unwrap();
    assert_eq!(
        server.said(),
        [
            json!({"jsonrpc":"2.0","method":"progress","params":{"progress":1,"progressToken":1}}),
            json!({"jsonrpc":"2.0","id":1,"result":"done"}),
        ]
    );
    assert_eq!(server.output().1, Some(Finish::Complete));
    assert_eq!(server.deadline(), None);
}

#[test]
fn handlers_have_their_grace_and_no_more() {
    let (mut server, id) = closing(Options::default().close_grace(SECOND * 3));
    server.later(Duration::ZERO);
    assert_eq!(server.deadline(), Some(server.now + SECOND * 3));
    server.later(SECOND * 3);
    assert!(is_cancelled(&server, &id));
    assert_eq!(server.output().1, Some(Finish::Complete));
    assert!(server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"late\"")).is_err());
    assert!(server.said().is_empty());
}

#[test]
fn without_grace_the_session_is_closed_at_once() {
    let (server, id) = closing(Options::default().close_grace(Duration::ZERO));
    assert!(is_cancelled(&server, &id));
    assert_eq!(server.output().1, Some(Finish::Complete));
    // So it is where no handler runs.
    let server = End::ready_server(Options::default());
    ask(&server, 1);
    server.link.with(|engine| engine.close());
    assert_eq!(server.output().1, Some(Finish::Complete));
}

#[test]
fn a_transport_that_fails_ends_the_grace() {
    let (server, id) = closing(Options::default());
    server.link.notify(TransportEvent::OutputFailed(std::io::ErrorKind::BrokenPipe.into()));
    assert!(is_cancelled(&server, &id));
    let (server, id) = closing(Options::default());
    server.link.notify(TransportEvent::Terminated(crate::driver::Outcome::Dropped));
    assert!(is_cancelled(&server, &id));
}

#[test]
fn a_peer_that_has_said_everything_gets_its_answers_from_a_side_that_closes() {
    let server = End::ready_server(Options::default());
    ask(&server, 1);
    let id = server.incoming().unwrap().id.unwrap();
    server.end_input(crate::driver::End::Eof);
    server.link.with(|engine| engine.close());
    assert!(server.output().1.is_none());
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"done\"")).unwrap();
    assert_eq!(server.said().len(), 1);
    assert_eq!(server.output().1, Some(Finish::Complete));
}

#[test]
fn one_request_too_many_is_refused_and_notifications_are_not() {
    let server = End::ready_server(Options::default().max_requests(2));
    (0..4).for_each(|id| ask(&server, id));
    let refused = server.said();
    assert_eq!(refused.len(), 2);
    assert_eq!((&refused[0]["id"], &refused[0]["error"]["code"]), (&json!(2), &json!(-32000)), "{refused:?}");
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    let arrived: Vec<_> = std::iter::from_fn(|| server.incoming()).collect();
    assert_eq!(arrived.len(), 3);
    assert_eq!(server.reports().len(), 2);
    server
        .link
        .speak(|engine, caller| engine.reply_result(caller, arrived[0].id.as_ref().unwrap(), "\"!\""))
        .unwrap();
    ask(&server, 9);
    assert!(server.incoming().is_some(), "one was answered");
}

fn served(server: &End, handlers: usize, notified: bool) -> Option<Arrived> {
    let context = Context::from_waker(Waker::noop());
    let key = server.link.with(|engine| engine.inbox().dispatcher_began(None));
    let mut waiter = Waiter::default();
    let polled =
        server.link.with(|engine| engine.inbox().poll_served(&context, &mut waiter, key, handlers, notified));
    server.link.with(|engine| engine.inbox().dispatcher_left(key));
    match polled {
        Poll::Ready(arrived) => arrived,
        Poll::Pending => None,
    }
}

#[test]
fn a_request_of_this_side_makes_room_for_one_of_the_peer() {
    let server = End::ready_server(Options::default().max_handlers(1));
    (1..4).for_each(|id| ask(&server, id));
    assert_eq!(served(&server, 0, false).unwrap().id, Some(RequestId::Number(1)));
    assert!(served(&server, 1, false).is_none());
    let back = server.call(APPROVE, "\"?\"");
    assert_eq!(served(&server, 1, false).unwrap().id, Some(RequestId::Number(2)));
    assert!(served(&server, 2, false).is_none());
    server.feed(&format!(r#"{{"jsonrpc":"2.0","id":{back},"result":true}}"#));
    assert!(served(&server, 1, false).is_none(), "the room is gone with the reply");
    assert_eq!(served(&server, 0, false).unwrap().id, Some(RequestId::Number(3)));
}

#[test]
fn neither_kind_of_input_waits_for_the_other() {
    let server = End::ready_server(Options::default().max_handlers(1));
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":1}"#);
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":2}"#);
    ask(&server, 1);
    ask(&server, 2);
    server.feed(r#"{"jsonrpc":"2.0","method":"bell","params":3}"#);
    let payload = |arrived: Option<Arrived>| arrived.unwrap().payload.unwrap();
    assert_eq!(&*payload(served(&server, 0, false)), "1");
    assert_eq!(served(&server, 0, true).unwrap().id, Some(RequestId::Number(1)), "past the second bell");
    assert!(served(&server, 1, true).is_none());
    assert_eq!(&*payload(served(&server, 1, false)), "2");
    assert_eq!(&*payload(served(&server, 1, false)), "3", "past the second request");
    assert_eq!(served(&server, 0, false).unwrap().id, Some(RequestId::Number(2)));
}

#[test]
fn reports_must_say_more_each_time() {
    let server = End::ready_server(Options::default().progress_field(Some("done")));
    ask(&server, 1);
    let id = server.incoming().unwrap().id.unwrap();
    let report = |text: &str| {
        server.link.speak(|engine, caller| {
            engine.report_on(caller, PROGRESS, text, &RequestId::Number(1), Some(&id))
        })
    };
    report(r#"{"done":0.5}"#).unwrap();
    for no_more in [r#"{"done":0.5}"#, r#"{"done":0}"#] {
        let error = report(no_more).unwrap_err();
        assert!(error.to_string().contains("after 0.5: each report must say more"), "{error}");
    }
    report(r#"{"progress":0.1}"#).expect("the number stands in another member");
    report(r#"{"done":1}"#).unwrap();
    assert_eq!(server.said().len(), 3);
}

#[test]
fn handlers_for_a_peer_that_has_said_everything_have_their_time_and_no_more() {
    let mut server = End::ready_server(Options::default().answer_grace(SECOND * 60));
    ask(&server, 1);
    ask(&server, 2);
    let (first, second) = (server.incoming().unwrap().id.unwrap(), server.incoming().unwrap().id.unwrap());
    assert_eq!(server.deadline(), None);
    server.end_input(crate::driver::End::Eof);
    server.later(SECOND);
    assert_eq!(server.deadline(), Some(server.now + SECOND * 60));
    server.later(SECOND * 59);
    assert!(!is_cancelled(&server, &first));
    server.link.speak(|engine, caller| engine.reply_result(caller, &first, "\"in time\"")).unwrap();
    server.later(SECOND);
    assert!(is_cancelled(&server, &second), "a task that waits for the peer learns that it is over");
    assert_eq!(server.deadline(), None);
    assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":1,"result":"in time"})]);
    assert_eq!(server.output().1, Some(Finish::Complete));
    let error =
        server.link.speak(|engine, caller| engine.reply_result(caller, &second, "\"late\"")).unwrap_err();
    assert_eq!(error.to_string(), "the session has ended: the peer closed the connection");
}
