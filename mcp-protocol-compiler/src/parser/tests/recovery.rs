//! Every mistake once, none a consequence of another, whatever the size.

use super::{parsed, shown};
use crate::ast::ItemKind;
use crate::diagnostic::limit::{LIMIT, MORE_FINDINGS};
use crate::diagnostic::{Diagnostic, Severity};
use crate::parser::{DEEPEST, TOO_DEEP, UNCLOSED};

fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect()
}

#[test]
fn one_mistake_a_line() {
    insta::assert_snapshot!(shown(&["\
protocol Mcp 2025.1
types a.b
reqest Ping \"ping\" -> Pong (_)
request Call call -> Result
notification Changed \"changed\" (A, B) cancelable
group G = A, B
capabilities client = Initialize
key k =
-- a correct line
A = !Ping . ?Pong
B = ( !Ping . ?Pong . B
      ⊕ !Call ?Result . B
      ⊕ * !Changed . End
      ⊕ )
C = (!Ping . ?Pong . C
D = rec . !Ping . ?Pong . D
E = !Ping . ?Pong . E )
F = $ . End
G := End
"]));
}

#[test]
fn what_could_be_read_is_in_the_tree() {
    let (_, tree, diagnostics) = parsed("A = ( !X . A ⊕ !Y ⊕ ?Z . B )\nrequest R -> S\nB = !X ?Y . B");
    assert_eq!(codes(&diagnostics), ["S0030", "S0025", "S0031"]);
    assert_eq!(tree.items.len(), 3);
    let ItemKind::Definition { body, .. } = &tree.items[0].kind else { panic!() };
    assert_eq!(crate::format::choice(body), "( !X . A ⊕ !Y . End ⊕ ?Z . B )");
    let ItemKind::Request(request) = &tree.items[1].kind else { panic!() };
    assert_eq!((request.method.text.as_str(), request.replies.len()), ("R", 1));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("A = {}End{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(codes(&parsed(&nested(DEEPEST)).2), Vec::<&str>::new());
    assert_eq!(codes(&parsed(&nested(DEEPEST + 1)).2), [TOO_DEEP.0]);
    let loops = |depth: usize| format!("A = {}!M . x\nB = End", "rec x . ".repeat(depth));
    assert_eq!(codes(&parsed(&loops(DEEPEST)).2), Vec::<&str>::new());
    assert_eq!(codes(&parsed(&loops(DEEPEST + 1)).2), [TOO_DEEP.0]);
    let generics =
        |depth: usize| format!("notification N \"n\" ({}u8{})", "Vec<".repeat(depth), ">".repeat(depth));
    assert_eq!(codes(&parsed(&generics(DEEPEST)).2), Vec::<&str>::new());
    assert_eq!(codes(&parsed(&generics(DEEPEST + 1)).2), [TOO_DEEP.0]);
    // Two places that are too deep are two mistakes; what stands between is read.
    let text = format!("{}\n{}\nB = !X", nested(200), nested(200).replace('A', "C"));
    assert_eq!(codes(&parsed(&text).2), [TOO_DEEP.0, TOO_DEEP.0, "S0030"]);
}

#[test]
fn a_great_many_parentheses_are_two_mistakes_at_most() {
    let (_, _, diagnostics) = parsed(&format!("A = {}", "(".repeat(1_000_000)));
    assert_eq!(codes(&diagnostics), [TOO_DEEP.0]);
    let (_, _, diagnostics) = parsed(&format!("A = {}", ")".repeat(1_000_000)));
    assert_eq!(codes(&diagnostics), ["S0033"]);
    let (_, _, diagnostics) = parsed(&"(".repeat(1_000_000));
    assert_eq!(codes(&diagnostics), ["S0020"]);
    let (_, _, diagnostics) = parsed(&format!("A = {}", "(\n".repeat(50)));
    assert_eq!(codes(&diagnostics), ["S0033"]);
    let (_, _, diagnostics) = parsed(&format!("A = {}B", "(".repeat(50)));
    assert_eq!(codes(&diagnostics), [UNCLOSED.0]);
}

#[test]
fn a_long_sequence_is_shallow() {
    let (_, tree, diagnostics) = parsed(&format!("A = {}End", "!X . ".repeat(100_000)));
    assert_eq!(codes(&diagnostics), Vec::<&str>::new());
    let ItemKind::Definition { body, .. } = &tree.items[0].kind else { panic!() };
    assert_eq!(body.branches[0].actions.len(), 100_000);
}

#[test]
fn what_no_one_would_read_is_counted() {
    let (_, _, diagnostics) = parsed(&"A = !X\n".repeat(LIMIT + 412));
    assert_eq!(diagnostics.len(), LIMIT + 1);
    assert_eq!(diagnostics[LIMIT].code, MORE_FINDINGS);
    assert_eq!(diagnostics[LIMIT].message, "… and 412 more errors");
    assert_eq!(diagnostics[LIMIT].severity, Severity::Note);
    let (_, _, diagnostics) = parsed(&"$ ".repeat(100_000));
    assert_eq!(diagnostics.len(), LIMIT + 1);
}

#[test]
fn an_empty_file_is_a_file() {
    for text in ["", "\n", "-- nothing", " \t\u{a0}\u{3000}"] {
        let (_, tree, diagnostics) = parsed(text);
        assert!(tree.items.is_empty() && diagnostics.is_empty(), "{text:?}");
    }
}
