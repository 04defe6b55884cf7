//! Catches panics of handlers.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use mcp_protocol_machine::protocol::MessageIndex;

use crate::engine::Link;
use crate::jsonrpc::RpcError;
use crate::panics::text;
use crate::report::Report;

/// Runs a handler. If it panics, that is reported, and the error that answers a request is returned.
///
/// The handler is pinned by the caller: an async function that took it by value would hold it, which is large, twice.
pub(super) async fn caught<T>(
    link: &Link,
    message: MessageIndex,
    mut handler: Pin<&mut impl Future<Output = T>>,
) -> Result<T, RpcError> {
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
