//! Values of shapes, as a sender writes them, and the judge of the checker.

use std::borrow::Cow;

use mcp_protocol_compiler::{compile, generate};
use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{Literal, Position, Presence, Shape};
use mcp_protocol_machine::shape::{Json, JsonView, judge};
use serde_json::{Map, Value, json};

use crate::random::Random;

#[derive(Clone)]
struct Judged<'a>(&'a Value);

impl Json for Judged<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self.0 {
            Value::Null => JsonView::Null,
            Value::Bool(value) => JsonView::Bool(*value),
            Value::Number(number) => JsonView::Number(number.to_string().into()),
            Value::String(text) => JsonView::Text(Cow::Borrowed(text)),
            Value::Array(elements) => JsonView::List(elements.iter().map(Judged).collect()),
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| (Cow::Borrowed(&**key), Judged(value)));
                JsonView::Object(members.collect())
            }
        }
    }
}

/// The tables of a text.
pub(crate) fn tables(text: &str) -> Protocol {
    let mut read = |_: &std::path::Path| Ok(text.as_bytes().to_vec());
    let compilation = compile(std::path::Path::new("test.session"), &mut read).unwrap();
    generate::machine(compilation.protocol.as_ref().unwrap())
}

/// Whether a value has the shape `Root`.
pub(crate) fn accepts(tables: &Protocol, value: &Value) -> bool {
    let (_, root) = tables.shape_by_name("Root").unwrap();
    fits(tables, &root.shape, value)
}

/// Whether a value has a shape.
pub(crate) fn fits(tables: &Protocol, shape: &Shape, value: &Value) -> bool {
    judge(tables, shape, &Judged(value)).is_ok()
}

/// A random value as a sender of a shape writes it: with no members but the fields of its records, and where its shape
/// leaves members open, with none that another file names.
pub(crate) fn value(random: &mut Random, tables: &Protocol, shape: &Shape, depth: usize) -> Option<Value> {
    if depth > 8 {
        return None;
    }
    let inner = |random: &mut Random, shape: &Shape| value(random, tables, shape, depth + 1);
    Some(match shape {
        Shape::Any => match random.below(7) {
            0 => json!(null),
            1 => json!(random.chance(50)),
            2 => json!(random.below(3)),
            3 => json!(0.5),
            4 => json!(["x", "y", "other"][random.below(3)]),
            5 => {
                let many = random.below(4);
                Value::Array((0..many).map(|_| inner(random, &Shape::Any)).collect::<Option<_>>()?)
            }
            _ => json!({ "other": inner(random, &Shape::Any)? }),
        },
        Shape::Null => json!(null),
        Shape::Bool => json!(random.chance(50)),
        Shape::Int => json!([0, 1, -1, 7, i64::MAX][random.below(5)]),
        Shape::Uint => json!([0, 1, u64::MAX][random.below(3)]),
        Shape::Number => [json!(0), json!(0.5), json!(-1), json!(u64::MAX)][random.below(4)].clone(),
        Shape::Text => json!(["x", "y", "z", "other"][random.below(4)]),
        Shape::Literal(Literal::Text(text)) => json!(text),
        Shape::Literal(Literal::Int(number)) => json!(number),
        Shape::Literal(Literal::Bool(value)) => json!(value),
        Shape::Object => match random.chance(50) {
            true => json!({}),
            false => json!({ "other": inner(random, &Shape::Any)? }),
        },
        Shape::List(of) => {
            let many = random.below(4);
            let elements: Option<Vec<Value>> = (0..many).map(|_| inner(random, of)).collect();
            elements.map_or(json!([]), Value::Array)
        }
        Shape::Tuple(positions) => {
            let least = positions.iter().filter(|position| position.presence.is_required()).count();
            // Of a rest up to three elements.
            let has_rest = positions.last().is_some_and(|last| last.presence == Presence::Rest);
            let most = positions.len() + if has_rest { 2 } else { 0 };
            let many = least + random.below(most - least + 1);
            let elements = (0..many).filter_map(|place| Position::of_element(positions, place));
            Value::Array(elements.map(|position| inner(random, &position.shape)).collect::<Option<_>>()?)
        }
        Shape::Map(of) => {
            let keys = ["a", "b", "type", "other"].into_iter().filter(|_| random.chance(40));
            let keys: Vec<&str> = keys.collect();
            let mut members = Map::new();
            for key in keys {
                if let Some(value) = inner(random, of) {
                    members.insert(key.to_owned(), value);
                }
            }
            Value::Object(members)
        }
        Shape::Record(record) => {
            let mut members = Map::new();
            for field in record.fields.iter() {
                if field.required {
                    members.insert(field.name.to_string(), inner(random, &field.shape)?);
                } else if random.chance(60)
                    && let Some(value) = inner(random, &field.shape)
                {
                    members.insert(field.name.to_string(), value);
                }
            }
            if record.rest && random.chance(30) {
                members.insert("other".to_owned(), inner(random, &Shape::Any)?);
            }
            Value::Object(members)
        }
        Shape::Union(parts) => {
            let place = random.below(parts.len());
            inner(random, &parts[place])?
        }
        Shape::Named(index) => inner(random, &tables.shape(*index).unwrap().shape)?,
    })
}
