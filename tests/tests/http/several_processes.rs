//! Two processes that share a key, behind a proxy that sends each request to the other one: a call goes on wherever its next
//! round arrives, also while one process stops and another one takes its place.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use integration_tests::example::program;
use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Connector, Era};
use mcp_protocols::rounds::User;
use mcp_runtime::transport::http::HttpClient;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Barrier;

/// A server that has been started, with the key that all share.
struct Process {
    url: String,
    child: Child,
}

impl Process {
    async fn start() -> Process {
        let mut command = Command::new(program("eras"));
        command.args(["serve", "127.0.0.1:0"]).env("DESK_KEY", "07".repeat(32));
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = said.next_line().await.unwrap().unwrap();
        Process { url: line.strip_prefix("serving ").unwrap().to_owned(), child }
    }

    /// Ends it at once, whatever it is doing.
    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Sends each request to the next process; to the one after, if that does not answer. The calls of this test may be repeated:
/// how far one has come is in its state.
#[derive(Clone)]
struct Proxy {
    urls: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicUsize>,
    /// How many replies were the last of their calls.
    completed: Arc<AtomicUsize>,
    client: reqwest::Client,
}

impl Proxy {
    fn new(urls: Vec<String>) -> Proxy {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Proxy { urls: Arc::new(Mutex::new(urls)), next: Arc::default(), completed: Arc::default(), client }
    }

    async fn forward(State(proxy): State<Proxy>, headers: HeaderMap, body: Bytes) -> Response {
        let first = proxy.next.fetch_add(1, Ordering::Relaxed);
        for turn in first..first + 4 {
            let urls = proxy.urls.lock().unwrap().clone();
            let url = &urls[turn % urls.len()];
            let request = proxy.client.post(url).body(body.clone());
            let passed = headers.iter().filter(|(name, _)| name.as_str() != "host");
            let request = passed.fold(request, |request, (name, value)| request.header(name, value));
            // Where there is none, the process is gone.
            let Ok(answer) = request.send().await else { continue };
            let status = answer.status();
            let kind = answer.headers().get("content-type").cloned().unwrap();
            let Ok(body) = answer.bytes().await else { continue };
            if String::from_utf8_lossy(&body).contains("one, two, three") {
                proxy.completed.fetch_add(1, Ordering::Relaxed);
            }
            return (status, [("content-type", kind)], body).into_response();
        }
        StatusCode::BAD_GATEWAY.into_response()
    }
}

struct Nobody;

impl User for Nobody {}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_complete_once_each_while_a_process_is_replaced() {
    const LANES: usize = 10;
    const CALLS: usize = 100;

    let (first, second) = (Process::start().await, Process::start().await);
    let proxy = Proxy::new(vec![first.url.clone(), second.url.clone()]);
    let router =
        axum::Router::new().route("/mcp", axum::routing::post(Proxy::forward)).with_state(proxy.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = test_support::spawn(async move { axum::serve(listener, router).await });

    let program = Implementation::new("caller", "1");
    let connector = Connector::new(program, ClientCapabilities::new(), Nobody).era(Era::Requests);
    let client = Arc::new(connector.connect_to("desk", || HttpClient::new(&url)).await.unwrap());
    // All lanes are in the middle of their calls when the process is replaced.
    let middle = Arc::new(Barrier::new(LANES + 1));
    let lanes: Vec<_> = (0..LANES)
        .map(|_| {
            let (client, middle) = (Arc::clone(&client), Arc::clone(&middle));
            test_support::spawn(async move {
                for call in 0..CALLS {
                    if call == CALLS / 3 {
                        middle.wait().await;
                    }
                    let params = CallToolParams::new("count", client.meta());
                    let result = client.call_tool(params).timeout(Duration::from_secs(60)).await.unwrap();
                    assert_eq!(result.first_text(), Some("one, two, three"));
                }
            })
        })
        .collect();
    middle.wait().await;
    first.kill().await;
    let third = Process::start().await;
    *proxy.urls.lock().unwrap() = vec![second.url.clone(), third.url.clone()];
    for lane in lanes {
        lane.await.unwrap();
    }
    assert_eq!(proxy.completed.load(Ordering::Relaxed), LANES * CALLS, "none completes twice");
    serving.abort();
    second.kill().await;
    third.kill().await;
}
