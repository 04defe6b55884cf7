//! One change of a text.

use crate::source::Span;

/// A place and the text that replaces it; an empty place inserts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: String,
}

impl Edit {
    /// Replaces a place.
    pub fn replace(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }

    /// Inserts right before a place.
    pub fn before(span: Span, text: impl Into<String>) -> Edit {
        Edit { span: Span { end: span.start, ..span }, text: text.into() }
    }

    /// Inserts right behind a place.
    pub fn after(span: Span, text: impl Into<String>) -> Edit {
        Edit { span: Span { start: span.end, ..span }, text: text.into() }
    }

    /// Deletes a place.
    pub fn delete(span: Span) -> Edit {
        Edit { span, text: String::new() }
    }
}
