//! Finds the alternatives of unions that are never chosen, and shapes that are lists of themselves.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Kind, Literal, Payload, Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{Samples, hides};

use super::hidden_inside;
use crate::components::components;
use crate::declarations::{Alternative, Declarations, DeclaredShape, Form, Message, is_struct};
use crate::diagnostic::Diagnostic;
use crate::findings::shapes as finding;

/// With how many earlier alternatives one is compared.
const MOST_COMPARED: usize = 200;

/// Holds the alternatives of each union against those before them.
pub(crate) fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    if declarations.shapes.is_empty() {
        return found;
    }
    let mut tables = Protocol::new("".into(), Vec::new().into());
    tables.shapes = declarations.shapes.iter().map(DeclaredShape::table).collect();
    for shape in &declarations.shapes {
        for parts in unions(&shape.form) {
            for (place, later) in parts.iter().enumerate() {
                // A field that records take from another one is in all of them.
                if !seen.insert(later.span) {
                    continue;
                }
                let earlier = parts.get(place.saturating_sub(MOST_COMPARED)..place).unwrap_or_default();
                found.extend(never_chosen(&tables, &declarations.shapes, earlier, later));
            }
        }
    }
    found.extend(of_nothing_but_themselves(&tables, &declarations.shapes));
    found.extend(null_params(declarations));
    found
}

/// The params that may be `null` and not absent.
fn null_params(declarations: &Declarations) -> Vec<Diagnostic> {
    let required = declarations.messages.iter().filter(|message| {
        matches!(message.table.kind, Kind::Request | Kind::Notification)
            && message.table.payload == Payload::Required
    });
    let null = |message: &Message| {
        let Form::Union(parts) = followed(&declarations.shapes, message.table.shape?)? else { return None };
        parts.iter().find(|part| part.form == Form::Null).map(|null| null.span)
    };
    required
        .filter_map(|message| Some(finding::null_params(&message.table.name, message.span, null(message)?)))
        .collect()
}

/// What a shape is if it is not only the name of another one.
fn followed(shapes: &[DeclaredShape], first: ShapeIndex) -> Option<&Form> {
    let mut form = &shapes.get(usize::from(first.0))?.form;
    // A longer way leads in a circle, which is reported elsewhere.
    for _ in 0..shapes.len() {
        let Form::Named(index) = form else { return Some(form) };
        form = &shapes.get(*index)?.form;
    }
    None
}

/// What is wrong with an alternative behind these.
fn never_chosen(
    tables: &Protocol,
    shapes: &[DeclaredShape],
    earlier: &[Alternative],
    later: &Alternative,
) -> Vec<Diagnostic> {
    let form = later.form.table();
    let together = |all: &[Alternative]| all.iter().map(|one| one.form.table()).collect::<Vec<_>>();
    // The first one: others that hide it may be hidden themselves.
    let place = earlier.iter().position(|earlier| hides(tables, &earlier.form.table(), &form));
    let (before, behind) = earlier.split_at(place.unwrap_or(earlier.len()));
    // What is one value or one kind of JSON is hidden by one alternative or by none.
    let is_several = matches!(later.form, Form::Bool | Form::Named(_) | Form::Union(_));
    let last = before.last().filter(|_| is_several);
    if let Some(last) = last.filter(|_| hides(tables, &Shape::Union(together(before).into()), &form)) {
        return vec![finding::never_chosen_after(later, last)];
    }
    let [hiding, ..] = behind else { return hidden_inside::check(tables, shapes, earlier, later) };
    // In another order they would hide the earlier one.
    let mut reordered = together(before);
    reordered.push(form);
    vec![match later.form {
        Form::Null => finding::null_again(later, with_null(tables, shapes, hiding)),
        Form::List(_) | Form::Tuple(_)
            if is_list_of_one_value(shapes, hiding) && later.text != hiding.text =>
        {
            finding::never_chosen_behind_a_list(later, hiding, is_list_of_one_value(shapes, later))
        }
        // Before what takes both, one of two values would say nothing.
        Form::Literal(Literal::Bool(_)) => finding::never_chosen_anywhere(later, hiding),
        _ if hides(tables, &Shape::Union(reordered.into()), &hiding.form.table()) => {
            finding::never_chosen_anywhere(later, hiding)
        }
        _ => finding::never_chosen(later, hiding),
    }]
}

/// Whether an alternative is written as a list of one value, `["heads"]`.
fn is_list_of_one_value(shapes: &[DeclaredShape], alternative: &Alternative) -> bool {
    let Form::List(element) = &alternative.form else { return false };
    let element = match &**element {
        Form::Named(index) => shapes.get(*index).map(|shape| &shape.form),
        other => Some(other),
    };
    let is_one = match element {
        Some(Form::Union(parts)) => matches!(parts.as_slice(), [one] if matches!(one.form, Form::Literal(_))),
        other => matches!(other, Some(Form::Literal(_))),
    };
    is_one && alternative.text.ends_with(']')
}

/// The written alternative that takes `null`. What stands next to `null` in a union of several has been made one
/// alternative, which is written nowhere.
fn with_null<'a>(
    tables: &Protocol,
    shapes: &'a [DeclaredShape],
    alternative: &'a Alternative,
) -> &'a Alternative {
    let inside = match &alternative.form {
        Form::Named(index) => shapes.get(*index).filter(|shape| shape.is_inner),
        _ => None,
    };
    let Some(Form::Union(parts)) = inside.map(|shape| &shape.form) else { return alternative };
    let takes_null = |part: &&Alternative| hides(tables, &part.form.table(), &Shape::Null);
    parts.iter().find(takes_null).unwrap_or(alternative)
}

/// The shapes that are lists, maps or tuples of themselves, with neither a record nor a union of several shapes on the way: they
/// would be types of Rust without a name.
fn of_nothing_but_themselves(tables: &Protocol, shapes: &[DeclaredShape]) -> Vec<Diagnostic> {
    let inside = |index: usize| shapes.get(index).map_or_else(Vec::new, |shape| named_inside(&shape.form));
    let component = components(shapes.len(), inside);
    let of = |index: usize| component.get(index);
    let is_of_itself = |index: usize| inside(index).into_iter().any(|next| of(next) == of(index));
    let samples = Samples::new(tables);
    // One without a value has been reported.
    let has_value = |shape: &DeclaredShape| samples.of(&shape.form.table()).is_some();
    let all = shapes.iter().enumerate().filter(|(index, shape)| is_of_itself(*index) && has_value(shape));
    all.map(|(_, shape)| finding::of_nothing_but_itself(&shape.name)).collect()
}

/// The shapes that one names in its lists, maps, tuples and unions with `null`; none of a shape that has a type of its own.
fn named_inside(form: &Form) -> Vec<usize> {
    let mut named = Vec::new();
    let mut waiting = vec![form];
    while let Some(form) = waiting.pop() {
        match form {
            Form::List(of) | Form::Map(of) => waiting.push(of),
            Form::Tuple(positions) if !is_struct(positions) => {
                waiting.extend(positions.iter().map(|position| &position.form));
            }
            Form::Union(parts) if parts.iter().any(|part| part.form == Form::Null) => {
                waiting.extend(parts.iter().map(|part| &part.form));
            }
            Form::Named(index) => named.push(*index),
            _ => {}
        }
    }
    named
}

/// The unions that a shape has in itself.
fn unions(form: &Form) -> Vec<&[Alternative]> {
    let mut found = Vec::new();
    let mut waiting = vec![form];
    while let Some(form) = waiting.pop() {
        if let Form::Union(parts) = form {
            found.push(parts.as_slice());
        }
        waiting.extend(form.inside());
    }
    found
}
