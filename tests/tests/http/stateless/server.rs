//! The server, against raw clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use integration_tests::http::test_server::{self, TestServer};
use integration_tests::http::wire::Ask;
use mcp_protocols::types::{
    ClientCapabilities, Implementation, InitializeParams, InitializeResult, ServerCapabilities,
};
use mcp_protocols::{mcp_2025_03_26, mcp_2026_07_28};
use mcp_runtime::RpcError;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::desk::{Host, call, meta, request};

/// The status of an answer, and the code of its error.
async fn refused(host: &Host, ask: Ask) -> (u16, i64) {
    let answer = host.ask(&ask).await;
    assert_eq!(answer.head.get("mcp-session-id"), None);
    (answer.head.status, answer.json()["error"]["code"].as_i64().unwrap_or_default())
}

#[tokio::test]
async fn a_request_is_served_without_a_session() {
    let host = Host::start().await;
    let answer = host.ask(&request(1, "server/discover", json!({}))).await;
    assert_eq!((answer.head.status, answer.head.get("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(answer.head.get("mcp-session-id"), None);
    // The name of a session that somebody has made up, and the place in a stream, mean nothing.
    let ask = call(2, "headers").session("made up").with("last-event-id", "p1-0");
    let answer = host.ask(&ask).await;
    let said = answer.json()["result"]["content"][0]["text"].clone();
    assert_eq!(said, json!(["tools/call", "headers", "2026-07-28", "made up"]).to_string());
    let long = host.ask(&call(3, "long")).await.json()["result"]["content"][0]["text"].clone();
    assert_eq!(long.as_str().unwrap().len(), 100_000);
    host.idle().await;
    host.stop().await;
}

#[tokio::test]
async fn progress_and_the_log_come_on_the_answer() {
    let host = Host::start().await;
    let mut told = meta();
    told["progressToken"] = json!(7);
    told["io.modelcontextprotocol/logLevel"] = json!("debug");
    let ask = request(1, "tools/call", json!({ "name": "talk", "_meta": told }));
    let mut stream = host.wire().await.stream(&ask).await;
    assert_eq!(stream.head.get("x-accel-buffering"), Some("no"));
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        assert!(event.id.is_empty() && event.retry.is_empty(), "no client can come back for it: {event:?}");
        events.push(event.json());
    }
    let methods: Vec<_> = events.iter().map(|event| event["method"].as_str().unwrap_or_default()).collect();
    let progress = "notifications/progress";
    assert_eq!(methods, ["notifications/message", progress, progress, ""]);
    assert_eq!(events[2]["params"], json!({ "progress": 2, "progressToken": 7 }));
    assert_eq!((&events[3]["id"], &events[3]["result"]["content"][0]["text"]), (&json!(1), &json!("talked")));
    host.idle().await;
}

#[tokio::test]
async fn heads_are_compared_with_their_messages() {
    const MISMATCH: (u16, i64) = (400, -32020);
    let host = Host::start().await;
    let good = call(1, "headers");
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        assert_eq!(refused(&host, good.clone().without(name)).await, MISMATCH, "{name}");
        assert_eq!(refused(&host, good.clone().and(name, "other")).await, MISMATCH, "{name} twice");
    }
    assert_eq!(refused(&host, good.clone().with("mcp-method", "tools/list")).await, MISMATCH);
    assert_eq!(refused(&host, good.clone().with("mcp-method", "Tools/Call")).await, MISMATCH, "case counts");
    assert_eq!(refused(&host, good.clone().with("mcp-name", "other")).await, MISMATCH);
    assert_eq!(refused(&host, good.clone().with("mcp-name", "=?base64?!?=")).await, MISMATCH);
    assert_eq!(refused(&host, good.clone().with("mcp-name", "h\u{e9}aders")).await, MISMATCH);
    // Another spelling of the same.
    assert_eq!(refused(&host, good.clone().with("mcp-name", "=?base64?aGVhZGVycw==?=")).await, (200, 0));
    assert_eq!(refused(&host, good.clone().with("mcp-protocol-version", "2025-11-25")).await, MISMATCH);
    let answer = host.ask(&good.with("mcp-name", "other")).await.json();
    assert_eq!(answer["id"], 1);
    let said = "the header `mcp-name` says `other`, and the message `headers`: make them equal";
    assert_eq!(answer["error"]["message"], said);
    // A resource has a URI, and a list of tools has nothing of the kind.
    let read = request(2, "resources/read", json!({ "uri": "file:///a" }));
    assert_eq!(refused(&host, read.clone().with("mcp-name", "file:///b")).await, MISMATCH);
    assert_eq!(refused(&host, read).await, (404, -32601), "the server has no resources");
    assert_eq!(refused(&host, request(3, "tools/list", json!({}))).await, (200, 0));
    host.idle().await;
}

#[tokio::test]
async fn parameters_are_compared_where_the_program_names_them() {
    const MISMATCH: (u16, i64) = (400, -32020);
    let host = Host::start().await;
    let query =
        |arguments: Value| request(1, "tools/call", json!({ "name": "query", "arguments": arguments }));
    let both = query(json!({ "city": "Köln", "near": { "floor": 42 } }));
    let right = both.clone().with("mcp-param-city", "=?base64?S8O2bG4=?=").with("mcp-param-floor", "42.0");
    assert_eq!(refused(&host, right.clone()).await, (200, 0));
    assert_eq!(refused(&host, right.clone().without("mcp-param-floor")).await, MISMATCH);
    assert_eq!(refused(&host, right.clone().with("mcp-param-floor", "43")).await, MISMATCH);
    assert_eq!(refused(&host, right.with("mcp-param-city", "Koeln")).await, MISMATCH);
    // Nothing is expected for `null`, and for what is not there.
    let none = query(json!({ "city": null }));
    assert_eq!(refused(&host, none.clone()).await, (200, 0));
    assert_eq!(refused(&host, none.clone().with("mcp-param-city", "Oslo")).await, MISMATCH);
    assert_eq!(refused(&host, none.with("mcp-param-other", "Oslo")).await, (200, 0));
}

#[tokio::test]
async fn each_request_says_its_revision_and_what_its_client_can_do() {
    let host = Host::start().await;
    let with_meta = |meta: Value| request(1, "tools/call", json!({ "name": "headers", "_meta": meta }));
    for key in ["protocolVersion", "clientCapabilities"] {
        let mut told = meta();
        told.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{key}"));
        assert_eq!(refused(&host, with_meta(told)).await, (400, -32602), "{key}");
    }
    let mut told = meta();
    told["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let ask = with_meta(told).with("mcp-protocol-version", "2099-01-01");
    let answer = host.ask(&ask).await;
    assert_eq!((answer.head.status, &answer.json()["id"]), (400, &json!(1)));
    let error = &answer.json()["error"];
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"], json!({ "supported": ["2026-07-28"], "requested": "2099-01-01" }));
    assert_eq!(refused(&host, call(2, "needs sampling")).await, (400, -32021));
    assert_eq!(refused(&host, call(3, "no such tool")).await, (200, -32602), "it is the tool that is wrong");
    assert_eq!(refused(&host, request(4, "ping", json!({}))).await, (404, -32601));
    host.idle().await;
}

#[tokio::test]
async fn nothing_but_single_messages_is_posted() {
    let host = Host::start().await;
    let told = |body: Value| Ask::post(body).with("mcp-protocol-version", "2026-07-28");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } });
    assert_eq!(refused(&host, told(json!([list]))).await.0, 400);
    assert_eq!(refused(&host, told(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }))).await.0, 400);
    assert_eq!(refused(&host, told(json!("text"))).await.0, 400);
    let get = host.ask(&Ask::get()).await;
    assert_eq!((get.head.status, get.head.get("allow")), (405, Some("POST")));
    assert_eq!(host.ask(&Ask::get().session("made up")).await.head.status, 405);
    assert_eq!(host.ask(&Ask::method("DELETE").session("made up")).await.head.status, 405);
    let put = host.ask(&Ask::method("PUT")).await;
    assert_eq!((put.head.status, put.head.get("allow")), (405, Some("POST")));
    // The revision has no notification that a client posts. One that is not known is ignored, as JSON-RPC has it.
    let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/other" });
    let accepted = host.ask(&told(unknown.clone())).await;
    assert_eq!((accepted.head.status, &*accepted.body), (202, ""));
    let wrong = told(unknown.clone()).with("mcp-method", "notifications/another");
    assert_eq!(refused(&host, wrong).await, (400, -32020));
    assert_eq!(refused(&host, Ask::post(unknown)).await, (400, -32020));
    host.idle().await;
}

#[tokio::test]
async fn a_client_of_an_older_revision_learns_which_one_is_served() {
    let host = Host::start().await;
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } },
    });
    let answer = host.ask(&Ask::post(&initialize)).await;
    assert_eq!((answer.head.status, answer.head.get("mcp-session-id")), (400, None));
    let error = &answer.json()["error"];
    assert_eq!(error["code"], -32020);
    assert!(error["message"].as_str().unwrap().contains("`2026-07-28`"), "{error}");
    let answer = host.ask(&Ask::post(&initialize).with("mcp-protocol-version", "2025-11-25")).await;
    assert_eq!(answer.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    let old = Ask::post(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    assert_eq!(refused(&host, old.clone()).await, (400, -32020));
    assert_eq!(
        refused(&host, old.session("gone").with("mcp-protocol-version", "2025-11-25")).await,
        (400, -32022)
    );
    host.idle().await;
}

#[tokio::test]
async fn a_server_with_sessions_does_not_serve_requests_without_one() {
    let host = TestServer::start();
    let id = host.ready().await;
    let answer = host.ask(&call(1, "echo")).await;
    assert_eq!((answer.head.status, &answer.json()["error"]["code"]), (400, &json!(-32000)));
    assert_eq!(host.ask(&call(1, "echo").session("made up")).await.head.status, 404);
    assert_eq!(host.ask(&Ask::get()).await.head.status, 400);
    // What such a request leads to ends at once; the session is still there.
    assert_eq!(
        host.ask(&Ask::post(integration_tests::http::test_server::list(2)).session(&id)).await.head.status,
        200
    );
    assert_eq!(host.server.session_count(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_request() {
    let mut host = Host::start().await;
    // Before the answer has begun, and after that.
    let mut wire = host.wire().await;
    wire.send(&call(1, "wait").text()).await;
    assert_eq!(host.told().await, "waiting");
    drop(wire);
    assert_eq!(host.told().await, "cancelled");
    let mut told = meta();
    told["progressToken"] = json!(1);
    let ask = request(1, "tools/call", json!({ "name": "wait aloud", "_meta": told }));
    let mut stream = host.wire().await.stream(&ask).await;
    assert_eq!(stream.message().await.unwrap().json()["method"], "notifications/progress");
    assert_eq!(host.told().await, "waiting");
    drop(stream);
    assert_eq!(host.told().await, "cancelled");
    host.idle().await;
}

#[tokio::test]
async fn requests_of_two_clients_may_have_equal_ids() {
    let mut host = Host::start().await;
    let hold = |who: &str| request(1, "tools/call", json!({ "name": "hold", "arguments": { "who": who } }));
    let (mut one, mut other) = (host.wire().await, host.wire().await);
    one.send(&hold("one").text()).await;
    assert_eq!(host.told().await, "holding");
    other.send(&hold("other").text()).await;
    assert_eq!(host.told().await, "holding");
    assert_eq!(host.server.session_count(), 2);
    host.signals.hold.add_permits(2);
    for (wire, who) in [(&mut one, "\"one\""), (&mut other, "\"other\"")] {
        let answer = wire.answer().await.json();
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!(who)));
    }
    host.idle().await;
    // Each request was a session by itself.
    assert_eq!(host.signals.begun.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn limits_hold_for_requests_without_a_session() {
    let mut host =
        Host::with(ServerOptions::default().max_body_bytes(1000).max_sessions(1).client_share(100)).await;
    let long = request(1, "tools/call", json!({ "name": "hold", "arguments": { "who": "x".repeat(2000) } }));
    assert_eq!(host.ask(&long).await.head.status, 413);
    assert_eq!(refused(&host, call(1, "headers").with("host", "evil.example")).await.0, 403);
    assert_eq!(refused(&host, call(1, "headers").with("origin", "http://evil.example")).await.0, 403);
    assert_eq!(refused(&host, call(1, "headers").with("accept", "application/json")).await.0, 406);
    let mut wire = host.wire().await;
    wire.send(&call(1, "hold").text()).await;
    assert_eq!(host.told().await, "holding");
    let answer = host.ask(&call(2, "headers")).await;
    assert_eq!((answer.head.status, &answer.json()["error"]["data"]["limit"]), (429, &json!("max_sessions")));
    host.signals.hold.add_permits(1);
    assert_eq!(wire.answer().await.head.status, 200);
    host.idle().await;
}

#[tokio::test]
async fn what_runs_is_answered_when_the_server_stops() {
    let mut host = Host::start().await;
    let mut wire = host.wire().await;
    wire.send(&call(1, "hold").text()).await;
    assert_eq!(host.told().await, "holding");
    let hold = host.signals.hold.clone();
    let stopping = test_support::spawn(host.stop());
    hold.add_permits(1);
    assert_eq!(wire.answer().await.head.status, 200);
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_program_ends_its_subscriptions_when_the_server_stops() {
    let mut host = Host::start().await;
    let ask = request(1, "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut stream = host.wire().await.stream(&ask).await;
    let told = stream.next().await.unwrap().json();
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(host.told().await, "subscribed");
    host.begin_to_stop();
    // From here on nothing new is served, and what runs has its time.
    while host.server.session_count() > 0 {
        tokio::task::yield_now().await;
    }
    host.signals.changes.send(true).unwrap();
    assert_eq!(stream.next().await.unwrap().json()["method"], "notifications/tools/list_changed");
    host.signals.changes.send(false).unwrap();
    let closed = stream.next().await.unwrap().json();
    assert_eq!((&closed["id"], &closed["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!((host.told().await, stream.next().await), ("closed".to_owned(), None));
    host.stop().await;
}

/// Answers `server/discover`.
struct Modern;

impl mcp_2026_07_28::server::Handler for Modern {
    async fn discover(
        &self,
        _: mcp_2026_07_28::server::Context,
        _: mcp_2026_07_28::types::RequestParams,
    ) -> Result<mcp_2026_07_28::types::DiscoverResult, RpcError> {
        let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 1,
            "cacheScope": "public", "resultType": "complete" });
        Ok(serde_json::from_value(found).unwrap())
    }
}

/// Answers pings, as the library does by itself.
struct Legacy;

impl mcp_2025_03_26::server::Handler for Legacy {}

#[tokio::test]
async fn one_endpoint_serves_clients_with_and_without_sessions() {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        if transport.is_for_one_request() {
            assert_eq!(transport.id(), None);
            mcp_2026_07_28::McpServer::new(transport).incoming().serve(Modern).await;
        } else {
            let session = mcp_2025_03_26::McpServer::new(transport);
            let serving = test_support::spawn(session.incoming().serve(Legacy));
            let Ok((_, session)) = session.recv_initialize().await else { return };
            let hello =
                InitializeResult::new("2025-03-26", ServerCapabilities::new(), Implementation::new("a", "1"));
            let session = session.send_initialize_result(hello).await.unwrap().recv_initialized().await;
            serving.await.unwrap();
            drop(session);
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/mcp", server.method_router());
    let mut wire = test_server::connect(&router);
    let serving =
        test_support::spawn(async move { server.serve(listener, router, std::future::pending()).await });

    let modern = mcp_2026_07_28::McpClient::new(HttpClient::new(&url).unwrap());
    let capabilities = mcp_2026_07_28::types::ClientCapabilities::new();
    let meta = mcp_2026_07_28::types::RequestMeta::new("2026-07-28", capabilities);
    let asked = mcp_2026_07_28::types::RequestParams::new(meta);
    modern.discover(asked.clone()).await.unwrap();

    let legacy = mcp_2025_03_26::McpClient::new(HttpClient::new(&url).unwrap());
    let hello = InitializeParams::new("2025-03-26", ClientCapabilities::new(), Implementation::new("b", "1"));
    let (_, legacy) = legacy.initialize(hello).await.unwrap();
    let legacy = legacy.send_initialized().await.unwrap();
    legacy.ping().await.unwrap();
    modern.discover(asked).await.unwrap();
    legacy.ping().await.unwrap();
    legacy.close().await.unwrap();

    // A client of the revision without sessions has nothing to get or to delete, whatever session it names.
    let session = wire.ask(&Ask::post(test_server::initialize(1))).await;
    let session = session.head.get("mcp-session-id").unwrap();
    for ask in [Ask::get(), Ask::method("DELETE")] {
        for named in [ask.clone(), ask.clone().session("made up"), ask.clone().session(session)] {
            let answer = wire.ask(&named.with("mcp-protocol-version", "2026-07-28")).await;
            assert_eq!((answer.head.status, answer.head.get("allow")), (405, Some("POST")), "{answer:?}");
        }
        // One of another revision has, and so has one that does not say its revision.
        assert_eq!(wire.ask(&ask).await.head.status, 400);
        for version in ["2025-06-18", "2099-01-01"] {
            assert_eq!(wire.ask(&ask.clone().with("mcp-protocol-version", version)).await.head.status, 400);
        }
    }
    modern.close().await.unwrap();
    serving.abort();
}

/// Notes how many tasks there are while it answers.
struct Counting(Arc<AtomicUsize>);

impl mcp_2026_07_28::server::Handler for Counting {
    async fn discover(
        &self,
        context: mcp_2026_07_28::server::Context,
        params: mcp_2026_07_28::types::RequestParams,
    ) -> Result<mcp_2026_07_28::types::DiscoverResult, RpcError> {
        self.0.store(alive_tasks(), Ordering::Relaxed);
        Modern.discover(context, params).await
    }
}

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn a_request_whose_handler_does_not_wait_costs_no_task() {
    let (before, during) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let noted = during.clone();
    let server = HttpServer::new(ServerOptions::default(), move |transport| {
        let counting = Counting(noted.clone());
        async move { mcp_2026_07_28::McpServer::new(transport).incoming().serve(counting).await }
    });
    let noted = before.clone();
    let count = move |request: Request, next: Next| {
        noted.store(alive_tasks(), Ordering::Relaxed);
        next.run(request)
    };
    let router = axum::Router::new().route("/mcp", server.method_router()).layer(from_fn(count));
    let mut wire = test_server::connect(&router);
    // With the first request a task begins that looks for clients which read nothing.
    for id in 1..=2 {
        assert_eq!(wire.ask(&request(id, "server/discover", json!({}))).await.head.status, 200);
    }
    assert_eq!(during.load(Ordering::Relaxed), before.load(Ordering::Relaxed));
    assert_eq!(alive_tasks(), before.load(Ordering::Relaxed), "nothing is left of it");
    assert_eq!(server.session_count(), 0);
}

#[tokio::test]
async fn a_program_that_ends_too_early_is_an_error() {
    let server = HttpServer::new(ServerOptions::default(), |transport| async move {
        drop(mcp_2026_07_28::McpServer::new(transport));
    });
    let router = axum::Router::new().route("/mcp", server.method_router());
    let answer = test_server::connect(&router).ask(&call(1, "headers")).await;
    // It may end before it has taken the session on, or after that.
    assert!(matches!(answer.head.status, 500 | 503), "{answer:?}");
    assert!(answer.json()["error"]["message"].is_string());
}
