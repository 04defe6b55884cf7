//! Calls for tasks that outlive the session value.
//!
//! In: requests and notifications beside the linear channels. Out: calls that borrow nothing. Refuses at run time what
//! the session does not permit at that moment.

use std::future::Future;

use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Call, Notify, ReadReply, Session};
use crate::error::Error;
use crate::session::Link;

/// Makes calls beside the linear channels, from any task. Does not keep the session open.
#[derive(Clone, Debug)]
pub struct Handle(pub(super) Link);

impl Handle {
    /// A request; sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'static, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.0.clone(), request, params)
    }

    /// Opens a copy; the value stands for it.
    pub fn open<P: Serialize + ?Sized>(
        &self,
        message: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<Session, Error>> + Send + use<P> {
        super::copies::open(self.0.clone(), message, params)
    }

    /// Opens a copy by a request, and takes the reply.
    pub fn open_exchange<P: Serialize + ?Sized, T: DeserializeOwned>(
        &self,
        request: MessageIndex,
        params: &P,
    ) -> impl Future<Output = Result<(T, Session), Error>> + Send + use<P, T> {
        super::copies::open_exchange(self.0.clone(), request, params)
    }

    /// A notification; sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'static> {
        Notify::new(self.0.clone(), message, params)
    }
}
