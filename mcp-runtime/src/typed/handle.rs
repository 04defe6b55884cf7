//! Calls for tasks that outlive the session value.
//!
//! In: requests and notifications beside the linear channels. Out: calls that borrow nothing. Refuses at run time what
//! the session does not permit at that moment.

use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;

use super::{Call, Notify, ReadReply};
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

    /// A notification; sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'static> {
        Notify::new(self.0.clone(), message, params)
    }
}
