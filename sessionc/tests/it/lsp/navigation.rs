//! Definition, references, highlights, hover and symbols.

use lsp_protocols::lsp_3_17::Open;
use lsp_protocols::lsp_3_17::client::Document;
use lsp_protocols::types::*;

use super::editor::{COUNTER, Editor, place, position, slice};

fn definition_params(at: TextDocumentPositionParams) -> GotoDefinitionParams {
    GotoDefinitionParams {
        text_document_position_params: at,
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    }
}

fn reference_params(at: TextDocumentPositionParams, include_declaration: bool) -> ReferenceParams {
    ReferenceParams {
        text_document_position: at,
        context: ReferenceContext { include_declaration },
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    }
}

/// Where the definition of what stands at an offset is: file and text of the line.
async fn defined(editor: &Editor, document: &Document<Open>, text: &str, offset: usize) -> Vec<String> {
    let at = editor.at("a.session", position(text, offset));
    let found = document.definition(definition_params(at)).await.unwrap();
    match found {
        None => Vec::new(),
        Some(GotoDefinitionResponse::Array(places)) => {
            let line =
                |place: Location| text.lines().nth(place.range.start.line as usize).unwrap().to_owned();
            places.into_iter().map(line).collect()
        }
        Some(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_name_leads_to_its_declaration() {
    let editor = Editor::new("definition", &[]).await;
    let document = editor.open("a.session", COUNTER).await;
    let ready = "Ready = rec α . (!Add . α ⊕ !Total . ?Sum . α ⊕ !Stop . End)";
    let total = "request Total \"total\" -> Sum (Count)";
    for (part, inside, expected) in [
        ("!Add", 1, vec!["notification Add \"add\" (Amount)"]),
        // Right behind a name is at the name, too.
        ("?Sum .", 4, vec![total]),
        ("= Ready", 2, vec![ready]),
        ("α ⊕", 0, vec![ready]),
        ("dual Teller", 5, vec!["client Teller", "Teller = Ready"]),
        ("(Count)", 1, vec!["type Count = { count: uint, last?: Amount }"]),
        ("last?: Amount", 7, vec!["type Amount = { amount: uint }"]),
        ("Add | Stop", 6, vec!["notification Stop \"stop\""]),
        ("rec α", 0, vec![]),
        ("End)", 0, vec![]),
    ] {
        let offset = COUNTER.find(part).unwrap() + inside;
        assert_eq!(defined(&editor, &document, COUNTER, offset).await, expected, "{part}");
    }
    drop(document);
    editor.end().await;
}

/// A name may be that of a refusal, which no item declares.
#[tokio::test]
async fn a_refusal_leads_to_its_request() {
    let editor = Editor::new("refusal", &[]).await;
    let text = COUNTER.replace("?Sum . α", "(?Sum . α & ?TotalError . α)");
    let document = editor.open("a.session", &text).await;
    let offset = text.find("TotalError").unwrap();
    let expected = ["request Total \"total\" -> Sum (Count)"];
    assert_eq!(defined(&editor, &document, &text, offset + 8).await, expected);
    let at = editor.at("a.session", position(&text, offset));
    let found = document.references(reference_params(at, false)).await.unwrap().unwrap();
    assert_eq!(found.iter().map(|place| slice(&text, place.range)).collect::<Vec<_>>(), ["Total"; 2]);
    drop(document);
    editor.end().await;
}

const SHARED: &str = "--- Adds.\nnotification Add \"add\" (_)\nAdding = !Add . End\n";
const ONE: &str = "import \"shared.session\"\nclient One\nserver Till = dual One\nOne = Adding\n";
const TWO: &str = "import \"./shared.session\"\nclient Two\nserver Till = dual Two\nTwo = !Add . Adding\n";

/// Asked in one protocol, the answer has the places of the others that share the file.
#[tokio::test]
async fn references_are_found_in_all_protocols_that_share_a_file() {
    let files = [("shared.session", SHARED), ("one.session", ONE), ("two.session", TWO)];
    let mut editor = Editor::new("references", &files).await;
    let document = editor.open("one.session", ONE).await;
    editor.diagnostics("one.session", Some(1)).await;
    let at = editor.at("one.session", place(ONE, "Adding"));
    let expected = [("one.session", ONE), ("shared.session", SHARED), ("two.session", TWO)];
    let found = document.references(reference_params(at.clone(), true)).await.unwrap().unwrap();
    assert_eq!(found.len(), 3);
    for ((name, text), place) in expected.into_iter().zip(&found) {
        assert_eq!((&place.uri, slice(text, place.range)), (&editor.uri(name), "Adding"));
    }
    let used = document.references(reference_params(at, false)).await.unwrap().unwrap();
    assert_eq!(used.len(), 2);
    // An import leads to its file.
    let at = editor.at("one.session", place(ONE, "shared"));
    match document.definition(definition_params(at)).await.unwrap().unwrap() {
        GotoDefinitionResponse::Scalar(file) => assert_eq!(file.uri, editor.uri("shared.session")),
        other => panic!("{other:?}"),
    }
    drop(document);
    editor.end().await;
}

#[tokio::test]
async fn highlights_are_the_places_of_one_document() {
    let editor = Editor::new("highlights", &[]).await;
    let document = editor.open("a.session", COUNTER).await;
    let params = DocumentHighlightParams {
        text_document_position_params: editor.at("a.session", place(COUNTER, "α")),
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    };
    let found = document.document_highlight(params).await.unwrap().unwrap();
    assert!(found.iter().all(|found| slice(COUNTER, found.range) == "α"));
    let kinds: Vec<_> = found.iter().filter_map(|found| found.kind).collect();
    let (write, read) = (DocumentHighlightKind::WRITE, DocumentHighlightKind::READ);
    assert_eq!(kinds, [write, read, read]);
    drop(document);
    editor.end().await;
}

fn markdown() -> ClientCapabilities {
    let hover = HoverClientCapabilities {
        content_format: Some(vec![MarkupKind::Markdown]),
        ..HoverClientCapabilities::default()
    };
    let document_symbol = DocumentSymbolClientCapabilities {
        hierarchical_document_symbol_support: Some(true),
        ..DocumentSymbolClientCapabilities::default()
    };
    let text_document = TextDocumentClientCapabilities {
        hover: Some(hover),
        document_symbol: Some(document_symbol),
        ..TextDocumentClientCapabilities::default()
    };
    ClientCapabilities { text_document: Some(text_document), ..ClientCapabilities::default() }
}

async fn hovered(editor: &Editor, document: &Document<Open>, offset: usize) -> Option<(String, MarkupKind)> {
    hovered_in(editor, document, COUNTER, offset).await
}

async fn hovered_in(
    editor: &Editor,
    document: &Document<Open>,
    text: &str,
    offset: usize,
) -> Option<(String, MarkupKind)> {
    let params = HoverParams {
        text_document_position_params: editor.at("a.session", position(text, offset)),
        work_done_progress_params: Default::default(),
    };
    match document.hover(params).await.unwrap()?.contents {
        HoverContents::Markup(markup) => Some((markup.value, markup.kind)),
        other => panic!("{other:?}"),
    }
}

/// The session type, its dual, and the Rust methods of the state, for both roles.
#[tokio::test]
async fn a_hover_shows_a_state_its_dual_and_its_methods() {
    let editor = Editor::with("hover", &[], markdown()).await;
    let document = editor.open("a.session", COUNTER).await;
    let (state, kind) = hovered(&editor, &document, COUNTER.find("= Ready").unwrap() + 2).await.unwrap();
    assert_eq!(kind, MarkupKind::Markdown);
    insta::assert_snapshot!("hover_state", state);
    let (message, _) = hovered(&editor, &document, COUNTER.find("Total").unwrap()).await.unwrap();
    insta::assert_snapshot!("hover_message", message);
    let (step, _) = hovered(&editor, &document, COUNTER.find("!Stop").unwrap() + 1).await.unwrap();
    insta::assert_snapshot!("hover_step", step);
    let (role, _) = hovered(&editor, &document, COUNTER.find("server Counter").unwrap() + 8).await.unwrap();
    insta::assert_snapshot!("hover_role", role);
    let (shape, _) = hovered(&editor, &document, COUNTER.find("Amount").unwrap()).await.unwrap();
    assert_eq!(shape, "```session\ntype Amount = { amount: uint }\n```");
    assert_eq!(hovered(&editor, &document, COUNTER.find("End)").unwrap()).await, None);
    drop(document);
    editor.end().await;
}

/// What comes at any time is handled by a trait. A step with a group is a step of each of its messages.
#[tokio::test]
async fn a_hover_shows_the_method_of_a_handler() {
    let editor = Editor::with("handler", &[], markdown()).await;
    let more = "notification News \"news\"\nnotification Late \"late\"\ngroup Fresh = News | Late\n\
                Teller = (Ready, *( ?Fresh . End ))";
    let text = COUNTER.replace("Teller = Ready", more);
    let document = editor.open("a.session", &text).await;
    let (news, _) = hovered_in(&editor, &document, &text, text.find("News").unwrap()).await.unwrap();
    insta::assert_snapshot!("hover_handler", news);
    let (fresh, _) = hovered_in(&editor, &document, &text, text.find("?Fresh").unwrap() + 1).await.unwrap();
    for method in ["fn news(", "fn late(", "fn send_news(", "fn send_late("] {
        assert!(fresh.contains(method), "{fresh}");
    }
    drop(document);
    editor.end().await;
}

/// A shape in a position, with a label or without; a label itself is not a name.
#[tokio::test]
async fn a_hover_shows_the_shape_of_a_position() {
    let editor = Editor::with("positions", &[], markdown()).await;
    let more = "type Asked = [string, Amount, [Amount, int]?]\ntype Told = [much: Amount]\n\
                notification News \"news\" ([Amount, { much: Told }])\nTeller = (Ready, *( ?News . End ))";
    let text = COUNTER.replace("Teller = Ready", more);
    let document = editor.open("a.session", &text).await;
    let amount = "```session\ntype Amount = { amount: uint }\n```";
    for place in ["Amount, [", "Amount, int", "Amount]\n", "Amount, {"] {
        let (shape, _) = hovered_in(&editor, &document, &text, text.find(place).unwrap()).await.unwrap();
        assert_eq!(shape, amount, "{place}");
    }
    let (told, _) = hovered_in(&editor, &document, &text, text.find("Told }").unwrap()).await.unwrap();
    assert_eq!(told, "```session\ntype Told = [much: Amount]\n```");
    assert_eq!(hovered_in(&editor, &document, &text, text.find("much: Amount").unwrap()).await, None);
    drop(document);
    editor.end().await;
}

#[tokio::test]
async fn an_editor_without_markdown_gets_plain_text() {
    let editor = Editor::new("plain", &[]).await;
    let document = editor.open("a.session", COUNTER).await;
    let (shape, kind) = hovered(&editor, &document, COUNTER.find("Amount").unwrap()).await.unwrap();
    assert_eq!((shape.as_str(), kind), ("type Amount = { amount: uint }", MarkupKind::PlainText));
    drop(document);
    editor.end().await;
}

fn outline(symbols: &[DocumentSymbol], depth: usize, out: &mut String) {
    for symbol in symbols {
        let detail = symbol.detail.as_deref().unwrap();
        out.push_str(&format!("{}{detail} {}\n", "  ".repeat(depth), symbol.name));
        outline(symbol.children.as_deref().unwrap_or_default(), depth + 1, out);
    }
}

#[tokio::test]
async fn symbols_are_nested_as_the_text_is() {
    let editor = Editor::with("symbols", &[], markdown()).await;
    let document = editor.open("a.session", COUNTER).await;
    let params = DocumentSymbolParams {
        text_document: TextDocumentIdentifier::new(editor.uri("a.session")),
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
    };
    let Some(DocumentSymbolResponse::Nested(symbols)) = document.document_symbol(params).await.unwrap()
    else {
        panic!("no symbols")
    };
    let mut text = String::new();
    outline(&symbols, 0, &mut text);
    let expected = "protocol Counting\ntype Amount\ntype Count\nrequest Total\n  reply Sum\nnotification Add\n\
                    notification Stop\ngroup Change\nrole Teller\nrole Counter\nrole Teller\n\
                    session type Ready\n  loop α\n";
    assert_eq!(text, expected);
    let query = WorkspaceSymbolParams { query: "cOUNT".to_owned(), ..Default::default() };
    // The two forms of the answer have the same members.
    let Some(WorkspaceSymbolResponse::Flat(found)) = editor.client.workspace_symbol(query).await.unwrap()
    else {
        panic!("no symbols")
    };
    let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["Counting", "Count", "Counter"]);
    drop(document);
    editor.end().await;
}

/// In bytes a name behind others that are not ASCII is elsewhere than in UTF-16 code units.
#[tokio::test]
async fn positions_are_bytes_where_the_editor_offers_them() {
    let general = GeneralClientCapabilities {
        position_encodings: Some(vec![PositionEncodingKind::UTF16, PositionEncodingKind::UTF8]),
        ..GeneralClientCapabilities::default()
    };
    let capabilities = ClientCapabilities { general: Some(general), ..ClientCapabilities::default() };
    let editor = Editor::with("bytes", &[], capabilities).await;
    assert_eq!(editor.announced.position_encoding, Some(PositionEncodingKind::UTF8));
    let document = editor.open("a.session", COUNTER).await;
    let line = COUNTER.lines().position(|line| line.starts_with("Ready")).unwrap();
    let column = COUNTER.lines().nth(line).unwrap().find("!Stop").unwrap() + 1;
    let at = editor.at("a.session", Position::new(line as u32, column as u32));
    match document.definition(definition_params(at)).await.unwrap().unwrap() {
        GotoDefinitionResponse::Array(found) => {
            assert_eq!(found[0].range.start, place(COUNTER, "Stop \"stop\""));
        }
        other => panic!("{other:?}"),
    }
    drop(document);
    editor.end().await;

    let editor = Editor::new("units", &[]).await;
    assert_eq!(editor.announced.position_encoding, Some(PositionEncodingKind::UTF16));
    editor.end().await;
}

/// A document that is not open is read from disk, and one that is not there is an error that says so.
#[tokio::test]
async fn a_document_need_not_be_open() {
    let editor = Editor::new("closed", &[("a.session", COUNTER)]).await;
    let at = |name| definition_params(editor.at(name, place(COUNTER, "Ready")));
    assert!(editor.client.definition(at("a.session")).await.unwrap().is_some());
    let error = editor.client.definition(at("b.session")).await.unwrap_err().to_string();
    assert!(error.contains("cannot read `") && error.contains("b.session`"), "{error}");
    editor.end().await;
}
