//! Handlers at work.

use std::any::Any;
use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::MessageIndex;
use pin_project_lite::pin_project;
use tracing::Span;

use crate::engine::Link;
use crate::jsonrpc::RpcError;
use crate::panics::text;
use crate::report::Report;

/// The handler of a message, and all that is done for it: it runs in its span, a panic of it is reported and becomes an
/// error, and its outcome is passed on.
pub type Handling = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Has a handler work, and passes its outcome to `then`.
pub(super) fn handling<T>(
    link: Link,
    message: MessageIndex,
    span: Span,
    handler: impl Future<Output = T> + Send + 'static,
    then: impl FnOnce(Result<T, RpcError>) + Send + 'static,
) -> Handling {
    Box::pin(Watched { handler, link, message, span, then: Some(then) })
}

/// No handler is called.
pub(super) fn unhandled() -> Handling {
    Box::pin(ready(()))
}

pin_project! {
    /// A handler under watch.
    ///
    /// It is not an async block, because such a block holds what it captures twice. Handlers are large, and one is made
    /// for each message.
    struct Watched<H, F> {
        #[pin]
        handler: H,
        link: Link,
        message: MessageIndex,
        span: Span,
        // `None` once the handler is done.
        then: Option<F>,
    }
}

impl<T, H: Future<Output = T>, F: FnOnce(Result<T, RpcError>)> Future for Watched<H, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let entered = this.span.enter();
        // After a panic the handler is never polled again; what it shares with others is its own to keep whole.
        let outcome = match catch_unwind(AssertUnwindSafe(|| this.handler.poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => Ok(outcome),
            Err(panic) => Err(panicked(this.link, *this.message, &*panic)),
        };
        drop(entered);
        if let Some(then) = this.then.take() {
            then(outcome);
        }
        Poll::Ready(())
    }
}

/// Reports that a handler has panicked, and returns the error that answers a request.
fn panicked(link: &Link, message: MessageIndex, panic: &(dyn Any + Send)) -> RpcError {
    let text = text(panic);
    let name = link.with(|engine| engine.rules().name(message));
    let error = match &text {
        Some(text) if link.options().reveal_panics => format!("the handler of the request panicked: {text}"),
        _ => "the handler of the request panicked".to_owned(),
    };
    link.report(&Report::Panicked { message: name, text });
    RpcError::internal_error(error)
}
