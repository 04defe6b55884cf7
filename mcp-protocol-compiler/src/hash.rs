//! Maps and sets of what the compiler itself numbers: nodes, states, pairs of states.
//!
//! In: keys made of small numbers. Out: the standard collections with a hasher that takes a multiplication a word,
//! where the usual one, which withstands keys that an attacker has chosen, would take a fifth of all the compiler's
//! time. Refuses nothing, but a text is taken byte by byte: names, which are the author's, go into the usual maps.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are numbers.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Numbers>>;

/// A set of numbers.
pub(crate) type Set<K> = HashSet<K, BuildHasherDefault<Numbers>>;

/// Mixes numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Numbers(u64);

impl Numbers {
    fn add(&mut self, word: u64) {
        // The golden ratio as a fraction of 2^64: neighbours come to lie far from each other.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Numbers {
    fn finish(&self) -> u64 {
        // The table takes the place from the low bits and a tag from the high ones; products are good in the high
        // ones only.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }
}
