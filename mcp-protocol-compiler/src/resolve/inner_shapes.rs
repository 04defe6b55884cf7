//! Gives the records, unions and tuples that stand inside other shapes names of their own, for each is a type in Rust.
//!
//! Afterwards a record or a union stands only where a `type` item has it, with two exceptions: a union of something
//! with `null` stays where it is, since that is an `Option`. A tuple that is one in Rust stays as well.

use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::protocol::Literal;

use crate::ast::Name;
use crate::declarations::{Alternative, DeclaredShape, Field, Form, Position, Record, is_struct, pascal};
use crate::source::Span;

/// Names all of them; the new shapes stand behind the declared ones.
pub(super) fn name(declared: Vec<DeclaredShape>) -> Vec<DeclaredShape> {
    let taken = declared.iter().map(|shape| shape.name.text.clone()).collect();
    let mut inner = Inner { declared: declared.len(), taken, known: HashMap::new(), added: Vec::new() };
    let mut all: Vec<DeclaredShape> = declared.into_iter().map(|shape| inner.shape(shape, false)).collect();
    all.append(&mut inner.added);
    all
}

/// Where a shape without a name stands.
struct Site {
    /// The declared shape around it.
    owner: String,
    /// What its name ends in.
    part: String,
    /// The field or alternative that is written there: one that came by a spread is the same everywhere.
    span: Span,
    imported: bool,
}

struct Inner {
    /// How many shapes have a name from the beginning.
    declared: usize,
    taken: HashSet<String>,
    /// The number of the shape that a place has got.
    known: HashMap<Span, usize>,
    added: Vec<DeclaredShape>,
}

impl Inner {
    fn shape(&mut self, mut shape: DeclaredShape, is_inner: bool) -> DeclaredShape {
        let (owner, imported) = (shape.name.text.clone(), shape.imported);
        let part =
            |part: &str, span: Span| Site { owner: owner.clone(), part: part.to_owned(), span, imported };
        shape.form = match shape.form {
            Form::Record(mut record) => {
                for field in &mut record.fields {
                    let form = std::mem::replace(&mut field.form, Form::Any);
                    let mut site = part(&part_name(&field.name.text), field.name.span);
                    // Deeper inside, what stands around it has got a name.
                    if !is_inner {
                        site.owner.clone_from(&field.owner);
                    }
                    // A literal that is always there needs no field.
                    field.form = match form {
                        Form::Literal(_) if !field.optional => form,
                        form => self.inside(form, &site),
                    };
                }
                Form::Record(record)
            }
            Form::Tuple(positions) => {
                let positions = positions.into_iter().map(|position| {
                    let mut site = part(&of_position(&position), position.span);
                    if !is_inner {
                        site.owner.clone_from(&position.owner);
                    }
                    self.position(position, &site)
                });
                Form::Tuple(positions.collect())
            }
            Form::Literal(_) => Form::Union(vec![only(shape.form, shape.name.span)]),
            Form::Union(parts) if parts.iter().any(|part| part.form == Form::Null) => {
                self.union(parts, &part("Value", shape.name.span))
            }
            Form::Union(parts) => {
                let names = names_of_alternatives(&parts);
                let parts = parts.into_iter().zip(names).map(|(mut part_of, name)| {
                    let site = part(&name, part_of.span);
                    let form = match std::mem::replace(&mut part_of.form, Form::Any) {
                        form @ Form::Literal(_) => form,
                        form => self.inside(form, &site),
                    };
                    Alternative { form, ..part_of }
                });
                Form::Union(parts.collect())
            }
            form => self.inside(form, &part("Item", shape.name.span)),
        };
        shape
    }

    /// A form inside of another one.
    fn inside(&mut self, form: Form, site: &Site) -> Form {
        match form {
            Form::List(of) => Form::List(Box::new(self.inside(*of, site))),
            Form::Map(of) => Form::Map(Box::new(self.inside(*of, site))),
            Form::Union(parts) => self.union(parts, site),
            Form::Tuple(positions) if !is_struct(&positions) => {
                let positions = positions.into_iter().map(|position| {
                    let part = format!("{}{}", site.part, of_position(&position));
                    let site = Site { part, span: position.span, owner: site.owner.clone(), ..*site };
                    self.position(position, &site)
                });
                Form::Tuple(positions.collect())
            }
            Form::Record(_) | Form::Tuple(_) => self.named(form, site),
            Form::Literal(_) => self.named(Form::Union(vec![only(form, site.span)]), site),
            other => other,
        }
    }

    /// A position, in which a literal that is always there stays where it is.
    fn position(&mut self, mut position: Position, site: &Site) -> Position {
        position.form = match position.form {
            Form::Literal(_) if position.presence.is_required() => position.form,
            form => self.inside(form, site),
        };
        position
    }

    /// A union inside of another form: `null` stays next to what is named.
    fn union(&mut self, parts: Vec<Alternative>, site: &Site) -> Form {
        let (nulls, mut others): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.form == Form::Null);
        if nulls.is_empty() {
            return self.named(Form::Union(others), site);
        }
        let value = match (others.len(), others.pop()) {
            (_, None) => None,
            (1, Some(mut value)) => {
                let form = std::mem::replace(&mut value.form, Form::Any);
                value.form = self.inside(form, site);
                Some(value)
            }
            (_, Some(last)) => {
                others.push(last);
                Some(only(self.named(Form::Union(others), site), site.span))
            }
        };
        Form::Union(value.into_iter().chain(nulls).collect())
    }

    /// The name of a form in its place.
    fn named(&mut self, form: Form, site: &Site) -> Form {
        if let Some(index) = self.known.get(&site.span) {
            return Form::Named(*index);
        }
        let mut text = format!("{}{}", site.owner, site.part);
        for number in 2.. {
            if self.taken.insert(text.clone()) {
                break;
            }
            text = format!("{}{}{number}", site.owner, site.part);
        }
        let index = self.declared + self.added.len();
        self.known.insert(site.span, index);
        let shape = DeclaredShape {
            name: Name { text, span: site.span },
            documentation: vec![format!("Stands in [`{}`].", site.owner)],
            form: Form::Any,
            imported: site.imported,
            is_inner: true,
        };
        self.added.push(shape.clone());
        let shape = self.shape(DeclaredShape { form, ..shape }, true);
        if let Some(place) = self.added.get_mut(index - self.declared) {
            *place = shape;
        }
        Form::Named(index)
    }
}

/// What the names of alternatives end in that have none. Several records are called by what tells them apart: by a
/// field that is a literal in each of them, or else by the first field that only this one requires.
fn names_of_alternatives(parts: &[Alternative]) -> Vec<String> {
    let records: Vec<Option<&Record>> = parts
        .iter()
        .map(|part| match &part.form {
            Form::Record(record) => Some(record),
            _ => None,
        })
        .collect();
    let number = records.iter().flatten().count();
    // How many of them require a field, and as which literals, each once.
    let mut required: HashMap<&str, usize> = HashMap::new();
    let mut literals: HashMap<&str, HashSet<String>> = HashMap::new();
    for field in records.iter().flatten().flat_map(|record| required_fields(record)) {
        *required.entry(&field.name.text).or_default() += 1;
        if let Some(literal) = literal_of(field) {
            literals.entry(&field.name.text).or_default().insert(literal);
        }
    }
    let apart = |record: &Record| {
        let tells = required_fields(record).find_map(|field| {
            let tells_all = literals.get(field.name.text.as_str()).is_some_and(|all| all.len() == number);
            literal_of(field).filter(|_| tells_all)
        });
        let own = |field: &&Field| required.get(field.name.text.as_str()) == Some(&1);
        tells.or_else(|| required_fields(record).find(own).map(|field| part_name(&field.name.text)))
    };
    let place =
        |index: usize| if parts.len() > 2 { format!("Part{}", index + 1) } else { "Value".to_owned() };
    let named = records
        .iter()
        .enumerate()
        .map(|(index, record)| record.filter(|_| number > 1).and_then(apart).unwrap_or_else(|| place(index)));
    named.collect()
}

fn required_fields(record: &Record) -> impl Iterator<Item = &Field> {
    record.fields.iter().filter(|field| !field.optional)
}

/// What a name ends in that says the literal that a field is.
fn literal_of(field: &Field) -> Option<String> {
    match &field.form {
        Form::Literal(literal) => Some(name_of_literal(literal)).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// What a name ends in that says a literal.
fn name_of_literal(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) => pascal(text),
        Literal::Bool(value) => pascal(&value.to_string()),
        Literal::Int(number) if *number < 0 => format!("Minus{}", number.unsigned_abs()),
        Literal::Int(number) => number.to_string(),
    }
}

/// An alternative that is not written as one.
fn only(form: Form, span: Span) -> Alternative {
    Alternative { form, span, text: String::new(), variant: None }
}

/// What the name of a shape ends in that stands in a position of a tuple.
fn of_position(position: &Position) -> String {
    match (&position.label, position.place.parse::<usize>()) {
        (Some(label), _) => part_name(&label.text),
        (None, _) if position.presence.is_rest() => "Rest".to_owned(),
        (None, Ok(place)) => format!("Part{}", place + 1),
        (None, Err(_)) => "Part".to_owned(),
    }
}

/// What the name of a shape ends in that stands in a field: `mimeType` is `MimeType`, and `_meta` is `Meta`.
fn part_name(key: &str) -> String {
    Some(pascal(key)).filter(|name| !name.is_empty()).unwrap_or_else(|| "Value".to_owned())
}
