//! What each side is known to have read, and how much the checker forgets of the rest.

use mcp_protocol_machine::protocol::Direction;

use super::index;

/// How many states behind the present one the checker keeps, by `docs/semantics.md`.
const STATES_KEPT: usize = 16;

/// The messages of both directions, by their numbers among all that were seen.
///
/// Invariant: all numbers of a direction grow, and what is forgotten or answered was written.
#[derive(Clone, Default)]
pub(super) struct Heard {
    written: [Vec<u64>; 2],
    /// The last request of each direction that was answered.
    answered: [u64; 2],
    /// The newest message of each direction that may be forgotten.
    forgotten: [u64; 2],
}

impl Heard {
    /// A message was written, so an older one may be forgotten.
    pub(super) fn wrote(&mut self, direction: Direction, at: u64) {
        let by = index(direction);
        self.written[by].push(at);
        let unread = self.written[by].iter().rev().take_while(|at| **at > self.answered[by]);
        // The oldest states become one, which is one of those that are kept.
        if unread.clone().count() > STATES_KEPT {
            self.forgotten[by] = unread.copied().nth(STATES_KEPT - 1).unwrap().max(self.forgotten[by]);
        }
    }

    /// A request in a direction was answered: its receiver has read it, and all that was written before.
    pub(super) fn answered(&mut self, asked: Direction, at: u64) {
        let answered = &mut self.answered[index(asked)];
        *answered = (*answered).max(at);
    }

    /// Whether a message in a direction is known to be read.
    pub(super) fn is_read(&self, direction: Direction, at: u64) -> bool {
        self.answered[index(direction)] >= at
    }

    /// Whether the sender of a message may have left more unread than the checker keeps states for: so much was written
    /// to it since the last request that it is known to have read. What the checker has forgotten by then it does not
    /// remember again when a reply shows that some of it was read.
    pub(super) fn is_far_behind(&self, sender: Direction) -> bool {
        let other = sender.flip();
        !self.is_read(other, self.forgotten[index(other)])
    }
}
