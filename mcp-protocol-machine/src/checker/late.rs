//! What comes late: it was permitted where its sender was, and this side has taken a step since that the sender had not
//! heard of.
//!
//! There is one rule for the loops that closing the diamond adds and for sub-sessions that are over: each step that
//! makes messages impermissible has a fence, and until that is passed these messages are late. Later they are
//! violations.

use crate::endings::Ended;
use crate::exchange::RequestId;
use crate::fence::{Fence, Left};
use crate::protocol::{Action, Direction, MessageIndex, Origin, StateIndex};

use super::judge::Found;
use super::{Checker, Late};

impl Checker {
    /// Whether messages are seen in the order in which each side wrote them, as over a pipe. Without that no reply
    /// proves that its sender has received what was written before, so what was once late may always be: over HTTP,
    /// where each exchange travels by itself. A new checker takes the order for kept.
    pub fn set_ordered(&mut self, ordered: bool) {
        self.ordered = ordered;
    }

    /// Whether whoever received the step in a direction that has this fence is known to have done so.
    fn is_past(&self, by: Direction, fence: Fence) -> bool {
        self.ordered && self.asked(by).receipts().is_past(fence)
    }

    /// Whether a message in a direction may have crossed the last step of the other side.
    pub(super) fn may_cross(&self, direction: Direction, last: Option<Left>) -> bool {
        match last {
            Some(left) => !self.is_past(direction.flip(), left.fence),
            None => !self.ordered,
        }
    }

    /// Whether a message may be late for a sub-session that is over.
    pub(super) fn may_be_late_for(&self, ended: &Ended, direction: Direction, message: MessageIndex) -> bool {
        // Without order what ended it may have come before what the same side wrote earlier.
        !self.ordered
            || ended.by != direction
                && !self.is_past(ended.by, ended.fence)
                && self.under_way(ended, direction, message)
    }

    /// Whether a message may be late for the sub-session that held its values before the one that holds them now.
    pub(super) fn may_be_late_for_one_before(&self, ended: &Ended) -> bool {
        !self.is_past(ended.by, ended.fence)
    }

    /// Whether a value in a direction that nothing is known of may be one that was forgotten while it could be late.
    pub(super) fn may_be_forgotten(&self, direction: Direction) -> bool {
        let lost = |by| self.copies.forgotten(by).is_some_and(|fence| !self.is_past(by, fence));
        lost(direction.flip()) || !self.ordered && lost(direction)
    }

    /// The fence of a step that is taken now: that of the request, if it is one, which is booked before.
    pub(super) fn fence(&self, by: Direction, request: Option<&RequestId>) -> Fence {
        let asked = self.asked(by);
        let request = request.and_then(|id| asked.running_under(id)).map(|exchange| exchange.fence);
        request.unwrap_or_else(|| asked.receipts().next())
    }

    /// What is late about a message that takes an edge of a linear channel.
    ///
    /// A notification that opens a sub-session which goes on is taken all the same: its sender has no way to learn that
    /// nothing was opened.
    pub(super) fn lateness(&self, found: &Found, direction: Direction, request: bool) -> Option<Late> {
        if found.origin != Origin::Closure {
            return None;
        }
        if let Action::Spawn(start) = found.action
            && !request
            && self.copies.starts(start).is_some()
        {
            return None;
        }
        let last = self.channels.last_step(found.place, direction.flip());
        Some(Late { state: found.state, crossed: last.and_then(|left| left.by), over: false })
    }

    /// What is late about a message of a sub-session that is over.
    pub(super) fn late_for(ended: &Ended) -> Late {
        Late { state: ended.from, crossed: Some(ended.message), over: true }
    }

    /// What is late about a message that a sub-session accepts only because it may have crossed a step.
    pub(super) fn late_in(state: StateIndex, last: Option<Left>) -> Late {
        Late { state, crossed: last.and_then(|left| left.by), over: false }
    }

    /// Whether a message may have been sent by who knew a copy and not yet that the other side has ended it: it goes
    /// on from the state that the end found the copy in by what it says itself, and by the answers to its requests.
    /// These may come another way than what ended the copy, and sooner.
    fn under_way(&self, ended: &Ended, direction: Direction, message: MessageIndex) -> bool {
        let mut seen = vec![ended.from];
        let mut next = 0;
        while let Some(state) = seen.get(next).copied() {
            next += 1;
            let edges = self.state(state).map_or(&[][..], |table| &table.edges);
            for edge in edges.iter() {
                let said = edge.direction == direction;
                if said && edge.message == message {
                    return true;
                }
                let goes_on = said || ended.awaited && self.is_answer(edge.message);
                if goes_on && !seen.contains(&edge.action.target()) {
                    seen.push(edge.action.target());
                }
            }
        }
        false
    }
}
