//! [`Listening`]: hears of the changes of a server.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;
use mcp_runtime::Error;
use tokio::sync::{broadcast, mpsc, watch};

use super::super::changes::{BEHIND, Change, all_of, is_wanted, offered};
use super::connected::{Client, Way, gone};
use super::watching::Watched;
use crate::mcp_2026_07_28 as requests;
use crate::mcp_2026_07_28::client::SubscribedNext;
use crate::mcp_2026_07_28::types::{SubscriptionFilter, SubscriptionsListenParams};

/// Hears of changes of a server, of those kinds that the client wants and the server offers. Dropping it ends the
/// subscription. A program that does not read it hears of the changes later; in the meantime at most 256 are kept, and the
/// server waits.
#[derive(Debug)]
pub struct Listening {
    heard: SubscriptionFilter,
    changes: mpsc::Receiver<Change>,
    /// Why the subscription was lost, once it is.
    lost: Arc<OnceLock<Error>>,
    /// Dropping it tells the task that the listener is gone.
    _stop: watch::Sender<()>,
    /// The resources of a session.
    _watched: Vec<Arc<Watched>>,
}

impl Listening {
    /// The changes of which the server notifies.
    pub fn heard(&self) -> &SubscriptionFilter {
        &self.heard
    }

    /// Waits for a change. `None` if there will be no more: the server has ended the subscription, or the connection is gone.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Change> {
        self.changes.recv().await
    }

    /// Returns why the subscription was lost, where the server has not ended it and the client can subscribe again: over HTTP its
    /// stream breaks off when a connection is cut, or the server stops. Ask for it once [`next`](Self::next) has returned `None`.
    pub fn lost(&self) -> Option<&Error> {
        self.lost.get()
    }
}

/// The changes, as [`Listening::next`] returns them.
impl Stream for Listening {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Change>> {
        self.changes.poll_recv(context)
    }
}

impl<U> Client<U> {
    /// Listens to changes of the server, as far as it offers to notify of them. In a session, changes of lists come
    /// unasked, and each resource is subscribed to.
    ///
    /// # Errors
    /// If the server refuses a subscription, or the connection is gone.
    pub async fn listen(&self, wanted: SubscriptionFilter) -> Result<Listening, Error> {
        let (told, changes) = mpsc::channel(BEHIND);
        let (stop, stopped) = watch::channel(());
        let (mut watched, lost) = (Vec::new(), Arc::default());
        let wanted = offered(wanted, &self.offer.capabilities);
        let heard = match &self.way {
            // A server that notifies of nothing need not know the request.
            Way::Requests(_) if !is_any(&wanted) => {
                tokio::spawn(nothing(told, gone(self.over.clone()), stopped, self.closing.subscribe()));
                wanted
            }
            Way::Requests(client) => {
                let params = SubscriptionsListenParams::new(wanted, self.meta());
                let subscription = client.send_subscriptions_listen(params).await?;
                let (acknowledged, subscription) = subscription.recv_subscriptions_acknowledged().await?;
                tokio::spawn(forward(
                    subscription,
                    told,
                    Arc::clone(&lost),
                    stopped,
                    self.closing.subscribe(),
                ));
                acknowledged.notifications
            }
            Way::Session(session) => {
                let heard = wanted;
                // From before the first subscription, so that nothing is missed.
                let unasked = session.changes.upgrade().ok_or(Error::Closed)?.subscribe();
                for uri in heard.resource_subscriptions.iter().flatten() {
                    watched.push(session.watch(uri).await?);
                }
                tokio::spawn(forward_of_session(unasked, heard.clone(), told, stopped));
                heard
            }
        };
        Ok(Listening { heard, changes, lost, _stop: stop, _watched: watched })
    }
}

/// Waits until the listener is gone.
async fn stopped(stop: &mut watch::Receiver<()>) {
    // Nothing is ever sent.
    let _ = stop.changed().await;
}

/// Waits until the client is closed. A dropped client is not: the listener may go on.
async fn closed(closing: &mut watch::Receiver<bool>) {
    if closing.wait_for(|closing| *closing).await.is_err() {
        std::future::pending().await
    }
}

/// Hears of nothing until the connection is gone, the listener is, or the client is closed.
async fn nothing(
    told: mpsc::Sender<Change>,
    gone: impl Future<Output = ()>,
    mut stop: watch::Receiver<()>,
    mut closing: watch::Receiver<bool>,
) {
    tokio::select! {
        () = gone => {}
        () = stopped(&mut stop) => {}
        () = closed(&mut closing) => {}
    }
    drop(told);
}

/// Passes on what comes in a subscription, which is cancelled when the listener is gone or the client is closed.
async fn forward(
    subscription: requests::client::Subscription<requests::Subscribed>,
    told: mpsc::Sender<Change>,
    lost: Arc<OnceLock<Error>>,
    mut stop: watch::Receiver<()>,
    // What closes the client waits until this is dropped, after the subscription.
    mut closing: watch::Receiver<bool>,
) {
    tokio::select! {
        () = pass_on(subscription, told, &lost) => {}
        () = stopped(&mut stop) => {}
        () = closed(&mut closing) => {}
    }
}

/// Passes on what comes in a subscription, until it ends. Dropping this cancels it.
async fn pass_on(
    mut subscription: requests::client::Subscription<requests::Subscribed>,
    told: mpsc::Sender<Change>,
    lost: &OnceLock<Error>,
) {
    loop {
        let change;
        (change, subscription) = match subscription.next().await {
            Ok(SubscribedNext::ToolsListChanged(_, subscription)) => (Change::Tools, subscription),
            Ok(SubscribedNext::PromptsListChanged(_, subscription)) => (Change::Prompts, subscription),
            Ok(SubscribedNext::ResourcesListChanged(_, subscription)) => (Change::Resources, subscription),
            Ok(SubscribedNext::ResourceUpdated(params, subscription)) => {
                (Change::Resource(params.uri), subscription)
            }
            Err(error @ Error::NotDelivered(_)) => {
                // It is set once, before the listener can see the end.
                let _ = lost.set(error);
                return;
            }
            Ok(_) | Err(_) => return,
        };
        if told.send(change).await.is_err() {
            return;
        }
    }
}

/// Passes on the changes of a session.
async fn forward_of_session(
    mut unasked: broadcast::Receiver<Change>,
    heard: SubscriptionFilter,
    told: mpsc::Sender<Change>,
    mut stop: watch::Receiver<()>,
) {
    loop {
        let changed = tokio::select! {
            changed = unasked.recv() => changed,
            () = stopped(&mut stop) => return,
        };
        let changed = match changed {
            Ok(change) if is_wanted(&heard, &change) || is_of_part(&heard, &change) => vec![change],
            Ok(_) => Vec::new(),
            // What was missed may be anything.
            Err(broadcast::error::RecvError::Lagged(_)) => all_of(&heard),
            Err(broadcast::error::RecvError::Closed) => return,
        };
        for change in changed {
            if told.send(change).await.is_err() {
                return;
            }
        }
    }
}

/// Whether there is anything to be heard of.
fn is_any(filter: &SubscriptionFilter) -> bool {
    let lists = [filter.tools_list_changed, filter.prompts_list_changed, filter.resources_list_changed];
    lists.contains(&Some(true)) || filter.resource_subscriptions.is_some()
}

/// Whether a part of a resource has changed that is listened to: what stands below it in the hierarchy of URIs. It is not
/// enough that one URI begins with the other, as that of `notes://10` does with `notes://1`.
fn is_of_part(heard: &SubscriptionFilter, change: &Change) -> bool {
    let Change::Resource(part) = change else { return false };
    let is_below = |uri: &String| match part.strip_prefix(uri.as_str()) {
        Some(rest) => uri.ends_with('/') || rest.starts_with(['/', '?', '#']),
        None => false,
    };
    heard.resource_subscriptions.iter().flatten().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_stands_below() {
        let heard = |uri: &str| SubscriptionFilter::new().resource_subscriptions([uri.to_owned()]);
        let is_part = |uri: &str, part: &str| is_of_part(&heard(uri), &Change::Resource(part.to_owned()));
        assert!(!is_part("notes://1", "notes://10"));
        for part in ["notes://1/a", "notes://1?a", "notes://1#a"] {
            assert!(is_part("notes://1", part), "{part}");
        }
        assert!(is_part("notes://", "notes://10"));
        assert!(!is_part("notes://1/a", "notes://1"));
        assert!(!is_of_part(&heard("notes://1"), &Change::Tools));
    }
}
