//! What keeps messages over HTTP from arriving.

use reqwest::Client;
use serde_json::json;

use super::Test;
use super::client::{CALL, INITIALIZE, INITIALIZED, record, traced};
use super::http_guard::{Guard, post, run};
use super::http_server::Server;

pub(crate) const TESTS: [Test; 9] = [
    ("a_server_may_be_gone", || run(a_server_may_be_gone())),
    ("what_a_status_rejects_can_be_sent_again", || run(what_a_status_rejects_can_be_sent_again())),
    ("a_server_may_close_the_connection", || run(a_server_may_close_the_connection())),
    ("of_many_failures_the_first_are_reported_and_all_are_counted", || {
        run(of_many_failures_the_first_are_reported_and_all_are_counted())
    }),
    ("a_long_answer_that_is_not_a_reply_is_named", || run(a_long_answer_that_is_not_a_reply_is_named())),
    ("a_stream_that_cannot_be_opened_is_reported", || run(a_stream_that_cannot_be_opened_is_reported())),
    ("what_keeps_messages_from_arriving_is_reported_once", || {
        run(what_keeps_messages_from_arriving_is_reported_once())
    }),
    ("a_client_that_gives_up_is_reported_with_what_it_waited_for", || {
        run(a_client_that_gives_up_is_reported_with_what_it_waited_for())
    }),
    ("an_answer_that_is_not_a_reply_is_named", || run(an_answer_that_is_not_a_reply_is_named())),
];

async fn a_server_may_be_gone() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", gone.local_addr().unwrap());
    drop(gone);
    let guard = Guard::start(&url, &[]);
    let (status, error) = guard.ask(None, INITIALIZE).await;
    assert_eq!((status, &error["id"], &error["error"]["code"]), (502, &json!(1), &json!(-32603)));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("cannot be reached") && message.ends_with("start it, or correct `--to`"),
        "{message}"
    );
    guard.stop();

    let server = Server::start("breaks").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    let mut response = guard
        .post(Some(&session), &CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}"))
        .send()
        .await
        .unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    server.go();
    assert!(response.bytes().await.is_err(), "the stream breaks as it would without a guard");
    // The session is as it was.
    assert_eq!(guard.ask(Some(&session), r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await.1["id"], 3);
    guard.stop();
}

async fn what_a_status_rejects_can_be_sent_again() {
    let path = record("rejected");
    let server = Server::start("rejects").await;
    let guard = Guard::start(&server.url, &["--enforce", "should", "--record", path.to_str().unwrap()]);
    assert_eq!(guard.post(None, INITIALIZE).send().await.unwrap().status(), 401);
    let begun = guard.post(None, INITIALIZE).send().await.unwrap();
    let id = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let session = Some(id.as_str());
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let list = CALL.replace("tools/call", "tools/list").replace("\"id\":2", "\"id\":3");
    for (message, rejected) in [(INITIALIZED, 401), (CALL, 401), (&list, 503), (ping, 403)] {
        assert_eq!(guard.ask(session, message).await.0, rejected, "{message}");
        let (status, answer) = guard.ask(session, message).await;
        assert!(status < 300 && answer["error"].is_null(), "{message}: {status} {answer}");
    }
    // The server's request is answered twice, too.
    let listen = guard.client.get(&guard.url).header("accept", "text/event-stream");
    let asked = listen.header("mcp-session-id", &id).send().await.unwrap().text().await.unwrap();
    assert!(asked.contains("\"ping\""), "{asked}");
    let pong = r#"{"jsonrpc":"2.0","id":"s","result":{}}"#;
    assert_eq!(guard.ask(session, pong).await.0, 401);
    assert_eq!(guard.ask(session, pong).await.0, 202);
    // What was accepted has used its id.
    assert_eq!(guard.ask(session, CALL).await.1["error"]["code"], -32600);
    let reports = guard.stop();
    assert_eq!(reports.matches("which the client has used before").count(), 1, "{reports}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("-32603"), "no peer has sent it: {text}");
    let note = "not received: the server has answered with the status 401 Unauthorized";
    assert_eq!(text.matches(note).count(), 4, "{text}");
    // The record says enough to judge it once more.
    let expected = [("method", "server"), ("correlation", "client")];
    assert_eq!(traced(&path), expected.map(|(code, blame)| (code.to_owned(), blame.to_owned())), "{text}");
}

async fn a_server_may_close_the_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // It reads the request, and closes the connection.
            let mut request = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
        }
    });
    let guard = Guard::start(&url, &["--enforce"]);
    let (status, error) = guard.ask(None, INITIALIZE).await;
    assert_eq!((status, &error["id"]), (502, &json!(1)));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains(" has not answered the request: ") && !message.contains("--to"), "{message}");
    guard.stop();
}

/// Starts a server that answers each request with this, which it gets the number of, and closes the connection.
async fn start_answering(answer: impl Fn(u64) -> String + Send + 'static) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 1.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer(number).as_bytes()).await;
        }
    });
    url
}

async fn of_many_failures_the_first_are_reported_and_all_are_counted() {
    let varied = |number| {
        let body = format!("no {number}");
        format!("HTTP/1.1 500 Oops\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let plain = |_| "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nup".to_owned();
    // So many that differ are reported in any case: a server has a few causes of failures.
    for (url, known) in [(start_answering(varied).await, 64), (start_answering(plain).await, 0)] {
        let guard = Guard::start(&url, &[]);
        for _ in 0..known + 120 {
            guard.post(None, INITIALIZE).send().await.unwrap();
        }
        let reports = guard.stop();
        let lines: Vec<&str> = reports.lines().collect();
        let [whole @ .., first, last] = &lines[..] else { panic!("{reports}") };
        assert_eq!((whole.len(), whole.iter().any(|line| line.contains("so far"))), (known + 100, false));
        let said = "failures of single exchanges over HTTP so far";
        assert!(
            first.contains(&format!(": 101 {said}")) && last.contains(&format!(": 120 {said}")),
            "{reports}"
        );
    }
}

async fn a_long_answer_that_is_not_a_reply_is_named() {
    let answer = |body: String| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    // A client may read the second all the same.
    for (beginning, status) in [("up", 200), (r#"{"jsonrpc":"2.0","id":1,"result":{"a":""#, 502)] {
        let body = format!("{beginning}{}", "x".repeat(300_000));
        let url = start_answering(move |_| answer(body.clone())).await;
        let guard = Guard::start(&url, &["--enforce", "--max-message", "4096"]);
        let response = guard.post(None, INITIALIZE).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        let reports = guard.stop();
        let said = "the answer to the request 1 has the content type `text/plain`: send `application/json`";
        assert!(reports.contains(said), "{reports}");
        assert_eq!(reports.contains("is longer than 4096 bytes"), status == 502, "{reports}");
    }
}

async fn a_stream_that_cannot_be_opened_is_reported() {
    let guard = Guard::start(&start_answering(|_| String::new()).await, &[]);
    for _ in 0..2 {
        let opened = guard.client.get(&guard.url).header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(opened.status().as_u16(), 502);
    }
    let reports = guard.stop();
    assert!(reports.contains(" has not answered the request: "), "{reports}");
    assert_eq!(reports.lines().count(), 2, "{reports}");
    assert!(reports.contains("guard: 1 more like this in all: "), "{reports}");
}

async fn what_keeps_messages_from_arriving_is_reported_once() {
    for (answer, status, said) in [
        (
            "HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\n<p>no</p>",
            500,
            "500 Internal Server Error, and says `<p>no</p>`",
        ),
        (
            "HTTP/1.1 307 Moved\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n",
            307,
            "which redirects it to `/mcp/`, where it is not judged: give that address with `--to`",
        ),
        ("HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 404, "correct the path of `--to`"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            502,
            "the server broke off its answer: ",
        ),
        ("", 502, " has not answered the request: "),
    ] {
        let guard = Guard::start(&start_answering(|_| answer.to_owned()).await, &[]);
        let client =
            Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        for _ in 0..2 {
            let response = post(&client, &guard.url, None, INITIALIZE).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{answer}");
        }
        let reports = guard.stop();
        let [first, second] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{answer}: {reports}") };
        assert!(first.contains(said), "{answer}: {reports}");
        assert_eq!(second, first.replacen("guard: ", "guard: 1 more like this in all: ", 1));
    }
}

async fn a_client_that_gives_up_is_reported_with_what_it_waited_for() {
    // The server keeps the request, or has begun to answer it.
    for begun in ["", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let guard = Guard::start(&url, &[]);
        let asked = tokio::spawn(guard.post(None, INITIALIZE).send());
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1024]).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, begun.as_bytes()).await.unwrap();
        asked.abort();
        assert!(asked.await.is_err());
        // The guard closes its side when it has seen that.
        while tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
        let reports = guard.stop();
        let said = "guard: session 1: the server had not answered the request 1 when the connection of the client was closed\n";
        assert_eq!(reports, said, "{begun}");
    }
}

async fn an_answer_that_is_not_a_reply_is_named() {
    for (manner, what) in [
        (
            "plain",
            "the answer to the request 2 has the content type `text/plain`: send `application/json` or",
        ),
        (
            "eventless",
            "the stream that answers the request 2 ends without the reply: write each message behind",
        ),
        ("empty", "the answer to the request 2 is empty: send the reply in it"),
    ] {
        let server = Server::start(manner).await;
        let path = record(manner);
        let guard = Guard::start(&server.url, &["--record", path.to_str().unwrap()]);
        assert_eq!(guard.ask(None, INITIALIZE).await.0, 200);
        assert_eq!(guard.ask(None, INITIALIZED).await.0, 202);
        assert_eq!(guard.ask(None, CALL).await.0, 200);
        let reports = guard.stop();
        let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{manner}: {reports}") };
        assert!(only.contains(what), "{only}");
        assert!(traced(&path).contains(&("form".to_owned(), "server".to_owned())), "{:?}", traced(&path));
    }
}
