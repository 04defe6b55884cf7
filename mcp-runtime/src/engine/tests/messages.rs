//! Transports that carry messages: what each message is about.

use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use mcp_protocol_machine::About;
use mcp_protocol_machine::protocol::{Field, Side, VersionField};
use serde_json::{Value, json};

use super::desk::messages::{APPROVE, ASK, CHANGED, HELLO, WELCOME};
use super::pair::End;
use super::watching;
use super::watching::messages::{SUBSCRIBE, UNSUBSCRIBE};
use crate::driver::{
    Delivery, Endpoint, Epoch, MessageKind, Outgoing, Outlet, OutletNotice, Place, RequestTag, TransportEvent,
};
use crate::engine::Waiter;
use crate::error::{DisconnectReason, Error};
use crate::options::{CallTimeouts, Options};

/// Keeps what it is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
pub(super) struct Seen {
    said: Vec<(Value, MessageKind, Option<u64>)>,
    epoch: Epoch,
    /// The requests that were accepted and are not settled.
    open: Vec<u64>,
    settled: Vec<u64>,
    hung_up: Vec<u64>,
    not_awaited: Vec<i64>,
    none_awaited: bool,
    waiting: usize,
}

impl Kept {
    pub(super) fn said(&self) -> Vec<(Value, MessageKind, Option<u64>)> {
        std::mem::take(&mut self.0.lock().unwrap().said)
    }

    /// The epoch in which something was said last.
    pub(super) fn epoch(&self) -> Epoch {
        self.0.lock().unwrap().epoch
    }

    /// The requests that were accepted and are not settled.
    pub(super) fn open(&self) -> Vec<u64> {
        self.0.lock().unwrap().open.clone()
    }

    pub(super) fn settled(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap().settled)
    }
}

impl Outlet for Kept {
    fn take(&mut self, outgoing: Outgoing<'_>, _: &mut dyn FnMut(Waker)) -> usize {
        let message = serde_json::from_slice(outgoing.message).unwrap();
        let about = outgoing.in_reply_to.map(|RequestTag(number)| number);
        let mut seen = self.0.lock().unwrap();
        seen.said.push((message, outgoing.kind, about));
        seen.epoch = outgoing.epoch;
        seen.waiting
    }

    fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
        let mut seen = self.0.lock().unwrap();
        match notice {
            OutletNotice::Settled(RequestTag(number)) => {
                let place = seen.open.iter().position(|open| *open == number);
                seen.open.swap_remove(place.expect("a request is accepted before it is settled, once"));
                seen.settled.push(number);
            }
            OutletNotice::ReleaseConnection(RequestTag(number)) => seen.hung_up.push(number),
            OutletNotice::NotAwaited(id) => seen.not_awaited.push(id),
            OutletNotice::NoneAwaited => seen.none_awaited = true,
            OutletNotice::Accepted(RequestTag(number)) => seen.open.push(number),
            OutletNotice::PeerStepped | OutletNotice::Discarded => {}
        }
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().waiting
    }

    fn routes(&self) -> bool {
        true
    }
}

pub(super) fn watched(end: &End) -> Kept {
    let kept = Kept::default();
    end.attach(Box::new(kept.clone()));
    kept
}

/// Feeds a message under a name; how many requests in it were accepted, and whether it was refused.
pub(super) fn feed(end: &End, message: &str, name: u64) -> (usize, bool) {
    let received = end.link.receive(Delivery::message(message.as_bytes()).tagged(RequestTag(name)), end.now);
    (received.requests, received.refused.is_some())
}

fn ask(id: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ask", "params": "?" }).to_string()
}

#[test]
fn what_was_written_before_the_transport_had_its_say_is_not_lost() {
    let client = End::new(Side::Client, Options::default());
    client
        .link
        .speak(|engine, caller| engine.request(caller, HELLO, r#"{"capabilities":{}}"#, false, false))
        .unwrap();
    let said = watched(&client).said();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].0["method"], "hello");
    assert_eq!(said[0].1, MessageKind::Request { id: 0, place: Place::OnlyStep });
    assert!(client.said().is_empty(), "it does not come as bytes, too");
}

#[test]
fn the_version_that_was_agreed_on_is_read_where_the_protocol_says() {
    let mut protocol = super::desk::PROTOCOL.clone();
    protocol.version_field =
        Some(VersionField::Message(Field::new(WELCOME, vec!["speaks".into(), "version".into()].into())));
    let client = End::over(protocol, Side::Client, Options::default().accept_any_version());
    let hello = r#"{"capabilities":{}}"#;
    client.link.speak(|engine, caller| engine.request(caller, HELLO, hello, false, false)).unwrap();
    let welcome = json!({
        "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": "1", "speaks": { "version": "2" } }
    });
    assert_eq!(client.link.read_aside(welcome.to_string().as_bytes()).version.as_deref(), Some("2"));
    assert_eq!(client.link.info().agreed_version, None, "it was only looked at");
    client.feed(&welcome.to_string());
    assert_eq!(client.link.info().agreed_version.as_deref(), Some("2"));
}

#[test]
fn replies_and_whatever_a_handler_says_are_about_what_it_works_on() {
    let server = End::ready_server(Options::default());
    let kept = watched(&server);
    assert_eq!(feed(&server, &ask(1), 10), (1, false));
    // Laid out over several lines, which no stream could carry.
    assert_eq!(feed(&server, &ask(2).replace(',', ",\n"), 20), (1, false));
    let (one, two) = (server.incoming().unwrap(), server.incoming().unwrap());
    let second = server.link.about(two.id.clone());
    second.speak(|engine, caller| engine.request(caller, APPROVE, "\"really?\"", false, true)).unwrap();
    server.link.speak(|engine, caller| engine.notification(caller, CHANGED, "null", About::Nothing)).unwrap();
    server
        .link
        .speak(|engine, caller| engine.reply_result(caller, one.id.as_ref().unwrap(), "\"!\""))
        .unwrap();
    assert_eq!(kept.settled(), [10]);
    server
        .link
        .speak(|engine, caller| engine.reply_result(caller, two.id.as_ref().unwrap(), "\"!\""))
        .unwrap();
    second.speak(|engine, caller| engine.notification(caller, CHANGED, "null", About::Nothing)).unwrap();
    assert_eq!(kept.settled(), [20]);
    let about: Vec<_> = kept.said().into_iter().map(|(_, _, about)| about).collect();
    assert_eq!(
        about,
        [Some(20), None, Some(10), Some(20), None],
        "what is said after the answer is about nothing"
    );
}

#[test]
fn a_handler_may_release_its_connection_until_it_has_answered() {
    let server = End::ready_server(Options::default());
    let kept = watched(&server);
    feed(&server, &ask(1), 10);
    let id = server.incoming().unwrap().id.unwrap();
    let release_connection = || {
        server.link.with(|engine| engine.release_connection(&id));
        std::mem::take(&mut kept.0.lock().unwrap().hung_up)
    };
    assert_eq!(release_connection(), [10]);
    assert_eq!(release_connection(), [10], "it goes on");
    server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"!\"")).unwrap();
    assert_eq!(release_connection(), [0; 0]);
}

#[test]
fn what_cannot_be_taken_is_answered_where_it_came_from() {
    let server = End::ready_server(Options::default());
    let kept = watched(&server);
    assert_eq!(feed(&server, &ask(1), 1), (1, false));
    for (name, message) in [(2, "{"), (4, r#"{"jsonrpc":"2.0","id":9,"method":"nothing"}"#)] {
        assert_eq!(feed(&server, message, name).0, 0);
        let said = kept.said();
        assert_eq!((said.len(), said[0].1, said[0].2), (1, MessageKind::Error, Some(name)), "{said:?}");
    }
    assert_eq!(feed(&server, &ask(1), 3), (0, true), "an error would be taken for the reply to the first");
    assert_eq!(feed(&server, r#"{"jsonrpc":"2.0","method":"ready"}"#, 5), (0, true));
    assert_eq!(feed(&server, r#"{"jsonrpc":"2.0","method":"nothing"}"#, 6), (0, false));
    assert!(kept.said().is_empty() && kept.settled().is_empty());
}

#[test]
fn a_request_that_is_taken_back_is_settled() {
    let server = End::ready_server(Options::default());
    let kept = watched(&server);
    feed(&server, &ask(1), 1);
    feed(&server, &ask(2), 2);
    let begun = server.incoming().unwrap();
    for id in [1, 2] {
        feed(
            &server,
            &json!({"jsonrpc":"2.0","method":"cancelled","params":{"requestId":id}}).to_string(),
            3,
        );
    }
    assert_eq!(kept.settled(), [1, 2]);
    // Its handler knows nothing of that yet; its answer is not wanted.
    server
        .link
        .speak(|engine, caller| engine.reply_result(caller, begun.id.as_ref().unwrap(), "\"!\""))
        .unwrap();
    assert!(kept.said().is_empty() && kept.settled().is_empty());
}

#[test]
fn what_the_transport_holds_back_makes_callers_wait() {
    let server = End::ready_server(Options::default().output_high_water(100));
    let kept = watched(&server);
    let mut context = std::task::Context::from_waker(Waker::noop());
    assert!(server.link.with(|engine| engine.poll_room(&context, &mut Waiter::default())).is_ready());
    kept.0.lock().unwrap().waiting = 101;
    server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#);
    assert!(server.link.with(|engine| engine.poll_room(&context, &mut Waiter::default())).is_pending());
    kept.0.lock().unwrap().waiting = 0;
    server.link.notify(TransportEvent::Wrote);
    assert!(server.link.with(|engine| engine.poll_room(&context, &mut Waiter::default())).is_ready());
    let _ = server.link.status(&mut context);
}

#[test]
fn a_call_that_was_not_delivered_fails_alone() {
    let client = End::ready_client(Options::default());
    watched(&client);
    let (lost, other) = (client.call(ASK, "\"1\""), client.call(ASK, "\"2\""));
    assert!(client.link.with(|engine| engine.awaits(lost)));
    client.link.notify(TransportEvent::RequestFailed { id: lost, error: Error::SessionInvalid });
    assert_eq!(client.outcome(lost), Some(Err(Error::SessionInvalid.to_string())));
    assert!(
        !client.link.with(|engine| engine.awaits(lost)) && client.link.with(|engine| engine.awaits(other))
    );
    // Should its reply come after all, no task waits for it; and to fail twice is to fail once.
    client.link.notify(TransportEvent::RequestFailed { id: lost, error: Error::SessionInvalid });
    feed(&client, &json!({"jsonrpc":"2.0","id":other,"result":"fine"}).to_string(), 0);
    assert_eq!(client.outcome(other), Some(Ok("\"fine\"".to_owned())));
}

#[test]
fn the_transport_hears_when_no_task_waits_for_a_reply_any_more() {
    let mut client = End::ready_client(Options::default());
    let kept = watched(&client);
    let heard = || std::mem::take(&mut kept.0.lock().unwrap().not_awaited);
    let calls: Vec<i64> = (0..6).map(|_| client.call(ASK, "\"?\"")).collect();
    assert_eq!(heard(), [0; 0]);
    // It is answered, well or not; cancelled; dropped; late; or not delivered.
    feed(&client, &json!({"jsonrpc":"2.0","id":calls[0],"result":"fine"}).to_string(), 0);
    assert_eq!(heard(), [calls[0]]);
    feed(&client, &json!({"jsonrpc":"2.0","id":calls[1],"error":{"code":1,"message":"no"}}).to_string(), 0);
    assert_eq!(heard(), [calls[1]]);
    client.link.speak(|engine, caller| engine.cancel(caller, calls[2], None)).unwrap();
    assert_eq!(heard(), [calls[2]]);
    client.link.speak(|engine, caller| engine.let_go(caller, calls[3]));
    assert_eq!(heard(), [calls[3]]);
    let now = client.now;
    let timeouts = CallTimeouts { timeout: Some(Duration::from_secs(1)), ..CallTimeouts::default() };
    client.link.with(|engine| engine.calls().limit_call(calls[4], now, timeouts));
    client.later(Duration::from_secs(2));
    assert_eq!(heard(), [calls[4]]);
    client.link.notify(TransportEvent::RequestFailed { id: calls[5], error: Error::SessionInvalid });
    assert_eq!(heard(), [calls[5]]);
    assert!(!kept.0.lock().unwrap().none_awaited);
    client.call(ASK, "\"?\"");
    client.link.with(|engine| engine.end(DisconnectReason::PeerClosed));
    assert!(kept.0.lock().unwrap().none_awaited && heard().is_empty());
}

#[test]
fn the_transport_hears_as_well_when_the_end_of_a_sub_session_leaves_requests_unanswered() {
    let watcher = End::past_hello(&watching::PROTOCOL, watching::messages::HELLO);
    let kept = watched(&watcher);
    let heard = || {
        let mut ids = std::mem::take(&mut kept.0.lock().unwrap().not_awaited);
        ids.dedup();
        ids
    };
    let subscribed = || {
        let written = r#"{"uri":"a"}"#;
        watcher
            .link
            .speak(|engine, caller| engine.open_sub_session(caller, SUBSCRIBE, written, true))
            .unwrap()
            .0
    };
    let sub_session = subscribed();
    feed(&watcher, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 0);
    assert_eq!(heard(), [1]);
    let meant = mcp_protocol_machine::Meant::SubSession(sub_session);
    let leave = |engine: &mut crate::engine::Engine, caller| {
        engine.ask(caller, UNSUBSCRIBE, r#"{"uri":"a"}"#, false, false, meant).map(|(id, _)| id)
    };
    assert_eq!(watcher.link.speak(leave).unwrap(), 2);
    assert_eq!(heard(), [0; 0]);
    // The value of the sub-session is gone, and the request that opened it is cancelled: nothing of it will be
    // answered.
    watcher.link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
    assert_eq!(heard(), [2, 1]);
    // Where only the request that opened it waits, it is that one.
    let sub_session = subscribed();
    watcher.link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
    assert_eq!(heard(), [3]);
}

#[test]
fn messages_that_the_value_of_a_sub_session_had_not_read_are_a_report_for_each_name() {
    let watcher = End::past_hello(&watching::PROTOCOL, watching::messages::HELLO);
    let written = r#"{"uri":"a"}"#;
    let opened =
        watcher.link.speak(|engine, caller| engine.open_sub_session(caller, SUBSCRIBE, written, true));
    let sub_session = opened.unwrap().0;
    watcher.feed(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    for _ in 0..3 {
        watcher.feed(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}}"#);
    }
    watcher.reports();
    watcher.link.speak(|engine, caller| engine.leave_sub_session(caller, sub_session));
    let cause = "the handler or the value that would have taken it was dropped";
    let reports =
        [format!("`Subscribed` was dropped: {cause}"), format!("3 messages `Updated` were dropped: {cause}")];
    assert_eq!(watcher.reports(), reports);
}
