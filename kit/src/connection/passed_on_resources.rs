//! [`PassedOn`]: the resources whose changes a connection passes on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_protocols::eras::Changes;

/// The resources whose changes a connection passes on, by their URI, and to which clients.
///
/// Invariant: each pair has one task, which removes it when it ends.
#[derive(Default)]
pub(super) struct PassedOn(Mutex<HashMap<String, Vec<Changes>>>);

impl PassedOn {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Changes>>> {
        // What is held is one insertion or removal.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the pair was not there, and is now.
    pub(super) fn insert(&self, uri: &str, changes: &Changes) -> bool {
        let mut all = self.lock();
        let to = all.entry(uri.to_owned()).or_default();
        let is_new = !to.iter().any(|known| known.is_same(changes));
        if is_new {
            to.push(changes.clone());
        }
        is_new
    }

    /// Removes the pair, or lets it stay where it may and a client is subscribed. Returns whether it was removed.
    pub(super) fn remove(&self, uri: &str, changes: &Changes, may_stay: bool) -> bool {
        let mut all = self.lock();
        if may_stay && changes.is_watched(uri) {
            return false;
        }
        if let Entry::Occupied(mut to) = all.entry(uri.to_owned()) {
            to.get_mut().retain(|known| !known.is_same(changes));
            if to.get().is_empty() {
                to.remove();
            }
        }
        true
    }
}
