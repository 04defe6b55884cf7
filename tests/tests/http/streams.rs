//! Streams: what comes on which, and what happens when one is cut.

use mcp_runtime::transport::http::{ListenOptions, ServerOptions};
use serde_json::{Value, json};

use super::desk::{Desk, call, guarded, list};
use super::wire::Ask;

#[tokio::test]
async fn an_answer_is_json_unless_there_is_more_to_say() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let plain = desk.ask(&Ask::post(call(1, "echo")).session(&id)).await;
        assert_eq!(plain.head.get("content-type"), Some("application/json"));
        desk.gates.hold.add_permits(2);
        let mut stream = desk.wire().await.stream(&Ask::post(call(2, "talk")).session(&id)).await;
        let primed = stream.next().await.unwrap();
        assert_eq!((&*primed.retry, primed.data), ("1000", None), "older clients see no event here");
        for progress in 1..=2 {
            let event = stream.message().await.unwrap();
            assert_eq!(event.json()["params"], json!({"progress": f64::from(progress), "progressToken": 2}));
        }
        let last = stream.message().await.unwrap();
        assert_eq!(last.json()["result"]["content"][0]["text"], "talked");
        assert_eq!(stream.next().await, None, "the stream ends with its answer");
    })
    .await;
}

#[tokio::test]
async fn newer_clients_are_primed_with_an_event() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let ask = Ask::get().session(&id).with("mcp-protocol-version", "2025-11-25");
        let mut stream = desk.wire().await.stream(&ask).await;
        let primed = stream.next().await.unwrap();
        assert_eq!(primed.data.as_deref(), Some(""));
        assert!(!primed.id.is_empty());
    })
    .await;
}

#[tokio::test]
async fn what_the_server_asks_about_a_call_comes_on_the_stream_of_that_call() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let mut general = desk.wire().await.stream(&Ask::get().session(&id)).await;
        let mut stream = desk.wire().await.stream(&Ask::post(call(1, "ask")).session(&id)).await;
        let asked = stream.message().await.unwrap().json();
        assert_eq!(asked["method"], "roots/list");
        let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"roots":[{"uri":"file:///a"}]}});
        assert_eq!(desk.ask(&Ask::post(answer).session(&id)).await.head.status, 202);
        let result = stream.message().await.unwrap().json();
        assert_eq!(result["result"]["content"][0]["text"], "1 roots");
        assert_eq!(stream.next().await, None);
        // What is about nothing comes on the other stream, and only there.
        desk.gates.announce.add_permits(1);
        let told = general.message().await.unwrap();
        assert_eq!(told.json()["method"], "notifications/tools/list_changed");
    })
    .await;
}

#[tokio::test]
async fn what_is_said_unasked_waits_for_a_stream_and_comes_once() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        desk.gates.announce.add_permits(3);
        while desk.gates.announce.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let mut first = desk.wire().await.stream(&Ask::get().session(&id)).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(first.message().await.unwrap().id);
        }
        // Of two streams, the one that was opened last is the one that is used.
        let mut second = desk.wire().await.stream(&Ask::get().session(&id)).await;
        desk.gates.announce.add_permits(1);
        ids.push(second.message().await.unwrap().id);
        drop(second);
        // Once that is gone, the other is used again. The server sees it go when it next looks.
        while desk.gates.announce.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4, "no event has the id of another");
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_cut_in_an_event_is_resumed_without_a_gap() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let mut stream = desk.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let first = stream.message().await.unwrap();
        assert_eq!(first.json()["params"]["progress"], 1.0);
        // The second event and the answer are on their way, but this client reads only a part of them and is gone.
        desk.gates.hold.add_permits(2);
        let mut part = [0; 10];
        tokio::io::AsyncReadExt::read_exact(&mut stream.wire.stream, &mut part).await.unwrap();
        drop(stream);
        let mut resumed =
            desk.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &first.id)).await;
        let second = resumed.message().await.unwrap();
        assert_eq!(second.json()["params"]["progress"], 2.0);
        let last = resumed.message().await.unwrap();
        assert_eq!(last.json()["result"]["content"][0]["text"], "talked");
        assert_eq!(resumed.next().await, None);
        // Once more from the same place gives the same, and from the end nothing.
        let mut again =
            desk.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &first.id)).await;
        assert_eq!(again.message().await.unwrap().id, second.id);
        let mut end =
            desk.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &last.id)).await;
        assert_eq!(end.message().await, None);
    })
    .await;
}

#[tokio::test]
async fn a_call_goes_on_when_its_stream_is_cut_before_the_first_event() {
    guarded(async {
        let options = ServerOptions::default().stream_after(std::time::Duration::ZERO);
        let desk = Desk::with(options, ListenOptions::default()).await;
        let id = desk.ready().await;
        let mut stream = desk.wire().await.stream(&Ask::post(call(1, "hold")).session(&id)).await;
        let primed = stream.next().await.unwrap();
        drop(stream);
        desk.gates.hold.add_permits(1);
        let mut resumed =
            desk.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &primed.id)).await;
        assert_eq!(resumed.message().await.unwrap().json()["result"]["content"][0]["text"], "held");
    })
    .await;
}

#[tokio::test]
async fn what_is_kept_for_those_who_come_back_has_a_limit() {
    guarded(async {
        let desk = Desk::with(ServerOptions::default().replay_bytes(400), ListenOptions::default()).await;
        let id = desk.ready().await;
        let mut stream = desk.wire().await.stream(&Ask::get().session(&id)).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            desk.gates.announce.add_permits(1);
            ids.push(stream.message().await.unwrap().id);
        }
        // The oldest are gone, so what stood behind the first cannot be shown; a stream like a new one is opened.
        let mut late =
            desk.wire().await.stream(&Ask::get().session(&id).with("last-event-id", &ids[0])).await;
        desk.gates.announce.add_permits(1);
        let event = late.message().await.unwrap();
        assert!(!ids.contains(&event.id), "{event:?}");
    })
    .await;
}

#[tokio::test]
async fn streams_have_a_limit() {
    guarded(async {
        let desk = Desk::with(ServerOptions::default().max_streams(2), ListenOptions::default()).await;
        let id = desk.ready().await;
        let _one = desk.wire().await.stream(&Ask::get().session(&id)).await;
        let _two = desk.wire().await.stream(&Ask::get().session(&id)).await;
        assert_eq!(desk.ask(&Ask::get().session(&id)).await.head.status, 429);
        assert_eq!(desk.ask(&Ask::post(list(1)).session(&id)).await.head.status, 429);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_does_not_wait_for_its_answer_leaves_nothing_behind() {
    guarded(async {
        let desk = Desk::start().await;
        let id = desk.ready().await;
        let mut wire = desk.wire().await;
        wire.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        drop(wire);
        desk.gates.hold.add_permits(1);
        while desk.gates.hold.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        // To go away is not to take back: the call was made, and its answer is nobody's. The session goes on.
        let listed: Value = desk.ask(&Ask::post(list(2)).session(&id)).await.json();
        assert_eq!(listed["id"], 2);
    })
    .await;
}
