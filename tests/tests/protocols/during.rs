//! Messages that are permitted only while certain requests of the peer run, as log messages of MCP's latest revision are.

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RpcError, ViolationKind};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::Notify;

mod logging {
    mcp_runtime::protocol!("protocols/logging.session");
}

use logging::client::Incoming;
use logging::{Guest, LoggingError, Start, Waiter, server};

/// Params that ask for log messages.
fn logged() -> Value {
    json!({"_meta": {"io.modelcontextprotocol/logLevel": "debug"}})
}

fn log(data: &str) -> Value {
    json!({"data": data})
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn result(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

/// The sentence of the violation that a message is.
fn refused(outcome: Result<(), LoggingError>) -> String {
    let Err(Error::NotPermitted(violation)) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(violation.kind, ViolationKind::NotDuring { .. }), "{violation}");
    violation.to_string()
}

/// Answers when the test says so.
#[derive(Default)]
struct Patient {
    came: Notify,
    answer: Notify,
}

impl server::Handler for Arc<Patient> {
    async fn search(&self, _: server::Context, _: Value) -> Result<Value, RpcError> {
        self.came.notify_one();
        self.answer.notified().await;
        Ok(json!({}))
    }

    async fn order(&self, _: server::Context, _: Value) -> Result<Value, RpcError> {
        self.came.notify_one();
        self.answer.notified().await;
        Ok(json!({}))
    }
}

#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl Reports {
    fn options(&self) -> Options {
        let reports = Arc::clone(&self.0);
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.to_string()))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

const OUTSIDE: &str = "`notifications/message` is permitted only while `shop/search` or `shop/order` of the client is \
    running with params that fit `if _meta.\"io.modelcontextprotocol/logLevel\"`, and none is: send it before the reply \
    to such a request";

#[tokio::test]
async fn both_sides_agree_on_when_a_message_may_be_sent() {
    let (ours, theirs) = duplex();
    let (reports, patient) = (Reports::default(), Arc::new(Patient::default()));
    let guest: Guest<Start> = Guest::with_options(ours, reports.options());
    let waiter: Waiter<Start> = Waiter::with_options(theirs, reports.options());
    let serving = test_support::spawn(waiter.incoming().serve(Arc::clone(&patient)));
    let queue = guest.incoming();
    let heard = async || match queue.next().await {
        Some(Incoming::LogMessage(params)) => params["data"].clone(),
        other => panic!("{}", other.is_some()),
    };
    assert_eq!(refused(waiter.send_log_message(log("before")).await), OUTSIDE);
    assert!(waiter.permits(logging::messages::LOG_MESSAGE).is_err());
    assert!(matches!(waiter.ask(json!({})).await, Err(Error::NotPermitted(_))));

    // A request that does not ask for log messages permits none, and one that does permits them next to it.
    let plain = test_support::spawn(guest.handle().search(json!({"query": "tea"})));
    patient.came.notified().await;
    assert_eq!(refused(waiter.send_log_message(log("not wanted")).await), OUTSIDE);
    let first = test_support::spawn(guest.handle().search(logged()));
    patient.came.notified().await;
    waiter.send_log_message(log("one")).await.unwrap();
    assert_eq!(heard().await, "one");
    let second = test_support::spawn(guest.handle().order(logged()));
    patient.came.notified().await;
    waiter.send_log_message(log("two")).await.unwrap();
    assert_eq!(heard().await, "two");

    // A request can be permitted in this way, too.
    let asking = test_support::spawn(waiter.handle().ask(json!({})));
    let Some(Incoming::Ask(_, responder)) = queue.next().await else { panic!("nothing is asked") };
    responder.respond(json!({})).unwrap();
    asking.await.unwrap().unwrap();

    // The handlers wait in the order in which they came.
    patient.answer.notify_one();
    plain.await.unwrap().unwrap();
    patient.answer.notify_one();
    first.await.unwrap().unwrap();
    waiter.send_log_message(log("three")).await.unwrap();
    assert_eq!(heard().await, "three");
    patient.answer.notify_one();
    second.await.unwrap().unwrap();
    assert_eq!(refused(waiter.send_log_message(log("after")).await), OUTSIDE);
    assert!(matches!(waiter.ask(json!({})).await, Err(Error::NotPermitted(_))));
    assert_eq!(reports.all(), [""; 0]);
    drop((guest, waiter));
    serving.abort();
}

/// The next message of a method: its id.
async fn next(peer: &mut Raw, method: &str) -> Value {
    let message = peer.hear().await.unwrap();
    assert_eq!(message["method"], method, "{message}");
    message["id"].clone()
}

#[tokio::test]
async fn a_message_at_a_wrong_time_is_reported_and_dropped() {
    let (wire, mut waiter) = raw();
    let reports = Reports::default();
    let guest: Guest<Start> = Guest::with_options(wire, reports.options());
    let queue = guest.incoming();
    waiter.say(notification("notifications/message", &log("early"))).await;
    let plain = test_support::spawn(guest.handle().order(json!({})));
    let id = next(&mut waiter, "shop/order").await;
    waiter.say(notification("notifications/message", &log("not wanted"))).await;
    // A request at a wrong time is refused.
    waiter.say(result(&id)).await;
    plain.await.unwrap().unwrap();
    waiter.say(request(1, "shop/ask", &json!({}))).await;
    let answer = waiter.hear().await.unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");

    let call = test_support::spawn(guest.handle().search(logged()));
    let id = next(&mut waiter, "shop/search").await;
    waiter.say(notification("notifications/message", &log("in time"))).await;
    waiter.say(result(&id)).await;
    waiter.say(notification("notifications/message", &log("late"))).await;
    call.await.unwrap().unwrap();
    let Some(Incoming::LogMessage(params)) = queue.next().await else { panic!("no log message") };
    assert_eq!(params["data"], "in time");
    let reports = reports.all();
    assert_eq!(reports.len(), 4, "{reports:?}");
    for report in [0, 1, 3].map(|place| &reports[place]) {
        assert!(report.contains(OUTSIDE), "{report}");
    }
    assert!(
        reports[2]
            .contains("`shop/ask` is permitted only while `shop/order` of the client is running, and none")
    );
}

#[tokio::test]
async fn what_crosses_a_cancel_is_late_until_the_fence() {
    let (wire, mut waiter) = raw();
    let reports = Reports::default();
    let guest: Guest<Start> = Guest::with_options(wire, reports.options());
    let id = tokio::select! {
        _ = guest.search(logged()) => panic!("completed without an answer"),
        id = next(&mut waiter, "shop/search") => id,
    };
    let cancelled = waiter.hear().await.unwrap();
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &id)
    );
    // The waiter may not have received the cancel when it sent this.
    waiter.say(notification("notifications/message", &log("crosses"))).await;
    // The reply to a later request proves that it has.
    let (outcome, ()) = tokio::join!(guest.order(json!({})), async {
        let id = next(&mut waiter, "shop/order").await;
        waiter.say(result(&id)).await;
    });
    outcome.unwrap();
    waiter.say(notification("notifications/message", &log("late"))).await;
    waiter.say(request(1, "shop/ask", &json!({}))).await;
    assert_eq!(waiter.hear().await.unwrap()["error"]["code"], -32600);
    let reports = reports.all();
    assert_eq!(reports.len(), 3, "{reports:?}");
    assert!(reports[0].contains("is late: it crossed `Cancelled`"), "{reports:?}");
    assert!(reports[1].contains(OUTSIDE), "{reports:?}");
}

/// Sends a log message before and after it has received the cancel of the request.
struct Cancelled {
    waiter: server::Handle,
    seen: Arc<Mutex<Vec<String>>>,
}

impl server::Handler for Cancelled {
    async fn search(&self, context: server::Context, _: Value) -> Result<Value, RpcError> {
        self.waiter.send_log_message(log("while it runs")).await.unwrap();
        context.cancelled().await;
        let outcome = self.waiter.send_log_message(log("after the cancel")).await;
        self.seen.lock().unwrap().push(refused(outcome));
        Ok(json!({}))
    }

    async fn order(&self, _: server::Context, _: Value) -> Result<Value, RpcError> {
        Ok(json!({}))
    }
}

#[tokio::test]
async fn a_side_that_has_received_the_cancel_sends_no_more() {
    let (wire, mut guest) = raw();
    let waiter: Waiter<Start> = Waiter::new(wire);
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let handler = Cancelled { waiter: waiter.handle(), seen: Arc::clone(&seen) };
    let serving = test_support::spawn(waiter.incoming().serve(handler));
    guest.say(request(1, "shop/search", &logged())).await;
    assert_eq!(guest.hear().await.unwrap()["params"], log("while it runs"));
    guest.say(notification("notifications/cancelled", &json!({"requestId": 1}))).await;
    // The reply to a later request comes next.
    guest.say(request(2, "shop/order", &json!({}))).await;
    assert_eq!(guest.hear().await.unwrap()["id"], 2);
    while seen.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().unwrap(), [OUTSIDE]);
    serving.abort();
}

#[tokio::test]
async fn a_tolerated_message_may_come_at_any_time() {
    let (wire, mut waiter) = raw();
    let reports = Reports::default();
    let options = reports.options().tolerate(["notifications/message"]);
    let guest: Guest<Start> = Guest::with_options(wire, options);
    let queue = guest.incoming();
    waiter.say(notification("notifications/message", &log("early"))).await;
    let Some(Incoming::LogMessage(params)) = queue.next().await else { panic!("no log message") };
    assert_eq!(params["data"], "early");
    let reports = reports.all();
    assert!(matches!(reports.as_slice(), [report] if report.contains(OUTSIDE)), "{reports:?}");
}
