//! MCP over Streamable HTTP: `cargo run --example http --features http`.
//!
//! Without arguments it starts a server on a free port of the loopback and connects a client to it.
//! `-- serve 127.0.0.1:8080` runs only the server. `-- call http://127.0.0.1:8080/mcp` runs only the client, also with
//! other servers. The code of the session is that of the quickstart: it does not depend on the transport.

#[path = "../quickstart/server.rs"]
#[allow(dead_code, reason = "the quickstart serves its standard streams, too")]
mod server;

use std::error::Error;

use mcp_protocols::mcp_2025_11_25::McpClient;
use mcp_protocols::types::{CallToolParams, ClientCapabilities, Implementation, InitializeParams};
use mcp_runtime::Options;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", address] => serve(TcpListener::bind(address).await?).await,
        ["call", url] => call(url).await,
        [] => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}/mcp", listener.local_addr()?);
            let serving =
                tokio::spawn(async move { serve(listener).await.map_err(|error| error.to_string()) });
            call(&url).await?;
            serving.abort();
            Ok(())
        }
        other => Err(format!("unknown arguments {other:?}: try `serve ADDRESS` or `call URL`").into()),
    }
}

/// Serves sessions until Ctrl+C.
async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        // Each session of each client is a value with its own state.
        if let Err(error) = server::serve_session(transport, Options::new()).await {
            eprintln!("a session has ended: {error}");
        }
    });
    let router = axum::Router::new().route("/mcp", server.method_router());
    println!("serving http://{}/mcp", listener.local_addr()?);
    server.serve(listener, router, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}

/// Runs one session with the server at that address.
async fn call(url: &str) -> Result<(), Box<dyn Error>> {
    let client = McpClient::new(HttpClient::new(url)?);
    let program = Implementation::new("http-example", "1.0.0");
    let params = InitializeParams::new("2025-11-25", ClientCapabilities::new(), program);
    let (result, client) = client.initialize(params).await?;
    println!("connected to {} {}", result.server_info.name, result.server_info.version);
    let client = client.send_initialized().await?;
    let tools = client.list_tools(None).await?.tools;
    println!("its tools: {}", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", "));
    let echo = CallToolParams::new("echo").with_argument("message", "hello");
    println!("echo says: {}", client.call_tool(echo).await?.first_text().unwrap_or("nothing"));
    // Deletes the session at the server.
    client.close().await?;
    Ok(())
}
