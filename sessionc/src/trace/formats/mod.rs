//! How logs are written, and the messages in them.

mod har;
mod json_lines;
pub(crate) mod record;
mod text;

use std::io::{self, Read};

use mcp_runtime::observer::JsonReader;

use record::{Broken, LogReader, Place};

use super::lines::{Line, Lines};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A JSON object on each line: a message, or an envelope with a message and its direction.
    JsonLines,
    /// Text on each line, in some of them a message.
    Text,
    /// An HTTP archive: one JSON document.
    Har,
}

/// Reads a log whose format is recognised by its beginning.
pub(crate) fn read(from: impl Read, reader: &mut impl LogReader) -> io::Result<()> {
    let mut lines = Lines::new(from);
    let beginning = lines.beginning()?;
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Err(io::Error::other("it is UTF-16, and a log has to be UTF-8: convert it first"));
    }
    let format = recognise(beginning);
    match format {
        Format::Har => return har::read(lines.into_rest(), reader),
        Format::JsonLines | Format::Text => {}
    }
    let mut json = JsonReader::default();
    while let Some(Line { number, text, is_whole }) = lines.next()? {
        let place = Place { line: number, entry: None };
        let Some(text) = text else {
            let problem = format!("the line is longer than {} MiB", super::lines::LONGEST >> 20);
            reader.broken(Broken { place, problem });
            continue;
        };
        let text = text.strip_prefix(BOM).unwrap_or(text).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let read = match format {
            Format::Text => text::read(place, text, reader),
            Format::JsonLines | Format::Har => json_lines::read(place, text, &mut json, reader),
        };
        if let Err(problem) = read {
            let problem = if is_whole { problem } else { format!("the last line is cut off: {problem}") };
            reader.broken(Broken { place, problem });
        }
    }
    Ok(())
}

/// What some programs write at the beginning of a file in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

fn recognise(beginning: &[u8]) -> Format {
    let beginning = beginning.strip_prefix(BOM).unwrap_or(beginning).trim_ascii_start();
    let mut parts = beginning;
    let mut is_archive = true;
    for part in [&b"{"[..], b"\"log\"", b":", b"{"] {
        let rest = parts.trim_ascii_start().strip_prefix(part);
        is_archive &= rest.is_some();
        parts = rest.unwrap_or_default();
    }
    if is_archive {
        return Format::Har;
    }
    // A batch of messages begins with a bracket, and so does the time in some logs.
    let after = beginning.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    match beginning.starts_with(b"{") || after.is_some_and(|after| after.starts_with(b"{")) {
        true => Format::JsonLines,
        false => Format::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::record::tests::Notes;
    use super::*;

    fn notes(log: &str) -> Notes {
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
        ] {
            assert_eq!(recognise(beginning.as_bytes()), format, "{beginning}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_said() {
        let error = read(&b"\xff\xfe{\0"[..], &mut Notes::default()).unwrap_err();
        assert!(error.to_string().contains("UTF-16"), "{error}");
    }

    #[test]
    fn a_last_line_that_is_cut_off_is_called_one() {
        let notes = notes("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"dir\":\"c2s\",\"msg\":{\"jso");
        assert_eq!(notes.messages.len(), 1);
        assert_eq!(notes.broken[0].0, 2);
        assert!(notes.broken[0].1.starts_with("the last line is cut off"), "{notes:?}");
    }
}
