//! [`Changes`]: notifies the clients that have subscribed.

use std::collections::HashMap;

use tokio::sync::{broadcast, watch};

use crate::mcp_2026_07_28::types::{ServerCapabilities, SubscriptionFilter};

/// How many changes a subscription may be behind. One that is further behind hears of all that it has asked for.
pub(super) const BEHIND: usize = 256;

/// Notifies clients of changes: those of older revisions with the notifications of their sessions, those of 2026-07-28 in
/// their subscriptions. A client hears only of what it has asked for and the server offers. Clones are the same.
///
/// ```
/// use mcp_protocols::eras::Changes;
///
/// let changes = Changes::new();
/// changes.tools();
/// changes.resource("notes://today");
/// ```
#[derive(Clone, Debug)]
pub struct Changes {
    signals: broadcast::Sender<Signal>,
    /// How many subscriptions each resource has. One that has none is not in it.
    watched: watch::Sender<HashMap<String, usize>>,
}

/// What subscriptions hear.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Signal {
    Changed(Change),
    /// There will be no more changes.
    Ended,
}

/// Something of a server that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI, or a part of a resource.
    Resource(String),
}

impl Default for Changes {
    fn default() -> Changes {
        Changes::new()
    }
}

impl Changes {
    /// Makes one without subscriptions.
    pub fn new() -> Changes {
        Changes { signals: broadcast::Sender::new(BEHIND), watched: watch::Sender::default() }
    }

    /// The list of tools has changed.
    pub fn tools(&self) {
        self.tell(Signal::Changed(Change::Tools));
    }

    /// The list of prompts has changed.
    pub fn prompts(&self) {
        self.tell(Signal::Changed(Change::Prompts));
    }

    /// The list of resources has changed.
    pub fn resources(&self) {
        self.tell(Signal::Changed(Change::Resources));
    }

    /// The resource with this URI has changed. The clients that have subscribed to exactly this URI hear of it.
    pub fn resource(&self, uri: impl Into<String>) {
        self.tell(Signal::Changed(Change::Resource(uri.into())));
    }

    /// This has changed, such as a list of a server whose tools are passed on.
    pub fn notify(&self, change: Change) {
        self.tell(Signal::Changed(change));
    }

    /// The URIs of the resources that clients are subscribed to, in no particular order.
    ///
    /// ```
    /// use mcp_protocols::eras::Changes;
    ///
    /// assert!(Changes::new().watched().is_empty());
    /// ```
    pub fn watched(&self) -> Vec<String> {
        self.watched.borrow().keys().cloned().collect()
    }

    /// Whether a client is subscribed to the resource with this URI. While [`Handler::watch`](super::Handler::watch)
    /// decides about a subscription, it counts.
    pub fn is_watched(&self, uri: &str) -> bool {
        self.watched.borrow().contains_key(uri)
    }

    /// Waits until no client is subscribed to the resource with this URI any more.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn unwatched(&self, uri: &str) {
        // It fails if the sender is gone, which is this value.
        let _ = self.watched.subscribe().wait_for(|watched| !watched.contains_key(uri)).await;
    }

    /// Whether both notify the same clients.
    pub fn is_same(&self, other: &Changes) -> bool {
        self.signals.same_channel(&other.signals)
    }

    /// Ends the subscriptions that run: clients of 2026-07-28 get the replies to their `subscriptions/listen`. Call it before
    /// the server stops.
    pub fn end(&self) {
        self.tell(Signal::Ended);
    }

    fn tell(&self, signal: Signal) {
        // It fails without a subscription.
        let _ = self.signals.send(signal);
    }

    /// The changes of some kinds, from now on.
    pub(super) fn subscribe(&self, filter: SubscriptionFilter) -> Subscribed {
        count(&self.watched, &filter, |subscriptions| subscriptions.saturating_add(1));
        Subscribed { signals: self.signals.subscribe(), watched: self.watched.clone(), filter }
    }
}

/// Changes how many subscriptions the resources of a filter have.
fn count(
    watched: &watch::Sender<HashMap<String, usize>>,
    filter: &SubscriptionFilter,
    change: fn(usize) -> usize,
) {
    watched.send_if_modified(|watched| {
        for uri in filter.resource_subscriptions.iter().flatten() {
            let subscriptions = change(watched.get(uri).copied().unwrap_or_default());
            match subscriptions {
                0 => drop(watched.remove(uri)),
                _ => drop(watched.insert(uri.clone(), subscriptions)),
            }
        }
        filter.resource_subscriptions.is_some()
    });
}

/// One subscription.
pub(super) struct Subscribed {
    signals: broadcast::Receiver<Signal>,
    watched: watch::Sender<HashMap<String, usize>>,
    filter: SubscriptionFilter,
}

impl Subscribed {
    /// From now on it hears of these changes alone.
    pub(super) fn set_filter(&mut self, filter: SubscriptionFilter) {
        count(&self.watched, &filter, |subscriptions| subscriptions.saturating_add(1));
        let before = std::mem::replace(&mut self.filter, filter);
        count(&self.watched, &before, |subscriptions| subscriptions.saturating_sub(1));
    }

    /// Waits for changes; `None` if there will be no more. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Vec<Change>> {
        loop {
            match self.signals.recv().await {
                Ok(Signal::Changed(change)) if is_wanted(&self.filter, &change) => return Some(vec![change]),
                Ok(Signal::Changed(_)) => {}
                // What was missed may be anything.
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(all_of(&self.filter)),
                Ok(Signal::Ended) | Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        count(&self.watched, &self.filter, |subscriptions| subscriptions.saturating_sub(1));
    }
}

pub(super) fn is_wanted(filter: &SubscriptionFilter, change: &Change) -> bool {
    match change {
        Change::Tools => filter.tools_list_changed == Some(true),
        Change::Prompts => filter.prompts_list_changed == Some(true),
        Change::Resources => filter.resources_list_changed == Some(true),
        Change::Resource(uri) => filter.resource_subscriptions.iter().flatten().any(|wanted| wanted == uri),
    }
}

pub(super) fn all_of(filter: &SubscriptionFilter) -> Vec<Change> {
    let lists = [Change::Tools, Change::Prompts, Change::Resources];
    let resources = filter.resource_subscriptions.iter().flatten().cloned().map(Change::Resource);
    lists.into_iter().filter(|change| is_wanted(filter, change)).chain(resources).collect()
}

/// What a server offers of the changes that a client wants to hear of.
pub(super) fn offered(wanted: SubscriptionFilter, offer: &ServerCapabilities) -> SubscriptionFilter {
    let list = |wanted: Option<bool>, offered: Option<bool>| {
        (wanted == Some(true) && offered == Some(true)).then_some(true)
    };
    let resources = offer.resources.as_ref();
    let tools = offer.tools.as_ref().and_then(|tools| tools.list_changed);
    let prompts = offer.prompts.as_ref().and_then(|prompts| prompts.list_changed);
    let uris = wanted
        .resource_subscriptions
        .filter(|_| resources.and_then(|resources| resources.subscribe) == Some(true));
    SubscriptionFilter {
        tools_list_changed: list(wanted.tools_list_changed, tools),
        prompts_list_changed: list(wanted.prompts_list_changed, prompts),
        resources_list_changed: list(
            wanted.resources_list_changed,
            resources.and_then(|resources| resources.list_changed),
        ),
        resource_subscriptions: uris,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_subscription_hears_of_what_it_asked_for() {
        let changes = Changes::new();
        changes.tools();
        let filter = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["a"]);
        let mut subscribed = changes.subscribe(filter);
        changes.prompts();
        changes.resource("b");
        changes.resource("a");
        changes.tools();
        assert_eq!(subscribed.next().await, Some(vec![Change::Resource("a".to_owned())]));
        assert_eq!(subscribed.next().await, Some(vec![Change::Tools]));
        changes.end();
        assert_eq!(subscribed.next().await, None);
    }

    #[tokio::test]
    async fn a_resource_is_watched_as_long_as_one_subscription_names_it() {
        let changes = Changes::new();
        let of = |uris: &[&str]| SubscriptionFilter::new().resource_subscriptions(uris.iter().copied());
        let mut first = changes.subscribe(of(&["a", "b"]));
        let second = changes.subscribe(of(&["a"]));
        assert!(changes.is_watched("a") && changes.is_watched("b"));
        first.set_filter(of(&["a"]));
        assert_eq!(changes.watched(), ["a"]);
        changes.unwatched("b").await;
        drop(first);
        assert!(changes.is_watched("a"));
        let other = changes.clone();
        let waiting = tokio::spawn(async move { other.unwatched("a").await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
        assert!(
            !changes.is_watched("a")
                && changes.is_same(&changes.clone())
                && !changes.is_same(&Changes::new())
        );
    }

    #[tokio::test]
    async fn one_that_is_far_behind_hears_of_everything_once() {
        let changes = Changes::new();
        let filter = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["a"]);
        let mut subscribed = changes.subscribe(filter);
        for _ in 0..=BEHIND {
            changes.prompts();
        }
        assert_eq!(subscribed.next().await, Some(vec![Change::Tools, Change::Resource("a".to_owned())]));
    }
}
