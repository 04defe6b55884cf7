//! From methods and payloads to messages, without an allocation per message.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::OnceLock;

use mcp_protocol_machine::protocol::{
    Announcement, Cancels, Condition, Direction, KeyIndex, KeyPlace, Kind, Literal, Message, MessageIndex,
    MessageKey, Path, Payload, Protocol, Side, Text,
};
use mcp_protocol_machine::shape::{CompiledShapes, absent_params, whole_number};
use mcp_protocol_machine::{Capabilities, IdTable, KeyValue, RequestId, Said, Token};

use crate::jsonrpc::path::{holds, is_empty_object};
use crate::jsonrpc::{JsonKey, OwnMembers, RawPayload, parse_id, said};

/// An index over the messages of one protocol, as one role sees them.
#[derive(Debug)]
pub(crate) struct Names {
    /// Requests and notifications, sorted by method.
    by_method: Box<[MessageIndex]>,
    /// Where those of each method are among them.
    places: IdTable<Text, Range<usize>>,
    /// Those whose method is a pattern, the longest first.
    patterns: Box<[MessageIndex]>,
    /// Replies and refusals with their request, sorted by request.
    by_request: Box<[(MessageIndex, MessageIndex)]>,
    /// Notifications that report, if there are any at all.
    reporting: Box<[MessageIndex]>,
    /// What announces a version or capabilities, or asks for a version. They are few, and looked for in every message.
    announcing: Box<[MessageIndex]>,
    /// The requests during which messages are permitted that are not permitted otherwise.
    granting: Box<[MessageIndex]>,
    /// The members that envelopes have in addition to those of JSON-RPC.
    members: Box<[Text]>,
    /// Whether any message has a condition.
    conditions: bool,
    /// What each side sends in some state, sorted; empty without conditions.
    sent_by_client: Box<[MessageIndex]>,
    sent_by_server: Box<[MessageIndex]>,
    /// The shapes of payloads, from when the first payload is judged.
    shapes: OnceLock<CompiledShapes>,
}

impl Names {
    pub(crate) fn new(protocol: &Protocol) -> Names {
        let opening = |message: &Message| matches!(message.kind, Kind::Request | Kind::Notification);
        let (patterns, listed): (Vec<_>, Vec<_>) = protocol
            .indexed()
            .filter(|(_, message)| opening(message))
            .partition(|(_, message)| message.pattern().is_some());
        let sorted = |mut messages: Vec<(MessageIndex, &Message)>| -> Box<[MessageIndex]> {
            // A longer pattern comes before one that begins it, and those of one pattern stay together.
            messages.sort_by_key(|(_, message)| (Reverse(message.pattern().map(str::len)), &message.method));
            messages.into_iter().map(|(index, _)| index).collect()
        };
        let mut by_request: Vec<_> = protocol
            .indexed()
            .filter_map(|(index, message)| match message.kind {
                Kind::Reply { request } | Kind::Refusal { request } => Some((request, index)),
                Kind::Request | Kind::Notification => None,
            })
            .collect();
        by_request.sort();
        let reporting = protocol
            .indexed()
            .filter(|(_, message)| message.reports.is_some())
            .map(|(index, _)| index)
            .collect();
        let indices = || protocol.indexed().map(|(index, _)| index);
        let granted_during = protocol.gates.iter().filter_map(|gate| gate.during.as_ref());
        let granting: Vec<_> = granted_during.flat_map(|during| during.requests.iter().copied()).collect();
        let conditions = protocol.messages.iter().any(|message| message.condition.is_some());
        let sent = |side| if conditions { sent_by(protocol, side) } else { Box::default() };
        let by_method = sorted(listed);
        let methods = by_method.iter().filter_map(|index| Some(protocol.message(*index)?.method.clone()));
        let mut places: IdTable<Text, Range<usize>> = IdTable::default();
        for (place, method) in methods.enumerate() {
            places.entry(method).or_insert(place..place).end = place + 1;
        }
        Names {
            by_method,
            places,
            patterns: sorted(patterns),
            by_request: by_request.into(),
            reporting,
            announcing: indices().filter(|message| is_announcement(protocol, *message)).collect(),
            granting: indices().filter(|message| granting.contains(message)).collect(),
            members: members(protocol),
            conditions,
            sent_by_client: sent(Side::Client),
            sent_by_server: sent(Side::Server),
            shapes: OnceLock::new(),
        }
    }

    /// The shapes of payloads.
    pub(crate) fn shapes(&self, protocol: &Protocol) -> &CompiledShapes {
        self.shapes.get_or_init(|| CompiledShapes::new(protocol))
    }

    /// Whether a message announces a version or capabilities, or asks for a version.
    pub(crate) fn is_announcement(&self, message: MessageIndex) -> bool {
        self.announcing.contains(&message)
    }

    /// Whether messages may be permitted during a request that are not permitted otherwise.
    pub(crate) fn may_grant(&self, request: MessageIndex) -> bool {
        self.granting.contains(&request)
    }

    /// Whether conditions tell any messages apart.
    pub(crate) fn has_conditions(&self) -> bool {
        self.conditions
    }

    /// The request or notification of a method that one side sends. Of several it is the first whose condition the
    /// payload fits, or else the one without a condition; what that side never sends comes last.
    pub(crate) fn by_method(
        &self,
        protocol: &Protocol,
        sender: Side,
        request: bool,
        method: &str,
        params: Option<impl RawPayload>,
    ) -> Option<MessageIndex> {
        let mut candidates = self
            .of_method(protocol, request, method)
            .filter(|(_, message)| fits(message.condition.as_ref(), params));
        let first = candidates.next()?;
        let Some(second) = candidates.next() else { return Some(first.0) };
        let rank = |(index, message): &(MessageIndex, &Message)| {
            (self.sends(sender, *index), message.condition.is_some())
        };
        // The first of the best, in the order of the declarations, which the sorting kept.
        let mut best = first;
        for candidate in [second].into_iter().chain(candidates) {
            if rank(&candidate) > rank(&best) {
                best = candidate;
            }
        }
        Some(best.0)
    }

    /// The request or notification of a method without a condition, if one side sends one.
    pub(crate) fn unconditional(
        &self,
        protocol: &Protocol,
        sender: Side,
        request: bool,
        method: &str,
    ) -> Option<MessageIndex> {
        let mut candidates = self.of_method(protocol, request, method);
        candidates
            .find(|(index, message)| message.condition.is_none() && self.sends(sender, *index))
            .map(|(index, _)| index)
    }

    /// Some request or notification of a method, whatever its payload.
    pub(crate) fn any_of(&self, protocol: &Protocol, request: bool, method: &str) -> Option<MessageIndex> {
        self.of_method(protocol, request, method).next().map(|(index, _)| index)
    }

    /// Some reply of a request, whatever its payload.
    pub(crate) fn any_reply(&self, request: MessageIndex) -> Option<MessageIndex> {
        // The refusal comes last of what belongs to a request.
        self.of_request(request).next()
    }

    pub(crate) fn of_method<'p>(
        &self,
        protocol: &'p Protocol,
        request: bool,
        method: &str,
    ) -> impl Iterator<Item = (MessageIndex, &'p Message)> {
        // A pattern stands for methods that are not listed, not even for the other kind.
        let of_method = match self.places.get(method) {
            Some(places) => self.by_method.get(places.clone()).unwrap_or_default(),
            None => self.of_pattern(protocol, request, method),
        };
        let messages = of_method.iter().filter_map(|index| Some((*index, protocol.message(*index)?)));
        messages.filter(move |(_, message)| (message.kind == Kind::Request) == request)
    }

    /// The messages of the longest pattern that a method fits.
    fn of_pattern(&self, protocol: &Protocol, request: bool, method: &str) -> &[MessageIndex] {
        let pattern = |index: &MessageIndex| protocol.message(*index).and_then(Message::pattern);
        let is_of_kind = |message: &Message| (message.kind == Kind::Request) == request;
        let fits = |index: &MessageIndex| {
            protocol.message(*index).is_some_and(is_of_kind)
                && pattern(index).is_some_and(|prefix| method.starts_with(prefix))
        };
        let from = self.patterns.iter().position(fits).and_then(|place| self.patterns.get(place..));
        let from = from.unwrap_or_default();
        let first = from.first().and_then(pattern);
        let count = from.iter().take_while(|index| pattern(index) == first).count();
        from.get(..count).unwrap_or_default()
    }

    /// Whether one side sends a message in some state; known only where conditions tell messages apart.
    fn sends(&self, side: Side, message: MessageIndex) -> bool {
        let sent = match side {
            Side::Client => &self.sent_by_client,
            Side::Server => &self.sent_by_server,
        };
        sent.binary_search(&message).is_ok()
    }

    /// The reply that a result is to a request.
    pub(crate) fn reply(
        &self,
        protocol: &Protocol,
        request: MessageIndex,
        result: impl RawPayload,
    ) -> Option<MessageIndex> {
        let mut plain = None;
        for index in self.of_request(request) {
            let Some(message) = protocol.message(index) else { continue };
            if !matches!(message.kind, Kind::Reply { .. }) {
                continue;
            }
            match &message.condition {
                None => plain = plain.or(Some(index)),
                condition if fits(condition.as_ref(), Some(result)) => return Some(index),
                Some(_) => {}
            }
        }
        plain
    }

    /// The refusal of a request.
    pub(crate) fn refusal(&self, protocol: &Protocol, request: MessageIndex) -> Option<MessageIndex> {
        let refuses = |index: &MessageIndex| {
            protocol.message(*index).is_some_and(|message| matches!(message.kind, Kind::Refusal { .. }))
        };
        self.of_request(request).find(refuses)
    }

    fn of_request(&self, request: MessageIndex) -> impl Iterator<Item = MessageIndex> {
        let start = self.by_request.partition_point(|(of, _)| *of < request);
        let from = self.by_request.get(start..).unwrap_or_default();
        from.iter().take_while(move |(of, _)| *of == request).map(|(_, index)| *index)
    }

    /// The token that a request carries, if any notification could report on it.
    pub(crate) fn token(&self, protocol: &Protocol, params: Option<impl RawPayload>) -> Option<Token> {
        let params = params?;
        let paths = self.reporting.iter().filter_map(|index| protocol.message(*index)?.reports.as_ref());
        paths.flat_map(|reports| reports.of.iter()).find_map(|path| parse_id(params.find(path)?.written()))
    }

    /// Where a request says which token is to be used in reports that the other side sends.
    pub(crate) fn token_path<'p>(&self, protocol: &'p Protocol) -> Option<&'p Path> {
        let reports = self.reporting.iter().find_map(|index| protocol.message(*index)?.reports.as_ref())?;
        reports.of.first()
    }

    /// The values of the keys that a message carries. Most messages carry none, and this costs nothing then.
    pub(crate) fn keys(
        protocol: &Protocol,
        message: MessageIndex,
        id: Option<&RequestId>,
        payload: Option<impl RawPayload>,
        members: &OwnMembers,
    ) -> Vec<(KeyIndex, KeyValue)> {
        let Some(table) = protocol.message(message) else { return Vec::new() };
        let mut values: Vec<(KeyIndex, KeyValue)> = Vec::new();
        for MessageKey { key, place, .. } in table.keys.iter() {
            let value = match place {
                KeyPlace::Path(path) => id_at(payload, path),
                KeyPlace::Id => id.cloned(),
                KeyPlace::Member(name) => members.get(name).cloned(),
            };
            // Where a key has several places in one message, the first that is there counts.
            if let Some(value) = value
                && !values.iter().any(|(known, _)| known == key)
            {
                values.push((*key, value));
            }
        }
        values
    }

    /// The values that a reply has in those members of its envelope in which its request has keys.
    pub(crate) fn members_of_reply(
        protocol: &Protocol,
        reply: MessageIndex,
        members: &OwnMembers,
    ) -> Vec<(KeyIndex, KeyValue)> {
        let request = match protocol.message(reply).map(|table| table.kind) {
            Some(Kind::Reply { request } | Kind::Refusal { request }) if !members.is_empty() => request,
            _ => return Vec::new(),
        };
        let keys = protocol.message(request).into_iter().flat_map(Message::member_keys);
        keys.filter_map(|(key, name)| Some((key, members.get(name)?.clone()))).collect()
    }

    /// What the protocol calls the members that its envelopes have in addition to those of JSON-RPC.
    pub(crate) fn members(&self) -> &[Text] {
        &self.members
    }

    /// The notification that cancels a request, and how.
    pub(crate) fn cancels(&self, protocol: &Protocol) -> Option<(MessageIndex, Cancels)> {
        protocol.indexed().find_map(|(index, message)| Some((index, message.cancels.clone()?)))
    }
}

/// The names of the members in which messages have keys, each once.
fn members(protocol: &Protocol) -> Box<[Text]> {
    let mut names: Vec<Text> = protocol
        .messages
        .iter()
        .flat_map(|message| message.member_keys().map(|(_, name)| name.clone()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// Whether a message announces a version or capabilities, or asks for a version.
fn is_announcement(protocol: &Protocol, message: MessageIndex) -> bool {
    let field = protocol.announced_version().map(|field| field.message);
    let reply = field.and_then(|field| protocol.message(field));
    field == Some(message)
        || reply.is_some_and(|reply| reply.kind == Kind::Reply { request: message })
        || protocol.announcements.iter().any(|place| place.message == Some(message))
}

/// The messages that one side sends in some state, by either role.
fn sent_by(protocol: &Protocol, side: Side) -> Box<[MessageIndex]> {
    let own = protocol.role(side).map(|role| (role, Direction::Send));
    let others = protocol.role(side.other()).map(|role| (role, Direction::Receive));
    let mut sent: Vec<MessageIndex> = own
        .into_iter()
        .chain(others)
        .flat_map(|(role, direction)| {
            let edges = role.states.iter().flat_map(|state| state.edges.iter());
            edges.filter(move |edge| edge.direction == direction).map(|edge| edge.message)
        })
        .collect();
    sent.sort_unstable();
    sent.dedup();
    sent.into()
}

/// Whether a payload fits a condition.
pub(crate) fn fits(condition: Option<&Condition>, payload: Option<impl RawPayload>) -> bool {
    let Some(condition) = condition else { return true };
    let found = payload.and_then(|payload| payload.find(&condition.path));
    let value = found.as_ref().map(RawPayload::written);
    match &condition.literal {
        None => holds(value),
        Some(literal) => value.is_some_and(|value| is_literal(value, literal)),
    }
}

/// Whether a value is this one, however it is written.
fn is_literal(value: &str, literal: &Literal) -> bool {
    match literal {
        Literal::Text(text) => is_text(value, text),
        Literal::Int(number) => whole_number(value) == Some(i128::from(*number)),
        Literal::Bool(true) => value == "true",
        Literal::Bool(false) => value == "false",
    }
}

/// Whether a value is this text.
fn is_text(value: &str, text: &str) -> bool {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| memchr::memchr(b'\\', inner.as_bytes()).is_none()) {
        Some(inner) => inner == text,
        None => serde_json::from_str(value).is_ok_and(|JsonKey(value)| value == text),
    }
}

/// Whether a payload fits a condition, for gates that have one.
pub(crate) fn applies(payload: Option<impl RawPayload>) -> impl Fn(&Condition) -> bool {
    move |condition| fits(Some(condition), payload)
}

/// The id that a payload names.
pub(crate) fn id_at(payload: Option<impl RawPayload>, path: &Path) -> Option<RequestId> {
    parse_id(payload?.find(path)?.written())
}

/// What a payload announces: the gates that it opens.
pub(crate) fn announced(
    protocol: &Protocol,
    announcement: &Announcement,
    payload: Option<impl RawPayload>,
) -> Capabilities {
    let all = payload.and_then(|payload| payload.find(&announcement.path));
    if all.is_none_or(|all| is_empty_object(all.written())) {
        // Nothing is said of any of them.
        return Capabilities::none();
    }
    Capabilities::announced(protocol, announcement, |path| all.map_or(Said::Nothing, |all| said(all, path)))
}

/// The payload of a message as it goes onto the wire, given what its type was written as: `None` leaves it out.
pub(crate) fn on_the_wire<'a>(message: &Message, written: &'a str) -> Option<&'a str> {
    let is_reply = matches!(message.kind, Kind::Reply { .. });
    match message.payload {
        Payload::None if is_reply => Some("{}"),
        Payload::None => None,
        Payload::Null => Some("null"),
        Payload::Optional if written == "null" && !is_reply => None,
        Payload::Required | Payload::Optional => Some(written),
    }
}

/// The text to read the payload of a message from, given what came.
pub(crate) fn to_be_read<'a>(protocol: &Protocol, message: &Message, came: Option<&'a str>) -> &'a str {
    match message.payload {
        Payload::None | Payload::Null => "null",
        Payload::Optional => came.unwrap_or("null"),
        // Many peers leave out params that would be an empty object or an empty list.
        Payload::Required => came.unwrap_or_else(|| absent_params(protocol, message.shape)),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use mcp_protocol_machine::Lookup;

    use super::*;

    /// All protocols of up to three messages out of all short methods.
    #[test]
    fn a_method_is_found_where_a_lookup_finds_it() {
        let methods = ["*", "a*", "ab*", "a", "ab", "b"];
        let all: Vec<Message> = methods
            .into_iter()
            .flat_map(|method| [Message::request("R", method), Message::notification("N", method)])
            .collect();
        for code in 0..all.len().pow(3) {
            let chosen = (0..3).filter_map(|place| all.get(code / all.len().pow(place) % all.len()).cloned());
            let protocol = Protocol::new("P".into(), chosen.collect());
            let (names, lookup) = (Names::new(&protocol), Lookup::new(&protocol));
            for method in ["", "a", "ab", "abc", "b", "ba"] {
                let found = |request| -> Vec<MessageIndex> {
                    names.of_method(&protocol, request, method).map(|(index, _)| index).collect()
                };
                assert_eq!(found(true), lookup.requests(method), "{code} {method}");
                assert_eq!(found(false), lookup.notifications(method), "{code} {method}");
            }
        }
    }

    #[test]
    fn a_condition_is_met_by_its_value_however_that_is_written() {
        let path = &[Cow::Borrowed("kind")];
        let (is_text, is_one) = (Condition::is(path, "a/b"), Condition::is_int(path, 1));
        let (is_true, is_false) = (Condition::is_bool(path, true), Condition::is_bool(path, false));
        for (value, met) in [
            (r#""a/b""#, Some(&is_text)),
            (r#""a\/b""#, Some(&is_text)),
            ("1", Some(&is_one)),
            ("1.0", Some(&is_one)),
            ("10e-1", Some(&is_one)),
            ("true", Some(&is_true)),
            ("false", Some(&is_false)),
            ("null", None),
            ("1.5", None),
            (r#""1""#, None),
            (r#""true""#, None),
            ("[1]", None),
            ("{}", None),
        ] {
            let payload = format!(r#"{{"kind":{value}}}"#);
            for condition in [&is_text, &is_one, &is_true, &is_false] {
                let fits = fits(Some(condition), Some(&*payload));
                assert_eq!(fits, met == Some(condition), "{payload} {condition}");
            }
        }
    }
}
