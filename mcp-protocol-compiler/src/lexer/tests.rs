//! Tokens of small texts.

use super::*;

fn lexed(text: &str) -> (Vec<(Kind, String)>, Lexed) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    let lexed = lex(&sources, file);
    let tokens = lexed.tokens.iter().map(|token| {
        let text = sources.slice(token.span(file)).to_owned();
        (token.kind, text)
    });
    (tokens.collect(), lexed)
}

fn kinds(text: &str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = lexed(text).0.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds.pop(), Some(Kind::EndOfFile));
    kinds
}

fn findings(text: &str) -> usize {
    lexed(text).1.findings.finish().len()
}

#[test]
fn a_parenthesis_is_not_an_operator() {
    use Kind::{Close, Internal, Open, PlusEquals, Word};
    assert_eq!(kinds("(+)"), [Internal]);
    assert_eq!(kinds("((+)A)"), [Open, Internal, Word, Close]);
    assert_eq!(kinds("A(+)(B)"), [Word, Internal, Open, Word, Close]);
    assert_eq!(kinds("(+=)"), [Open, PlusEquals, Close]);
}

#[test]
fn dashes() {
    use Kind::{Arrow, MinusEquals, Number, Word};
    assert_eq!(kinds("-> -= -32002 A--x\nB"), [Arrow, MinusEquals, Number, Word, Word]);
    assert_eq!(kinds("----\n---\n--"), []);
    assert_eq!(lexed("--- a\n---- b\nA --- c").1.documentation.len(), 2);
    assert_eq!(findings("A -- – — “ $ \u{200b}"), 0);
}

#[test]
fn both_letters_mu_stand_alone() {
    use Kind::{Mu, Word};
    assert_eq!(kinds("μX µX aμb α"), [Mu, Word, Mu, Word, Word, Mu, Word, Word]);
    assert_eq!(findings("μX µ α"), 0);
}

#[test]
fn what_looks_alike_becomes_what_was_meant() {
    use Kind::{Arrow, Dot, Exclamation, Number, Open, Text, Word};
    assert_eq!(kinds("！A · B → “x” （−3 – rest"), [Exclamation, Word, Dot, Word, Arrow, Text, Open, Number]);
    assert_eq!(findings("！A · B → “x” （−3 – rest"), 7);
    assert_eq!(kinds("A // rest\nB # rest"), [Word, Word]);
}

#[test]
fn a_run_of_one_unknown_character_is_one_finding() {
    assert_eq!(findings("$$$$ %%"), 2);
    assert_eq!(kinds("$$"), [Kind::Unknown, Kind::Unknown]);
    assert_eq!(lexed("A\n$ $\n$").1.unreadable_lines, [2, 3]);
}

#[test]
fn text_ends_in_its_line() {
    use Kind::{Close, Text, Word};
    assert_eq!(kinds("\"a b\" \"\\\"\""), [Text, Text]);
    assert_eq!(kinds("\"a) b\nc"), [Text, Close, Word, Word]);
    assert_eq!(findings("\"a) b\nc"), 1);
    assert_eq!(findings("\"a \"b \"c"), 1);
}

#[test]
fn directions_are_reported_once_a_line() {
    assert_eq!(findings("-- \u{202e}\u{202e}\n\n\"\u{2066}\" \u{2069}"), 2);
}

#[test]
fn words() {
    assert!(is_word("_meta") && is_word("α") && is_word("a2"));
    assert!(!is_word("") && !is_word("2a") && !is_word("a-b") && !is_word("aμ") && !is_word("𝜇"));
}
