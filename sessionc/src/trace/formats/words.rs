//! Words that are looked for in every line of a log. A search for them is prepared once.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};

/// A search for any of some words, as they are written.
pub(super) fn any_of(words: &[&'static str]) -> AhoCorasick {
    built(&AhoCorasickBuilder::new(), words)
}

/// A search for any of some words, in whatever case the letters from A to Z are.
pub(super) fn any_of_in_any_case(words: &[&'static str]) -> AhoCorasick {
    built(AhoCorasickBuilder::new().ascii_case_insensitive(true), words)
}

#[expect(clippy::expect_used, reason = "the words are constants, a few hundred bytes of them")]
fn built(builder: &AhoCorasickBuilder, words: &[&'static str]) -> AhoCorasick {
    builder.build(words).expect("there is room for all words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_they_are_written_or_in_any_case() {
        let (exact, any) = (any_of(&["Sent →", "b"]), any_of_in_any_case(&["Sent →", "b"]));
        let found = |text: &str| (exact.is_match(text), any.is_match(text));
        assert_eq!(found("it has Sent → a"), (true, true));
        assert_eq!(found("it has SENT → a"), (false, true));
        assert_eq!(found("it has Sent a"), (false, false));
    }
}
