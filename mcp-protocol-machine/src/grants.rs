//! What was granted, and how often: by running requests, each for as long as it runs, or by messages until others revoke it.

use crate::capability::Capabilities;
use crate::fence::Fence;
use crate::protocol::GateIndex;

/// How often each gate is granted. In most sessions none is, and this takes no room but its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    /// `None` before the first grant.
    granted: Option<Box<Granted>>,
}

/// Invariant: `open` are the gates that are granted at least once.
#[derive(Clone, Debug, Default)]
struct Granted {
    counts: Vec<u32>,
    /// How often each gate was granted and not asked back. What is asked back stays granted until the answer comes, and
    /// counts here at once: both sides read the messages of the one that grants in one order, and answers in two.
    kept: Vec<u32>,
    open: Vec<GateIndex>,
    /// What was granted by requests that are over since this was last asked for.
    released: Vec<GateIndex>,
    /// Until when the other side may take these requests to go on, where it has ended them by a message that crossed others.
    crossed: Option<Fence>,
}

/// What was granted by requests that a message has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    /// The gates, whether or not other requests still grant them.
    pub(crate) gates: Capabilities,
    /// What the other side may not have received of the side that has asked, if it has ended the requests by a message that
    /// crossed this: until then they go on for it.
    pub(crate) crossed: Option<Fence>,
}

impl Grants {
    /// These are granted once more.
    pub(crate) fn add(&mut self, granted: &Capabilities) {
        for gate in granted.each() {
            let Granted { counts, kept, open, .. } = &mut **self.granted.get_or_insert_default();
            let place = usize::from(gate.0);
            if counts.len() <= place {
                counts.resize(place + 1, 0);
                kept.resize(place + 1, 0);
            }
            if let Some(kept) = kept.get_mut(place) {
                *kept += 1;
            }
            let Some(count) = counts.get_mut(place) else { continue };
            *count += 1;
            if *count == 1 {
                open.push(gate);
            }
        }
    }

    /// These are asked back. Returns those of them that were granted and not asked back before, which are to be
    /// [removed](Self::remove).
    pub(crate) fn ask_back(&mut self, asked: &Capabilities) -> Capabilities {
        let Some(granted) = &mut self.granted else { return Capabilities::none() };
        let is_kept = |gate: &GateIndex| {
            let kept = granted.kept.get_mut(usize::from(gate.0)).filter(|kept| **kept > 0);
            kept.map(|kept| *kept -= 1).is_some()
        };
        Capabilities::from_gates(asked.each().filter(is_kept).collect::<Vec<_>>())
    }

    /// These are granted once less.
    pub(crate) fn remove(&mut self, removed: &Capabilities) {
        let Some(granted) = &mut self.granted else { return };
        for gate in removed.each() {
            let Some(count) = granted.counts.get_mut(usize::from(gate.0)) else { continue };
            if *count == 0 {
                continue;
            }
            *count -= 1;
            if !granted.released.contains(&gate) {
                granted.released.push(gate);
            }
            if *count == 0 {
                granted.open.retain(|open| *open != gate);
            }
        }
    }

    /// What is removed by the present message was removed by one that crossed others of this side.
    pub(crate) fn crosses(&mut self, fence: Fence) {
        if let Some(granted) = &mut self.granted {
            granted.crossed = Some(fence);
        }
    }

    /// What was removed since the last call, if anything was. This is asked after every message, and most remove nothing.
    #[inline]
    pub(crate) fn take_released(&mut self) -> Option<Released> {
        let Granted { released, crossed, .. } = &mut **self.granted.as_mut()?;
        let crossed = crossed.take();
        if released.is_empty() {
            return None;
        }
        Some(Released { gates: Capabilities::from_gates(std::mem::take(released)), crossed })
    }

    /// Whether one of them grants a gate.
    pub(crate) fn has(&self, gate: GateIndex) -> bool {
        let counts = self.granted.as_ref().map_or(&[][..], |granted| &granted.counts);
        counts.get(usize::from(gate.0)).is_some_and(|count| *count > 0)
    }

    /// Whether all of them grant exactly this. It is asked after every message, and takes no allocation.
    #[inline]
    pub(crate) fn are(&self, granted: &Capabilities) -> bool {
        let open = self.open();
        !granted.is_unknown()
            && open.len() == granted.count()
            && open.iter().all(|gate| granted.grants(*gate))
    }

    /// What all of them grant.
    pub(crate) fn all(&self) -> Capabilities {
        Capabilities::from_gates(self.open().iter().copied())
    }

    #[inline]
    fn open(&self) -> &[GateIndex] {
        self.granted.as_ref().map_or(&[], |granted| &granted.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(gates: &[u16]) -> Capabilities {
        gates.iter().copied().map(GateIndex).collect()
    }

    #[test]
    fn a_gate_is_open_until_the_last_request_that_grants_it_is_over() {
        let mut grants = Grants::default();
        grants.add(&gates(&[1, 70]));
        grants.add(&gates(&[70]));
        assert_eq!(grants.all(), gates(&[1, 70]));
        assert!(grants.are(&gates(&[1, 70])));
        assert!([gates(&[1]), gates(&[1, 2]), gates(&[1, 2, 70])].iter().all(|other| !grants.are(other)));
        assert!(!grants.are(&Capabilities::unknown()) && !Grants::default().are(&Capabilities::unknown()));
        grants.remove(&gates(&[1, 70]));
        assert_eq!(grants.all(), gates(&[70]));
        assert_eq!(grants.take_released(), Some(Released { gates: gates(&[1, 70]), crossed: None }));
        assert_eq!(grants.take_released(), None);
        grants.remove(&gates(&[70]));
        assert!(grants.all().is_none());
    }

    #[test]
    fn what_a_message_has_crossed_is_told_once() {
        let mut grants = Grants::default();
        grants.add(&gates(&[1]));
        grants.remove(&gates(&[1]));
        grants.crosses(Fence::NEVER);
        assert_eq!(
            grants.take_released(),
            Some(Released { gates: gates(&[1]), crossed: Some(Fence::NEVER) })
        );
        grants.crosses(Fence::NEVER);
        assert_eq!(grants.take_released(), None, "nothing was removed");
        grants.add(&gates(&[1]));
        grants.remove(&gates(&[1]));
        assert_eq!(grants.take_released(), Some(Released { gates: gates(&[1]), crossed: None }));
    }

    #[test]
    fn what_was_asked_back_is_not_asked_back_again_and_the_order_of_answers_does_not_count() {
        let counted = |answered_before: bool| {
            let mut grants = Grants::default();
            grants.add(&gates(&[1]));
            let first = grants.ask_back(&gates(&[1, 2]));
            let second = grants.ask_back(&gates(&[1]));
            assert_eq!((first.clone(), second.is_none()), (gates(&[1]), true));
            if answered_before {
                grants.remove(&first);
                grants.remove(&second);
            }
            grants.add(&gates(&[1]));
            if !answered_before {
                grants.remove(&first);
                grants.remove(&second);
            }
            grants.all()
        };
        assert_eq!(counted(true), gates(&[1]));
        assert_eq!(counted(false), gates(&[1]));
    }
}
