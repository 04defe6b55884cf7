//! The handshake: step by step, refused and repeated, and the messages that may pass in parallel.

use std::sync::Mutex;

use mcp_protocols::mcp_2025_03_26::{
    Active, AwaitingNotif, AwaitingResult, McpClient, McpServer, Uninit, messages,
};
use mcp_protocols::types::{ListToolsResult, LoggingLevel, LoggingMessageParams};
use mcp_runtime::{Error, RpcError, StepError, ViolationKind};
use serde_json::json;
use tokio::sync::mpsc;

use super::handlers::Model;
use super::{everything, guarded, hello, pair, welcome};

#[tokio::test]
async fn step_by_step_with_pings_both_ways_in_every_state() {
    guarded(async {
        let (client, server, watch) = pair();
        client.ping().await.unwrap();
        server.ping().await.unwrap();

        let (offers, has) = everything();
        let client: McpClient<AwaitingResult> = client.send_initialize(hello(offers)).await.unwrap();
        let (params, server) = server.recv_initialize().await.unwrap();
        let server: McpServer<AwaitingResult> = server;
        assert_eq!(params.client_info.name, "this side");
        client.ping().await.unwrap();
        server.ping().await.unwrap();

        let server: McpServer<AwaitingNotif> = server.send_initialize_result(welcome(has)).await.unwrap();
        let (result, client) = client.recv_initialize_result().await.unwrap();
        let client: McpClient<AwaitingNotif> = client;
        assert_eq!(result.server_info.name, "that side");
        client.ping().await.unwrap();
        server.ping().await.unwrap();

        let client: McpClient<Active> = client.send_initialized().await.unwrap();
        let server: McpServer<Active> = server.recv_initialized().await.unwrap();
        client.ping().await.unwrap();
        server.ping().await.unwrap();

        // Each side counts its own requests, from 0 on.
        assert_eq!(
            watch.brief(),
            [
                "> ping 0",
                "< result 0",
                "< ping 0",
                "> result 0",
                "> initialize 1",
                "> ping 2",
                "< result 2",
                "< ping 1",
                "> result 1",
                "< result 1",
                "> ping 3",
                "< result 3",
                "< ping 2",
                "> result 2",
                "> notifications/initialized",
                "> ping 4",
                "< result 4",
                "< ping 3",
                "> result 3",
            ]
        );
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn each_state_permits_what_belongs_to_it() {
    guarded(async {
        let (client, server, _watch) = pair();
        assert_eq!(client.permitted(), [messages::INITIALIZE, messages::PING]);
        // Nothing is announced yet, so log messages are not permitted.
        assert_eq!(server.permitted(), [messages::PING]);
        let (offers, has) = everything();
        let client = client.send_initialize(hello(offers)).await.unwrap();
        let (_, server) = server.recv_initialize().await.unwrap();
        assert_eq!(client.permitted(), [messages::PING]);
        assert!(server.permits(messages::INITIALIZE_RESULT).is_ok());
        assert!(server.permits(messages::ROOTS_LIST).is_err());
        let server = server.send_initialize_result(welcome(has)).await.unwrap();
        let (_, client) = client.recv_initialize_result().await.unwrap();
        assert_eq!(client.permitted(), [messages::INITIALIZED, messages::PING]);
        assert_eq!(server.permitted(), [messages::PING, messages::LOG_MESSAGE]);
        let client = client.send_initialized().await.unwrap();
        let server = server.recv_initialized().await.unwrap();
        let asks =
            [messages::TOOLS_LIST, messages::TOOLS_CALL, messages::SET_LEVEL, messages::ROOTS_LIST_CHANGED];
        let tells = [messages::ROOTS_LIST, messages::CREATE_MESSAGE, messages::TOOLS_LIST_CHANGED];
        assert!(asks.iter().all(|message| client.permits(*message).is_ok()));
        assert!(asks.iter().all(|message| server.permits(*message).is_err()));
        assert!(tells.iter().all(|message| server.permits(*message).is_ok()));
        assert!(tells.iter().all(|message| client.permits(*message).is_err()));
        assert!(client.permits(messages::INITIALIZE).is_err());
    })
    .await;
}

#[tokio::test]
async fn a_handle_is_judged_by_the_state_it_is_used_in() {
    guarded(async {
        let (client, server, watch) = pair();
        let handle = client.handle();
        let early = handle.list_tools(None).await;
        match early {
            Err(Error::NotPermitted(violation)) => assert_eq!(
                violation.to_string(),
                "`tools/list` is not permitted in `Uninit`: the client may send `initialize` or `ping` now \
                 (rule L5, should)"
            ),
            other => panic!("{other:?}"),
        }
        assert_eq!(watch.brief(), [""; 0], "nothing was written");
        let serving = test_support::spawn(async move {
            let (_, server) = server.recv_initialize().await.unwrap();
            let server = server.send_initialize_result(welcome(everything().1)).await.unwrap();
            let server = server.recv_initialized().await.unwrap();
            let incoming = server.incoming();
            let Some(mcp_protocols::mcp_2025_03_26::server::Incoming::ToolsList(_, responder)) =
                incoming.next().await
            else {
                panic!()
            };
            responder.respond(ListToolsResult::new([])).unwrap();
            server
        });
        let (_, client) = client.initialize(hello(json!({}))).await.unwrap();
        let _client = client.send_initialized().await.unwrap();
        assert!(handle.list_tools(None).await.unwrap().tools.is_empty());
        let _server = serving.await.unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_refused_handshake_is_tried_again() {
    guarded(async {
        let (client, server, watch) = pair();
        let serving = test_support::spawn(async move {
            let (_, server) = server.recv_initialize().await.unwrap();
            let server: McpServer<Uninit> =
                server.refuse(RpcError::new(-32602, "unsupported protocol version")).await.unwrap();
            // The state has gone back with the refusal: the second try is as welcome as the first.
            let (_, server) = server.recv_initialize().await.unwrap();
            let server = server.refuse(RpcError::new(-32000, "not yet")).await.unwrap();
            let (params, server) = server.recv_initialize().await.unwrap();
            let server = server.send_initialize_result(welcome(json!({}))).await.unwrap();
            (params, server.recv_initialized().await.unwrap())
        });
        let first = client.send_initialize(hello(json!({ "sampling": {} }))).await.unwrap();
        let client: McpClient<Uninit> = match first.recv_initialize_result().await {
            Err(StepError::Refused { error, session }) => {
                assert_eq!((error.code, error.message.as_str()), (-32602, "unsupported protocol version"));
                session
            }
            other => panic!("{other:?}"),
        };
        client.ping().await.unwrap();
        // The same in one step.
        let client: McpClient<Uninit> = match client.initialize(hello(json!({}))).await {
            Err(StepError::Refused { error, session }) => {
                assert_eq!(error.code, -32000);
                session
            }
            other => panic!("{other:?}"),
        };
        let (_, client) = client.initialize(hello(json!({ "roots": {} }))).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        let (params, server) = serving.await.unwrap();
        assert!(params.capabilities.roots.is_some());
        // What counts is what was announced at last: the sampling of the first try is forgotten on both sides.
        assert!(server.permits(messages::ROOTS_LIST).is_ok());
        for refused in [server.permits(messages::CREATE_MESSAGE), client.permits(messages::TOOLS_LIST)] {
            assert!(matches!(refused.unwrap_err().kind, ViolationKind::NotNegotiated { .. }));
        }
        assert_eq!(
            watch.brief(),
            [
                "> initialize 0",
                "< error 0",
                "> ping 1",
                "< result 1",
                "> initialize 2",
                "< error 2",
                "> initialize 3",
                "< result 3",
                "> notifications/initialized",
            ]
        );
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_log_comes_before_initialized_and_changes_right_after_it() {
    guarded(async {
        let (client, server, watch) = pair();
        let (tell, mut told) = mpsc::unbounded_channel();
        let model = Model { says: None, told: Mutex::new(Some(tell)) };
        test_support::spawn(client.incoming().serve(model));
        let log = |text: &str| LoggingMessageParams::new(LoggingLevel::Info, text);

        let (offers, has) = everything();
        let client = client.send_initialize(hello(offers)).await.unwrap();
        let (_, server) = server.recv_initialize().await.unwrap();
        // The log is announced in the result; before it there is none.
        let early = server.send_log_message(log("too early")).await;
        assert!(matches!(early, Err(Error::NotPermitted(_))), "{early:?}");
        let server = server.send_initialize_result(welcome(has)).await.unwrap();
        server.send_log_message(log("here we are")).await.unwrap();
        let (_, client) = client.recv_initialize_result().await.unwrap();
        assert_eq!(told.recv().await.unwrap(), "log \"here we are\"");

        let client = client.send_initialized().await.unwrap();
        let server = server.recv_initialized().await.unwrap();
        server.send_tools_list_changed().await.unwrap();
        server.send_resources_list_changed().await.unwrap();
        server.send_prompts_list_changed().await.unwrap();
        server.send_log_message(log("that was all")).await.unwrap();
        for expected in ["tools", "resources", "prompts", "log \"that was all\""] {
            assert_eq!(told.recv().await.unwrap(), expected);
        }
        client.ping().await.unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_server_may_be_asked_for_nothing_before_initialized() {
    guarded(async {
        let (client, server, watch) = pair();
        let (offers, has) = everything();
        let client = client.send_initialize(hello(offers)).await.unwrap();
        let (_, server) = server.recv_initialize().await.unwrap();
        let server = server.send_initialize_result(welcome(has)).await.unwrap();
        let (_, client) = client.recv_initialize_result().await.unwrap();
        // The server asks for nothing of its own either.
        for refused in [server.handle().list_roots(None).await.unwrap_err(), {
            client.handle().list_tools(None).await.unwrap_err()
        }] {
            assert!(matches!(refused, Error::NotPermitted(_)), "{refused}");
        }
        assert_eq!(watch.brief(), ["> initialize 0", "< result 0"]);
        watch.assert_quiet();
    })
    .await;
}
