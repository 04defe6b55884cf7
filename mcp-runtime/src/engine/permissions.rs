//! What may be sent, asked without sending it.

use mcp_protocol_machine::protocol::{Direction, Kind, Message, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};

use super::state::Engine;

impl Engine {
    /// Whether a message may be sent now, by the wire's state, with no more than these capabilities.
    pub(crate) fn permits(
        &self,
        message: MessageIndex,
        within: Option<&Capabilities>,
    ) -> Result<(), Violation> {
        self.not_over(message)?;
        let all = Capabilities::unknown();
        self.rules.checker().permits_if(Direction::Send, message, within.unwrap_or(&all), |_| false)
    }

    /// Whether anything can be sent any more. Answers can for a while after the peer has said everything.
    pub(crate) fn not_over(&self, message: MessageIndex) -> Result<(), Violation> {
        let answers = |table: &Message| matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. });
        let may_answer = || !self.lifecycle.is_over() && self.rules.message(message).is_some_and(answers);
        if self.lifecycle.is_open() || may_answer() {
            Ok(())
        } else {
            Err(self.rules.checker().over(message))
        }
    }
}
