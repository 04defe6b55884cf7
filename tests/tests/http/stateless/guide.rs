//! The examples of the section on requests without sessions in `docs/http.md`, which are compiled here.

use std::error::Error;
use std::sync::Arc;

use mcp_protocols::mcp_2026_07_28::types::{RequestMeta, RequestParams};
use mcp_protocols::mcp_2026_07_28::{McpClient, McpServer, server};
use mcp_runtime::transport::http::{HttpClient, HttpServer, HttpSession, ParamHeaders, ServerOptions};
use serde_json::Value;

struct Desk;

impl server::Handler for Desk {}

fn serving() -> axum::Router {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        let server = McpServer::new(transport); // McpServer<Start>, one for each request
        server.incoming().serve(Desk).await;
    });
    axum::Router::new().route("/mcp", server.method_router())
}

async fn serve_request(transport: HttpSession) {
    drop(transport);
}

async fn serve_session(transport: HttpSession) {
    drop(transport);
}

fn serving_both() -> axum::Router {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        match transport.is_for_one_request() {
            true => serve_request(transport).await,
            false => serve_session(transport).await,
        }
    });
    axum::Router::new().route("/mcp", server.method_router())
}

fn options(schema: Value) -> Result<ServerOptions, Box<dyn Error>> {
    let query = Arc::new(ParamHeaders::of_schema(&schema)?);
    let options = ServerOptions::new().param_headers(move |tool| (tool == "query").then(|| query.clone()));
    Ok(options)
}

async fn call(url: &str, meta: RequestMeta) -> Result<(), Box<dyn Error>> {
    let client = McpClient::new(HttpClient::new(url)?);
    let found = client.discover(RequestParams::new(meta)).await?;
    drop(found);
    client.close().await?;
    Ok(())
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_section_is_here() {
    drop((serving(), serving_both(), options(Value::Null).unwrap(), call));
    let page = include_str!("../../../../docs/http.md");
    let section =
        page.split("\n## ").find(|section| section.starts_with("Requests without sessions")).unwrap();
    let here = squeezed(include_str!("guide.rs"));
    let examples: Vec<&str> =
        section.split("```rust\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    for code in &examples {
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
    }
    assert_eq!(examples.len(), 4);
}
