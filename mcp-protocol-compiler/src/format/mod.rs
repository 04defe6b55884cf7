//! A tree as text.
//!
//! The text reads back as the same tree, except for the spans. A file keeps its comments, each at its item, branch or
//! line, and one empty line where there were some between items.

mod item;
mod parts;
mod session;
mod shape;
#[cfg(test)]
mod tests;
mod writer;

pub use item::file;
pub(crate) use parts::{json_key, json_path, literal};
pub use session::{action, choice, sequence, tail};
pub(crate) use shape::flat as shape;
