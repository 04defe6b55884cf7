//! Debug logs: text on each line, in some of them a message as JSON.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use mcp_runtime::observer::{JsonReader, JsonValue, MessageText};
use mcp_runtime::protocol::Side;
use serde_json::value::RawValue;

use super::colours::without_colours;
use super::logged::LoggedText;
use super::record::{Broken, LogReader, Place, Record, RecordKind, Sender};
use super::said_around::SaidAround;
use super::{envelope, javascript, json_lines, python, quoted, words};

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
    if let Some(shown) = shown_by_python(line) {
        return take_shown(place, &shown, reader);
    }
    let mut problem = None;
    let mut from = 0;
    for _ in 0..TRIED {
        let Some(found) = line.get(from..).and_then(|rest| memchr::memchr2(b'{', b'[', rest)) else { break };
        let start = from + found;
        from = start + 1;
        let Some((prefix, rest)) = line.split_at_checked(start) else { break };
        let written = rest.starts_with(b"{").then(|| python::bytes(prefix, rest)).flatten();
        if written.is_some() && memchr::memmem::find(prefix, SENT_AGAIN).is_some() {
            reader.silent(SILENT);
            return Ok(false);
        }
        let rest = written.as_deref().map_or(rest, str::as_bytes);
        // In most lines nothing follows the message, and it need not be read again.
        if let Some(shown) =
            str::from_utf8(rest).ok().filter(|rest| rest.starts_with('{') && is_message(rest))
            && let Some(value) = json.read(shown)
        {
            return take(place, prefix, shown, Some(value), reader);
        }
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) if is_message(value.get()) => {
                return take(place, prefix, value.get(), json.read(value.get()), reader);
            }
            Some(Ok(value)) if has_message_in_text(value.get()) => {
                return take_logged(place, prefix, value.get(), json.read(value.get()), reader);
            }
            Some(Err(error)) if rest.starts_with(b"{") && seems_message(rest) => {
                let shown = str::from_utf8(rest).ok();
                let unquoted = |rest| {
                    let text = python::text(prefix, rest);
                    let text = text.or_else(|| python::dictionary(rest)).or_else(|| quoted::object(rest));
                    text.or_else(|| javascript::object(rest))
                };
                match shown.and_then(unquoted) {
                    Some(json) if is_message(&json) => {
                        reader.message(record(place, prefix, json.as_bytes().into()));
                        return Ok(true);
                    }
                    // Something else that a program has logged.
                    Some(_) => {}
                    None => problem = problem.or_else(|| Some(why(prefix, rest, &error))),
                }
            }
            _ => {}
        }
    }
    if NOT_SHOWN.iter().any(|words| memchr::memmem::find(line, words).is_some()) {
        reader.silent(SILENT);
    } else if memchr::memmem::find(line, RECORD_OF_JAVA).is_some() {
        reader.silent(SILENT_JAVA);
    } else if LISTS_OF_LISP.iter().any(|words| line.starts_with(words)) {
        reader.silent(SILENT_LISP);
    }
    problem.map_or(Ok(false), Err)
}

/// Takes a message, or an envelope that has one, with what was read of it.
fn take(
    place: Place,
    prefix: &[u8],
    text: &str,
    value: Option<JsonValue<'_>>,
    reader: &mut impl LogReader,
) -> Result<bool, String> {
    if envelope::is_envelope(text, value) {
        return json_lines::read_value(place, text, value, reader).map(|_| true);
    }
    if value.is_some_and(|value| value.member("jsonrpc").is_none()) && envelope::is_logged(text.as_bytes()) {
        return take_logged(place, prefix, text, value, reader);
    }
    let message = value.map_or(text.as_bytes().into(), MessageText::from);
    reader.message(record(place, prefix, message));
    Ok(true)
}

/// Takes the message that is a member of an object behind some words, as loggers write what they were given with a text.
#[cold]
fn take_logged(
    place: Place,
    prefix: &[u8],
    text: &str,
    value: Option<JsonValue<'_>>,
    reader: &mut impl LogReader,
) -> Result<bool, String> {
    let sender = Some(sender(prefix)).filter(|sender| *sender != Sender::Unsaid);
    let said = SaidAround { sender, session: None };
    // One type of readers, however deep texts lie in one another.
    let reader: &mut dyn LogReader = reader;
    let mut reader = said.fill(reader);
    let logged = json_lines::read_value(place, text, value, &mut reader)?;
    match logged.is_empty() {
        true => Ok(true),
        false => read_logged(place, &logged, &mut JsonReader::default(), &mut reader),
    }
}

/// Finds the messages in texts that a program has logged as members of an object, and returns whether there is one. What was
/// said in several events has each of them on a line of its own.
pub(super) fn read_logged(
    place: Place,
    logged: &[LoggedText],
    json: &mut JsonReader,
    reader: &mut dyn LogReader,
) -> Result<bool, String> {
    let texts =
        logged.iter().map(|it| (it.text.as_ref().map(|text| without_colours(text.as_bytes())), &it.said));
    let texts: Vec<_> = texts.collect();
    let lines_of = |text| <[u8]>::split(text, |byte| *byte == b'\n').filter(|line| seems_message(line));
    let mut pieces: Vec<(Result<&[u8], &String>, &SaidAround)> = Vec::new();
    for (text, said) in &texts {
        match text {
            Ok(text) if lines_of(text).nth(1).is_some() => {
                pieces.extend(lines_of(text).map(|line| (Ok(line), *said)));
            }
            // One message may stand in several lines.
            Ok(text) => pieces.push((Ok(text), said)),
            Err(problem) => pieces.push((Err(problem), said)),
        }
    }
    if let [(Ok(text), said)] = pieces[..] {
        return read(place, text, json, &mut said.fill(reader));
    }
    let mut is_there = false;
    for (entry, (text, said)) in (1..).zip(pieces) {
        let place = Place { entry: Some(entry), ..place };
        let found = match text {
            Ok(text) => read(place, text, json, &mut said.fill(reader)),
            Err(problem) => Err(problem.clone()),
        };
        match found {
            Ok(is_message) => is_there |= is_message,
            // The next ones can be read all the same.
            Err(problem) => {
                is_there = true;
                reader.broken(Broken { place, may_be_message: true, problem });
            }
        }
    }
    Ok(is_there)
}

/// What the Python SDK says of a message of the client that it has logged as bytes before.
const REPEATED: [&str; 3] =
    ["Validated client message: ", "Sending session message to writer: ", "Sending message to writer: "];
/// What a library of the Python SDK says of what a server sends as events. Where the SDK logs messages, it has logged
/// this one.
const SENT_AGAIN: &[u8] = b"chunk: b";
/// What its client over streamable HTTP says of a message, right before it. Of the answers it logs the events alone.
const POSTED: &str = "Sending client message: ";
/// What the Python SDK says of a request that it does not show, and the name under which its newer servers say that they start.
const NOT_SHOWN: [&[u8]; 2] =
    [b"Received message: <mcp.shared.session.RequestResponder", b"mcp.server.lowlevel.server"];
/// How the Java SDK shows a message.
const RECORD_OF_JAVA: &[u8] = b"[jsonrpc=2.0";
/// What Eglot writes before the list that shows a message, in editions of Emacs before 30.
const LISTS_OF_LISP: [&[u8]; 6] = [
    b"[client-request] (id:",
    b"[client-reply] (id:",
    b"[client-notification] ",
    b"[server-request] (id:",
    b"[server-reply] (id:",
    b"[server-notification] ",
];
/// Why a log has no message.
const SILENT: &str =
    "the Python SDK logs the messages of clients over HTTP and of both sides over SSE, and no others";
const SILENT_LISP: &str =
    "it shows messages as Emacs Lisp shows lists, which is not JSON. Eglot of Emacs 30 and later writes JSON";
const SILENT_JAVA: &str = "it shows messages as Java shows records, which is not JSON";

/// The message that a line has as an object of the Python SDK.
fn shown_by_python(line: &[u8]) -> Option<python::ShownObject<'_>> {
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| words::any_of(&["jsonrpc='2.0'", "JSONRPC"]));
    MARKS.is_match(line).then(|| python::object(str::from_utf8(line).ok()?)).flatten()
}

fn take_shown(
    place: Place,
    shown: &python::ShownObject<'_>,
    reader: &mut impl LogReader,
) -> Result<bool, String> {
    if REPEATED.iter().any(|words| shown.prefix.contains(words)) {
        return Ok(false);
    }
    let Some(json) = &shown.json else {
        return Err("the message in the line is written as Python shows an object, and not all of it is there: if the lines are \
                    cut to the width of a terminal, as `rich` does, set `COLUMNS=100000` for the program; or write \
                    `model_dump_json(by_alias=True)` of the message into the log"
            .to_owned());
    };
    let mut record = record(place, shown.prefix.as_bytes(), json.as_bytes().into());
    if shown.prefix.trim_end_matches("root=").ends_with(POSTED) {
        record.kind = RecordKind::Posted;
    }
    reader.message(record);
    Ok(true)
}

/// A message with its sender, as far as the text before it says who that is.
fn record<'a>(place: Place, prefix: &[u8], message: MessageText<'a>) -> Record<'a> {
    Record { place, sender: sender(prefix), session: None, kind: RecordKind::Sent, message }
}

/// Why a message cannot be read. Some languages show objects with keys that have no quotes.
fn why(prefix: &[u8], message: &[u8], error: &serde_json::Error) -> String {
    let inside = message.get(1..).unwrap_or_default().trim_ascii_start();
    let name = inside.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let behind = inside.get(name..).filter(|_| name > 0).unwrap_or_default();
    let is_cut_off = error.is_eof() || quoted::is_cut_off(message);
    if is_cut_off && is_place_of_curl(prefix) {
        "the line is of `curl --trace-ascii`, which breaks what it shows into lines: record the session with `sessionc guard \
         --listen ADDRESS --to URL --record FILE`, and give `curl` that address"
            .to_owned()
    } else if ends_with_bytes(prefix) {
        "the line is of a dump that shows bytes as numbers: write the text alone, as `tcpdump -A` does, or record the session \
         with `sessionc guard --record`"
            .to_owned()
    } else if message.ends_with(b"\"...") || memchr::memmem::find(message, b"\"..., ").is_some() {
        "the message in the line is cut off where the line has `...`: write it whole, for `strace` with `-s 1000000`"
            .to_owned()
    } else if memchr::memmem::find(message, b"JsonRpcVersion").is_some() {
        "the message in the line is written as Rust shows a value: write `serde_json::to_string` of it into the log, or record \
         the session with `sessionc guard --record`"
            .to_owned()
    } else if behind.starts_with(b":") {
        "the message in the line is written as JavaScript shows an object, and not all of it is there: write \
         `JSON.stringify` of it into the log"
            .to_owned()
    } else if behind.trim_ascii_start().starts_with(b"=") {
        "the message in the line is written as Lua shows a table: write it into the log as JSON, or record the session \
         with `sessionc guard --record`"
            .to_owned()
    } else if is_cut_off {
        "the message in the line does not end there: write each message whole, in one line, or record the session with \
         `sessionc guard --record`"
            .to_owned()
    } else {
        format!("the message in the line cannot be read: {error}")
    }
}

/// Whether a text is the place of a line in what `curl --trace-ascii` shows, or ends with it and the name of an event's
/// field: `0040: `, `000f: data: `. A message begins near the beginning of a body, and a number that is not padded is
/// something else, such as that of a process.
fn is_place_of_curl(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"data: ").unwrap_or(text);
    let digits = text.strip_suffix(b": ").unwrap_or_default();
    digits.len() == 4 && digits.starts_with(b"0") && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Whether a text ends with bytes as numbers: `7b 22 6a 73`, or `7b22 6a73`.
fn ends_with_bytes(text: &[u8]) -> bool {
    const BYTES: usize = 4;
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b"|").unwrap_or(text);
    // What stands between the numbers and a message are dots for what cannot be shown.
    let shown = |byte: &u8| *byte == b'.' || byte.is_ascii_whitespace();
    let end = text.iter().rposition(|byte| !shown(byte)).map_or(0, |last| last + 1);
    let words = text.get(..end).unwrap_or_default().split(u8::is_ascii_whitespace);
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).rev().take(BYTES).collect();
    let is_number = |word: &&[u8]| matches!(word.len(), 2 | 4) && word.iter().all(u8::is_ascii_hexdigit);
    words.len() == BYTES && words.iter().all(is_number)
}

/// Whether a text that is not JSON looks like a message. What stands before it, such as the name of a logger, does not count.
pub(super) fn seems_message(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"jsonrpc").is_some()
}

/// Whether a value is a message, and not something else that a program has logged.
fn is_message(value: &str) -> bool {
    value.contains("\"jsonrpc\"") && !value.starts_with("[\"")
}

/// Whether a value is an object that a program has logged, with a message in a member that is a text, or in a text within that one.
fn has_message_in_text(value: &str) -> bool {
    value.contains("\\\"jsonrpc\\") && envelope::is_logged(value.as_bytes())
}

/// The sender that the text before a message names.
fn sender(prefix: &[u8]) -> Sender {
    let prefix = prefix.get(prefix.len().saturating_sub(PREFIX)..).unwrap_or(prefix);
    // The words that are nearest to the message decide.
    let mut nearest: Option<(usize, &SenderWords)> = None;
    for found in FINDER.words.find_overlapping_iter(prefix) {
        let Some(words) = FINDER.meaning.get(found.pattern().as_usize()) else { continue };
        if is_within_word(prefix, found.start()) {
            continue;
        }
        let rank = (words.names_a_side, found.start());
        if nearest.is_none_or(|(start, nearest)| (nearest.names_a_side, start) <= rank) {
            nearest = Some((found.start(), words));
        }
    }
    nearest.map_or(Sender::Unsaid, |(_, words)| words.sender)
}

/// Whether what stands at a place is a part of a longer word, as in `thread`, `THREAD` and `resources/read`. `onRead` is two words.
fn is_within_word(text: &[u8], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| text.get(before));
    let (Some(before), Some(first)) = (before, text.get(place)) else { return false };
    match first.is_ascii_lowercase() {
        true => *before == b'/' || before.is_ascii_alphanumeric(),
        false => first.is_ascii_uppercase() && before.is_ascii_uppercase(),
    }
}

/// Words that say who sends a message, in whatever case they are written.
struct SenderWords {
    words: &'static [&'static str],
    sender: Sender,
    /// Whether they name a side: then they count more than a way does.
    names_a_side: bool,
}

/// All of them, found in one pass: a log has a text before each message.
static FINDER: LazyLock<SenderFinder> = LazyLock::new(|| {
    let meaning = SENDERS.iter().flat_map(|all| all.words.iter().map(move |_| all)).collect();
    let words: Vec<&str> = SENDERS.iter().flat_map(|all| all.words).copied().collect();
    SenderFinder { words: words::any_of_in_any_case(&words), meaning }
});

struct SenderFinder {
    words: AhoCorasick,
    /// What each of the words is one of.
    meaning: Vec<&'static SenderWords>,
}

static SENDERS: [SenderWords; 4] = [
    SenderWords { words: CLIENT, sender: Sender::Is(Side::Client), names_a_side: true },
    SenderWords { words: SERVER, sender: Sender::Is(Side::Server), names_a_side: true },
    SenderWords { words: WRITER, sender: Sender::Writer, names_a_side: false },
    SenderWords { words: PEER, sender: Sender::Peer, names_a_side: false },
];

const CLIENT: &[&str] = &[
    "from client",
    "to server",
    "client message",
    "client says",
    "client ->",
    "client->",
    "client →",
    "editor ->",
    "local→remote",
    "local → remote",
    "→ child",
    "stdio → ",
    "client-to-server",
    "c2s",
];
const SERVER: &[&str] = &[
    "from server",
    "to client",
    "server message",
    "server says",
    "sse message",
    "server ->",
    "server->",
    "server →",
    "remote→local",
    "remote → local",
    "child →",
    "→ stdio",
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
            ("2025-03-23 16:38:00.970 [info] [Client Says] ", client),
            ("2025-03-23 16:38:00.989 [info] [Server Says] ", server),
            ("[1] [Local→Remote] ", client),
            ("[1] [Remote→Local] ", server),
            ("[supergateway] SSE → Child (session 450b): ", client),
            ("[supergateway] Child → SSE: ", server),
            ("[supergateway] Stdio → SSE: ", client),
            ("[supergateway] SSE → Stdio: ", server),
            ("write: ", Sender::Writer),
            ("read: ", Sender::Peer),
            ("[2026-01-01] {a} ", Sender::Unsaid),
            ("[main thread] ", Sender::Unsaid),
            ("[MAIN-THREAD] ", Sender::Unsaid),
            ("[e] --> resources/read[4] ", Sender::Writer),
            ("onRead: ", Sender::Peer),
        ] {
            let line = format!("{prefix}{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}} {{ metadata: undefined }}");
            assert_eq!(is(&line), [sender], "{prefix}");
        }
    }

    #[test]
    fn text_without_a_message_is_passed_over_and_half_a_message_is_not() {
        assert_eq!(is("listening on {\"port\":3000}"), []);
        let broken = notes("a log\nread: {\"jsonrpc\":\"2.0\",\"met", look).broken;
        assert!(broken[0].1.contains("does not end there: write each message whole"), "{broken:?}");
        // As `socat -v` shows it.
        let shown = r#"{"jsonrpc":"2.0","id":1,"result":{"a":"it is \\"x\\", an"#;
        let broken = notes(&format!("a log\n{shown}\n"), look).broken;
        assert!(broken[0].1.contains("does not end there: write each message whole"), "{broken:?}");
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
            (" 7b 22 6a 73 6f 6e  {\"jsonrpc\":\"2.0\"", "dump that shows bytes"),
            ("0010  7f00 0001 7b22 6a73  ....{\"jsonrpc\":\"", "dump that shows bytes"),
            ("00000000  7b 22 6a 73 6f  |{\"jsonrpc\":\"2.0\"|", "dump that shows bytes"),
            (r#"read(0, "{\"jsonrpc\":\"2.0\",\"id\":2,\"arg"..., 65536) = 355"#, "`-s 1000000`"),
            ("rpc.send { id = 1, jsonrpc = \"2.0\" }", "as Lua shows a table"),
            ("JsonRpcRequest { jsonrpc: JsonRpcVersion2_0, id: Number(0) }", "as Rust shows a value"),
            (
                "got JSONRPCRequest(method='a', params={'x': <object>}, jsonrpc='2.0')",
                "`model_dump_json(by_alias=True)`",
            ),
        ] {
            let broken = notes(&format!("a log\n{line}\n"), look).broken;
            assert!(broken.len() == 1 && broken[0].1.contains(problem), "{broken:?}");
        }
    }

    #[test]
    fn a_message_that_the_python_sdk_logs_again_is_one() {
        let log = r#"a log
DEBUG:mcp.server.sse:Received JSON: b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"it\'s":"x\\ny"}}'
DEBUG:mcp.server.sse:Validated client message: root=JSONRPCRequest(method='a', params={"it's": 'x\ny'}, jsonrpc='2.0', id=1)
DEBUG:mcp.server.sse:Sending session message to writer: SessionMessage(message=JSONRPCMessage(root=JSONRPCRequest(method='a', params={"it's": 'x\ny'}, jsonrpc='2.0', id=1)), metadata=None)
DEBUG:mcp.server.lowlevel.server:Received message: <mcp.shared.session.RequestResponder object at 0x7f83aa739010>
DEBUG:mcp.server.sse:Sending message via SSE: SessionMessage(message=JSONRPCMessage(root=JSONRPCResponse(jsonrpc='2.0', id=1, result={})), metadata=None)
DEBUG:sse_starlette.sse:chunk: b'event: message\r\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\r\n\r\n'
DEBUG:mcp.server.lowlevel.server:Received message: root=InitializedNotification(method='b', params=None, jsonrpc='2.0')
"#;
        let found = notes(log, look);
        let expected = [
            (2, Sender::Peer, r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"it's":"x\ny"}}"#),
            (6, Sender::Writer, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        ];
        assert_eq!(found.messages, expected.map(|(line, sender, text)| (line, sender, text.to_owned())));
        assert_eq!(found.broken, []);
        assert!(found.silent.is_some());
    }

    #[test]
    fn a_message_in_a_logged_text_that_cannot_be_read_leaves_the_others() {
        let ping = r#"{"jsonrpc":"2.0","method":"ping"}"#;
        let events = format!("data: {ping}\n\ndata: {{\"jsonrpc\":\"2.0\",\"met\n\ndata: {ping}\n");
        let log = serde_json::json!({ "level": "debug", "msg": events }).to_string();
        for log in [log.clone(), format!("DEBUG received {log}")] {
            let found = notes(&format!("a log\n{log}\n"), |place, line, reader| {
                match json_lines::read(place, line, &mut JsonReader::default(), reader) {
                    Ok(logged) if !logged.is_empty() => {
                        read_logged(place, &logged, &mut JsonReader::default(), reader).map(drop)
                    }
                    _ => look(place, line, reader),
                }
            });
            assert_eq!(found.messages.len(), 2, "{found:?}");
            assert_eq!(found.entries, [Some(1), Some(3)], "{found:?}");
            let [(2, problem)] = &found.broken[..] else { panic!("{found:?}") };
            assert!(problem.contains("does not end there"), "{problem}");
        }
    }

    #[test]
    fn texts_may_lie_in_one_another() {
        let message = r#"{"jsonrpc":"2.0","method":"ping"}"#.to_owned();
        let mut log = format!("received {message}");
        for _ in 0..6 {
            log = format!("DEBUG x {}", serde_json::json!({ "msg": log }));
            let found = notes(&format!("a log\n{log}\n"), look);
            assert_eq!(
                (found.messages, found.broken),
                (vec![(2, Sender::Peer, message.clone())], vec![]),
                "{log}"
            );
        }
    }
}
