//! The GET stream is open before the first call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use mcp_protocols::mcp_2025_03_26::McpClient;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use mcp_runtime::{Options, Report};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::fake::{self, Asked, Fake};
use super::test_server::guarded;
use super::{initialize, ready, transport};

/// A server that takes a moment to open a stream, and says of a tool whether it had done so when it was asked for tools.
/// The status is that of its answer to GET.
async fn hesitant(listening: u16, moment: Duration) -> String {
    let opened = Arc::new(AtomicBool::new(false));
    let endpoint = axum::routing::any(move |method: Method, headers: HeaderMap, body: Bytes| {
        let opened = Arc::clone(&opened);
        async move {
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let asked = Asked { method, headers, body };
            match asked.what() {
                "initialize" => fake::hello(&asked, "2025-03-26", json!({ "tools": {} }), "one"),
                "tools/list" => {
                    let name = if opened.load(Ordering::SeqCst) { "heard" } else { "unheard" };
                    let schema = json!({ "type": "object" });
                    fake::result(&asked, json!({ "tools": [{ "name": name, "inputSchema": schema }] }))
                }
                "GET" => {
                    tokio::time::sleep(moment).await;
                    opened.store(true, Ordering::SeqCst);
                    match listening {
                        200 => fake::text(200, "text/event-stream", ": hello\n\n"),
                        other => fake::status(other),
                    }
                }
                _ => fake::status(202),
            }
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", endpoint);
    test_support::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// What such a server says to the first call.
async fn first_call(url: &str, options: ClientOptions) -> String {
    let (session, _) = ready(HttpClient::new(url).unwrap().options(options)).await.unwrap();
    let tools = session.list_tools(None).await.unwrap().tools;
    session.abort();
    tools[0].name.clone()
}

#[tokio::test]
async fn the_first_call_waits_for_it() {
    guarded(async {
        for status in [200, 405] {
            let url = hesitant(status, Duration::from_millis(50)).await;
            let patient = ClientOptions::default().listen_within(Duration::from_secs(3600));
            assert_eq!(first_call(&url, patient).await, "heard");
        }
    })
    .await;
}

#[tokio::test]
async fn it_waits_for_a_limited_time_and_only_for_a_wanted_stream() {
    guarded(async {
        let url = hesitant(200, Duration::from_secs(3600)).await;
        let hasty = ClientOptions::default().listen_within(Duration::from_millis(1));
        assert_eq!(first_call(&url, hasty).await, "unheard");
        let deaf = ClientOptions::default().listen(false).listen_within(Duration::from_secs(3600));
        assert_eq!(first_call(&url, deaf).await, "unheard");
    })
    .await;
}

/// Why the client does not hear what the server says unasked, if that is how GET is answered.
async fn not_listening(answer: impl Fn() -> Response + Send + Sync + 'static) -> String {
    let server = Fake::start(move |asked, _| match asked.what() {
        "initialize" => fake::hello(asked, "2025-03-26", json!({}), "one"),
        "GET" => answer(),
        _ => fake::status(202),
    })
    .await;
    let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let options = Options::default().on_report(move |said| {
        if let Report::NotListening { problem } = said {
            report.send(problem.clone()).unwrap();
        }
    });
    let session = McpClient::with_options(transport(&server.url()), options);
    let session = session.initialize(initialize()).await.unwrap().1.send_initialized().await.unwrap();
    let problem = reports.recv().await.unwrap();
    session.abort();
    problem
}

#[tokio::test]
async fn a_compressed_stream_is_said_to_be_one() {
    guarded(async {
        let compressed = || {
            let mut response = fake::text(200, "text/event-stream", "what is compressed");
            response.headers_mut().insert("content-encoding", "br".parse().unwrap());
            response
        };
        assert_eq!(
            not_listening(compressed).await,
            "the answer is encoded with `br`, which the client did not ask for: have the server, or a proxy in front of \
             it, send it as it is"
        );
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_not_a_stream_is_reported() {
    guarded(async {
        let page = not_listening(|| fake::text(200, "text/html; charset=utf-8", "<h1>Log in</h1>"));
        assert_eq!(
            page.await,
            "the server answers GET with `text/html`, not with `text/event-stream`: a server that has no such stream \
             answers with status 405"
        );
        let nameless = || {
            let mut response = fake::text(200, "text/html", "hello");
            response.headers_mut().remove("content-type");
            response
        };
        let problem = not_listening(nameless).await;
        assert!(problem.starts_with("the server answers GET without a content type, not with"), "{problem}");
    })
    .await;
}
