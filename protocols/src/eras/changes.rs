//! [`Changes`]: notifies the clients that have subscribed.

use tokio::sync::broadcast;

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
pub struct Changes(broadcast::Sender<Signal>);

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
        Changes(broadcast::Sender::new(BEHIND))
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

    /// Ends the subscriptions that run: clients of 2026-07-28 get the replies to their `subscriptions/listen`. Call it before
    /// the server stops.
    pub fn end(&self) {
        self.tell(Signal::Ended);
    }

    fn tell(&self, signal: Signal) {
        // It fails without a subscription.
        let _ = self.0.send(signal);
    }

    /// The changes of some kinds, from now on.
    pub(super) fn subscribe(&self, filter: SubscriptionFilter) -> Subscribed {
        Subscribed { signals: self.0.subscribe(), filter }
    }
}

/// One subscription.
pub(super) struct Subscribed {
    signals: broadcast::Receiver<Signal>,
    filter: SubscriptionFilter,
}

impl Subscribed {
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
