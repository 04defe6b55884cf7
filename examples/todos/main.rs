//! A language server for notes, with the crate `lsp-protocols`: `cargo run --example todos --features lsp`.
//!
//! An editor starts it and talks to it over the standard streams. It marks each `TODO` with a diagnostic, and says of the
//! word under the cursor how often it occurs. Each open document has a task, which reads changes and questions from one
//! queue: so an answer is from the text that precedes the question.

use lsp_protocols::lsp_3_17::server::{ActiveNext, Context, Document, Handler, OpenNext, UninitNext};
use lsp_protocols::lsp_3_17::{LspError, LspServer, Open, Uninit};
use lsp_protocols::types::*;
use mcp_runtime::transport::{Framing, stdio};

#[tokio::main]
async fn main() -> Result<(), LspError> {
    let code = serve(LspServer::new(stdio().framing(Framing::ContentLength))).await?;
    std::process::exit(code);
}

/// Serves one editor, and returns the exit code that the protocol asks for.
pub(crate) async fn serve(server: LspServer<Uninit>) -> Result<i32, LspError> {
    let server = match server.next().await? {
        UninitNext::Initialize(_, server) => server,
        UninitNext::Exit(server) => return server.close().await.map(|_| 1),
    };
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncKind::FULL.into()),
        hover_provider: Some(true.into()),
        ..Default::default()
    };
    let result = InitializeResult { capabilities: capabilities.into(), server_info: None };
    let (_, server) = server.send_initialize_result(result).await?.recv_initialized().await?;
    tokio::spawn(server.incoming().serve(Notes));
    match server.next().await? {
        ActiveNext::Shutdown(server) => {
            server.send_shutdown_result().await?.recv_exit().await?.close().await.map(|_| 0)
        }
        ActiveNext::Exit(server) => server.close().await.map(|_| 1),
    }
}

struct Notes;

impl Handler for Notes {
    /// Serves one document, until it is closed or the session ends.
    async fn did_open(&self, context: Context, opened: DidOpenTextDocumentParams, document: Document<Open>) {
        // An error here ends the session.
        let _ = note(context, opened.text_document, document).await;
    }
}

async fn note(
    context: Context,
    item: TextDocumentItem,
    mut document: Document<Open>,
) -> Result<(), LspError> {
    let TextDocumentItem { uri, mut version, mut text, .. } = item;
    let publish = async |text: &str, version| {
        let params = PublishDiagnosticsParams::new(uri.clone(), todos(text), version);
        context.peer().send_publish_diagnostics(params).await
    };
    publish(&text, Some(version)).await?;
    loop {
        document = match document.next().await? {
            OpenNext::DidChange(changed, document) => {
                version = changed.text_document.version;
                // The server has announced that it wants the whole text each time.
                text = changed.content_changes.into_iter().next_back().map_or(text, |change| change.text);
                publish(&text, Some(version)).await?;
                document
            }
            OpenNext::Hover(asked, answer, document) => {
                let word = word_at(&text, asked.text_document_position_params.position);
                answer.respond(word.map(|word| count(&text, word)))?;
                document
            }
            OpenNext::DidClose(_) => return publish("", None).await,
            // Nothing else was announced. What the editor asks all the same is answered with an error.
            other => match other.into_open() {
                Ok(document) => document,
                Err(_) => return Ok(()),
            },
        }
    }
}

/// A diagnostic for each `TODO`.
fn todos(text: &str) -> Vec<Diagnostic> {
    let lines = (0..).zip(text.lines());
    let found = lines
        .flat_map(|(line, content)| content.match_indices("TODO").map(move |found| (line, content, found)));
    let diagnostics = found.map(|(line, content, (start, todo))| {
        // The protocol counts UTF-16 code units.
        let start = content[..start].encode_utf16().count() as u32;
        let range = Range::new(Position::new(line, start), Position::new(line, start + todo.len() as u32));
        Diagnostic::new_simple(range, "there is something to do here".to_owned())
    });
    diagnostics.collect()
}

fn word_at(text: &str, position: Position) -> Option<&str> {
    let mut units = 0;
    let word = text.lines().nth(position.line as usize)?.split_inclusive(separates).find(|word| {
        units += word.encode_utf16().count();
        position.character < units as u32
    })?;
    Some(word.trim_end_matches(separates)).filter(|word| !word.is_empty())
}

fn separates(character: char) -> bool {
    !character.is_alphanumeric()
}

fn count(text: &str, word: &str) -> Hover {
    let times = text.split(separates).filter(|other| *other == word).count();
    let told = MarkedString::String(format!("`{word}` occurs {times} times"));
    Hover { contents: HoverContents::Scalar(told), range: None }
}
