//! How logs are written, and the messages in them.

mod chunked;
mod client_logs;
mod colours;
mod document;
pub(crate) mod elements;
mod envelope;
mod escapes;
mod har;
mod inspector;
mod javascript;
mod journal;
mod json_lines;
mod list;
mod logged;
mod mcp_remote;
mod messages;
mod pieces;
mod python;
mod quoted;
pub(crate) mod record;
mod said_around;
mod socat;
mod spread;
mod streams;
mod text;
mod vscode;
mod words;

use std::io::{self, Read};

use mcp_runtime::observer::JsonReader;
use serde::de::IgnoredAny;

use client_logs::ClientLog;
use colours::without_colours;
use mcp_remote::RemoteLog;
use messages::{Format, Messages};
use pieces::{ContainerPiece, Pieces};
use record::{Broken, LogReader, Place};
use socat::BlockHeader;
use spread::{Next, Spread};
use vscode::VscodeTrace;

use super::lines::{Line, Lines};

/// Reads a log whose format is recognised by its beginning.
pub(crate) fn read(from: impl Read, reader: &mut impl LogReader) -> io::Result<()> {
    let mut lines = Lines::new(from);
    let beginning = lines.beginning(shows_format)?;
    if let Some((what, command)) = not_text(beginning) {
        let problem = format!("it is {what}: pipe `{command} FILE` into `sessionc trace … -`");
        return Err(io::Error::other(problem));
    }
    if beginning.is_empty() {
        reader.silent("it is empty");
    }
    let format = recognise(beginning);
    let marks = if beginning.starts_with(BOM) { BOM.len() } else { 0 };
    lines.pass(marks);
    if format == Format::Har {
        return har::read(&mut lines, reader);
    }
    let blanks = lines.ahead().len() - lines.ahead().trim_ascii_start().len();
    lines.pass(blanks);
    let is_list =
        format == Format::JsonLines && lines.ahead().starts_with(b"[") && list::is_log(&mut lines, reader)?;
    let (json, vscode) = (JsonReader::of_alike(), VscodeTrace::default());
    let (clients, remote) = (ClientLog::default(), RemoteLog::default());
    let mut messages = Messages { format, json, vscode, clients, remote, reader };
    if is_list {
        list::read(&mut lines, &mut messages)?;
    }
    let mut spread: Option<Spread> = None;
    let mut pieces = Pieces::default();
    while let Some(Line { number, text, is_whole }) = lines.next()? {
        let place = Place { line: number, entry: None };
        let Some(text) = text else {
            messages.take_lines(spread.take());
            let problem = format!("the line is longer than {} MiB", super::lines::LONGEST >> 20);
            messages.reader.broken(Broken { place, may_be_message: true, problem });
            continue;
        };
        let text = without_colours(text.strip_prefix(BOM).unwrap_or(text));
        let text = &*text;
        if matches!(text.first(), Some(b'<' | b'>'))
            && let Some(header) = BlockHeader::of(text)
        {
            messages.take_lines(spread.take());
            return socat::read(&mut lines, header, messages.reader);
        }
        match pieces.take(place, text) {
            ContainerPiece::Foreign => {}
            ContainerPiece::GoesOn => continue,
            ContainerPiece::Last(place, text) => {
                messages.take_lines(spread.take());
                messages.take(place, &text, is_whole);
                continue;
            }
        }
        match spread.as_mut().map(|object| object.add(number, text)) {
            Some(Next::GoesOn) => continue,
            Some(Next::Ended) => {
                if let Some(object) = spread.take() {
                    let place = Place { line: object.number(), entry: None };
                    messages.take(place, object.text(), is_whole);
                }
                continue;
            }
            Some(Next::Foreign) => messages.take_lines(spread.take()),
            None => {}
        }
        spread = Spread::begin(number, text);
        if spread.is_none() {
            messages.take(place, text, is_whole);
        }
    }
    messages.take_lines(spread);
    for (place, text) in pieces.end() {
        messages.take(place, &text, false);
    }
    messages.end();
    Ok(())
}

/// What some programs write at the beginning of a file in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a file is that is not a text in UTF-8, and what prints its text.
fn not_text(beginning: &[u8]) -> Option<(&'static str, &'static str)> {
    const UTF_16: &str = "UTF-16, and a log has to be UTF-8";
    const PACKETS: (&str, &str) = ("a capture of packets", "tcpdump -A -r");
    const KINDS: [(&[u8], (&str, &str)); 13] = [
        (b"\x1f\x8b", ("compressed by gzip", "gzip -dc")),
        (b"\x28\xb5\x2f\xfd", ("compressed by zstd", "zstd -dc")),
        (b"BZh", ("compressed by bzip2", "bzip2 -dc")),
        (b"\xfd7zXZ\0", ("compressed by xz", "xz -dc")),
        (b"PK\x03\x04", ("compressed by zip", "unzip -p")),
        // What mitmproxy writes into `.zhar`.
        (b"\x78\xda", ("compressed by zlib", "zlib-flate -uncompress <")),
        (b"\xa1\xb2\xc3\xd4", PACKETS),
        (b"\xd4\xc3\xb2\xa1", PACKETS),
        (b"\xa1\xb2\x3c\x4d", PACKETS),
        (b"\x4d\x3c\xb2\xa1", PACKETS),
        (b"\x0a\x0d\x0d\x0a", PACKETS),
        // What PowerShell of Windows writes with `>`.
        (b"\xff\xfe", (UTF_16, "iconv -f UTF-16 -t UTF-8")),
        (b"\xfe\xff", (UTF_16, "iconv -f UTF-16 -t UTF-8")),
    ];
    match beginning {
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => {
            return Some((UTF_16, "iconv -f UTF-16LE -t UTF-8"));
        }
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => {
            return Some((UTF_16, "iconv -f UTF-16BE -t UTF-8"));
        }
        _ if is_dump_of_mitmproxy(beginning) => {
            return Some(("a dump of mitmproxy", "mitmdump -q -n --set hardump=- -r"));
        }
        _ => {}
    }
    KINDS.into_iter().find(|(begins, _)| beginning.starts_with(begins)).map(|(_, kind)| kind)
}

/// Whether a file begins as mitmproxy writes its flows: with a length, and the name of a member with its own length.
fn is_dump_of_mitmproxy(beginning: &[u8]) -> bool {
    fn after_length(text: &[u8]) -> Option<(usize, &[u8])> {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = text.split_at_checked(digits)?;
        let length = str::from_utf8(length).ok()?.parse().ok()?;
        Some((length, rest.strip_prefix(b":")?))
    }
    let name = after_length(beginning).and_then(|(_, inside)| after_length(inside));
    name.is_some_and(|(length, text)| {
        let is_word = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
        length > 0 && text.get(..length).is_some_and(is_word) && text.get(length) == Some(&b';')
    })
}

/// Whether the format shows: the first line is whole, and a JSON object or not the beginning of one; or it is a list, whose
/// first element shows what it is a list of.
fn shows_format(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(BOM).unwrap_or(beginning).trim_ascii_start();
    let element = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    // The quotes of its first name tell JSON from what Python shows.
    if let Some(inside) = element.and_then(|element| element.strip_prefix(b"{")) {
        return !inside.trim_ascii_start().is_empty();
    }
    let Some(end) = memchr::memchr(b'\n', text) else { return false };
    let line = text.get(..end).unwrap_or_default();
    match line.first() {
        Some(b'{') => serde_json::from_slice::<IgnoredAny>(line).is_ok(),
        // The time in a log, or a list of something else.
        Some(b'[') => element.is_some_and(|element| !element.is_empty()),
        None => false,
        Some(_) => true,
    }
}

fn recognise(beginning: &[u8]) -> Format {
    let beginning = beginning.strip_prefix(BOM).unwrap_or(beginning).trim_ascii_start();
    if har::is_archive(beginning) {
        return Format::Har;
    }
    // A batch of messages begins with a bracket, and so does the time in some logs.
    let after = beginning.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    let object = after.unwrap_or(beginning).strip_prefix(b"{");
    // Python shows dictionaries with other quotes, and JavaScript objects without any.
    let is_json = |inside: &[u8]| {
        let first = inside.trim_ascii_start().first();
        first.is_none_or(|first| !(first.is_ascii_alphabetic() || matches!(first, b'\'' | b'_' | b'$')))
    };
    match object.is_some_and(is_json) {
        true => Format::JsonLines,
        false => Format::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::record::Sender;
    use super::record::tests::Notes;
    use super::*;
    use mcp_runtime::protocol::Side;

    /// What is read of a log, whatever its format.
    pub(super) fn notes(log: &str) -> Notes {
        let mut notes = Notes::default();
        read(log.as_bytes(), &mut notes).unwrap();
        notes
    }

    #[test]
    fn a_format_is_recognised_by_the_beginning() {
        for (beginning, format) in [
            ("{\"jsonrpc\":\"2.0\"}", Format::JsonLines),
            ("\u{feff}\n {\"t\":1}", Format::JsonLines),
            ("[{\"jsonrpc\":", Format::JsonLines),
            ("[2026-01-01 10:00] read: {}", Format::Text),
            ("", Format::Text),
            ("{ \"log\" :\n{ \"version\"", Format::Har),
            ("{ \"log\": \"a line\" }", Format::JsonLines),
            ("{ \"$schema\": \"a\", \"note\": [1, {}],\n\"log\": { \"version\": \"1.2\"", Format::Har),
            ("{ \"note\": 1, \"log\": { \"level\": \"info\" } }", Format::JsonLines),
            ("{ \"note\": 1 }\n{ \"log\": { \"version\": \"1.2\"", Format::JsonLines),
        ] {
            assert_eq!(recognise(beginning.as_bytes()), format, "{beginning}");
        }
    }

    /// The ids of the messages with the lines in which they begin.
    fn ids(log: &str) -> Vec<(u64, i64)> {
        let notes = notes(log);
        assert_eq!(notes.broken, [], "{log}");
        let id =
            |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["id"].as_i64().unwrap();
        notes.messages.iter().map(|(line, _, message)| (*line, id(message))).collect()
    }

    /// A log that a program still writes: each read has what it has written at once. What comes last is not there yet.
    struct Growing(std::vec::IntoIter<&'static str>);

    impl Read for Growing {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let not_yet = || io::Error::other("not written yet");
            let part = self.0.next().ok_or_else(not_yet)?;
            room[..part.len()].copy_from_slice(part.as_bytes());
            Ok(part.len())
        }
    }

    #[test]
    fn a_log_that_grows_is_read_line_by_line() {
        let (one, two) = ("{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"jsonrpc\":\"2.0\",\"id\":2}\n");
        for (parts, count) in [
            (vec!["{\"jsonrpc\":\"2.0\",", "\"id\":1}\n", two], 2),
            (vec!["[12:00] listening\n", "read: ", one, "\nread: ", two], 2),
            // A batch is one message, and is read before another line comes.
            (vec!["[", one, ",", one, "]", "\n"], 1),
            (vec!["[", one, "]\n", two], 2),
            (vec!["[\n", "  ", one, ",\n", "  ", one, "\n"], 2),
        ] {
            let shown = parts.concat();
            let mut notes = Notes::default();
            let error = read(Growing(parts.into_iter()), &mut notes).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), notes.messages.len()),
                ("not written yet", count),
                "{shown}: {notes:?}"
            );
        }
    }

    #[test]
    fn a_message_may_stand_in_several_lines() {
        let one = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"a\": [\n      \"}\"\n    ]\n  }\n}\n";
        let two = one.replace("\"id\": 1", "\"id\": 2").replace('\n', "\r\n");
        assert_eq!(ids(&format!("{one}{two}")), [(1, 1), (10, 2)]);
        assert_eq!(ids(&format!("a log\n12:00 read: {one}12:01 wrote: {two}done")), [(2, 1), (11, 2)]);
        // An exported list, of messages in one line and in several.
        let list = format!(
            "[\n  {},\n  {}\n]\n",
            one.trim_end().replace('\n', "\n  "),
            r#"{"jsonrpc":"2.0","id":3}"#
        );
        assert_eq!(ids(&list), [(2, 1), (11, 3)]);
    }

    #[test]
    fn what_is_wrong_with_an_object_in_several_lines_is_said_with_its_line() {
        let broken = notes("\n{\n  \"jsonrpc\": \"2.0\",\n  \"id\"? 7\n}\n").broken;
        let said = "it is not a JSON object: expected `:` in its line 3, column 7".to_owned();
        assert_eq!(broken, [(2, said)]);
    }

    #[test]
    fn an_object_that_never_ends_hides_no_message() {
        let message = "{\"jsonrpc\":\"2.0\",\"id\":7}\n";
        let found = notes(&format!("{{\"jsonrpc\": \"2.0\",\n  {message}{message}"));
        let lines: Vec<u64> = found.messages.iter().map(|(line, ..)| *line).collect();
        assert_eq!((lines, found.broken.len()), (vec![2, 3], 1), "{found:?}");
        let found = notes(&format!("read: {{\n  {message}  \"a\": 1,\n"));
        assert_eq!(found.messages.len(), 1, "the log ends within it: {found:?}");
    }

    #[test]
    fn a_message_may_be_written_as_python_shows_it() {
        let log = "{'jsonrpc': '2.0', 'id': 1, 'result': {'ok': True, 'text': \"it's\", 'none': None}}\n\
                   DEBUG Sending: {'jsonrpc': '2.0', 'id': 2, 'method': 'ping'}\n\
                   {'jsonrpc': '2.0',\n 'id': 3,\n 'method': 'ping'}\n";
        assert_eq!(ids(log), [(1, 1), (2, 2), (3, 3)]);
        let broken = notes("{'jsonrpc': '2.0', 'id': <object>}\n").broken;
        assert_eq!(broken.len(), 1, "{broken:?}");
    }

    #[test]
    fn a_log_may_have_lines_of_both_kinds() {
        let (one, two) = (r#"{"jsonrpc":"2.0","id":1}"#, r#"{"jsonrpc":"2.0","id":2}"#);
        let envelope = format!(r#"{{"dir":"s2c","msg":{two}}}"#);
        // Messages, and between them what a program writes for people.
        assert_eq!(ids(&format!("{one}\n12:00 DEBUG read: {two}\n")), [(1, 1), (2, 2)]);
        assert_eq!(ids(&format!("listening\n{envelope}\n12:00 DEBUG read: {one}\n")), [(2, 2), (3, 1)]);
        let notes = notes(&format!("{one}\nlistening\n"));
        assert_eq!((notes.messages.len(), notes.broken.len()), (1, 1));
        assert!(notes.broken[0].1.starts_with("the line is neither a JSON object nor"), "{notes:?}");
    }

    #[test]
    fn a_message_may_be_a_member_of_what_a_program_logs() {
        let one = r#"{"jsonrpc":"2.0","id":1}"#;
        let shown = one.replace('"', "\\\"");
        let lines = [
            format!(r#"{{"level":"debug","msg":"Message from client: {shown}"}}"#),
            format!(r#"{{"t":1,"fields":{{"message":"x"}},"rpc":{one}}}"#),
            format!(r#"{{"event":{{"direction":"in","message":{one}}},"level":3}}"#),
            r#"{"level":"info","msg":"listening"}"#.to_owned(),
            r#"{"level":"error","error":"lost","msg":"closed"}"#.to_owned(),
        ];
        // At the beginning, and in a log of text.
        for (first, line) in [("", 1), ("a log\n", 2)] {
            let found = notes(&format!("{first}{}\n", lines.join("\n")));
            let messages = found.messages.iter().map(|(line, _, message)| (*line, message.as_str()));
            assert_eq!(messages.collect::<Vec<_>>(), [(line, one), (line + 1, one), (line + 2, one)]);
            assert_eq!(found.messages[0].1, Sender::Is(Side::Client));
            assert_eq!(found.messages[2].1, Sender::Peer);
            assert_eq!(found.broken, []);
        }
        let hidden = format!(r#"{{"a":[{one}]}}"#);
        // What stands around it says who has sent it.
        for (line, sender, session) in [
            (format!(r#"{{"direction":"in","rpc":{one},"msg":"rpc"}}"#), Sender::Peer, None),
            (
                format!(r#"{{"dir":"out","sessionId":"a","data":{{"raw":"{shown}"}}}}"#),
                Sender::Writer,
                Some("a"),
            ),
            (
                format!(r#"{{"data":{{"from":"client","raw":"{shown}"}},"from":"server"}}"#),
                Sender::Is(Side::Client),
                None,
            ),
            (
                format!(r#"{{"fields":{{"message":"sent","payload":"{shown}"}},"target":"t"}}"#),
                Sender::Unsaid,
                None,
            ),
            (format!(r#"{{"dir":"in","msg":"read: {shown}"}}"#), Sender::Peer, None),
        ] {
            let found = notes(&format!("{line}\n"));
            let [(1, from, message)] = &found.messages[..] else { panic!("{line}: {found:?}") };
            assert!(message.ends_with(one), "{message}");
            assert_eq!((*from, found.sessions[0].as_deref()), (sender, session), "{line}");
            assert_eq!(found.broken, [], "{line}");
        }
        let broken = notes(&format!("{hidden}\n")).broken;
        assert!(broken[0].1.contains("`jq -c '.a[]' FILE"), "{broken:?}");
    }

    #[test]
    fn a_log_that_is_not_text_is_called_so() {
        let said = |begins: &[u8]| read(begins, &mut Notes::default()).unwrap_err().to_string();
        assert!(said(b"\x1f\x8b\x08\0").contains("compressed by gzip: pipe `gzip -dc FILE` into"));
        assert!(said(b"\x28\xb5\x2f\xfd").contains("zstd"));
        assert!(said(b"PK\x03\x04").contains("zip"));
        assert!(said(b"\x78\xda\xed\x5d").contains("by zlib: pipe `zlib-flate -uncompress < FILE` into"));
        assert!(said(b"\xd4\xc3\xb2\xa1\x02\0\x04\0").contains("packets: pipe `tcpdump -A -r FILE` into"));
        let dump = b"4610:9:websocket;0:~8:response;2768:6:reason;2:OK,11:status_code;3:200#";
        assert!(
            said(dump).contains("a dump of mitmproxy: pipe `mitmdump -q -n --set hardump=- -r FILE` into")
        );
        for (text, encoding) in
            [(&b"\xff\xfe{\0"[..], "UTF-16"), (b"{\0\"\0", "UTF-16LE"), (b"\0{\0\"", "UTF-16BE")]
        {
            assert!(
                said(text).contains(&format!("pipe `iconv -f {encoding} -t UTF-8 FILE` into")),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_quotes_of_a_message_may_be_written_as_text() {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"a\b","params":{"text":""}}"#;
        let escaped = message.replace('\\', "\\\\").replace('"', "\\\"");
        let log = format!("got=\"{escaped}\" level=debug\n7,c2s,\"{}\",x\n", message.replace('"', "\"\""));
        assert_eq!(ids(&log), [(1, 1), (2, 1)]);
        assert_eq!(notes(&log).messages[1].1, Sender::Is(Side::Client));
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_called_one() {
        let notes = notes("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"dir\":\"c2s\",\"msg\":{\"jso");
        assert_eq!(notes.messages.len(), 1);
        assert_eq!(notes.broken[0].0, 2);
        assert!(notes.broken[0].1.starts_with("the last line is cut off"), "{notes:?}");
    }
}
