//! Rename, formatting, completion, and the diagram.

use lsp_protocols::lsp_3_17::Open;
use lsp_protocols::lsp_3_17::client::Document;
use lsp_protocols::types::*;
use mcp_runtime::Error;
use serde_json::{Value, json};

use super::editor::{COUNTER, Editor, edited, edits_of, place, position, slice};

async fn renamed(
    editor: &Editor,
    document: &Document<Open>,
    name: &str,
    at: Position,
    new_name: &str,
) -> Result<WorkspaceEdit, String> {
    let params = RenameParams {
        text_document_position: editor.at(name, at),
        new_name: new_name.to_owned(),
        work_done_progress_params: Default::default(),
    };
    match document.rename(params).await {
        Ok(edit) => Ok(edit.unwrap()),
        Err(Error::Refused(error)) => Err(error.message),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn every_place_of_a_name_gets_the_new_one() {
    let editor = Editor::new("rename", &[]).await;
    let text = COUNTER.replace("?Sum . α", "(?Sum . α & ?TotalError . α)");
    let document = editor.open("a.session", &text).await;
    for (part, inside, new, is_changed) in [
        ("rec α", 4, "on", ["rec on .", "!Add . on", "?Sum . on"]),
        ("!Add", 1, "Plus", ["notification Plus \"add\"", "Plus | Stop", "!Plus ."]),
        ("Total", 0, "Whole", ["request Whole \"total\"", "!Whole", "?WholeError"]),
        ("Teller", 0, "Clerk", ["client Clerk\n", "dual Clerk\n", "Clerk = Ready"]),
        ("Amount", 0, "Δ", ["type Δ =", "last?: Δ }", "\"add\" (Δ)"]),
    ] {
        let at = position(&text, text.find(part).unwrap() + inside);
        let edit = renamed(&editor, &document, "a.session", at, new).await.unwrap();
        let after = edited(&text, &edits_of(&edit, &editor.uri("a.session")));
        assert!(is_changed.iter().all(|part| after.contains(part)), "{after}");
    }
    let text = COUNTER.replace("(Amount)", "([first: Amount, last?: Count | Amount, ...others: Amount])");
    drop(document);
    let document = editor.open("tuple.session", &text).await;
    let at = position(&text, text.find("first: Amount").unwrap() + "first: ".len());
    let edit = renamed(&editor, &document, "tuple.session", at, "Much").await.unwrap();
    let after = edited(&text, &edits_of(&edit, &editor.uri("tuple.session")));
    assert!(
        after.contains("([first: Much, last?: Count | Much, ...others: Much])")
            && after.contains("type Much ="),
        "{after}"
    );
    drop(document);
    editor.end().await;
}

#[tokio::test]
async fn what_cannot_be_renamed_says_why() {
    let editor = Editor::new("refused", &[]).await;
    let text = COUNTER.replace("Teller = Ready", "Teller = Ready\nUnused = rec β . !Add . β");
    let document = editor.open("a.session", &text).await;
    let total = place(&text, "Total");
    for (at, new, expected) in [
        (
            total,
            "two words",
            "`two words` is not a name: write letters, digits and `_`, and do not begin with a digit",
        ),
        (total, "", "`` is not a name: write letters, digits and `_`, and do not begin with a digit"),
        (total, "rec", "`rec` is a word of the language: choose another name"),
        (total, "Sum", "`Sum` clashes with the reply `Sum` in line 8 of `a.session`: choose another name"),
        (
            total,
            "Change",
            "`Change` clashes with the group `Change` in line 12 of `a.session`: choose another name",
        ),
        (
            place(&text, "Add"),
            "TotalError",
            "`TotalError` clashes with the request `Total` in line 8 of `a.session`: choose another name",
        ),
        (
            place(&text, "α"),
            "Ready",
            "`Ready` clashes with the session type `Ready` in line 21 of `a.session`: choose another name",
        ),
        (
            place(&text, "Unused"),
            "α",
            "`α` clashes with the loop `α` in line 21 of `a.session`: choose another name",
        ),
        (
            place(&text, "rec"),
            "x",
            "`rec` is a word of the language: place the cursor on a name to rename it",
        ),
        (
            place(&text, "\"total\""),
            "x",
            "this is not a name: place the cursor on the name of a message, type, role, session type or loop",
        ),
    ] {
        assert_eq!(renamed(&editor, &document, "a.session", at, new).await, Err(expected.to_owned()));
    }
    // Two loops side by side may have one name, and so may a message and a session type.
    for (part, new) in [("β", "α"), ("Unused", "Add")] {
        assert!(renamed(&editor, &document, "a.session", place(&text, part), new).await.is_ok(), "{part}");
    }
    let prepared = document.prepare_rename(editor.at("a.session", total)).await.unwrap().unwrap();
    match prepared {
        PrepareRenameResponse::RangeWithPlaceholder { range, placeholder } => {
            assert_eq!((slice(&text, range), placeholder.as_str()), ("Total", "Total"));
        }
        other => panic!("{other:?}"),
    }
    assert!(document.prepare_rename(editor.at("a.session", place(&text, "End"))).await.is_err());
    drop(document);
    editor.end().await;
}

/// A name that the language has no objection to, and Rust has.
#[tokio::test]
async fn a_name_that_leads_to_an_error_is_refused() {
    let editor = Editor::new("rust", &[]).await;
    let document = editor.open("a.session", COUNTER).await;
    let at = place(COUNTER, "Ready");
    let error = renamed(&editor, &document, "a.session", at, "Self").await.unwrap_err();
    assert!(error.starts_with("`Ready` cannot be called `Self`: "), "{error}");
    drop(document);
    editor.end().await;
}

/// The versions of open documents are in the edit, so that the editor refuses it if a text has changed meanwhile.
#[tokio::test]
async fn a_rename_goes_through_all_files() {
    let shared = "notification Add \"add\" (_)\nAdding = !Add . End\n";
    let main = "import \"shared.session\"\nclient One\nserver Till = dual One\nOne = Adding\n";
    let workspace_edit =
        WorkspaceEditClientCapabilities { document_changes: Some(true), ..Default::default() };
    let workspace = WorkspaceClientCapabilities {
        workspace_edit: Some(workspace_edit),
        ..WorkspaceClientCapabilities::default()
    };
    let capabilities = ClientCapabilities { workspace: Some(workspace), ..ClientCapabilities::default() };
    let editor =
        Editor::with("files", &[("shared.session", shared), ("main.session", main)], capabilities).await;
    let document = editor.open("main.session", main).await;
    let edit = renamed(&editor, &document, "main.session", place(main, "Adding"), "Counting").await.unwrap();
    let Some(DocumentChanges::Edits(documents)) = edit.document_changes else { panic!("{edit:?}") };
    let seen: Vec<_> = documents
        .iter()
        .map(|document| (&document.text_document.uri, document.text_document.version, document.edits.len()))
        .collect();
    assert_eq!(seen, [(&editor.uri("main.session"), Some(1), 1), (&editor.uri("shared.session"), None, 1)]);
    drop(document);
    editor.end().await;
}

#[tokio::test]
async fn formatting_changes_the_lines_that_need_it() {
    let editor = Editor::new("format", &[]).await;
    let text = COUNTER.replace("client Teller\n", "client   Teller\n").replace('\n', "\r\n");
    let mut document = editor.open("a.session", &text).await;
    let params = DocumentFormattingParams {
        text_document: TextDocumentIdentifier::new(editor.uri("a.session")),
        options: FormattingOptions::default(),
        work_done_progress_params: Default::default(),
    };
    let edits = document.formatting(params.clone()).await.unwrap().unwrap();
    let lines: Vec<_> = edits.iter().map(|edit| edit.range.start.line).collect();
    let normal = text.replace("\r\n", "\n");
    let expected =
        mcp_protocol_compiler::format(std::path::Path::new("a"), normal.clone().into()).text.unwrap();
    assert_eq!(edited(&normal, &edits), expected);
    assert!(lines.contains(&13) && !lines.contains(&0), "{lines:?}");
    editor.change(&mut document, "a.session", 2, &expected).await;
    assert_eq!(document.formatting(params.clone()).await.unwrap(), Some(vec![]));
    // What cannot be read would be lost.
    editor.change(&mut document, "a.session", 3, "client Teller (").await;
    assert_eq!(document.formatting(params).await.unwrap(), None);
    drop(document);
    editor.end().await;
}

/// What is proposed at the last `|` in a text that goes on behind [`COUNTER`]'s declarations.
async fn proposed(editor: &Editor, number: usize, typed: &str) -> Vec<String> {
    let declarations = &COUNTER[..COUNTER.find("Teller = Ready").unwrap()];
    let (before, after) = typed.rsplit_once('|').unwrap();
    let text = format!("{declarations}{before}{after}");
    let name = format!("{number}.session");
    let document = editor.open(&name, &text).await;
    let params = CompletionParams {
        text_document_position: editor.at(&name, position(&text, declarations.len() + before.len())),
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
        context: None,
    };
    match document.completion(params).await.unwrap().unwrap() {
        CompletionResponse::Array(items) => {
            let typed = before.rsplit(|sign: char| !sign.is_alphanumeric()).next().unwrap();
            for item in &items {
                let Some(CompletionTextEdit::Edit(edit)) = &item.text_edit else { panic!("{item:?}") };
                assert_eq!(slice(&text, edit.range), typed);
            }
            items.into_iter().map(|item| item.label).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_fits_is_proposed() {
    let editor = Editor::new("completion", &[]).await;
    let items = [
        "protocol",
        "type",
        "types",
        "import",
        "request",
        "notification",
        "capabilities",
        "version",
        "group",
        "key",
        "client",
        "server",
        "override",
    ];
    let messages = ["Total", "Sum", "Add", "Stop", "Change"];
    let built_in = ["string", "int", "uint", "number", "bool", "null", "any", "object", "true", "false"];
    fn with(names: &[&'static str], words: &[&'static str]) -> Vec<&'static str> {
        [names, words].concat()
    }
    let cases: Vec<(&str, Vec<&str>)> = vec![
        ("|", items.to_vec()),
        ("noti|", items.to_vec()),
        ("Teller = !|", with(&messages, &["reply"])),
        ("Teller = !To|", with(&messages, &["reply"])),
        ("Teller = ?To| . End", with(&messages, &["reply"])),
        ("Teller = !Add . |", with(&["Teller", "Counter"], &["End", "rec", "dual"])),
        ("Teller = rec α . (!Add . |", with(&["Teller", "Counter", "α"], &["End", "rec", "dual"])),
        ("Teller = dual |", vec!["Teller", "Counter"]),
        ("Teller = ( !Add . End |", vec![]),
        ("Teller = ( !Add . (!Stop . End) |", vec![]),
        ("Teller = ( !Add . End ) |", items.to_vec()),
        // Both roles are there already.
        ("Ready = End\nserver |", vec!["Ready"]),
        ("Teller = !Add . rec |", vec![]),
        ("type New = { field: |", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [A|", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = { |", vec![]),
        ("type New = [string, A|", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [string, { a: int }, |", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [string, (|", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [a: string, b?: |", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [a: string, |", vec![]),
        ("type New = [string, ...|", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [string, ...A|", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = [a: string, ...|", vec![]),
        ("type New = [a: string, ...b: |", with(&["Amount", "Count", "New"], &built_in)),
        ("type New = { a: [string, int], |", vec![]),
        ("type New = [string |", vec![]),
        ("type New = [string] |", items.to_vec()),
        ("notification New \"new\" (|", with(&["Amount", "Count"], &["null"])),
        ("notification New \"new\" ({ field: |", with(&["Amount", "Count", "NewParams"], &built_in)),
        ("notification New \"new\" ({ field: [A|", with(&["Amount", "Count", "NewParams"], &built_in)),
        (
            "request New \"new\" ({ a: int }) -> Newer ({ a: int, b: map |",
            with(&["Amount", "Count", "NewParams", "NewerResult"], &built_in),
        ),
        (
            "request Pay \"pay\" ({ a: int }) -> Paid ({ b: int })\nnotification New \"new\" (|",
            with(&["Amount", "Count", "PayParams", "PaidResult"], &["null"]),
        ),
        (
            "request Pay \"pay\" ({ a: int }) -> Paid\ntype New = [|",
            with(&["Amount", "Count", "New", "PayParams"], &built_in),
        ),
        ("notification New \"new\" ({ |", vec![]),
        ("notification New \"new\" ({ field: int |", vec![]),
        ("notification New \"new\" ([string, A|", with(&["Amount", "Count"], &built_in)),
        ("notification New \"new\" ([at: string, |", vec![]),
        (
            "notification New \"new\" during |",
            with(&["Total", "Sum", "Add", "Stop", "New", "Change"], &["replies"]),
        ),
        ("group New = |", with(&messages, &["replies"])),
        ("group New = replies |", vec!["Total", "Change"]),
        ("key run = |", with(&messages[..4], &["id of", "open"])),
        ("open key run = |", with(&messages[..4], &["id of", "open"])),
        ("key run = Sum.run | open |", with(&messages[..4], &["id of"])),
        ("open key run = id of |", vec!["Total", "Change"]),
        ("key run = Sum.run | id of |", vec!["Total", "Change"]),
        ("key run = Sum.run | runId of |", vec!["Total", "Add", "Stop", "Change"]),
        ("key run = \"run-id\" of A|", vec!["Total", "Add", "Stop", "Change"]),
        ("key run = runId of |\nTeller = !Stop . End", vec!["Total", "Add", "Stop", "Change"]),
        ("version = |", with(&messages, &["each request"])),
        ("version = Total.v |", items.to_vec()),
        ("version = each request._meta.\"a/b\" |", with(&["with error"], &items)),
        ("version = each request.|", vec![]),
        ("capabilities client = |", with(&messages, &["each request"])),
        ("capabilities client = each request.can |", with(&["default", "with error"], &items)),
        ("capabilities client = Add.can |", with(&["open until announced", "default"], &items)),
        ("-- a comm|", vec![]),
        ("--- docu|", vec![]),
        ("notification New \"ne|", vec![]),
    ];
    for (number, (typed, mut expected)) in cases.into_iter().enumerate() {
        let mut found = proposed(&editor, number, typed).await;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{typed}");
    }
    let modifiers = proposed(&editor, 100, "notification New \"new\" (Amount) |").await;
    assert!(modifiers.contains(&"requires".to_owned()) && modifiers.contains(&"notification".to_owned()));
    editor.end().await;
}

/// Behind `client` and `server` the definitions are proposed that are not a role, and the dual of the other role.
#[tokio::test]
async fn the_name_of_a_role_is_proposed() {
    let editor = Editor::new("roles", &[]).await;
    for (number, (text, expected)) in [
        (
            "notification Add \"add\"\nclient Teller\nTeller = !Add . End\nserver ",
            &["Server = dual Teller"][..],
        ),
        (
            "notification Add \"add\"\nserver Counter\nCounter = Ready\nReady = ?Add . End\nclient Te",
            &["Ready", "Client = dual Counter"],
        ),
        ("notification Add \"add\"\nTeller = !Add . End\nclient ", &["Teller"]),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.session");
        let document = editor.open(&name, text).await;
        let params = CompletionParams {
            text_document_position: editor.at(&name, position(text, text.len())),
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
            context: None,
        };
        let found = document.completion(params).await.unwrap().unwrap();
        let CompletionResponse::Array(items) = found else { panic!("{found:?}") };
        let labels: Vec<_> = items.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(labels, expected, "{text}");
        editor.close(document, &name).await;
    }
    editor.end().await;
}

/// Behind `import` the files in the folder and below are proposed.
#[tokio::test]
async fn files_to_import_are_proposed() {
    let files = [("a.session", ""), ("parts/b.session", ""), ("target/c.session", "")];
    let editor = Editor::new("importing", &files).await;
    for (text, typed) in [("import \"", 8), ("import \"par\"\nclient C\n", 11)] {
        let document = editor.open("main.session", text).await;
        let params = CompletionParams {
            text_document_position: editor.at("main.session", position(text, typed)),
            work_done_progress_params: Default::default(),
            partial_result_params: Default::default(),
            context: None,
        };
        match document.completion(params).await.unwrap().unwrap() {
            CompletionResponse::Array(items) => {
                let labels: Vec<_> = items.iter().map(|item| item.label.as_str()).collect();
                assert_eq!(labels, ["a.session", "parts/b.session"]);
                let Some(CompletionTextEdit::Edit(edit)) = &items[0].text_edit else { panic!("{items:?}") };
                assert_eq!(slice(text, edit.range), &text[8..typed]);
            }
            other => panic!("{other:?}"),
        }
        editor.close(document, "main.session").await;
    }
    editor.end().await;
}

async fn diagram(editor: &Editor, argument: Value) -> Result<Value, String> {
    let params = ExecuteCommandParams {
        command: "sessionc.diagram".to_owned(),
        arguments: vec![argument],
        work_done_progress_params: Default::default(),
    };
    match editor.client.execute_command(params).await {
        Ok(result) => Ok(result.unwrap()),
        Err(Error::Refused(error)) => Err(error.message),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_diagram_follows_the_text() {
    let editor = Editor::new("diagram", &[]).await;
    let mut document = editor.open("a.session", COUNTER).await;
    let uri = editor.uri("a.session");
    let drawn = diagram(&editor, json!({ "uri": uri })).await.unwrap();
    assert_eq!((drawn["role"].as_str(), &drawn["states"][0]), (Some("Teller"), &json!("Ready")));
    assert!(drawn["text"].as_str().unwrap().starts_with("<svg"));
    let mermaid = json!({ "uri": uri, "role": "server", "format": "mermaid", "withoutRefusals": true });
    let drawn = diagram(&editor, mermaid.clone()).await.unwrap();
    assert_eq!(drawn["role"], "Counter");
    assert!(!drawn["text"].as_str().unwrap().contains("Reset"));
    let text = COUNTER.replace("Add", "Reset");
    editor.change(&mut document, "a.session", 2, &text).await;
    // The document's own queue has the change; its answer says that it is there.
    let at = editor.at("a.session", Position::new(0, 0));
    let _ = document.prepare_rename(at).await;
    assert!(diagram(&editor, mermaid).await.unwrap()["text"].as_str().unwrap().contains("?Reset"));
    let part = diagram(&editor, json!({ "uri": uri, "format": "dot", "definition": "Nothing" })).await;
    assert_eq!(part, Err("no state of `Teller` is called `Nothing`".to_owned()));
    let wrong = diagram(&editor, json!({ "uri": uri, "color": 1 })).await.unwrap_err();
    assert!(wrong.starts_with("unknown field `color`") && wrong.contains("the argument is `{"), "{wrong}");
    editor.change(&mut document, "a.session", 3, "client Teller").await;
    let _ = document.prepare_rename(editor.at("a.session", Position::new(0, 0))).await;
    let error = diagram(&editor, json!({ "uri": uri })).await.unwrap_err();
    assert!(error.ends_with("a.session` has errors: correct them first"), "{error}");
    drop(document);
    editor.end().await;
}
