//! JSON-RPC 2.0 on the level of bytes.
//!
//! In: the bytes of a message. Out: one [`Envelope`], or several where the message is a batch, with its payload left as a
//! slice of the message, or a [`Malformed`] that says what to answer; and, the other way, lines appended to a buffer. Refuses to know any protocol: methods are text here and payloads are raw.

mod batch;
mod envelope;
mod error;
mod id;
pub(crate) mod path;
mod recognise;
mod scan;
pub(crate) mod write;

#[cfg(any(feature = "http-server", feature = "http-client"))]
pub(crate) use batch::asked;
pub(crate) use batch::{batch, is_batch};
pub(crate) use envelope::{Envelope, Fault, Malformed, Seems, parse, undecodable};
pub use error::RpcError;
pub(crate) use id::parse_id;
pub(crate) use scan::{Scanner, Sketch};
