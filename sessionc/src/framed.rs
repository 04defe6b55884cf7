//! Writes messages with what separates them in a stream of bytes.

use mcp_runtime::driver::Framing;

/// A message as it stands in the stream.
pub(crate) fn framed(framing: Framing, message: &[u8]) -> Vec<u8> {
    match framing {
        Framing::ContentLength => {
            let mut framed = format!("Content-Length: {}\r\n\r\n", message.len()).into_bytes();
            framed.extend_from_slice(message);
            framed
        }
        _ => [message, b"\n"].concat(),
    }
}
