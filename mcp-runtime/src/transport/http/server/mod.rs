//! The side of Streamable HTTP that listens.
//!
//! In: HTTP requests, and a function that is given each new session's transport. Out: answers. Refuses what did not
//! come from where it may, what is too large or too slow, and what names a session that is not there; the messages
//! themselves are the session's to judge.
//!
//! ```no_run
//! use mcp_runtime::transport::http::{HttpServer, ServerOptions};
//! # async fn serve_session(transport: mcp_runtime::transport::http::HttpSession) {}
//! # async fn example() -> std::io::Result<()> {
//! let server = HttpServer::new(ServerOptions::default(), |transport| async move {
//!     // `McpServer::new(transport)`, and everything that a session does.
//!     serve_session(transport).await;
//! });
//! let app = axum::Router::new().route("/mcp", server.method_router());
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! server.serve(listener, app, std::future::pending()).await
//! # }
//! ```
//!
//! - `service.rs`: the server, which opens and ends sessions. `options.rs`: the settings. `guard.rs`: what is looked at first. `requests.rs`: POST, GET and DELETE.
//! - `head.rs`, `identity.rs`: the head of a request, and who makes it. `quotas.rs`: what all sessions hold, and each
//!   client's share. `clients.rs`: what is kept of each client. `log_limit.rs`: log lines that clients can bring about.
//! - `session.rs`: one session as HTTP sees it. `streams.rs`, `stream.rs`: its streams, and one of them. `body.rs`: the
//!   bodies of answers.
//! - `listen.rs`, `timed.rs`: a listener with the limits that slow clients need, and its connections.

mod body;
mod clients;
mod guard;
mod head;
mod identity;
mod listen;
mod log_limit;
mod options;
mod quotas;
mod requests;
mod service;
mod session;
mod stream;
mod streams;
mod timed;

pub use head::RequestHead;
pub use identity::Identify;
pub use listen::ListenOptions;
pub use options::{Allowed, ServerOptions};
pub use service::HttpServer;
pub use session::HttpSession;
