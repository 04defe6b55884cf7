//! Closing rights of a configuration.
//!
//! In: a configuration of one role. Out: [`Rights`], which of the two roles may close there. Refuses to judge
//! copies of a `*` body: closing belongs to the session.
//!
//! A configuration may be closed iff every linear channel that can reach `End` is there or offers the branch, and
//! there is such a channel or no linear channel at all. Where a configuration is compared in parts, the answer for
//! the whole is the conjunction of the parts' answers, unless some channel can never end; only then the three facts
//! behind the answer are compared one by one. That they fit is enough; where they do not, the whole has to be asked.

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
}

/// How much of a configuration is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Everything, or parts of which none is endless: only the answer counts.
    Answer,
    /// One part beside others, with endless channels somewhere: the facts count.
    Facts,
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

/// Whether two roles give somebody the same right.
pub(super) fn same(one: Right, other: Right, scope: Scope) -> bool {
    match scope {
        Scope::Answer => one.open() == other.open(),
        Scope::Facts => one == other,
    }
}

/// Whether the right that is used is within the right that is expected.
pub(super) fn within(used: Right, expected: Right, scope: Scope) -> bool {
    match scope {
        Scope::Answer => !used.open() || expected.open(),
        Scope::Facts => {
            (!expected.blocked || used.blocked)
                && (!used.granted || expected.granted)
                && (!expected.endless || used.endless)
        }
    }
}

/// Whether some linear channel, once there, can never end.
pub(super) fn has_endless(machine: &Machine<'_>) -> bool {
    machine.automaton().states.iter().any(|state| {
        state.kind == StateKind::Linear
            && !state.body
            && !state.reaches_end
            && !(state.may_close || state.peer_may_close)
    })
}
