//! The alternatives that a shape has in the end, as [`mcp_protocol_machine::shape::choose`] sees them.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::Literal;

use crate::declarations::{Alternative, DeclaredShape, Form, Record, Shapes};
use crate::source::Span;

/// What a form is in the end: names and unions are followed, each name once.
pub(super) fn leaves<'a>(shapes: &'a [DeclaredShape], form: &'a Form) -> Vec<&'a Form> {
    Shapes(shapes).leaves(form).collect()
}

/// Where a leaf of a form is written: as an alternative of a union, or as what a name stands for.
pub(super) fn origin(shapes: &[DeclaredShape], form: &Form, leaf: &Form) -> Option<Span> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![(form, None)]);
    while let Some((form, span)) = open.pop() {
        match form {
            _ if std::ptr::eq(form, leaf) => return span,
            Form::Named(index) => {
                if let Some(shape) = shapes.get(*index).filter(|_| seen.insert(*index)) {
                    open.push((&shape.form, span.or(Some(shape.name.span))));
                }
            }
            Form::Union(parts) => {
                // What was made up has no text.
                let written = |part: &Alternative| (!part.text.is_empty()).then_some(part.span);
                open.extend(parts.iter().rev().map(|part| (&part.form, written(part).or(span))));
            }
            _ => {}
        }
    }
    None
}

/// Where a form is declared, if it is one of a name.
pub(super) fn declaration(shapes: &[DeclaredShape], form: &Form) -> Option<Span> {
    match form {
        Form::Named(index) => shapes.get(*index).map(|shape| shape.name.span),
        _ => None,
    }
}

/// The literals that a part may be, if it may be nothing else: they tell records and tuples apart.
pub(super) fn literals<'a>(
    shapes: &'a [DeclaredShape],
    form: &'a Form,
) -> Option<Vec<(&'a Literal, &'a Form)>> {
    // It may be a large union of records.
    let literals = Shapes(shapes).leaves(form).map(|leaf| match leaf {
        Form::Literal(literal) => Some((literal, leaf)),
        _ => None,
    });
    literals.collect::<Option<Vec<_>>>().filter(|literals| !literals.is_empty())
}

/// A record among the leaves of a shape.
pub(super) fn record(leaf: &Form) -> Option<&Record> {
    match leaf {
        Form::Record(record) => Some(record),
        _ => None,
    }
}

/// Whether a leaf that looks into no list and no object takes every value of another one.
pub(super) fn takes_scalar(receiver: &Form, sender: &Form) -> bool {
    match (receiver, sender) {
        (Form::Any, _) | (Form::Number, Form::Int | Form::Uint) => true,
        (Form::Uint, Form::Literal(Literal::Int(number))) => *number >= 0,
        (Form::Literal(one), Form::Literal(other)) => one == other,
        (one, other) => {
            matches!(
                (one, other),
                (Form::String, Form::Literal(Literal::Text(_)))
                    | (Form::Int | Form::Number, Form::Literal(Literal::Int(_)))
                    | (Form::Bool, Form::Literal(Literal::Bool(_)))
                    | (Form::Null, Form::Null)
                    | (Form::Bool, Form::Bool)
                    | (Form::Int, Form::Int)
                    | (Form::Uint, Form::Uint)
                    | (Form::Number, Form::Number)
                    | (Form::String, Form::String)
            )
        }
    }
}
