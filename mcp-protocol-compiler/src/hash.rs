//! Maps and sets of what the compiler itself numbers: nodes, states, pairs of states.
//!
//! In: keys made of small numbers. Out: the standard collections with a hasher made for such keys; the usual one, which
//! withstands keys that an attacker has chosen, would take a fifth of all the compiler's time. Refuses names: these are
//! the author's, and go into the usual maps.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

/// A map whose keys are numbers.
pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// A set of numbers.
pub(crate) type Set<K> = HashSet<K, FixedState>;
