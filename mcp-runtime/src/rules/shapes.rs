//! Payloads and the shapes that the protocol has for them.

use mcp_protocol_machine::protocol::{MessageIndex, Payload};
use mcp_protocol_machine::shape::ShapeMismatch;

use super::Rules;
use super::names::{on_the_wire, to_be_read};
use crate::error::{Error, MismatchError};
use crate::jsonrpc::{RawPayload, Shapes};

/// Where a payload does not have its shape, if payloads are judged.
pub(crate) fn mismatch(
    rules: &Rules,
    message: MessageIndex,
    payload: Option<impl RawPayload>,
) -> Option<ShapeMismatch> {
    if !rules.options.judge_payloads {
        return None;
    }
    let table = rules.message(message)?;
    let shape = table.shape?;
    match table.payload {
        // What comes in place of nothing is ignored.
        Payload::None | Payload::Null => return None,
        Payload::Optional if payload.is_none_or(|payload| payload.written() == "null") => return None,
        Payload::Required | Payload::Optional => {}
    }
    let shapes = Shapes { protocol: &rules.protocol, compiled: rules.names.shapes(&rules.protocol) };
    match payload {
        Some(payload) => payload.mismatch(shapes, shape),
        None => to_be_read(&rules.protocol, table, None).mismatch(shapes, shape),
    }
}

/// Whether a payload of this side has its shape.
pub(crate) fn check(
    rules: &Rules,
    message: MessageIndex,
    payload: Option<impl RawPayload>,
) -> Result<(), Error> {
    match mismatch(rules, message, payload) {
        Some(mismatch) => {
            Err(Error::Mismatch { message: rules.name(message), problem: MismatchError::Shape(mismatch) })
        }
        None => Ok(()),
    }
}

/// Whether a result of this side has its shape.
pub(crate) fn check_reply(rules: &Rules, message: MessageIndex, written: &str) -> Result<(), Error> {
    let table = rules.message(message).filter(|_| rules.options.judge_payloads);
    table.map_or(Ok(()), |table| check(rules, message, on_the_wire(table, written)))
}
