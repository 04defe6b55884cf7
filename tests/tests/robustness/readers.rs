//! The readers of what a peer sends, held against simple ones: JSON-RPC on lines and behind lengths, and server-sent
//! events.

use std::collections::BTreeMap;

use mcp_runtime::fuzzing::{self, EventStream, Framing, Message};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::choices::{head_and_stream, pieces};

/// Small, so that inputs reach the limits.
const LONGEST: usize = 512;
const DEEPEST: usize = 16;

/// What the readers of messages say: a stream is read alike however it is cut, and a line that is well-formed JSON-RPC is
/// read as what it is, also behind its length.
pub fn lines(input: &[u8]) {
    let (cuts, stream) = head_and_stream(input);
    let whole = read(Framing::Lines, stream, cuts);
    let lines: Vec<&[u8]> =
        stream.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    assert_eq!(whole.len(), lines.len(), "one message a line");
    for (line, message) in lines.iter().zip(&whole) {
        if let Some(expected) = plainly(line) {
            assert_eq!(*message, expected, "{}", String::from_utf8_lossy(line));
        }
    }
    // As it is, this stream has broken headers. With headers of its own it holds the same messages.
    read(Framing::ContentLength, stream, cuts);
    let framed: Vec<Vec<u8>> = lines
        .iter()
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .map(|line| [format!("Content-Length: {}\r\n\r\n", line.len()).as_bytes(), line].concat())
        .collect();
    assert_eq!(read(Framing::ContentLength, &framed.concat(), cuts), whole, "the framing matters");
}

/// The messages of a stream, which are the same however it is cut.
fn read(framing: Framing, stream: &[u8], cuts: &[u8]) -> Vec<Message> {
    let (whole, error) = fuzzing::messages(framing, std::iter::once(stream), LONGEST, DEEPEST);
    for pieces in [pieces(stream, cuts), stream.chunks(1).collect()] {
        let (cut, cut_error) = fuzzing::messages(framing, pieces.into_iter(), LONGEST, DEEPEST);
        assert_eq!(whole, cut, "the pieces of a stream matter");
        assert_eq!(error.is_some(), cut_error.is_some(), "the pieces of a stream matter");
    }
    whole
}

/// The members of an object, in order; twice the same name is two members.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What a line is that leaves no doubt: an object of JSON-RPC 2.0, each member once, well below the limits, and an id
/// that is a short text or a number that every reader takes. Nothing for any other line.
fn plainly(line: &[u8]) -> Option<Message> {
    if line.len() > LONGEST / 2 {
        return None;
    }
    let Members(members) = serde_json::from_slice(line).ok()?;
    let mut by_name: BTreeMap<&str, &Value> = BTreeMap::new();
    for (name, value) in &members {
        let known = ["jsonrpc", "id", "method", "params", "result", "error"].contains(&name.as_str());
        if !known || depth(value) > DEEPEST / 2 || by_name.insert(name, value).is_some() {
            return None;
        }
    }
    if by_name.get("jsonrpc").and_then(|version| version.as_str()) != Some("2.0") {
        return None;
    }
    let id = match by_name.get("id") {
        None => None,
        Some(Value::String(text)) => Some(serde_json::to_string(text).ok()?),
        Some(Value::Number(number)) if number.is_i64() && number.as_i64()?.abs() < 1 << 53 => {
            Some(number.to_string())
        }
        Some(_) => return None,
    };
    // `-0` is a number that some readers make `0` of.
    if id.as_deref() == Some("0") || id.as_deref() == Some("-0") {
        return None;
    }
    let params = by_name.get("params");
    let is_structured = params.is_none_or(|params| params.is_object() || params.is_array());
    let method = by_name.get("method").map(|method| method.as_str());
    let (result, error) = (by_name.get("result"), by_name.get("error"));
    match (method, id, result, error) {
        (Some(Some(method)), Some(id), None, None) if is_structured => {
            Some(Message::Request(id, method.to_owned(), raw(line, "params")))
        }
        (Some(Some(method)), None, None, None) if is_structured => {
            Some(Message::Notification(method.to_owned(), raw(line, "params")))
        }
        (None, Some(id), Some(_), None) if params.is_none() => Some(Message::Reply(id, raw(line, "result"))),
        _ => None,
    }
}

/// A member as it stands in the line.
fn raw(line: &[u8], name: &str) -> Option<String> {
    let members: BTreeMap<String, &serde_json::value::RawValue> = serde_json::from_slice(line).ok()?;
    members.get(name).map(|value| value.get().to_owned())
}

/// What the reader of events says: a stream is read alike however it is cut, and as the standard has it.
pub fn events(input: &[u8]) {
    let (cuts, stream) = head_and_stream(input);
    let whole = fuzzing::events(std::iter::once(stream), LONGEST);
    let cut = fuzzing::events(pieces(stream, cuts).into_iter(), LONGEST);
    let single = fuzzing::events(stream.chunks(1), LONGEST);
    // Where a stream is too long, how much of it was looked at before depends on the pieces.
    assert_eq!(whole.too_long, cut.too_long, "the pieces of a stream matter");
    assert_eq!(whole.too_long, single.too_long, "the pieces of a stream matter");
    if whole.too_long {
        return;
    }
    assert_eq!(whole, cut, "the pieces of a stream matter");
    assert_eq!(whole, single, "the pieces of a stream matter");
    let expected = by_the_standard(stream);
    assert_eq!(whole.data, expected.data);
    assert_eq!(whole.last_id, expected.last_id);
}

/// Reads a whole stream line by line, as the standard describes it.
fn by_the_standard(stream: &[u8]) -> EventStream {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut read = EventStream::default();
    let (mut data, mut id): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
    let mut rest = stream;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = &rest[..end];
        rest = match &rest[end..] {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => &[],
        };
        if line.is_empty() {
            read.data.extend(data.take());
            read.last_id = id.clone().or(read.last_id);
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            // What no header can carry cannot be said to the server, nor can what is very long.
            b"id" if reqwest::header::HeaderValue::from_bytes(value).is_ok() && value.len() <= 1024 => {
                id = Some(value.to_vec());
            }
            _ => {}
        }
    }
    read
}
