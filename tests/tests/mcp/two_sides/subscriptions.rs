//! Subscriptions to resources: sub-sessions, and uncorrelated updates.

use mcp_protocols::mcp_2025_03_26::server::WatchedNext;
use mcp_protocols::mcp_2025_03_26::{Subscribing, Watched, client, server};
use mcp_protocols::types::{ResourceParams, ResourceUpdatedParams};
use mcp_runtime::{Error, RpcError, StepError};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{active_with, everything, guarded};

fn uri(uri: &str) -> ResourceParams {
    ResourceParams::new(uri)
}

fn updated(uri: &str) -> ResourceUpdatedParams {
    ResourceUpdatedParams::new(uri)
}

/// A server whose resources change whenever the test says so.
struct Resources {
    changes: watch::Sender<u32>,
    told: mpsc::UnboundedSender<String>,
}

impl server::Handler for Resources {
    async fn subscribe(
        &self,
        _: server::Context,
        params: ResourceParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        let name = params.uri.clone();
        if name == "secret" {
            subscription.refuse(RpcError::new(-32002, "no such resource")).await.unwrap();
            return;
        }
        let mut changes = self.changes.subscribe();
        let mut subscription = subscription.send_subscribed().await.unwrap();
        let mut times = 1;
        loop {
            tokio::select! {
                () = subscription.readable() => {}
                changed = changes.changed() => {
                    changed.unwrap();
                    subscription.send_resource_updated(updated(&params.uri)).await.unwrap();
                    continue;
                }
            }
            match subscription.next().await {
                Ok(WatchedNext::ResourcesSubscribe(again, renewing)) => {
                    assert_eq!(again, params);
                    times += 1;
                    subscription = renewing.send_subscribed().await.unwrap();
                }
                Ok(WatchedNext::ResourcesUnsubscribe(_, leaving)) => {
                    leaving.send_unsubscribed().await.unwrap();
                    self.told.send(format!("{name} left after {times}")).unwrap();
                    return;
                }
                Err(error) => return self.told.send(format!("{name}: {error}")).unwrap(),
            }
        }
    }

    async fn unsubscribe(&self, _: server::Context, params: ResourceParams) -> Result<(), RpcError> {
        self.told.send(format!("no subscription to {}", json!(params.uri))).unwrap();
        Ok(())
    }
}

#[tokio::test]
async fn a_subscription_is_a_value_of_its_own() {
    guarded(async {
        let (offers, can) = everything();
        let (client, server, watched) = active_with(offers, can).await;
        let (changes, _) = watch::channel(0);
        let (told, mut said) = mpsc::unbounded_channel();
        test_support::spawn(server.incoming().serve(Resources { changes: changes.clone(), told }));

        let (mut a, mut b): (client::Subscription<Watched>, _) =
            (client.subscribe(uri("a")).await.unwrap(), client.subscribe(uri("b")).await.unwrap());
        for _ in 0..3 {
            changes.send_modify(|change| *change += 1);
            assert_eq!(b.recv_resource_updated().await.unwrap(), updated("b"));
            assert_eq!(a.recv_resource_updated().await.unwrap(), updated("a"));
        }
        // Only the holder of the subscription subscribes again.
        a.subscribe(uri("a")).await.unwrap();
        let again = client.subscribe(uri("a")).await.unwrap_err();
        assert_eq!(
            again.to_string(),
            "`resources/subscribe` carries the uri \"a\", under which something is running already"
        );
        let alone = client.unsubscribe(uri("a")).await.unwrap_err();
        assert!(matches!(alone, Error::NotPermitted(_)), "{alone}");
        a.unsubscribe(uri("a")).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), "a left after 2");
        // It is free again, and the other one goes on.
        let a = client.subscribe(uri("a")).await.unwrap();
        b.unsubscribe(uri("b")).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), "b left after 1");
        a.unsubscribe(uri("a")).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), "a left after 1");
        watched.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn what_no_subscription_names_stands_alone() {
    guarded(async {
        let (offers, can) = everything();
        let (client, server, watched) = active_with(offers, can).await;
        let (told, mut said) = mpsc::unbounded_channel();
        let (changes, _) = watch::channel(0);
        test_support::spawn(server.incoming().serve(Resources { changes, told }));
        let incoming = client.incoming();
        let subscription = client.subscribe(uri("folder")).await.unwrap();
        // A part of what is under watch has an address of its own.
        server.send_resource_updated(updated("folder/file")).await.unwrap();
        let Some(client::Incoming::ResourceUpdated(params)) = incoming.next().await else { panic!() };
        assert_eq!(params, updated("folder/file"));
        // Updates of a subscribed resource come to the subscription.
        let taken = server.send_resource_updated(updated("folder")).await.unwrap_err();
        assert!(taken.to_string().contains("something is running already"), "{taken}");
        subscription.unsubscribe(uri("folder")).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), "folder left after 1");
        // A server need not be silent at once, and a client may say it twice.
        server.send_resource_updated(updated("folder")).await.unwrap();
        let Some(client::Incoming::ResourceUpdated(params)) = incoming.next().await else { panic!() };
        assert_eq!(params, updated("folder"));
        client.unsubscribe(uri("folder")).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), "no subscription to \"folder\"");
        watched.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_subscription_that_is_refused_or_dropped_is_over() {
    guarded(async {
        let (offers, can) = everything();
        let (client, server, watched) = active_with(offers, can).await;
        let (told, mut said) = mpsc::unbounded_channel();
        let (changes, _) = watch::channel(0);
        test_support::spawn(server.incoming().serve(Resources { changes: changes.clone(), told }));
        let refused = client.subscribe(uri("secret")).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(error) if error.code == -32002));
        drop(client.subscribe(uri("a")).await.unwrap());
        assert_eq!(said.recv().await.unwrap(), "a: the call was cancelled");
        let mut a = client.subscribe(uri("a")).await.unwrap();
        changes.send_modify(|change| *change += 1);
        assert_eq!(a.recv_resource_updated().await.unwrap(), updated("a"));
        watched.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_refused_unsubscription_is_the_end_of_it_too() {
    guarded(async {
        let (offers, can) = everything();
        let (client, server, watched) = active_with(offers, can).await;
        let incoming = server.incoming();
        let serving = async {
            let Some(server::Incoming::ResourcesSubscribe(_, opened)) = incoming.next().await else {
                panic!()
            };
            let watched = opened.send_subscribed().await.unwrap();
            let (_, leaving) = watched.recv_resources_unsubscribe().await.unwrap();
            leaving.refuse(RpcError::new(7, "never")).await.unwrap();
        };
        let leaving = async {
            let subscription = client.subscribe(uri("a")).await.unwrap();
            subscription.unsubscribe(uri("a")).await.unwrap_err()
        };
        let ((), refused) = tokio::join!(serving, leaving);
        assert!(matches!(refused, StepError::Ended(Error::Refused(error)) if error.code == 7));
        watched.assert_quiet();
    })
    .await;
}
