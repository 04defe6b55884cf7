//! Maps and sets of what the compiler itself numbers: nodes, states, pairs of states.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

/// A map whose keys are numbers.
pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// A set of numbers.
pub(crate) type Set<K> = HashSet<K, FixedState>;
