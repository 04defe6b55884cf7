//! HTTP/2, as [docs/http.md] shows it: a connection carries everything, and each request is a stream of it.
//!
//! The tests speak it without TLS, with which client and server would agree on it first.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::ConnectInfo;
use futures_util::future::join_all;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use integration_tests::http::test_server::guarded;
use integration_tests::page;
use mcp_kit::prelude::*;
use mcp_runtime::transport::http::HttpConnections;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// The code of the page. `stream` is a connection of the listener, behind TLS if there is any.
async fn carry(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    address: SocketAddr,
    router: axum::Router,
) {
    let router = router.layer(axum::Extension(ConnectInfo(address)));
    let builder = auto::Builder::new(TokioExecutor::new());
    let service = TowerToHyperService::new(router);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        eprintln!("a connection has failed: {error}");
    }
}

/// What the tools tell the test.
struct Told(mpsc::UnboundedSender<&'static str>);

/// Says that it was dropped.
struct Waiting(mpsc::UnboundedSender<&'static str>);

impl Drop for Waiting {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send("dropped");
    }
}

/// Waits until it is cancelled
#[derive(Deserialize, JsonSchema)]
struct Wait {}

impl Tool<Told> for Wait {
    type Needs = ();
    type Output = ();

    async fn run(self, told: &Told, _: Client) -> Result<(), Failure> {
        let _waiting = Waiting(told.0.clone());
        told.0.send("waiting")?;
        std::future::pending().await
    }
}

/// Counts
#[derive(Deserialize, Serialize, JsonSchema)]
struct Count {
    to: u32,
}

impl Tool<Told> for Count {
    type Needs = ();
    type Output = String;

    async fn run(self, _: &Told, client: Client) -> Result<String, Failure> {
        for done in 1..=self.to {
            client.progress(done, self.to).await?;
        }
        Ok(format!("counted to {}", self.to))
    }
}

/// Deletes everything, if the user confirms it
#[derive(Deserialize, JsonSchema)]
struct Clear {}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

impl Tool<Told> for Clear {
    type Needs = User;
    type Output = &'static str;

    async fn run(self, _: &Told, client: Client<User>) -> Result<&'static str, Failure> {
        client.changes().resource("notes://all");
        match client.ask::<Confirm>("Delete everything?").await? {
            Answer::Accepted(Confirm { sure: true }) => Ok("deleted"),
            _ => Ok("kept"),
        }
    }
}

/// All notes
#[derive(Deserialize, JsonSchema)]
struct AllNotes {}

impl Resource<Told> for AllNotes {
    const URI: &'static str = "notes://all";
    type Needs = ();

    async fn read(self, _: &Told, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, "no notes"))
    }
}

/// More than a client may have open at once in a connection: the others wait in the client.
const MANY: usize = 300;

async fn speaks_http2_in(era: Era) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = Server::new("desk", "1", Told(tell)).tool::<Wait>().tool::<Count>().tool::<Clear>();
    let http = server.resource::<AllNotes>().http(ServerOptions::default()).unwrap();
    let router = axum::Router::new().route("/mcp", http.method_router());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    test_support::spawn(async move {
        loop {
            let (stream, address) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            test_support::spawn(carry(stream, address, router.clone()));
        }
    });
    let builder = reqwest::Client::builder().http2_prior_knowledge().no_proxy();
    let connections = HttpConnections::build(builder).unwrap();
    let client = ConnectOptions::new("http2", "1")
        .era(era)
        .on_form(|_| async { Ok(Answer::Accepted(Confirm { sure: true })) })
        .connect_to(&url, || HttpClient::with_connections(connections.clone(), &url))
        .await
        .unwrap();

    // Progress, and a question in the middle of a call; and what the server says unasked.
    let (tell, mut progress) = mpsc::unbounded_channel();
    let report = move |done: Number, _: Option<Number>| drop(tell.send(done.to_string()));
    let counted = client.call_text("count", Count { to: 3 }).on_progress(report).await.unwrap();
    assert_eq!(counted, "counted to 3");
    let mut reported = Vec::new();
    while let Some(done) = progress.recv().await {
        reported.push(done);
    }
    assert_eq!(reported, ["1", "2", "3"]);
    let mut changes = client.subscribe(["notes://all"]).await.unwrap();
    assert_eq!(client.call_text("clear", serde_json::json!({})).await.unwrap(), "deleted");
    assert_eq!(changes.next().await.unwrap().unwrap(), "notes://all");
    drop(changes);

    // A call that is dropped is cancelled, in whichever way the era has, and the connection stays.
    let mut waits = Box::pin(async { client.call_text("wait", serde_json::json!({})).await });
    tokio::select! {
        answer = &mut waits => panic!("{answer:?}"),
        waiting = told.recv() => assert_eq!(waiting, Some("waiting")),
    }
    drop(waits);
    assert_eq!(told.recv().await, Some("dropped"));

    let all = join_all((0..MANY).map(|_| async { client.call_text("count", Count { to: 1 }).await })).await;
    assert!(all.iter().all(|answer| matches!(answer.as_deref(), Ok("counted to 1"))));
    assert_eq!(accepted.load(Ordering::SeqCst), 1, "everything went over one connection");
    client.close().await.unwrap();
    assert!(http.shutdown(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn with_sessions() {
    guarded(speaks_http2_in(Era::Handshake)).await;
}

#[tokio::test]
async fn without_sessions() {
    guarded(speaks_http2_in(Era::Requests)).await;
}

#[test]
fn the_page_shows_this_code() {
    page::shows(include_str!("../../../docs/http.md"), include_str!("http2.rs"), "async fn carry");
}
