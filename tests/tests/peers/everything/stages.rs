//! The parts of the whole session, one area of the protocol each.

use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_protocols::types::*;
use mcp_runtime::{Error, RpcError};
use serde_json::{Value, json};

use super::handler::{ClientHandler, Entry, logged};
use integration_tests::tap::{Line, Window};

type Session = McpClient<Active>;

/// The parameters of a call.
fn call(name: &str, arguments: Value) -> CallToolParams {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    CallToolParams::new(name).arguments(arguments)
}

/// Calls a tool and gives its text.
async fn text(session: &Session, name: &str, arguments: Value) -> String {
    let result = session.call_tool(call(name, arguments)).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{name}: {result:?}");
    result.first_text().unwrap().to_owned()
}

/// Every tool that does no harm, and those that are not there.
pub(crate) async fn tools(session: &Session) {
    let tools = session.list_tools(None).await.unwrap().tools;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    // Four depend on what the client has announced.
    for name in ["echo", "get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(text(session, "echo", json!({ "message": "hi" })).await, "Echo: hi");
    assert_eq!(text(session, "get-sum", json!({ "a": 2, "b": 3 })).await, "The sum of 2 and 3 is 5.");
    assert!(text(session, "get-env", json!({})).await.contains("PATH"));
    assert!(text(session, "get-roots-list", json!({})).await.contains("file:///home/anna/garden"));
    let kinds = |result: CallToolResult| -> Vec<String> {
        let kinds = result.content.iter().map(|content| json!(content)["type"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    for (name, arguments, kind) in [
        ("get-tiny-image", json!({}), "image"),
        ("get-annotated-message", json!({ "messageType": "success", "includeImage": true }), "image"),
        ("get-resource-links", json!({ "count": 2 }), "resource_link"),
        ("get-resource-reference", json!({ "resourceType": "Text", "resourceId": 1 }), "resource"),
    ] {
        let result = session.call_tool(call(name, arguments)).await.unwrap();
        let found = kinds(result);
        assert!(found.iter().any(|found| found == kind), "{name}: {found:?}");
    }
    let weather =
        session.call_tool(call("get-structured-content", json!({ "location": "Chicago" }))).await.unwrap();
    assert!(weather.structured_content.unwrap()["temperature"].is_number());

    // The server puts these two into results; the call itself succeeds.
    let unknown = session.call_tool(call("no-such-tool", json!({}))).await.unwrap();
    assert_eq!(unknown.is_error, Some(true));
    assert_eq!(unknown.first_text(), Some("MCP error -32602: Tool no-such-tool not found"));
    let mistyped = session.call_tool(call("get-sum", json!({ "a": "two" }))).await.unwrap();
    assert_eq!(mistyped.is_error, Some(true), "{mistyped:?}");
}

/// Two calls at once, of which the later is answered first.
pub(crate) async fn concurrent(session: &Session, window: &Window) {
    let before = window.lines().len();
    let slow =
        session.call_tool(call("trigger-long-running-operation", json!({ "duration": 1, "steps": 1 })));
    let quick = session.call_tool(call("echo", json!({ "message": "first" })));
    let (slow, quick) = tokio::join!(slow, quick);
    assert!(slow.unwrap().first_text().unwrap().starts_with("Long running operation completed."));
    assert_eq!(quick.unwrap().first_text(), Some("Echo: first"));
    // Both were written before either was answered, and under ids of their own.
    let lines = window.lines();
    let (asked, answered): (Vec<&Line>, Vec<&Line>) = match &lines[before..] {
        lines @ [Line::Wrote(_), Line::Wrote(_), Line::Read(_), Line::Read(_)] => {
            lines.iter().partition(|line| matches!(line, Line::Wrote(_)))
        }
        other => panic!("{other:#?}"),
    };
    assert_ne!(id(asked[0]), id(asked[1]));
    assert_eq!((id(asked[0]), id(asked[1])), (id(answered[1]), id(answered[0])));
}

fn id(line: &Line) -> &Value {
    let (Line::Read(message) | Line::Wrote(message)) = line;
    &message["id"]
}

/// A call that says how far it has come.
pub(crate) async fn progress(session: &Session) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let result = session
        .call_tool(call("trigger-long-running-operation", json!({ "duration": 1, "steps": 4 })))
        .on_progress(move |progress| notes.lock().unwrap().push((progress.progress, progress.total)))
        .await
        .unwrap();
    let done = "Long running operation completed. Duration: 1 seconds, Steps: 4.";
    assert_eq!(result.first_text(), Some(done));
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 4].map(|step| (Number::from(step), Some(4.into()))));
}

/// A cancelled call, whose progress still arrives.
pub(crate) async fn cancelled(session: &Session, window: &Window) {
    let before = window.lines().len();
    let mut call_of =
        session.call_tool(call("trigger-long-running-operation", json!({ "duration": 2, "steps": 8 })));
    let canceller = call_of.canceller();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let outcome = call_of
        .on_progress(move |progress| {
            notes.lock().unwrap().push(progress.progress);
            if progress.progress == 2.0 {
                canceller.cancel_with(&json!({ "reason": "seen enough" })).unwrap();
            }
        })
        .await;
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    // The session goes on while the server still reports on the cancelled call.
    assert_eq!(text(session, "echo", json!({ "message": "meanwhile" })).await, "Echo: meanwhile");
    let is_last = |line: &Line| matches!(line, Line::Read(line) if line["params"]["progress"] == 8);
    window.until(|lines| lines[before..].iter().any(is_last)).await;
    assert_eq!(text(session, "echo", json!({ "message": "afterwards" })).await, "Echo: afterwards");

    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0], "a cancelled call gets no more progress");
    let lines = &window.lines()[before..];
    let asked = id(&lines[0]);
    let cancels =
        |line: &Line| matches!(line, Line::Wrote(line) if line["method"] == "notifications/cancelled");
    let place = lines.iter().position(cancels).unwrap();
    let (Line::Read(notice) | Line::Wrote(notice)) = &lines[place];
    assert_eq!(notice["params"], json!({ "requestId": asked, "reason": "seen enough" }));
    let late = |line: &&Line| matches!(line, Line::Read(line) if line["method"] == "notifications/progress");
    assert!(lines[place..].iter().filter(late).count() >= 1, "{lines:#?}");
    let answers = lines.iter().filter(|line| matches!(line, Line::Read(_)) && id(line) == asked);
    assert_eq!(answers.count(), 0, "this server does not answer cancelled calls");
}

/// The server asks the model from within a tool call; the user agrees, and then does not.
pub(crate) async fn sampling(session: &Session, handler: &ClientHandler) {
    let ask =
        || session.call_tool(call("trigger-sampling-request", json!({ "prompt": "Who?", "maxTokens": 7 })));
    let granted = ask().await.unwrap();
    assert_ne!(granted.is_error, Some(true), "{granted:?}");
    assert!(granted.first_text().unwrap().contains("polly wants a session"), "{granted:?}");
    handler.grant(false);
    let denied = ask().await.unwrap();
    assert_eq!(denied.is_error, Some(true));
    assert_eq!(denied.first_text(), Some("MCP error -1: denied by the user"));
    let asked =
        |entry: &Entry| matches!(entry, Entry::SamplingAsked { text, most: 7 } if text.contains("Who?"));
    assert_eq!(handler.diary.count(asked), 2);
}

/// The server learns of other roots and asks for them again.
pub(crate) async fn roots(session: &Session, handler: &ClientHandler) {
    let asked = |entry: &Entry| *entry == Entry::RootsAsked;
    // It asks by itself after the handshake.
    handler.diary.until(1, asked).await;
    handler.diary.until(1, logged("Roots updated: 1 root(s)")).await;
    session.send_roots_list_changed().await.unwrap();
    handler.diary.until(2, asked).await;
    handler.diary.until(2, logged("Roots updated: 1 root(s)")).await;
}

/// A method that the server uses and this revision does not have.
pub(crate) async fn elicitation(session: &Session) {
    let result = session.call_tool(call("trigger-elicitation-request", json!({}))).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    assert!(result.first_text().unwrap().starts_with("MCP error -32601"), "{result:?}");
}

/// Lists, patterns, contents, and news of one resource.
pub(crate) async fn resources(session: &Session, handler: &ClientHandler) {
    let resources = session.list_resources(None).await.unwrap().resources;
    assert_eq!(resources.len(), 7);
    let contents = session.read_resource(ResourceParams::new(&resources[0].uri)).await.unwrap().contents;
    assert!(contents[0].as_text().is_some_and(|text| !text.is_empty()));
    let templates = session.list_resource_templates(None).await.unwrap().resource_templates;
    let patterns: Vec<&str> = templates.iter().map(|template| template.uri_template.as_str()).collect();
    assert_eq!(
        patterns,
        ["demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"]
    );
    let uri = "demo://resource/dynamic/text/1";
    let contents = session.read_resource(ResourceParams::new(uri)).await.unwrap().contents;
    assert!(contents[0].as_text().is_some());
    let contents =
        session.read_resource(ResourceParams::new("demo://resource/dynamic/blob/1")).await.unwrap().contents;
    assert!(matches!(contents[0], ResourceContents::Blob(_)));

    let missing = session.read_resource(ResourceParams::new("demo://nowhere")).await;
    match missing {
        Err(Error::Refused(RpcError { code: -32602, message, .. })) => {
            assert!(message.contains("demo://nowhere"))
        }
        other => panic!("{other:?}"),
    }

    let mut subscription = session.subscribe(ResourceParams::new(uri)).await.unwrap();
    handler.diary.until(1, logged("Received Subscribe Resource request")).await;
    text(session, "toggle-subscriber-updates", json!({})).await;
    assert_eq!(subscription.recv_resource_updated().await.unwrap().uri, uri);
    // The server subscribes as often as it is asked.
    subscription.subscribe(ResourceParams::new(uri)).await.unwrap();
    handler.diary.until(2, logged("Received Subscribe Resource request")).await;
    subscription.unsubscribe(ResourceParams::new(uri)).await.unwrap();
    handler.diary.until(1, logged("Received Unsubscribe Resource request")).await;
    // It does not mind being told so again either.
    session.unsubscribe(ResourceParams::new(uri)).await.unwrap();
    // Left on, it would keep the server from leaving at the end.
    text(session, "toggle-subscriber-updates", json!({})).await;
}

/// The prompts, filled in and refused, and suggestions for their arguments.
pub(crate) async fn prompts(session: &Session) {
    let prompts = session.list_prompts(None).await.unwrap().prompts;
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    for name in ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let first = |result: GetPromptResult| result.messages[0].content.as_text().unwrap().to_owned();
    let simple = session.get_prompt(GetPromptParams::new("simple-prompt")).await.unwrap();
    assert!(!first(simple).is_empty());
    let filled = GetPromptParams::new("args-prompt").with_argument("city", "Rome");
    assert_eq!(first(session.get_prompt(filled).await.unwrap()), "What's weather in Rome?");
    let with_resource = GetPromptParams::new("resource-prompt")
        .with_argument("resourceType", "Text")
        .with_argument("resourceId", "1");
    let with_resource = session.get_prompt(with_resource).await.unwrap();
    let is_resource = |message: &PromptMessage| matches!(message.content, ContentBlock::EmbeddedResource(_));
    assert!(with_resource.messages.iter().any(is_resource), "{with_resource:?}");
    let unfilled = session.get_prompt(GetPromptParams::new("args-prompt")).await;
    assert!(matches!(unfilled, Err(Error::Refused(RpcError { code: -32602, .. }))), "{unfilled:?}");

    let reference = PromptReference::new("completable-prompt");
    let of_prompt = CompleteParams::new(reference, CompletionArgument::new("department", "E"));
    let completion = session.complete(of_prompt).await.unwrap().completion;
    assert_eq!((completion.values, completion.total), (vec!["Engineering".to_owned()], Some(1)));
    let reference = ResourceTemplateReference::new("demo://resource/dynamic/text/{resourceId}");
    let of_template = CompleteParams::new(reference, CompletionArgument::new("resourceId", "1"));
    assert_eq!(session.complete(of_template).await.unwrap().completion.values, ["1"]);
}

/// The log, at the level of our choice.
pub(crate) async fn logging(session: &Session, handler: &ClientHandler) {
    session.set_level(SetLevelParams::new(LoggingLevel::Debug)).await.unwrap();
    // What the toggle makes up has no name of a logger; the server's own lines have one.
    let made_up = |entry: &Entry| match entry {
        Entry::Log { level, logger: None, .. } => Some(*level),
        _ => None,
    };
    text(session, "toggle-simulated-logging", json!({})).await;
    handler.diary.find(made_up).await;
    // Left on, it would keep the server from leaving at the end.
    text(session, "toggle-simulated-logging", json!({})).await;
}

/// A level that the revision does not have, which the types cannot write: the session goes on without them.
pub(crate) async fn unknown_level(session: Session) -> Session {
    let mut session = session.into_checked();
    let unknown: Result<Value, _> = session.call("logging/setLevel", &json!({ "level": "whisper" })).await;
    assert!(matches!(unknown, Err(Error::Refused(_))), "{unknown:?}");
    session.try_into_typed().unwrap()
}
