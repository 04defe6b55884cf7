//! What is said of a method that its sender does not send.

use serde_json::{Value, json};

use super::command::trace_of;

/// The hint to a message of the client, or of the server, at the end of a session that has begun.
fn hint(protocol: &str, hello: [Value; 3], side: &str, mut message: Value) -> String {
    message["jsonrpc"] = json!("2.0");
    let [ask, answer, ready] = hello;
    let all = [("c2s", ask), ("s2c", answer), ("c2s", ready), (side, message)];
    let line = |(side, message): (&str, Value)| format!("{}\n", json!({ "dir": side, "msg": message }));
    let found = trace_of(&["--protocol", protocol], all.into_iter().map(line).collect::<String>());
    let unknown = found.findings.iter().find(|finding| finding["code"] == "method");
    unknown.unwrap_or_else(|| panic!("{:?}", found.findings))["hint"].as_str().unwrap().to_owned()
}

fn lsp(side: &str, message: Value) -> String {
    let hello = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "id": 0, "result": { "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
    ];
    hint("lsp", hello, side, message)
}

fn mcp(side: &str, message: Value) -> String {
    let named = json!({ "name": "a", "version": "1" });
    let hello = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": named } }),
        json!({ "jsonrpc": "2.0", "id": 0,
            "result": { "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": named } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    hint("mcp", hello, side, message)
}

#[test]
fn the_hint_is_true_of_the_protocol_at_hand() {
    assert_eq!(
        lsp("c2s", json!({ "id": 1, "method": "textDocument/hovr" })),
        "did you mean `textDocument/hover`?"
    );
    let file = "correct its name or judge by a `.session` file that declares it";
    assert_eq!(
        lsp("s2c", json!({ "method": "rust-analyzer/serverStatus" })),
        "correct its name, name it as an extension, `$/*`, or judge by a `.session` file that declares it"
    );
    // Requests have no names of extensions.
    assert_eq!(lsp("c2s", json!({ "id": 1, "method": "rust-analyzer/expandMacro" })), file);
    assert_eq!(mcp("c2s", json!({ "id": 1, "method": "example.org/reindexEverything" })), file);
    assert_eq!(mcp("c2s", json!({ "id": 1, "method": "tools/lst" })), "did you mean `tools/list`?");
    assert_eq!(mcp("c2s", json!({ "method": "initialized" })), "did you mean `notifications/initialized`?");
    // Several methods end so.
    assert_eq!(mcp("c2s", json!({ "id": 1, "method": "list" })), file);
    assert_eq!(
        mcp("c2s", json!({ "id": 1, "method": "tasks/list" })),
        "do not send it, or agree on a revision that has it: `2025-11-25`"
    );
}
