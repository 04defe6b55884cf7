//! A tree as text.
//!
//! In: a tree, or a part of one. Out: its canonical text, which reads back as the same tree but for the places.
//! Refuses to keep what the tree does not have: comments other than documentation, and how the author laid it out.

mod item;
mod session;
#[cfg(test)]
mod tests;

pub use item::file;
pub use session::{action, choice, sequence, tail};

/// How wide a line may become where it can be broken.
const WIDTH: usize = 100;
