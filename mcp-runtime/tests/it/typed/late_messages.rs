//! Late messages are dropped with a report.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use mcp_runtime::{Options, Report};
use serde_json::{Value, json};

use super::raw::{Raw, raw};
use super::turns::{Agent, Editing, Editor, Following, Idle, Turn, client, server};

/// What a side reported.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<Mutex<Vec<Report>>>);

impl Reports {
    fn options(&self) -> Options {
        let reports = Arc::clone(&self.0);
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.clone()))
    }

    fn take(&self) -> Vec<Report> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn texts(&self) -> Vec<String> {
        self.take().iter().map(ToString::to_string).collect()
    }
}

fn agent() -> (Agent<Idle>, Raw, Reports) {
    let (wire, editor) = raw();
    let reports = Reports::default();
    (Agent::with_options(wire, reports.options()), editor, reports)
}

pub(super) fn editor() -> (Editor<Idle>, Raw, Reports) {
    let (wire, agent) = raw();
    let reports = Reports::default();
    (Editor::with_options(wire, reports.options()), agent, reports)
}

pub(super) fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn reply(asked: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.get("id"), "result": result})
}

async fn hear(raw: &mut Raw, method: &str) -> Value {
    let heard = raw.hear().await.unwrap();
    assert_eq!(heard.get("method").and_then(Value::as_str), Some(method), "{heard}");
    heard
}

/// Whether a future is ready without waiting.
async fn at_once(future: impl Future) -> bool {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

async fn turn(agent: Agent<Idle>, editor: &mut Raw, id: u32) -> Agent<Turn> {
    editor.say(request(id, "prompt", json!(id))).await;
    let (params, turn) = agent.recv_prompt().await.unwrap();
    assert_eq!(params, json!(id));
    turn
}

async fn done(turn: Agent<Turn>, editor: &mut Raw) -> Agent<Idle> {
    let idle = turn.send_done(json!("done")).await.unwrap();
    assert_eq!(editor.hear().await.unwrap().get("result"), Some(&json!("done")));
    idle
}

#[tokio::test]
async fn a_cancel_that_crosses_the_end_of_a_turn_does_not_cancel_the_next_one() {
    let (agent, mut editor, reports) = agent();
    let first = turn(agent, &mut editor, 1).await;
    let idle = done(first, &mut editor).await;
    // The editor has not read that the turn is over.
    editor.say(notification("cancel", json!(null))).await;
    let second = turn(idle, &mut editor, 2).await;
    assert!(!at_once(second.readable()).await);
    let reported = reports.take();
    assert!(
        matches!(reported.as_slice(), [Report::Late { message, state, crossed: Some(crossed), over: false }]
            if message == "Cancel" && state == "Idle" && crossed == "Done"),
        "{reported:?}"
    );
    assert_eq!(
        reported.first().map(ToString::to_string).as_deref(),
        Some("`Cancel` is late: it crossed `Done`, after which `Idle` does not accept it")
    );
    editor.say(notification("cancel", json!(null))).await;
    let mut second = second;
    second.recv_cancel().await.unwrap();
    let _idle = done(second, &mut editor).await;
}

#[tokio::test]
async fn an_untaken_cancel_of_the_last_turn_does_not_cancel_the_next_one() {
    let (agent, mut editor, reports) = agent();
    let first = turn(agent, &mut editor, 1).await;
    editor.say(notification("cancel", json!(null))).await;
    first.readable().await;
    // It is there, but the agent finishes all the same.
    let idle = done(first, &mut editor).await;
    let second = turn(idle, &mut editor, 2).await;
    assert!(!at_once(second.readable()).await);
    assert_eq!(
        reports.texts(),
        ["`Cancel` is late: it crossed `Done`, after which `Idle` does not accept it"]
    );
}

#[tokio::test]
async fn what_comes_in_a_state_that_the_value_has_not_come_to_is_handed_to_it_there() {
    let (editor, mut agent, reports) = editor();
    let first = editor.send_prompt(json!(1)).await.unwrap();
    let asked = hear(&mut agent, "prompt").await;
    agent.say(notification("update", json!("a"))).await;
    agent.say(notification("update", json!("b"))).await;
    agent.say(reply(&asked, json!("done"))).await;
    let client::TurnNext::Update(update, first) = first.next().await.unwrap() else { panic!() };
    assert_eq!(update, "a");
    let client::TurnNext::Update(update, first) = first.next().await.unwrap() else { panic!() };
    assert_eq!(update, "b");
    let client::TurnNext::Done(_, _) = first.next().await.unwrap() else { panic!() };
    assert_eq!(reports.texts(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_program_passes_over_is_reported_and_is_not_in_the_next_turn() {
    let (editor, mut agent, reports) = editor();
    let first = editor.send_prompt(json!(1)).await.unwrap();
    let asked = hear(&mut agent, "prompt").await;
    agent.say(notification("update", json!("of the first turn"))).await;
    agent.say(reply(&asked, json!("done"))).await;
    let (_, idle) = first.recv_done().await.unwrap();
    let second = idle.send_prompt(json!(2)).await.unwrap();
    assert!(!at_once(second.readable()).await);
    assert_eq!(
        reports.texts(),
        ["`Update` was dropped: the program took a later message, and left the state that accepts it"]
    );
}

#[tokio::test]
async fn a_cancel_after_the_answer_to_a_later_request_is_a_violation() {
    let (agent, mut editor, reports) = agent();
    let first = turn(agent, &mut editor, 1).await;
    let idle = done(first, &mut editor).await;
    let answering = async {
        let asked = hear(&mut editor, "look").await;
        editor.say(notification("cancel", json!(null))).await;
        editor.say(reply(&asked, json!("seen"))).await;
        // The side that answers has read that the turn is over.
        editor.say(notification("cancel", json!(null))).await;
    };
    let (seen, ()) = tokio::join!(idle.look(json!({})), answering);
    assert_eq!(seen.unwrap(), "seen");
    let second = turn(idle, &mut editor, 2).await;
    assert!(!at_once(second.readable()).await);
    let reported = reports.take();
    assert!(matches!(reported.as_slice(), [Report::Late { .. }, Report::Violation(_)]), "{reported:?}");
}

#[tokio::test]
async fn a_value_that_lags_may_still_say_what_its_state_has_and_the_peer_hears_of_it_no_later_than_late() {
    let (editor, mut agent, _) = editor();
    let incoming = editor.incoming();
    let mut first = editor.send_prompt(json!(1)).await.unwrap();
    let asked = hear(&mut agent, "prompt").await;
    agent.say(reply(&asked, json!("done"))).await;
    first.readable().await;
    // The turn is over, and no reply has come since.
    first.send_cancel().await.unwrap();
    hear(&mut agent, "cancel").await;
    agent.say(request(1, "look", json!({}))).await;
    let Some(client::Incoming::Look(_, looking)) = incoming.next().await else { panic!() };
    looking.respond(json!("seen")).unwrap();
    assert_eq!(agent.hear().await.unwrap().get("result"), Some(&json!("seen")));
    // The agent knows by now that this side has heard of the end of the turn.
    first.send_cancel().await.unwrap();
    let (_, idle) = first.recv_done().await.unwrap();
    let _second = idle.send_prompt(json!(2)).await.unwrap();
    hear(&mut agent, "prompt").await;
}

pub(super) fn uri() -> Value {
    json!({"uri": "a"})
}

pub(super) async fn opened(editor: &Editor<Idle>, agent: &mut Raw) -> client::Document<Editing> {
    let answering = async {
        let asked = hear(agent, "document/open").await;
        agent.say(reply(&asked, json!({}))).await;
    };
    let (document, ()) = tokio::join!(editor.open(uri()), answering);
    document.unwrap()
}

#[tokio::test]
async fn what_is_said_of_a_sub_session_that_is_over_is_late_until_the_peer_has_answered_something() {
    let (editor, mut agent, reports) = editor();
    let document = opened(&editor, &mut agent).await;
    drop(document);
    hear(&mut agent, "withdraw").await;
    agent.say(notification("document/saved", uri())).await;
    let refused = agent.ask(request(7, "document/read", uri())).await;
    assert_eq!(
        refused.pointer("/error/message"),
        Some(&json!("the request is late: what it belongs to is over"))
    );
    assert_eq!(
        reports.texts(),
        [
            "`Saved` is late: it crossed `Withdraw`, with which the sub-session in `Editing` ended",
            "`Read` is late: it crossed `Withdraw`, with which the sub-session in `Editing` ended"
        ]
    );
    let turn = editor.send_prompt(json!(1)).await.unwrap();
    let asked = hear(&mut agent, "prompt").await;
    agent.say(reply(&asked, json!("done"))).await;
    agent.say(notification("document/saved", uri())).await;
    let (_, idle) = turn.recv_done().await.unwrap();
    let refused = agent.ask(request(8, "document/read", uri())).await;
    assert_eq!(refused.pointer("/error/code"), Some(&json!(-32600)), "{refused}");
    let reported = reports.take();
    assert!(matches!(reported.as_slice(), [Report::Violation(_), Report::Violation(_)]), "{reported:?}");
    // The value is free.
    let document = opened(&idle, &mut agent).await;
    agent.say(notification("document/saved", uri())).await;
    let mut document = document;
    document.recv_saved().await.unwrap();
    assert_eq!(reports.texts(), Vec::<String>::new());
}

fn topic() -> Value {
    json!({"topic": "weather"})
}

#[tokio::test]
async fn news_of_a_topic_that_was_left_stands_alone_at_once() {
    let (editor, mut agent, reports) = editor();
    let incoming = editor.incoming();
    let answering = async {
        let asked = hear(&mut agent, "topic/follow").await;
        agent.say(reply(&asked, json!({}))).await;
    };
    let (following, ()) = tokio::join!(editor.follow(topic()), answering);
    let mut following: client::Topic<Following> = following.unwrap();
    agent.say(notification("topic/news", topic())).await;
    following.recv_news().await.unwrap();
    following.send_unfollow(topic()).await.unwrap();
    agent.say(notification("topic/news", json!({"topic": "weather", "clear": true}))).await;
    let Some(client::Incoming::News(news)) = incoming.next().await else { panic!() };
    assert_eq!(news, json!({"topic": "weather", "clear": true}));
    assert_eq!(reports.texts(), Vec::<String>::new());
}

#[tokio::test]
async fn a_side_that_knows_that_a_topic_was_left_may_still_use_it() {
    let (agent, mut editor, reports) = agent();
    let incoming = agent.incoming();
    editor.say(request(1, "topic/follow", topic())).await;
    let Some(server::Incoming::Follow(_, following)) = incoming.next().await else { panic!() };
    let following = following.send_followed().await.unwrap();
    editor.hear().await.unwrap();
    editor.say(notification("topic/unfollow", topic())).await;
    following.recv_unfollow().await.unwrap();
    agent.send_news(topic()).await.unwrap();
    hear(&mut editor, "topic/news").await;
    assert_eq!(reports.texts(), Vec::<String>::new());
}
