//! HTTP archives (HAR): one JSON document, of which one entry at a time is read.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_runtime::observer::{JsonReader, MessageText};
use mcp_runtime::protocol::Side;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::document::{Bracket, Document, Unreadable, one, without_place};
use super::envelope::JsonText;
use super::record::{Broken, LogReader, Place, Record, RecordKind, Sender};
use super::streams::HeldMessages;
use crate::event_stream::{Event, EventCutter, Piece};
use crate::trace::lines::Lines;

/// How many bytes an entry may have.
const LONGEST: usize = 64 * 1024 * 1024;

/// What an entry has of an exchange. Texts are borrowed where they have no escapes.
#[derive(Deserialize)]
struct ArchiveEntry<'a> {
    #[serde(borrow)]
    request: Request<'a>,
    #[serde(borrow)]
    response: Response<'a>,
    /// What has gone over a WebSocket, as Chrome saves it.
    #[serde(borrow, default, rename = "_webSocketMessages")]
    frames: Vec<Frame<'a>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default, rename = "type")]
    direction: Cow<'a, str>,
    #[serde(default)]
    opcode: u8,
    #[serde(borrow)]
    data: Option<JsonText<'a>>,
}

impl Frame<'_> {
    const BINARY: u8 = 2;

    fn sender(&self) -> Option<Side> {
        match &*self.direction {
            "send" => Some(Side::Client),
            "receive" => Some(Side::Server),
            _ => None,
        }
    }

    /// What it carries, if that may be a message.
    fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        let JsonText(text) = self.data.as_ref()?;
        match self.opcode {
            Frame::BINARY => STANDARD.decode(&**text).ok().map(Cow::Owned),
            _ => Some(Cow::Borrowed(text.as_bytes())),
        }
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Headers<'a>,
    #[serde(borrow, default, rename = "postData")]
    body: Option<Body<'a>>,
    /// How many bytes were sent, and -1 where that is not known.
    #[serde(default, rename = "bodySize")]
    body_size: Option<i64>,
}

impl Request<'_> {
    /// Whether the archive leaves out what was posted: it has a place for it, or its size, or says that this is not
    /// known.
    fn lacks_body(&self) -> bool {
        let is_post = self.method.eq_ignore_ascii_case("POST");
        let is_empty = |body: &Body<'_>| body.text.as_ref().is_none_or(|JsonText(text)| text.is_empty());
        match (&self.body, self.body_size) {
            (Some(body), _) => is_empty(body) && is_post,
            // Its size is not known. A client of JSON-RPC posts no empty body.
            (None, Some(..0)) => is_post,
            (None, size) => size.is_some_and(|size| size > 0),
        }
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    /// 0 where the browser got no answer.
    #[serde(default)]
    status: Option<i64>,
    #[serde(borrow, default)]
    headers: Headers<'a>,
    #[serde(borrow, default)]
    content: Body<'a>,
    /// How many bytes were received, and -1 where that is not known.
    #[serde(default, rename = "bodySize")]
    body_size: Option<i64>,
}

impl Response<'_> {
    /// Whether the archive leaves the body out, as browsers do with streams. `is_absent`: it does not have an empty one, either.
    fn lacks_body(&self, is_absent: bool) -> bool {
        let is_success = self.status.is_none_or(|status| (200..300).contains(&status));
        let is_left_out = is_absent && self.content.is_stream() && is_success;
        is_left_out || self.content.size > 0 || self.body_size.is_some_and(|size| size > 0)
    }
}

/// What headers say.
#[derive(Default)]
struct Headers<'a> {
    /// The session that they name.
    session: Option<Cow<'a, str>>,
    /// Whether they name the event behind which a stream is to go on.
    resumes: bool,
}

#[derive(Deserialize)]
struct Header<'a> {
    /// Proxies write what is not UTF-8 here as text that is not Unicode: it is read only where it is needed.
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
}

impl<'de: 'a, 'a> Deserialize<'de> for Headers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Headers<'a>, D::Error> {
        deserializer.deserialize_seq(Headers::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Headers<'a> {
    type Value = Headers<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of headers")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut all: A) -> Result<Headers<'a>, A::Error> {
        while let Some(Header { name, value }) = all.next_element()? {
            if self.session.is_none() && name.get().eq_ignore_ascii_case("\"mcp-session-id\"") {
                self.session = serde_json::from_str(value.get()).ok().map(|JsonText(session)| session);
            }
            self.resumes |= name.get().eq_ignore_ascii_case("\"last-event-id\"");
        }
        Ok(self)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(default)]
    size: i64,
    #[serde(borrow, default)]
    mime_type: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<JsonText<'a>>,
    #[serde(borrow)]
    encoding: Option<JsonText<'a>>,
}

impl Body<'_> {
    fn is_stream(&self) -> bool {
        self.mime_type.starts_with("text/event-stream")
    }

    /// The body as it was sent.
    fn bytes(&self) -> Result<Option<Cow<'_, [u8]>>, String> {
        let Some(JsonText(text)) = &self.text else { return Ok(None) };
        match &self.encoding {
            Some(JsonText(encoding)) if encoding == "base64" => match STANDARD.decode(&**text) {
                Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                Err(error) => Err(format!("not base64: {error}")),
            },
            _ => Ok(Some(Cow::Borrowed(text.as_bytes()))),
        }
    }
}

/// Whether a text begins as an archive does: an object with an object `log`. Logs of programs have members of this name, too,
/// so behind other members it has to begin as that of an archive.
pub(super) fn is_archive(beginning: &[u8]) -> bool {
    const MEMBERS: [&str; 6] = ["version", "creator", "browser", "pages", "entries", "comment"];
    let Some(mut ahead) = after(beginning, b"{") else { return false };
    let mut is_first = true;
    while let Some((key, rest)) = member(ahead) {
        if key == "log" {
            let Some(inside) = after(rest, b"{") else { return false };
            return is_first || member(inside).is_some_and(|(key, _)| MEMBERS.contains(&&*key));
        }
        let Ok((IgnoredAny, size)) = one(rest) else { return false };
        let Some(next) = rest.get(size..).and_then(|rest| after(rest, b",")) else { return false };
        (ahead, is_first) = (next, false);
    }
    false
}

/// The key of the member that is ahead, and what follows its colon.
fn member(ahead: &[u8]) -> Option<(String, &[u8])> {
    let (key, size) = one::<String>(ahead).ok()?;
    Some((key, after(ahead.get(size..)?, b":")?))
}

fn after<'a>(ahead: &'a [u8], sign: &[u8]) -> Option<&'a [u8]> {
    ahead.trim_ascii_start().strip_prefix(sign)
}

/// Reads the messages of the archive that is ahead.
pub(super) fn read(lines: &mut Lines<impl Read>, reader: &mut impl LogReader) -> io::Result<()> {
    let mut document = Document::new(lines, LONGEST);
    let mut entries = Entries {
        count: 0,
        at: None,
        held: HeldMessages::default(),
        marks: Marks::default(),
        json: JsonReader::of_alike(),
        reader,
    };
    let read = read_entries(&mut document, &mut entries);
    entries.held.release(entries.reader);
    let (line, problem) = match read {
        Ok(()) => return Ok(()),
        Err(Unreadable::File(error)) => return Err(error),
        Err(Unreadable::TooLong) => {
            let what = if entries.at.is_some() { "the entry" } else { "a part of the archive" };
            let problem = format!("{what} is longer than {} MiB, and the rest is not read", LONGEST >> 20);
            (document.line(), problem)
        }
        Err(Unreadable::Json { line, problem }) => {
            (line, format!("the archive cannot be read from here on: {problem}"))
        }
    };
    let place = Place { line, entry: entries.at };
    entries.reader.broken(Broken { place, may_be_message: true, problem });
    Ok(())
}

fn read_entries<R: LogReader>(
    document: &mut Document<'_, impl Read>,
    entries: &mut Entries<'_, R>,
) -> Result<(), Unreadable> {
    document.begin(Bracket::Object, "an object with `log`")?;
    if !document.find_member("log")? {
        return Ok(());
    }
    document.begin(Bracket::Object, "an object with `entries`")?;
    if document.find_member("entries")? {
        document.begin(Bracket::List, "a list of entries")?;
        let mut is_first = true;
        while document.goes_on(Bracket::List, std::mem::take(&mut is_first))? {
            let place = entries.begin(document.line());
            document.value(|ahead| match one::<ArchiveEntry<'_>>(ahead) {
                Ok((entry, size)) => {
                    entries.take(place, &entry);
                    Ok(Some(size))
                }
                Err(error) if error.is_data() => {
                    let (IgnoredAny, size) = one(ahead)?;
                    entries.foreign(place, &error);
                    Ok(Some(size))
                }
                Err(error) => Err(error),
            })?;
            entries.at = None;
        }
        document.end_object()?;
    }
    document.end_object()
}

/// What bodies are searched for.
struct Marks {
    json_rpc: Finder<'static>,
    method: Finder<'static>,
    id: Finder<'static>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            json_rpc: Finder::new("jsonrpc"),
            method: Finder::new("\"method\""),
            id: Finder::new("\"id\""),
        }
    }
}

impl Marks {
    fn is_json_rpc(&self, body: &[u8]) -> bool {
        self.json_rpc.find(body).is_some()
    }

    /// The status with which HTTP refused a request, without a word of JSON-RPC: the session never got it.
    fn refused(&self, response: &Response<'_>) -> Option<i64> {
        let status = response.status.filter(|status| *status == 0 || *status >= 400)?;
        (!self.has_json_rpc(&response.content)).then_some(status)
    }

    fn has_json_rpc(&self, body: &Body<'_>) -> bool {
        body.bytes().is_ok_and(|bytes| bytes.is_some_and(|bytes| self.is_json_rpc(&bytes)))
    }
}

/// Takes the entries one by one.
struct Entries<'a, R> {
    /// How many entries have begun.
    count: u64,
    /// The number of the entry that is being read; nothing between two of them.
    at: Option<u64>,
    held: HeldMessages,
    marks: Marks,
    /// It keeps its room from one message to the next.
    json: JsonReader,
    reader: &'a mut R,
}

impl<R: LogReader> Entries<'_, R> {
    /// An entry begins in this line.
    fn begin(&mut self, line: u64) -> Place {
        self.count += 1;
        self.at = Some(self.count);
        Place { line, entry: self.at }
    }

    /// An entry is JSON, and not an exchange. The others can be read all the same.
    fn foreign(&mut self, place: Place, error: &serde_json::Error) {
        let problem = format!("the entry is not one of an archive: {}", without_place(error));
        self.reader.broken(Broken { place, may_be_message: true, problem });
    }

    /// Takes the messages of one exchange.
    fn take(&mut self, place: Place, entry: &ArchiveEntry<'_>) {
        let ArchiveEntry { request, response, frames } = entry;
        if !frames.is_empty() {
            return self.take_frames(place, frames);
        }
        // The answer to the first request names the session.
        let session = request.headers.session.as_deref().or(response.headers.session.as_deref());
        let mut has_request = false;
        let sends = |body: &Body<'_>| self.marks.has_json_rpc(body);
        if let Some(status) =
            self.marks.refused(response).filter(|_| request.body.as_ref().is_some_and(sends))
        {
            return self.reader.not_sent(place, status);
        }
        match request.body.as_ref().map(Body::bytes) {
            Some(Ok(Some(body))) if self.marks.is_json_rpc(&body) => {
                let has_method = self.marks.method.find(&body).is_some();
                has_request = has_method && self.marks.id.find(&body).is_some();
                if has_method || !self.held.reply(place, session, &body, self.reader) {
                    self.message(place, session, Side::Client, &body);
                }
            }
            Some(Err(problem)) => self.reader.broken(Broken { place, may_be_message: true, problem }),
            _ => {}
        }
        // A stream of its own goes on while other requests are answered: nothing says when its messages came.
        let is_open = request.method.eq_ignore_ascii_case("GET");
        let body = match response.content.bytes() {
            Ok(Some(body)) if !body.is_empty() => body,
            Ok(body) => {
                let may_have_messages = has_request || is_open && session.is_some();
                if may_have_messages && response.lacks_body(body.is_none()) {
                    let problem = "the archive does not have the body of the answer: export it with the contents of responses, or \
                                   record the session with `sessionc guard --record`"
                        .to_owned();
                    self.reader.broken(Broken { place, may_be_message: true, problem });
                }
                return;
            }
            Err(problem) => return self.reader.broken(Broken { place, may_be_message: true, problem }),
        };
        if !self.marks.is_json_rpc(&body) {
            return;
        }
        if request.lacks_body() {
            let problem = "the archive does not have the body of the request: export it with the contents of requests, \
                           or record the session with `sessionc guard --record`"
                .to_owned();
            self.reader.broken(Broken { place, may_be_message: true, problem });
        }
        let (messages, is_cut_off) = match response.content.is_stream() {
            true => events(&body),
            false => (vec![body], false),
        };
        let kind = if request.headers.resumes { RecordKind::Resumed } else { RecordKind::Streamed };
        for message in messages {
            match is_open {
                true => self.held.hold(place, session, kind, message.into_owned(), self.reader),
                false => {
                    self.message(place, session, Side::Server, &message);
                    self.held.came(session, &message, self.reader);
                }
            }
        }
        if is_cut_off {
            let problem = "the last event of the stream is cut off".to_owned();
            self.reader.broken(Broken { place, may_be_message: true, problem });
        }
    }

    /// Takes the messages of one WebSocket. Each is a session of its own.
    fn take_frames(&mut self, place: Place, frames: &[Frame<'_>]) {
        let session = format!("WebSocket {}", self.count);
        for frame in frames {
            let (Some(sender), Some(body)) = (frame.sender(), frame.bytes()) else { continue };
            if self.marks.is_json_rpc(&body) {
                self.message(place, Some(&session), sender, &body);
            }
        }
    }

    fn message(&mut self, place: Place, session: Option<&str>, sender: Side, body: &[u8]) {
        let value = str::from_utf8(body).ok().and_then(|text| self.json.read(text));
        let message = value.map_or(body.into(), MessageText::from);
        let (sender, kind) = (Sender::Is(sender), RecordKind::Sent);
        self.reader.message(Record { place, sender, session, kind, message });
    }
}

/// What each event of a stream carries, and whether the last one has no end.
fn events(body: &[u8]) -> (Vec<Cow<'static, [u8]>>, bool) {
    let mut cutter = EventCutter::new(usize::MAX);
    let whole = cutter.feed(body).into_iter().filter_map(event);
    let contents = whole.filter_map(Event::into_content).map(Cow::Owned).collect();
    // With an end, what is left is an event, too.
    let is_cut_off = cutter.feed(b"\n\n").into_iter().filter_map(event).any(|event| event.data.is_some());
    (contents, is_cut_off)
}

fn event(piece: Piece) -> Option<Event> {
    match piece {
        Piece::Event { event, .. } => Some(event),
        Piece::Long { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::Notes;
    use super::*;

    const ARCHIVE: &str = r#"{ "log": { "version": "1.2", "pages": [],
"entries": [
{ "request": { "method": "POST", "url": "http://127.0.0.1/mcp", "headers": [],
  "postData": { "mimeType": "application/json", "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}" } },
  "response": { "status": 200, "headers": [{ "name": "Mcp-Session-Id", "value": "s1" }],
  "content": { "size": 9, "mimeType": "text/event-stream", "text": "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\ndata: {\"jsonrpc\"" } } },
{ "request": { "method": "GET", "headers": [{ "name": "mcp-session-id", "value": "s1" }] },
  "response": { "content": { "mimeType": "text/event-stream; charset=utf-8", "encoding": "base64",
    "text": "ZGF0YTogeyJqc29ucnBjIjoiMi4wIiwibWV0aG9kIjoiYSJ9Cgo=" } } },
{ "request": { "method": "GET", "url": "http://127.0.0.1/favicon.ico" }, "response": { "content": { "text": "x" } } },
{ "request": { "method": "POST", "headers": [{ "name": "mcp-session-id", "value": "s1" }], "postData": { "text": "{\"jsonrpc\":\"2.0\",\"method\":\"b\"}" } },
  "response": { "status": 202, "content": {} } }
] } }"#;

    fn notes(archive: &str) -> Notes {
        let mut notes = Notes::default();
        read(&mut Lines::new(archive.as_bytes()), &mut notes).unwrap();
        notes
    }

    #[test]
    fn the_messages_of_an_archive_are_read_with_their_session() {
        let notes = notes(ARCHIVE);
        let (client, server) = (Sender::Is(Side::Client), Sender::Is(Side::Server));
        let expected = [
            (3, client, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
            (3, server, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"),
            (11, client, r#"{"jsonrpc":"2.0","method":"b"}"#),
            // Its stream has begun before, and nothing says when it came.
            (7, server, r#"{"jsonrpc":"2.0","method":"a"}"#),
        ];
        assert_eq!(notes.messages, expected.map(|(line, sender, text)| (line, sender, text.to_owned())));
        assert!(notes.sessions.iter().all(|session| session.as_deref() == Some("s1")));
        assert_eq!(notes.broken, [(3, "the last event of the stream is cut off".to_owned())]);
    }

    #[test]
    fn a_request_that_http_refused_did_not_reach_the_session() {
        for (status, is_sent) in [(200, true), (202, true), (0, false), (401, false), (503, false)] {
            let archive = ARCHIVE.replace("\"status\": 202", &format!("\"status\": {status}"));
            let found = notes(&archive);
            assert_eq!(found.messages.iter().any(|(line, ..)| *line == 11), is_sent, "{status}");
            assert_eq!(found.not_sent.contains(&(11, status)), !is_sent, "{status}");
        }
        // An error of JSON-RPC is an answer.
        let archive = ARCHIVE.replace("\"status\": 200", "\"status\": 400");
        assert_eq!(notes(&archive).messages.len(), 4);
    }

    #[test]
    fn a_body_that_the_archive_leaves_out_is_missing() {
        let with = |request: &str, response: &str| {
            let headers = r#"[{ "name": "mcp-session-id", "value": "s1" }]"#;
            let archive = format!(
                r#"{{ "log": {{ "entries": [{{ "request": {{ {request}, "headers": {headers} }}, "response": {{ {response} }} }}] }} }}"#
            );
            let broken = notes(&archive).broken;
            assert!(
                broken.iter().all(|(_, problem)| problem.contains("export it with the contents")),
                "{broken:?}"
            );
            !broken.is_empty()
        };
        let post =
            r#""method": "POST", "postData": { "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}" }"#;
        let notify = r#""method": "POST", "postData": { "text": "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}" }"#;
        let get = r#""method": "GET""#;
        let stream = r#""status": 200, "content": { "size": 0, "mimeType": "text/event-stream" }"#;
        assert!(with(post, stream) && with(get, stream));
        assert!(with(post, r#""status": 200, "bodySize": 9, "content": { "mimeType": "", "text": "" }"#));
        assert!(!with(notify, r#""status": 202, "content": { "size": 0, "mimeType": "" }"#));
        // Here the server has sent nothing.
        let empty = r#""status": 200, "content": { "size": 0, "mimeType": "text/event-stream", "text": "" }"#;
        assert!(!with(post, empty) && !with(get, empty));
        assert!(!with(get, r#""status": 405, "content": { "mimeType": "text/event-stream" }"#));
    }

    #[test]
    fn the_messages_of_a_web_socket_are_read() {
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
        let answered = r#"{"jsonrpc":"2.0","id":1,"result":true}"#;
        let frame = |direction: &str, opcode: u8, data: &str| serde_json::json!({ "type": direction, "time": 1.5, "opcode": opcode, "data": data });
        let frames = [
            frame("send", 1, asked),
            frame("receive", 1, "hello"),
            frame("receive", 2, &STANDARD.encode(answered)),
            frame("error", 1, asked),
        ];
        let entry = serde_json::json!({
            "_resourceType": "websocket",
            "_webSocketMessages": frames,
            "request": { "method": "GET", "url": "ws://127.0.0.1/", "headers": [] },
            "response": { "status": 101, "headers": [], "content": { "size": 0, "mimeType": "x-unknown" }, "bodySize": -1 },
        });
        let notes = notes(&serde_json::json!({ "log": { "entries": [entry, entry] } }).to_string());
        let (client, server) = (Sender::Is(Side::Client), Sender::Is(Side::Server));
        let one = [(1, client, asked.to_owned()), (1, server, answered.to_owned())];
        assert_eq!(notes.messages, [one.clone(), one].concat());
        let sessions: Vec<_> = notes.sessions.iter().map(Option::as_deref).collect();
        assert_eq!(sessions, ["WebSocket 1", "WebSocket 1", "WebSocket 2", "WebSocket 2"].map(Some));
        assert_eq!(notes.broken, []);
    }

    #[test]
    fn an_event_may_end_in_returns() {
        let archive = ARCHIVE.replace("{}}\\n\\ndata: {\\\"jsonrpc\\\"", "{}}\\r\\r");
        assert_ne!(archive, ARCHIVE);
        let notes = notes(&archive);
        assert_eq!((notes.messages.len(), notes.broken), (4, Vec::new()));
    }

    #[test]
    fn an_archive_that_is_cut_off_is_judged_as_far_as_it_goes() {
        let notes = notes(&ARCHIVE[..ARCHIVE.len() - 40]);
        assert_eq!(notes.messages.len(), 3);
        assert!(notes.broken.iter().any(|(_, problem)| problem.contains("from here on")), "{notes:?}");
    }

    #[test]
    fn what_is_wrong_with_an_archive_is_said_with_its_place() {
        let begins = ARCHIVE.find("entries").unwrap();
        let said = |archive: &str| {
            let all = notes(archive).broken;
            all.into_iter().filter(|(_, problem)| problem.contains("from here on")).collect::<Vec<_>>()
        };
        let expected = |archive: &str| {
            let error = serde_json::from_str::<serde_json::Value>(archive).unwrap_err();
            let line = u64::try_from(error.line()).unwrap();
            vec![(line, format!("the archive cannot be read from here on: {error}"))]
        };
        for cut in begins..ARCHIVE.trim_end().len() {
            assert_eq!(said(&ARCHIVE[..cut]), expected(&ARCHIVE[..cut]), "{cut}");
        }
        for (place, _) in ARCHIVE.match_indices([',', ':', '{', '}', '[', ']']).filter(|at| at.0 > begins) {
            for other in ["?", ",", "]"] {
                let archive = [&ARCHIVE[..place], other, &ARCHIVE[place + 1..]].concat();
                if serde_json::from_str::<serde_json::Value>(&archive).is_err() {
                    assert_eq!(said(&archive), expected(&archive), "{place} {other}");
                }
            }
        }
        assert_eq!(said(ARCHIVE), []);
    }

    #[test]
    fn a_request_whose_body_is_left_out_is_named() {
        let reply = r#""response": { "status": 200, "content": { "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}" } }"#;
        for (request, count) in [
            (r#""method": "POST", "bodySize": 57"#, 1),
            (r#""method": "POST", "bodySize": -1"#, 1),
            (r#""method": "POST""#, 0),
            (r#""method": "POST", "bodySize": 0"#, 0),
            (r#""method": "GET", "bodySize": -1"#, 0),
            (
                r#""method": "POST", "postData": { "mimeType": "application/json", "params": [], "text": "" }"#,
                1,
            ),
            (
                r#""method": "POST", "postData": { "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}" }"#,
                0,
            ),
            (r#""method": "GET""#, 0),
        ] {
            let archive =
                format!(r#"{{ "log": {{ "entries": [{{ "request": {{ {request} }}, {reply} }}] }} }}"#);
            let broken = notes(&archive).broken;
            assert_eq!(broken.len(), count, "{request}: {broken:?}");
            assert!(broken.iter().all(|(_, problem)| {
                problem.starts_with("the archive does not have the body of the request")
            }));
        }
    }
}
