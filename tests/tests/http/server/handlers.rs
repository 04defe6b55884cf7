//! Handlers that outlast the session they work for, and how many of them there may be.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::transport::http::ServerOptions;
use tokio::time::Instant;

use super::desk::{Desk, call, guarded, initialize, list, settle};
use super::wire::{Ask, Wire};

/// Makes that many calls which are held; their connections.
async fn hold(desk: &Desk, session: &str, calls: i64) -> Vec<Wire> {
    let mut held = Vec::new();
    for id in 0..calls {
        let mut wire = desk.wire().await;
        wire.send(&Ask::post(call(100 + id, "hold")).session(session).text()).await;
        held.push(wire);
    }
    settle().await;
    held
}

#[tokio::test(start_paused = true)]
async fn handlers_are_dropped_when_their_session_has_been_over_for_the_grace_period() {
    guarded(async {
        let mut desk = Desk::start();
        let alive = desk.gates.alive.clone();
        // What has been held was some hundred handlers in each of some sessions, one session after the other.
        for _ in 0..3 {
            let id = desk.ready().await;
            let _held = hold(&desk, &id, 20).await;
            assert_eq!(alive.load(Ordering::SeqCst), 20);
            assert_eq!(desk.ask(&Ask::method("DELETE").session(&id)).await.head.status, 204);
            let begun = Instant::now();
            desk.next_end().await.unwrap();
            assert_eq!((begun.elapsed().as_secs(), alive.load(Ordering::SeqCst)), (1, 0));
        }
        settle().await;
        assert_eq!(desk.running(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_counts_until_its_code_has_returned() {
    guarded(async {
        let mut desk = Desk::with(ServerOptions::default().max_sessions(2));
        let ids = [desk.ready().await, desk.ready().await];
        let _held = hold(&desk, &ids[0], 1).await;
        assert_eq!(desk.ask(&Ask::method("DELETE").session(&ids[0])).await.head.status, 204);
        assert_eq!(desk.server.session_count(), 1);
        // Its handler still runs, and so does its code.
        let refused = desk.ask(&Ask::post(initialize(7))).await;
        assert_eq!((refused.head.status, refused.head.get("retry-after")), (503, Some("1")));
        assert_eq!(refused.json()["id"], 7, "{refused:?}");
        assert!(refused.body.contains("`max_sessions`"), "{refused:?}");
        desk.next_end().await.unwrap();
        settle().await;
        assert_eq!(desk.ask(&Ask::post(initialize(8))).await.head.status, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn all_sessions_together_have_a_limit_of_handlers() {
    guarded(async {
        let desk =
            Desk::with(ServerOptions::default().max_handlers(3).stream_after(Duration::from_secs(600)));
        let ids = [desk.ready().await, desk.ready().await];
        let mut held = hold(&desk, &ids[0], 2).await;
        held.extend(hold(&desk, &ids[1], 1).await);
        assert_eq!(desk.gates.alive.load(Ordering::SeqCst), 3);
        for id in &ids {
            let refused = desk.ask(&Ask::post(list(5)).session(id)).await;
            assert_eq!((refused.head.status, &refused.json()["id"]), (200, &5.into()), "{refused:?}");
            assert_eq!(refused.json()["error"]["code"], -32000);
            assert_eq!(refused.json()["error"]["data"]["limit"], "max_handlers");
        }
        desk.gates.hold.add_permits(1);
        settle().await;
        let listed = desk.ask(&Ask::post(list(6)).session(&ids[1])).await;
        assert!(listed.json()["result"].is_object(), "{listed:?}");
    })
    .await;
}
