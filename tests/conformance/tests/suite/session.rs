//! What our server does that the suite does not ask for: sessions with the generated client.

use mcp_protocols::REVISIONS;
use mcp_protocols::mcp_2025_11_25::{Active, McpClient, client};
use mcp_protocols::types::*;
use mcp_runtime::transport::http::HttpClient;
use mcp_runtime::{Error, Options};
use tokio::sync::mpsc;

use crate::running::{Server, guarded};

/// Hears the server's log, and offers nothing.
struct Listener(mpsc::UnboundedSender<String>);

impl client::Handler for Listener {
    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        self.0.send(params.data.as_str().unwrap().to_owned()).unwrap();
    }
}

/// A session in this version, with a client that announces nothing, and the server's log.
async fn session(server: &Server, version: &str) -> (McpClient<Active>, mpsc::UnboundedReceiver<String>) {
    let options = Options::new().revisions(REVISIONS);
    let session = McpClient::with_options(HttpClient::new(&server.url).unwrap(), options);
    let (told, heard) = mpsc::unbounded_channel();
    tokio::spawn(session.incoming().serve(Listener(told)));
    let hello =
        InitializeParams::new(version, ClientCapabilities::new(), Implementation::new("session", "1"));
    let (welcome, session) = session.initialize(hello).await.unwrap();
    assert_eq!(welcome.protocol_version, version);
    (session.send_initialized().await.unwrap(), heard)
}

async fn call(session: &McpClient<Active>, name: &str) -> Result<CallToolResult, Error> {
    session.call_tool(CallToolParams::new(name).arguments(Object::new())).await
}

#[tokio::test]
async fn a_resource_changes_under_watch() {
    guarded(async {
        let server = Server::start(&[]).await;
        let (session, _) = session(&server, "2025-11-25").await;
        let watched = ResourceParams::new("test://watched-resource");
        let mut subscription = session.subscribe(watched.clone()).await.unwrap();
        for count in 1..=3 {
            call(&session, "test_change_watched_resource").await.unwrap();
            assert_eq!(subscription.recv_resource_updated().await.unwrap().uri, watched.uri);
            let contents = session.read_resource(watched.clone()).await.unwrap().contents;
            assert_eq!(contents[0].as_text(), Some(count.to_string().as_str()));
        }
        subscription.subscribe(watched.clone()).await.unwrap();
        subscription.unsubscribe(watched).await.unwrap();
        session.subscribe(ResourceParams::new("test://nothing")).await.unwrap_err();
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_log_is_as_loud_as_the_client_wants_it() {
    guarded(async {
        let server = Server::start(&[]).await;
        let (session, mut log) = session(&server, "2025-11-25").await;
        call(&session, "test_tool_with_logging").await.unwrap();
        session.set_level(SetLevelParams::new(LoggingLevel::Warning)).await.unwrap();
        call(&session, "test_tool_with_logging").await.unwrap();
        session.set_level(SetLevelParams::new(LoggingLevel::Debug)).await.unwrap();
        call(&session, "test_tool_with_logging").await.unwrap();
        let said = ["the tool begins", "the tool works", "the tool is done"];
        for line in [said, said].concat() {
            assert_eq!(log.recv().await.unwrap(), line);
        }
        session.close().await.unwrap();
        assert_eq!(log.recv().await, None);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_offers_nothing_is_not_asked() {
    guarded(async {
        let server = Server::start(&[]).await;
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let (session, _) = session(&server, version).await;
            let listed = session.list_tools(None).await.unwrap().tools;
            for (tool, capability) in [("test_sampling", "sampling"), ("test_elicitation", "elicitation")] {
                assert!(listed.iter().all(|listed| listed.name != tool));
                let Err(Error::Refused(refused)) = call(&session, tool).await else { panic!() };
                assert_eq!(refused.code, -32021);
                let needed = &refused.data.unwrap()["requiredCapabilities"];
                assert!(needed.get(capability).is_some(), "{needed}");
            }
            assert_eq!(call(&session, "test_simple_text").await.unwrap().is_error, None);
            let Err(Error::Refused(refused)) = call(&session, "nothing").await else { panic!() };
            assert_eq!(refused.code, -32602);
            session.close().await.unwrap();
        }
    })
    .await;
}
