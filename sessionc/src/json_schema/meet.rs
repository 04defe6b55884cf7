//! What two shapes have in common, as `allOf` and keywords side by side demand it.

use mcp_protocol_machine::protocol::Literal::{Bool as Truth, Int as Whole, Text};
use mcp_protocol_machine::protocol::Presence;

use super::item::{Written, WrittenField, WrittenPosition, WrittenRecord};

/// What is known of the names in shapes.
pub(super) trait Names {
    /// Whether a name stands for a record.
    fn is_record(&self, name: &str) -> bool;
    /// The fields of the record that a name stands for.
    fn fields(&self, name: &str) -> Vec<String>;
    /// One of them, and whether it is required.
    fn field(&mut self, name: &str, field: &str) -> Option<(Written, bool)>;
}

/// How deep the fields that records share are compared.
const DEEPEST: usize = 2;

/// The values that have both shapes. `Err` has a shape that accepts more, where no shape says it.
pub(super) fn meet(names: &mut dyn Names, one: Written, other: Written) -> Result<Written, Written> {
    meet_at(names, one, other, 0)
}

fn meet_at(names: &mut dyn Names, one: Written, other: Written, depth: usize) -> Result<Written, Written> {
    use Written::{
        Any, Bool, Int, List, Literal, Map, Named, Number, Object, Record, String, Tuple, Uint, Union,
    };

    match (one, other) {
        (Any, shape) | (shape, Any) => Ok(shape),
        (one, other) if one == other => Ok(one),
        (Union(parts), other) | (other, Union(parts)) => {
            let mut said = true;
            let mut met = Vec::new();
            for part in parts {
                if !is_apart(names, &part, &other) {
                    let part = meet_at(names, part, other.clone(), depth);
                    said &= part.is_ok();
                    met.push(part.unwrap_or_else(|wider| wider));
                }
            }
            match (met.is_empty(), said) {
                (true, _) => Err(other),
                (false, true) => Ok(Written::union(met)),
                (false, false) => Err(Written::union(met)),
            }
        }
        (Number, narrow @ (Int | Uint)) | (narrow @ (Int | Uint), Number) => Ok(narrow),
        (Int, Uint) | (Uint, Int) => Ok(Uint),
        (String, literal @ Literal(Text(_)))
        | (literal @ Literal(Text(_)), String)
        | (Number | Int, literal @ Literal(Whole(_)))
        | (literal @ Literal(Whole(_)), Number | Int)
        | (Bool, literal @ Literal(Truth(_)))
        | (literal @ Literal(Truth(_)), Bool) => Ok(literal),
        (Uint, Literal(Whole(number))) | (Literal(Whole(number)), Uint) if number >= 0 => {
            Ok(Literal(Whole(number)))
        }
        (Object, narrow @ (Record(_) | Map(_))) | (narrow @ (Record(_) | Map(_)), Object) => Ok(narrow),
        (Object, Named(name)) | (Named(name), Object) if names.is_record(&name) => Ok(Named(name)),
        (List(one), List(other)) => match meet_at(names, *one, *other, depth) {
            Ok(of) => Ok(List(Box::new(of))),
            Err(of) => Err(List(Box::new(of))),
        },
        (List(of), Tuple(positions)) | (Tuple(positions), List(of)) => {
            let all = WrittenPosition::unlabelled(Presence::Rest, *of);
            tuples(names, &positions, &[all], depth)
        }
        (Tuple(one), Tuple(other)) => tuples(names, &one, &other, depth),
        (Named(one), Named(other)) if names.is_record(&one) && names.is_record(&other) => {
            spread(names, other, WrittenRecord { spreads: vec![one], ..WrittenRecord::default() }, depth)
        }
        (Named(name), Record(record)) | (Record(record), Named(name)) if names.is_record(&name) => {
            spread(names, name, record, depth)
        }
        (Record(one), Record(other)) => records(names, one, other, depth),
        // The members that a record knows are the ones that matter.
        (Map(_), record @ Record(_)) | (record @ Record(_), Map(_)) => Err(record),
        (one, _) => Err(one),
    }
}

/// Whether no value has both shapes, as far as their JSON types tell.
fn is_apart(names: &dyn Names, one: &Written, other: &Written) -> bool {
    let kind = |shape: &Written| match shape {
        Written::Null => Some(0),
        Written::Bool | Written::Literal(Truth(_)) => Some(1),
        Written::Int | Written::Uint | Written::Number | Written::Literal(Whole(_)) => Some(2),
        Written::String | Written::Literal(Text(_)) => Some(3),
        Written::List(_) | Written::Tuple(_) => Some(4),
        Written::Object | Written::Map(_) | Written::Record(_) => Some(5),
        Written::Named(name) if names.is_record(name) => Some(5),
        Written::Any | Written::Union(_) | Written::Named(_) => None,
    };
    match (one, other) {
        (Written::Literal(one), Written::Literal(other)) => one != other,
        (Written::Uint, Written::Literal(Whole(number)))
        | (Written::Literal(Whole(number)), Written::Uint) => *number < 0,
        (one, other) => kind(one).zip(kind(other)).is_some_and(|(one, other)| one != other),
    }
}

/// A record that has the fields of another one in addition. Where the two say different things of a field, the
/// record has one of its own for what both say.
fn spread(
    names: &mut dyn Names,
    name: String,
    mut record: WrittenRecord,
    depth: usize,
) -> Result<Written, Written> {
    let mut said = depth < DEEPEST;
    for field in names.fields(&name).into_iter().filter(|_| depth < DEEPEST) {
        let Some((shape, required)) = names.field(&name, &field) else { continue };
        if !record.fields.iter().any(|own| own.name == field) {
            let spread = record.spreads.iter().find_map(|spread| names.field(spread, &field));
            let Some(spread) = spread.filter(|spread| *spread != (shape.clone(), required)) else { continue };
            record.fields.push(WrittenField {
                name: field.clone(),
                documentation: Vec::new(),
                required: spread.1,
                shape: spread.0,
            });
        }
        for own in record.fields.iter_mut().filter(|own| own.name == field) {
            own.required |= required;
            let both =
                meet_at(names, std::mem::replace(&mut own.shape, Written::Any), shape.clone(), depth + 1);
            said &= both.is_ok();
            own.shape = both.unwrap_or_else(|wider| wider);
        }
    }
    if !record.spreads.contains(&name) {
        record.spreads.push(name);
    }
    if said { Ok(Written::Record(record)) } else { Err(Written::Record(record)) }
}

/// Positions in which elements of both may stand. They have labels if one of the two has a label for each.
fn tuples(
    names: &mut dyn Names,
    one: &[WrittenPosition],
    other: &[WrittenPosition],
    depth: usize,
) -> Result<Written, Written> {
    let least =
        |positions: &[WrittenPosition]| positions.iter().filter(|own| own.presence.is_required()).count();
    let (of_one, of_other) = (WrittenPosition::fixed(one), WrittenPosition::fixed(other));
    let rests = (WrittenPosition::rest_of(one), WrittenPosition::rest_of(other));
    let many = match rests {
        (None, None) => of_one.min(of_other),
        (None, Some(_)) => of_one,
        (Some(_), None) => of_other,
        (Some(_), Some(_)) => of_one.max(of_other),
    };
    if least(one).max(least(other)) > many {
        // No list has both.
        return Err(Written::Tuple(one.to_vec()));
    }
    let all = many + usize::from(rests.0.is_some() && rests.1.is_some());
    // A label of a rest would be that of several positions where the other tuple has some of their own.
    let has_labels = |positions: &[WrittenPosition], fixed: usize| {
        fixed >= many && positions.len() >= all && positions.iter().all(|position| position.label.is_some())
    };
    let labelled = match (has_labels(one, of_one), has_labels(other, of_other)) {
        (true, _) => Some(one),
        (false, true) => Some(other),
        (false, false) => None,
    };
    let label = |place: usize| labelled.and_then(|positions| positions.get(place)?.label.clone());
    let mut said = true;
    let mut met = Vec::new();
    for place in 0..all {
        let (Some(one), Some(other)) =
            (WrittenPosition::of_element(one, place), WrittenPosition::of_element(other, place))
        else {
            break;
        };
        let both = meet_at(names, one.shape.clone(), other.shape.clone(), depth);
        said &= both.is_ok();
        let presence = match place {
            place if place >= many => Presence::Rest,
            _ if one.presence.is_required() || other.presence.is_required() => Presence::Required,
            _ => Presence::Optional,
        };
        // What has no label has no documentation.
        let documentation = [one, other].into_iter().find(|position| !position.documentation.is_empty());
        let documentation = documentation.filter(|_| labelled.is_some());
        met.push(WrittenPosition {
            label: label(place),
            documentation: documentation.map(|position| position.documentation.clone()).unwrap_or_default(),
            presence,
            shape: both.unwrap_or_else(|wider| wider),
        });
    }
    if said { Ok(Written::Tuple(met)) } else { Err(Written::Tuple(met)) }
}

fn records(
    names: &mut dyn Names,
    mut one: WrittenRecord,
    other: WrittenRecord,
    depth: usize,
) -> Result<Written, Written> {
    let mut said = true;
    for field in other.fields {
        let Some(own) = one.fields.iter_mut().find(|own| own.name == field.name) else {
            one.fields.push(field);
            continue;
        };
        let WrittenField { documentation, required, shape, .. } = field;
        own.required |= required;
        if own.documentation.is_empty() {
            own.documentation = documentation;
        }
        let both = meet_at(names, std::mem::replace(&mut own.shape, Written::Any), shape, depth + 1);
        said &= both.is_ok();
        own.shape = both.unwrap_or_else(|wider| wider);
    }
    one.rest |= other.rest;
    let mut all = Written::Record(one);
    for name in other.spreads {
        let wider = meet_at(names, all, Written::Named(name), depth);
        said &= wider.is_ok();
        all = wider.unwrap_or_else(|wider| wider);
    }
    if said { Ok(all) } else { Err(all) }
}
