//! The kinds of cancels, against a peer of raw JSON: the reply follows, as in the Language Server Protocol; the cancel
//! ends the exchange, as in MCP; the cancel is possible only until the reply.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::protocol::Side;
use mcp_runtime::{CheckedSession, Error, Event, Options, Report, RpcError};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::Notify;

mod editing {
    mcp_runtime::protocol!("protocols/editing.session");
}

mod subscriptions {
    mcp_runtime::protocol!("protocols/subscriptions.session");
}

/// The code that `editing.session` has for requests that were cancelled.
const CANCELLED: i64 = -32800;

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

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn hover(id: i64) -> Value {
    request(id, "textDocument/hover", json!({"line": id}))
}

fn cancel(id: i64) -> Value {
    notification("$/cancelRequest", json!({"id": id}))
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "cancelled"}})
}

/// The next message, which has a method: its id, if it has one.
async fn heard(peer: &mut Raw, method: &str) -> Value {
    let message = peer.hear().await.unwrap();
    assert_eq!(message["method"], method, "{message}");
    message["id"].clone()
}

/// The next message, which cancels a request.
async fn cancel_heard(peer: &mut Raw, id: &Value) {
    let message = peer.hear().await.unwrap();
    assert_eq!((&message["method"], &message["params"]), (&json!("$/cancelRequest"), &json!({"id": id})));
}

#[tokio::test]
async fn a_cancelled_call_resolves_with_the_reply_that_follows() {
    let (wire, mut server) = raw();
    let reports = Reports::default();
    let editor = editing::Editor::with_options(wire, reports.options());
    for (answer, wanted) in [(None, Err(CANCELLED)), (Some(json!("a part")), Ok(json!("a part")))] {
        let mut call = editor.hover(json!({}));
        let canceller = call.canceller();
        let serving = async {
            let id = heard(&mut server, "textDocument/hover").await;
            canceller.cancel().unwrap();
            // It is sent once.
            canceller.cancel().unwrap();
            cancel_heard(&mut server, &id).await;
            server.say(answer.map_or_else(|| error(&id, CANCELLED), |answer| result(&id, answer))).await;
        };
        let (outcome, ()) = tokio::join!(call, serving);
        let outcome = outcome.map_err(|error| match error {
            Error::Refused(error) => error.code,
            other => panic!("{other}"),
        });
        assert_eq!(outcome, wanted);
        // The reply is here: nothing is left to cancel.
        canceller.cancel().unwrap();
    }
    let (outcome, ()) = tokio::join!(editor.hover(json!({})), async {
        let id = heard(&mut server, "textDocument/hover").await;
        server.say(result(&id, json!("all"))).await;
    });
    assert_eq!((outcome.unwrap(), reports.all()), (json!("all"), Vec::new()));
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_its_reply_is_dropped() {
    let (wire, mut server) = raw();
    let reports = Reports::default();
    let editor = editing::Editor::with_options(wire, reports.options());
    let id = tokio::select! {
        _ = editor.hover(json!({})) => panic!("completed without an answer"),
        id = heard(&mut server, "textDocument/hover") => id,
    };
    cancel_heard(&mut server, &id).await;
    server.say(result(&id, json!("late"))).await;
    // The server may not answer twice: the cancel excuses nothing.
    server.say(error(&id, CANCELLED)).await;
    let (outcome, ()) = tokio::join!(editor.hover(json!({})), async {
        let id = heard(&mut server, "textDocument/hover").await;
        server.say(result(&id, json!("next"))).await;
    });
    assert_eq!(outcome.unwrap(), json!("next"));
    assert_eq!(reports.all().len(), 1, "{:?}", reports.all());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cancelled_and_does_not_wait_for_the_reply() {
    let (wire, mut server) = raw();
    let reports = Reports::default();
    let editor = editing::Editor::with_options(wire, reports.options());
    let call = editor.hover(json!({})).timeout(Duration::from_secs(1));
    let (outcome, id) = tokio::join!(call, async {
        let id = heard(&mut server, "textDocument/hover").await;
        let message = server.hear().await.unwrap();
        assert_eq!((&message["method"], &message["params"]["id"]), (&json!("$/cancelRequest"), &id));
        id
    });
    assert!(outcome.unwrap_err().is_timeout());
    server.say(error(&id, CANCELLED)).await;
    let (outcome, ()) = tokio::join!(editor.hover(json!({})), async {
        let id = heard(&mut server, "textDocument/hover").await;
        server.say(result(&id, json!("next"))).await;
    });
    assert_eq!((outcome.unwrap(), reports.all()), (json!("next"), Vec::new()));
}

#[tokio::test]
async fn a_step_that_is_cancelled_stays_until_the_reply_and_a_dropped_one_waits_for_it() {
    let (wire, mut server) = raw();
    let reports = Reports::default();
    let mut editor = editing::Editor::with_options(wire, reports.options());
    let mut format = editor.format(json!({}));
    let canceller = format.canceller();
    let serving = async {
        let id = heard(&mut server, "textDocument/formatting").await;
        canceller.cancel().unwrap();
        cancel_heard(&mut server, &id).await;
        server.say(result(&id, json!("done all the same"))).await;
    };
    let (outcome, ()) = tokio::join!(format, serving);
    assert_eq!(outcome.unwrap(), json!("done all the same"));
    let id = tokio::select! {
        _ = editor.format(json!({})) => panic!("completed without an answer"),
        id = heard(&mut server, "textDocument/formatting") => id,
    };
    cancel_heard(&mut server, &id).await;
    // The next step is written behind the reply, which the server writes in the state of the request.
    let (changed, ()) = tokio::join!(editor.send_changed(json!({})), async {
        server.say(error(&id, CANCELLED)).await;
        heard(&mut server, "textDocument/didChange").await;
    });
    changed.unwrap();
    assert_eq!(reports.all(), Vec::<String>::new());
}

/// Waits until it is cancelled, and answers by the line: with a result, or with the error for that.
struct Hovers(Arc<Notify>);

impl editing::server::Handler for Hovers {
    async fn hover(&self, context: editing::server::Context, params: Value) -> Result<Value, RpcError> {
        assert!(!context.is_cancelled());
        self.0.notify_one();
        context.cancelled().await;
        assert!(context.is_cancelled());
        match params["line"].as_i64() {
            Some(1) => Ok(json!("a part")),
            _ => Err(context.cancelled_error()),
        }
    }
}

#[tokio::test]
async fn a_handler_is_notified_of_the_cancel_and_replies() {
    let (wire, mut editor) = raw();
    let reports = Reports::default();
    let language = editing::Language::with_options(wire, reports.options());
    let started = Arc::new(Notify::new());
    test_support::spawn(language.incoming().serve(Hovers(Arc::clone(&started))));
    for id in [1, 2] {
        editor.say(hover(id)).await;
        started.notified().await;
        let answer = editor.ask(cancel(id)).await;
        match id {
            1 => assert_eq!(answer, result(&json!(1), json!("a part"))),
            _ => assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(CANCELLED))),
        }
        // It has crossed the reply.
        editor.say(cancel(id)).await;
    }
    editor.say(hover(3)).await;
    editor.say(cancel(3)).await;
    assert_eq!(editor.hear().await.unwrap()["error"]["code"], json!(CANCELLED));
    assert_eq!(reports.all(), Vec::<String>::new());
}

#[tokio::test]
async fn the_library_replies_where_no_handler_does() {
    let (wire, mut editor) = raw();
    let reports = Reports::default();
    let language = editing::Language::with_options(wire, reports.options());
    let incoming = language.incoming();
    // No handler has begun: none will.
    editor.say(hover(1)).await;
    let answer = editor.ask(cancel(1)).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(CANCELLED)));
    // What is dropped because of the cancel, and what is dropped without one.
    for (id, code) in [(2, CANCELLED), (3, RpcError::INTERNAL_ERROR)] {
        editor.say(hover(id)).await;
        let Some(editing::server::Incoming::Hover(params, responder)) = incoming.next().await else {
            panic!()
        };
        assert_eq!(params["line"], json!(id), "the first request was never seen");
        if code == CANCELLED {
            editor.say(cancel(id)).await;
            responder.context().cancelled().await;
        }
        drop(responder);
        let answer = editor.hear().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(code)));
    }
    assert_eq!(reports.all(), Vec::<String>::new());
}

#[tokio::test]
async fn a_second_cancel_is_reported_and_dropped() {
    let (wire, mut editor) = raw();
    let reports = Reports::default();
    let language = editing::Language::with_options(wire, reports.options());
    let incoming = language.incoming();
    editor.say(hover(1)).await;
    let Some(editing::server::Incoming::Hover(_, responder)) = incoming.next().await else { panic!() };
    editor.say(cancel(1)).await;
    editor.say(cancel(1)).await;
    editor.say(hover(2)).await;
    assert!(matches!(incoming.next().await, Some(editing::server::Incoming::Hover(..))));
    let all = reports.all();
    assert!(
        matches!(all.as_slice(), [one] if one.contains("which the client has cancelled before")),
        "{all:?}"
    );
    responder.respond(json!("still")).unwrap();
    let answers = [editor.hear().await.unwrap(), editor.hear().await.unwrap()];
    assert!(answers.contains(&result(&json!(1), json!("still"))), "{answers:?}");
}

async fn next(session: &mut CheckedSession) -> Event {
    session.next().await.unwrap()
}

#[tokio::test]
async fn without_types_the_reply_follows_as_well() {
    let (wire, mut server) = raw();
    let reports = Reports::default();
    let protocol = &editing::PROTOCOL;
    let mut editor = CheckedSession::start(wire, protocol, Side::Client, reports.options());
    let asked = editor.request("textDocument/hover", &json!({})).await.unwrap();
    let id = heard(&mut server, "textDocument/hover").await;
    editor.cancel(&asked).unwrap();
    cancel_heard(&mut server, &id).await;
    let twice = editor.cancel(&asked).unwrap_err();
    assert!(twice.to_string().contains("has cancelled before"), "{twice}");
    server.say(error(&id, CANCELLED)).await;
    let Event::Refused { id, error: refused } = next(&mut editor).await else { panic!() };
    assert_eq!((id, refused.code), (asked, CANCELLED));
    // A cancel does not move the state: the reply does.
    let asked = editor.request("textDocument/rename", &json!({})).await.unwrap();
    let id = heard(&mut server, "textDocument/rename").await;
    let before = editor.state_name();
    editor.cancel(&asked).unwrap();
    cancel_heard(&mut server, &id).await;
    assert_eq!(editor.state_name(), before);
    server.say(result(&id, json!({}))).await;
    assert!(matches!(next(&mut editor).await, Event::Reply { .. }));
    assert_eq!(editor.state_name(), "Applying");
    // It crosses the reply, which is here: nothing is sent.
    editor.cancel(&asked).unwrap();
    editor.notify("textDocument/didChange", &json!({})).await.unwrap();
    heard(&mut server, "textDocument/didChange").await;
    assert_eq!(reports.all(), Vec::<String>::new());
}

#[tokio::test]
async fn without_types_a_server_learns_of_the_cancel_and_replies() {
    let (wire, mut editor) = raw();
    let reports = Reports::default();
    let protocol = &editing::PROTOCOL;
    let mut language = CheckedSession::start(wire, protocol, Side::Server, reports.options());
    for (number, method) in
        [(1, "textDocument/hover"), (2, "textDocument/rename"), (3, "textDocument/rename")]
    {
        editor.say(request(number, method, json!({}))).await;
        let Event::Request { id, .. } = next(&mut language).await else { panic!() };
        let waiting = language.state_name();
        editor.say(cancel(number)).await;
        let Event::Cancelled { id: cancelled } = next(&mut language).await else { panic!() };
        assert_eq!((&cancelled, language.state_name()), (&id, waiting), "the reply is still owed");
        if number == 2 {
            language.refuse(&id, &RpcError::new(CANCELLED, "as you wish")).unwrap();
            assert_eq!(editor.hear().await.unwrap()["error"]["code"], json!(CANCELLED));
        } else {
            language.respond(&id, &json!("done")).await.unwrap();
            assert_eq!(editor.hear().await.unwrap(), result(&json!(number), json!("done")));
        }
    }
    assert_eq!((language.state_name(), reports.all()), ("Applying".to_owned(), Vec::new()));
}

fn watch(id: i64) -> Value {
    request(id, "watch", json!({"place": "Oslo"}))
}

#[tokio::test]
async fn a_cancel_that_ends_the_exchange_needs_no_reply_and_drops_a_late_one() {
    let (wire, mut press) = raw();
    let reports = Reports::default();
    let reader = subscriptions::Reader::with_options(wire, reports.options());
    let mut call = reader.search(json!({}));
    let canceller = call.canceller();
    let (outcome, id) = tokio::join!(call, async {
        let id = heard(&mut press, "search").await;
        canceller.cancel().unwrap();
        assert_eq!(press.hear().await.unwrap()["params"], json!({"requestId": id}));
        id
    });
    assert!(matches!(outcome, Err(Error::Cancelled)));
    press.say(result(&id, json!("crosses the cancel"))).await;
    let (outcome, ()) = tokio::join!(reader.search(json!({})), async {
        let id = heard(&mut press, "search").await;
        press.say(result(&id, json!("found"))).await;
    });
    assert_eq!((outcome.unwrap(), reports.all()), (json!("found"), Vec::new()));
}

#[tokio::test]
async fn a_subscription_is_cancelled_until_the_reply_and_not_after_it() {
    let (wire, mut press) = raw();
    let reports = Reports::default();
    let reader = subscriptions::Reader::with_options(wire, reports.options());
    let mut call = reader.watch(json!({"place": "Oslo"}));
    let canceller = call.canceller();
    let (outcome, id) = tokio::join!(call, async {
        let id = heard(&mut press, "watch").await;
        canceller.cancel().unwrap();
        assert_eq!(press.hear().await.unwrap()["params"], json!({"requestId": id}));
        id
    });
    assert!(matches!(outcome, Err(Error::Cancelled)));
    press.say(result(&id, json!("crosses the cancel"))).await;
    let mut call = reader.watch(json!({"place": "Oslo"}));
    let canceller = call.canceller();
    let (outcome, ()) = tokio::join!(call, async {
        let id = heard(&mut press, "watch").await;
        press.say(result(&id, json!("watching"))).await;
    });
    let (watching, subscription) = outcome.unwrap();
    assert_eq!(watching, json!("watching"));
    canceller.cancel().unwrap();
    drop(subscription);
    // Neither of them has sent a cancel.
    let (outcome, ()) = tokio::join!(reader.search(json!({})), async {
        let id = heard(&mut press, "search").await;
        press.say(result(&id, json!("found"))).await;
    });
    assert_eq!((outcome.unwrap(), reports.all()), (json!("found"), Vec::new()));
}

#[tokio::test]
async fn without_types_a_subscription_is_not_cancelled_after_the_reply() {
    let (wire, mut press) = raw();
    let protocol = &subscriptions::PROTOCOL;
    let mut reader = CheckedSession::start(wire, protocol, Side::Client, Options::default());
    let mut subscription = reader.open("watch", &json!({"place": "Oslo"})).await.unwrap();
    let id = heard(&mut press, "watch").await;
    press.say(result(&id, json!("watching"))).await;
    let Event::Reply { id, .. } = next(&mut subscription).await else { panic!() };
    subscription.cancel(&id).unwrap();
    reader.cancel(&id).unwrap();
    subscription.request("forget", &json!({"place": "Oslo"})).await.unwrap();
    heard(&mut press, "forget").await;
}

#[tokio::test]
async fn a_cancel_that_crosses_the_reply_ends_the_subscription_and_a_later_one_is_reported() {
    let (wire, mut reader) = raw();
    let reports = Reports::default();
    let press = subscriptions::Press::with_options(wire, reports.options());
    let incoming = press.incoming();
    let watched = async |reader: &mut Raw, id: i64| {
        reader.say(watch(id)).await;
        let Some(subscriptions::server::Incoming::Watch(_, subscription)) = incoming.next().await else {
            panic!()
        };
        let subscription = subscription.send_watching(json!("watching")).await.unwrap();
        assert_eq!(reader.hear().await.unwrap(), result(&json!(id), json!("watching")));
        subscription
    };
    let crossed = watched(&mut reader, 1).await;
    // As far as this side knows, the reader has not received the reply.
    reader.say(notification("cancelled", json!({"requestId": 1}))).await;
    let ended = crossed.recv_forget().await.map(drop).unwrap_err();
    assert!(matches!(ended, Error::Cancelled), "{ended}");
    let mut subscription = watched(&mut reader, 2).await;
    let (total, ()) = tokio::join!(press.count(), async {
        let id = heard(&mut reader, "count").await;
        reader.say(result(&id, json!(1))).await;
    });
    assert_eq!(total.unwrap(), json!(1));
    // The answer proves that the reader has received the reply.
    reader.say(notification("cancelled", json!({"requestId": 2}))).await;
    let (total, ()) = tokio::join!(press.count(), async {
        let id = heard(&mut reader, "count").await;
        reader.say(result(&id, json!(1))).await;
    });
    assert_eq!(total.unwrap(), json!(1));
    let all = reports.all();
    assert!(matches!(all.as_slice(), [one] if one.contains("cannot be cancelled any more")), "{all:?}");
    subscription.send_news(json!({"place": "Oslo"})).await.unwrap();
    heard(&mut reader, "news").await;
}
