//! Finds out which handler methods a program has left to their defaults.
//!
//! The default method of a request returns an [`Unhandled`], a type that no program names. So the type of what a method
//! returns says whether the program has written it, and no handler has to be called to know.

use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{MessageIndex, Protocol};

use super::session::Session;
use crate::jsonrpc::RpcError;

/// What the default method of a request returns.
#[derive(Debug)]
pub struct Unhandled<T>(Option<T>);

impl<R> Unhandled<Result<R, RpcError>> {
    /// A request that is answered with *method not found*.
    pub fn request(protocol: &Protocol, message: MessageIndex) -> Self {
        Unhandled(Some(Err(not_found(protocol, message))))
    }
}

impl Unhandled<()> {
    /// A sub-session that is declined: what would open it is answered with *method not found*.
    pub fn decline(protocol: &Protocol, message: MessageIndex, sub_session: Session) -> Self {
        sub_session.decline(not_found(protocol, message));
        Unhandled(Some(()))
    }
}

fn not_found(protocol: &Protocol, message: MessageIndex) -> RpcError {
    RpcError::method_not_found(
        protocol.messages.get(usize::from(message.0)).map_or("", |message| &message.method),
    )
}

impl<T> Unpin for Unhandled<T> {}

impl<T> Future for Unhandled<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        self.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A request, and whether a handler's method for it is the default one. Calls nothing.
pub fn unhandled<A, F>(request: MessageIndex, _: impl FnOnce(A) -> F) -> Option<(MessageIndex, bool)>
where
    F: Future<Output: 'static> + 'static,
{
    Some((request, TypeId::of::<F>() == TypeId::of::<Unhandled<F::Output>>()))
}
