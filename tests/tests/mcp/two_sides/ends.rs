//! Ends of sessions: in order from either side, and abrupt ones in the middle of calls.

use mcp_protocols::mcp_2025_03_26::server::{AwaitingNotifNext, Incoming};
use mcp_runtime::{DisconnectReason, Error, Outcome, StepError};
use serde_json::json;

use super::handlers::{Model, Tools, call, question};
use super::{active, everything, guarded, hello, pair, welcome};

#[tokio::test]
async fn the_client_closes() {
    guarded(async {
        let (client, server, watch) = active().await;
        let handle = client.handle();
        let serving = test_support::spawn(server.incoming().serve(Tools));
        let gone = test_support::spawn(async move {
            server.ended().await;
            server.close().await
        });
        assert!(matches!(client.close().await, Ok(Outcome::Closed)));
        serving.await.unwrap();
        let gone = gone.await.unwrap();
        assert!(matches!(gone, Ok(Outcome::Closed)), "{gone:?}");
        assert!(matches!(handle.ping().await, Err(Error::Closed)));
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_server_closes() {
    guarded(async {
        let (client, server, watch) = active().await;
        let serving = test_support::spawn(client.incoming().serve(Model::saying(None)));
        let (closed, ()) = tokio::join!(server.close(), async {
            client.ended().await;
            let late = client.ping().await;
            assert!(
                matches!(late, Err(Error::Disconnected { reason: DisconnectReason::PeerClosed })),
                "{late:?}"
            );
            assert!(matches!(client.close().await, Ok(Outcome::Closed)));
        });
        assert!(matches!(closed, Ok(Outcome::Closed)), "{closed:?}");
        serving.await.unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn both_close_at_once() {
    guarded(async {
        let (client, server, watch) = active().await;
        let (one, other) = tokio::join!(client.close(), server.close());
        assert!(matches!(one, Ok(Outcome::Closed)), "{one:?}");
        assert!(matches!(other, Ok(Outcome::Closed)), "{other:?}");
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn what_the_client_told_before_it_closed_still_counts() {
    guarded(async {
        let (client, server, _watch) = active().await;
        let incoming = server.incoming();
        client.send_roots_list_changed().await.unwrap();
        let (closed, ()) = tokio::join!(client.close(), async {
            assert!(matches!(incoming.next().await, Some(Incoming::RootsListChanged)));
            assert!(incoming.next().await.is_none());
            assert!(server.close().await.is_ok());
        });
        assert!(matches!(closed, Ok(Outcome::Closed)), "{closed:?}");
    })
    .await;
}

#[tokio::test]
async fn a_client_parts_where_the_protocol_lets_it() {
    guarded(async {
        let (client, server, watch) = pair();
        let client = client.send_initialize(hello(json!({}))).await.unwrap();
        let (_, server) = server.recv_initialize().await.unwrap();
        let server = server.send_initialize_result(welcome(json!({}))).await.unwrap();
        let (_, client) = client.recv_initialize_result().await.unwrap();
        let (closed, next) = tokio::join!(client.close(), server.next());
        assert!(matches!(closed, Ok(Outcome::Closed)), "{closed:?}");
        assert!(matches!(next, Ok(AwaitingNotifNext::Closed)), "{next:?}");
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_leaves_during_the_handshake_ends_the_step() {
    guarded(async {
        let (client, server, _watch) = pair();
        let client = client.send_initialize(hello(everything().0)).await.unwrap();
        let (_, server) = server.recv_initialize().await.unwrap();
        drop(server);
        match client.recv_initialize_result().await {
            Err(StepError::Ended(Error::Disconnected { reason: DisconnectReason::PeerClosed })) => {}
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_vanishes_fails_every_call_with_the_reason() {
    guarded(async {
        let (client, server, watch) = active().await;
        let incoming = server.incoming();
        let handle = client.handle();
        let elsewhere = test_support::spawn(handle.call_tool(call("elsewhere")));
        let serving = test_support::spawn(client.incoming().serve(Model::saying(None)));
        let calls = async {
            tokio::join!(
                client.call_tool(call("slow")),
                client.list_prompts(None),
                client.call_tool(call("reported")).on_progress(|_| {}),
                client.handle().list_tools(None),
            )
        };
        let vanishing = async {
            let mut asked = Vec::new();
            while asked.len() < 5 {
                asked.push(incoming.next().await.unwrap());
            }
            server.abort();
            // The answers are dropped now, without harm.
            drop(asked);
        };
        let ((slow, prompts, reported, tools), ()) = tokio::join!(calls, vanishing);
        let errors = [
            slow.unwrap_err(),
            prompts.unwrap_err(),
            reported.unwrap_err(),
            tools.unwrap_err(),
            elsewhere.await.unwrap().unwrap_err(),
            handle.ping().await.unwrap_err(),
            client.ping().await.unwrap_err(),
            client.send_roots_list_changed().await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::Disconnected { reason: DisconnectReason::PeerClosed }), "{error}");
            assert_eq!(error.to_string(), "the session has ended: the peer closed the connection");
        }
        serving.await.unwrap();
        client.ended().await;
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_client_that_vanishes_fails_the_server_s_requests_and_cancels_its_work() {
    guarded(async {
        let (client, server, _watch) = active().await;
        let (asked, asks) = (client.incoming(), server.incoming());
        let mut call = Box::pin(client.handle().call_tool(call("slow")));
        let responder = tokio::select! {
            _ = &mut call => panic!("completed without an answer"),
            Some(Incoming::ToolsCall(_, responder)) = asks.next() => responder,
        };
        let vanishing = async {
            let question = asked.next().await.unwrap();
            drop(call);
            client.abort();
            drop(question);
        };
        let (outcome, ()) = tokio::join!(server.create_message(question("why")), vanishing);
        assert!(
            matches!(outcome, Err(Error::Disconnected { reason: DisconnectReason::PeerClosed })),
            "{outcome:?}"
        );
        responder.context().cancelled().await;
        assert!(asks.next().await.is_none());
    })
    .await;
}
