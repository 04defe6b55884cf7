//! Clients that are slow, break off, or are gone. What is waited for is short here, and never by the clock of a test.

use std::time::Duration;

use mcp_runtime::Error;
use mcp_runtime::transport::http::{ListenOptions, ServerOptions};

use super::desk::{Desk, call, guarded, initialize, list};
use super::wire::Ask;

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_head_that_does_not_come_to_an_end_ends_the_connection() {
    guarded(async {
        let desk = Desk::with(ServerOptions::default(), ListenOptions::default().head_within(SHORT)).await;
        let mut wire = desk.wire().await;
        wire.send("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ").await;
        // The server says what it thinks of that, or nothing; then there is no more.
        if let Some(head) = wire.head().await {
            assert_eq!(head.status, 408);
        }
        assert!(wire.head().await.is_none());
        assert_eq!(desk.server.sessions(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_body_that_does_not_come_to_an_end_is_refused() {
    guarded(async {
        let desk = Desk::with(ServerOptions::default().body_within(SHORT), ListenOptions::default()).await;
        let id = desk.ready().await;
        for ask in [Ask::post(list(1)).session(&id), Ask::post(initialize(0))] {
            let mut wire = desk.wire().await;
            wire.send(&ask.clone().with("content-length", "1000").text()).await;
            assert_eq!(wire.answer().await.head.status, 408);
        }
        assert_eq!(desk.server.sessions(), 1);
        assert_eq!(desk.ask(&Ask::post(list(2)).session(&id)).await.head.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_nobody_s_message() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let whole = list(1).to_string();
        for ask in [Ask::post(&whole).session(&id), Ask::post(initialize(0))] {
            let mut wire = desk.wire().await;
            let ask = ask.with("content-length", "1000");
            wire.send(&ask.text()).await;
            tokio::io::AsyncWriteExt::shutdown(&mut wire.stream).await.unwrap();
            // Whether the server still says something to that is its own affair.
            if let Some(head) = wire.head().await {
                assert_eq!(head.status, 400);
            }
        }
        assert_eq!(desk.server.sessions(), 1);
        // The id was not used up, for nobody has seen the message.
        let listed = desk.ask(&Ask::post(&whole).session(&id)).await;
        assert!(listed.json()["result"].is_object(), "{listed:?}");
    })
    .await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_comes_to_its_end() {
    guarded(async {
        let options = ServerOptions::default().idle_after(SHORT);
        let mut desk = Desk::with(options, ListenOptions::default()).await;
        let id = desk.ready().await;
        desk.next_end().await.unwrap();
        assert_eq!(desk.server.sessions(), 0);
        assert_eq!(desk.ask(&Ask::post(list(1)).session(&id)).await.head.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_session_whose_client_never_comes_back_comes_to_its_end_sooner() {
    guarded(async {
        let options = ServerOptions::default().opening_within(SHORT);
        let mut desk = Desk::with(options, ListenOptions::default()).await;
        desk.open().await;
        desk.next_end().await.unwrap_err();
        assert_eq!(desk.server.sessions(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_session_is_in_use_as_long_as_a_stream_is_read() {
    guarded(async {
        let options = ServerOptions::default().idle_after(SHORT).keep_alive(SHORT);
        let mut desk = Desk::with(options, ListenOptions::default()).await;
        let id = desk.ready().await;
        let mut stream = desk.wire().await.stream(&Ask::get().session(&id)).await;
        // Several times the wait, as the server counts it: each comment comes after one.
        for _ in 0..5 {
            stream.wire.piece().await.unwrap();
        }
        assert_eq!(desk.ask(&Ask::post(list(1)).session(&id)).await.head.status, 200);
        drop(stream);
        desk.next_end().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_has_begun() {
    guarded(async {
        let mut desk = Desk::start().await;
        let id = desk.ready().await;
        let mut stream = desk.wire().await.stream(&Ask::get().session(&id)).await;
        let mut talk = desk.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        talk.message().await.unwrap();
        desk.stop();
        // The stream for what is said unasked ends at once, for it would keep its connection open.
        assert_eq!(stream.message().await, None);
        desk.gates.hold.add_permits(2);
        assert_eq!(talk.message().await.unwrap().json()["params"]["progress"], 2.0);
        assert_eq!(talk.message().await.unwrap().json()["result"]["content"][0]["text"], "talked");
        desk.next_end().await.unwrap();
        let Desk { serving, server, .. } = desk;
        serving.await.unwrap().unwrap();
        assert_eq!(server.sessions(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_make_the_server_grow() {
    guarded(async {
        let mut desk = Desk::start().await;
        let id = desk.ready().await;
        // Its stream is open, and full.
        let stream = desk.wire().await.stream(&Ask::get().session(&id)).await;
        desk.gates.announce.add_permits(200_000);
        let mut before = desk.gates.announce.available_permits();
        let mut same = 0;
        // At some point the session's code waits.
        while same < 50 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let now = desk.gates.announce.available_permits();
            same = if now == before { same + 1 } else { 0 };
            before = now;
        }
        assert!(before > 0, "somebody has to wait");
        drop(stream);
        assert_eq!(desk.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
        match desk.next_end().await {
            Ok(()) | Err(Error::Disconnected { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    })
    .await;
}
