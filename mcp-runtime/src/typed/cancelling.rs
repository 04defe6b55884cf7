//! Cancels a running call or linear request, from any task.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::engine::{CancelOutcome, Link};
use crate::error::Error;
use crate::jsonrpc::write;

/// Marks calls that the protocol allows to be cancelled.
#[derive(Clone, Copy, Debug)]
pub enum Cancellable {}

/// Marks calls that the protocol does not allow to be cancelled.
#[derive(Clone, Copy, Debug)]
pub enum Uncancellable {}

/// What a call, or a linear request, shares with its cancellers.
pub(super) enum Cancelling {
    /// The request was not written yet.
    Unsent,
    /// It was, under this id.
    Sent(i64),
    /// The request was cancelled, and still gets its reply.
    ReplyFollows,
    /// The request was cancelled, perhaps before it was written, or is complete.
    Cancelled,
}

/// Cancels one call, from any task. Does nothing once the call is complete.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::Error;
/// use serde_json::{Value, json};
/// use weather::{Active, WeatherClient};
///
/// async fn forecast_unless(
///     client: &WeatherClient<Active>,
///     gives_up: impl Future<Output = ()> + Send + 'static,
/// ) -> Result<Value, Error> {
///     let mut call = client.forecast(json!({ "city": "Oslo" }));
///     let canceller = call.canceller();
///     tokio::spawn(async move {
///         gives_up.await;
///         canceller.cancel()
///     });
///     call.await // `Error::Cancelled`, if it was
/// }
/// ```
#[derive(Clone)]
pub struct Canceller {
    link: Link,
    shared: Arc<Mutex<Cancelling>>,
}

impl Canceller {
    /// Returns another canceller of the same request.
    pub(super) fn of(
        link: &Link,
        shared: &mut Option<Arc<Mutex<Cancelling>>>,
        state: Cancelling,
    ) -> Canceller {
        let shared = shared.get_or_insert_with(|| Arc::new(Mutex::new(state)));
        Canceller { link: link.clone(), shared: Arc::clone(shared) }
    }

    /// Cancels the call: it ends with [`Error::Cancelled`], unless its result has come already. If the protocol says that
    /// the reply follows a cancel, the call waits for that reply and ends with it. A call that was not sent ends with
    /// [`Error::Cancelled`] in any case.
    ///
    /// # Errors
    /// If the protocol does not permit the cancel, or the session has ended.
    pub fn cancel(&self) -> Result<(), Error> {
        self.cancel_raw(None)
    }

    /// The same, with further members of the notification. `extra` is a value that is serialized as a JSON object.
    ///
    /// ```
    /// use mcp_runtime::{Error, call::Canceller};
    /// use serde_json::json;
    ///
    /// fn cancel(canceller: &Canceller) -> Result<(), Error> {
    ///     canceller.cancel_with(&json!({ "reason": "the window was closed" }))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel), and if the members cannot be written as a JSON object.
    pub fn cancel_with<P: Serialize + ?Sized>(&self, extra: &P) -> Result<(), Error> {
        let extra = write::payload(extra).map_err(|error| {
            let message = self
                .link
                .with(|engine| engine.rules().cancel_message().map(|message| engine.rules().name(message)));
            Error::payload(&message.unwrap_or_default(), error)
        })?;
        self.cancel_raw(Some(&extra))
    }

    fn cancel_raw(&self, extra: Option<&str>) -> Result<(), Error> {
        self.link.speak(|engine, caller| {
            let mut cancelling = locked(&self.shared);
            match *cancelling {
                Cancelling::Sent(id) => {
                    cancelling.sent(engine.cancel_awaited(caller, id, extra)?);
                    Ok(())
                }
                Cancelling::Unsent => {
                    *cancelling = Cancelling::Cancelled;
                    // The cancelled request may be waiting for room, or for its turn.
                    engine.nudge();
                    Ok(())
                }
                Cancelling::ReplyFollows | Cancelling::Cancelled => Ok(()),
            }
        })
    }
}

impl Cancelling {
    /// A cancel of the request was sent, unless it was too late.
    pub(super) fn sent(&mut self, outcome: CancelOutcome) {
        match outcome {
            CancelOutcome::Ended => *self = Cancelling::Cancelled,
            CancelOutcome::ReplyFollows => *self = Cancelling::ReplyFollows,
            CancelOutcome::TooLate => {}
        }
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Canceller").finish_non_exhaustive()
    }
}

pub(super) fn locked(cancelling: &Mutex<Cancelling>) -> MutexGuard<'_, Cancelling> {
    cancelling.lock().unwrap_or_else(PoisonError::into_inner)
}
