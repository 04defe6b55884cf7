//! Clients that are slow, break off, or are gone. Where the clock matters it is paused, and advances when no task can
//! run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Error;
use mcp_runtime::transport::http::{HttpServer, HttpSession, ListenOptions, ServerOptions};
use tokio::time::Instant;

use super::test_server::{TestServer, call, guarded, initialize, list, settle};
use super::wire::{Ask, Wire};

#[tokio::test]
async fn a_head_that_does_not_come_to_an_end_ends_the_connection() {
    guarded(async {
        let listen = ListenOptions::default().head_within(Duration::from_millis(50));
        let host = TestServer::listening_with(ServerOptions::default(), listen).await;
        let mut wire = host.wire().await;
        wire.send("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ").await;
        // The server says what it thinks of that, or nothing; then there is no more.
        if let Some(head) = wire.head().await {
            assert_eq!(head.status, 408);
        }
        assert!(wire.head().await.is_none());
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test]
async fn connections_without_end_do_not_keep_others_out() {
    guarded(async {
        // There is room for two, and two who never finish their heads have it.
        let listen = ListenOptions::default().head_within(Duration::from_millis(50)).max_connections(2);
        let host = TestServer::listening_with(ServerOptions::default().client_share(100), listen).await;
        let mut slow: Vec<Wire> = Vec::new();
        for _ in 0..2 {
            let mut wire = host.wire().await;
            wire.send("GET /mcp HTTP/1.1\r\nhost:").await;
            slow.push(wire);
        }
        // This one waits until they have been shown out.
        assert_eq!(host.ask(&Ask::post(initialize(0))).await.head.status, 200);
    })
    .await;
}

#[tokio::test]
async fn connections_have_a_limit() {
    guarded(async {
        let listen = ListenOptions::default().max_connections(1);
        let mut host = TestServer::listening_with(ServerOptions::default().client_share(100), listen).await;
        let mut first = host.wire().await;
        assert_eq!(first.ask(&Ask::get()).await.head.status, 400);
        // The second one has something to say, and is not listened to while the first is there.
        let mut second = host.wire().await;
        second.send(&Ask::post(initialize(0)).text()).await;
        for _ in 0..50 {
            assert_eq!(first.ask(&Ask::get()).await.head.status, 400);
            assert_eq!(host.server.session_count(), 0);
        }
        drop(first);
        assert_eq!(second.answer().await.head.status, 200);
        drop(second);
        drop(host.stop());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_to_an_end_is_refused() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        for ask in [Ask::post(list(1)).session(&id), Ask::post(initialize(0))] {
            let begun = Instant::now();
            let mut wire = host.wire().await;
            wire.send(&ask.with("content-length", "1000").text()).await;
            assert_eq!(wire.answer().await.head.status, 408);
            assert_eq!(begun.elapsed().as_secs(), 30);
        }
        assert_eq!(host.server.session_count(), 1);
        assert_eq!(host.ask(&Ask::post(list(2)).session(&id)).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_drop_by_drop_gains_no_time() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post("").session(&id).pieces().head()).await;
        let begun = Instant::now();
        let head = loop {
            // A drop each second, so there is never a silence of any length.
            wire.send("1\r\n \r\n").await;
            match tokio::time::timeout(Duration::from_secs(1), wire.head()).await {
                Ok(head) => break head.unwrap(),
                Err(_) => assert!(begun.elapsed().as_secs() < 60, "it is not refused"),
            }
        };
        assert_eq!((head.status, begun.elapsed().as_secs()), (408, 30));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_cut_short_is_not_a_message() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let whole = list(1).to_string();
        // What has come is a whole message in itself, but not all that was promised.
        let long = |ask: Ask| ask.with("content-length", "1000").text();
        let pieces = |ask: Ask| format!("{}{:x}\r\n{whole}\r\n", ask.pieces().head(), whole.len());
        let cut = [
            long(Ask::post(&whole).session(&id)),
            long(Ask::post(initialize(0))),
            pieces(Ask::post("").session(&id)),
        ];
        for text in cut {
            let mut wire = host.wire().await;
            wire.send(&text).await;
            tokio::io::AsyncWriteExt::shutdown(&mut wire.stream).await.unwrap();
            // Whether the server still says something to that is its own affair.
            if let Some(head) = wire.head().await {
                assert_eq!(head.status, 400);
            }
        }
        assert_eq!(host.server.session_count(), 1);
        // The id is still free, because the session has not received the message.
        let listed = host.ask(&Ask::post(&whole).session(&id)).await;
        assert!(listed.json()["result"].is_object(), "{listed:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_program_does_not_run_is_refused_after_a_while() {
    guarded(async {
        // The program has forgotten about the transports.
        let kept: Arc<Mutex<Vec<HttpSession>>> = Arc::default();
        let keeping = Arc::clone(&kept);
        let server = HttpServer::new(ServerOptions::default(), move |transport| {
            keeping.lock().unwrap().push(transport);
            std::future::pending()
        });
        let router = axum::Router::new().route("/mcp", server.method_router());
        let mut wire = super::test_server::connect(&router);
        let begun = Instant::now();
        assert_eq!(wire.ask(&Ask::post(initialize(0))).await.head.status, 503);
        assert_eq!((begun.elapsed().as_secs(), server.session_count()), (60, 0));
        // One who drops his lets go of the client at once.
        let server = HttpServer::new(ServerOptions::default(), |_| async {});
        let router = axum::Router::new().route("/mcp", server.method_router());
        let begun = Instant::now();
        assert_eq!(
            super::test_server::connect(&router).ask(&Ask::post(initialize(0))).await.head.status,
            503
        );
        assert_eq!((begun.elapsed().as_secs(), server.session_count()), (0, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_unused_session_ends() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        // What it says counts, and what is only a request for it does not.
        tokio::time::sleep(Duration::from_secs(20 * 60)).await;
        assert_eq!(host.ask(&Ask::post(list(1)).session(&id)).await.head.status, 200);
        let begun = Instant::now();
        host.next_end().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 60);
        settle().await;
        assert_eq!((host.server.session_count(), host.running()), (0, 0));
        assert_eq!(host.ask(&Ask::post(list(2)).session(&id)).await.head.status, 404);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_shorter_patience_counts_from_the_second_message_on() {
    guarded(async {
        let mut host = TestServer::with(ServerOptions::default().idle_after(Duration::from_secs(10)));
        host.open().await;
        let begun = Instant::now();
        host.next_end().await.unwrap_err();
        assert_eq!(begun.elapsed().as_secs(), 60);
        host.ready().await;
        let begun = Instant::now();
        host.next_end().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 10);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_server_s_own_code_ends_is_not_there_any_more() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        host.gates.announce.close();
        host.next_end().await.unwrap();
        settle().await;
        assert_eq!((host.server.session_count(), host.running()), (0, 0));
        assert_eq!(host.ask(&Ask::post(list(1)).session(&id)).await.head.status, 404);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_client_never_comes_back_comes_to_its_end_sooner() {
    guarded(async {
        let mut host = TestServer::start();
        let begun = Instant::now();
        host.open().await;
        host.next_end().await.unwrap_err();
        assert_eq!(begun.elapsed().as_secs(), 60);
        settle().await;
        assert_eq!((host.server.session_count(), host.running()), (0, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_in_use_as_long_as_a_stream_is_read() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        // Several times the wait; the server says from time to time that it is there.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(4 * 30 * 60) {
            stream.wire.piece().await.unwrap();
        }
        // From here on the client does not read.
        let begun = Instant::now();
        drop(stream);
        host.next_end().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 60);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_has_begun() {
    guarded(async {
        let mut host = TestServer::listening().await;
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        let mut talk = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        talk.message().await.unwrap();
        let port = host.stop();
        // The stream for what is said unasked ends at once, for it would keep its connection open.
        assert_eq!(stream.message().await, None);
        host.gates.hold.add_permits(2);
        assert_eq!(talk.message().await.unwrap().json()["params"]["progress"], 2.0);
        assert_eq!(talk.message().await.unwrap().json()["result"]["content"][0]["text"], "talked");
        host.next_end().await.unwrap();
        port.serving.await.unwrap().unwrap();
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_begins_nothing_and_stops_in_time() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        let mut held = host.wire().await;
        held.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        settle().await;
        let server = host.server.clone();
        let stopping = test_support::spawn(async move { server.shutdown(Duration::from_secs(2)).await });
        settle().await;
        let refused = host.ask(&Ask::post(initialize(0))).await;
        assert_eq!((refused.head.status, refused.head.get("retry-after")), (503, Some("1")));
        assert_eq!(host.ask(&Ask::post(list(2)).session(&id)).await.head.status, 404);
        // The call never returns, so the session ends after its time all the same, and waiting tasks get the error.
        assert!(!stopping.await.unwrap(), "not everything has come to its end");
        assert_eq!(held.answer().await.head.status, 410);
        // The handler has had its time, too.
        host.next_end().await.unwrap();
        assert_eq!((host.server.session_count(), host.running()), (0, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_late_misses_nothing() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().replay_bytes(10_000_000));
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        // More than the server keeps for it: the session's code waits.
        host.gates.announce.add_permits(10_000);
        settle().await;
        assert!(host.gates.announce.available_permits() > 0);
        let mut last = String::new();
        for _ in 0..10_000 {
            last = stream.message().await.unwrap().id;
        }
        assert_eq!(host.gates.announce.available_permits(), 0);
        // The same again. Now it leaves while some of it has not been taken.
        host.gates.announce.add_permits(10_000);
        settle().await;
        assert!(host.gates.announce.available_permits() > 0);
        drop(stream);
        let ask = Ask::get().session(&id).with("last-event-id", &last);
        let mut resumed = host.wire().await.stream(&ask).await;
        for _ in 0..10_000 {
            resumed.message().await.unwrap();
        }
        let more = tokio::time::timeout(Duration::from_millis(1), resumed.message()).await;
        assert!(more.is_err(), "nothing comes twice");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_does_not_make_the_server_grow() {
    guarded(async {
        let mut host = TestServer::with(ServerOptions::default().write_within(Duration::from_secs(600)));
        let id = host.ready().await;
        // Its stream is open, and full.
        let stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        host.gates.announce.add_permits(200_000);
        // Everybody has done what they could, so the session's code waits.
        settle().await;
        let left = host.gates.announce.available_permits();
        assert!(left > 100_000, "somebody has to wait: {left}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(host.gates.announce.available_permits(), left);
        drop(stream);
        assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
        match host.next_end().await {
            Ok(()) | Err(Error::Disconnected { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    })
    .await;
}
