//! Records what passes, one JSON object a line.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_protocol_machine::protocol::Side;
use serde_json::value::RawValue;

use crate::files::Failure;
use crate::not_received::NotReceived;

/// A file that is written line by line, in the order in which messages were judged.
///
/// Each line is written at once, so that nothing is lost when the program is killed.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    started: Instant,
    /// Nothing after it could not be written.
    file: Mutex<Option<File>>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recorded<'a> {
    /// What a side has sent.
    Message(Side, &'a [u8]),
    /// What the guard has written in the name of a side.
    Own(Side, &'a [u8]),
    /// What happened.
    Note(&'a str),
    /// Messages of the client did not arrive, and why.
    NotReceived(&'a [NotReceived], &'a str),
}

impl Recorder {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn create(path: &Path) -> Result<Recorder, Failure> {
        let file = File::create(path).map_err(|error| Failure::Write(path.to_owned(), error))?;
        Ok(Recorder { path: path.to_owned(), started: Instant::now(), file: Mutex::new(Some(file)) })
    }

    /// Writes a line. If that fails it says so once, and records nothing more: the traffic goes on.
    pub(super) fn write(&self, session: Option<u64>, recorded: Recorded<'_>) -> Result<(), String> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return Ok(()) };
        let line = line(self.started.elapsed().as_secs_f64(), session, recorded);
        open.write_all(line.as_bytes()).map_err(|error: io::Error| {
            *file = None;
            format!("nothing more is recorded: cannot write `{}`: {error}", self.path.display())
        })
    }
}

/// `{"t": 0.0042, "dir": "c2s", "msg": …}`, as in the recordings that tests replay.
fn line(seconds: f64, session: Option<u64>, recorded: Recorded<'_>) -> String {
    let (writer, message, bytes) = match recorded {
        Recorded::Note(text) | Recorded::NotReceived(_, text) => ("note", quoted(text), None),
        Recorded::Message(side, message) | Recorded::Own(side, message) => {
            let (json, raw) = match side {
                Side::Client => ("c2s", "c2s-raw"),
                Side::Server => ("s2c", "s2c-raw"),
            };
            match serde_json::from_slice::<&RawValue>(message) {
                // A line end in JSON is white space.
                Ok(value) => (json, value.get().replace(['\n', '\r'], " "), None),
                Err(_) => {
                    let bytes = std::str::from_utf8(message).err().map(|_| STANDARD.encode(message));
                    (raw, quoted(&String::from_utf8_lossy(message)), bytes)
                }
            }
        }
    };
    let bytes = bytes.map(|bytes| format!(", \"base64\": \"{bytes}\"")).unwrap_or_default();
    let more = match recorded {
        Recorded::Own(..) => ", \"by\": \"guard\"".to_owned(),
        Recorded::NotReceived(messages, _) if !messages.is_empty() => {
            format!(", \"not_received\": {}", serde_json::json!(messages))
        }
        _ => String::new(),
    };
    let session = session.map(|number| format!(", \"session\": {number}")).unwrap_or_default();
    format!("{{\"t\": {seconds:.4}, \"dir\": \"{writer}\", \"msg\": {message}{bytes}{more}{session}}}\n")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stands_as_it_is_and_other_text_as_a_string() {
        let of = |side, message: &[u8]| line(1.25, None, Recorded::Message(side, message));
        assert_eq!(
            of(Side::Client, b" {\"id\": 1.0,\r\n \"id\":2} \r"),
            "{\"t\": 1.2500, \"dir\": \"c2s\", \"msg\": {\"id\": 1.0,   \"id\":2}}\n"
        );
        assert_eq!(
            of(Side::Server, b"Listening \"here\""),
            "{\"t\": 1.2500, \"dir\": \"s2c-raw\", \"msg\": \"Listening \\\"here\\\"\"}\n"
        );
        assert_eq!(
            of(Side::Server, b"\xff{}"),
            "{\"t\": 1.2500, \"dir\": \"s2c-raw\", \"msg\": \"\u{fffd}{}\", \"base64\": \"/3t9\"}\n"
        );
        assert_eq!(
            line(0.0, Some(3), Recorded::Note("gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"session\": 3}\n"
        );
        assert_eq!(
            line(0.0, None, Recorded::Own(Side::Server, b"{}")),
            "{\"t\": 0.0000, \"dir\": \"s2c\", \"msg\": {}, \"by\": \"guard\"}\n"
        );
        let lost = [NotReceived::Request(5.into()), NotReceived::Notification("a".to_owned())];
        assert_eq!(
            line(0.0, None, Recorded::NotReceived(&lost, "gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"not_received\": [{\"request\":5},{\"notification\":\"a\"}]}\n"
        );
    }
}
