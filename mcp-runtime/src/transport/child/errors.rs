//! Reads the standard error of a child, line by line.

use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead};
use tokio::task::JoinHandle;

use crate::driver::ReadBuffer;

/// Called with each line.
pub(super) type OnLine = Box<dyn FnMut(&str) + Send>;

/// The longest piece of a line.
const LONGEST: usize = 64 * 1024;

/// A task that reads the lines. Dropping it stops the reading.
pub(super) struct LinesTask(JoinHandle<()>);

impl LinesTask {
    pub(super) fn spawn(stream: impl AsyncRead + Unpin + Send + 'static, on_line: OnLine) -> Self {
        Self(tokio::spawn(read_lines(ReadBuffer::new(stream), on_line)))
    }

    /// Waits for the end of the stream, `linger` at most: a process that the child has started may hold it open.
    pub(super) async fn finish(mut self, linger: Duration) {
        // The panic hook has reported a panic of the callback. It does not concern the session.
        let _ended = tokio::time::timeout(linger, &mut self.0).await;
    }
}

impl Drop for LinesTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn read_lines(mut stream: impl AsyncBufRead + Unpin, mut on_line: OnLine) {
    let mut line = Vec::new();
    // An error of this side channel ends it as its end does; the session itself is not concerned.
    while let Ok(bytes @ [_, ..]) = stream.fill_buf().await {
        let length = bytes.len();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") || line.len() >= LONGEST {
                deliver(&mut line, &mut on_line);
            }
        }
        Pin::new(&mut stream).consume(length);
    }
    if !line.is_empty() {
        deliver(&mut line, &mut on_line);
    }
}

fn deliver(line: &mut Vec<u8>, on_line: &mut OnLine) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    on_line(&String::from_utf8_lossy(text));
    line.clear();
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    async fn lines(bytes: &[u8]) -> Vec<String> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        read_lines(bytes, Box::new(move |line| sink.lock().unwrap().push(line.to_owned()))).await;
        let seen = seen.lock().unwrap();
        seen.clone()
    }

    #[tokio::test]
    async fn splits_at_line_ends_of_either_kind() {
        assert_eq!(lines(b"one\ntwo\r\n\nthree").await, ["one", "two", "", "three"]);
    }

    #[tokio::test]
    async fn replaces_what_is_not_text() {
        assert_eq!(lines(b"a\xffb\n").await, ["a\u{fffd}b"]);
    }

    #[tokio::test]
    async fn gives_a_long_line_in_pieces() {
        let pieces = lines(&vec![b'x'; 3 * LONGEST]).await;
        assert_eq!(pieces.iter().map(String::len).sum::<usize>(), 3 * LONGEST);
    }
}
