//! An editor in a folder of its own, after the handshake.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lsp_protocols::lsp_3_17::client::{self, Context, Document};
use lsp_protocols::lsp_3_17::{Active, LspClient, Open};
use lsp_protocols::types::*;
use mcp_runtime::transport::{Child, Framing};
use mcp_runtime::{Options, Report, RpcError};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A protocol with all that has a name.
pub(crate) const COUNTER: &str = "\
--- A counter.
protocol Counting \"1\"

type Amount = { amount: uint }
type Count = { count: uint, last?: Amount }

--- Asks for the sum.
request Total \"total\" -> Sum (Count)
notification Add \"add\" (Amount)
notification Stop \"stop\"

group Change = Add | Stop

client Teller
server Counter = dual Teller

Teller = Ready

--- The counter is open.
Ready = rec α . (!Add . α ⊕ !Total . ?Sum . α ⊕ !Stop . End)
";

struct Screen(UnboundedSender<PublishDiagnosticsParams>);

impl client::Handler for Screen {
    async fn publish_diagnostics(&self, _: Context, params: PublishDiagnosticsParams) {
        // A test need not look at all of them.
        let _ = self.0.send(params);
    }

    async fn register_capability(&self, _: Context, _: RegistrationParams) -> Result<(), RpcError> {
        Ok(())
    }
}

/// An editor and what it sees.
pub(crate) struct Editor {
    pub(crate) client: LspClient<Active>,
    pub(crate) announced: ServerCapabilities,
    shown: UnboundedReceiver<PublishDiagnosticsParams>,
    reports: Arc<Mutex<Vec<String>>>,
    folder: PathBuf,
}

impl Editor {
    /// An editor with the usual capabilities, in a new folder with these files.
    pub(crate) async fn new(name: &str, files: &[(&str, &str)]) -> Editor {
        Editor::with(name, files, ClientCapabilities::default()).await
    }

    pub(crate) async fn with(name: &str, files: &[(&str, &str)], capabilities: ClientCapabilities) -> Editor {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
        command.arg("lsp").current_dir(&folder);
        let child = Child::builder(command).framing(Framing::ContentLength).spawn().unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let options = Options::default()
            .on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
        let root = WorkspaceFolder { uri: uri_of(&folder), name: name.to_owned() };
        let params =
            InitializeParams { capabilities, workspace_folders: Some(vec![root]), ..Default::default() };
        let (result, client) = LspClient::with_options(child, options).initialize(params).await.unwrap();
        let client = client.send_initialized(InitializedParams {}).await.unwrap();
        let (sender, shown) = unbounded_channel();
        tokio::spawn(client.incoming().serve(Screen(sender)));
        Editor { client, announced: result.capabilities.server, shown, reports, folder }
    }

    pub(crate) fn uri(&self, name: &str) -> Uri {
        uri_of(&self.folder.join(name))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Opens a document with a text.
    pub(crate) async fn open(&self, name: &str, text: &str) -> Document<Open> {
        let text_document = TextDocumentItem::new(self.uri(name), "session".to_owned(), 1, text.to_owned());
        self.client.send_did_open(DidOpenTextDocumentParams { text_document }).await.unwrap()
    }

    /// Gives a document another text.
    pub(crate) async fn change(&self, document: &mut Document<Open>, name: &str, version: i32, text: &str) {
        let change =
            TextDocumentContentChangeEvent { range: None, range_length: None, text: text.to_owned() };
        let params = DidChangeTextDocumentParams {
            text_document: VersionedTextDocumentIdentifier::new(self.uri(name), version),
            content_changes: vec![change],
        };
        document.send_did_change(params).await.unwrap();
    }

    pub(crate) async fn close(&self, document: Document<Open>, name: &str) {
        let text_document = TextDocumentIdentifier::new(self.uri(name));
        document.send_did_close(DidCloseTextDocumentParams { text_document }).await.unwrap();
    }

    /// The next diagnostics of a document, for this version of it.
    pub(crate) async fn diagnostics(&mut self, name: &str, version: Option<i32>) -> Vec<Diagnostic> {
        let uri = self.uri(name);
        loop {
            let shown = self.shown.recv().await.unwrap();
            if shown.uri == uri && shown.version == version {
                return shown.diagnostics;
            }
        }
    }

    /// A place in a document.
    pub(crate) fn at(&self, name: &str, position: Position) -> TextDocumentPositionParams {
        TextDocumentPositionParams::new(TextDocumentIdentifier::new(self.uri(name)), position)
    }

    /// Shuts the server down; neither side has found the other at fault.
    pub(crate) async fn end(self) {
        self.client.shutdown().await.unwrap().send_exit().await.unwrap().close().await.unwrap();
        assert_eq!(*self.reports.lock().unwrap(), Vec::<String>::new());
    }
}

pub(crate) fn uri_of(path: &Path) -> Uri {
    format!("file://{}", path.display()).parse().unwrap()
}

/// The position of an offset, in UTF-16 code units.
pub(crate) fn position(text: &str, offset: usize) -> Position {
    let line = text[..offset].rsplit('\n').next().unwrap();
    Position::new(text[..offset].matches('\n').count() as u32, line.encode_utf16().count() as u32)
}

/// The position of the first place of a part of a text.
pub(crate) fn place(text: &str, part: &str) -> Position {
    position(text, text.find(part).unwrap())
}

/// What stands in a range.
pub(crate) fn slice(text: &str, range: Range) -> &str {
    let offset = |wanted: Position| {
        (0..=text.len())
            .filter(|offset| text.is_char_boundary(*offset))
            .find(|offset| position(text, *offset) == wanted)
            .unwrap_or_else(|| panic!("{wanted:?} is not in the text"))
    };
    &text[offset(range.start)..offset(range.end)]
}

/// A text with edits in it.
pub(crate) fn edited(text: &str, edits: &[TextEdit]) -> String {
    let mut lines: Vec<(Range, &str)> =
        edits.iter().map(|edit| (edit.range, edit.new_text.as_str())).collect();
    lines.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, new) in lines {
        let offset = |wanted| {
            (0..=text.len())
                .find(|offset| text.is_char_boundary(*offset) && position(&text, *offset) == wanted)
        };
        let (start, end) = (offset(range.start).unwrap(), offset(range.end).unwrap());
        text.replace_range(start..end, new);
    }
    text
}

/// The edits of one document.
pub(crate) fn edits_of(edit: &WorkspaceEdit, uri: &Uri) -> Vec<TextEdit> {
    #[allow(clippy::mutable_key_type, reason = "the type has this map")]
    let changes = edit.changes.as_ref().unwrap();
    changes.get(uri).cloned().unwrap_or_default()
}
