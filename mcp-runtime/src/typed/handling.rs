//! Handlers at work.

use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::MessageIndex;
use pin_project_lite::pin_project;
use tracing::Span;

use super::reply::WriteReply;
use super::responder::{OwedReply, Responder, ReturnedAnswer};
use crate::budget::Permit;
use crate::engine::Link;
use crate::error::Error;
use crate::jsonrpc::RpcError;
use crate::panics::text;
use crate::report::Report;

/// The handler of a message, and all that is done for it: it runs in its span, a panic of it is reported and becomes an
/// error, and a request is answered.
///
/// A protocol has dozens of messages, and each handler of a program has a future of its own for each. So that a build
/// does not take long, only its `Work` is compiled for each of these; what watches over it, for none.
pub type Handling = Pin<Box<Watched<dyn Work + Send>>>;

/// What is done for one message.
pub trait Work {
    /// Goes on with the handler. Ready when it is done, and the request, if it is one, is answered.
    fn poll_work(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()>;

    /// The handler has panicked: a request is answered with the error.
    fn fail(self: Pin<&mut Self>, error: RpcError);
}

/// Where a handler belongs.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) link: Link,
    pub(super) message: MessageIndex,
    pub(super) span: Span,
    /// What the message holds of the budgets, until its handler is done.
    pub(super) _permit: Permit,
}

impl Watch {
    /// Watches over this work.
    pub(super) fn over<W: Work + Send + 'static>(self, work: W) -> Handling {
        Box::pin(Watched { watch: self, work })
    }

    /// Watches over a handler that answers a request.
    pub(super) fn over_answer<R, H>(self, responder: Responder<R>, handler: H) -> Handling
    where
        R: WriteReply + 'static,
        H: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.over(Answering { handler, owed: responder.into_owed(), returned: None, reply: PhantomData })
    }

    /// Watches over a handler that answers nothing.
    pub(super) fn over_delivery<H>(self, handler: H) -> Handling
    where
        H: Future<Output = ()> + Send + 'static,
    {
        self.over(Attending { handler })
    }

    /// No handler is called.
    pub(super) fn over_nothing(self) -> Handling {
        self.over_delivery(std::future::ready(()))
    }
}

pin_project! {
    /// A handler under watch.
    ///
    /// It is not an async block, because such a block holds what it captures twice. Handlers are large, and one is made
    /// for each message.
    #[derive(Debug)]
    pub struct Watched<W: ?Sized> {
        watch: Watch,
        #[pin]
        work: W,
    }
}

impl Future for Watched<dyn Work + Send> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let entered = this.watch.span.enter();
        // After a panic the handler is never polled again; what it shares with others is its own to keep whole.
        let outcome = catch_unwind(AssertUnwindSafe(|| this.work.as_mut().poll_work(context)));
        drop(entered);
        outcome.unwrap_or_else(|panic| {
            let error = panicked(&this.watch.link, this.watch.message, &*panic);
            this.work.fail(error);
            Poll::Ready(())
        })
    }
}

pin_project! {
    struct Answering<R, H> {
        #[pin]
        handler: H,
        owed: OwedReply,
        // What the handler has returned, while there is no room for it in the output.
        returned: Option<Box<ReturnedAnswer>>,
        reply: PhantomData<fn(R)>,
    }
}

impl<R: WriteReply, H: Future<Output = Result<R, RpcError>>> Work for Answering<R, H> {
    fn poll_work(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.returned.is_none() {
            let Poll::Ready(returned) = this.handler.poll(context) else { return Poll::Pending };
            return begin_answer(this.owed, ReturnedAnswer::of(returned), this.returned, context);
        }
        go_on_answering(this.owed, this.returned, context)
    }

    fn fail(self: Pin<&mut Self>, error: RpcError) {
        // A panic goes before what waits: it is answered at once.
        note_unsent(self.project().owed.answer(Err(error)));
    }
}

/// Answers with what a handler has returned, or keeps it until there is room.
fn begin_answer(
    owed: &mut OwedReply,
    mut returned: ReturnedAnswer,
    kept: &mut Option<Box<ReturnedAnswer>>,
    context: &Context<'_>,
) -> Poll<()> {
    let answered = owed.poll_answer(context, &mut returned);
    if answered.is_pending() {
        *kept = Some(Box::new(returned));
    }
    answered.map(note_unsent)
}

fn go_on_answering(
    owed: &mut OwedReply,
    kept: &mut Option<Box<ReturnedAnswer>>,
    context: &Context<'_>,
) -> Poll<()> {
    let Some(returned) = kept else { return Poll::Ready(()) };
    owed.poll_answer(context, returned).map(note_unsent)
}

/// The session may have ended before the answer; it is then of no use to the peer. What could not be written as JSON has been
/// answered with an error.
fn note_unsent(answered: Result<(), Error>) {
    if let Err(error) = answered {
        tracing::debug!(%error, "an answer was not sent");
    }
}

pin_project! {
    struct Attending<H> {
        #[pin]
        handler: H,
    }
}

impl<H: Future<Output = ()>> Work for Attending<H> {
    fn poll_work(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().handler.poll(context)
    }

    fn fail(self: Pin<&mut Self>, _: RpcError) {
        // The peer waits for nothing. Where the value of a sub-session goes with its handler, what it owed is answered.
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
