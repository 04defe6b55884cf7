//! This library, with the payload types of the floor.

use std::sync::Arc;

use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use mcp_runtime::{Options, RpcError, transport};
use tokio::net::TcpListener;

use crate::contest::{Contestant, Done, InProcess, Plan, drive, itself};
use crate::echo::{Active, Caller, Start, Teller, server};
use crate::http::OverHttp;
use crate::payload::{Call, Hello, Told, Tool};

/// A typed session of `echo.session`.
pub struct Ours;

struct EchoHandler;

impl server::Handler for EchoHandler {
    async fn call_tool(&self, _: server::Context, call: Call) -> Result<Told, RpcError> {
        Ok(Told::by(call))
    }
}

/// Serves one session to its end.
pub async fn serve(session: Teller<Start>) {
    let serving = tokio::spawn(session.incoming().serve(EchoHandler));
    let (_, session) = session.recv_initialize().await.expect("the client greets");
    let session = session.send_welcome(Hello::default()).await.expect("it can be greeted");
    let session = session.recv_initialized().await.expect("it is ready");
    serving.await.expect("serving does not panic");
    drop(session);
}

/// Greets the server.
pub async fn greet(session: Caller<Start>) -> Caller<Active> {
    let (_, session) = session.initialize(Hello::default()).await.expect("the server answers");
    session.send_initialized().await.expect("it can be told")
}

async fn call(session: Caller<Active>, plan: Plan) -> Done {
    let handle = Arc::new(session.handle());
    let done = drive(plan, move || {
        let handle = handle.clone();
        async move { handle.call_tool(Call::of(plan.tool)).await.expect("a call succeeds").length() }
    })
    .await;
    session.close().await.expect("it can be closed");
    done
}

impl Contestant for Ours {
    async fn child(plan: Plan) -> Done {
        let child = transport::Child::spawn(itself("ours")).expect("a child starts");
        call(greet(Caller::new(child)).await, plan).await
    }

    async fn serve_stdio() {
        serve(Teller::new(transport::stdio())).await;
    }
}

impl InProcess for Ours {
    async fn duplex(plan: Plan) -> Done {
        let (near, far) = transport::duplex();
        // As many may wait, and be worked on, as the largest case has in flight; a server of one's own would rather
        // refuse some.
        let options = Options::new().max_incoming(10_000).max_requests(10_000);
        tokio::spawn(serve(Teller::with_options(far, options)));
        call(greet(Caller::new(near)).await, plan).await
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = transport::duplex();
            tokio::spawn(serve(Teller::new(far)));
            let session = greet(Caller::new(near)).await;
            session.call_tool(Call::of(Tool::Echo)).await.expect("a call succeeds");
            kept.push(Box::new(session));
        }
        kept
    }
}

fn over_http(url: &str) -> Caller<Start> {
    Caller::new(HttpClient::new(url).expect("the address is one"))
}

impl OverHttp for Ours {
    async fn serve_http(listener: TcpListener) {
        let server = HttpServer::new(ServerOptions::default(), |transport| serve(Teller::new(transport)));
        let router = axum::Router::new().route("/mcp", server.method_router());
        server.serve(listener, router, std::future::pending()).await.expect("the listener lasts");
    }

    async fn call_http(url: String, plan: Plan) -> Done {
        call(greet(over_http(&url)).await, plan).await
    }

    async fn rest_http(url: String) -> Box<dyn Send> {
        let session = greet(over_http(&url)).await;
        session.call_tool(Call::of(Tool::Echo)).await.expect("a call succeeds");
        Box::new(session)
    }
}
