//! The floor over HTTP for the revision without sessions: what `floor` does, and what each message of that revision
//! says more. Its `_meta` is written and read, and its headers are written, and compared with it.

use axum::Router;
use axum::body::Bytes;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::contest::{Done, Plan};
use crate::floor_http::{JSON, calls, client, serve, text};
use crate::http::OverHttp;
use crate::payload::{Arguments, Content, Told, Tool, said};

/// Calls that are no part of a session.
pub struct FloorStateless;

const REVISION: &str = "2026-07-28";
const CALL: &str = "tools/call";
const COMPLETE: &str = "complete";

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

#[derive(Deserialize, Serialize)]
struct Request<'a> {
    jsonrpc: &'a str,
    id: usize,
    method: &'a str,
    #[serde(borrow)]
    params: Call<'a>,
}

#[derive(Deserialize, Serialize)]
struct Call<'a> {
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
struct Reply<'a> {
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
    let request: Request<'_> = serde_json::from_str(body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let says = |name: &str, expected: &str| headers.get(name).is_some_and(|value| value == expected);
    let Call { name, arguments, meta } = request.params;
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
    let reply = Reply { jsonrpc: "2.0", id: request.id, result };
    Ok(serde_json::to_vec(&reply).expect("a reply can be written"))
}

async fn call(client: reqwest::Client, url: String, id: usize, tool: Tool) -> usize {
    let meta = Meta { version: REVISION, capabilities: Capabilities {} };
    let arguments = Arguments { text: "hello".to_owned() };
    let params = Call { name: tool.name().to_owned(), arguments, meta };
    let request = Request { jsonrpc: "2.0", id, method: CALL, params };
    let body = serde_json::to_vec(&request).expect("a request can be written");
    let post = client.post(url).header(JSON.0, JSON.1).header(ACCEPT, "application/json, text/event-stream");
    let post =
        post.header(VERSION_HEADER, REVISION).header(METHOD_HEADER, CALL).header(NAME_HEADER, tool.name());
    let response = post.body(body).send().await.expect("the server answers");
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.bytes().await.expect("the answer has an end");
    let reply: Reply<'_> = serde_json::from_str(text(&body)).expect("a reply comes in");
    assert_eq!((reply.id, reply.result.result_type), (id, COMPLETE));
    let told = Told { content: reply.result.content };
    assert_eq!(told.length(), tool.length());
    told.length()
}

impl OverHttp for FloorStateless {
    async fn serve_http(listener: TcpListener) {
        let told =
            async |headers: HeaderMap, body: Bytes| answer(&headers, text(&body)).map(|out| ([JSON], out));
        serve(listener, Router::new().route("/mcp", post(told))).await;
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        calls(url, plan, call).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let client = client();
        call(client.clone(), url, 0, Tool::Echo).await;
        Box::new(client)
    }
}
