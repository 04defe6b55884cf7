//! The provider of the example `redis_sessions`, against a real Redis server: sessions whose ids are kept there.
//!
//! `redis-server` must be installed;
//! `cargo test -p integration-tests --features redis --test redis_sessions -- --ignored` runs them.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "these are tests"
)]
#![allow(missing_docs)]

#[path = "../../../examples/redis_sessions/provider.rs"]
mod provider;
#[path = "redis.rs"]
mod redis_server;
#[path = "../../../examples/quickstart/server.rs"]
#[allow(dead_code, reason = "the quickstart serves its standard streams, too")]
mod server;

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_protocols::types::{CallToolParams, ClientCapabilities, Implementation, InitializeParams};
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpServer, ServerOptions};
use mcp_runtime::{Error, Options, Resumed};
use provider::{FromRedis, NoSession};
use redis_server::Redis;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const KEY: &str = "mcp:session:anna";

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("the test hangs");
}

/// A server of MCP with sessions that somebody else begins, and a note of every request: its method, and the session
/// that it names.
struct TestServer {
    server: HttpServer,
    url: String,
    seen: Arc<Mutex<Vec<(String, String)>>>,
    begun: mpsc::UnboundedReceiver<String>,
    serving: JoinHandle<()>,
}

impl TestServer {
    async fn start() -> TestServer {
        let (tell, begun) = mpsc::unbounded_channel();
        let server = HttpServer::new(ServerOptions::default(), move |transport| {
            // What asks for `server/discover` comes by itself, and is refused.
            if let Some(id) = transport.id() {
                tell.send(id.to_owned()).unwrap();
            }
            let is_session = transport.id().is_some();
            async move {
                let served = server::serve_session(transport, Options::new()).await;
                assert!(served.is_ok() || !is_session, "{served:?}");
            }
        });
        let seen: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let notes = Arc::clone(&seen);
        let note = from_fn(move |request: Request, next: Next| {
            let session = request.headers().get("mcp-session-id");
            let session = session.map_or("", |id| id.to_str().unwrap()).to_owned();
            notes.lock().unwrap().push((request.method().to_string(), session));
            next.run(request)
        });
        let router = axum::Router::new().route("/mcp", server.method_router()).layer(note);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = test_support::spawn(async move { axum::serve(listener, router).await.unwrap() });
        TestServer { server, url, seen, begun, serving }
    }

    /// Opens a session, as another program would. It lasts as long as the value that is returned with its id.
    async fn begin(&mut self) -> (String, McpClient<Active>) {
        let options = ClientOptions::default().listen(false);
        let client = McpClient::new(HttpClient::new(&self.url).unwrap().options(options));
        let owner = Implementation::new("owner", "1.0.0");
        let params = InitializeParams::new("2025-03-26", ClientCapabilities::new(), owner);
        let (_, client) = client.initialize(params).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        let id = self.begun.recv().await.unwrap();
        // When a call is answered the server has taken all that was said before.
        assert_eq!(echo(&client).await.unwrap(), "hello");
        self.seen.lock().unwrap().clear();
        (id, client)
    }

    /// A client in the session that is kept under the key.
    fn resume(&self, redis: &Redis) -> McpClient<Active> {
        self.resume_within(redis, Duration::from_secs(60))
    }

    fn resume_within(&self, redis: &Redis, within: Duration) -> McpClient<Active> {
        let provider = FromRedis::new(&redis.url(), KEY, within).unwrap();
        let options = ClientOptions::default().listen(false).protocol_version("2025-03-26");
        let transport = HttpClient::new(&self.url).unwrap().options(options).sessions_from(provider);
        McpClient::<Active>::resume(transport, Resumed::unknown())
    }

    /// The sessions that were named since this was asked for the last time, all by a POST.
    fn named(&self) -> Vec<String> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert!(seen.iter().all(|(method, _)| method == "POST"), "{seen:?}");
        seen.into_iter().map(|(_, session)| session).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A call, and what it gives.
async fn echo(session: &McpClient<Active>) -> Result<String, Error> {
    let result = session.call_tool(CallToolParams::new("echo").with_argument("message", "hello")).await?;
    Ok(result.first_text().unwrap().to_owned())
}

/// What the provider has said to a call, which was not made.
fn no_session(outcome: Result<String, Error>) -> NoSession {
    let Err(Error::SessionProvider(error)) = outcome else { panic!("{outcome:?}") };
    match error.downcast_ref::<NoSession>().expect("the provider's own error") {
        NoSession::Missing { key } => NoSession::Missing { key: key.clone() },
        NoSession::Redis { key, source } => NoSession::Redis { key: key.clone(), source: source.clone() },
    }
}

/// What the client of Redis has said to the provider.
fn redis_error(outcome: Result<String, Error>) -> redis::RedisError {
    match no_session(outcome) {
        NoSession::Redis { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn a_session_goes_on_under_the_id_that_redis_keeps() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, owner) = host.begin().await;
        let _: () = redis.command(&["SET", KEY, &id]).await;
        let session = host.resume(&redis);
        for calls in 1..=3 {
            assert_eq!(echo(&session).await.unwrap(), "hello");
            assert_eq!(redis.reads().await, calls, "it is asked once for each request");
        }
        session.close().await.unwrap();
        assert_eq!(host.named(), vec![id; 3], "it says neither `initialize` nor that the session is over");
        assert_eq!(echo(&owner).await.unwrap(), "hello", "it is still the owner's");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn another_id_is_another_session() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let ((first, _one), (second, _other)) = (host.begin().await, host.begin().await);
        let session = host.resume(&redis);
        for id in [&first, &second, &second, &first] {
            let _: () = redis.command(&["SET", KEY, id]).await;
            assert_eq!(echo(&session).await.unwrap(), "hello");
        }
        assert_eq!(host.named(), [first.clone(), second.clone(), second, first]);
        assert_eq!(redis.reads().await, 4);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn a_key_under_which_there_is_nothing() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, _owner) = host.begin().await;
        let session = host.resume(&redis);
        let error = no_session(echo(&session).await);
        assert!(matches!(&error, NoSession::Missing { key } if key == KEY), "{error:?}");
        assert_eq!(error.to_string(), "redis keeps no session under `mcp:session:anna`");
        assert_eq!(host.named(), [""; 0], "nothing was asked of the server");
        // Somebody begins a session, and lets it go.
        let _: () = redis.command(&["SET", KEY, &id]).await;
        assert_eq!(echo(&session).await.unwrap(), "hello");
        let _: () = redis.command(&["DEL", KEY]).await;
        assert!(matches!(no_session(echo(&session).await), NoSession::Missing { .. }));
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn a_key_under_which_there_is_something_else() {
    guarded(async {
        let (redis, host) = (Redis::start().await, TestServer::start().await);
        let session = host.resume(&redis);
        let _: () = redis.command(&["RPUSH", KEY, "a list"]).await;
        let error = no_session(echo(&session).await);
        assert_eq!(error.to_string(), "redis has not named the session under `mcp:session:anna`");
        let because = error.source().unwrap().to_string();
        assert!(because.contains("WRONGTYPE"), "{because}");
        // A text that cannot be the head of a request.
        let _: () = redis.command(&["SET", KEY, "one\nother"]).await;
        let outcome = echo(&session).await;
        let Err(Error::SessionProvider(error)) = outcome else { panic!("{outcome:?}") };
        assert!(error.to_string().contains("header value"), "{error}");
        assert_eq!(host.named(), [""; 0], "nothing was asked of the server");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn a_redis_server_that_is_gone_and_comes_back() {
    guarded(async {
        let (mut redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, _owner) = host.begin().await;
        let _: () = redis.command(&["SET", KEY, &id]).await;
        let session = host.resume(&redis);
        assert_eq!(echo(&session).await.unwrap(), "hello");
        redis.stop().await;
        for _ in 0..3 {
            let error = redis_error(echo(&session).await);
            assert!(error.is_io_error(), "{error:?}");
        }
        assert_eq!(host.named(), std::slice::from_ref(&id), "nothing more was asked of the server");
        redis.start_again().await;
        let _: () = redis.command(&["SET", KEY, &id]).await;
        sooner_or_later(&session).await;
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn no_redis_server_at_all() {
    guarded(async {
        let (mut redis, host) = (Redis::start().await, TestServer::start().await);
        redis.stop().await;
        let session = host.resume(&redis);
        let error = redis_error(echo(&session).await);
        assert!(error.is_connection_refusal(), "{error:?}");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn a_redis_server_that_says_nothing() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, _owner) = host.begin().await;
        let _: () = redis.command(&["SET", KEY, &id]).await;
        // One is connected to it before it falls silent, the other is not.
        let connected = host.resume_within(&redis, Duration::from_millis(50));
        let unconnected = host.resume_within(&redis, Duration::from_millis(50));
        sooner_or_later(&connected).await;
        host.named();
        redis.freeze(true).await;
        for session in [&connected, &unconnected] {
            let error = redis_error(echo(session).await);
            assert!(error.is_timeout(), "{error:?}");
        }
        assert_eq!(host.named(), [""; 0], "nothing was asked of the server");
        redis.freeze(false).await;
        for session in [connected, unconnected] {
            sooner_or_later(&session).await;
            session.close().await.unwrap();
        }
    })
    .await;
}

/// Calls until Redis is there, and in time: a lost connection is made again, and a busy machine may take a while.
async fn sooner_or_later(session: &McpClient<Active>) {
    while let Err(error) = echo(session).await {
        let error = redis_error(Err(error));
        assert!(error.is_io_error(), "{error:?}");
    }
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn an_id_that_is_rejected_is_not_asked_for_again() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, _owner) = host.begin().await;
        let _: () = redis.command(&["SET", KEY, "of-a-session-long-gone"]).await;
        let session = host.resume(&redis);
        for rejections in 1..=2 {
            let outcome = echo(&session).await;
            assert!(matches!(outcome, Err(Error::SessionInvalid)), "{outcome:?}");
            assert_eq!(redis.reads().await, rejections);
            assert_eq!(host.named(), ["of-a-session-long-gone"], "once, and no `initialize`");
        }
        assert_eq!(host.server.session_count(), 1);
        // The owner of the sessions notices, and stores another id.
        let _: () = redis.command(&["SET", KEY, &id]).await;
        assert_eq!(echo(&session).await.unwrap(), "hello");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs `redis-server`"]
async fn the_example_as_it_is_run() {
    guarded(async {
        let (redis, mut host) = (Redis::start().await, TestServer::start().await);
        let (id, _owner) = host.begin().await;
        let run = async || {
            let mut example = Command::new(integration_tests::example::program("redis_sessions"));
            example.args([&redis.url(), KEY, &host.url]).kill_on_drop(true).output().await.unwrap()
        };
        let failed = run().await;
        let errors = String::from_utf8(failed.stderr).unwrap();
        assert!(!failed.status.success() && errors.contains("redis keeps no session"), "{errors}");
        let _: () = redis.command(&["SET", KEY, &id]).await;
        let done = run().await;
        let errors = String::from_utf8(done.stderr).unwrap();
        assert_eq!((done.status.code(), errors.as_str()), (Some(0), ""));
        assert_eq!(String::from_utf8(done.stdout).unwrap(), "echo says: hello again\n");
        assert_eq!(host.server.session_count(), 1);
    })
    .await;
}
