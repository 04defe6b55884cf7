//! Children that do not serve: what connecting to them says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use mcp_kit::transport::Child;
use mcp_kit::{ConnectOptions, Era, Means, Outcome};
use tokio::process::Command;

/// Why connecting to a shell fails that runs this.
async fn failure(script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let child = Child::builder(command).stderr_null().spawn().unwrap();
    ConnectOptions::new("test", "1").connect(child).await.err().unwrap().to_string()
}

#[tokio::test]
async fn a_child_that_exits_at_once_is_said_to_have_exited() {
    // Whether it exits before or after it is asked.
    for _ in 0..20 {
        assert_eq!(
            failure("exit 7").await,
            "the server's process has ended (exit status: 7) before it said what it speaks: what it wrote to its \
             standard error says why. If it ends because it does not know `server/discover`, connect with `connect_to`, \
             which starts it again"
        );
    }
}

#[tokio::test]
async fn lines_that_are_not_messages_are_named() {
    let said = failure("echo 'Server is starting'; echo ready; read line; exit 7").await;
    let first = "the server sent what is not a message of MCP: the message is not JSON: it is the line \
                 `Server is starting`. \
                 A server that is a child writes its log to its standard error. Then the server's process has ended \
                 (exit status: 7)";
    assert!(said.starts_with(first), "{said}");
}

#[tokio::test]
async fn so_is_one_that_exits_before_the_handshake() {
    let refusal = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#;
    for _ in 0..20 {
        assert_eq!(
            failure(&format!("read line; echo '{refusal}'; exit 7")).await,
            "the handshake failed: the session has ended: the peer's process has ended (exit status: 7)"
        );
    }
}

#[tokio::test]
async fn closing_says_how_the_child_has_exited() {
    let welcome =
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}"#;
    let reply = format!(r#"{{"jsonrpc":"2.0","id":1000,"result":{welcome}}}"#);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("read line; echo '{reply}'; read line; cat >/dev/null; exit 3")]);
    let options = ConnectOptions::new("test", "1").era(Era::Handshake);
    let server = options.connect(Child::spawn(command).unwrap()).await.unwrap();
    let Outcome::Exited { status, after } = server.close().await.unwrap() else { panic!("it has exited") };
    assert_eq!((status.code(), after), (Some(3), Means::EndOfInput));
}
