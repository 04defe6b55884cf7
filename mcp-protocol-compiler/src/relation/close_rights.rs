//! Closing rights of a configuration.
//!
//! A configuration may be closed iff every linear channel that can reach `End` is there or offers the branch, and
//! there is such a channel or no linear channel at all. Where a configuration is compared in parts, the three facts
//! behind the answer are compared one by one. If they fit, so do the rights. If they do not, the whole configuration has
//! to be compared, because another part may decide for both sides.

use mcp_protocol_machine::protocol::{Side, StateIndex, StateKind};

use super::machine::Machine;

/// Whether one role may close, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Right {
    /// A channel that could end is not there yet.
    blocked: bool,
    /// A channel is at its end or offers to close.
    granted: bool,
    /// A linear channel can never end.
    endless: bool,
}

impl Right {
    /// Whether the role may close.
    pub(super) fn open(self) -> bool {
        !self.blocked && (self.granted || !self.endless)
    }

    /// Whether the use of a right stays within this one, whatever the other parts of the session are like.
    pub(super) fn covers(self, used: Right) -> bool {
        (!self.blocked || used.blocked) && (!used.granted || self.granted) && (!self.endless || used.endless)
    }
}

/// The right of `who` to close, as the machine's role declares it.
pub(super) fn right(machine: &Machine<'_>, locations: &[StateIndex], who: Side) -> Right {
    let mut right = Right::default();
    for state in locations.iter().filter_map(|&location| machine.state(location)) {
        let offered = if who == machine.side() { state.may_close } else { state.peer_may_close };
        match state.kind {
            StateKind::End => right.granted = true,
            StateKind::Replicated | StateKind::Fork => {}
            StateKind::Linear if offered => right.granted = true,
            StateKind::Linear if state.reaches_end => right.blocked = true,
            StateKind::Linear => right.endless = true,
        }
    }
    right
}
