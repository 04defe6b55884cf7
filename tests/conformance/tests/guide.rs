//! The server and the client of `docs/http.md`, which run here.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests may fail the test")]

use std::error::Error;
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{AwaitingNotif, McpClient, McpError, McpServer, Uninit, server};
use mcp_protocols::types::*;
use mcp_runtime::transport::http::{HttpClient, HttpError, HttpServer, ServerOptions};
use mcp_runtime::{Options, RpcError};
use tokio::net::TcpListener;

fn hello() -> InitializeParams {
    InitializeParams::new("2025-11-25", ClientCapabilities::new(), Implementation::new("guide", "1.0.0"))
}

fn welcome() -> InitializeResult {
    let offered = ServerCapabilities::new().tools(ToolsCapability::new());
    InitializeResult::new("2025-11-25", offered, Implementation::new("echo", "1.0.0"))
}

struct Tools;

impl server::Handler for Tools {
    async fn list_tools(
        &self,
        _context: server::Context,
        _params: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult::new([Tool::new("echo", ObjectSchema::new())]))
    }

    async fn call_tool(
        &self,
        _context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let text = params.argument("text").and_then(serde_json::Value::as_str);
        Ok(CallToolResult::text(text.unwrap_or_default()))
    }
}

/// Serves one session, from its first message to its end.
async fn serve(session: McpServer<Uninit>) -> Result<(), McpError> {
    // Answers the requests that the client may send at any time, in parallel with the steps.
    let serving = tokio::spawn(session.incoming().serve(Tools));
    let (_params, session) = session.recv_initialize().await?;
    let session = session.send_initialize_result(welcome()).await?.recv_initialized().await?;
    // The session ends when its value is dropped: keep it until the client has left.
    let _ = serving.await;
    drop(session);
    Ok(())
}

async fn listen(
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        let session = McpServer::new(transport); // McpServer<Uninit>, one for each session
        if let Err(error) = serve(session).await {
            eprintln!("a session has ended: {error}");
        }
    });
    let router = axum::Router::new().route("/mcp", server.method_router());
    server.serve(listener, router, stop).await
}

async fn call(url: &str) -> Result<(), Box<dyn Error>> {
    let options = Options::new().timeout(Duration::from_secs(30)); // otherwise a call waits indefinitely
    let client = McpClient::with_options(HttpClient::new(url)?, options);
    let (welcome, client) = client.initialize(hello()).await?;
    let client = client.send_initialized().await?;
    let said = client.call_tool(CallToolParams::new("echo").with_argument("text", "hello")).await?;
    assert_eq!((&*welcome.server_info.name, said.first_text()), ("echo", Some("hello")));
    client.close().await?;
    Ok(())
}

/// Opens a session with a server that may require authentication.
async fn enter(url: &str) -> Result<McpClient<AwaitingNotif>, Box<dyn Error>> {
    let error = match McpClient::new(HttpClient::new(url)?).initialize(hello()).await {
        Ok((_welcome, client)) => return Ok(client),
        Err(error) => error.into_parts().1,
    };
    let Some(HttpError::Status { status: 401, authenticate, .. }) = error.http() else {
        return Err(error.into());
    };
    // `authenticate` is the header `WWW-Authenticate`, with its `resource_metadata`.
    let token = token_from(authenticate.as_deref()).await?;
    let transport = HttpClient::new(url)?.header("authorization", &format!("Bearer {token}"))?;
    let (_welcome, client) = McpClient::new(transport).initialize(hello()).await?;
    Ok(client)
}

/// How a program gets a token is up to the program.
async fn token_from(authenticate: Option<&str>) -> Result<String, Box<dyn Error>> {
    assert_eq!(authenticate, Some("Bearer resource_metadata=\"https://example.org/oauth\""));
    Ok("let me in".to_owned())
}

#[tokio::test]
async fn a_client_that_has_to_authenticate() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        let _ = serve(McpServer::new(transport)).await;
    });
    let guard = |request: axum::extract::Request, next: axum::middleware::Next| async move {
        if request.headers().get("authorization").is_some_and(|given| given == "Bearer let me in") {
            return next.run(request).await;
        }
        let mut refusal = axum::response::Response::new(axum::body::Body::empty());
        *refusal.status_mut() = axum::http::StatusCode::UNAUTHORIZED;
        let wanted = "Bearer resource_metadata=\"https://example.org/oauth\"".parse().unwrap();
        refusal.headers_mut().insert("www-authenticate", wanted);
        refusal
    };
    let route = server.method_router().layer(axum::middleware::from_fn(guard));
    let router = axum::Router::new().route("/mcp", route);
    let listening = tokio::spawn(async move { axum::serve(listener, router).await });
    drop(enter(&url).await.unwrap());
    listening.abort();
}

#[tokio::test]
async fn a_server_and_a_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listening = tokio::spawn(listen(listener, async { drop(stopped.await) }));
    call(&url).await.unwrap();
    stop.send(()).unwrap();
    listening.await.unwrap().unwrap();
}

/// The caller, as a layer in front of the server has identified it.
#[derive(Clone)]
struct User {
    name: String,
}

#[test]
fn limits_are_set() {
    use std::net::IpAddr;

    let options = ServerOptions::new()
        .max_bytes(256 * 1024 * 1024)
        .client_share(20)
        .trusted_proxies([IpAddr::from([10, 0, 0, 1])])
        .principal(|request| request.extensions.get::<User>().map(|user| user.name.clone()));
    assert_eq!((options.client_share, options.trusted_proxies.len()), (20, 1));
    assert_eq!(User { name: "ada".to_owned() }.name, "ada");
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn the_server_and_the_client_of_the_page_are_here() {
    let page = include_str!("../../../docs/http.md");
    let here = squeezed(include_str!("guide.rs"))
        + &squeezed(include_str!("../../tests/http/graceful.rs"))
        + &squeezed(include_str!("../../tests/http/http2.rs"))
        + &squeezed(include_str!("../../tests/http/pages.rs"));
    let examples: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next()).take(8).collect();
    for code in &examples {
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
    }
    assert_eq!(examples.len(), 8);
}
