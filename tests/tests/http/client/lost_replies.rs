//! The reply to a question of the server whose connection is lost, or for which the server has no room: it is sent again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::fake::{self, Asked, Fake};
use super::test_server::{TestServer, guarded};
use super::{Reports, Roots, call, ready, said, tools};

/// Where the connection is lost on which the client sends the first reply.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lost {
    /// The server does not get it.
    OnTheWay,
    /// The server has it, and the client does not hear of that.
    OnTheWayBack,
}

/// Stands between a client and a server, and loses a connection. Returns its address.
async fn relay(server: SocketAddr, lost: Lost) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let is_lost: Arc<AtomicBool> = Arc::default();
    test_support::spawn(async move {
        loop {
            let (near, _) = listener.accept().await.unwrap();
            let far = TcpStream::connect(server).await.unwrap();
            test_support::spawn(carry(near, far, lost, Arc::clone(&is_lost)));
        }
    });
    url
}

/// Carries one connection.
async fn carry(mut near: TcpStream, mut far: TcpStream, lost: Lost, is_lost: Arc<AtomicBool>) {
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    let mut said = String::new();
    let mut is_cut = false;
    loop {
        tokio::select! {
            read = near.read_buf(&mut from_client) => {
                if !matches!(read, Ok(1..)) {
                    return;
                }
                said.push_str(&String::from_utf8_lossy(&from_client));
                is_cut |= said.contains("\"result\"") && !is_lost.swap(true, Ordering::SeqCst);
                if (is_cut && lost == Lost::OnTheWay) || far.write_all(&from_client).await.is_err() {
                    return;
                }
                from_client.clear();
            }
            read = far.read_buf(&mut from_server) => {
                if is_cut || !matches!(read, Ok(1..)) || near.write_all(&from_server).await.is_err() {
                    return;
                }
                from_server.clear();
            }
        }
    }
}

#[tokio::test]
async fn a_reply_whose_connection_is_lost_is_sent_again() {
    guarded(async {
        for lost in [Lost::OnTheWay, Lost::OnTheWayBack] {
            let host = TestServer::listening().await;
            let url = relay(host.address(), lost).await;
            // What is sent again at once does not wait for this.
            let options = ClientOptions::default().retry(Duration::from_secs(3600));
            let (session, reports) = ready(HttpClient::new(&url).unwrap().options(options)).await.unwrap();
            let serving = test_support::spawn(session.incoming().serve(Roots));
            assert_eq!(said(&session.call_tool(call("ask")).await.unwrap()), "2 roots", "{lost:?}");
            assert_eq!(said(&session.call_tool(call("ask")).await.unwrap()), "2 roots", "{lost:?}");
            session.close().await.unwrap();
            serving.await.unwrap();
            assert_eq!(*reports.lock().unwrap(), <[String; 0]>::default(), "{lost:?}");
        }
    })
    .await;
}

/// A server that asks for the roots in a call, and gives each reply to that the answer of its number.
async fn asking(
    answer: impl Fn(usize) -> axum::response::Response + Send + Sync + 'static,
) -> (Fake, Arc<Notify>) {
    let replied = Arc::new(Notify::new());
    let heard = Arc::clone(&replied);
    let streams: Mutex<Vec<_>> = Mutex::default();
    let replies = std::sync::atomic::AtomicUsize::new(0);
    let server = Fake::start(move |asked: &Asked, _| match asked.what() {
        "initialize" => fake::hello(asked, "2025-03-26", tools(), "s1"),
        "notifications/initialized" => fake::status(202),
        "tools/call" => {
            let (say, response) = fake::open("text/event-stream");
            let question = json!({ "jsonrpc": "2.0", "id": 0, "method": "roots/list" });
            say.send(format!("data: {question}\n\n")).unwrap();
            streams.lock().unwrap().push((say, asked.body["id"].clone()));
            response
        }
        "POST" => {
            let answer = answer(replies.fetch_add(1, Ordering::SeqCst));
            if answer.status() == 202 {
                for (say, id) in streams.lock().unwrap().drain(..) {
                    let result = json!({ "content": [{ "type": "text", "text": "answered" }] });
                    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                    say.send(format!("data: {reply}\n\n")).unwrap();
                }
            }
            heard.notify_one();
            answer
        }
        _ => fake::status(405),
    })
    .await;
    (server, replied)
}

/// The client says so once it has given up.
async fn undelivered(reports: &Reports) -> String {
    loop {
        if let [report, ..] = &reports.lock().unwrap()[..] {
            return report.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_reply_that_the_server_has_no_room_for_is_sent_again() {
    guarded(async {
        let busy = |before| match before {
            0 => fake::status(503),
            1 => fake::status(429),
            _ => fake::status(202),
        };
        let (server, _) = asking(busy).await;
        let options = ClientOptions::default().retry(Duration::from_millis(5));
        let (session, reports) =
            ready(HttpClient::new(server.url()).unwrap().options(options)).await.unwrap();
        let serving = test_support::spawn(session.incoming().serve(Roots));
        assert_eq!(said(&session.call_tool(call("x")).await.unwrap()), "answered");
        session.close().await.unwrap();
        serving.await.unwrap();
        assert_eq!(*reports.lock().unwrap(), <[String; 0]>::default());
    })
    .await;
}

#[tokio::test]
async fn a_reply_that_is_refused_is_not_sent_again() {
    guarded(async {
        let (server, _) = asking(|_| fake::status(500)).await;
        let (session, reports) = ready(HttpClient::new(server.url()).unwrap()).await.unwrap();
        let serving = test_support::spawn(session.incoming().serve(Roots));
        tokio::select! {
            called = session.call_tool(call("x")) => panic!("{called:?}"),
            report = undelivered(&reports) => assert!(report.contains("status 500"), "{report}"),
        }
        session.close().await.unwrap();
        serving.await.unwrap();
        assert_eq!(server.posted().iter().filter(|what| *what == "POST").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_session_that_ends_does_not_wait_to_send_a_reply_again() {
    guarded(async {
        let (server, replied) = asking(|_| fake::status(503)).await;
        let hour = Duration::from_secs(3600);
        let options = ClientOptions::default().retry(hour).post_within(hour * 2);
        let (session, reports) =
            ready(HttpClient::new(server.url()).unwrap().options(options)).await.unwrap();
        let serving = test_support::spawn(session.incoming().serve(Roots));
        tokio::select! {
            called = session.call_tool(call("x")) => panic!("{called:?}"),
            () = replied.notified() => {}
        }
        session.close().await.unwrap();
        serving.await.unwrap();
        assert!(undelivered(&reports).await.contains("status 503"));
    })
    .await;
}
