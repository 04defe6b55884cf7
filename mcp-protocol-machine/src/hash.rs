//! Hashing of ids.
//!
//! In: ids and tokens that a peer has chosen. Out: where they stand in a table. Refuses to be foreseen: each table has
//! secrets of its own, so that a peer which picks its ids with care cannot make them meet in one place; and refuses
//! to be slow: a session looks ids up several times a message, and the hasher of the standard library, which also
//! withstands those who can see its hashes, took more time than everything else that is done for an id.
//!
//! The scheme is multiplication to twice the width, whose halves are then joined by exclusive or.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A table by ids.
pub type IdTable<K, V> = HashMap<K, V, IdState>;

/// The secrets of a table.
#[derive(Clone, Copy, Debug)]
pub struct IdState {
    start: u64,
    factor: u64,
}

impl Default for IdState {
    fn default() -> IdState {
        // The standard library's source of randomness: its own hasher, with new keys.
        let random = RandomState::new();
        IdState { start: random.hash_one(0_u8), factor: random.hash_one(1_u8) | 1 }
    }
}

impl BuildHasher for IdState {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher { state: self.start, factor: self.factor }
    }
}

/// Hashes one id.
#[derive(Clone, Copy, Debug)]
pub struct IdHasher {
    state: u64,
    factor: u64,
}

impl IdHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word).wrapping_mul(u128::from(self.factor));
        // Both halves are meant to be cut out.
        #[expect(clippy::cast_possible_truncation, reason = "each half of the product is taken on its own")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.state = low ^ high.rotate_left(23);
    }
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        let mut last = *self;
        last.mix(last.factor.rotate_left(32));
        last.state
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(word.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)));
        }
        let rest = words.remainder();
        self.mix(rest.iter().fold(rest.len() as u64, |word, byte| (word << 8) | u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    // The standard library's defaults for the signed kinds go through the bytes.
    fn write_i64(&mut self, number: i64) {
        self.mix(number.cast_unsigned());
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number.cast_unsigned() as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::RequestId;

    /// How many of the lowest `bits` bits' values the ids fall on.
    fn places(ids: impl Iterator<Item = RequestId>, bits: u32) -> usize {
        let state = IdState::default();
        ids.map(|id| state.hash_one(id) & ((1 << bits) - 1)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn ids_with_a_pattern_are_spread() {
        // 4096 ids on 4096 places: a random function meets about 63 in 100 of them.
        let counting = places((0..4096).map(RequestId::Number), 12);
        let stepping = places((0..4096).map(|number| RequestId::Number(number << 40)), 12);
        let texts = places((0..4096).map(|number| format!("request-{number:012}").into()), 12);
        let zeros = places((0..4096_usize).map(|length| "\0".repeat(length).into()), 12);
        for met in [counting, stepping, texts, zeros] {
            assert!(met > 2300, "only {met} of 4096 places are met");
        }
    }

    #[test]
    fn no_two_tables_hash_alike() {
        let id = RequestId::Number(7);
        assert_ne!(IdState::default().hash_one(&id), IdState::default().hash_one(&id));
    }

    #[test]
    fn a_number_is_not_its_text() {
        let state = IdState::default();
        assert_ne!(state.hash_one(RequestId::Number(1)), state.hash_one(RequestId::from("1")));
    }
}
