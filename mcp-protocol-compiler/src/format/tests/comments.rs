//! No comment is lost, and each stays at the item, branch or line it stands at.

use proptest::prelude::*;

use super::{item, without_places};
use crate::ast::File;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::SourceMap;
use crate::{format, lexer, parser};

fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    parser::parse(&sources, file)
}

fn formatted(text: &str) -> String {
    let (tree, diagnostics) = parse(text);
    assert!(diagnostics.iter().all(|found| found.severity < Severity::Error), "{diagnostics:?}");
    format::file(&tree)
}

/// The texts of all comments, in no order.
fn comments(tree: &File) -> Vec<String> {
    let mut texts: Vec<String> = tree.comments.iter().map(|comment| comment.text.clone()).collect();
    texts.sort();
    texts
}

/// Puts comments before some tokens; what each number means is of no account, as long as every kind is there.
fn with_comments(text: &str, places: &[(u16, u8)]) -> String {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    let tokens = lexer::lex(&sources, file).tokens;
    let mut inserted: Vec<(usize, String)> = Vec::new();
    for (number, (place, kind)) in places.iter().enumerate() {
        let token = tokens[usize::from(*place) % tokens.len()];
        let comment = match kind % 6 {
            0 | 1 => format!(" -- c{number}\n"),
            2 => format!("\n-- c{number}\n"),
            3 => format!("\n\n   ----- c{number}  \n\n\n"),
            4 => format!("\n--c{number}\n\n"),
            // Documentation behind something in its line is documentation of nothing.
            _ if token.start > 0 => format!(" --- c{number}\n"),
            _ => "--\n".to_owned(),
        };
        inserted.push((token.start as usize, comment));
    }
    inserted.sort();
    let mut out = text.to_owned();
    for (at, comment) in inserted.into_iter().rev() {
        out.insert_str(at, &comment);
    }
    out
}

/// Twice the usual number of cases, or half of it where the compiler is not optimised.
fn cases() -> u32 {
    let usual = ProptestConfig::default().cases;
    if cfg!(debug_assertions) { usual / 2 } else { 2 * usual }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: cases(),
        // A line that begins elsewhere may read as another item; such texts are not what this is about.
        max_global_rejects: 1 << 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn comments_stay(
        items in prop::collection::vec(item(), 1..5),
        places in prop::collection::vec(any::<(u16, u8)>(), 1..8),
    ) {
        let plain = format::file(&File { items, ..File::default() });
        let text = with_comments(&plain, &places);
        let (tree, diagnostics) = parse(&text);
        let (before, _) = parse(&plain);
        prop_assume!(diagnostics.iter().all(|found| found.severity < Severity::Error));
        prop_assume!(without_places(&tree) == without_places(&before));
        let written = format::file(&tree);
        let (again, diagnostics) = parse(&written);
        prop_assert!(diagnostics.is_empty(), "{}\n{}\n{:?}", text, written, diagnostics);
        prop_assert_eq!(without_places(&again), without_places(&tree), "{}\n{}", text, written);
        prop_assert_eq!(comments(&again), comments(&tree), "{}\n{}", text, written);
        prop_assert_eq!(format::file(&again), written, "{}", text);
    }
}

#[test]
fn a_comment_in_parentheses_stays_in_them() {
    let once = formatted("type A = \"\" | string | (( -- inside\nstring | int) | bool)\n");
    assert_eq!(once, "type A = \"\" | string | ((  -- inside\n            string | int) | bool)\n");
    assert_eq!(formatted(&once), once);
}

#[test]
fn a_comment_before_the_name_of_a_variant_stands_before_its_value() {
    let once =
        formatted("request Order \"order\" -> Bill (1 as Paid | 2 as -- not yet\n Owed) | Gone if gone\n");
    assert_eq!(
        once,
        "request Order \"order\" -> Bill (1 as Paid  -- not yet\n    | 2 as Owed) | Gone if gone\n"
    );
    assert_eq!(formatted(&once), once);
    // Also where a union with that value in front stands in something else.
    for (written, laid_out) in [
        ("[1 as -- not yet\n Owed | 2, bool]", "[  -- not yet\n    1 as Owed | 2,\n    bool\n]"),
        ("[a: 1 as -- not yet\n Owed | 2]", "[\n    a:  -- not yet\n        1 as Owed | 2\n]"),
        ("{ a: 1 as -- not yet\n Owed | 2 }", "{\n    a:  -- not yet\n        1 as Owed | 2\n}"),
        ("[1 as -- not yet\n Owed | 2]", "[  -- not yet\n    1 as Owed | 2]"),
    ] {
        let once = formatted(&format!("type A = {written}\n"));
        assert_eq!(once, format!("type A = {laid_out}\n"));
        assert_eq!(formatted(&once), once);
    }
    let once = formatted("notification Tip \"tip\" (1 as -- not yet\n Owed | 2) as tip\n");
    assert_eq!(once, "notification Tip \"tip\"  -- not yet\n    (1 as Owed | 2) as tip\n");
    assert_eq!(formatted(&once), once);
}

#[test]
fn a_record_in_a_payload_has_lines_for_its_fields_where_it_needs_them() {
    let short = "request Order \"order\" ({ drink: string }) -> Bill ({ price: int }?) | Gone ({ why: string }) if why\n";
    assert_eq!(formatted(short), short);
    let long = "notification Tip \"tip\" ({ cents: uint, -- of them\n for: string })";
    let laid_out = "notification Tip \"tip\" ({\n    cents: uint,  -- of them\n    for: string\n})\n";
    assert_eq!(formatted(long), laid_out);
    assert_eq!(formatted(laid_out), laid_out);
    let reply = "request Order \"order\" -- cold\n -> Bill ({ price: int, -- in cents\n of?: string })";
    let laid_out = "request Order \"order\"  -- cold\n    -> Bill ({\n        price: int,  -- in cents\n        of?: string\n    })";
    assert!(formatted(reply).starts_with(laid_out), "{}", formatted(reply));
}

#[test]
fn layouts_with_comments() {
    insta::assert_snapshot!(formatted(
        "-- The head of the file.

protocol   Shop \"1\"  -- at the protocol
-- right above
types crate::shop



-- A section.

--- Documentation.
-- between documentation and item
request Order \"order\" (Dishes) -- at the payload
  -> Bill -- at the reply
  as order -- at the modifier
notification News \"news\"
notification Tip \"tip\"

notification Leave \"leave\"
group Wish = Order -- food
  -- nothing else
  | Tip
Guest = rec more .
( !Order . ?Bill . more -- asks
⊕ !Tip .
   -- thanks
   more
⊕ End -- goes
)
-- above Sides
Sides = ( -- opened
  *( !Tip . End ), -- one
  -- two
  *News
) -- closed
Short = !Tip . End -- in its line --- stray
--- stray at the end
-- the last line"
    ));
}

#[test]
fn a_file_of_comments_only() {
    assert_eq!(formatted("\n\n-- a\n\n\n-- b\n--- c\n\n"), "-- a\n\n-- b\n-- c\n");
    assert_eq!(formatted("--"), "--\n");
    assert_eq!(formatted("\n \n"), "");
}
