//! Sessions of the example `console`: what a person types is judged when it is sent.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/console/main.rs"]
mod example;

use example::{Console, serve};
use mcp_protocols::mcp_2025_11_25::McpServer;
use mcp_runtime::transport::duplex;

/// What the console shows for these lines, each line behind its prompt.
async fn talk(lines: &[&str]) -> String {
    let (near, far) = duplex();
    let server = test_support::spawn(serve(McpServer::new(far)));
    let mut console = Console::new(near);
    let mut shown = Vec::new();
    for line in lines {
        shown.push(format!("$ {line}"));
        let (answer, go_on) = console.line(line).await;
        assert!(go_on);
        shown.extend((!answer.is_empty()).then_some(answer));
    }
    shown.push(console.part().await.unwrap());
    // The server learns of the end, however it came.
    let _ = server.await.unwrap();
    shown.join("\n")
}

#[tokio::test]
async fn what_comes_too_early_is_not_sent_and_the_session_goes_on() {
    let shown = talk(&[
        "permitted",
        "ask tools/list",
        "why tools/list",
        "tell notifications/initialized",
        "hello",
        "permitted",
    ]);
    insta::assert_snapshot!(shown.await);
}

#[tokio::test]
async fn what_was_not_announced_is_not_sent_either() {
    let shown =
        talk(&["hello", "why prompts/list", "ask prompts/list", "ask tools/list", "ask hello", "nonsense"]);
    insta::assert_snapshot!(shown.await);
}

#[tokio::test]
async fn the_server_asks_back_while_it_works() {
    let shown = talk(&[
        "hello",
        r#"ask tools/call {"name":"chat","arguments":{}}"#,
        r#"answer sampling/createMessage {"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}"#,
        r#"ask tools/call {"name":"chat","arguments":{}}"#,
        "ask tools/call {",
    ]);
    insta::assert_snapshot!(shown.await);
}

#[tokio::test]
async fn quitting_before_the_handshake_cuts_the_session() {
    insta::assert_snapshot!(talk(&["ask ping"]).await);
}
