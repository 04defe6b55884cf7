//! Servers of other SDKs without streams, without sessions, with cut streams, and with lost sessions.

use mcp_protocols::VERSIONS;
use mcp_runtime::transport::http::HttpClient;
use mcp_runtime::{Error, RpcError};
use serde_json::json;

use super::servers::Serving;
use super::session::{TOOLS, begin, call, names, text_of};
use super::{Reports, guarded};

const SERVERS: [&str; 2] = ["server.mjs", "server.py"];

/// What can be done where the server says nothing but replies.
async fn play_plainly(url: &str, revision: &str) {
    let reports = Reports::default();
    let (_, client, _logged) = begin(HttpClient::new(url).unwrap(), revision, &reports).await;
    assert_eq!(names(&client).await, TOOLS);
    let (one, other) = tokio::join!(
        call(&client, "echo", json!({ "message": "grüße" })),
        call(&client, "echo", json!({ "message": "twice" }))
    );
    assert_eq!((&*text_of(one), &*text_of(other)), ("grüße", "twice"));
    client.ping().await.unwrap();
    let refused = call(&client, "nothing", json!({})).await;
    assert!(matches!(&refused, Err(Error::Refused(RpcError { code: -32602, .. }))), "{refused:?}");
    client.close().await.unwrap();
    assert_eq!(reports.take(), [""; 0], "{revision}");
}

#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn one_that_answers_with_json_only() {
    for name in SERVERS {
        guarded(async {
            let mut serving = Serving::start(name, "json").await;
            for revision in VERSIONS {
                play_plainly(&serving.url, revision).await;
                assert_eq!(serving.says().await, "deleted, 0 left");
            }
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn one_that_has_no_sessions() {
    for name in SERVERS {
        guarded(async {
            let serving = Serving::start(name, "stateless").await;
            for revision in VERSIONS {
                play_plainly(&serving.url, revision).await;
            }
        })
        .await;
    }
}

/// The server closes the stream of a call before it has answered, and the client comes back for the answer.
#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn one_that_hangs_up() {
    for name in SERVERS {
        guarded(async {
            let mut serving = Serving::start(name, "resumable").await;
            let reports = Reports::default();
            let client = HttpClient::new(&serving.url).unwrap();
            let (_, client, _logged) = begin(client, "2025-11-25", &reports).await;
            for _ in 0..3 {
                let (one, other) = tokio::join!(
                    call(&client, "release_connection", json!({})),
                    call(&client, "echo", json!({ "message": "meanwhile" }))
                );
                assert_eq!((&*text_of(one), &*text_of(other)), ("still here", "meanwhile"));
                assert_eq!(serving.says().await, "resumed");
            }
            client.close().await.unwrap();
            assert_eq!(serving.says().await, "deleted, 0 left");
            assert_eq!(reports.take(), [""; 0]);
        })
        .await;
    }
}

/// The server loses its sessions, as if it had been started again, and the client begins another.
#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn one_that_forgets_its_sessions() {
    for name in SERVERS {
        guarded(async {
            let mut serving = Serving::start(name, "resumable").await;
            let reports = Reports::default();
            let client = HttpClient::new(&serving.url).unwrap();
            let (_, client, _logged) = begin(client, "2025-11-25", &reports).await;
            for _ in 0..2 {
                assert_eq!(text_of(call(&client, "forget", json!({})).await), "forgotten");
                let echo = call(&client, "echo", json!({ "message": "who are you" })).await;
                assert_eq!(text_of(echo), "who are you");
                let renewed = reports.take();
                assert!(matches!(&*renewed, [one] if one.contains("reconnected")), "{renewed:?}");
            }
            client.close().await.unwrap();
            assert_eq!(serving.says().await, "deleted, 0 left");
            assert_eq!(reports.take(), [""; 0]);
        })
        .await;
    }
}
