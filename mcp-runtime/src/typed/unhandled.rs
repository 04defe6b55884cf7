//! Finds out which handler methods a program has left to their defaults.
//!
//! The default method of a request returns an [`Unhandled`], a type that no program names. So the type of what a method
//! returns says whether the program has written it, and no handler has to be called to know.

use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::jsonrpc::RpcError;

/// What the default method of a request returns.
#[derive(Debug)]
pub struct Unhandled<T>(Option<T>);

impl<R> Unhandled<Result<R, RpcError>> {
    /// A request that is answered with *method not found*.
    pub fn request(method: &str) -> Self {
        Unhandled(Some(Err(RpcError::method_not_found(method))))
    }
}

impl Unhandled<()> {
    /// A sub-session that was declined.
    pub fn declined() -> Self {
        Unhandled(Some(()))
    }
}

impl<T> Unpin for Unhandled<T> {}

impl<T> Future for Unhandled<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        self.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Whether a method of a handler is the default one. Calls nothing.
pub fn is_unhandled<A, F>(_: impl FnOnce(A) -> F) -> bool
where
    F: Future<Output: 'static> + 'static,
{
    TypeId::of::<F>() == TypeId::of::<Unhandled<F::Output>>()
}
