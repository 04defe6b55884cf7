//! [`Subscription`]: the changes of resources.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use mcp_protocols::eras::Change;
use mcp_protocols::eras::types::SubscriptionFilter;
use mcp_runtime::Error;

use super::connected::Connection;
use super::renewed::{Heard, Renewed};

/// The URIs of resources that have changed, as a stream. It ends when the server ends the subscription or the connection is
/// gone. After a reconnect, and a second after a stream over HTTP was cut, it subscribes again, and every resource counts as
/// changed; it goes on trying as long as the server cannot be reached. If the server refuses, the stream ends with the error.
/// Dropping it ends the subscription.
#[must_use = "the changes are read off the stream"]
pub struct Subscription<'a>(BoxStream<'a, Result<String, Error>>);

/// What the stream goes on with.
struct State<'a> {
    changes: Renewed<'a>,
    uris: Vec<String>,
    /// Changes that are not read yet.
    pending: VecDeque<String>,
}

impl Connection {
    /// Subscribes to resources: the stream has the URI of each that has changed.
    ///
    /// # Errors
    /// If the server does not notify of changes of one of them, or the connection is gone.
    pub async fn subscribe(
        &self,
        uris: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Subscription<'_>, Error> {
        Subscription::begin(self, uris.into_iter().map(Into::into).collect()).await
    }
}

impl<'a> Subscription<'a> {
    async fn begin(connection: &'a Connection, uris: Vec<String>) -> Result<Subscription<'a>, Error> {
        let wanted = SubscriptionFilter::new().resource_subscriptions(&uris);
        let changes = Renewed::listen(connection, wanted).await?;
        let state = State { changes, uris, pending: VecDeque::new() };
        Ok(Subscription(try_unfold(state, State::next).boxed()))
    }

    /// The URI of the next resource that has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<String, Error>> {
        self.0.next().await
    }
}

impl State<'_> {
    async fn next(mut self) -> Result<Option<(String, Self)>, Error> {
        loop {
            if let Some(uri) = self.pending.pop_front() {
                return Ok(Some((uri, self)));
            }
            match self.changes.next().await? {
                Some(Heard::Change(Change::Resource(uri))) => return Ok(Some((uri, self))),
                Some(Heard::Change(_)) => {}
                Some(Heard::Renewed) => self.pending.extend(self.uris.iter().cloned()),
                None => return Ok(None),
            }
        }
    }
}

impl Stream for Subscription<'_> {
    type Item = Result<String, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl fmt::Debug for Subscription<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").finish_non_exhaustive()
    }
}
