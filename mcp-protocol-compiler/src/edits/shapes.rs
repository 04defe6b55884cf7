//! Places in payload shapes.

use crate::ast::{ItemKind, Member, Shape, ShapeKind};
use crate::resolve::load::LoadedFile;
use crate::source::Span;

/// The alternatives of the union of shapes that has one at a place.
pub(super) fn union(files: &[LoadedFile], at: Span) -> Option<&[Shape]> {
    let items = files.iter().filter(|file| file.file == at.file).flat_map(|file| &file.tree.items);
    let bodies = items.filter_map(|item| match &item.kind {
        ItemKind::Shape { body, .. } => Some(body),
        _ => None,
    });
    let mut waiting: Vec<&Shape> = bodies.collect();
    while let Some(shape) = waiting.pop() {
        match &shape.kind {
            ShapeKind::Union(parts) if parts.iter().any(|part| part.span == at) => return Some(parts),
            ShapeKind::Union(parts) => waiting.extend(parts),
            ShapeKind::List(of) | ShapeKind::Map(of) => waiting.push(of),
            ShapeKind::Record(members) => waiting.extend(members.iter().filter_map(|member| match member {
                Member::Field(field) => Some(&field.shape),
                _ => None,
            })),
            ShapeKind::Named(_) | ShapeKind::Literal(_) | ShapeKind::Missing => {}
        }
    }
    None
}

/// An alternative with the sign that stands between it and another one.
pub(super) fn with_sign(parts: &[Shape], at: Span) -> Option<Span> {
    let index = parts.iter().position(|part| part.span == at)?;
    match index.checked_sub(1).and_then(|before| parts.get(before)) {
        Some(before) => Some(before.span.after().to(at)),
        None => parts.get(index + 1).map(|next| Span { end: next.span.start, ..at }),
    }
}
