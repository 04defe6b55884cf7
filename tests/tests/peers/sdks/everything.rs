//! server-everything over HTTP, and our client, in each revision.

use std::process::Stdio;

use mcp_protocols::VERSIONS;
use mcp_protocols::types::{ProgressParams, ResourceParams};
use mcp_runtime::transport::http::HttpClient;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;

use super::session::{begin, call, names, text_of};
use super::{Reports, guarded, script};

const SERVER: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_session_in_each_revision() {
    let mut command = script(SERVER);
    guarded(async {
        // It takes no address but a port, so it is given one that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        command.arg("streamableHttp").env("PORT", port.to_string()).stdin(Stdio::null());
        let mut server = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(server.stderr.take().unwrap()).lines();
        while !errors.next_line().await.unwrap().expect("the server starts").contains("listening") {}
        let draining =
            test_support::spawn(async move { while let Ok(Some(_)) = errors.next_line().await {} });
        // What it says on the second stream, it says without end; the ends of sessions are what matters.
        let mut log = BufReader::new(server.stdout.take().unwrap()).lines();
        let (tell, mut closed) = tokio::sync::mpsc::unbounded_channel();
        let watching = test_support::spawn(async move {
            while let Ok(Some(line)) = log.next_line().await {
                if line.starts_with("Transport closed for session") && tell.send(()).is_err() {
                    return;
                }
            }
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        for revision in VERSIONS {
            let reports = Reports::default();
            session(&url, revision, &reports).await;
            closed.recv().await.expect("the server is notified that the session has ended");
        }
        assert!(closed.try_recv().is_err(), "it is notified once for each");
        server.kill().await.unwrap();
        draining.abort();
        watching.abort();
    })
    .await;
}

async fn session(url: &str, revision: &str, reports: &Reports) {
    let (server, client, mut logged) = begin(HttpClient::new(url).unwrap(), revision, reports).await;
    assert_eq!(server, "mcp-servers/everything");
    assert!(names(&client).await.iter().any(|name| name == "trigger-sampling-request"));
    let call = |name: &str, arguments: Value| call(&client, name, arguments);
    let (echo, sum) =
        tokio::join!(call("echo", json!({ "message": "grüße" })), call("get-sum", json!({ "a": 2, "b": 3 })));
    assert_eq!(text_of(echo), "Echo: grüße");
    assert!(text_of(sum).contains('5'));

    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let long = call("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 }));
    let long = long.on_progress(move |progress: ProgressParams| told.send(progress.progress).unwrap());
    assert!(text_of(long.await).contains("completed"));
    assert_eq!((heard.recv().await, heard.recv().await), (Some(1.into()), Some(2.into())));

    let mut cancelled = call("trigger-long-running-operation", json!({ "duration": 1, "steps": 5 }));
    let canceller = cancelled.canceller();
    let cancelled = cancelled.on_progress(move |_: ProgressParams| canceller.cancel().unwrap()).await;
    assert!(matches!(cancelled, Err(mcp_runtime::Error::Cancelled)), "{cancelled:?}");

    let asked = call("trigger-sampling-request", json!({ "prompt": "two and two", "maxTokens": 9 }));
    assert!(text_of(asked.await).contains("four"));

    // It sends updates once a tool has been called; a second call stops them.
    let text = ResourceParams::new("demo://resource/dynamic/text/1");
    let mut subscription = client.subscribe(text.clone()).await.unwrap();
    assert!(logged.recv().await.unwrap().as_str().unwrap().contains("Subscribe"));
    call("toggle-subscriber-updates", json!({})).await.unwrap();
    assert_eq!(subscription.recv_resource_updated().await.unwrap().uri, text.uri);
    subscription.unsubscribe(text).await.unwrap();
    call("toggle-subscriber-updates", json!({})).await.unwrap();

    client.close().await.unwrap();
    assert_eq!(reports.take(), [""; 0], "{revision}");
}
