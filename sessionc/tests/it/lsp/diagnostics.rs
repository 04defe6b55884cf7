//! Diagnostics while typing, and the code actions that apply what they suggest.

use lsp_protocols::types::*;

use super::editor::{COUNTER, Editor, edited, edits_of, place, slice};

fn codes(found: &[Diagnostic]) -> Vec<&str> {
    let code = |found: &Diagnostic| match found.code.as_ref().unwrap() {
        NumberOrString::String(code) => code.clone(),
        NumberOrString::Number(code) => panic!("{code}"),
    };
    found.iter().map(code).map(|code| &*code.leak()).collect()
}

#[tokio::test]
async fn a_mistake_is_shown_while_it_is_there() {
    let mut editor = Editor::new("mistake", &[]).await;
    let mut document = editor.open("a.session", COUNTER).await;
    assert_eq!(editor.diagnostics("a.session", Some(1)).await, []);
    let wrong = COUNTER.replace("?Sum", "?Totl");
    editor.change(&mut document, "a.session", 2, &wrong).await;
    let found = editor.diagnostics("a.session", Some(2)).await;
    assert_eq!(codes(&found), ["S0101"]);
    assert_eq!(slice(&wrong, found[0].range), "Totl");
    assert_eq!(found[0].severity, Some(DiagnosticSeverity::ERROR));
    assert!(found[0].message.contains("help: "), "{}", found[0].message);
    editor.change(&mut document, "a.session", 3, COUNTER).await;
    assert_eq!(editor.diagnostics("a.session", Some(3)).await, []);
    editor.close(document, "a.session").await;
    editor.end().await;
}

#[tokio::test]
async fn a_forgotten_import_is_one_diagnostic_and_its_action_imports_the_file() {
    let (messages, rest) = COUNTER.split_once("client ").unwrap();
    let right = format!("import \"messages.session\"\n\nnotification Hi \"hi\"\nclient {rest}");
    let wrong = right.replace("import \"messages.session\"\n\n", "");
    let mut editor =
        Editor::new("forgotten", &[("messages.session", messages), ("shop.session", &wrong)]).await;
    let document = editor.open("shop.session", &wrong).await;
    let found = editor.diagnostics("shop.session", Some(1)).await;
    let missing: Vec<_> =
        found.iter().filter(|found| found.severity == Some(DiagnosticSeverity::ERROR)).collect();
    let [missing] = missing.as_slice() else { panic!("{found:?}") };
    let params = CodeActionParams {
        text_document: TextDocumentIdentifier::new(editor.uri("shop.session")),
        range: missing.range,
        context: CodeActionContext { diagnostics: vec![(*missing).clone()], ..Default::default() },
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    };
    let actions = document.code_action(params).await.unwrap().unwrap();
    let [CodeActionOrCommand::CodeAction(action)] = actions.as_slice() else { panic!("{actions:?}") };
    assert!(action.title.starts_with("write `import \"messages.session\"`"), "{}", action.title);
    let edits = edits_of(action.edit.as_ref().unwrap(), &editor.uri("shop.session"));
    assert_eq!(edited(&wrong, &edits), right);
    editor.close(document, "shop.session").await;
    editor.end().await;
}

#[tokio::test]
async fn a_code_action_does_what_a_diagnostic_suggests() {
    let mut editor = Editor::new("action", &[]).await;
    let wrong = COUNTER.replace("?Sum", "?Total");
    let document = editor.open("a.session", &wrong).await;
    let found = editor.diagnostics("a.session", Some(1)).await;
    assert_eq!(codes(&found), ["S0303"]);
    let params = CodeActionParams {
        text_document: TextDocumentIdentifier::new(editor.uri("a.session")),
        range: found[0].range,
        context: CodeActionContext { diagnostics: found.clone(), ..Default::default() },
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    };
    let actions = document.code_action(params.clone()).await.unwrap().unwrap();
    let [CodeActionOrCommand::CodeAction(action)] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(action.title, "write `?Sum`, the reply, in place of `?Total`");
    assert_eq!(action.diagnostics.as_ref(), Some(&found));
    let edits = edits_of(action.edit.as_ref().unwrap(), &editor.uri("a.session"));
    assert_eq!(edited(&wrong, &edits), COUNTER);
    // Elsewhere there is nothing to do, and an editor that wants something else gets nothing.
    let elsewhere = CodeActionParams { range: Range::default(), ..params.clone() };
    assert_eq!(document.code_action(elsewhere).await.unwrap(), Some(vec![]));
    let other = CodeActionParams {
        context: CodeActionContext { only: Some(vec![CodeActionKind::REFACTOR]), ..params.context.clone() },
        ..params
    };
    assert_eq!(document.code_action(other).await.unwrap(), None);
    drop(document);
    editor.end().await;
}

const BASE: &str =
    "notification Add \"add\" (_)\nnotification Stop \"stop\"\nAdding = !Add . Adding ⊕ !Stop . End\n";
const MAIN: &str = "import \"base.session\"\nclient Teller\nserver Till = dual Teller\nTeller = Adding\n";

/// The open document goes ahead of the file, and a file that is not open is read from disk.
#[tokio::test]
async fn an_open_import_goes_ahead_of_the_file() {
    let mut editor = Editor::new("imports", &[("base.session", BASE), ("main.session", MAIN)]).await;
    let main = editor.open("main.session", MAIN).await;
    assert_eq!(editor.diagnostics("main.session", Some(1)).await, []);
    let renamed = BASE.replace("Adding", "Counting");
    let base = editor.open("base.session", &renamed).await;
    let found = editor.diagnostics("main.session", Some(1)).await;
    assert_eq!(codes(&found), ["S0103"]);
    editor.close(base, "base.session").await;
    assert_eq!(editor.diagnostics("main.session", Some(1)).await, []);
    drop(main);
    editor.end().await;
}

/// A part of a protocol is judged with the protocol that imports it: alone it would lack what stands there.
#[tokio::test]
async fn a_part_is_judged_in_the_protocol_that_imports_it() {
    let part = "Adding = !Add . Adding ⊕ !Stop . End\n";
    let main = "notification Add \"add\" (_)\nnotification Stop \"stop\"\n".to_owned()
        + &MAIN.replace("base.session", "parts/part.session");
    let files = [("parts/part.session", part), ("main.session", main.as_str())];
    let mut editor = Editor::new("part", &files).await;
    let mut document = editor.open("parts/part.session", part).await;
    assert_eq!(editor.diagnostics("parts/part.session", Some(1)).await, []);
    let wrong = part.replace("!Stop", "!Stpo");
    editor.change(&mut document, "parts/part.session", 2, &wrong).await;
    let found = editor.diagnostics("parts/part.session", Some(2)).await;
    assert_eq!(codes(&found)[0], "S0101");
    assert_eq!(found[0].range.start, place(&wrong, "Stpo"));
    editor.close(document, "parts/part.session").await;
    editor.end().await;
}

/// Whatever is typed, the server goes on: every beginning of a text, one after another, and a text with anything in it.
#[tokio::test]
async fn every_beginning_of_a_text_is_answered() {
    let mut editor = Editor::new("typing", &[]).await;
    let mut document = editor.open("a.session", "").await;
    let mut version = 1;
    let ends = COUNTER.char_indices().map(|(end, _)| end).step_by(7);
    let mut texts: Vec<String> = ends.map(|end| COUNTER[..end].to_owned()).collect();
    texts.push("\u{feff}\r\nrec α . \u{0}(((\r!😀 \"".to_owned());
    for text in texts {
        version += 1;
        editor.change(&mut document, "a.session", version, &text).await;
        let at = editor.at("a.session", super::editor::position(&text, text.len()));
        let params = CompletionParams {
            text_document_position: at,
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
            context: None,
        };
        assert!(document.completion(params).await.unwrap().is_some());
    }
    editor.change(&mut document, "a.session", version + 1, COUNTER).await;
    assert_eq!(editor.diagnostics("a.session", Some(version + 1)).await, []);
    drop(document);
    editor.end().await;
}
