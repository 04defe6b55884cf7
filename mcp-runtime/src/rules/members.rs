//! The members of envelopes that a protocol has in addition to those of JSON-RPC: which values a message of this side has
//! there, and what the peer has written.

use mcp_protocol_machine::protocol::{Direction, KeyIndex, Message, MessageIndex};
use mcp_protocol_machine::{About, KeyValue, Meant, RequestId};

use super::Rules;
use crate::jsonrpc::{Envelope, LookedUp, Malformed, MessageText, NO_MEMBERS, OwnMembers};

/// What a message carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried<'m, P> {
    /// Its params or its result.
    pub(crate) payload: Option<P>,
    /// The members of its envelope.
    pub(crate) members: &'m OwnMembers,
}

/// What an error carries that no message has brought.
pub(crate) const NOTHING: Carried<'static, &str> = Carried { payload: None, members: &NO_MEMBERS };

/// The members of a message that was read. One that is there twice makes the message one that cannot be read: either value
/// may have been meant.
pub(crate) fn read(
    rules: &Rules,
    message: MessageText<'_>,
    parsed: &mut Result<Envelope<'_, LookedUp<'_>>, Malformed>,
) -> OwnMembers {
    let names = rules.names.members();
    if names.is_empty() {
        return OwnMembers::default();
    }
    OwnMembers::read(message, names).unwrap_or_else(|name| {
        if parsed.is_ok() {
            *parsed = Err(Malformed::twice(message.bytes(), &name));
        }
        OwnMembers::default()
    })
}

/// The members of the error that answers a message: what the message has there. A peer may find its request by these.
pub(crate) fn of_answer_to(rules: &Rules, message: MessageText<'_>) -> OwnMembers {
    match rules.names.members() {
        [] => OwnMembers::default(),
        names => OwnMembers::read(message, names).unwrap_or_default(),
    }
}

/// The members of a request or a notification of this side. What it is meant for holds the values, or the request that it
/// is about has them.
pub(crate) fn of_own(rules: &Rules, message: MessageIndex, meant: Meant, about: About<'_>) -> OwnMembers {
    let Some(table) = with_members(rules, message) else { return OwnMembers::default() };
    let within = meant.sub_session();
    let checker = &rules.checker;
    let of_request = match about {
        About::Request(id) => checker.members_of(Direction::Send, id),
        About::Token(token) => {
            let id = checker.reported(Direction::Send, token);
            id.map(|id| checker.members_of(Direction::Receive, id)).unwrap_or_default()
        }
        About::Nothing => &[],
    };
    written(table, |wanted| value_in(of_request, wanted).or_else(|| checker.key_value(within?, wanted)))
}

/// The members of the reply to a request that runs and went in this direction: what the request has there.
pub(crate) fn of_reply(
    rules: &Rules,
    direction: Direction,
    request: MessageIndex,
    id: &RequestId,
) -> OwnMembers {
    let Some(table) = with_members(rules, request) else { return OwnMembers::default() };
    let asked = rules.checker.members_of(direction, id);
    written(table, |wanted| value_in(asked, wanted))
}

/// A message that has keys in members of its envelope. Hardly any protocol has one, so this is asked before anything else.
fn with_members(rules: &Rules, message: MessageIndex) -> Option<&Message> {
    rules.message(message).filter(|table| table.has_member_keys())
}

/// The members of a message, of whose keys `value` knows the values.
fn written<'v>(table: &Message, value: impl Fn(KeyIndex) -> Option<&'v KeyValue>) -> OwnMembers {
    table.member_keys().filter_map(|(key, name)| Some((name.clone(), value(key)?.clone()))).collect()
}

fn value_in(members: &[(KeyIndex, KeyValue)], wanted: KeyIndex) -> Option<&KeyValue> {
    members.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value)
}
