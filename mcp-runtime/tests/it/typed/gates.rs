//! Gates that open and close while a session runs.

// JSON that a test has written has what the test looks for.
#![allow(clippy::indexing_slicing)]

use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::cellar::{Guest, Start, Waiter, server};
use super::late_messages::{notification, request};
use super::raw::{Raw, raw};

type Reports = Arc<Mutex<Vec<String>>>;

fn reporting() -> (Options, Reports) {
    let reports = Reports::default();
    let kept = Arc::clone(&reports);
    (Options::new().on_report(move |report: &Report| kept.lock().unwrap().push(report.to_string())), reports)
}

async fn answer(raw: &mut Raw, method: &str, result: Value) {
    let asked = raw.hear().await.unwrap();
    assert_eq!(asked["method"], method, "{asked}");
    raw.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
}

#[tokio::test]
async fn everything_may_be_sent_until_the_peer_has_announced_what_it_can_do() {
    let (wire, mut waiter) = raw();
    let guest = Guest::new(wire);
    let (bottle, ()) = tokio::join!(guest.wine(), answer(&mut waiter, "shop/wine", json!("red")));
    assert_eq!(bottle.unwrap(), "red");
    guest.send_ring().await.unwrap();
    assert_eq!(waiter.hear().await.unwrap()["method"], "shop/ring");
    let offers = json!({"offers": {"bell": {}}});
    let (offered, ()) = tokio::join!(guest.offers(), answer(&mut waiter, "shop/offers", offers));
    offered.unwrap();
    guest.send_ring().await.unwrap();
    let refused = guest.wine().await.unwrap_err();
    let Error::NotPermitted(violation) = &refused else { panic!("{refused}") };
    assert_eq!(violation.missing_capability(), Some("wine"));
    assert!(guest.permits(super::cellar::messages::WINE).is_err());
}

/// Answers with what there is.
struct Cellar;

impl server::Handler for Cellar {
    async fn offers(&self, _: server::Context) -> Result<Value, RpcError> {
        Ok(json!({"offers": {}}))
    }

    async fn wine(&self, _: server::Context) -> Result<Value, RpcError> {
        Ok(json!("the last bottle"))
    }
}

fn waiter() -> (Waiter<Start>, Raw, Reports) {
    let (wire, guest) = raw();
    let (options, reports) = reporting();
    (Waiter::with_options(wire, options), guest, reports)
}

#[tokio::test]
async fn what_crosses_the_announcement_is_late_until_the_fence() {
    let (waiter, mut guest, reports) = waiter();
    let serving = tokio::spawn(waiter.incoming().serve(Cellar));
    guest.say(request(1, "shop/wine", json!({}))).await;
    assert_eq!(guest.hear().await.unwrap()["result"], "the last bottle");
    guest.say(request(2, "shop/offers", json!({}))).await;
    assert_eq!(guest.hear().await.unwrap()["result"], json!({"offers": {}}));
    // The guest may not have read the answer when it sent these.
    guest.say(request(3, "shop/wine", json!({}))).await;
    let error = guest.hear().await.unwrap();
    assert_eq!(error["error"]["message"], "the request is late: it crossed `Offered`", "{error}");
    guest.say(notification("shop/ring", json!({}))).await;
    // The reply to a later request proves that it has.
    let (seated, ()) = tokio::join!(waiter.seat(), answer(&mut guest, "shop/seat", json!(4)));
    assert_eq!(seated.unwrap(), 4);
    guest.say(request(4, "shop/wine", json!({}))).await;
    let error = guest.hear().await.unwrap();
    assert_eq!(
        error["error"]["message"],
        "`shop/wine` needs the capability `wine`, which the server has not announced"
    );
    assert_eq!(
        *reports.lock().unwrap(),
        [
            "`Wine` is late: it crossed `Offered`, after which `Start` does not accept it",
            "`Ring` is late: it crossed `Offered`, after which `Start` does not accept it",
            "`shop/wine` needs the capability `wine`, which the server has not announced",
        ]
    );
    drop(serving);
}

#[tokio::test]
async fn an_unannounced_capability_is_not_reported_as_unhandled() {
    let (waiter, mut guest, reports) = waiter();
    struct Nothing;
    impl server::Handler for Nothing {}
    let _serving = tokio::spawn(waiter.incoming().serve(Nothing));
    guest.say(request(1, "shop/wine", json!({}))).await;
    assert_eq!(guest.hear().await.unwrap()["error"]["code"], -32601);
    assert_eq!(*reports.lock().unwrap(), [""; 0]);
}
