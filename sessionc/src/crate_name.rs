//! The names that a new crate may have.

/// The words that no crate can be called, for Rust has other uses for them.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "_",
];

/// Names that Cargo, Rust or some file system keeps for itself.
const RESERVED: [&str; 14] = [
    "alloc",
    "aux",
    "com1",
    "con",
    "core",
    "lpt1",
    "nul",
    "prn",
    "proc-macro",
    "proc_macro",
    "std",
    "test",
    "com2",
    "lpt2",
];

/// What a new crate depends on.
const DEPENDENCIES: [&str; 4] = ["mcp-runtime", "mcp_runtime", "tokio", "serde"];

/// The longest name in bytes that crates.io takes.
const LONGEST: usize = 64;

/// Says why a name cannot be that of a crate, and which similar one can.
pub(crate) fn check(name: &str) -> Result<(), (&'static str, Option<String>)> {
    let Err(why) = rule(name) else { return Ok(()) };
    Err((why, similar(name).filter(|similar| rule(similar).is_ok())))
}

fn rule(name: &str) -> Result<(), &'static str> {
    let is_usual =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    match name {
        _ if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) => {
            Err("it must begin with a letter")
        }
        _ if !name.chars().all(is_usual) => Err("it may have small letters, digits, `-` and `_`"),
        _ if name.len() > LONGEST => Err("it may have 64 letters at most"),
        _ if KEYWORDS.contains(&name) => Err("Rust uses this word for something else"),
        _ if RESERVED.contains(&name) => Err("this name is reserved"),
        // The protocol would be called `End`.
        "end" => Err("the language uses this word for something else"),
        _ if DEPENDENCIES.contains(&name) => Err("it depends on a crate of this name"),
        _ => Ok(()),
    }
}

/// A similar name: `MyNotes`, `my notes` and `Mynotes!` become `my-notes` and `mynotes`.
fn similar(name: &str) -> Option<String> {
    let mut words = String::new();
    let mut is_small = false;
    for letter in name.chars().take(LONGEST) {
        if letter.is_ascii_uppercase() && is_small {
            words.push('-');
        }
        is_small = letter.is_ascii_lowercase();
        let plain = letter.is_ascii_alphanumeric() || letter == '_';
        words.push(if plain { letter.to_ascii_lowercase() } else { '-' });
    }
    let parts: Vec<&str> = words.split('-').filter(|part| !part.is_empty()).collect();
    let words = parts.join("-");
    let words = words.trim_start_matches('_');
    match words.chars().next()? {
        first if !first.is_ascii_alphabetic() => Some(format!("protocol-{words}")),
        _ if rule(words).is_err() => Some(format!("{words}-protocol")),
        _ => Some(words.to_owned()),
    }
}

/// The name in code: `my_notes`.
pub(crate) fn module(name: &str) -> String {
    name.replace('-', "_")
}

/// The name as that of a type: `MyNotes`.
pub(crate) fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split(['-', '_']).map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_good() {
        for name in ["calc", "my-notes", "my_notes", "a1", "protocol", &"a".repeat(64)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_not_good_has_a_similar_one() {
        for (name, similar) in [
            ("MyNotes", Some("my-notes")),
            ("my notes", Some("my-notes")),
            ("calc!", Some("calc")),
            ("3d", Some("protocol-3d")),
            ("_", None),
            ("_x", Some("x")),
            ("", None),
            ("…", None),
            ("match", Some("match-protocol")),
            ("std", Some("std-protocol")),
            ("tokio", Some("tokio-protocol")),
            ("end", Some("end-protocol")),
            ("Größe", Some("gr-e")),
        ] {
            let (_, found) = check(name).unwrap_err();
            assert_eq!(found.as_deref(), similar, "{name}");
        }
        assert!(check(&"a".repeat(65)).is_err());
    }

    #[test]
    fn names_in_code() {
        assert_eq!(
            (module("my-notes"), type_name("my-notes")),
            ("my_notes".to_owned(), "MyNotes".to_owned())
        );
        assert_eq!(type_name("a1_b--c"), "A1BC");
    }
}
