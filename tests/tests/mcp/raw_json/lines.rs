//! Lines that are not messages, and messages that are cut in odd ways.

use serde_json::{Value, json};

use super::peer::{Peer, assert_refused, echo, initialize, notification, request};

#[tokio::test]
async fn an_invalid_message_has_its_code_and_the_id_that_can_be_read() {
    // The line, the id of the answer, its code, words of its message.
    let cases: &[(&[u8], Value, i64, &[&str])] = &[
        (b"this is prose", Value::Null, -32700, &["not JSON"]),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping""#, json!(5), -32700, &["not JSON"]),
        (br#"{"jsonrpc":"2.0","id":"a","method":"ping",}"#, json!("a"), -32700, &["not JSON"]),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping"} {}"#, json!(5), -32700, &["not JSON"]),
        (br#"{"method":"ping","params":{"id":9},"id":6,"jsonrpc":"2.0""#, json!(6), -32700, &["not JSON"]),
        (
            br#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
            json!(5),
            -32600,
            &["`jsonrpc` must be \"2.0\"", "\"1.0\""],
        ),
        (br#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#, json!(5), -32600, &["`jsonrpc` must be \"2.0\""]),
        (br#"{"id":5,"method":"ping"}"#, json!(5), -32600, &["`jsonrpc` is missing"]),
        (br#"{"jsonrpc":"2.0","id":5}"#, json!(5), -32600, &["neither `method` nor `result` nor `error`"]),
        (br#"{"jsonrpc":"2.0","id":5,"method":7}"#, json!(5), -32600, &["`method` must be a string"]),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#, json!(5), -32600, &["no `result`"]),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"ping","method":"x"}"#,
            json!(5),
            -32600,
            &["`method` is there twice"],
        ),
        (
            br#"{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}"#,
            Value::Null,
            -32600,
            &["`id` is there twice"],
        ),
        (b"7", Value::Null, -32600, &["not a JSON-RPC message"]),
        (b"null", Value::Null, -32600, &["not a JSON-RPC message"]),
        (b"{}", Value::Null, -32600, &["`jsonrpc` is missing"]),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600, &["`id`", "null"]),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600, &["`id`", "1.5"]),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, Value::Null, -32600, &["`id`"]),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Value::Null, -32600, &["`id`", "true"]),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xc3\x28\"}", json!(5), -32700, &["not UTF-8"]),
        (b"\xff\xfe", Value::Null, -32700, &["not UTF-8"]),
        (b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", json!(5), -32700, &["not JSON"]),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"pi\0ng\"}", json!(5), -32700, &["not JSON"]),
    ];
    for mut peer in Peer::both() {
        for (line, id, code, words) in cases {
            peer.refused(line, id.clone(), *code, words).await;
        }
        peer.open().await;
        for (line, id, code, words) in cases {
            peer.refused(line, id.clone(), *code, words).await;
        }
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_line_of_fifty_megabytes_is_refused_and_the_next_is_read() {
    for mut peer in Peer::both() {
        peer.open().await;
        peer.say_bytes(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","x":""#)
            .await;
        let piece = vec![b'a'; 1 << 20];
        for _ in 0..50 {
            peer.say_bytes(&piece).await;
        }
        peer.refused(r#""}}"#, json!(7), -32600, &["longer than the limit of 16777216 bytes"]).await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn what_nests_too_deep_is_refused() {
    for mut peer in Peer::both() {
        peer.open().await;
        let deep = format!("{}{}", r#"{"a":["#.repeat(50_000), "]}".repeat(50_000));
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"echo","arguments":{deep}}}}}"#
        );
        peer.refused(line, json!(8), -32600, &["nests deeper than 100 levels"]).await;
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn blank_lines_are_nothing_and_line_ends_may_be_of_either_kind() {
    for mut peer in Peer::both() {
        peer.ignored("\n\r\n   \n\t\r", &[]).await;
        peer.say(format!("{}\r", initialize(0))).await;
        assert_eq!(peer.hear().await["id"], json!(0));
        peer.ignored(format!("{}\r", notification("notifications/initialized", Value::Null)), &[]).await;
        peer.say(format!("  {}\t\r", echo(1, "one\r\ntwo"))).await;
        assert_eq!(peer.hear().await["result"]["content"][0]["text"], json!("one\r\ntwo"));
        peer.reported(&[]);
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn a_session_arrives_a_byte_at_a_time() {
    for mut peer in Peer::both() {
        let say = |text: String| text.into_bytes();
        for byte in say(initialize(0) + "\n") {
            peer.say_bytes([byte]).await;
        }
        assert_eq!(peer.hear().await["id"], json!(0));
        let rest =
            notification("notifications/initialized", Value::Null) + "\n" + &echo(1, "höher: ☃") + "\n";
        for byte in say(rest) {
            peer.say_bytes([byte]).await;
        }
        assert_eq!(peer.hear().await["result"]["content"][0]["text"], json!("höher: ☃"));
        peer.reported(&[]);
        assert!(peer.leave().await.is_empty());
    }
}

#[tokio::test]
async fn the_last_line_needs_no_end() {
    for mut peer in Peer::both() {
        peer.open().await;
        peer.say_bytes(request(1, "ping", Value::Null)).await;
        assert_eq!(peer.leave().await, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    }
    for mut peer in Peer::both() {
        peer.open().await;
        peer.say_bytes(r#"{"jsonrpc":"2.0","id":1,"method":"pi"#).await;
        let rest = peer.leave().await;
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert_refused(&rest[0], &json!(1), -32700, &["not JSON"], "a line that is cut");
    }
}
