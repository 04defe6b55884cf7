//! A tree as text.
//!
//! In: a tree, or a part of one. Out: its canonical text, which reads back as the same tree but for the places. A
//! file keeps its comments, each at the item, branch or line it stands at, and one empty line where there were some
//! between items. Refuses to keep how else the author laid it out.

mod item;
mod session;
#[cfg(test)]
mod tests;
mod writer;

pub use item::file;
pub use session::{action, choice, sequence, tail};

/// How wide a line may become where it can be broken.
const WIDTH: usize = 100;
