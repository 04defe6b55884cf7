//! A notification that reports on requests, and also stands alone: as a step of a sub-session that another message has
//! announced its token to, and by itself.

use std::sync::{Arc, Mutex};

use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Event, Options, Report};
use serde_json::{Value, json};
use test_support::raw::raw;

mod working {
    mcp_runtime::protocol!("protocols/working.session");
}

use working::client::{GoingNext, Incoming};
use working::{Editor, Tool, server};

fn progress(token: &Value, value: Value) -> Value {
    json!({"token": token, "value": value})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[tokio::test]
async fn progress_of_a_request_goes_to_its_call_and_progress_of_work_to_the_work() {
    let (wire, mut tool) = raw();
    let editor = Editor::new(wire);
    let queue = editor.incoming();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let call = editor.find(json!({"query": "x"})).on_progress(move |value| told.lock().unwrap().push(value));
    let serving = async {
        let asked = tool.hear().await.unwrap();
        let token = asked["params"]["workToken"].clone();
        let work = json!("work");
        tool.say(json!({"jsonrpc": "2.0", "id": 1, "method": "progress/begin", "params": {"token": work}}))
            .await;
        assert_eq!(tool.hear().await.unwrap()["id"], 1);
        for (token, step) in [(&work, 1), (&token, 2), (&work, 3), (&token, 4)] {
            tool.say(notification("$/progress", progress(token, json!(step)))).await;
        }
        // Also the last of a request ends nothing but what it is about.
        tool.say(notification("$/progress", progress(&token, json!({"kind": "end"})))).await;
        tool.say(notification("beat", json!({"token": token}))).await;
        tool.say(notification("beat", json!({"token": "unknown"}))).await;
        tool.say(notification("beat", json!({}))).await;
        tool.say(notification("$/progress", progress(&work, json!({"kind": "end"})))).await;
        tool.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": "found"})).await;
    };
    let working = async {
        let Incoming::Begin(params, work) = queue.next().await.unwrap() else { panic!("no work") };
        assert_eq!(params["token"], "work");
        let mut work = work.send_begun().await.unwrap();
        let mut steps = Vec::new();
        loop {
            match work.next().await.unwrap() {
                GoingNext::Progress(params, next) => {
                    steps.push(params["value"].clone());
                    work = next;
                }
                GoingNext::Done(params) => {
                    steps.push(params["value"].clone());
                    break;
                }
            }
        }
        assert_eq!(steps, [json!(1), json!(3), json!({"kind": "end"})]);
    };
    let (found, (), ()) = tokio::join!(call, serving, working);
    assert_eq!(found.unwrap(), json!("found"));
    let heard: Vec<Value> = heard.lock().unwrap().iter().map(|params| params["value"].clone()).collect();
    assert_eq!(heard, [json!(2), json!(4), json!({"kind": "end"}), Value::Null]);
    for token in [json!("unknown"), Value::Null] {
        let Incoming::Beat(params) = queue.next().await.unwrap() else { panic!("no beat") };
        assert_eq!(params["token"], token);
    }
}

struct Finder;

impl server::Handler for Finder {
    async fn find(&self, context: server::Context, _: Value) -> Result<Value, mcp_runtime::RpcError> {
        context.send_progress(json!({"value": "half"})).await.unwrap();
        context.send_beat(json!({})).await.unwrap();
        Ok(json!("found"))
    }
}

#[tokio::test]
async fn a_typed_tool_reports_and_says_the_same_alone() {
    let (near, far) = duplex();
    let (editor, tool) = (Editor::new(near), Tool::new(far));
    let queue = editor.incoming();
    let serving = test_support::spawn(tool.incoming().serve(Finder));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let call = editor
        .find(json!({}))
        .on_progress(move |value: Value| told.lock().unwrap().push(value["value"].clone()));
    assert_eq!(call.await.unwrap(), json!("found"));
    assert_eq!(*heard.lock().unwrap(), [json!("half"), Value::Null]);
    tool.send_beat(json!({"n": 1})).await.unwrap();
    let Incoming::Beat(params) = queue.next().await.unwrap() else { panic!("no beat") };
    assert_eq!(params, json!({"n": 1}));
    let (work, editing) = tokio::join!(tool.begin(json!({"token": 7})), async {
        let Incoming::Begin(_, work) = queue.next().await.unwrap() else { panic!("no work") };
        work.send_begun().await.unwrap()
    });
    let mut work = work.unwrap();
    work.send_progress(progress(&json!(7), json!(1))).await.unwrap();
    work.send_done(progress(&json!(7), json!({"kind": "end"}))).await.unwrap();
    let GoingNext::Progress(_, editing) = editing.next().await.unwrap() else { panic!("no progress") };
    assert!(matches!(editing.next().await.unwrap(), GoingNext::Done(_)));
    drop((editor, tool));
    serving.await.unwrap();
}

#[tokio::test]
async fn without_types_the_token_decides_as_well() {
    let (near, far) = duplex();
    let protocol = &working::PROTOCOL;
    let mut editor = CheckedSession::start(near, protocol, Side::Client, Options::default());
    let mut tool = CheckedSession::start(far, protocol, Side::Server, Options::default());
    let asked = editor.request("find", &json!({"workToken": "t"})).await.unwrap();
    let Event::Request { id, .. } = tool.next().await.unwrap() else { panic!() };
    let mut work = tool.open("progress/begin", &json!({"token": "w"})).await.unwrap();
    let Event::Opened { id: Some(begun), session: mut editing, .. } = editor.next().await.unwrap() else {
        panic!()
    };
    editing.respond(&begun, &json!({})).await.unwrap();
    assert!(matches!(work.next().await.unwrap(), Event::Reply { .. }));
    tool.notify("$/progress", &progress(&json!("t"), json!(1))).await.unwrap();
    work.notify("$/progress", &progress(&json!("w"), json!(2))).await.unwrap();
    tool.notify("beat", &json!({"token": "x"})).await.unwrap();
    let Event::Progress { id: of, params } = editor.next().await.unwrap() else { panic!() };
    assert_eq!((of, params.read::<Value>().unwrap()["value"].clone()), (asked, json!(1)));
    let Event::Notification { method, .. } = editor.next().await.unwrap() else { panic!() };
    assert_eq!(&*method, "beat");
    let Event::Notification { params, .. } = editing.next().await.unwrap() else { panic!() };
    assert_eq!(params.read::<Value>().unwrap()["value"], 2);
    // The token of no request and of no work.
    let error = tool.notify("$/progress", &progress(&json!("y"), json!(1))).await.unwrap_err();
    assert!(error.to_string().contains("work"), "{error}");
    tool.respond(&id, &json!("found")).await.unwrap();
}

#[tokio::test]
async fn a_token_of_no_request_is_reported() {
    let (wire, mut tool) = raw();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| told.lock().unwrap().push(report.to_string()));
    let editor = Editor::with_options(wire, options);
    let queue = editor.incoming();
    tool.say(notification("$/progress", progress(&json!("unknown"), json!(1)))).await;
    tool.say(notification("beat", json!({}))).await;
    assert!(matches!(queue.next().await, Some(Incoming::Beat(_))));
    let reports = reports.lock().unwrap();
    assert!(matches!(reports.as_slice(), [one] if one.contains("$/progress")), "{reports:?}");
}
