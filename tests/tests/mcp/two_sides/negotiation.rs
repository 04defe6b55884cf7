//! Required capabilities and versions: agreed on, refused, tolerated.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::Side;
use mcp_protocols::mcp_2025_03_26::{AwaitingNotif, McpClient, McpServer, PROTOCOL, capabilities};
use mcp_protocols::types::{InitializeParams, InitializeResult};
use mcp_runtime::error::{AnnouncedVersion, MismatchError};
use mcp_runtime::transport::duplex;
use mcp_runtime::{
    CheckedSession, Error, Event, Options, Report, RpcError, StepError, ViolationKind, negotiate_version,
};
use serde_json::{Value, json};

use super::{guarded, hello, welcome};
use integration_tests::tap::tap;

fn hello_in(version: &str) -> InitializeParams {
    let mut params = hello(json!({}));
    params.protocol_version = version.to_owned();
    params
}

fn welcome_in(version: &str) -> InitializeResult {
    let mut result = welcome(json!({ "tools": {} }));
    result.protocol_version = version.to_owned();
    result
}

/// A server that answers with this result; gives what its session then is.
async fn answering(server: McpServer<super::Uninit>, result: InitializeResult) -> McpServer<AwaitingNotif> {
    let (_, server) = server.recv_initialize().await.unwrap();
    server.send_initialize_result(result).await.unwrap()
}

#[tokio::test]
async fn a_server_that_lacks_required_capabilities_is_reported_with_all_that_are_missing() {
    guarded(async {
        let (near, far) = duplex();
        let required = Options::new()
            .require([capabilities::TOOLS, capabilities::RESOURCES_SUBSCRIBE])
            .require(["prompts.listChanged", "experimental"]);
        let client = McpClient::with_options(near, required);
        let offered = welcome(json!({ "tools": {}, "resources": { "subscribe": false }, "prompts": {} }));
        let (client, server) =
            tokio::join!(client.initialize(hello(json!({}))), answering(McpServer::new(far), offered));
        let Err(StepError::NegotiationFailed { error, session }) = client else { panic!("{client:?}") };
        assert_eq!(
            error.to_string(),
            "the server lacks what this side requires: resources.subscribe, prompts.listChanged, experimental"
        );
        let Error::MissingCapabilities { side, missing } = error else { panic!("{error:?}") };
        assert_eq!(side, Side::Server);
        assert_eq!(missing, ["resources.subscribe", "prompts.listChanged", "experimental"]);
        // The session is in the state behind the result, to part from the server or to go on all the same.
        assert_eq!(session.state_name(), "AwaitingNotif");
        session.close().unwrap().await.unwrap();
        assert!(server.recv_initialized().await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_server_that_has_what_the_client_requires_is_worked_with() {
    guarded(async {
        let (near, far) = duplex();
        let required = Options::new().require([capabilities::TOOLS_LIST_CHANGED, capabilities::RESOURCES]);
        let client = McpClient::with_options(near, required);
        let offered = welcome(json!({ "tools": { "listChanged": true }, "resources": {} }));
        let (client, _server) =
            tokio::join!(client.initialize(hello(json!({}))), answering(McpServer::new(far), offered));
        let (_, client) = client.unwrap();
        client.send_initialized().await.unwrap().close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_program_that_accepts_missing_capabilities_continues_with_the_type() {
    guarded(async {
        let (near, far) = duplex();
        let client = McpClient::with_options(near, Options::new().require([capabilities::LOGGING]));
        let serving = answering(McpServer::new(far), welcome(json!({ "tools": {} })));
        // In two steps it is the same.
        let client = client.send_initialize(hello(json!({}))).await.unwrap();
        let (client, server) = tokio::join!(client.recv_initialize_result(), serving);
        let Err(StepError::NegotiationFailed { session, .. }) = client else { panic!("{client:?}") };
        let client: McpClient<AwaitingNotif> = session.try_into_typed().unwrap();
        let client = client.send_initialized().await.unwrap();
        server.recv_initialized().await.unwrap().abort();
        client.ended().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_lacks_what_the_server_requires_is_refused_and_may_try_again() {
    guarded(async {
        let (near, far) = duplex();
        let required = Options::new().require([capabilities::SAMPLING, capabilities::ROOTS_LIST_CHANGED]);
        let server = McpServer::with_options(far, required);
        let serving = answering(server, welcome(json!({})));
        let asking = async {
            let client = McpClient::new(near);
            let refused = client.initialize(hello(json!({ "roots": { "listChanged": true } }))).await;
            let Err(StepError::Refused { error, session }) = refused else { panic!("{refused:?}") };
            assert_eq!(
                serde_json::to_value(&error).unwrap(),
                json!({
                    "code": -32602,
                    "message": "Required capabilities are missing",
                    "data": { "missing": ["sampling"] },
                })
            );
            let offers = json!({ "roots": { "listChanged": true }, "sampling": {} });
            session.initialize(hello(offers)).await.unwrap()
        };
        let (_client, _server) = tokio::join!(asking, serving);
    })
    .await;
}

#[tokio::test]
async fn without_types_the_same_is_an_event_behind_which_the_session_goes_on() {
    guarded(async {
        let (near, far) = duplex();
        let options = Options::new().require([capabilities::LOGGING]);
        let mut client = CheckedSession::start(near, &PROTOCOL, Side::Client, options);
        let serving = answering(McpServer::new(far), welcome(json!({ "tools": {} })));
        let asked = client.request("initialize", &hello(json!({}))).await.unwrap();
        let (event, _server) = tokio::join!(client.next(), serving);
        let Event::NegotiationFailed { id, error: Error::MissingCapabilities { missing, .. } } =
            event.unwrap()
        else {
            panic!()
        };
        assert_eq!((id, missing), (Some(asked), vec!["logging".to_owned()]));
        client.notify("notifications/initialized", &()).await.unwrap();
        assert_eq!(client.state_name(), "Active");
    })
    .await;
}

#[test]
fn the_server_answers_with_the_version_that_is_asked_for_if_it_has_it_and_else_with_its_latest() {
    let versions = ["2024-11-05", "2025-03-26"];
    for (requested, answer) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2026-07-28", "2025-03-26"),
        ("1.0.0", "2025-03-26"),
        ("", "2025-03-26"),
    ] {
        assert_eq!(negotiate_version(&versions, requested), answer, "{requested}");
    }
    assert_eq!(negotiate_version::<&str>(&[], "2025-03-26"), "2025-03-26");
}

#[tokio::test]
async fn no_other_answer_goes_out() {
    let both = ["2024-11-05", "2025-03-26"];
    for (speaks, requested, wrong, right) in [
        (&both[..], "2024-11-05", "2025-03-26", "2024-11-05"),
        (&both[..], "2025-03-26", "2024-11-05", "2025-03-26"),
        (&both[..], "2025-06-18", "2025-06-18", "2025-03-26"),
        (&both[1..], "2024-11-05", "2024-11-05", "2025-03-26"),
    ] {
        guarded(async {
            let (near, far) = duplex();
            let (near, window) = tap(near);
            let client = McpClient::with_options(near, Options::new().accept_any_version());
            let server = McpServer::with_options(far, Options::new().accept_versions(speaks.iter().copied()));
            let serving = async {
                let (params, server) = server.recv_initialize().await.unwrap();
                assert_eq!(negotiate_version(speaks, &params.protocol_version), right);
                let refused = server.send_initialize_result(welcome_in(wrong)).await;
                let Err(StepError::NotSent { error, session }) = refused else { panic!("{refused:?}") };
                let Error::Mismatch { problem: MismatchError::Version { announced, versions }, .. } = error
                else {
                    panic!("{error}")
                };
                assert_eq!(announced.as_deref(), Some(wrong));
                assert!(versions.iter().any(|version| version == right), "{versions:?}");
                session.send_initialize_result(welcome_in(right)).await.unwrap()
            };
            let (client, _server) = tokio::join!(client.initialize(hello_in(requested)), serving);
            assert_eq!(client.unwrap().0.protocol_version, right);
            assert_eq!(window.lines().len(), 2, "the wrong answer was not written");
        })
        .await;
    }
}

#[tokio::test]
async fn a_server_announces_a_version_even_if_the_client_asks_for_none() {
    guarded(async {
        let (near, far) = duplex();
        let (near, window) = tap(near);
        let mut client = CheckedSession::start(near, &PROTOCOL, Side::Client, Options::new());
        let mut server = CheckedSession::start(far, &PROTOCOL, Side::Server, Options::new());
        client.request("initialize", &json!({ "capabilities": {} })).await.unwrap();
        let Event::Request { id, .. } = server.next().await.unwrap() else { panic!() };
        for (wrong, problem) in [
            (json!({ "capabilities": {} }), "announces no version"),
            (json!({ "protocolVersion": 1 }), "announces the version `1`, which is not a string"),
            (json!({ "protocolVersion": "0" }), "announces version `0`"),
        ] {
            let error = server.respond(&id, &wrong).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the payload of `InitializeResult` {problem}, and has to announce `2025-03-26`")
            );
        }
        assert_eq!(window.lines().len(), 1, "no wrong answer was written");
        server.respond(&id, &welcome(json!({}))).await.unwrap();
        assert!(matches!(client.next().await.unwrap(), Event::Reply { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_client_does_not_ask_for_a_version_that_it_does_not_speak() {
    guarded(async {
        let (near, far) = duplex();
        let (near, window) = tap(near);
        let serving = answering(McpServer::new(far), welcome(json!({})));
        let asking = async {
            let mut client = McpClient::new(near);
            for wrong in ["2025-3-26", "2024-11-05"] {
                let refused = client.initialize(hello_in(wrong)).await;
                let Err(StepError::NotSent { error, session }) = refused else { panic!("{refused:?}") };
                assert_eq!(
                    error.to_string(),
                    format!(
                        "the payload of `Initialize` asks for version `{wrong}`, and this side accepts \
                         `2025-03-26`: list others with `Options::revisions`"
                    )
                );
                client = session;
            }
            assert_eq!(window.lines().len(), 0, "nothing was written");
            client.initialize(hello_in("2025-03-26")).await.unwrap()
        };
        let (_client, _server) = tokio::join!(asking, serving);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_accept_the_answer_learns_both_versions_and_parts() {
    guarded(async {
        let (near, far) = duplex();
        let old = Options::new().accept_versions(["2024-11-05"]);
        let serving = answering(McpServer::with_options(far, old), welcome_in("2024-11-05"));
        let (client, server) = tokio::join!(McpClient::new(near).initialize(hello(json!({}))), serving);
        let Err(StepError::NegotiationFailed { error, session }) = client else { panic!("{client:?}") };
        assert_eq!(
            error.to_string(),
            "the peer speaks version `2024-11-05`, and this side accepts `2025-03-26`: list others with `Options::revisions`"
        );
        let Error::Version { requested, offered, accepted } = error else { panic!("{error:?}") };
        assert_eq!(requested.as_deref(), Some("2025-03-26"));
        assert_eq!(offered.as_deref(), Some("2024-11-05"));
        assert_eq!(accepted, ["2025-03-26"]);
        session.abort();
        assert!(server.recv_initialized().await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_version_that_is_a_number_is_said_not_to_be_a_string() {
    guarded(async {
        let mut result = serde_json::to_value(welcome(json!({}))).unwrap();
        result["protocolVersion"] = json!(20250326);
        let (near, far) = duplex();
        let mut server = CheckedSession::start(far, &PROTOCOL, Side::Server, Options::new());
        let serving = async {
            let Event::Request { id, .. } = server.next().await.unwrap() else { panic!() };
            // A side that names its versions does not write it; one that accepts any does.
            let refused = server.respond(&id, &result).await.unwrap_err();
            assert!(
                refused.to_string().contains("announces the version `20250326`, which is not a string"),
                "{refused}"
            );
        };
        let calling = McpClient::new(near).initialize(hello(json!({})));
        tokio::select! { _ = calling => panic!(), () = serving => {} }

        let (near, far) = duplex();
        let mut server =
            CheckedSession::start(far, &PROTOCOL, Side::Server, Options::new().accept_any_version());
        let serving = async {
            let Event::Request { id, .. } = server.next().await.unwrap() else { panic!() };
            server.respond(&id, &result).await.unwrap();
        };
        let (client, ()) = tokio::join!(McpClient::new(near).initialize(hello(json!({}))), serving);
        let Err(StepError::NegotiationFailed { error, session }) = client else { panic!("{client:?}") };
        assert_eq!(
            error.to_string(),
            "the peer announces the version `20250326`, which is not a string, and this side accepts \
             `2025-03-26`: list others with `Options::revisions`"
        );
        let Error::Version { offered, .. } = error else { panic!("{error:?}") };
        assert_eq!(offered, AnnouncedVersion::NotAString("20250326".to_owned()));
        session.abort();
    })
    .await;
}

#[tokio::test]
async fn a_client_may_speak_more_than_one_version() {
    guarded(async {
        let (near, far) = duplex();
        let old = Options::new().accept_versions(["2024-11-05"]);
        let serving = answering(McpServer::with_options(far, old), welcome_in("2024-11-05"));
        let client =
            McpClient::with_options(near, Options::new().accept_versions(["2024-11-05", "2025-03-26"]));
        let (client, _server) = tokio::join!(client.initialize(hello(json!({}))), serving);
        assert_eq!(client.unwrap().0.protocol_version, "2024-11-05");
    })
    .await;
}

#[tokio::test]
async fn the_error_that_the_lifecycle_has_for_versions_comes_out_as_it_stands_there() {
    guarded(async {
        let (near, far) = duplex();
        let (far, window) = tap(far);
        let server = McpServer::with_options(far, Options::new().accept_versions(["2024-11-05"]));
        let serving = async {
            let (params, server) = server.recv_initialize().await.unwrap();
            let error = RpcError::unsupported_version(["2024-11-05"], &params.protocol_version);
            server.refuse(error).await.unwrap()
        };
        let mut client =
            CheckedSession::start(near, &PROTOCOL, Side::Client, Options::new().accept_any_version());
        let asking = async {
            // The example has the id 1, so something has been asked before.
            client.call::<_, Value>("ping", &()).await.unwrap();
            client.request("initialize", &hello_in("1.0.0")).await.unwrap();
            client.next().await.unwrap()
        };
        let (event, _server) = tokio::join!(asking, serving);
        assert!(matches!(event, Event::Refused { .. }), "{event:?}");
        let mut written = window.lines().into_iter().filter_map(|line| match line {
            super::Line::Wrote(message) => Some(message),
            super::Line::Read(_) => None,
        });
        let example = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "error": {
                "code": -32602,
                "message": "Unsupported protocol version",
                "data": { "supported": ["2024-11-05"], "requested": "1.0.0" }
            }
        });
        assert_eq!(written.next_back().unwrap(), example);
    })
    .await;
}

/// What the judging side reports of a message that its peer sends although the capability was not announced, and the
/// code of the error that the peer gets.
async fn ungated(judge: Side, announced: Value, message: Value) -> (ViolationKind, Option<i64>) {
    let (near, far) = duplex();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&reports);
    let mut reporting =
        Some(Options::new().on_report(move |report: &Report| kept.lock().unwrap().push(report.clone())));
    // The one that breaks the rule follows a protocol that has none.
    let mut start = |end, side| match reporting.take_if(|_| side == judge) {
        Some(options) => CheckedSession::start(end, &PROTOCOL, side, options),
        None => CheckedSession::start(end, lawless(), side, Options::new()),
    };
    let (mut client, mut server) = (start(near, Side::Client), start(far, Side::Server));
    client.request("initialize", &hello(json!({}))).await.unwrap();
    let Event::Request { id, .. } = server.next().await.unwrap() else { panic!() };
    server.respond(&id, &welcome(announced)).await.unwrap();
    client.next().await.unwrap();
    client.notify("notifications/initialized", &()).await.unwrap();
    server.next().await.unwrap();

    let sender = if judge == Side::Client { &mut server } else { &mut client };
    let method = message["method"].as_str().unwrap();
    let code = if message["request"] == json!(true) {
        let id = sender.request(method, &message["params"]).await.unwrap();
        let Event::Refused { id: refused, error } = sender.next().await.unwrap() else { panic!() };
        assert_eq!(refused, id);
        Some(error.code)
    } else {
        sender.notify(method, &message["params"]).await.unwrap();
        // Behind it, so that it has come.
        sender.call::<_, Value>("ping", &()).await.unwrap();
        None
    };
    let reports = reports.lock().unwrap();
    let [Report::Violation(violation)] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!(violation.sender, judge.other());
    (violation.kind.clone(), code)
}

/// The protocol without its gates.
fn lawless() -> ProtocolRef {
    let mut protocol = PROTOCOL.clone();
    for message in protocol.messages.to_mut() {
        message.requires = Cow::Borrowed(&[]);
    }
    ProtocolRef::Shared(Arc::new(protocol))
}

#[tokio::test]
async fn what_comes_in_is_held_to_sub_capabilities_as_well() {
    let told = |method: &str, params: Value| json!({ "method": method, "params": params });
    let asks = |method: &str, params: Value| json!({ "method": method, "params": params, "request": true });
    let uri = || json!({ "uri": "a:b" });
    for (side, announced, message, capability, answer) in [
        (
            Side::Client,
            json!({ "tools": {} }),
            told("notifications/tools/list_changed", Value::Null),
            "tools.listChanged",
            None,
        ),
        (
            Side::Client,
            json!({ "tools": { "listChanged": false } }),
            told("notifications/tools/list_changed", Value::Null),
            "tools.listChanged",
            None,
        ),
        (
            Side::Client,
            json!({ "resources": { "listChanged": true } }),
            told("notifications/resources/updated", uri()),
            "resources.subscribe",
            None,
        ),
        (
            Side::Server,
            json!({ "resources": { "listChanged": true } }),
            asks("resources/unsubscribe", uri()),
            "resources.subscribe",
            Some(-32601),
        ),
        (Side::Server, json!({}), asks("tools/list", json!({})), "tools", Some(-32601)),
    ] {
        guarded(async {
            let (kind, answered) = ungated(side, announced, message).await;
            assert_eq!(
                kind,
                ViolationKind::NotNegotiated { holder: Side::Server, capability: capability.to_owned() }
            );
            assert_eq!(answered, answer);
        })
        .await;
    }
}
