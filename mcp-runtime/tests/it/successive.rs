//! One connection that carries one session after another.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_runtime::driver::{End, Transport};
use mcp_runtime::session::Outcome;
use mcp_runtime::transport::{ByteStream, Division, Duplex, Successive, duplex};
use test_support::script::Script;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"hello"}"#;
const OPEN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"open"}"#;
const ASK: &str = r#"{"jsonrpc":"2.0","id":3,"method":"ask"}"#;

/// A connection whose sessions begin with `open`, until `ask` comes.
fn divided(transport: impl Transport) -> Successive {
    Successive::divided(transport, |method| match method {
        "open" => Division::Begins,
        "ask" => Division::Settled,
        _ => Division::Continues,
    })
}

/// A script that speaks over one end.
fn speak(far: Duplex) -> Script {
    let script = Script::new();
    test_support::spawn(far.run(script.endpoint()));
    script
}

fn lines(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

#[tokio::test(start_paused = true)]
async fn the_peer_begins_sessions_and_each_gets_its_messages() {
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = divided(near);
    peer.send(HELLO);
    let part = connection.begun().await.unwrap();
    assert_eq!(part.begins_with(), Some("hello"));
    let first = Script::echo();
    test_support::spawn(part.run(first.endpoint()));
    peer.until(|seen| seen.text() == lines(&[HELLO])).await;

    peer.send(OPEN);
    let part = connection.begun().await.unwrap();
    assert_eq!(part.begins_with(), Some("open"));
    assert!(matches!(first.until_terminated().await, Outcome::Closed));
    assert!(first.look(|seen| matches!(seen.end, Some(End::Eof))));
    // What comes before the session has started waits for it, in order.
    peer.send(ASK);
    peer.send(OPEN);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = Script::echo();
    test_support::spawn(part.run(second.endpoint()));
    peer.until(|seen| seen.text() == lines(&[HELLO, OPEN, ASK, OPEN])).await;
    assert_eq!(first.look(|seen| seen.text()), lines(&[HELLO]), "after `ask` nothing begins a session");

    peer.finish();
    assert!(connection.begun().await.is_none(), "the peer has closed the connection");
    assert!(matches!(second.until_terminated().await, Outcome::Closed));
    assert!(matches!(peer.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_begins_at_once_loses_nothing_of_the_one_before() {
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = divided(near);
    for line in [HELLO, OPEN, HELLO] {
        peer.send(line);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (first, second) = (connection.begun().await.unwrap(), connection.begun().await.unwrap());
    let (early, late) = (Script::echo(), Script::echo());
    // Whichever starts first.
    test_support::spawn(second.run(late.endpoint()));
    peer.until(|seen| seen.text() == lines(&[OPEN, HELLO])).await;
    test_support::spawn(first.run(early.endpoint()));
    peer.until(|seen| seen.text() == lines(&[OPEN, HELLO, HELLO])).await;
    assert!(matches!(early.until_terminated().await, Outcome::Closed));
    peer.finish();
    assert!(matches!(late.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn this_side_begins_sessions_and_the_one_before_is_silent() {
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = Successive::new(near);
    let first = Script::new();
    test_support::spawn(connection.begin().run(first.endpoint()));
    first.send(HELLO);
    peer.until(|seen| seen.text() == lines(&[HELLO])).await;

    let part = connection.begin();
    first.until(|seen| seen.end.is_some()).await;
    first.send("an unwanted cancel");
    first.abandon();
    assert!(matches!(first.until_terminated().await, Outcome::Closed));
    let second = Script::new();
    peer.send(ASK);
    test_support::spawn(part.run(second.endpoint()));
    second.send(OPEN);
    peer.until(|seen| seen.text() == lines(&[HELLO, OPEN])).await;
    second.until(|seen| seen.text() == lines(&[ASK])).await;

    // The last session ends the connection.
    second.finish();
    peer.until(|seen| seen.end.is_some()).await;
    peer.finish();
    assert!(matches!(second.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_by_itself_ends_the_connection_unless_that_is_kept() {
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = Successive::new(near);
    let asking = Script::new();
    test_support::spawn(connection.begin_kept().run(asking.endpoint()));
    asking.send(HELLO);
    peer.until(|seen| seen.text() == lines(&[HELLO])).await;
    // The answer was not one that it could go on with.
    asking.finish();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(peer.look(|seen| seen.end.is_none()), "the program still decides");

    let second = Script::new();
    test_support::spawn(connection.begin().run(second.endpoint()));
    second.send(OPEN);
    peer.until(|seen| seen.text() == lines(&[HELLO, OPEN])).await;
    second.finish();
    peer.until(|seen| seen.end.is_some()).await;

    // There will be no other session.
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = Successive::new(near);
    let asking = Script::new();
    test_support::spawn(connection.begin_kept().run(asking.endpoint()));
    asking.finish();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(peer.look(|seen| seen.end.is_none()));
    drop(connection);
    peer.until(|seen| seen.end.is_some()).await;
}

/// A stream that is cut.
struct Cut;

impl AsyncRead for Cut {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn every_session_ends_for_the_reason_of_the_connection() {
    let mut connection = Successive::new(ByteStream::new(tokio::io::join(Cut, tokio::io::sink())));
    let first = Script::new();
    test_support::spawn(connection.begin_kept().run(first.endpoint()));
    first.until(|seen| seen.end.is_some()).await;
    let second = Script::new();
    test_support::spawn(connection.begin().run(second.endpoint()));
    second.until(|seen| seen.end.is_some()).await;
    for session in [first, second] {
        let is_cut = session.look(
            |seen| matches!(&seen.end, Some(End::Failed(error)) if error.kind() == io::ErrorKind::ConnectionReset),
        );
        assert!(is_cut);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_session_that_never_comes() {
    // The program is gone.
    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = divided(near);
    peer.send(HELLO);
    let part = connection.begun().await.unwrap();
    drop(part);
    peer.until(|seen| seen.end.is_some()).await;

    let (near, far) = duplex();
    let peer = speak(far);
    let mut connection = divided(near);
    assert!(tokio::time::timeout(Duration::from_secs(1), connection.begun()).await.is_err());
    drop(connection);
    peer.until(|seen| seen.end.is_some()).await;

    // The peer is gone.
    let (near, far) = duplex();
    drop(far);
    assert!(divided(near).begun().await.is_none());
}

#[test]
fn without_a_runtime_nothing_begins() {
    let (near, _far) = duplex();
    let mut connection = divided(near);
    assert!(futures_util::FutureExt::now_or_never(connection.begun()).unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_session_is_limited() {
    let (near, far) = tokio::io::duplex(4096);
    let mut connection = divided(ByteStream::new(near));
    let (mut reader, mut writer) = tokio::io::split(far);
    let written = test_support::spawn(async move {
        let line = format!("\"{}\"\n", "x".repeat(1024 * 1024));
        while writer.write_all(line.as_bytes()).await.is_ok() {}
    });
    let part = connection.begun().await.unwrap();
    assert_eq!(part.begins_with(), None);
    let mut said = Vec::new();
    reader.read_to_end(&mut said).await.unwrap();
    written.await.unwrap();
    drop(part);
}
