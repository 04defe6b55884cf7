//! `incoming()` of a sub-session: what runs next to its channels, for a queue or a handler of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_runtime::session::first_readable;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Notify, oneshot};

use crate::in_time;

mod turns {
    mcp_runtime::protocol!("protocols/turns.session");
}

mod texts {
    mcp_runtime::protocol!("protocols/texts.session");
}

mod hinting {
    mcp_runtime::protocol!("protocols/hinting.session");
}

use texts::Open;
use texts::client::TextIncoming;
use texts::server::{Context, Incoming, OpenNext, Text, TextHandler};

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The value of a text that the other side has opened.
async fn opened(server: &texts::Checker<texts::Start>, raw: &mut Raw) -> Text<Open> {
    raw.say(notification("text/opened", json!({ "uri": "a" }))).await;
    let Some(Incoming::Opened(_, text)) = in_time(server.incoming().next()).await else { panic!() };
    text
}

/// Answers with the version of the text that the handler sees when it starts, then waits until it may end.
struct Versions {
    version: Arc<AtomicU64>,
    started: Arc<AtomicU64>,
    may_end: Arc<Notify>,
}

impl TextHandler for Versions {
    async fn hover(&self, _: Context, _: Value) -> Result<Value, RpcError> {
        let version = self.version.load(Ordering::SeqCst);
        self.started.fetch_add(1, Ordering::SeqCst);
        self.may_end.notified().await;
        Ok(json!(version))
    }
}

#[tokio::test]
async fn a_handler_starts_before_the_value_takes_what_came_later() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::new(wire);
    let mut text = opened(&server, &mut raw).await;
    let (version, started, may_end) =
        (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
    let handler = Versions { version: version.clone(), started: started.clone(), may_end: may_end.clone() };
    let serving = test_support::spawn(text.incoming().serve(handler));
    for number in 1..=20 {
        raw.say(request(number, "text/hover", json!({ "uri": "a" }))).await;
        raw.say(notification("text/changed", json!({ "uri": "a", "version": number }))).await;
    }
    raw.say(notification("text/closed", json!({ "uri": "a" }))).await;
    loop {
        match in_time(text.next()).await.unwrap() {
            OpenNext::Changed(change, next) => {
                let number = change["version"].as_u64().unwrap();
                assert!(started.load(Ordering::SeqCst) >= number, "{number} has overtaken a question");
                version.store(number, Ordering::SeqCst);
                text = next;
            }
            OpenNext::Hover(..) => panic!("it is for the handler"),
            OpenNext::Closed(_) => break,
        }
    }
    // The text is closed, and what was asked before is answered.
    for _ in 0..20 {
        may_end.notify_one();
        let answer = in_time(raw.hear()).await.unwrap();
        assert!(answer["result"].as_u64().unwrap() < answer["id"].as_u64().unwrap(), "{answer}");
    }
    in_time(serving).await.unwrap();
    let _text = opened(&server, &mut raw).await;
}

#[tokio::test]
async fn what_waits_for_a_handler_at_the_end_of_the_sub_session_is_still_handled() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::with_options(wire, Options::new().max_handlers(1));
    let text = opened(&server, &mut raw).await;
    let may_end = Arc::new(Notify::new());
    let handler = Versions { version: Arc::default(), started: Arc::default(), may_end: may_end.clone() };
    let serving = test_support::spawn(text.incoming().serve(handler));
    for id in 1..=3 {
        raw.say(request(id, "text/hover", json!({ "uri": "a" }))).await;
    }
    raw.say(notification("text/closed", json!({ "uri": "a" }))).await;
    in_time(text.recv_closed()).await.unwrap();
    for id in 1..=3 {
        may_end.notify_one();
        let answer = in_time(raw.hear()).await.unwrap();
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": 0 }));
    }
    in_time(serving).await.unwrap();
}

#[tokio::test]
async fn what_waits_for_the_value_goes_to_the_queue_and_back_in_wire_order() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::new(wire);
    let mut text = opened(&server, &mut raw).await;
    for number in 1..=6 {
        raw.say(match number % 3 {
            0 => notification("text/changed", json!({ "uri": "a", "number": number })),
            _ => request(number, "text/hover", json!({ "uri": "a", "number": number })),
        })
        .await;
    }
    let mut taken = Vec::new();
    let incoming = text.incoming();
    for _ in 0..4 {
        match in_time(first_readable(&[&text, &incoming])).await {
            0 => match text.next().await.unwrap() {
                OpenNext::Changed(change, next) => {
                    taken.push(change["number"].clone());
                    text = next;
                }
                other => panic!("{other:?}"),
            },
            _ => match incoming.next().await.unwrap() {
                texts::server::TextIncoming::Hover(asked, owed) => {
                    taken.push(asked["number"].clone());
                    owed.respond(json!("from the queue")).unwrap();
                }
            },
        }
    }
    assert_eq!(taken, [1, 2, 3, 4]);
    // What was not taken from the queue is for the value again.
    drop(incoming);
    let OpenNext::Hover(asked, owed, text) = in_time(text.next()).await.unwrap() else { panic!() };
    assert_eq!(asked["number"], 5);
    let OpenNext::Changed(change, text) = in_time(text.next()).await.unwrap() else { panic!() };
    assert_eq!(change["number"], 6);
    drop(text);
    owed.respond(json!("from the value")).unwrap();
    for id in [1, 2, 4] {
        assert_eq!(in_time(raw.hear()).await.unwrap()["id"], id);
    }
    assert_eq!(in_time(raw.hear()).await.unwrap()["result"], "from the value");
}

#[tokio::test]
async fn a_queue_ends_with_its_sub_session_and_other_texts_have_their_own() {
    let (near, far) = duplex();
    let (editor, server) = (texts::Editor::new(near), texts::Checker::new(far));
    let incoming = server.incoming();
    let mut texts = Vec::new();
    for uri in ["a", "b"] {
        let own = editor.send_opened(json!({ "uri": uri })).await.unwrap();
        let Some(Incoming::Opened(_, theirs)) = in_time(incoming.next()).await else { panic!() };
        texts.push((own.incoming(), own, theirs));
    }
    let (second_queue, second, their_second) = texts.pop().unwrap();
    let (first_queue, first, their_first) = texts.pop().unwrap();
    their_second.send_problems(json!({ "uri": "b" })).await.unwrap();
    their_first.send_problems(json!({ "uri": "a" })).await.unwrap();
    let Some(TextIncoming::Problems(problems)) = in_time(first_queue.next()).await else { panic!() };
    assert_eq!(problems["uri"], "a");
    let waiting = test_support::spawn(async move { first_queue.next().await.is_none() });
    first.send_closed(json!({ "uri": "a" })).await.unwrap();
    assert!(in_time(waiting).await.unwrap());
    let Some(TextIncoming::Problems(problems)) = in_time(second_queue.next()).await else { panic!() };
    assert_eq!(problems["uri"], "b");
    drop((their_first, their_second, second, editor));
    assert!(in_time(second_queue.next()).await.is_none());
}

#[tokio::test]
async fn a_request_that_no_handler_implements_is_not_found_and_one_without_a_queue_waits_for_the_value() {
    struct Nothing;
    impl TextHandler for Nothing {}

    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let server = texts::Checker::with_options(wire, options);
    let text = opened(&server, &mut raw).await;
    let serving = test_support::spawn(text.incoming().serve(Nothing));
    let refused = in_time(raw.ask(request(1, "text/hover", json!({ "uri": "a" })))).await;
    assert_eq!(refused["error"]["code"], RpcError::METHOD_NOT_FOUND);
    serving.abort();
    in_time(serving).await.unwrap_err();
    raw.say(request(2, "text/hover", json!({ "uri": "a" }))).await;
    let OpenNext::Hover(_, owed, text) = in_time(text.next()).await.unwrap() else { panic!() };
    owed.respond(json!("what it is")).unwrap();
    assert_eq!(in_time(raw.hear()).await.unwrap()["result"], "what it is");
    drop(text);
    assert!(reports.try_recv().is_err());
}

#[tokio::test]
async fn a_handler_of_a_turn_runs_terminals_within_it() {
    struct Terminals {
        ended: Mutex<Option<oneshot::Sender<()>>>,
    }

    impl turns::client::TurnHandler for Terminals {
        async fn permit(&self, _: turns::client::Context, asked: Value) -> Result<Value, RpcError> {
            Ok(asked["what"].clone())
        }

        async fn create(
            &self,
            _: turns::client::Context,
            _: Value,
            terminal: turns::client::Terminal<turns::BeforeCreated>,
        ) {
            let mut terminal = terminal.send_created(json!({ "terminalId": "t" })).await.unwrap();
            terminal.send_output(json!({ "sessionId": "a", "terminalId": "t" })).await.unwrap();
            let (_, terminal) = terminal.recv_release().await.unwrap();
            terminal.send_released().await.unwrap();
            let _ = self.ended.lock().unwrap().take().unwrap().send(());
        }
    }

    let (near, far) = duplex();
    let (editor, agent) = (turns::Editor::new(near), turns::Agent::new(far));
    let working = test_support::spawn(async move {
        let Some(turns::server::Incoming::Prompt(_, turn)) = agent.incoming().next().await else { panic!() };
        let (_, mut terminal) = turn.create(json!({ "sessionId": "a" })).await.unwrap();
        terminal.recv_output().await.unwrap();
        let permitted = turn.permit(json!({ "sessionId": "a", "what": 1 })).await.unwrap();
        terminal.release(json!({ "sessionId": "a", "terminalId": "t" })).await.unwrap();
        turn.send_stopped(permitted).await.unwrap();
        agent
    });
    let turn = editor.send_prompt(json!({ "sessionId": "a" })).await.unwrap();
    let (ended, has_ended) = oneshot::channel();
    let serving = test_support::spawn(turn.incoming().serve(Terminals { ended: Mutex::new(Some(ended)) }));
    assert_eq!(in_time(turn.recv_stopped()).await.unwrap(), json!(1));
    in_time(has_ended).await.unwrap();
    in_time(serving).await.unwrap();
    drop(in_time(working).await.unwrap());
}

#[tokio::test]
async fn what_a_handler_still_works_on_is_answered_before_the_session_closes() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::new(wire);
    let text = opened(&server, &mut raw).await;
    let may_end = Arc::new(Notify::new());
    let started = Arc::new(AtomicU64::new(0));
    let handler = Versions { version: Arc::default(), started: started.clone(), may_end: may_end.clone() };
    let serving = test_support::spawn(text.incoming().serve(handler));
    raw.say(request(1, "text/hover", json!({ "uri": "a" }))).await;
    while started.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let closing = test_support::spawn(server.close());
    may_end.notify_one();
    assert_eq!(in_time(raw.hear()).await.unwrap()["result"], 0);
    drop(raw);
    in_time(closing).await.unwrap().unwrap();
    in_time(serving).await.unwrap();
    drop(text);
}

#[tokio::test]
async fn what_was_announced_and_no_handler_of_a_sub_session_implements_is_reported_once() {
    use hinting::server::{Context, Incoming, TextHandler};

    struct Hints;
    impl TextHandler for Hints {
        async fn complete(&self, _: Context, _: Value) -> Result<Value, RpcError> {
            Ok(Value::Null)
        }
    }

    let (near, far) = duplex();
    let (options, mut reports) = reported();
    let (editor, server) = (hinting::Editor::new(near), hinting::Hinter::with_options(far, options));
    let starting = async {
        let (_, server) = server.recv_initialize().await.unwrap();
        server.send_welcome(json!({ "capabilities": { "hover": true, "complete": true } })).await.unwrap()
    };
    let (editor, server) = in_time(async { tokio::join!(editor.initialize(json!({})), starting) }).await;
    let (_, editor) = editor.unwrap();
    let incoming = server.incoming();
    let mut texts = Vec::new();
    for uri in ["a", "b"] {
        texts.push(editor.send_opened(json!({ "uri": uri })).await.unwrap());
        let Some(Incoming::Opened(_, text)) = in_time(incoming.next()).await else { panic!() };
        test_support::spawn(text.incoming().serve(Hints));
        // The text stays open as long as its value.
        test_support::spawn(async move { text.recv_closed().await });
    }
    // `format` was not announced, and something of `complete` is implemented.
    let report = in_time(reports.recv()).await.unwrap();
    assert!(report.contains("`hover` was announced") && report.contains("`text/hover`"), "{report}");
    assert!(reports.try_recv().is_err());
}
