//! The messages in the lines of a log.

use mcp_runtime::observer::JsonReader;
use serde_json::value::RawValue;

use super::client_logs::{ClientLine, ClientLog};
use super::inspector::Export;
use super::mcp_remote::RemoteLog;
use super::record::{Broken, LogReader, Place};
use super::said_around::SaidAround;
use super::spread::Spread;
use super::vscode::VscodeTrace;
use super::{json_lines, text};

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A JSON object on each line: a message, or an envelope with a message and its direction.
    JsonLines,
    /// Text on each line, in some of them a message.
    Text,
    /// An HTTP archive: one JSON document.
    Har,
}

/// Looks for the messages in what a log has, one line or one object after another.
pub(super) struct Messages<'r, R> {
    pub(super) format: Format,
    /// It keeps its room from one line to the next.
    pub(super) json: JsonReader,
    pub(super) vscode: VscodeTrace,
    pub(super) clients: ClientLog,
    pub(super) remote: RemoteLog,
    pub(super) reader: &'r mut R,
}

impl<R: LogReader> Messages<'_, R> {
    /// Takes a line, or an object that begins there.
    pub(super) fn take(&mut self, place: Place, text: &[u8], is_whole: bool) {
        if let Err(problem) = self.try_take(place, text) {
            let is_whole = is_whole || json_lines::is_object(text.trim_ascii());
            let problem = if is_whole { problem } else { format!("the last line is cut off: {problem}") };
            // What a program writes for people has no brackets.
            let may_be_message = memchr::memchr(b'{', text).is_some();
            self.reader.broken(Broken { place, may_be_message, problem });
        }
    }

    /// The same, and returns what is wrong with it.
    pub(super) fn try_take(&mut self, place: Place, text: &[u8]) -> Result<(), String> {
        let text = text.trim_ascii();
        // A list of messages has its brackets in lines of their own, and commas between its elements.
        let text = text.strip_suffix(b",").filter(|element| element.ends_with(b"}")).unwrap_or(text);
        if self.format == Format::Text && !text.is_empty() && self.vscode.take(place, text, self.reader) {
            return Ok(());
        }
        if self.format == Format::Text {
            if self.remote.take(text, self.reader) {
                return Ok(());
            }
            match self.clients.take(place, text, self.reader) {
                ClientLine::Taken => return Ok(()),
                ClientLine::Message(Some(server)) => {
                    let said = SaidAround { sender: None, session: Some(server.to_owned()) };
                    return text::read(place, text, &mut self.json, &mut said.fill(self.reader)).map(drop);
                }
                ClientLine::Message(None) | ClientLine::Foreign => {}
            }
        }
        // A program may write other lines between those of the format that the log begins with.
        match (self.format, text.first()) {
            _ if matches!(text, b"" | b"[" | b"]") => Ok(()),
            (Format::JsonLines | Format::Har, Some(b'{' | b'[')) => self.take_json(place, text),
            (Format::Text, Some(b'{')) if json_lines::is_object(text) => self.take_json(place, text),
            (Format::JsonLines, _) => match text::read(place, text, &mut self.json, self.reader)? {
                true => Ok(()),
                false => Err("the line is neither a JSON object nor a message behind some text".to_owned()),
            },
            (Format::Text | Format::Har, _) => text::read(place, text, &mut self.json, self.reader).map(drop),
        }
    }

    /// Takes an object or a list, or the text for people that it has in place of a message.
    #[inline]
    fn take_json(&mut self, place: Place, text: &[u8]) -> Result<(), String> {
        match json_lines::read(place, text, &mut self.json, self.reader) {
            Ok(logged) if logged.is_empty() => Ok(()),
            Ok(logged) => text::read_logged(place, &logged, &mut self.json, self.reader).map(drop),
            Err(problem) => self.take_several(place, text).ok_or(problem)?,
        }
    }

    /// Takes several objects that stand in one line, with nothing between them that ends a line. Each has its number.
    /// Nothing is taken if these are not several.
    #[cold]
    fn take_several(&mut self, place: Place, text: &[u8]) -> Option<Result<(), String>> {
        let all = || serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
        let are_objects = all().all(|it| it.is_ok_and(|it| it.get().starts_with('{')));
        if !are_objects || all().count() < 2 {
            return None;
        }
        let mut taken = Ok(());
        for (entry, object) in (1..).zip(all()) {
            let Ok(object) = object else { continue };
            let place = Place { entry: Some(entry), ..place };
            let one = self.take_json(place, object.get().as_bytes());
            taken = taken.and(one);
        }
        Some(taken)
    }

    /// Takes an entry of what MCP Inspector exports.
    pub(super) fn take_exported(&mut self, export: &mut Export, place: Place, entry: &[u8]) {
        if let Err(problem) = export.take(place, entry, self.reader) {
            self.reader.broken(Broken { place, may_be_message: true, problem });
        }
    }

    /// Nothing follows.
    pub(super) fn end(&mut self) {
        self.vscode.end(self.reader);
    }

    /// Takes the lines of something that was not an object in several lines.
    pub(super) fn take_lines(&mut self, lines: Option<Spread>) {
        for (number, line) in lines.iter().flat_map(Spread::lines) {
            self.take(Place { line: number, entry: None }, line, true);
        }
    }
}
