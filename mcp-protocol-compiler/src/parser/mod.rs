//! Tokens to tree.
//!
//! Reads one file of a source map. Every text has a tree; each mistake is one finding, in the order of the text. Names
//! are not looked up. Where something could not be read, the tree has [`Tail::Missing`](crate::ast::Tail::Missing) or
//! lacks the item, and a finding of severity error exists.

use crate::ast::{File, Item};
use crate::diagnostic::{Code, Diagnostic};
use crate::lexer::Kind;
use crate::source::{FileId, SourceMap, Span};

mod cursor;
mod group;
mod item;
mod message;
mod modifiers;
mod path;
mod session;
mod tail;
#[cfg(test)]
mod tests;
pub mod words;

use cursor::Parser;

/// How deep parentheses, loops and generic arguments may nest.
pub const DEEPEST: usize = 64;

/// Something that begins no item.
pub const EXPECTED_ITEM: Code = Code("S0020");
/// A word that is almost an item word.
pub const MISSPELT_ITEM: Code = Code("S0021");
/// A word after a message that is not a modifier.
pub const UNKNOWN_MODIFIER: Code = Code("S0022");
/// A word of the language where a name should be.
pub const RESERVED_WORD: Code = Code("S0023");
/// A name that is not there.
pub const MISSING_NAME: Code = Code("S0024");
/// A declaration that stops, or goes on, in the wrong place.
pub const MALFORMED_DECLARATION: Code = Code("S0025");
/// A payload that is not a type.
pub const MALFORMED_PAYLOAD: Code = Code("S0026");
/// A path into JSON that is none.
pub const MALFORMED_PATH: Code = Code("S0027");
/// A level that is none.
pub const MALFORMED_LEVEL: Code = Code("S0028");
/// Documentation that belongs to no item.
pub const STRAY_DOCUMENTATION: Code = Code("S0029");
/// An action after which nothing comes, not even `End`.
pub const MISSING_CONTINUATION: Code = Code("S0030");
/// Two actions without a `.` between them.
pub const MISSING_DOT: Code = Code("S0031");
/// A `.` after something that nothing can follow.
pub const NOTHING_FOLLOWS: Code = Code("S0032");
/// No session type where there should be one.
pub const MISSING_TYPE: Code = Code("S0033");
/// A parenthesis that is not closed.
pub const UNCLOSED: Code = Code("S0034");
/// A parenthesis that was not opened.
pub const UNOPENED: Code = Code("S0035");
/// `*` before something that is not an atom.
pub const REPLICATED_SEQUENCE: Code = Code("S0036");
/// `rec` without its variable or its `.`.
pub const MALFORMED_RECURSION: Code = Code("S0037");
/// Two branches without an operator, or with one that is none.
pub const MALFORMED_CHOICE: Code = Code("S0038");
/// Channels side by side without parentheses.
pub const BARE_CHANNELS: Code = Code("S0039");
/// Nesting that is too deep.
pub const TOO_DEEP: Code = Code("S0040");

/// Whether what stands in a place is short enough to be repeated in a suggestion.
fn is_short(place: Span) -> bool {
    place.end.saturating_sub(place.start) <= 80
}

/// Reads one file.
pub fn parse(sources: &SourceMap, file: FileId) -> (File, Vec<Diagnostic>) {
    let mut parser = Parser::new(sources, file);
    let mut items: Vec<Item> = Vec::new();
    while parser.kind() != Kind::EndOfFile {
        let before = parser.index();
        items.extend(parser.item());
        if parser.index() == before {
            parser.bump();
        }
    }
    parser.take_documentation();
    let mut comments = parser.comments;
    comments.sort_by_key(|comment| comment.span.start);
    (File { items, comments, empty_lines: parser.empty_lines }, parser.findings.finish())
}
