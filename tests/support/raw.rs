//! A peer of raw text.

use std::borrow::Borrow;

use mcp_runtime::driver::Limits;
use mcp_runtime::transport::ByteStream;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};

/// The end that a session runs over.
pub type Wire = ByteStream<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// The end that a test speaks on.
pub struct Raw {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

pub fn raw() -> (Wire, Raw) {
    raw_with_room(1 << 16)
}

/// The same where so many bytes fit into each direction.
pub fn raw_with_room(bytes: usize) -> (Wire, Raw) {
    let (wire, raw) = duplex(bytes);
    let (reader, writer) = split(raw);
    (ByteStream::new(wire).limits(Limits::NONE), Raw { lines: BufReader::new(reader).lines(), writer })
}

impl Raw {
    pub async fn say(&mut self, message: impl Borrow<Value>) {
        self.writer.write_all(format!("{}\n", message.borrow()).as_bytes()).await.unwrap();
    }

    /// Sends a line that may not be a message.
    pub async fn say_line(&mut self, line: &[u8]) {
        self.writer.write_all(line).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// The next message; nothing at the end of the stream.
    pub async fn hear(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub async fn ask(&mut self, message: impl Borrow<Value>) -> Value {
        self.say(message).await;
        self.hear().await.unwrap()
    }

    /// Says nothing more.
    pub async fn hush(&mut self) {
        self.writer.shutdown().await.unwrap();
    }
}
