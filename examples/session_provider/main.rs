//! A client in a session that another program has opened: `cargo run --example session_provider --features http`.
//!
//! The id of the session is in the environment variable `MCP_SESSION_ID`, and the server's address is the argument.
//! Without an argument the example starts a server, opens a session, and runs itself to continue that session, as
//! another program would: `MCP_SESSION_ID=… cargo run --example session_provider --features http -- URL`.

#[path = "../quickstart/server.rs"]
#[allow(dead_code, reason = "the quickstart serves its standard streams, too")]
mod server;

use std::env::VarError;
use std::error::Error;

use mcp_protocols::mcp_2025_11_25::{Active, McpClient};
use mcp_protocols::types::{CallToolParams, ClientCapabilities, Implementation, InitializeParams};
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpServer, ServerOptions, SessionProvider};
use mcp_runtime::{Options, Resumed};
use tokio::net::TcpListener;
use tokio::process::Command;

/// The environment variable with the id of the session.
const VARIABLE: &str = "MCP_SESSION_ID";

/// Reads the id of the session from the environment variable, for each request.
struct FromEnvironment;

impl SessionProvider for FromEnvironment {
    type Error = VarError;

    async fn session_id(&self) -> Result<String, VarError> {
        std::env::var(VARIABLE)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(url) => call(&url).await,
        None => begin().await,
    }
}

/// Calls a tool in the session.
async fn call(url: &str) -> Result<(), Box<dyn Error>> {
    let options = ClientOptions::default().protocol_version("2025-11-25");
    let transport = HttpClient::new(url)?.options(options).sessions_from(FromEnvironment);
    // This sends nothing: the session exists already.
    let client = McpClient::<Active>::resume(transport, Resumed::unknown());
    let echo = CallToolParams::new("echo").with_argument("message", "hello again");
    println!("echo says: {}", client.call_tool(echo).await?.first_text().unwrap_or("nothing"));
    // The session continues: another program owns it.
    client.close().await?;
    Ok(())
}

/// Opens a session, and runs this program again to continue it.
async fn begin() -> Result<(), Box<dyn Error>> {
    let (named, mut names) = tokio::sync::mpsc::unbounded_channel();
    let server = HttpServer::new(ServerOptions::default(), move |transport| {
        let _ = named.send(transport.id().unwrap_or_default().to_owned());
        async move {
            if let Err(error) = server::serve_session(transport, Options::new()).await {
                eprintln!("a session has ended: {error}");
            }
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let router = axum::Router::new().route("/mcp", server.method_router());
    let serving = tokio::spawn(async move { server.serve(listener, router, std::future::pending()).await });

    let client = McpClient::new(HttpClient::new(&url)?);
    let program = Implementation::new("owner", "1.0.0");
    let params = InitializeParams::new("2025-11-25", ClientCapabilities::new(), program);
    let client = client.initialize(params).await?.1.send_initialized().await?;
    let id = names.recv().await.ok_or("no session has begun")?;
    let status = Command::new(std::env::current_exe()?).arg(&url).env(VARIABLE, id).status().await?;
    println!("the session is still there: {} tools", client.list_tools(None).await?.tools.len());
    client.close().await?;
    serving.abort();
    if status.success() { Ok(()) } else { Err("the other program has failed".into()) }
}
