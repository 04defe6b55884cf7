//! What language clients of VS Code write of their traffic: a line that names a message, and behind it the payload.
//!
//! It is what `vscode-jsonrpc` writes at the level `verbose`, or `compact`, in its format `text`:
//!
//! ```text
//! [Trace - 10:12:01 AM] Sending request 'initialize - (0)'.
//! Params: {
//!     "processId": 1
//! }
//! ```

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde_json::value::RawValue;

use super::record::{Broken, LogReader, Place, Record, RecordKind, Sender};
use super::words;

/// How many bytes may stand before the words that name a message.
const PREFIX: usize = 64;
/// What a line with a payload begins with.
const PAYLOADS: [&str; 3] = ["Params: ", "Result: ", "Error data: "];
/// What stands in its place.
const NO_PAYLOADS: [&str; 2] = ["No parameters provided.", "No result returned."];

/// The message that was named last, until its payload is known.
#[derive(Debug, Default)]
pub(super) struct VscodeTrace {
    named: Option<Named>,
    /// A payload has come, so the trace has them.
    has_payloads: bool,
}

/// A message that a line names.
#[derive(Debug)]
struct Named {
    place: Place,
    sender: Sender,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    /// The id is written as JSON.
    Request {
        method: String,
        id: String,
    },
    Notification {
        method: String,
    },
    /// With its error as JSON, if the line has one.
    Response {
        id: String,
        error: Option<(i64, String)>,
    },
}

/// What stands behind the line that names a message.
#[derive(Clone, Copy, Debug)]
enum Payload<'a> {
    /// As JSON.
    Given(&'a str),
    /// Data of an error.
    OfError,
    /// The trace says that there is none.
    Nothing,
}

impl VscodeTrace {
    /// Takes a line, if it is one of a trace.
    pub(super) fn take(&mut self, place: Place, line: &[u8], reader: &mut impl LogReader) -> bool {
        if let Some(named) = named(place, line) {
            self.end(reader);
            self.named = Some(named);
            return true;
        }
        if self.named.is_none() {
            return false;
        }
        let payload = str::from_utf8(line).ok().and_then(payload);
        let is_payload = payload.is_some();
        self.has_payloads |= is_payload;
        self.tell(payload, reader);
        is_payload
    }

    /// No payload follows any more.
    pub(super) fn end(&mut self, reader: &mut impl LogReader) {
        self.tell(None, reader);
    }

    fn tell(&mut self, payload: Option<Payload<'_>>, reader: &mut impl LogReader) {
        let Some(Named { place, sender, what }) = self.named.take() else { return };
        let message = match self.has_payloads {
            true => message(&what, payload),
            false => Err("the trace has no payloads: record it with the setting `trace.server` at `verbose`"),
        };
        match message {
            Ok(message) => reader.message(Record {
                place,
                sender,
                session: None,
                kind: RecordKind::Sent,
                message: message.as_bytes().into(),
            }),
            Err(problem) => {
                reader.broken(Broken { place, may_be_message: true, problem: problem.to_owned() });
            }
        }
    }
}

/// Whether a line begins a payload that is a list in several lines.
pub(super) fn begins_list(line: &[u8]) -> bool {
    PAYLOADS.iter().any(|begins| line.strip_prefix(begins.as_bytes()) == Some(b"["))
}

/// The message that a line names.
fn named(place: Place, line: &[u8]) -> Option<Named> {
    const SENDING: &str = "Sending ";
    static WAYS: LazyLock<AhoCorasick> = LazyLock::new(|| words::any_of(&[SENDING, "Received "]));
    let beginning = line.get(..PREFIX).unwrap_or(line);
    let found = WAYS.find(beginning)?;
    let before = line.get(..found.start())?;
    if !(before.is_empty() || before.ends_with(b"] ")) || before.contains(&b'{') {
        return None;
    }
    let sender = match line.get(found.range())? == SENDING.as_bytes() {
        true => Sender::Writer,
        false => Sender::Peer,
    };
    let text = str::from_utf8(line.get(found.end()..)?).ok()?;
    what(text).map(|what| Named { place, sender, what })
}

fn what(text: &str) -> Option<What> {
    if let Some(rest) = text.strip_prefix("notification '") {
        let (method, _) = rest.rsplit_once("'.")?;
        return Some(What::Notification { method: method.to_owned() });
    }
    if let Some(rest) = text.strip_prefix("request '") {
        let (method, id, _) = method_and_id(rest)?;
        return Some(What::Request { method: method.to_owned(), id: as_json(id) });
    }
    let rest = text.strip_prefix("response ")?;
    if let Some(id) = rest.strip_suffix(" without active response promise.") {
        return Some(What::Response { id: as_json(id), error: None });
    }
    let (_, id, behind) = method_and_id(rest.strip_prefix('\'')?)?;
    let error = behind.split_once("Request failed: ").map(|(_, error)| {
        let parts = error.strip_suffix(").").and_then(|error| error.rsplit_once(" ("));
        let (message, code) = parts.unwrap_or((error, ""));
        (code.parse().unwrap_or_default(), message.to_owned())
    });
    Some(What::Response { id: as_json(id), error })
}

/// The parts of `initialize - (0)'.`
fn method_and_id(text: &str) -> Option<(&str, &str, &str)> {
    let (method, rest) = text.split_once(" - (")?;
    let (id, behind) = rest.split_once(")'")?;
    Some((method, id, behind))
}

/// An id, of which a trace does not say whether it is a number or a text.
fn as_json(id: &str) -> String {
    match id.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => serde_json::Value::from(id).to_string(),
    }
}

fn payload(line: &str) -> Option<Payload<'_>> {
    if NO_PAYLOADS.contains(&line) {
        return Some(Payload::Nothing);
    }
    let (begins, json) = PAYLOADS.iter().find_map(|begins| Some((*begins, line.strip_prefix(begins)?)))?;
    Some(if begins == "Error data: " { Payload::OfError } else { Payload::Given(json) })
}

/// The message as it was sent, as far as the trace has it.
fn message(what: &What, payload: Option<Payload<'_>>) -> Result<String, &'static str> {
    let given = match payload {
        Some(Payload::Given(json)) => Some(
            serde_json::from_str::<&RawValue>(json)
                .map_err(|_| "the payload of the message is not JSON")?
                .get(),
        ),
        _ => None,
    };
    let params = given.map(|json| format!(r#","params":{json}"#)).unwrap_or_default();
    let named = |method: &str| format!(r#""method":{}{params}"#, serde_json::Value::from(method));
    Ok(match (what, payload) {
        (What::Request { method, id }, _) => format!(r#"{{"jsonrpc":"2.0","id":{id},{}}}"#, named(method)),
        (What::Notification { .. }, None) => {
            return Err("the trace does not have the payload of the message");
        }
        (What::Notification { method }, _) => format!(r#"{{"jsonrpc":"2.0",{}}}"#, named(method)),
        (What::Response { id, error: None }, Some(Payload::Given(_) | Payload::Nothing)) => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, given.unwrap_or("null"))
        }
        // Of an error that the client sends, a trace has no more than the data.
        (What::Response { id, error }, _) => {
            let unsaid = (0, "the trace does not have the error".to_owned());
            let (code, message) = error.as_ref().unwrap_or(&unsaid);
            let message = serde_json::Value::from(message.as_str());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::notes;
    use super::*;

    const LOG: &str = "[Info  - 10:12:00 AM] starting
[Trace - 10:12:01 AM] Sending request 'initialize - (0)'.
Params: {
    \"processId\": 1,
    \"capabilities\": {}
}


[Trace - 10:12:01 AM] Received response 'initialize - (0)' in 12ms.
Result: {
    \"capabilities\": {}
}

[Trace - 10:12:01 AM] Sending notification 'initialized'.
Params: {}

[Trace - 10:12:02 AM] Received request 'workspace/workspaceFolders - (7)'.
[Trace - 10:12:02 AM] Sending response 'workspace/workspaceFolders - (7)'. Processing request took 0ms
Result: [
    {
        \"uri\": \"file:///a\"
    }
]

[Trace - 10:12:03 AM] Sending request 'textDocument/hover - (1)'.
Params: {\"a\":1}
[Trace - 10:12:03 AM] Received response 'textDocument/hover - (1)' in 1ms. Request failed: no (way) (-32603).
2026-11-28 10:12:04.120 [trace] Sending request 'shutdown - (2)'.
2026-11-28 10:12:04.121 [trace] Received response 'shutdown - (2)' in 1ms.
No result returned.
[Trace - 10:12:04 AM] Sending notification 'exit'.
No parameters provided.
";

    #[test]
    fn a_message_is_put_together_from_its_lines() {
        let (own, other) = (Sender::Writer, Sender::Peer);
        let notes = notes(LOG);
        assert_eq!(notes.broken, []);
        let expected = [
            (
                2,
                own,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\n    \"processId\": 1,\n    \"capabilities\": {}\n}}",
            ),
            (9, other, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\n    \"capabilities\": {}\n}}"),
            (14, own, r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#),
            (17, other, r#"{"jsonrpc":"2.0","id":7,"method":"workspace/workspaceFolders"}"#),
            (
                18,
                own,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":[\n    {\n        \"uri\": \"file:///a\"\n    }\n]}",
            ),
            (25, own, r#"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{"a":1}}"#),
            (27, other, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no (way)"}}"#),
            (28, own, r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#),
            (29, other, r#"{"jsonrpc":"2.0","id":2,"result":null}"#),
            (31, own, r#"{"jsonrpc":"2.0","method":"exit"}"#),
        ];
        assert_eq!(notes.messages, expected.map(|(line, sender, text)| (line, sender, text.to_owned())));
    }

    #[test]
    fn a_trace_without_payloads_is_called_one() {
        let notes = notes(
            "[Trace - 1] Sending request 'initialize - (0)'.\n[Trace - 1] Received response 'initialize - (0)' in 1ms.\n",
        );
        assert_eq!(notes.messages, []);
        assert_eq!(notes.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
        assert!(notes.broken[0].1.ends_with("with the setting `trace.server` at `verbose`"), "{notes:?}");
    }

    #[test]
    fn a_payload_that_is_cut_off_is_called_broken() {
        let begun = "[Trace - 1] Sending notification 'a'.\nParams: {}\n[Trace - 2] Sending notification 'b'.\nParams: {\"a\":";
        let notes = notes(begun);
        assert_eq!(notes.messages.len(), 1);
        assert_eq!(notes.broken, [(3, "the payload of the message is not JSON".to_owned())]);
    }

    #[test]
    fn the_json_form_is_an_envelope() {
        let line = r#"{"isLSPMessage":true,"type":"send-request","message":{"jsonrpc":"2.0","id":0,"method":"a"},"timestamp":1}"#;
        let reply = r#"{"isLSPMessage":true,"type":"receive-response","message":{"jsonrpc":"2.0","id":0,"result":{}},"timestamp":2}"#;
        for log in [
            format!("[LSP   - 10:12:01 AM] {line}\n[LSP   - 10:12:01 AM] {reply}\n"),
            format!("{line}\n{reply}\n"),
        ] {
            let notes = notes(&log);
            let expected = [
                (1, Sender::Writer, r#"{"jsonrpc":"2.0","id":0,"method":"a"}"#.to_owned()),
                (2, Sender::Peer, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#.to_owned()),
            ];
            assert_eq!(notes.messages, expected, "{log}");
        }
    }
}
