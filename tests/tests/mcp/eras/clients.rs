//! How a client begins decides in which era it is served.

use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use test_support::script::guarded;

use super::server;

/// A raw client of a server that has just started.
fn client() -> Raw {
    let (wire, client) = raw();
    test_support::spawn(async move { server::server().unwrap().serve(wire).await });
    client
}

fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "old", "version": "1" }
        }
    })
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} }
    })
}

fn discover() -> Value {
    json!({ "jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": { "_meta": meta() } })
}

fn call(id: u32, tool: &str, meta: Value) -> Value {
    let params = json!({ "name": tool, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// A session: the server asks with a request, and results have nothing of the newer era.
async fn session(client: &mut Raw, version: &str) {
    let welcome = client.ask(initialize(version)).await;
    assert_eq!(welcome["result"]["protocolVersion"], version);
    assert_eq!(welcome["result"]["serverInfo"]["name"], "desk");
    assert!(welcome["result"].get("resultType").is_none(), "{welcome}");
    client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    if version >= "2025-06-18" {
        let asked = client.ask(call(2, "greet", json!({}))).await;
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "Who is there?");
        let answer = json!({ "action": "accept", "content": { "name": "Bo" } });
        let result = client.ask(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
        let said = json!([{ "type": "text", "text": "Hello, Bo!" }]);
        assert_eq!(result, json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": said } }));
    } else {
        let refused = client.ask(call(2, "greet", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
    }
    let tools = client.ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" })).await;
    assert_eq!(tools["result"]["tools"][0], json!({ "name": "greet", "inputSchema": { "type": "object" } }));
    assert!(tools["result"].get("ttlMs").is_none(), "{tools}");
}

#[tokio::test]
async fn initialize_begins_a_session_of_each_older_revision() {
    guarded(async {
        for version in mcp_protocols::VERSIONS {
            session(&mut client(), version).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_that_says_its_revision_stands_for_itself() {
    guarded(async {
        let mut client = client();
        let asked = client.ask(call(1, "greet", meta())).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let mut again = call(2, "greet", meta());
        again["params"]["requestState"] = asked["result"]["requestState"].clone();
        again["params"]["inputResponses"] =
            json!({ "input": { "action": "accept", "content": { "name": "Bo" } } });
        let result = client.ask(&again).await;
        assert_eq!(result["result"]["content"][0]["text"], "Hello, Bo!");
        assert_eq!(result["result"]["resultType"], "complete");
        // The state of a call that is over is not one that the handler has sealed.
        again["id"] = json!(3);
        assert_eq!(client.ask(again).await["error"]["code"], -32602);
        let mut forged = call(4, "count", meta());
        forged["params"]["requestState"] = json!("forged");
        assert_eq!(client.ask(forged).await["error"]["code"], -32602);
        // It is too late for a session.
        let refused = client.ask(initialize("2025-11-25")).await;
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_discovers_may_begin_a_session_all_the_same() {
    guarded(async {
        let mut client = client();
        let found = client.ask(discover()).await;
        let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
        assert_eq!(found["result"]["supportedVersions"], versions);
        assert_eq!(found["result"]["resultType"], "complete");
        assert_eq!(found["result"]["instructions"], "Be polite.");
        let server = &found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "desk", "{found}");
        session(&mut client, "2025-06-18").await;
        // And then it is in the session.
        let refused = client.ask(discover()).await;
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    })
    .await;
}

#[tokio::test]
async fn both_messages_may_come_at_once() {
    guarded(async {
        let mut client = client();
        client.say(discover()).await;
        client.say(initialize("2025-11-25")).await;
        let mut ids = [client.hear().await.unwrap(), client.hear().await.unwrap()].map(|reply| {
            assert!(reply.get("result").is_some(), "{reply}");
            reply["id"].to_string()
        });
        ids.sort();
        assert_eq!(ids, ["\"probe\"", "1"]);
    })
    .await;
}

#[tokio::test]
async fn a_ping_is_of_an_older_client() {
    guarded(async {
        let mut client = client();
        let pong = client.ask(json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" })).await;
        assert_eq!(pong, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
        session(&mut client, "2025-11-25").await;
    })
    .await;
}

#[tokio::test]
async fn what_is_no_message_begins_nothing_that_would_last() {
    guarded(async {
        let mut client = client();
        client.say_line(b"hello").await;
        assert_eq!(client.hear().await.unwrap()["error"]["code"], -32700);
        session(&mut client, "2025-11-25").await;
    })
    .await;
}

#[tokio::test]
async fn a_subscription_ends_with_what_the_client_says() {
    guarded(async {
        let (wire, mut client) = raw();
        let serving = test_support::spawn(async move { server::server().unwrap().serve(wire).await });
        let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
        let listen =
            json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
        let acknowledged = client.ask(listen).await;
        assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
        // It says nothing more, and reads on.
        client.hush().await;
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": "l" });
        let result = json!({ "resultType": "complete", "_meta": meta });
        let reply = json!({ "jsonrpc": "2.0", "id": "l", "result": result });
        assert_eq!(client.hear().await, Some(reply));
        assert_eq!(client.hear().await, None);
        serving.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_request_of_another_revision_gets_those_that_there_are() {
    guarded(async {
        let mut client = client();
        for version in ["2027-01-01", "2025-11-25", ""] {
            let mut other = meta();
            other["io.modelcontextprotocol/protocolVersion"] = json!(version);
            let listen = json!({ "notifications": {}, "_meta": other });
            for (method, params) in [
                ("server/discover", json!({ "_meta": other })),
                ("tools/list", json!({ "_meta": other })),
                ("tools/call", json!({ "name": "greet", "_meta": other })),
                ("resources/read", json!({ "uri": "desk://note", "_meta": other })),
                ("subscriptions/listen", listen),
            ] {
                let request = json!({ "jsonrpc": "2.0", "id": format!("{method} {version}"), "method": method, "params": params });
                let refused = client.ask(request).await;
                assert_eq!(refused["error"]["code"], -32022, "{refused}");
                assert_eq!(refused["error"]["data"]["requested"], version);
                assert_eq!(refused["error"]["data"]["supported"][1], "2025-11-25");
            }
        }
        // One that says nothing about its revision is not well-formed.
        let refused =
            client.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    })
    .await;
}
