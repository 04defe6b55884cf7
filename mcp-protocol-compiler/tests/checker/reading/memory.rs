//! What was found out about bodies: a session asks for it at every message, and a text never changes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use super::{Alphabet, Place};

/// Answers, by the place or the body that they are about.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) alphabets: RefCell<HashMap<Place, Alphabet>>,
    pub(super) later: RefCell<HashMap<Place, Alphabet>>,
    pub(super) all_later: RefCell<HashMap<Place, Alphabet>>,
    pub(super) keyed: RefCell<HashMap<Place, bool>>,
    pub(super) sharing: RefCell<HashMap<Place, Rc<HashSet<Place>>>>,
    pub(super) uncorrelated: RefCell<HashMap<Place, bool>>,
}

/// What is known of a key, or else what `find` finds out, which is known from then on. It may ask for other keys.
pub(super) fn recalled<K: Copy + Eq + Hash, V: Clone>(
    known: &RefCell<HashMap<K, V>>,
    key: K,
    find: impl FnOnce() -> V,
) -> V {
    if let Some(found) = known.borrow().get(&key) {
        return found.clone();
    }
    let found = find();
    known.borrow_mut().insert(key, found.clone());
    found
}
