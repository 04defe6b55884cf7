//! A tree as text.
//!
//! The text reads back as the same tree, except for the spans. A file keeps its comments, each at its item, branch or
//! line, and one empty line where there were some between items.

mod item;
mod session;
#[cfg(test)]
mod tests;
mod writer;

pub use item::file;
pub use session::{action, choice, sequence, tail};

/// How wide a line may become where it can be broken.
const WIDTH: usize = 100;
