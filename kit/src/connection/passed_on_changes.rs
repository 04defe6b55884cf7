//! Changes of a server that a program passes on to clients of its own.

use std::sync::Arc;

use mcp_protocols::eras::Changes;
use mcp_protocols::eras::types::SubscriptionFilter;
use mcp_runtime::{Error, RpcError};
use tokio::sync::oneshot;

use super::connected::Connection;
use super::passed_on_resources::PassedOn;
use super::renewed::{Heard, Renewed};
use super::subscriptions::Subscription;

impl Connection {
    /// Passes the changes of the server's lists on to the clients of a server of this program, until the connection is
    /// gone: [`Server::changes`](crate::Server::changes) is what notifies them. Run it in a task.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn pass_on_changes(&self, changes: &Changes) -> Result<(), Error> {
        let lists = SubscriptionFilter::new()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let mut heard = Renewed::listen(self, lists).await?;
        while let Some(heard) = heard.next().await? {
            match heard {
                Heard::Change(change) => changes.notify(change),
                // Any of them may have changed meanwhile.
                Heard::Renewed => {
                    changes.tools();
                    changes.prompts();
                    changes.resources();
                }
            }
        }
        Ok(())
    }

    /// Passes the changes of a resource on to the clients of a server of this program that have subscribed to it, as
    /// long as there is one, and the connection lasts. [`Resources::watch`](crate::Resources::watch) calls it. Once it
    /// returns, no change is missed.
    ///
    /// With a connection that takes the place of one that has ended, call it for all that
    /// [`Changes::watched`] returns.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use mcp_kit::{Changes, Connection, Failure};
    ///
    /// /// What `Resources::watch` of a gateway does.
    /// async fn watch(server: &Arc<Connection>, changes: &Changes, uri: &str) -> Result<bool, Failure> {
    ///     server.pass_on_watch(uri, changes).await?;
    ///     Ok(true)
    /// }
    /// ```
    ///
    /// # Errors
    /// What the server refuses is refused as it came, and so is a resource of whose changes it does not notify; an
    /// internal error says how else the subscription has failed.
    pub async fn pass_on_watch(
        self: &Arc<Self>,
        uri: impl Into<String>,
        changes: &Changes,
    ) -> Result<(), RpcError> {
        let (uri, connection, changes) = (uri.into(), Arc::clone(self), changes.clone());
        let (begun, begins) = oneshot::channel();
        // The subscription borrows the connection, which the task owns a part of.
        tokio::spawn(async move {
            match connection.subscribe([&uri]).await {
                Ok(subscription) => {
                    let is_new = connection.passed_on().insert(&uri, &changes);
                    // It fails if the caller has left: then the client has not subscribed.
                    let _ = begun.send(Ok(()));
                    if is_new {
                        forward(subscription, connection.passed_on(), &uri, &changes).await;
                    }
                }
                Err(error) => drop(begun.send(Err(error))),
            }
        });
        // The runtime shuts down if the task is gone.
        Ok(begins.await.unwrap_or(Err(Error::Closed))?)
    }
}

/// Passes changes on until the subscription ends, or no client is subscribed.
async fn forward(mut subscription: Subscription<'_>, passed_on: &PassedOn, uri: &str, changes: &Changes) {
    loop {
        tokio::select! {
            changed = subscription.next() => match changed {
                // Clients hear of what they have subscribed to, also where a part of it has changed.
                Some(Ok(_)) => changes.resource(uri),
                Some(Err(_)) | None => {
                    passed_on.remove(uri, changes, false);
                    return;
                }
            },
            () = changes.unwatched(uri) => if passed_on.remove(uri, changes, true) {
                return;
            },
        }
    }
}
