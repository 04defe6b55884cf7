//! How a client begins decides in which era it is served.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Options;
use mcp_runtime::transport::ByteStream;
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use test_support::script::guarded;
use tokio::sync::Notify;
use tokio::time::Instant;

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
async fn a_notification_that_comes_too_early_does_not_settle_the_era() {
    guarded(async {
        for method in
            ["notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"]
        {
            let mut client = client();
            client.say(json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": 7 } })).await;
            session(&mut client, "2025-11-25").await;
        }
        let mut client = client();
        client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert!(client.ask(discover()).await["result"]["supportedVersions"].is_array());
    })
    .await;
}

#[tokio::test]
async fn a_call_before_the_handshake_is_told_how_to_begin() {
    guarded(async {
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        for early in [call(2, "greet", json!({})), list, call(2, "greet", Value::Null)] {
            let refused = client().ask(&early).await;
            let method = early["method"].as_str().unwrap();
            let expected = format!(
                "`{method}` does not say its version: write `2026-07-28` into \
                 `_meta.\"io.modelcontextprotocol/protocolVersion\"`, or begin a connection with `initialize`, as in version \
                 `2024-11-05` or `2025-03-26` or `2025-06-18` or `2025-11-25`"
            );
            assert_eq!(refused["error"], json!({ "code": -32602, "message": expected }));
        }
        // What the newer era does not have.
        let level = json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "info" } });
        let refused = client().ask(level).await;
        let expected = "`logging/setLevel` is not a method that the client sends in `Mcp` 2026-07-28; it is one in version \
                        `2024-11-05` or `2025-03-26` or `2025-06-18` or `2025-11-25`, whose sessions begin with `initialize`";
        assert_eq!(refused["error"]["message"], expected);
        // What no revision has, and params that are wrong in another way.
        let refused = client().ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/sell" })).await;
        let expected = "`tools/sell` is not a method that the client sends in `Mcp` 2026-07-28";
        assert_eq!(refused["error"]["message"], expected);
        let mut wrong = call(2, "greet", meta());
        wrong["params"]["arguments"] = json!(7);
        let refused = client().ask(wrong).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the params of `tools/call` are invalid: arguments: "), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_method_of_a_later_revision_is_not_one_of_the_session() {
    guarded(async {
        for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"] {
            let mut client = client();
            session(&mut client, "2025-06-18").await;
            // With the value of a key, and without.
            for (id, params) in [(8, json!({ "taskId": "one" })), (9, json!({}))] {
                let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
                let refused = client.ask(request).await;
                assert_eq!(refused["error"]["code"], -32601, "{refused}");
                let message = refused["error"]["message"].as_str().unwrap();
                assert!(
                    message.ends_with("is not a method that the client sends in `Mcp` 2025-06-18"),
                    "{message}"
                );
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_is_asked_once_it_has_initialized_the_session() {
    guarded(async {
        for leaves in [false, true] {
            let (wire, mut client) = raw();
            let serving = test_support::spawn(async move { server::server().unwrap().serve(wire).await });
            client.ask(initialize("2025-11-25")).await;
            // A request may come before `initialized`, over HTTP also where that was sent first.
            client.say(call(2, "greet", json!({}))).await;
            let pong = client.ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" })).await;
            assert_eq!(pong["id"], 3, "{pong}");
            if leaves {
                client.hush().await;
            } else {
                let asked =
                    client.ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
                assert_eq!(asked["method"], "elicitation/create", "{asked}");
                client.hush().await;
            }
            serving.await.unwrap().unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_initializes_the_session_is_not_asked() {
    guarded(async {
        let mut client = client();
        client.ask(initialize("2025-11-25")).await;
        let refused = client.ask(call(2, "greet", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.ends_with("once the client has sent `notifications/initialized`, which has not come")
        );
    })
    .await;
}

#[tokio::test]
async fn a_client_is_not_asked_what_its_revision_does_not_have() {
    guarded(async {
        let mut client = client();
        session(&mut client, "2025-03-26").await;
        let refused = client.ask(call(9, "greet", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.ends_with("which the revision of this session does not have"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn a_client_may_leave_at_any_time() {
    guarded(async {
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let hello = initialize("2025-11-25");
        for said in [vec![], vec![ping], vec![hello.clone()], vec![hello, initialized], vec![discover()]] {
            let (wire, mut client) = raw();
            let serving = test_support::spawn(async move { server::server().unwrap().serve(wire).await });
            for message in &said {
                client.say(message).await;
                if message.get("id").is_some() {
                    client.hear().await.unwrap();
                }
            }
            client.hush().await;
            assert!(serving.await.unwrap().is_ok(), "{said:?}");
        }
    })
    .await;
}

/// A client that is killed may leave the standard input of its server open, in another process that has it.
#[tokio::test]
async fn a_client_that_stops_reading_has_left() {
    use tokio::io::AsyncWriteExt;

    guarded(async {
        for said in [initialize("2025-11-25"), discover()] {
            let (mut client, reader) = tokio::io::duplex(4096);
            let (writer, gone) = tokio::io::duplex(4096);
            drop(gone);
            let wire = ByteStream::from_parts(reader, writer);
            let serving = test_support::spawn(async move { server::server().unwrap().serve(wire).await });
            client.write_all(format!("{said}\n").as_bytes()).await.unwrap();
            let served = serving.await.unwrap();
            assert!(served.is_ok(), "{said}: {served:?}");
        }
    })
    .await;
}

/// What `docs/server.md` says of the end of the standard input.
#[tokio::test(start_paused = true)]
async fn a_tool_has_a_limited_time_once_its_client_has_closed_its_side() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let in_session = vec![initialize("2025-11-25"), initialized, call(2, "wait", json!({}))];
    for said in [in_session, vec![call(2, "wait", meta())]] {
        for (takes, options, expected) in [
            (minutes(60), Options::new(), minutes(5)),
            (minutes(60), Options::new().answer_grace(minutes(1)), minutes(1)),
            (minutes(2), Options::new(), minutes(2)),
        ] {
            let (wire, mut client) = raw();
            let begun = Arc::new(Notify::new());
            let begins = Arc::clone(&begun);
            let wait = move |(), _, _: mcp_kit::Client| {
                let begins = Arc::clone(&begins);
                async move {
                    begins.notify_one();
                    tokio::time::sleep(takes).await;
                    Ok("done")
                }
            };
            let server = mcp_kit::Server::new("slow", "1", ()).tool_named("wait", "Waits", wait);
            let serving = test_support::spawn(server.options(options).serve(wire));
            for message in &said {
                client.say(message).await;
            }
            begun.notified().await;
            client.hush().await;
            let before = Instant::now();
            serving.await.unwrap().unwrap();
            assert_eq!(before.elapsed().as_secs(), expected.as_secs(), "{said:?}");
        }
    }
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
