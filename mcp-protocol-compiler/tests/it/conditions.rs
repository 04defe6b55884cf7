//! What can be wrong with messages and replies that conditions tell apart.

// The functions that tests share are tests, too.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use mcp_protocol_compiler::checks::unused::UNUSED_MESSAGE;
use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};

fn findings(text: &str) -> String {
    let mut compilation = compile(Path::new("small.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    // Several small types share their declarations.
    compilation.diagnostics.retain(|finding| finding.code != UNUSED_MESSAGE);
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

/// A client with these messages and this session type, and a server that does the same from its side.
fn with(messages: &str, body: &str) -> String {
    findings(&format!("types wire\n{messages}\nclient C\nserver S = dual C\nC = {body}\n"))
}

const CALL: &str = "request Call \"call\" (P) -> Done (R) | Task (T) if task | Form (F) if mode = \"form\"";

#[test]
fn what_is_right() {
    for body in [
        "*( !Call . ?reply . End )",
        "*( ?Call . !reply . End )",
        "rec x . !Call . ( ?Done . x & ?Task . End & ?Form . x )",
        // Alternatives may be accepted one after the other.
        "!Call . ( ?Done . End & ?Note . rec y . ( ?Task . End & ?Form . End & ?CallError . End & ?Note . y ) )",
        "*( !G . ?replies . End )",
    ] {
        let messages =
            format!("{CALL}\nnotification Note \"note\"\ngroup G = Call\ngroup replies_ = replies G\n");
        assert_eq!(with(&messages, &body.replace("?replies", "?replies_")), "", "{body}");
    }
    let gates = "request A \"a\" if x.\"y/z\" = \"b\" (P) -> R requires peer.a if x requires own.b\n\
                 request B \"a\" (P) -> Q\nrequest Hello \"hello\" (P) -> Welcome (P)\n\
                 capabilities client = Hello.c\ncapabilities server = Welcome.c";
    assert_eq!(with(gates, "!Hello . ?Welcome . *( !A . ?reply . End ⊕ !B . ?reply . End )"), "");
}

#[test]
fn replies_that_nothing_tells_apart() {
    insta::assert_snapshot!(with(
        "request Call \"call\" -> Done (R) | Task (T)",
        "*( !Call . ?reply . End )"
    ));
}

#[test]
fn replies_with_one_condition() {
    insta::assert_snapshot!(with(
        "request Call \"call\" -> Done (R) if task | Task (T) if task",
        "*( !Call . ?reply . End )"
    ));
}

#[test]
fn a_reply_that_another_one_covers() {
    insta::assert_snapshot!(with(
        "request Call \"call\" -> Done (R) | Any (T) if task | Certain (T) if task = \"certain\"",
        "*( !Call . ?reply . End )"
    ));
}

#[test]
fn values_of_all_kinds_tell_replies_apart() {
    let body = "*( !Call . ?reply . End )";
    for replies in [
        "Done ({ ok: true }) if ok = true | Failed ({ ok: false, why: string }) if ok = false",
        // What is `false` is not among what is there.
        "Done ({ ok: bool }) if ok | Failed ({ ok: bool, why: string }) if ok = false",
        "Known (true) if _ | Unknown (false) if _ = false",
        "Found ({ place: string }) if _ | Nothing (null)",
        "One ({ kind: int }) if kind = 1 | Less ({ kind: int }) if kind = -1 | Text (_) if kind = \"1\" | Any (_)",
    ] {
        assert_eq!(with(&format!("request Call \"call\" -> {replies}"), body), "", "{replies}");
    }
    insta::assert_snapshot!(with(
        "request Call \"call\" -> Any (T) if ok | Yes (T) if ok = true | One (T) if ok = 1",
        body
    ));
    let twice = "request Call \"call\" -> Any (T) if ok | No (T) if ok = false | Never (T) if ok = false";
    let found = with(twice, body);
    assert!(found.contains("the replies `No` and `Never` cannot be told apart"), "{found}");
}

#[test]
fn requests_that_nothing_tells_apart() {
    let body = "*( !A . ?reply . End ⊕ !B . ?reply . End )";
    insta::assert_snapshot!(
        "requests_without_a_condition",
        with("request A \"a\" (P) -> R\nrequest B \"a\" (P) -> Q", body)
    );
    insta::assert_snapshot!(
        "requests_with_one_condition",
        with("request A \"a\" if x (P) -> R\nrequest B \"a\" if x (P) -> Q", body)
    );
}

#[test]
fn a_condition_on_nothing() {
    insta::assert_snapshot!(with("notification A \"a\" if x\nnotification B \"a\"", "!A . !B . End"));
}

#[test]
fn answered_without_a_reply_for_it() {
    insta::assert_snapshot!(with(
        "request Ping \"ping\" -> Pong (_) if pong | Pang (_) if pang answered",
        "*( !Ping . ?reply . End )"
    ));
}

#[test]
fn a_reply_that_may_come_is_not_accepted() {
    // One mistake is one finding, though both roles have it.
    insta::assert_snapshot!(with(CALL, "*( !Call . ?Done . End )"));
}

#[test]
fn two_replies_that_may_come_are_not_accepted() {
    insta::assert_snapshot!(with(
        CALL,
        "rec on . ( !Call . ( ?Done . on & ?Task . on ) ⊕ !Stop . !Call . ?reply . End )\nnotification Stop \"stop\""
    ));
}
