//! Names: what a message or a state of the `.session` file is called in Rust.

use proc_macro2::{Ident, Span};

/// Methods of every session value; nothing else may be called so.
pub(crate) const SESSION_METHODS: [&str; 18] = [
    "new",
    "with_options",
    "resume",
    "at",
    "handle",
    "incoming",
    "permits",
    "permitted",
    "grant_capability",
    "revoke_capability",
    "into_checked",
    "abort",
    "ended",
    "readable",
    "close",
    "next",
    "split",
    "request_id",
];

/// Methods of a role's handle.
pub(crate) const HANDLE_METHODS: [&str; 4] = ["clone", "restrict", "permits", "permitted"];

/// Methods of a handler's context.
pub(crate) const CONTEXT_METHODS: [&str; 7] =
    ["peer", "cancelled", "is_cancelled", "wants_progress", "release_connection", "extension", "clone"];

/// The names in the generated module other than roles and states: imports, tables and modules.
pub(crate) const MODULE_ITEMS: [&str; 9] =
    ["runtime", "typed", "types", "messages", "capabilities", "tables", "client", "server", "PROTOCOL"];

/// The items of a role's module, which knows its role by name.
pub(crate) const ROLE_ITEMS: [&str; 8] =
    ["Call", "CancellableCall", "Handle", "Incoming", "IncomingQueue", "Context", "Handler", "Future"];

/// The names of Rust's prelude that generated code uses, and those that would mislead a reader.
pub(crate) const PRELUDE: [&str; 17] = [
    "Result", "Ok", "Err", "Option", "Some", "None", "Clone", "Debug", "Send", "Sync", "Self", "String",
    "Vec", "Box", "Drop", "Fn", "Default",
];

/// The names that the code of payload shapes uses as they are: no shape has one of them. Other names of the prelude may be
/// those of shapes.
pub(crate) const SHAPE_ITEMS: [&str; 10] =
    ["From", "Into", "IntoIterator", "Option", "String", "Vec", "i64", "shapes", "u64", "usize"];

/// `ToolsListChanged` as `tools_list_changed`, `HTTPPing` as `http_ping`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut letters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(letter) = letters.next() {
        let after = letters.peek();
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                // A capital after a small letter starts a word, and so does the last of a run of capitals that a
                // small letter follows: `HTTPPing` is `HTTP` and `Ping`.
                let ends_run = before.is_uppercase() && after.is_some_and(|after| after.is_lowercase());
                before != '_' && (!before.is_uppercase() || ends_run)
            });
        if starts_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
        before = Some(letter);
    }
    out
}

/// `ToolsListChanged` as `TOOLS_LIST_CHANGED`.
pub(crate) fn constant(name: &str) -> String {
    snake(name).to_uppercase()
}

/// The name as an identifier; a keyword gets `r#`. A name that cannot be an identifier becomes one; the check of names
/// has refused it before.
pub(crate) fn ident(name: &str) -> Ident {
    if let Some(found) = try_ident(name) {
        return found;
    }
    let spelled: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    Ident::new(&format!("_{spelled}"), Span::call_site())
}

/// Whether the name can be an identifier.
pub(crate) fn is_ident(name: &str) -> bool {
    is_plain(name) || try_ident(name).is_some()
}

/// The name as an identifier, if it can be one.
pub(crate) fn try_ident(name: &str) -> Option<Ident> {
    if is_plain(name) {
        return Some(Ident::new(name, Span::call_site()));
    }
    // `syn` knows which characters an identifier may have and which words are keywords; a word with `_` behind it is
    // never a keyword, so it shows whether the characters are permitted.
    // Of the words that are reserved since edition 2024, `syn` does not know.
    let is_keyword = KEYWORDS.contains(&name);
    if let Some(found) = syn::parse_str::<Ident>(name).ok().filter(|_| !is_keyword) {
        return Some(found);
    }
    let unrawable = matches!(name, "self" | "Self" | "super" | "crate" | "_");
    if unrawable || syn::parse_str::<Ident>(&format!("{name}_")).is_err() {
        return None;
    }
    Some(Ident::new_raw(name, Span::call_site()))
}

/// Whether a name is an identifier beyond doubt; most are, and asking `syn` takes far longer than all else.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !KEYWORDS.contains(&name)
}

/// Rust's keywords, those that are reserved and those of edition 2024 among them, in order.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_at_capitals_and_at_the_end_of_a_run_of_them() {
        assert_eq!(snake("ToolsListChanged"), "tools_list_changed");
        assert_eq!(snake("HTTPPing"), "http_ping");
        assert_eq!(snake("Ping"), "ping");
        assert_eq!(snake("already_snake"), "already_snake");
        assert_eq!(snake("Mixed_Case"), "mixed_case");
        assert_eq!(snake("Sha256Sum"), "sha256_sum");
        assert_eq!(snake("A"), "a");
        assert_eq!(snake("ÄpfelÖl"), "äpfel_öl");
        assert_eq!(constant("ResourcesRead"), "RESOURCES_READ");
    }

    #[test]
    fn keywords_become_raw_and_other_text_is_not_a_name() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("async").to_string(), "r#async");
        assert_eq!(ident("call_tool").to_string(), "call_tool");
        for keyword in KEYWORDS {
            let found = try_ident(keyword).map(|found| found.to_string());
            assert!(found.is_none_or(|found| found == format!("r#{keyword}")), "{keyword}");
            assert!(keyword == "gen" || syn::parse_str::<Ident>(keyword).is_err(), "{keyword}");
        }
        assert!(try_ident("self").is_none());
        assert!(try_ident("2fast").is_none());
        assert!(try_ident("").is_none());
        assert!(try_ident("a b").is_none());
    }
}
