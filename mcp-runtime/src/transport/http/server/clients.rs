//! A table of values for each client, with expiry.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// The fewest entries at which the table is looked through.
const SWEEP: usize = 64;

/// Something for each client.
///
/// Invariant: the table has at most twice as many entries as mattered when it was last looked through, or [`SWEEP`]: an
/// entry that is idle and that only the table holds does not matter, for a new one is the same.
#[derive(Debug)]
pub(super) struct Clients<K, T>(Mutex<Table<K, T>>);

#[derive(Debug)]
struct Table<K, T> {
    entries: HashMap<K, Arc<T>>,
    sweep_at: usize,
}

impl<K: Eq + Hash, T> Clients<K, T> {
    pub(super) fn new() -> Clients<K, T> {
        Clients(Mutex::new(Table { entries: HashMap::new(), sweep_at: SWEEP }))
    }

    /// What is kept of a client, which is made if there is nothing.
    pub(super) fn get(&self, client: K, is_idle: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Arc<T> {
        // What is done under the lock does not panic.
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.entries.len() >= table.sweep_at {
            table.entries.retain(|_, entry| Arc::strong_count(entry) > 1 || !is_idle(entry));
            table.sweep_at = table.entries.len().saturating_mul(2).max(SWEEP);
        }
        Arc::clone(table.entries.entry(client).or_insert_with(|| Arc::new(make())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_longer_matters_is_forgotten() {
        let clients = Clients::new();
        let held: Vec<Arc<bool>> = (0..10).map(|client| clients.get(client, |_| true, || true)).collect();
        for client in 0..10_000 {
            drop(clients.get(client, |idle| *idle, || client >= 20));
        }
        let table = clients.0.lock().unwrap();
        assert!(table.entries.len() <= 2 * SWEEP, "{}", table.entries.len());
        assert!((0..20).all(|client| table.entries.contains_key(&client)), "what is held or busy stays");
        drop(held);
    }
}
