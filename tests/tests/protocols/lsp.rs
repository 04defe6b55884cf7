//! `lsp-protocols`: registrations, what surrounds `shutdown`, and the payloads that are not those of `lsp-types`.

use std::sync::{Arc, Mutex};

use lsp_protocols::lsp_3_17::server::{Context, Document, Handler, OpenNext};
use lsp_protocols::lsp_3_17::{Active, Creating, LspClient, LspServer, Open, client};
use lsp_protocols::types::*;
use mcp_runtime::{Error, Options, Report, RpcError, transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_support::raw::raw;

const URI: &str = "file:///a.txt";

/// Answers every hover about an open document.
struct Hovering;

impl Handler for Hovering {
    async fn did_open(&self, _: Context, _: DidOpenTextDocumentParams, mut document: Document<Open>) {
        while let Ok(OpenNext::Hover(_, answer, next)) = document.next().await {
            answer.respond(None).unwrap();
            document = next;
        }
    }
}

/// Agrees to every registration, and to announced work, which it follows to its end.
struct Agreeing;

impl client::Handler for Agreeing {
    async fn create_progress(
        &self,
        _: client::Context,
        _: WorkDoneProgressCreateParams,
        work: client::Work<Creating>,
    ) {
        let Ok(mut work) = work.send_progress_created().await else { return };
        while let Ok(client::GoingNext::Progress(_, next)) = work.next().await {
            work = next;
        }
    }

    async fn register_capability(&self, _: client::Context, _: RegistrationParams) -> Result<(), RpcError> {
        Ok(())
    }

    async fn unregister_capability(
        &self,
        _: client::Context,
        _: UnregistrationParams,
    ) -> Result<(), RpcError> {
        Ok(())
    }
}

/// Both sides after the handshake, and what they report.
struct Both {
    client: LspClient<Active>,
    server: LspServer<Active>,
    reports: Arc<Mutex<Vec<String>>>,
}

async fn both(capabilities: Value) -> Both {
    let (near, far) = transport::duplex();
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let options = || {
        let seen = Arc::clone(&reports);
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()))
    };
    let params = serde_json::from_value(json!({ "processId": null, "rootUri": null, "capabilities": {
        "window": { "workDoneProgress": true },
    } }));
    let capabilities = serde_json::from_value(capabilities).unwrap();
    let result = InitializeResult { capabilities, server_info: None };
    let server = async {
        let (_, server) = LspServer::with_options(far, options()).recv_initialize().await.unwrap();
        // A server may write into the log at once.
        let message = LogMessageParams { typ: MessageType::LOG, message: "starting".to_owned() };
        server.send_log_message(message).await.unwrap();
        let server = server.send_initialize_result(result).await.unwrap();
        server.recv_initialized().await.unwrap().1
    };
    let client = async {
        let client = LspClient::with_options(near, options());
        let (_, client) = client.initialize(params.unwrap()).await.unwrap();
        client.send_initialized(InitializedParams {}).await.unwrap()
    };
    let (server, client) = tokio::join!(server, client);
    test_support::spawn(server.incoming().serve(Hovering));
    test_support::spawn(client.incoming().serve(Agreeing));
    Both { client, server, reports }
}

impl Both {
    async fn open(&self) -> Result<client::Document<Open>, Error> {
        let text_document = TextDocumentItem::new(URI.parse().unwrap(), "text".to_owned(), 0, String::new());
        self.client.send_did_open(DidOpenTextDocumentParams { text_document }).await
    }
}

fn question() -> HoverParams {
    serde_json::from_value(
        json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } }),
    )
    .unwrap()
}

#[tokio::test]
async fn a_registration_permits_what_it_names_until_it_is_removed() {
    let both = both(json!({ "textDocumentSync": 1 })).await;
    let document = both.open().await.unwrap();
    let early = document.hover(question()).await.unwrap_err();
    assert!(matches!(early, Error::NotPermitted(_)), "{early}");
    let (id, method) = ("1".to_owned(), "textDocument/hover".to_owned());
    let registration = Registration { id: id.clone(), method: method.clone(), register_options: None };
    both.server.register_capability(RegistrationParams { registrations: vec![registration] }).await.unwrap();
    assert_eq!(document.hover(question()).await.unwrap(), None);
    let removed = UnregistrationParams { unregisterations: vec![Unregistration { id, method }] };
    both.server.unregister_capability(removed).await.unwrap();
    let late = document.hover(question()).await.unwrap_err();
    assert!(matches!(late, Error::NotPermitted(_)), "{late}");
    assert_eq!(*both.reports.lock().unwrap(), Vec::<String>::new());
}

/// `textDocumentSync` is a number or an object. The number stands for opening, changing and saving; the object names
/// what the server wants to know.
#[tokio::test]
async fn documents_are_opened_for_a_server_that_wants_to_know() {
    for (capabilities, opened) in [
        (json!({ "textDocumentSync": 2 }), true),
        (json!({ "textDocumentSync": { "openClose": true } }), true),
        (json!({ "textDocumentSync": { "change": 1 } }), false),
        (json!({}), false),
    ] {
        assert_eq!(both(capabilities.clone()).await.open().await.is_ok(), opened, "{capabilities}");
    }
}

/// The client sends nothing but `exit` after `shutdown`. The server may go on with what it does.
#[tokio::test]
async fn the_server_goes_on_until_it_exits() {
    let both = both(json!({ "textDocumentSync": 1, "hoverProvider": true })).await;
    let document = both.open().await.unwrap();
    let token = || NumberOrString::String("indexing".to_owned());
    let work =
        both.server.send_create_progress(WorkDoneProgressCreateParams { token: token() }).await.unwrap();
    let work = work.recv_progress_created().await.unwrap();
    let handle = both.server.handle();
    let server = async {
        let server = both.server.recv_shutdown().await.unwrap().send_shutdown_result().await.unwrap();
        let message = LogMessageParams { typ: MessageType::LOG, message: "stopping".to_owned() };
        handle.send_log_message(message).await.unwrap();
        let value = ProgressValue::WorkDone(WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
        work.send_progress_end(ProgressParams { token: token(), value }).await.unwrap();
        server.recv_exit().await.unwrap().close().await.unwrap();
    };
    let client = async {
        let client = both.client.shutdown().await.unwrap();
        client.send_exit().await.unwrap().close().await.unwrap();
    };
    tokio::join!(server, client);
    assert!(document.hover(question()).await.is_err());
    assert_eq!(*both.reports.lock().unwrap(), Vec::<String>::new());
}

/// What a payload is on the wire, and that it is read again.
fn is_written<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: Value) {
    assert_eq!(serde_json::to_value(value).unwrap(), json);
    assert_eq!(serde_json::from_value::<T>(json).unwrap(), *value);
}

#[test]
fn payloads_are_those_of_the_specification() {
    let diagnostic = Some(DiagnosticWorkspaceClientCapabilities { refresh_support: Some(true) });
    let workspace = Some(WorkspaceClientCapabilities { diagnostic, ..Default::default() });
    let capabilities = ClientCapabilities { workspace, ..Default::default() };
    is_written(
        &InitializeParams { capabilities, ..Default::default() },
        json!({ "processId": null, "rootUri": null, "capabilities": {
            "workspace": { "diagnostics": { "refreshSupport": true } },
        } }),
    );
    let server = ServerCapabilities { hover_provider: Some(true.into()), ..Default::default() };
    let capabilities = Capabilities { server, type_hierarchy_provider: Some(OneOf::Left(true)) };
    is_written(
        &InitializeResult { capabilities, server_info: None },
        json!({ "capabilities": { "hoverProvider": true, "typeHierarchyProvider": true } }),
    );
    is_written(
        &ProgressParams { token: NumberOrString::Number(1), value: ProgressValue::Partial(json!([1])) },
        json!({ "token": 1, "value": [1] }),
    );
    is_written(
        &ProgressParams {
            token: NumberOrString::Number(1),
            value: ProgressValue::WorkDone(WorkDoneProgress::End(WorkDoneProgressEnd::default())),
        },
        json!({ "token": 1, "value": { "kind": "end" } }),
    );
    is_written(
        &DocumentDiagnosticParams {
            text_document: TextDocumentIdentifier::new(URI.parse().unwrap()),
            identifier: None,
            previous_result_id: None,
            work_done_progress_params: WorkDoneProgressParams::default(),
            partial_result_params: PartialResultParams::default(),
        },
        json!({ "textDocument": { "uri": URI } }),
    );
    is_written(&WorkspaceDiagnosticParams::default(), json!({ "previousResultIds": [] }));
}

#[tokio::test]
async fn what_is_asked_before_the_handshake_is_refused_as_the_specification_says() {
    let (wire, mut client) = raw();
    let server = LspServer::new(wire);
    let document = json!({ "uri": URI });
    let at = json!({ "textDocument": document, "position": { "line": 0, "character": 0 } });
    for (id, (method, params)) in [
        ("textDocument/hover", &at),
        ("textDocument/documentSymbol", &json!({ "textDocument": document })),
        ("textDocument/willSaveWaitUntil", &json!({ "textDocument": document, "reason": 1 })),
        ("workspace/symbol", &json!({ "query": "" })),
        ("shutdown", &Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let refused = client.ask(request).await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(id), &json!(-32002)), "{refused}");
        assert!(
            refused["error"]["message"].as_str().unwrap().contains("initialize comes first"),
            "{refused}"
        );
    }
    drop(server);
}
