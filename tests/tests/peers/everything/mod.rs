//! The generated client, a whole session through, against server-everything over stdio.
//!
//! The server comes from npm (`npm ci` in `tests/peers`). Where it is not installed the tests say so and pass, unless
//! `CI` is set in the environment.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod handler;
mod stages;

use std::time::Duration;

use handler::{ClientHandler, Entry};
use integration_tests::everything;
use integration_tests::tap::Line;
use mcp_protocols::mcp_2025_03_26::messages;
use mcp_protocols::types::*;
use mcp_runtime::session::Means;
use mcp_runtime::{Error, Outcome, Report, StepError, ViolationKind};
use serde_json::Value;

fn hello(version: &str, capabilities: ClientCapabilities) -> InitializeParams {
    InitializeParams::new(version, capabilities, Implementation::new("interop", "1.0.0"))
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(180), test).await.unwrap();
}

/// Whether the server has left as it should: by itself, once its input was closed.
#[track_caller]
fn assert_left_in_order(outcome: Result<Outcome, Error>) {
    match outcome {
        Ok(Outcome::Exited { status, after: Means::EndOfInput }) if status.success() => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_whole_session() {
    guarded(async {
        let (session, window, reports) = everything::start();
        let handler = ClientHandler::new();
        let serving = test_support::spawn(session.incoming().serve(handler.clone()));

        session.ping().await.unwrap();
        assert!(session.permits(messages::TOOLS_LIST).is_err());
        // Roots and two kinds of elicitation make the server register two tools each, sampling one.
        let capabilities = ClientCapabilities::new()
            .roots(RootsCapability::new().list_changed(true))
            .sampling(SamplingCapability::new())
            .elicitation(ElicitationCapability::new().form(Object::new()).url(Object::new()));
        let session = session.send_initialize(hello("2025-03-26", capabilities)).await.unwrap();
        session.ping().await.unwrap();
        let (result, session) = session.recv_initialize_result().await.unwrap();
        assert_eq!(result.protocol_version, "2025-03-26");
        assert!(result.server_info.name.contains("everything"), "{}", result.server_info.name);
        assert!(result.capabilities.resources.unwrap().subscribe == Some(true));
        session.ping().await.unwrap();
        let session = session.send_initialized().await.unwrap();
        let changed = |entry: &Entry| *entry == Entry::ToolsChanged;
        handler.diary.until(5, changed).await;
        session.ping().await.unwrap();

        stages::roots(&session, &handler).await;
        stages::tools(&session).await;
        stages::concurrent(&session, &window).await;
        stages::progress(&session).await;
        stages::cancelled(&session, &window).await;
        stages::sampling(&session, &handler).await;
        stages::elicitation(&session).await;
        stages::resources(&session, &handler).await;
        stages::prompts(&session).await;
        stages::logging(&session, &handler).await;
        let session = stages::unknown_level(session).await;

        assert_left_in_order(session.close().await);
        serving.await.unwrap();
        assert_eq!(handler.diary.count(changed), 5, "the five early ones and no more");
        assert_eq!(handler.diary.count(|entry| *entry == Entry::ResourcesChanged), 0);
        assert_eq!(handler.diary.count(|entry| *entry == Entry::PromptsChanged), 0);
        // The first request of either side has the id 0, and neither was confused by it.
        let lines = window.lines();
        let zero = |line: &Value| line["id"] == 0 && line.get("method").is_some();
        assert!(lines.iter().any(|line| matches!(line, Line::Wrote(line) if zero(line))));
        assert!(lines.iter().any(|line| matches!(line, Line::Read(line) if zero(line))));
        // The only thing that was out of order: a method of a later revision.
        match reports.all().as_slice() {
            [Report::Violation(violation)] => {
                assert_eq!(violation.kind, ViolationKind::UnknownMethod);
                assert_eq!(violation.got.method, "elicitation/create");
            }
            _ => panic!("{:#?}", reports.texts()),
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_client_that_offers_nothing() {
    guarded(async {
        let (session, _window, reports) = everything::start();
        let handler = ClientHandler::new();
        test_support::spawn(session.incoming().serve(handler.clone()));
        let (_, session) = session.initialize(hello("2025-03-26", ClientCapabilities::new())).await.unwrap();
        let session = session.send_initialized().await.unwrap();
        handler.diary.until(1, |entry| *entry == Entry::ToolsChanged).await;
        let tools = session.list_tools(None).await.unwrap().tools;
        assert!(tools.iter().all(|tool| tool.name != "trigger-sampling-request"));
        // What this side has not announced it does not use.
        match session.send_roots_list_changed().await {
            Err(Error::NotPermitted(violation)) => assert_eq!(
                violation.to_string(),
                "`notifications/roots/list_changed` needs the capability `roots.listChanged`, which the client has \
                 not announced (rule L7, should)"
            ),
            other => panic!("{other:?}"),
        }
        assert_left_in_order(session.close().await);
        assert_eq!(handler.diary.count(|entry| *entry == Entry::RootsAsked), 0);
        assert_eq!(reports.texts(), [""; 0]);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_revision_that_the_server_answers_with_another() {
    guarded(async {
        let spoken = |options: mcp_runtime::Options| options.accept_versions(["1999-01-01"]);
        let (session, _window, reports) = everything::start_with(spoken);
        let refused = session.initialize(hello("1999-01-01", ClientCapabilities::new())).await;
        // It names the newest that it has. A client that does not speak it parts, where the protocol lets it.
        let Err(StepError::NegotiationFailed { error, session }) = refused else { panic!("{refused:?}") };
        let Error::Version { requested, offered, .. } = &error else { panic!("{error}") };
        assert_eq!((requested.as_deref(), offered.as_deref()), (Some("1999-01-01"), Some("2025-11-25")));
        assert_left_in_order(session.close().unwrap().await);
        assert_eq!(reports.texts(), [error.to_string()]);
    })
    .await;
}
