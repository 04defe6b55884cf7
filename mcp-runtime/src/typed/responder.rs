//! [`Responder`]: owes the reply to a request of the peer, and answers with an error when it is dropped.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Poll, ready};

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{RequestId, Token};

use super::context::Context;
use super::reply::{WriteReply, Written};
use super::within::Within;
use crate::budget::Permit;
use crate::driver::Extension;
use crate::engine::{Caller, Engine, Link, Waiter};
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// The reply that this side owes to a request of the peer, of type `R`.
///
/// It can be kept, and moved to other tasks, while the session goes on. [`context`](Self::context) shows whether the peer
/// has cancelled the request. The answer to such a request is sent only if the protocol says that the reply follows a
/// cancel. Dropping a responder, also by a panic, answers with the error -32603, or, if the peer has cancelled the
/// request, with the protocol's error for that.
///
/// ```
/// use mcp_runtime::{Error, RpcError, call::Responder};
/// use serde_json::{Value, json};
///
/// fn forecast(city: &str, responder: Responder<Value>) -> Result<(), Error> {
///     match city {
///         "Oslo" => responder.respond(json!({ "celsius": 4 })),
///         _ => responder.refuse(RpcError::invalid_params(format!("unknown city `{city}`"))),
///     }
/// }
/// ```
#[must_use = "the peer waits for an answer; a dropped responder answers with an error"]
pub struct Responder<R> {
    owed: OwedReply,
    marker: PhantomData<fn(R)>,
}

/// What a request is answered with, as it is to be written.
type Answer = Result<Result<Written, serde_json::Error>, RpcError>;

/// The reply that is owed, whatever its type is: so that it is compiled once, not for each type of a protocol.
pub(super) struct OwedReply {
    link: Link,
    message: MessageIndex,
    /// `None` once it is answered.
    id: Option<RequestId>,
    token: Option<Token>,
    within: Within,
    extension: Option<Arc<dyn Extension>>,
    /// What the request holds of the budgets for input, until it is answered.
    _permit: Permit,
}

impl<R> Responder<R> {
    pub(super) fn new(
        context: Context,
        message: MessageIndex,
        id: RequestId,
        permit: Permit,
    ) -> Responder<R> {
        let Context { link, token, within, extension, .. } = context;
        let owed = OwedReply { link, message, id: Some(id), token, within, extension, _permit: permit };
        Responder { owed, marker: PhantomData }
    }

    /// Answers with a result.
    ///
    /// # Errors
    /// [`Error::Payload`] if the result cannot be written, [`Error::Mismatch`] if the peer would read it as another reply (in
    /// both cases the peer gets an internal error), and why the session has ended, if it has.
    pub fn respond(mut self, result: R) -> Result<(), Error>
    where
        R: WriteReply,
    {
        self.owed.answer(Ok(result.write_reply()))
    }

    /// Answers with an error.
    ///
    /// # Errors
    /// Why the session has ended, if it has.
    pub fn refuse(mut self, error: RpcError) -> Result<(), Error> {
        self.owed.answer(Err(error))
    }

    /// Answers with either.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn answer(self, outcome: Result<R, RpcError>) -> Result<(), Error>
    where
        R: WriteReply,
    {
        match outcome {
            Ok(result) => self.respond(result),
            Err(error) => self.refuse(error),
        }
    }

    /// The reply that is owed, without its type.
    pub(super) fn into_owed(self) -> OwedReply {
        self.owed
    }

    /// Returns the context of the request: cancellation, progress, and calls back to the peer.
    pub fn context(&self) -> Context {
        let OwedReply { link, id, token, within, extension, .. } = &self.owed;
        Context {
            link: link.clone(),
            id: id.clone(),
            token: token.clone(),
            within: within.clone(),
            extension: extension.clone(),
        }
    }
}

impl OwedReply {
    pub(super) fn answer(&mut self, answer: Answer) -> Result<(), Error> {
        let Some(id) = self.id.take() else { return Ok(()) };
        self.link.speak(|engine, caller| write(engine, caller, &id, self.message, answer))
    }

    /// Answers what a handler has returned, once there is room for it: many handlers may return at once, and each keeps what
    /// it has until the peer has read some of the rest.
    pub(super) fn poll_answer(
        &mut self,
        context: &std::task::Context<'_>,
        returned: &mut ReturnedAnswer,
    ) -> Poll<Result<(), Error>> {
        let ReturnedAnswer { answer, waiter } = returned;
        self.link.speak(|engine, caller| {
            ready!(engine.poll_reply_room(context, waiter));
            let (Some(id), Some(answer)) = (self.id.take(), answer.take()) else {
                return Poll::Ready(Ok(()));
            };
            Poll::Ready(write(engine, caller, &id, self.message, answer))
        })
    }
}

/// What a handler has returned.
pub(super) struct ReturnedAnswer {
    /// `None` once it is written.
    answer: Option<Answer>,
    waiter: Waiter,
}

impl ReturnedAnswer {
    pub(super) fn of<R: WriteReply>(returned: Result<R, RpcError>) -> ReturnedAnswer {
        let answer = returned.map(|result| result.write_reply());
        ReturnedAnswer { answer: Some(answer), waiter: Waiter::default() }
    }
}

fn write(
    engine: &mut Engine,
    caller: Caller,
    id: &RequestId,
    message: MessageIndex,
    answer: Answer,
) -> Result<(), Error> {
    match answer {
        Ok(Ok(Written { message, text })) => {
            let answered = engine.reply_with(caller, id, message, &text);
            if let Err(error @ Error::Mismatch { .. }) = &answered {
                // It is this side's mistake, and the peer still waits.
                engine.reply_error(caller, id, &RpcError::internal_error(error.to_string()))?;
            }
            answered
        }
        Ok(Err(error)) => {
            let answer = RpcError::internal_error(format!("the result could not be written: {error}"));
            engine.reply_error(caller, id, &answer)?;
            Err(Error::payload(&engine.rules().name(message), error))
        }
        Err(error) => engine.reply_error(caller, id, &error),
    }
}

impl Drop for OwedReply {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // If the session has ended, the error cannot be sent.
            let _ = self.link.speak(|engine, caller| match std::thread::panicking() {
                true => {
                    let error = RpcError::internal_error("the handler of the request panicked");
                    engine.reply_error(caller, &id, &error)
                }
                false => engine.reply_dropped(caller, &id),
            });
        }
    }
}

impl<R> fmt::Debug for Responder<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Responder")
            .field("message", &self.owed.message)
            .field("id", &self.owed.id)
            .finish_non_exhaustive()
    }
}
