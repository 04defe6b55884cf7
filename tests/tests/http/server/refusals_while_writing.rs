//! Refusals that reach a client which is still writing.

use mcp_runtime::transport::http::ServerOptions;

use super::test_server::{TestServer, guarded, list};
use super::wire::Ask;

#[tokio::test(start_paused = true)]
async fn a_refusal_reaches_a_client_that_is_still_writing() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_body_bytes(1000));
        let id = host.ready().await;
        let body = "x".repeat(1_000_000);
        // One says how long it is, one does not, one is refused for its head.
        let pieces = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        for (ask, status) in [
            (Ask::post(&body).session(&id).text(), 413),
            (Ask::post("").session(&id).pieces().head() + &pieces, 413),
            (Ask::post(&body).session(&id).with("host", "evil.example").text(), 403),
        ] {
            let mut wire = host.wire().await;
            // All of it can be written, though nothing of the answer is read meanwhile.
            wire.send(&ask).await;
            assert_eq!(wire.answer().await.head.status, status);
            // What was thrown away is not taken for the next request.
            assert_eq!(wire.ask(&Ask::post(list(1)).session(&id)).await.head.status, 200);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_thrown_away_has_a_limit() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_body_bytes(1000).drain_bytes(100_000));
        let mut wire = host.wire().await;
        let head = Ask::post("").with("content-length", "100000000").head();
        tokio::io::AsyncWriteExt::write_all(&mut wire.stream, head.as_bytes()).await.unwrap();
        let mut written = 0;
        while tokio::io::AsyncWriteExt::write_all(&mut wire.stream, &[b'x'; 1000]).await.is_ok() {
            written += 1000;
            assert!(written < 1_000_000, "the connection is not closed");
        }
        assert!(written >= 100_000, "{written}");
    })
    .await;
}
