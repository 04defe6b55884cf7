//! Handlers that outlast their session, and the limit on their number.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::transport::http::ServerOptions;
use tokio::time::Instant;

use super::test_server::{TestServer, call, guarded, initialize, list, settle};
use super::wire::{Ask, Wire};

/// Makes that many calls which are held; their connections.
async fn hold(host: &TestServer, session: &str, calls: i64) -> Vec<Wire> {
    let mut held = Vec::new();
    for id in 0..calls {
        let mut wire = host.wire().await;
        wire.send(&Ask::post(call(100 + id, "hold")).session(session).text()).await;
        held.push(wire);
    }
    settle().await;
    held
}

#[tokio::test(start_paused = true)]
async fn handlers_are_dropped_when_their_session_has_been_over_for_the_grace_period() {
    guarded(async {
        let mut host = TestServer::start();
        let alive = host.gates.alive.clone();
        // What has been held was some hundred handlers in each of some sessions, one session after the other.
        for _ in 0..3 {
            let id = host.ready().await;
            let _held = hold(&host, &id, 20).await;
            assert_eq!(alive.load(Ordering::SeqCst), 20);
            assert_eq!(host.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
            let begun = Instant::now();
            host.next_end().await.unwrap();
            assert_eq!((begun.elapsed().as_secs(), alive.load(Ordering::SeqCst)), (1, 0));
        }
        settle().await;
        assert_eq!(host.running(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_counts_until_its_code_has_returned() {
    guarded(async {
        let mut host = TestServer::with(ServerOptions::default().max_sessions(2));
        let ids = [host.ready().await, host.ready().await];
        let _held = hold(&host, &ids[0], 1).await;
        assert_eq!(host.ask(&Ask::method("DELETE").session(&ids[0])).await.head.status, 204);
        assert_eq!(host.server.session_count(), 1);
        // Its handler still runs, and so does its code.
        let refused = host.ask(&Ask::post(initialize(7))).await;
        assert_eq!((refused.head.status, refused.head.get("retry-after")), (503, Some("1")));
        assert_eq!(refused.json()["id"], 7, "{refused:?}");
        assert!(refused.body.contains("`max_sessions`"), "{refused:?}");
        host.next_end().await.unwrap();
        settle().await;
        assert_eq!(host.ask(&Ask::post(initialize(8))).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn all_sessions_together_have_a_limit_of_handlers() {
    guarded(async {
        let host =
            TestServer::with(ServerOptions::default().max_handlers(3).stream_after(Duration::from_secs(600)));
        let ids = [host.ready().await, host.ready().await];
        let mut held = hold(&host, &ids[0], 2).await;
        held.extend(hold(&host, &ids[1], 1).await);
        assert_eq!(host.gates.alive.load(Ordering::SeqCst), 3);
        for id in &ids {
            let refused = host.ask(&Ask::post(list(5)).session(id)).await;
            assert_eq!((refused.head.status, &refused.json()["id"]), (200, &5.into()), "{refused:?}");
            assert_eq!(refused.json()["error"]["code"], -32000);
            assert_eq!(refused.json()["error"]["data"]["limit"], "max_handlers");
        }
        host.gates.hold.add_permits(1);
        settle().await;
        let listed = host.ask(&Ask::post(list(6)).session(&ids[1])).await;
        assert!(listed.json()["result"].is_object(), "{listed:?}");
    })
    .await;
}
