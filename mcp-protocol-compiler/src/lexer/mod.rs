//! Text to tokens.
//!
//! Turns the text of one file into [`Lexed`]: its tokens with the end of the file as the last, its comments, and its
//! findings. An unknown character is reported and becomes the token that it resembles, or [`Kind::Unknown`], about
//! which the parser keeps silent.

use crate::diagnostic::limit::Findings;
use crate::diagnostic::{Diagnostic, Edit};
use crate::source::{FileId, SourceMap, Span};

mod codes;
mod lookalike;
mod quoted;
mod scan;
#[cfg(test)]
mod tests;
mod token;

pub use codes::*;
use lookalike::{changes_direction, number};
pub use quoted::{UNKNOWN_ESCAPE, UNTERMINATED_TEXT, quote, value};
pub use token::{CHOICES, CONDITIONS, CommentToken, Documentation, Kind, LOOPS, Lexed, TYPES, Token};

/// Reads all of a file.
pub fn lex(sources: &SourceMap, file: FileId) -> Lexed {
    let mut lexed = scan::Scanner::new(sources, file).run();
    directions(sources, file, &mut lexed.findings);
    lexed
}

/// Warns of characters that change the direction of the text, once a line, wherever they stand.
fn directions(sources: &SourceMap, file: FileId, findings: &mut Findings) {
    let text = sources.text(file);
    let mut last_line = 0;
    for (start, character) in text.char_indices() {
        if !changes_direction(character) {
            continue;
        }
        let line = sources.line_number(file, start as u32);
        if line == last_line {
            continue;
        }
        last_line = line;
        let span = Span { file, start: start as u32, end: (start + character.len_utf8()) as u32 };
        let message = format!("invisible character {} changes the direction of the text", number(character));
        findings.push(
            Diagnostic::warning(TEXT_DIRECTION, span, message)
                .with_note("what is read may differ from what is seen")
                .suggest("delete it", [Edit::delete(span)]),
        );
    }
}

/// Whether a text reads as one [`Kind::Word`].
pub fn is_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(scan::starts_word) && characters.all(scan::continues_word)
}
