//! The payload types of `protocols/mcp-2025-11-25.session` and what it imports, held against recorded traffic.
//!
//! Every message of that revision in `tests/traffic` is read into the type the `.session` file names for it, written
//! again, and compared. What a type drops, renames or refuses shows up here, with the place in the payload. Two
//! things count as equal: a member that is `null` and one that is absent, and a member that has its default and
//! one that is absent.

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
pub(super) type Pass = fn(&Value) -> Result<Value, serde_json::Error>;

/// What the `.session` file says of one payload.
pub(super) struct Carried {
    /// The name of the type, as the file has it.
    pub(super) name: &'static str,
    /// Through the type and back; `None` where there is nothing to lose, `(_)` or no payload at all.
    pub(super) pass: Option<Pass>,
}

/// One method: what its `params` are and, for a request, what its `result` is.
pub(super) struct Method {
    pub(super) method: &'static str,
    pub(super) params: Carried,
    pub(super) result: Option<Carried>,
}

pub(super) fn through<T: Serialize + DeserializeOwned>(payload: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(payload.clone())?)
}

macro_rules! carried {
    (_) => {
        Carried { name: "(_)", pass: None }
    };
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
        "tools/list" (ListToolsParams optional) -> (ListToolsResult);
        "tools/call" (CallToolParams) -> (CallToolResult);
        "resources/list" (ListResourcesParams optional) -> (ListResourcesResult);
        "resources/templates/list" (ListResourceTemplatesParams optional) -> (ListResourceTemplatesResult);
        "resources/read" (ReadResourceParams) -> (ReadResourceResult);
        "resources/subscribe" (_) -> (none);
        "resources/unsubscribe" (_) -> (none);
        "prompts/list" (ListPromptsParams optional) -> (ListPromptsResult);
        "prompts/get" (GetPromptParams) -> (GetPromptResult);
        "completion/complete" (CompleteParams) -> (CompleteResult);
        "logging/setLevel" (_) -> (none);
        "sampling/createMessage" (CreateMessageParams) -> (CreateMessageResult);
        "roots/list" (ListRootsParams optional) -> (ListRootsResult);
        "notifications/roots/list_changed" (none);
        "notifications/tools/list_changed" (none);
        "notifications/resources/list_changed" (none);
        "notifications/prompts/list_changed" (none);
        "notifications/resources/updated" (_);
        "notifications/message" (LoggingMessageParams);
        "elicitation/create" (_) -> (ElicitResult);
        "notifications/elicitation/complete" (ElicitationCompleteParams);
        "tasks/get" (GetTaskInfoParams) -> (TaskObject);
        "tasks/list" (ListTasksParams optional) -> (ListTasksResult);
        "tasks/result" (GetTaskResultParams) -> (_);
        "tasks/cancel" (CancelTaskParams) -> (TaskObject);
        "notifications/tasks/status" (TaskStatusParams);
    }
}

/// Members whose absence means this value.
const DEFAULTS: &[(&str, bool)] = &[
    ("readOnlyHint", false),
    ("destructiveHint", true),
    ("idempotentHint", false),
    ("openWorldHint", true),
    ("isError", false),
    ("listChanged", false),
    ("subscribe", false),
    ("required", false),
];

/// Whether a member that only one side has says no more than its absence. A prompt without arguments may be written
/// with an empty object of them.
fn says_nothing(name: &str, value: &Value) -> bool {
    value.is_null()
        || DEFAULTS.iter().any(|(member, default)| *member == name && *value == Value::Bool(*default))
        || (name == "arguments" && value.as_object().is_some_and(serde_json::Map::is_empty))
}

/// Whether a member that only one side has says no more than its absence.
pub(super) type SaysNothing = fn(&str, &Value) -> bool;

/// Adds a line for every place in which `after` differs from `before`.
fn compare(
    place: &str,
    before: &Value,
    after: &Value,
    says_nothing: SaysNothing,
    differences: &mut Vec<String>,
) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let place = format!("{place}.{name}");
                match new.get(name) {
                    Some(again) => compare(&place, value, again, says_nothing, differences),
                    None if says_nothing(name, value) => {}
                    None => differences.push(format!("{place}: {value} is lost")),
                }
            }
            for (name, value) in new {
                if !old.contains_key(name) && !says_nothing(name, value) {
                    differences.push(format!("{place}.{name}: {value} appears"));
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (value, again)) in old.iter().zip(new).enumerate() {
                compare(&format!("{place}[{index}]"), value, again, says_nothing, differences);
            }
        }
        // `1` and `1.0` are one number.
        (Value::Number(old), Value::Number(new)) if old.as_f64() == new.as_f64() => {}
        _ if before == after => {}
        _ => differences.push(format!("{place}: {before} becomes {after}")),
    }
}

/// The places in which a payload differs after it went through its type.
pub(super) fn lost(pass: Pass, payload: &Value, says_nothing: SaysNothing) -> Vec<String> {
    let mut differences = Vec::new();
    match pass(payload) {
        Ok(again) => compare("", payload, &again, says_nothing, &mut differences),
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

/// How often each payload was met, by method and `params` or `result`.
pub(super) type Met = BTreeMap<(String, &'static str), usize>;

/// Checks all recorded traffic; says what was met and what was wrong.
pub(super) fn check_traffic(methods: &[Method], says_nothing: SaysNothing) -> (Met, Vec<String>) {
    let known = |method: &str| methods.iter().find(|row| row.method == method);
    let mut met = Met::new();
    let mut wrong = Vec::new();
    // Which method a result belongs to: by file, by who asked, by id. The writer of a result is not the one who
    // asked. A request in the form of a later revision, which a `task` gives away, has results of another type.
    let mut asked: BTreeMap<(String, String, String), String> = BTreeMap::new();
    for (place, writer, message) in recorded() {
        let file = place.split(':').next().unwrap_or_default().to_owned();
        let (name, carried, part, payload) = if let Some(method) = message["method"].as_str() {
            let later = !message["params"]["task"].is_null();
            if !message["id"].is_null() && !later {
                asked.insert((file, writer, message["id"].to_string()), method.to_owned());
            }
            match known(method) {
                Some(row) if !later => (method.to_owned(), &row.params, "params", message.get("params")),
                _ => continue,
            }
        } else if let Some(result) = message.get("result") {
            let asker = if writer == "c2s" { "s2c" } else { "c2s" };
            let Some(method) = asked.get(&(file, asker.to_owned(), message["id"].to_string())) else {
                continue;
            };
            match known(method).and_then(|row| row.result.as_ref()) {
                Some(carried) => (method.clone(), carried, "result", Some(result)),
                None => continue,
            }
        } else {
            continue;
        };
        *met.entry((name.clone(), part)).or_default() += 1;
        if let (Some(pass), Some(payload)) = (carried.pass, payload) {
            wrong.extend(
                lost(pass, payload, says_nothing)
                    .into_iter()
                    .map(|what| format!("{place}: {name} {part}{what}")),
            );
        }
    }
    (met, wrong)
}

#[test]
fn recorded_payloads_come_back_whole() {
    let (_, wrong) = check_traffic(&methods(), says_nothing);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_method_is_met_in_the_traffic() {
    let (met, _) = check_traffic(&methods(), says_nothing);
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
        "resources/read" => json!({ "uri": "a:b" }),
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

/// What is known to be lost. When one of these fails the crate has got better, and the remark at the top of the
/// `.session` file may go.
mod known_losses {
    use super::{lost, says_nothing, through};
    use mcp_protocols::types as protocol;
    use serde_json::json;

    #[test]
    fn forms_are_refused_or_lose_their_choices() {
        let with = |field: serde_json::Value| {
            let schema = json!({ "type": "object", "properties": { "a": field } });
            json!({ "message": "?", "requestedSchema": schema })
        };
        let titled = with(json!({ "type": "string", "oneOf": [{ "const": "x", "title": "X" }] }));
        assert_eq!(lost(through::<protocol::ElicitFormParams>, &titled, says_nothing).len(), 1);
        let several =
            with(json!({ "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X" }] } }));
        assert!(through::<protocol::ElicitFormParams>(&several).is_err());
    }

    #[test]
    fn a_task_that_was_created_is_written_twice() {
        let at = "2025-11-25T10:30:00Z";
        let task =
            json!({ "taskId": "t", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": null });
        let written = through::<protocol::CreateTaskResult>(&json!({ "task": task })).expect("a task");
        assert_eq!(written["task"]["taskId"], json!("t"));
        assert_eq!(written["taskId"], json!("t"));
    }

    #[test]
    fn capabilities_that_the_crate_does_not_know_are_dropped() {
        let hello = json!({
            "protocolVersion": "2025-03-26",
            "capabilities": { "example": {} },
            "clientInfo": { "name": "a", "version": "1" },
        });
        assert_eq!(
            lost(through::<protocol::InitializeParams>, &hello, says_nothing),
            [".capabilities.example: {} is lost"]
        );
    }
}

#[test]
fn the_comparison_sees_what_is_lost() {
    let mut differences = Vec::new();
    let before = serde_json::json!({ "a": 1, "b": [1, { "c": "x" }], "d": null, "isError": true, "e": 2 });
    let after = serde_json::json!({ "a": 1.0, "b": [1, { "c": "y" }], "f": 0, "e": 3 });
    compare("", &before, &after, says_nothing, &mut differences);
    differences.sort();
    assert_eq!(
        differences,
        [".b[1].c: \"x\" becomes \"y\"", ".e: 2 becomes 3", ".f: 0 appears", ".isError: true is lost"],
    );
}
