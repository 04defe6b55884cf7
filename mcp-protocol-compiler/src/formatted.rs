//! A file in the canonical layout.

use std::path::Path;

use crate::diagnostic::{Diagnostic, has_errors};
use crate::format::file;
use crate::parser;
use crate::source::SourceMap;

/// A file that was laid out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Formatted {
    /// The file.
    pub sources: SourceMap,
    /// What is wrong with it, warnings included.
    pub diagnostics: Vec<Diagnostic>,
    /// Its text in the canonical layout. `None` if there is an error, for what cannot be read would be lost.
    pub text: Option<String>,
}

/// Lays a file out, with its comments. Its imports are not read.
///
/// ```
/// use std::path::Path;
///
/// let bytes = b"client Teller\nTeller=!Add.?Sum.End -- one\n".to_vec();
/// let formatted = mcp_protocol_compiler::format(Path::new("counter.session"), bytes);
/// assert_eq!(formatted.text.as_deref(), Some("client Teller\n\nTeller = !Add . ?Sum . End  -- one\n"));
/// ```
pub fn format(path: &Path, bytes: Vec<u8>) -> Formatted {
    let mut sources = SourceMap::new();
    let (id, mut diagnostics) = sources.add_bytes(path, bytes);
    let (tree, found) = parser::parse(&sources, id);
    diagnostics.extend(found);
    let text = (!has_errors(&diagnostics)).then(|| file(&tree));
    Formatted { sources, diagnostics, text }
}
