//! JSON Schema 2020-12 and shapes, both ways.
//!
//! [`write()`] makes a schema of the shapes of a protocol. It accepts what the shapes accept, with one difference: a value
//! that only a later alternative of a union would take is accepted, although the shape takes it for an earlier one.
//!
//! [`read()`] makes shapes of a schema, as items of a `.session` file. What shapes cannot say is left out, so that they
//! accept more, and is named in a comment before the item.

mod circles;
mod item;
mod meet;
mod order;
mod pointer;
mod read;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod union_names;
mod variants;
mod words;
mod write;

pub(crate) use read::read;
pub(crate) use text::text;
pub(crate) use tree::Tree;
pub(crate) use write::{Source, write};
