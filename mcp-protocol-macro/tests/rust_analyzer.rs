//! The macro inside rust-analyzer, which does not tell a macro the file that it is called in.
//!
//! rust-analyzer is a component of the toolchain: `rustup component add rust-analyzer`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

mod support;

use std::process::Command;

use support::{Package, RUNTIME};

#[test]
#[ignore = "needs rust-analyzer"]
fn a_path_next_to_the_source_file_is_found() {
    let package = Package::with_dependencies("in-rust-analyzer");
    let call = |path: &str| format!("mcp_protocol_macro::protocol!(crate::runtime, \"{path}\");\n");
    package.write("src/main.rs", &format!("{RUNTIME}\nmod sibling;\nmod lost;\nfn main() {{}}\n"));
    package.write("src/sibling/mod.rs", &call("./talk.session"));
    package.write("src/sibling/talk.session", "protocol Talk \"1\"\nnotification Hello \"hello\"\n");
    package.write("src/lost/mod.rs", &call("./nowhere.session"));
    let output = Command::new("rust-analyzer")
        .args(["diagnostics", "."])
        .current_dir(package.path("."))
        .env("CARGO_TARGET_DIR", Package::target())
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // With the library's sources the message of the macro is shown, and without them that `compile_error!` is unknown.
    let failed = |file: &str| {
        text.split(['\n', '\r']).any(|line| {
            line.contains(file) && (line.contains("macro-error") || line.contains("compile_error"))
        })
    };
    assert!(failed("lost/mod.rs: Error"), "no finding where the file is missing: {text}");
    assert!(!failed("sibling/mod.rs: Error"), "{text}");
}
