//! Payloads and the shapes that the protocol has for them.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Payload};
use mcp_protocol_machine::shape::ShapeMismatch;
use mcp_protocol_machine::{Awaiting, RequestId};

use super::Rules;
use super::names::{on_the_wire, to_be_read};
use crate::error::{Error, MismatchError};
use crate::jsonrpc::RawPayload;

impl Rules {
    /// Where a payload does not have its shape, if payloads are judged.
    pub(crate) fn misshapen(
        &self,
        message: MessageIndex,
        payload: Option<impl RawPayload>,
    ) -> Option<ShapeMismatch> {
        if !self.options.judge_payloads {
            return None;
        }
        let table = self.message(message)?;
        let shape = self.protocol.shape(table.shape?)?;
        match table.payload {
            // What comes in place of nothing is ignored.
            Payload::None | Payload::Null => return None,
            Payload::Optional if payload.is_none_or(|payload| payload.written() == "null") => return None,
            Payload::Required | Payload::Optional => {}
        }
        match payload {
            Some(payload) => payload.mismatch(&self.protocol, &shape.shape),
            None => to_be_read(table, None).mismatch(&self.protocol, &shape.shape),
        }
    }

    /// Whether a payload of this side has its shape.
    pub(crate) fn check_shape(&self, message: MessageIndex, payload: Option<&str>) -> Result<(), Error> {
        match self.misshapen(message, payload) {
            Some(mismatch) => {
                Err(Error::Mismatch { message: self.name(message), problem: MismatchError::Shape(mismatch) })
            }
            None => Ok(()),
        }
    }

    /// Whether a result of this side has its shape.
    pub(crate) fn check_reply_shape(
        &self,
        id: &RequestId,
        message: Option<MessageIndex>,
        written: &str,
    ) -> Result<(), Error> {
        let Awaiting::Request(request) = self.checker.awaiting(Direction::Send, id) else { return Ok(()) };
        let message = message.or_else(|| self.reply_of(request, written));
        let table = message.and_then(|message| Some((message, self.message(message)?)));
        table.map_or(Ok(()), |(message, table)| self.check_shape(message, on_the_wire(table, written)))
    }
}
