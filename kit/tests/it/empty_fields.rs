//! Clients that write `null` for what a user has not filled in, as those of Python do.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use mcp_kit::types::{PromptMessage, Role};
use mcp_kit::{Client, Failure, Prompt, Server, Tool, User, said};
use mcp_runtime::transport::ByteStream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{BufReader, duplex};

use super::lines::exchange;

#[derive(Debug, Deserialize, JsonSchema)]
struct Guest {
    name: String,
    age: Option<u8>,
}

/// Asks who is there
#[derive(Deserialize, JsonSchema)]
struct Greet;

impl Tool<()> for Greet {
    type Needs = User;
    type Output = String;

    async fn run(self, _: &(), client: Client<User>) -> Result<String, Failure> {
        let guest = client.ask::<Guest>("Who is there?").await?.accepted().ok_or("no guest")?;
        Ok(format!("{} {:?}", guest.name, guest.age))
    }
}

/// Summarises some days
#[derive(Deserialize, JsonSchema)]
struct Weekly {
    days: Option<u32>,
}

impl Prompt<()> for Weekly {
    type Needs = ();

    async fn get(self, _: &(), _: Client) -> Result<Vec<PromptMessage>, Failure> {
        Ok(vec![said(Role::User, format!("{:?}", self.days))])
    }
}

#[tokio::test]
async fn a_field_that_is_null_is_one_that_was_left_empty() {
    let (near, far) = duplex(1 << 16);
    let server = Server::new("door", "1.0.0", ()).tool::<Greet>().prompt::<Weekly>();
    tokio::spawn(server.serve(ByteStream::new(far)));
    let mut stream = BufReader::new(near);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });

    let call = |id: u32, more: Value| {
        let mut params = json!({ "name": "greet", "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let asked = exchange(&mut stream, call(1, json!({}))).await;
    let question = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let answer = json!({ "action": "accept", "content": { "name": "Ada", "age": null } });
    let again =
        json!({ "requestState": asked["result"]["requestState"], "inputResponses": { question: answer } });
    let greeted = exchange(&mut stream, call(2, again)).await;
    assert_eq!(greeted["result"]["content"][0]["text"], "Ada None", "{greeted}");

    let params = json!({ "name": "weekly", "arguments": { "days": null }, "_meta": meta });
    let get = json!({ "jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": params });
    let got = exchange(&mut stream, get).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "None", "{got}");
}
