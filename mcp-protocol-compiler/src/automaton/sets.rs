//! Sets of small numbers, each stored once.

use crate::hash::Map;

/// A set of numbers among the [`NumberSets`] that it was made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NumberSet(u32);

impl NumberSet {
    /// The set of nothing.
    pub(super) const EMPTY: NumberSet = NumberSet(0);

    /// Whether there is nothing in it.
    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// A node of a binary trie over the bits of the numbers, the highest first; bits that all members share have no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SetNode {
    Empty,
    One(u32),
    /// Members that are alike above a bit and differ in it.
    Two {
        /// The members' bits above `bit`, which is 0 here, as are those below.
        prefix: u32,
        bit: u32,
        zero: NumberSet,
        one: NumberSet,
    },
}

/// All sets that were made.
///
/// Each node stands in `nodes` once and at the place that `numbers` says, and the first one is that of nothing.
#[derive(Debug)]
pub(super) struct NumberSets {
    nodes: Vec<SetNode>,
    numbers: Map<SetNode, u32>,
    unions: Map<(NumberSet, NumberSet), NumberSet>,
    differences: Map<(NumberSet, NumberSet), NumberSet>,
}

impl Default for NumberSets {
    fn default() -> Self {
        NumberSets {
            nodes: vec![SetNode::Empty],
            numbers: [(SetNode::Empty, 0)].into_iter().collect(),
            unions: Map::default(),
            differences: Map::default(),
        }
    }
}

impl NumberSets {
    fn node(&self, set: NumberSet) -> SetNode {
        usize::try_from(set.0).ok().and_then(|at| self.nodes.get(at)).copied().unwrap_or(SetNode::Empty)
    }

    fn make(&mut self, node: SetNode) -> NumberSet {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
        }
        NumberSet(number)
    }

    /// The two parts of a set at a bit above which its members are alike; one may be empty.
    fn parts(&self, set: NumberSet, bit: u32) -> (NumberSet, NumberSet) {
        match self.node(set) {
            SetNode::Empty => (set, set),
            SetNode::Two { bit: own, zero, one, .. } if own == bit => (zero, one),
            SetNode::One(first) | SetNode::Two { prefix: first, .. } => match first & bit {
                0 => (set, NumberSet::EMPTY),
                _ => (NumberSet::EMPTY, set),
            },
        }
    }

    fn join(&mut self, prefix: u32, bit: u32, zero: NumberSet, one: NumberSet) -> NumberSet {
        match (zero.is_empty(), one.is_empty()) {
            (true, _) => one,
            (_, true) => zero,
            (false, false) => self.make(SetNode::Two { prefix: above(prefix, bit), bit, zero, one }),
        }
    }

    /// The highest bit in which members of two sets may differ, which are not both of one and the same member.
    fn highest(&self, one: NumberSet, other: NumberSet) -> Option<(u32, u32)> {
        let of = |set| match self.node(set) {
            SetNode::Empty => None,
            SetNode::One(member) => Some((member, 0)),
            SetNode::Two { prefix, bit, .. } => Some((prefix, bit)),
        };
        let ((first, bit), (second, other_bit)) = (of(one)?, of(other)?);
        // Where the two part, above the bits in which each of them has both.
        let within = bit.max(other_bit);
        let differing = above(first ^ second, within);
        match differing.checked_ilog2() {
            Some(at) => Some((first, 1 << at)),
            None if within == 0 => None,
            None => Some((first, within)),
        }
    }

    /// The set of one number.
    pub(super) fn one(&mut self, member: u32) -> NumberSet {
        self.make(SetNode::One(member))
    }

    /// A set with a further member.
    pub(super) fn with(&mut self, set: NumberSet, member: u32) -> NumberSet {
        let one = self.one(member);
        self.union(set, one)
    }

    /// A set without a member.
    pub(super) fn without(&mut self, set: NumberSet, member: u32) -> NumberSet {
        let one = self.one(member);
        self.minus(set, one)
    }

    /// What is in either set. Deep as a number has bits.
    pub(super) fn union(&mut self, one: NumberSet, other: NumberSet) -> NumberSet {
        if one.is_empty() || one == other {
            return other;
        }
        let Some((prefix, bit)) = self.highest(one, other) else { return one };
        let pair = if one.0 < other.0 { (one, other) } else { (other, one) };
        if let Some(known) = self.unions.get(&pair) {
            return *known;
        }
        let ((one_zero, one_one), (other_zero, other_one)) = (self.parts(one, bit), self.parts(other, bit));
        let zero = self.union(one_zero, other_zero);
        let one = self.union(one_one, other_one);
        let union = self.join(prefix, bit, zero, one);
        self.unions.insert(pair, union);
        union
    }

    /// What is in a set and not in another. Deep as a number has bits.
    pub(super) fn minus(&mut self, set: NumberSet, other: NumberSet) -> NumberSet {
        if set == other {
            return NumberSet::EMPTY;
        }
        let Some((prefix, bit)) = self.highest(set, other) else { return set };
        if let Some(known) = self.differences.get(&(set, other)) {
            return *known;
        }
        let ((zero, one), (other_zero, other_one)) = (self.parts(set, bit), self.parts(other, bit));
        let zero = self.minus(zero, other_zero);
        let one = self.minus(one, other_one);
        let difference = self.join(prefix, bit, zero, one);
        self.differences.insert((set, other), difference);
        difference
    }

    /// Whether a number is in a set.
    pub(super) fn contains(&self, set: NumberSet, member: u32) -> bool {
        let mut at = set;
        loop {
            match self.node(at) {
                SetNode::Empty => return false,
                SetNode::One(own) => return own == member,
                SetNode::Two { bit, zero, one, .. } => at = if member & bit == 0 { zero } else { one },
            }
        }
    }

    /// Whether a set has more than one member.
    pub(super) fn has_several(&self, set: NumberSet) -> bool {
        matches!(self.node(set), SetNode::Two { .. })
    }

    /// The members of a set, in order.
    pub(super) fn members(&self, set: NumberSet) -> impl Iterator<Item = u32> + '_ {
        let mut waiting = vec![set];
        std::iter::from_fn(move || {
            loop {
                match self.node(waiting.pop()?) {
                    SetNode::Empty => {}
                    SetNode::One(member) => return Some(member),
                    SetNode::Two { zero, one, .. } => waiting.extend([one, zero]),
                }
            }
        })
    }
}

/// The bits of a number above a bit, or all of it above none.
fn above(number: u32, bit: u32) -> u32 {
    match bit {
        0 => number,
        _ => number & !(bit | (bit - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The same numbers in every run.
    fn numbers(count: usize, bound: u32, seed: u64) -> Vec<u32> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % u64::from(bound)) as u32
        };
        (0..count).map(|_| next()).collect()
    }

    fn set(sets: &mut NumberSets, members: impl IntoIterator<Item = u32>) -> NumberSet {
        members.into_iter().fold(NumberSet::EMPTY, |set, member| sets.with(set, member))
    }

    #[test]
    fn sets_are_as_those_of_the_standard_library() {
        let mut sets = NumberSets::default();
        for seed in 1..400 {
            let bound = [4, 16, 300, 1 << 17][seed as usize % 4];
            let count = seed as usize % 23;
            let (left, right) = (numbers(count, bound, seed), numbers(count, bound, seed + 1_000));
            let (one, other) = (set(&mut sets, left.iter().copied()), set(&mut sets, right.iter().copied()));
            let (left, right): (BTreeSet<u32>, BTreeSet<u32>) =
                (left.into_iter().collect(), right.into_iter().collect());
            let same = |sets: &mut NumberSets, found: NumberSet, wanted: BTreeSet<u32>| {
                assert!(sets.members(found).eq(wanted.iter().copied()), "seed {seed}");
                assert_eq!(set(sets, wanted.iter().rev().copied()), found, "seed {seed}");
            };
            let union = sets.union(one, other);
            same(&mut sets, union, left.union(&right).copied().collect());
            let difference = sets.minus(one, other);
            same(&mut sets, difference, left.difference(&right).copied().collect());
            for member in left.iter().chain(&right).chain(&[0, 1, bound]) {
                assert_eq!(sets.contains(one, *member), left.contains(member), "seed {seed}");
                let without = sets.without(one, *member);
                same(&mut sets, without, left.iter().copied().filter(|other| other != member).collect());
            }
        }
    }

    #[test]
    fn sets_share_what_they_have_in_common() {
        let mut sets = NumberSets::default();
        set(&mut sets, 0..10_000);
        // All that begin it are there, too.
        assert!(sets.nodes.len() < 200_000, "{} nodes", sets.nodes.len());
        let (before, rest) = (sets.nodes.len(), set(&mut sets, 0..10_000));
        let none = sets.minus(rest, rest);
        assert_eq!((sets.nodes.len(), none), (before, NumberSet::EMPTY));
    }
}
