//! Where values stand in a JSON text.

/// Where a value stands, or the key of a member, which comes before its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
    /// How many values it is, with those inside of it and their keys.
    pub(super) count: u32,
    pub(super) kind: SpanKind,
    /// Whether an object has a key with escapes.
    pub(super) has_escaped_key: bool,
}

impl Span {
    #[inline(always)]
    pub(super) fn new(start: usize, end: u32, kind: SpanKind) -> Span {
        // The text is not longer than these numbers can say.
        Span { start: start as u32, end, count: 1, kind, has_escaped_key: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Object,
    List,
    /// A text without escapes.
    Plain,
    /// A text with escapes.
    Escaped,
    /// A number, `true`, `false` or `null`.
    Word,
}
