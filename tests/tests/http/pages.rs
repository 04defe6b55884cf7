//! What a browser asks for a page, as [docs/http.md] has it answered.

#![allow(clippy::unwrap_used)]

use axum::http::{HeaderName, HeaderValue, Method};
use integration_tests::http::test_server::guarded;
use integration_tests::page;
use mcp_kit::prelude::*;
use mcp_runtime::transport::http::HttpServer;
use serde_json::json;
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, CorsLayer};

/// The code of the page.
fn for_pages(server: &HttpServer, origin: HeaderValue) -> axum::Router {
    let read = ["mcp-session-id", "www-authenticate", "retry-after"].map(HeaderName::from_static);
    let cors = CorsLayer::new()
        .allow_origin([origin])
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(read);
    axum::Router::new().route("/mcp", server.method_router()).layer(cors)
}

const PAGE: &str = "https://app.example";

#[tokio::test]
async fn a_page_may_send_what_each_revision_needs_and_read_the_answer() {
    guarded(async {
        let options = ServerOptions::new().origins([PAGE]);
        let http = Server::new("desk", "1", ()).http(options).unwrap();
        let router = for_pages(&http, HeaderValue::from_static(PAGE));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        test_support::spawn(async move { http.serve(listener, router, std::future::pending()).await.unwrap() });
        let browser = reqwest::Client::builder().no_proxy().build().unwrap();

        let asked = "content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-param-city,mcp-session-id";
        let preflight = browser
            .request(Method::OPTIONS, &url)
            .header("origin", PAGE)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", asked)
            .send()
            .await
            .unwrap();
        let header = |answer: &reqwest::Response, name: &str| {
            answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(preflight.status(), 200);
        assert_eq!(header(&preflight, "access-control-allow-origin").as_deref(), Some(PAGE));
        assert_eq!(header(&preflight, "access-control-allow-headers").as_deref(), Some(asked));

        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "page", "version": "1" }
        } });
        let post = |origin| {
            let request = browser.post(&url).header("origin", origin).header("content-type", "application/json");
            request.body(hello.to_string()).send()
        };
        let welcome = post(PAGE).await.unwrap();
        assert!(welcome.headers().contains_key("mcp-session-id"));
        assert_eq!(header(&welcome, "access-control-allow-origin").as_deref(), Some(PAGE));
        assert!(header(&welcome, "access-control-expose-headers").unwrap().contains("mcp-session-id"));

        let other = post("https://other.example").await.unwrap();
        assert_eq!((other.status().as_u16(), header(&other, "access-control-allow-origin")), (403, None));
    })
    .await;
}

#[test]
fn the_page_shows_this_code() {
    page::shows(include_str!("../../../docs/http.md"), include_str!("pages.rs"), "fn for_pages");
}
