//! Servers that speak some revisions and not all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use mcp_kit::{ConnectError, ConnectOptions, Connection, Era, Problem, Server};
use mcp_protocols::mcp_2025_11_25::McpClient;
use mcp_protocols::mcp_2025_11_25::types::{ClientCapabilities, Implementation, InitializeParams};
use mcp_runtime::Options;
use mcp_runtime::transport::{ByteStream, duplex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

fn server(revisions: &[&str]) -> Server<()> {
    let server = Server::new("adder", "1", ()).revisions(revisions.iter().copied());
    server.tool_named("zero", "Returns zero", |(), _, _: mcp_kit::Client| async move { Ok("0") })
}

fn options(era: Option<Era>) -> ConnectOptions {
    let options = ConnectOptions::new("test", "1");
    match era {
        Some(era) => options.era(era),
        None => options,
    }
}

async fn connect(revisions: &[&str], era: Option<Era>) -> Result<Connection, ConnectError> {
    let (near, far) = duplex();
    tokio::spawn(server(revisions).serve(far));
    options(era).connect(near).await
}

/// The revision that a server that speaks these and a client of this era agree on.
async fn agreed(revisions: &[&str], era: Option<Era>) -> Option<String> {
    let connection = connect(revisions, era).await.ok()?;
    assert_eq!(connection.call_text("zero", ()).await.unwrap(), "0");
    Some(connection.version().to_owned())
}

#[tokio::test]
async fn a_server_speaks_the_revisions_that_it_names() {
    let cases: [(&[&str], [Option<&str>; 3]); 4] = [
        (&["2026-07-28", "2025-06-18"], [Some("2026-07-28"), Some("2025-06-18"), Some("2026-07-28")]),
        (&["2025-03-26", "2024-11-05"], [Some("2025-03-26"), Some("2025-03-26"), None]),
        (&["2025-11-25"], [Some("2025-11-25"), Some("2025-11-25"), None]),
        (&["2026-07-28"], [Some("2026-07-28"), None, Some("2026-07-28")]),
    ];
    for (revisions, expected) in cases {
        for (era, expected) in [None, Some(Era::Handshake), Some(Era::Requests)].into_iter().zip(expected) {
            assert_eq!(agreed(revisions, era).await.as_deref(), expected, "{revisions:?} {era:?}");
        }
    }
}

/// What a server that speaks these revisions answers to this line.
async fn answer(revisions: &[&str], line: &str) -> serde_json::Value {
    let (near, far) = tokio::io::duplex(4096);
    tokio::spawn(server(revisions).serve(ByteStream::new(far)));
    let (reader, mut writer) = tokio::io::split(near);
    writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
}

#[tokio::test]
async fn a_refusal_names_a_revision_that_the_server_speaks() {
    for (revisions, named) in
        [(&["2025-06-18", "2025-03-26"][..], "2025-06-18"), (&["2025-11-25", "2025-03-26"], "2025-11-25")]
    {
        let answer =
            answer(revisions, r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#).await;
        assert_eq!(answer["error"]["code"], -32601);
        let message = format!("`server/discover` is not a method that the client sends in `Mcp` {named}");
        assert_eq!(answer["error"]["message"], message);
    }
}

#[tokio::test]
async fn a_client_of_another_revision_is_offered_the_latest_one() {
    for (asked, answered) in [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-06-18"), ("1", "2025-06-18")]
    {
        let (near, far) = duplex();
        tokio::spawn(server(&["2025-06-18", "2024-11-05", "2026-07-28"]).serve(far));
        let client = McpClient::with_options(near, Options::new().accept_any_version());
        let params =
            InitializeParams::new(asked, ClientCapabilities::new(), Implementation::new("test", "1"));
        let (welcome, _client) = client.initialize(params).await.unwrap();
        assert_eq!(welcome.protocol_version, answered, "{asked}");
    }
}

#[tokio::test]
async fn a_client_without_a_revision_in_common_reads_which_there_are() {
    let refused = connect(&["2025-06-18"], Some(Era::Requests)).await.unwrap_err();
    assert!(refused.to_string().starts_with("the server does not know `server/discover`"), "{refused}");
    let refused = connect(&["2026-07-28"], Some(Era::Handshake)).await.unwrap_err();
    assert!(refused.to_string().contains("2026-07-28"), "{refused}");
}

#[tokio::test]
async fn a_name_that_is_not_a_revision_is_found_before_the_server_serves() {
    let problem = |revisions: &[&str]| match server(revisions).finish() {
        Err(problem @ Problem::Revisions(_)) => problem.to_string(),
        _ => panic!("{revisions:?} are taken"),
    };
    assert!(
        problem(&["2025-11-25", "2025-06"])
            .starts_with("`2025-06` is not a revision of MCP: write one of 2026-07-28, ")
    );
    assert!(problem(&[]).starts_with("the server speaks no revision: name at least one of "));
}

#[cfg(all(feature = "http", feature = "http-client"))]
#[tokio::test]
async fn over_http_it_speaks_the_same() {
    use mcp_kit::transport::http::ServerOptions;

    let cases: [(&[&str], [Option<&str>; 3]); 3] = [
        (&["2026-07-28", "2025-06-18"], [Some("2026-07-28"), Some("2025-06-18"), Some("2026-07-28")]),
        (&["2025-03-26", "2025-06-18"], [Some("2025-06-18"), Some("2025-06-18"), None]),
        (&["2026-07-28"], [Some("2026-07-28"), None, Some("2026-07-28")]),
    ];
    for (revisions, expected) in cases {
        let http = server(revisions).http(ServerOptions::default()).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/mcp", http.method_router());
        tokio::spawn(async move { http.serve(listener, router, std::future::pending()).await });
        for (era, expected) in [None, Some(Era::Handshake), Some(Era::Requests)].into_iter().zip(expected) {
            let connected = options(era).connect_url(&url).await;
            let version = connected.as_ref().ok().map(Connection::version);
            assert_eq!(version, expected, "{revisions:?} {era:?}: {connected:?}");
            if let Ok(connection) = connected {
                assert_eq!(connection.call_text("zero", ()).await.unwrap(), "0");
            }
        }
    }
}
