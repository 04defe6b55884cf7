//! Gates that have closed while messages may have been on their way through them.

use crate::capability::Capabilities;
use crate::fence::Fence;
use crate::protocol::{GateIndex, MessageIndex, Side};

/// How many closings are kept one by one. An older one counts as one that has closed every gate.
const KEPT: usize = 16;

/// What a side granted before it took something of it back.
#[derive(Clone, Debug)]
struct Closing {
    holder: Side,
    before: Capabilities,
    /// The message that closed the gates; nothing if no message did.
    by: Option<MessageIndex>,
    /// Proves that the other side has received the message.
    fence: Fence,
}

/// The closings whose receipt is not proven.
///
/// Invariant: oldest first, and at most [`KEPT`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedGates {
    closings: Vec<Closing>,
}

impl ClosedGates {
    /// A side grants something else from now on. `is_past` says whether the receipt of what has this fence is proven.
    pub(crate) fn change(
        &mut self,
        holder: Side,
        (before, after): (&Capabilities, &Capabilities),
        by: Option<MessageIndex>,
        fence: Fence,
        is_past: impl Fn(Side, Fence) -> bool,
    ) {
        self.closings.retain(|closing| !is_past(closing.holder, closing.fence));
        if before.is_within(after) {
            return;
        }
        if self.closings.len() >= KEPT {
            // It lets through what the forgotten one did, until its own fence, which is later.
            let oldest = self.closings.remove(0);
            if let Some(next) = self.closings.iter_mut().find(|closing| closing.holder == oldest.holder) {
                next.before = Capabilities::unknown();
            }
        }
        self.closings.push(Closing { holder, before: before.clone(), by, fence });
    }

    /// The message that closed a gate, if the other side may not have received it.
    pub(crate) fn excuse(
        &self,
        holder: Side,
        gate: GateIndex,
        is_past: impl Fn(Fence) -> bool,
    ) -> Option<Option<MessageIndex>> {
        let mut closings = self.closings.iter().rev().filter(|closing| closing.holder == holder);
        closings
            .find(|closing| closing.before.grants(gate) && !is_past(closing.fence))
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
        let (open, shut) = (gates(&[3, 4]), gates(&[4]));
        closed.change(Side::Server, (&open, &shut), Some(MessageIndex(7)), receipts.next(), |_, _| false);
        let excuse = |closed: &ClosedGates, receipts: &Receipts, side, gate| {
            closed.excuse(side, gate, |fence| receipts.is_past(fence))
        };
        assert_eq!(excuse(&closed, &receipts, Side::Server, GATE), Some(Some(MessageIndex(7))));
        assert_eq!(excuse(&closed, &receipts, Side::Client, GATE), None);
        assert_eq!(excuse(&closed, &receipts, Side::Server, GateIndex(5)), None, "it was never open");
        let later = receipts.request();
        receipts.reply(later);
        assert_eq!(excuse(&closed, &receipts, Side::Server, GATE), None);
    }

    #[test]
    fn what_only_grants_more_excuses_nothing() {
        let mut closed = ClosedGates::default();
        let fence = Receipts::default().next();
        closed.change(Side::Client, (&gates(&[]), &gates(&[3])), None, fence, |_, _| false);
        closed.change(Side::Client, (&gates(&[3]), &Capabilities::unknown()), None, fence, |_, _| false);
        assert!(closed.closings.is_empty());
    }

    #[test]
    fn what_is_forgotten_lets_everything_through_until_the_fence_of_the_next() {
        let (mut closed, mut receipts) = (ClosedGates::default(), Receipts::default());
        let mut last = receipts.next();
        for number in 0..40 {
            last = receipts.request();
            let before = gates(&[3 + number % 2]);
            closed.change(Side::Client, (&before, &gates(&[])), None, last, |_, _| false);
        }
        assert_eq!(closed.closings.len(), KEPT);
        assert!(closed.excuse(Side::Client, GateIndex(60), |fence| receipts.is_past(fence)).is_some());
        receipts.reply(last);
        let none = gates(&[]);
        closed.change(Side::Client, (&none, &none), None, last, |_, fence| receipts.is_past(fence));
        assert!(closed.closings.is_empty());
    }
}
