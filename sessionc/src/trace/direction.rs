//! Who sends a message, where the log does not say it.

use std::borrow::Cow;

use mcp_protocol_machine::{IdTable, ProtocolRef};
use mcp_runtime::observer::{JsonValue, MessageText};
use mcp_runtime::protocol::{Direction, Kind, Payload, Protocol, RequestId, Side};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::formats::record::Sender;
use super::requests::is_short;

/// How many requests without a reply are remembered.
const REMEMBERED: usize = 65_536;

/// Decides who sends each message of a log: its method, or for a reply its id.
#[derive(Debug)]
pub(crate) struct Directions {
    methods: IdTable<String, Method>,
    /// The sides whose requests run under an id, the one that asked first before the other.
    running: IdTable<RequestId, Vec<RunningRequest>>,
    /// The last number that each side used as an id.
    last: [Option<i64>; 2],
    /// The side that wrote the log, as far as that is known.
    writer: Option<Side>,
}

/// What the protocol says of a method.
#[derive(Clone, Copy, Debug, Default)]
struct Method {
    client: bool,
    server: bool,
    /// Its result is empty.
    is_empty: bool,
    /// It cancels a request.
    cancels: bool,
}

impl Method {
    fn only(self) -> Option<Side> {
        match (self.client, self.server) {
            (true, false) => Some(Side::Client),
            (false, true) => Some(Side::Server),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunningRequest {
    by: Side,
    /// Its result is empty.
    is_empty: bool,
}

/// What a message has that says who sends it, as it is written.
struct MessageHead<'a> {
    method: Option<Cow<'a, str>>,
    id: Option<&'a str>,
    result: Option<&'a str>,
    params: Option<&'a str>,
}

/// The same, as a text is read that was not read before.
#[derive(Deserialize)]
struct RawHead<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> MessageHead<'a> {
    /// Of a batch this is the head of the first message.
    fn of(message: MessageText<'a>) -> Option<MessageHead<'a>> {
        if let Some(members) = message.value().and_then(|value| value.plain_members()) {
            return MessageHead::of_members(members);
        }
        let bytes = message.bytes();
        let first = bytes.strip_prefix(b"[").map_or(bytes, |rest| rest.trim_ascii_start());
        let mut heads = serde_json::Deserializer::from_slice(first).into_iter::<RawHead<'_>>();
        let RawHead { method, id, result, params } = heads.next()?.ok()?;
        let [id, result, params] = [id, result, params].map(|value| value.map(RawValue::get));
        Some(MessageHead { method, id, result, params })
    }

    fn of_members(members: impl Iterator<Item = (&'a str, JsonValue<'a>)>) -> Option<MessageHead<'a>> {
        let (mut method, mut id, mut result, mut params) = (None, None, None, None);
        for (key, value) in members {
            let place = match key {
                "method" => &mut method,
                "id" => &mut id,
                "result" => &mut result,
                "params" => &mut params,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        let there = |value: Option<JsonValue<'a>>| value.filter(|value| value.written() != "null");
        let method = match there(method) {
            Some(method) => Some(method.text()?),
            None => None,
        };
        let [id, result, params] = [id, result, params].map(|value| there(value).map(|it| it.written()));
        Some(MessageHead { method, id, result, params })
    }
}

/// What names a request in the params of a cancel.
#[derive(Deserialize)]
struct Cancel {
    #[serde(rename = "requestId", alias = "id")]
    request: RequestId,
}

impl Directions {
    /// Those of protocols that govern one after another, or side by side.
    pub(crate) fn new<'a>(protocols: impl Iterator<Item = &'a ProtocolRef>) -> Directions {
        let mut methods = IdTable::default();
        for protocol in protocols {
            note_methods(protocol, &mut methods);
        }
        Directions { methods, running: IdTable::default(), last: [None; 2], writer: None }
    }

    /// The sender of a message; nothing if there is nothing to tell it by.
    pub(crate) fn sender(&mut self, said: Sender, message: MessageText<'_>) -> Option<Side> {
        // Batches are sent by one side, and the first message says which.
        let head = MessageHead::of(message);
        let own = match (said, self.writer) {
            (Sender::Is(side), _) => Some(side),
            (Sender::Writer, Some(writer)) => Some(writer),
            (Sender::Peer, Some(writer)) => Some(writer.other()),
            _ => None,
        };
        let Some(head) = head else { return own };
        let id = head.id.and_then(|id| serde_json::from_str::<RequestId>(id).ok());
        let sender = match own {
            Some(own) => own,
            None => match &head.method {
                Some(method) => self.of_method(method, id.as_ref(), head.params),
                None => self.of_reply(id.as_ref()?, head.result),
            },
        };
        self.writer = self.writer.or(match said {
            Sender::Writer => Some(sender),
            Sender::Peer => Some(sender.other()),
            Sender::Is(_) | Sender::Unsaid => None,
        });
        let cancelled = head.method.as_deref().filter(|method| self.method(method).cancels).and(head.params);
        match cancelled.and_then(cancelled_request) {
            Some(cancelled) => self.forget(&cancelled, sender),
            None => self.note(sender, head.method.as_deref(), id),
        }
        Some(sender)
    }

    fn of_method(&self, method: &str, id: Option<&RequestId>, params: Option<&str>) -> Side {
        if let Some(only) = self.method(method).only() {
            return only;
        }
        let Some(id) = id else { return self.of_notification(params) };
        // Each side counts its own requests.
        if self.is_running(id, Side::Client) {
            return Side::Server;
        }
        let RequestId::Number(number) = id else { return Side::Client };
        // Ids grow: the next one is likely, and one that was passed is not.
        let likely = |last: Option<i64>| last.is_none_or(|last| *number > last);
        let next = |last: Option<i64>| last.is_some_and(|last| last + 1 == *number);
        let [client, server] = self.last;
        let is_server = match (likely(client), likely(server)) {
            (true, true) => next(server) && !next(client),
            (client, _) => !client,
        };
        if is_server { Side::Server } else { Side::Client }
    }

    /// A notification that either side sends: the one that cancels its own request, or reports on one of the other side.
    fn of_notification(&self, params: Option<&str>) -> Side {
        let cancelled = params.and_then(cancelled_request);
        let asked = cancelled.and_then(|request| self.running.get(&request)?.first().copied());
        match asked {
            Some(asked) => asked.by,
            // Clients ask most, and servers report on it.
            None if params.is_some_and(|params| params.contains("oken\"")) => Side::Server,
            None => Side::Client,
        }
    }

    fn of_reply(&self, id: &RequestId, result: Option<&str>) -> Side {
        let running = self.running.get(id).map(Vec::as_slice).unwrap_or_default();
        let is_empty = result.is_some_and(|result| result == "{}");
        let alike = running.iter().find(|asked| asked.is_empty == is_empty);
        alike.or(running.first()).map_or(Side::Server, |asked| asked.by.other())
    }

    fn note(&mut self, sender: Side, method: Option<&str>, id: Option<RequestId>) {
        let Some(id) = id else { return };
        let is_empty = method.is_some_and(|method| self.method(method).is_empty);
        match method {
            Some(_) => {
                if let RequestId::Number(number) = id {
                    let [client, server] = &mut self.last;
                    *(if sender == Side::Client { client } else { server }) = Some(number);
                }
                let is_new = is_short(&id) && !self.is_running(&id, sender);
                if self.running.len() < REMEMBERED && is_new {
                    self.running.entry(id).or_default().push(RunningRequest { by: sender, is_empty });
                }
            }
            None => self.forget(&id, sender.other()),
        }
    }

    /// A request of a side does not run any more.
    fn forget(&mut self, id: &RequestId, by: Side) {
        if let Some(running) = self.running.get_mut(id) {
            running.retain(|asked| asked.by != by);
            if running.is_empty() {
                self.running.remove(id);
            }
        }
    }

    fn is_running(&self, id: &RequestId, by: Side) -> bool {
        self.running.get(id).is_some_and(|running| running.iter().any(|asked| asked.by == by))
    }

    fn method(&self, method: &str) -> Method {
        self.methods.get(method).copied().unwrap_or_default()
    }
}

/// The request that the params of a cancel name.
fn cancelled_request(params: &str) -> Option<RequestId> {
    serde_json::from_str::<Cancel>(params).ok().map(|cancel| cancel.request)
}

/// Notes which side sends each method.
fn note_methods(protocol: &Protocol, methods: &mut IdTable<String, Method>) {
    for side in [Side::Client, Side::Server] {
        let own = protocol.role(side).map(|role| (role, Direction::Send));
        let others = protocol.role(side.other()).map(|role| (role, Direction::Receive));
        for (role, direction) in own.into_iter().chain(others) {
            let edges = role.states.iter().flat_map(|state| state.edges.iter());
            let sent = edges.filter(|edge| edge.direction == direction);
            for table in sent.filter_map(|edge| protocol.message(edge.message)) {
                if matches!(table.kind, Kind::Request | Kind::Notification) {
                    let method = methods.entry(table.method.to_string()).or_default();
                    method.client |= side == Side::Client;
                    method.server |= side == Side::Server;
                }
            }
        }
    }
    for table in protocol.messages.iter() {
        if let (Kind::Reply { request }, Payload::None) = (table.kind, table.payload)
            && let Some(request) = protocol.message(request)
        {
            methods.entry(request.method.to_string()).or_default().is_empty = true;
        }
        // These are in no state: either side sends them while a request runs.
        if table.cancels.is_some() || table.reports.is_some() {
            let method = methods.entry(table.method.to_string()).or_default();
            (method.client, method.server, method.cancels) = (true, true, table.cancels.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directions() -> Directions {
        Directions::new([ProtocolRef::from(&mcp_protocols::mcp_2025_11_25::PROTOCOL)].iter())
    }

    fn senders(messages: &[(Sender, &str)]) -> Vec<Option<Side>> {
        let mut directions = directions();
        messages.iter().map(|(said, message)| directions.sender(*said, message.as_bytes().into())).collect()
    }

    #[test]
    fn methods_and_ids_decide() {
        let (client, server) = (Some(Side::Client), Some(Side::Server));
        let messages = [
            (r#"{"id":0,"method":"initialize"}"#, client),
            (r#"{"id":0,"method":"ping"}"#, server),
            (r#"{"id":0,"result":{}}"#, client),
            (r#"{"id":0,"result":{"protocolVersion":"2025-11-25"}}"#, server),
            (r#"{"method":"notifications/initialized"}"#, client),
            (r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}"#, client),
            (r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#, server),
            (r#"{"id":1,"method":"sampling/createMessage"}"#, server),
            (r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#, client),
            (r#"{"id":2,"method":"roots/list"}"#, server),
            (r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#, server),
            (r#"[{"id":7,"method":"tools/list"}]"#, client),
        ];
        let said: Vec<_> = messages.iter().map(|(message, _)| (Sender::Unsaid, *message)).collect();
        assert_eq!(senders(&said), messages.map(|(_, side)| side));
    }

    #[test]
    fn the_writer_of_a_log_becomes_known() {
        let ping = r#"{"id":9,"method":"ping"}"#;
        let said = [
            (Sender::Writer, r#"{"id":1,"method":"tools/list"}"#),
            (Sender::Peer, ping),
            (Sender::Writer, "garbage"),
            (Sender::Unsaid, "garbage"),
        ];
        let (client, server) = (Some(Side::Client), Some(Side::Server));
        assert_eq!(senders(&said), [client, server, client, None]);
    }
}
