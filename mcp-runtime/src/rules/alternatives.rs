//! Messages of one method that conditions tell apart: a payload is sent only as the message that the peer will read.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};

use super::method::Opening;
use super::names::{applies, fits, on_the_wire};
use super::{Rules, method};

use crate::error::{Error, MismatchError};
use crate::jsonrpc::RawPayload;

/// The request or notification that a method and a payload stand for. One that a condition tells apart and that
/// cannot be sent, because its capability was not announced, is the one without a condition after all.
pub(crate) fn read_as(
    rules: &Rules,
    direction: Direction,
    request: bool,
    method: &str,
    payload: Option<impl RawPayload>,
) -> Option<MessageIndex> {
    let sender = rules.sender(direction);
    let read = rules.names.by_method(&rules.protocol, sender, request, method, payload)?;
    let closed = |message| !rules.checker.gates_open(direction, message, applies(payload));
    if rules.message(read).is_some_and(|table| table.condition.is_some())
        && closed(read)
        && let Some(plain) = rules.names.unconditional(&rules.protocol, sender, request, method)
        && !closed(plain)
    {
        return Some(plain);
    }
    Some(read)
}

/// Whether the peer will read a request or notification as what it is.
pub(crate) fn check(
    rules: &Rules,
    message: MessageIndex,
    Opening { method, params: payload }: &Opening<'_>,
) -> Result<(), Error> {
    method::check(rules, message, method)?;
    if !rules.names.has_conditions() {
        return Ok(());
    }
    let (Some(table), payload) = (rules.message(message), *payload) else { return Ok(()) };
    let request = table.kind == Kind::Request;
    let read = read_as(rules, Direction::Send, request, method, payload);
    compare(rules, message, read, payload)
}

/// Whether the peer will read a result of a request as the reply that it is; without a message, as any reply at all.
pub(crate) fn check_reply(
    rules: &Rules,
    request: MessageIndex,
    message: Option<MessageIndex>,
    written: &str,
) -> Result<(), Error> {
    if !rules.names.has_conditions() {
        return Ok(());
    }
    let table = message.and_then(|message| rules.message(message));
    let result = table.and_then(|table| on_the_wire(table, written)).unwrap_or(written);
    let read = rules.names.reply(&rules.protocol, request, result);
    match (message, read) {
        (Some(message), read) => compare(rules, message, read, Some(result)),
        (None, Some(_)) => Ok(()),
        (None, None) => {
            let replies = rules.protocol.messages.iter();
            let conditions = replies.filter(|reply| reply.kind == Kind::Reply { request });
            let problem =
                MismatchError::FitsNone(conditions.filter_map(|reply| reply.condition.clone()).collect());
            Err(Error::Mismatch { message: rules.name(request), problem })
        }
    }
}

fn compare(
    rules: &Rules,
    message: MessageIndex,
    read: Option<MessageIndex>,
    payload: Option<&str>,
) -> Result<(), Error> {
    if read == Some(message) {
        return Ok(());
    }
    let own = rules.message(message).and_then(|table| table.condition.as_ref());
    let others = |read| rules.message(read).and_then(|table| table.condition.clone());
    let problem = match (own, read) {
        (Some(own), _) if !fits(Some(own), payload) => MismatchError::Lacks(own.clone()),
        (_, Some(read)) => match others(read) {
            Some(condition) => MismatchError::ReadAs { message: rules.name(read), condition },
            // The message is one that this side never sends, which the checker says better.
            None => return Ok(()),
        },
        (_, None) => return Ok(()),
    };
    Err(Error::Mismatch { message: rules.name(message), problem })
}

/// Whether a message may be sent with no more than these capabilities. Whatever else it may need is judged when it
/// is written.
pub(crate) fn check_within(
    rules: &Rules,
    message: MessageIndex,
    written: &str,
    within: Option<&Capabilities>,
) -> Result<(), Violation> {
    let (Some(within), Some(table)) = (within, rules.message(message)) else { return Ok(()) };
    if matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. }) {
        // A reply is owed, whatever it needs.
        return Ok(());
    }
    // A payload that cannot be read is refused when it is to be written, and says more there.
    let Ok(Opening { params, .. }) = Opening::of(table, written) else { return Ok(()) };
    rules.checker.permits_if(Direction::Send, message, within, applies(params))
}
