//! Lines and columns of the editor, and bytes of the compiler.
//!
//! The compiler keeps the *normal* text of a file, without a byte order mark and with `\n` at the end of each line. The
//! lines and columns of the two texts are the same.

use lsp_protocols::types::{Position, PositionEncodingKind};
use mcp_protocol_compiler::source::{FileId, SourceMap};

/// How the columns of a session count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-16 code units, which every editor knows.
    Utf16,
    /// Bytes.
    Utf8,
}

impl Encoding {
    /// What the server announces.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf8 => PositionEncodingKind::UTF8,
        }
    }

    fn units(self, character: char) -> usize {
        match self {
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf8 => character.len_utf8(),
        }
    }

    /// The offset of a position in a normal text. A position behind the end of its line counts as that end, as the
    /// protocol wants it; one behind the last line as the end of the text.
    pub(super) fn offset(self, text: &str, position: Position) -> u32 {
        let start = match position.line {
            0 => 0,
            line => {
                let mut breaks = text.match_indices(is_break).skip(line as usize - 1);
                breaks.next().map_or(text.len(), |(at, _)| at + 1)
            }
        };
        let line = text.get(start..).unwrap_or_default();
        let mut units = 0;
        let column = line.char_indices().find(|(_, character)| {
            let is_here = is_break(*character) || units >= position.character as usize;
            units += self.units(*character);
            is_here
        });
        number(start + column.map_or(line.len(), |(at, _)| at))
    }

    /// The position of an offset in a normal text.
    pub(super) fn position(self, text: &str, offset: u32) -> Position {
        let before = text.get(..offset as usize).unwrap_or(text);
        let start = before.rfind(is_break).map_or(0, |at| at + 1);
        let line = before.matches(is_break).count();
        let column =
            before.get(start..).unwrap_or_default().chars().map(|character| self.units(character)).sum();
        Position::new(number(line), number(column))
    }

    /// The position of an offset in a file, found by the starts of its lines. A long file has many places that are asked
    /// for, as for the outline.
    pub(super) fn position_in(self, sources: &SourceMap, file: FileId, offset: u32) -> Position {
        let text = sources.text(file);
        let line = sources.line_number(file, offset);
        let start = sources.line(file, line).start as usize;
        match text.get(start..offset as usize).filter(|_| !sources.has_lone_return(file)) {
            Some(before) => {
                let column = before.chars().map(|character| self.units(character)).sum();
                Position::new(line - 1, number(column))
            }
            None => self.position(text, offset),
        }
    }
}

/// Whether a character ends a line. In a normal text a lone `\r` does so for the editor, and not for the compiler.
fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

/// Texts are no longer than the largest file, so that a number of 32 bits holds every offset.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "rec α . 😀\nend\rlast";

    #[test]
    fn columns_count_units_and_offsets_count_bytes() {
        for (encoding, column) in [(Encoding::Utf16, 10), (Encoding::Utf8, 13)] {
            let end = Position::new(0, column);
            assert_eq!(encoding.offset(TEXT, end), 13);
            assert_eq!(encoding.position(TEXT, 13), end);
            assert_eq!(encoding.offset(TEXT, Position::new(0, 99)), 13);
            assert_eq!(encoding.offset(TEXT, Position::new(1, 1)), 15);
            assert_eq!(encoding.position(TEXT, 18), Position::new(2, 0));
            assert_eq!(encoding.offset(TEXT, Position::new(2, 0)), 18);
            assert_eq!(encoding.offset(TEXT, Position::new(9, 9)), TEXT.len() as u32);
        }
    }

    #[test]
    fn the_starts_of_lines_lead_to_the_same_positions() {
        let texts = [TEXT, "rec α . 😀\n\nend\nlast", "a\r\nb\r\n", "\n", ""];
        for (text, encoding) in
            texts.iter().flat_map(|text| [(text, Encoding::Utf16), (text, Encoding::Utf8)])
        {
            let mut sources = SourceMap::new();
            let file = sources.add("a.session", *text);
            for offset in 0..=text.len() as u32 + 2 {
                let position = encoding.position(sources.text(file), offset);
                assert_eq!(encoding.position_in(&sources, file, offset), position, "{text:?} {offset}");
            }
        }
    }

    #[test]
    fn a_position_inside_a_character_is_behind_it() {
        assert_eq!(Encoding::Utf16.offset(TEXT, Position::new(0, 9)), 13);
        assert_eq!(Encoding::Utf16.offset("", Position::new(3, 3)), 0);
    }
}
