//! Revision 2026-07-28: clients of other SDKs and the server of the example `rounds`, and its client and a server of
//! another SDK, over standard streams and HTTP. In each session a tool asks the user, and a subscription reports a new tool.

use std::process::Stdio;

use integration_tests::example::program;
use mcp_protocols::mcp_2026_07_28::McpServer;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;

use super::{guarded, script};

#[path = "../../../../examples/rounds/server.rs"]
#[allow(dead_code, reason = "the server is another process over standard streams")]
mod server;

#[path = "../../../../examples/rounds/client.rs"]
mod client;

/// What our client prints.
const OURS: [&str; 5] = [
    "revisions: 2026-07-28",
    "greet: Hello, Ada!",
    "learn: I can dance now.",
    "count: one, two, three",
    "tools: greet, learn, count, dance",
];

/// What a client saw, as JSON.
pub(super) async fn seen_by(client: &mut Command) -> Value {
    let output = client.output().await.unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The clients: one that is pinned to the revision, and two that find out.
fn clients() -> [Command; 3] {
    let (mut pinned, mut auto, mut python) =
        (script("rounds.mjs"), script("rounds.mjs"), script("rounds.py"));
    pinned.arg("2026-07-28");
    auto.arg("auto");
    python.arg("auto");
    [pinned, auto, python]
}

fn all_of_it() -> Value {
    json!({
        "revision": "2026-07-28",
        "asked": ["Who is there?"],
        "said": { "greet": "Hello, Ada!", "learn": "I can dance now.", "count": "one, two, three" },
        "tools": ["greet", "learn", "count", "dance"],
        "refused": -32602
    })
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_other_sdks_and_our_server() {
    guarded(async {
        for mut client in clients() {
            client.arg("stdio").arg(program("rounds")).arg("--serve");
            assert_eq!(seen_by(&mut client).await, all_of_it());
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_other_sdks_and_our_server_over_http() {
    guarded(async {
        for mut client in clients() {
            // Each request is served by itself; what they share is in the desk.
            let desk = server::Desk::new().unwrap();
            let server = HttpServer::new(ServerOptions::default(), move |transport| {
                let desk = desk.clone();
                async move { McpServer::new(transport).incoming().serve(desk).await }
            });
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let router = axum::Router::new().route("/mcp", server.method_router());
            let serving = test_support::spawn(async move { axum::serve(listener, router).await });
            client.arg("http").arg(url);
            assert_eq!(seen_by(&mut client).await, all_of_it());
            serving.abort();
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn our_client_and_the_typescript_server() {
    guarded(async {
        let mut server = script("rounds_server.mjs");
        let server = server.arg("stdio").as_std();
        let output = Command::new(program("rounds"))
            .arg(server.get_program())
            .args(server.get_args())
            .output()
            .await
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        let seen = String::from_utf8(output.stdout).unwrap();
        assert_eq!(seen.lines().collect::<Vec<_>>(), OURS);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn our_client_and_the_typescript_server_over_http() {
    guarded(async {
        let mut server = script("rounds_server.mjs").arg("http").stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
        let url = said.next_line().await.unwrap().unwrap();
        let seen = client::run(HttpClient::new(&url).unwrap(), client::Ada).await.unwrap();
        assert_eq!(seen, OURS);
        server.kill().await.unwrap();
    })
    .await;
}
