//! Batches, which this one revision permits.

use serde_json::{Value, json};

use mcp_protocols::mcp_2025_03_26::McpServer;

use super::peer::{Peer, assert_refused, echo, initialize, notification, request};
use super::server;

fn batch(messages: &[String]) -> String {
    format!("[{}]", messages.join(", "))
}

#[tokio::test]
async fn a_batch_is_answered_with_one_list() {
    for mut peer in Peer::both() {
        peer.open().await;
        let line = batch(&[
            echo(1, "one"),
            notification("notifications/nothing", Value::Null),
            request("two", "ping", Value::Null),
            request(3, "nothing", Value::Null),
            r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(),
            "5".to_owned(),
            echo(1, "one again"),
        ]);
        let answer = peer.ask(line).await;
        let replies = answer.as_array().unwrap_or_else(|| panic!("no list: {answer}"));
        assert_eq!(replies.len(), 5, "{answer}");
        let by_id = |id: Value| replies.iter().filter(|reply| reply["id"] == id).collect::<Vec<_>>();
        assert_eq!(by_id(json!("two"))[0]["result"], json!({}));
        assert_refused(by_id(json!(3))[0], &json!(3), -32601, &["`nothing`"], "an unknown method");
        assert_refused(by_id(json!(4))[0], &json!(4), -32600, &["`jsonrpc`"], "another version");
        assert_refused(
            by_id(Value::Null)[0],
            &Value::Null,
            -32600,
            &["not a JSON-RPC message"],
            "no message",
        );
        let ones = by_id(json!(1));
        // The second request with this id is reported, and not answered while the first one runs.
        assert_eq!(ones.len(), 1, "{answer}");
        assert_eq!(ones[0]["result"]["content"][0]["text"], json!("one"), "{answer}");
        peer.reported(&[
            "`notifications/nothing`",
            "`nothing`",
            "`jsonrpc`",
            "id 99",
            "not a JSON-RPC message",
            "the id 1",
        ]);
        peer.lives().await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_batch_that_asks_for_nothing_is_not_answered() {
    for mut peer in Peer::both() {
        peer.initialize().await;
        let line = batch(&[
            notification("notifications/initialized", Value::Null),
            notification("notifications/cancelled", json!({"requestId": "hello"})),
        ]);
        peer.ignored(line, &[]).await;
        assert_eq!(peer.ask(batch(&[echo(1, "one")])).await[0]["id"], json!(1));
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn the_handshake_cannot_stand_in_a_batch() {
    // A server that speaks several revisions does not know yet whether there are batches.
    for mut peer in Peer::both() {
        let line = batch(&[initialize("hello"), request(1, "ping", Value::Null)]);
        peer.refused(line, Value::Null, -32600, &["batch", "on its own"]).await;
        peer.open().await;
        assert!(peer.leave().await.is_empty());
    }
    {
        let mut peer = Peer::memory_with(|wire, options| async move {
            let server = McpServer::with_options(wire, options);
            let (_, server) = server.recv_initialize().await.unwrap();
            let server = server.send_initialize_result(server::hello("2025-03-26")).await.unwrap();
            server.recv_initialized().await.unwrap().ended().await;
        });
        let answer = peer.ask(batch(&[initialize("hello"), request(1, "ping", Value::Null)])).await;
        assert_eq!(answer.as_array().map(Vec::len), Some(2), "{answer}");
        let words = ["`initialize`", "`Uninit`", "batch", "on its own"];
        assert_refused(&answer[0], &json!("hello"), -32600, &words, "initialize in a batch");
        assert_eq!(answer[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        peer.reported(&["batch"]);
        // It may come again as it should, even under the same id.
        peer.open().await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn an_invalid_batch_has_one_error() {
    let long = format!("[{}7]", "7,".repeat(2000));
    let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
    for mut peer in Peer::both() {
        peer.open().await;
        peer.refused("[]", Value::Null, -32600, &["no message"]).await;
        peer.refused(&long, Value::Null, -32600, &["more than 1024 messages"]).await;
        peer.refused(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Value::Null, -32700, &["not JSON"])
            .await;
        peer.refused(b"[\"\xff\"]", Value::Null, -32700, &["not UTF-8"]).await;
        let answer = peer.ask(&deep).await;
        assert_refused(&answer[0], &Value::Null, -32600, &["nests deeper than 100 levels"], "a deep element");
        peer.reported(&["nests deeper"]);
        peer.lives().await;
        assert!(peer.leave().await.is_empty());
    }
}
