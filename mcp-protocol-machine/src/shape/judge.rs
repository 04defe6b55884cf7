//! Whether a value has a shape.

use std::ops::ControlFlow;

use super::choose::{
    Seen, chosen, count, fixed, fixed_in, has_literals, is_literal, is_scalar, leaves, possible, required,
};
use super::json::{Json, JsonKind};
use super::mismatch::{ShapeMismatch, elements, expected, found, literal, or};
use crate::excerpt::Excerpt;
use crate::protocol::{Literal, Position, Protocol, Record, Shape};

/// How many lists and objects may be inside one another where the shape looks into them.
pub const DEEPEST: usize = 128;

/// Compares a value with a shape, down to the first mismatch.
///
/// Members that a record does not know are not looked at. A field that may be absent may not be `null`, unless its shape
/// says so. A list has no more elements than its tuple has positions, unless the tuple has a rest.
///
/// # Errors
/// The first place where the value does not have the shape. Nesting deeper than [`DEEPEST`] is a mismatch.
pub fn judge<J: Json>(protocol: &Protocol, shape: &Shape, value: &J) -> Result<(), ShapeMismatch> {
    judge_at(protocol, shape, value, 0).map_err(ShapeMismatch::rooted)
}

fn judge_at<J: Json>(
    protocol: &Protocol,
    shape: &Shape,
    value: &J,
    depth: usize,
) -> Result<(), ShapeMismatch> {
    if depth > DEEPEST {
        let most = format!("at most {DEEPEST} lists and objects inside one another");
        return Err(ShapeMismatch::here(most, "more".to_owned()));
    }
    // What may be anything is not looked at: it may be large.
    if is_anything(protocol, shape) {
        return Ok(());
    }
    let kind = value.kind();
    let judged = match (leaf(protocol, shape, value, &kind)?, &kind) {
        (Shape::List(of), JsonKind::List) => {
            let mut place = 0;
            value.each_element(|element| {
                let judged = judge_at(protocol, of, element, depth + 1);
                place += 1;
                broken(judged.map_err(|mismatch| mismatch.in_element(place - 1)))
            })
        }
        (Shape::Tuple(positions), JsonKind::List) => {
            return judge_positions(protocol, positions, value, depth + 1);
        }
        (Shape::Map(of), JsonKind::Object) => value.each_member(|key, member| {
            let judged = judge_at(protocol, of, member, depth + 1);
            broken(judged.map_err(|mismatch| mismatch.in_member(key)))
        }),
        (Shape::Record(record), JsonKind::Object) => {
            for field in record.fields.iter() {
                let judged = value.with_member(&field.name, |member| match member {
                    Some(member) => judge_at(protocol, &field.shape, member, depth + 1),
                    None if field.required => {
                        Err(ShapeMismatch::here(expected(protocol, &field.shape), "nothing".to_owned()))
                    }
                    None => Ok(()),
                });
                judged.map_err(|mismatch| mismatch.in_member(&field.name))?;
            }
            return Ok(());
        }
        (leaf, kind) if is_scalar(leaf, value, kind) => return Ok(()),
        _ => return Err(ShapeMismatch::of_found(expected(protocol, shape), value)),
    };
    match judged {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(mismatch) => Err(mismatch),
    }
}

/// Compares the elements of a list with the positions of a tuple.
fn judge_positions<J: Json>(
    protocol: &Protocol,
    positions: &[Position],
    list: &J,
    depth: usize,
) -> Result<(), ShapeMismatch> {
    let mut place = 0;
    let judged = list.each_element(|element| {
        let judged = match Position::of_element(positions, place) {
            Some(position) => judge_at(protocol, &position.shape, element, depth),
            None => Err(ShapeMismatch::of_value(ShapeMismatch::END_OF_LIST, element)),
        };
        place += 1;
        broken(judged.map_err(|mismatch| mismatch.in_element(place - 1)))
    });
    if let ControlFlow::Break(mismatch) = judged {
        return Err(mismatch);
    }
    match positions.get(place).filter(|position| position.presence.is_required()) {
        Some(missing) => {
            let expected = expected(protocol, &missing.shape);
            Err(ShapeMismatch::of_nothing(&expected).in_element(place))
        }
        None => Ok(()),
    }
}

/// Whether to go on with what is next in a list or an object.
fn broken(judged: Result<(), ShapeMismatch>) -> ControlFlow<ShapeMismatch> {
    match judged {
        Ok(()) => ControlFlow::Continue(()),
        Err(mismatch) => ControlFlow::Break(mismatch),
    }
}

fn is_anything(protocol: &Protocol, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Named(index) => protocol.shape(*index).is_some_and(|named| matches!(named.shape, Shape::Any)),
        _ => false,
    }
}

/// The shape by which a value is judged: names are followed, and the alternatives of unions chosen.
fn leaf<'p, J: Json>(
    protocol: &'p Protocol,
    shape: &'p Shape,
    value: &J,
    kind: &JsonKind<'_>,
) -> Result<&'p Shape, ShapeMismatch> {
    let mut here = shape;
    // A name that stands for itself leads nowhere, so the number of steps is limited.
    for _ in 0..=2 * protocol.shapes.len() + DEEPEST {
        here = match here {
            Shape::Named(index) => match protocol.shape(*index) {
                Some(named) => &named.shape,
                None => break,
            },
            Shape::Union(parts) => {
                let chosen = chosen(protocol, parts, value, kind);
                match chosen.and_then(|place| parts.get(place)) {
                    Some(part) => part,
                    None => return Err(none_chosen(protocol, here, parts, value)),
                }
            }
            leaf => return Ok(leaf),
        };
    }
    Err(ShapeMismatch::of_found(expected(protocol, shape), value))
}

/// Why a value fits no alternative of a union.
fn none_chosen<J: Json>(protocol: &Protocol, union: &Shape, parts: &[Shape], value: &J) -> ShapeMismatch {
    if value.kind() == JsonKind::List {
        return no_tuple(protocol, union, value);
    }
    let mut records = Vec::new();
    leaves(protocol, union, &mut Seen::default(), &mut |leaf| records.extend(record(leaf)));
    if value.kind() != JsonKind::Object || records.is_empty() {
        return ShapeMismatch::of_found(expected(protocol, union), value);
    }
    // Where the literals leave some, these lack fields; where they leave none, one of them is wrong.
    let possible: Vec<&Record> =
        possible(protocol, parts, value).iter().filter_map(|(_, leaf)| record(leaf)).collect();
    let considered = match possible.is_empty() {
        true => match wrong_literal(protocol, &records, value) {
            Some(mismatch) => return mismatch,
            None => records,
        },
        false => possible,
    };
    let mut alternatives = Vec::new();
    for record in considered {
        let text = with_fields(required(record));
        if !alternatives.contains(&text) {
            alternatives.push(text);
        }
    }
    let (mut shown, mut more) = (Vec::new(), "");
    let _ = value.each_member(|key, _| {
        if shown.len() == 8 {
            more = " and more";
            return ControlFlow::Break(());
        }
        shown.push(key.to_owned());
        ControlFlow::Continue(())
    });
    let shown = with_fields(shown.iter().map(String::as_str));
    ShapeMismatch::here(or(&alternatives), format!("{shown}{more}"))
}

/// Why a list fits no alternative of a union.
fn no_tuple<J: Json>(protocol: &Protocol, union: &Shape, list: &J) -> ShapeMismatch {
    let mut tuples = Vec::new();
    leaves(protocol, union, &mut Seen::default(), &mut |leaf| tuples.extend(tuple(leaf)));
    let is_left = |positions: &&[Position]| has_literals(protocol, positions, list);
    let left: Vec<&[Position]> = tuples.iter().copied().filter(is_left).collect();
    // Where the literals leave some, there are too many elements for these, or too few.
    let considered = match left.is_empty() {
        true => match wrong_element(protocol, &tuples, list) {
            Some(mismatch) => return mismatch,
            None => tuples,
        },
        false => left,
    };
    if considered.is_empty() {
        return ShapeMismatch::here(expected(protocol, union), found(list));
    }
    let mut alternatives = Vec::new();
    for positions in considered {
        let text = elements(positions);
        if !alternatives.contains(&text) {
            alternatives.push(text);
        }
    }
    ShapeMismatch::here(or(&alternatives), format!("one of {}", count(list)))
}

fn tuple(leaf: &Shape) -> Option<&[Position]> {
    match leaf {
        Shape::Tuple(positions) => Some(positions),
        _ => None,
    }
}

/// The first position that all tuples of a union fix to literals and that has none of these.
fn wrong_element<J: Json>(protocol: &Protocol, tuples: &[&[Position]], list: &J) -> Option<ShapeMismatch> {
    let most = tuples.iter().map(|positions| positions.len()).min()?;
    (0..most).find_map(|place| {
        let mut literals: Vec<&Literal> = Vec::new();
        for positions in tuples {
            let position = positions.get(place).filter(|position| position.presence.is_required())?;
            for literal in fixed(protocol, &position.shape)? {
                if !literals.contains(&literal) {
                    literals.push(literal);
                }
            }
        }
        let (mut at, mut wrong) = (0, Some("nothing".to_owned()));
        let _ended = list.each_element(|element| {
            if at == place {
                let kind = element.kind();
                let is_one = literals.iter().any(|literal| is_literal(literal, element, &kind));
                wrong = (!is_one).then(|| found(element));
                return ControlFlow::Break(());
            }
            at += 1;
            ControlFlow::Continue(())
        });
        let literals: Vec<String> = literals.into_iter().map(literal).collect();
        Some(ShapeMismatch::here(or(&literals), wrong?).in_element(place))
    })
}

fn record(leaf: &Shape) -> Option<&Record> {
    match leaf {
        Shape::Record(record) => Some(record),
        _ => None,
    }
}

/// ``an object with `a` and `b` ``
fn with_fields<'k>(keys: impl Iterator<Item = &'k str>) -> String {
    let keys: Vec<String> = keys.map(|key| format!("`{}`", Excerpt(key))).collect();
    match keys.is_empty() {
        true => "an object".to_owned(),
        false => format!("an object with {}", keys.join(" and ")),
    }
}

/// The field that all records of a union fix to literals and that has none of these.
fn wrong_literal<J: Json>(protocol: &Protocol, records: &[&Record], value: &J) -> Option<ShapeMismatch> {
    let (first, rest) = records.split_first()?;
    let literals_in = |record: &Record, name: &str| -> Option<Vec<Literal>> {
        let (_, _, literals) = fixed_in(protocol, record).find(|(of, ..)| *of == name)?;
        Some(literals.into_iter().cloned().collect())
    };
    fixed_in(protocol, first).find_map(|(name, ..)| {
        let mut literals = literals_in(first, name)?;
        for record in rest {
            let more = literals_in(record, name)?;
            literals
                .extend(more.into_iter().filter(|literal| !literals.contains(literal)).collect::<Vec<_>>());
        }
        let found = value.with_member(name, |member| match member {
            Some(member) => {
                let kind = member.kind();
                let is_one = literals.iter().any(|literal| is_literal(literal, member, &kind));
                (!is_one).then(|| found(member))
            }
            None => Some("nothing".to_owned()),
        })?;
        let literals: Vec<String> = literals.iter().map(literal).collect();
        Some(ShapeMismatch::here(or(&literals), found).in_member(name))
    })
}
