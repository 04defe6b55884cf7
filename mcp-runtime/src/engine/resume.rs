//! Sessions that began elsewhere and that this program attaches to.

use mcp_protocol_machine::TableError;
use mcp_protocol_machine::protocol::StateIndex;

use super::state::Engine;
use crate::options::Resumed;
use crate::report::Report;

impl Engine {
    /// The session was begun elsewhere, and is in this state.
    pub(crate) fn resume(&mut self, state: StateIndex, resumed: &Resumed) -> Result<(), TableError> {
        // No message carries the error to the program; the report does.
        if let Some(error) = self.rules.resume(state, resumed)? {
            self.report(Report::NegotiationFailed { error });
        }
        self.inbox.calls_mut().start_ids_at(resumed.id());
        self.lifecycle.resume();
        Ok(())
    }
}
