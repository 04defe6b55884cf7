//! Streams of events over HTTP.

use serde_json::json;

use super::Test;
use super::client::CALL;
use super::http_guard::{Guard, run};
use super::http_server::Server;

pub(crate) const TESTS: [Test; 5] = [
    ("events_pass_as_they_come", || run(events_pass_as_they_come())),
    ("events_that_are_sent_again_are_judged_once", || run(events_that_are_sent_again_are_judged_once())),
    ("a_cancelled_request_may_stay_without_a_reply", || run(a_cancelled_request_may_stay_without_a_reply())),
    ("progress_in_one_stream_increases", || run(progress_in_one_stream_increases())),
    ("a_stream_that_is_resumed_goes_on", || run(a_stream_that_is_resumed_goes_on())),
];

async fn events_pass_as_they_come() {
    let server = Server::start("slow").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    let mut response = guard.post(Some(&session), &call).send().await.unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.ends_with(b"}\r\n\r\n"), "{first:?}");
    // Only now the server may go on.
    server.go();
    let rest = response.text().await.unwrap();
    assert!(rest.contains("called"), "{rest}");
    assert_eq!(guard.stop(), "");
}

async fn events_that_are_sent_again_are_judged_once() {
    let server = Server::start("correct").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    let listen = || {
        guard.client.get(&guard.url).header("accept", "text/event-stream").header("mcp-session-id", &session)
    };
    let first = listen().send().await.unwrap().text().await.unwrap();
    let again = listen().header("last-event-id", "0").send().await.unwrap().text().await.unwrap();
    assert_eq!(first, again);
    let reports = guard.stop();
    assert_eq!(reports.lines().count(), 1, "{reports}");
}

async fn a_cancelled_request_may_stay_without_a_reply() {
    for is_cancelled in [true, false] {
        let server = Server::start("forgets").await;
        let guard = Guard::start(&server.url, &[]);
        let session = guard.initialize().await;
        let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
        let answer = guard.post(Some(&session), &call).send().await.unwrap();
        if is_cancelled {
            let params = json!({ "requestId": 2 });
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            assert_eq!(guard.ask(Some(&session), &cancel.to_string()).await.0, 202);
        }
        server.go();
        answer.text().await.unwrap();
        let reports = guard.stop();
        assert_eq!(reports.contains("ends without the reply"), !is_cancelled, "{reports}");
    }
}

async fn progress_in_one_stream_increases() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    let server = Server::start("stands still").await;
    let guard = Guard::start(&server.url, &[]);
    let session = guard.initialize().await;
    guard.ask(Some(&session), &call).await;
    let reports = guard.stop();
    let [stays, decreases] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    let said = "server: the progress of the request 2";
    assert!(stays.contains(&format!("{said} does not increase: 5 follows 5: increase")), "{reports}");
    assert!(decreases.contains(&format!("{said} decreases: 4 follows 5: increase")), "{reports}");

    let server = Server::start("reports late").await;
    let guard = Guard::start(&server.url, &["--enforce"]);
    let session = guard.initialize().await;
    let (_, last) = guard.ask(Some(&session), &call).await;
    assert!(last["result"].is_object(), "{last}");
    let reports = guard.stop();
    assert!(reports.contains("dropped: `notifications/progress` carries the token 7"), "{reports}");
    assert_eq!(reports.lines().count(), 1, "{reports}");
}

/// What follows in the stream that resumes another one follows what came there. In a stream of its own it does not.
async fn a_stream_that_is_resumed_goes_on() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    for last in [Some("1"), None] {
        let server = Server::start("resumes").await;
        let guard = Guard::start(&server.url, &[]);
        let session = guard.initialize().await;
        guard.post(Some(&session), &call).send().await.unwrap().text().await.unwrap();
        let mut listen = guard.client.get(&guard.url).header("mcp-session-id", &session);
        listen = last.into_iter().fold(listen, |listen, last| listen.header("last-event-id", last));
        listen.send().await.unwrap().text().await.unwrap();
        let reports = guard.stop();
        let stays = reports.contains("the progress of the request 2 does not increase: 3 follows 3");
        assert_eq!(stays, last.is_some(), "{reports}");
        assert!(reports.contains("the progress of the request 2 decreases: 2 follows 3"), "{reports}");
    }
}
