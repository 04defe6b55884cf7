//! What comes late: it was permitted where its sender was, and this side has taken a step since that the sender had not
//! heard of.
//!
//! There is one rule for the states of channels and for sub-sessions that are over: each step that makes messages
//! impermissible excuses them until its receipt is proven, by a reply or by a message that is a step only behind it.
//! Later they are violations.

use crate::channels::Channels;
use crate::endings::{Ended, Space};
use crate::fence::Fence;
use crate::id::RequestId;
use crate::protocol::{Action, Direction, MessageIndex, Origin};
use crate::sub_sessions::{Correlation, SubSessions};
use crate::trail::Evidence;

use super::find::Found;
use super::state::Checker;
use super::step::Late;

impl Checker {
    /// Whether messages are seen in the order in which each side wrote them, as over a pipe. Without that no reply
    /// proves that its sender has received what was written before, so what was once late may always be: over HTTP,
    /// where each exchange travels by itself. A new checker takes the order for kept.
    pub fn set_ordered(&mut self, ordered: bool) {
        self.ordered = ordered;
    }

    /// What there is to conclude from, and what to conclude about.
    pub(super) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            role: self.role(),
            sent: self.sent.receipts(),
            received: self.received.receipts(),
            ordered: self.ordered,
        }
    }

    /// The linear channels, the sub-sessions, and the evidence about them.
    pub(super) fn with_evidence(&mut self) -> (&mut Channels, &mut SubSessions, Evidence<'_>) {
        let evidence = Evidence {
            role: self.protocol.role(self.side),
            sent: self.sent.receipts(),
            received: self.received.receipts(),
            ordered: self.ordered,
        };
        (&mut self.channels, &mut self.sub_sessions, evidence)
    }

    /// Whether the step in a direction that has this fence is known to be received.
    pub(super) fn is_past(&self, by: Direction, fence: Fence) -> bool {
        self.evidence().is_past(by, fence)
    }

    /// A message was accepted for a linear channel, also as one that is late.
    pub(super) fn said(&mut self, found: &Found, direction: Direction, message: MessageIndex) {
        if !found.shows_state {
            return;
        }
        let (channels, _, evidence) = self.with_evidence();
        channels.said(found.place, direction, message, &evidence);
    }

    /// The newest sub-session that is over, has held one of these values, and may be what a message was sent for.
    pub(super) fn late_before(
        &self,
        space: Space,
        direction: Direction,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Option<&Ended> {
        let around = self.sub_sessions.reused_around(space.outer, correlation.keys);
        let mut before = self.sub_sessions.before(space, correlation.keys).chain(around);
        before.find(|ended| self.may_be_late_for(ended, direction, message))
    }

    /// Whether a message may be late for a sub-session that is over.
    pub(super) fn may_be_late_for(&self, ended: &Ended, direction: Direction, message: MessageIndex) -> bool {
        // Without order what ended it may have come before what the same side wrote earlier.
        if !self.ordered {
            return true;
        }
        let is_unaware = match ended.unsure {
            Some(_) => !ended.reused || ended.by != direction,
            None if ended.by != direction => !self.is_past(ended.by, ended.fence),
            None => ended.crossed.is_some_and(|(_, fence)| !self.is_past(direction.flip(), fence)),
        };
        is_unaware && self.under_way(ended, direction, message)
    }

    /// Whether a value in a direction that nothing is known of may be one that was forgotten while it could be late.
    pub(super) fn may_be_forgotten(&self, direction: Direction) -> bool {
        let lost = |by| self.sub_sessions.forgotten(by).is_some_and(|fence| !self.is_past(by, fence));
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
    /// Where a gate has closed, only what opens an instance of its own is late. Any other message has moved its sender, so
    /// it moves its receiver, too.
    ///
    /// A notification that opens a sub-session which goes on is taken all the same: its sender has no way to learn that
    /// nothing was opened.
    pub(super) fn lateness(&self, found: &Found, request: bool) -> Option<Late> {
        if let Some(closed) = found.closed_gate
            && let Action::Spawn(start) = found.action
            && self.sub_sessions.starts(start).is_none()
        {
            return Some(Late { state: found.state, crossed: closed.by, over: false });
        }
        if found.origin != Origin::Closure {
            return None;
        }
        if let Action::Spawn(start) = found.action
            && !request
            && self.sub_sessions.starts(start).is_some()
        {
            return None;
        }
        Some(Late { state: found.state, crossed: found.crossed, over: false })
    }

    /// What is late about a message of a sub-session that is over.
    pub(super) fn late_for(ended: &Ended) -> Late {
        Late { state: ended.from, crossed: Some(ended.message), over: true }
    }

    /// Whether a message may have been sent by a side that knew a sub-session, and not yet that the other side has ended
    /// it: it goes on from the state that the end found the sub-session in by what it says itself, and by the answers to
    /// its requests. These may come another way than what ended the sub-session, and sooner. If it is not known whether
    /// the sub-session was opened, or if the side had not received earlier steps either, both sides may have gone on
    /// in it.
    fn under_way(&self, ended: &Ended, direction: Direction, message: MessageIndex) -> bool {
        let mut seen = match ended.crossed.filter(|_| direction == ended.by) {
            Some((from, _)) => vec![from],
            None => std::iter::once(ended.from).chain(ended.behind).collect(),
        };
        seen.extend(ended.besides.get(direction).iter().flat_map(|besides| besides.iter().copied()));
        let mut next = 0;
        while let Some(state) = seen.get(next).copied() {
            next += 1;
            let edges = self.state(state).map_or(&[][..], |table| &table.edges);
            for edge in edges.iter() {
                let said = edge.direction == direction;
                if said && edge.message == message {
                    return true;
                }
                let anyone = ended.unsure.is_some() || ended.behind.is_some();
                let goes_on = said || anyone || ended.awaited && self.is_answer(edge.message);
                if goes_on && !seen.contains(&edge.action.target()) {
                    seen.push(edge.action.target());
                }
            }
            let parts = self.state(state).map_or(&[][..], |table| &table.parts);
            seen.extend(parts.iter().filter(|part| !seen.contains(part)).copied().collect::<Vec<_>>());
        }
        false
    }
}
