//! The source map: every file that was read, and places in them.
//!
//! What is kept of a file is its *normal* text: no byte order mark, `\n` at the end of each line. Spans are offsets
//! into that text. Lines and columns are the same as in the file on disk, because neither a byte order mark nor the
//! `\r` before a `\n` takes part in them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file in bytes, far more than anyone writes.
pub const LARGEST_FILE: usize = 64 << 20;

/// The bytes of what the caller has opened, no more of them than are needed to see that it is too large: some files
/// never end.
///
/// ```
/// use mcp_protocol_compiler::source::bytes_of;
///
/// let bytes = bytes_of("protocol Calculator \"1\"".as_bytes())?;
/// assert_eq!(bytes.len(), 23);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If reading fails.
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
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column in characters.
    pub column: u32,
}

/// The files that were read.
///
/// ```
/// use mcp_protocol_compiler::source::{SourceMap, Span};
///
/// let mut sources = SourceMap::new();
/// let file = sources.add("calculator.session", "client Asker\nserver Calculator = dual Asker\n");
/// assert_eq!(sources.line_number(file, 13), 2);
/// ```
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
    /// Whether a `\r` is left in the normal text.
    has_return: bool,
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

    fn push(&mut self, path: PathBuf, text: String) -> FileId {
        let text = normal(text);
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let has_return = text.contains('\r');
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { path, text, lines, has_return });
        id
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

    /// Whether a file has a `\r` that does not end a line with `\n`. Editors take it for the end of a line.
    pub fn has_lone_return(&self, file: FileId) -> bool {
        self.file(file).is_some_and(|file| file.has_return)
    }

    /// Line and column of a byte; a byte behind the end counts as the end.
    pub fn position(&self, file: FileId, offset: u32) -> LineColumn {
        let line = self.line_number(file, offset);
        let Some(file) = self.file(file) else { return LineColumn { line, column: 1 } };
        let start = file.lines.get(line as usize - 1).copied().unwrap_or(0) as usize;
        let end = (offset as usize).min(file.text.len());
        let before = file.text.as_bytes().get(start..end).unwrap_or(&[]);
        // Every byte that does not continue a character starts one.
        let column = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        LineColumn { line, column: column as u32 + 1 }
    }

    /// Line and column where a place starts.
    pub fn start(&self, span: Span) -> LineColumn {
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
pub(crate) fn normal(text: String) -> String {
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
        assert_eq!(sources.position(file, 0), LineColumn { line: 1, column: 1 });
        assert_eq!(sources.position(file, 7), LineColumn { line: 1, column: 5 });
        assert_eq!(sources.position(file, 10), LineColumn { line: 2, column: 1 });
        assert_eq!(sources.position(file, 99), LineColumn { line: 2, column: 2 });
        assert_eq!(sources.slice(sources.line(file, 1)), "α ⊕ β");
        assert_eq!(sources.slice(sources.line(file, 2)), "x");
    }

    #[test]
    fn a_file_of_another_map_is_empty() {
        let sources = SourceMap::new();
        let nowhere = Span { file: FileId(7), start: 3, end: 9 };
        assert_eq!(sources.slice(nowhere), "");
        assert_eq!(sources.start(nowhere), LineColumn { line: 1, column: 1 });
    }
}
