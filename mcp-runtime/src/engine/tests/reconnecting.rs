//! Sessions that the peer has lost, and that are opened again: nothing of the lost one goes on.

use std::task::{Context, Poll, Waker};

use mcp_protocol_machine::protocol::Side;
use mcp_protocol_machine::{About, RequestId, SubSessionNumber};
use serde_json::json;

use super::desk::messages::{ASK, BELL, CHANGED, LOOK, PROGRESS};
use super::messages::{feed, watched};
use super::pair::End;
use super::watching::messages::{SUBSCRIBE, UNSUBSCRIBE};
use super::{parcels, watching};
use crate::driver::{Delivery, Endpoint, Epoch, MessageKind, Place, RequestTag, TransportEvent};
use crate::engine::{Arrived, Link, Verdict, Waiter};
use crate::error::Error;
use crate::options::Options;

impl End {
    /// The beginning of a desk's session is said once more.
    fn reconnect(&self) {
        let hello =
            json!({"jsonrpc":"2.0","id":0,"method":"hello","params":{"capabilities":{"approval":{}}}});
        let welcome = json!({"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":true}}});
        self.link.notify(TransportEvent::Reconnected {
            request: hello.to_string().as_bytes(),
            reply: welcome.to_string().as_bytes(),
        });
        assert!(self.reports().iter().any(|report| report.contains("reconnected")));
    }

    /// What a handler of a request works with.
    fn part(&self, arrived: &Arrived) -> Link {
        self.link.within(arrived.epoch).about(arrived.id.clone())
    }

    fn sub_session(&self, sub_session: SubSessionNumber) -> Poll<Result<(), String>> {
        let context = Context::from_waker(Waker::noop());
        let polled = self.link.speak(|engine, caller| {
            engine
                .inbox()
                .poll_input(caller, &context, &mut Waiter::default(), Some(sub_session), |_| Verdict::Take)
        });
        polled.map(|taken| taken.map(drop).map_err(|error| error.to_string()))
    }
}

fn approve(id: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "approve", "params": "?" }).to_string()
}

fn lost<T>(told: Result<T, Error>) -> bool {
    matches!(told, Err(Error::SessionReplaced))
}

/// A client that attends to what comes.
fn attended() -> End {
    let client = End::ready_client(Options::default());
    client.link.with(|engine| engine.attend(None));
    client
}

/// A client of subscriptions that has shaken hands.
fn watcher() -> End {
    let watcher = End::past_hello(&watching::PROTOCOL, watching::messages::HELLO);
    watcher.said();
    watcher
}

#[test]
fn an_id_of_the_lost_session_is_free_and_its_handler_answers_no_request() {
    let client = attended();
    client.feed(&approve(0));
    let before = client.incoming().unwrap();
    client.reconnect();
    client.feed(&approve(0));
    let after = client.incoming().expect("the id was used in the lost session only");
    let (old, new) = (client.part(&before), client.part(&after));
    let id = RequestId::Number(0);
    assert!(lost(old.speak(|engine, caller| engine.reply_result(caller, &id, "false"))));
    assert!(client.said().is_empty(), "the new request is not answered by the old one's handler");
    new.speak(|engine, caller| engine.reply_result(caller, &id, "true")).unwrap();
    assert_eq!(client.said(), [json!({"jsonrpc":"2.0","id":0,"result":true})]);
}

#[test]
fn what_comes_in_another_session_than_the_one_that_runs_is_not_taken() {
    let client = attended();
    let _kept = watched(&client);
    let come = |epoch, id| {
        let message = approve(id);
        let delivery = Delivery::message(message.as_bytes()).tagged(RequestTag(1)).in_epoch(epoch);
        client.link.receive(delivery, client.now).requests
    };
    let (first, second) = (Epoch::FIRST, Epoch::FIRST.next());
    assert_eq!((come(second, 0), come(first, 1)), (0, 1));
    client.reconnect();
    assert_eq!((come(first, 2), come(second, 3)), (0, 1));
    assert_eq!(client.incoming().unwrap().id, Some(RequestId::Number(3)));
    assert!(client.incoming().is_none());
}

#[test]
fn what_waits_to_be_worked_on_is_dropped_and_what_was_told_is_not() {
    let client = attended();
    client.feed(&approve(0));
    client.feed(r#"{"jsonrpc":"2.0","method":"changed"}"#);
    client.reconnect();
    assert_eq!(client.incoming().unwrap().message, CHANGED);
    assert!(client.incoming().is_none());
    assert!(client.said().is_empty());
    assert_eq!(client.link.with(|engine| engine.open_requests()), (0, 0));
}

#[test]
fn a_handler_of_the_lost_session_says_nothing_in_the_new_one() {
    let client = attended();
    client.feed(&approve(0));
    let arrived = client.incoming().unwrap();
    let handler = client.part(&arrived);
    let asked = handler.speak(|engine, caller| engine.request(caller, ASK, "\"?\"", false, true)).unwrap();
    let context = Context::from_waker(Waker::noop());
    let waits = || {
        handler.speak(|engine, caller| {
            engine.poll_cancelled(caller, &context, &mut Waiter::default(), arrived.id.as_ref())
        })
    };
    assert!(waits().is_pending());
    client.said();
    client.reconnect();
    assert!(waits().is_ready());
    // Another request with its id does not make it wait again.
    client.feed(&approve(0));
    assert!(waits().is_ready());
    assert_eq!(client.outcome(asked), Some(Err(Error::SessionReplaced.to_string())));
    assert!(!client.link.with(|engine| engine.awaits(asked)), "it is not to be made once more");
    assert!(lost(handler.speak(|engine, caller| engine.request(caller, ASK, "\"?\"", false, true))));
    assert!(lost(handler.speak(|engine, caller| engine.notification(caller, BELL, "1", About::Nothing))));
    assert!(client.said().is_empty());
    // What is sent for every epoch belongs to none.
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", About::Nothing)).unwrap();
    assert_eq!(client.said().len(), 1);
}

#[test]
fn a_call_that_has_heard_nothing_stays_for_the_transport_to_make_once_more() {
    let client = attended();
    let (again, failed) = (client.call(ASK, "\"1\""), client.call(ASK, "\"2\""));
    client.reconnect();
    assert!(client.link.with(|engine| engine.awaits(again)) && client.outcome(again).is_none());
    client.link.notify(TransportEvent::RequestFailed { id: failed, error: Error::SessionReplaced });
    assert_eq!(client.outcome(failed), Some(Err(Error::SessionReplaced.to_string())));
    client.feed(&json!({"jsonrpc":"2.0","id":again,"result":"fine"}).to_string());
    assert_eq!(client.outcome(again), Some(Ok("\"fine\"".to_owned())));
    assert_eq!(client.reports(), [""; 0]);
}

#[test]
fn a_call_that_no_task_waits_for_is_not_made_once_more() {
    let client = attended();
    let id = client.link.speak(|engine, caller| engine.request(caller, LOOK, "null", false, true)).unwrap();
    // It cannot be cancelled, so its reply would have been dropped.
    client.link.speak(|engine, caller| engine.let_go(caller, id));
    assert!(client.link.with(|engine| engine.awaits(id)));
    client.reconnect();
    assert!(!client.link.with(|engine| engine.awaits(id)));
}

#[test]
fn sub_sessions_are_over_their_keys_free_and_letting_go_of_them_says_nothing() {
    let watcher = watcher();
    let open = |uri: &str| {
        let written = json!({ "uri": uri }).to_string();
        watcher
            .link
            .speak(|engine, caller| engine.open_sub_session(caller, SUBSCRIBE, &written, true))
            .unwrap()
            .0
    };
    let updated = json!({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}});
    let old = open("a");
    watcher.feed(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(watcher.sub_session(old), Poll::Ready(Ok(())));
    watcher.feed(&updated.to_string());
    watcher.said();
    watcher.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
    assert_eq!(watcher.sub_session(old), Poll::Ready(Ok(())), "what came before still counts");
    let told = Poll::Ready(Err(Error::SessionReplaced.to_string()));
    assert_eq!(watcher.sub_session(old), told);
    // What comes late for the lost one reaches no task.
    watcher.reports();
    watcher.feed(&updated.to_string());
    assert_eq!(watcher.reports().len(), 1);
    let new = open("a");
    assert_eq!(watcher.said().len(), 1);
    watcher.link.speak(|engine, caller| engine.leave_sub_session(caller, old));
    assert!(watcher.said().is_empty(), "there is nothing to cancel");
    watcher.feed(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    watcher.feed(&updated.to_string());
    for _ in 0..2 {
        assert_eq!(watcher.sub_session(new), Poll::Ready(Ok(())));
    }
    assert_eq!((watcher.sub_session(new), watcher.reports().len()), (Poll::Pending, 0));
}

#[test]
fn a_sub_session_that_has_heard_nothing_is_opened_once_more() {
    let watcher = watcher();
    let (sub_session, _) = watcher
        .link
        .speak(|engine, caller| engine.open_sub_session(caller, SUBSCRIBE, r#"{"uri":"a"}"#, true))
        .unwrap();
    watcher.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
    assert!(watcher.link.with(|engine| engine.awaits(1)));
    assert_eq!(watcher.sub_session(sub_session), Poll::Pending);
    watcher.feed(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(watcher.sub_session(sub_session), Poll::Ready(Ok(())));
}

#[test]
fn of_a_lost_sub_session_without_a_value_nothing_is_kept() {
    let reader = End::past_hello(&parcels::PROTOCOL, parcels::messages::HELLO);
    reader.link.with(|engine| engine.attend(None));
    let say = |method: &str| {
        reader.feed(&json!({"jsonrpc":"2.0","method":method,"params":{"parcel":"a"}}).to_string());
    };
    for _ in 0..3 {
        say("opened");
        say("piece");
        assert_eq!(reader.link.with(|engine| engine.sub_sessions_kept()), (1, 1));
        reader.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
        assert_eq!(reader.link.with(|engine| engine.sub_sessions_kept()), (0, 0));
        assert!(reader.incoming().is_none());
    }
    // One that has a value keeps what came before.
    say("opened");
    say("piece");
    reader.incoming().unwrap();
    reader.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
    assert_eq!(reader.link.with(|engine| engine.sub_sessions_kept()), (1, 1));
}

#[test]
fn a_debt_of_a_lost_sub_session_is_paid() {
    let watcher = watcher();
    let (sub_session, _) = watcher
        .link
        .speak(|engine, caller| engine.open_sub_session(caller, SUBSCRIBE, r#"{"uri":"a"}"#, true))
        .unwrap();
    watcher.feed(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let meant = mcp_protocol_machine::Meant::SubSession(sub_session);
    let asked = |engine: &mut crate::engine::Engine, caller| {
        let (id, _) = engine.ask(caller, UNSUBSCRIBE, r#"{"uri":"a"}"#, false, false, meant)?;
        Ok::<_, Error>(engine.abandon_exchange(caller, UNSUBSCRIBE, id, Some(sub_session), None))
    };
    let debt = watcher.link.speak(asked).unwrap().expect("it cannot be cancelled");
    let context = Context::from_waker(Waker::noop());
    let owes = || {
        watcher.link.speak(|engine, caller| {
            engine.calls().poll_abandoned(caller, &context, &mut Waiter::default(), debt)
        })
    };
    assert!(owes().is_pending());
    watcher.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
    assert!(matches!(owes(), Poll::Ready(Ok(()))));
    assert!(!watcher.link.with(|engine| engine.awaits(debt)));
}

#[test]
fn the_transport_learns_what_belongs_to_the_lost_session() {
    let client = attended();
    let kept = watched(&client);
    feed(&client, &approve(7), 1);
    let handler = client.part(&client.incoming().unwrap());
    let asked = client.call(ASK, "\"?\"");
    handler.speak(|engine, caller| engine.request(caller, ASK, "\"?\"", false, true)).unwrap();
    handler.speak(|engine, caller| engine.reply_result(caller, &RequestId::Number(7), "true")).unwrap();
    client.link.speak(|engine, caller| engine.cancel(caller, asked, None)).unwrap();
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", About::Nothing)).unwrap();
    let bound: Vec<bool> = kept.said().iter().map(|(_, kind, _)| kind.is_bound()).collect();
    assert_eq!(bound, [false, true, true, true, false]);
    feed(&client, &approve(8), 2);
    client.reconnect();
    assert_eq!(kept.settled(), [1, 2]);
    client.link.speak(|engine, caller| engine.notification(caller, BELL, "1", About::Nothing)).unwrap();
    let kinds: Vec<MessageKind> = kept.said().into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, [MessageKind::Notification { place: Place::Replicated }]);
    assert_eq!(kept.epoch(), Epoch::FIRST.next());
}

#[test]
fn reports_on_what_the_lost_session_asked_are_of_no_use() {
    let client = attended();
    let asked = r#"{"jsonrpc":"2.0","id":0,"method":"approve","params":"?","_meta":{}}"#;
    client.feed(asked);
    let arrived = client.incoming().unwrap();
    let token = RequestId::Number(1);
    client.reconnect();
    let handler = client.part(&arrived);
    let report = |engine: &mut crate::engine::Engine, caller| {
        engine.report_on(caller, PROGRESS, r#"{"progress":1}"#, &token, arrived.id.as_ref())
    };
    assert!(lost(handler.speak(report)));
    assert!(client.said().is_empty());
}

#[test]
fn where_the_peer_waits_for_a_step_no_beginning_leads() {
    let server = End::server();
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"capabilities":{}}}"#);
    server.linear().unwrap();
    server.link.notify(TransportEvent::Reconnected { request: b"", reply: b"" });
    let ended = server.link.speak(|engine, caller| engine.lifecycle().closed(caller)).unwrap().to_string();
    assert!(ended.contains("cannot be repeated"), "{ended}");
}

#[test]
fn a_batch_belongs_to_the_session_of_whoever_says_it() {
    let mut protocol = super::desk::PROTOCOL.clone();
    protocol.batch = true;
    let client = End::over(protocol, Side::Client, Options::default());
    client.shake_hands();
    client.link.with(|engine| engine.attend(None));
    let kept = watched(&client);
    feed(&client, &approve(7), 1);
    let handler = client.part(&client.incoming().unwrap());
    for link in [&client.link, &handler] {
        let said = link.speak(|engine, caller| {
            engine.batched(caller, |engine, caller| {
                engine.notification(caller, BELL, "1", About::Nothing).map(drop).unwrap()
            })
        });
        said.unwrap();
    }
    let kinds: Vec<MessageKind> = kept.said().into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, [MessageKind::Several { bound: false }, MessageKind::Several { bound: true }]);
    assert_eq!(kinds.iter().map(MessageKind::is_bound).collect::<Vec<_>>(), [false, true]);
}
