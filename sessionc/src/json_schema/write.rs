//! From shapes to a JSON Schema.

use std::collections::BTreeSet;

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{Literal, NamedShape, Position, Record, Shape, ShapeIndex};

use super::tree::Tree;

/// What the file says of its shapes in addition to the tables.
pub(crate) trait Source {
    /// The documentation of a shape, or of a field of it.
    fn documentation(&self, shape: &str, field: Option<&str>) -> Option<String>;
    /// The name that a value of an enum has, where one is written.
    fn variant(&self, shape: &str, value: &Literal) -> Option<String>;
    /// Whether a shape stands inside of another one, and has its name from there.
    fn is_inner(&self, shape: &str) -> bool;
}

/// The schema of all shapes of a protocol, as `$defs`; or that of one, with the shapes that it needs.
pub(crate) fn write(protocol: &Protocol, root: Option<ShapeIndex>, source: &dyn Source) -> Tree {
    let writer = Writer { protocol, source };
    let wanted = root.map(|root| writer.needed(root));
    let mut schema = vec![("$schema".to_owned(), Tree::text("https://json-schema.org/draft/2020-12/schema"))];
    if let Some(root) = root.and_then(|root| protocol.shape(root)) {
        schema.push(("$ref".to_owned(), reference(root)));
    }
    let all = (0..=u16::MAX).map(ShapeIndex).zip(protocol.shapes.iter());
    let chosen = all.filter(|(index, _)| wanted.as_ref().is_none_or(|wanted| wanted.contains(index)));
    let own = chosen.filter(|(_, named)| !source.is_inner(&named.name));
    let definitions = own.map(|(_, named)| (named.name.to_string(), writer.named(named)));
    schema.push(("$defs".to_owned(), Tree::Object(definitions.collect())));
    Tree::Object(schema)
}

fn reference(to: &NamedShape) -> Tree {
    Tree::Text(format!("#/$defs/{}", to.name))
}

fn object<const N: usize>(members: [(&str, Tree); N]) -> Tree {
    Tree::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A literal in JSON.
fn value(literal: &Literal) -> Tree {
    match literal {
        Literal::Text(text) => Tree::text(&**text),
        Literal::Int(number) => Tree::Number(number.to_string()),
        Literal::Bool(value) => Tree::Bool(*value),
    }
}

fn of_type(name: &str) -> Tree {
    object([("type", Tree::text(name))])
}

fn integer(least: impl ToString, most: impl ToString) -> Tree {
    let number = |number: String| Tree::Number(number);
    object([
        ("type", Tree::text("integer")),
        ("minimum", number(least.to_string())),
        ("maximum", number(most.to_string())),
    ])
}

/// A schema with a description in front.
fn described(schema: Tree, text: Option<String>) -> Tree {
    match (schema, text) {
        (Tree::Object(mut members), Some(text)) => {
            members.insert(0, ("description".to_owned(), Tree::Text(text)));
            Tree::Object(members)
        }
        (schema, _) => schema,
    }
}

struct Writer<'p> {
    protocol: &'p Protocol,
    source: &'p dyn Source,
}

impl Writer<'_> {
    /// A shape and all that it names.
    fn needed(&self, root: ShapeIndex) -> BTreeSet<ShapeIndex> {
        let (mut needed, mut waiting) = (BTreeSet::new(), vec![root]);
        while let Some(index) = waiting.pop() {
            if !needed.insert(index) {
                continue;
            }
            let mut shapes: Vec<&Shape> =
                self.protocol.shape(index).map(|named| &named.shape).into_iter().collect();
            while let Some(shape) = shapes.pop() {
                match shape {
                    Shape::Named(index) => waiting.push(*index),
                    Shape::List(of) | Shape::Map(of) => shapes.push(of),
                    Shape::Tuple(positions) => {
                        shapes.extend(positions.iter().map(|position| &position.shape));
                    }
                    Shape::Record(record) => shapes.extend(record.fields.iter().map(|field| &field.shape)),
                    Shape::Union(parts) => shapes.extend(parts.iter()),
                    _ => {}
                }
            }
        }
        needed
    }

    fn named(&self, named: &NamedShape) -> Tree {
        described(self.shape(&named.shape, &named.name), self.source.documentation(&named.name, None))
    }

    /// The schema of a shape that stands in a named one.
    fn shape(&self, shape: &Shape, within: &str) -> Tree {
        match shape {
            Shape::Any => object([]),
            Shape::Null => of_type("null"),
            Shape::Bool => of_type("boolean"),
            Shape::Int => integer(i64::MIN, i64::MAX),
            Shape::Uint => integer(0, u64::MAX),
            Shape::Number => of_type("number"),
            Shape::Text => of_type("string"),
            Shape::Object => of_type("object"),
            Shape::Literal(literal) => object([("const", value(literal))]),
            Shape::List(of) => object([("type", Tree::text("array")), ("items", self.shape(of, within))]),
            Shape::Tuple(positions) => self.tuple(positions, within),
            Shape::Map(of) => {
                object([("type", Tree::text("object")), ("additionalProperties", self.shape(of, within))])
            }
            Shape::Record(record) => self.record(record, within),
            Shape::Union(parts) => self.union(parts, within),
            Shape::Named(index) => match self.protocol.shape(*index) {
                Some(named) if self.source.is_inner(&named.name) => self.shape(&named.shape, &named.name),
                Some(named) => object([("$ref", reference(named))]),
                None => Tree::Bool(false),
            },
        }
    }

    /// A position's label is its title, because nothing else in a schema says what an element is called.
    fn tuple(&self, positions: &[Position], within: &str) -> Tree {
        let schemas = positions.iter().map(|position| {
            let schema = self.shape(&position.shape, within);
            let label = position.label.as_deref();
            let text = label.and_then(|label| self.source.documentation(within, Some(label)));
            match (described(schema, text), label) {
                (Tree::Object(mut members), Some(label)) => {
                    members.insert(0, ("title".to_owned(), Tree::text(label)));
                    Tree::Object(members)
                }
                (schema, _) => schema,
            }
        });
        let mut schemas: Vec<Tree> = schemas.collect();
        let others = Position::rest_of(positions).and_then(|_| schemas.pop());
        let mut members = vec![("type".to_owned(), Tree::text("array"))];
        if !schemas.is_empty() {
            members.push(("prefixItems".to_owned(), Tree::List(schemas)));
        }
        members.push(("items".to_owned(), others.unwrap_or(Tree::Bool(false))));
        let least = positions.iter().filter(|position| position.presence.is_required()).count();
        if least > 0 {
            members.push(("minItems".to_owned(), Tree::Number(least.to_string())));
        }
        Tree::Object(members)
    }

    fn record(&self, record: &Record, within: &str) -> Tree {
        let properties = record.fields.iter().map(|field| {
            let text = self.source.documentation(within, Some(&field.name));
            (field.name.to_string(), described(self.shape(&field.shape, within), text))
        });
        let mut members = vec![
            ("type".to_owned(), Tree::text("object")),
            ("properties".to_owned(), Tree::Object(properties.collect())),
        ];
        let required = record.fields.iter().filter(|field| field.required);
        let required: Vec<Tree> = required.map(|field| Tree::text(&*field.name)).collect();
        if !required.is_empty() {
            members.push(("required".to_owned(), Tree::List(required)));
        }
        // Other members are ignored, which a schema permits by itself; what is kept is said.
        if record.rest {
            members.push(("additionalProperties".to_owned(), object([])));
        }
        Tree::Object(members)
    }

    /// Literals are an `enum`, or each has its name as a title; what is only a type is one of several types.
    fn union(&self, parts: &[Shape], within: &str) -> Tree {
        let literals = parts.iter().filter_map(|part| match part {
            Shape::Literal(literal) => Some(literal),
            _ => None,
        });
        let literals: Vec<&Literal> = literals.collect();
        let are_named = literals.iter().any(|literal| self.source.variant(within, literal).is_some());
        let mut alternatives = Vec::new();
        if literals.len() > 1 && !are_named {
            let values = literals.into_iter().map(value).collect();
            alternatives.push(object([("enum", Tree::List(values))]));
        } else {
            alternatives.extend(literals.into_iter().map(|literal| self.named_value(within, literal)));
        }
        let others = parts.iter().filter(|part| !matches!(part, Shape::Literal(_)));
        alternatives.extend(others.map(|part| self.shape(part, within)));
        let only_type = |schema: &Tree| match schema.members() {
            [(key, value)] if key == "type" => Some(value.clone()),
            _ => None,
        };
        let types: Option<Vec<Tree>> = alternatives.iter().map(only_type).collect();
        match (types, alternatives.len()) {
            (_, 1) => alternatives.pop().unwrap_or(Tree::Bool(false)),
            (Some(types), 2..) => object([("type", Tree::List(types))]),
            _ => object([("anyOf", Tree::List(alternatives))]),
        }
    }

    /// One value, with its name if it has one.
    fn named_value(&self, within: &str, literal: &Literal) -> Tree {
        let mut members = vec![("const".to_owned(), value(literal))];
        let title = self.source.variant(within, literal);
        members.extend(title.map(|title| ("title".to_owned(), Tree::Text(title))));
        Tree::Object(members)
    }
}
