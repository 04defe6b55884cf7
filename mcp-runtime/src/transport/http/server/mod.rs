//! The server side of Streamable HTTP.
//!
//! [`HttpServer`] calls a function with the transport of each new session. It refuses requests from other origins,
//! requests that are too large or too slow, and requests for unknown sessions. The session checks the messages.
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
//! - `service.rs`: the server, which opens and ends sessions. `options.rs`: the settings. `guard.rs`: checks the head
//!   of a request. `requests.rs`: POST, GET and DELETE; `one_request.rs`: POST without a session, `request_work.rs`:
//!   the work on it. `refusal.rs`: why a request is not served.
//! - `head.rs`, `identity.rs`: the head of a request, and its client. `quotas.rs`, `clients.rs`: quotas in all and for
//!   each client. `log_limit.rs`: limits log lines that clients can trigger.
//! - `session.rs`: one session as HTTP sees it. `streams.rs`, `stream.rs`: its streams, and one of them. `body.rs`: the
//!   bodies of answers.
//! - `listen.rs`, `timed.rs`: a listener with the limits that slow clients need, and its connections. `within.rs`: limits
//!   of waiting.

mod body;
mod clients;
mod guard;
mod head;
mod identity;
mod listen;
mod log_limit;
mod one_request;
mod options;
mod quotas;
mod refusal;
mod request_work;
mod requests;
mod service;
mod session;
mod stream;
mod streams;
mod timed;
mod within;

pub use head::RequestHead;
pub use listen::ListenOptions;
pub use options::{Allowed, Identify, ServerOptions, ToolHeaders};
pub use service::HttpServer;
pub use session::HttpSession;
