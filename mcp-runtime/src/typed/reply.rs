//! The replies of a request as Rust types.

use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};

use crate::jsonrpc::write;

/// A result that came in, before it is read.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    message: MessageIndex,
    text: &'a str,
}

impl<'a> Reply<'a> {
    pub(super) fn new(message: MessageIndex, text: &'a str) -> Reply<'a> {
        Reply { message, text }
    }

    /// Which of the request's replies it is.
    pub fn message(&self) -> MessageIndex {
        self.message
    }

    /// Reads the payload.
    ///
    /// # Errors
    /// If the payload does not have the type.
    pub fn payload<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text)
    }

    /// A reply that generated code does not know: the tables and the code do not fit together.
    pub fn unexpected(self) -> serde_json::Error {
        serde_json::Error::custom("this reply is not one of those that are accepted here")
    }
}

/// What a request is answered with, to be read: any payload, or an enum of several replies.
pub trait ReadReply: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// If the payload does not have the type.
    fn read_reply(reply: Reply<'_>) -> Result<Self, serde_json::Error>;
}

impl<T: DeserializeOwned> ReadReply for T {
    fn read_reply(reply: Reply<'_>) -> Result<T, serde_json::Error> {
        reply.payload()
    }
}

/// A result that is to be sent.
#[derive(Clone, Debug)]
pub struct Written {
    /// Which reply it is; `None` where there is one only.
    pub(super) message: Option<MessageIndex>,
    pub(super) text: String,
}

impl Written {
    /// The payload of one of several replies.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn new<P: Serialize + ?Sized>(
        message: MessageIndex,
        payload: &P,
    ) -> Result<Written, serde_json::Error> {
        write::payload(payload).map(|text| Written { message: Some(message), text })
    }
}

/// What a request is answered with, to be sent: any payload, or an enum of several replies.
pub trait WriteReply {
    /// Writes it.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    fn write_reply(&self) -> Result<Written, serde_json::Error>;
}

impl<T: Serialize> WriteReply for T {
    fn write_reply(&self) -> Result<Written, serde_json::Error> {
        write::payload(self).map(|text| Written { message: None, text })
    }
}
