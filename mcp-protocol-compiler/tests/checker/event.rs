//! [`Event`]: a message as seen on the wire.

use mcp_protocol_machine::protocol::{
    Condition, Direction, GateIndex, KeyIndex, Kind, Message, MessageIndex, Protocol, Side,
};
use mcp_protocol_machine::{
    About, Awaiting, Capabilities, Checker, Correlation, RequestId, Step, StepKind, Violation,
};
use serde_json::Value;

/// What the last step of a sub-session does.
const ENDED: StepKind = StepKind::SubSession { ended: true };

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) from: Side,
    pub(crate) message: MessageIndex,
    /// The id of a request or of the request that a reply answers.
    pub(crate) id: Option<RequestId>,
    /// The id of the request that a notification cancels.
    pub(crate) about: Option<RequestId>,
    /// The token that a request carries or that a report is about.
    pub(crate) token: Option<RequestId>,
    pub(crate) keys: Vec<(KeyIndex, RequestId)>,
    /// The keys that a reply has in members of its envelope, as its request has them there.
    pub(crate) members: Vec<(KeyIndex, RequestId)>,
    /// What the sender announces in this message.
    pub(crate) grants: Vec<GateIndex>,
    /// Whether the payload fits the conditions of gates.
    pub(crate) urgent: bool,
    /// Whether the params of a request fit the conditions behind `during`.
    pub(crate) logs: bool,
}

impl Event {
    pub(crate) fn new(from: Side, message: MessageIndex) -> Event {
        Event {
            from,
            message,
            id: None,
            about: None,
            token: None,
            keys: Vec::new(),
            members: Vec::new(),
            grants: Vec::new(),
            urgent: false,
            logs: false,
        }
    }

    /// The keys that a request has in members of its envelope.
    pub(crate) fn in_members(&self, protocol: &Protocol) -> Vec<(KeyIndex, RequestId)> {
        let declared: Vec<KeyIndex> =
            protocol.message(self.message).unwrap().member_keys().map(|(key, _)| key).collect();
        self.keys.iter().filter(|(key, _)| declared.contains(key)).cloned().collect()
    }

    /// Which way it goes, seen from a side.
    pub(crate) fn direction(&self, side: Side) -> Direction {
        if self.from == side { Direction::Send } else { Direction::Receive }
    }

    /// Asks a checker.
    pub(crate) fn feed(&self, checker: &mut Checker, protocol: &Protocol) -> Result<Step, Violation> {
        let direction = self.direction(checker.side());
        let mut announces = Capabilities::from_gates(self.grants.iter().copied());
        let during: Capabilities = protocol.granted_during(self.message, |_| self.logs).collect();
        let is_request = protocol.message(self.message).unwrap().kind == Kind::Request;
        let in_each = protocol.announces_in_each_request(self.from);
        let table = protocol.message(self.message).unwrap();
        let (grants, revokes) = (table.grants.is_some(), table.revokes.is_some());
        let changed = announces.clone();
        announces = if in_each { announces.join(&during) } else { during };
        let correlation = Correlation::keys(&self.keys)
            .with_members(&self.members)
            .announcing((in_each || is_request).then_some(&announces))
            .changing(grants.then_some(&changed), revokes.then_some(&changed));
        let message = self.message;
        let applies = |_: &Condition| self.urgent;
        let kind = protocol.message(message).unwrap().kind;
        let foretold = match (direction, kind, &self.id) {
            (Direction::Send, Kind::Notification, _) => checker.would_end(message, correlation, applies),
            (Direction::Send, Kind::Reply { .. } | Kind::Refusal { .. }, Some(id)) => {
                checker.reply_would_end(id, message, correlation)
            }
            _ => None,
        };
        let judged = match kind {
            Kind::Request => {
                let (id, token) = (self.id.as_ref().unwrap(), self.token.clone());
                checker.request_correlated(direction, message, id, token, correlation, applies)
            }
            Kind::Notification => {
                let table = protocol.message(message).unwrap();
                let about = match (&self.about, &self.token) {
                    (Some(id), _) if table.cancels.is_some() => About::Request(id),
                    (_, Some(token)) if table.reports.is_some() => About::Token(token),
                    _ => About::Nothing,
                };
                checker.notification_correlated(direction, message, about, correlation, applies)
            }
            Kind::Reply { .. } | Kind::Refusal { .. } => {
                let id = self.id.as_ref().unwrap();
                match checker.awaiting(direction, id) {
                    Awaiting::Request(_) => checker.reply_correlated(direction, id, message, correlation),
                    _ => {
                        let retired = checker.retired(direction, id);
                        let own = matches!(kind, Kind::Reply { request } if retired == Some(request));
                        let correlation = if own { correlation } else { Correlation::default() };
                        checker.reply_correlated(direction, id, message, correlation)
                    }
                }
            }
        };
        let is_own = direction == Direction::Send && self.about.is_none();
        let ended = judged.as_ref().ok().filter(|step| is_own && step.kind == ENDED);
        assert_eq!(foretold, ended.and_then(|step| step.sub_session), "`would_end` is what happens");
        let step = judged?;
        let announces = protocol
            .announcements
            .iter()
            .any(|announced| announced.side == self.from && announced.message == Some(message));
        // What is late announces all the same: its sender has said it.
        if announces {
            let granted = Capabilities::from_gates(self.grants.iter().copied());
            checker.announced(self.from, message, granted);
        }
        Ok(step)
    }

    /// As one line of JSON-RPC, with the name of the message behind it. Capabilities are the numbers of their gates.
    pub(crate) fn show(&self, protocol: &Protocol) -> String {
        let table = protocol.message(self.message).unwrap();
        let arrow = if self.from == Side::Client { "client →" } else { "server →" };
        let mut parts = Vec::new();
        if let Some(id) = &self.id {
            parts.push(format!("\"id\":{id}"));
        }
        match table.kind {
            Kind::Request | Kind::Notification => parts.push(format!("\"method\":{:?}", table.method)),
            Kind::Reply { .. } => parts.push("\"result\":{}".to_owned()),
            Kind::Refusal { .. } => parts.push("\"error\":{}".to_owned()),
        }
        for (name, value) in [("about", &self.about), ("token", &self.token)] {
            parts.extend(value.iter().map(|value| format!("\"{name}\":{value}")));
        }
        if self.urgent {
            parts.push("\"urgent\":true".to_owned());
        }
        if self.logs {
            parts.push("\"logs\":true".to_owned());
        }
        for (key, value) in &self.keys {
            parts.push(format!("{:?}:{value}", protocol.key(*key).unwrap().name));
        }
        if !self.grants.is_empty() {
            let gates: Vec<u16> = self.grants.iter().map(|gate| gate.0).collect();
            parts.push(format!("\"capabilities\":{gates:?}"));
        }
        format!("{arrow} {{{}}}  -- {}", parts.join(","), table.name)
    }

    /// The message that [`Event::show`] has written.
    pub(crate) fn read(line: &str, protocol: &Protocol) -> Result<Event, String> {
        let wrong = |what: &str| format!("{what} in `{line}`");
        let (said, name) = line.rsplit_once("  -- ").ok_or_else(|| wrong("no name of a message"))?;
        let (from, fields) = said.split_once(" → ").ok_or_else(|| wrong("no sender"))?;
        let from = if from == "client" { Side::Client } else { Side::Server };
        let named = protocol.indexed().find(|(_, table)| table.name == name);
        let (message, table) = named.ok_or_else(|| wrong("an unknown name"))?;
        let mut fields: serde_json::Map<_, _> =
            serde_json::from_str(fields).map_err(|error| wrong(&error.to_string()))?;
        let mut id = |name: &str| match fields.remove(name)? {
            Value::String(text) => Some(RequestId::from(text)),
            number => number.as_i64().map(RequestId::from),
        };
        let mut event = Event::new(from, message);
        (event.id, event.about, event.token) = (id("id"), id("about"), id("token"));
        for key in table.keys.iter().map(|key| key.key) {
            let value = id(&protocol.key(key).unwrap().name);
            event.keys.extend(value.map(|value| (key, value)));
        }
        event.urgent = fields.remove("urgent").is_some();
        event.logs = fields.remove("logs").is_some();
        let grants = fields.remove("capabilities").unwrap_or_default();
        let numbers = grants.as_array().into_iter().flatten().filter_map(Value::as_u64);
        event.grants = numbers.filter_map(|number| Some(GateIndex(u16::try_from(number).ok()?))).collect();
        fields.retain(|name, _| !["method", "result", "error"].contains(&name.as_str()));
        if fields.is_empty() { Ok(event) } else { Err(wrong(&format!("unknown fields {fields:?}"))) }
    }
}

/// The name of what is wrong with a message, without what belongs to it.
pub(crate) fn kind_of(violation: &Violation) -> String {
    let kind = format!("{:?}", violation.kind);
    kind.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}

/// The keys of a message that are in the field of another one, each with the first one in that field.
pub(crate) fn keys_in_one_field(message: &Message) -> impl Iterator<Item = (KeyIndex, KeyIndex)> {
    message.keys.iter().enumerate().filter_map(|(at, key)| {
        let first = message.keys.iter().take(at).find(|other| other.place == key.place)?;
        Some((key.key, first.key))
    })
}
