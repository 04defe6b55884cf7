//! The small MCP server over HTTP: with sessions, without them, and in streams.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io::Error;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};

use super::server::answers;

/// A server that runs until the runtime ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Served>,
}

struct Served {
    manner: &'static str,
    sessions: Mutex<HashSet<String>>,
    /// What was posted.
    seen: Mutex<Vec<Value>>,
    /// Lets a slow answer go on.
    go: Notify,
}

impl Server {
    pub(crate) async fn start(manner: &'static str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::new(Served {
            manner,
            sessions: Mutex::default(),
            seen: Mutex::default(),
            go: Notify::new(),
        });
        let router = Router::new().fallback(serve).with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Server { url, state }
    }

    pub(crate) fn seen(&self) -> Vec<Value> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Lets a slow answer go on.
    pub(crate) fn go(&self) {
        self.state.go.notify_one();
    }
}

async fn serve(State(state): State<Arc<Served>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let host = parts.headers["host"].clone();
    let mut response = match (parts.method.clone(), parts.uri.path()) {
        (Method::POST, "/mcp") => {
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            post(&state, &parts.headers, &body)
        }
        (Method::GET, "/mcp") if state.manner == "resumes" => {
            let reply = json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [] } });
            events(vec![
                event_with_id(2, &progress(3)),
                event_with_id(3, &progress(2)),
                event_with_id(4, &reply),
            ])
        }
        (Method::GET, "/mcp") => events(vec![
            "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}\n\n".to_owned(),
            "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}\n\n".to_owned(),
        ]),
        (Method::DELETE, "/mcp") => {
            let id = parts.headers["mcp-session-id"].to_str().unwrap().to_owned();
            status(if state.sessions.lock().unwrap().remove(&id) { 204 } else { 404 })
        }
        (_, path) => Response::new(format!("something else at {path}").into()),
    };
    response.headers_mut().insert("x-host", host);
    response
}

fn post(state: &Arc<Served>, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return status(400) };
    let seen = {
        let mut seen = state.seen.lock().unwrap();
        seen.push(message.clone());
        seen.len()
    };
    let opens = message["method"] == "initialize";
    let session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    let has_sessions = !matches!(state.manner, "sessionless" | "plain" | "eventless" | "empty");
    let stands_alone = message.pointer("/params/_meta").is_some();
    if has_sessions && !opens && !stands_alone {
        match session {
            // What it says to any client.
            None if state.manner == "lenient" => {}
            None => return status(400),
            Some(id) if !state.sessions.lock().unwrap().contains(&id) => return status(404),
            Some(_) => {}
        }
    }
    let is_first = state.seen.lock().unwrap().iter().filter(|seen| **seen == message).count() == 1;
    let mut response = match (state.manner, message["method"].as_str()) {
        ("rejects", Some("tools/list")) if is_first => status(503),
        ("rejects", Some("ping")) if is_first => {
            // Clients act on the status, whatever the body says.
            let error = json!({ "code": -32001, "message": "who are you?" });
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
            let mut response = json_of(&body);
            *response.status_mut() = StatusCode::FORBIDDEN;
            response
        }
        ("rejects", _) if is_first => status(401),
        (_, None) => status(202),
        ("slow" | "breaks" | "forgets", Some("tools/call")) => slow(state, &message),
        // The client is to go on behind this event, in another stream.
        ("resumes", Some("tools/call")) => events(vec![event_with_id(1, &progress(3))]),
        ("asks", Some("tools/call")) => events(vec![event(&answers("asks", &message)[0])]),
        ("strays", Some("tools/call")) => json_of(&answers("strays", &message)[0]),
        ("plain", Some("tools/call")) => {
            let mut response = json_of(&answers("correct", &message)[0]);
            response.headers_mut().insert("content-type", "text/plain".parse().unwrap());
            response
        }
        ("eventless", Some("tools/call")) => events(vec![format!("{}\n\n", answers("correct", &message)[0])]),
        ("empty", Some("tools/call")) => status(200),
        (manner, _) => match answers(manner, &message).as_slice() {
            [] => status(202),
            [answer] if opens => json_of(answer),
            answers => events(answers.iter().map(event).collect()),
        },
    };
    if opens && has_sessions {
        let id = format!("session {seen}");
        response.headers_mut().insert("mcp-session-id", id.parse().unwrap());
        state.sessions.lock().unwrap().insert(id);
    }
    response
}

fn status(code: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn event(message: &Value) -> String {
    format!("event: message\r\ndata: {message}\r\n\r\n")
}

fn event_with_id(id: u8, message: &Value) -> String {
    format!("id: {id}\n{}", event(message))
}

fn progress(progress: u8) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 7, "progress": progress } })
}

/// With white space that nothing but a comparison of bytes sees.
fn json_of(message: &Value) -> Response<Body> {
    let mut response = Response::new(format!(" {message} \n").into());
    response.headers_mut().insert("content-type", "application/json; charset=utf-8".parse().unwrap());
    response
}

fn events(events: Vec<String>) -> Response<Body> {
    let events = events.into_iter().map(|event| Ok::<_, Infallible>(Bytes::from(event)));
    streaming(Body::from_stream(stream::iter(events)))
}

fn streaming(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response
}

/// A stream whose second event waits. It may break off there, in the middle of an event.
fn slow(state: &Arc<Served>, message: &Value) -> Response<Body> {
    let (send, receive) = mpsc::channel::<Result<Bytes, Error>>(1);
    let (state, message) = (Arc::clone(state), message.clone());
    tokio::spawn(async move {
        send.send(Ok(event(&progress(1)).into())).await.unwrap();
        state.go.notified().await;
        if state.manner == "forgets" {
            return;
        }
        if state.manner == "breaks" {
            let _ = send.send(Ok("data: {\"jso".into())).await;
            let _ = send.send(Err(Error::other("broken"))).await;
        } else {
            let _ = send.send(Ok(event(&answers("correct", &message)[0]).into())).await;
        }
    });
    streaming(Body::from_stream(stream::unfold(receive, async |mut receive| {
        let bytes = receive.recv().await?;
        Some((bytes, receive))
    })))
}
