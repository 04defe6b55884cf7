//! [`Notify`]: a notification of a replicated channel, as a future.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{About, Capabilities};
use serde::Serialize;

use super::payload_text::written;
use super::timer::LazyTimer;
use super::within::Within;
use crate::engine::{Caller, Engine, Link, Waiter};
use crate::error::{Error, TimeoutKind};
use crate::rules::alternatives;

/// A notification of a replicated channel, as a future. It is sent when it is first polled.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::Error;
/// use serde_json::json;
/// use weather::{Active, WeatherClient};
///
/// async fn observe(client: &WeatherClient<Active>, celsius: f64) -> Result<(), Error> {
///     client.send_observe(json!({ "city": "Oslo", "celsius": celsius })).await
/// }
/// ```
///
/// # Errors
/// [`Error::NotPermitted`] if the state or a capability does not permit it, [`Error::Timeout`] if the peer does not read,
/// [`Error::Payload`] if the params cannot be written, and why the session has ended, if it has.
#[must_use = "a notification is sent when it is awaited"]
#[derive(Debug)]
pub struct Notify<'a> {
    link: Link,
    message: MessageIndex,
    within: Within,
    written: Result<String, Error>,
    /// It is a step of the sub-session that it is sent in, which the value of the sub-session does not take.
    step: bool,
    /// It was written, in a batch.
    sent: bool,
    timer: LazyTimer,
    waiter: Waiter,
    marker: PhantomData<&'a ()>,
}

impl Notify<'_> {
    pub(super) fn new<P: Serialize + ?Sized>(link: Link, message: MessageIndex, params: &P) -> Self {
        let written = written(&link, message, params);
        Notify {
            link,
            message,
            within: None,
            written,
            step: false,
            sent: false,
            timer: LazyTimer::default(),
            waiter: Waiter::default(),
            marker: PhantomData,
        }
    }

    /// The same as a step of the sub-session that it is sent in, which the value of the sub-session does not take.
    pub(super) fn step_of_sub_session(mut self) -> Self {
        self.step = true;
        self
    }

    /// Refuses the notification where it needs a capability that is not among these.
    pub(super) fn within(mut self, within: Within) -> Self {
        self.within = within;
        self
    }
}

impl Notify<'_> {
    /// The session that the notification belongs to, and which it is.
    pub(super) fn of(&self) -> (&Link, MessageIndex) {
        (&self.link, self.message)
    }

    /// Writes the notification without waiting for room.
    pub(super) fn write_now(&mut self, engine: &mut Engine, caller: Caller) {
        let Ok(written) = &self.written else { return };
        let told = tell(engine, caller, self.message, written, self.within.as_deref(), self.step);
        match told {
            Ok(()) => self.sent = true,
            Err(error) => self.written = Err(error),
        }
    }

    /// Whether it was written, and if not, why.
    pub(super) fn outcome(self) -> Result<(), Error> {
        match self.written {
            Ok(_) if self.sent => Ok(()),
            Ok(_) => Err(Error::Closed),
            Err(error) => Err(error),
        }
    }
}

impl Future for Notify<'_> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Notify { link, message, within, written, step, timer, waiter, .. } = self.get_mut();
        let written = match written {
            Ok(written) => &**written,
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        let polled = link.speak(|engine, caller| match engine.poll_room(context, waiter) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(tell(engine, caller, *message, written, within.as_deref(), *step)),
        });
        match polled {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => timer.poll_overdue(context, link, *message, TimeoutKind::Write).map(Err),
        }
    }
}

/// Writes a notification, within the capabilities that its sender may use.
fn tell(
    engine: &mut Engine,
    caller: Caller,
    message: MessageIndex,
    written: &str,
    within: Option<&Capabilities>,
    step: bool,
) -> Result<(), Error> {
    alternatives::check_within(engine.rules(), message, written, within)?;
    match step {
        true => engine.tell_step(caller, message, written),
        false => engine.notification(caller, message, written, About::Nothing).map(drop),
    }
}
