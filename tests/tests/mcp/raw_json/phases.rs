//! Valid messages at the wrong time.

use serde_json::{Value, json};

use super::peer::{Peer, echo, initialize, notification, request};

#[tokio::test]
async fn a_call_before_initialize_gets_the_state_and_what_it_expects() {
    for mut peer in Peer::both() {
        let words = ["`tools/call`", "`Uninit`", "`initialize`", "rule L5, should"];
        let answer = peer.refused(echo(0, "too early"), json!(0), -32600, &words).await;
        let data = &answer["error"]["data"];
        assert_eq!(data["state"], json!("Uninit"));
        assert_eq!(data["expected"], json!(["initialize", "ping"]));
        peer.open().await;
        let answer = peer.ask(echo(1, "now")).await;
        assert_eq!(answer["result"]["content"][0]["text"], json!("now"));
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_probe_of_a_later_revision_is_an_unknown_method() {
    for mut peer in Peer::both() {
        let probe = request(0, "server/discover", json!({"_meta": {}}));
        let answer = peer.refused(probe, json!(0), -32601, &["`server/discover`", "2025-11-25"]).await;
        assert_eq!(answer["error"]["data"], json!({ "state": "Uninit", "expected": ["initialize", "ping"] }));
        peer.open().await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_ping_is_answered_in_every_state() {
    for mut peer in Peer::both() {
        peer.lives().await;
        peer.initialize().await;
        peer.lives().await;
        peer.ignored(notification("notifications/initialized", Value::Null), &[]).await;
        peer.lives().await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn the_handshake_happens_once() {
    for mut peer in Peer::both() {
        peer.initialize().await;
        let words = ["`initialize`", "`AwaitingNotif`", "`notifications/initialized`", "rule L1, must"];
        let answer = peer.refused(initialize("again"), json!("again"), -32600, &words).await;
        assert_eq!(answer["error"]["data"]["state"], json!("AwaitingNotif"));
        peer.ignored(notification("notifications/initialized", Value::Null), &[]).await;
        let words = ["`initialize`", "`Active`", "`tools/call`", "rule L1, must"];
        let answer = peer.refused(initialize(1), json!(1), -32600, &words).await;
        assert_eq!(answer["error"]["data"]["state"], json!("Active"));
        let again = notification("notifications/initialized", Value::Null);
        peer.ignored(again, &["`notifications/initialized` is not permitted in `Active`"]).await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn requests_are_answered_as_soon_as_the_result_is_out() {
    for mut peer in Peer::both() {
        peer.initialize().await;
        let answer = peer.ask(request(0, "tools/list", Value::Null)).await;
        assert_eq!(answer["result"]["tools"][0]["name"], json!("echo"), "{answer}");
        let answer = peer.ask(echo(1, "early")).await;
        assert_eq!(answer["result"]["content"][0]["text"], json!("early"), "{answer}");
        peer.reported(&[]);
        peer.ignored(notification("notifications/initialized", Value::Null), &[]).await;
        let answer = peer.ask(request(2, "resources/read", json!({"uri": "desk://notebook"}))).await;
        assert!(answer["result"]["contents"][0]["text"].is_string(), "{answer}");
        peer.reported(&[]);
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_notification_at_the_wrong_time_is_dropped() {
    for mut peer in Peer::both() {
        let early = notification("notifications/initialized", Value::Null);
        peer.ignored(early, &["`notifications/initialized` is not permitted in `Uninit`"]).await;
        let roots = notification("notifications/roots/list_changed", Value::Null);
        peer.ignored(&roots, &["`notifications/roots/list_changed` is not permitted in `Uninit`"]).await;
        peer.open().await;
        peer.ignored(roots, &["`notifications/roots/list_changed` needs the capability `roots.listChanged`"])
            .await;
        peer.ignored(
            notification("notifications/nothing", json!({})),
            &["`notifications/nothing` is not a method"],
        )
        .await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn unannounced_and_unserved_requests_are_refused() {
    for mut peer in Peer::both() {
        peer.open().await;
        let complete = request(0, "completion/complete", json!({}));
        peer.refused(complete, json!(0), -32601, &["`completions`", "has not announced"]).await;
        // Announced, but the server has no handler for it.
        let answer = peer.ask(request(1, "logging/setLevel", json!({"level": "info"}))).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32601)), "{answer}");
        peer.reported(&[]);
        let words = ["`roots/list`", "`Active`", "the client never sends it"];
        peer.refused(request(2, "roots/list", Value::Null), json!(2), -32600, &words).await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn params_of_another_type_are_refused_and_undo_nothing_else() {
    for mut peer in Peer::both() {
        let words = ["`initialize`", "protocolVersion"];
        peer.refused(request(0, "initialize", json!({})), json!(0), -32602, &words).await;
        // The handshake is where it was.
        peer.open().await;
        let call = request(1, "tools/call", json!({"name": 7}));
        peer.refused(call, json!(1), -32602, &["`tools/call`", "expected a string"]).await;
        let call = request(2, "tools/call", json!({"name": "nothing", "arguments": {}}));
        let answer = peer.ask(call).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32602)), "{answer}");
        peer.reported(&[]);
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_handshake_in_one_write_is_answered_whether_or_not_anything_follows_it() {
    for ends in [false, true] {
        for mut peer in Peer::both() {
            let list = request(2, "tools/list", Value::Null);
            let lines = [initialize("hello"), notification("notifications/initialized", Value::Null), list];
            peer.say_bytes(lines.join("\n") + "\n").await;
            let mut answers = Vec::new();
            if !ends {
                answers.extend([peer.hear().await, peer.hear().await]);
                peer.lives().await;
            }
            answers.extend(peer.leave().await);
            let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
            assert_eq!(ids, [&json!("hello"), &json!(2)], "{answers:?}");
            assert!(answers[1]["result"]["tools"].is_array(), "{answers:?}");
        }
    }
}
