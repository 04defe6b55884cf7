//! Places in payload shapes.

use crate::ast::{Item, ItemKind, Member, Shape, ShapeKind};
use crate::resolve::load::LoadedFile;
use crate::source::Span;

/// The alternatives of the union of shapes that has one at a place.
pub(super) fn union(files: &[LoadedFile], at: Span) -> Option<&[Shape]> {
    all(files, at).into_iter().find_map(|shape| match &shape.kind {
        ShapeKind::Union(parts) if has(parts, at) => Some(parts.as_slice()),
        _ => None,
    })
}

/// The union that has both of two alternatives, and where they stand in it: what an `override` takes over stands there as
/// the shape's own name.
pub(super) fn in_one_union(
    files: &[LoadedFile],
    later: Span,
    earlier: Span,
) -> Option<(&[Shape], Span, Span)> {
    let both = |parts: &[Shape]| has(parts, later) && has(parts, earlier);
    if let Some(parts) = union(files, later).filter(|parts| both(parts)) {
        return Some((parts, later, earlier));
    }
    let items = files.iter().flat_map(|file| &file.tree.items).filter(|item| item.overrides.is_some());
    // An import stands before its importer, so the last one takes over all of the others.
    items.filter_map(own_part).rev().find_map(|(parts, own)| match (has(parts, later), has(parts, earlier)) {
        (true, false) => Some((parts, later, own)),
        (false, true) => Some((parts, own, earlier)),
        _ => None,
    })
}

/// Whether an alternative stands at a place, or several one after the other do: `true | false` is one.
fn has(parts: &[Shape], at: Span) -> bool {
    run(&parts.iter().map(|part| part.span).collect::<Vec<_>>(), at).is_some()
}

/// Which of several places take up one, from the first to the last.
fn run(places: &[Span], at: Span) -> Option<(usize, usize)> {
    let first = places.iter().position(|place| place.file == at.file && place.start == at.start)?;
    let last = places.iter().position(|place| place.file == at.file && place.end == at.end)?;
    (first <= last).then_some((first, last))
}

/// The alternatives of a shape that is a union, and where its own name is one of them.
fn own_part(item: &Item) -> Option<(&[Shape], Span)> {
    let ItemKind::Shape { name, body: Shape { kind: ShapeKind::Union(parts), .. } } = &item.kind else {
        return None;
    };
    let is_own = |part: &&Shape| matches!(&part.kind, ShapeKind::Named(other) if other.text == name.text);
    Some((parts, parts.iter().find(is_own)?.span))
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
    let (first, last) = run(places, at)?;
    match first.checked_sub(1).and_then(|before| places.get(before)) {
        Some(before) => Some(before.after().to(at)),
        None => places.get(last + 1).map(|next| Span { end: next.start, ..at }),
    }
}

/// Every shape that is written in the file of a place.
fn all(files: &[LoadedFile], at: Span) -> Vec<&Shape> {
    let items = files.iter().filter(|file| file.file == at.file).flat_map(|file| &file.tree.items);
    let mut all: Vec<&Shape> = items.flat_map(Item::shapes).map(|shape| shape.body).collect();
    let mut next = 0;
    while let Some(shape) = all.get(next).copied() {
        all.extend(shape.inside());
        next += 1;
    }
    all
}
