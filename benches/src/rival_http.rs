//! `rmcp` over HTTP: with its defaults, and tuned.
//!
//! By default its client keeps no idle connection (`pool_max_idle_per_host(0)`), so that each call opens one, and
//! `axum::serve`, which its documentation shows, leaves Nagle's algorithm on. `rmcp-tuned` keeps connections and sets
//! `TCP_NODELAY` on both sides, and changes nothing else.

use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleClient, ServiceExt};
use tokio::net::TcpListener;

use crate::contest::{Done, Plan};
use crate::http::OverHttp;
use crate::payload::Tool;
use crate::rival::{Rival, RivalHandler, call, call_of};

/// `rmcp` with its settings tuned for speed.
pub struct Tuned;

type Session = RunningService<RoleClient, ()>;

fn router() -> Router {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    Router::new().nest_service("/mcp", StreamableHttpService::new(|| Ok(RivalHandler), sessions, config))
}

async fn greet(url: String) -> Session {
    let transport = StreamableHttpClientTransport::from_uri(url);
    ().serve(transport).await.expect("the server answers")
}

async fn greet_tuned(url: String) -> Session {
    let client = reqwest::Client::builder().tcp_nodelay(true).build().expect("a client can be made");
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    ().serve(transport).await.expect("the server answers")
}

async fn rest(session: Session) -> Box<dyn Send> {
    session.call_tool(call_of(Tool::Echo)).await.expect("a call succeeds");
    Box::new(session)
}

impl OverHttp for Rival {
    async fn serve_http(listener: TcpListener) {
        axum::serve(listener, router()).await.expect("the listener lasts");
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        call(greet(url).await, plan).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        rest(greet(url).await).await
    }
}

impl OverHttp for Tuned {
    async fn serve_http(listener: TcpListener) {
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a stream has the option"));
        axum::serve(listener, router()).await.expect("the listener lasts");
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        call(greet_tuned(url).await, plan).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        rest(greet_tuned(url).await).await
    }
}
