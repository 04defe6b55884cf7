//! Event streams: which messages they carry, and how they are resumed.

use std::time::Duration;

use mcp_runtime::transport::http::ServerOptions;
use serde_json::{Value, json};

use super::test_server::{TestServer, call, guarded, list, settle};
use super::wire::Ask;

#[tokio::test(start_paused = true)]
async fn an_answer_is_json_unless_there_is_more_to_say() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let plain = host.ask(&Ask::post(call(1, "echo")).session(&id)).await;
        assert_eq!(plain.head.get("content-type"), Some("application/json"));
        host.gates.hold.add_permits(2);
        let mut stream = host.wire().await.stream(&Ask::post(call(2, "talk")).session(&id)).await;
        let primed = stream.next().await.unwrap();
        assert_eq!((&*primed.retry, primed.data), ("1000", None), "older clients see no event here");
        for progress in 1..=2 {
            let event = stream.message().await.unwrap();
            assert_eq!(event.json()["params"], json!({"progress": progress, "progressToken": 2}));
        }
        let last = stream.message().await.unwrap();
        assert_eq!(last.json()["result"]["content"][0]["text"], "talked");
        assert_eq!(stream.next().await, None, "the stream ends with its answer");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn newer_clients_are_primed_with_an_event() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let ask = Ask::get().session(&id).with("mcp-protocol-version", "2025-11-25");
        let mut stream = host.wire().await.stream(&ask).await;
        let primed = stream.next().await.unwrap();
        assert_eq!(primed.data.as_deref(), Some(""));
        assert!(!primed.id.is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_asks_about_a_call_comes_on_the_stream_of_that_call() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut general = host.wire().await.stream(&Ask::get().session(&id)).await;
        let mut stream = host.wire().await.stream(&Ask::post(call(1, "ask")).session(&id)).await;
        let asked = stream.message().await.unwrap().json();
        assert_eq!(asked["method"], "roots/list");
        let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"roots":[{"uri":"file:///a"}]}});
        assert_eq!(host.ask(&Ask::post(answer).session(&id)).await.head.status, 202);
        let result = stream.message().await.unwrap().json();
        assert_eq!(result["result"]["content"][0]["text"], "1 roots");
        assert_eq!(stream.next().await, None);
        // What is about nothing comes on the other stream, and only there.
        host.gates.announce.add_permits(1);
        let told = general.message().await.unwrap();
        assert_eq!(told.json()["method"], "notifications/tools/list_changed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_said_unasked_waits_for_a_stream_and_comes_once() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        host.gates.announce.add_permits(3);
        settle().await;
        let mut first = host.wire().await.stream(&Ask::get().session(&id)).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(first.message().await.unwrap().id);
        }
        // Of two streams, the one that was opened last is the one that is used.
        let mut second = host.wire().await.stream(&Ask::get().session(&id)).await;
        host.gates.announce.add_permits(1);
        ids.push(second.message().await.unwrap().id);
        drop(second);
        // Once that is gone, the other is used again. The server sees it go when it next looks.
        settle().await;
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4, "no event has the id of another");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_in_an_event_is_resumed_without_a_gap() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let first = stream.message().await.unwrap();
        assert_eq!(first.json()["params"]["progress"], 1.0);
        // The second event and the answer are on their way, but this client reads only a part of them and is gone.
        host.gates.hold.add_permits(2);
        let mut part = [0; 10];
        tokio::io::AsyncReadExt::read_exact(&mut stream.wire.stream, &mut part).await.unwrap();
        drop(stream);
        let mut resumed =
            host.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &first.id)).await;
        let second = resumed.message().await.unwrap();
        assert_eq!(second.json()["params"]["progress"], 2.0);
        let last = resumed.message().await.unwrap();
        assert_eq!(last.json()["result"]["content"][0]["text"], "talked");
        assert_eq!(resumed.next().await, None);
        // Once more from the same place gives the same, and from the end nothing.
        let mut again =
            host.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &first.id)).await;
        assert_eq!(again.message().await.unwrap().id, second.id);
        let end = host.ask(&Ask::get().session(&id).with("last-event-id", &last.id)).await;
        assert_eq!((end.head.status, &*end.body), (204, ""));
    })
    .await;
}

/// A cancelled call has no answer, so its stream ends without one. Real clients ask for it all the same, and would do
/// so once a second if they got empty streams.
#[tokio::test(start_paused = true)]
async fn a_client_that_resumes_a_cancelled_call_gets_no_stream() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let report = stream.message().await.unwrap();
        // While it is being worked on, there may be more.
        let back = Ask::get().session(&id).with("last-event-id", &report.id);
        let mut resumed = host.wire().await.stream(&back).await;
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        assert_eq!(host.ask(&Ask::post(cancel).session(&id)).await.head.status, 202);
        assert_eq!(resumed.message().await, None);
        for _ in 0..3 {
            let nothing = host.ask(&back).await;
            assert_eq!((nothing.head.status, &*nothing.body), (204, ""));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_when_its_stream_is_cut_before_the_first_event() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        // It takes its time, so the answer becomes a stream, with nothing on it yet.
        let mut stream = host.wire().await.stream(&Ask::post(call(1, "hold")).session(&id)).await;
        let primed = stream.next().await.unwrap();
        assert_eq!(host.gates.holding.load(std::sync::atomic::Ordering::SeqCst), 1);
        drop(stream);
        settle().await;
        host.gates.hold.add_permits(1);
        let mut resumed =
            host.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &primed.id)).await;
        assert_eq!(resumed.message().await.unwrap().json()["result"]["content"][0]["text"], "held");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_replay_buffer_has_a_limit() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().replay_bytes(400));
        let id = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            host.gates.announce.add_permits(1);
            ids.push(stream.message().await.unwrap().id);
        }
        // The oldest are gone, so what stood behind the first cannot be shown; a stream like a new one is opened.
        let mut late =
            host.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &ids[0])).await;
        host.gates.announce.add_permits(1);
        let event = late.message().await.unwrap();
        assert!(!ids.contains(&event.id), "{event:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_message_is_on_one_stream_wherever_it_is_cut() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut streams = Vec::new();
        for _ in 0..4 {
            streams.push(host.wire().await.stream(&Ask::get().session(&id)).await);
        }
        host.gates.announce.add_permits(1);
        settle().await;
        // One of them has it. Each says for itself what it has, and the rest is silence.
        let mut heard = Vec::new();
        for stream in &mut streams {
            while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(1), stream.message()).await
            {
                heard.push(event);
            }
        }
        assert_eq!(heard.len(), 1, "{heard:?}");
        // All are cut, at any place of what comes. What has not come is on the next stream, and nothing comes twice.
        let mut said = 1;
        let mut whole = heard;
        for cut in [1, 7, 30, 60, 100] {
            host.gates.announce.add_permits(2);
            said += 2;
            settle().await;
            for mut stream in streams.drain(..) {
                let mut part = vec![0; cut];
                let _ = tokio::time::timeout(
                    Duration::from_millis(1),
                    tokio::io::AsyncReadExt::read_exact(&mut stream.wire.stream, &mut part),
                )
                .await;
            }
            settle().await;
            let last = whole.last().unwrap().id.clone();
            let ask = Ask::get().session(&id).with("last-event-id", &last);
            let mut resumed = host.wire().await.stream(&ask).await;
            for _ in 0..2 {
                whole.push(resumed.message().await.unwrap());
            }
            streams.push(resumed);
        }
        let mut ids: Vec<&str> = whole.iter().map(|event| &*event.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), said, "none is lost, and none has come twice");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_stream_fails_and_one_that_waits_is_answered() {
    guarded(async {
        // What the server asks in the course of a call whose client is gone waits for a stream.
        let host = TestServer::start();
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(1, "hold_and_ask")).session(&id).text()).await;
        settle().await;
        drop(wire);
        settle().await;
        host.gates.hold.add_permits(1);
        settle().await;
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        let asked = stream.message().await.unwrap().json();
        assert_eq!(asked["method"], "roots/list");
        let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"roots":[]}});
        assert_eq!(host.ask(&Ask::post(&answer).session(&id)).await.head.status, 202);
        settle().await;
        assert_eq!(host.gates.said(), ["0 roots"]);
        drop(stream);
        settle().await;
        // If it cannot be kept, the caller gets an error.
        let host = TestServer::with(ServerOptions::default().replay_bytes(100));
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(1, "hold_and_ask")).session(&id).text()).await;
        settle().await;
        drop(wire);
        settle().await;
        host.gates.hold.add_permits(1);
        settle().await;
        let said = host.gates.said();
        assert!(said.len() == 1 && said[0].contains("opened no stream"), "{said:?}");
        // The same of several questions at once.
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(2, "hold_and_ask_twice")).session(&id).text()).await;
        settle().await;
        drop(wire);
        settle().await;
        host.gates.hold.add_permits(1);
        settle().await;
        let said = host.gates.said();
        assert!(said.len() == 2 && said[1].matches("opened no stream").count() == 2, "{said:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn messages_to_a_leaving_client_are_on_the_next_stream_and_its_answer_is_not() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(1, "hold_and_ask_twice")).session(&id).text()).await;
        let mut other = host.wire().await;
        other.send(&Ask::post(call(2, "hold")).session(&id).text()).await;
        settle().await;
        // The question is asked in the moment in which the connection ends.
        host.gates.hold.add_permits(2);
        drop(wire);
        drop(other);
        let mut stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        let asked = stream.message().await.unwrap().json();
        assert_eq!((&asked[0]["method"], &asked[1]["method"]), (&json!("roots/list"), &json!("ping")));
        let answer = json!([
            {"jsonrpc":"2.0","id":asked[0]["id"],"result":{"roots":[]}},
            {"jsonrpc":"2.0","id":asked[1]["id"],"result":{}},
        ]);
        assert_eq!(host.ask(&Ask::post(&answer).session(&id)).await.head.status, 202);
        settle().await;
        assert_eq!(host.gates.said(), ["both"]);
        // Answers have no reader now, and do not come on a GET stream.
        host.gates.announce.add_permits(1);
        assert_eq!(stream.message().await.unwrap().json()["method"], "notifications/tools/list_changed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_id_opens_nothing_but_its_own_stream() {
    guarded(async {
        let host = TestServer::start();
        let (id, other) = (host.ready().await, host.ready().await);
        let mut talk = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let event = talk.message().await.unwrap();
        let mut general = host.wire().await.stream(&Ask::get().session(&id)).await;
        general.next().await.unwrap();
        let (stream, number) = event.id.split_once('-').unwrap();
        // The other session has said as much, and none of that has these names.
        for guess in [
            event.id.clone(),
            stream.to_owned(),
            format!("{stream}-"),
            format!("{stream}-99"),
            format!("{stream}-{}", u64::MAX),
            format!("{stream}--1"),
            format!("{stream}-{number}-0"),
            format!("g{}", &event.id[1..]),
            "p".to_owned(),
            "p0".to_owned(),
            "p0-0".to_owned(),
            "p18446744073709551616-0".to_owned(),
            "é1-0".to_owned(),
            "x".repeat(10_000),
        ] {
            let ask = Ask::get().session(&other).with("last-event-id", &guess);
            let mut wire = host.wire().await;
            wire.send(&ask.text()).await;
            let head = wire.head().await.unwrap();
            // A GET stream that is gone is started again; an answer belongs to one client.
            let restarted = guess.starts_with('g');
            assert_eq!(
                (head.status, head.is_stream()),
                if restarted { (200, true) } else { (400, false) },
                "{guess}"
            );
            if guess == event.id {
                let refused = host.ask(&ask).await.body;
                assert!(refused.contains("see `ServerOptions::replay_bytes`"), "{refused}");
            }
        }
        // As one of another kind it is the id of no stream, also in its own session.
        let ask = Ask::get().session(&id).with("last-event-id", &format!("g{}", &event.id[1..]));
        let mut stream = host.wire().await.stream(&ask).await;
        assert!(stream.next().await.unwrap().id.starts_with('g'));
        drop(stream);
        settle().await;
        // In its own session an id gives what is behind it on that stream, and not what another one has.
        host.gates.announce.add_permits(1);
        host.gates.hold.add_permits(2);
        drop(talk);
        settle().await;
        let ask = Ask::get().session(&id).with("last-event-id", &event.id);
        let mut resumed = host.wire().await.stream(&ask).await;
        assert_eq!(resumed.message().await.unwrap().json()["params"]["progress"], 2.0);
        assert_eq!(resumed.message().await.unwrap().json()["id"], 1);
        assert_eq!(resumed.next().await, None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_resumed_stream_replaces_the_connection_that_is_not_read() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut before = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let first = before.message().await.unwrap();
        let ask = Ask::get().session(&id).with("last-event-id", &first.id);
        let mut after = host.wire().await.stream(&ask).await;
        host.gates.hold.add_permits(2);
        assert_eq!(after.message().await.unwrap().json()["params"]["progress"], 2.0);
        assert_eq!(after.message().await.unwrap().json()["id"], 1);
        assert_eq!(after.next().await, None);
        let begun = tokio::time::Instant::now();
        assert_eq!(before.message().await, None, "of two connections one has the rest");
        assert_eq!(begun.elapsed().as_secs(), 0, "and the other ends at once");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn streams_have_a_limit() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_streams(2));
        let id = host.ready().await;
        let _one = host.wire().await.stream(&Ask::get().session(&id)).await;
        let _two = host.wire().await.stream(&Ask::get().session(&id)).await;
        assert_eq!(host.ask(&Ask::get().session(&id)).await.head.status, 429);
        let refused = host.ask(&Ask::post(list(1)).session(&id)).await;
        assert_eq!((refused.head.status, &refused.json()["id"]), (429, &serde_json::json!(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_wait_for_its_answer_leaves_nothing_behind() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        drop(wire);
        host.gates.hold.add_permits(1);
        settle().await;
        // Disconnecting does not cancel: the call was made, and its answer has no reader. The session goes on.
        let listed: Value = host.ask(&Ask::post(list(2)).session(&id)).await.json();
        assert_eq!(listed["id"], 2);
    })
    .await;
}
