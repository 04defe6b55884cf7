//! Reads the messages of a stream.

use std::io;

use mcp_runtime::driver::Framing;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The longest message that is read, in bytes.
const LONGEST: u64 = 64 << 20;
/// The longest line of a header, in bytes.
const LONGEST_HEADER: u64 = 4096;

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// If the stream cannot be read, if a message is too long, or if a header says no length.
pub(super) async fn next(
    framing: Framing,
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<Vec<u8>>> {
    match framing {
        Framing::ContentLength => next_with_length(reader).await,
        _ => loop {
            let Some(line) = line(reader, LONGEST).await? else { return Ok(None) };
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        },
    }
}

async fn next_with_length(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let Some(line) = line(reader, LONGEST_HEADER).await? else { return Ok(None) };
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() && length.is_some() {
            break;
        }
        let field = text.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        length = field.and_then(|(_, value)| value.trim().parse::<u64>().ok()).or(length);
        if length.is_none() && !text.contains(':') {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message has no `Content-Length`"));
        }
    }
    let length = length.filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a message is too long"))?;
    let mut message = Vec::new();
    reader.take(length).read_to_end(&mut message).await?;
    Ok((message.len() as u64 == length).then_some(message))
}

/// Reads a line; `None` at the end of the stream.
async fn line(reader: &mut (impl AsyncBufRead + Unpin), longest: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(longest).read_until(b'\n', &mut line).await?;
    if line.len() as u64 == longest && !line.ends_with(b"\n") {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
    }
    Ok((!line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framed::framed;

    async fn read(framing: Framing, mut bytes: &[u8]) -> Vec<String> {
        let mut messages = Vec::new();
        while let Ok(Some(message)) = next(framing, &mut bytes).await {
            messages.push(String::from_utf8(message).unwrap().trim_end().to_owned());
        }
        messages
    }

    #[tokio::test]
    async fn what_is_written_is_read() {
        for framing in [Framing::Lines, Framing::ContentLength] {
            let stream = [framed(framing, b"{}"), framed(framing, b"[1]")].concat();
            assert_eq!(read(framing, &stream).await, ["{}", "[1]"], "{framing:?}");
        }
    }

    #[tokio::test]
    async fn empty_lines_are_skipped_and_a_header_needs_a_length() {
        assert_eq!(read(Framing::Lines, b"\n\r\n{}\n\n").await, ["{}"]);
        assert!(next(Framing::ContentLength, &mut &b"hello\r\n"[..]).await.is_err());
        assert_eq!(
            next(Framing::ContentLength, &mut &b"Content-Length: 9\r\n\r\n{}"[..]).await.unwrap(),
            None
        );
    }
}
