//! A log that is one JSON list, of messages or of envelopes, whatever its line breaks.

use std::io::{self, Read};

use serde_json::value::RawValue;

use super::envelope;
use super::inspector::{self, Export};
use super::messages::Messages;
use super::record::{LogReader, Place};
use super::spread::Brackets;
use crate::trace::lines::{LONGEST, Lines};

/// Whether the list with which a log begins has the log in it. In one line, with other lines behind it, it is a batch, and so
/// it is where one side has sent all that is in it.
pub(super) fn is_log(lines: &mut Lines<impl Read>, reader: &impl LogReader) -> io::Result<bool> {
    let mut scan = Scan::default();
    let end = loop {
        match scan.follow(lines.ahead()) {
            Scanned::Closed(end) if scan.feeds == 0 => break end,
            Scanned::Closed(_) => return Ok(true),
            Scanned::Open if scan.feeds > 0 || lines.ahead().len() > LONGEST => return Ok(true),
            Scanned::Open if lines.read_on()? => {}
            Scanned::Open | Scanned::Foreign => return Ok(true),
        }
    };
    // It is a batch whatever follows: a log that grows is not waited for.
    let list = lines.ahead().get(..end).unwrap_or_default();
    if !begins_export(list) && !begins_logged(list) && !reader.goes_both_ways(list) {
        return Ok(false);
    }
    loop {
        let behind = lines.ahead().get(end..).unwrap_or_default();
        if !behind.trim_ascii().is_empty() || behind.len() > LONGEST {
            return Ok(false);
        }
        if !lines.read_on()? {
            return Ok(true);
        }
    }
}

/// Reads the elements of a list one by one. What is behind it, or is not an element, is left.
pub(super) fn read(
    lines: &mut Lines<impl Read>,
    messages: &mut Messages<'_, impl LogReader>,
) -> io::Result<()> {
    lines.pass(1);
    let (mut count, mut last) = (0, 0);
    let mut content = Content::Messages;
    loop {
        let is_gap = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
        lines.pass(lines.ahead().iter().take_while(is_gap).count());
        match lines.ahead().first().copied() {
            Some(b'{' | b'[') => {}
            Some(b']') => {
                lines.pass(1);
                break;
            }
            Some(_) => break,
            None if lines.read_on()? => continue,
            None => break,
        }
        let Some(end) = element(lines)? else { break };
        count += 1;
        let is_alone = last != lines.number() && !another_follows(lines, end)?;
        // Of those in one line, the number says which it is.
        let place = Place { line: lines.number(), entry: (!is_alone).then_some(count) };
        let element = lines.ahead().get(..end).unwrap_or_default();
        if count == 1 {
            content = Content::of(element);
        }
        match (&mut content, memchr::memchr(b'\n', element)) {
            (Content::Export(export), _) => messages.take_exported(export, place, element),
            (Content::Network, _) => {}
            (Content::Messages, None) => messages.take(place, element, true),
            // Brackets of several elements have matched: the lines are read one by one.
            (Content::Messages, Some(_)) if messages.try_take(place, element).is_err() => break,
            (Content::Messages, Some(_)) => {}
        }
        lines.pass(end);
        last = lines.number();
    }
    match content {
        Content::Messages => {}
        Content::Export(mut export) => export.end(messages.reader),
        Content::Network => messages.reader.silent(
            "it is what MCP Inspector exports of its Network screen: export its Protocol screen, which has the messages",
        ),
    }
    Ok(())
}

/// What a list is a list of.
enum Content {
    Messages,
    Export(Export),
    /// Requests of HTTP, of which streams are missing.
    Network,
}

impl Content {
    /// What the first element shows.
    fn of(first: &[u8]) -> Content {
        if inspector::is_entry(first) {
            Content::Export(Export::default())
        } else if inspector::is_of_network(first) {
            Content::Network
        } else {
            Content::Messages
        }
    }
}

/// The first element of a list.
fn first_element(list: &[u8]) -> Option<&[u8]> {
    let inside = list.get(1..).unwrap_or_default();
    let first = serde_json::Deserializer::from_slice(inside).into_iter::<&RawValue>().next();
    first.and_then(Result::ok).map(|first| first.get().as_bytes())
}

/// Whether the first element of a list is one of what MCP Inspector exports.
fn begins_export(list: &[u8]) -> bool {
    first_element(list).is_some_and(|first| !matches!(Content::of(first), Content::Messages))
}

/// Whether the first element of a list is an object that has a message in it, as programs log it.
fn begins_logged(list: &[u8]) -> bool {
    first_element(list).is_some_and(envelope::is_logged)
}

/// Whether another element begins in the line in which one ends.
fn another_follows(lines: &mut Lines<impl Read>, end: usize) -> io::Result<bool> {
    loop {
        let behind = lines.ahead().get(end..).unwrap_or_default();
        if let Some(byte) = behind.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b',' | b'\r')) {
            return Ok(matches!(byte, b'{' | b'['));
        }
        if lines.ahead().len() > LONGEST || !lines.read_on()? {
            return Ok(false);
        }
    }
}

/// Where the element ends that is ahead; nothing if it does not.
fn element(lines: &mut Lines<impl Read>) -> io::Result<Option<usize>> {
    let mut scan = Scan::default();
    loop {
        match scan.follow(lines.ahead()) {
            Scanned::Closed(end) => return Ok(Some(end)),
            Scanned::Open if lines.ahead().len() <= LONGEST && lines.read_on()? => {}
            Scanned::Open | Scanned::Foreign => return Ok(None),
        }
    }
}

/// How many bytes are searched for a line feed at once.
const PIECE: usize = 4096;

/// How far a value was followed.
#[derive(Default)]
struct Scan {
    at: usize,
    brackets: Brackets,
    /// How many lines of it have ended.
    feeds: usize,
}

enum Scanned {
    /// It ends here.
    Closed(usize),
    Open,
    /// A line ends within a text: it is not JSON.
    Foreign,
}

impl Scan {
    /// Follows a value as far as it was read.
    fn follow(&mut self, ahead: &[u8]) -> Scanned {
        loop {
            // A line may have many elements: what is behind the value is not looked at.
            let rest = ahead.get(self.at..).unwrap_or_default();
            let piece = rest.get(..PIECE).unwrap_or(rest);
            let feed = memchr::memchr(b'\n', piece);
            let line = piece.get(..feed.unwrap_or(piece.len())).unwrap_or_default();
            if let Some(end) = self.brackets.follow(line) {
                return Scanned::Closed(self.at + end);
            }
            if feed.is_some() && self.brackets.in_text {
                return Scanned::Foreign;
            }
            self.at += line.len();
            match feed {
                Some(_) => (self.at, self.feeds) = (self.at + 1, self.feeds + 1),
                None if piece.len() == rest.len() => return Scanned::Open,
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::super::record::tests::Notes;

    const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"a\"]"}"#;
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"x":["}"]}}"#;

    fn notes(log: &str) -> Notes {
        let mut notes = Notes::default();
        read(log.as_bytes(), &mut notes).unwrap();
        notes
    }

    fn lines(log: &str) -> Vec<u64> {
        let notes = notes(log);
        assert_eq!(notes.broken, [], "{log}");
        assert!(notes.messages.iter().all(|(.., message)| message.starts_with('{')), "{notes:?}");
        notes.messages.iter().map(|(line, ..)| *line).collect()
    }

    #[test]
    fn a_list_is_read_whatever_its_line_breaks() {
        let spread = ANSWER.replace(",\"", ",\n\"");
        for (log, expected) in [
            (format!("[{ASK},{ANSWER}]"), [1, 1]),
            (format!("\u{feff}\n[{ASK} , {ANSWER}]\n\n"), [2, 2]),
            (format!("[{ASK},\n{ANSWER}]"), [1, 2]),
            (format!("[{ASK}\n,{ANSWER}\n]\n"), [1, 2]),
            (format!("[\n\n{ASK}, {ANSWER}\n]"), [3, 3]),
            (format!("[\r\n{spread}\r\n,\r\n{ASK}]"), [2, 6]),
            // It is cut off.
            (format!("[{ASK},{ANSWER}"), [1, 1]),
            (format!("[{ASK},\n{ANSWER},\n"), [1, 2]),
        ] {
            assert_eq!(lines(&log), expected, "{log}");
        }
    }

    #[test]
    fn an_element_has_its_number() {
        let mut found = Notes::default();
        read(format!("[{ASK},\n{ANSWER},{ANSWER}]").as_bytes(), &mut found).unwrap();
        assert_eq!(found.entries, [None, Some(2), Some(3)], "the line says which the first is");
        let mut found = Notes::default();
        read(format!("{ASK}\n{ANSWER}").as_bytes(), &mut found).unwrap();
        assert_eq!(found.entries, [None, None]);
    }

    #[test]
    fn envelopes_are_not_a_batch() {
        let envelope = |direction: &str, message| format!("{{\"dir\":\"{direction}\",\"msg\":{message}}}");
        let list = format!("[{},{}]\n", envelope("c2s", ASK), envelope("s2c", ANSWER));
        assert_eq!(lines(&list), [1, 1]);
        assert_eq!(lines(&format!("{list}{list}")), [1, 1, 2, 2]);
        assert_eq!(lines(&format!("[{}]", envelope("c2s", ASK))), [1]);
    }

    #[test]
    fn a_batch_is_one_in_a_log_of_lines() {
        let batch = format!("[{ASK},{ANSWER}]");
        for log in [format!("{batch}\n{ASK}\n"), format!("[{ASK}]"), format!("{batch}\n\n{batch}")] {
            let found = notes(&log);
            assert!(found.messages[0].2.starts_with('['), "{found:?}");
        }
    }

    #[test]
    fn an_element_that_never_ends_hides_no_message() {
        let log = format!("[{ASK},\n{{\"jsonrpc\":\"2.0\",\"id\n{ANSWER},\n{ASK}]");
        let found = notes(&log);
        let lines: Vec<u64> = found.messages.iter().map(|(line, ..)| *line).collect();
        assert_eq!((lines, found.broken.len()), (vec![1, 3], 2), "{found:?}");
        let log = format!("[{ASK},\n{{\"jsonrpc\":\n{ANSWER},\n{ASK},\n]\n");
        let found = notes(&log);
        assert_eq!((found.messages.len(), found.broken.len()), (3, 1), "{found:?}");
        let found = notes(&format!("[{ASK},{ANSWER},{{\"jso"));
        assert!(found.broken[0].1.starts_with("the last line is cut off"), "{found:?}");
        assert_eq!(found.messages.len(), 2);
    }
}
