//! Gates that have closed while messages may have been on their way through them.

use crate::capability::Capabilities;
use crate::fence::Fence;
use crate::protocol::{GateIndex, MessageIndex, Side};

/// How many closings by one side of the gates of one holder are kept one by one. An older one counts as one that has closed
/// every gate.
const KEPT: usize = 16;

/// What a side granted before it revoked some of it.
#[derive(Clone, Debug)]
struct Closing {
    holder: Side,
    /// Who closed them: mostly the holder, or the side that answered its request to close them.
    closer: Side,
    before: Capabilities,
    /// The message that closed the gates; nothing if no message did.
    by: Option<MessageIndex>,
    /// Proves that the other side has received the message.
    fence: Fence,
}

/// The closings whose receipt is not proven.
///
/// Invariant: oldest first, and at most [`KEPT`] of each side for the gates of each holder.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedGates {
    closings: Vec<Closing>,
}

impl ClosedGates {
    /// A side has closed gates of those that the holder granted. `is_past` says whether the receipt of what has this fence is
    /// proven.
    pub(crate) fn add(
        &mut self,
        (holder, closer): (Side, Side),
        before: Capabilities,
        by: Option<MessageIndex>,
        fence: Fence,
        is_past: impl Fn(Side, Fence) -> bool,
    ) {
        self.closings.retain(|closing| !is_past(closing.closer, closing.fence));
        let is_alike = |closing: &Closing| (closing.holder, closing.closer) == (holder, closer);
        let mut alike = self.closings.iter().enumerate().filter(|(_, closing)| is_alike(closing));
        let oldest = alike.next().map(|(place, _)| place);
        if let Some(oldest) = oldest.filter(|_| alike.count() + 1 >= KEPT) {
            self.closings.remove(oldest);
            // It lets through what the forgotten one did, until its own fence, which is later.
            if let Some(next) = self.closings.iter_mut().find(|closing| is_alike(closing)) {
                next.before = Capabilities::unknown();
            }
        }
        self.closings.push(Closing { holder, closer, before, by, fence });
    }

    /// The message that closed a gate, if its sender wrote it for a side that may not have received it. `is_unaware` says
    /// whether that is so for what one side has written with a fence.
    pub(crate) fn excuse(
        &self,
        holder: Side,
        gate: GateIndex,
        is_unaware: impl Fn(Side, Fence) -> bool,
    ) -> Option<Option<MessageIndex>> {
        let mut closings = self.closings.iter().rev().filter(|closing| closing.holder == holder);
        closings
            .find(|closing| closing.before.grants(gate) && is_unaware(closing.closer, closing.fence))
            .map(|closing| closing.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::Receipts;

    const GATE: GateIndex = GateIndex(3);

    fn gates(gates: &[u16]) -> Capabilities {
        gates.iter().copied().map(GateIndex).collect()
    }

    #[test]
    fn what_a_gate_let_through_is_excused_until_the_fence() {
        let (mut closed, mut receipts) = (ClosedGates::default(), Receipts::default());
        closed.add(
            (Side::Server, Side::Server),
            gates(&[3, 4]),
            Some(MessageIndex(7)),
            receipts.next(),
            |_, _| false,
        );
        let excuse = |closed: &ClosedGates, receipts: &Receipts, side, gate| {
            closed.excuse(side, gate, |_, fence| !receipts.is_past(fence))
        };
        assert_eq!(excuse(&closed, &receipts, Side::Server, GATE), Some(Some(MessageIndex(7))));
        assert_eq!(excuse(&closed, &receipts, Side::Client, GATE), None);
        assert_eq!(excuse(&closed, &receipts, Side::Server, GateIndex(5)), None, "it was never open");
        let later = receipts.request();
        receipts.reply(later);
        assert_eq!(excuse(&closed, &receipts, Side::Server, GATE), None);
    }

    #[test]
    fn what_one_side_closes_again_and_again_does_not_push_out_what_the_other_has_closed() {
        let (mut closed, mut receipts) = (ClosedGates::default(), Receipts::default());
        let first = receipts.request();
        closed.add((Side::Client, Side::Client), gates(&[3]), None, first, |_, _| false);
        for _ in 0..40 {
            let fence = receipts.request();
            closed.add((Side::Server, Side::Server), gates(&[]), None, fence, |_, _| false);
        }
        assert_eq!(closed.closings.len(), KEPT + 1);
        assert!(closed.excuse(Side::Client, GATE, |_, fence| !receipts.is_past(fence)).is_some());
    }

    #[test]
    fn what_is_forgotten_lets_everything_through_until_the_fence_of_the_next() {
        let (mut closed, mut receipts) = (ClosedGates::default(), Receipts::default());
        let mut last = receipts.next();
        for number in 0..40 {
            last = receipts.request();
            let before = gates(&[3 + number % 2]);
            closed.add((Side::Client, Side::Client), before, None, last, |_, _| false);
        }
        assert_eq!(closed.closings.len(), KEPT);
        assert!(closed.excuse(Side::Client, GateIndex(60), |_, fence| !receipts.is_past(fence)).is_some());
        receipts.reply(last);
        closed.add((Side::Server, Side::Server), gates(&[]), None, last, |_, fence| receipts.is_past(fence));
        assert_eq!(closed.closings.len(), 1, "what is past is forgotten");
    }
}
