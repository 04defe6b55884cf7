//! The full texts of errors when a session cannot begin, or a call fails.

use std::error::Error as _;
use std::time::Duration;

use axum::response::Response;
use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_runtime::transport::http::{ClientOptions, HttpClient, HttpError, ListenOptions, ServerOptions};
use mcp_runtime::{DisconnectReason, Error, Resumed};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::fake::{self, Fake};
use super::test_server::{TestServer, guarded};
use super::{call, initialize, ready, start, tools, transport};

/// What becomes of a handshake that comes to nothing.
async fn no_session(transport: HttpClient) -> Error {
    let (session, _) = start(transport);
    session.initialize(initialize()).await.map(drop).unwrap_err().into_parts().1
}

#[tokio::test]
async fn an_unreachable_server_is_distinguished_from_one_that_disconnects() {
    guarded(async {
        let error = no_session(transport("http://127.0.0.1:1/mcp?key=secret")).await;
        assert_eq!(
            error.to_string(),
            "the session with the server could not begin: the server cannot be reached: Connection refused (os error 111)"
        );
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let hangs_up = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut came = Vec::new();
            // What was not read would make another error of it.
            while !came.ends_with(b"}}") {
                assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0, "the whole message comes");
            }
        };
        let (error, ()) = tokio::join!(no_session(transport(&url)), hangs_up);
        assert_eq!(
            error.to_string(),
            "the session with the server could not begin: the connection failed: connection closed before message completed"
        );
    })
    .await;
}

#[tokio::test]
async fn a_resumed_session_without_an_id_ends_before_anything_is_sent() {
    guarded(async {
        let server = Fake::start(|_, _| fake::status(400)).await;
        let session = McpClient::<Active>::resume(transport(&server.url()), Resumed::unknown());
        let error = session.call_tool(call("echo")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the session with the server could not begin: a resumed session needs an id: name its \
             provider with `HttpClient::sessions_from`"
        );
        assert!(matches!(error.http(), Some(HttpError::Unnamed)), "{error:?}");
        drop(session);
        assert!(server.seen.lock().unwrap().is_empty());
        // A name that never changes may stand in the head of each request as well.
        let named = transport(&server.url()).header("mcp-session-id", "theirs").unwrap();
        let session = McpClient::<Active>::resume(named, Resumed::unknown());
        let error = session.call_tool(call("echo")).await.unwrap_err();
        assert!(matches!(error.http(), Some(HttpError::Status { status: 400, .. })), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_compressed_answer_is_said_to_be_one() {
    guarded(async {
        let error = greeted(|| {
            let mut response = fake::text(200, "application/json", "what is compressed");
            response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            response
        })
        .await;
        assert_eq!(
            error.to_string(),
            "the session with the server could not begin: the answer is encoded with `gzip`, which the client did not ask \
             for: have the server, or a proxy in front of it, send it as it is"
        );
        assert!(matches!(error.http(), Some(HttpError::Encoding(_))), "{error:?}");
    })
    .await;
}

/// What becomes of a handshake that a server answers so.
async fn greeted(answer: impl Fn() -> Response + Send + Sync + 'static) -> Error {
    let server = Fake::start(move |_, _| answer()).await;
    no_session(transport(&server.url())).await
}

#[tokio::test]
async fn a_status_says_what_to_do_about_it() {
    guarded(async {
        let error = greeted(|| {
            let mut response = fake::status(401);
            let metadata = "Bearer resource_metadata=\"https://example.org/.well-known/oauth\"";
            response.headers_mut().append("www-authenticate", metadata.parse().unwrap());
            response.headers_mut().append("www-authenticate", "Basic".parse().unwrap());
            response
        })
        .await;
        assert_eq!(
            error.to_string(),
            "the session with the server could not begin: the server answered with status 401 (Unauthorized): \
             give `HttpClient` valid credentials with `.header(\"authorization\", …)`"
        );
        let Some(HttpError::Status { status: 401, authenticate: Some(wanted), .. }) = error.http() else {
            panic!("{error:?}")
        };
        assert_eq!(wanted, "Bearer resource_metadata=\"https://example.org/.well-known/oauth\", Basic");
        // It is also in the chain of causes.
        let cause = error.source().unwrap().source().unwrap().to_string();
        assert!(cause.starts_with("the server answered with status 401"), "{cause}");

        let redirects = greeted(|| {
            let mut response = fake::status(302);
            response.headers_mut().insert("location", "https://secret.example".parse().unwrap());
            response
        });
        assert_eq!(
            redirects.await.to_string(),
            "the session with the server could not begin: the server answered with status 302 (Found): it redirects to \
             another address, which is not followed: give `HttpClient` the final one"
        );
        let redirects = greeted(|| {
            let mut response = fake::status(307);
            response.headers_mut().insert("location", "/mcp/".parse().unwrap());
            response
        });
        assert_eq!(
            redirects.await.to_string(),
            "the session with the server could not begin: the server answered with status 307 (Temporary Redirect): it \
             redirects to the same address with a `/` at the end, which is not followed: give `HttpClient` that one"
        );
        let busy = greeted(|| {
            let mut response = fake::status(503);
            response.headers_mut().insert("retry-after", "7".parse().unwrap());
            response
        });
        assert_eq!(busy.await.retry_after(), Some(Duration::from_secs(7)));
        let nowhere = greeted(|| fake::text(404, "text/html", "<h1>not\n here</h1>\n"));
        assert_eq!(
            nowhere.await.to_string(),
            "the session with the server could not begin: the server answered with status 404 (Not Found): this path \
             is not a Streamable HTTP endpoint; it said: <h1>not here</h1>"
        );
        let page = greeted(|| fake::text(200, "text/html", "<h1>welcome</h1>"));
        assert_eq!(
            page.await.to_string(),
            "the session with the server could not begin: the address is not a Streamable HTTP endpoint: it answered with `text/html`"
        );
    })
    .await;
}

#[tokio::test]
async fn a_refusal_is_shown_in_its_own_words_alone() {
    guarded(async {
        let server = Fake::start(|asked, _| match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", tools(), "s1"),
            "notifications/initialized" => fake::status(202),
            "tools/call" if asked.body["params"]["name"] == "refused" => {
                let error = json!({ "code": -32000, "message": "not today\n", "data": "x".repeat(5000) });
                let refusal = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                fake::text(400, "application/json", format!("{refusal}\n"))
            }
            "tools/call" if asked.body["params"]["name"] == "nothing" => fake::status(500),
            "tools/call" if asked.body["params"]["name"] == "long" => {
                fake::text(200, "application/json", " ".repeat(3000))
            }
            "tools/call" => fake::text(418, "text/plain", " tea\n"),
            _ => fake::status(405),
        })
        .await;
        let client = HttpClient::new(server.url()).unwrap();
        let (session, _) = ready(client).await.unwrap();
        let error = session.call_tool(call("refused")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the request failed: the server answered with status 400 (Bad Request): not today"
        );
        let Some(HttpError::Status { error: Some(said), .. }) = error.http() else { panic!("{error:?}") };
        assert_eq!(said.code, -32000);
        for (tool, text) in
            [("nothing", "status 500 (Internal Server Error)"), ("tea", "status 418 (I'm a teapot): tea")]
        {
            let error = session.call_tool(call(tool)).await.unwrap_err().to_string();
            assert_eq!(error, format!("the request failed: the server answered with {text}"));
        }
        session.close().await.unwrap();

        let options = ClientOptions::default().max_message_bytes(2000);
        let client = HttpClient::new(server.url()).unwrap().options(options);
        let (session, _) = ready(client).await.unwrap();
        assert_eq!(
            session.call_tool(call("long")).await.unwrap_err().to_string(),
            "the request failed: the answer is longer than the limit of 2000 bytes: see \
             `ClientOptions::max_message_bytes`"
        );
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn this_library_s_server_names_the_setting_that_a_request_was_refused_by() {
    guarded(async {
        let options = ServerOptions::default().max_body_bytes(10_000);
        let host = TestServer::listening_with(options, ListenOptions::default()).await;
        let (session, _) = ready(transport(&host.url())).await.unwrap();
        let long = call("echo").with_argument("message", "x".repeat(20_000));
        assert_eq!(
            session.call_tool(long).await.unwrap_err().to_string(),
            "the request failed: the server answered with status 413 (Payload Too Large): the \
             body is longer than the limit of 10000 bytes: see `ServerOptions::max_body_bytes`"
        );
        session.close().await.unwrap();
        let elsewhere = transport(&host.url()).header("host", "example.org").unwrap();
        assert_eq!(
            no_session(elsewhere).await.to_string(),
            "the session with the server could not begin: the server answered with status 403 (Forbidden): the host \
             `example.org` is not among those of `ServerOptions::hosts`"
        );
        let page = transport(&host.url()).header("origin", "http://example.org").unwrap();
        assert_eq!(
            no_session(page).await.to_string(),
            "the session with the server could not begin: the server answered with status 403 (Forbidden): the origin \
             `http://example.org` is not among those of `ServerOptions::origins`"
        );
    })
    .await;
}

#[test]
fn a_header_that_cannot_be_sent_is_described_without_its_value() {
    // A token that was read from a file ends with a line break.
    let refused = transport("http://127.0.0.1:1/mcp").header("authorization", "Bearer secret\n").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the header `authorization` cannot be sent: a name consists of letters, digits, `-` and `_`, and a value has no \
         line breaks or other control characters"
    );
    let refused = transport("http://127.0.0.1:1/mcp").header("api key", "x").unwrap_err();
    assert!(refused.to_string().starts_with("the header `api key` cannot be sent: "), "{refused}");
}

#[test]
fn a_session_that_ends_at_a_limit_names_its_setting() {
    let ended = |reason| Error::Disconnected { reason }.to_string();
    assert_eq!(
        ended(DisconnectReason::OutputFull(7)),
        "the session has ended: the peer does not read: 7 bytes were waiting for it; see `Options::output_limit`"
    );
    assert_eq!(
        ended(DisconnectReason::InputFull(7)),
        "the session has ended: the peer sent too many steps: 7 messages were waiting to be taken; see \
         `Options::max_linear`"
    );
    assert_eq!(Error::SessionInvalid.to_string(), "the peer does not know the session: begin another one");
}
