//! Sessions of the example `language_server`: its two sides together, and its server against whatever a client sends.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/language_server/main.rs"]
mod example;
#[allow(dead_code, reason = "this test needs only some of it")]
use std::sync::{Arc, Mutex};

use example::lsp::{Editor, LanguageServerError, Start, Tool};
use example::{Text, changed, closing, connection, opened, serve, start, stop};
use mcp_runtime::transport::{ByteStream, Framing};
use mcp_runtime::{Options, Report};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A server that runs in a task of its own, and what it tells: its exit code, and documents as they were closed.
struct Served {
    exit: JoinHandle<Result<u8, LanguageServerError>>,
    closed: UnboundedReceiver<Text>,
}

fn served(tool: Tool<Start>) -> Served {
    let (seen, closed) = unbounded_channel();
    Served { exit: test_support::spawn(serve(tool, seen)), closed }
}

fn both() -> (Editor<Start>, Served) {
    let (near, far) = connection();
    (Editor::new(near), served(Tool::new(far)))
}

/// A server and a client of raw text, and what the server reports.
fn against_raw() -> (Raw, Served, Arc<Mutex<Vec<String>>>) {
    let (wire, raw) = raw();
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
    (raw, served(Tool::with_options(wire, options)), reports)
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str, params: impl serde::Serialize) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn text(uri: &str, version: i32, text: &str) -> Text {
    Text { uri: uri.to_owned(), version, text: text.to_owned() }
}

#[tokio::test]
async fn documents_live_side_by_side_from_opening_to_closing() {
    let (editor, mut tool) = both();
    let editor = start(editor).await.unwrap();
    let mut a = editor.send_did_open(opened("a", "1")).await.unwrap();
    let mut b = editor.send_did_open(opened("b", "1")).await.unwrap();
    a.send_did_change(changed("a", 2, "12")).await.unwrap();
    b.send_did_change(changed("b", 2, "one")).await.unwrap();
    a.send_did_change(changed("a", 3, "123")).await.unwrap();
    a.send_did_close(closing("a")).await.unwrap();
    assert_eq!(tool.closed.recv().await.unwrap(), text("a", 3, "123"));
    // A closed document can be opened again, and the other one is still open.
    let a = editor.send_did_open(opened("a", "again")).await.unwrap();
    a.send_did_close(closing("a")).await.unwrap();
    assert_eq!(tool.closed.recv().await.unwrap(), text("a", 1, "again"));
    b.send_did_close(closing("b")).await.unwrap();
    assert_eq!(tool.closed.recv().await.unwrap(), text("b", 2, "one"));
    stop(editor).await.unwrap().send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn a_document_is_opened_once_and_changed_under_its_own_name() {
    let (editor, mut tool) = both();
    let editor = start(editor).await.unwrap();
    let mut a = editor.send_did_open(opened("a", "1")).await.unwrap();
    let twice = editor.send_did_open(opened("a", "2")).await.unwrap_err();
    assert!(matches!(twice, LanguageServerError::NotPermitted(_)), "{twice}");
    let other = a.send_did_change(changed("b", 2, "2")).await.unwrap_err();
    assert!(matches!(other, LanguageServerError::NotPermitted(_)), "{other}");
    // Nothing of this was written, and the document is as it was.
    a.send_did_close(closing("a")).await.unwrap();
    assert_eq!(tool.closed.recv().await.unwrap(), text("a", 1, "1"));
}

#[tokio::test]
async fn nothing_is_opened_after_shutdown() {
    let (editor, tool) = both();
    let editor = start(editor).await.unwrap();
    let handle = editor.handle();
    let editor = stop(editor).await.unwrap();
    let late = handle.send_did_open(opened("a", "1")).await.unwrap_err();
    assert!(matches!(late, LanguageServerError::NotPermitted(_)), "{late}");
    editor.send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
}

/// A document that is open at `shutdown` is neither changed nor closed after it: the sender gets an error, and nothing
/// is written.
#[tokio::test]
async fn a_document_that_is_open_at_shutdown_rests() {
    let (editor, mut tool) = both();
    let editor = start(editor).await.unwrap();
    let mut a = editor.send_did_open(opened("a", "1")).await.unwrap();
    let b = editor.send_did_open(opened("b", "1")).await.unwrap();
    let editor = stop(editor).await.unwrap();
    let late = a.send_did_change(changed("a", 2, "2")).await.unwrap_err();
    let LanguageServerError::NotPermitted(violation) = late else { panic!("{late}") };
    assert_eq!(
        violation.to_string(),
        "`textDocument/didChange` would go on with what was opened before, which is suspended in `Stopped`: the client may \
         send `exit` now (rule \"nothing but exit after shutdown\", must)"
    );
    assert!(a.send_did_close(closing("a")).await.is_err());
    // A document that is given up says nothing, either.
    drop(b);
    let editor = editor.send_exit().await.unwrap();
    editor.close().await.unwrap();
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
    assert!(tool.closed.try_recv().is_err());
}

#[tokio::test]
async fn exit_without_shutdown_is_an_unhappy_end() {
    let (editor, tool) = both();
    start(editor).await.unwrap().send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(tool.exit.await.unwrap().unwrap(), 1);
    let (editor, tool) = both();
    editor.send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(tool.exit.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn a_client_that_keeps_no_order_gets_an_error_and_changes_nothing() {
    let (mut client, mut tool, reports) = against_raw();
    let early = client.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "shutdown"})).await;
    assert_eq!(early["error"]["code"], -32002, "{early}");
    let params = json!({"processId": null, "rootUri": null, "capabilities": {}});
    let hello = client.ask(request(2, "initialize", params.clone())).await;
    assert_eq!(hello["result"]["capabilities"]["textDocumentSync"], 1, "{hello}");
    client.say(notification("initialized", json!({}))).await;
    let twice = client.ask(request(3, "initialize", params)).await;
    assert!(twice["error"]["code"].is_number(), "{twice}");

    assert_eq!(reports.lock().unwrap().len(), 2, "{reports:?}");
    client.say(notification("textDocument/didChange", changed("a", 2, "before it is open"))).await;
    client.say(notification("textDocument/didOpen", opened("a", "open"))).await;
    client.say(notification("textDocument/didChange", changed("a", 3, "changed"))).await;
    client.say(notification("textDocument/didClose", closing("a"))).await;
    client.say(notification("textDocument/didChange", changed("a", 4, "after it was closed"))).await;
    assert_eq!(tool.closed.recv().await.unwrap(), text("a", 3, "changed"));

    let stopped = client.ask(json!({"jsonrpc": "2.0", "id": 4, "method": "shutdown"})).await;
    assert_eq!(stopped.get("result"), Some(&Value::Null), "{stopped}");
    let reported = reports.lock().unwrap().clone();
    assert_eq!(reported.len(), 4, "{reported:#?}");
    let again = client.ask(json!({"jsonrpc": "2.0", "id": 5, "method": "shutdown"})).await;
    assert_eq!(again["error"]["code"], -32600, "{again}");
    client.say(notification("textDocument/didOpen", opened("b", "too late"))).await;
    client.say(json!({"jsonrpc": "2.0", "method": "exit"})).await;
    client.hush().await;
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
    assert!(tool.closed.try_recv().is_err());
    let reported = reports.lock().unwrap().clone();
    assert_eq!(reported.len(), 6, "{reported:#?}");
}

/// A client that goes on with its documents after `shutdown` is to blame for it, whether the server has answered or
/// not.
#[tokio::test]
async fn a_client_that_changes_a_document_after_shutdown_gets_an_error_and_changes_nothing() {
    let (mut client, mut tool, reports) = against_raw();
    let params = json!({"processId": null, "rootUri": null, "capabilities": {}});
    client.ask(request(1, "initialize", params)).await;
    client.say(notification("initialized", json!({}))).await;
    client.say(notification("textDocument/didOpen", opened("a", "open"))).await;
    client.say(notification("textDocument/didChange", changed("a", 2, "changed"))).await;
    client.say(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})).await;
    client.say(notification("textDocument/didChange", changed("a", 3, "too late"))).await;
    let stopped = client.hear().await.unwrap();
    assert_eq!(stopped.get("result"), Some(&Value::Null), "{stopped}");
    client.say(notification("textDocument/didClose", closing("a"))).await;
    client.say(json!({"jsonrpc": "2.0", "method": "exit"})).await;
    client.hush().await;
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
    assert!(tool.closed.recv().await.is_none(), "nothing was closed");
    let reported = reports.lock().unwrap().clone();
    assert_eq!(reported.len(), 2, "{reported:#?}");
    for report in reported {
        assert!(report.contains("the client") && report.contains("is suspended in"), "{report}");
    }
}

/// A client that writes headers by hand, and reads those of the server.
#[tokio::test]
async fn messages_stand_behind_their_lengths_on_the_wire() {
    let (mut client, far) = tokio::io::duplex(1 << 16);
    let tool = served(Tool::new(ByteStream::new(far).framing(Framing::ContentLength)));
    let hello = request(1, "initialize", json!({"processId": null, "rootUri": null, "capabilities": {}}));
    let shutdown = json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"});
    let exit = json!({"jsonrpc": "2.0", "method": "exit"});
    for message in [hello, notification("initialized", json!({})), shutdown, exit] {
        let message = message.to_string();
        let header =
            format!("Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n", message.len());
        client.write_all((header + &message).as_bytes()).await.unwrap();
    }
    let mut written = String::new();
    client.read_to_string(&mut written).await.unwrap();
    let replies = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"textDocumentSync":1}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":null}"#,
    ];
    let framed = replies.map(|reply| format!("Content-Length: {}\r\n\r\n{reply}", reply.len()));
    assert_eq!(written, framed.concat());
    assert_eq!(tool.exit.await.unwrap().unwrap(), 0);
}
