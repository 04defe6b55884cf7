//! [`Renewed`]: listens to changes, and subscribes again where a subscription is lost.

use std::time::Duration;

use mcp_protocols::eras::types::SubscriptionFilter;
use mcp_protocols::eras::{Change, Listening};
use mcp_runtime::{Error, Report, RpcError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::connected::Connection;

/// How long after a subscription was lost the client subscribes again, if the program does not say: a server that cuts
/// each one is not asked all the time.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What the program says is at least this, and at most `LONGEST`.
pub(super) const SHORTEST: Duration = Duration::from_millis(50);

/// How long it waits at most between two attempts to subscribe at a server that cannot be reached. The wait doubles up to that.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// Listens to changes. A subscription that is lost is made again: with a session that was opened again, where the
/// stream of a subscription breaks off, and where a server over HTTP ends it, because it stops.
pub(super) struct Renewed<'a> {
    connection: &'a Connection,
    wanted: SubscriptionFilter,
    /// `None` while it is to be subscribed again.
    listening: Option<Listening>,
    reconnects: watch::Receiver<u64>,
    /// Not before that.
    again_at: Option<Instant>,
    /// How long to wait once the next attempt has failed, or its subscription has ended at once.
    pause: Duration,
    /// When the present subscription began.
    since: Instant,
    /// That the server cannot be reached was reported.
    is_reported: bool,
}

/// What a listener hears.
#[derive(Debug)]
pub(super) enum Heard {
    /// One thing has changed.
    Change(Change),
    /// There is a new subscription. Anything may have changed before it.
    Renewed,
}

impl<'a> Renewed<'a> {
    pub(super) async fn listen(
        connection: &'a Connection,
        wanted: SubscriptionFilter,
    ) -> Result<Renewed<'a>, Error> {
        let reconnects = connection.reconnects();
        let listening = Some(listen(connection, &wanted).await?);
        Ok(Renewed {
            connection,
            wanted,
            listening,
            reconnects,
            again_at: None,
            pause: connection.resubscribe_after(),
            since: Instant::now(),
            is_reported: false,
        })
    }

    /// What is heard next. `None` if the server has ended the subscription, or the connection is gone.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<Heard>, Error> {
        loop {
            let Some(listening) = &mut self.listening else {
                if let Some(at) = self.again_at {
                    sleep_until(at).await;
                }
                match listen(self.connection, &self.wanted).await {
                    Ok(listening) => {
                        (self.listening, self.since, self.is_reported) =
                            (Some(listening), Instant::now(), false);
                        return Ok(Some(Heard::Renewed));
                    }
                    Err(error) if error.is_unreachable() => {
                        self.report(&error);
                        self.put_off();
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            tokio::select! {
                change = listening.next() => match change {
                    Some(change) => return Ok(Some(Heard::Change(change))),
                    None if listening.lost().is_some() || self.connection.client().outlives_server() => {
                        self.listening = None;
                        if self.since.elapsed() > LONGEST {
                            self.pause = self.connection.resubscribe_after();
                        }
                        self.put_off();
                    }
                    None => return Ok(None),
                },
                Ok(()) = self.reconnects.changed() => self.listening = None,
            }
        }
    }

    /// The server is down: the first attempt that fails is reported.
    fn report(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.is_reported, true) {
            self.connection.report(&Report::NotListening { problem: error.to_string() });
        }
    }

    /// The next attempt comes later, and the one after it later still.
    fn put_off(&mut self) {
        self.again_at = Some(Instant::now() + self.pause);
        self.pause = LONGEST.min(2 * self.pause);
    }
}

/// Subscribes to all that is wanted.
async fn listen(connection: &Connection, wanted: &SubscriptionFilter) -> Result<Listening, Error> {
    let listening = connection.client().listen(wanted.clone()).await?;
    let heard = listening.heard().resource_subscriptions.iter().flatten();
    let mut uris = wanted.resource_subscriptions.iter().flatten();
    match uris.find(|uri| !heard.clone().any(|heard| heard == *uri)) {
        Some(uri) => {
            let error = format!("the server does not notify of changes of `{uri}`");
            Err(Error::Refused(RpcError::invalid_params(error)))
        }
        None => Ok(listening),
    }
}
