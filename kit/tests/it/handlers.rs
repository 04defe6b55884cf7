//! What the handlers of a server can count on, in both eras alike.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::future::join_all;
use mcp_kit::transport::duplex;
use mcp_kit::{
    Answer, Client, ConnectOptions, Connection, Era, Failure, Resource, Server, User, text_at, types,
};
use mcp_runtime::{Options, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

const ERAS: [Era; 2] = [Era::Requests, Era::Handshake];

async fn connect<S: Send + Sync + 'static>(
    era: Era,
    server: Server<S>,
    options: ConnectOptions,
) -> Connection {
    let (near, far) = duplex();
    tokio::spawn(async move { server.serve(far).await });
    options.era(era).connect(near).await.unwrap()
}

fn options() -> ConnectOptions {
    ConnectOptions::new("test", "1")
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: u64,
}

#[tokio::test]
async fn handlers_begin_in_the_order_of_their_requests() {
    for era in ERAS {
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&numbers);
        let add = move |Number { number }, _, _: Client| {
            let seen = Arc::clone(&seen);
            async move {
                seen.lock().unwrap().push(number);
                Ok("added")
            }
        };
        let connection = connect(era, Server::new("s", "1", ()).tool_named("add", "", add), options()).await;
        let calls = (0..200u64).map(|number| connection.call_text("add", json!({ "number": number })));
        assert!(join_all(calls.map(IntoFuture::into_future)).await.iter().all(Result::is_ok));
        assert_eq!(*numbers.lock().unwrap(), (0..200).collect::<Vec<_>>(), "{era:?}");
    }
}

/// Says when it is dropped.
struct Guard(mpsc::UnboundedSender<&'static str>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

#[tokio::test]
async fn a_cancelled_call_drops_its_handler_and_takes_no_place() {
    for era in ERAS {
        let (said, mut heard) = mpsc::unbounded_channel();
        let wait = move |(), _, _: Client| {
            let guard = Guard(said.clone());
            async move {
                let _ = guard.0.send("begun");
                pending::<()>().await;
                Ok("")
            }
        };
        let server = Server::new("s", "1", ()).options(Options::new().max_handlers(1));
        let connection = connect(era, server.tool_named("wait", "", wait), options()).await;
        for _ in 0..3 {
            let call = connection.call_text("wait", ()).into_future();
            tokio::select! {
                _ = call => panic!("it never returns"),
                begun = heard.recv() => assert_eq!(begun, Some("begun")),
            }
            assert_eq!(heard.recv().await, Some("dropped"), "{era:?}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_drops_what_it_asks() {
    for era in ERAS {
        let (said, mut heard) = mpsc::unbounded_channel();
        let asked = move |_: types::ElicitFormParams| {
            let guard = Guard(said.clone());
            async move {
                let _ = guard.0.send("asked");
                pending::<Result<Answer<Sure>, Failure>>().await
            }
        };
        let ask = |(), _, client: Client<User>| async move {
            let _ = client.ask::<Sure>("Sure?").await?;
            Ok("")
        };
        let server = Server::new("s", "1", ()).tool_named("ask", "", ask);
        let connection = connect(era, server, options().on_form(asked)).await;
        let call = connection.call_text("ask", ()).into_future();
        tokio::select! {
            _ = call => panic!("nothing is answered"),
            asked = heard.recv() => assert_eq!(asked, Some("asked")),
        }
        assert_eq!(heard.recv().await, Some("dropped"), "{era:?}");
    }
}

#[tokio::test]
async fn what_a_tool_asks_at_the_same_time_is_answered_at_the_same_time() {
    for era in ERAS {
        let both_asked = Arc::new(tokio::sync::Barrier::new(2));
        let asked = move |form: types::ElicitFormParams| {
            let both_asked = Arc::clone(&both_asked);
            async move {
                both_asked.wait().await;
                Ok(Answer::Accepted(Sure { sure: form.message == "Sure?" }))
            }
        };
        let ask = |(), _, client: Client<User>| async move {
            let (first, second) = tokio::join!(client.ask::<Sure>("Sure?"), client.ask::<Sure>("Really?"));
            let is_sure = |answer: Answer<Sure>| answer.accepted().is_some_and(|Sure { sure }| sure);
            Ok(format!("{} {}", is_sure(first?), is_sure(second?)))
        };
        let server = Server::new("s", "1", ()).tool_named("ask", "", ask);
        let connection = connect(era, server, options().on_form(asked)).await;
        assert_eq!(connection.call_text("ask", ()).await.unwrap(), "true false", "{era:?}");
    }
}

#[tokio::test]
async fn a_panic_of_a_handler_is_reported_and_answered() {
    for era in ERAS {
        let (said, mut heard) = mpsc::unbounded_channel();
        let report = move |report: &Report| {
            if let Report::Panicked { text, .. } = report {
                let _ = said.send(text.clone());
            }
        };
        let panics = |(), _, client: Client<User>| async move {
            let _ = client.ask::<Sure>("Sure?").await?;
            std::panic::resume_unwind(Box::new("oh"));
            #[allow(unreachable_code, reason = "it says what the handler would return")]
            Ok("")
        };
        let server = Server::new("s", "1", ()).options(Options::new().on_report(report));
        let answers = options().on_form(|_| async { Ok(Answer::<Sure>::Declined) });
        let connection = connect(era, server.tool_named("panics", "", panics), answers).await;
        let failed = connection.call_text("panics", ()).await.unwrap_err().to_string();
        assert!(failed.contains("the handler of the request panicked"), "{era:?}: {failed}");
        assert_eq!(heard.recv().await, Some(Some("oh".to_owned())), "{era:?}");
    }
}

/// A list of its own, and more
#[derive(Deserialize, JsonSchema)]
struct Fixed {}

impl Resource<()> for Fixed {
    const URI: &'static str = "fixed://all";

    type Needs = ();

    async fn read(self, _: &(), uri: &str, _: Client) -> Result<types::ResourceContents, Failure> {
        Ok(text_at(uri, "all"))
    }

    async fn list(_: &(), _: &mcp_kit::ListRequest) -> Result<mcp_kit::Page<types::Resource>, Failure> {
        Ok(vec![types::Resource::new("fixed://other", "other")].into())
    }
}

#[tokio::test]
async fn a_resource_with_one_uri_is_listed_with_those_that_it_adds() {
    let connection = connect(Era::Requests, Server::new("s", "1", ()).resource::<Fixed>(), options()).await;
    let listed = connection.resources().await.unwrap();
    let mut listed: Vec<_> = listed.iter().map(|resource| resource.uri.as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["fixed://all", "fixed://other"]);
}

#[tokio::test]
async fn results_wait_until_the_client_reads() {
    for era in ERAS {
        let all_begun = Arc::new(tokio::sync::Barrier::new(100));
        let long = move |(), _, _: Client| {
            let all_begun = Arc::clone(&all_begun);
            async move {
                // Then they return at once.
                all_begun.wait().await;
                Ok("x".repeat(100_000))
            }
        };
        let too_long = |(), _, _: Client| async { Ok("x".repeat(2_000_000)) };
        let options = Options::new().output_high_water(100_000).output_limit(1_000_000);
        let server = Server::new("s", "1", ()).options(options);
        let server = server.tool_named("long", "", long).tool_named("too_long", "", too_long);
        let connection = connect(era, server, self::options()).await;
        let calls = (0..100).map(|_| connection.call_text("long", ()).into_future());
        for said in join_all(calls).await {
            assert_eq!(said.unwrap().len(), 100_000, "{era:?}");
        }
        let refused = connection.call_text("too_long", ()).await.unwrap_err().to_string();
        assert!(refused.contains("`Options::output_limit`"), "{era:?}: {refused}");
    }
}

/// Nothing can be written, though the peer has not left: it would be one that is gone if the pipe were broken.
#[tokio::test]
async fn a_connection_that_breaks_off_is_an_error_of_the_server() {
    let began = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}
        } } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" }
        } }),
    ];
    for first in began {
        let (broken, input) = tokio::io::duplex(4096);
        let (read, _) = tokio::io::split(broken);
        let stream = tokio::io::join(read, Broken);
        let server = Server::new("s", "1", ());
        let served = tokio::spawn(server.serve(mcp_runtime::transport::ByteStream::new(stream)));
        let mut input = input;
        let line = format!("{first}\n");
        tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes()).await.unwrap();
        let error = served.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("no storage space"), "{error}");
    }
}

/// An output that has no room, such as a file.
struct Broken;

impl tokio::io::AsyncWrite for Broken {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::StorageFull.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
