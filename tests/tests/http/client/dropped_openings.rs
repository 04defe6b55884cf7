//! A client that is dropped while the server opens a session for it: the session is not left to the server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::McpClient;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::fake::{self, Asked, Fake, until};
use super::test_server::guarded;
use super::{initialize, ready};

const HOUR: Duration = Duration::from_secs(3600);

/// A server whose answers to `initialize` wait for the test, from the one with this number on. It knows the session
/// `s0` until it has ended the stream of what it says unasked.
async fn hesitant(from: usize) -> (Fake, mpsc::UnboundedReceiver<Asked>, watch::Sender<bool>) {
    let (go_on, may) = watch::channel(false);
    let begun = AtomicUsize::new(0);
    let answer = |asked: &Asked, before| {
        Some(match asked.what() {
            "initialize" => fake::hello(asked, "2025-03-26", json!({ "tools": {} }), &format!("s{before}")),
            "GET" if before == 0 => fake::text(200, "text/event-stream", ": hello\n\n"),
            "GET" => fake::status(404),
            _ => fake::status(202),
        })
    };
    let (server, seen) = Fake::waiting(answer, move |asked| {
        let waits = asked.what() == "initialize" && begun.fetch_add(1, Ordering::SeqCst) >= from;
        let mut may = may.clone();
        async move {
            if waits {
                // The test may end first.
                let _ = may.wait_for(|may| *may).await;
            }
        }
    })
    .await;
    (server, seen, go_on)
}

fn patient(server: &Fake) -> HttpClient {
    HttpClient::new(server.url())
        .unwrap()
        .options(ClientOptions::default().retry(Duration::from_millis(5)).delete_within(HOUR))
}

/// Waits until a session is deleted, in the version that it was begun with: what the server has agreed to is not known.
async fn deleted(seen: &mut mpsc::UnboundedReceiver<Asked>, session: &str) {
    loop {
        let asked = seen.recv().await.unwrap();
        if asked.what() == "DELETE" && asked.header("mcp-session-id") == session {
            assert_eq!(asked.header("mcp-protocol-version"), "2025-03-26");
            return;
        }
    }
}

#[tokio::test]
async fn the_session_of_a_client_dropped_during_initialize_is_deleted() {
    guarded(async {
        let (server, mut seen, go_on) = hesitant(0).await;
        let opening = test_support::spawn(McpClient::new(patient(&server)).initialize(initialize()));
        until(&mut seen, "initialize").await;
        opening.abort();
        assert!(opening.await.unwrap_err().is_cancelled());
        go_on.send_replace(true);
        deleted(&mut seen, "s0").await;
    })
    .await;
}

#[tokio::test]
async fn a_session_whose_opening_is_not_answered_is_deleted_in_the_version_that_was_asked_for() {
    guarded(async {
        let answer = |asked: &Asked, _| {
            let mut answer = fake::text(200, "text/event-stream", ": no reply follows\n\n");
            answer.headers_mut().insert("mcp-session-id", "s0".parse().unwrap());
            Some(if asked.what() == "initialize" { answer } else { fake::status(202) })
        };
        let (server, mut seen) = Fake::waiting(answer, |_| async {}).await;
        assert!(ready(patient(&server)).await.is_err());
        deleted(&mut seen, "s0").await;
    })
    .await;
}

#[tokio::test]
async fn so_is_the_one_of_a_client_dropped_while_it_reconnects() {
    guarded(async {
        let (server, mut seen, go_on) = hesitant(1).await;
        let (session, _) = ready(patient(&server)).await.unwrap();
        until(&mut seen, "initialize").await;
        // The stream of what the server says unasked has shown that the session is lost.
        until(&mut seen, "initialize").await;
        session.abort();
        go_on.send_replace(true);
        // The lost one needs no end.
        deleted(&mut seen, "s1").await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_dropped_waits_so_long_for_the_name_and_no_longer() {
    /// Tells the test that the request has ended.
    struct Ended(mpsc::UnboundedSender<()>);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }

    guarded(async {
        let (tell, mut ended) = mpsc::unbounded_channel();
        let (server, mut seen) = Fake::waiting(
            |_, _| None,
            move |_| {
                let ended = Ended(tell.clone());
                async move {
                    let _ended = ended;
                    std::future::pending::<()>().await;
                }
            },
        )
        .await;
        let opening = test_support::spawn(McpClient::new(patient(&server)).initialize(initialize()));
        until(&mut seen, "initialize").await;
        // From here on everybody waits, and the clock goes on to when somebody does not.
        tokio::time::pause();
        let begun = Instant::now();
        opening.abort();
        ended.recv().await.unwrap();
        let waited = begun.elapsed();
        assert!(waited > HOUR / 2 && waited <= HOUR + Duration::from_secs(1), "{waited:?}");
        assert!(seen.try_recv().is_err(), "no session has a name to be deleted by");
    })
    .await;
}
