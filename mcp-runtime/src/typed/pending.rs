//! [`Pending`]: a call that has been sent and waits for its reply.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::RequestId;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::cancelling::{Cancellable, Canceller};
use crate::error::Error;

/// Sends a call; see [`Call::send`].
#[must_use = "a call is sent when it is awaited"]
pub struct Sending<'a, T, C, G>(Option<Call<'a, T, C, G>>);

impl<'a, T, C, G> Call<'a, T, C, G> {
    /// Sends the request, and returns the pending call. Messages that this side sends later are written later.
    pub fn send(self) -> Sending<'a, T, C, G> {
        Sending(Some(self))
    }
}

impl<'a, T, C, G> Future for Sending<'a, T, C, G> {
    type Output = Result<Pending<'a, T, C, G>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let sending = self.get_mut();
        let Some(call) = &mut sending.0 else { return Poll::Ready(Err(Error::Closed)) };
        match call.poll_written(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => {
                sending.0 = None;
                Poll::Ready(Err(error))
            }
            Poll::Ready(Ok(id)) => {
                Poll::Ready(sending.0.take().map(|call| Pending { call, id }).ok_or(Error::Closed))
            }
        }
    }
}

impl<T, C, G> fmt::Debug for Sending<'_, T, C, G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Sending").field(&self.0).finish()
    }
}

/// A call that has been sent, as a future for its reply.
///
/// Messages that this side sends later are written later. Its timeout runs whether or not it is polled. Dropping it
/// does the same as dropping the call.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::Error;
/// use serde_json::{Value, json};
/// use weather::{Active, WeatherClient};
///
/// async fn forecast(client: &WeatherClient<Active>) -> Result<Value, Error> {
///     let mut pending = client.forecast(json!({ "city": "Oslo" })).with_progress().send().await?;
///     while let Some(progress) = pending.progress().await {
///         println!("{}: {progress}", pending.id());
///     }
///     pending.await
/// }
/// ```
#[must_use = "dropping it takes the call back, where that is allowed"]
pub struct Pending<'a, T, C, G> {
    call: Call<'a, T, C, G>,
    id: i64,
}

impl<T, C, G> Pending<'_, T, C, G> {
    /// Returns the id of the request.
    pub fn id(&self) -> RequestId {
        RequestId::Number(self.id)
    }

    /// Returns the next progress of the call; `None` once only its result is left. Only a call made
    /// [`with_progress`](Call::with_progress) has progress. Dropping the future does not lose any.
    pub async fn progress(&mut self) -> Option<G>
    where
        G: DeserializeOwned,
    {
        loop {
            let raw = poll_fn(|context| self.call.poll_progress(context, self.id)).await?;
            match serde_json::from_str(&raw) {
                Ok(report) => return Some(report),
                Err(error) => self.call.unreadable_progress(&error),
            }
        }
    }
}

impl<T, G> Pending<'_, T, Cancellable, G> {
    /// Returns a handle that cancels the call from any task.
    pub fn canceller(&mut self) -> Canceller {
        self.call.canceller()
    }
}

impl<T, C, G> Future for Pending<'_, T, C, G> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.call).poll(context)
    }
}

impl<T, C, G> fmt::Debug for Pending<'_, T, C, G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(formatter)
    }
}
