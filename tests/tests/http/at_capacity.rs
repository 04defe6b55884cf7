//! As many sessions as the settings permit. It takes longer than any other test of this program, and begins before the
//! others by its name: at their end, one core would be idle while it goes on.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashSet;
use std::time::Duration;

use integration_tests::http::test_server::{TestServer, guarded, initialize, initialized, list};
use integration_tests::http::wire::Ask;

/// All that the settings permit. Over one connection, for a session at rest needs none.
#[tokio::test(start_paused = true)]
async fn ten_thousand_idle_sessions() {
    guarded(async {
        let host = TestServer::start();
        let mut wire = host.wire().await;
        let (opening, ready) = (Ask::post(initialize(0)), Ask::post(initialized()));
        let mut ids = Vec::new();
        for number in 0..10_000 {
            let answer = wire.ask(&opening).await;
            let id = answer.head.get("mcp-session-id").unwrap().to_owned();
            // One client in ten comes back at all.
            if number % 10 == 0 {
                assert_eq!(wire.ask(&ready.clone().session(&id)).await.head.status, 202);
            }
            ids.push(id);
        }
        assert_eq!((host.server.session_count(), host.running()), (10_000, 10_000));
        assert_eq!(wire.ask(&opening).await.head.status, 503);
        let distinct: HashSet<&String> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        // Each is its own, wherever one looks.
        for id in ids.iter().step_by(100) {
            assert_eq!(wire.ask(&Ask::post(list(1)).session(id)).await.json()["id"], 1);
        }
        assert_eq!(wire.ask(&Ask::method("DELETE").session(&ids[0])).await.head.status, 204);
        assert_eq!(wire.ask(&opening).await.head.status, 200, "there is room again");
        // Those who have never come back are forgotten first.
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!((host.server.session_count(), host.running()), (999, 999));
        // Then all sessions but one are idle for as long as a session may be.
        let last = &ids[9_990];
        for number in 2..6 {
            tokio::time::sleep(Duration::from_secs(10 * 60)).await;
            assert_eq!(wire.ask(&Ask::post(list(number)).session(last)).await.json()["id"], number);
        }
        assert_eq!((host.server.session_count(), host.running()), (1, 1));
        for gone in [0, 1, 10] {
            assert_eq!(wire.ask(&Ask::post(list(1)).session(&ids[gone])).await.head.status, 404);
        }
    })
    .await;
}
