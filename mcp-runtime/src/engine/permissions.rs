//! What may be sent, asked without sending it.

use mcp_protocol_machine::protocol::{Direction, Kind, Message, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};

use super::names::applies;
use super::names::on_the_wire;
use super::state::Engine;

impl Engine {
    /// The message of this side that a method and a payload stand for.
    pub(crate) fn of_method(&self, kind: Kind, method: &str, params: Option<&str>) -> Option<MessageIndex> {
        self.read_as(Direction::Send, kind == Kind::Request, method, params)
    }

    /// Some message of a method, whatever its payload.
    pub(crate) fn some_of(&self, kind: Kind, method: &str) -> Option<MessageIndex> {
        self.names.any_of(&self.protocol, kind == Kind::Request, method)
    }

    /// The reply that a result is to a request.
    pub(crate) fn reply_of(&self, request: MessageIndex, result: &str) -> Option<MessageIndex> {
        self.names.reply(&self.protocol, request, result)
    }

    /// The refusal of a request.
    pub(crate) fn refusal_of(&self, request: MessageIndex) -> Option<MessageIndex> {
        self.names.refusal(&self.protocol, request)
    }

    /// The notification that takes a request back.
    pub(crate) fn cancel_message(&self) -> Option<MessageIndex> {
        self.names.cancels(&self.protocol).map(|(message, _)| message)
    }

    /// Whether a message may be sent now, by the wire's state, with no more than these capabilities.
    pub(crate) fn permits(
        &self,
        message: MessageIndex,
        within: Option<&Capabilities>,
    ) -> Result<(), Violation> {
        self.not_over(message)?;
        let all = Capabilities::unknown();
        self.checker.permits_if(Direction::Send, message, within.unwrap_or(&all), |_| false)
    }

    /// Whether anything can be sent any more. Answers can for a while after the peer has said everything.
    pub(crate) fn not_over(&self, message: MessageIndex) -> Result<(), Violation> {
        let answers = |table: &Message| matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. });
        let may_answer = || !self.lifecycle.is_over() && self.message(message).is_some_and(answers);
        if self.lifecycle.is_open() || may_answer() { Ok(()) } else { Err(self.checker.over(message)) }
    }

    /// Whether a message may be sent with no more than these capabilities. Whatever else it may need is judged when it
    /// is written.
    pub(crate) fn check_within(
        &self,
        message: MessageIndex,
        written: &str,
        within: Option<&Capabilities>,
    ) -> Result<(), Violation> {
        let (Some(within), Some(table)) = (within, self.message(message)) else { return Ok(()) };
        if matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. }) {
            // A reply is owed, whatever it needs.
            return Ok(());
        }
        let params = on_the_wire(table, written);
        self.checker.permits_if(Direction::Send, message, within, applies(params))
    }
}
