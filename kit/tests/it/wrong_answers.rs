//! Clients whose answers are not what was asked for: the tool's error says where.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use mcp_kit::{Client, Server, User};
use mcp_runtime::transport::ByteStream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncWriteExt, BufReader, duplex};

use super::lines::exchange;

#[derive(Deserialize, JsonSchema)]
struct Guest {
    name: String,
    age: u8,
}

#[tokio::test]
async fn an_answer_that_does_not_fit_says_where() {
    let greet = |(), _, client: Client<User>| async move {
        let guest = client.ask::<Guest>("Who is there?").await?.accepted().ok_or("no guest")?;
        Ok(format!("{} {}", guest.name, guest.age))
    };
    let (near, far) = duplex(1 << 16);
    tokio::spawn(Server::new("door", "1.0.0", ()).tool_named("greet", "", greet).serve(ByteStream::new(far)));
    let mut stream = BufReader::new(near);
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "door", "version": "1" },
    });
    exchange(&mut stream, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }))
        .await;
    let initialized = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    stream.get_mut().write_all(initialized).await.unwrap();
    for (id, answer, said) in [
        (
            1,
            json!({ "action": "accept", "content": { "name": "Ada", "age": "old" } }),
            "the client's answer does not fit: age: invalid type: string \"old\", expected u8",
        ),
        (
            2,
            json!({ "action": "perhaps" }),
            "the answer to `input` cannot be used: the payload of `Elicit` does not have its type: action: expected",
        ),
        (3, json!({ "action": "accept", "content": { "name": "Ada", "age": 36 } }), "Ada 36"),
    ] {
        let call =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "greet" } });
        let asked = exchange(&mut stream, call).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
        let answered = exchange(&mut stream, answer).await;
        let text = answered["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(said), "{answered}");
    }
}
