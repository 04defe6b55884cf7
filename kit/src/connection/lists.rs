//! [`LiveList`]: a list of a server that is refreshed when it changes.

use std::fmt;
use std::ops::Deref;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{Prompt, Resource, SubscriptionFilter, Tool};
use mcp_runtime::Error;

use super::connected::Connection;
use super::renewed::Renewed;

/// A list of a server. It has the entries of now; [`changed`](Self::changed) waits for others. A server that does not notify of
/// changes has none.
///
/// ```
/// use mcp_kit::{Connection, Failure};
///
/// async fn show(weather: &Connection) -> Result<(), Failure> {
///     let mut tools = weather.live_tools().await?;
///     println!("{} tools", tools.len());
///     while let Some(changed) = tools.changed().await? {
///         println!("{} tools now", changed.len());
///     }
///     Ok(())
/// }
/// ```
pub struct LiveList<'a, T> {
    connection: &'a Connection,
    changes: Renewed<'a>,
    entries: Vec<T>,
    /// It has changed, and the entries are those of before.
    is_stale: bool,
}

/// An entry of a list that may change: a [`Tool`], a [`Resource`] or a [`Prompt`].
pub trait Entry: private::Sealed + Sized + Send + 'static {
    #[doc(hidden)]
    fn filter() -> SubscriptionFilter;

    #[doc(hidden)]
    fn all(connection: &Connection) -> BoxFuture<'_, Result<Vec<Self>, Error>>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! entries {
    ($($entry:ident: $all:ident, $changed:ident;)*) => { $(
        impl private::Sealed for $entry {}

        impl Entry for $entry {
            fn filter() -> SubscriptionFilter {
                SubscriptionFilter::new().$changed(true)
            }

            fn all(connection: &Connection) -> BoxFuture<'_, Result<Vec<Self>, Error>> {
                Box::pin(connection.$all())
            }
        }
    )* };
}

entries! {
    Tool: tools, tools_list_changed;
    Resource: resources, resources_list_changed;
    Prompt: prompts, prompts_list_changed;
}

impl Connection {
    /// The tools, and those that come later: the list is refreshed when the server says that it has changed.
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone.
    pub async fn live_tools(&self) -> Result<LiveList<'_, Tool>, Error> {
        LiveList::begin(self).await
    }

    /// The resources, and those that come later.
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone.
    pub async fn live_resources(&self) -> Result<LiveList<'_, Resource>, Error> {
        LiveList::begin(self).await
    }

    /// The prompts, and those that come later.
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone.
    pub async fn live_prompts(&self) -> Result<LiveList<'_, Prompt>, Error> {
        LiveList::begin(self).await
    }
}

impl<'a, T: Entry> LiveList<'a, T> {
    async fn begin(connection: &'a Connection) -> Result<LiveList<'a, T>, Error> {
        // From before the list is read, so that no change is missed.
        let changes = Renewed::listen(connection, T::filter()).await?;
        let entries = T::all(connection).await?;
        Ok(LiveList { connection, changes, entries, is_stale: false })
    }

    /// Waits until the list changes, and returns what it is then. `None` if there will be no more changes: the
    /// connection is gone, or the server of a connection that keeps messages in order ends the subscription. Over
    /// HTTP another server may take the place of one that stops, so the list is subscribed to again.
    ///
    /// # Errors
    /// If the list cannot be read again, or the server refuses to be subscribed to again where a stream over HTTP was cut. The next
    /// call tries again.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next one reads the list again.
    pub async fn changed(&mut self) -> Result<Option<&[T]>, Error> {
        if !self.is_stale {
            // After a new subscription, what was there before is not known.
            if self.changes.next().await?.is_none() {
                return Ok(None);
            }
            self.is_stale = true;
        }
        self.entries = T::all(self.connection).await?;
        self.is_stale = false;
        Ok(Some(&self.entries))
    }
}

impl<T> Deref for LiveList<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<T: fmt::Debug> fmt::Debug for LiveList<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(&self.entries).finish()
    }
}
