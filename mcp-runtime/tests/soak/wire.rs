//! The wire between two sides, and somebody in the middle who dawdles, chops, reorders what may be reordered, says
//! nonsense of his own, and may cut it.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, future};
use mcp_runtime::driver::{Endpoint, Transport};
use mcp_runtime::transport::{ByteStream, MessageStream};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf,
    WriteHalf, duplex, split,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::codec::{Framed, LinesCodec};

use crate::ledger::{Ledger, Whose};
use crate::noise::Noise;

/// One end, for a session: its bytes, or the lines in them, one by one.
pub(crate) enum Wire {
    Bytes(ByteStream<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>),
    Lines(DuplexStream),
}

impl Wire {
    fn new(end: DuplexStream, noise: &mut Noise) -> Wire {
        if noise.once_in(2) { Wire::Lines(end) } else { Wire::Bytes(ByteStream::new(end)) }
    }
}

impl Transport for Wire {
    fn run(self, endpoint: Arc<dyn Endpoint>) -> impl Future<Output = ()> + Send {
        let run: Pin<Box<dyn Future<Output = ()> + Send>> = match self {
            Wire::Bytes(bytes) => Box::pin(bytes.run(endpoint)),
            Wire::Lines(end) => {
                let (outgoing, incoming) = Framed::new(end, LinesCodec::new()).split();
                let is_message =
                    |line: &Result<String, _>| future::ready(!line.as_ref().is_ok_and(String::is_empty));
                let messages = MessageStream::<_, _, String>::new(incoming.filter(is_message), outgoing);
                Box::pin(messages.run(endpoint))
            }
        };
        run
    }
}

/// The wire, as the proxy in the middle holds it.
pub(crate) struct Middle {
    pub(crate) cut: Arc<Notify>,
    pub(crate) task: JoinHandle<()>,
}

/// Lines that are not messages, and that are not answered with an error.
const NONSENSE: &[&str] = &[
    "listening on port 80",
    "Traceback (most recent call last):",
    r#"{"jsonrpc":"2.0","method":"#,
    r#"{"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"1.0","method":"bell","params":1}"#,
    "[]",
    "{}",
    "\"text\"",
    r#"{"jsonrpc":"2.0","method":"no/such/method"}"#,
    r#"{"jsonrpc":"2.0","id":"ghost","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#,
];

/// A line that a side notices as wrong.
pub(crate) fn nonsense(noise: &mut Noise, ghosts: &mut usize) -> String {
    match noise.below(NONSENSE.len() + 3) {
        place if place < NONSENSE.len() => NONSENSE[place].to_owned(),
        place if place == NONSENSE.len() => "[".repeat(500),
        place if place == NONSENSE.len() + 1 => format!(r#"{{"x":"{}"}}"#, "y".repeat(70_000)),
        _ => {
            *ghosts += 1;
            format!(r#"{{"jsonrpc":"2.0","id":"ghost {ghosts}","method":"no/such/method"}}"#)
        }
    }
}

/// The ids of the requests that went in one direction and whose replies may overtake one another.
type Free = Arc<Mutex<HashSet<u64>>>;

pub(crate) fn between(ledger: &Arc<Ledger>, noise: &mut Noise) -> (Wire, Wire, Middle) {
    let capacity = noise.pick(&[60, 300, 4096, 65_536]);
    let (caller, here) = duplex(capacity);
    let (service, there) = duplex(capacity);
    let ((from_buyer, to_buyer), (from_seller, to_seller)) = (split(here), split(there));
    let (asked_up, asked_down) = (Free::default(), Free::default());
    let mut up = Direction {
        noise: noise.fork(),
        ledger: Arc::clone(ledger),
        reader: Whose::Service,
        asked: Arc::clone(&asked_up),
        answers: Arc::clone(&asked_down),
        ghosts: 0,
    };
    let mut down = Direction {
        noise: noise.fork(),
        ledger: Arc::clone(ledger),
        reader: Whose::Caller,
        asked: asked_down,
        answers: asked_up,
        ghosts: 0,
    };
    let cut = Arc::new(Notify::new());
    let cutting = Arc::clone(&cut);
    let task = tokio::spawn(async move {
        let both = async { tokio::join!(up.carry(from_buyer, to_seller), down.carry(from_seller, to_buyer)) };
        tokio::select! {
            biased;
            () = cutting.notified() => {}
            _ = both => {}
        }
    });
    (Wire::new(caller, noise), Wire::new(service, noise), Middle { cut, task })
}

struct Direction {
    noise: Noise,
    ledger: Arc<Ledger>,
    reader: Whose,
    /// The requests that went this way, and those that went the other way.
    asked: Free,
    answers: Free,
    ghosts: usize,
}

impl Direction {
    /// Carries lines until the stream ends, or its reader is gone.
    async fn carry(&mut self, from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut lines = BufReader::new(from).lines();
        // A proxy that has stopped carrying still reads, so that a side can write its last messages.
        if self.lines(&mut lines, &mut to).await.is_ok() {
            let _ = to.shutdown().await;
        }
        drop(to);
        while let Ok(Some(_)) = lines.next_line().await {}
    }

    async fn lines<R: AsyncRead + Unpin>(
        &mut self,
        lines: &mut Lines<BufReader<R>>,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> std::io::Result<()> {
        while let Some(line) = lines.next_line().await? {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if is_about_nonsense(&message) {
                continue;
            }
            self.note(&message);
            if self.noise.once_in(4) {
                self.noise.dawdle().await;
            }
            if self.noise.once_in(40) {
                let nonsense = nonsense(&mut self.noise, &mut self.ghosts);
                Ledger::add(&self.ledger.garbage[self.reader as usize]);
                self.write(to, &nonsense).await?;
            }
            if self.is_free_reply(&message) && self.noise.once_in(3) {
                // Held back until the next line has passed, if that comes soon.
                let next = tokio::time::timeout(Duration::from_millis(2), lines.next_line()).await;
                if let Ok(Ok(Some(next))) = next {
                    let message: Value = serde_json::from_str(&next).unwrap_or_default();
                    if self.is_free_reply(&message) {
                        self.write(to, &next).await?;
                        self.write(to, &line).await?;
                    } else {
                        self.write(to, &line).await?;
                        if !is_about_nonsense(&message) {
                            self.note(&message);
                            self.write(to, &next).await?;
                        }
                    }
                    continue;
                }
            }
            self.write(to, &line).await?;
        }
        Ok(())
    }

    /// A message goes by.
    fn note(&self, message: &Value) {
        if let (Some(id), Some("ask" | "look" | "approve")) =
            (message["id"].as_u64(), message["method"].as_str())
        {
            self.asked.lock().unwrap().insert(id);
        }
    }

    fn is_free_reply(&self, message: &Value) -> bool {
        let reply = message.get("method").is_none();
        reply && message["id"].as_u64().is_some_and(|id| self.answers.lock().unwrap().contains(&id))
    }

    async fn write(&mut self, to: &mut (impl AsyncWrite + Unpin), line: &str) -> std::io::Result<()> {
        let end = self.noise.pick(&["\n", "\n", "\r\n", "\n\n"]);
        let text = format!("{line}{end}");
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let length = if self.noise.once_in(5) { 1 + self.noise.below(rest.len()) } else { rest.len() };
            to.write_all(&rest[..length]).await?;
            rest = &rest[length..];
            if !rest.is_empty() {
                self.noise.dawdle().await;
            }
        }
        Ok(())
    }
}

/// An answer to what was never asked.
fn is_about_nonsense(message: &Value) -> bool {
    let ghost = message["id"].as_str().is_some_and(|id| id.starts_with("ghost"));
    ghost || message.get("id") == Some(&json!(null))
}
