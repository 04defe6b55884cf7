//! This library, with the payload types of the floor.

use std::sync::Arc;

use echo::{Active, Caller, Start, Teller, server};
use mcp_runtime::{Options, RpcError, transport};

use crate::contest::{Contestant, Done, InProcess, Plan, drive, itself};
use crate::payload::{Call, Hello, Told};

pub mod echo {
    mcp_runtime::protocol!("src/echo.session");
}

/// A typed session of `echo.session`.
pub struct Ours;

struct Desk;

impl server::Handler for Desk {
    async fn call_tool(&self, _: server::Context, call: Call) -> Result<Told, RpcError> {
        Ok(Told::by(call))
    }
}

/// Serves one session to its end.
pub async fn serve(session: Teller<Start>) {
    let serving = tokio::spawn(session.incoming().serve(Desk));
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
        // As many may wait as the largest case has in flight; a server of one's own would rather refuse some.
        let options = Options::new().max_incoming(10_000);
        tokio::spawn(serve(Teller::with_options(far, options)));
        call(greet(Caller::new(near)).await, plan).await
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = transport::duplex();
            tokio::spawn(serve(Teller::new(far)));
            let session = greet(Caller::new(near)).await;
            session.call_tool(Call::of(crate::payload::Tool::Echo)).await.expect("a call succeeds");
            kept.push(Box::new(session));
        }
        kept
    }
}
