//! What an editor asks of names: where each is declared and used, across a file and its imports.
//!
//! Only the trees are read. So a text with mistakes has symbols, too: all but those in the places that the parser could
//! not read.

mod collect;
mod sessions;
mod symbol;

use std::io;
use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::lexer;
use crate::parser::words;
use crate::resolve::load;
use crate::source::SourceMap;

pub use symbol::{Declaration, Import, Symbol, SymbolKind, Symbols};

/// Finds the names of a file and of everything it imports. `read` gives the bytes of a file by its path.
///
/// ```
/// # use std::{io, path::Path};
/// use mcp_protocol_compiler::symbols::{SymbolKind, symbols};
///
/// let text = "client Teller\nserver Counter = dual Teller\nTeller = rec α . ( !Add . α ⊕ End )\n";
/// let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let symbols = symbols(Path::new("counter.session"), &mut read)?;
/// let file = symbols.sources().files().next().unwrap();
/// let offset = text.find("α ⊕").unwrap() as u32;
/// let (span, symbol) = symbols.at(file, offset).unwrap();
/// assert_eq!((symbols.sources().slice(span), symbol.kind), ("α", SymbolKind::Loop));
/// assert_eq!(symbol.places().count(), 2);
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If the first file cannot be read.
pub fn symbols(entry: &Path, read: load::Read<'_>) -> io::Result<Symbols> {
    let mut sources = SourceMap::new();
    // What is wrong is for `compile` to say.
    let mut unused: Vec<Diagnostic> = Vec::new();
    let files = load::load(entry, read, &mut sources, &mut unused)?;
    Ok(collect::collect(&files, sources))
}

/// Why a text cannot be a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAName {
    /// It is not a word of letters, digits and `_` that does not begin with a digit.
    NotAWord,
    /// It is a word of the language.
    Reserved,
}

/// Whether a text can be a name.
///
/// ```
/// use mcp_protocol_compiler::symbols::{NotAName, check_name};
///
/// assert_eq!(check_name("α"), Ok(()));
/// assert_eq!(check_name("rec"), Err(NotAName::Reserved));
/// assert_eq!(check_name("two words"), Err(NotAName::NotAWord));
/// ```
///
/// # Errors
/// If it cannot.
pub fn check_name(text: &str) -> Result<(), NotAName> {
    if !lexer::is_word(text) || text == "_" {
        Err(NotAName::NotAWord)
    } else if words::is_reserved(text) {
        Err(NotAName::Reserved)
    } else {
        Ok(())
    }
}

/// Every word of the language, which no name can be: for editors that complete and colour them.
///
/// ```
/// assert!(mcp_protocol_compiler::symbols::reserved_words().any(|word| word == "request"));
/// ```
pub fn reserved_words() -> impl Iterator<Item = &'static str> {
    words::all()
}
