//! Batches of this side, in the revision that permits them.

use mcp_protocols::mcp_2025_11_25;
use mcp_protocols::mcp_2025_11_25::server;
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS, mcp_2025_03_26};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, RpcError, batch};
use serde_json::{Value, json};

use super::{active_in, call, everything, guarded, hello, welcome};
use integration_tests::tap::{Line, tap};
use test_support::raw::{Raw, raw};

/// A client of the revision with batches, and its peer in raw text.
async fn client() -> (mcp_2025_03_26::McpClient<mcp_2025_03_26::Active>, Raw) {
    let (wire, mut peer) = raw();
    let client = mcp_2025_03_26::McpClient::new(wire);
    let opening = async {
        let params = hello("2025-03-26", &json!({ "roots": { "listChanged": true } }));
        let (_, client) = client.initialize(params).await.unwrap();
        client.send_initialized().await.unwrap()
    };
    let answering = async {
        let asked = peer.hear().await.unwrap();
        let result = welcome("2025-03-26", &json!({ "tools": {} }));
        peer.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
        peer.hear().await.unwrap();
        peer
    };
    tokio::join!(opening, answering)
}

#[tokio::test]
async fn calls_and_notifications_go_in_one_line_and_are_awaited_one_by_one() {
    guarded(async {
        let (client, mut peer) = client().await;
        let sending = batch((client.call_tool(call("a")), client.send_roots_list_changed(), client.ping()));
        let (tool, told, ping) = sending.await.unwrap();
        told.unwrap();
        let line = peer.hear().await.unwrap();
        let methods: Vec<&str> =
            line.as_array().unwrap().iter().map(|message| message["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["tools/call", "notifications/roots/list_changed", "ping"]);
        // In any order, in any number of lines.
        let pong = json!({ "jsonrpc": "2.0", "id": line[2]["id"], "result": {} });
        peer.say(&json!([pong])).await;
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        peer.say(&json!({ "jsonrpc": "2.0", "id": line[0]["id"], "result": result })).await;
        assert_eq!(tool.await.unwrap().first_text(), Some("done"));
        ping.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_is_not_permitted_is_left_out_and_says_so() {
    guarded(async {
        let (client, mut peer) = client().await;
        // The server has announced no prompts.
        let (prompts, ping) = batch((client.list_prompts(None), client.ping())).await.unwrap();
        assert!(matches!(prompts.await, Err(Error::NotPermitted(_))));
        let line = peer.hear().await.unwrap();
        assert_eq!(line.as_array().map(Vec::len), Some(1), "{line}");
        drop(ping);
        // Dropping the call cancels it, in a line of its own.
        assert_eq!(peer.hear().await.unwrap()["method"], json!("notifications/cancelled"));
        // An empty batch is not sent.
        assert!(batch(vec![client.list_prompts(None)]).await.unwrap().pop().unwrap().await.is_err());
        assert!(batch(Vec::<mcp_runtime::call::Notify<'_>>::new()).await.unwrap().is_empty());
        client.send_roots_list_changed().await.unwrap();
        assert_eq!(peer.hear().await.unwrap()["method"], json!("notifications/roots/list_changed"));
    })
    .await;
}

/// Echoes the name of the tool.
struct Echo;

impl server::Handler for Echo {
    async fn call_tool(
        &self,
        _: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text(params.name))
    }
}

#[tokio::test]
async fn the_revision_that_governs_says_whether_batches_go() {
    guarded(async {
        for version in VERSIONS {
            let (client, server, reports) = active_in(version, everything()).await;
            test_support::spawn(server.incoming().serve(Echo));
            let calls = ["a", "b", "c"].map(|name| client.call_tool(call(name)));
            let sent = batch(Vec::from(calls)).await;
            if version == "2025-03-26" {
                let mut said = Vec::new();
                for call in sent.unwrap() {
                    said.push(call.await.unwrap().first_text().unwrap().to_owned());
                }
                assert_eq!(said, ["a", "b", "c"]);
            } else {
                let Err(error) = sent else { panic!("{version} has no batches") };
                let expected =
                    format!("`Mcp` {version} does not permit batches: send each message on its own");
                assert_eq!(error.to_string(), expected);
                // Nothing was written, and the session goes on.
                assert_eq!(client.call_tool(call("d")).await.unwrap().first_text(), Some("d"));
            }
            assert_eq!(reports.take(), [""; 0]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_batch_is_answered_with_a_batch() {
    guarded(async {
        let (near, far) = duplex();
        let (near, window) = tap(near);
        let client = mcp_2025_11_25::McpClient::with_options(near, Options::new().revisions(REVISIONS));
        let server = mcp_2025_11_25::McpServer::with_options(far, Options::new().revisions(REVISIONS));
        test_support::spawn(server.incoming().serve(Echo));
        let serving = async {
            let (_, server) = server.recv_initialize().await.unwrap();
            let result = welcome("2025-03-26", &json!({ "tools": {} }));
            let server = server.send_initialize_result(result).await.unwrap();
            server.recv_initialized().await.unwrap()
        };
        let asking = async {
            let (_, client) = client.initialize(hello("2025-03-26", &json!({}))).await.unwrap();
            client.send_initialized().await.unwrap()
        };
        let (_server, client) = tokio::join!(serving, asking);
        let (a, b) = batch((client.call_tool(call("a")), client.call_tool(call("b")))).await.unwrap();
        let (a, b) = tokio::join!(a, b);
        assert_eq!((a.unwrap().first_text(), b.unwrap().first_text()), (Some("a"), Some("b")));
        let lists = window.lines();
        let lists: Vec<&Value> = lists
            .iter()
            .map(|line| match line {
                Line::Wrote(message) | Line::Read(message) => message,
            })
            .filter(|message| message.is_array())
            .collect();
        assert_eq!(lists.len(), 2, "one of questions, one of answers: {lists:?}");
    })
    .await;
}

#[tokio::test]
async fn messages_of_two_sessions_are_no_batch() {
    guarded(async {
        let ((one, _one), (other, _other)) = (client().await, client().await);
        assert!(matches!(batch((one.ping(), other.ping())).await, Err(Error::OtherSession)));
    })
    .await;
}
