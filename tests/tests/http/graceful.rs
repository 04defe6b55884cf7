//! A listener of axum that stops, as [docs/http.md] shows it: streams that clients keep open do not hold it up.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use integration_tests::http::test_server::guarded;
use integration_tests::page;
use mcp_kit::prelude::*;
use mcp_runtime::transport::http::HttpServer;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The code of the page.
async fn serve_with_axum(
    listener: tokio::net::TcpListener,
    server: HttpServer,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = axum::Router::new().route("/mcp", server.method_router());
    let ended = async move {
        stop.await;
        server.shutdown(Duration::from_secs(5)).await;
    };
    axum::serve(listener, router).with_graceful_shutdown(ended).await
}

#[tokio::test]
async fn a_stream_that_a_client_keeps_open_does_not_hold_it_up() {
    guarded(async {
        for era in [Era::Handshake, Era::Requests] {
            let http = Server::new("notes", "1", ()).http(ServerOptions::new()).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url: reqwest::Url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let serving = test_support::spawn(serve_with_axum(listener, http, async { drop(stopped.await) }));
            let client = ConnectOptions::new("test", "1").era(era).connect_url(url).await.unwrap();
            let tools = client.live_tools().await.unwrap();
            drop(stop);
            serving.await.unwrap().unwrap();
            drop(tools);
        }
    })
    .await;
}

#[test]
fn the_page_shows_this_code() {
    page::shows(
        include_str!("../../../docs/http.md"),
        include_str!("graceful.rs"),
        "async fn serve_with_axum",
    );
}
