//! A peer of raw text.

use mcp_runtime::driver::Limits;
use mcp_runtime::transport::ByteStream;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};

/// The end that a session runs over.
pub(crate) type Wire = ByteStream<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// The end that a test speaks on.
pub(crate) struct Raw {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

pub(crate) fn raw() -> (Wire, Raw) {
    let (wire, raw) = duplex(1 << 20);
    let (reader, writer) = split(raw);
    (ByteStream::new(wire).limits(Limits::NONE), Raw { lines: BufReader::new(reader).lines(), writer })
}

impl Raw {
    pub(crate) async fn say(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next message; nothing at the end of the stream.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }
}
