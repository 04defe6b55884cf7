//! The session with one editor, from `initialize` to `exit`, in the types of `lsp-protocols`.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_protocols::lsp_3_17::server::{ActiveNext, UninitNext};
use lsp_protocols::lsp_3_17::{Active, LspError, LspServer, Uninit};
use lsp_protocols::types::{
    CodeActionKind, CodeActionOptions, CompletionOptions, DidChangeWatchedFilesRegistrationOptions,
    ExecuteCommandOptions, FileSystemWatcher, GlobPattern, InitializeParams, InitializeResult, OneOf,
    Registration, RegistrationParams, RenameOptions, ServerCapabilities, ServerInfo, TextDocumentSyncKind,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use tokio::task::JoinSet;

use super::diagram;
use super::editor::Editor;
use super::handler::Handler;
use super::publish;
use super::uris::path_of;
use super::workspace::Workspace;

/// The code with which the server is to exit, by the rules of the protocol.
pub(crate) enum ExitCode {
    /// The editor has shut the server down before it asked it to exit.
    Clean,
    /// It has not.
    Unclean,
}

/// Serves one editor.
///
/// # Errors
/// If the session ends before the editor asks the server to exit.
pub(crate) async fn serve(server: LspServer<Uninit>) -> Result<ExitCode, LspError> {
    let (params, server) = match server.next().await? {
        UninitNext::Initialize(params, server) => (params, server),
        UninitNext::Exit(server) => return server.close().await.map(|_| ExitCode::Unclean),
    };
    let editor = Editor::of(&params.capabilities);
    let workspace = Arc::new(Workspace::new(editor, folders(&params)));
    let result = InitializeResult {
        capabilities: capabilities(editor).into(),
        server_info: Some(ServerInfo {
            name: "sessionc".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    let (_, server) = server.send_initialize_result(result).await?.recv_initialized().await?;
    // First, for what a name means may stand in a file that is not open.
    workspace.look_for_files().await;
    // Dropped at the end of the session, and what runs in it ends.
    let mut tasks = JoinSet::new();
    tasks.spawn(server.incoming().serve(Handler::new(Arc::clone(&workspace))));
    tasks.spawn(publish::run(Arc::clone(&workspace), server.handle()));
    if editor.watches {
        let asked = watch(&server);
        tasks.spawn(asked);
    }
    match server.next().await? {
        ActiveNext::Shutdown(server) => {
            let server = server.send_shutdown_result().await?.recv_exit().await?;
            server.close().await.map(|_| ExitCode::Clean)
        }
        ActiveNext::Exit(server) => server.close().await.map(|_| ExitCode::Unclean),
    }
}

fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    match &params.workspace_folders {
        Some(folders) => folders.iter().map(|folder| path_of(&folder.uri)).collect(),
        None => params.root_uri.iter().map(path_of).collect(),
    }
}

fn capabilities(editor: Editor) -> ServerCapabilities {
    let typed = ["!", "?", ".", "(", ":", "=", "\""];
    ServerCapabilities {
        position_encoding: Some(editor.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncKind::FULL.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        hover_provider: Some(true.into()),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(typed.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        document_formatting_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![diagram::COMMAND.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// Asks the editor to say when a `.session` file changes. Without it, files are read again when a text changes.
fn watch(server: &LspServer<Active>) -> impl Future<Output = ()> + Send + 'static {
    let handle = server.handle();
    let pattern = GlobPattern::String("**/*.session".to_owned());
    let options = DidChangeWatchedFilesRegistrationOptions {
        watchers: vec![FileSystemWatcher { glob_pattern: pattern, kind: None }],
    };
    let registration = Registration {
        id: "session-files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: serde_json::to_value(options).ok(),
    };
    async move {
        // An editor that refuses does not watch.
        let _ = handle.register_capability(RegistrationParams { registrations: vec![registration] }).await;
    }
}
