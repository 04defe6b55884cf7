//! A capability that this side announces and has no handler for is reported when the session begins.

use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpServer, Uninit, client, server};
use mcp_protocols::types::*;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};

use super::{everything, guarded, hello, welcome};

/// What was announced without a handler: each capability, with the methods.
type Unhandled = Arc<Mutex<Vec<(String, Vec<String>)>>>;

fn noting(found: &Unhandled) -> Options {
    let found = Arc::clone(found);
    Options::new().on_report(move |report: &Report| {
        let Report::Unhandled { capability, methods } = report else { panic!("{report}") };
        let methods = methods.iter().map(ToString::to_string).collect();
        found.lock().unwrap().push((capability.clone(), methods));
    })
}

fn take(found: &Unhandled) -> Vec<(String, Vec<String>)> {
    let mut found = std::mem::take(&mut *found.lock().unwrap());
    found.sort();
    found
}

fn lacks(capability: &str, methods: &[&str]) -> (String, Vec<String>) {
    (capability.to_owned(), methods.iter().map(|method| (*method).to_owned()).collect())
}

/// Implements one request as an `async fn`, and another without.
struct Tools;

impl server::Handler for Tools {
    async fn call_tool(&self, _: server::Context, _: CallToolParams) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text("done"))
    }

    fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> impl Future<Output = Result<ListToolsResult, RpcError>> + Send {
        std::future::ready(Err(RpcError::internal_error("not today")))
    }
}

struct Nothing;

impl server::Handler for Nothing {}
impl client::Handler for Nothing {}

async fn begun(
    can: &(Value, Value),
    found: &Unhandled,
    before: impl FnOnce(&McpServer<Uninit>),
) -> (McpClient<Active>, McpServer<Active>) {
    let (near, far) = duplex();
    let here = McpClient::with_options(near, noting(found));
    let there = McpServer::with_options(far, noting(found));
    before(&there);
    let version = "2025-11-25";
    let here = async {
        let (_, here) = here.initialize(hello(version, &can.0)).await.unwrap();
        here.send_initialized().await.unwrap()
    };
    let there = async {
        let (_, there) = there.recv_initialize().await.unwrap();
        let there = there.send_initialize_result(welcome(version, &can.1)).await.unwrap();
        there.recv_initialized().await.unwrap()
    };
    tokio::join!(here, there)
}

#[tokio::test]
async fn what_was_announced_and_has_no_handler_is_reported_when_the_handler_is_served() {
    guarded(async {
        let found = Unhandled::default();
        let (client, server) =
            begun(&(json!({ "roots": {}, "sampling": {} }), everything().1), &found, |_| {}).await;
        assert_eq!(take(&found), []);
        let _serving = server.incoming().serve(Tools);
        assert_eq!(
            take(&found),
            [
                lacks("completions", &["completion/complete"]),
                lacks("logging", &["logging/setLevel"]),
                lacks("prompts", &["prompts/list", "prompts/get"]),
                lacks("resources", &["resources/list", "resources/templates/list", "resources/read"]),
                lacks("resources.subscribe", &["resources/subscribe"]),
                lacks("tasks", &["tasks/get"]),
                lacks("tasks.cancel", &["tasks/cancel"]),
                lacks("tasks.list", &["tasks/list"]),
                lacks("tasks.requests.tools.call", &["tools/call"]),
            ]
        );
        let _serving = client.incoming().serve(Nothing);
        assert_eq!(
            take(&found),
            [lacks("roots", &["roots/list"]), lacks("sampling", &["sampling/createMessage"])]
        );
    })
    .await;
}

/// Has resources, and no templates of them.
struct Resources;

impl server::Handler for Resources {
    async fn list_resources(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListResourcesResult, RpcError> {
        Err(RpcError::internal_error("not today"))
    }
}

#[tokio::test]
async fn a_capability_of_which_something_is_handled_is_not_reported() {
    guarded(async {
        let found = Unhandled::default();
        let can = (json!({}), json!({ "resources": {} }));
        let (_client, server) = begun(&can, &found, |_| {}).await;
        let _serving = server.incoming().serve(Resources);
        assert_eq!(take(&found), []);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_announced_needs_no_handler() {
    guarded(async {
        let found = Unhandled::default();
        let can = (json!({}), json!({ "tools": {} }));
        let (client, server) = begun(&can, &found, |_| {}).await;
        let _serving = (server.incoming().serve(Tools), client.incoming().serve(Nothing));
        assert_eq!(take(&found), []);
    })
    .await;
}

#[tokio::test]
async fn a_handler_that_is_served_before_the_announcement_is_judged_by_that() {
    guarded(async {
        let found = Unhandled::default();
        let can = (json!({}), json!({ "tools": {} }));
        let serve = |server: &McpServer<_>| drop(test_support::spawn(server.incoming().serve(Nothing)));
        let (_client, _server) = begun(&can, &found, serve).await;
        assert_eq!(take(&found), [lacks("tools", &["tools/list", "tools/call"])]);
    })
    .await;
}

/// Takes every request itself, so it may handle any.
#[tokio::test]
async fn a_program_that_takes_its_requests_itself_is_not_judged() {
    guarded(async {
        let found = Unhandled::default();
        let (client, server) = begun(&everything(), &found, |_| {}).await;
        let incoming = server.incoming();
        let takes = async {
            let Some(server::Incoming::ToolsList(_, listing)) = incoming.next().await else { panic!() };
            listing.refuse(RpcError::internal_error("not today")).unwrap();
        };
        let (listed, ()) = tokio::join!(client.list_tools(None), takes);
        assert!(matches!(listed, Err(Error::Refused(error)) if error.message == "not today"));
        assert_eq!(take(&found), []);
    })
    .await;
}

#[test]
fn the_report_names_the_capability_and_the_methods() {
    let methods = vec!["tools/list".into(), "tools/call".into()];
    let report = Report::Unhandled { capability: "tools".to_owned(), methods };
    assert_eq!(
        report.to_string(),
        "`tools` was announced, but the handler does not implement any request of it: add `tools/list`, `tools/call`"
    );
}
