//! The methods of requests and notifications. Where a method is a pattern, the program says and learns which method is
//! meant: the payload is then an object of the method and the params, as [`WithMethod`](crate::call::WithMethod) is
//! written, on its whole way between the program and the wire.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{Kind, Message, MessageIndex, Protocol};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Rules;
use super::names::{on_the_wire, to_be_read};
use crate::error::{Error, MismatchError};

/// A request or notification on the wire.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a str>,
}

/// A payload of a message whose method is a pattern.
#[derive(Deserialize)]
struct PatternParts<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl<'a> Opening<'a> {
    /// What a request or notification is on the wire, given what its type was written as.
    ///
    /// # Errors
    /// If its method is a pattern, and the payload does not say which method is meant.
    pub(crate) fn of(message: &'a Message, written: &'a str) -> Result<Opening<'a>, Error> {
        if message.pattern().is_none() {
            let method = Cow::Borrowed(&*message.method);
            return Ok(Opening { method, params: on_the_wire(message, written) });
        }
        let parts: PatternParts<'a> =
            serde_json::from_str(written).map_err(|error| Error::payload(&message.name, error))?;
        let params = on_the_wire(message, parts.params.map_or("null", RawValue::get));
        Ok(Opening { method: parts.method, params })
    }
}

/// The payload as the program reads it, given what has come.
pub(crate) fn arrived(
    protocol: &Protocol,
    message: &Message,
    method: &str,
    params: Option<&str>,
) -> Option<Box<str>> {
    match message.pattern() {
        None => params.map(Box::from),
        Some(_) => Some(with_method(method, to_be_read(protocol, message, params)).into()),
    }
}

/// The payload of a message whose method is a pattern.
pub(crate) fn with_method(method: &str, params: &str) -> String {
    format!(r#"{{"method":{},"params":{params}}}"#, serde_json::Value::from(method))
}

/// Whether the peer will read a method as the message that this side means. Only one that is a pattern can be meant
/// with the wrong method.
pub(crate) fn check(rules: &Rules, message: MessageIndex, method: &str) -> Result<(), Error> {
    let Some(table) = rules.message(message).filter(|table| table.pattern().is_some()) else {
        return Ok(());
    };
    let own = |table: &Message| (table.kind, table.method.clone());
    let read = rules.protocol.by_method(method).find(|(_, read)| {
        // A pattern of the other kind does not count for this one.
        read.pattern().is_none() || (read.kind == Kind::Request) == (table.kind == Kind::Request)
    });
    let read = read.map(|(_, read)| read);
    if read.is_some_and(|read| own(read) == own(table)) {
        return Ok(());
    }
    let problem = MismatchError::Method {
        method: method.to_owned(),
        pattern: table.method.clone(),
        read_as: read.map(|read| read.name.clone()),
    };
    Err(Error::Mismatch { message: table.name.clone(), problem })
}
