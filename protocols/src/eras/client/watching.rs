//! The resources of a session that are listened to: a session has one subscription for each, however many listen.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use mcp_runtime::Error;
use tokio::sync::{Mutex, broadcast, watch};

use super::super::changes::Change;
use crate::mcp_2025_11_25::types::ResourceParams;
use crate::mcp_2025_11_25::{Active, McpClient, Watched as Watching, client};

/// A session with its server, and what it subscribes to.
///
/// Invariant: a resource has one subscription, which lasts until its last listener is gone; the next one begins after it has
/// ended. Resources do not wait for each other.
pub(super) struct Session {
    pub(super) client: McpClient<Active>,
    /// What has changed, as long as the session lasts.
    pub(super) changes: broadcast::WeakSender<Change>,
    resources: std::sync::Mutex<HashMap<String, Arc<Mutex<Option<Resource>>>>>,
}

/// The subscription to one resource.
#[derive(Debug)]
struct Resource {
    watched: Weak<Watched>,
    /// Closed when the subscription has ended.
    over: watch::Receiver<()>,
}

/// A resource that is listened to. When the last clone is dropped, the session unsubscribes.
#[derive(Debug)]
pub(super) struct Watched {
    _stop: watch::Sender<()>,
}

impl Session {
    pub(super) fn new(client: McpClient<Active>, changes: broadcast::WeakSender<Change>) -> Session {
        Session { client, changes, resources: std::sync::Mutex::default() }
    }

    /// Subscribes to a resource, unless the session has.
    pub(super) async fn watch(&self, uri: &str) -> Result<Arc<Watched>, Error> {
        let resource = self.resource(uri);
        let mut resource = resource.lock().await;
        if let Some(known) = &mut *resource {
            // A subscription of a session that was lost is over, though its listeners may still be there.
            if let Some(watched) = known.watched.upgrade().filter(|_| known.over.has_changed().is_ok()) {
                return Ok(watched);
            }
            ended(&mut known.over).await;
        }
        let subscription = self.client.subscribe(ResourceParams::new(uri)).await?;
        let (stop, stopped) = watch::channel(());
        let (running, over) = watch::channel(());
        tokio::spawn(forward(subscription, uri.to_owned(), self.changes.clone(), stopped, running));
        let watched = Arc::new(Watched { _stop: stop });
        *resource = Some(Resource { watched: Arc::downgrade(&watched), over });
        Ok(watched)
    }

    /// The subscription to a resource, which is locked while it begins or ends. What has ended is forgotten.
    fn resource(&self, uri: &str) -> Arc<Mutex<Option<Resource>>> {
        // What is held is this method.
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        resources.retain(|_, resource| {
            let is_over = |resource: &Option<Resource>| {
                resource.as_ref().is_none_or(|resource| resource.over.has_changed().is_err())
            };
            // A task that begins or ends the subscription holds a clone.
            Arc::strong_count(resource) > 1 || !resource.try_lock().is_ok_and(|resource| is_over(&resource))
        });
        Arc::clone(resources.entry(uri.to_owned()).or_default())
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
