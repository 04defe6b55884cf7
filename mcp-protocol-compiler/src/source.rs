//! The source map: every file that was read, and places in them.
//!
//! In: paths with their texts or bytes, from whoever reads files. Out: [`SourceMap`], [`Span`], and line and column
//! of a place; a diagnostic where the bytes are not UTF-8. Refuses to read files itself.
//!
//! What is kept of a file is its *normal* text: no byte order mark, `\n` at the end of each line. Spans are offsets
//! into that text. Lines and columns are the same as in the file on disk, because neither a byte order mark nor the
//! `\r` before a `\n` takes part in them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic};

/// The file is not UTF-8.
pub const NOT_UTF8: Code = Code("S0001");
/// The file is larger than [`LARGEST_FILE`].
pub const FILE_TOO_LARGE: Code = Code("S0002");

/// The largest file in bytes, far more than anyone writes.
pub const LARGEST_FILE: usize = 64 << 20;

/// The bytes of what the caller has opened, no more of them than are needed to see that it is too large: some files
/// never end.
pub fn bytes_of(opened: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    opened.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Which file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A place in a file: bytes from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start, end: other.end.max(self.start) }
    }

    /// The empty place right after this one.
    pub fn after(self) -> Span {
        Span { file: self.file, start: self.end, end: self.end }
    }
}

/// A line and a column, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column in characters.
    pub column: u32,
}

/// The files that were read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

#[derive(Clone, Debug)]
struct SourceFile {
    path: PathBuf,
    text: String,
    /// Where each line starts; the first entry is 0.
    lines: Vec<u32>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file whose text is already at hand.
    ///
    /// A text too large to be addressed is kept as an empty one; [`SourceMap::add_bytes`] says so.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> FileId {
        let text = text.into();
        self.push(path.into(), if text.len() > LARGEST_FILE { String::new() } else { text })
    }

    /// Adds a file as it was read from disk, and says what is wrong with its bytes.
    ///
    /// Bytes that are not UTF-8 are replaced by `U+FFFD` in the text, so that the rest of the file can be checked.
    pub fn add_bytes(&mut self, path: impl Into<PathBuf>, bytes: Vec<u8>) -> (FileId, Vec<Diagnostic>) {
        if bytes.len() > LARGEST_FILE {
            let file = self.push(path.into(), String::new());
            let message = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
            let place = Span { file, start: 0, end: 0 };
            let finding = Diagnostic::error(FILE_TOO_LARGE, place, message);
            return (file, vec![finding.help("split it, and `import` the parts")]);
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let bytes = error.as_bytes();
                let file = self.push(path.into(), String::from_utf8_lossy(bytes).into_owned());
                return (file, vec![self.not_utf8(file, bytes)]);
            }
        };
        (self.push(path.into(), text), Vec::new())
    }

    fn push(&mut self, path: PathBuf, text: String) -> FileId {
        let text = normal(text);
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { path, text, lines });
        id
    }

    /// One diagnostic for the whole file, at the first bytes that had to be replaced.
    fn not_utf8(&self, file: FileId, bytes: &[u8]) -> Diagnostic {
        // Up to the first wrong byte the text is what the bytes say; only normalising can have moved the place.
        let correct = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let start = normal(correct.to_owned()).len();
        let rest = self.text(file).get(start..).unwrap_or("");
        let replaced = rest.len() - rest.trim_start_matches(char::REPLACEMENT_CHARACTER).len();
        let place = Span { file, start: start as u32, end: (start + replaced) as u32 };
        let all = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
        let more = all.saturating_sub(replaced / char::REPLACEMENT_CHARACTER.len_utf8());
        let diagnostic = Diagnostic::error(NOT_UTF8, place, "the file is not UTF-8")
            .label("these bytes are not")
            .with_note(format!("byte {} is the first, counted from 0", correct.len()))
            .help("save the file as UTF-8");
        if more == 0 {
            diagnostic
        } else {
            diagnostic.with_note(format!("{more} more in the rest of the file"))
        }
    }

    /// Every file, in the order of adding.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)).map(FileId)
    }

    fn file(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.0 as usize)
    }

    /// The path a file was added with; empty for a file that is not in this map.
    pub fn path(&self, file: FileId) -> &Path {
        self.file(file).map_or(Path::new(""), |file| &file.path)
    }

    /// The text of a file; empty for a file that is not in this map.
    pub fn text(&self, file: FileId) -> &str {
        self.file(file).map_or("", |file| &file.text)
    }

    /// The text of a place; empty if the place does not exist.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The line of a byte, counted from 1.
    pub fn line_number(&self, file: FileId, offset: u32) -> u32 {
        self.file(file).map_or(1, |file| file.lines.partition_point(|start| *start <= offset).max(1) as u32)
    }

    /// Line and column of a byte; a byte behind the end counts as the end.
    pub fn position(&self, file: FileId, offset: u32) -> Position {
        let line = self.line_number(file, offset);
        let Some(file) = self.file(file) else { return Position { line, column: 1 } };
        let start = file.lines.get(line as usize - 1).copied().unwrap_or(0) as usize;
        let end = (offset as usize).min(file.text.len());
        let before = file.text.as_bytes().get(start..end).unwrap_or(&[]);
        // Every byte that does not continue a character starts one.
        let column = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Position { line, column: column as u32 + 1 }
    }

    /// Line and column where a place starts.
    pub fn start(&self, span: Span) -> Position {
        self.position(span.file, span.start)
    }

    /// The bytes of a line without its `\n`, the line counted from 1.
    pub fn line(&self, file: FileId, line: u32) -> Span {
        let Some(source) = self.file(file) else { return Span { file, start: 0, end: 0 } };
        let index = (line as usize).saturating_sub(1);
        let length = source.text.len() as u32;
        let start = source.lines.get(index).copied().unwrap_or(length);
        let end = source.lines.get(index + 1).map_or(length, |next| next.saturating_sub(1));
        Span { file, start, end }
    }
}

/// The text without its byte order mark and with `\n` at the end of every line.
fn normal(text: String) -> String {
    let text = match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.session", "α ⊕ β\nx");
        assert_eq!(sources.position(file, 0), Position { line: 1, column: 1 });
        assert_eq!(sources.position(file, 7), Position { line: 1, column: 5 });
        assert_eq!(sources.position(file, 10), Position { line: 2, column: 1 });
        assert_eq!(sources.position(file, 99), Position { line: 2, column: 2 });
        assert_eq!(sources.slice(sources.line(file, 1)), "α ⊕ β");
        assert_eq!(sources.slice(sources.line(file, 2)), "x");
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_change_no_position() {
        let mut sources = SourceMap::new();
        let (file, diagnostics) = sources.add_bytes("a.session", b"\xEF\xBB\xBFone\r\ntwo\r\n".to_vec());
        assert_eq!(diagnostics, []);
        assert_eq!(sources.text(file), "one\ntwo\n");
        assert_eq!(sources.position(file, 4), Position { line: 2, column: 1 });
    }

    #[test]
    fn bytes_that_are_not_utf8_are_reported_once_with_their_place() {
        let mut sources = SourceMap::new();
        let (file, diagnostics) = sources.add_bytes("a.session", b"ok\nA = \xFF\xFE ! \xFF".to_vec());
        let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
        let span = diagnostic.labels[0].span;
        assert_eq!(sources.start(span), Position { line: 2, column: 5 });
        assert_eq!(sources.slice(span), "\u{FFFD}\u{FFFD}");
        assert_eq!(
            diagnostic.notes,
            ["byte 7 is the first, counted from 0", "1 more in the rest of the file"]
        );
        assert!(sources.text(file).ends_with("! \u{FFFD}"));
    }

    #[test]
    fn a_replacement_character_that_was_typed_is_no_error_of_encoding() {
        let mut sources = SourceMap::new();
        let (_, diagnostics) = sources.add_bytes("a.session", "-- \u{FFFD}".as_bytes().to_vec());
        assert_eq!(diagnostics, []);
        let (file, diagnostics) = sources.add_bytes("a.session", b"\xEF\xBF\xBD\r\n\xFF".to_vec());
        assert_eq!(sources.start(diagnostics[0].labels[0].span), Position { line: 2, column: 1 });
        assert_eq!(sources.text(file), "\u{FFFD}\n\u{FFFD}");
    }

    #[test]
    fn a_file_of_another_map_is_empty() {
        let sources = SourceMap::new();
        let nowhere = Span { file: FileId(7), start: 3, end: 9 };
        assert_eq!(sources.slice(nowhere), "");
        assert_eq!(sources.start(nowhere), Position { line: 1, column: 1 });
    }
}
