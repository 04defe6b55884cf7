//! What is generated for small protocols, read as a reviewer would read it.

use std::path::Path;

use mcp_protocol_compiler::{Compilation, compile, generate};

/// Compiles one file and expects no errors.
fn compiled(text: &str) -> Compilation {
    let compilation = compile(Path::new("small.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    assert!(compilation.protocol.is_some(), "{:#?}", compilation.diagnostics);
    compilation
}

fn expanded(text: &str) -> String {
    let compilation = compiled(text);
    let protocol = compilation.protocol.as_ref().unwrap();
    assert_eq!(generate::check(protocol), []);
    generate::expand(protocol, &compilation.sources).unwrap()
}

/// Every kind of linear step: combined forms, choices, refusals, closing.
const LINEAR: &str = include_str!("generate/linear.session");

/// Replicated channels, notifications, progress, gates, cancelling, two linear channels.
const REPLICATED: &str = include_str!("generate/replicated.session");

#[test]
fn linear() {
    insta::assert_snapshot!(expanded(LINEAR));
}

#[test]
fn replicated() {
    insta::assert_snapshot!(expanded(REPLICATED));
}
