//! Settings of the client: proxies, limits, versions.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::transport::http::{
    ClientOptions, HttpClient, HttpConnections, HttpServer, ListenOptions, ServerOptions,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::fake::{self, Fake};
use super::notes::{Notebook, Writer, server};
use super::proxy::Proxy;
use super::test_server::{self, TestServer, guarded};
use super::wire::{Ask, Wire};
use super::{McpClient, Reports, Roots, call, initialize, ready, said, tools, watched};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_session_goes_through_the_proxy_of_a_client_of_one_s_own() {
    guarded(async {
        // The name cannot be resolved, so every answer has come through the proxy.
        let options = ServerOptions::default().hosts(["mcp.invalid"]);
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let proxy = Proxy::to(host.address()).await;
        let own = reqwest::Client::builder()
            .proxy(reqwest::Proxy::http(format!("http://{}", proxy.address)).unwrap());
        let own = HttpConnections::build(own).unwrap();
        let client = HttpClient::with_connections(own.clone(), "http://mcp.invalid/mcp").unwrap();
        let (session, reports) = ready(client).await.unwrap();
        test_support::spawn(session.incoming().serve(Roots));
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "hello");
        assert_eq!(said(&session.call_tool(call("ask")).await.unwrap()), "2 roots");
        // Another session may share the client, and with it the connections.
        let other = HttpClient::with_connections(own, "http://mcp.invalid/mcp").unwrap();
        let (other, _) = ready(other).await.unwrap();
        assert_eq!(said(&other.call_tool(call("echo")).await.unwrap()), "hello");
        assert_eq!(host.server.session_count(), 2);
        assert!(proxy.connections.load(Ordering::SeqCst) > 0);
        session.close().await.unwrap();
        other.close().await.unwrap();
        assert_eq!(host.server.session_count(), 0, "also the last request has found its way");
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_session_waits_for_its_deletion_so_long_and_no_longer() {
    guarded(async {
        let (server, mut seen) = Fake::holding(|asked, _| match asked.what() {
            "initialize" => Some(fake::hello(asked, "2025-03-26", tools(), "s1")),
            "notifications/initialized" => Some(fake::status(202)),
            "DELETE" => None,
            _ => Some(fake::status(405)),
        })
        .await;
        let options = ClientOptions::default().delete_within(HOUR);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let reports = Reports::default();
        let options = watched(&reports).close_timeout(HOUR * 2);
        let session = McpClient::with_options(client, options);
        let (_, session) = session.initialize(initialize()).await.unwrap();
        let session = session.send_initialized().await.unwrap();
        let closing = test_support::spawn(session.close());
        fake::until(&mut seen, "DELETE").await;
        // From here on everybody waits, and the clock goes on to when somebody does not.
        tokio::time::pause();
        let begun = Instant::now();
        closing.await.unwrap().unwrap();
        let waited = begun.elapsed();
        assert!(waited > HOUR / 2 && waited <= HOUR + Duration::from_secs(1), "{waited:?}");
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_waits_so_long_for_what_is_never_done() {
    guarded(async {
        // Less than the time after which handlers are dropped.
        let minute = Duration::from_secs(60);
        let listen = ListenOptions::default().shutdown_within(minute);
        let mut host = TestServer::listening_with(ServerOptions::default(), listen).await;
        let id = host.ready().await;
        // The notification comes on a stream, so that a test can see that it has begun.
        let mut held = host.wire().await.stream(&Ask::post(test_server::call(1, "talk")).session(&id)).await;
        assert_eq!(held.message().await.unwrap().json()["params"]["progress"], 1.0);
        let port = host.stop();
        tokio::time::pause();
        let begun = Instant::now();
        port.serving.await.unwrap().unwrap();
        let waited = begun.elapsed();
        assert!(waited > minute / 2 && waited <= minute * 2, "{waited:?}");
        assert_eq!(held.message().await, None, "it ends without the answer");
    })
    .await;
}

#[tokio::test]
async fn a_protocol_that_begins_in_other_words_is_served_once_they_are_set() {
    guarded(async {
        let (tell, mut told) = mpsc::unbounded_channel();
        let notebooks = HttpServer::new(ServerOptions::default().opens_with("open"), move |transport| {
            let tell = tell.clone();
            async move {
                let notebook = Notebook::new(transport).recv_open().await.unwrap();
                let mut notebook = notebook.send_opened().await.unwrap();
                loop {
                    notebook = match notebook.next().await.unwrap() {
                        server::ReadyNext::Add(notebook) => {
                            tell.send("added").unwrap();
                            notebook
                        }
                        server::ReadyNext::Save(notebook) => {
                            tell.send("saved").unwrap();
                            notebook.close().await.unwrap();
                            return;
                        }
                    };
                }
            }
        });
        let router = axum::Router::new().route("/mcp", notebooks.method_router());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = notebooks.clone();
        test_support::spawn(async move { serving.serve(listener, router, std::future::pending()).await });

        // What begins other protocols begins none here.
        let mut wire = Wire::over(tokio::net::TcpStream::connect(address).await.unwrap());
        let refused = wire.ask(&Ask::post(test_server::initialize(0))).await;
        assert_eq!((refused.head.status, &refused.json()["id"]), (400, &json!(0)));
        let words = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(words.starts_with("a session begins with `open`"), "{words}");
        assert_eq!(notebooks.session_count(), 0);

        let writer = Writer::new(HttpClient::new(format!("http://{address}/mcp")).unwrap());
        let mut writer = writer.send_open().await.unwrap().recv_opened().await.unwrap();
        writer.send_add().await.unwrap();
        writer.send_add().await.unwrap();
        writer.send_save().await.unwrap().close().await.unwrap();
        for expected in ["added", "added", "saved"] {
            assert_eq!(told.recv().await, Some(expected));
        }
    })
    .await;
}
