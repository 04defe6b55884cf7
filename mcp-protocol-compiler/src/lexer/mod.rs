//! Text to tokens.
//!
//! Turns the text of one file into [`Lexed`]: its tokens with the end of the file as the last, its comments, and its
//! findings. An unknown character is reported and becomes the token that it resembles, or [`Kind::Unknown`], about
//! which the parser keeps silent.

use crate::diagnostic::limit::Findings;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::{FileId, SourceMap, Span};

mod lookalike;
mod quoted;
mod scan;
#[cfg(test)]
mod tests;

pub use quoted::{UNKNOWN_ESCAPE, UNTERMINATED_TEXT, quote, value};

/// A character that has no meaning here.
pub const UNKNOWN_CHARACTER: Code = Code("S0010");
/// A name or number that is neither.
pub const MALFORMED_NUMBER: Code = Code("S0013");
/// Characters that change the direction of the text, and so what a reader sees.
pub const TEXT_DIRECTION: Code = Code("S0014");

/// A name, a text in quotes or a path of Rust names that is longer than any that is of use.
pub const TOO_LONG: Code = Code("S0015");

/// How many characters a name may have. Names are repeated wherever something is said or generated about them, so
/// that without a limit a file could make more of itself than there is memory.
pub const LONGEST_NAME: usize = 255;
/// How many characters a text in quotes may have, and a path of Rust names, for the same reason.
pub const LONGEST_TEXT: usize = 4_096;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A name or a word; which words are reserved is the parser's affair.
    Word,
    /// `"…"`
    Text,
    /// `-32002`
    Number,
    /// `μ` or `µ`
    Mu,
    /// `⊕` or `(+)`
    Internal,
    /// `&`
    Ampersand,
    /// `!`
    Exclamation,
    /// `?`
    Question,
    /// `.`
    Dot,
    /// `*`
    Star,
    /// `,`
    Comma,
    /// `|`
    Bar,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `=`
    Equals,
    /// `+=`
    PlusEquals,
    /// `-=`
    MinusEquals,
    /// `->`
    Arrow,
    /// `::`
    DoubleColon,
    /// `:`
    Colon,
    /// What could not be read; it has been reported.
    Unknown,
    /// Behind everything.
    EndOfFile,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Whether it is the first of its line.
    pub starts_line: bool,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl Token {
    /// Where it stands.
    pub fn span(self, file: FileId) -> Span {
        Span { file, start: self.start, end: self.end }
    }
}

/// One line of documentation, `--- …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documentation {
    /// The first dash.
    pub start: u32,
    /// The first byte of the text, behind the dashes and one space.
    pub text: u32,
    /// The end of the line, or of what is not white space in it.
    pub end: u32,
    /// The index of the token that follows.
    pub next: usize,
    /// Whether nothing stands before it in its line.
    pub starts_line: bool,
}

/// A comment other than documentation, `-- …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommentToken {
    /// The first dash.
    pub start: u32,
    /// The end of the line, or of what is not white space in it.
    pub end: u32,
    /// Whether nothing stands before it in its line.
    pub starts_line: bool,
}

/// What the lexer made of a file.
#[derive(Clone, Debug, Default)]
pub struct Lexed {
    /// The tokens; the last is [`Kind::EndOfFile`].
    pub tokens: Vec<Token>,
    /// The documentation comments in order.
    pub documentation: Vec<Documentation>,
    /// The other comments in order.
    pub comments: Vec<CommentToken>,
    /// Where each line with nothing in it begins.
    pub empty_lines: Vec<u32>,
    /// What is wrong.
    pub findings: Findings,
    /// The lines, in order, of which something could not be read. What the parser finds there is a consequence.
    pub unreadable_lines: Vec<u32>,
}

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

/// Whether a character is one of Unicode's explicit directional controls.
fn changes_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A character's number as Unicode writes it.
fn number(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

/// Whether a text reads as one [`Kind::Word`].
pub fn is_word(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(scan::starts_word) && characters.all(scan::continues_word)
}
