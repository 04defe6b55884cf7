//! Tokens and comments.

use crate::diagnostic::limit::Findings;
use crate::source::{FileId, Span};

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
    /// `{` in a shape
    OpenBrace,
    /// `}` in a shape
    CloseBrace,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `=`
    Equals,
    /// `+` right behind a word or a parenthesis, where no branch follows it
    Plus,
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

/// Words that begin a condition in other languages.
pub const CONDITIONS: [&str; 6] = ["if", "when", "match", "switch", "case", "unless"];

/// Words that begin a choice, or channels side by side, in other notations.
pub const CHOICES: [&str; 8] = ["choice", "select", "offer", "branch", "either", "alt", "par", "parallel"];

/// Words that begin a loop in other languages.
pub const LOOPS: [&str; 6] = ["loop", "repeat", "while", "for", "forever", "many"];

/// Words that declare a type with its fields in braces in other languages.
pub const TYPES: [&str; 7] = ["struct", "interface", "class", "record", "message", "object", "enum"];

/// Words behind which other languages write a shape in braces.
pub(super) const BEFORE_SHAPES: [&str; 13] = [
    "enum",
    "Enum",
    "oneof",
    "oneOf",
    "anyof",
    "anyOf",
    "union",
    "Union",
    "record",
    "struct",
    "interface",
    "object",
    "optional",
];
