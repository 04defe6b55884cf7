//! The words of the language.

/// The words that begin an item.
pub const ITEMS: [&str; 13] = [
    "protocol",
    "type",
    "types",
    "import",
    "request",
    "notification",
    "capabilities",
    "version",
    "group",
    "key",
    "client",
    "server",
    "override",
];

/// The words that may follow a declared message.
pub const MODIFIERS: [&str; 11] = [
    "as",
    "requires",
    "answered",
    "cancellable",
    "cancels",
    "reports",
    "grants",
    "revokes",
    "pages",
    "rounds",
    "during",
];

/// The words inside items.
const OTHERS: [&str; 23] = [
    "open",
    "only",
    "batch",
    "without",
    "reuses",
    "compatible",
    "of",
    "if",
    "unless",
    "default",
    "id",
    "replies",
    "must",
    "should",
    "out",
    "in",
    "error",
    "End",
    "rec",
    "dual",
    "reply",
    "until",
    "with",
];

/// Every word of the language.
pub fn all() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().chain(&MODIFIERS).chain(&OTHERS).copied()
}

/// Whether a word cannot be a name.
pub fn is_reserved(word: &str) -> bool {
    all().any(|reserved| reserved == word)
}
