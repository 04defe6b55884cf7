//! The payload types of `protocols/mcp-2025-11-25.session` and what it imports, compared with recorded traffic.
//!
//! Every message of that revision in `tests/traffic` is read into the type that the `.session` file names for it,
//! written again, and compared member for member. What a type drops, adds, renames or refuses shows up here, with the
//! place in the payload.

// What is missing or malformed among the test's own files fails the test, wherever it is noticed; a JSON value that
// lacks a member gives `null`.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_protocols::types as protocol;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a payload into its type and writes it again.
type Pass = fn(&Value) -> Result<Value, serde_json::Error>;

/// What the `.session` file says of one payload.
struct Carried {
    /// The name of the type, as the file has it.
    name: &'static str,
    /// Through the type and back; `None` without a payload.
    pass: Option<Pass>,
}

/// One method: what its `params` are and, for a request, what its `result` is.
struct Method {
    method: &'static str,
    params: Carried,
    result: Option<Carried>,
}

fn through<T: Serialize + DeserializeOwned>(payload: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(payload.clone())?)
}

macro_rules! carried {
    (none) => {
        Carried { name: "", pass: None }
    };
    ($type:ident) => {
        Carried { name: concat!("(", stringify!($type), ")"), pass: Some(through::<protocol::$type>) }
    };
    ($type:ident optional) => {
        Carried { name: concat!("(", stringify!($type), "?)"), pass: Some(through::<protocol::$type>) }
    };
}

macro_rules! methods {
    ($($method:literal ($($params:tt)+) $(-> ($($result:tt)+))?;)+) => {
        vec![$(Method {
            method: $method,
            params: carried!($($params)+),
            result: methods!(@result $($($result)+)?),
        }),+]
    };
    (@result) => { None };
    (@result $($result:tt)+) => { Some(carried!($($result)+)) };
}

/// All methods of the revision with the types the `.session` file gives them.
fn methods() -> Vec<Method> {
    methods! {
        "initialize" (InitializeParams) -> (InitializeResult);
        "notifications/initialized" (none);
        "ping" (none) -> (none);
        "notifications/cancelled" (CancelledParams);
        "notifications/progress" (ProgressParams);
        "tools/list" (PaginatedParams optional) -> (ListToolsResult);
        "tools/call" (CallToolParams) -> (CallToolResult);
        "resources/list" (PaginatedParams optional) -> (ListResourcesResult);
        "resources/templates/list" (PaginatedParams optional) -> (ListResourceTemplatesResult);
        "resources/read" (ResourceParams) -> (ReadResourceResult);
        "resources/subscribe" (ResourceParams) -> (none);
        "resources/unsubscribe" (ResourceParams) -> (none);
        "prompts/list" (PaginatedParams optional) -> (ListPromptsResult);
        "prompts/get" (GetPromptParams) -> (GetPromptResult);
        "completion/complete" (CompleteParams) -> (CompleteResult);
        "logging/setLevel" (SetLevelParams) -> (none);
        "sampling/createMessage" (CreateMessageParams) -> (CreateMessageResult);
        "roots/list" (RequestParams optional) -> (ListRootsResult);
        "notifications/roots/list_changed" (none);
        "notifications/tools/list_changed" (none);
        "notifications/resources/list_changed" (none);
        "notifications/prompts/list_changed" (none);
        "notifications/resources/updated" (ResourceUpdatedParams);
        "notifications/message" (LoggingMessageParams);
        "elicitation/create" (ElicitParams) -> (ElicitResult);
        "notifications/elicitation/complete" (ElicitationCompleteParams);
        "tasks/get" (TaskParams) -> (TaskResult);
        "tasks/list" (PaginatedParams optional) -> (ListTasksResult);
        "tasks/result" (TaskParams) -> (TaskPayload);
        "tasks/cancel" (TaskParams) -> (TaskResult);
        "notifications/tasks/status" (TaskStatusParams);
    }
}

/// The result of a request that runs as a task, whichever it is.
const CREATED: Carried =
    Carried { name: "(CreateTaskResult)", pass: Some(through::<protocol::CreateTaskResult>) };

/// Adds a line for every place in which `after` differs from `before`.
fn compare(place: &str, before: &Value, after: &Value, differences: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let place = format!("{place}.{name}");
                match new.get(name) {
                    Some(again) => compare(&place, value, again, differences),
                    None => differences.push(format!("{place}: {value} is lost")),
                }
            }
            for (name, value) in new {
                if !old.contains_key(name) {
                    differences.push(format!("{place}.{name}: {value} appears"));
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (value, again)) in old.iter().zip(new).enumerate() {
                compare(&format!("{place}[{index}]"), value, again, differences);
            }
        }
        _ if before == after => {}
        _ => differences.push(format!("{place}: {before} becomes {after}")),
    }
}

/// The places in which a payload differs after it went through its type.
fn lost(pass: Pass, payload: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    match pass(payload) {
        Ok(again) => compare("", payload, &again, &mut differences),
        Err(error) => differences.push(format!("refused: {error}")),
    }
    differences
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every recorded message, with the name of its file and the line.
fn recorded() -> Vec<(String, String, Value)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(project().join("tests/traffic"))
        .expect("the folder of recorded traffic")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut messages = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a recorded session");
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            let writer = line["dir"].as_str().unwrap_or_default().to_owned();
            if matches!(writer.as_str(), "c2s" | "s2c") {
                messages.push((format!("{name}:{}", index + 1), writer, line["msg"].clone()));
            }
        }
    }
    messages
}

/// How often each payload was met, by method and `params`, `result` or, of a request that runs as a task, `task`.
type Met = BTreeMap<(String, &'static str), usize>;

/// Checks all recorded traffic; says what was met and what was wrong.
fn check_traffic(methods: &[Method]) -> (Met, Vec<String>) {
    let known = |method: &str| methods.iter().find(|row| row.method == method);
    let mut met = Met::new();
    let mut wrong = Vec::new();
    // Which method a result belongs to, and whether it runs as a task: by file, by who asked, by id. The writer of a
    // result is not the one who asked.
    let mut asked: BTreeMap<(String, String, String), (String, bool)> = BTreeMap::new();
    for (place, writer, message) in recorded() {
        let file = place.split(':').next().unwrap_or_default().to_owned();
        let (name, carried, part, payload) = if let Some(method) = message["method"].as_str() {
            if !message["id"].is_null() {
                let as_task = !message["params"]["task"].is_null();
                asked.insert((file, writer, message["id"].to_string()), (method.to_owned(), as_task));
            }
            match known(method) {
                Some(row) => (method.to_owned(), &row.params, "params", message.get("params")),
                None => continue,
            }
        } else if let Some(result) = message.get("result") {
            let asker = if writer == "c2s" { "s2c" } else { "c2s" };
            let Some((method, as_task)) = asked.get(&(file, asker.to_owned(), message["id"].to_string()))
            else {
                continue;
            };
            match known(method).and_then(|row| row.result.as_ref()) {
                Some(_) if *as_task => (method.clone(), &CREATED, "task", Some(result)),
                Some(carried) => (method.clone(), carried, "result", Some(result)),
                None => continue,
            }
        } else {
            continue;
        };
        *met.entry((name.clone(), part)).or_default() += 1;
        if let (Some(pass), Some(payload)) = (carried.pass, payload) {
            wrong.extend(lost(pass, payload).into_iter().map(|what| format!("{place}: {name} {part}{what}")));
        }
    }
    (met, wrong)
}

#[test]
fn recorded_payloads_come_back_whole() {
    let (met, wrong) = check_traffic(&methods());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(met.values().sum::<usize>() > 200, "{met:?}");
}

#[test]
fn every_method_is_met_in_the_traffic() {
    let (met, _) = check_traffic(&methods());
    for row in methods() {
        assert!(met.contains_key(&(row.method.to_owned(), "params")), "no `{}` was recorded", row.method);
        // Every request in the traffic is answered, except for a cancelled one.
        if row.result.is_some() {
            assert!(
                met.contains_key(&(row.method.to_owned(), "result")),
                "`{}` is never answered",
                row.method
            );
        }
    }
}

/// The payloads in the parentheses of one declaration: the text from its method to the end of the paragraph or the
/// next documentation.
fn declared(session: &str, method: &str) -> String {
    let quoted = format!("\"{method}\"");
    let start = session.find(&quoted).unwrap_or_else(|| panic!("`{method}` is not declared")) + quoted.len();
    let rest = &session[start..];
    let end = rest.find("\n---").into_iter().chain(rest.find("\n\n")).min().unwrap_or(rest.len());
    let mut payloads = String::new();
    let mut inside = false;
    for letter in rest[..end].chars() {
        inside |= letter == '(';
        if inside {
            payloads.push(letter);
        }
        inside &= letter != ')';
    }
    payloads
}

#[test]
fn the_session_file_names_the_types_that_are_checked_here() {
    // The latest revision first, for what it replaces is not what is meant.
    let files = ["mcp-2025-11-25", "mcp/common", "mcp/handshake", "mcp/server", "mcp/client", "mcp/tasks"];
    let read = |file| {
        let path = project().join(format!("protocols/{file}.session"));
        std::fs::read_to_string(path).expect("the session file")
    };
    let session: String = files.into_iter().map(read).collect();
    let rows = methods();
    for row in &rows {
        let result = row.result.as_ref().map_or("", |result| result.name);
        assert_eq!(
            declared(&session, row.method),
            format!("{}{result}", row.params.name),
            "`{}`",
            row.method
        );
    }
    // Those with a condition are checked with the method that they are of.
    let declarations = session
        .lines()
        .map(|line| line.trim_start_matches("override "))
        .filter(|line| line.starts_with("request ") || line.starts_with("notification "))
        .filter_map(|line| line.split('"').nth(1));
    let declared: std::collections::BTreeSet<&str> = declarations.collect();
    assert_eq!(declared.len(), rows.len(), "a declared method is not checked here");
}

/// The least that a message may carry, where it carries a type.
fn least(method: &str) -> Value {
    match method {
        "initialize" => {
            json!({ "protocolVersion": "1", "capabilities": {}, "clientInfo": { "name": "n", "version": "1" } })
        }
        "notifications/cancelled" => json!({ "requestId": 1 }),
        "notifications/progress" => json!({ "progressToken": 1, "progress": 0.5 }),
        "tools/call" | "prompts/get" => json!({ "name": "n" }),
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "notifications/resources/updated" => {
            json!({ "uri": "a:b" })
        }
        "logging/setLevel" => json!({ "level": "info" }),
        "elicitation/create" => {
            json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } })
        }
        "completion/complete" => {
            json!({ "ref": { "type": "ref/prompt", "name": "n" }, "argument": { "name": "a", "value": "" } })
        }
        "sampling/createMessage" => {
            let content = json!({ "type": "text", "text": "?" });
            json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 1 })
        }
        "notifications/message" => json!({ "level": "info", "data": "d" }),
        "notifications/elicitation/complete" => json!({ "elicitationId": "e" }),
        "tasks/get" | "tasks/result" | "tasks/cancel" => json!({ "taskId": "t" }),
        "notifications/tasks/status" => {
            let at = "2025-11-25T10:30:00Z";
            // A task without a limit of time says so.
            json!({ "taskId": "t", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": null })
        }
        _ => json!({}),
    }
}

#[test]
fn what_is_absent_is_not_written_and_metadata_is_kept() {
    for Method { method, params, .. } in methods() {
        let Some(pass) = params.pass else { continue };
        let payload = least(method);
        assert_eq!(pass(&payload).expect(method), payload, "{method}");
        let mut marked = payload;
        marked["_meta"] = json!({ "com.example/trace": "abc" });
        assert_eq!(pass(&marked).expect(method), marked, "{method}");
        if method.starts_with("notifications/") {
            continue;
        }
        marked["_meta"]["progressToken"] = json!(7);
        assert_eq!(pass(&marked).expect(method), marked, "{method}");
    }
}

#[test]
fn forms_keep_their_choices() {
    let with = |field: Value| {
        let schema = json!({ "type": "object", "properties": { "a": field } });
        json!({ "message": "?", "requestedSchema": schema })
    };
    for field in [
        json!({ "type": "string", "oneOf": [{ "const": "x", "title": "X" }] }),
        json!({ "type": "string", "enum": ["x"], "enumNames": ["X"] }),
        json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X" }] } }),
        json!({ "type": "array", "items": { "type": "string", "enum": ["x"] }, "maxItems": 2 }),
        json!({ "type": "integer", "minimum": 0, "default": 1 }),
        json!({ "type": "boolean", "default": true }),
        json!({ "type": "string", "format": "email", "minLength": 3 }),
    ] {
        let form = with(field);
        assert_eq!(lost(through::<protocol::ElicitParams>, &form), [""; 0], "{form}");
    }
}

#[test]
fn what_is_not_known_is_kept_where_it_may_matter() {
    let hello = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": { "example": {}, "experimental": { "x": { "y": 1 } } },
        "clientInfo": { "name": "a", "version": "1" },
        "_meta": { "example.org/trace": [1, null], "progressToken": 7 },
    });
    assert_eq!(lost(through::<protocol::InitializeParams>, &hello), [""; 0]);
}

/// Generators of schemas write `true` for a member that may be anything.
#[test]
fn the_schema_of_an_argument_may_be_true() {
    let schema = json!({ "type": "object", "properties": { "any": true, "text": { "type": "string" } } });
    let tools = json!({ "tools": [{ "name": "a", "inputSchema": schema }] });
    assert_eq!(lost(through::<protocol::ListToolsResult>, &tools), [""; 0]);
}

#[test]
fn a_payload_that_does_not_fit_says_where() {
    let content = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": 5 }] });
    let error =
        serde_json::from_value::<protocol::CallToolResult>(content).expect_err("a text that is a number");
    assert_eq!(error.to_string(), "content[1].text: expected a string, found 5");
}

#[test]
fn a_task_that_was_created_is_written_once() {
    let at = "2025-11-25T10:30:00Z";
    let task =
        json!({ "taskId": "t", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": null });
    assert_eq!(lost(through::<protocol::CreateTaskResult>, &json!({ "task": task })), [""; 0]);
}

#[test]
fn the_comparison_sees_what_is_lost() {
    let mut differences = Vec::new();
    let before = json!({ "a": 1, "b": [1, { "c": "x" }], "d": null, "isError": false, "e": 2 });
    let after = json!({ "a": 1.0, "b": [1, { "c": "y" }], "f": 0, "e": 3 });
    compare("", &before, &after, &mut differences);
    differences.sort();
    assert_eq!(
        differences,
        [
            ".a: 1 becomes 1.0",
            ".b[1].c: \"x\" becomes \"y\"",
            ".d: null is lost",
            ".e: 2 becomes 3",
            ".f: 0 appears",
            ".isError: false is lost",
        ],
    );
}
