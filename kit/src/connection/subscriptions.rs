//! [`Subscription`]: the changes of resources.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use mcp_protocols::eras::Change;
use mcp_protocols::eras::types::SubscriptionFilter;
use mcp_runtime::Error;

use super::connected::Connection;
use super::renewed::{Heard, Renewed};

/// The URIs of resources that have changed, as a stream. It ends when the connection is gone, or the server of a
/// connection that keeps messages in order ends the subscription. After a reconnect, and a second after a stream over
/// HTTP was cut or ended by a server that stops, it subscribes again, and every resource counts as changed; it goes
/// on trying as long as the server cannot be reached. If the server refuses, the stream ends with the error. Dropping
/// it ends the subscription.
///
/// ```
/// use mcp_kit::{Connection, Failure};
///
/// async fn follow(weather: &Connection) -> Result<(), Failure> {
///     let mut changes = weather.subscribe(["weather://oslo"]).await?;
///     while let Some(uri) = changes.next().await {
///         println!("{}", weather.read_text(uri?).await?);
///     }
///     Ok(())
/// }
/// ```
#[must_use = "the changes are read off the stream"]
pub struct Subscription<'a>(Option<BoxFuture<'a, Next<'a>>>);

/// A change, and what the stream goes on with after it.
type Next<'a> = Result<Option<(String, State<'a>)>, Error>;

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
        Ok(Subscription(Some(Box::pin(state.next()))))
    }

    /// The URI of the next resource that has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<String, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<'a> State<'a> {
    async fn next(mut self) -> Next<'a> {
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
        let Some(next) = &mut self.0 else { return Poll::Ready(None) };
        let next = ready!(next.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(match next {
            Ok(Some((uri, state))) => {
                self.0 = Some(Box::pin(state.next()));
                Some(Ok(uri))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

impl fmt::Debug for Subscription<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").finish_non_exhaustive()
    }
}
