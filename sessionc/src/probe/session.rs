//! One session with a server: what is sent and heard, and what the protocol says of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::protocol::{
    Action, Dialect, Direction, Kind, Message, MessageIndex, Origin, Payload, Protocol, Side, StateKind,
};
use mcp_protocol_machine::{Excerpt, RequestId, StepKind};
use mcp_runtime::Report;
use mcp_runtime::observer::{Observed, ObservedKind, Observer};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::connection::Connection;
use super::connection::arrival::{Arrival, Ending, Rejection};
use super::head::Head;
use super::payload::{Keys, Payloads};
use super::unprompted::{Stray, note};
use crate::other_type;
use crate::unknown_revision;

/// How many texts may come that are not messages. A server that prints without end would be listened to without end.
const MOST_UNREADABLE: usize = 1_000;
/// How many messages of a server a session takes. One that sends without end would be listened to without end.
const MOST_MESSAGES: usize = 10_000;
/// How long a server may take to end a session.
const GRACE: Duration = Duration::from_secs(1);

/// A session with a server under test. The observer has seen exactly what was sent, and what has come.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    observer: Observer,
    payloads: Arc<Payloads>,
    keys: Keys,
    last_id: i64,
    /// Over HTTP, what was sent and has no complete answer.
    unfinished: BTreeSet<u64>,
    /// Over streams, how many notifications the server may still complain of with an error that has no id.
    complaints: usize,
    /// Whether anything has come.
    has_heard: bool,
    /// How many messages and other texts have come.
    taken: usize,
    /// What is wrong with the content type of the first HTTP answer that has another one.
    mistake_of_kind: Option<String>,
    /// How many texts have come that are not messages.
    unreadable: usize,
    /// The first of them.
    first_unreadable: Option<UnreadableText>,
    /// The last request that was sent as the protocol has it.
    last_request: Vec<u8>,
    /// The number of the last sending.
    last_number: u64,
    /// The number of the sending that is the offence.
    offence: Option<u64>,
    strays: Vec<Stray>,
    /// What there is to say of the revision that the server has announced, if it is not known.
    unknown_revision: Option<String>,
}

/// A text that is not a message.
#[derive(Clone, Debug)]
pub(crate) struct UnreadableText {
    /// Its beginning.
    pub(crate) text: String,
    /// What is wrong with it, if it is JSON.
    pub(crate) problem: Option<String>,
}

impl UnreadableText {
    fn new(bytes: &[u8], observed: &[Observed]) -> UnreadableText {
        let is_json = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
        let problem = observed.iter().flat_map(|one| &one.reports).find_map(|report| match report {
            Report::Malformed { error, .. } => Some(error.message.clone()),
            _ => None,
        });
        let text = Excerpt(&String::from_utf8_lossy(bytes.trim_ascii())).to_string();
        UnreadableText { text, problem: problem.filter(|_| is_json) }
    }
}

/// What is left of a session that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The end of what the server has written on its standard error.
    pub(crate) written: String,
    /// What the server has sent that the protocol does not permit.
    pub(crate) strays: Vec<Stray>,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The number of the sending.
    pub(crate) number: u64,
    /// The id, if it is a request.
    pub(crate) id: Option<Value>,
    pub(crate) method: String,
    /// What the protocol says of it.
    pub(crate) observed: Vec<Observed>,
}

/// What has come.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message, and what the protocol says of it.
    Message(Value, Box<Observed>),
    /// The HTTP answer to a sending is complete.
    Finished(u64),
    /// The HTTP answer to a sending has a status that is not a success.
    Rejected(u64, Rejection),
    /// The request that was sent last, as it was sent.
    Echo,
    /// Nothing more comes.
    Ended(Ending),
    /// Nothing has come until the deadline.
    Nothing,
}

/// What the client can do to find out whether the server still works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Send this request, which is permitted.
    Ask(MessageIndex),
    /// Send this notification, after which requests are permitted.
    Proceed(MessageIndex),
    /// Wait for a reply of the server.
    Wait,
    /// There is nothing to send.
    Nothing,
}

impl Session {
    pub(crate) fn new(connection: Connection, observer: Observer, payloads: Arc<Payloads>) -> Session {
        Session {
            connection,
            observer,
            payloads,
            keys: Keys::new(),
            last_id: 0,
            unfinished: BTreeSet::new(),
            complaints: 0,
            has_heard: false,
            unreadable: 0,
            taken: 0,
            mistake_of_kind: None,
            first_unreadable: None,
            last_request: Vec::new(),
            last_number: 0,
            offence: None,
            strays: Vec::new(),
            unknown_revision: None,
        }
    }

    /// From here on, a message whose payload does not have its shape is one that is not permitted.
    pub(crate) fn refuse_misshapen(self) -> Session {
        Session { observer: self.observer.refuse_misshapen(), ..self }
    }

    /// What is sent next is the offence.
    pub(crate) fn begin_offence(&mut self) {
        self.offence = Some(self.last_number + 1);
    }

    /// Whether what comes may follow from the offence. Over HTTP it does not, where it is the answer to what was sent before.
    fn may_follow_from_offence(&self, number: u64) -> bool {
        self.offence.is_some_and(|offence| !self.is_http() || number >= offence)
    }

    /// The tables of the revision that governs.
    pub(crate) fn protocol(&self) -> &Protocol {
        self.observer.protocol()
    }

    pub(crate) fn state(&self) -> String {
        self.observer.state()
    }

    /// Whether the session has come to its end: its linear channels have ended. What is replicated may go on until the
    /// server exits.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(role) = self.protocol().role(Side::Server) else { return false };
        let here = self.observer.states().iter();
        let states = here.filter_map(|index| role.states.get(usize::try_from(index.0).ok()?));
        let kinds: Vec<StateKind> = states.map(|state| state.kind).collect();
        kinds.contains(&StateKind::End) && !kinds.contains(&StateKind::Linear)
    }

    /// What to do about a reply that has the id of its request as a text instead of a number, or the other way round.
    pub(crate) fn hint_of_other_type(&self, reply: &Observed) -> Option<String> {
        other_type::hint_for(&self.observer, reply, reply.violation()?)
    }

    pub(crate) fn is_http(&self) -> bool {
        self.connection.is_http()
    }

    /// What there is to say of the revision that the server has announced, if it is not known.
    pub(crate) fn unknown_revision(&self) -> Option<&str> {
        self.unknown_revision.as_deref()
    }

    /// Whether the server has said anything.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard
    }

    /// What the client may send now.
    pub(crate) fn permitted(&self) -> Vec<MessageIndex> {
        self.observer.permitted(Side::Client)
    }

    /// What the messages of this session have said of the keys.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn payloads(&self) -> &Payloads {
        &self.payloads
    }

    /// An id that this session has not used.
    pub(crate) fn new_id(&mut self) -> Value {
        self.last_id += 1;
        Value::from(self.last_id)
    }

    /// The first id that this session has used, if its request has its reply.
    pub(crate) fn used_id(&self) -> Option<Value> {
        let first = RequestId::Number(1);
        let is_running =
            [Side::Client, Side::Server].iter().any(|it| self.observer.awaited(*it, &first).is_some());
        (self.last_id > 0 && !is_running).then(|| Value::from(1))
    }

    /// Whether all that was sent has its answer, over HTTP.
    pub(crate) fn is_settled(&self) -> bool {
        self.unfinished.is_empty()
    }

    /// Whether nothing more comes over HTTP until something is sent: all answers are complete, and no other stream is
    /// open.
    pub(crate) fn hears_no_more(&self) -> bool {
        self.is_http() && self.is_settled() && !self.connection.has_stream()
    }

    /// A notification was sent on the way to a state: the server may complain of it.
    pub(crate) fn expect_complaint(&mut self) {
        // Over HTTP it would be the answer to the notification.
        self.complaints += usize::from(!self.is_http());
    }

    /// Whether an error without an id is about a notification of the way. Each is complained of once.
    pub(crate) fn explains(&mut self, message: &Value) -> bool {
        let is_explained = self.complaints > 0 && is_complaint(message);
        self.complaints -= usize::from(is_explained);
        is_explained
    }

    /// The server has answered a request, so what it says of the notifications before has come.
    pub(crate) fn has_caught_up(&mut self) {
        self.complaints = 0;
    }

    /// A request that is permitted and leaves the session where it is, if the server may still complain of a notification.
    pub(crate) fn catching_up(&self) -> Option<MessageIndex> {
        match self.question() {
            Question::Ask(message) if self.complaints > 0 && !self.leads_on(message) => Some(message),
            _ => None,
        }
    }

    /// Sends a request or a notification, with params that are made for it.
    pub(crate) fn send(&mut self, message: MessageIndex) -> Option<Sent> {
        let params = self.payloads.params(message, &self.keys);
        self.send_with(message, params)
    }

    /// Sends a request or a notification with these params.
    pub(crate) fn send_with(&mut self, message: MessageIndex, params: Option<Value>) -> Option<Sent> {
        let table = self.protocol().message(message)?;
        let (method, is_request) = (Payloads::method(table), table.kind == Kind::Request);
        let id = is_request.then(|| self.new_id());
        let members = self.payloads.members(message, &self.keys);
        let text = written(self.protocol(), id.as_ref(), &method, params.as_ref(), &members);
        let payloads = Arc::clone(&self.payloads);
        payloads.note_keys(message, id.as_ref(), params.as_ref(), &mut self.keys);
        let bytes = text.into_bytes();
        if is_request {
            self.last_request.clone_from(&bytes);
        }
        let mut sent = self.send_bytes(bytes, None);
        sent.id = id;
        sent.method = method;
        Some(sent)
    }

    /// Sends a permitted request in a way that is not; nothing where that cannot be wrong.
    pub(crate) fn send_wrong(&mut self, message: MessageIndex, head: Head) -> Option<Sent> {
        let method = Payloads::method(self.protocol().message(message)?);
        let mut params = self.payloads.params(message, &self.keys);
        head.change_params(self.protocol(), &mut params);
        let id = self.new_id();
        let members = self.payloads.members(message, &self.keys);
        let text = written(self.protocol(), Some(&id), &method, params.as_ref(), &members).into_bytes();
        if !self.connection.can_change(&text, head) {
            return None;
        }
        // What is refused for its head has moved nothing.
        let number = self.connection.send_with_head(text, None, Some(head));
        self.last_number = number;
        if self.is_http() {
            self.unfinished.insert(number);
        }
        Some(Sent { number, id: Some(id), method, observed: Vec::new() })
    }

    /// Sends bytes, whatever they are; over HTTP with the head that a message has.
    pub(crate) fn send_bytes(&mut self, bytes: Vec<u8>, like: Option<&str>) -> Sent {
        let observed = self.observer.observe(Side::Client, &bytes);
        let number = self.connection.send_with_head(bytes, like, None);
        self.last_number = number;
        if self.is_http() {
            self.unfinished.insert(number);
        }
        Sent { number, id: None, method: String::new(), observed }
    }

    /// Waits for what comes next, until a deadline. Requests of the server are answered.
    pub(crate) async fn hear(&mut self, deadline: Instant) -> Vec<Heard> {
        match timeout_at(deadline, self.connection.receive()).await {
            Err(_) => vec![Heard::Nothing],
            Ok(Arrival::Message(number, bytes)) => {
                self.has_heard = true;
                self.take(number, &bytes)
            }
            Ok(Arrival::OtherKind(number, mistake)) => {
                let is_after = self.may_follow_from_offence(number);
                self.mistake_of_kind.get_or_insert_with(|| mistake.clone());
                note(&mut self.strays, Stray::of_kind(mistake, is_after));
                Vec::new()
            }
            Ok(Arrival::Finished(number)) => {
                self.has_heard = true;
                self.unfinished.remove(&number);
                vec![Heard::Finished(number)]
            }
            Ok(Arrival::Rejected(number, rejection)) => {
                self.has_heard = true;
                self.unfinished.remove(&number);
                vec![Heard::Rejected(number, rejection)]
            }
            Ok(Arrival::Ended(ending)) => vec![Heard::Ended(ending)],
        }
    }

    fn take(&mut self, number: u64, bytes: &[u8]) -> Vec<Heard> {
        self.taken += 1;
        if self.taken > MOST_MESSAGES {
            return vec![Heard::Ended(Ending::Flooded(MOST_MESSAGES))];
        }
        // An answer to it would come back as well.
        if self.is_echo(bytes) {
            return vec![Heard::Echo];
        }
        let observed = self.observer.observe(Side::Server, bytes);
        if matches!(observed.as_slice(), [Observed { kind: ObservedKind::Malformed, .. }]) {
            self.unreadable += 1;
            self.first_unreadable.get_or_insert_with(|| UnreadableText::new(bytes, &observed));
            if self.unreadable > MOST_UNREADABLE {
                let line = String::from_utf8_lossy(bytes.trim_ascii());
                let problem = format!(
                    "more than {MOST_UNREADABLE} texts that are not messages, such as `{}`",
                    Excerpt(&line)
                );
                return vec![Heard::Ended(Ending::Unreadable(problem))];
            }
        }
        let unknown = observed.iter().flat_map(|one| &one.reports).find_map(|report| match report {
            Report::NegotiationFailed { error } => unknown_revision::of_error(error),
            _ => None,
        });
        self.unknown_revision = unknown.map(unknown_revision::sentence).or(self.unknown_revision.take());
        if let Some(version) = self.observer.version() {
            self.connection.note_version(&version);
        }
        let values = match serde_json::from_slice(bytes) {
            Ok(Value::Array(values)) if observed.len() == values.len() => values,
            Ok(value) => vec![value],
            Err(_) => vec![Value::Null],
        };
        let is_after = self.may_follow_from_offence(number);
        let heard = values.into_iter().zip(observed).map(|(value, observed)| {
            if let Some(stray) = Stray::of(&value, &observed, is_after) {
                note(&mut self.strays, stray);
            }
            match observed.kind {
                ObservedKind::Request => self.answer(&value, &observed),
                // The answer to a request is the last message of its stream.
                ObservedKind::Result | ObservedKind::Error => drop(self.unfinished.remove(&number)),
                _ => {}
            }
            if let Some(message) = observed.message {
                let payload = value.get("params").or_else(|| value.get("result"));
                let payloads = Arc::clone(&self.payloads);
                payloads.note_keys(message, value.get("id"), payload, &mut self.keys);
            }
            Heard::Message(value, Box::new(observed))
        });
        heard.collect()
    }

    /// Whether these are the bytes of the last request. Those of a request that either side may send can be the same.
    fn is_echo(&self, bytes: &[u8]) -> bool {
        let is_own = |request| {
            let table = self.protocol().message(request);
            table.is_none_or(|table| !table.answered)
        };
        bytes.trim_ascii() == self.last_request
            && self.observer.request_of(Side::Client, bytes).is_some_and(|(request, _)| is_own(request))
    }

    /// Answers a request of the server: what the protocol answers by itself, and else with a refusal.
    fn answer(&mut self, request: &Value, observed: &Observed) {
        let is_answered = observed.message.and_then(|message| self.protocol().message(message));
        let is_answered = is_answered.is_some_and(|table| table.answered);
        let mut reply = json!({ "id": request.get("id") });
        match is_answered {
            true => set(&mut reply, "result", json!({})),
            false => set(
                &mut reply,
                "error",
                json!({ "code": -32601, "message": "the probe answers no requests" }),
            ),
        }
        // A reply has the members of its request.
        let asked = observed.message.and_then(|message| self.protocol().message(message));
        for (_, name) in asked.into_iter().flat_map(Message::member_keys) {
            request.get(&**name).into_iter().for_each(|value| set(&mut reply, name, value.clone()));
        }
        complete(self.protocol(), &mut reply);
        let bytes = reply.to_string().into_bytes();
        self.observer.observe(Side::Client, &bytes);
        self.last_number = self.connection.send(bytes);
    }

    /// What the client can do to find out whether the server works.
    pub(crate) fn question(&self) -> Question {
        self.question_without(&BTreeSet::new())
    }

    /// The same without messages that the server is known not to answer.
    pub(crate) fn question_without(&self, unanswered: &BTreeSet<MessageIndex>) -> Question {
        let permitted = self.permitted();
        let protocol = self.protocol();
        let of_kind = |kind: Kind| {
            let messages = permitted.iter().filter(|index| !unanswered.contains(index));
            let messages = messages.filter_map(|index| Some((*index, protocol.message(*index)?)));
            messages.filter(move |(_, table)| table.kind == kind)
        };
        // Over HTTP, the request that opens the session comes before those that may come at any time.
        let opens = |index: MessageIndex| !self.connection.lacks_session() || self.leads_on(index);
        let cheapest =
            of_kind(Kind::Request).min_by_key(|(index, table)| (!opens(*index), self.price(table), *index));
        if let Some((index, _)) = cheapest {
            return Question::Ask(index);
        }
        if self.observer.running(Side::Client).next().is_some() || !self.is_settled() {
            return Question::Wait;
        }
        of_kind(Kind::Notification)
            .find(|(index, _)| self.leads_on(*index))
            .map_or(Question::Nothing, |(index, _)| Question::Proceed(index))
    }

    /// A request that the server answers by itself is cheapest, then one whose params are known to be good.
    fn price(&self, table: &Message) -> usize {
        match table.payload {
            _ if table.answered => 0,
            _ if self.payloads.has_sample(table) => 1,
            Payload::None | Payload::Null => 2,
            Payload::Optional => 3,
            Payload::Required => 4,
        }
    }

    /// Whether a message leads to another state, and not to the end.
    fn leads_on(&self, message: MessageIndex) -> bool {
        let Some(role) = self.protocol().role(Side::Server) else { return false };
        let state = self.state();
        let states = role.states.iter().filter(|table| state.split(" and ").any(|name| name == table.name));
        let mut edges = states.flat_map(|table| table.edges.iter());
        edges.any(|edge| {
            let leads_on = matches!(edge.action, Action::Step(next)
                if role.state(next).is_some_and(|next| next.kind != StateKind::End));
            edge.message == message
                && edge.direction == Direction::Receive
                && edge.origin == Origin::Written
                && leads_on
        })
    }

    /// What is wrong with the content type of an HTTP answer, if one has another than answers have.
    pub(crate) fn mistake_of_kind(&self) -> Option<&str> {
        self.mistake_of_kind.as_deref()
    }

    /// The first text that has come and is not a message.
    pub(crate) fn first_unreadable(&self) -> Option<&UnreadableText> {
        self.first_unreadable.as_ref()
    }

    /// Closes the input of a server over streams, and returns whether it replies then: it has held the reply back, or its line
    /// has no end.
    pub(crate) async fn replies_at_the_end(&mut self) -> bool {
        if self.is_http() {
            return false;
        }
        let deadline = Instant::now() + GRACE;
        self.connection.close();
        loop {
            for heard in self.hear(deadline).await {
                match heard {
                    Heard::Message(_, observed) if observed.kind == ObservedKind::Result => return true,
                    Heard::Ended(_) | Heard::Nothing => return false,
                    _ => {}
                }
            }
        }
    }

    /// Ends the session, and takes what the server still says then.
    pub(crate) async fn end(mut self) -> Ended {
        let deadline = Instant::now() + GRACE;
        self.connection.close();
        loop {
            let heard = self.hear(deadline).await;
            if heard.iter().any(|heard| matches!(heard, Heard::Ended(_) | Heard::Nothing)) {
                break;
            }
        }
        Ended { written: self.connection.end(deadline).await, strays: self.strays }
    }
}

impl Sent {
    /// Why the protocol does not permit what was sent, or advises against it.
    pub(crate) fn problem(&self) -> Option<String> {
        self.observed.iter().flat_map(|observed| &observed.reports).map(ToString::to_string).next()
    }

    /// Whether what was sent has moved a session.
    pub(crate) fn is_accepted(&self) -> bool {
        let dropped = |observed: &Observed| observed.step.is_none_or(StepKind::is_dropped);
        !self.observed.iter().any(dropped)
    }
}

/// Whether a message is an error without an id.
pub(crate) fn is_complaint(message: &Value) -> bool {
    message.get("error").is_some()
        && message.get("method").is_none()
        && message.get("id").is_none_or(Value::is_null)
}

/// A request or a notification as text.
pub(crate) fn written(
    protocol: &Protocol,
    id: Option<&Value>,
    method: &str,
    params: Option<&Value>,
    members: &[(String, Value)],
) -> String {
    let mut message = json!({ "method": method });
    for (name, value) in members {
        set(&mut message, name, value.clone());
    }
    if let Some(id) = id {
        set(&mut message, "id", id.clone());
    }
    if let Some(params) = params {
        set(&mut message, "params", params.clone());
    }
    complete(protocol, &mut message);
    message.to_string()
}

/// Adds what each message of the protocol has.
pub(crate) fn complete(protocol: &Protocol, message: &mut Value) {
    let missing = match (protocol.dialect, message.get("method")) {
        (Dialect::Standard, _) => vec![("jsonrpc", json!("2.0"))],
        (Dialect::WithoutJsonrpc, _) => Vec::new(),
        (Dialect::Version1, Some(_)) => vec![("id", Value::Null), ("params", json!([]))],
        (Dialect::Version1, None) => vec![("result", Value::Null), ("error", Value::Null)],
    };
    for (key, value) in missing {
        if message.get(key).is_none() {
            set(message, key, value);
        }
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}
