//! The end of a sub-session by this side: what runs in it is cancelled or answered first.

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Event, Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::in_time;

mod sheets {
    mcp_runtime::protocol!("protocols/sheets.session");
}

mod answered {
    mcp_runtime::protocol!("protocols/sheets-answered.session");
}

use sheets::server::{Incoming, OpenNext};

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

fn sheet() -> Value {
    json!({ "sheet": "a" })
}

/// The next message of the other side: its method, and the id that it has or names.
async fn heard(raw: &mut Raw) -> (String, Value) {
    let heard = in_time(raw.hear()).await.unwrap();
    let id = if heard["id"].is_null() { &heard["params"]["id"] } else { &heard["id"] };
    (heard["method"].as_str().unwrap_or("reply").to_owned(), id.clone())
}

#[tokio::test]
async fn calls_of_a_sub_session_are_cancelled_before_its_last_step() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let editor = sheets::Editor::with_options(wire, options);
    let open = editor.send_opened(sheet()).await.unwrap();
    let other = editor.send_opened(json!({ "sheet": "b" })).await.unwrap();
    let handle = open.handle();
    let mut check = handle.check(sheet()).send().await.unwrap();
    let mut save = handle.save(sheet()).send().await.unwrap();
    let mut elsewhere = other.check(json!({ "sheet": "b" })).send().await.unwrap();
    for method in ["sheet/opened", "sheet/opened"] {
        assert_eq!(heard(&mut raw).await.0, method);
    }
    let (_, checked) = heard(&mut raw).await;
    let (_, saved) = heard(&mut raw).await;
    let (_, kept) = heard(&mut raw).await;
    open.send_closed(sheet()).await.unwrap();
    // The one that can be cancelled is, before the last step.
    assert_eq!(heard(&mut raw).await, ("cancel".to_owned(), checked));
    assert_eq!(heard(&mut raw).await.0, "sheet/closed");
    assert!(matches!(in_time(&mut check).await.unwrap_err(), Error::Closed));
    // The other one gets its reply, and what runs in another sheet goes on.
    raw.say(json!({ "jsonrpc": "2.0", "id": saved, "result": "saved" })).await;
    raw.say(json!({ "jsonrpc": "2.0", "id": kept, "result": "checked" })).await;
    assert_eq!(in_time(&mut save).await.unwrap(), "saved");
    assert_eq!(in_time(&mut elsewhere).await.unwrap(), "checked");
    assert!(reports.try_recv().is_err());
}

#[tokio::test]
async fn so_are_those_of_the_side_that_ends_it_with_a_reply() {
    let (near, far) = duplex();
    let (editor, store) = (sheets::Editor::new(near), sheets::Store::new(far));
    let open = editor.send_opened(sheet()).await.unwrap();
    let Some(Incoming::Opened(_, theirs)) = in_time(store.incoming().next()).await else { panic!() };
    let questions = open.incoming();
    let mut ask = theirs.handle().ask(sheet()).send().await.unwrap();
    let Some(sheets::client::SheetIncoming::Ask(_, owed)) = in_time(questions.next()).await else { panic!() };
    let releasing = test_support::spawn(open.release(sheet()).into_future());
    let OpenNext::Release(_, theirs) = in_time(theirs.next()).await.unwrap() else { panic!() };
    theirs.send_released(json!("gone")).await.unwrap();
    assert!(matches!(in_time(&mut ask).await.unwrap_err(), Error::Closed));
    in_time(owed.context().cancelled()).await;
    assert_eq!(in_time(releasing).await.unwrap().unwrap(), json!("gone"));
}

#[tokio::test]
async fn a_refused_last_step_cancels_nothing() {
    let (wire, mut raw) = raw();
    let editor = sheets::Editor::new(wire);
    let open = editor.send_opened(sheet()).await.unwrap();
    let mut check = open.handle().check(sheet()).send().await.unwrap();
    raw.hear().await;
    let (_, id) = heard(&mut raw).await;
    let refused = open.send_closed(json!({ "sheet": "another" })).await.unwrap_err();
    assert!(refused.to_string().contains("another"), "{refused}");
    raw.say(json!({ "jsonrpc": "2.0", "id": id, "result": "checked" })).await;
    assert_eq!(in_time(&mut check).await.unwrap(), "checked");
}

#[tokio::test]
async fn sub_sessions_of_it_are_cancelled_too() {
    let (wire, mut raw) = raw();
    let editor = sheets::Editor::new(wire);
    let open = editor.send_opened(sheet()).await.unwrap();
    let mut pages = open.send_print(sheet()).await.unwrap();
    raw.hear().await;
    let (_, print) = heard(&mut raw).await;
    raw.say(json!({ "jsonrpc": "2.0", "method": "sheet/page", "params": { "sheet": "a", "print": print } }))
        .await;
    let sheets::client::PagesNext::Page(_, next) = in_time(pages.next()).await.unwrap() else { panic!() };
    pages = next;
    open.send_closed(sheet()).await.unwrap();
    assert_eq!(heard(&mut raw).await, ("cancel".to_owned(), print));
    assert_eq!(heard(&mut raw).await.0, "sheet/closed");
    assert!(matches!(in_time(pages.next()).await.unwrap_err(), Error::Closed));
}

#[tokio::test]
async fn a_cancel_of_what_opened_it_cancels_them_before() {
    let (wire, mut raw) = raw();
    let editor = sheets::Editor::new(wire);
    let open = editor.send_opened(sheet()).await.unwrap();
    let pages = open.send_print(sheet()).await.unwrap();
    raw.hear().await;
    let (_, print) = heard(&mut raw).await;
    let params = json!({ "sheet": "a", "print": print });
    let mut zoom = pages.handle().zoom(params).send().await.unwrap();
    let (_, zoomed) = heard(&mut raw).await;
    drop(pages);
    assert_eq!(heard(&mut raw).await, ("cancel".to_owned(), zoomed));
    assert_eq!(heard(&mut raw).await, ("cancel".to_owned(), print));
    assert!(matches!(in_time(&mut zoom).await.unwrap_err(), Error::Closed));
}

#[tokio::test]
async fn a_refusal_of_what_opened_it_cancels_them_before() {
    let (wire, mut raw) = raw();
    let store = sheets::Store::new(wire);
    raw.say(json!({ "jsonrpc": "2.0", "method": "sheet/opened", "params": sheet() })).await;
    let Some(Incoming::Opened(_, open)) = in_time(store.incoming().next()).await else { panic!() };
    raw.say(json!({ "jsonrpc": "2.0", "id": 7, "method": "sheet/print", "params": sheet() })).await;
    let OpenNext::Print(_, pages, _open) = in_time(open.next()).await.unwrap() else { panic!() };
    let mut ink = pages.handle().ink(json!({ "sheet": "a", "print": 7 })).send().await.unwrap();
    let (_, inked) = heard(&mut raw).await;
    pages.refuse(RpcError::invalid_params("out of paper")).await.unwrap();
    assert_eq!(heard(&mut raw).await, ("cancel".to_owned(), inked));
    assert_eq!(heard(&mut raw).await, ("reply".to_owned(), json!(7)));
    assert!(matches!(in_time(&mut ink).await.unwrap_err(), Error::Closed));
}

#[tokio::test]
async fn what_the_value_has_not_taken_is_answered_before_the_last_step() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let editor = sheets::Editor::with_options(wire, options);
    let open = editor.send_opened(sheet()).await.unwrap();
    raw.hear().await;
    raw.say(json!({ "jsonrpc": "2.0", "id": 7, "method": "sheet/ask", "params": sheet() })).await;
    mcp_runtime::session::first_readable(&[&open]).await;
    open.send_closed(sheet()).await.unwrap();
    let refused = in_time(raw.hear()).await.unwrap();
    assert_eq!(refused["error"]["code"], RpcError::INTERNAL_ERROR, "{refused}");
    assert_eq!(heard(&mut raw).await.0, "sheet/closed");
    let report = in_time(reports.recv()).await.unwrap();
    assert!(report.contains("`Ask`") && report.contains("`Closed`"), "{report}");
    assert!(reports.try_recv().is_err());
}

#[tokio::test]
async fn where_the_reply_follows_a_cancel_the_call_waits_for_it() {
    let (near, far) = duplex();
    let (editor, store) = (answered::Editor::new(near), answered::Store::new(far));
    let open = editor.send_opened(sheet()).await.unwrap();
    let Some(answered::server::Incoming::Opened(_, theirs)) = in_time(store.incoming().next()).await else {
        panic!()
    };
    let asked = theirs.incoming();
    let mut call = open.handle().check(sheet());
    let canceller = call.canceller();
    let mut check = call.send().await.unwrap();
    let Some(answered::server::SheetIncoming::Check(_, owed)) = in_time(asked.next()).await else { panic!() };
    open.send_closed(sheet()).await.unwrap();
    in_time(owed.context().cancelled()).await;
    in_time(theirs.recv_closed()).await.unwrap();
    // It is cancelled already.
    canceller.cancel().unwrap();
    owed.respond(json!("half of it")).unwrap();
    assert_eq!(in_time(&mut check).await.unwrap(), "half of it");
}

#[tokio::test]
async fn a_session_without_types_does_the_same() {
    let (near, far) = duplex();
    let mut editor = sheets::Editor::new(near).into_checked();
    let mut store = sheets::Store::new(far).into_checked();
    let mut open = editor.open("sheet/opened", &sheet()).await.unwrap();
    let Event::Opened { session: mut theirs, .. } = in_time(store.next()).await.unwrap() else { panic!() };
    let asked = open.request("sheet/check", &sheet()).await.unwrap();
    let Event::Request { id, .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    open.notify("sheet/closed", &sheet()).await.unwrap();
    let Event::Failed { id: failed, error } = in_time(open.next()).await.unwrap() else { panic!() };
    assert_eq!(failed, asked);
    assert!(matches!(error, Error::Closed), "{error:?}");
    let Event::Notification { method, .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    assert_eq!(method, "sheet/closed");
    // It was cancelled before that, so its answer is not written.
    theirs.respond(&id, &json!("checked")).await.unwrap();
    editor.open("sheet/opened", &sheet()).await.unwrap();
    let Event::Opened { .. } = in_time(store.next()).await.unwrap() else { panic!() };
}
