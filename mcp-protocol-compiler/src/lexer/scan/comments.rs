//! Comments as other languages write them.

use super::Scanner;
use crate::diagnostic::Edit;

impl Scanner<'_> {
    /// A comment that begins with `length` bytes of `//`, `/*`, `#` or a wide dash: reports it and passes over it.
    pub(super) fn foreign_comment(&mut self, character: char, length: usize) {
        let rest = self.rest();
        let line = rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or("");
        if rest.starts_with("/*") && !self.no_comment_ends {
            match rest.get(2..).and_then(|inner| inner.find("*/")) {
                Some(end) => return self.block_comment(end + 4),
                None => self.no_comment_ends = true,
            }
        }
        // `///` documents what stands below it in Rust, too.
        let documents = line.starts_with("///") && !line.starts_with("////");
        let (length, help, dashes) = match documents {
            true => (3, "documentation starts with `---`", "---"),
            false => (length, "a comment starts with `--`", "--"),
        };
        let edit = Edit::replace(self.span(length), dashes);
        let diagnostic = self.unknown(character, length).suggest(help, [edit]);
        self.lexed.findings.push(diagnostic);
        self.at += line.len();
    }

    /// `/* … */` of so many bytes, perhaps in several lines.
    fn block_comment(&mut self, length: usize) {
        let at = self.at;
        let written = self.rest().get(..length).unwrap_or("");
        let mut edits = vec![Edit::replace(self.span(2), "--")];
        let mut start = 0;
        for line in written.split_inclusive('\n') {
            let closes = start + line.len() == length;
            let inner = if closes { line.strip_suffix("*/").unwrap_or(line) } else { line };
            if start > 0 && !(closes && inner.trim().is_empty()) {
                let indent = inner.len() - inner.trim_start_matches([' ', '\t']).len();
                edits.push(Edit::before(self.span_of(at + start + indent, 0), "-- "));
            }
            start += line.len();
        }
        let behind = self.rest().get(length..).unwrap_or("");
        let is_last = behind.is_empty() || behind.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        let end = self.span_of(at + length - 2, 2);
        edits.push(Edit::replace(end, if is_last { "" } else { "\n" }));
        let diagnostic = self.unknown('/', 2).suggest("write `--` at the beginning of each line", edits);
        self.lexed.findings.push(diagnostic);
        if let Some(last) = written.rfind('\n') {
            self.line = at + last + 1;
            self.starts_line = true;
        }
        self.at += length;
    }
}
