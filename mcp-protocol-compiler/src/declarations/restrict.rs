//! The payloads that meet a condition, or do not, as a shape.

use mcp_protocol_machine::protocol::{Condition, Literal, Presence, Text, position};
use mcp_protocol_machine::shape::Sample;

use super::{Alternative, DeclaredShape, Field, Form, Position, Record, Shapes};
use crate::source::Span;

/// Whether some payload of a shape meets a condition.
pub(crate) fn may_hold(shapes: &[DeclaredShape], form: &Form, condition: &Condition) -> bool {
    let literal = condition.literal.as_ref();
    Shapes(shapes).leaves(form).any(|leaf| part(shapes, leaf, &condition.path, literal, true).is_some())
}

/// Whether one alternative of a shape may be a value.
pub(crate) fn may_be(leaf: &Form, literal: &Literal) -> bool {
    value(leaf, Some(literal), true).is_some()
}

/// Whether a shape says that a payload may have a value at a path. One that leaves members open does not say so.
pub(crate) fn names(shapes: &[DeclaredShape], form: &Form, path: &[Text]) -> bool {
    !forms_at(shapes, form, path).is_empty()
}

/// Whether a shape says that a payload may have a text or a whole number at a path.
pub(crate) fn may_identify(shapes: &[DeclaredShape], form: &Form, path: &[Text]) -> bool {
    let leaves = forms_at(shapes, form, path).into_iter().flat_map(|form| Shapes(shapes).leaves(form));
    leaves.into_iter().any(|leaf| match leaf {
        Form::Any | Form::String | Form::Int | Form::Uint | Form::Number => true,
        Form::Literal(literal) => !matches!(literal, Literal::Bool(_)),
        _ => false,
    })
}

/// The forms that a shape says of a path, one for each way through its unions.
fn forms_at<'a>(shapes: &'a [DeclaredShape], form: &'a Form, path: &[Text]) -> Vec<&'a Form> {
    let Some((key, rest)) = path.split_first() else { return vec![form] };
    let inner = Shapes(shapes).leaves(form).filter_map(|leaf| match leaf {
        Form::Map(form) => Some(&**form),
        Form::List(form) => position(key).map(|_| &**form),
        Form::Tuple(positions) => Some(&Position::of_element(positions, position(key)?)?.form),
        Form::Record(record) => Some(&record.field(key)?.form),
        _ => None,
    });
    inner.flat_map(|form| forms_at(shapes, form, rest)).collect()
}

/// The payloads of a shape that meet a condition, or those that do not, as a shape; nothing if there are none. A payload of
/// which the shape does not say whether it does is among both.
pub(crate) fn restricted(
    shapes: &[DeclaredShape],
    form: &Form,
    condition: &Condition,
    meets: bool,
) -> Option<Form> {
    let literal = condition.literal.as_ref();
    let parts = Shapes(shapes).leaves(form);
    let kept = parts.filter_map(|leaf| part(shapes, leaf, &condition.path, literal, meets));
    union(kept.collect())
}

/// What of a shape may be written as params, which are an object or a list; nothing if no part of it is any JSON. What comes
/// before that part in a union stays before it: a list is then of that kind.
pub(crate) fn any_params(shapes: &[DeclaredShape], form: &Form) -> Option<Form> {
    let parts: Vec<&Form> = Shapes(shapes).leaves(form).collect();
    if !parts.iter().any(|part| matches!(part, Form::Any)) {
        return None;
    }
    let written = parts.into_iter().flat_map(|part| match part {
        Form::Any => vec![Form::Object, Form::List(Box::new(Form::Any))],
        part => vec![part.clone()],
    });
    union(written.collect())
}

fn union(parts: Vec<Form>) -> Option<Form> {
    let alternative = |form| Alternative { form, span: Span::default(), text: String::new(), variant: None };
    match parts.len() {
        0 => None,
        1 => parts.into_iter().next(),
        _ => Some(Form::Union(parts.into_iter().map(alternative).collect())),
    }
}

/// The value that each payload of a shape that meets a condition has where the condition looks, if it is one and the same.
pub(crate) fn only_value(shapes: &[DeclaredShape], form: &Form, condition: &Condition) -> Option<Literal> {
    let form = restricted(shapes, form, condition, true)?;
    let found = forms_at(shapes, &form, &condition.path).into_iter();
    let mut leaves = found.flat_map(|form| Shapes(shapes).leaves(form));
    let Form::Literal(first) = leaves.next()? else { return None };
    leaves.all(|leaf| matches!(leaf, Form::Literal(other) if other == first)).then(|| first.clone())
}

/// Whether a value meets a condition.
pub(crate) fn is_met(payload: &Sample, condition: &Condition) -> bool {
    let found = condition.path.iter().try_fold(payload, |value, key| match value {
        Sample::Object(members) => members.iter().find(|(name, _)| **name == **key).map(|(_, value)| value),
        Sample::List(elements) => elements.get(position(key)?),
        _ => None,
    });
    found.is_some_and(|found| match &condition.literal {
        Some(literal) => *found == Sample::from(literal),
        None => !matches!(found, Sample::Null | Sample::Bool(false)),
    })
}

/// What is left of one alternative.
fn part(
    shapes: &[DeclaredShape],
    leaf: &Form,
    path: &[Text],
    literal: Option<&Literal>,
    meets: bool,
) -> Option<Form> {
    let Some((key, rest)) = path.split_first() else { return value(leaf, literal, meets) };
    match leaf {
        // What is looked at is there.
        Form::Any | Form::Object if meets && position(key).is_none() => with_open_field(
            &Record { fields: Vec::new(), rest: true },
            key,
            part(shapes, &Form::Any, rest, literal, true),
        ),
        Form::Any | Form::Object | Form::Map(_) => Some(leaf.clone()),
        Form::List(_) if position(key).is_some() => Some(leaf.clone()),
        Form::Tuple(positions) => {
            match position(key).and_then(|place| Some((place, Position::of_element(positions, place)?))) {
                // As in a list, where nothing else is said of one element.
                Some((_, changed)) if changed.presence.is_rest() => Some(leaf.clone()),
                None => (!meets).then(|| leaf.clone()),
                Some((place, changed)) => {
                    let parts = Shapes(shapes).leaves(&changed.form);
                    let kept: Vec<Form> = parts
                        .into_iter()
                        .filter_map(|leaf| part(shapes, leaf, rest, literal, meets))
                        .collect();
                    with_position(positions, place, union(kept), meets)
                }
            }
        }
        Form::Record(record) => match record.field(key) {
            None if meets && !record.rest => None,
            None if meets => with_open_field(record, key, part(shapes, &Form::Any, rest, literal, true)),
            None => Some(leaf.clone()),
            Some(field) => {
                let parts = Shapes(shapes).leaves(&field.form);
                let kept: Vec<Form> =
                    parts.into_iter().filter_map(|leaf| part(shapes, leaf, rest, literal, meets)).collect();
                with_field(record, field, union(kept), meets)
            }
        },
        _ => (!meets).then(|| leaf.clone()),
    }
}

/// A tuple in which a position is what is left of it. A condition that looks into one that is absent is not met.
fn with_position(positions: &[Position], place: usize, form: Option<Form>, meets: bool) -> Option<Form> {
    let mut positions = positions.to_vec();
    match form {
        None if meets || positions.get(place)?.presence.is_required() => return None,
        // Without it nothing stands behind it.
        None => positions.truncate(place),
        Some(form) => {
            positions.get_mut(place)?.form = form;
            if meets {
                let there = positions.iter_mut().take(place + 1);
                there.for_each(|position| position.presence = Presence::Required);
            }
        }
    }
    Some(Form::Tuple(positions))
}

/// A record in which a field is what is left of it. A condition that looks into a field that is absent is not met.
fn with_field(record: &Record, changed: &Field, form: Option<Form>, meets: bool) -> Option<Form> {
    let form = match form {
        None if meets || !changed.optional => return None,
        form => form,
    };
    let mut record = record.clone();
    // A field that is never there would be one of the members that `..rest` keeps if it were not declared.
    let form = form.or_else(|| record.rest.then(|| Form::Union(Vec::new())));
    match form {
        None => record.fields.retain(|field| field.name.text != changed.name.text),
        Some(form) => {
            let fields = record.fields.iter_mut();
            for field in fields.filter(|field| field.name.text == changed.name.text) {
                field.form = form.clone();
                field.optional &= !meets;
            }
        }
    }
    Some(Form::Record(record))
}

/// A record that leaves members open, in which one of them is what is left of any value.
fn with_open_field(record: &Record, key: &str, form: Option<Form>) -> Option<Form> {
    let mut record = record.clone();
    record.fields.push(Field::undeclared(key, form?));
    Some(Form::Record(record))
}

/// What is left of a value that the condition looks at: a certain value, or something that is neither `null` nor `false`.
fn value(leaf: &Form, literal: Option<&Literal>, meets: bool) -> Option<Form> {
    let keep = match (leaf, literal) {
        (Form::Any, Some(value)) if meets => return Some(Form::Literal(value.clone())),
        (Form::Any, None) if meets => {
            let truthy = Form::Literal(Literal::Bool(true));
            let others = [Form::Number, Form::String, Form::Object, Form::List(Box::new(Form::Any))];
            return union([truthy].into_iter().chain(others).collect());
        }
        (Form::Any, _) => true,
        (Form::Bool, None) => return Some(Form::Literal(Literal::Bool(meets))),
        (Form::Null | Form::Literal(Literal::Bool(false)), None) => !meets,
        (_, None) => meets,
        (Form::Literal(known), Some(value)) => (known == value) == meets,
        (Form::Bool, Some(Literal::Bool(value))) => return Some(Form::Literal((*value == meets).into())),
        (Form::Uint, Some(Literal::Int(number))) if *number < 0 => !meets,
        (Form::String, Some(value @ Literal::Text(_)))
        | (Form::Int | Form::Uint | Form::Number, Some(value @ Literal::Int(_))) => match meets {
            true => return Some(Form::Literal(value.clone())),
            false => true,
        },
        (_, Some(_)) => !meets,
    };
    keep.then(|| leaf.clone())
}
