//! A peer of raw text.

use mcp_runtime::Transport;
use mcp_runtime::driver::{Endpoint, Limits, run};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};

/// The end that a session runs over.
pub(crate) struct Wire(DuplexStream);

impl Transport for Wire {
    async fn run<E: Endpoint>(self, endpoint: E) {
        let (reader, writer) = split(self.0);
        run(endpoint, BufReader::new(reader), writer, Limits::NONE).await;
    }
}

/// The end that a test speaks on.
pub(crate) struct Raw {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

pub(crate) fn raw() -> (Wire, Raw) {
    let (wire, raw) = duplex(1 << 20);
    let (reader, writer) = split(raw);
    (Wire(wire), Raw { lines: BufReader::new(reader).lines(), writer })
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
