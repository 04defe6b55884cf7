//! Gates that open and close while a session runs.

// JSON that a test has written has what the test looks for.
#![allow(clippy::indexing_slicing)]

use mcp_runtime::protocol::Side;
use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::cellar::{Guest, Start, Waiter, server};
use super::late_messages::{notification, request};
use super::raw::{Raw, raw};
use super::{registry, tasting};

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
    let serving = test_support::spawn(waiter.incoming().serve(Cellar));
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
    let _serving = test_support::spawn(waiter.incoming().serve(Nothing));
    guest.say(request(1, "shop/wine", json!({}))).await;
    assert_eq!(guest.hear().await.unwrap()["error"]["code"], -32601);
    assert_eq!(*reports.lock().unwrap(), [""; 0]);
}

fn can(capabilities: Value) -> Value {
    json!({"_meta": {"can": capabilities, "token": "t1"}})
}

fn tasting_waiter() -> (tasting::Waiter<tasting::Start>, Raw, Reports) {
    let (wire, guest) = raw();
    let (options, reports) = reporting();
    (tasting::Waiter::with_options(wire, options), guest, reports)
}

fn lacks(error: &Error, capability: &str) {
    let Error::NotPermitted(violation) = error else { panic!("{error}") };
    assert_eq!(violation.missing_capability(), Some(capability));
}

#[tokio::test]
async fn what_the_peer_may_be_sent_is_what_its_running_requests_announce() {
    let (waiter, mut guest, _) = tasting_waiter();
    lacks(&waiter.send_seen(json!(1)).await.unwrap_err(), "partial");
    guest.say(request(1, "shop/search", can(json!({"partial": {}, "questions": {}})))).await;
    let Some(tasting::server::Incoming::Search(_, first)) = waiter.incoming().next().await else { panic!() };
    waiter.send_seen(json!(1)).await.unwrap();
    assert_eq!(guest.hear().await.unwrap()["method"], "shop/seen");
    let asking = waiter.taste(json!("?"));
    let (verdict, ()) = tokio::join!(asking, answer(&mut guest, "shop/taste", json!("good")));
    assert_eq!(verdict.unwrap(), "good");
    guest.say(request(2, "shop/search", json!({"_meta": {"token": "t2"}}))).await;
    let Some(tasting::server::Incoming::Search(_, second)) = waiter.incoming().next().await else { panic!() };
    // What is about one request needs what that one announces.
    first.context().report(tasting::messages::LOOKED, &json!({})).await.unwrap();
    assert_eq!(guest.hear().await.unwrap()["params"]["token"], "t1");
    let report = second.context().report(tasting::messages::LOOKED, &json!({})).await;
    lacks(&report.unwrap_err(), "partial");
    first.respond(json!([])).unwrap();
    assert_eq!(guest.hear().await.unwrap()["id"], 1);
    lacks(&waiter.send_seen(json!(1)).await.unwrap_err(), "partial");
    lacks(&waiter.taste(json!(1)).await.unwrap_err(), "questions.spoken");
}

#[tokio::test]
async fn a_request_is_judged_by_what_it_announces_itself() {
    let (wire, mut waiter) = raw();
    let guest = tasting::Guest::new(wire);
    lacks(&guest.deliver(can(json!({}))).await.unwrap_err(), "address");
    let delivering = guest.deliver(can(json!({"address": true})));
    let (delivered, ()) = tokio::join!(delivering, answer(&mut waiter, "shop/deliver", json!("soon")));
    assert_eq!(delivered.unwrap(), "soon");
}

#[tokio::test]
async fn what_crosses_the_cancel_of_the_request_that_permits_it_is_late() {
    let (wire, mut waiter) = raw();
    let (options, reports) = reporting();
    let guest = tasting::Guest::with_options(wire, options);
    let mut call = guest.search(can(json!({"partial": {}})));
    let canceller = call.canceller();
    let cancelling = async {
        assert_eq!(waiter.hear().await.unwrap()["method"], "shop/search");
        canceller.cancel().unwrap();
    };
    let (cancelled, ()) = tokio::join!(call, cancelling);
    assert!(cancelled.is_err());
    assert_eq!(waiter.hear().await.unwrap()["method"], "shop/cancel");
    waiter.say(notification("shop/seen", json!(1))).await;
    let (delivered, ()) = tokio::join!(
        guest.deliver(can(json!({"address": true}))),
        answer(&mut waiter, "shop/deliver", json!(1))
    );
    delivered.unwrap();
    waiter.say(notification("shop/seen", json!(2))).await;
    let (delivered, ()) = tokio::join!(
        guest.deliver(can(json!({"address": true}))),
        answer(&mut waiter, "shop/deliver", json!(2))
    );
    delivered.unwrap();
    assert_eq!(
        *reports.lock().unwrap(),
        [
            "`Seen` is late: it crossed `Cancel`, after which `Start` does not accept it",
            "`shop/seen` needs the capability `partial`, which the client has not announced",
        ]
    );
}

const HOVER: &str = "textDocument/hover";

async fn editor() -> (registry::Editor<registry::Working>, Raw) {
    let (wire, mut language) = raw();
    let initialize = registry::Editor::new(wire).initialize(json!({}));
    let (editor, ()) =
        tokio::join!(initialize, answer(&mut language, "initialize", json!({"capabilities": {}})));
    (editor.unwrap().1, language)
}

async fn language() -> (registry::Language<registry::Working>, Raw, Reports) {
    let (wire, mut editor) = raw();
    let (options, reports) = reporting();
    editor.say(request(1, "initialize", json!({}))).await;
    let (_, language) = registry::Language::with_options(wire, options).recv_initialize().await.unwrap();
    let language = language.send_initialized(json!({"capabilities": {"sync": 2}})).await.unwrap();
    editor.hear().await.unwrap();
    (language, editor, reports)
}

/// Answers the next request of the peer with an empty object.
async fn register(
    editor: &registry::Editor<registry::Working>,
    language: &mut Raw,
    id: u32,
    method: &str,
    params: Value,
) {
    language.say(request(id, method, params)).await;
    match editor.incoming().next().await.unwrap() {
        registry::client::Incoming::Register(_, answer) => answer.respond(json!({})).unwrap(),
        registry::client::Incoming::Unregister(_, answer) => answer.respond(json!({})).unwrap(),
        other => panic!("{other:?}"),
    }
    assert_eq!(language.hear().await.unwrap()["id"], id);
}

#[tokio::test]
async fn a_peer_registers_what_it_can_do_and_takes_it_back() {
    let (editor, mut language) = editor().await;
    lacks(&editor.hover(json!(1)).await.unwrap_err(), "hoverProvider");
    let registered = json!({"registrations": [{"method": "other/method"}, {"method": HOVER}]});
    for id in [1, 2] {
        register(&editor, &mut language, id, "client/registerCapability", registered.clone()).await;
    }
    let taken_back = json!({"unregisterations": [{"method": HOVER}]});
    register(&editor, &mut language, 3, "client/unregisterCapability", taken_back.clone()).await;
    // It was registered twice.
    let (hovered, ()) = tokio::join!(editor.hover(json!(1)), answer(&mut language, HOVER, json!("text")));
    assert_eq!(hovered.unwrap(), "text");
    register(&editor, &mut language, 4, "client/unregisterCapability", taken_back).await;
    lacks(&editor.hover(json!(1)).await.unwrap_err(), "hoverProvider");
}

#[tokio::test]
async fn a_side_accepts_what_it_has_registered_until_the_peer_knows_better() {
    let (language, mut editor, reports) = language().await;
    let call = language.register(json!({"registrations": [{"method": "hoverProvider"}, {"method": "sync"}]}));
    tokio::join!(async { call.await.unwrap() }, answer(&mut editor, "client/registerCapability", json!({})));
    editor.say(request(2, HOVER, json!({}))).await;
    let Some(registry::server::Incoming::Hover(_, answering)) = language.incoming().next().await else {
        panic!()
    };
    answering.respond(json!("text")).unwrap();
    assert_eq!(editor.hear().await.unwrap()["result"], "text");
    language.send_quiet(json!({"names": "hoverProvider"})).await.unwrap();
    assert_eq!(editor.hear().await.unwrap()["method"], "client/quiet");
    editor.say(request(3, HOVER, json!({}))).await;
    assert_eq!(editor.hear().await.unwrap()["error"]["message"], "the request is late: it crossed `Quiet`");
    tokio::join!(async { language.ping().await.unwrap() }, answer(&mut editor, "ping", json!({})));
    editor.say(request(4, HOVER, json!({}))).await;
    assert_eq!(
        editor.hear().await.unwrap()["error"]["message"],
        "`textDocument/hover` needs the capability `hoverProvider`, which the server has not announced"
    );
    // What was announced stays announced.
    language.send_quiet(json!({"names": ["sync", "sync"]})).await.unwrap();
    editor.hear().await.unwrap();
    editor.say(notification("textDocument/didChange", json!({}))).await;
    assert!(matches!(language.incoming().next().await, Some(registry::server::Incoming::Changed(_))));
    assert_eq!(reports.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_program_grants_and_revokes_without_a_message() {
    let (editor, mut language) = editor().await;
    let hover = registry::capabilities::HOVER_PROVIDER;
    assert!(editor.grant_capability(Side::Server, hover));
    assert!(!editor.grant_capability(Side::Server, "what is this"));
    let (hovered, ()) = tokio::join!(editor.hover(json!(1)), answer(&mut language, HOVER, json!("text")));
    assert_eq!(hovered.unwrap(), "text");
    assert!(editor.revoke_capability(Side::Server, hover));
    lacks(&editor.hover(json!(1)).await.unwrap_err(), "hoverProvider");
    let checked = editor.into_checked();
    assert!(checked.permits(HOVER).is_err());
    assert!(checked.grant_capability(Side::Server, hover));
    assert!(checked.permits(HOVER).is_ok());
    assert!(checked.revoke_capability(Side::Server, hover));
    assert!(checked.permits(HOVER).is_err());

    let (language, mut editor, _) = self::language().await;
    language.grant_capability(Side::Server, hover);
    language.revoke_capability(Side::Server, hover);
    editor.say(request(5, HOVER, json!({}))).await;
    assert_eq!(editor.hear().await.unwrap()["error"]["message"], "the request is late");
    tokio::join!(async { language.ping().await.unwrap() }, answer(&mut editor, "ping", json!({})));
    editor.say(request(6, HOVER, json!({}))).await;
    let error = editor.hear().await.unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("has not announced"), "{error}");
}
