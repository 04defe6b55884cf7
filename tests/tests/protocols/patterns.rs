//! Methods that the protocol does not list: messages whose method is a pattern, in types, without types, and against
//! a peer of raw JSON.

use mcp_runtime::call::WithMethod;
use mcp_runtime::error::MismatchError;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc;

mod extensions {
    mcp_runtime::protocol!("protocols/extensions.session");
}

use extensions::server::Incoming;
use extensions::{Editor, Tool, client, server};

/// An editor and a tool that are active, after one setup step.
async fn active() -> (Editor<extensions::Active>, Tool<extensions::Active>) {
    let (near, far) = duplex();
    let editor = async {
        let mut editor = Editor::new(near);
        editor.send_setup(WithMethod::new("setup/theme", ())).await.unwrap();
        editor.begin(json!({})).await.unwrap().1
    };
    let tool = async {
        let tool = Tool::new(far);
        let server::StartNext::Setup(setup, tool) = tool.next().await.unwrap() else { panic!("no setup") };
        assert_eq!(setup.method, "setup/theme");
        let server::StartNext::Begin(_, tool) = tool.next().await.unwrap() else { panic!("no begin") };
        tool.send_begun(json!({})).await.unwrap()
    };
    tokio::join!(editor, tool)
}

#[tokio::test]
async fn a_typed_side_says_and_learns_the_method() {
    let (editor, tool) = active().await;
    let queue = tool.incoming();
    let serving = async {
        let Incoming::Extension(extension) = queue.next().await.unwrap() else { panic!("no extension") };
        assert_eq!(extension, WithMethod::new("$/setTrace", Some(json!({"value": "off"}))));
        let Incoming::Extension(extension) = queue.next().await.unwrap() else { panic!("no extension") };
        assert_eq!(extension, WithMethod::new("$/", None));
        let Incoming::Vendor(params, responder) = queue.next().await.unwrap() else { panic!("no request") };
        responder.respond(json!([params.method, params.params])).unwrap();
        let Incoming::Acme(params, responder) = queue.next().await.unwrap() else { panic!("no request") };
        assert_eq!(params, WithMethod::new("_acme/build", json!({"wait": true})));
        responder.respond("built".to_owned()).unwrap();
    };
    let asking = async {
        editor.send_extension(WithMethod::new("$/setTrace", Some(json!({"value": "off"})))).await.unwrap();
        editor.send_extension(WithMethod::new("$/", None)).await.unwrap();
        let reply = editor.vendor(WithMethod::new("_other/build", json!({"fast": 1}))).await.unwrap();
        assert_eq!(reply, json!(["_other/build", {"fast": 1}]));
        let reply = editor.acme(WithMethod::new("_acme/build", json!({"wait": true}))).await.unwrap();
        assert_eq!(reply, "built");
    };
    tokio::join!(serving, asking);
}

/// Answers every request with its method, and passes on the methods of notifications.
struct Echo(mpsc::UnboundedSender<String>);

impl server::Handler for Echo {
    async fn extension(&self, _: server::Context, params: WithMethod<Option<Value>>) {
        self.0.send(params.method).unwrap();
    }

    async fn vendor(&self, _: server::Context, params: WithMethod<Value>) -> Result<Value, RpcError> {
        Ok(json!(params.method))
    }

    async fn acme(&self, _: server::Context, params: WithMethod<Value>) -> Result<String, RpcError> {
        Ok(params.method)
    }
}

#[tokio::test]
async fn a_handler_learns_the_method_and_the_peer_may_ask_too() {
    let (editor, tool) = active().await;
    let (told, mut heard) = mpsc::unbounded_channel();
    let serving = test_support::spawn(tool.incoming().serve(Echo(told)));
    let asked = editor.incoming();
    editor.send_extension(WithMethod::new("$/a", None)).await.unwrap();
    assert_eq!(heard.recv().await.unwrap(), "$/a");
    assert_eq!(editor.vendor(WithMethod::new("_b", json!({}))).await.unwrap(), json!("_b"));
    let (reply, ()) = tokio::join!(tool.vendor(WithMethod::new("_c", json!({}))), async {
        let client::Incoming::Vendor(params, responder) = asked.next().await.unwrap() else { panic!() };
        responder.respond(json!(params.method)).unwrap();
    });
    assert_eq!(reply.unwrap(), json!("_c"));
    drop((editor, tool));
    serving.await.unwrap();
}

/// What is wrong with a method that does not fit.
fn mismatch(error: Error) -> (String, MismatchError) {
    let text = error.to_string();
    match error {
        Error::Mismatch { problem, .. } => (text, problem),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_method_that_is_another_message_is_not_sent() {
    let (editor, _tool) = active().await;
    let mut wrong = Vec::new();
    for method in ["$/trace", "trace", ""] {
        let sent = editor.send_extension(WithMethod::new(method, None)).await;
        let (text, problem) = mismatch(sent.unwrap_err());
        assert!(matches!(problem, MismatchError::Method { .. }), "{problem:?}");
        wrong.push(text);
    }
    for method in ["_acme/build", "begin"] {
        wrong.push(mismatch(editor.vendor(WithMethod::new(method, json!({}))).await.unwrap_err()).0);
    }
    // It fits the pattern, and lacks what the condition asks for.
    wrong.push(mismatch(editor.acme(WithMethod::new("_acme/build", json!({}))).await.unwrap_err()).0);
    assert_eq!(
        wrong,
        [
            "the payload of `Extension` stands for methods that fit `$/*`, and `$/trace` would be read as `Trace`: send that",
            "the payload of `Extension` stands for methods that fit `$/*`, and `trace` does not fit it",
            "the payload of `Extension` stands for methods that fit `$/*`, and `` does not fit it",
            "the payload of `Vendor` stands for methods that fit `_*`, and `_acme/build` would be read as `Acme`: send that",
            "the payload of `Vendor` stands for methods that fit `_*`, and `begin` would be read as `Begin`: send that",
            "the payload of `Acme` does not have what tells the message from others: `if wait`",
        ]
    );
}

#[tokio::test]
async fn on_the_wire_stand_the_method_and_its_params() {
    let (wire, mut server) = raw();
    let mut editor = Editor::new(wire);
    editor.send_setup(WithMethod::new("setup/\"quoted\"", ())).await.unwrap();
    let setup = server.hear().await.unwrap();
    assert_eq!(setup, json!({"jsonrpc": "2.0", "method": "setup/\"quoted\""}));
    let (begun, ()) = tokio::join!(editor.begin(json!({})), async {
        let id = server.hear().await.unwrap()["id"].clone();
        server.say(json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
    });
    let editor = begun.unwrap().1;
    let queue = editor.incoming();
    server.say(json!({"jsonrpc": "2.0", "method": "$/telemetry"})).await;
    server.say(json!({"jsonrpc": "2.0", "method": "$/telemetry", "params": [1]})).await;
    for params in [None, Some(json!([1]))] {
        let client::Incoming::Extension(extension) = queue.next().await.unwrap() else { panic!() };
        assert_eq!(extension, WithMethod::new("$/telemetry", params));
    }
    // A request below `$/` is not one that the pattern of notifications stands for, and `$/trace` is listed.
    server.say(json!({"jsonrpc": "2.0", "id": 1, "method": "$/telemetry", "params": {}})).await;
    assert_eq!(server.hear().await.unwrap()["error"]["code"], -32601);
    server.say(json!({"jsonrpc": "2.0", "id": 2, "method": "$/trace", "params": "x"})).await;
    assert_eq!(server.hear().await.unwrap()["error"]["code"], -32600);
    let (reply, ()) = tokio::join!(editor.vendor(WithMethod::new("_x/y", json!({"z": 1}))), async {
        let asked = server.hear().await.unwrap();
        assert_eq!((&asked["method"], &asked["params"]), (&json!("_x/y"), &json!({"z": 1})));
        server.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": "done"})).await;
    });
    assert_eq!(reply.unwrap(), json!("done"));
}

#[tokio::test]
async fn without_types_a_message_is_named_by_the_method_that_is_meant() {
    let (near, far) = duplex();
    let mut editor = CheckedSession::start(near, &extensions::PROTOCOL, Side::Client, Options::default());
    let mut tool = CheckedSession::start(far, &extensions::PROTOCOL, Side::Server, Options::default());
    editor.notify("setup/fonts", &()).await.unwrap();
    let Event::Notification { method, message, .. } = tool.next().await.unwrap() else { panic!() };
    assert_eq!((&*method, message), ("setup/fonts", extensions::messages::SETUP));
    let begin = editor.request("begin", &json!({})).await.unwrap();
    let Event::Request { id, .. } = tool.next().await.unwrap() else { panic!() };
    tool.respond(&id, &json!({})).await.unwrap();
    assert!(matches!(editor.next().await.unwrap(), Event::Reply { id, .. } if id == begin));

    editor.request("_acme/build", &json!({"wait": true, "n": 1})).await.unwrap();
    let Event::Request { id, method, params, message, .. } = tool.next().await.unwrap() else { panic!() };
    assert_eq!((&*method, message), ("_acme/build", extensions::messages::ACME));
    assert_eq!(params.read::<Value>().unwrap(), json!({"wait": true, "n": 1}));
    tool.respond(&id, &"built").await.unwrap();
    assert!(matches!(editor.next().await.unwrap(), Event::Reply { .. }));

    // By its index, the payload says which method is meant.
    let extension = WithMethod::new("$/b", Some(json!({"c": 1})));
    tool.notify(extensions::messages::EXTENSION, &extension).await.unwrap();
    let Event::Notification { method, params, .. } = editor.next().await.unwrap() else { panic!() };
    assert_eq!((&*method, params.read::<Value>().unwrap()), ("$/b", json!({"c": 1})));
    let error = tool.notify(extensions::messages::EXTENSION, &json!({"c": 1})).await.unwrap_err();
    assert!(error.to_string().contains("missing field `method`"), "{error}");
    // A method that no pattern matches is not a message at all.
    let error = tool.notify("b", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
}

#[test]
fn several_lookups_agree() {
    let lookup = mcp_protocol_machine::Lookup::new(&extensions::PROTOCOL);
    for (method, request, notification) in [
        ("$/trace", None, Some("Trace")),
        ("$/other", None, Some("Extension")),
        ("_acme/", Some("Acme"), None),
        ("_acme", Some("Vendor"), None),
        ("acme", None, None),
    ] {
        let name = |found: &[_]| {
            let first = found.first().and_then(|index| extensions::PROTOCOL.message(*index));
            first.map(|message| message.name.to_string())
        };
        assert_eq!(name(lookup.requests(method)).as_deref(), request, "{method}");
        assert_eq!(name(lookup.notifications(method)).as_deref(), notification, "{method}");
    }
}
