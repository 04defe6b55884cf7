//! A JSON object on each line: a message, or an envelope with a message and its direction.

use mcp_runtime::observer::{JsonReader, JsonValue, MessageText};
use serde_json::value::RawValue;

use super::document::without_place;
use super::elements::for_each_element;
use super::envelope::{EnvelopeParts, is_envelope, read_parts};
use super::logged::{self, LoggedText};
use super::record::{LogReader, Place, Record, RecordKind, Sender};

/// Finds the message in a line. Returns the texts that the line has in its place.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn read(
    place: Place,
    line: &[u8],
    json: &mut JsonReader,
    reader: &mut impl LogReader,
) -> Result<Vec<LoggedText>, String> {
    if line.starts_with(b"[") && has_envelopes(line) {
        let mut read_all = Ok(Vec::new());
        for_each_element(line, |element| {
            match (read_object(place, element.get(), json, reader), &mut read_all) {
                (Ok(texts), Ok(all)) => all.extend(texts),
                (element, Ok(_)) => read_all = element,
                (_, Err(_)) => {}
            }
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
        return Ok(Vec::new());
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
) -> Result<Vec<LoggedText>, String> {
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
) -> Result<Vec<LoggedText>, String> {
    let parts = EnvelopeParts::of(line, value).map_err(|error| problem(&error))?;
    match value {
        Some(value) if !parts.seems_message && (!parts.is_envelope() || parts.has_words()) => {
            logged::read(place, value, &parts, reader)
        }
        _ => {
            let object = || value.map_or(line.as_bytes().into(), MessageText::from);
            read_parts(place, object, &parts, reader);
            Ok(Vec::new())
        }
    }
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

/// What is wrong with a line, or with an object in several lines. The number of the first line is said elsewhere.
fn problem(error: &serde_json::Error) -> String {
    let (what, column) = (without_place(error), error.column());
    match error.line() {
        0 | 1 => format!("the line is not a JSON object: {what} in column {column}"),
        line => format!("it is not a JSON object: {what} in its line {line}, column {column}"),
    }
}

#[cfg(test)]
mod tests {
    use mcp_runtime::protocol::Side;

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
    fn a_line_that_cannot_be_read_is_reported_and_the_rest_goes_on() {
        let notes = notes("{\"a\":}\nlistening\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n");
        assert_eq!(notes.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(notes.messages.len(), 1);
    }
}
