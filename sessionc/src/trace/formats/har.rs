//! HTTP archives (HAR): one JSON document, of which one entry at a time is read.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_runtime::protocol::Side;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::record::{Broken, LogReader, Place, Record, RecordKind, Sender};
use crate::event_stream::{Event, EventCutter, Piece};

/// How many bytes an entry may have.
const LONGEST: u64 = 64 * 1024 * 1024;
/// How many bytes of messages are held until it is known when they came.
const MOST_HELD: usize = 16 * 1024 * 1024;

#[derive(Deserialize)]
struct ArchiveEntry {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    method: String,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default, rename = "postData")]
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Response {
    /// 0 where the browser got no answer.
    #[serde(default)]
    status: Option<i64>,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    content: Body,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    size: i64,
    #[serde(default)]
    mime_type: String,
    text: Option<String>,
    encoding: Option<String>,
}

impl Response {
    /// The status with which HTTP refused the request, without a word of JSON-RPC: the session never got it.
    fn refused(&self) -> Option<i64> {
        let status = self.status.filter(|status| *status == 0 || *status >= 400)?;
        let says_why = self.content.bytes().is_ok_and(|body| body.is_some_and(|body| is_json_rpc(&body)));
        (!says_why).then_some(status)
    }
}

impl Body {
    /// The body as it was sent.
    fn bytes(&self) -> Result<Option<Cow<'_, [u8]>>, String> {
        let Some(text) = &self.text else { return Ok(None) };
        match self.encoding.as_deref() {
            Some("base64") => match STANDARD.decode(text) {
                Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                Err(error) => Err(format!("not base64: {error}")),
            },
            _ => Ok(Some(Cow::Borrowed(text.as_bytes()))),
        }
    }
}

/// Reads the messages of an archive.
pub(super) fn read(from: impl Read, reader: &mut impl LogReader) -> io::Result<()> {
    let meter = Rc::new(Meter { line: Cell::new(1), left: Cell::new(LONGEST) });
    let metered = Metered { from: BufReader::new(from), meter: Rc::clone(&meter) };
    let mut json = serde_json::Deserializer::from_reader(metered);
    let mut entries = Entries { meter: &meter, number: 0, held: HeldMessages::default(), reader };
    let read = Within("log", Within("entries", &mut entries)).deserialize(&mut json);
    entries.held.release(entries.reader);
    match read {
        Ok(()) => Ok(()),
        Err(error) if error.is_io() && meter.left.get() > 0 => Err(error.into()),
        Err(error) => {
            let place = Place { line: meter.line.get(), entry: Some(entries.number) };
            let problem = match meter.left.get() {
                0 => format!("the entry is longer than {} MiB, and the rest is not read", LONGEST >> 20),
                _ => format!("the archive cannot be read from here on: {error}"),
            };
            reader.broken(Broken { place, may_be_message: true, problem });
            Ok(())
        }
    }
}

/// How far a document was read.
struct Meter {
    line: Cell<u64>,
    /// How many bytes the entry may still have.
    left: Cell<u64>,
}

struct Metered<R> {
    from: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        let bytes = into.get(..read).unwrap_or_default();
        let feeds = memchr::memchr_iter(b'\n', bytes).count();
        self.meter.line.set(self.meter.line.get() + u64::try_from(feeds).unwrap_or_default());
        let left = self.meter.left.get().saturating_sub(u64::try_from(read).unwrap_or_default());
        self.meter.left.set(left);
        if left == 0 { Err(io::Error::other("it is too long")) } else { Ok(read) }
    }
}

/// Looks into the member of an object with this name.
struct Within<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de, Value = ()>> DeserializeSeed<'de> for Within<S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Within<S> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seed = Some(self.1);
        while let Some(key) = map.next_key::<String>()? {
            match seed.take_if(|_| key == self.0) {
                Some(seed) => map.next_value_seed(seed)?,
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}

/// Takes the entries one by one.
struct Entries<'a, R> {
    meter: &'a Meter,
    /// The number of the last entry.
    number: u64,
    held: HeldMessages,
    reader: &'a mut R,
}

impl<'de, R: LogReader> DeserializeSeed<'de> for &mut Entries<'_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, R: LogReader> Visitor<'de> for &mut Entries<'_, R> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        loop {
            self.meter.left.set(LONGEST);
            let mut line = 0;
            let entry = all.next_element_seed(Begins { meter: self.meter, line: &mut line })?;
            let Some(entry) = entry else { return Ok(()) };
            self.number += 1;
            self.take(Place { line, entry: Some(self.number) }, &entry);
        }
    }
}

/// Reads an entry, and notes the line on which it begins.
struct Begins<'a> {
    meter: &'a Meter,
    line: &'a mut u64,
}

impl<'de> DeserializeSeed<'de> for Begins<'_> {
    type Value = ArchiveEntry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ArchiveEntry, D::Error> {
        *self.line = self.meter.line.get();
        ArchiveEntry::deserialize(deserializer)
    }
}

impl<R: LogReader> Entries<'_, R> {
    fn take(&mut self, place: Place, entry: &ArchiveEntry) {
        let ArchiveEntry { request, response } = entry;
        // The answer to the first request names the session.
        let session = named(&request.headers).or_else(|| named(&response.headers));
        let mut is_reply = false;
        let sends = |body: &Body| body.bytes().is_ok_and(|body| body.is_some_and(|body| is_json_rpc(&body)));
        if let Some(status) = response.refused().filter(|_| request.body.as_ref().is_some_and(sends)) {
            return self.reader.not_sent(place, status);
        }
        match request.body.as_ref().map(Body::bytes) {
            Some(Ok(Some(body))) if is_json_rpc(&body) => {
                is_reply = memchr::memmem::find(&body, b"\"method\"").is_none();
                if is_reply {
                    // What is answered has come before.
                    self.held.release(self.reader);
                }
                let sender = Sender::Is(Side::Client);
                self.reader.message(Record {
                    place,
                    sender,
                    session,
                    kind: RecordKind::Sent,
                    message: (&*body).into(),
                });
            }
            Some(Err(problem)) => self.reader.broken(Broken { place, may_be_message: true, problem }),
            _ => {}
        }
        let body = match response.content.bytes() {
            Ok(Some(body)) => body,
            Ok(None) => {
                if response.content.size > 0 && session.is_some() && !is_reply {
                    let problem = "the archive does not have the body of the answer".to_owned();
                    self.reader.broken(Broken { place, may_be_message: true, problem });
                }
                return;
            }
            Err(problem) => return self.reader.broken(Broken { place, may_be_message: true, problem }),
        };
        if !is_json_rpc(&body) {
            return;
        }
        let is_stream = response.content.mime_type.starts_with("text/event-stream");
        let (messages, is_cut_off) = match is_stream {
            true => events(&body),
            false => (vec![body], false),
        };
        // A stream of its own goes on while other requests are answered: nothing says when its messages came.
        let is_open = request.method.eq_ignore_ascii_case("GET");
        for message in messages {
            match is_open {
                true => self.held.hold(place, session, message.into_owned()),
                false => {
                    let sender = Sender::Is(Side::Server);
                    self.reader.message(Record {
                        place,
                        sender,
                        session,
                        kind: RecordKind::Sent,
                        message: (&*message).into(),
                    });
                }
            }
        }
        if self.held.bytes > MOST_HELD {
            self.held.release(self.reader);
        }
        if is_cut_off {
            let problem = "the last event of the stream is cut off".to_owned();
            self.reader.broken(Broken { place, may_be_message: true, problem });
        }
    }
}

/// Messages of the server that came at some time after their stream began.
#[derive(Default)]
struct HeldMessages {
    messages: Vec<(Place, Option<String>, Vec<u8>)>,
    bytes: usize,
}

impl HeldMessages {
    fn hold(&mut self, place: Place, session: Option<&str>, message: Vec<u8>) {
        self.bytes += message.len();
        self.messages.push((place, session.map(str::to_owned), message));
    }

    fn release(&mut self, reader: &mut impl LogReader) {
        self.bytes = 0;
        for (place, session, message) in self.messages.drain(..) {
            let sender = Sender::Is(Side::Server);
            reader.message(Record {
                kind: RecordKind::Sent,
                place,
                sender,
                session: session.as_deref(),
                message: (&*message).into(),
            });
        }
    }
}

fn is_json_rpc(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"jsonrpc").is_some()
}

/// The session that headers name.
fn named(headers: &[Header]) -> Option<&str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case("mcp-session-id"));
    header.map(|header| header.value.as_str())
}

/// What each event of a stream carries, and whether the last one has no end.
fn events(body: &[u8]) -> (Vec<Cow<'static, [u8]>>, bool) {
    let mut cutter = EventCutter::new(usize::MAX);
    let whole = cutter.feed(body).into_iter().filter_map(event);
    let contents =
        whole.filter_map(|event| event.content().map(|content| Cow::Owned(content.to_vec()))).collect();
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
        read(archive.as_bytes(), &mut notes).unwrap();
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
    fn an_archive_that_is_cut_off_is_judged_as_far_as_it_goes() {
        let notes = notes(&ARCHIVE[..ARCHIVE.len() - 40]);
        assert_eq!(notes.messages.len(), 3);
        assert!(notes.broken.iter().any(|(_, problem)| problem.contains("from here on")), "{notes:?}");
    }
}
