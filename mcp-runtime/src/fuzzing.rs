//! The readers of what a peer sends, for fuzzing. Behind the feature `fuzzing`, and no part of the promised interface.
//!

use mcp_protocol_machine::RequestId;

pub use crate::driver::Framing;
use crate::driver::{Frame, FrameReader};
use crate::jsonrpc::{Dialect, Envelope, parse};

/// What one message of a stream is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request: its id as JSON, its method, its params as they came.
    Request(String, String, Option<String>),
    /// A notification: its method, its params as they came.
    Notification(String, Option<String>),
    /// A reply: the id that it answers as JSON, and its result, if it is not an error.
    Reply(String, Option<String>),
    /// An error that belongs to no request.
    Complaint,
    /// Nothing that can be used; the id to answer, as JSON, if there is one.
    Malformed(Option<String>),
}

/// Reads a stream that comes in pieces, with a limit of bytes a message and of nesting: its messages, and why it could
/// not be read any further.
pub fn messages<'a>(
    framing: Framing,
    pieces: impl Iterator<Item = &'a [u8]>,
    longest: usize,
    deepest: usize,
) -> (Vec<Message>, Option<String>) {
    let mut reader = FrameReader::new(framing);
    let mut messages = Vec::new();
    let mut each = |frame: Frame<'_>| match frame {
        Frame::Whole(message) if message.bytes().trim_ascii().is_empty() => {}
        Frame::Whole(message) => messages.push(match parse(message.bytes(), deepest, Dialect::Standard) {
            Ok(Envelope::Request { id, method, params }) => {
                Message::Request(json(&id), method.into_owned(), params.map(str::to_owned))
            }
            Ok(Envelope::Notification { method, params }) => {
                Message::Notification(method.into_owned(), params.map(str::to_owned))
            }
            Ok(Envelope::Result { id, result }) => Message::Reply(json(&id), Some(result.to_owned())),
            Ok(Envelope::Error { id, .. }) => Message::Reply(json(&id), None),
            Ok(Envelope::Complaint { .. }) => Message::Complaint,
            Err(malformed) => Message::Malformed(malformed.id.as_ref().map(json)),
        }),
        Frame::TooLong(sketch) => messages.push(Message::Malformed(sketch.id.as_ref().map(json))),
    };
    for piece in pieces {
        reader.feed(piece, longest, &mut each);
    }
    reader.finish(longest, &mut each);
    let error = reader.take_error().map(|error| error.to_string());
    (messages, error)
}

/// An id as JSON, whole: how it is displayed is cut, for a log.
fn json(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

/// What a stream of server-sent events is read as.
#[cfg(feature = "http-client")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventStream {
    /// The data of each event.
    pub data: Vec<Vec<u8>>,
    /// The id of the last event, for who comes back.
    pub last_id: Option<Vec<u8>>,
    /// The pause before coming back, in milliseconds.
    pub retry: Option<u128>,
    /// Whether an event was longer than the limit.
    pub too_long: bool,
}

/// Reads a stream of server-sent events that comes in pieces, with a limit of bytes an event.
#[cfg(feature = "http-client")]
pub fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>, longest: usize) -> EventStream {
    let mut reader = crate::transport::http::client::events::EventReader::new(longest);
    let mut stream = EventStream::default();
    for piece in pieces {
        stream.too_long |= reader.feed(piece, |data| stream.data.push(data.to_vec())).is_err();
        if stream.too_long {
            break;
        }
    }
    stream.last_id = reader.last_id.as_ref().map(|id| id.as_bytes().to_vec());
    stream.retry = reader.retry.map(|pause| pause.as_millis());
    stream
}
