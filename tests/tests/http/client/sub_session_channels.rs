//! Sub-sessions with several linear channels: over HTTP nothing orders what comes for one channel and what goes out on
//! another.

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;

use super::test_server::guarded;
use super::watched;

mod builds {
    mcp_runtime::protocol!("protocols/builds.session");
}
use builds::client::LoggingNext;
use builds::server::{Incoming, SteeringNext};
use builds::{Active, AfterStarted, Builder, Editor, server};

fn build(build: usize) -> Value {
    json!({ "build": build.to_string() })
}

/// Logs a line for each change of the priority, until the build is let go of.
async fn run(build: server::Build<AfterStarted>, key: Value) {
    let (mut logging, mut steering) = build.split();
    loop {
        steering = match steering.next().await.unwrap() {
            SteeringNext::Priority(priority, steering) => {
                logging.send_line(priority).await.unwrap();
                steering
            }
            SteeringNext::Status(_, owed, steering) => {
                owed.respond(json!("running")).unwrap();
                steering
            }
            SteeringNext::Detach(_, steering) => {
                // The channel of the log ends first, and then the other one, and the build with it.
                logging.send_finished(key).await.unwrap();
                return steering.send_detached().await.unwrap();
            }
        }
    }
}

/// Runs a build, with a task for what it logs.
async fn follow(editor: &Editor<Active>, number: usize) {
    let (_, running) = editor.start(build(number)).await.unwrap();
    let handle = running.handle();
    let (mut logging, mut steering) = running.split();
    let (tell, mut lines) = unbounded_channel();
    let logged = test_support::spawn(async move {
        loop {
            match logging.next().await.unwrap() {
                LoggingNext::Line(line, next) => {
                    tell.send(line).unwrap();
                    logging = next;
                }
                LoggingNext::Finished(_) => return,
                LoggingNext::Ask(..) => panic!("nothing is asked"),
            }
        }
    });
    for _ in 0..10 {
        // A request could overtake a notification, so each of these is seen to have arrived.
        steering.send_priority(build(number)).await.unwrap();
        assert_eq!(lines.recv().await, Some(build(number)));
    }
    assert_eq!(handle.status(build(number)).await.unwrap(), json!("running"));
    steering.detach(build(number)).await.unwrap();
    logged.await.unwrap();
}

#[tokio::test]
async fn the_channels_of_a_sub_session_go_side_by_side() {
    guarded(async {
        let server =
            HttpServer::new(ServerOptions::default().opens_with("open"), move |transport| async move {
                let builder = Builder::new(transport).recv_open().await.unwrap().send_opened().await.unwrap();
                let incoming = builder.incoming();
                while let Some(Incoming::Start(params, build)) = incoming.next().await {
                    let build = build.send_started(json!({})).await.unwrap();
                    test_support::spawn(run(build, params));
                }
            });
        let router = axum::Router::new().route("/mcp", server.method_router());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        test_support::spawn(async move { server.serve(listener, router, std::future::pending()).await });

        let reports = Arc::new(Mutex::new(Vec::new()));
        let client = HttpClient::new(format!("http://{address}/mcp")).unwrap();
        let editor = Editor::with_options(client, watched(&reports)).open().await.unwrap();
        // Two at once, and both keys once more.
        for _ in 0..2 {
            tokio::join!(follow(&editor, 1), follow(&editor, 2));
        }
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}
