//! One HTTP endpoint for every revision, and batches over it.

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use mcp_protocols::types::*;
use mcp_protocols::{REVISIONS, VERSIONS};
use mcp_runtime::transport::http::{HttpClient, HttpServer, HttpSession, ServerOptions};
use mcp_runtime::{Error, Options, RpcError, batch, negotiate_version};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use mcp_protocols::mcp_2025_11_25::{Active, McpClient, McpServer, client, server};

use super::{call, everything, form, guarded, hello, welcome};
use integration_tests::http::wire::{Answer, Ask, Wire};

/// A request, and what it was answered with, if that was JSON.
#[derive(Clone, Debug)]
struct Exchange {
    method: String,
    version: String,
    asked: Value,
    status: u16,
    answer: Value,
}

type Seen = Arc<Mutex<Vec<Exchange>>>;

/// Notes what passes, but for streams, which have no end.
async fn noted(seen: Seen, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let asked = to_bytes(body, usize::MAX).await.unwrap();
    let version = head.headers.get("mcp-protocol-version").map_or("", |version| version.to_str().unwrap());
    let mut exchange = Exchange {
        method: head.method.to_string(),
        version: version.to_owned(),
        asked: serde_json::from_slice(&asked).unwrap_or_default(),
        status: 0,
        answer: Value::Null,
    };
    let mut response = next.run(Request::from_parts(head, Body::from(asked))).await;
    exchange.status = response.status().as_u16();
    if response.headers().get("content-type").is_some_and(|form| form == "application/json") {
        let (head, body) = response.into_parts();
        let answer = to_bytes(body, usize::MAX).await.unwrap();
        exchange.answer = serde_json::from_slice(&answer).unwrap();
        response = Response::from_parts(head, Body::from(answer));
    }
    seen.lock().unwrap().push(exchange);
    response
}

/// An endpoint that speaks every revision.
pub(super) struct Endpoint {
    url: String,
    server: HttpServer,
    seen: Seen,
}

impl Endpoint {
    pub(super) async fn start() -> Endpoint {
        Endpoint::of(ServerOptions::default(), || Tools).await
    }

    /// One with other settings, whose sessions have these handlers.
    pub(super) async fn of<H: server::Handler>(
        options: ServerOptions,
        handler: impl Fn() -> H + Send + Sync + 'static,
    ) -> Endpoint {
        let server = HttpServer::new(options, move |transport| session(transport, handler()));
        let seen = Seen::default();
        let kept = Arc::clone(&seen);
        let endpoint = server.method_router().layer(from_fn(move |request, next| {
            let kept = Arc::clone(&kept);
            noted(kept, request, next)
        }));
        let router = axum::Router::new().route("/mcp", endpoint);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = server.clone();
        test_support::spawn(async move { serving.serve(listener, router, std::future::pending()).await });
        Endpoint { url, server, seen }
    }

    async fn client(&self, version: &str) -> McpClient<Active> {
        self.client_of(version, User, Options::new().revisions(REVISIONS)).await
    }

    pub(super) async fn client_of(
        &self,
        version: &str,
        user: impl client::Handler,
        options: Options,
    ) -> McpClient<Active> {
        let transport = HttpClient::new(&self.url).unwrap();
        let client = McpClient::with_options(transport, options);
        test_support::spawn(client.incoming().serve(user));
        let (result, client) = client.initialize(hello(version, &everything().0)).await.unwrap();
        assert_eq!(result.protocol_version, version);
        client.send_initialized().await.unwrap()
    }

    /// A raw connection to it.
    pub(super) async fn wire(&self) -> Wire {
        let address = self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        Wire::over(TcpStream::connect(address).await.unwrap())
    }

    /// One request over a connection of its own.
    pub(super) async fn ask(&self, ask: &Ask) -> Answer {
        self.wire().await.ask(ask).await
    }

    /// The id of a session that such a connection has opened and made ready.
    pub(super) async fn open(&self, version: &str) -> String {
        let params = hello(version, &everything().0);
        let asked = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
        let answer = self.ask(&Ask::post(asked)).await;
        assert_eq!(answer.json()["result"]["protocolVersion"], version);
        let id = answer.head.get("mcp-session-id").unwrap().to_owned();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.ask(&Ask::post(told).session(&id)).await.head.status, 202);
        id
    }
}

/// One session of the endpoint.
async fn session(transport: HttpSession, handler: impl server::Handler) {
    let session = McpServer::with_options(transport, Options::new().revisions(REVISIONS));
    let serving = test_support::spawn(session.incoming().serve(handler));
    let (params, session) = session.recv_initialize().await.unwrap();
    let version = negotiate_version(&VERSIONS, &params.protocol_version);
    let session = session.send_initialize_result(welcome(version, &everything().1)).await.unwrap();
    // Its client may be gone before it says that it is ready.
    if let Ok(session) = session.recv_initialized().await {
        session.ended().await;
    }
    serving.await.unwrap();
}

/// Accepts what it is asked.
struct User;

impl client::Handler for User {
    async fn elicit(&self, _: client::Context, _: ElicitParams) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::new(ElicitAction::Accept).content([]))
    }

    async fn list_roots(
        &self,
        _: client::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        Ok(ListRootsResult::new([Root::new("file:///a")]))
    }
}

struct Tools;

impl server::Handler for Tools {
    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let said = match params.name.as_str() {
            "elicit" => match context.peer().elicit(form().into()).await {
                Ok(_) => "accepted".to_owned(),
                Err(Error::NotPermitted(_)) => "not permitted".to_owned(),
                Err(error) => error.to_string(),
            },
            "ask twice" => {
                let peer = context.peer();
                match batch((peer.list_roots(None), peer.ping())).await {
                    Ok((roots, ping)) => {
                        let (roots, ping) = tokio::join!(roots, ping);
                        format!("{} roots, {}", roots.unwrap().roots.len(), ping.is_ok())
                    }
                    Err(error) => error.to_string(),
                }
            }
            other => other.to_owned(),
        };
        Ok(CallToolResult::text(said))
    }
}

async fn said(client: &McpClient<Active>, tool: &str) -> String {
    client.call_tool(call(tool)).await.unwrap().first_text().unwrap().to_owned()
}

#[tokio::test]
async fn one_endpoint_serves_each_client_in_its_own_revision() {
    guarded(async {
        let endpoint = Endpoint::start().await;
        let mut clients = Vec::new();
        for version in VERSIONS {
            clients.push((version, endpoint.client(version).await));
        }
        assert_eq!(endpoint.server.session_count(), VERSIONS.len());
        // Side by side, and none is disturbed by what governs the others.
        for (version, client) in &clients {
            let asked = if *version >= "2025-06-18" { "accepted" } else { "not permitted" };
            assert_eq!(said(client, "elicit").await, asked, "{version}");
            let tasks = client.list_tasks(None).await.map(drop);
            match tasks.unwrap_err() {
                // The server has no handler for it, so it refuses the request in revisions that have it.
                Error::Refused(error) => assert_eq!((*version, error.code), ("2025-11-25", -32601)),
                Error::NotPermitted(_) => assert_ne!(*version, "2025-11-25"),
                other => panic!("{version}: {other:?}"),
            }
        }
        for (_, client) in clients {
            client.close().await.unwrap();
        }
        assert_eq!(endpoint.server.session_count(), 0);
        let seen = endpoint.seen.lock().unwrap();
        for version in VERSIONS {
            let own = seen.iter().filter(|exchange| exchange.version == version).count();
            assert!(own >= 4, "{version} is named in every head but the first: {own}");
        }
        let nameless: Vec<&Exchange> = seen.iter().filter(|exchange| exchange.version.is_empty()).collect();
        assert!(
            nameless.len() == VERSIONS.len()
                && nameless.iter().all(|exchange| exchange.asked["method"] == "initialize")
        );
    })
    .await;
}

#[tokio::test]
async fn a_batch_is_one_post_where_the_revision_has_batches() {
    guarded(async {
        let endpoint = Endpoint::start().await;
        for version in VERSIONS {
            let client = endpoint.client(version).await;
            endpoint.seen.lock().unwrap().clear();
            let calls = (client.call_tool(call("a")), client.send_roots_list_changed(), client.ping());
            let sent = batch(calls).await;
            if version != "2025-03-26" {
                assert!(matches!(sent, Err(Error::NoBatches { .. })), "{version}");
                drop(sent);
                assert_eq!(said(&client, "b").await, "b");
                client.close().await.unwrap();
                continue;
            }
            let (called, told, pinged) = sent.unwrap();
            told.unwrap();
            let (called, pinged) = tokio::join!(called, pinged);
            assert_eq!(called.unwrap().first_text(), Some("a"));
            pinged.unwrap();
            let seen = endpoint.seen.lock().unwrap().clone();
            // That the handshake is over may have been told a moment ago.
            let told = |exchange: &&Exchange| exchange.asked["method"] == "notifications/initialized";
            let posted = seen.iter().filter(|exchange| exchange.method == "POST" && !told(exchange));
            let posted: Vec<&Exchange> = posted.collect();
            let [post] = posted[..] else { panic!("{posted:#?}") };
            let methods: Vec<&str> = post
                .asked
                .as_array()
                .unwrap()
                .iter()
                .map(|message| message["method"].as_str().unwrap())
                .collect();
            assert_eq!(methods, ["tools/call", "notifications/roots/list_changed", "ping"]);
            assert_eq!((post.status, post.answer.as_array().map(Vec::len)), (200, Some(2)), "{post:#?}");
            // Of notifications alone nothing is said but that they were taken.
            endpoint.seen.lock().unwrap().clear();
            let told = batch(vec![client.send_roots_list_changed(), client.send_roots_list_changed()]).await;
            assert!(told.unwrap().iter().all(Result::is_ok));
            client.ping().await.unwrap();
            let seen = endpoint.seen.lock().unwrap().clone();
            let post = seen.iter().find(|exchange| exchange.asked.is_array()).unwrap();
            assert_eq!((post.status, &post.answer), (202, &Value::Null));
            client.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_batch_of_the_server_is_answered_with_one_post() {
    guarded(async {
        let endpoint = Endpoint::start().await;
        for version in VERSIONS {
            let client = endpoint.client(version).await;
            endpoint.seen.lock().unwrap().clear();
            let asked = said(&client, "ask twice").await;
            let seen = endpoint.seen.lock().unwrap().clone();
            let lists: Vec<&Value> =
                seen.iter().map(|exchange| &exchange.asked).filter(|asked| asked.is_array()).collect();
            if version == "2025-03-26" {
                assert_eq!(asked, "1 roots, true");
                let [list] = lists[..] else { panic!("{lists:#?}") };
                assert!(list[0]["result"].is_object() && list[1]["result"].is_object(), "{list}");
            } else {
                assert!(asked.contains("does not permit batches") && lists.is_empty(), "{asked}");
            }
            client.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_batch_that_is_lost_fail_one_by_one() {
    guarded(async {
        // It takes the batch, answers one call of two, and loses the other.
        let endpoint = axum::routing::any(async |body: String| {
            let asked: Value = serde_json::from_str(&body).unwrap_or_default();
            let answer = match asked["method"].as_str() {
                Some("initialize") => welcome_json(&asked["id"]),
                _ if asked.is_array() => {
                    let place = usize::from(asked[0]["id"].as_i64() < Some(3));
                    json!([{ "jsonrpc": "2.0", "id": asked[place]["id"], "result": {} }])
                }
                _ => Value::Null,
            };
            let status = if answer.is_null() { 202 } else { 200 };
            Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(Body::from(if answer.is_null() { String::new() } else { answer.to_string() }))
                .unwrap()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        test_support::spawn(async move {
            axum::serve(listener, axum::Router::new().route("/mcp", endpoint)).await
        });
        let transport = HttpClient::new(&url).unwrap();
        let client = McpClient::with_options(transport, Options::new().revisions(REVISIONS));
        let (_, client) = client.initialize(hello("2025-03-26", &json!({}))).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        // First the second one is answered, and of the next two the first.
        for answered in [1, 0] {
            let pings = batch(vec![client.ping(), client.ping()]).await.unwrap();
            for (place, ping) in pings.into_iter().enumerate() {
                match ping.await {
                    Ok(()) => assert_eq!(place, answered),
                    Err(Error::NotDelivered(_)) => assert_ne!(place, answered),
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        // The session lives on.
        assert!(matches!(client.ping().await, Err(Error::NotDelivered(_))));
        client.close().await.unwrap();
    })
    .await;
}

fn welcome_json(id: &Value) -> Value {
    let result = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "forgetful", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}
