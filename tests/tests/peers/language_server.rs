//! The example `todos`, a language server, with an editor that uses the library of VS Code: `tests/peers/editor.mjs`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn an_editor_with_the_library_of_vs_code() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/editor.mjs");
    let mut command = Command::new("node");
    let output = command.arg(script).arg(integration_tests::example::program("todos")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["capabilities"], json!({"textDocumentSync": 1, "hoverProvider": true}));
    // Each edit is followed by two questions, which are answered from it.
    let expected: Vec<String> = (1..=50).map(|version| format!("`text{version}` occurs 1 times")).collect();
    let hovers: Vec<&str> =
        seen["hovers"].as_array().unwrap().iter().map(|hover| hover.as_str().unwrap()).collect();
    assert_eq!(hovers.chunks(2).map(|pair| pair[0]).collect::<Vec<_>>(), expected);
    assert_eq!(hovers.chunks(2).map(|pair| pair[1]).collect::<Vec<_>>(), expected);
    let diagnostics = seen["diagnostics"].as_array().unwrap();
    let found: Vec<usize> =
        diagnostics.iter().map(|shown| shown["diagnostics"].as_array().unwrap().len()).collect();
    // As the document is opened, after each edit, and none any more as it is closed.
    assert_eq!(found, [vec![1], vec![2; 50], vec![0]].concat());
    assert!(
        seen["cancelled"] == "`text50` occurs 1 times" || seen["cancelled"] == -32800,
        "{}",
        seen["cancelled"]
    );
    // Method not found: no handler, a capability that was not announced, a method that the protocol does not have.
    let expected = json!({"closed": -32601, "notOffered": -32601, "unknown": -32601});
    assert_eq!(seen["errors"], expected);
    assert_eq!(seen["exit"], 0);
}
