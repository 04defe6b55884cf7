//! The example `todos`, a language server, with an editor in the same process.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/todos/main.rs"]
mod example;

use std::sync::{Arc, Mutex};

use example::serve;
use lsp_protocols::lsp_3_17::client::{self, Context, Document};
use lsp_protocols::lsp_3_17::{Active, LspClient, LspError, LspServer, Open};
use lsp_protocols::types::*;
use mcp_runtime::{Error, Options, Report, transport};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

const URI: &str = "file:///note.txt";

struct Screen(UnboundedSender<PublishDiagnosticsParams>);

impl client::Handler for Screen {
    async fn publish_diagnostics(&self, _: Context, params: PublishDiagnosticsParams) {
        self.0.send(params).unwrap();
    }
}

/// An editor after the handshake, and what it sees of its server.
struct Started {
    editor: LspClient<Active>,
    shown: UnboundedReceiver<PublishDiagnosticsParams>,
    exit: JoinHandle<Result<i32, LspError>>,
    reports: Arc<Mutex<Vec<String>>>,
}

async fn started() -> Started {
    let (near, far) = transport::duplex();
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
    let exit = test_support::spawn(serve(LspServer::with_options(far, options)));
    let (_, editor) = LspClient::new(near).initialize(InitializeParams::default()).await.unwrap();
    let editor = editor.send_initialized(InitializedParams {}).await.unwrap();
    let (sender, shown) = unbounded_channel();
    test_support::spawn(editor.incoming().serve(Screen(sender)));
    Started { editor, shown, exit, reports }
}

impl Started {
    async fn open(&self, text: &str) -> Document<Open> {
        let text_document =
            TextDocumentItem::new(URI.parse().unwrap(), "text".to_owned(), 1, text.to_owned());
        self.editor.send_did_open(DidOpenTextDocumentParams { text_document }).await.unwrap()
    }

    /// The version, and where the next diagnostics begin.
    async fn next(&mut self) -> (Option<i32>, Vec<(u32, u32)>) {
        let shown = self.shown.recv().await.unwrap();
        assert_eq!(shown.uri.as_str(), URI);
        let start = |found: &Diagnostic| (found.range.start.line, found.range.start.character);
        (shown.version, shown.diagnostics.iter().map(start).collect())
    }
}

fn changed(version: i32, text: &str) -> DidChangeTextDocumentParams {
    DidChangeTextDocumentParams {
        text_document: VersionedTextDocumentIdentifier::new(URI.parse().unwrap(), version),
        content_changes: vec![TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: text.to_owned(),
        }],
    }
}

fn at(line: u32, character: u32) -> HoverParams {
    let text_document = TextDocumentIdentifier::new(URI.parse().unwrap());
    HoverParams {
        text_document_position_params: TextDocumentPositionParams::new(
            text_document,
            Position::new(line, character),
        ),
        work_done_progress_params: WorkDoneProgressParams::default(),
    }
}

fn said(hover: Option<Hover>) -> Option<String> {
    match hover?.contents {
        HoverContents::Scalar(MarkedString::String(text)) => Some(text),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn it_shows_what_is_to_do_and_counts_words() {
    let mut started = started().await;
    let mut document = started.open("buy milk\n😀 TODO: drink milk").await;
    assert_eq!(started.next().await, (Some(1), vec![(1, 3)]));
    assert_eq!(said(document.hover(at(0, 4)).await.unwrap()).as_deref(), Some("`milk` occurs 2 times"));
    assert_eq!(said(document.hover(at(0, 3)).await.unwrap()).as_deref(), Some("`buy` occurs 1 times"));
    assert_eq!(said(document.hover(at(0, 9)).await.unwrap()), None);
    // The session has this method, too. The URI says that the open document is meant.
    let asked = started.editor.hover(at(0, 4)).await.unwrap();
    assert_eq!(said(asked).as_deref(), Some("`milk` occurs 2 times"));
    document.send_did_change(changed(2, "done")).await.unwrap();
    assert_eq!(said(document.hover(at(0, 0)).await.unwrap()).as_deref(), Some("`done` occurs 1 times"));
    assert_eq!(started.next().await, (Some(2), vec![]));
    let text_document = TextDocumentIdentifier::new(URI.parse().unwrap());
    document.send_did_close(DidCloseTextDocumentParams { text_document }).await.unwrap();
    assert_eq!(started.next().await, (None, vec![]));
    started.editor.shutdown().await.unwrap().send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(started.exit.await.unwrap().unwrap(), 0);
    assert_eq!(*started.reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_hundred_answers_are_from_the_text_before() {
    let started = started().await;
    let mut document = started.open("").await;
    for version in 2..100 {
        let text = "word ".repeat(version as usize);
        document.send_did_change(changed(version, &text)).await.unwrap();
        let (one, two) = tokio::join!(document.hover(at(0, 0)), document.hover(at(0, 5)));
        let expected = format!("`word` occurs {version} times");
        assert_eq!([said(one.unwrap()), said(two.unwrap())], [Some(expected.clone()), Some(expected)]);
    }
}

/// What the server has not announced is not sent. A question about a document that is not open is permitted, and this
/// server has no answer.
#[tokio::test]
async fn what_the_server_does_not_offer_is_an_error() {
    let started = started().await;
    let document = started.open("note").await;
    let asked = TextDocumentPositionParams::new(
        TextDocumentIdentifier::new(URI.parse().unwrap()),
        Position::new(0, 0),
    );
    let error = document.prepare_rename(asked).await.unwrap_err();
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
    let mut elsewhere = at(0, 0);
    elsewhere.text_document_position_params.text_document.uri = "file:///other.txt".parse().unwrap();
    let error = started.editor.hover(elsewhere).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
}
