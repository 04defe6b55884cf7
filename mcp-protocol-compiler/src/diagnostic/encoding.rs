//! Files as bytes: what is not UTF-8, and what is too large.

use std::path::PathBuf;

use super::finding::{Code, Diagnostic};
use crate::source::{FileId, LARGEST_FILE, SourceMap, Span, normal};

/// The file is not UTF-8.
pub(crate) const NOT_UTF8: Code = Code("S0001");
/// The file is larger than [`LARGEST_FILE`].
pub(crate) const FILE_TOO_LARGE: Code = Code("S0002");

impl SourceMap {
    /// Adds a file as it was read from disk, and says what is wrong with its bytes.
    ///
    /// Bytes that are not UTF-8 are replaced by `U+FFFD` in the text, so that the rest of the file can be checked.
    pub fn add_bytes(&mut self, path: impl Into<PathBuf>, bytes: Vec<u8>) -> (FileId, Vec<Diagnostic>) {
        if bytes.len() > LARGEST_FILE {
            let file = self.add(path, String::new());
            let message = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
            let place = Span { file, start: 0, end: 0 };
            let finding = Diagnostic::error(FILE_TOO_LARGE, place, message);
            return (file, vec![finding.help("split it, and `import` the parts")]);
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let bytes = error.as_bytes();
                let file = self.add(path, String::from_utf8_lossy(bytes));
                return (file, vec![not_utf8(self, file, bytes)]);
            }
        };
        (self.add(path, text), Vec::new())
    }
}

/// One diagnostic for the whole file, at the first bytes that had to be replaced.
fn not_utf8(sources: &SourceMap, file: FileId, bytes: &[u8]) -> Diagnostic {
    // Up to the first wrong byte the text is what the bytes say; only normalising can have moved the place.
    let correct = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let start = normal(correct.to_owned()).len();
    let rest = sources.text(file).get(start..).unwrap_or("");
    let replaced = rest.len() - rest.trim_start_matches(char::REPLACEMENT_CHARACTER).len();
    let place = Span { file, start: start as u32, end: (start + replaced) as u32 };
    let all = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let more = all.saturating_sub(replaced / char::REPLACEMENT_CHARACTER.len_utf8());
    let diagnostic = Diagnostic::error(NOT_UTF8, place, "the file is not UTF-8")
        .label("these bytes are not")
        .with_note(format!("byte {} is the first, counted from 0", correct.len()))
        .help("save the file as UTF-8");
    if more == 0 { diagnostic } else { diagnostic.with_note(format!("{more} more in the rest of the file")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LineColumn;

    #[test]
    fn a_byte_order_mark_and_carriage_returns_change_no_position() {
        let mut sources = SourceMap::new();
        let (file, diagnostics) = sources.add_bytes("a.session", b"\xEF\xBB\xBFone\r\ntwo\r\n".to_vec());
        assert_eq!(diagnostics, []);
        assert_eq!(sources.text(file), "one\ntwo\n");
        assert_eq!(sources.position(file, 4), LineColumn { line: 2, column: 1 });
    }

    #[test]
    fn bytes_that_are_not_utf8_are_reported_once_with_their_place() {
        let mut sources = SourceMap::new();
        let (file, diagnostics) = sources.add_bytes("a.session", b"ok\nA = \xFF\xFE ! \xFF".to_vec());
        let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
        let span = diagnostic.labels[0].span;
        assert_eq!(sources.start(span), LineColumn { line: 2, column: 5 });
        assert_eq!(sources.slice(span), "\u{FFFD}\u{FFFD}");
        assert_eq!(
            diagnostic.notes,
            ["byte 7 is the first, counted from 0", "1 more in the rest of the file"]
        );
        assert!(sources.text(file).ends_with("! \u{FFFD}"));
    }

    #[test]
    fn a_typed_replacement_character_is_not_an_encoding_error() {
        let mut sources = SourceMap::new();
        let (_, diagnostics) = sources.add_bytes("a.session", "-- \u{FFFD}".as_bytes().to_vec());
        assert_eq!(diagnostics, []);
        let (file, diagnostics) = sources.add_bytes("a.session", b"\xEF\xBF\xBD\r\n\xFF".to_vec());
        assert_eq!(sources.start(diagnostics[0].labels[0].span), LineColumn { line: 2, column: 1 });
        assert_eq!(sources.text(file), "\u{FFFD}\n\u{FFFD}");
    }
}
