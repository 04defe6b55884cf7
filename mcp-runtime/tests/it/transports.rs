//! Sessions over any stream of bytes, with each framing, and over transports of whole messages.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use mcp_runtime::driver::{End, Limits, MessagePort, PortEvent, Transport};
use mcp_runtime::session::Outcome;
use mcp_runtime::transport::{ByteStream, Framing};
use test_support::script::{Script, guarded};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};

const FRAMINGS: [Framing; 2] = [Framing::Lines, Framing::ContentLength];

/// A session of each side says something, and both come to their end in order.
async fn converse(near: impl Transport, far: impl Transport) {
    let (client, server) = (Script::new(), Script::echo());
    test_support::spawn(near.run(client.endpoint()));
    test_support::spawn(far.run(server.endpoint()));
    client.send("one");
    client.send("zw\u{f6}lf");
    client.until(|seen| seen.text() == "one\nzw\u{f6}lf\n").await;
    client.finish();
    assert!(matches!(client.until_terminated().await, Outcome::Closed));
    assert!(matches!(server.until_terminated().await, Outcome::Closed));
    assert!(server.look(|seen| matches!(seen.end, Some(End::Eof))));
}

#[tokio::test(start_paused = true)]
async fn messages_go_both_ways_over_an_in_memory_stream_of_any_size() {
    for framing in FRAMINGS {
        for capacity in [1, 7, 4096] {
            let (near, far) = duplex(capacity);
            converse(ByteStream::new(near).framing(framing), ByteStream::new(far).framing(framing)).await;
        }
    }
}

#[tokio::test]
async fn messages_go_both_ways_over_tcp() {
    guarded(async {
        for framing in FRAMINGS {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (near, far) =
                tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
            let (reader, writer) = near.unwrap().into_split();
            let near = ByteStream::from_parts(reader, writer).framing(framing);
            converse(near, ByteStream::new(far.unwrap().0).framing(framing)).await;
        }
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn messages_go_both_ways_over_a_unix_socket() {
    guarded(async {
        for framing in FRAMINGS {
            let (near, far) = tokio::net::UnixStream::pair().unwrap();
            converse(ByteStream::new(near).framing(framing), ByteStream::new(far).framing(framing)).await;
        }
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_is_spoken_to_in_its_framing() {
    use std::process::Command;

    use mcp_runtime::transport::Child;

    guarded(async {
        let child = Child::builder(Command::new("cat")).framing(Framing::ContentLength).spawn().unwrap();
        let script = Script::new();
        test_support::spawn(child.run(script.endpoint()));
        script.send("hello");
        script.until(|seen| seen.input == b"hello\n").await;
        script.finish();
        assert!(
            matches!(script.until_terminated().await, Outcome::Exited { status, .. } if status.success())
        );
        // What the child is sent, and what it may answer.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "head -c 22 >&2; printf 'Content-Length: 2\\r\\n\\r\\nok'; cat >&2"]);
        let heard = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let lines = heard.clone();
        let child = Child::builder(command)
            .framing(Framing::ContentLength)
            .on_stderr_line(move |line| lines.lock().unwrap().extend([line, "|"]))
            .spawn()
            .unwrap();
        let script = Script::new();
        test_support::spawn(child.run(script.endpoint()));
        script.send("hi");
        script.until(|seen| seen.input == b"ok\n").await;
        script.finish();
        script.until_terminated().await;
        assert_eq!(*heard.lock().unwrap(), "Content-Length: 2||hi|");
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_standard_streams_are_spoken_to_in_their_framing() {
    use std::os::unix::net::UnixStream;

    use mcp_runtime::transport::Stdio;

    guarded(async {
        let (input, mut keyboard) = UnixStream::pair().unwrap();
        let (output, screen) = UnixStream::pair().unwrap();
        let stdio = Stdio::from_files(input.into(), output.into()).framing(Framing::ContentLength);
        let script = Script::echo();
        test_support::spawn(stdio.run(script.endpoint()));
        std::io::Write::write_all(&mut keyboard, b"Content-Length: 2\r\n\r\n{}").unwrap();
        script.until(|seen| seen.input == b"{}\n").await;
        drop(keyboard);
        script.until_terminated().await;
        screen.set_nonblocking(true).unwrap();
        let mut written = Vec::new();
        tokio::net::UnixStream::from_std(screen).unwrap().read_to_end(&mut written).await.unwrap();
        assert_eq!(written, b"Content-Length: 2\r\n\r\n{}");
    })
    .await;
}

/// A session that is fed these pieces, and what becomes of it.
async fn fed(pieces: impl IntoIterator<Item = &[u8]>, ends: bool) -> (Script, tokio::io::DuplexStream) {
    let (near, mut peer) = duplex(1 << 16);
    let script = Script::new();
    let stream = ByteStream::new(near).framing(Framing::ContentLength).limits(Limits::NONE);
    test_support::spawn(stream.run(script.endpoint()));
    for piece in pieces {
        peer.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    if ends {
        peer.shutdown().await.unwrap();
    }
    (script, peer)
}

#[tokio::test(start_paused = true)]
async fn a_message_may_arrive_byte_by_byte() {
    let stream = b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}";
    let (script, _peer) = fed(stream.chunks(1), false).await;
    script.until(|seen| seen.input == b"{}\n").await;
    for cut in 0..=stream.len() {
        let (start, rest) = stream.split_at(cut);
        let (script, _peer) = fed([start, rest], false).await;
        script.until(|seen| seen.input == b"{}\n").await;
    }
}

/// A header that cannot be read ends the input with an error; what came before it counts, and nothing behind it does.
#[tokio::test(start_paused = true)]
async fn a_header_that_cannot_be_read_ends_the_input_with_what_is_wrong() {
    for (header, error) in [
        (
            "{\"jsonrpc\":\"2.0\"}\n",
            "choose `lines` as the framing if the peer writes one message on each line",
        ),
        ("\r\n", "the header has no `Content-Length`"),
        ("Content-Length: 1e3\r\n\r\n", "`1e3` is not a length"),
        ("Content-Type: a/b; charset=latin1\r\n", "`latin1` is not a supported charset"),
    ] {
        let stream = format!("Content-Length: 2\r\n\r\n{{}}{header}Content-Length: 2\r\n\r\n[]");
        let (script, _peer) = fed([stream.as_bytes()], false).await;
        script.until(|seen| seen.end.is_some()).await;
        script.look(|seen| {
            let Some(End::Failed(failure)) = &seen.end else { panic!("{:?}", seen.end) };
            assert_eq!(failure.kind(), std::io::ErrorKind::InvalidData);
            assert!(failure.to_string().contains(error), "{failure}");
            assert_eq!(seen.text(), "{}\n");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_ends_within_a_message_has_failed() {
    let stream = b"Content-Length: 10\r\n\r\n{}";
    for cut in 0..=stream.len() {
        let (script, _peer) = fed([&stream[..cut]], true).await;
        script.until(|seen| seen.end.is_some()).await;
        script.look(|seen| match &seen.end {
            Some(End::Eof) => assert_eq!(cut, 0),
            Some(End::Failed(failure)) => {
                assert_eq!(failure.kind(), std::io::ErrorKind::UnexpectedEof);
                assert!(failure.to_string().starts_with("the input ended within a "), "{failure}");
            }
            end => panic!("{end:?}"),
        });
        assert_eq!(script.look(|seen| seen.text()), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_hands_out_each_message_and_then_the_end() {
    let script = Script::new();
    script.send("said before");
    let mut port = MessagePort::new(script.endpoint());
    script.send("said after");
    script.finish();
    assert_eq!(port.next().await, PortEvent::Message(b"said before".to_vec()));
    let next = tokio::time::timeout(std::time::Duration::from_secs(1), port.next()).await;
    assert!(next.is_err(), "one after another");
    assert!(script.look(|seen| seen.confirmed) <= 2, "they are on their way");
    port.sent();
    assert_eq!(port.next().await, PortEvent::Message(b"said after".to_vec()));
    port.sent();
    assert_eq!(script.look(|seen| seen.confirmed), 23);
    assert_eq!(port.next().await, PortEvent::Complete);
    port.deliver(b"late");
    assert_eq!(script.look(|seen| seen.text()), "late\n");
    // A session that has said everything may still be abandoned.
    let (event, ()) = tokio::join!(port.next(), async { script.abandon() });
    assert_eq!(event, PortEvent::Abandoned);
    port.input_ended(End::Eof);
    port.terminate(Outcome::Closed);
    assert!(matches!(script.until_terminated().await, Outcome::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_port_tells_the_time_and_that_it_was_dropped() {
    let script = Script::new();
    let mut port = MessagePort::new(script.endpoint());
    let begin = tokio::time::Instant::now();
    script.set_deadline(Some((begin + std::time::Duration::from_secs(5)).into_std()));
    let later = async {
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        script.send("done");
    };
    let (event, ()) = tokio::join!(port.next(), later);
    assert_eq!(event, PortEvent::Message(b"done".to_vec()));
    assert_eq!(script.look(|seen| seen.ticks.len()), 1);
    drop(port);
    assert!(matches!(script.until_terminated().await, Outcome::Dropped));
}

#[tokio::test]
async fn a_session_without_jsonrpc_looks_on_the_wire_as_its_peers_expect() {
    use crate::protocols::app_server::Editor;

    guarded(async {
        let (near, far) = duplex(4096);
        let peer = test_support::spawn(async move {
            let (reader, mut writer) = tokio::io::split(far);
            let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(reader));
            let mut said = Vec::new();
            for answer in [r#"{"id":0,"result":{"protocolVersion":1}}"#, r#"{"id":1,"result":"four"}"#] {
                said.push(lines.next_line().await.unwrap().unwrap());
                writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            said
        });
        let client = Editor::new(ByteStream::new(near));
        let (_, client) = client.initialize(serde_json::json!({ "protocolVersion": 1 })).await.unwrap();
        assert_eq!(client.ask("two and two".to_owned()).await.unwrap(), "four");
        let said = peer.await.unwrap();
        assert_eq!(
            said,
            [
                r#"{"id":0,"method":"initialize","params":{"protocolVersion":1}}"#,
                r#"{"id":1,"method":"ask","params":"two and two"}"#
            ]
        );
    })
    .await;
}
