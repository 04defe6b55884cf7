//! What is remembered of the past, in bounded space.

use std::collections::VecDeque;
use std::hash::Hash;

use crate::hash::SteadyTable;
use crate::id::{Limits, RequestId};

/// A set of numbers, as sorted intervals that neither touch nor overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    ranges: Vec<(i64, i64)>,
}

impl Intervals {
    /// Whether the number is in the set.
    pub(crate) fn contains(&self, number: i64) -> bool {
        match self.ranges.last() {
            // Ids mostly grow, so most questions are about the last interval or what is behind it.
            Some((first, last)) if number >= *first => number <= *last,
            _ => self.before(number).is_some_and(|(_, last)| number <= last),
        }
    }

    /// Adds a number. If there are more intervals than the limit then, the first or the last one is forgotten: the one
    /// that is farther from the number.
    pub(crate) fn insert(&mut self, number: i64, limit: usize) {
        if let Some((_, last)) = self.ranges.last_mut()
            && last.checked_add(1) == Some(number)
        {
            *last = number;
            return;
        }
        let next = self.ranges.partition_point(|(first, _)| *first <= number);
        let below = next.checked_sub(1).and_then(|place| self.ranges.get(place)).copied();
        let above = self.ranges.get(next).copied();
        if below.is_some_and(|(_, last)| number <= last) {
            return;
        }
        let joins_below = below.is_some_and(|(_, last)| last.checked_add(1) == Some(number));
        let joins_above = above.is_some_and(|(first, _)| number.checked_add(1) == Some(first));
        match (joins_below, joins_above) {
            (true, true) => {
                if let Some((_, last)) = above {
                    self.ranges.remove(next);
                    self.set_last(next, last);
                }
            }
            (true, false) => self.set_last(next, number),
            (false, true) => {
                if let Some((first, _)) = self.ranges.get_mut(next) {
                    *first = number;
                }
            }
            (false, false) => {
                self.ranges.insert(next, (number, number));
                self.shrink(number, limit.max(1));
            }
        }
    }

    /// Takes a number out of the set.
    pub(crate) fn remove(&mut self, number: i64) {
        let place = self.ranges.partition_point(|(first, _)| *first <= number).checked_sub(1);
        let Some((place, (first, last))) = place.and_then(|place| Some((place, *self.ranges.get(place)?)))
        else {
            return;
        };
        if number > last {
            return;
        }
        let below = number.checked_sub(1).filter(|end| *end >= first).map(|end| (first, end));
        let above = number.checked_add(1).filter(|start| *start <= last).map(|start| (start, last));
        self.ranges.splice(place..=place, below.into_iter().chain(above));
    }

    /// The last interval that starts at or before a number.
    fn before(&self, number: i64) -> Option<(i64, i64)> {
        let next = self.ranges.partition_point(|(first, _)| *first <= number);
        next.checked_sub(1).and_then(|place| self.ranges.get(place)).copied()
    }

    /// Moves the end of the interval in front of a place.
    fn set_last(&mut self, next: usize, number: i64) {
        if let Some((_, last)) = next.checked_sub(1).and_then(|place| self.ranges.get_mut(place)) {
            *last = number;
        }
    }

    /// Forgets first or last intervals, the farther one from `near` each time, until there are at most `limit`.
    fn shrink(&mut self, near: i64, limit: usize) {
        while self.ranges.len() > limit {
            let lowest = self.ranges.first().map_or(0, |(_, last)| near.abs_diff(*last));
            let highest = self.ranges.last().map_or(0, |(first, _)| near.abs_diff(*first));
            if lowest >= highest {
                self.ranges.remove(0);
            } else {
                self.ranges.pop();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
}

/// What a [`Recent`] finds its entries by: an id, or something with an id in it.
pub(crate) trait Remembered: Clone + Eq + Hash {
    /// How many bytes of text it holds.
    fn text_length(&self) -> usize;
}

impl Remembered for RequestId {
    fn text_length(&self) -> usize {
        RequestId::text_length(self)
    }
}

/// A map that keeps its newest entries. Many are never used, and one that is not takes no room but its place.
#[derive(Clone, Debug)]
pub(crate) struct Recent<V, K = RequestId> {
    /// `None` before the first entry.
    kept: Option<Box<Kept<V, K>>>,
}

#[derive(Clone, Debug)]
struct Kept<V, K> {
    entries: SteadyTable<K, (u64, V)>,
    /// Every entry in order of insertion, and some that are gone from the map since.
    order: VecDeque<(u64, K)>,
    /// Tells an entry of `order` from a later one of the same id.
    serial: u64,
    /// How much text `order` holds; the map holds at most as much again.
    bytes: usize,
}

impl<V, K> Default for Recent<V, K> {
    fn default() -> Recent<V, K> {
        Recent { kept: None }
    }
}

impl<V, K> Default for Kept<V, K> {
    fn default() -> Kept<V, K> {
        Kept { entries: SteadyTable::default(), order: VecDeque::new(), serial: 0, bytes: 0 }
    }
}

impl<V, K: Remembered> Recent<V, K> {
    /// What is remembered of an id.
    pub(crate) fn get(&self, id: &K) -> Option<&V> {
        self.kept.as_ref()?.entries.get(id).map(|(_, value)| value)
    }

    /// What is remembered of an id, to be changed.
    pub(crate) fn get_mut(&mut self, id: &K) -> Option<&mut V> {
        self.kept.as_mut()?.entries.get_mut(id).map(|(_, value)| value)
    }

    /// All that is remembered.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.kept.iter_mut().flat_map(|kept| kept.entries.values_mut()).map(|(_, value)| value)
    }

    /// All that is remembered, each with what finds it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.kept.iter().flat_map(|kept| kept.entries.iter()).map(|(id, (_, value))| (id, value))
    }

    /// Forgets an id.
    pub(crate) fn remove(&mut self, id: &K) -> Option<V> {
        // Most sessions never cancel anything; then this costs no hash.
        let entries = &mut self.kept.as_mut()?.entries;
        if entries.is_empty() { None } else { entries.remove(id).map(|(_, value)| value) }
    }

    /// Remembers an id, and forgets the oldest ones beyond the limits. A text longer than the limit of all texts
    /// together is not remembered at all.
    pub(crate) fn insert(&mut self, id: &K, value: V, limits: &Limits) {
        self.insert_with(id, value, limits, |_| {});
    }

    /// The same, and hands out what is forgotten.
    pub(crate) fn insert_with(&mut self, id: &K, value: V, limits: &Limits, mut forgotten: impl FnMut(V)) {
        if id.text_length() > limits.remembered_bytes || limits.remembered == 0 {
            return forgotten(value);
        }
        let Kept { entries, order, serial, bytes } = &mut **self.kept.get_or_insert_default();
        *serial += 1;
        entries.insert(id.clone(), (*serial, value));
        order.push_back((*serial, id.clone()));
        *bytes += id.text_length();
        if order.len() > limits.remembered.saturating_mul(2) {
            order.retain(|(serial, id)| entries.get(id).is_some_and(|(newest, _)| newest == serial));
            *bytes = order.iter().map(|(_, id)| id.text_length()).sum();
        }
        while entries.len() > limits.remembered || *bytes > limits.remembered_bytes {
            let Some((serial, oldest)) = order.pop_front() else { break };
            *bytes -= oldest.text_length();
            if entries.get(&oldest).is_some_and(|(newest, _)| *newest == serial)
                && let Some((_, value)) = entries.remove(&oldest)
            {
                forgotten(value);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.entries.len().max(kept.order.len()))
    }
}

/// The ids, or tokens, that one side has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    pub(crate) numbers: Intervals,
    pub(crate) texts: Recent<()>,
}

impl Used {
    /// Whether the id was used before, as far as it is remembered.
    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        match id {
            RequestId::Number(number) => self.numbers.contains(*number),
            RequestId::Text(_) => self.texts.get(id).is_some(),
        }
    }

    /// The id counts as one that was not used.
    pub(crate) fn remove(&mut self, id: &RequestId) {
        match id {
            RequestId::Number(number) => self.numbers.remove(*number),
            RequestId::Text(_) => drop(self.texts.remove(id)),
        }
    }

    /// Remembers that the id was used.
    pub(crate) fn insert(&mut self, id: &RequestId, limits: &Limits) {
        match id {
            RequestId::Number(number) => self.numbers.insert(*number, limits.remembered),
            RequestId::Text(_) => self.texts.insert(id, (), limits),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn intervals_match_a_plain_set_after_every_change() {
        let mut random = 1_234_567_u64;
        for _ in 0..300 {
            let mut intervals = Intervals::default();
            let mut plain = BTreeSet::new();
            for _ in 0..30 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let number = i64::try_from(random % 40).unwrap();
                if random.is_multiple_of(7) {
                    intervals.remove(number);
                    plain.remove(&number);
                } else {
                    intervals.insert(number, 1_000);
                    plain.insert(number);
                }
                assert!((-1..41).all(|number| intervals.contains(number) == plain.contains(&number)));
                let gaps = plain.iter().filter(|number| !plain.contains(&(**number - 1))).count();
                assert_eq!(intervals.len(), gaps);
            }
        }
    }

    #[test]
    fn the_ends_of_the_number_range_do_not_overflow() {
        let mut intervals = Intervals::default();
        for number in [i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, 0] {
            intervals.insert(number, 10);
            intervals.insert(number, 10);
            assert!(intervals.contains(number));
        }
        assert_eq!(intervals.len(), 3);
        assert!(!intervals.contains(1));
        for number in [i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, 0] {
            intervals.remove(number);
            assert!(!intervals.contains(number));
        }
        assert_eq!(intervals.len(), 0);
    }

    #[test]
    fn scattered_numbers_are_forgotten_from_the_far_end() {
        let mut intervals = Intervals::default();
        for number in 0..1_000 {
            intervals.insert(number * 2, 10);
        }
        assert_eq!(intervals.len(), 10);
        assert!(intervals.contains(1_998));
        assert!(!intervals.contains(0));
        let mut falling = Intervals::default();
        for number in (0..1_000).rev() {
            falling.insert(number * 2, 10);
        }
        assert!(falling.contains(0));
        assert!(!falling.contains(1_998));
    }

    #[test]
    fn recent_entries_push_old_ones_out() {
        let limits = Limits { remembered: 3, remembered_bytes: 100, ..Limits::default() };
        let mut recent = Recent::default();
        for number in 0..10 {
            recent.insert(&RequestId::Number(number), number, &limits);
        }
        assert_eq!(recent.get(&RequestId::Number(6)), None);
        assert_eq!(recent.get(&RequestId::Number(7)), Some(&7));
        assert_eq!(recent.remove(&RequestId::Number(8)), Some(8));
        assert_eq!(recent.remove(&RequestId::Number(8)), None);
        for _ in 0..100 {
            recent.insert(&RequestId::Number(9), 1, &limits);
            assert!(recent.len() <= 7);
        }
        assert_eq!(
            recent.get(&RequestId::Number(9)),
            Some(&1),
            "an old mention does not take the new entry along"
        );
    }

    #[test]
    fn long_texts_count() {
        let limits = Limits { remembered: 1_000, remembered_bytes: 10, ..Limits::default() };
        let mut recent = Recent::<(), RequestId>::default();
        recent.insert(&"12345678".into(), (), &limits);
        recent.insert(&"abc".into(), (), &limits);
        assert!(recent.get(&"12345678".into()).is_none());
        assert!(recent.get(&"abc".into()).is_some());
        recent.insert(&"far too long to keep".into(), (), &limits);
        assert!(recent.get(&"abc".into()).is_some(), "what does not fit pushes nothing out");
    }
}
