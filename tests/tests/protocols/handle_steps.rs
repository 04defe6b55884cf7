//! Steps of a sub-session that its handle takes, while the value waits for the peer in another task.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mcp_runtime::transport::{Duplex, duplex};
use mcp_runtime::{Error, Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::in_time;

mod subscriptions {
    mcp_runtime::protocol!("protocols/subscriptions.session");
}

mod turns {
    mcp_runtime::protocol!("protocols/turns.session");
}

use subscriptions::{Following, Press, Reader, Start, client, messages, server};

/// Polls a future once, so that what it sends is written.
fn polled<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

fn place() -> Value {
    json!({ "place": "a" })
}

fn news(number: i32) -> Value {
    json!({ "place": "a", "number": number })
}

/// A subscription, as both sides have it.
async fn following(
    near: Duplex,
    far: Duplex,
) -> (Reader<Start>, client::Subscription<Following>, Press<Start>, server::Subscription<Following>) {
    let (reader, press) = (Reader::new(near), Press::new(far));
    let opening = async {
        let Some(server::Incoming::Watch(_, subscription)) = press.incoming().next().await else { panic!() };
        subscription.send_watching(json!({})).await.unwrap()
    };
    let (own, theirs) = in_time(async { tokio::join!(reader.watch(place()), opening) }).await;
    (reader, own.unwrap().1, press, theirs)
}

/// Takes what comes, until nothing does.
async fn heard(mut own: client::Subscription<Following>) -> (Vec<Value>, Error) {
    let mut heard = Vec::new();
    loop {
        match own.recv_news().await {
            Ok(news) => heard.push(news["number"].clone()),
            Err(error) => return (heard, error),
        }
    }
}

#[tokio::test]
async fn one_task_receives_while_another_one_sends_on_both_sides() {
    let (near, far) = duplex();
    let (_reader, own, _press, theirs) = following(near, far).await;
    let (stopping, telling) = (own.handle(), theirs.handle());
    // What crosses the step would be late, so everything is heard first.
    let hearing = test_support::spawn(async move {
        let mut own = own;
        for number in 0..100 {
            assert_eq!(own.recv_news().await.unwrap(), news(number));
        }
        own
    });
    let asked = test_support::spawn(async move {
        let (_, theirs) = theirs.recv_forget().await.unwrap();
        theirs.send_forgotten().await.unwrap();
    });
    for number in 0..100 {
        telling.send_news(news(number)).await.unwrap();
    }
    let hearing = test_support::spawn(heard(in_time(hearing).await.unwrap()));
    tokio::task::yield_now().await;
    assert_eq!(stopping.permitted(), [messages::FORGET]);
    in_time(stopping.forget(place())).await.unwrap();
    in_time(asked).await.unwrap();
    let (heard, over) = in_time(hearing).await.unwrap();
    assert!(heard.is_empty() && matches!(over, Error::Closed), "{heard:?} {over:?}");
    // It is over for the handles, too.
    assert!(stopping.permitted().is_empty());
    assert!(stopping.permits(messages::FORGET).is_err());
    assert!(matches!(stopping.forget(place()).await, Err(Error::Closed)));
    assert!(matches!(telling.send_news(news(100)).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_step_that_is_refused_leaves_the_value_where_it_was() {
    let (near, far) = duplex();
    let (_reader, mut own, _press, theirs) = following(near, far).await;
    let stopping = own.handle();
    let refusing = async {
        let (_, theirs) = theirs.recv_forget().await.unwrap();
        let refused = theirs.refuse(RpcError::new(7, "not now")).await.unwrap();
        refused.handle().send_news(news(1)).await.unwrap();
        refused
    };
    let (forgot, hears, refused) =
        in_time(async { tokio::join!(stopping.forget(place()), own.recv_news(), refusing) }).await;
    assert!(matches!(forgot, Err(Error::Refused(error)) if error.code == 7));
    assert_eq!(hears.unwrap(), news(1));
    // The value itself can take the step now.
    let forgetting = async {
        let (_, theirs) = refused.recv_forget().await.unwrap();
        theirs.send_forgotten().await.unwrap();
    };
    in_time(async { tokio::join!(own.forget(place()), forgetting) }).await.0.unwrap();
}

#[tokio::test]
async fn what_crosses_a_step_is_late_and_the_value_learns_of_the_end() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let reader = Reader::with_options(wire, options);
    let watching = test_support::spawn(async move { (reader.watch(place()).await.unwrap().1, reader) });
    let asked = in_time(raw.hear()).await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} })).await;
    let (own, _reader) = in_time(watching).await.unwrap();
    let stopping = own.handle();
    let hearing = test_support::spawn(heard(own));
    let mut forgetting = stopping.forget(place());
    assert!(polled(&mut forgetting).is_pending());
    let asked = in_time(raw.hear()).await.unwrap();
    assert_eq!(asked["method"], "forget");
    // The step is taken: neither another task nor the value may take it once more.
    let twice = stopping.forget(place()).await.unwrap_err();
    assert!(matches!(twice, Error::NotPermitted(_)), "{twice:?}");
    raw.say(json!({ "jsonrpc": "2.0", "method": "news", "params": news(1) })).await;
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} })).await;
    in_time(forgetting).await.unwrap();
    let (heard, over) = in_time(hearing).await.unwrap();
    assert_eq!(heard, Vec::<Value>::new());
    assert!(matches!(over, Error::Closed), "{over:?}");
    let report = in_time(reports.recv()).await.unwrap();
    assert!(report.contains("late"), "{report}");
    assert!(reports.try_recv().is_err());
}

#[tokio::test]
async fn a_step_that_no_task_waits_for_any_more_still_ends_the_sub_session() {
    let (wire, mut raw) = raw();
    let reader = Reader::new(wire);
    let watching = test_support::spawn(async move { (reader.watch(place()).await.unwrap().1, reader) });
    let asked = in_time(raw.hear()).await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} })).await;
    let (own, reader) = in_time(watching).await.unwrap();
    let stopping = own.handle();
    let hearing = test_support::spawn(heard(own));
    let mut forgetting = stopping.forget(place());
    assert!(polled(&mut forgetting).is_pending());
    drop(forgetting);
    let asked = in_time(raw.hear()).await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} })).await;
    let (heard, over) = in_time(hearing).await.unwrap();
    assert!(heard.is_empty() && matches!(over, Error::Closed), "{heard:?} {over:?}");
    // The key is free again.
    let watching = test_support::spawn(async move { reader.watch(place()).await.map(drop) });
    let asked = in_time(raw.hear()).await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} })).await;
    in_time(watching).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_notification_is_sent_while_the_value_waits_for_the_request_that_ends_it() {
    let (near, far) = duplex();
    let (editor, agent) = (turns::Editor::new(near), turns::Agent::new(far));
    let working = test_support::spawn(async move {
        let Some(turns::server::Incoming::Prompt(_, turn)) = agent.incoming().next().await else { panic!() };
        let (_, mut terminal) = turn.create(json!({ "sessionId": "a" })).await.unwrap();
        let releasing = terminal.handle();
        let mut output = Vec::new();
        while output.len() < 100 {
            output.push(terminal.recv_output().await.unwrap()["text"].clone());
        }
        let hearing = test_support::spawn(async move { terminal.recv_output().await.map(drop).unwrap_err() });
        releasing.release(json!({ "sessionId": "a", "terminalId": "t" })).await.unwrap();
        assert!(matches!(in_time(hearing).await.unwrap(), Error::Closed));
        turn.send_stopped(json!("done")).await.unwrap();
        (output, agent)
    });
    let turn = editor.send_prompt(json!({ "sessionId": "a" })).await.unwrap();
    let turns::client::WorkingNext::Create(_, terminal, turn) = in_time(turn.next()).await.unwrap() else {
        panic!()
    };
    let terminal = terminal.send_created(json!({ "terminalId": "t" })).await.unwrap();
    let printing = terminal.handle();
    let released = test_support::spawn(async move {
        let (_, terminal) = terminal.recv_release().await.unwrap();
        terminal.send_released().await.unwrap();
    });
    for number in 0..100 {
        let line = json!({ "sessionId": "a", "terminalId": "t", "text": number });
        in_time(printing.send_output(line)).await.unwrap();
    }
    in_time(released).await.unwrap();
    assert_eq!(in_time(turn.recv_stopped()).await.unwrap(), json!("done"));
    let (output, _agent) = in_time(working).await.unwrap();
    assert_eq!(output, (0..100).map(Value::from).collect::<Vec<_>>());
}
