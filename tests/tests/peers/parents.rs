//! The typed server of the quickstart, started by programs of other languages: Node, whose pipes to a child are Unix
//! sockets, and Python, whose pipes are pipes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]
#![allow(missing_docs, clippy::print_stderr)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Runs a parent with the server as its child.
fn parent(language: &str, script: &str, options: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
    let mut command = Command::new(language);
    command.arg(script).args(options).arg(integration_tests::example::program("quickstart")).arg("--serve");
    command.output().expect("the parent starts")
}

fn a_session_succeeds(language: &str, script: &str) {
    let arguments = json!({"message": "grüße\nund \"mehr\""});
    let options = ["--tool", "shout", "--arguments", &arguments.to_string()];
    let output = parent(language, script, &options);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let result: Value =
        serde_json::from_slice(&output.stdout).expect("the parent prints the result of the call");
    assert_eq!(result["content"], json!([{"type": "text", "text": "GRÜSSE\nUND \"MEHR\""}]));
    assert!(errors.is_empty(), "neither of the two has anything to complain of: {errors}");
}

/// A large message in each direction, more than a pipe holds.
fn a_large_message_passes(language: &str, script: &str) {
    let message = "0123456789abcdef".repeat(6 * 1024);
    let options = ["--tool", "echo", "--arguments", &json!({"message": message}).to_string()];
    let output = parent(language, script, &options);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value =
        serde_json::from_slice(&output.stdout).expect("the parent prints the result of the call");
    assert!(result["content"][0]["text"] == json!(message), "the message came back changed");
}

/// The parents do judge what they see.
fn a_failure_is_noticed(language: &str, script: &str) {
    let output = parent(language, script, &["--tool", "nothing"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(script), "{errors}");
}

#[test]
#[ignore = "needs Node"]
fn node_starts_the_server() {
    a_session_succeeds("node", "parent.js");
    a_large_message_passes("node", "parent.js");
    a_failure_is_noticed("node", "parent.js");
}

#[test]
#[ignore = "needs Python"]
fn python_starts_the_server() {
    a_session_succeeds("python3", "parent.py");
    a_large_message_passes("python3", "parent.py");
    a_failure_is_noticed("python3", "parent.py");
}
