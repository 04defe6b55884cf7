//! Sessions that were begun elsewhere.
//!
//! In: a transport to a peer that is in the middle of a session, the state of that session, and what is known of what
//! both sides have announced. Out: a [`Session`] in that state. Refuses to check any of it: whoever resumes a session
//! asserts that it is there.

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Side, StateIndex};

use super::session::Session;
use crate::driver::Transport;
use crate::options::Resumed;

impl Session {
    /// Continues a session that was begun elsewhere, in a state where nothing is owed.
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
