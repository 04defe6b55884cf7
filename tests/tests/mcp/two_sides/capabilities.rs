//! What was not announced is not sent, and says which capability is missing.

use mcp_protocol_machine::protocol::Side;
use mcp_protocols::mcp_2025_03_26::messages;
use mcp_protocols::types::*;
use mcp_runtime::{Error, ViolationKind};
use serde_json::json;

use super::handlers::{Tools, call, question};
use super::{active_with, guarded};

/// The capability that an error says is missing, and whose it is.
#[track_caller]
fn missing<T: std::fmt::Debug>(outcome: Result<T, Error>) -> (Side, String) {
    match outcome {
        Err(Error::NotPermitted(violation)) => match violation.into_details().kind {
            ViolationKind::NotNegotiated { holder, capability } => (holder, capability),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_method_names_the_capability_that_it_needs() {
    guarded(async {
        let (client, server, watch) = active_with(json!({}), json!({ "tools": {}, "resources": {} })).await;
        test_support::spawn(server.incoming().serve(Tools));
        let before = watch.brief();
        let uri = || ResourceParams::new("a:b");
        let prompt = GetPromptParams::new("p");
        let complete = CompleteParams::new(PromptReference::new("p"), CompletionArgument::new("n", ""));
        let of = |side, path: &str| (side, path.to_owned());
        assert_eq!(missing(client.list_prompts(None).await), of(Side::Server, "prompts"));
        assert_eq!(missing(client.get_prompt(prompt).await), of(Side::Server, "prompts"));
        assert_eq!(missing(client.complete(complete).await), of(Side::Server, "completions"));
        assert_eq!(
            missing(client.set_level(SetLevelParams::new(LoggingLevel::Info)).await),
            of(Side::Server, "logging")
        );
        assert_eq!(missing(client.subscribe(uri()).await), of(Side::Server, "resources.subscribe"));
        assert_eq!(missing(client.unsubscribe(uri()).await), of(Side::Server, "resources.subscribe"));
        assert_eq!(missing(client.send_roots_list_changed().await), of(Side::Client, "roots.listChanged"));
        assert_eq!(missing(client.handle().list_prompts(None).await), of(Side::Server, "prompts"));
        assert_eq!(watch.brief(), before, "nothing was written");
        // What was announced works.
        let echoed = client.call_tool(call("echo").with_argument("message", "hi")).await.unwrap();
        assert_eq!(echoed, CallToolResult::text("hi"));
        assert!(!client.permitted().contains(&messages::PROMPTS_LIST));
        assert!(client.permitted().contains(&messages::RESOURCES_LIST));
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_server_is_held_to_it_as_well() {
    guarded(async {
        let (client, server, watch) = active_with(json!({ "roots": {} }), json!({ "tools": {} })).await;
        let before = watch.brief();
        let of = |side, path: &str| (side, path.to_owned());
        let log = LoggingMessageParams::new(LoggingLevel::Info, "x");
        assert_eq!(missing(server.create_message(question("why")).await), of(Side::Client, "sampling"));
        assert_eq!(missing(server.send_tools_list_changed().await), of(Side::Server, "tools.listChanged"));
        assert_eq!(
            missing(server.send_resources_list_changed().await),
            of(Side::Server, "resources.listChanged")
        );
        assert_eq!(
            missing(server.send_prompts_list_changed().await),
            of(Side::Server, "prompts.listChanged")
        );
        assert_eq!(
            missing(server.send_resource_updated(ResourceUpdatedParams::new("a:b")).await),
            of(Side::Server, "resources.subscribe")
        );
        assert_eq!(missing(server.send_log_message(log).await), of(Side::Server, "logging"));
        client.ping().await.unwrap();
        assert_eq!(watch.brief().len(), before.len() + 2, "nothing but the ping was written");
        watch.assert_quiet();
    })
    .await;
}
