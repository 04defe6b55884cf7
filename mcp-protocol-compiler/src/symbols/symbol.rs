//! Names, what they stand for, and where they are.

use std::path::PathBuf;

use crate::source::{FileId, SourceMap, Span};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A protocol.
    Protocol,
    /// A request.
    Request,
    /// A notification.
    Notification,
    /// A reply to a request.
    Reply,
    /// A message that is used and not declared.
    Message,
    /// A group of messages.
    Group,
    /// A correlation key.
    Key,
    /// A payload shape.
    Shape,
    /// A role; its session type has the same name.
    Role,
    /// A named session type.
    Definition,
    /// The variable of a loop.
    Loop,
}

impl SymbolKind {
    /// What it is called in messages.
    pub fn word(self) -> &'static str {
        match self {
            SymbolKind::Protocol => "protocol",
            SymbolKind::Request => "request",
            SymbolKind::Notification => "notification",
            SymbolKind::Reply => "reply",
            SymbolKind::Message => "message",
            SymbolKind::Group => "group",
            SymbolKind::Key => "key",
            SymbolKind::Shape => "type",
            SymbolKind::Role => "role",
            SymbolKind::Definition => "session type",
            SymbolKind::Loop => "loop",
        }
    }

    /// Among which names it must be the only one.
    pub(super) fn space(self) -> Space {
        match self {
            SymbolKind::Protocol => Space::Protocol,
            SymbolKind::Request
            | SymbolKind::Notification
            | SymbolKind::Reply
            | SymbolKind::Message
            | SymbolKind::Group => Space::Message,
            SymbolKind::Key => Space::Key,
            SymbolKind::Shape => Space::Shape,
            SymbolKind::Role | SymbolKind::Definition | SymbolKind::Loop => Space::State,
        }
    }
}

/// Names that must differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Protocol,
    Message,
    Key,
    Shape,
    State,
}

/// Where a name is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Declaration {
    /// The name.
    pub name: Span,
    /// The whole item, or for a reply and a loop what declares it.
    pub item: Span,
    /// The documentation comments before the item.
    pub documentation: Vec<String>,
}

/// A thing with a name.
///
/// Two definitions of one name, one for each role or one that overrides the other, are one symbol: they are one state in
/// Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// Where it is declared; nowhere if the name is only used.
    pub declarations: Vec<Declaration>,
    /// Where it is used. The refusal of a request, `TotalError`, is a use of its first part; so is what a message
    /// carries, `TotalParams`, where its payload is a shape.
    pub uses: Vec<Span>,
}

impl Symbol {
    /// Every place of the name, declarations first.
    pub fn places(&self) -> impl Iterator<Item = Span> + '_ {
        self.declarations.iter().map(|declaration| declaration.name).chain(self.uses.iter().copied())
    }
}

/// `import "other.session"`
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// The path in its quotes.
    pub span: Span,
    /// The imported file.
    pub path: PathBuf,
}

/// The names of a file and its imports. [`symbols`](super::symbols()) finds them.
#[derive(Clone, Debug)]
pub struct Symbols {
    sources: SourceMap,
    all: Vec<Symbol>,
    /// Every place of a name in the order of the files: the word, the part of it that is the name, and the symbol.
    words: Vec<Word>,
    imports: Vec<Import>,
    /// The files that declare a role.
    roots: Vec<FileId>,
    /// The names of shapes that are written as payloads, each with its message.
    carried: Vec<(String, String)>,
}

/// A word that has a name in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) word: Span,
    pub(super) name: Span,
    pub(super) symbol: usize,
}

impl Symbols {
    pub(super) fn new(
        sources: SourceMap,
        all: Vec<Symbol>,
        mut words: Vec<Word>,
        imports: Vec<Import>,
        roots: Vec<FileId>,
        carried: Vec<(String, String)>,
    ) -> Symbols {
        words.sort_by_key(|word| (word.word.file, word.word.start));
        Symbols { sources, all, words, imports, roots, carried }
    }

    /// Every file that was read, the first being the one that was named.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Every symbol, in the order of first appearance, imports first.
    pub fn all(&self) -> &[Symbol] {
        &self.all
    }

    /// The name of each shape that is written as a payload, `TotalParams`, and that of the message that carries it. Such a
    /// name may stand where that of a shape may, and is not a symbol of its own: a use of it is one of the message.
    pub fn payloads(&self) -> impl Iterator<Item = (&str, &str)> {
        self.carried.iter().map(|(name, message)| (name.as_str(), message.as_str()))
    }

    /// Every import.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Whether a file declares a role, so that it is a protocol of its own.
    pub fn declares_role(&self, file: FileId) -> bool {
        self.roots.contains(&file)
    }

    /// The symbol at an offset, or right before it, and the place of its name.
    pub fn at(&self, file: FileId, offset: u32) -> Option<(Span, &Symbol)> {
        let before = self.words.partition_point(|word| (word.word.file, word.word.start) <= (file, offset));
        let word = self.words.get(before.checked_sub(1)?)?;
        let is_here = word.word.file == file && offset <= word.word.end;
        Some((word.name, self.all.get(word.symbol).filter(|_| is_here)?))
    }

    /// The symbol that keeps another one from getting a name: it has that name already, or would be taken for it.
    ///
    /// The name of a loop hides those of session types inside of it, so the two must differ; so must two loops if one
    /// is inside of the other.
    pub fn clash(&self, symbol: &Symbol, name: &str) -> Option<&Symbol> {
        let space = symbol.kind.space();
        let refusals = |other: &Symbol| {
            let is_refusal_of = |request: &Symbol, request_name: &str, taken: &str| {
                request.kind == SymbolKind::Request && taken.strip_suffix("Error") == Some(request_name)
            };
            space == Space::Message
                && (is_refusal_of(other, &other.name, name) || is_refusal_of(symbol, name, &other.name))
        };
        let both_loops = |other: &Symbol| symbol.kind == SymbolKind::Loop && other.kind == SymbolKind::Loop;
        self.all.iter().find(|other| {
            other.kind.space() == space
                && other.name != symbol.name
                && (other.name == name && (!both_loops(other) || overlap(symbol, other)) || refusals(other))
        })
    }
}

/// Whether one of two loops is inside of the other.
fn overlap(one: &Symbol, other: &Symbol) -> bool {
    let (Some(one), Some(other)) = (one.declarations.first(), other.declarations.first()) else {
        return false;
    };
    one.item.file == other.item.file && one.item.start < other.item.end && other.item.start < one.item.end
}
