//! Random values.

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{Literal, Position, Shape};

use crate::json_schema::Tree;

/// A small generator of random numbers, so that every run is the same.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// A value of a shape.
pub(super) fn value(random: &mut Random, protocol: &Protocol, shape: &Shape, depth: usize) -> Tree {
    let inner = depth.saturating_sub(1);
    match shape {
        Shape::Any => any(random),
        Shape::Null => Tree::Null,
        Shape::Bool => Tree::Bool(random.below(2) == 0),
        Shape::Int => Tree::Number(["-7", "0", "3.0"][random.below(3)].to_owned()),
        Shape::Uint => Tree::Number(["7", "0", "30"][random.below(3)].to_owned()),
        Shape::Number => Tree::Number(["0.5", "1", "0.25"][random.below(3)].to_owned()),
        Shape::Text => Tree::text(["text", "a", "user", "file:///a"][random.below(4)]),
        Shape::Literal(Literal::Text(text)) => Tree::text(&**text),
        Shape::Literal(Literal::Int(number)) => {
            Tree::Number(if random.below(2) == 0 { format!("{number}.0") } else { number.to_string() })
        }
        Shape::Literal(Literal::Bool(value)) => Tree::Bool(*value),
        Shape::Object => Tree::Object(vec![("any".to_owned(), any(random))]),
        Shape::List(of) => {
            let many = if depth == 0 { 0 } else { random.below(3) };
            Tree::List((0..many).map(|_| value(random, protocol, of, inner)).collect())
        }
        Shape::Tuple(positions) => {
            let least = positions.iter().filter(|position| position.presence.is_required()).count();
            // Of a rest up to two elements.
            let has_rest = Position::rest_of(positions).is_some();
            let most = positions.len() + usize::from(has_rest);
            let many = least + random.below(if depth == 0 { 1 } else { most - least + 1 });
            let elements = (0..many).filter_map(|place| Position::of_element(positions, place));
            Tree::List(elements.map(|position| value(random, protocol, &position.shape, inner)).collect())
        }
        Shape::Map(of) => {
            let many = if depth == 0 { 0 } else { random.below(3) };
            Tree::Object(
                (0..many).map(|key| (format!("key{key}"), value(random, protocol, of, inner))).collect(),
            )
        }
        Shape::Record(record) => {
            let mut members = Vec::new();
            for field in record.fields.iter() {
                if field.required || (depth > 0 && random.below(3) == 0) {
                    members.push((field.name.to_string(), value(random, protocol, &field.shape, inner)));
                }
            }
            if random.below(4) == 0 {
                members.push(("unknown".to_owned(), any(random)));
            }
            Tree::Object(members)
        }
        Shape::Union(parts) => {
            let part = random.below(parts.len());
            value(random, protocol, &parts[part], depth)
        }
        Shape::Named(index) => value(random, protocol, &protocol.shape(*index).unwrap().shape, depth),
    }
}

/// Any value. Some are what a reader that converts values takes for others.
fn any(random: &mut Random) -> Tree {
    match random.below(9) {
        0 => Tree::Null,
        1 => Tree::Bool(random.below(2) == 0),
        2 => Tree::Number(["12", "1", "0", "-3"][random.below(4)].to_owned()),
        3 => Tree::Number(["0.5", "7.0", "1e30"][random.below(3)].to_owned()),
        4 => Tree::List([Tree::text("x")][..random.below(2)].to_vec()),
        5 => Tree::Object([("x".to_owned(), Tree::Null)][..random.below(2)].to_vec()),
        6 => Tree::text(["12", "1.5", "true", ""][random.below(4)]),
        7 => Tree::text(["user", "image", "resource", "object", "url"][random.below(5)]),
        _ => Tree::text("text"),
    }
}

/// A value in which one place is another value, or a member is missing.
pub(super) fn changed(random: &mut Random, value: &Tree) -> Tree {
    match value {
        Tree::Object(members) if !members.is_empty() => {
            let mut members = members.clone();
            let place = random.below(members.len());
            match random.below(4) {
                0 => _ = members.remove(place),
                1 => members[place].1 = any(random),
                _ => members[place].1 = changed(random, &members[place].1),
            }
            Tree::Object(members)
        }
        Tree::List(elements) if !elements.is_empty() && random.below(4) > 0 => {
            let mut elements = elements.clone();
            let place = random.below(elements.len());
            elements[place] = changed(random, &elements[place]);
            Tree::List(elements)
        }
        _ => any(random),
    }
}
