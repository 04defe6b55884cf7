//! Limits on the bytes that sessions hold.

use std::time::Duration;

use mcp_runtime::transport::http::ServerOptions;
use serde_json::{Value, json};

use super::test_server::{TestServer, call, guarded, initialize, list, settle};
use super::wire::{Answer, Ask, Wire};

const KIB: usize = 1024;

/// What hyper takes of an answer at most before its client has read any of it.
const BUFFERED: usize = 17 * 16 * KIB;

/// A call of a tool, with so many bytes more than it needs.
fn long(id: i64, tool: &str, bytes: usize) -> Value {
    let mut call = call(id, tool);
    call["params"]["arguments"]["message"] = "x".repeat(bytes).into();
    call
}

/// A call that is answered with so many bytes.
fn large(id: i64, bytes: usize) -> Value {
    let mut call = call(id, "large");
    call["params"]["arguments"]["message"] = bytes.to_string().into();
    call
}

fn limit(answer: &Answer) -> String {
    answer.json()["error"]["data"]["limit"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

/// Sends requests, each over a connection of its own, and reads no answers.
async fn send(host: &TestServer, texts: impl IntoIterator<Item = String>) -> Vec<Wire> {
    let mut wires = Vec::new();
    for text in texts {
        let mut wire = host.wire().await;
        wire.send(&text).await;
        wires.push(wire);
    }
    settle().await;
    wires
}

#[tokio::test(start_paused = true)]
async fn a_session_holds_no_more_bytes_of_calls_than_its_budget() {
    guarded(async {
        let options = ServerOptions::default().session_bytes(80 * KIB);
        let host = TestServer::with(options.stream_after(Duration::from_secs(600)));
        let id = host.ready().await;
        let each = long(100, "hold", 10 * KIB)["params"].to_string().len();
        let held = |calls: i64| (0..calls).map(|call| Ask::post(long(100 + call, "hold", 10 * KIB)));
        let held = send(&host, held(6).map(|ask| ask.session(&id).text())).await;
        assert_eq!(host.server.held_bytes(), 6 * each);
        let refused = host.ask(&Ask::post(long(7, "hold", 21 * KIB)).session(&id)).await;
        assert_eq!((refused.head.status, limit(&refused)), (429, "session_bytes".to_owned()));
        assert_eq!(host.server.held_bytes(), 6 * each);
        // Another session has a budget of its own.
        let other = host.ready().await;
        assert_eq!(host.ask(&Ask::post(long(8, "echo", 19 * KIB)).session(&other)).await.head.status, 200);
        // Calls that are over hold nothing.
        host.gates.hold.add_permits(6);
        for mut wire in held {
            assert_eq!(wire.answer().await.head.status, 200);
        }
        settle().await;
        assert_eq!(host.server.held_bytes(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_fit_is_refused_by_its_id() {
    guarded(async {
        // The budget suffices for its body, but not for the decoded message.
        let options = ServerOptions::default().session_bytes(20 * KIB).stream_after(Duration::from_secs(600));
        let host = TestServer::with(options);
        let id = host.ready().await;
        let refused = host.ask(&Ask::post(long(7, "hold", 10 * KIB)).session(&id)).await;
        assert_eq!((refused.head.status, limit(&refused)), (200, "session_bytes".to_owned()));
        assert_eq!((&refused.json()["id"], &refused.json()["error"]["code"]), (&json!(7), &json!(-32000)));
        settle().await;
        assert_eq!(host.server.held_bytes(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_come_to_an_end_hold_no_more_than_the_budget_of_the_server() {
    guarded(async {
        let options = ServerOptions::default().max_bytes(64 * KIB).max_body_bytes(40 * KIB);
        let host = TestServer::with(options);
        let begin = Ask::post("x".repeat(12 * KIB)).with("content-length", &(13 * KIB).to_string()).text();
        let mut wires = send(&host, std::iter::repeat_n(begin, 12)).await;
        assert!(host.server.held_bytes() <= 64 * KIB, "{}", host.server.held_bytes());
        assert!(host.server.held_bytes() >= 2 * 12 * KIB);
        let refused = wires.pop().unwrap().answer().await;
        assert_eq!((refused.head.status, limit(&refused)), (503, "max_bytes".to_owned()));
        assert_eq!(refused.head.get("retry-after"), Some("1"));
        drop(wires);
        settle().await;
        assert_eq!(host.server.held_bytes(), 0);
        assert_eq!(host.ask(&Ask::post(initialize(0))).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn unread_answers_are_held_until_their_time_is_over() {
    for delete in [false, true] {
        guarded(async {
            let host = TestServer::start();
            let id = host.ready().await;
            let asks = (1..=3).map(|call| Ask::post(large(call, 2 * KIB * KIB)).session(&id).text());
            let wires = send(&host, asks).await;
            assert!(host.server.held_bytes() >= 6 * KIB * KIB - 3 * 16 * KIB, "{}", host.server.held_bytes());
            if delete {
                assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
            }
            tokio::time::sleep(Duration::from_secs(29)).await;
            assert!(host.server.held_bytes() >= 6 * KIB * KIB - 3 * 16 * KIB);
            tokio::time::sleep(Duration::from_secs(10)).await;
            // What the connections have taken is theirs until they end.
            assert!(host.server.held_bytes() <= 3 * BUFFERED, "{}", host.server.held_bytes());
            drop(wires);
            settle().await;
            assert_eq!(host.server.held_bytes(), 0);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_that_is_read_slowly_comes_whole() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post(large(1, KIB * KIB)).session(&id).text()).await;
        tokio::time::sleep(Duration::from_secs(25)).await;
        let answer = wire.answer().await;
        let text = answer.json()["result"]["content"][0]["text"].as_str().unwrap().len();
        assert_eq!((answer.head.status, text), (200, KIB * KIB));
        assert_eq!(answer.head.get("content-length"), Some(&*answer.body.len().to_string()));
        settle().await;
        assert_eq!(host.server.held_bytes(), 0);
        // The connection can be used again.
        assert_eq!(wire.ask(&Ask::post(list(2)).session(&id)).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_cannot_be_held_becomes_an_error() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().session_bytes(512 * KIB));
        let id = host.ready().await;
        let unread = send(&host, [Ask::post(large(1, 400 * KIB)).session(&id).text()]).await;
        let refused = host.ask(&Ask::post(large(2, 400 * KIB)).session(&id)).await;
        assert_eq!((refused.head.status, &refused.json()["id"]), (200, &json!(2)));
        assert_eq!(
            (limit(&refused), &refused.json()["error"]["code"]),
            ("session_bytes".to_owned(), &json!(-32000))
        );
        drop(unread);
        settle().await;
        let answer = host.ask(&Ask::post(large(3, 400 * KIB)).session(&id)).await;
        assert!(answer.json()["result"].is_object());
        // One for which there is never room does not come if the client tries again.
        let refused = host.ask(&Ask::post(large(4, 600 * KIB)).session(&id)).await.json();
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]["limit"]),
            (&json!(-32603), &json!("session_bytes"))
        );
        let message = refused["error"]["message"].as_str().unwrap();
        let advice = "for which the limit `session_bytes` of 524288 has no room: ask for less";
        assert!(message.ends_with(advice), "{message}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_read_ends_and_what_waits_is_kept_up_to_its_limit() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().replay_bytes(10 * KIB));
        let id = host.ready().await;
        let stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        host.gates.announce.add_permits(20_000);
        settle().await;
        assert!(host.gates.announce.available_permits() > 0, "the session's code waits");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            host.gates.announce.available_permits(),
            0,
            "the server does not wait for a client that does not read"
        );
        assert!(host.server.held_bytes() <= BUFFERED + 10 * KIB, "{}", host.server.held_bytes());
        drop(stream);
        settle().await;
        assert!(host.server.held_bytes() <= 10 * KIB);
        // The session lives.
        assert_eq!(host.ask(&Ask::post(list(1)).session(&id)).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_long_event_that_is_cut_comes_whole_when_it_is_asked_for_again() {
    guarded(async {
        let options = ServerOptions::default().replay_bytes(KIB * KIB).stream_after(Duration::ZERO);
        let host = TestServer::with(options);
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::post(large(1, 900 * KIB)).session(&id)).await;
        let first = stream.next().await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(stream.message().await.is_none(), "it was cut in the middle");
        let resume = Ask::get().session(&id).with("last-event-id", &first.id);
        let mut resumed = host.wire().await.stream(&resume).await;
        let text = resumed.message().await.unwrap().json()["result"]["content"][0]["text"].take();
        assert_eq!(text.as_str().unwrap().len(), 900 * KIB);
        assert!(resumed.message().await.is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn all_sessions_together_keep_so_much_for_clients_that_come_back() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_replay_bytes(10 * KIB));
        for _ in 0..4 {
            host.ready().await;
        }
        host.gates.announce.add_permits(4000);
        settle().await;
        assert_eq!(host.gates.announce.available_permits(), 0);
        let held = host.server.held_bytes();
        assert!((9 * KIB..=10 * KIB).contains(&held), "{held}");
    })
    .await;
}
