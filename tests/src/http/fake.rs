//! A scripted HTTP server.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What the message wants, or the method of a request without one.
    pub fn what(&self) -> &str {
        self.body["method"].as_str().unwrap_or(self.method.as_str())
    }
}

pub struct Fake {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Asked>>>,
    serving: JoinHandle<()>,
}

impl Fake {
    /// `answer` is given each request, and how many with the same message there were before.
    pub async fn start(answer: impl Fn(&Asked, usize) -> Response + Send + Sync + 'static) -> Fake {
        Fake::holding(move |asked, before| Some(answer(asked, before))).await.0
    }

    /// The same where some requests are never answered; with each request, as it comes.
    pub async fn holding(
        answer: impl Fn(&Asked, usize) -> Option<Response> + Send + Sync + 'static,
    ) -> (Fake, UnboundedReceiver<Asked>) {
        Fake::waiting(answer, |_| async {}).await
    }

    /// The same where some answers take their time.
    pub async fn waiting<F: Future<Output = ()> + Send + 'static>(
        answer: impl Fn(&Asked, usize) -> Option<Response> + Send + Sync + 'static,
        wait: impl Fn(&Asked) -> F + Send + Sync + 'static,
    ) -> (Fake, UnboundedReceiver<Asked>) {
        let (tell, told) = mpsc::unbounded_channel();
        let wait = Arc::new(wait);
        let seen: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&seen), Arc::new(answer));
        let endpoint = axum::routing::any(move |method: Method, headers: HeaderMap, body: Bytes| {
            let (kept, answer, tell) = (Arc::clone(&kept), Arc::clone(&answer), tell.clone());
            let wait = Arc::clone(&wait);
            async move {
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let asked = Asked { method, headers, body };
                let before = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(asked.clone());
                    kept.iter().filter(|other| other.what() == asked.what()).count() - 1
                };
                let (answer, wait) = (answer(&asked, before), wait(&asked));
                // The test may not want to know.
                let _ = tell.send(asked);
                wait.await;
                match answer {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().route("/mcp", endpoint);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (Fake { address, seen, serving }, told)
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What was asked with POST, in order.
    pub fn posted(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|asked| asked.method == Method::POST)
            .map(|asked| asked.what().to_owned())
            .collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Waits for a request.
pub async fn until(seen: &mut UnboundedReceiver<Asked>, what: &str) {
    while seen.recv().await.expect("the server is there").what() != what {}
}

/// An answer with nothing but its status.
pub fn status(status: u16) -> Response {
    text(status, "text/plain", "")
}

pub fn text(status: u16, form: &str, body: impl Into<String>) -> Response {
    let mut response = Response::new(axum::body::Body::from(body.into()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert("content-type", form.parse().unwrap());
    response
}

/// An answer whose pieces the test says one by one. The test also sees when the client drops it.
pub fn open(form: &str) -> (mpsc::UnboundedSender<String>, Response) {
    let (say, said) = mpsc::unbounded_channel();
    let mut response = text(200, form, "");
    *response.body_mut() = axum::body::Body::new(Said(said));
    (say, response)
}

struct Said(UnboundedReceiver<String>);

impl hyper::body::Body for Said {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece.into()))))
    }
}

/// A result for a request.
pub fn result(asked: &Asked, result: Value) -> Response {
    let reply = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": result });
    text(200, "application/json", reply.to_string())
}

/// The answer to `initialize`.
pub fn hello(asked: &Asked, version: &str, capabilities: Value, session: &str) -> Response {
    let mut response = result(
        asked,
        json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": { "name": "fake", "version": "1" },
        }),
    );
    if !session.is_empty() {
        response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    }
    response
}
