//! The lifecycle and the document synchronisation of the Language Server Protocol: `cargo run --example
//! language_server --features macros`.
//!
//! Each open document is a sub-session with a value of its own. The value exists from `didOpen` to `didClose`, and only
//! its methods can change the document. After `shutdown` documents are suspended.
//!
//! Both sides are in this program, connected by a stream of bytes in memory. As the protocol requires, a header with
//! `Content-Length` stands before each message. With `-- --stdio` it is the server alone, on the standard streams, for
//! an editor.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use mcp_runtime::transport::{ByteStream, Framing, Transport, stdio};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use lsp::{Editing, Editor, LanguageServerError, Start, Stopped, Tool, Working, server};
use payload::{
    Change, Changed, Closed, Document, Identifier, InitializeParams, InitializeResult, Initialized, Opened,
    ServerCapabilities, Version,
};

/// The payloads, as far as this example needs them.
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
        /// How changes are sent: 1 means the whole text each time.
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

/// The generated code.
pub(crate) mod lsp {
    mcp_runtime::protocol!("./language_server.session");
}

#[tokio::main]
async fn main() -> Result<(), LanguageServerError> {
    let (seen, mut closed) = unbounded_channel();
    if std::env::args().nth(1).as_deref() == Some("--stdio") {
        let code = serve(Tool::new(stdio().framing(Framing::ContentLength)), seen).await?;
        std::process::exit(code.into());
    }
    let (near, far) = connection();
    let (edited, served) = tokio::join!(edit(Editor::new(near), &mut closed), serve(Tool::new(far), seen));
    edited?;
    println!("the server exits with {}", served?);
    Ok(())
}

/// Both ends of a connection on which messages stand behind headers.
pub(crate) fn connection() -> (impl Transport, impl Transport) {
    let framed = |stream: DuplexStream| ByteStream::new(stream).framing(Framing::ContentLength);
    let (near, far) = tokio::io::duplex(64 * 1024);
    (framed(near), framed(far))
}

/// The editor: opens two documents at once, changes one of them, and shuts the server down.
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
    // `letter` and `list` have been consumed: a closed document cannot be changed.
    for _ in 0..2 {
        if let Some(text) = closed.recv().await {
            println!("{} was closed in version {}: {}", text.uri, text.version, text.text);
        }
    }
    stop(editor).await?.send_exit().await?.close().await?;
    Ok(())
}

/// Runs the handshake, to the state in which documents can be opened.
pub(crate) async fn start(editor: Editor<Start>) -> Result<Editor<Working>, LanguageServerError> {
    let params = InitializeParams { process_id: None, root_uri: None, capabilities: serde_json::json!({}) };
    let (result, editor) = editor.initialize(params).await?;
    println!("the server synchronises documents in way {}", result.capabilities.text_document_sync);
    Ok(editor.send_initialized(Initialized {}).await?)
}

/// Asks the server to shut down. The returned session has only the method `send_exit`.
pub(crate) async fn stop(editor: Editor<Working>) -> Result<Editor<Stopped>, LanguageServerError> {
    Ok(editor.shutdown().await?)
}

/// A document on the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) uri: String,
    pub(crate) version: i32,
    pub(crate) text: String,
}

/// The server: follows every document, prints each when it is closed, and returns its exit code.
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
    // Another task serves the documents; this one continues the lifecycle.
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
    /// Serves one document, from its opening to its closing.
    async fn did_open(&self, _: server::Context, opened: Opened, mut document: server::Document<Editing>) {
        let Document { uri, version, text, .. } = opened.text_document;
        let mut known = Text { uri, version, text };
        // An error here ends the session, which ends its documents, too.
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
                    // The receiver of the text may have been dropped.
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
