//! The lifecycle and the document synchronisation of the Language Server Protocol: `cargo run --example language_server`.
//!
//! Each open document is a value of its own. It is there from `didOpen` to `didClose`, and only through it can the
//! document be changed; not after `shutdown`, for then documents rest. Both sides live in this program and talk over an
//! in-memory transport.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use mcp_runtime::transport::duplex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use lsp::{Editing, Editor, LanguageServerError, Start, Stopped, Tool, Working, server};
use payload::{
    Change, Changed, Closed, Document, Identifier, InitializeParams, InitializeResult, Initialized, Opened,
    ServerCapabilities, Version,
};

/// What the messages carry: what this example needs of it.
pub(crate) mod payload {
    use serde::{Deserialize, Serialize};
    use serde_json::Value;

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct InitializeParams {
        pub(crate) process_id: Option<u32>,
        pub(crate) root_uri: Option<String>,
        pub(crate) capabilities: Value,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct InitializeResult {
        pub(crate) capabilities: ServerCapabilities,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct ServerCapabilities {
        /// How changes are sent; 1 is the whole text each time.
        pub(crate) text_document_sync: u8,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Initialized {}

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Opened {
        pub(crate) text_document: Document,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Document {
        pub(crate) uri: String,
        pub(crate) language_id: String,
        pub(crate) version: i32,
        pub(crate) text: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Changed {
        pub(crate) text_document: Version,
        pub(crate) content_changes: Vec<Change>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Version {
        pub(crate) uri: String,
        pub(crate) version: i32,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Change {
        pub(crate) text: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct Closed {
        pub(crate) text_document: Identifier,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Identifier {
        pub(crate) uri: String,
    }
}

/// What the compiler makes of the session types.
pub(crate) mod lsp {
    mcp_runtime::protocol!("./language_server.session");
}

#[tokio::main]
async fn main() -> Result<(), LanguageServerError> {
    let (near, far) = duplex();
    let (seen, mut closed) = unbounded_channel();
    let (edited, served) = tokio::join!(edit(Editor::new(near), &mut closed), serve(Tool::new(far), seen));
    edited?;
    println!("the server exits with {}", served?);
    Ok(())
}

/// The editor: two documents at once, one of which is changed, and then the way out.
async fn edit(
    editor: Editor<Start>,
    closed: &mut UnboundedReceiver<Text>,
) -> Result<(), LanguageServerError> {
    let editor = start(editor).await?;
    let mut letter = editor.send_did_open(opened("file:///letter", "Dear")).await?;
    let list = editor.send_did_open(opened("file:///list", "- milk")).await?;
    letter.send_did_change(changed("file:///letter", 2, "Dear all")).await?;
    letter.send_did_change(changed("file:///letter", 3, "Dear all,")).await?;
    list.send_did_close(closing("file:///list")).await?;
    letter.send_did_close(closing("file:///letter")).await?;
    // `letter` and `list` are gone: nothing can be changed in what is not open.
    for _ in 0..2 {
        if let Some(text) = closed.recv().await {
            println!("{} was closed in version {}: {}", text.uri, text.version, text.text);
        }
    }
    stop(editor).await?.send_exit().await?.close().await?;
    Ok(())
}

/// From the first message to the state in which documents can be opened.
pub(crate) async fn start(editor: Editor<Start>) -> Result<Editor<Working>, LanguageServerError> {
    let params = InitializeParams { process_id: None, root_uri: None, capabilities: serde_json::json!({}) };
    let (result, editor) = editor.initialize(params).await?;
    println!("the server synchronises documents in way {}", result.capabilities.text_document_sync);
    Ok(editor.send_initialized(Initialized {}).await?)
}

/// Asks the server to stop. What comes back has no method but `send_exit`.
pub(crate) async fn stop(editor: Editor<Working>) -> Result<Editor<Stopped>, LanguageServerError> {
    Ok(editor.shutdown().await?)
}

/// A document as the server knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) uri: String,
    pub(crate) version: i32,
    pub(crate) text: String,
}

/// The server: follows every document, shows each as it was when it was closed, and says with which code it exits.
pub(crate) async fn serve(tool: Tool<Start>, seen: UnboundedSender<Text>) -> Result<u8, LanguageServerError> {
    let tool = match tool.next().await? {
        server::StartNext::Initialize(_, tool) => tool,
        server::StartNext::Exit(tool) => {
            tool.close().await?;
            return Ok(1);
        }
    };
    let capabilities = ServerCapabilities { text_document_sync: 1 };
    let tool = tool.send_initialize_result(InitializeResult { capabilities }).await?;
    let (_, tool) = tool.recv_initialized().await?;
    // Documents are attended to in a task of their own, and the lifecycle goes on in this one.
    tokio::spawn(tool.incoming().serve(Documents(seen)));
    match tool.next().await? {
        server::WorkingNext::Shutdown(tool) => {
            let tool = tool.send_shutdown_result().await?.recv_exit().await?;
            tool.close().await?;
            Ok(0)
        }
        server::WorkingNext::Exit(tool) => {
            tool.close().await?;
            Ok(1)
        }
    }
}

/// Follows documents.
struct Documents(UnboundedSender<Text>);

impl server::Handler for Documents {
    /// Attends to one document, from its opening to its closing.
    async fn did_open(&self, _: server::Context, opened: Opened, mut document: server::Document<Editing>) {
        let Document { uri, version, text, .. } = opened.text_document;
        let mut known = Text { uri, version, text };
        // An error here is the end of the session, which is the end of its documents, too.
        while let Ok(next) = document.next().await {
            match next {
                server::EditingNext::DidChange(changed, editing) => {
                    known.version = changed.text_document.version;
                    for change in changed.content_changes {
                        known.text = change.text;
                    }
                    document = editing;
                }
                server::EditingNext::DidClose(_) => {
                    // Nobody may be interested in it any more.
                    let _ = self.0.send(known);
                    return;
                }
            }
        }
    }
}

/// The params of `didOpen`.
pub(crate) fn opened(uri: &str, text: &str) -> Opened {
    let (uri, text, language_id) = (uri.to_owned(), text.to_owned(), "plaintext".to_owned());
    Opened { text_document: Document { uri, language_id, version: 1, text } }
}

/// The params of `didChange`.
pub(crate) fn changed(uri: &str, version: i32, text: &str) -> Changed {
    let content_changes = vec![Change { text: text.to_owned() }];
    Changed { text_document: Version { uri: uri.to_owned(), version }, content_changes }
}

/// The params of `didClose`.
pub(crate) fn closing(uri: &str) -> Closed {
    Closed { text_document: Identifier { uri: uri.to_owned() } }
}
