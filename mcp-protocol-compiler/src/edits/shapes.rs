//! Places in payload shapes.

use crate::ast::{ItemKind, Member, Shape, ShapeKind};
use crate::resolve::load::LoadedFile;
use crate::source::Span;

/// The alternatives of the union of shapes that has one at a place.
pub(super) fn union(files: &[LoadedFile], at: Span) -> Option<&[Shape]> {
    all(files, at).into_iter().find_map(|shape| match &shape.kind {
        ShapeKind::Union(parts) if parts.iter().any(|part| part.span == at) => Some(parts.as_slice()),
        _ => None,
    })
}

/// An alternative with the sign that stands between it and another one.
pub(super) fn with_sign(parts: &[Shape], at: Span) -> Option<Span> {
    with_separator(&parts.iter().map(|part| part.span).collect::<Vec<_>>(), at)
}

/// The member of a record at a place, with the comma that stands between it and another one.
pub(super) fn member_with_comma(files: &[LoadedFile], at: Span) -> Option<Span> {
    all(files, at).into_iter().find_map(|shape| match &shape.kind {
        ShapeKind::Record(members) => {
            with_separator(&members.iter().map(Member::span).collect::<Vec<_>>(), at)
        }
        _ => None,
    })
}

/// One of several places with what stands between it and another one; nothing if it is not among them, or alone.
fn with_separator(places: &[Span], at: Span) -> Option<Span> {
    let index = places.iter().position(|place| *place == at)?;
    match index.checked_sub(1).and_then(|before| places.get(before)) {
        Some(before) => Some(before.after().to(at)),
        None => places.get(index + 1).map(|next| Span { end: next.start, ..at }),
    }
}

/// Every shape that is written in the file of a place.
fn all(files: &[LoadedFile], at: Span) -> Vec<&Shape> {
    let items = files.iter().filter(|file| file.file == at.file).flat_map(|file| &file.tree.items);
    let bodies = items.filter_map(|item| match &item.kind {
        ItemKind::Shape { body, .. } => Some(body),
        _ => None,
    });
    let mut all: Vec<&Shape> = bodies.collect();
    let mut next = 0;
    while let Some(shape) = all.get(next).copied() {
        match &shape.kind {
            ShapeKind::Union(parts) => all.extend(parts),
            ShapeKind::List(of) | ShapeKind::Map(of) => all.push(of),
            ShapeKind::Record(members) => all.extend(members.iter().filter_map(|member| match member {
                Member::Field(field) => Some(&field.shape),
                _ => None,
            })),
            ShapeKind::Named(_) | ShapeKind::Literal(_) | ShapeKind::Missing => {}
        }
        next += 1;
    }
    all
}
