//! Hashing of ids.
//!
//! In: ids and tokens that a peer has chosen. Out: where they stand in a table. Refuses to be foreseen: each table has
//! secrets of its own, so that a peer which picks its ids with care cannot make them meet in one place; and refuses
//! to be slow: a session looks ids up several times a message, and the hasher of the standard library, which also
//! withstands those who can see its hashes, took more time than everything else that is done for an id.

use std::collections::HashMap;

/// A table by ids.
pub type IdTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
