//! The floor over HTTP: a bare axum handler and reqwest, and the JSON of each call. No sessions.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::contest::{Done, Plan, drive};
use crate::floor::{Floor, answer, read_reply, write_request};
use crate::http::OverHttp;
use crate::payload::Tool;

/// What the body of either kind is.
pub const JSON: (axum::http::HeaderName, &str) = (CONTENT_TYPE, "application/json");

/// The client of a floor.
pub fn client() -> reqwest::Client {
    reqwest::Client::builder().tcp_nodelay(true).build().expect("a client can be made")
}

/// A body, which is text.
pub fn text(body: &[u8]) -> &str {
    std::str::from_utf8(body).expect("a body is text")
}

/// Serves a floor.
pub async fn serve(listener: TcpListener, router: Router) {
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a stream has the option"));
    axum::serve(listener, router).await.expect("the listener lasts");
}

/// Calls, one request after the other, or several at once, each with an id of its own.
pub async fn calls<C, U, F>(url: U, client: C, plan: Plan, call: fn(C, U, usize, Tool) -> F) -> Done
where
    C: Clone + Send + Sync + 'static,
    U: Clone + Send + Sync + 'static,
    F: Future<Output = usize> + Send + 'static,
{
    static LAST: AtomicUsize = AtomicUsize::new(0);
    drive(plan, move || {
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        call(client.clone(), url.clone(), id, plan.tool)
    })
    .await
}

async fn call(client: reqwest::Client, url: String, id: usize, tool: Tool) -> usize {
    let mut body = Vec::new();
    write_request(id, tool, &mut body);
    let request = client.post(url).header(JSON.0, JSON.1).body(body);
    let response = request.send().await.expect("the server answers");
    let body = response.bytes().await.expect("the answer has an end");
    assert_eq!(read_reply(text(&body), tool), id);
    tool.length()
}

impl OverHttp for Floor {
    async fn serve_http(listener: TcpListener) {
        let told = async |body: Bytes| {
            let mut out = Vec::new();
            answer(text(&body), &mut out);
            ([JSON], out)
        };
        let silence = async || Body::from_stream(tokio_stream::pending::<Result<Bytes, Infallible>>());
        let router = Router::new().route("/mcp", post(told).get(silence));
        serve(listener, router).await;
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        calls(url, client(), plan, call).await
    }

    /// A connection that rests after a call, and one with a silent stream.
    async fn rest_http(url: String) -> Box<dyn Send> {
        let client = client();
        call(client.clone(), url.clone(), 0, Tool::Echo).await;
        let stream = client.get(&url).send().await.expect("the server answers");
        call(client.clone(), url.clone(), 1, Tool::Echo).await;
        Box::new((client, stream))
    }
}
