//! Finds the lists and objects in a union with a name that are never chosen where the name is an alternative.
//!
//! In `[A] | Wish` with `Wish = string | [B]`, each list is an `[A]`, though a `Wish` alone may be a `[B]`.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Protocol;
use mcp_protocol_machine::shape::hides;

use crate::declarations::{Alternative, DeclaredShape, Form, Shapes};
use crate::diagnostic::Diagnostic;
use crate::findings::shapes as finding;

/// How many alternatives of one are compared.
const MOST_COMPARED: usize = 200;

/// What stands in the union behind an alternative in vain, because of alternatives before that one.
pub(super) fn check(
    tables: &Protocol,
    shapes: &[DeclaredShape],
    before: &[Alternative],
    later: &Alternative,
) -> Vec<Diagnostic> {
    let inside = leaves(shapes, later);
    if inside.iter().any(|inner| inner.span == later.span) {
        return Vec::new();
    }
    let of_before: Vec<_> = before.iter().map(|part| leaves(shapes, part)).collect();
    let takes = |takers: &[&Alternative], leaf: &Alternative| {
        let form = leaf.form.table();
        let taker = takers.iter().find(|taker| hides(tables, &taker.form.table(), &form))?;
        Some(!is_same(shapes, &taker.form, &leaf.form))
    };
    let mut found = Vec::new();
    for inner in inside.iter().filter(|inner| is_of_others(shapes, inner)) {
        let taken = of_before.iter().enumerate().find_map(|(at, takers)| Some((at, takes(takers, inner)?)));
        // The same shape in two alternatives is the same value in both.
        let Some((first, true)) = taken else { continue };
        let mut moved_behind = of_before.iter().skip(first).flatten();
        let mends = moved_behind.all(|leaf| takes(&inside, leaf).is_none());
        found.extend(
            before.get(first).map(|earlier| finding::never_chosen_inside(later, inner, earlier, mends)),
        );
    }
    found
}

/// Whether two forms say the same in the same words. What stands in a shape without a name has a number of its own.
fn is_same(shapes: &[DeclaredShape], one: &Form, other: &Form) -> bool {
    match (written_out(shapes, one), written_out(shapes, other)) {
        (Form::List(one), Form::List(other)) | (Form::Map(one), Form::Map(other)) => {
            is_same(shapes, one, other)
        }
        (Form::Tuple(one), Form::Tuple(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| {
                    one.presence == other.presence && is_same(shapes, &one.form, &other.form)
                })
        }
        (Form::Record(one), Form::Record(other)) => {
            one.rest == other.rest
                && one.fields.len() == other.fields.len()
                && one.fields.iter().all(|field| {
                    other.field(&field.name.text).is_some_and(|other| {
                        field.optional == other.optional && is_same(shapes, &field.form, &other.form)
                    })
                })
        }
        (Form::Union(one), Form::Union(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(shapes, &one.form, &other.form))
        }
        (one, other) => one == other,
    }
}

/// A form, in place of the number of a shape that has no name of its own.
fn written_out<'a>(shapes: &'a [DeclaredShape], form: &'a Form) -> &'a Form {
    match form {
        Form::Named(index) => match shapes.get(*index) {
            Some(shape) if shape.is_inner => &shape.form,
            _ => form,
        },
        _ => form,
    }
}

/// Whether what an alternative says is a list or an object. What is a text or a number for two of them is the same value.
fn is_of_others(shapes: &[DeclaredShape], leaf: &Alternative) -> bool {
    let form = Shapes(shapes).behind(&leaf.form);
    matches!(form, Form::List(_) | Form::Tuple(_) | Form::Map(_) | Form::Object | Form::Record(_))
}

/// The alternatives of the union that an alternative names, and of those that stand in it; the alternative itself if it
/// names none.
fn leaves<'a>(shapes: &'a [DeclaredShape], of: &'a Alternative) -> Vec<&'a Alternative> {
    let (mut found, mut seen, mut waiting) = (Vec::new(), HashSet::new(), vec![of]);
    while let Some(part) = waiting.pop() {
        match Shapes(shapes).behind(&part.form) {
            _ if found.len() >= MOST_COMPARED => break,
            Form::Union(parts) => waiting.extend(parts.iter().rev().filter(|part| seen.insert(part.span))),
            _ => found.push(part),
        }
    }
    found
}
