//! Cancels whose reply follows: the request keeps its connection until the reply has come.

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use mcp_runtime::{Error, RpcError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::test_server::guarded;
use super::watched;

mod hovering {
    mcp_runtime::protocol!("protocols/hovering.session");
}
use hovering::{Editor, Language, server};

/// Waits until it is cancelled, and answers by the line: with a result, or with the error for that.
struct Hovers(UnboundedSender<()>);

impl server::Handler for Hovers {
    async fn hover(&self, context: server::Context, params: Value) -> Result<Value, RpcError> {
        self.0.send(()).unwrap();
        context.cancelled().await;
        match params["line"].as_i64() {
            Some(1) => Ok(json!("a part")),
            _ => Err(context.cancelled_error()),
        }
    }
}

#[tokio::test]
async fn the_reply_to_a_cancelled_request_comes_on_its_connection() {
    guarded(async {
        let (tell, mut started) = unbounded_channel();
        let server = HttpServer::new(ServerOptions::default().opens_with("open"), move |transport| {
            let tell = tell.clone();
            async move {
                let language = Language::new(transport).recv_open().await.unwrap();
                let language = language.send_opened().await.unwrap();
                language.incoming().serve(Hovers(tell)).await;
            }
        });
        let router = axum::Router::new().route("/mcp", server.method_router());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        test_support::spawn(async move { server.serve(listener, router, std::future::pending()).await });

        let reports = Arc::new(Mutex::new(Vec::new()));
        let client = HttpClient::new(format!("http://{address}/mcp")).unwrap();
        let editor = Editor::with_options(client, watched(&reports));
        let editor = editor.send_open().await.unwrap().recv_opened().await.unwrap();
        for (line, wanted) in [(1, Ok(json!("a part"))), (2, Err(-32800))] {
            let mut call = editor.hover(json!({ "line": line }));
            let canceller = call.canceller();
            let cancelling = async {
                started.recv().await.unwrap();
                canceller.cancel().unwrap();
            };
            let (outcome, ()) = tokio::join!(call, cancelling);
            let outcome = outcome.map_err(|error| match error {
                Error::Refused(error) => error.code,
                other => panic!("{other}"),
            });
            assert_eq!(outcome, wanted);
        }
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}
