//! What a session value does on replicated channels: calls, notifications, handles, and the queue of what comes in.

use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;

use super::call::Call;
use super::handle::Handle;
use super::incoming::IncomingQueue;
use super::notify::Notify;
use super::reply::ReadReply;
use super::session::Session;

impl Session {
    /// A request of a replicated channel, sent when the call is first polled.
    pub fn call<P, T, C, G>(&self, request: MessageIndex, params: &P) -> Call<'_, T, C, G>
    where
        P: Serialize + ?Sized,
        T: ReadReply,
    {
        Call::new(self.channel.link.clone(), request, params).within(self.channel.within.clone())
    }

    /// A notification of a replicated channel, sent when the future is first polled.
    pub fn notify<P: Serialize + ?Sized>(&self, message: MessageIndex, params: &P) -> Notify<'_> {
        Notify::new(self.channel.link.clone(), message, params).within(self.channel.within.clone())
    }

    /// Returns a handle for calls that outlive a borrow of the session.
    pub fn handle(&self) -> Handle {
        Handle::new(self.channel.link.clone(), self.channel.within.clone())
    }

    /// The queue of replicated inputs.
    pub fn incoming(&self) -> IncomingQueue {
        IncomingQueue::new(self.channel.link.clone(), self.channel.within.clone())
    }
}
