//! The session: what follows on disk, what crosses while typing, and how the server exits.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use lsp_protocols::types::*;

use super::editor::{COUNTER, Editor, place};

/// A file that is not open changes on disk, and the editor says so.
#[tokio::test]
async fn a_file_that_changes_on_disk_is_read_again() {
    let base = "notification Add \"add\" (_)\nAdding = !Add . End\n";
    let main = "import \"base.session\"\nclient One\nserver Till = dual One\nOne = Adding\n";
    let mut editor = Editor::new("disk", &[("base.session", base), ("main.session", main)]).await;
    let document = editor.open("main.session", main).await;
    assert_eq!(editor.diagnostics("main.session", Some(1)).await, []);
    fs::write(editor.path("base.session"), base.replace("Adding", "Counting")).unwrap();
    let changes = vec![FileEvent::new(editor.uri("base.session"), FileChangeType::CHANGED)];
    let changed = DidChangeWatchedFilesParams { changes };
    editor.client.send_did_change_watched_files(changed).await.unwrap();
    assert_eq!(editor.diagnostics("main.session", Some(1)).await.len(), 1);
    // What was found in a document is gone when it is closed.
    editor.close(document, "main.session").await;
    assert_eq!(editor.diagnostics("main.session", None).await, []);
    editor.end().await;
}

/// Two hundred changes, each with a question right behind it: every answer is from the text of that change, and the last
/// diagnostics are those of the last text.
#[tokio::test]
async fn an_answer_is_from_the_text_before_the_question() {
    let mut editor = Editor::new("order", &[]).await;
    let mut document = editor.open("a.session", COUNTER).await;
    for version in 2..200 {
        let text = "\n".repeat(version as usize) + COUNTER;
        editor.change(&mut document, "a.session", version, &text).await;
        let params = GotoDefinitionParams {
            text_document_position_params: editor.at("a.session", place(&text, "Ready")),
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
        };
        match document.definition(params).await.unwrap().unwrap() {
            GotoDefinitionResponse::Array(found) => {
                assert_eq!(found[0].range.start, place(&text, "Ready = "));
            }
            other => panic!("{other:?}"),
        }
    }
    editor.change(&mut document, "a.session", 200, "client").await;
    assert!(!editor.diagnostics("a.session", Some(200)).await.is_empty());
    drop(document);
    editor.end().await;
}

/// A document that is closed and opened again at once has the text of its last opening.
#[tokio::test]
async fn a_document_may_be_opened_again_at_once() {
    let editor = Editor::new("again", &[]).await;
    for count in 1..50 {
        let text = "\n".repeat(count) + COUNTER;
        let mut document = editor.open("a.session", &text).await;
        editor.change(&mut document, "a.session", 2, "client").await;
        editor.close(document, "a.session").await;
        let document = editor.open("a.session", &text).await;
        let params = GotoDefinitionParams {
            text_document_position_params: editor.at("a.session", place(&text, "Ready")),
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
        };
        assert!(document.definition(params).await.unwrap().is_some());
        editor.close(document, "a.session").await;
    }
    editor.end().await;
}

/// A pipe that has no writer is an import that cannot be read, and the server does not wait for it.
#[tokio::test]
#[cfg(unix)]
async fn what_is_not_a_file_is_not_opened() {
    let main = "import \"pipe.session\"\nimport \".\"\nimport \"/dev/zero\"\nclient One\nOne = !M . End\n";
    let mut editor = Editor::new("pipe", &[]).await;
    assert!(Command::new("mkfifo").arg(editor.path("pipe.session")).status().unwrap().success());
    let document = editor.open("main.session", main).await;
    let found = editor.diagnostics("main.session", Some(1)).await;
    let unreadable = found.iter().filter(|found| found.message.contains("it is not a file"));
    assert_eq!(unreadable.count(), 3, "{found:?}");
    drop(document);
    editor.end().await;
}

/// Runs the server with these messages, and returns its exit code and what it wrote on its two streams.
fn run(messages: &[&str]) -> (i32, String, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_sessionc"))
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    for message in messages {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }
    drop(input);
    let (mut out, mut err) = (String::new(), String::new());
    server.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    server.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (server.wait().unwrap().code().unwrap(), out, err)
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

#[test]
fn what_the_editor_says_and_cannot_be_read_is_shown_in_its_log() {
    let open = r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"untitled:a b","languageId":"session","version":1,"text":""}}}"#;
    let close = r#"{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"untitled:a b"}}}"#;
    let (code, _, err) = run(&[INITIALIZE, INITIALIZED, open, close, SHUTDOWN, EXIT]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert!(
        lines.len() == 1
            && lines[0].starts_with("sessionc: the payload of `DidOpen` does not have its type: "),
        "{err}"
    );
}

#[test]
fn the_exit_code_says_how_the_session_ended() {
    let (code, out, err) = run(&[INITIALIZE, INITIALIZED, SHUTDOWN, EXIT]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("Content-Length: ").count(), 2, "{out}");
    assert_eq!(run(&[EXIT]).0, 1);
    assert_eq!(run(&[INITIALIZE, INITIALIZED, EXIT]).0, 1);
    let (code, _, err) = run(&[INITIALIZE, INITIALIZED]);
    assert_eq!(code, 2);
    assert_eq!(err, "sessionc: the session with the editor has ended: the peer closed the connection\n");
}
