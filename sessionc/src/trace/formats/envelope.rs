//! What stands around a message in a line: who has sent it, in which session, and what a guard says of it.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_runtime::observer::{JsonReader, JsonValue, MessageText};
use mcp_runtime::protocol::Side;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{Broken, LogReader, Place, Record, RecordKind, Sender};
use super::said_around::SaidAround;

/// What stands around a message. Programs that record traffic have different names for the same members.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct Envelope<'a> {
    #[serde(borrow, default, alias = "direction", alias = "from", alias = "sender")]
    dir: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "message", alias = "payload")]
    msg: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "sessionId", alias = "session_id")]
    session: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stream: Option<&'a RawValue>,
    #[serde(borrow, default)]
    base64: Option<&'a RawValue>,
    #[serde(borrow, default)]
    by: Option<&'a RawValue>,
    #[serde(borrow, default)]
    not_received: Option<&'a RawValue>,
    #[serde(borrow, default)]
    begins: Option<&'a RawValue>,
    #[serde(borrow, default)]
    not_recorded: Option<&'a RawValue>,
    #[serde(borrow, default)]
    mistake_of: Option<&'a RawValue>,
    #[serde(borrow, default)]
    exited: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isLSPMessage")]
    is_lsp: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    lsp_type: Option<&'a RawValue>,
}

/// The same, each value as it was read, or, where the line has keys with escapes, as it is written.
#[derive(Default)]
pub(super) struct EnvelopeParts<'a> {
    direction: Option<Part<'a>>,
    message: Option<Part<'a>>,
    session: Option<Part<'a>>,
    /// The number of the stream in which `sessionc guard` has heard the message.
    stream: Option<Part<'a>>,
    /// What few lines have. Most lines need no room for it.
    rare: Option<Box<RareParts<'a>>>,
    /// It has the member by which messages are known, or others that messages have and none that they do not have: what
    /// programs log may have an `id` or a `method`, too.
    pub(super) seems_message: bool,
    /// It has a method and params, and other members: a message without `jsonrpc`, if it has no message in it.
    pub(super) seems_request: bool,
}

/// What only the records of `sessionc guard` and the logs of VS Code have, and few lines of them.
#[derive(Default)]
struct RareParts<'a> {
    /// The bytes of a message that is not UTF-8, as `sessionc guard` records them.
    base64: Option<Part<'a>>,
    /// `guard` for what `sessionc guard` has written.
    by: Option<Part<'a>>,
    not_received: Option<Part<'a>>,
    /// `true` where `sessionc guard` says that a session begins.
    begins: Option<Part<'a>>,
    /// `true` where it says that a message has passed which it has not recorded.
    not_recorded: Option<Part<'a>>,
    /// The side that has made a mistake, in a note that says which.
    mistake_of: Option<Part<'a>>,
    /// The code with which the server has exited.
    exited: Option<Part<'a>>,
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Read(JsonValue<'a>),
    Written(&'a str),
}

impl<'a> Part<'a> {
    fn written(self) -> &'a str {
        match self {
            Part::Read(value) => value.written(),
            Part::Written(written) => written,
        }
    }

    /// A JSON string as text.
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Part::Read(value) => value.text(),
            Part::Written(written) => serde_json::from_str::<JsonText<'_>>(written).ok().map(|text| text.0),
        }
    }

    fn message(self) -> MessageText<'a> {
        match self {
            Part::Read(value) => value.into(),
            Part::Written(written) => written.as_bytes().into(),
        }
    }
}

/// A text, borrowed where it has no escapes.
#[derive(Deserialize)]
pub(super) struct JsonText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl<'a> EnvelopeParts<'a> {
    /// The parts of a line that was read; nothing if it is not an object.
    #[inline(always)]
    pub(super) fn of_value(line: JsonValue<'a>) -> Option<EnvelopeParts<'a>> {
        let mut parts = EnvelopeParts::default();
        let (mut is_lsp, mut lsp_type) = (false, None);
        let (mut is_marked, mut is_alike, mut has_others) = (false, false, false);
        let (mut method, mut has_params, mut has_outcome) = (None, false, false);
        for (key, value) in line.plain_members()? {
            match key {
                "dir" | "direction" | "from" | "sender" => parts.direction = Some(Part::Read(value)),
                "msg" | "message" | "payload" => parts.message = Some(Part::Read(value)),
                "session" | "sessionId" | "session_id" => parts.session = Some(Part::Read(value)),
                "stream" => parts.stream = Some(Part::Read(value)),
                "base64" => parts.rare().base64 = Some(Part::Read(value)),
                "by" => parts.rare().by = Some(Part::Read(value)),
                "not_received" => parts.rare().not_received = Some(Part::Read(value)),
                "begins" => parts.rare().begins = Some(Part::Read(value)),
                "not_recorded" => parts.rare().not_recorded = Some(Part::Read(value)),
                "mistake_of" => parts.rare().mistake_of = Some(Part::Read(value)),
                "exited" => parts.rare().exited = Some(Part::Read(value)),
                "jsonrpc" => is_marked = true,
                "method" => method = Some(value),
                "id" => is_alike = true,
                "result" => (is_alike, has_outcome) = (true, true),
                "params" => has_params = true,
                "error" => has_outcome = true,
                "isLSPMessage" => is_lsp = true,
                "type" => lsp_type = Some(Part::Read(value)),
                _ => has_others = true,
            }
        }
        is_alike |= method.is_some();
        // A program may log an id with the session alone.
        let is_of_session = parts.session.is_none() || method.is_some() || has_outcome;
        let is_plain = !has_others && is_of_session && parts.direction.is_none() && parts.message.is_none();
        parts.seems_message = is_marked || (is_alike && is_plain);
        parts.seems_request = has_params && !parts.seems_message && method.is_some_and(|it| !is_of_http(it));
        if is_lsp {
            parts.direction = parts.direction.or(lsp_type);
        }
        Some(parts)
    }

    #[cold]
    fn rare(&mut self) -> &mut RareParts<'a> {
        self.rare.get_or_insert_default()
    }

    pub(super) fn is_envelope(&self) -> bool {
        self.direction.is_some() && self.message.is_some()
    }

    /// What stands in an envelope in place of a message, as it is written.
    pub(super) fn content(&self) -> Option<&'a str> {
        self.message.filter(|_| self.is_envelope()).map(Part::written)
    }

    /// Whether the member in which a message may stand is a text: it may be what a program logs for people.
    pub(super) fn has_words(&self) -> bool {
        self.message.is_some_and(|message| message.written().starts_with('"'))
    }

    /// What it says of messages in its other members, if it has a direction.
    pub(super) fn said(&self) -> Option<SaidAround> {
        let sender = sender(&self.direction?.text()?)?;
        let session = self.session.filter(|session| session.written() != "null");
        let session = session.map(|session| session.text().unwrap_or(Cow::Borrowed(session.written())));
        Some(SaidAround { sender: Some(sender), session: session.map(Cow::into_owned) })
    }

    /// The parts of a line, with what was read of it.
    #[inline(always)]
    pub(super) fn of(
        line: &'a str,
        value: Option<JsonValue<'a>>,
    ) -> Result<EnvelopeParts<'a>, serde_json::Error> {
        match value.and_then(EnvelopeParts::of_value) {
            Some(parts) => Ok(parts),
            None => EnvelopeParts::of_line(line),
        }
    }

    /// The parts of any other line.
    fn of_line(line: &'a str) -> Result<EnvelopeParts<'a>, serde_json::Error> {
        let envelope: Envelope<'a> = serde_json::from_str(line)?;
        let part = |value: Option<&'a RawValue>| value.map(RawValue::get).map(Part::Written);
        Ok(EnvelopeParts {
            direction: part(envelope.dir.or(envelope.lsp_type.filter(|_| envelope.is_lsp.is_some()))),
            message: part(envelope.msg),
            session: part(envelope.session),
            stream: part(envelope.stream),
            rare: Some(Box::new(RareParts {
                base64: part(envelope.base64),
                by: part(envelope.by),
                not_received: part(envelope.not_received),
                begins: part(envelope.begins),
                not_recorded: part(envelope.not_recorded),
                mistake_of: part(envelope.mistake_of),
                exited: part(envelope.exited),
            })),
            // What else it has is not looked at.
            seems_message: true,
            seems_request: false,
        })
    }
}

/// Whether this is a method of HTTP, as in what servers log of requests: `POST`.
#[cold]
fn is_of_http(method: JsonValue<'_>) -> bool {
    method.text().is_some_and(|method| method.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// Takes the message of an envelope, or the object that has these parts as a message.
#[inline(always)]
pub(super) fn read_parts<'a>(
    place: Place,
    object: impl FnOnce() -> MessageText<'a>,
    parts: &EnvelopeParts<'_>,
    reader: &mut impl LogReader,
) {
    let (Some(direction), Some(message)) = (parts.direction, parts.message) else {
        let (sender, kind) = (Sender::Unsaid, RecordKind::Sent);
        return reader.message(Record { place, sender, session: None, kind, message: object() });
    };
    // Some programs number their sessions.
    let named = parts.session.filter(|session| session.written() != "null");
    let session = named.map(|session| session.text().unwrap_or(Cow::Borrowed(session.written())));
    let session = session.as_deref();
    let rare = parts.rare.as_deref();
    let Some(sender) = direction.text().and_then(|direction| sender(&direction)) else {
        if is_of_inspector(direction, message) {
            return reader.silent(
                "it has entries of MCP Inspector outside of their list: export the messages as a file once more",
            );
        }
        if rare.is_none() && is_of_a_way(direction) && seems_object_of_message(message) {
            // Whatever the way is called, this is not a remark.
            let (sender, kind) = (Sender::Unsaid, RecordKind::Sent);
            return reader.message(Record { place, sender, session, kind, message: message.message() });
        }
        let Some(parts) = rare else { return };
        // Other directions are those of remarks, such as what a server writes on its standard error.
        if let Some(lost) = parts.not_received {
            let (sender, kind) = (Sender::Is(Side::Client), RecordKind::NotReceived);
            reader.message(Record { place, sender, session, kind, message: lost.message() });
        } else if parts.not_recorded.is_some_and(|it| it.written() == "true") {
            let why = message.text().unwrap_or_default();
            let problem = format!("the guard has passed on a message that it has not recorded: {why}");
            reader.broken(Broken { place, may_be_message: true, problem });
        } else if let Some(begins) = parts.begins.filter(|begins| begins.written() == "true") {
            let (sender, kind) = (Sender::Is(Side::Client), RecordKind::Begins);
            reader.message(Record { place, sender, session, kind, message: begins.message() });
        } else if let Some(of) = parts.mistake_of.and_then(Part::text).and_then(|of| self::sender(&of)) {
            reader.message(Record {
                place,
                sender: of,
                session,
                kind: RecordKind::Mistake,
                message: message.message(),
            });
        } else if let Some(code) = parts.exited {
            let (sender, kind) = (Sender::Is(Side::Server), RecordKind::Exited);
            reader.message(Record { place, sender, session, kind, message: code.message() });
        }
        return;
    };
    let is_of_guard = rare.and_then(|rare| rare.by).and_then(Part::text).is_some_and(|by| by == "guard");
    let stream = || parts.stream.and_then(|stream| stream.written().parse().ok());
    let kind = match is_of_guard {
        true => RecordKind::ByGuard,
        false => stream().map_or(RecordKind::Sent, RecordKind::InStream),
    };
    let record = Record { place, sender, session, kind, message: message.message() };
    match message.text() {
        // What was not JSON, or was recorded without a look at it.
        Some(raw) => {
            let base64 = rare.and_then(|rare| rare.base64);
            let bytes = base64.and_then(Part::text).and_then(|text| STANDARD.decode(&*text).ok());
            let bytes = bytes.as_deref().unwrap_or(raw.as_bytes());
            reader.message(Record { message: bytes.into(), ..record });
        }
        None => reader.message(record),
    }
}

/// Whether a direction may be a name for the way of a message. What a server writes on its standard error may have
/// messages in it that went no way.
fn is_of_a_way(direction: Part<'_>) -> bool {
    let is_other = |name: Cow<'_, str>| {
        let name = name.to_ascii_lowercase();
        ["err", "log", "note", "guard"].iter().any(|word| name.contains(word))
    };
    direction.text().is_some_and(|name| !is_other(name))
}

/// Whether a value is an object with the member by which messages are known.
fn seems_object_of_message(value: Part<'_>) -> bool {
    #[derive(Deserialize)]
    struct Marked<'a> {
        #[serde(borrow, rename = "jsonrpc")]
        _mark: &'a RawValue,
    }
    serde_json::from_str::<Marked<'_>>(value.written()).is_ok()
}

/// Whether this is an entry that MCP Inspector exports: it says what a message is in place of where it goes.
fn is_of_inspector(direction: Part<'_>, message: Part<'_>) -> bool {
    let is_kind = |direction: Cow<'_, str>| matches!(&*direction, "request" | "response" | "notification");
    direction.text().is_some_and(is_kind) && message.written().starts_with('{')
}

/// Whether a value is an envelope, with what was read of it.
pub(super) fn is_envelope(text: &str, value: Option<JsonValue<'_>>) -> bool {
    // Serde takes a list for an object, too.
    text.starts_with('{') && EnvelopeParts::of(text, value).is_ok_and(|parts| parts.is_envelope())
}

/// Whether a value is an object that has a message in it, and is neither a message nor an envelope.
pub(super) fn is_logged(value: &[u8]) -> bool {
    let value = str::from_utf8(value).ok().filter(|value| value.contains("jsonrpc"));
    let mut json = JsonReader::default();
    let parts = value.and_then(|value| EnvelopeParts::of_value(json.read(value)?));
    parts.is_some_and(|parts| !parts.seems_message && (!parts.is_envelope() || parts.has_words()))
}

/// The sender that a direction names.
fn sender(direction: &str) -> Option<Sender> {
    let as_usual = || direction.to_ascii_lowercase().replace('→', "->").replace([' ', '_'], "-");
    sender_of(direction).or_else(|| sender_of(&as_usual()))
}

/// The same for one in small letters, with hyphens between its words.
fn sender_of(direction: &str) -> Option<Sender> {
    match direction.strip_suffix("-raw").unwrap_or(direction) {
        "c2s" | "client" | "client-to-server" | "client->server" | "client-->-server" | "to-server" => {
            Some(Sender::Is(Side::Client))
        }
        "s2c" | "server" | "server-to-client" | "server->client" | "server-->-client" | "to-client" => {
            Some(Sender::Is(Side::Server))
        }
        "send-request" | "send-notification" | "send-response" | "out" | "outgoing" | "outbound" | "send"
        | "sent" | "write" | "->" | ">" | "tx" => Some(Sender::Writer),
        "receive-request"
        | "receive-notification"
        | "receive-response"
        | "in"
        | "incoming"
        | "inbound"
        | "recv"
        | "receive"
        | "received"
        | "read"
        | "<-"
        | "<"
        | "rx" => Some(Sender::Peer),
        _ => None,
    }
}
