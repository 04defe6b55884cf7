//! An editor of the Language Server Protocol, written with the crate `lsp-protocols`, with language servers of others:
//! pyright, typescript-language-server and rust-analyzer. Each answer comes from the text that precedes the request on
//! the wire.
//!
//! Two servers come from npm (`npm ci` in `tests/peers`). Where one is not installed the tests say so and pass, unless
//! `CI` is set in the environment.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lsp_protocols::lsp_3_17::client::{self, Context, Document, GoingNext, Work};
use lsp_protocols::lsp_3_17::{Active, Creating, LspClient, LspError, Open};
use lsp_protocols::types::*;
use mcp_runtime::transport::{Child, Framing};
use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::watch;

/// How a server is started, and a text in its language whose line is numbered.
pub(crate) struct Language {
    pub(crate) server: &'static str,
    id: &'static str,
    file: &'static str,
    line: fn(i32) -> String,
    /// Where the name stands in the line.
    column: u32,
}

pub(crate) const PYTHON: Language = Language {
    server: "pyright-langserver",
    id: "python",
    file: "main.py",
    line: |number| format!("value_{number} = {number}\n"),
    column: 0,
};

pub(crate) const TYPESCRIPT: Language = Language {
    server: "typescript-language-server",
    id: "typescript",
    file: "main.ts",
    line: |number| format!("const value_{number} = {number};\n"),
    column: 6,
};

impl Language {
    /// What the name in the first line is.
    fn question(&self, uri: &Uri) -> HoverParams {
        HoverParams {
            text_document_position_params: TextDocumentPositionParams {
                text_document: TextDocumentIdentifier::new(uri.clone()),
                position: Position::new(0, self.column),
            },
            work_done_progress_params: WorkDoneProgressParams::default(),
        }
    }
}

fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/node_modules")
}

pub(crate) const RUST: Language = Language {
    server: "rust-analyzer",
    id: "rust",
    file: "src/main.rs",
    line: |number| format!("fn value_{number}() -> u32 {{ {number} }} fn main() {{}}\n"),
    column: 3,
};

/// Where npm has put a server, if it has. rust-analyzer comes with the toolchain.
fn installed(server: &str) -> Option<PathBuf> {
    if server == RUST.server {
        let version = std::process::Command::new(server).arg("--version").output();
        let found = version.is_ok_and(|version| version.status.success());
        if !found {
            eprintln!("{server} is missing, so nothing is tested");
        }
        return found.then(|| server.into());
    }
    let path = packages().join(".bin").join(server);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: `npm ci` in `tests/peers`", path.display());
    eprintln!("{} is missing, so nothing is tested", path.display());
    None
}

/// What the server asks of the editor, answered as an editor does that has no settings.
#[derive(Clone, Default)]
struct Asked {
    finished: Arc<Mutex<Vec<ProgressToken>>>,
    /// The methods that the server has registered.
    registered: Arc<watch::Sender<Vec<String>>>,
}

impl client::Handler for Asked {
    async fn configuration(&self, _: Context, params: ConfigurationParams) -> Result<Vec<Value>, RpcError> {
        Ok(vec![Value::Null; params.items.len()])
    }

    async fn workspace_folders(&self, _: Context) -> Result<Option<Vec<WorkspaceFolder>>, RpcError> {
        Ok(None)
    }

    async fn refresh_diagnostics(&self, _: Context) -> Result<(), RpcError> {
        Ok(())
    }

    async fn register_capability(&self, _: Context, params: RegistrationParams) -> Result<(), RpcError> {
        let methods = params.registrations.into_iter().map(|registration| registration.method);
        self.registered.send_modify(|registered| registered.extend(methods));
        Ok(())
    }

    async fn unregister_capability(&self, _: Context, _: UnregistrationParams) -> Result<(), RpcError> {
        Ok(())
    }

    async fn create_progress(&self, _: Context, params: WorkDoneProgressCreateParams, work: Work<Creating>) {
        let mut work = work.send_progress_created().await.unwrap();
        while let Ok(GoingNext::Progress(_, next)) = work.next().await {
            work = next;
        }
        self.finished.lock().unwrap().push(params.token);
    }
}

pub(crate) struct Running {
    pub(crate) editor: LspClient<Active>,
    folder: PathBuf,
    pub(crate) reports: Arc<Mutex<Vec<String>>>,
    handler: Asked,
    pid: u32,
}

fn uri_of(path: &Path) -> Uri {
    format!("file://{}", path.display()).parse().unwrap()
}

/// What this editor announces.
fn capabilities() -> ClientCapabilities {
    ClientCapabilities {
        text_document: Some(TextDocumentClientCapabilities {
            hover: Some(HoverClientCapabilities {
                content_format: Some(vec![MarkupKind::PlainText]),
                dynamic_registration: Some(true),
            }),
            diagnostic: Some(DiagnosticClientCapabilities {
                dynamic_registration: Some(true),
                related_document_support: None,
            }),
            ..Default::default()
        }),
        window: Some(WindowClientCapabilities { work_done_progress: Some(true), ..Default::default() }),
        workspace: Some(WorkspaceClientCapabilities {
            configuration: Some(true),
            workspace_folders: Some(true),
            // rust-analyzer asks for this also if it was not announced.
            diagnostic: Some(DiagnosticWorkspaceClientCapabilities { refresh_support: Some(true) }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// An editor in a folder of its own, after the handshake.
pub(crate) async fn started(name: &str, language: &Language) -> Option<Running> {
    let server = installed(language.server)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(server);
    if language.server == RUST.server {
        std::fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = "[package]\nname = \"edited\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
        std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(folder.join(language.file), "").unwrap();
    } else {
        command.arg("--stdio");
    }
    command.current_dir(&folder);
    let child = Child::builder(command).framing(Framing::ContentLength).spawn().unwrap();
    let pid = child.id().unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let options = Options::default().on_report(move |report: &Report| {
        told.lock().unwrap().push(report.to_string());
    });
    let editor = LspClient::with_options(child, options);
    let root = uri_of(&folder);
    let params = InitializeParams {
        process_id: Some(std::process::id()),
        root_uri: Some(root.clone()),
        capabilities: capabilities(),
        workspace_folders: Some(vec![WorkspaceFolder { uri: root, name: "test".to_owned() }]),
        initialization_options: Some(
            json!({ "tsserver": { "path": packages().join("typescript/lib/tsserver.js") } }),
        ),
        ..Default::default()
    };
    let (_, editor) = editor.initialize(params).await.unwrap();
    let editor = editor.send_initialized(InitializedParams {}).await.unwrap();
    let handler = Asked::default();
    test_support::spawn(editor.incoming().serve(handler.clone()));
    Some(Running { editor, folder, reports, handler, pid })
}

impl Running {
    pub(crate) fn uri(&self, language: &Language) -> Uri {
        uri_of(&self.folder.join(language.file))
    }

    async fn open(&self, language: &Language) -> Result<Document<Open>, LspError> {
        self.open_text(language, &(language.line)(0)).await
    }

    pub(crate) async fn open_text(
        &self,
        language: &Language,
        text: &str,
    ) -> Result<Document<Open>, LspError> {
        std::fs::write(self.folder.join(language.file), text).unwrap();
        let text_document =
            TextDocumentItem::new(self.uri(language), language.id.to_owned(), 0, text.to_owned());
        self.editor.send_did_open(DidOpenTextDocumentParams { text_document }).await
    }
}

/// The server wants to be asked again: what it knew has changed meanwhile.
pub(crate) const CONTENT_MODIFIED: i64 = -32801;

/// What stands under the first line's name, as the server says it; nothing if it does not know yet.
fn told(hover: Result<Option<Hover>, LspError>) -> String {
    match hover {
        Ok(hover) => hover.map(|hover| format!("{:?}", hover.contents)).unwrap_or_default(),
        Err(Error::Refused(error)) if error.code == CONTENT_MODIFIED => String::new(),
        Err(error) => panic!("{error}"),
    }
}

/// 200 edits, and after each of them five questions at once: every answer is from the text of that edit.
async fn edited(language: &Language) {
    let Some(running) = started(language.server, language).await else { return };
    let mut document = running.open(language).await.unwrap();
    let uri = running.uri(language);
    let asked = language.question(&uri);
    let mut answers = 0;
    for number in 1..=200 {
        let text = (language.line)(number);
        let change = DidChangeTextDocumentParams {
            text_document: VersionedTextDocumentIdentifier::new(uri.clone(), number),
            content_changes: vec![TextDocumentContentChangeEvent { range: None, range_length: None, text }],
        };
        document.send_did_change(change).await.unwrap();
        let handle = document.handle();
        let ask = || handle.hover(asked.clone());
        let (a, b, c, d, e) = tokio::join!(ask(), ask(), ask(), ask(), ask());
        for answer in [a, b, c, d, e] {
            let mut answer = told(answer);
            // rust-analyzer loads what is around the text meanwhile, and knows nothing at times.
            while answer.is_empty() && language.server == RUST.server {
                answer = told(ask().await);
            }
            assert!(answer.contains(&format!("value_{number}")), "{number}: {answer}");
            answers += 1;
        }
    }
    assert_eq!(answers, 1000);
    let symbols = DocumentSymbolParams {
        text_document: TextDocumentIdentifier::new(uri),
        work_done_progress_params: WorkDoneProgressParams::default(),
        partial_result_params: PartialResultParams::default(),
    };
    let symbols = document.document_symbol(symbols).await.unwrap().unwrap();
    assert!(format!("{symbols:?}").contains("value_200"));
    // The document is open at the shutdown: it ends with the session.
    let editor = running.editor.shutdown().await.unwrap();
    editor.send_exit().await.unwrap().close().await.unwrap();
    drop(document);
    let work = running.handler.finished.lock().unwrap().len();
    let reports = running.reports.lock().unwrap();
    eprintln!(
        "{}: {answers} answers, {work} works of the server, {} reports",
        language.server,
        reports.len()
    );
    // On a busy machine rust-analyzer now and then creates a token again whose work has not ended. That is a mistake of its
    // own, and what it says of that work then is, too.
    let again = "`window/workDoneProgress/create` carries the work \"rustAnalyzer/";
    let is_again = reports.iter().any(|report| report.starts_with(again));
    let about_work =
        |report: &&String| report.contains("workDoneProgress/create") || report.contains("$/progress");
    let others: Vec<&String> = reports.iter().filter(|report| !(is_again && about_work(report))).collect();
    assert_eq!(others, Vec::<&String>::new());
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
pub(crate) async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(180), test).await.unwrap();
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn pyright_answers_from_the_text_before() {
    guarded(edited(&PYTHON)).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_answers_from_the_text_before() {
    guarded(edited(&TYPESCRIPT)).await;
}

#[tokio::test]
#[ignore = "needs rust-analyzer"]
async fn rust_analyzer_answers_from_the_text_before() {
    guarded(edited(&RUST)).await;
}

/// The server loads, reports on it and asks questions, and all of that crosses `shutdown`. rust-analyzer goes on with it
/// after its answer.
async fn shut_down_at_once(language: &Language) {
    let Some(running) = started(&format!("{}-at-once", language.server), language).await else { return };
    let document = running.open(language).await.unwrap();
    let editor = running.editor.shutdown().await.unwrap();
    editor.send_exit().await.unwrap().close().await.unwrap();
    drop(document);
    assert_eq!(*running.reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn servers_of_npm_are_shut_down_while_they_load() {
    guarded(async {
        shut_down_at_once(&PYTHON).await;
        shut_down_at_once(&TYPESCRIPT).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs rust-analyzer"]
async fn rust_analyzer_is_shut_down_while_it_loads() {
    guarded(shut_down_at_once(&RUST)).await;
}

/// pyright announces no diagnostics to an editor that it can register them with. The registration permits the question.
#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn what_pyright_registers_may_be_asked() {
    guarded(async {
        let Some(running) = started("registered", &PYTHON).await else { return };
        let document = running.open_text(&PYTHON, "value: int = ''\n").await.unwrap();
        let mut registered = running.handler.registered.subscribe();
        registered
            .wait_for(|all| all.iter().any(|method| method == "textDocument/diagnostic"))
            .await
            .unwrap();
        let params = DocumentDiagnosticParams {
            text_document: TextDocumentIdentifier::new(running.uri(&PYTHON)),
            identifier: None,
            previous_result_id: None,
            work_done_progress_params: WorkDoneProgressParams::default(),
            partial_result_params: PartialResultParams::default(),
        };
        let report = document.document_diagnostic(params).await.unwrap();
        assert!(format!("{report:?}").contains("reportAssignmentType"), "{report:?}");
        assert_eq!(*running.reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

/// The server dies while a question is under way: its caller gets an error, and so does each later question.
#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn a_server_that_crashes_ends_the_session() {
    guarded(async {
        let Some(running) = started("crash", &PYTHON).await else { return };
        let document = running.open(&PYTHON).await.unwrap();
        let uri = running.uri(&PYTHON);
        let asked = PYTHON.question(&uri);
        assert!(told(document.hover(asked.clone()).await).contains("value_0"));
        let killed = std::process::Command::new("kill").args(["-9", &running.pid.to_string()]).status();
        assert!(killed.unwrap().success());
        let error = loop {
            match document.hover(asked.clone()).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Disconnected { .. }), "{error}");
        assert!(document.hover(asked).await.is_err());
        assert!(running.editor.shutdown().await.is_err());
    })
    .await;
}
