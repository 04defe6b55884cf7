//! Helps that are followed: what a finding says to type is typed, and the finding is gone.
//!
//! Each edit belongs to a program in `diagnostics/`. Where a help leaves `…` open, the edit fills it in with what
//! stands there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{compiled, rendered, split};
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Compilation, Settings};

/// A program, a part of a help that it gets, the finding that has it, what to replace by what, and the findings that
/// other mistakes of the program leave.
struct Edit {
    program: &'static str,
    code: &'static str,
    help: &'static str,
    replace: &'static [(&'static str, &'static str)],
    left: &'static [&'static str],
}

const fn edit(
    program: &'static str,
    code: &'static str,
    help: &'static str,
    replace: &'static [(&'static str, &'static str)],
    left: &'static [&'static str],
) -> Edit {
    Edit { program, code, help, replace, left }
}

const EDITS: &[Edit] = &[
    edit("default-misspelt", "S0117", "`ask.form`", &[("ask.from", "ask.form")], &[]),
    edit("default-of-nothing", "S0117", "`default ask.form`", &[("default ask", "default ask.form")], &[]),
    edit("default-of-nothing", "S0117", "delete the default", &[(" default ask", "")], &[]),
    edit("default-of-a-role", "S0117", "`default ask.form`", &[("default client.", "default ")], &[]),
    edit("default-of-the-other-side", "S0117", "delete it", &[("Bill.c default ask.form", "Bill.c")], &[]),
    edit("default-twice", "S0117", "delete one", &[(" | ask.form", "")], &[]),
    edit("default-word-misspelt", "S0025", "write `default`", &[("defaults", "default")], &[]),
    edit(
        "default-at-a-gate",
        "S0025",
        "behind `capabilities ROLE = …`",
        &[("form default", "form"), ("Order.c", "Order.c default ask.form")],
        &[],
    ),
    edit("unless-behind-a-method", "S0025", "what has no condition", &[(" unless mode = \"url\"", "")], &[]),
    edit("unless-misspelt", "S0022", "write `unless`", &[("unles ", "unless ")], &[]),
    edit(
        "not-equal-in-a-gate",
        "S0025",
        "write `unless mode = \"literal\"`",
        &[("if mode != \"url\"", "unless mode = \"url\"")],
        &[],
    ),
    edit(
        "braces",
        "S0026",
        "write `({amount: u32})`",
        &[("{amount: u32}", "({amount: u32})")],
        &["S0010", "S0701"],
    ),
    edit(
        "braces",
        "S0010",
        "write parentheses",
        &[("{ !Tip . End }", "( !Tip . End )")],
        &["S0026", "S0701"],
    ),
    edit("no-quotes", "S0010", "write `\"shop/order\"`", &[("shop/order", "\"shop/order\"")], &[]),
    edit("replies-with-or", "S0025", "write `|`", &[(" or ", " | ")], &["S0112", "S0309"]),
    edit(
        "send-receive-words",
        "S0033",
        "write `?Bill`",
        &[("send Order", "!Order"), ("receive Bill", "?Bill")],
        &[],
    ),
    edit(
        "signs-behind-names",
        "S0033",
        "in front: `?Bill`",
        &[("Order!", "!Order"), ("Bill?", "?Bill")],
        &[],
    ),
    edit(
        "comma-for-choice",
        "S0039",
        "write `Guest = (!Order . ?Bill . End, !Tip . End)`",
        &[("Guest = !Order . ?Bill . End , !Tip . End", "Guest = (!Order . ?Bill . End, !Tip . End)")],
        &[],
    ),
    edit("comma-for-choice", "S0039", "write `⊕` or `(+)` in place of `,`", &[(" , ", " ⊕ ")], &[]),
    edit("role-not-defined", "S0104", "write `Guest` in place of `Gest`", &[("Gest =", "Guest =")], &[]),
    edit(
        "comma-for-choice-in-a-loop",
        "S0202",
        "write `⊕` or `(+)` in place of `,`",
        &[("again , !Tip", "again (+) !Tip")],
        &[],
    ),
    edit(
        "group-with-commas",
        "S0301",
        "take `Tip` out of `All`, and write `⊕ !Tip . on` as a branch of its own",
        &[("Order, Tip", "Order"), ("⊕ ?News . on", "⊕ !Tip . on ⊕ ?News . on")],
        &[],
    ),
    edit(
        "other-reply-on-one-side",
        "S0301",
        "write `?Bill` in place of `?Answer`",
        &[("!Order . ?Answer", "!Order . ?Bill")],
        &[],
    ),
    edit(
        "other-request-on-one-side",
        "S0301",
        "write `!Order` in place of `!Ask`",
        &[("!Ask . ?Bill", "!Order . ?Bill")],
        &[],
    ),
    edit("reply-in-the-wrong-direction", "S0301", "write `?Bill`", &[("!Bill", "?Bill")], &[]),
    edit(
        "forgotten-reply",
        "S0303",
        "write `!Order . ?Bill . again`",
        &[("!Order . again", "!Order . ?Bill . again")],
        &[],
    ),
    edit("request-for-its-reply-in-a-loop", "S0303", "write `?Bill`, the reply", &[("?Order", "?Bill")], &[]),
    edit("reply-as-request", "S0305", "write `?Bill`, the reply", &[("?Order", "?Bill")], &[]),
    edit(
        "forgotten-reply-end",
        "S0305",
        "write `!Order . ?Bill`",
        &[("!Order . !Tip", "!Order . ?Bill . !Tip")],
        &[],
    ),
    edit(
        "refusal-undoes",
        "S0306",
        "`( ?Bill . … & ?OrderError . End )` in place of `?Bill . …`",
        &[("?Bill . End", "( ?Bill . End & ?OrderError . End )")],
        &[],
    ),
    edit(
        "cancellable-in-a-sequence",
        "S0307",
        "`( rec again . !Order . ?Bill . again )`",
        &[("= !Order . ?Bill . End", "= ( rec again . !Order . ?Bill . again )")],
        &[],
    ),
    edit(
        "cancellable-in-a-sequence",
        "S0307",
        "`*( !Order . ?Bill . End )`",
        &[("= !Order . ?Bill . End", "= *( !Order . ?Bill . End )")],
        &[],
    ),
    edit("cancellable-in-a-sequence", "S0307", "remove `cancellable`", &[("cancellable", "")], &[]),
    edit(
        "mixing-sides",
        "S0501",
        "`Shopkeeper = ?Order . !Bill . End`",
        &[("Shopkeeper = !Order . ?Bill . End", "Shopkeeper = ?Order . !Bill . End")],
        &[],
    ),
    edit(
        "mixing-sides",
        "S0501",
        "write `server Shopkeeper = dual Guest`, and delete `Shopkeeper = …`",
        &[
            ("server Shopkeeper\n", "server Shopkeeper = dual Guest\n"),
            ("\nShopkeeper = !Order . ?Bill . End", ""),
        ],
        &[],
    ),
    edit(
        "not-dual-close",
        "S0501",
        "add `& End` next to `?Order` at the start of `Shop`",
        &[("?Tip . on )", "?Tip . on & End )"), ("Unused = ?News . End\n", "")],
        &[],
    ),
    edit(
        "not-dual-close",
        "S0501",
        "delete `⊕ End` at the start of `Guest`",
        &[(" ⊕ End", ""), ("Unused = ?News . End\n", "")],
        &[],
    ),
    edit(
        "ping-of-one-side",
        "S0501",
        "add `*( ?Ping . !Pong . End )` at the start of `Shop`",
        &[("Shop = *( !Ping . ?Pong . End )", "Shop = (*( !Ping . ?Pong . End ), *( ?Ping . !Pong . End ))")],
        &[],
    ),
    // A reply of any name leaves what else was wrong.
    edit("refusal-undoes-in-the-dual", "S0309", "write `?reply . …`", &[("?Bill", "?reply")], &["S0306"]),
    edit("not-dual-later", "S0501", "remove this `!News`", &[("!News . !News", "!News")], &[]),
    edit(
        "loop-against-instances",
        "S0502",
        "write `*( ?Order . !Bill . End )` in `Shop`",
        &[("rec on . ?Order . !Bill . on", "*( ?Order . !Bill . End )")],
        &[],
    ),
    edit(
        "closing-next-to-a-call",
        "S0503",
        "`!Order . ( rec wait . ( ?Bill . … & ?News . wait ) )`",
        &[("!Order . ?Bill . on", "!Order . ( rec wait . ( ?Bill . on & ?News . wait ) )")],
        // The other race of the same place.
        &["S0503"],
    ),
    edit(
        "race-with-a-call",
        "S0503",
        "`*( !List . ?Listed . End )`",
        &[("!List . ?Listed . Open", "*( !List . ?Listed . End )")],
        // The other race of the same place.
        &["S0503"],
    ),
    edit(
        "race-with-a-call-in-two-places",
        "S0503",
        "`*( !Break . ?Broken . End )`",
        &[
            ("!Break . ?Broken . running", "*( !Break . ?Broken . End )"),
            ("!Break . ?Broken . Paused", "*( !Break . ?Broken . End )"),
        ],
        &[],
    ),
    edit(
        "race-of-two-channels",
        "S0503",
        "`(rec a . !Tip . !Tip . a, rec b . ?News . ?News . b)`",
        &[(
            "rec on . ( !Tip . !Tip . on ⊕ ?News . ?News . on )",
            "(rec a . !Tip . !Tip . a, rec b . ?News . ?News . b)",
        )],
        &[],
    ),
    edit(
        "not-dual-missing-step",
        "S0501",
        "write `?Tip .` before `End` in `Shop`",
        &[("!Bill . End", "!Bill . ?Tip . End")],
        &[],
    ),
    edit("not-dual-missing-step", "S0501", "remove `!Tip` from `Guest`", &[("!Tip . ", "")], &[]),
    edit(
        "not-dual-first-step-missing",
        "S0501",
        "write `?Tip .` before `?News` in `Shop`",
        &[("Shop = ?News", "Shop = ?Tip . ?News")],
        &[],
    ),
    edit(
        "mixing-sides-later",
        "S0501",
        "write `?Tip` in place of `!Tip` in `Shop`",
        &[("( !Tip . on &", "( ?Tip . on &")],
        &[],
    ),
    edit(
        "end-of-the-wrong-role",
        "S0501",
        "write `&` in place of `⊕`",
        &[("?Tip . on ⊕ !News . on ⊕", "?Tip . on & !News . on &")],
        &[],
    ),
    edit(
        "cancellable-with-a-branch",
        "S0307",
        "let `?Bill` and `?OrderError` lead to the same state",
        &[("?OrderError . Guest", "?OrderError . End")],
        &[],
    ),
    edit("names-that-meet", "S0601", "delete `as order`", &[("as order", "")], &[]),
    edit(
        "role-named-like-a-state",
        "S0601",
        "write `as do_split` at the end of the declaration of `Split`",
        &[("-> Halves\n", "-> Halves as do_split\n")],
        &[],
    ),
    edit(
        "capabilities-without-equals",
        "S0025",
        "write `capabilities server = Bill.capabilities`",
        &[("server Bill.", "server = Bill.")],
        &[],
    ),
    edit(
        "modifier-before-arrow",
        "S0025",
        "write `-> Bill (_) cancellable`",
        &[("cancellable -> Bill (_)", "-> Bill (_) cancellable")],
        &[],
    ),
    edit(
        "types-that-are-no-paths",
        "S0026",
        "write `(Vec<u8>)`",
        &[("([u8])", "(Vec<u8>)"), ("(&str)", "(String)")],
        &[],
    ),
    edit(
        "reserved-word-as-a-name",
        "S0023",
        "another name, for instance `Error`",
        &[("notification error", "notification Error"), ("!error", "!Error")],
        &[],
    ),
    edit(
        "capital-rec",
        "S0033",
        "a loop is written `rec again . ( … )`",
        &[("REC", "rec"), ("END", "End")],
        &[],
    ),
    edit("dual-misspelt", "S0033", "did you mean `dual Guest`?", &[("daul", "dual")], &[]),
    edit("dual-of-an-unknown-role", "S0103", "write `dual Guest`", &[("dual Gast", "dual Guest")], &[]),
];

fn compile_text(name: &str, text: &str) -> Compilation {
    let file = format!("{name}.session");
    let settings = Settings::default().without_closure(text.starts_with("-- without closure\n"));
    compiled(&split(text, &file), &file, settings, text.starts_with("-- expand\n"))
}

#[test]
fn a_help_that_is_followed_mends_its_finding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut failures = String::new();
    for Edit { program, code, help, replace, left } in EDITS {
        let text = fs::read_to_string(folder.join(format!("{program}.session"))).unwrap();
        let before = compile_text(program, &text);
        let advised = before
            .diagnostics
            .iter()
            .find(|found| found.code.0 == *code && found.helps.iter().any(|one| one.contains(help)));
        let Some(advised) = advised else {
            failures += &format!("`{program}` has no help `{help}`:\n{}\n", rendered(&before));
            continue;
        };
        let mut mended = text.clone();
        for (from, to) in *replace {
            assert!(mended.contains(from), "`{program}` has no `{from}`");
            mended = mended.replacen(from, to, 1);
        }
        let after = compile_text(program, &mended);
        let same = after.diagnostics.iter().any(|found| found.message == advised.message);
        let codes: BTreeSet<&str> = after
            .diagnostics
            .iter()
            // What a mistake left unused is none of its finding's business.
            .filter(|found| found.severity > Severity::Note && !matches!(found.code.0, "S0114" | "S0205"))
            .map(|found| found.code.0)
            .collect();
        if codes != left.iter().copied().collect() || same && left.is_empty() {
            failures += &format!("`{program}`, `{help}`, gives\n{mended}{}\n", rendered(&after));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
