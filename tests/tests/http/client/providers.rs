//! Sessions that another program has opened.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, Method};
use axum::response::Response;
use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_runtime::transport::http::{Challenge, ClientOptions, HeaderProvider, HttpError, SessionProvider};
use mcp_runtime::{Error, Resumed};
use reqwest::Url;
use serde_json::json;
use tokio::sync::watch;

use super::fake::{self, Fake, until};
use super::test_server::{TestServer, guarded};
use super::wire::Ask;
use super::{Reports, call, said, transport, watched};

/// Names one session after another, and counts how often it is asked.
#[derive(Clone, Default)]
struct Names {
    names: Vec<String>,
    asked: Arc<AtomicUsize>,
}

/// There are no more.
#[derive(Debug, thiserror::Error)]
#[error("the list of sessions is at its end")]
struct NoMore;

impl SessionProvider for Names {
    type Error = NoMore;

    async fn session_id(&self) -> Result<String, NoMore> {
        let place = self.asked.fetch_add(1, Ordering::SeqCst);
        self.names.get(place).cloned().ok_or(NoMore)
    }
}

fn resumed(url: &str, names: &Names) -> McpClient<Active> {
    resumed_with(url, names, Resumed::unknown())
}

fn resumed_with(url: &str, names: &Names, known: Resumed) -> McpClient<Active> {
    let options = ClientOptions::default().listen(false);
    let client = transport(url).options(options).sessions_from(names.clone());
    McpClient::<Active>::resume(client, known.options(watched(&Reports::default())))
}

#[tokio::test]
async fn a_session_that_was_begun_elsewhere_goes_on_here() {
    guarded(async {
        let host = TestServer::listening().await;
        let id = host.ready().await;
        let names = Names { names: vec![id; 3], ..Names::default() };
        let session = resumed(&host.url(), &names);
        for calls in 1..=3 {
            assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "hello");
            assert_eq!(names.asked.load(Ordering::SeqCst), calls, "once for each request");
        }
        session.close().await.unwrap();
        assert_eq!(host.server.session_count(), 1, "it is not this client's to delete");
    })
    .await;
}

#[tokio::test]
async fn a_rejected_session_is_not_reconnected() {
    guarded(async {
        let host = TestServer::listening().await;
        let (first, second) = (host.ready().await, host.ready().await);
        let names = Names { names: vec![first.clone(), first.clone(), second], ..Names::default() };
        let session = resumed(&host.url(), &names);
        session.call_tool(call("echo")).await.unwrap();
        assert_eq!(host.ask(&Ask::method("DELETE").session(&first)).await.head.status, 204);
        let error = session.call_tool(call("echo")).await.unwrap_err();
        assert!(matches!(error, Error::SessionInvalid), "{error:?}");
        assert_eq!(names.asked.load(Ordering::SeqCst), 2, "it is said at the first rejection");
        assert_eq!(host.server.session_count(), 1);
        // The owner of the sessions has opened another one; the next call is made in that.
        assert_eq!(said(&session.call_tool(call("echo")).await.unwrap()), "hello");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_provider_s_own_error_reaches_the_caller() {
    guarded(async {
        let host = TestServer::listening().await;
        let session = resumed(&host.url(), &Names::default());
        match session.call_tool(call("echo")).await.unwrap_err() {
            Error::SessionProvider(error) => assert!(error.downcast_ref::<NoMore>().is_some(), "{error}"),
            other => panic!("{other:?}"),
        }
        session.close().await.unwrap();
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_said_that_was_not_asked_for() {
    guarded(async {
        let server = Fake::start(|asked, _| fake::result(asked, json!({ "content": [] }))).await;
        let names = Names { names: vec!["theirs".to_owned()], ..Names::default() };
        let session = resumed(&server.url(), &names);
        session.call_tool(call("echo")).await.unwrap();
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        let said: Vec<&str> = seen.iter().map(|asked| asked.what()).collect();
        assert_eq!(said, ["tools/call"]);
        assert_eq!(
            (seen[0].header("mcp-session-id"), seen[0].header("mcp-protocol-version")),
            ("theirs", "2025-03-26")
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_known_of_the_announcements_counts() {
    guarded(async {
        let server = Fake::start(|asked, _| fake::result(asked, json!({ "tools": [] }))).await;
        let names = Names { names: vec!["theirs".to_owned()], ..Names::default() };
        let client =
            transport(&server.url()).options(ClientOptions::default().listen(false)).sessions_from(names);
        let known = Resumed::unknown().server_said(&json!({ "capabilities": { "tools": {} } })).unwrap();
        let session = McpClient::<Active>::resume(client, known);
        assert!(matches!(session.list_prompts(None).await, Err(Error::NotPermitted(_))));
        session.list_tools(None).await.unwrap();
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_version_that_governs_is_named() {
    guarded(async {
        let server = Fake::start(|asked, _| fake::result(asked, json!({ "content": [] }))).await;
        let said = json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} } });
        for known in [
            Resumed::unknown(),
            Resumed::unknown().version("2025-06-18"),
            Resumed::unknown().server_said(&said).unwrap(),
        ] {
            let names = Names { names: vec!["theirs".to_owned()], ..Names::default() };
            let session = resumed_with(&server.url(), &names, known);
            session.call_tool(call("echo")).await.unwrap();
            session.close().await.unwrap();
        }
        let seen = server.seen.lock().unwrap();
        let named: Vec<&str> = seen.iter().map(|asked| asked.header("mcp-protocol-version")).collect();
        assert_eq!(named, ["2025-03-26", "2025-06-18", "2024-11-05"]);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_goes_through_while_the_stream_is_being_refused_has_it_asked_for_again() {
    guarded(async {
        let (refuse, may) = watch::channel(false);
        let answer = |asked: &fake::Asked, before| match asked.what() {
            "GET" if before == 0 => Some(fake::status(404)),
            "GET" => None,
            _ => Some(fake::result(asked, json!({ "content": [] }))),
        };
        let (server, mut seen) = Fake::waiting(answer, move |asked| {
            let (mut may, waits) = (may.clone(), asked.what() == "GET");
            async move {
                if waits {
                    may.wait_for(|may| *may).await.unwrap();
                }
            }
        })
        .await;
        let names = Names { names: vec!["theirs".to_owned(); 3], ..Names::default() };
        let client = transport(&server.url()).sessions_from(names);
        let session =
            McpClient::<Active>::resume(client, Resumed::unknown().options(watched(&Reports::default())));
        until(&mut seen, "GET").await;
        session.call_tool(call("echo")).await.unwrap();
        refuse.send_replace(true);
        until(&mut seen, "GET").await;
        session.close().await.unwrap();
    })
    .await;
}

/// Numbers requests, up to a limit.
struct Numbered {
    next: AtomicUsize,
    most: usize,
}

/// There is no other number.
#[derive(Debug, thiserror::Error)]
#[error("the token has expired")]
struct Expired;

impl HeaderProvider for Numbered {
    type Error = Expired;

    async fn headers(&self) -> Result<HeaderMap, Expired> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        if number >= self.most {
            return Err(Expired);
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-token", number.to_string().parse().unwrap());
        Ok(headers)
    }
}

#[tokio::test]
async fn headers_are_asked_for_before_each_request() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", super::tools(), "s1"),
            "notifications/initialized" => fake::status(202),
            "tools/call" => fake::result(asked, json!({ "content": [{ "type": "text", "text": "fine" }] })),
            _ => fake::status(405),
        })
        .await;
        let numbered = Numbered { next: AtomicUsize::new(0), most: 5 };
        let quiet = ClientOptions::default().listen(false);
        let client = transport(&server.url()).options(quiet).header("x-token", "old").unwrap();
        let (session, _) = super::ready(client.headers_from(numbered)).await.unwrap();
        for _ in 0..3 {
            assert_eq!(said(&session.call_tool(call("x")).await.unwrap()), "fine");
        }
        // Without headers nothing is sent, and the session lives on.
        let error = session.call_tool(call("x")).await.unwrap_err();
        assert!(matches!(error.http(), Some(HttpError::Headers(_))), "{error:?}");
        assert!(error.to_string().contains("the token has expired"), "{error}");
        let tokens: Vec<String> =
            server.seen.lock().unwrap().iter().map(|asked| asked.header("x-token").to_owned()).collect();
        assert_eq!(tokens, ["0", "1", "2", "3", "4"]);
    })
    .await;
}

/// Signs requests with the number that the server gave last.
#[derive(Clone, Default)]
struct Signing(Arc<Mutex<(usize, Vec<String>)>>);

impl HeaderProvider for Signing {
    type Error = Infallible;

    async fn headers(&self) -> Result<HeaderMap, Infallible> {
        panic!("the headers of a request are asked for")
    }

    async fn headers_of(&self, method: &Method, url: &Url) -> Result<HeaderMap, Infallible> {
        let signed = format!("{method} {} {}", url.path(), self.0.lock().unwrap().0);
        Ok([("x-signed".parse().unwrap(), signed.parse().unwrap())].into_iter().collect())
    }

    fn answered(&self, head: &HeaderMap) {
        let number = head.get("x-number").map(|number| number.to_str().unwrap().parse().unwrap());
        self.0.lock().unwrap().0 = number.unwrap_or_default();
    }

    async fn challenged(&self, challenge: Challenge) -> Result<bool, Infallible> {
        let before = std::iter::successors(Some(&challenge), |challenge| challenge.previous.as_deref());
        let refused = before.map(|refusal| refusal.sent["x-signed"].to_str().unwrap());
        let refused = refused.collect::<Vec<_>>().join(", ");
        self.0.lock().unwrap().1.push(refused);
        Ok(true)
    }
}

#[tokio::test]
async fn headers_may_depend_on_the_request_and_on_earlier_answers() {
    guarded(async {
        let numbered = |mut answer: Response, number: &str| {
            answer.headers_mut().insert("x-number", number.parse().unwrap());
            answer
        };
        let server = Fake::start(move |asked, before| match (asked.what(), before) {
            ("initialize", 0) => numbered(fake::status(401), "1"),
            ("initialize", 1) => numbered(fake::status(401), "2"),
            ("initialize", _) => numbered(fake::hello(asked, "2025-03-26", super::tools(), "s1"), "3"),
            ("notifications/initialized", _) => numbered(fake::status(202), "4"),
            _ => fake::status(405),
        })
        .await;
        let signing = Signing::default();
        let quiet = ClientOptions::default().listen(false);
        let client = transport(&server.url()).options(quiet).headers_from(signing.clone());
        let (session, _) = super::ready(client).await.unwrap();
        session.close().await.unwrap();
        let seen = server.seen.lock().unwrap();
        let signed: Vec<_> = seen.iter().map(|asked| asked.header("x-signed")).collect();
        assert_eq!(signed, ["POST /mcp 0", "POST /mcp 1", "POST /mcp 2", "POST /mcp 3", "DELETE /mcp 4"]);
        assert_eq!(signing.0.lock().unwrap().1, ["POST /mcp 0", "POST /mcp 1, POST /mcp 0"]);
    })
    .await;
}
