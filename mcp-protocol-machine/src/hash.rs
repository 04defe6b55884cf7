//! Hashing of ids.

use std::collections::HashMap;
use std::hash::Hash;

/// A table by ids.
pub type IdTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A table by ids that come and go. It allocates when it holds more than ever before, and at no other time.
///
/// Invariant: there are at least twice as many places as `most`, the greatest number of entries until it allocates. A
/// removed entry can leave its place unusable until the table is put in order. The standard table does that where it is
/// as long as no more than half of the places are needed; else it takes a larger one, at a time that depends on the
/// hashes.
#[derive(Clone, Debug)]
pub(crate) struct SteadyTable<K, V> {
    entries: IdTable<K, V>,
    most: usize,
}

impl<K, V> Default for SteadyTable<K, V> {
    fn default() -> SteadyTable<K, V> {
        SteadyTable { entries: IdTable::default(), most: 0 }
    }
}

impl<K: Eq + Hash, V> SteadyTable<K, V> {
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.entries.len() >= self.most {
            // Places for twice as many entries as with this one. The standard table rounds up; half of that is used.
            self.entries.reserve(self.entries.len().saturating_add(2));
            self.most = self.entries.capacity() / 2;
        }
        self.entries.insert(key, value)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut()
    }
}

impl<K, V> IntoIterator for SteadyTable<K, V> {
    type Item = (K, V);
    type IntoIter = std::collections::hash_map::IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
