//! A small MCP server that accepts everything at any time, and does one thing wrong by its manner.

use std::io::{BufRead, stdin};

use serde_json::{Value, json};

/// Serves on the standard streams until the input ends.
pub(crate) fn serve(manner: &str) {
    let mut input = stdin().lock();
    let mut line = Vec::new();
    if manner == "chatty" {
        say("Listening");
    }
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        if let Ok(message) = serde_json::from_slice::<Value>(&line) {
            for mut answer in answers(manner, &message) {
                if manner == "unversioned" {
                    answer.as_object_mut().unwrap().remove("jsonrpc");
                }
                if manner == "textual" && answer["id"].is_number() {
                    answer["id"] = json!(answer["id"].to_string());
                }
                if manner == "silent about itself"
                    && let Some(result) = answer["result"].as_object_mut()
                {
                    result.remove("capabilities");
                }
                say(&answer.to_string());
            }
        }
        line.clear();
    }
}

fn say(text: &str) {
    println!("{text}");
}

/// What the server writes after a message.
pub(crate) fn answers(manner: &str, message: &Value) -> Vec<Value> {
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let text = |text: String| result(json!({ "content": [{ "type": "text", "text": text }] }));
    match message["method"].as_str() {
        Some("initialize") => vec![result(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "small", "version": "1" },
        }))],
        Some("ping") => vec![result(json!({}))],
        Some("tools/list") if manner == "misshapen" => vec![result(json!({ "tools": "none" }))],
        Some("tools/list") => vec![result(json!({ "tools": [] }))],
        Some("tools/call") if manner.starts_with("rounds") => vec![result(round(manner, &message["params"]))],
        Some("tools/call") => match manner {
            // The call is answered when the answer to this request has come.
            "asks" => vec![json!({ "jsonrpc": "2.0", "id": "from the server", "method": "tools/list" })],
            "logs objects" => {
                let changed = json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed" });
                vec![json!({ "level": 30, "msg": "called" }), changed, text("called".into())]
            }
            "notifies" => {
                vec![json!({ "jsonrpc": "2.0", "method": "notifications/unheard-of" }), text("called".into())]
            }
            "strays" => vec![json!({ "jsonrpc": "2.0", "id": 777, "result": {} }), text("called".into())],
            "garbles" => vec![json!({ "jsonrpc": "2.0", "id": message["id"], "result": {}, "error": {} })],
            "hasty" => {
                let asks = |method: &str| {
                    let id = format!("{method} {}", message["id"]);
                    json!({ "jsonrpc": "2.0", "id": id, "method": method })
                };
                vec![asks("roots/list"), asks("elicitation/create"), text("called".into())]
            }
            "reports late" => {
                let params =
                    json!({ "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1 });
                let report =
                    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                vec![text("called".into()), report]
            }
            "stands still" => {
                let token = &message["params"]["_meta"]["progressToken"];
                let report = |progress: u64| {
                    let params = json!({ "progressToken": token, "progress": progress });
                    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
                };
                vec![report(5), report(5), report(4), report(5), text("called".into())]
            }
            "nameless" => {
                let error = json!({ "code": -32603, "message": "failed" });
                vec![json!({ "jsonrpc": "2.0", "id": null, "error": error })]
            }
            "dies" => std::process::exit(3),
            "long" => vec![text("called".repeat(1000))],
            _ => vec![text("called".into())],
        },
        Some(_) if !message["id"].is_null() => {
            let error = json!({ "code": -32601, "message": "no such method" });
            vec![json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })]
        }
        None if message["id"] == "from the server" => {
            let code = message["error"]["code"].clone();
            let content = json!([{ "type": "text", "text": format!("the client said {code}") }]);
            vec![json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": content } })]
        }
        _ => Vec::new(),
    }
}

/// The result of a call that asks the client for a name before it says something.
fn round(manner: &str, params: &Value) -> Value {
    match (&params["requestState"], manner) {
        (Value::Null, "rounds without a question") => json!({ "resultType": "input_required" }),
        (Value::Null, _) => {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let asked = json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
            json!({
                "resultType": "input_required",
                "requestState": "s1",
                "inputRequests": { "who": { "method": "elicitation/create", "params": asked } },
            })
        }
        _ => {
            let name = params["inputResponses"]["who"]["content"]["name"].as_str().unwrap_or_default();
            let content = json!([{ "type": "text", "text": format!("Hello {name}") }]);
            json!({ "resultType": "complete", "content": content })
        }
    }
}
