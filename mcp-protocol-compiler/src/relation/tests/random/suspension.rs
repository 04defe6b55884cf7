//! Where sub-sessions are suspended in a random role.

use mcp_protocol_machine::protocol::{Action, Direction, Only};

use super::Random;
use crate::automaton::Automaton;

/// Suspends sub-sessions in some states, mostly as the text does it: the directions depend on the messages that lead
/// there.
pub(super) fn mark_only(random: &mut Random, automaton: &mut Automaton) {
    let marked: Vec<bool> = automaton.states.iter().map(|state| !state.body && random.percent(60)).collect();
    for (state, marked) in automaton.states.iter_mut().zip(&marked).skip(1) {
        state.only = Only { outward: *marked, inward: *marked };
    }
    if random.percent(40) {
        return;
    }
    loop {
        let mut changed = false;
        for from in 0..automaton.states.len() {
            let only = automaton.states[from].only;
            for edge in automaton.states[from].edges.clone() {
                let Action::Step(target) = edge.action else { continue };
                let there = &mut automaton.states[target.0 as usize].only;
                let before = *there;
                match edge.direction {
                    Direction::Send => there.inward &= only.inward,
                    Direction::Receive => there.outward &= only.outward,
                }
                changed |= *there != before;
            }
        }
        if !changed {
            return;
        }
    }
}

/// Suspends sub-sessions in other states than the other side assumes.
pub(in crate::relation::tests) fn disturb(random: &mut Random, automaton: &mut Automaton) {
    if automaton.states.iter().all(|state| state.only == Only::NONE) {
        return;
    }
    for state in automaton.states.iter_mut().filter(|state| !state.body) {
        match random.below(4) {
            0 => state.only.inward ^= true,
            1 => state.only.outward ^= true,
            _ => {}
        }
    }
}
