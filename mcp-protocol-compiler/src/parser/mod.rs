//! Tokens to tree.
//!
//! Reads one file of a source map. Every text has a tree; each mistake is one finding, in the order of the text. Names
//! are not looked up. Where something could not be read, the tree has [`Tail::Missing`](crate::ast::Tail::Missing) or
//! lacks the item, and a finding of severity error exists.

use crate::ast::{File, Item};
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::source::{FileId, SourceMap};

mod branches;
mod codes;
mod cursor;
mod foreign_items;
mod foreign_shapes;
mod group;
mod habits;
mod item;
mod message;
mod modifiers;
mod path;
mod repeated;
mod session;
mod shape;
mod tail;
#[cfg(test)]
mod tests;
mod tuple;
pub mod words;

pub use codes::*;
use cursor::Parser;

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
