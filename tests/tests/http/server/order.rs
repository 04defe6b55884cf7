//! Requests that overtake one another, come twice, or name another client's session.

use serde_json::{Value, json};

use super::test_server::{TestServer, call, guarded, initialize, initialized, list, settle};
use super::wire::Ask;

#[tokio::test(start_paused = true)]
async fn the_list_of_tools_overtakes_initialized() {
    guarded(async {
        let host = TestServer::start();
        let id = host.open().await;
        let listed = host.ask(&Ask::post(list(1)).session(&id)).await;
        assert_eq!(listed.json()["result"]["tools"][0]["name"], "echo");
        assert_eq!(host.ask(&Ask::post(initialized()).session(&id)).await.head.status, 202);
        let called = host.ask(&Ask::post(call(2, "echo")).session(&id)).await;
        assert_eq!(called.json()["result"]["content"][0]["text"], "hello");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_says_initialized_is_served_until_it_is_forgotten() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.open().await;
        for number in 1..5 {
            let listed = host.ask(&Ask::post(list(number)).session(&id)).await;
            assert_eq!(listed.json()["id"], number);
        }
        assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
        // The revision lets a client leave here, so the server's code sees an end in order.
        host.next_end().await.unwrap_err();
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_clients_that_begin_at_the_same_time_have_two_sessions() {
    guarded(async {
        let host = TestServer::start();
        let ask = Ask::post(initialize(0));
        let (one, two) = tokio::join!(host.ask(&ask), host.ask(&ask));
        let id = |answer: &super::wire::Answer| answer.head.get("mcp-session-id").unwrap().to_owned();
        assert_ne!(id(&one), id(&two));
        assert_eq!(host.server.session_count(), 2);
        // Each has its own state: what one says is not said in the other.
        let ready = Ask::post(initialized());
        assert_eq!(host.ask(&ready.clone().session(&id(&one))).await.head.status, 202);
        assert_eq!(host.ask(&ready.clone().session(&id(&one))).await.head.status, 400);
        assert_eq!(host.ask(&ready.session(&id(&two))).await.head.status, 202);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_message_of_the_session_is_refused_with_its_code() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        // With a session and without one, the code is that of JSON-RPC.
        for ask in [Ask::post("not JSON"), Ask::post("not JSON").session(&id)] {
            let refused = host.ask(&ask).await;
            assert_eq!((refused.head.status, &refused.json()["error"]["code"]), (400, &json!(-32700)));
        }
        // Nothing could be answered to a request without an id.
        let request = Ask::post(r#"{"jsonrpc":"2.0","method":"tools/list"}"#).session(&id);
        let refused = host.ask(&request).await;
        assert_eq!(refused.head.status, 400);
        let said = &refused.json()["error"]["message"];
        assert_eq!(said, "`tools/list` is a request: send it with an `id`");
        // What a later revision may have is ignored.
        let unknown = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/later"}"#).session(&id);
        assert_eq!(host.ask(&unknown).await.head.status, 202);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_second_initialize_is_refused_and_changes_nothing() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let again = host.ask(&Ask::post(initialize(7)).session(&id)).await;
        assert_eq!((again.head.status, &again.json()["id"]), (200, &json!(7)), "{again:?}");
        assert_eq!(again.json()["error"]["data"]["state"], "Active", "{again:?}");
        assert_eq!(again.head.get("mcp-session-id"), None);
        assert_eq!(host.server.session_count(), 1);
        let listed = host.ask(&Ask::post(list(8)).session(&id)).await;
        assert_eq!(listed.json()["id"], 8);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_refused_leaves_nothing_behind() {
    guarded(async {
        let mut host = TestServer::start();
        let unread = json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":7}});
        let refused = host.ask(&Ask::post(unread)).await;
        assert_eq!(refused.json()["error"]["code"], -32602, "{refused:?}");
        assert_eq!(refused.head.get("mcp-session-id"), None);
        host.next_end().await.unwrap_err();
        assert_eq!(host.server.session_count(), 0);
        // Nor does a batch begin a session.
        let batch = host.ask(&Ask::post(json!([initialize(0)]))).await;
        assert_eq!(batch.head.status, 400);
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_on_a_session_that_is_being_deleted() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        let mut held = host.wire().await;
        held.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        let stream = host.wire().await.stream(&Ask::get().session(&id)).await;
        settle().await;
        assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
        for ask in [Ask::post(list(3)), Ask::get(), Ask::method("DELETE"), Ask::post(initialize(4))] {
            assert_eq!(host.ask(&ask.session(&id)).await.head.status, 404);
        }
        // What was running has come to an end, too: the call, the stream, and the session's code.
        let begun = tokio::time::Instant::now();
        assert_eq!(held.answer().await.head.status, 410);
        let mut stream = stream;
        assert_eq!(stream.message().await, None);
        assert_eq!(begun.elapsed().as_secs(), 0, "at once");
        host.gates.hold.add_permits(1);
        host.next_end().await.unwrap();
        assert_eq!(host.server.session_count(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_client_s_session_cannot_be_guessed() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        assert_eq!(id.len(), 32);
        // Near misses of a real id are as wrong as anything.
        for place in 0..id.len() {
            let mut guess = id.clone().into_bytes();
            guess[place] = if guess[place] == b'0' { b'1' } else { b'0' };
            let guess = String::from_utf8(guess).unwrap();
            assert_eq!(host.ask(&Ask::post(list(1)).session(&guess)).await.head.status, 404);
            assert_eq!(host.ask(&Ask::method("DELETE").session(&guess)).await.head.status, 404);
        }
        for guess in [&id[..31], &format!("{id}0"), &id.to_uppercase()] {
            if *guess != id {
                assert_eq!(host.ask(&Ask::get().session(guess)).await.head.status, 404, "{guess}");
            }
        }
        // What belongs to one session cannot be reached from another, even where the names are alike.
        let other = host.ready().await;
        let mut stream = host.wire().await.stream(&Ask::post(call(1, "talk")).session(&id)).await;
        let event = stream.message().await.unwrap();
        let stolen = host.ask(&Ask::get().session(&other).with("last-event-id", &event.id)).await;
        assert_eq!(stolen.head.status, 400);
        assert_eq!(host.ask(&Ask::post(list(5)).session(&id)).await.head.status, 200);
        // A near miss gets the same answer as a wild guess, and so does an id that was valid until now.
        assert_eq!(host.ask(&Ask::method("DELETE").session(&other)).await.head.status, 204);
        let near = format!("{}{}", &id[..31], if id.ends_with('0') { '1' } else { '0' });
        let mut answers = Vec::new();
        for guess in [&*near, "x", "", &other, "ÿ", &"0".repeat(20_000)] {
            let mut wire = host.wire().await;
            let answer = wire.ask(&Ask::post(list(1)).session(guess)).await;
            // All but the time of day.
            answers.push(format!(
                "{} {:?} {}",
                answer.head.status,
                answer.head.get("content-type"),
                answer.body
            ));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].contains("404") && !answers[0].contains(&id));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn batches_are_answered_together() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let batch =
            json!([list(1), initialized(), call(2, "echo"), {"jsonrpc":"2.0","id":3,"method":"ping"}]);
        let answer = host.ask(&Ask::post(batch).session(&id)).await;
        assert_eq!((answer.head.status, answer.head.is_stream()), (200, false));
        let answer = answer.json();
        let mut ids: Vec<i64> =
            answer.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3]);
        let told = json!([{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]);
        assert_eq!(host.ask(&Ask::post(told).session(&id)).await.head.status, 202);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn ids_in_use_are_refused_where_they_come() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        let mut held = host.wire().await;
        held.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        // The one that comes first holds the id. The other is refused on its own connection, in words alone: an error
        // under the id would be taken for the reply to the first.
        let mut twice = host.wire().await;
        twice.send(&Ask::post(call(1, "hold")).session(&id).text()).await;
        let refused = tokio::select! { answer = held.answer() => answer, answer = twice.answer() => answer };
        assert_eq!(refused.head.status, 400, "{refused:?}");
        let refusal = refused.json();
        assert!(refusal.get("id").is_none_or(Value::is_null), "{refusal}");
        assert!(refusal.to_string().contains("still running"), "{refusal}");
        host.gates.hold.add_permits(1);
        let answered = tokio::select! { answer = held.answer() => answer, answer = twice.answer() => answer };
        assert_eq!(answered.json()["result"]["content"][0]["text"], "held");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_deleted_in_the_middle_of_a_body_is_gone() {
    guarded(async {
        let mut host = TestServer::start();
        let id = host.ready().await;
        // The session is there when the head has come, and gone when the body has.
        let mut slow = host.wire().await;
        let text = Ask::post(call(1, "hold")).session(&id).text();
        let (head, body) = text.split_at(text.len() - 10);
        slow.send(head).await;
        settle().await;
        assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
        slow.send(body).await;
        assert_eq!(slow.answer().await.head.status, 404);
        assert_eq!(host.gates.holding.load(std::sync::atomic::Ordering::SeqCst), 0);
        host.next_end().await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_before_it_knows_its_session_leaves_nothing_behind() {
    guarded(async {
        let mut host = TestServer::start();
        host.gates.greet.forget_permits(usize::MAX);
        let mut wire = host.wire().await;
        wire.send(&Ask::post(initialize(0)).text()).await;
        settle().await;
        assert_eq!(host.server.session_count(), 1);
        drop(wire);
        settle().await;
        assert_eq!((host.server.session_count(), host.running()), (0, 0));
        host.next_end().await.unwrap_err();
    })
    .await;
}
