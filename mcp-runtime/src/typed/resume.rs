//! Resumes sessions that another program has opened. What the program asserts about the state is not checked.

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Side, StateIndex};

use super::session::Session;
use crate::driver::Transport;
use crate::options::Resumed;

impl Session {
    /// Resumes a session that another program has opened, in a state without unanswered requests.
    pub fn resume(
        transport: impl Transport,
        protocol: impl Into<ProtocolRef>,
        side: Side,
        state: StateIndex,
        resumed: Resumed,
    ) -> Session {
        let options = resumed.session_options().clone();
        Session::begin(transport, protocol.into(), side, options, state, |engine| {
            engine.resume(state, &resumed)
        })
    }
}
