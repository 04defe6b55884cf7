//! Which alternative of a union a value is.
//!
//! A value is an alternative of its own JSON type. Among objects, a record is possible if the fields that its shape
//! fixes to literals, texts mostly, have these values; among lists, a tuple is possible if it has a position for each
//! element, and these are the literals to which it fixes their positions. Of the alternatives that are possible, the first
//! is taken whose required fields are all there, or whose required positions. No other field or position decides, so that
//! a mistake in it is reported where it is.

use std::ops::ControlFlow;

use super::json::{Json, JsonKind};
use super::whole::whole;
use crate::protocol::{Literal, Position, Protocol, Record, RecordField, Shape, ShapeIndex};

/// The alternative of a union that a value is, by its place. `None` if it is not one of them; but where only one record
/// or tuple is left by its literals, the value is that one, even if required fields are missing, or there are too few
/// elements.
pub fn choose<J: Json>(protocol: &Protocol, union: &[Shape], value: &J) -> Option<usize> {
    chosen(protocol, union, value, &value.kind())
}

/// The same, where it is known what the value is.
pub(super) fn chosen<J: Json>(
    protocol: &Protocol,
    union: &[Shape],
    value: &J,
    kind: &JsonKind<'_>,
) -> Option<usize> {
    let (mut first, mut several) = (None, false);
    let complete = first_possible(protocol, union, value, kind, |place, leaf| {
        several = first.is_some();
        first = first.or(Some(place));
        match leaf {
            Shape::Record(record) => {
                required(record).all(|name| value.with_member(name, |member| member.is_some()))
            }
            Shape::Tuple(positions) => has_as_many(positions, count(value)),
            _ => true,
        }
    });
    complete.or(first.filter(|_| !several))
}

/// The alternative of a union that an object is if it has this value as a member, whatever its other members are. Nothing
/// if they count as well, or if the value fits no alternative.
///
/// It is for those who read an object member by member: what tells the alternatives apart mostly comes first.
pub fn choose_by_member<J: Json>(
    protocol: &Protocol,
    union: &[Shape],
    key: &str,
    value: &J,
) -> Option<usize> {
    let mut found = None;
    let kind = value.kind();
    for (place, part) in union.iter().enumerate() {
        match only_leaf(protocol, part)? {
            Shape::Record(record) => {
                let field = record.fields.iter().find(|field| *field.name == *key)?;
                let Some(Shape::Literal(fixed)) = only_leaf(protocol, &field.shape) else { return None };
                if is_literal(fixed, value, &kind) && found.replace((place, record)).is_some() {
                    return None;
                }
            }
            Shape::Any | Shape::Object | Shape::Map(_) => return None,
            _ => {}
        }
    }
    let (place, record) = found?;
    // A second literal may rule the record out.
    let mut others = record.fields.iter().filter(|field| *field.name != *key);
    let is_open = |field: &RecordField| match only_leaf(protocol, &field.shape) {
        Some(Shape::Literal(_)) => false,
        Some(_) => true,
        None => fixed_of_field(protocol, field).is_none(),
    };
    others.all(is_open).then_some(place)
}

/// The alternatives that a value may be, without a look at which fields are missing.
pub(super) fn possible<'p, J: Json>(
    protocol: &'p Protocol,
    union: &'p [Shape],
    value: &J,
) -> Vec<(usize, &'p Shape)> {
    let mut possible = Vec::new();
    first_possible(protocol, union, value, &value.kind(), |place, leaf| {
        possible.push((place, leaf));
        false
    });
    possible
}

/// The place of the first alternative that a value may be and that is accepted.
fn first_possible<'p, J: Json>(
    protocol: &'p Protocol,
    union: &'p [Shape],
    value: &J,
    kind: &JsonKind<'_>,
    mut accepts: impl FnMut(usize, &'p Shape) -> bool,
) -> Option<usize> {
    let mut is_it = |place, leaf| is_possible(protocol, leaf, value, kind) && accepts(place, leaf);
    // Most unions are of names that are not unions. Nothing needs to be remembered for them.
    if union.iter().all(|part| only_leaf(protocol, part).is_some()) {
        return union.iter().enumerate().position(|(place, part)| {
            let is_again = union.iter().take(place).any(|before| is_same_name(before, part));
            !is_again && only_leaf(protocol, part).is_some_and(|leaf| is_it(place, leaf))
        });
    }
    let (mut seen, mut found) = (Seen::default(), None);
    for (place, part) in union.iter().enumerate() {
        leaves(protocol, part, &mut seen, &mut |leaf| {
            if found.is_none() && is_it(place, leaf) {
                found = Some(place);
            }
        });
    }
    found
}

/// The one alternative that a shape has in the end; nothing for a union.
fn only_leaf<'p>(protocol: &'p Protocol, shape: &'p Shape) -> Option<&'p Shape> {
    let named = match shape {
        Shape::Named(index) => &protocol.shape(*index)?.shape,
        other => other,
    };
    (!matches!(named, Shape::Named(_) | Shape::Union(_))).then_some(named)
}

fn is_same_name(one: &Shape, other: &Shape) -> bool {
    matches!((one, other), (Shape::Named(one), Shape::Named(other)) if one == other)
}

fn is_possible<J: Json>(protocol: &Protocol, leaf: &Shape, value: &J, kind: &JsonKind<'_>) -> bool {
    match (leaf, kind) {
        (Shape::Record(record), JsonKind::Object) => record.fields.iter().all(|field| {
            let has_one_of = |literals: &[&Literal]| {
                value.with_member(&field.name, |member| match member {
                    Some(member) => {
                        let kind = member.kind();
                        literals.iter().any(|literal| is_literal(literal, member, &kind))
                    }
                    None => !field.required,
                })
            };
            match only_leaf(protocol, &field.shape) {
                Some(Shape::Literal(literal)) => has_one_of(&[literal]),
                Some(_) => true,
                None => fixed_of_field(protocol, field).is_none_or(|literals| has_one_of(&literals)),
            }
        }),
        (Shape::Object | Shape::Map(_), JsonKind::Object) | (Shape::List(_), JsonKind::List) => true,
        (Shape::Tuple(positions), JsonKind::List) => {
            most(positions).is_none_or(|most| count(value) <= most)
                && has_literals(protocol, positions, value)
        }
        (leaf, kind) => is_scalar(leaf, value, kind),
    }
}

/// Whether the elements of a list are the literals that a tuple has in their positions. There may be more elements. Those of
/// the rest do not count, as those of a list do not.
pub(super) fn has_literals<J: Json>(protocol: &Protocol, positions: &[Position], list: &J) -> bool {
    let mut left = positions.iter();
    let read = list.each_element(|element| {
        let Some(position) = left.next() else { return ControlFlow::Break(true) };
        let is_possible = match fixed_position(protocol, position) {
            Some(literals) => {
                let kind = element.kind();
                literals.iter().any(|literal| is_literal(literal, element, &kind))
            }
            None => true,
        };
        if is_possible { ControlFlow::Continue(()) } else { ControlFlow::Break(false) }
    });
    !matches!(read, ControlFlow::Break(false))
        && left
            .all(|position| !position.presence.is_required() || fixed_position(protocol, position).is_none())
}

/// How many elements a list has.
pub(super) fn count<J: Json>(list: &J) -> usize {
    let mut count = 0;
    let _all = list.each_element(|_| {
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    count
}

/// Whether a list of so many elements has those that must be there, and none behind the last position.
pub(super) fn has_as_many(positions: &[Position], count: usize) -> bool {
    least(positions) <= count && most(positions).is_none_or(|most| count <= most)
}

/// How many elements a list must have at least.
pub(super) fn least(positions: &[Position]) -> usize {
    positions.iter().filter(|position| position.presence.is_required()).count()
}

/// How many elements a list may have at most; nothing if there may be any number of them.
pub(super) fn most(positions: &[Position]) -> Option<usize> {
    Position::rest_of(positions).is_none().then_some(positions.len())
}

/// The literals by which a position decides which tuple a list is.
pub(super) fn fixed_position<'p>(protocol: &'p Protocol, position: &'p Position) -> Option<Vec<&'p Literal>> {
    if position.presence.is_rest() { None } else { fixed(protocol, &position.shape) }
}

/// Whether a value is what a shape says that is neither made of others nor looks into objects and lists.
pub(super) fn is_scalar<J: Json>(shape: &Shape, value: &J, kind: &JsonKind<'_>) -> bool {
    match (shape, kind) {
        (Shape::Any, _)
        | (Shape::Null, JsonKind::Null)
        | (Shape::Bool, JsonKind::Bool(_))
        | (Shape::Number, JsonKind::Number(_))
        | (Shape::Text, JsonKind::Text)
        | (Shape::Object, JsonKind::Object) => true,
        (Shape::Int, JsonKind::Number(written)) => {
            whole(written).is_some_and(|number| i64::try_from(number).is_ok())
        }
        (Shape::Uint, JsonKind::Number(written)) => {
            whole(written).is_some_and(|number| u64::try_from(number).is_ok())
        }
        (Shape::Literal(literal), kind) => is_literal(literal, value, kind),
        _ => false,
    }
}

/// Whether a value is this one. `1.0` is `1`.
pub(super) fn is_literal<J: Json>(literal: &Literal, value: &J, kind: &JsonKind<'_>) -> bool {
    match (literal, kind) {
        (Literal::Text(text), JsonKind::Text) => value.is_text(text),
        (Literal::Int(number), JsonKind::Number(written)) => whole(written) == Some(i128::from(*number)),
        (Literal::Bool(one), JsonKind::Bool(other)) => one == other,
        _ => false,
    }
}

/// Whether an alternative takes all that another one behind it would: then the other one is never chosen. Several
/// alternatives that take it together are not seen, unless they are passed as one union. Within one, `true` and `false`
/// together take `bool`.
pub fn hides(protocol: &Protocol, earlier: &Shape, later: &Shape) -> bool {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    leaves(protocol, earlier, &mut Seen::default(), &mut |leaf| before.push(leaf));
    leaves(protocol, later, &mut Seen::default(), &mut |leaf| behind.push(leaf));
    let has = |value: bool| before.contains(&&Shape::literal_bool(value));
    behind.iter().all(|leaf| {
        let together = || **leaf == Shape::Bool && has(true) && has(false);
        before.iter().any(|taker| takes(protocol, taker, leaf)) || together()
    })
}

/// Whether a leaf takes all that another one would.
fn takes(protocol: &Protocol, earlier: &Shape, later: &Shape) -> bool {
    match (earlier, later) {
        (Shape::Any, _)
        | (Shape::Number, Shape::Number | Shape::Int | Shape::Uint | Shape::Literal(Literal::Int(_)))
        | (Shape::Int, Shape::Literal(Literal::Int(_)))
        | (Shape::Text, Shape::Literal(Literal::Text(_)))
        | (Shape::Bool, Shape::Literal(Literal::Bool(_)))
        | (Shape::List(_), Shape::List(_) | Shape::Tuple(_))
        | (Shape::Object | Shape::Map(_), Shape::Object | Shape::Map(_) | Shape::Record(_)) => true,
        (Shape::Uint, Shape::Literal(Literal::Int(number))) => *number >= 0,
        (Shape::Record(earlier), Shape::Object | Shape::Map(_)) => {
            required(earlier).next().is_none() && fixed_in(protocol, earlier).next().is_none()
        }
        (Shape::Record(earlier), Shape::Record(later)) => {
            let is_fixed = |name: &str, literals: &[&Literal]| {
                let mut of_later = fixed_in(protocol, later).filter(|(of_later, ..)| *of_later == name);
                of_later.any(|(_, _, of_later)| of_later.iter().all(|literal| literals.contains(literal)))
            };
            required(earlier).all(|name| required(later).any(|of_later| of_later == name))
                && fixed_in(protocol, earlier).all(|(name, _, literals)| is_fixed(name, &literals))
        }
        (Shape::Tuple(earlier), Shape::Tuple(later)) => {
            let fixes_no_more = earlier.iter().enumerate().all(|(place, earlier)| {
                // What stands behind the last position of the later one is never there.
                let Some(later) = Position::of_element(later, place) else { return true };
                fixed_position(protocol, earlier).is_none_or(|literals| {
                    let of_later = fixed_position(protocol, later);
                    of_later.is_some_and(|of_later| of_later.iter().all(|literal| literals.contains(literal)))
                })
            });
            let takes_as_many = match (most(earlier), most(later)) {
                (Some(of_earlier), Some(of_later)) => of_earlier >= of_later,
                (of_earlier, _) => of_earlier.is_none(),
            };
            least(earlier) <= least(later) && takes_as_many && fixes_no_more
        }
        (Shape::Tuple(earlier), Shape::List(_)) => {
            let fixes = earlier.iter().any(|position| fixed_position(protocol, position).is_some());
            least(earlier) == 0 && most(earlier).is_none() && !fixes
        }
        (earlier, later) => earlier == later,
    }
}

/// The names of the fields that must be there.
pub(super) fn required(record: &Record) -> impl Iterator<Item = &str> {
    record.fields.iter().filter(|field| field.required).map(|field| &*field.name)
}

/// The fields whose shape is a literal or one of several: the name, whether the field must be there, and the literals.
pub(super) fn fixed_in<'p>(
    protocol: &'p Protocol,
    record: &'p Record,
) -> impl Iterator<Item = (&'p str, bool, Vec<&'p Literal>)> {
    record.fields.iter().filter_map(|field| {
        fixed_of_field(protocol, field).map(|literals| (&*field.name, field.required, literals))
    })
}

/// The literals that a field may be, if it may be nothing else.
pub(super) fn fixed_of_field<'p>(protocol: &'p Protocol, field: &'p RecordField) -> Option<Vec<&'p Literal>> {
    fixed(protocol, &field.shape)
}

/// The literals that a value may be, if it may be nothing else.
pub(super) fn fixed<'p>(protocol: &'p Protocol, shape: &'p Shape) -> Option<Vec<&'p Literal>> {
    if !matches!(shape, Shape::Literal(_) | Shape::Union(_) | Shape::Named(_)) {
        return None;
    }
    let mut literals = Vec::new();
    let all = each_leaf(protocol, shape, &mut Seen::default(), &mut |leaf| match leaf {
        Shape::Literal(literal) => {
            literals.push(literal);
            ControlFlow::Continue(())
        }
        // A field may be a large union of records.
        _ => ControlFlow::Break(()),
    });
    (all.is_continue() && !literals.is_empty()).then_some(literals)
}

/// The names that have been followed.
#[derive(Default)]
pub(super) struct Seen(Vec<u64>);

impl Seen {
    /// Whether the name is new. A union may have many, so each is one bit.
    pub(super) fn insert(&mut self, index: ShapeIndex) -> bool {
        let place = usize::from(index.0);
        let (word, bit) = (place / 64, 1 << (place % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0.get(word).is_some_and(|known| known & bit == 0);
        self.0.iter_mut().skip(word).take(1).for_each(|known| *known |= bit);
        is_new
    }
}

/// The alternatives that a shape has in the end: names and unions are followed. An alternative that comes again changes
/// nothing, so each name is followed once.
pub(super) fn leaves<'p>(
    protocol: &'p Protocol,
    shape: &'p Shape,
    seen: &mut Seen,
    visit: &mut impl FnMut(&'p Shape),
) {
    let _all = each_leaf(protocol, shape, seen, &mut |leaf| {
        visit(leaf);
        ControlFlow::Continue(())
    });
}

/// What params that are left out are read as: an object without members, or an empty list for a shape that takes nothing but
/// lists.
#[doc(hidden)]
pub fn absent_params(protocol: &Protocol, shape: Option<ShapeIndex>) -> &'static str {
    const OBJECT: &str = "{}";
    let Some(named) = shape.and_then(|shape| protocol.shape(shape)) else { return OBJECT };
    if !matches!(named.shape, Shape::List(_) | Shape::Tuple(_) | Shape::Union(_) | Shape::Named(_)) {
        return OBJECT;
    }
    let mut lists = 0_usize;
    let all = each_leaf(protocol, &named.shape, &mut Seen::default(), &mut |leaf| {
        lists += 1;
        match leaf {
            Shape::List(_) | Shape::Tuple(_) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    if all.is_continue() && lists > 0 { "[]" } else { OBJECT }
}

/// The same, until the visit breaks.
fn each_leaf<'p>(
    protocol: &'p Protocol,
    shape: &'p Shape,
    seen: &mut Seen,
    visit: &mut impl FnMut(&'p Shape) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut open = vec![std::slice::from_ref(shape)];
    while let Some(parts) = open.pop() {
        let Some((first, rest)) = parts.split_first() else { continue };
        open.push(rest);
        match first {
            Shape::Named(index) if seen.insert(*index) => {
                open.extend(protocol.shape(*index).map(|named| std::slice::from_ref(&named.shape)));
            }
            Shape::Named(_) => {}
            Shape::Union(parts) => open.push(parts),
            leaf => visit(leaf)?,
        }
    }
    ControlFlow::Continue(())
}
