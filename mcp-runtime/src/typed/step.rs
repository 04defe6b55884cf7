//! [`Step`]: the future of a step, which generated code can name.
//!
//! An `async fn` in generated code would be a type of its own for each method, which rustc infers, lays out and checks
//! separately; a protocol with some hundred steps would take seconds to check. A method that returns a `Step` is
//! checked like any call. The future is boxed, so that its code is compiled once and its size is that of a pointer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::StepFailure;
use super::generated::InState;
use super::inputs::Input;
use super::payload_text::written;
use super::session::Session;
use super::unread::Unread;
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// The future of a step of a session value. Dropping it before it completes ends the session, because it holds the
/// value.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::Error;
/// use serde_json::json;
/// use weather::{Active, Start, WeatherClient};
///
/// async fn open(client: WeatherClient<Start>) -> Result<WeatherClient<Active>, Error> {
///     let client = client.send_open(json!({ "name": "a client" })).await?;
///     let (opened, client) = client.recv_opened().await?;
///     println!("{opened}");
///     Ok(client)
/// }
/// ```
///
/// # Errors
/// A [`StepError`](crate::StepError), which returns the session if it can go on, or an [`Error`] where it never can.
#[must_use = "a step is not taken unless it is awaited"]
pub struct Step<T, E>(Pin<Box<dyn Future<Output = Result<T, E>> + Send>>);

impl<T, E> Step<T, E> {
    fn new(future: impl Future<Output = Result<T, E>> + Send + 'static) -> Self {
        Step(Box::pin(future))
    }
}

impl<T, E> Future for Step<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<T, E> fmt::Debug for Step<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Step").finish_non_exhaustive()
    }
}

/// Why a step was not taken, as the step's type has it: with the value, where the peer may refuse.
pub trait NotTaken {
    /// From what the session says.
    fn of(failure: StepFailure) -> Self;
}

impl NotTaken for Error {
    fn of(failure: StepFailure) -> Error {
        failure.into()
    }
}

impl Session {
    /// Sends a linear notification, request or reply.
    pub fn send_on<P, S, E>(self, message: MessageIndex, payload: &P) -> Step<S, E>
    where
        P: Serialize + ?Sized,
        S: InState + 'static,
        E: NotTaken + 'static,
    {
        let written = written(&self.channel.link, message, payload);
        then(self.send_written(message, written), S::at)
    }

    /// Refuses a linear request that was taken.
    pub fn refuse_on<S, E>(self, request: MessageIndex, error: RpcError) -> Step<S, E>
    where
        S: InState + 'static,
        E: NotTaken + 'static,
    {
        then(self.refuse(request, error), S::at)
    }

    /// Takes one message and its payload.
    pub fn receive_on<T, S, E>(self, message: MessageIndex) -> Step<(T, S), E>
    where
        T: DeserializeOwned + 'static,
        S: InState + 'static,
        E: NotTaken + 'static,
    {
        then(self.receive(message), |(payload, session)| (payload, S::at(session)))
    }

    /// Takes one message that carries nothing.
    pub fn receive_empty<S, E>(self, message: MessageIndex) -> Step<S, E>
    where
        S: InState + 'static,
        E: NotTaken + 'static,
    {
        then(self.receive(message), |((), session)| S::at(session))
    }

    /// Takes the last message of a sub-session.
    pub fn receive_last<T, E>(self, message: MessageIndex) -> Step<T, E>
    where
        T: DeserializeOwned + 'static,
        E: NotTaken + 'static,
    {
        then(self.receive(message), |(payload, _over)| payload)
    }

    /// Takes the next input that the state accepts and `read` can read.
    pub fn next_on<I, E>(self, read: fn(Input) -> Result<I, Unread>) -> Step<I, E>
    where
        I: 'static,
        E: NotTaken + 'static,
    {
        then(self.next(read), |input| input)
    }
}

/// A step that is taken by a session, and what is made of what it gives.
fn then<T: 'static, U: 'static, E: NotTaken + 'static>(
    taken: impl Future<Output = Result<T, StepFailure>> + Send + 'static,
    made: fn(T) -> U,
) -> Step<U, E> {
    Step::new(async move { taken.await.map(made).map_err(E::of) })
}
