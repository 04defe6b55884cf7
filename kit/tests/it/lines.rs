//! A client that writes its messages itself.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Sends a message, and returns the next one that comes back.
pub(crate) async fn exchange(stream: &mut BufReader<DuplexStream>, message: Value) -> Value {
    stream.get_mut().write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    serde_json::from_str(&line).unwrap()
}
