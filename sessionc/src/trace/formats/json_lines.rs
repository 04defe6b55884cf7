//! A JSON object on each line: a message, or an envelope with a message and its direction.

use std::borrow::Cow;

use mcp_runtime::observer::each_member;
use mcp_runtime::protocol::Side;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{LogReader, Place, Record, Sender};

/// What stands around a message. Programs that record traffic have different names for the same members.
#[derive(Default, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, alias = "direction", alias = "from", alias = "sender")]
    dir: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "message", alias = "payload")]
    msg: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "sessionId", alias = "session_id")]
    session: Option<&'a RawValue>,
}

/// The same, each value as it is written.
#[derive(Default)]
struct EnvelopeParts<'a> {
    direction: Option<&'a str>,
    message: Option<&'a str>,
    session: Option<&'a str>,
}

impl<'a> EnvelopeParts<'a> {
    fn of(line: &'a str) -> Result<EnvelopeParts<'a>, serde_json::Error> {
        let mut parts = EnvelopeParts::default();
        let is_read = each_member(line, |key, value| match key {
            "dir" | "direction" | "from" | "sender" => parts.direction = Some(value),
            "msg" | "message" | "payload" => parts.message = Some(value),
            "session" | "sessionId" | "session_id" => parts.session = Some(value),
            _ => {}
        });
        if is_read {
            return Ok(parts);
        }
        let envelope: Envelope<'a> = serde_json::from_str(line)?;
        let raw = |value: Option<&'a RawValue>| value.map(RawValue::get);
        Ok(EnvelopeParts {
            direction: raw(envelope.dir),
            message: raw(envelope.msg),
            session: raw(envelope.session),
        })
    }
}

/// Finds the message in a line.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn read(place: Place, line: &[u8], reader: &mut impl LogReader) -> Result<(), String> {
    let plain = Record { place, sender: Sender::Unsaid, session: None, message: line };
    if line.starts_with(b"[") {
        serde_json::from_slice::<&RawValue>(line).map_err(|error| problem(&error))?;
        reader.message(plain);
        return Ok(());
    }
    let line = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
    let parts = EnvelopeParts::of(line).map_err(|error| problem(&error))?;
    let (Some(direction), Some(message)) = (parts.direction, parts.message) else {
        reader.message(plain);
        return Ok(());
    };
    // Other directions are those of remarks, such as what a server writes on its standard error.
    let Some(sender) = text(direction).and_then(|direction| sender(&direction)) else { return Ok(()) };
    // Some programs number their sessions.
    let named = parts.session.filter(|session| *session != "null");
    let session = named.map(|session| text(session).unwrap_or(Cow::Borrowed(session)));
    let record = Record { place, sender, session: session.as_deref(), message: message.as_bytes() };
    match text(message) {
        // What was not JSON, or was recorded without a look at it.
        Some(raw) => reader.message(Record { message: raw.as_bytes(), ..record }),
        None => reader.message(record),
    }
    Ok(())
}

fn problem(error: &serde_json::Error) -> String {
    format!("the line is not a JSON object: {error}")
}

/// A JSON string as text.
fn text(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        true => serde_json::from_str(value).ok().map(Cow::Owned),
        false => Some(Cow::Borrowed(inner)),
    }
}

/// The sender that a direction names.
fn sender(direction: &str) -> Option<Sender> {
    let direction = direction.to_ascii_lowercase().replace([' ', '_'], "-");
    match direction.strip_suffix("-raw").unwrap_or(&direction) {
        "c2s" | "client" | "client-to-server" | "client->server" | "client-->-server" | "to-server" => {
            Some(Sender::Is(Side::Client))
        }
        "s2c" | "server" | "server-to-client" | "server->client" | "server-->-client" | "to-client" => {
            Some(Sender::Is(Side::Server))
        }
        "out" | "outgoing" | "outbound" | "send" | "sent" | "write" | "->" | ">" | "tx" => {
            Some(Sender::Writer)
        }
        "in" | "incoming" | "inbound" | "recv" | "receive" | "received" | "read" | "<-" | "<" | "rx" => {
            Some(Sender::Peer)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::notes;
    use super::*;

    #[test]
    fn an_envelope_names_the_sender() {
        let log = r#"{"t":1,"dir":"c2s","msg":{"jsonrpc":"2.0","method":"a"}}
{"dir":"stderr","msg":"listening"}
{"direction":"out","message":{"jsonrpc":"2.0","method":"b"},"sessionId":"s1"}
{"msg":"not \"JSON\"","t":2,"dir":"s2c-raw","session":7}
{"jsonrpc":"2.0","id":1,"result":{}}
[{"jsonrpc":"2.0","method":"c"}]
"#;
        let notes = notes(log, read);
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
    fn a_line_that_cannot_be_read_is_reported_and_the_rest_goes_on() {
        let notes = notes("{\"a\":}\nlistening\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n", read);
        assert_eq!(notes.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(notes.messages.len(), 1);
    }
}
