//! What rustc says about mistakes in a server from types: each names the type and the place.
//!
//! Each file of `fail` stands next to a snapshot of rustc's output: `INSTA_UPDATE=always cargo test -p ui-kit-tests`
//! updates that.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;

use rustc::{Dependencies, Rustc};

#[path = "../../../ui/tests/ui/normal.rs"]
mod normal;
#[path = "../../../ui/tests/ui/rustc.rs"]
mod rustc;

/// The crates that a program may use.
const CRATES: [&str; 5] = ["mcp_kit", "mcp_protocols", "schemars", "serde", "serde_json"];

/// What each program's errors say first.
const SAID: [(&str, &str); 11] = [
    ("ask_without_needs", "error[E0277]: `Needs` of the tool does not have `mcp_kit::User`"),
    ("call_before_connecting", "error[E0599]: no method named `call_text` found for struct `ConnectOptions`"),
    ("guard_over_an_await", "error: future cannot be sent between threads safely"),
    ("needs_out_of_order", "error[E0277]: a tool cannot need `(Model, mcp_kit::User)`"),
    ("no_deserialize", "error[E0277]: the trait bound `Add: serde::Deserialize<'de>` is not satisfied"),
    ("no_json_schema", "error[E0277]: the trait bound `Add: schemars::JsonSchema` is not satisfied"),
    ("no_output", "error[E0277]: a tool cannot return `i64`"),
    ("not_registered", "error[E0277]: `Add` is not a tool of a server with the state `()`"),
    ("other_state", "error[E0277]: `Add` is not a tool of a server with the state `Notes`"),
    ("use_after_close", "error[E0382]: borrow of moved value: `notes`"),
    (
        "wrong_return_type",
        "error[E0271]: expected `impl Future<Output = Result<i64, Box<dyn Error + Send + Sync>>>`",
    ),
];

#[test]
fn what_must_not_compile() {
    let dependencies = Dependencies::of_the_workspace(&CRATES);
    let rustc = Rustc::installed("tests/ui_kit/fail");
    let recorded = rustc.version().starts_with("rustc 1.95.");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../fail");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let programs: Vec<PathBuf> = SAID.iter().map(|(name, _)| format!("fail/{name}.rs").into()).collect();
    for ((name, first), said) in SAID.iter().zip(rustc.errors(&programs, &dependencies)) {
        // Another compiler may put it differently.
        let code = first.split(']').next().unwrap();
        assert!(said.starts_with(code), "{name}: {said}");
        if recorded {
            assert!(said.contains(first), "{name}: {said}");
            settings.bind(|| insta::assert_snapshot!(*name, said));
        }
    }
    let files = fs::read_dir("fail").unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    assert_eq!(files.count(), SAID.len());
}
