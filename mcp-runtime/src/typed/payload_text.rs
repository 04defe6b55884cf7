//! Payloads as JSON text: how they are written, and read as the tables say.

use mcp_protocol_machine::protocol::{Kind, Message, MessageIndex};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::Link;
use crate::error::Error;
use crate::jsonrpc::write;
use crate::report::Report;
use crate::rules::names::to_be_read;

/// A payload as JSON.
pub(super) fn written<P: Serialize + ?Sized>(
    link: &Link,
    message: MessageIndex,
    payload: &P,
) -> Result<String, Error> {
    write::payload(payload).map_err(|error| {
        let name = link.protocol().message(message).map(|message| message.name.clone());
        Error::payload(&name.unwrap_or_default(), error)
    })
}

/// Reads a payload as the tables say that it is to be read.
pub(super) fn read<T: DeserializeOwned>(
    link: &Link,
    message: MessageIndex,
    payload: Option<&str>,
) -> Result<T, serde_json::Error> {
    serde_json::from_str(text(link, message, payload))
}

/// The text to read a payload from, as the tables say.
pub(super) fn text<'a>(link: &Link, message: MessageIndex, payload: Option<&'a str>) -> &'a str {
    let protocol = link.protocol();
    match protocol.message(message) {
        // The tables do not say what an error carries.
        Some(Message { kind: Kind::Refusal { .. }, .. }) => payload.unwrap_or("null"),
        // It was read as the tables say when it arrived.
        Some(table) if table.pattern().is_none() => to_be_read(protocol, table, payload),
        _ => payload.unwrap_or("null"),
    }
}

/// Reports a payload that does not have its type.
pub(super) fn report_undecodable(link: &Link, message: MessageIndex, error: &serde_json::Error) {
    let message = link.with(|engine| engine.rules().name(message));
    link.report(&Report::Undecodable { message, problem: error.to_string() });
}
