//! A side that leaves out what it announces, where nothing says whether it may, or refuses what it has announced.

use serde_json::json;

use super::command::{trace, trace_of};

/// A session of the Language Server Protocol, with this reply to `initialize`.
fn session(result: &serde_json::Value) -> String {
    let at = json!({ "textDocument": { "uri": "file:///a" }, "position": { "line": 0, "character": 0 } });
    let all = [
        ("c2s", json!({ "id": 0, "method": "initialize", "params": { "processId": 1, "capabilities": {} } })),
        ("s2c", json!({ "id": 0, "result": result })),
        ("c2s", json!({ "method": "initialized", "params": {} })),
        ("c2s", json!({ "id": 1, "method": "textDocument/hover", "params": at })),
        ("s2c", json!({ "id": 1, "result": null })),
        ("c2s", json!({ "id": 2, "method": "textDocument/definition", "params": at })),
        ("s2c", json!({ "id": 2, "result": null })),
        ("c2s", json!({ "id": 3, "method": "shutdown" })),
        ("s2c", json!({ "id": 3, "result": null })),
        ("c2s", json!({ "method": "exit" })),
    ];
    let line = |(side, mut message): (&str, serde_json::Value)| {
        message["jsonrpc"] = json!("2.0");
        format!("{}\n", json!({ "dir": side, "msg": message }))
    };
    all.into_iter().map(line).collect()
}

#[test]
fn a_server_that_leaves_out_its_capabilities_is_named_and_the_client_is_not_blamed() {
    for left_out in [json!({}), json!({ "capabilities": null }), json!(5)] {
        let found = trace_of(&["--protocol", "lsp"], session(&left_out));
        let [finding] = &*found.findings else { panic!("{left_out}: {:?}", found.findings) };
        assert_eq!((&finding["line"], &finding["blame"]), (&json!(4), &json!(null)), "{finding}");
        assert_eq!(
            finding["message"],
            "`textDocument/hover` needs the capability `hoverProvider`, and the server has announced nothing: the reply to \
             `initialize` in line 2 has no object at `capabilities`"
        );
    }
    // Where it has announced something else, the client goes by that.
    let found = trace_of(&["--protocol", "lsp"], session(&json!({ "capabilities": {} })));
    let blamed: Vec<_> = found.findings.iter().map(|finding| &finding["blame"]).collect();
    assert_eq!(blamed, ["client", "client"], "{:?}", found.findings);
    let all = json!({ "capabilities": { "hoverProvider": true, "definitionProvider": true } });
    assert_eq!(trace_of(&["--protocol", "lsp"], session(&all)).places(), []);
}

/// A session of MCP whose server has announced these capabilities, and has no method for what its client asks then.
fn refusing(capabilities: &serde_json::Value, asked: &[&str]) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" }
    });
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": { "name": "s", "version": "1" }
    });
    let mut all = vec![
        ("c2s", json!({ "id": 0, "method": "initialize", "params": params })),
        ("s2c", json!({ "id": 0, "result": result })),
        ("c2s", json!({ "method": "notifications/initialized" })),
    ];
    for (id, method) in (1..).zip(asked) {
        let mut request = json!({ "id": id, "method": method });
        if *method == "resources/read" {
            request["params"] = json!({ "uri": "x://y" });
        }
        all.push(("c2s", request));
        all.push(("s2c", json!({ "id": id, "error": { "code": -32601, "message": "no such method" } })));
    }
    let line = |(side, mut message): (&str, serde_json::Value)| {
        message["jsonrpc"] = json!("2.0");
        format!("{}\n", json!({ "dir": side, "msg": message }))
    };
    all.into_iter().map(line).collect()
}

#[test]
fn a_server_that_refuses_what_it_has_announced_is_found() {
    let log = refusing(&json!({ "prompts": {} }), &["prompts/list", "prompts/list"]);
    let found = trace(&log);
    let [finding] = &*found.findings else { panic!("{:?}", found.findings) };
    assert_eq!(
        (&finding["line"], &finding["level"], &finding["blame"]),
        (&json!(5), &json!("should"), &json!("server"))
    );
    assert_eq!(
        finding["message"],
        "the server has announced `prompts`, and refuses `prompts/list` as a method that it does not have"
    );
    assert_eq!(finding["hint"], "answer `prompts/list`, or do not announce `prompts`");
    // Whether it has announced it is not known where that is not in the log, or was not understood.
    let beginning = log.match_indices('\n').nth(2).map(|(end, _)| end + 1).unwrap();
    assert_eq!(trace(&log[beginning..]).places(), []);
    let unread = log.replace(r#""method":"notifications/initialized""#, r#""method"x"#);
    assert_ne!(unread, log);
    assert_eq!(trace(unread).places(), []);
    // It has not announced what was asked for.
    let other = refusing(&json!({ "tools": {} }), &["prompts/list"]);
    assert_eq!(trace(other).places(), [(4, "capability".to_owned())]);
    // It may have no method for these params.
    let read = refusing(&json!({ "resources": {} }), &["resources/read"]);
    assert_eq!(trace(read).places(), []);
}
