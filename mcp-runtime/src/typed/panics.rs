//! Handlers that panic, and whatever else of the program is called.
//!
//! In: the future of a handler, or a call. Out: what it gives, or that it panicked, which is reported. Refuses to let a
//! panic end more than the message that was worked on. Nothing can be caught where the program is built to abort on a panic.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use mcp_protocol_machine::protocol::MessageIndex;

use crate::jsonrpc::RpcError;
use crate::report::Report;
use crate::session::Link;

/// Runs a handler. If it panics, that is reported, and what a request is to be answered with is given.
pub(super) async fn caught<T>(
    link: &Link,
    message: MessageIndex,
    handler: impl Future<Output = T>,
) -> Result<T, RpcError> {
    let mut handler = pin!(handler);
    // After a panic the handler is dropped and never polled again; what it shares with others is its own to keep whole.
    let outcome = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await;
    outcome.map_err(|panic| {
        let text = text(&*panic);
        let name = link.with(|engine| engine.name(message));
        let error = match &text {
            Some(text) if link.options().reveal_panics => {
                format!("the handler of the request panicked: {text}")
            }
            _ => "the handler of the request panicked".to_owned(),
        };
        link.report(&Report::Panicked { message: name, text });
        RpcError::internal_error(error)
    })
}

/// Calls code of the program; if that panics, gives what the panic said. What the code shares with others is its own
/// to keep whole.
pub(crate) fn contained<T>(call: impl FnOnce() -> T) -> Result<T, Option<String>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| text(&*panic))
}

/// What a panic said.
fn text(panic: &(dyn Any + Send)) -> Option<String> {
    let fixed = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    fixed.or_else(|| panic.downcast_ref::<String>().cloned())
}
