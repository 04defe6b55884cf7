//! What the language has and the later stages cannot use yet.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A construct that later stages do not know yet.
pub const NOT_SUPPORTED: Code = Code("S0901");

/// The construct at a place; `what` is its name in the plural.
pub fn not_supported(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(NOT_SUPPORTED, span, format!("{what} are not supported yet"))
        .help("leave it out for now; the rest of the file is checked as if it were not there")
}
