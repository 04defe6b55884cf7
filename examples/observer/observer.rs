//! An observer in the middle: it reads JSON, and the checker judges.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{
    Condition, Direction, KeyIndex, KeyPlace, MessageIndex, Path, Protocol, Side, Text,
};
use mcp_protocol_machine::{
    About, Awaiting, Capabilities, Checker, Correlation, KeyValue, Lookup, RequestId, Said, Step, StepKind,
    TableError, Violation,
};
use serde_json::Value;

/// Follows a session from the middle, by the machine of the server's role.
pub struct Observer {
    checker: Checker,
    lookup: Lookup,
    protocol: Arc<Protocol>,
    /// The revisions that may govern the session once its version is known.
    revisions: Vec<&'static Protocol>,
}

impl Observer {
    /// Returns an observer of a session from its first message on.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub fn new(protocol: Protocol, revisions: &[&'static Protocol]) -> Result<Observer, TableError> {
        let protocol = Arc::new(protocol);
        Ok(Observer {
            checker: Checker::new(protocol.clone(), Side::Server)?,
            lookup: Lookup::new(&protocol),
            protocol,
            revisions: revisions.to_vec(),
        })
    }

    /// Returns the state of the session.
    pub fn state(&self) -> String {
        self.checker.state_names()
    }

    /// Judges what one side has sent. Returns what is wrong with it: nothing, if it follows the protocol.
    pub fn observe(&mut self, sender: Side, text: &[u8]) -> Vec<String> {
        match serde_json::from_slice(text) {
            Ok(Value::Array(batch)) if self.protocol.batch => {
                batch.iter().flat_map(|message| self.message(sender, message)).collect()
            }
            Ok(message) => self.message(sender, &message),
            Err(error) => vec![format!("this is not JSON: {error}")],
        }
    }

    fn message(&mut self, sender: Side, message: &Value) -> Vec<String> {
        if let Some(malformed) = malformed(message) {
            if let Some(id) = id_of(&message["id"]) {
                // Remembers the id, so that the error that answers the message is not a second mistake.
                let _ = self.checker.unknown_method(direction(sender), Some(&id), "");
            }
            return vec![malformed.to_owned()];
        }
        let id = id_of(&message["id"]);
        let judged = match (message["method"].as_str(), &id) {
            (Some(method), _) => {
                self.request_or_notification(sender, method, id.as_ref(), &message["params"])
            }
            (None, Some(id)) => self.reply(sender, id, message.get("result")),
            // The error that answers what cannot be read has no id that could be named.
            (None, None) => return Vec::new(),
        };
        match judged {
            Ok(Step { kind: StepKind::Late(_), .. }) => vec!["this is late, and is dropped".to_owned()],
            Ok(step) => step.advice.iter().map(Violation::to_string).collect(),
            Err(violation) => vec![violation.to_string()],
        }
    }

    fn request_or_notification(
        &mut self,
        sender: Side,
        method: &str,
        id: Option<&RequestId>,
        params: &Value,
    ) -> Result<Step, Violation> {
        let direction = direction(sender);
        let applies = |condition: &Condition| holds(condition, params);
        let candidates = match id {
            Some(_) => self.lookup.requests(method),
            None => self.lookup.notifications(method),
        };
        // Without its capability, a message that a condition distinguishes does not exist.
        let exists = |message: MessageIndex| self.checker.gates_open(direction, message, applies);
        let Some(message) = self.pick(candidates, params, exists) else {
            return match candidates.first() {
                Some(any) => self.checker.fits_none(direction, *any, id),
                None => self.checker.unknown_method(direction, id, method),
            };
        };
        let keys = self.keys(message, id, params);
        let announces = id.map(|_| self.announces(direction, message, params));
        let (grants, revokes) = self.changes(direction, message, params);
        let correlation = Correlation::keys(&keys)
            .announcing(announces.as_ref())
            .changing(grants.as_ref(), revokes.as_ref());
        let step = match id {
            Some(id) => {
                let token = self.token(params);
                self.checker.request_correlated(direction, message, id, token, correlation, applies)
            }
            None => {
                let table = self.protocol.message(message);
                let named = |path| id_of(at(params, path));
                let cancels = table.and_then(|table| table.cancels.as_ref());
                let cancelled = cancels.and_then(|cancels| named(&cancels.id));
                let token = table.and_then(|table| table.reports.as_ref()).and_then(|it| named(&it.token));
                let about = match (&cancelled, &token) {
                    (Some(id), _) => About::Request(id),
                    (None, Some(token)) => About::Token(token),
                    (None, None) => About::Nothing,
                };
                self.checker.notification_correlated(direction, message, about, correlation, applies)
            }
        }?;
        self.note_announcements(message, params);
        Ok(step)
    }

    fn reply(&mut self, sender: Side, id: &RequestId, result: Option<&Value>) -> Result<Step, Violation> {
        let direction = direction(sender);
        let Awaiting::Request(request) = self.checker.awaiting(direction, id) else {
            return self.checker.stray_reply(direction, id);
        };
        let (replies, refusal) = (self.lookup.replies(request), self.lookup.refusal(request));
        let found = match result {
            Some(result) => self.pick(replies, result, |_| true),
            None => refusal,
        };
        let Some(reply) = found else {
            let any = replies.first().copied().unwrap_or(request);
            return self.checker.fits_none(direction, any, Some(id));
        };
        let payload = result.unwrap_or(&Value::Null);
        let keys = self.keys(reply, None, payload);
        let step = self.checker.reply_correlated(direction, id, reply, Correlation::keys(&keys))?;
        self.note_announcements(reply, payload);
        Ok(step)
    }

    /// Of several messages the first whose condition holds, or else the one without a condition.
    fn pick(
        &self,
        candidates: &[MessageIndex],
        payload: &Value,
        exists: impl Fn(MessageIndex) -> bool,
    ) -> Option<MessageIndex> {
        let condition = |message: &MessageIndex| self.protocol.message(*message)?.condition.as_ref();
        let chosen = candidates.iter().find(|message| {
            condition(message).is_some_and(|condition| holds(condition, payload)) && exists(**message)
        });
        chosen.or_else(|| candidates.iter().find(|message| condition(message).is_none())).copied()
    }

    /// The values of the correlation keys that a message carries.
    fn keys(
        &self,
        message: MessageIndex,
        id: Option<&RequestId>,
        payload: &Value,
    ) -> Vec<(KeyIndex, KeyValue)> {
        let carried = self.protocol.message(message).map(|table| &*table.keys).unwrap_or_default();
        let value = |place: &KeyPlace| match place {
            KeyPlace::Path(path) => id_of(at(payload, path)),
            KeyPlace::Id => id.cloned(),
        };
        carried.iter().filter_map(|key| Some((key.key, value(&key.place)?))).collect()
    }

    /// The token that notifications about a request will carry.
    fn token(&self, params: &Value) -> Option<RequestId> {
        let reports = self.protocol.messages.iter().filter_map(|message| message.reports.as_ref());
        reports.flat_map(|reports| reports.of.iter()).find_map(|path| id_of(at(params, path)))
    }

    /// What a message grants to its sender, and what it revokes.
    fn changes(
        &self,
        direction: Direction,
        message: MessageIndex,
        params: &Value,
    ) -> (Option<Capabilities>, Option<Capabilities>) {
        let Some(table) = self.protocol.message(message) else { return (None, None) };
        let side = self.checker.side();
        let side = if direction == Direction::Send { side } else { side.other() };
        let named = |path: &Option<Path>| {
            let mut names = Vec::new();
            texts(params, path.as_ref()?, &mut names);
            Some(Capabilities::named(&self.protocol, side, names))
        };
        (named(&table.grants), named(&table.revokes))
    }

    /// What a request grants for as long as it runs: what it announces, where each request of its sender does that, and
    /// what is permitted during it.
    fn announces(&self, direction: Direction, request: MessageIndex, params: &Value) -> Capabilities {
        let side = self.checker.side();
        let side = if direction == Direction::Send { side } else { side.other() };
        let mut places = self.protocol.announcements.iter();
        let place = places.find(|place| place.side == side && place.message.is_none());
        let announced = place.map(|place| {
            let capabilities = at(params, &place.path);
            Capabilities::announced(&self.protocol, place, |path| said(at(capabilities, path)))
        });
        let during: Capabilities =
            self.protocol.granted_during(request, |condition| holds(condition, params)).collect();
        announced.map_or(during.clone(), |announced| announced.join(&during))
    }

    /// Takes the capabilities and the version that a message announces.
    fn note_announcements(&mut self, message: MessageIndex, payload: &Value) {
        let protocol = self.protocol.clone();
        for announcement in protocol.announcements.iter().filter(|place| place.message == Some(message)) {
            let capabilities = at(payload, &announcement.path);
            let granted =
                Capabilities::announced(&protocol, announcement, |path| said(at(capabilities, path)));
            self.checker.announced(announcement.side, message, granted);
        }
        let version = protocol.version_field.as_ref().filter(|field| field.message == message);
        let version = version.and_then(|field| at(payload, &field.path).as_str());
        let older = |revision: &&&Protocol| revision.version.as_deref() == version;
        if let Some(revision) = self.revisions.iter().find(older)
            && version.is_some()
        {
            self.protocol = Arc::new(protocol.governed_by(revision));
            self.lookup = Lookup::new(&self.protocol);
            self.checker.govern(self.protocol.clone());
        }
    }
}

/// What keeps a JSON value from being a JSON-RPC message.
fn malformed(message: &Value) -> Option<&'static str> {
    let (id, has_id) = (&message["id"], message.get("id").is_some());
    match message.get("method") {
        Some(method) if !method.is_string() => Some("`method` must be a string"),
        Some(_) if has_id && id_of(id).is_none() => Some("`id` must be a string or a whole number"),
        Some(_) => None,
        None if message.get("result").is_some() == message.get("error").is_some() => {
            Some("this is not a JSON-RPC message: it has no `method`, and not one of `result` and `error`")
        }
        None if id_of(id).is_none() && message.get("error").is_none() => Some("this result has no `id`"),
        None => None,
    }
}

/// Directions are those of the server, whose machine is followed.
fn direction(sender: Side) -> Direction {
    match sender {
        Side::Client => Direction::Receive,
        Side::Server => Direction::Send,
    }
}

/// The texts at a path that goes into each element of the lists that it meets.
fn texts<'v>(value: &'v Value, path: &[Text], into: &mut Vec<&'v str>) {
    match (value, path.split_first()) {
        (Value::Array(all), _) => all.iter().for_each(|one| texts(one, path, into)),
        (Value::String(text), None) => into.push(text),
        (value, Some((key, rest))) => texts(&value[&**key], rest, into),
        _ => {}
    }
}

/// The value at a path; `null` if there is none.
fn at<'v>(value: &'v Value, path: &[Text]) -> &'v Value {
    path.iter().fold(value, |value, key| &value[&**key])
}

/// The id, token or key value that a JSON value is.
fn id_of(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(RequestId::from(text.as_str())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        _ => None,
    }
}

fn holds(condition: &Condition, payload: &Value) -> bool {
    let value = at(payload, &condition.path);
    match &condition.literal {
        Some(literal) => value.as_str() == Some(&**literal),
        None => !matches!(value, Value::Null | Value::Bool(false)),
    }
}

/// What an announcement says at one place.
fn said(value: &Value) -> Said {
    match value {
        Value::Null => Said::Nothing,
        Value::Bool(false) => Said::No,
        Value::Bool(true) | Value::Number(_) | Value::String(_) => Said::Bare,
        Value::Object(parts) if parts.values().all(Value::is_null) => Said::Bare,
        _ => Said::Parts,
    }
}
