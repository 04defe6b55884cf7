//! Batches over HTTP, from a client of raw bytes.

use mcp_protocols::VERSIONS;
use serde_json::{Value, json};

use super::guarded;
use super::http::Endpoint;
use integration_tests::http::wire::Ask;

fn ping(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

fn pong(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": {} })
}

#[tokio::test]
async fn a_list_is_refused_clearly_where_the_revision_has_no_batches() {
    guarded(async {
        let endpoint = Endpoint::start().await;
        for version in VERSIONS.into_iter().filter(|version| *version != "2025-03-26") {
            let id = endpoint.open(version).await;
            let post = |body: Value| Ask::post(body).session(&id).with("mcp-protocol-version", version);
            for list in [json!([ping(1), ping(2)]), json!([ping(1)]), json!([])] {
                let answer = endpoint.ask(&post(list)).await;
                assert_eq!(answer.head.status, 400, "{version}: {answer:?}");
                let refusal = answer.json();
                assert_eq!((&refusal["jsonrpc"], &refusal["id"]), (&json!("2.0"), &Value::Null));
                assert_eq!(refusal["error"]["code"], -32600, "{version}: {refusal}");
                let words = "a batch is not permitted here: send each message on its own";
                assert_eq!(refusal["error"]["message"], words, "{version}");
            }
            // Neither of them was taken, and the session goes on.
            let answer = endpoint.ask(&post(ping(1))).await;
            assert_eq!((answer.head.status, answer.json()), (200, pong(1)), "{version}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_handshake_in_a_batch_is_refused_and_its_other_messages_are_answered() {
    guarded(async {
        let endpoint = Endpoint::start().await;
        let version = "2025-03-26";
        let id = endpoint.open(version).await;
        let post = |body: Value| Ask::post(body).session(&id).with("mcp-protocol-version", version);
        let params = super::hello(version, &json!({}));
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = endpoint.ask(&post(json!([hello, ping(2)]))).await;
        assert_eq!(answer.head.status, 200, "{answer:?}");
        let answers = answer.json();
        assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
        let of = |id: i64| answers.as_array().unwrap().iter().find(|answer| answer["id"] == id).unwrap();
        assert_eq!(of(1)["error"]["code"], -32600, "{answers}");
        let words = of(1)["error"]["message"].as_str().unwrap();
        assert!(words.starts_with("`initialize` is not permitted in `Active`: "), "{words}");
        assert_eq!(*of(2), pong(2));
        let answer = endpoint.ask(&post(ping(3))).await;
        assert_eq!((answer.head.status, answer.json()), (200, pong(3)));
        // A session does not begin with a list either, whatever stands in it.
        let answer = endpoint.ask(&Ask::post(json!([hello]))).await;
        assert_eq!(answer.head.status, 400);
        let refusal = answer.json();
        let words = refusal["error"]["message"].as_str().unwrap();
        assert!(words.starts_with("a batch is not permitted here: send each message on its own"), "{words}");
    })
    .await;
}
