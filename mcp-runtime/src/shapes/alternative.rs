//! Which alternative of a union a value is.
//!
//! Any part of a value may decide that, so it is read into memory first. But where the first member of an object decides,
//! as `type` does, the others are read as those of the alternative while they are parsed.

use mcp_protocol_machine::protocol::{Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{ShapeMismatch, choose, choose_by_member, judge};

use super::read_error::ReadError;
use super::tree::JsonTree;

/// Which alternative of a union a value is, by its place.
///
/// # Errors
/// Where the value fits none of them.
#[doc(hidden)]
pub fn chosen(protocol: &Protocol, union: ShapeIndex, value: &JsonTree<'_>) -> Result<usize, ReadError> {
    choose(protocol, parts(protocol, union), value).ok_or_else(|| {
        let judged = judge(protocol, &Shape::Named(union), value).err();
        judged.unwrap_or_else(|| ShapeMismatch::of_value("one of several shapes", value)).into()
    })
}

/// Which alternative of a union an object is, by its place, if the first member decides that, and is this value.
pub(super) fn chosen_by_member(
    protocol: &Protocol,
    union: ShapeIndex,
    key: &str,
    value: &JsonTree<'_>,
) -> Option<usize> {
    choose_by_member(protocol, parts(protocol, union), key, value)
}

fn parts(protocol: &Protocol, union: ShapeIndex) -> &[Shape] {
    match protocol.shape(union).map(|named| &named.shape) {
        Some(Shape::Union(parts)) => parts,
        Some(other) => std::slice::from_ref(other),
        None => &[],
    }
}
