//! The timeout of a step, driven by the engine's clock.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_protocol_machine::protocol::MessageIndex;

use crate::clock::now;
use crate::engine::{AlarmKey, Link, Waiter};
use crate::error::{Error, TimeoutKind};

/// A limit of time, from when it is first polled.
#[derive(Debug)]
pub(crate) struct Timer {
    link: Link,
    limit: Option<Duration>,
    /// The limit is that of the session for all that a call may take.
    is_total: bool,
    alarm: Option<AlarmKey>,
}

impl Timer {
    pub(crate) fn new(link: Link, limit: Option<Duration>) -> Timer {
        Timer { link, limit, is_total: false, alarm: None }
    }

    /// With the time of the session's calls.
    pub(crate) fn of_session(link: &Link) -> Timer {
        let limit = limit_of(link);
        let is_total = limit.is_some() && limit != link.options().call_timeouts().timeout;
        Timer { link: link.clone(), limit, is_total, alarm: None }
    }

    pub(crate) fn limit(&mut self, limit: Duration) {
        (self.limit, self.is_total) = (Some(limit), false);
    }

    /// Starts the time, if it has not begun; then waits until it has passed.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        let Some(limit) = self.limit else { return Poll::Pending };
        let key = match self.alarm {
            Some(key) => key,
            None => {
                let Some(at) = now().checked_add(limit) else { return Poll::Pending };
                *self.alarm.insert(self.link.with(|engine| engine.set_alarm(at)))
            }
        };
        self.link.with(|engine| engine.poll_alarm(context, key))
    }

    /// The error that says so.
    pub(crate) fn overdue(&self, message: MessageIndex, what: TimeoutKind) -> Error {
        let names =
            self.link.protocol().message(message).map(|table| (table.name.clone(), table.method.clone()));
        let (message, method) = names.unwrap_or_default();
        let what = if self.is_total && what == TimeoutKind::Reply { TimeoutKind::Total } else { what };
        Error::Timeout { message, method, after: self.limit.unwrap_or_default(), what }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(key) = self.alarm {
            self.link.with(|engine| engine.clear_alarm(key));
        }
    }
}

/// The time that the settings give to a call, and to whatever else waits: of the two limits the shorter one, for steps
/// have no reports.
pub(crate) fn limit_of(link: &Link) -> Option<Duration> {
    let timeouts = link.options().call_timeouts();
    timeouts.timeout.into_iter().chain(timeouts.most).min()
}

/// The time that something may take which seldom waits: there is a timer once it does.
#[derive(Debug, Default)]
pub(crate) struct LazyTimer(Option<Timer>);

impl LazyTimer {
    /// Starts the time of the session, if it has not begun; then waits until it has passed, and gives the error.
    pub(crate) fn poll_overdue(
        &mut self,
        context: &Context<'_>,
        link: &Link,
        message: MessageIndex,
        what: TimeoutKind,
    ) -> Poll<Error> {
        let timer = self.0.get_or_insert_with(|| Timer::of_session(link));
        timer.poll(context).map(|()| timer.overdue(message, what))
    }
}

/// Waits until there is room for a message, no longer than the session's calls may take.
pub(crate) async fn room(link: &Link, message: MessageIndex) -> Result<(), Error> {
    let (mut timer, mut waiter) = (LazyTimer::default(), Waiter::default());
    poll_fn(|context| match link.with(|engine| engine.poll_room(context, &mut waiter)) {
        Poll::Ready(()) => Poll::Ready(Ok(())),
        Poll::Pending => timer.poll_overdue(context, link, message, TimeoutKind::Write).map(Err),
    })
    .await
}
