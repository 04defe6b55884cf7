//! Ids, replies, cancellations and progress: what belongs to a request, and to which.

use serde_json::{Value, json};

use super::peer::{Peer, echo, initialize, notification, request};
use super::server;
use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::McpServer;

/// A call that runs until the client's model has answered.
fn question(id: impl Into<Value>) -> String {
    request(id, "tools/call", json!({"name": "ask_model", "arguments": {"question": "Why?"}}))
}

/// Starts such a call and gives the id of the request that the server sends for it.
async fn asked(peer: &mut Peer, id: impl Into<Value>) -> Value {
    let sampling = peer.ask(question(id)).await;
    assert_eq!(sampling["method"], json!("sampling/createMessage"), "{sampling}");
    sampling["id"].clone()
}

/// What the client's model says.
fn model(id: &Value) -> String {
    let content = json!({"type": "text", "text": "Because."});
    json!({"jsonrpc": "2.0", "id": id, "result": {"role": "assistant", "model": "m", "content": content}})
        .to_string()
}

#[tokio::test]
async fn an_id_is_used_once() {
    for mut peer in Peer::both() {
        peer.open().await;
        let sampling = asked(&mut peer, 1).await;
        let report = "`tools/list` has the id 1, under which `tools/call` of the client is still running";
        peer.ignored(request(1, "tools/list", Value::Null), &[report]).await;
        // The first of the two has its own answer, and no other.
        peer.say(model(&sampling)).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        let answer = peer.hear().await;
        assert_eq!(answer["id"], json!(1));
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("Because."), "{answer}");
        peer.reported(&[]);
        let words = ["the id 1", "used before"];
        peer.refused(echo(1, "again"), json!(1), -32600, &words).await;
        // The text is another id than the number.
        assert_eq!(peer.ask(echo("1", "text")).await["id"], json!("1"));
        peer.reported(&[]);
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn any_text_and_any_whole_number_is_an_id() {
    for mut peer in Peer::both() {
        peer.open().await;
        for id in [
            json!(0),
            json!(-1),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(""),
            json!("ü\"\\\n\u{0}"),
            json!("0"),
        ] {
            let answer = peer.ask(echo(id.clone(), "x")).await;
            assert_eq!((&answer["id"], answer.get("error")), (&id, None), "{answer}");
        }
        peer.reported(&[]);
        let huge = r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}"#;
        peer.refused(huge, json!(12_345_678_901_234_567_890_u64), -32600, &["`id`", "12345678901234567890"])
            .await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn replies_that_belong_to_nothing_are_dropped() {
    for mut peer in Peer::both() {
        let stray = r#"{"jsonrpc":"2.0","id":99,"result":{}}"#;
        peer.ignored(stray, &["replies to the id 99, but the server has sent no request with it"]).await;
        peer.open().await;
        peer.ignored(stray, &[""]).await;
        peer.ignored(
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#,
            &["replies to the id \"x\""],
        )
        .await;
        peer.ignored(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
            &["could not read a message of this side: what? (code -32700)"],
        )
        .await;
        peer.ignored(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, &["is not an id"]).await;
        peer.ignored(
            r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"m"}}"#,
            &["not both"],
        )
        .await;
        peer.ignored(r#"{"jsonrpc":"1.0","id":5,"result":{}}"#, &["`jsonrpc`"]).await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_second_reply_is_dropped_and_a_broken_one_fails_its_call() {
    for mut peer in Peer::both() {
        peer.open().await;
        let sampling = asked(&mut peer, 1).await;
        peer.say(model(&sampling)).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        assert_eq!(peer.hear().await["id"], json!(1));
        peer.reported(&[]);
        peer.ignored(model(&sampling), &["that request has had its reply"]).await;

        // A caller whose reply cannot be read gets an error.
        let sampling = asked(&mut peer, 2).await;
        peer.say(json!({"jsonrpc": "2.0", "id": sampling, "result": {}, "error": {}}).to_string()).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        let answer = peer.hear().await;
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(true)), "{answer}");
        peer.reported(&["not both"]);

        // The same with a result of another type.
        let sampling = asked(&mut peer, 3).await;
        peer.say(json!({"jsonrpc": "2.0", "id": sampling, "result": 7}).to_string()).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        let answer = peer.hear().await;
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(3), &json!(true)), "{answer}");
        peer.lives().await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_cancelled_request_gets_no_reply_though_its_id_be_0() {
    for mut peer in Peer::both() {
        peer.open().await;
        let sampling = asked(&mut peer, 0).await;
        let cancel = notification("notifications/cancelled", json!({"requestId": 0, "reason": "enough"}));
        peer.ignored(&cancel, &[]).await;
        // What the handler still does is its own affair; the reply to the request is not sent.
        peer.say(model(&sampling)).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        // A second cancel, as after a time-out, is nothing new.
        peer.ignored(&cancel, &[]).await;
        let rest = peer.leave().await;
        assert!(rest.is_empty(), "{rest:?}");
    }
}

#[tokio::test]
async fn cancels_of_nothing_are_dropped() {
    let cancel = |params: Value| notification("notifications/cancelled", params);
    for mut peer in Peer::both() {
        let nothing = "names the id 7, but the client has sent no request with it";
        peer.ignored(cancel(json!({"requestId": 7})), &[nothing]).await;
        peer.open().await;
        peer.ignored(cancel(json!({"requestId": 7})), &[nothing]).await;
        peer.ignored(cancel(json!({"requestId": null})), &["does not say which request"]).await;
        peer.ignored(cancel(Value::Null), &["does not say which request"]).await;
        // What is over is over: a cancel that comes late is not worth a word.
        assert_eq!(peer.ask(echo(7, "done")).await["id"], json!(7));
        peer.ignored(cancel(json!({"requestId": 7})), &[]).await;
        // A request of the server's is not the client's to cancel.
        let sampling = asked(&mut peer, "mine").await;
        peer.ignored(cancel(json!({"requestId": sampling})), &["which only the server may cancel"]).await;
        peer.say(model(&sampling)).await;
        assert_eq!(peer.hear().await["method"], json!("notifications/tools/list_changed"));
        assert_eq!(peer.hear().await["id"], json!("mine"));
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn the_handshake_cannot_be_cancelled() {
    // A server that waits for a sign before it answers, so that the cancel comes while `initialize` runs.
    let (sign, waits) = tokio::sync::oneshot::channel::<()>();
    let mut peer = Peer::memory_with(|wire, options| async move {
        let session = McpServer::with_options(wire, options.revisions(REVISIONS));
        let (params, session) = session.recv_initialize().await.unwrap();
        waits.await.unwrap();
        let session = session.send_initialize_result(server::hello(&params.protocol_version)).await.unwrap();
        session.recv_initialized().await.unwrap().ended().await;
    });
    peer.say(initialize(0)).await;
    let cancel = notification("notifications/cancelled", json!({"requestId": 0}));
    peer.ignored(cancel, &["names the id 0 of `initialize`, which cannot be cancelled (rule C1, L8, must)"])
        .await;
    let words = ["`initialize`", "`AwaitingResult`", "waits for the result of `initialize`"];
    peer.refused(initialize(1), json!(1), -32600, &words).await;
    sign.send(()).unwrap();
    assert_eq!(peer.hear().await["id"], json!(0));
    peer.ignored(notification("notifications/initialized", Value::Null), &[]).await;
    assert!(peer.leave().await.is_empty());
}

#[tokio::test]
async fn progress_on_nothing_is_dropped() {
    let progress =
        |token: Value| notification("notifications/progress", json!({"progressToken": token, "progress": 1}));
    for mut peer in Peer::both() {
        peer.ignored(
            progress(json!("t")),
            &["carries the token \"t\", but no request of the server carried it"],
        )
        .await;
        peer.open().await;
        peer.ignored(progress(json!(0)), &["carries the token 0"]).await;
        peer.ignored(progress(Value::Null), &["does not say which request"]).await;
        // The client's own token is not one that it may report on.
        let params = json!({"name": "echo", "arguments": {}, "_meta": {"progressToken": "mine"}});
        assert_eq!(peer.ask(request(1, "tools/call", params)).await["id"], json!(1));
        peer.ignored(progress(json!("mine")), &["carries the token \"mine\""]).await;
        assert!(peer.leave().await.is_empty());
    }
}
