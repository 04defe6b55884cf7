//! The server with the library of VS Code, which is not ours. The test needs `npm ci` in `tests/peers`.

use std::fs;
use std::path::Path;
use std::process::Command;

const MESSAGES: &str = "\
protocol Counting \"1\"

type Amount = { amount: uint }

--- Adds an amount.
notification Add \"counter/add\" (Amount)

--- Asks for the sum.
request Total \"counter/total\" -> Sum (Amount)
";

/// Every answer that the editor gets, from a text with a mistake to one that is mended, renamed and formatted.
#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn an_editor_that_is_not_ours_gets_every_answer() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp/peer");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("messages.session"), MESSAGES).unwrap();
    let output = Command::new("node")
        .arg(peers.join("session_editor.mjs"))
        .args([&folder, Path::new(env!("CARGO_BIN_EXE_sessionc")), Path::new("lsp")])
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    insta::assert_snapshot!("peer", answers.replace(version, "\"version\": \"…\""));
}

/// The client of the VS Code extension can be read by Node.
#[test]
#[ignore = "needs Node"]
fn the_client_of_the_extension_is_javascript() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode/client");
    for file in fs::read_dir(folder).unwrap() {
        let output = Command::new("node").arg("--check").arg(file.unwrap().path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The engine of VS Code colours a text with every kind of word.
#[test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
fn the_grammar_colours_a_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new("node")
        .arg(root.join("tests/peers/grammar.mjs"))
        .arg(root.join("editors/vscode/syntaxes/session.tmLanguage.json"))
        .arg(root.join("sessionc/tests/it/lsp/coloured.session"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!("coloured", String::from_utf8(output.stdout).unwrap());
}

/// The panel of the extension asks again when the text has changed, and keeps its picture while the text has errors.
#[test]
#[ignore = "needs Node"]
fn the_panel_follows_the_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new("node")
        .arg(root.join("tests/peers/diagrams.cjs"))
        .arg(fs::canonicalize(root.join("editors/vscode/client/diagrams.js")).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!("panel", String::from_utf8(output.stdout).unwrap());
}
