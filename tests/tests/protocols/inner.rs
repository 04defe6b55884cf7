//! A `*` in the body of another one: exchanges and sub-sessions of a sub-session.

use mcp_runtime::session::WhyNot;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::in_time;

mod turns {
    mcp_runtime::protocol!("protocols/turns.session");
}

mod texts {
    mcp_runtime::protocol!("protocols/texts.session");
}

use texts::server::{Incoming, OpenNext};
use turns::client::WorkingNext;

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

/// Answers each hover with the text as it is then, until the text is closed.
async fn check(mut text: texts::server::Text<texts::Open>, mut now: Value) -> Value {
    loop {
        match text.next().await.unwrap() {
            OpenNext::Changed(change, next) => {
                now = change["text"].clone();
                text = next;
            }
            OpenNext::Hover(_, owed, next) => {
                owed.respond(json!({ "text": now })).unwrap();
                text = next;
            }
            OpenNext::Closed(_) => return now,
        }
    }
}

#[tokio::test]
async fn an_answer_comes_from_the_text_that_precedes_the_question_on_the_wire() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::new(wire);
    let checking = test_support::spawn(async move {
        let Some(Incoming::Opened(opened, text)) = server.incoming().next().await else { panic!() };
        (check(text, opened["text"].clone()).await, server)
    });
    raw.say(notification("text/opened", json!({ "uri": "a", "text": 0 }))).await;
    for number in 1..=200 {
        raw.say(notification("text/changed", json!({ "uri": "a", "text": number }))).await;
        raw.say(request(number, "text/hover", json!({ "uri": "a" }))).await;
    }
    for number in 1..=200 {
        let answer = in_time(raw.hear()).await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["text"]), (&json!(number), &json!(number)));
    }
    raw.say(notification("text/closed", json!({ "uri": "a" }))).await;
    assert_eq!(in_time(checking).await.unwrap().0, json!(200));
}

#[tokio::test]
async fn questions_of_a_sub_session_run_side_by_side() {
    let (near, far) = duplex();
    let (editor, agent) = (turns::Editor::new(near), turns::Agent::new(far));
    let working = test_support::spawn(async move {
        let Some(turns::server::Incoming::Prompt(_, turn)) = agent.incoming().next().await else { panic!() };
        let asking = turn.handle();
        let (one, two) = tokio::join!(
            turn.permit(json!({ "sessionId": "a", "what": 1 })),
            asking.permit(json!({ "sessionId": "a", "what": 2 })),
        );
        turn.send_stopped(json!([one.unwrap(), two.unwrap()])).await.unwrap();
        agent
    });
    let mut turn = editor.send_prompt(json!({ "sessionId": "a" })).await.unwrap();
    let mut owed = Vec::new();
    let stopped = loop {
        match in_time(turn.next()).await.unwrap() {
            WorkingNext::Permit(asked, responder, next) => {
                turn = next;
                owed.push((asked["what"].clone(), responder));
                // Both are asked before one is answered, and the later one is answered first.
                while owed.len() == 2
                    && let Some((what, responder)) = owed.pop()
                {
                    responder.respond(what).unwrap();
                    if let Some((what, responder)) = owed.pop() {
                        responder.respond(what).unwrap();
                    }
                }
            }
            WorkingNext::Stopped(reason) => break reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(stopped, json!([1, 2]));
    drop(in_time(working).await.unwrap());
}

#[tokio::test]
async fn a_sub_session_of_a_sub_session_ends_with_it() {
    let (near, far) = duplex();
    let (editor, agent) = (turns::Editor::new(near), turns::Agent::new(far));
    let working = test_support::spawn(async move {
        let Some(turns::server::Incoming::Prompt(_, turn)) = agent.incoming().next().await else { panic!() };
        let (created, mut terminal) = turn.create(json!({ "sessionId": "a" })).await.unwrap();
        assert_eq!(created, json!({ "terminalId": "t" }));
        let output = terminal.recv_output().await.unwrap();
        turn.send_stopped(json!("done")).await.unwrap();
        let over = terminal.recv_output().await.unwrap_err();
        assert!(matches!(over, Error::Closed), "{over:?}");
        (output, agent)
    });
    let turn = editor.send_prompt(json!({ "sessionId": "a" })).await.unwrap();
    let WorkingNext::Create(_, terminal, turn) = in_time(turn.next()).await.unwrap() else { panic!() };
    let mut terminal = terminal.send_created(json!({ "terminalId": "t" })).await.unwrap();
    terminal.send_output(json!({ "sessionId": "a", "terminalId": "t", "text": "hello" })).await.unwrap();
    assert_eq!(in_time(turn.recv_stopped()).await.unwrap(), json!("done"));
    let after = json!({ "sessionId": "a", "terminalId": "t", "text": "too late" });
    let over = terminal.send_output(after).await.unwrap_err();
    assert!(matches!(over, Error::Closed), "{over:?}");
    assert_eq!(in_time(working).await.unwrap().0["text"], "hello");
    // The session itself goes on.
    let turn = editor.send_prompt(json!({ "sessionId": "a" })).await.unwrap();
    drop(turn);
}

#[tokio::test]
async fn a_question_that_crosses_the_end_is_refused_as_late() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let editor = texts::Editor::with_options(wire, options);
    let text = editor.send_opened(json!({ "uri": "a" })).await.unwrap();
    text.send_closed(json!({ "uri": "a" })).await.unwrap();
    // The server has not read that.
    for _ in 0..2 {
        raw.hear().await.unwrap();
    }
    let refused = in_time(raw.ask(request(1, "text/format", json!({ "uri": "a" })))).await;
    assert_eq!(refused["error"]["message"], "the request is late: what it belongs to is over", "{refused}");
    assert!(reports.recv().await.unwrap().contains("`Format` is late"));
}

#[tokio::test]
async fn a_question_that_the_value_has_not_taken_is_answered_with_an_error() {
    let (wire, mut raw) = raw();
    let editor = texts::Editor::new(wire);
    let mut text = editor.send_opened(json!({ "uri": "a" })).await.unwrap();
    raw.hear().await.unwrap();
    raw.say(request(1, "text/format", json!({ "uri": "a" }))).await;
    raw.say(request(2, "text/format", json!({ "uri": "a" }))).await;
    let texts::client::OpenNext::Format(_, owed) = in_time(text.next()).await.unwrap() else { panic!() };
    in_time(text.readable()).await;
    text.send_closed(json!({ "uri": "a" })).await.unwrap();
    let (mut answered, mut closed) = (None, false);
    while answered.is_none() || !closed {
        let message = in_time(raw.hear()).await.unwrap();
        closed |= message["method"] == "text/closed";
        if message["id"] == 2 {
            answered = Some(message["error"]["message"].clone());
        }
    }
    assert_eq!(answered, Some(json!("the request was dropped unanswered")));
    // The one that was taken is answered by who took it, also after the end.
    owed.respond(json!({ "edits": [] })).unwrap();
    assert_eq!(
        in_time(raw.hear()).await.unwrap(),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "edits": [] } })
    );
}

#[tokio::test]
async fn what_the_program_does_not_look_at_gives_the_value_back() {
    let (wire, mut raw) = raw();
    let server = texts::Checker::new(wire);
    raw.say(notification("text/opened", json!({ "uri": "a" }))).await;
    raw.say(request(1, "text/hover", json!({ "uri": "a" }))).await;
    raw.say(notification("text/changed", json!({ "uri": "a" }))).await;
    raw.say(notification("text/closed", json!({ "uri": "a" }))).await;
    let Some(Incoming::Opened(_, text)) = in_time(server.incoming().next()).await else { panic!() };
    let text = in_time(text.next()).await.unwrap().into_open().unwrap();
    let answer = in_time(raw.hear()).await.unwrap();
    assert_eq!(answer["error"]["message"], "the request was dropped unanswered");
    let text = in_time(text.next()).await.unwrap().into_open().unwrap();
    let closed = in_time(text.next()).await.unwrap().into_open().unwrap_err();
    assert!(matches!(closed, OpenNext::Closed(_)), "{closed:?}");
}

#[tokio::test]
async fn a_question_for_no_open_text_is_refused() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let _server = texts::Checker::with_options(wire, options);
    let refused = in_time(raw.ask(request(1, "text/hover", json!({ "uri": "a" })))).await;
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("nothing is running under it"),
        "{refused}"
    );
    let report = reports.recv().await.unwrap();
    assert!(report.contains("text/hover"), "{report}");
}

#[tokio::test]
async fn a_session_without_types_has_them_too() {
    let (near, far) = duplex();
    let mut editor = texts::Editor::new(near).into_checked();
    let mut server = texts::Checker::new(far).into_checked();
    let mut text = editor.open("text/opened", &json!({ "uri": "a" })).await.unwrap();
    let Event::Opened { mut session, .. } = in_time(server.next()).await.unwrap() else { panic!() };
    // Both sides ask, by request and by call.
    let asked = text.request("text/hover", &json!({ "uri": "a" })).await.unwrap();
    let Event::Request { id, method, .. } = in_time(session.next()).await.unwrap() else { panic!() };
    assert_eq!(method, "text/hover");
    // What it has asked, and what it has to answer, has no place in a value with a type.
    let not = session.try_into_typed::<texts::server::Text<texts::Open>>().unwrap_err();
    assert!(matches!(&not.why, WhyNot::Held { ids } if *ids == [id.clone()]), "{}", not.why);
    session = not.session;
    session.respond(&id, &json!("what it is")).await.unwrap();
    let not = text.try_into_typed::<texts::client::Text<texts::Open>>().unwrap_err();
    assert!(matches!(&not.why, WhyNot::Asked { ids } if *ids == [asked.clone()]), "{}", not.why);
    text = not.session;
    let Event::Reply { id, result, .. } = in_time(text.next()).await.unwrap() else { panic!() };
    assert_eq!((id, result.as_str()), (asked, "\"what it is\""));
    let formatted = test_support::spawn(async move { (format(&mut session).await, session) });
    let Event::Request { id, .. } = in_time(text.next()).await.unwrap() else { panic!() };
    text.respond(&id, &json!("edits")).await.unwrap();
    let (formatted, session) = in_time(formatted).await.unwrap();
    assert_eq!(formatted, json!("edits"));
    drop((text, session));
}

async fn format(text: &mut CheckedSession) -> Value {
    text.call("text/format", &json!({ "uri": "a" })).await.unwrap()
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
