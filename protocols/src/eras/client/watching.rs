//! The resources of a session that somebody listens to: a session has one subscription for each, however many listen.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use mcp_runtime::Error;
use tokio::sync::{Mutex, broadcast, watch};

use super::super::changes::Change;
use crate::mcp_2025_11_25::types::ResourceParams;
use crate::mcp_2025_11_25::{Active, McpClient, Watched as Watching, client};

/// A session with its server, and what it subscribes to.
///
/// Invariant: a resource has one subscription, which lasts as long as somebody listens; the next one begins after it has ended.
pub(super) struct Session {
    pub(super) client: McpClient<Active>,
    /// What has changed, as long as the session lasts.
    pub(super) changes: broadcast::WeakSender<Change>,
    resources: Mutex<HashMap<String, Resource>>,
}

struct Resource {
    watched: Weak<Watched>,
    /// Closed when the subscription has ended.
    over: watch::Receiver<()>,
}

/// A resource that somebody listens to. When the last clone is dropped, the session unsubscribes.
#[derive(Debug)]
pub(super) struct Watched {
    _stop: watch::Sender<()>,
}

impl Session {
    pub(super) fn new(client: McpClient<Active>, changes: broadcast::WeakSender<Change>) -> Session {
        Session { client, changes, resources: Mutex::default() }
    }

    /// Subscribes to a resource, unless the session has.
    pub(super) async fn watch(&self, uri: &str) -> Result<Arc<Watched>, Error> {
        let mut resources = self.resources.lock().await;
        if let Some(resource) = resources.get_mut(uri) {
            // A subscription of a session that was lost is over, though somebody may still listen.
            if let Some(watched) = resource.watched.upgrade().filter(|_| resource.over.has_changed().is_ok())
            {
                return Ok(watched);
            }
            ended(&mut resource.over).await;
        }
        let subscription = self.client.subscribe(ResourceParams::new(uri)).await?;
        let (stop, stopped) = watch::channel(());
        let (running, over) = watch::channel(());
        tokio::spawn(forward(subscription, uri.to_owned(), self.changes.clone(), stopped, running));
        let watched = Arc::new(Watched { _stop: stop });
        // What has ended need not be remembered.
        resources.retain(|_, resource| resource.over.has_changed().is_ok());
        resources.insert(uri.to_owned(), Resource { watched: Arc::downgrade(&watched), over });
        Ok(watched)
    }
}

/// Waits until the other end is dropped.
async fn ended(end: &mut watch::Receiver<()>) {
    // Nothing is ever sent.
    let _ = end.changed().await;
}

/// Passes on the changes of one resource, until the last listener is gone: then it unsubscribes.
async fn forward(
    mut subscription: client::Subscription<Watching>,
    uri: String,
    changes: broadcast::WeakSender<Change>,
    mut stop: watch::Receiver<()>,
    _running: watch::Sender<()>,
) {
    loop {
        tokio::select! {
            updated = subscription.recv_resource_updated() => {
                let (Ok(updated), Some(changes)) = (updated, changes.upgrade()) else { return };
                // It fails if the last listener is gone.
                let _ = changes.send(Change::Resource(updated.uri));
            }
            () = ended(&mut stop) => break,
        }
    }
    // It fails if the session is over, and then there is nothing to end.
    let _ = subscription.unsubscribe(ResourceParams::new(uri)).await;
}
