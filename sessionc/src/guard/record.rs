//! Records what passes, one JSON object a line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_protocol_machine::protocol::Side;
use serde_json::value::RawValue;

use crate::files::Failure;
use crate::not_received::NotReceived;
use crate::trace::stream_progress::StreamNumber;

/// How each line of a record begins.
const BEGINNING: &str = "{\"t\": ";

/// A file that is written line by line, in the order in which messages were judged.
///
/// Each line is written at once, so that nothing is lost when the program is killed.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    started: Instant,
    /// The file has recordings of others: this name distinguishes its sessions from theirs.
    run: Option<String>,
    /// Nothing after it could not be written.
    file: Mutex<Option<File>>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recorded<'a> {
    /// What a side has sent, in which stream: over HTTP their messages may overtake each other.
    Message(Side, StreamNumber, &'a [u8]),
    /// What the guard has written in the name of a side.
    Own(Side, &'a [u8]),
    /// A session begins with the next message.
    Begins,
    /// What happened.
    Note(&'a str),
    /// A message was passed on that is not recorded, and why.
    LeftOut(&'a str),
    /// A mistake of a side that is not one of a message.
    Mistake(Side, &'a str),
    /// The server has exited with this code before it has answered all requests.
    Exited(u8, &'a str),
    /// Messages of the client did not arrive, and why.
    NotReceived(&'a [NotReceived], &'a str),
}

impl Recorder {
    /// Creates the file, or goes on behind the recordings that it has.
    ///
    /// # Errors
    /// If it cannot be written, or has something else.
    pub(crate) fn open(path: &Path) -> Result<Recorder, Failure> {
        let failed = |error| Failure::Write(path.to_owned(), error);
        let created = File::options().append(true).create_new(true).open(path);
        let (file, run) = match created {
            Ok(file) => (file, None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut file = File::options().append(true).open(path).map_err(failed)?;
                // A pipe or a terminal has nothing that could be read again.
                let is_kept = file.metadata().map_err(failed)?.is_file();
                let before = if is_kept { Some(Before::read(path).map_err(failed)?) } else { None };
                match before {
                    Some(Before::Other) => return Err(Failure::NotARecord(path.to_owned())),
                    Some(Before::Records { is_cut: true }) => file.write_all(b"\n").map_err(failed)?,
                    Some(Before::Records { is_cut: false }) | None => {}
                }
                (file, is_kept.then(name_of_run))
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Recorder { path: path.to_owned(), started: Instant::now(), run, file: Mutex::new(Some(file)) })
    }

    /// What there is to say where the file has recordings of others.
    pub(crate) fn goes_on(&self) -> Option<String> {
        self.run
            .as_ref()
            .map(|_| format!("`{}` has earlier recordings, and this one follows them", self.path.display()))
    }

    /// Writes a line. If that fails it says so once, and records nothing more: the traffic goes on.
    pub(super) fn write(&self, session: Option<u64>, recorded: Recorded<'_>) -> Result<(), String> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return Ok(()) };
        let session = named(self.run.as_deref(), session);
        let line = line(self.started.elapsed().as_secs_f64(), session.as_deref(), recorded);
        open.write_all(line.as_bytes()).map_err(|error: io::Error| {
            *file = None;
            format!("nothing more is recorded: cannot write `{}`: {error}", self.path.display())
        })
    }
}

/// `{"t": 0.0042, "dir": "c2s", "msg": …}`, as in the recordings that tests replay.
fn line(seconds: f64, session: Option<&str>, recorded: Recorded<'_>) -> String {
    let (writer, message, bytes) = match recorded {
        Recorded::Begins => ("note", quoted("a session begins"), None),
        Recorded::Note(text)
        | Recorded::LeftOut(text)
        | Recorded::Mistake(_, text)
        | Recorded::Exited(_, text)
        | Recorded::NotReceived(_, text) => ("note", quoted(text), None),
        Recorded::Message(side, _, message) | Recorded::Own(side, message) => {
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
        // Standard streams have no numbers.
        Recorded::Message(_, StreamNumber(stream @ 1..), _) => format!(", \"stream\": {stream}"),
        Recorded::Own(..) => ", \"by\": \"guard\"".to_owned(),
        Recorded::Begins => ", \"begins\": true".to_owned(),
        Recorded::LeftOut(_) => ", \"not_recorded\": true".to_owned(),
        Recorded::Mistake(of, _) => format!(", \"mistake_of\": \"{}\"", of.word()),
        Recorded::Exited(code, _) => format!(", \"exited\": {code}"),
        Recorded::NotReceived(messages, _) if !messages.is_empty() => {
            format!(", \"not_received\": {}", serde_json::json!(messages))
        }
        _ => String::new(),
    };
    let session = session.map(|session| format!(", \"session\": {session}")).unwrap_or_default();
    format!("{BEGINNING}{seconds:.4}, \"dir\": \"{writer}\", \"msg\": {message}{bytes}{more}{session}}}\n")
}

/// What a file has before a recording begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// Nothing, or recordings. The last line of a guard that was killed may be cut.
    Records { is_cut: bool },
    /// Something else.
    Other,
}

impl Before {
    fn read(path: &Path) -> io::Result<Before> {
        let mut file = File::open(path)?;
        let mut beginning = Vec::new();
        Read::by_ref(&mut file).take(BEGINNING.len() as u64).read_to_end(&mut beginning)?;
        if beginning.is_empty() {
            return Ok(Before::Records { is_cut: false });
        }
        if !BEGINNING.as_bytes().starts_with(&beginning) {
            return Ok(Before::Other);
        }
        let mut last = Vec::new();
        file.seek(SeekFrom::End(-1))?;
        file.read_to_end(&mut last)?;
        Ok(Before::Records { is_cut: last != b"\n" })
    }
}

/// A name that no other run of a guard has.
fn name_of_run() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", since.as_millis(), std::process::id())
}

/// The name of a session in the record, as JSON: its number, with the name of the run if there are several.
fn named(run: Option<&str>, session: Option<u64>) -> Option<String> {
    match (run, session) {
        (None, session) => session.map(|number| number.to_string()),
        (Some(run), None) => Some(quoted(run)),
        (Some(run), Some(number)) => Some(quoted(&format!("{run}-{number}"))),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stands_as_it_is_and_other_text_as_a_string() {
        let of = |side, message: &[u8]| line(1.25, None, Recorded::Message(side, StreamNumber(0), message));
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
            line(0.0, None, Recorded::Message(Side::Server, StreamNumber(7), b"{}")),
            "{\"t\": 0.0000, \"dir\": \"s2c\", \"msg\": {}, \"stream\": 7}\n"
        );
        assert_eq!(
            line(0.0, named(None, Some(3)).as_deref(), Recorded::Note("gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"session\": 3}\n"
        );
        assert_eq!(
            line(0.0, None, Recorded::Own(Side::Server, b"{}")),
            "{\"t\": 0.0000, \"dir\": \"s2c\", \"msg\": {}, \"by\": \"guard\"}\n"
        );
        assert_eq!(
            line(0.0, named(Some("run"), Some(3)).as_deref(), Recorded::Note("gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"session\": \"run-3\"}\n"
        );
        assert_eq!(
            line(0.0, named(None, Some(3)).as_deref(), Recorded::Begins),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"a session begins\", \"begins\": true, \"session\": 3}\n"
        );
        assert_eq!(named(Some("run"), None).as_deref(), Some("\"run\""));
        assert_eq!(
            line(0.0, None, Recorded::LeftOut("long")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"long\", \"not_recorded\": true}\n"
        );
        assert_eq!(
            line(0.0, None, Recorded::Mistake(Side::Server, "long")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"long\", \"mistake_of\": \"server\"}\n"
        );
        assert_eq!(
            line(0.0, None, Recorded::Exited(3, "gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"exited\": 3}\n"
        );
        let lost = [NotReceived::Request(5.into()), NotReceived::Notification("a".to_owned())];
        assert_eq!(
            line(0.0, None, Recorded::NotReceived(&lost, "gone")),
            "{\"t\": 0.0000, \"dir\": \"note\", \"msg\": \"gone\", \"not_received\": [{\"request\":5},{\"notification\":\"a\"}]}\n"
        );
    }
}
