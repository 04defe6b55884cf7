//! Debug logs: text on each line, in some of them a message as JSON.

use mcp_runtime::observer::JsonReader;
use mcp_runtime::protocol::Side;
use serde_json::value::RawValue;

use super::record::{LogReader, Place, Record, RecordKind, Sender};
use super::{json_lines, python, quoted};

/// How many places of a line are tried.
const TRIED: usize = 8;
/// How many bytes before a message may say who sends it.
const PREFIX: usize = 200;

/// Finds the message in a line, and returns whether there is one.
///
/// # Errors
/// If there seems to be one, and it cannot be read.
pub(super) fn read(
    place: Place,
    line: &[u8],
    json: &mut JsonReader,
    reader: &mut impl LogReader,
) -> Result<bool, String> {
    let mut problem = None;
    let mut from = 0;
    for _ in 0..TRIED {
        let Some(found) = line.get(from..).and_then(|rest| memchr::memchr2(b'{', b'[', rest)) else { break };
        let start = from + found;
        from = start + 1;
        let Some((prefix, rest)) = line.split_at_checked(start) else { break };
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        let mut found = |json: &str| {
            let message = json.as_bytes().into();
            reader.message(Record {
                place,
                sender: sender(prefix),
                session: None,
                kind: RecordKind::Sent,
                message,
            });
        };
        match values.next() {
            Some(Ok(value)) if is_message(value.get()) => {
                if json_lines::is_envelope(value.get().as_bytes()) {
                    return json_lines::read(place, value.get().as_bytes(), json, reader).map(|_| true);
                }
                found(value.get());
                return Ok(true);
            }
            Some(Err(error)) if rest.starts_with(b"{") && seems_message(rest) => {
                let shown = str::from_utf8(rest).ok();
                match shown.and_then(|rest| python::dictionary(rest).or_else(|| quoted::object(rest))) {
                    Some(json) if is_message(&json) => {
                        found(&json);
                        return Ok(true);
                    }
                    // Something else that a program has logged.
                    Some(_) => {}
                    None => problem = problem.or_else(|| Some(why(rest, &error))),
                }
            }
            _ => {}
        }
    }
    problem.map_or(Ok(false), Err)
}

/// Why a message cannot be read. Some languages show objects with keys that have no quotes.
fn why(message: &[u8], error: &serde_json::Error) -> String {
    let inside = message.get(1..).unwrap_or_default().trim_ascii_start();
    let name = inside.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let behind = inside.get(name..).filter(|_| name > 0).unwrap_or_default();
    if behind.starts_with(b":") {
        "the message in the line is written as JavaScript shows an object, and not all of it may be there: write \
         `JSON.stringify` of it into the log"
            .to_owned()
    } else if behind.trim_ascii_start().starts_with(b"=") {
        "the message in the line is written as Lua shows a table: write it into the log as JSON, or record the session \
         with `sessionc guard --record`"
            .to_owned()
    } else {
        format!("the message in the line cannot be read: {error}")
    }
}

/// Whether a text that is not JSON looks like a message. What stands before it, such as the name of a logger, does not count.
fn seems_message(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"jsonrpc").is_some()
}

/// Whether a value is a message, and not something else that a program has logged.
fn is_message(value: &str) -> bool {
    value.contains("\"jsonrpc\"") && !value.starts_with("[\"")
}

/// The sender that the text before a message names.
fn sender(prefix: &[u8]) -> Sender {
    let prefix = prefix.get(prefix.len().saturating_sub(PREFIX)..).unwrap_or(prefix);
    let prefix = String::from_utf8_lossy(prefix).to_ascii_lowercase();
    // The words that are nearest to the message decide.
    let last = |words: &[&str]| words.iter().filter_map(|word| prefix.rfind(word)).max();
    let named = [(last(CLIENT), Sender::Is(Side::Client)), (last(SERVER), Sender::Is(Side::Server))];
    let way = [(last(WRITER), Sender::Writer), (last(PEER), Sender::Peer)];
    let nearest = |all: [(Option<usize>, Sender); 2]| {
        all.into_iter().filter(|(place, _)| place.is_some()).max_by_key(|(place, _)| *place)
    };
    nearest(named).or_else(|| nearest(way)).map_or(Sender::Unsaid, |(_, sender)| sender)
}

const CLIENT: &[&str] = &[
    "from client",
    "to server",
    "client message",
    "client ->",
    "client->",
    "client →",
    "editor ->",
    "client-to-server",
    "c2s",
];
const SERVER: &[&str] = &[
    "from server",
    "to client",
    "server message",
    "server ->",
    "server->",
    "server →",
    "server-to-client",
    "s2c",
];
const WRITER: &[&str] = &["send", "sent", "write", "wrote", "outgoing", "-->", ">>", "→"];
const PEER: &[&str] = &["receiv", "recv", "read", "incoming", "<--", "<<", "←"];

#[cfg(test)]
mod tests {
    use super::super::record::tests::{Notes, notes};
    use super::*;

    fn look(place: Place, line: &[u8], reader: &mut Notes) -> Result<(), String> {
        read(place, line, &mut JsonReader::default(), reader).map(drop)
    }

    fn is(line: &str) -> Vec<Sender> {
        let log = format!("a log\n{line}\n");
        notes(&log, look).messages.into_iter().map(|(_, sender, _)| sender).collect()
    }

    #[test]
    fn words_before_a_message_say_who_sends_it() {
        let (client, server) = (Sender::Is(Side::Client), Sender::Is(Side::Server));
        for (prefix, sender) in [
            ("2026-01-01T10:00:00Z [notes] [info] Message from client: ", client),
            ("2026-01-01T10:00:00Z [notes] [info] Message from server: ", server),
            ("2026-01-01 10:00:00.000 [trace] [editor -> server] ", client),
            ("2026-01-01 10:00:00.000 [trace] [server -> editor] ", server),
            ("DEBUG:mcp.client.stdio:Sending client message: ", client),
            ("DEBUG:mcp.client.stdio:Received server message: ", server),
            ("write: ", Sender::Writer),
            ("\u{1b}[32mread\u{1b}[0m: ", Sender::Peer),
            ("[2026-01-01] {a} ", Sender::Unsaid),
        ] {
            let line = format!("{prefix}{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}} {{ metadata: undefined }}");
            assert_eq!(is(&line), [sender], "{prefix}");
        }
    }

    #[test]
    fn text_without_a_message_is_passed_over_and_half_a_message_is_not() {
        assert_eq!(is("listening on {\"port\":3000}"), []);
        let broken = notes("a log\nread: {\"jsonrpc\":\"2.0\",\"met", look).broken;
        assert!(broken[0].1.contains("cannot be read"), "{broken:?}");
    }

    #[test]
    fn what_else_a_program_logs_is_not_half_a_message() {
        for line in [
            "DEBUG - pylsp_jsonrpc.endpoint - Got result from request handler: {'contents': ''}",
            "DEBUG - pylsp_jsonrpc.endpoint - Sending notification: a/b {'uri': 'file:///a', 'items': [{'a': 1}]}",
            "DEBUG - root - Headers: {'user-agent': 'a jsonrpc client'}",
        ] {
            let found = notes(&format!("a log\n{line}\n"), look);
            assert_eq!((found.messages.len(), found.broken), (0, vec![]), "{line}");
        }
        for (line, problem) in [
            ("got {'jsonrpc': '2.0', 'id': <object>}", "cannot be read"),
            ("got { jsonrpc: '2.0', id: 1, params: [Object] }", "write `JSON.stringify` of it into the log"),
            ("rpc.send { id = 1, jsonrpc = \"2.0\" }", "as Lua shows a table"),
        ] {
            let broken = notes(&format!("a log\n{line}\n"), look).broken;
            assert!(broken.len() == 1 && broken[0].1.contains(problem), "{broken:?}");
        }
    }
}
