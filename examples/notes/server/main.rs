//! A server that keeps notes in SQLite: `cargo run --example notes --features notes` serves the standard streams, and
//! `-- 127.0.0.1:8080` serves HTTP at `/mcp`, with a bearer token in each request: `NOTES_TOKENS` says whose it is
//! (`ada=TOKEN,bo=TOKEN`). `NOTES_DB` names the file of the notes; without it they are gone when the server ends.

mod resources;
mod store;
mod tools;

use std::collections::HashMap;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use mcp_kit::transport::http::ServerOptions;
use mcp_kit::{Failure, Server, stdio};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let file = std::env::var("NOTES_DB").unwrap_or_else(|_| ":memory:".to_owned());
    let server = Server::new("notes", env!("CARGO_PKG_VERSION"), store::Store::open(&file)?)
        .instructions("Look for a note with `find_notes` before you add another one.")
        .tool::<tools::AddNote>()
        .tool::<tools::FindNotes>()
        .tool::<tools::DeleteNote>()
        .tool::<tools::SumUp>()
        .tool::<tools::ImportNotes>()
        .resource::<resources::OneNote>()
        .prompt::<resources::Review>();
    match std::env::args().nth(1) {
        None => server.serve(stdio()).await,
        Some(address) => serve(server, TcpListener::bind(address).await?).await,
    }
}

/// Serves HTTP until Ctrl+C. A session belongs to the user that began it, and a request without a token is refused.
async fn serve(server: Server<store::Store>, listener: TcpListener) -> Result<(), Failure> {
    let given = std::env::var("NOTES_TOKENS").map_err(|_| "set `NOTES_TOKENS`: `ada=TOKEN,bo=TOKEN`")?;
    let pairs = given.split(',').filter_map(|pair| pair.split_once('='));
    let tokens: HashMap<_, _> =
        pairs.map(|(user, token)| (format!("Bearer {token}"), user.to_owned())).collect();
    let user = move |headers: &HeaderMap| tokens.get(headers.get("authorization")?.to_str().ok()?).cloned();
    let (user_of, changes) = (user.clone(), server.changes());
    let http = server.http(ServerOptions::new().principal(move |request| user_of(&request.headers)))?;
    let guard = from_fn(move |request: Request, next: Next| {
        let is_known = user(request.headers()).is_some();
        let refused = (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]);
        async move { if is_known { next.run(request).await } else { refused.into_response() } }
    });
    let router = axum::Router::new().route("/mcp", http.method_router().layer(guard));
    println!("serving http://{}/mcp", listener.local_addr()?);
    let stop = async move { tokio::signal::ctrl_c().await.map_or((), |()| changes.end()) };
    Ok(http.serve(listener, router, stop).await?)
}
