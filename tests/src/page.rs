//! Code of a page that a test runs.

#![allow(clippy::panic, reason = "tests say what they expect by panicking")]

/// Asserts that a page shows the function of some code that begins with this text, up to its last brace.
///
/// # Panics
/// If it does not, or if the code has no such function.
pub fn shows(page: &str, code: &str, start: &str) {
    let function = code.split_once(start).and_then(|(_, rest)| rest.split_once("\n}\n"));
    let Some((body, _)) = function else { panic!("the code has no `{start}`") };
    assert!(page.contains(&format!("{start}{body}\n}}")), "the page does not have `{start}`");
}
