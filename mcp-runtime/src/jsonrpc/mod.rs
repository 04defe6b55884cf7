//! JSON-RPC 2.0 on the level of bytes.
//!
//! Reads a message, or each message of a batch, into an [`Envelope`] whose payload is a slice of the message, or into a
//! [`Malformed`] that says what to answer. Writes messages into a buffer. Methods are text here and payloads are raw
//! JSON: this module does not know any protocol.

mod alike;
mod batch;
mod dialect;
mod envelope;
mod error;
mod id;
#[cfg(feature = "http-server")]
mod in_place;
mod key;
mod members;
mod message_text;
mod own_members;
pub(crate) mod path;
mod payload;
mod raw;
pub(crate) mod recognise;
mod scan;
mod span;
pub(crate) mod write;

#[cfg(any(feature = "http-server", feature = "http-client"))]
pub(crate) use batch::asked;
pub(crate) use batch::{batch, is_batch};
pub(crate) use dialect::ANY_DIALECT;
pub(crate) use envelope::{Envelope, Fault, Malformed, NO_BATCH, Seems, parse, undecodable};
pub use error::RpcError;
pub(crate) use id::{number_meant, parse_id};
#[cfg(feature = "http-server")]
pub(crate) use in_place::error_in_place_of;
pub(crate) use key::JsonKey;
pub(crate) use mcp_protocol_machine::protocol::Dialect;
pub use message_text::MessageText;
pub(crate) use own_members::{NO_MEMBERS, OwnMembers};
pub(crate) use payload::{LookedUp, RawPayload, Shapes, said};
pub use raw::{JsonReader, JsonValue};
pub(crate) use scan::{Scanner, Sketch};
