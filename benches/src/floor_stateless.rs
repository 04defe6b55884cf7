//! The floors over HTTP for the revision without sessions: what `floor` does, and what each message of that revision
//! says more. Its `_meta` is written and read, and its headers are written, and compared with it.
//!
//! Two clients call the same server: reqwest, and the client of hyper, which is what reqwest has inside.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::contest::{Done, Plan};
use crate::floor_http::{JSON, calls, client, serve, text};
use crate::http::OverHttp;
use crate::payload::{Arguments, Content, Told, Tool, said};

/// Calls without a session, by reqwest.
pub struct FloorStateless;

/// The same by the client of hyper.
pub struct FloorStatelessHyper;

type Hyper = hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>;

const ACCEPTED: &str = "application/json, text/event-stream";

const REVISION: &str = "2026-07-28";
const CALL: &str = "tools/call";
const COMPLETE: &str = "complete";

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

#[derive(Deserialize, Serialize)]
struct StatelessRequest<'a> {
    jsonrpc: &'a str,
    id: usize,
    method: &'a str,
    #[serde(borrow)]
    params: StatelessCall<'a>,
}

#[derive(Deserialize, Serialize)]
struct StatelessCall<'a> {
    name: String,
    arguments: Arguments,
    #[serde(rename = "_meta", borrow)]
    meta: Meta<'a>,
}

#[derive(Deserialize, Serialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Capabilities,
}

/// None that the benches use.
#[derive(Deserialize, Serialize)]
struct Capabilities {}

#[derive(Deserialize, Serialize)]
struct StatelessReply<'a> {
    jsonrpc: &'a str,
    id: usize,
    #[serde(borrow)]
    result: CallResult<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: Vec<Content>,
    result_type: &'a str,
}

/// Answers a request whose head says what its message does.
fn answer(headers: &HeaderMap, body: &str) -> Result<Vec<u8>, StatusCode> {
    let request: StatelessRequest<'_> = serde_json::from_str(body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let says = |name: &str, expected: &str| headers.get(name).is_some_and(|value| value == expected);
    let StatelessCall { name, arguments, meta } = request.params;
    let fits = meta.version == REVISION
        && says(VERSION_HEADER, meta.version)
        && says(METHOD_HEADER, request.method)
        && says(NAME_HEADER, &name);
    if !fits {
        return Err(StatusCode::BAD_REQUEST);
    }
    if request.method != CALL {
        return Err(StatusCode::NOT_FOUND);
    }
    let content = vec![Content::Text { text: said(&name, arguments.text) }];
    let result = CallResult { content, result_type: COMPLETE };
    let reply = StatelessReply { jsonrpc: "2.0", id: request.id, result };
    Ok(serde_json::to_vec(&reply).expect("a reply can be written"))
}

/// The message of a call.
fn written(id: usize, tool: Tool) -> Vec<u8> {
    let meta = Meta { version: REVISION, capabilities: Capabilities {} };
    let arguments = Arguments { text: "hello".to_owned() };
    let params = StatelessCall { name: tool.name().to_owned(), arguments, meta };
    let request = StatelessRequest { jsonrpc: "2.0", id, method: CALL, params };
    serde_json::to_vec(&request).expect("a request can be written")
}

/// How long the text of a reply is.
fn read(body: &[u8], id: usize, tool: Tool) -> usize {
    let reply: StatelessReply<'_> = serde_json::from_str(text(body)).expect("a reply comes in");
    assert_eq!((reply.id, reply.result.result_type), (id, COMPLETE));
    let told = Told { content: reply.result.content };
    assert_eq!(told.length(), tool.length());
    told.length()
}

async fn call(client: reqwest::Client, url: String, id: usize, tool: Tool) -> usize {
    let body = written(id, tool);
    let post = client.post(url).header(JSON.0, JSON.1).header(ACCEPT, ACCEPTED);
    let post =
        post.header(VERSION_HEADER, REVISION).header(METHOD_HEADER, CALL).header(NAME_HEADER, tool.name());
    let response = post.body(body).send().await.expect("the server answers");
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.bytes().await.expect("the answer has an end");
    read(&body, id, tool)
}

async fn call_by_hyper(client: Hyper, url: Uri, id: usize, tool: Tool) -> usize {
    let body = Full::from(written(id, tool));
    let post = axum::http::Request::post(url).header(JSON.0, JSON.1).header(ACCEPT, ACCEPTED);
    let post =
        post.header(VERSION_HEADER, REVISION).header(METHOD_HEADER, CALL).header(NAME_HEADER, tool.name());
    let post = post.body(body).expect("it is a request");
    let response = client.request(post).await.expect("the server answers");
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.expect("the answer has an end").to_bytes();
    read(&body, id, tool)
}

/// A client of hyper, with the settings of that of reqwest.
fn hyper_client() -> Hyper {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector)
}

impl OverHttp for FloorStateless {
    async fn serve_http(listener: TcpListener) {
        let told =
            async |headers: HeaderMap, body: Bytes| answer(&headers, text(&body)).map(|out| ([JSON], out));
        serve(listener, Router::new().route("/mcp", post(told))).await;
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        calls(url, client(), plan, call).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let client = client();
        call(client.clone(), url, 0, Tool::Echo).await;
        Box::new(client)
    }
}

impl OverHttp for FloorStatelessHyper {
    async fn serve_http(listener: TcpListener) {
        FloorStateless::serve_http(listener).await;
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        calls(url.parse::<Uri>().expect("the address is one"), hyper_client(), plan, call_by_hyper).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let client = hyper_client();
        call_by_hyper(client.clone(), url.parse().expect("the address is one"), 0, Tool::Echo).await;
        Box::new(client)
    }
}
