//! Shapes: every name found, every spread written out, what an `override` means by its own name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mcp_protocol_machine::protocol::Literal;

use super::placed::Placed;
use crate::ast::{self, Item, Member, Name, Payload, ShapeKind, WrittenShape};
use crate::components::components;
use crate::declarations::{
    Alternative, DeclaredShape, Field, Form, MOST_POSITIONS, Position, Record, built_in_word, pascal,
};
use crate::diagnostic::Diagnostic;
use crate::findings::shapes::{self as finding, CalledTheSame};
use crate::findings::size;
use crate::source::Span;

/// How many shapes a protocol may have.
const MOST_SHAPES: usize = 4_096;

/// How many fields a record may have, with those of its spreads. A spread of a spread has the fields of both, so that a
/// short text can stand for many.
const MOST_FIELDS: usize = 1_000;

/// How many records may stand behind one another, each with the fields of the next.
const DEEPEST: usize = 64;

/// With how many names a name is compared that none has.
const MOST_COMPARED: usize = 1_000;

/// Every shape, in the order of the text.
pub(super) fn declare(items: &[Placed<'_>], diagnostics: &mut Vec<Diagnostic>) -> Vec<DeclaredShape> {
    let mut texts: Vec<Text<'_>> = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (placed, shape) in items.iter().flat_map(|placed| placed.item.shapes().map(move |one| (placed, one)))
    {
        let name = shape.name;
        if texts.len() == MOST_SHAPES {
            diagnostics.push(size::too_many_shapes(name.span, MOST_SHAPES));
            break;
        }
        let text = Text { placed, shape };
        // Two `type` items of one name have been found before; what a payload's shape is called is known only here.
        match names.get(name.text.as_str()).and_then(|first| texts.get(*first)) {
            Some(first) if first.has_carrier_of(&text) || text.overrides_nothing() => {}
            Some(first) => {
                let (own, other) = if shape.carrier.is_some() { (&text, first) } else { (first, &text) };
                diagnostics.push(clash(own, other));
            }
            None => {
                names.insert(&name.text, texts.len());
                texts.push(text);
            }
        }
    }
    let mut forms = Forms { records: vec![Spread::Unread; texts.len()], texts, names, depth: 0, diagnostics };
    let mut all: Vec<DeclaredShape> = (0..forms.texts.len()).filter_map(|index| forms.shape(index)).collect();
    endless(&all, diagnostics);
    all.extend(built_in(items));
    all
}

/// The shapes of the language that are payloads by themselves, as in `(string)`, each once.
fn built_in(items: &[Placed<'_>]) -> Vec<DeclaredShape> {
    let mut found: Vec<DeclaredShape> = Vec::new();
    for (_, payload) in items.iter().flat_map(|placed| placed.item.payloads()) {
        let Payload::Type { path, .. } = payload else { continue };
        let word = built_in_word(&path.text);
        if !found.iter().any(|shape| shape.name.text == word) {
            found.extend(DeclaredShape::built_in(word, path.span));
        }
    }
    found
}

/// The documentation of a shape. What overrides without documentation says what changes, so that of what it overrides
/// still fits.
fn documentation(text: &Text<'_>) -> Vec<String> {
    if let Some(message) = text.shape.carrier {
        return vec![format!("What `{}` carries.", message.text)];
    }
    let placed = text.placed;
    let mut items = std::iter::once(placed.item).chain(placed.earlier.iter().rev().copied());
    items.find(|item| !item.documentation.is_empty()).map_or_else(Vec::new, |item| item.documentation.clone())
}

/// A shape in a payload that is called like another one.
fn clash(own: &Text<'_>, other: &Text<'_>) -> Diagnostic {
    let called = if other.shape.carrier.is_some() {
        CalledTheSame::InAPayload
    } else if other.placed.imported && !own.placed.imported {
        CalledTheSame::Imported
    } else {
        CalledTheSame::Declared
    };
    finding::name_of_a_payload(&own.shape.name.text, own.shape.body.span, (called, other.shape.name.span))
}

/// A shape as it is written, in a `type` item or in the payload of a message.
struct Text<'a> {
    placed: &'a Placed<'a>,
    shape: WrittenShape<'a>,
}

impl Text<'_> {
    /// Whether it is an `override type` without anything to override, which has been reported.
    fn overrides_nothing(&self) -> bool {
        self.shape.carrier.is_none() && self.placed.item.overrides.is_some() && self.placed.earlier.is_empty()
    }

    /// Whether both are payloads of messages with one name. That is reported of the messages, and their shapes have other
    /// names as soon as they have.
    fn has_carrier_of(&self, other: &Text<'_>) -> bool {
        let carrier = self.shape.carrier.zip(other.shape.carrier);
        carrier.is_some_and(|(own, other)| own.text == other.text)
    }
}

/// What is known of the fields that a record gives to those that spread it.
#[derive(Clone)]
enum Spread {
    /// It has not been looked at.
    Unread,
    /// It is being looked at.
    Open,
    /// Its form; whatever is wrong in it has been reported.
    Read(Form),
}

/// Reads the forms of all shapes.
///
/// Invariant: `records` has one entry for each of `texts`, and an entry that is read is never read again, so that
/// each mistake is reported once.
struct Forms<'a, 'd> {
    texts: Vec<Text<'a>>,
    names: HashMap<&'a str, usize>,
    records: Vec<Spread>,
    /// How many texts are being read one for another.
    depth: usize,
    diagnostics: &'d mut Vec<Diagnostic>,
}

/// What a name means that an item gives to itself.
#[derive(Clone, Copy)]
struct Own<'a> {
    name: &'a str,
    /// What the item overrides, the latest last.
    earlier: &'a [&'a Item],
}

impl<'a> Forms<'a, '_> {
    fn shape(&mut self, index: usize) -> Option<DeclaredShape> {
        let form = self.form_of(index)?;
        let text = self.texts.get(index)?;
        Some(DeclaredShape {
            name: text.shape.name.clone(),
            documentation: documentation(text),
            form,
            imported: text.placed.imported,
            is_inner: false,
        })
    }

    /// What a shape is; `None` if that is being found out.
    fn form_of(&mut self, index: usize) -> Option<Form> {
        match self.records.get(index)? {
            Spread::Read(form) => return Some(form.clone()),
            Spread::Open => return None,
            Spread::Unread => {}
        }
        self.set(index, Spread::Open);
        let text = self.texts.get(index)?;
        let own = Own { name: &text.shape.name.text, earlier: &text.placed.earlier };
        let form = self.form_of_body(text.shape.body, own);
        self.set(index, Spread::Read(form.clone()));
        Some(form)
    }

    fn set(&mut self, index: usize, state: Spread) {
        if let Some(record) = self.records.get_mut(index) {
            *record = state;
        }
    }

    fn form_of_body(&mut self, body: &'a ast::Shape, own: Own<'a>) -> Form {
        self.depth += 1;
        let form = self.top(body, own);
        self.depth -= 1;
        form
    }

    /// What an item is whose own name stands for what it overrides.
    fn overridden(&mut self, name: &Name, own: Own<'a>) -> Option<Form> {
        if name.text != own.name {
            return None;
        }
        // An earlier message of the same name need not carry a shape that is written in its payload.
        let mut bodies = own.earlier.iter().enumerate().rev();
        let (index, body) = bodies.find_map(|(index, item)| {
            let shape = item.shapes().find(|shape| shape.name.text == own.name)?;
            Some((index, shape.body))
        })?;
        if self.depth >= DEEPEST {
            self.diagnostics.push(size::records_too_deep(name.span, DEEPEST));
            return Some(Form::Any);
        }
        let earlier = own.earlier.get(..index).unwrap_or_default();
        Some(self.form_of_body(body, Own { earlier, ..own }))
    }

    /// The outermost form of an item, where its own name may stand for what it overrides.
    fn top(&mut self, shape: &'a ast::Shape, own: Own<'a>) -> Form {
        match &shape.kind {
            ShapeKind::Union(parts) => {
                let mut alternatives = Vec::new();
                for part in parts {
                    let overridden = match &part.kind {
                        ShapeKind::Named(name) => self.overridden(name, own),
                        _ => None,
                    };
                    match overridden {
                        Some(Form::Union(earlier)) => alternatives.extend(earlier),
                        Some(form) => alternatives.push(alternative(form, part)),
                        None => alternatives.push(self.alternative(part, own)),
                    }
                }
                self.union(alternatives)
            }
            ShapeKind::Named(name) => self.overridden(name, own).unwrap_or_else(|| self.named(name, own)),
            ShapeKind::Record(members) => self.record(members, shape.span, own, true),
            _ => self.form(shape, own),
        }
    }

    fn form(&mut self, shape: &'a ast::Shape, own: Own<'a>) -> Form {
        match &shape.kind {
            ShapeKind::Named(name) => self.named(name, own),
            ShapeKind::Literal(literal, variant) => {
                if let Some(name) = variant {
                    self.diagnostics.push(finding::variant_of_nothing(name, shape.span, literal));
                }
                Form::Literal(literal.clone())
            }
            ShapeKind::List(of) => Form::List(Box::new(self.form(of, own))),
            ShapeKind::Tuple(positions) => self.tuple(positions, shape.span, own),
            ShapeKind::Map(of) => Form::Map(Box::new(self.form(of, own))),
            ShapeKind::Union(parts) => {
                let parts = parts.iter().map(|part| self.alternative(part, own)).collect();
                self.union(parts)
            }
            ShapeKind::Record(members) => self.record(members, shape.span, own, false),
            ShapeKind::Missing => Form::Any,
        }
    }

    /// An alternative, with the name of its variant.
    fn alternative(&mut self, part: &'a ast::Shape, own: Own<'a>) -> Alternative {
        match &part.kind {
            ShapeKind::Literal(value @ (Literal::Int(_) | Literal::Text(_)), Some(name)) => Alternative {
                form: Form::Literal(value.clone()),
                span: part.span,
                text: crate::format::literal(value),
                variant: Some(Name::clone(name)),
            },
            _ => alternative(self.form(part, own), part),
        }
    }

    /// A union, in which no name of a variant stands twice.
    fn union(&mut self, parts: Vec<Alternative>) -> Form {
        let mut names: HashMap<String, Span> = HashMap::new();
        for name in parts.iter().filter_map(|part| part.variant.as_ref()) {
            match names.entry(pascal(&name.text)) {
                Entry::Occupied(first) => self.diagnostics.push(finding::variant_twice(name, *first.get())),
                Entry::Vacant(free) => drop(free.insert(name.span)),
            }
        }
        union(parts)
    }

    fn tuple(&mut self, written: &'a [ast::TuplePosition], span: Span, own: Own<'a>) -> Form {
        if written.len() > MOST_POSITIONS {
            self.diagnostics.push(size::too_many_positions(span, MOST_POSITIONS));
            return Form::Any;
        }
        let mut labels: HashMap<&str, Span> = HashMap::new();
        let mut positions = Vec::new();
        for (place, position) in written.iter().enumerate() {
            if let Some(label) = &position.label
                && let Some(first) = labels.insert(&label.text, label.span)
            {
                self.diagnostics.push(finding::label_twice(label.span, first, &label.text));
            }
            positions.push(Position {
                place: place.to_string(),
                label: position.label.clone(),
                span: position.span(),
                owner: own.name.to_owned(),
                documentation: position.documentation.clone(),
                presence: position.presence(),
                form: self.form(&position.shape, own),
            });
        }
        Form::Tuple(positions)
    }

    fn named(&mut self, name: &Name, own: Own<'_>) -> Form {
        if let Some(form) = Form::built_in(&name.text) {
            return form;
        }
        match self.names.get(name.text.as_str()) {
            Some(index) => Form::Named(*index),
            None => {
                self.report_undefined(name, own);
                Form::Any
            }
        }
    }

    fn report_undefined(&mut self, name: &Name, own: Own<'_>) {
        let known = self.texts.iter().map(|text| text.shape.name.text.as_str()).take(MOST_COMPARED);
        // Hardly ever is the shape itself meant.
        let known = known.filter(|known| *known != own.name);
        self.diagnostics.push(finding::undefined(name, known));
    }

    /// A record. Where it is all that its item is, the item's own name may stand for what it overrides.
    fn record(&mut self, members: &'a [Member], span: Span, own: Own<'a>, is_item: bool) -> Form {
        let mut fields = Fields::default();
        let mut rest = None;
        let mut rest_of_spread = false;
        for member in members {
            match member {
                Member::Field(field) => {
                    let read = Field {
                        name: field.name.clone(),
                        owner: own.name.to_owned(),
                        documentation: field.documentation.clone(),
                        optional: field.optional,
                        form: self.form(&field.shape, own),
                    };
                    if let Some(first) = fields.own(read) {
                        let name = &field.name;
                        self.diagnostics.push(finding::field_twice(name.span, first, &name.text));
                    }
                }
                Member::Spread { name, span } => {
                    let overridden = if is_item { self.overridden(name, own) } else { None };
                    let Some(spread) = self.spread(name, *span, overridden, own) else { continue };
                    rest_of_spread |= spread.rest;
                    spread.fields.into_iter().for_each(|field| fields.spread(field));
                }
                Member::Rest(span) => {
                    if rest.replace(*span).is_some() {
                        self.diagnostics.push(finding::rest_twice(*span));
                    }
                }
            }
        }
        let mut fields = fields.all;
        if fields.len() > MOST_FIELDS {
            self.diagnostics.push(size::too_many_fields(span, MOST_FIELDS));
            fields.truncate(MOST_FIELDS);
        }
        let fields = fields.into_iter().map(|(field, _)| field).collect();
        Form::Record(Record { fields, rest: rest.is_some() || rest_of_spread })
    }

    /// The record that a spread takes its fields from.
    fn spread(&mut self, name: &Name, span: Span, overridden: Option<Form>, own: Own<'_>) -> Option<Record> {
        let mut form = match overridden {
            Some(form) => form,
            None => self.named(name, own),
        };
        for _ in 0..DEEPEST {
            form = match form {
                Form::Record(record) => return Some(record),
                Form::Named(_) if self.depth >= DEEPEST => {
                    self.diagnostics.push(size::records_too_deep(span, DEEPEST));
                    return None;
                }
                Form::Named(index) => match self.form_of(index) {
                    Some(form) => form,
                    None => {
                        self.diagnostics.push(finding::spread_of_itself(span, &name.text));
                        return None;
                    }
                },
                // What is missing has been reported.
                Form::Any if name.text != "any" => return None,
                _ => break,
            };
        }
        self.diagnostics.push(finding::not_a_record(span, &name.text));
        None
    }
}

fn alternative(form: Form, part: &ast::Shape) -> Alternative {
    Alternative { form, span: part.span, text: crate::format::shape(part), variant: None }
}

/// A union of alternatives, in which `true` and `false` next to one another are `bool`. What stands there twice stays, to
/// be found.
fn union(mut parts: Vec<Alternative>) -> Form {
    let place = |value: bool| {
        let literal = Form::Literal(value.into());
        let mut places = parts.iter().enumerate().filter(|(_, part)| part.form == literal).map(|(at, _)| at);
        places.next().filter(|_| places.next().is_none())
    };
    if let (Some(one), Some(other)) = (place(true), place(false))
        && one.abs_diff(other) == 1
    {
        let second = parts.remove(one.max(other));
        if let Some(part) = parts.get_mut(one.min(other)) {
            let text = format!("{} | {}", part.text, second.text);
            // What is overridden may stand in another file.
            let span = if part.span.file == second.span.file { part.span.to(second.span) } else { part.span };
            *part = Alternative { form: Form::Bool, span, text, variant: None };
        }
    }
    match parts.as_slice() {
        [Alternative { form: Form::Bool, .. }] => Form::Bool,
        _ => Form::Union(parts),
    }
}

/// The fields of a record that is being read, with whether each is its own.
#[derive(Default)]
struct Fields {
    all: Vec<(Field, bool)>,
    places: HashMap<String, usize>,
}

impl Fields {
    /// Adds a field that is written here, in place of a spread one; gives where it is written already.
    fn own(&mut self, field: Field) -> Option<Span> {
        match self.at(&field) {
            Some((first, true)) => return Some(first.name.span),
            Some(spread) => *spread = (field, true),
            None => self.push(field, true),
        }
        None
    }

    /// Adds a field of another record, unless one of this record stands in its place.
    fn spread(&mut self, field: Field) {
        match self.at(&field) {
            Some((_, true)) => {}
            Some(earlier) => *earlier = (field, false),
            None => self.push(field, false),
        }
    }

    fn at(&mut self, field: &Field) -> Option<&mut (Field, bool)> {
        let place = self.places.get(&field.name.text)?;
        self.all.get_mut(*place)
    }

    fn push(&mut self, field: Field, own: bool) {
        self.places.insert(field.name.text.clone(), self.all.len());
        self.all.push((field, own));
    }
}

/// Reports the shapes of which no value can be written down: each value would contain another one of the same shape.
fn endless(shapes: &[DeclaredShape], diagnostics: &mut Vec<Diagnostic>) {
    // A shape has a value if that is clear without itself; what is known of some makes more of them clear.
    let mut has_value = vec![false; shapes.len()];
    loop {
        let mut found = false;
        for (index, shape) in shapes.iter().enumerate().rev() {
            let known = has_value.get(index).copied().unwrap_or(true);
            if !known && is_written(&shape.form, &has_value) {
                found = true;
                if let Some(known) = has_value.get_mut(index) {
                    *known = true;
                }
            }
        }
        if !found {
            break;
        }
    }
    // One that only requires another one without a value is mended with that.
    let in_itself = in_themselves(shapes, &has_value);
    let mut through_names = ShapeLoops { shapes, state: vec![Visit::Not; shapes.len()] };
    for (index, shape) in shapes.iter().enumerate() {
        if in_itself.get(index).copied().unwrap_or(false) || through_names.leads_to_itself(index) {
            diagnostics.push(finding::endless(&shape.name));
        }
    }
}

/// Of the shapes that have no value, those whose requirements lead back to them.
fn in_themselves(shapes: &[DeclaredShape], has_value: &[bool]) -> Vec<bool> {
    let required = |index: usize| {
        let shape = shapes.get(index).filter(|_| !has_value.get(index).copied().unwrap_or(true));
        shape.map(|shape| missing(&shape.form, has_value)).unwrap_or_default()
    };
    let components = components(shapes.len(), required);
    let component = |index: usize| components.get(index);
    let leads_back = |index| required(index).into_iter().any(|next| component(next) == component(index));
    (0..shapes.len()).map(leads_back).collect()
}

/// The names without a value that a form requires.
fn missing(form: &Form, has_value: &[bool]) -> Vec<usize> {
    let (mut names, mut waiting) = (Vec::new(), vec![form]);
    while let Some(form) = waiting.pop() {
        match form {
            _ if is_written(form, has_value) => {}
            Form::Named(index) => names.push(*index),
            Form::Record(record) => {
                let required = record.fields.iter().filter(|field| !field.optional);
                waiting.extend(required.map(|field| &field.form));
            }
            Form::Tuple(positions) => {
                let required = positions.iter().filter(|position| position.presence.is_required());
                waiting.extend(required.map(|position| &position.form));
            }
            Form::Union(parts) => waiting.extend(parts.iter().map(|part| &part.form)),
            _ => {}
        }
    }
    names
}

fn is_written(form: &Form, has_value: &[bool]) -> bool {
    match form {
        Form::Record(record) => {
            record.fields.iter().all(|field| field.optional || is_written(&field.form, has_value))
        }
        Form::Tuple(positions) => positions
            .iter()
            .all(|position| !position.presence.is_required() || is_written(&position.form, has_value)),
        Form::Union(parts) => parts.iter().any(|part| is_written(&part.form, has_value)),
        Form::Named(index) => has_value.get(*index).copied().unwrap_or(true),
        _ => true,
    }
}

/// Names and unions that lead back to where they begin, without a record, list, tuple or map on the way: `type A = A | string`.
struct ShapeLoops<'a> {
    shapes: &'a [DeclaredShape],
    state: Vec<Visit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    /// On the way that is being walked.
    Open,
    /// Everything behind it has been looked at.
    Done,
}

impl ShapeLoops<'_> {
    /// Whether the names behind a shape lead back to it, or to another one on the way. Walked without recursion, for
    /// the way may be as long as there are shapes.
    fn leads_to_itself(&mut self, start: usize) -> bool {
        if self.visit(start) == Visit::Done {
            return false;
        }
        let mut way = vec![(start, self.next_names(start))];
        self.set(start, Visit::Open);
        let mut found = false;
        while let Some((index, names)) = way.last_mut() {
            let Some(next) = names.pop() else {
                let index = *index;
                self.set(index, Visit::Done);
                way.pop();
                continue;
            };
            match self.visit(next) {
                Visit::Open => found = true,
                Visit::Done => {}
                Visit::Not => {
                    self.set(next, Visit::Open);
                    let names = self.next_names(next);
                    way.push((next, names));
                }
            }
        }
        found
    }

    fn visit(&self, index: usize) -> Visit {
        self.state.get(index).copied().unwrap_or(Visit::Done)
    }

    fn set(&mut self, index: usize, visit: Visit) {
        if let Some(state) = self.state.get_mut(index) {
            *state = visit;
        }
    }

    fn next_names(&self, index: usize) -> Vec<usize> {
        let mut names = Vec::new();
        let mut waiting: Vec<&Form> = self.shapes.get(index).map(|shape| &shape.form).into_iter().collect();
        while let Some(form) = waiting.pop() {
            match form {
                Form::Named(index) => names.push(*index),
                Form::Union(parts) => waiting.extend(parts.iter().map(|part| &part.form)),
                _ => {}
            }
        }
        names
    }
}
