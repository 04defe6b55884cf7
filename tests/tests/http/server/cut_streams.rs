//! A short stream that is cut at each of its bytes and resumed behind its last whole event: nothing is lost, and
//! nothing comes twice. No test waits for a silence: an uncut stream says how long it is, and a stream that has said
//! everything ends.

use std::io::Cursor;

use tokio::io::AsyncReadExt;

use super::test_server::{TestServer, call, guarded, settle};
use super::wire::{Ask, Event, Stream, Wire};

/// How the stream of a test is asked for, what it is to say, and how it comes to its end.
struct Cut {
    ask: fn(&str) -> Ask,
    /// Has the server say everything.
    say: fn(&TestServer),
    /// Has a stream end that has said everything.
    end: fn(&TestServer),
    /// How many messages it has.
    messages: usize,
}

impl Cut {
    /// A server whose session has a stream that is asked for, and the connection that carries it.
    async fn begin(&self) -> (TestServer, String, Wire) {
        let host = TestServer::start();
        let id = host.ready().await;
        (self.say)(&host);
        let mut wire = host.wire().await;
        wire.send(&(self.ask)(&id).with("mcp-protocol-version", "2025-11-25").text()).await;
        (host, id, wire)
    }

    /// How many bytes the stream has up to the end of its last message.
    async fn length(&self) -> usize {
        let (_host, _, mut wire) = self.begin().await;
        let mut bytes = Vec::new();
        // An event ends with an empty line.
        while !bytes.ends_with(b"\n\n") || messages(&whole_events(&bytes).await).len() < self.messages {
            bytes.push(wire.stream.read_u8().await.unwrap());
        }
        bytes.len()
    }

    /// The events of a stream that is cut behind so many bytes, and resumed. `None`: no id had come, so the client
    /// cannot resume.
    async fn cut_behind(&self, cut: usize) -> Option<Vec<Event>> {
        let (host, id, mut wire) = self.begin().await;
        let mut bytes = vec![0; cut];
        wire.stream.read_exact(&mut bytes).await.unwrap();
        drop(wire);
        // The server sees it.
        settle().await;
        let mut all = whole_events(&bytes).await;
        let back = Ask::get().session(&id).with("last-event-id", &all.last()?.id);
        let mut wire = host.wire().await;
        wire.send(&back.text()).await;
        let head = wire.head().await.unwrap();
        (self.end)(&host);
        // The stream of a call may have said everything.
        if head.status != 204 {
            assert_eq!(head.status, 200, "cut behind {cut} bytes");
            all.extend(to_the_end(Stream::of(wire, head)).await);
        }
        Some(all)
    }

    /// Cuts at each byte. Each time `told` has to show the same.
    async fn everywhere<T: PartialEq + std::fmt::Debug>(&self, told: impl Fn(&Event) -> T, expected: &[T]) {
        let length = self.length().await;
        let mut resumed = 0;
        for cut in 0..=length {
            let Some(events) = self.cut_behind(cut).await else { continue };
            resumed += 1;
            let mut ids: Vec<&str> = messages(&events).iter().map(|event| &*event.id).collect();
            ids.sort_unstable();
            ids.dedup();
            let all = messages(&events).len();
            assert_eq!(ids.len(), all, "nothing comes twice, cut behind {cut} bytes: {events:?}");
            let came: Vec<T> = messages(&events).into_iter().map(&told).collect();
            assert_eq!(came, expected, "cut behind {cut} bytes: {events:?}");
        }
        assert!(resumed > length / 2, "{resumed} of {length}");
    }
}

/// The events that carry a message.
fn messages(events: &[Event]) -> Vec<&Event> {
    events.iter().filter(|event| event.data.as_deref().is_some_and(|data| !data.is_empty())).collect()
}

async fn to_the_end(mut stream: Stream) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

/// The whole events in the first bytes of an answer. A client reads a part of a chunk, too.
async fn whole_events(bytes: &[u8]) -> Vec<Event> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Vec::new() };
    let (head, body) = bytes.split_at(end + 4);
    let mut text = Vec::new();
    let mut rest = body;
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        let chunk = &rest[line + 2..];
        text.extend_from_slice(&chunk[..length.min(chunk.len())]);
        rest = chunk.get(length + 2..).unwrap_or_default();
    }
    // The same answer, in whole chunks.
    let mut whole = head.to_vec();
    if !text.is_empty() {
        whole.extend_from_slice(format!("{:x}\r\n", text.len()).as_bytes());
        whole.extend_from_slice(&text);
        whole.extend_from_slice(b"\r\n");
    }
    let wire = Wire::over(tokio::io::join(Cursor::new(whole), tokio::io::sink()));
    to_the_end(wire.stream(&Ask::get()).await).await
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_call() {
    guarded(async {
        let told = |event: &Event| {
            let message = event.json();
            (
                message["params"]["progress"].as_f64(),
                message["result"]["content"][0]["text"].as_str().map(str::to_owned),
            )
        };
        let expected = [(Some(1.0), None), (Some(2.0), None), (None, Some("talked".to_owned()))];
        let cut = Cut {
            ask: |id| Ask::post(call(1, "talk")).session(id),
            say: |host| host.gates.hold.add_permits(2),
            end: |_| {},
            messages: expected.len(),
        };
        cut.everywhere(told, &expected).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_what_the_server_says_unasked() {
    guarded(async {
        let told = |event: &Event| event.json()["method"].as_str().unwrap().to_owned();
        let expected = ["notifications/tools/list_changed"; 3].map(str::to_owned);
        let cut = Cut {
            ask: |id| Ask::get().session(id),
            say: |host| host.gates.announce.add_permits(3),
            end: |host| host.gates.announce.close(),
            messages: expected.len(),
        };
        cut.everywhere(told, &expected).await;
    })
    .await;
}
