//! A JSON object on each line: a message, or an envelope with a message and its direction.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_runtime::observer::{JsonReader, JsonValue, MessageText};
use mcp_runtime::protocol::Side;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::document::without_place;
use super::elements::for_each_element;
use super::journal;
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
struct EnvelopeParts<'a> {
    direction: Option<Part<'a>>,
    message: Option<Part<'a>>,
    session: Option<Part<'a>>,
    /// The number of the stream in which `sessionc guard` has heard the message.
    stream: Option<Part<'a>>,
    /// What few lines have. Most lines need no room for it.
    rare: Option<Box<RareParts<'a>>>,
    /// It has the member by which messages are known, or others that messages have and none that they do not have: what
    /// programs log may have an `id` or a `method`, too.
    seems_message: bool,
    /// It has a method and params, and other members: a message without `jsonrpc`, if it has no message in it.
    seems_request: bool,
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
    fn of_value(line: JsonValue<'a>) -> Option<EnvelopeParts<'a>> {
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

    fn is_envelope(&self) -> bool {
        self.direction.is_some() && self.message.is_some()
    }

    /// Whether the member in which a message may stand is a text: it may be what a program logs for people.
    fn has_words(&self) -> bool {
        self.message.is_some_and(|message| message.written().starts_with('"'))
    }

    /// What it says of messages in its other members, if it has a direction.
    fn said(&self) -> Option<SaidAround> {
        let sender = sender(&self.direction?.text()?)?;
        let session = self.session.filter(|session| session.written() != "null");
        let session = session.map(|session| session.text().unwrap_or(Cow::Borrowed(session.written())));
        Some(SaidAround { sender: Some(sender), session: session.map(Cow::into_owned) })
    }

    /// The parts of a line, with what was read of it.
    #[inline(always)]
    fn of(line: &'a str, value: Option<JsonValue<'a>>) -> Result<EnvelopeParts<'a>, serde_json::Error> {
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

/// What a line has in place of a message: programs write what they log for people as a member of an object, too.
#[derive(Debug)]
pub(super) struct LoggedText {
    pub(super) text: String,
    pub(super) said: SaidAround,
}

/// Finds the message in a line. Returns a text that the line has in its place, if there is one.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn read(
    place: Place,
    line: &[u8],
    json: &mut JsonReader,
    reader: &mut impl LogReader,
) -> Result<Option<LoggedText>, String> {
    if line.starts_with(b"[") && has_envelopes(line) {
        let mut read_all = Ok(None);
        for_each_element(line, |element| {
            let element = read_object(place, element.get(), json, reader);
            read_all = std::mem::replace(&mut read_all, Ok(None)).and(element);
        })
        .map_err(|error| problem(&error))?;
        return read_all;
    }
    if line.starts_with(b"[") {
        serde_json::from_slice::<&RawValue>(line).map_err(|error| problem(&error))?;
        reader.message(Record {
            place,
            sender: Sender::Unsaid,
            session: None,
            kind: RecordKind::Sent,
            message: line.into(),
        });
        return Ok(None);
    }
    let line = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
    read_object(place, line, json, reader)
}

/// Finds the message in an object. What is done for each line is inlined here, as most lines are envelopes.
fn read_object(
    place: Place,
    line: &str,
    json: &mut JsonReader,
    reader: &mut impl LogReader,
) -> Result<Option<LoggedText>, String> {
    if line.starts_with('[') {
        return Err("the list has a list and envelopes".to_owned());
    }
    read_value(place, line, json.read(line), reader)
}

/// The same, with what was read of the object.
#[inline]
pub(super) fn read_value(
    place: Place,
    line: &str,
    value: Option<JsonValue<'_>>,
    reader: &mut impl LogReader,
) -> Result<Option<LoggedText>, String> {
    let parts = EnvelopeParts::of(line, value).map_err(|error| problem(&error))?;
    match value {
        Some(value) if !parts.seems_message && (!parts.is_envelope() || parts.has_words()) => {
            read_logged(place, value, &parts, reader)
        }
        _ => {
            let object = || value.map_or(line.as_bytes().into(), MessageText::from);
            read_parts(place, object, &parts, reader);
            Ok(None)
        }
    }
}

/// The bytes of `"jsonrpc"` as `tshark -T json` shows them.
const BYTES_OF_MARK: &[u8] = b"22:6a:73:6f:6e:72:70:63:22";

/// How deep in what a program logs a message is looked for.
const DEEPEST: usize = 4;

/// Finds the message in an object that is not a message, as it may be a member of what a program logs.
#[cold]
fn read_logged(
    place: Place,
    object: JsonValue<'_>,
    parts: &EnvelopeParts<'_>,
    reader: &mut impl LogReader,
) -> Result<Option<LoggedText>, String> {
    if let Some(text) = journal::text(object)? {
        let said = SaidAround::default();
        return Ok(Some(text).filter(|text| text.contains("jsonrpc")).map(|text| LoggedText { text, said }));
    }
    if memchr::memmem::find(object.written().as_bytes(), BYTES_OF_MARK).is_some() {
        return Err("the object shows the bytes of a message as numbers: `tshark -r FILE -q -z follow,tcp,ascii,0` writes the \
                    text of the first connection, and with 1, 2, … that of the next ones"
            .to_owned());
    }
    let words = parts.message.filter(|_| parts.is_envelope());
    let marks = |text: &str| memchr::memmem::find_iter(text.as_bytes(), b"jsonrpc").count();
    if marks(object.written()) == words.map_or(0, |words| marks(words.written())) {
        if words.is_some() || parts.seems_request {
            read_parts(place, || object.into(), parts, reader);
        }
        return Ok(None);
    }
    match find_logged(place, object, &SaidAround::default(), DEEPEST, reader) {
        FoundLogged::Message => Ok(None),
        FoundLogged::Text(text) => Ok(Some(text)),
        FoundLogged::Nothing => Err(match path_of_list(object.written()) {
            Some(path) => format!(
                "the object has messages in a list: write each element of it on a line of its own, as \
                 `jq -c '{path}' FILE | sessionc trace … -` does"
            ),
            None => "the object has a message in it, and not as a member: write the message on the line, or \
                     as `msg` with its `dir`"
                .to_owned(),
        }),
    }
}

/// Whether this is a method of HTTP, as in what servers log of requests: `POST`.
#[cold]
fn is_of_http(method: JsonValue<'_>) -> bool {
    method.text().is_some_and(|method| method.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// The elements of the lists in which an object has messages, as `jq` names them: `.hits.hits[]`.
fn path_of_list(object: &str) -> Option<String> {
    let has_message = |value: &&Value| value.to_string().contains("jsonrpc");
    let (mut path, mut end) = (String::new(), 0);
    let mut value: Value = serde_json::from_str(object).ok()?;
    loop {
        value = match value {
            Value::Object(members) => {
                let (name, member) = members.into_iter().find(|(_, member)| has_message(&member))?;
                let is_word =
                    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
                match is_word {
                    true => path.push_str(&format!(".{name}")),
                    false => path.push_str(&format!("[{}]", Value::from(name))),
                }
                member
            }
            Value::Array(elements) => {
                path.push_str("[]");
                end = path.len();
                elements.into_iter().find(|element| has_message(&element))?
            }
            _ => break,
        };
        if value.get("jsonrpc").is_some() {
            break;
        }
    }
    path.truncate(end);
    (!path.is_empty()).then_some(path)
}

enum FoundLogged {
    /// It was a message, and was taken.
    Message,
    Text(LoggedText),
    Nothing,
}

/// Looks for a message among the members of an object, then for a text with one, then in its objects.
fn find_logged(
    place: Place,
    object: JsonValue<'_>,
    around: &SaidAround,
    deepest: usize,
    reader: &mut impl LogReader,
) -> FoundLogged {
    let own = EnvelopeParts::of_value(object);
    let said = own.as_ref().and_then(EnvelopeParts::said).unwrap_or_else(|| around.clone());
    for (_, member) in object.members() {
        let Some(parts) = EnvelopeParts::of_value(member) else { continue };
        if parts.seems_message || parts.is_envelope() && !parts.has_words() {
            read_parts(place, || member.into(), &parts, &mut said.fill(reader));
            return FoundLogged::Message;
        }
    }
    let mut texts = object.members().filter_map(|(_, member)| member.text());
    if let Some(text) = texts.find(|text| text.contains("jsonrpc")) {
        return FoundLogged::Text(LoggedText { text: text.into_owned(), said });
    }
    for (_, member) in object.members().filter(|_| deepest > 1) {
        match find_logged(place, member, &said, deepest - 1, reader) {
            FoundLogged::Nothing => {}
            found => return found,
        }
    }
    FoundLogged::Nothing
}

/// Takes the message of an envelope, or the object that has these parts as a message.
#[inline(always)]
fn read_parts<'a>(
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
            // Whatever the way is called, this is no remark.
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

/// Whether a list has envelopes in it, as its first element shows.
fn has_envelopes(list: &[u8]) -> bool {
    let inside = list.get(1..).unwrap_or_default();
    let mut elements = serde_json::Deserializer::from_slice(inside).into_iter::<&RawValue>();
    elements.next().and_then(Result::ok).is_some_and(|first| is_envelope(first.get(), None))
}

/// Whether a line is an object, whatever it has.
pub(super) fn is_object(line: &[u8]) -> bool {
    line.starts_with(b"{") && serde_json::from_slice::<&RawValue>(line).is_ok()
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

/// What is wrong with a line, or with an object in several lines. The number of the first line is said elsewhere.
fn problem(error: &serde_json::Error) -> String {
    let (what, column) = (without_place(error), error.column());
    match error.line() {
        0 | 1 => format!("the line is not a JSON object: {what} in column {column}"),
        line => format!("it is not a JSON object: {what} in its line {line}, column {column}"),
    }
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

#[cfg(test)]
mod tests {
    use super::super::record::tests::{Notes, notes as notes_of};
    use super::*;

    fn notes(log: &str) -> Notes {
        let mut json = JsonReader::default();
        notes_of(log, |place, line, notes| read(place, line, &mut json, notes).map(drop))
    }

    #[test]
    fn an_envelope_names_the_sender() {
        let log = r#"{"t":1,"dir":"c2s","msg":{"jsonrpc":"2.0","method":"a"}}
{"dir":"stderr","msg":"listening"}
{"direction":"out","message":{"jsonrpc":"2.0","method":"b"},"sessionId":"s1"}
{"msg":"not \"JSON\"","t":2,"dir":"s2c-raw","session":7}
{"jsonrpc":"2.0","id":1,"result":{}}
[{"jsonrpc":"2.0","method":"c"}]
"#;
        let notes = notes(log);
        let expected = [
            (1, Sender::Is(Side::Client), r#"{"jsonrpc":"2.0","method":"a"}"#),
            (3, Sender::Writer, r#"{"jsonrpc":"2.0","method":"b"}"#),
            (4, Sender::Is(Side::Server), r#"not "JSON""#),
            (5, Sender::Unsaid, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            (6, Sender::Unsaid, r#"[{"jsonrpc":"2.0","method":"c"}]"#),
        ];
        assert_eq!(notes.messages, expected.map(|(line, sender, text)| (line, sender, text.to_owned())));
        assert_eq!(notes.sessions[..3], [None, Some("s1".to_owned()), Some("7".to_owned())]);
        assert!(notes.broken.is_empty());
    }

    #[test]
    fn a_way_may_have_any_name() {
        let one = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let lines = [
            (format!(r#"{{"direction":"client→server","message":{one}}}"#), Some(Sender::Is(Side::Client))),
            (format!(r#"{{"direction":"Server → Client","message":{one}}}"#), Some(Sender::Is(Side::Server))),
            (format!(r#"{{"direction":"upstream","message":{one}}}"#), Some(Sender::Unsaid)),
            (format!(r#"{{"dir":"stderr","msg":{one}}}"#), None),
            (r#"{"dir":"upstream","msg":"a jsonrpc client"}"#.to_owned(), None),
        ];
        for (line, sender) in lines {
            let notes = notes(&line);
            let senders = notes.messages.iter().map(|(_, sender, _)| *sender);
            assert_eq!(
                (senders.collect::<Vec<_>>(), notes.broken),
                (Vec::from_iter(sender), vec![]),
                "{line}"
            );
        }
    }

    #[test]
    fn a_list_in_an_object_is_named_as_jq_names_it() {
        let one = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let shown = Value::from(one).to_string();
        for (object, path) in [
            (format!(r#"{{"n":1,"events":[{{"message":{shown}}}]}}"#), ".events[]"),
            (format!(r#"{{"hits":{{"hits":[{{}},{{"_source":{{"m":{shown}}}}}]}}}}"#), ".hits.hits[]"),
            (format!(r#"{{"a b":[{{"c":[{one}]}}]}}"#), r#"["a b"][].c[]"#),
        ] {
            let notes = notes(&object);
            assert!(notes.broken[0].1.contains(&format!("`jq -c '{path}' FILE |")), "{notes:?}");
        }
    }

    #[test]
    fn what_is_logged_may_have_members_of_messages() {
        let one = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let shown = Value::from(one);
        for (line, message) in [
            (format!(r#"{{"id":"7","source":"lambda","line":{shown}}}"#), None),
            (format!(r#"{{"method":"POST","path":"/mcp","params":{one}}}"#), Some(one)),
            (
                format!(r#"{{"req":{{"id":1,"method":"POST","url":"/mcp","body":{one}}},"res":null}}"#),
                Some(one),
            ),
            (r#"{"id":1,"method":"GET","params":{},"level":3}"#.to_owned(), None),
            (r#"{"id":1,"result":"ok","level":3}"#.to_owned(), None),
            (r#"{"id":1,"session":"s"}"#.to_owned(), None),
        ] {
            let notes = notes(&line);
            let messages = notes.messages.iter().map(|(_, _, message)| message.as_str());
            assert_eq!(
                (messages.collect::<Vec<_>>(), notes.broken),
                (Vec::from_iter(message), vec![]),
                "{line}"
            );
        }
        // Without `jsonrpc`, and no other message is in it. Those of the Chrome DevTools Protocol name their session.
        for line in [
            r#"{"id":1,"method":"a"}"#,
            r#"{"id":1,"method":"a","params":{},"extra":1}"#,
            r#"{"id":1,"method":"a","sessionId":"s"}"#,
            r#"{"id":1,"result":{},"sessionId":"s"}"#,
            r#"{"id":1,"error":{"code":1,"message":""},"sessionId":"s"}"#,
        ] {
            assert_eq!(notes(line).messages.len(), 1, "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_reported_and_the_rest_goes_on() {
        let notes = notes("{\"a\":}\nlistening\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
        assert_eq!(notes.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(notes.messages.len(), 1);
    }
}
