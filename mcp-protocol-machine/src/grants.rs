//! What running requests grant, each for as long as it runs.

use crate::capability::Capabilities;
use crate::protocol::GateIndex;

/// How many running requests grant each gate.
///
/// Invariant: `open` are the gates that are granted at least once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    counts: Vec<u32>,
    open: Vec<GateIndex>,
    /// What was granted by requests that are over since this was last asked for.
    released: Vec<GateIndex>,
}

impl Grants {
    /// A request runs that grants these.
    pub(crate) fn add(&mut self, granted: &Capabilities) {
        for gate in granted.each() {
            let place = usize::from(gate.0);
            if self.counts.len() <= place {
                self.counts.resize(place + 1, 0);
            }
            let Some(count) = self.counts.get_mut(place) else { continue };
            *count += 1;
            if *count == 1 {
                self.open.push(gate);
            }
        }
    }

    /// It is over.
    pub(crate) fn remove(&mut self, granted: &Capabilities) {
        for gate in granted.each() {
            let Some(count) = self.counts.get_mut(usize::from(gate.0)) else { continue };
            if *count == 0 {
                continue;
            }
            *count -= 1;
            if !self.released.contains(&gate) {
                self.released.push(gate);
            }
            if *count == 0 {
                self.open.retain(|open| *open != gate);
            }
        }
    }

    /// What was granted by requests that are over since the last call, whether or not others grant it.
    pub(crate) fn take_released(&mut self) -> Capabilities {
        Capabilities::from_gates(std::mem::take(&mut self.released))
    }

    /// Whether one of them grants a gate.
    pub(crate) fn has(&self, gate: GateIndex) -> bool {
        self.counts.get(usize::from(gate.0)).is_some_and(|count| *count > 0)
    }

    /// What all of them grant.
    pub(crate) fn all(&self) -> Capabilities {
        Capabilities::from_gates(self.open.iter().copied())
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
        grants.remove(&gates(&[1, 70]));
        assert_eq!(grants.all(), gates(&[70]));
        assert_eq!(grants.take_released(), gates(&[1, 70]));
        assert!(grants.take_released().is_none());
        grants.remove(&gates(&[70]));
        assert!(grants.all().is_none());
    }
}
