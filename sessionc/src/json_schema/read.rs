//! From a JSON Schema to shapes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr;

use mcp_protocol_compiler::lexer::is_word;
use mcp_protocol_compiler::parser::words::is_reserved;
use mcp_protocol_machine::protocol::{Literal, Presence};

use super::item::{Item, Written, WrittenField, WrittenPosition, WrittenRecord};
use super::meet::{Names, meet};
use super::order::order;
use super::pointer::Pointer;
use super::tree::Tree;
use super::variants::{NAME_LISTS, VariantNames};
use super::words::pascal;

/// Keywords that say nothing of values.
const ANNOTATIONS: [&str; 20] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "$vocabulary",
    "$anchor",
    "$dynamicAnchor",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// Keywords that shapes can say, or that are noted where they are read.
const READ: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "$ref",
    "const",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
];

/// Keywords that say something of objects, of lists, and of numbers alone.
const OF_OBJECTS: [&str; 3] = ["properties", "required", "additionalProperties"];
const OF_LISTS: [&str; 2] = ["items", "prefixItems"];
const OF_TUPLES: [&str; 4] = ["prefixItems", "additionalItems", "minItems", "maxItems"];
const BOUNDS: [&str; 2] = ["minimum", "maximum"];

/// How many fields of records that are put together are read, in all and within one another.
const MOST_FIELDS: usize = 10_000;
const DEEPEST: usize = 2;

/// The shapes of a schema: of its `$defs` or `definitions`, and of itself, under its title or else under `name`.
pub(crate) fn read(schema: &Tree, name: &str) -> Vec<Item> {
    let mut reader = SchemaReader::new(schema);
    let says_something = schema.members().iter().any(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
    if says_something || !matches!(schema, Tree::Object(_)) {
        let title = schema.get("title").and_then(Tree::as_text).unwrap_or(name);
        reader.name_for(&Pointer::default(), title);
    }
    for group in ["$defs", "definitions"] {
        for (key, _) in schema.get(group).map(Tree::members).unwrap_or_default() {
            reader.name_for(&Pointer::to(&[group, key]), key);
        }
    }
    let mut items = Vec::new();
    while let Some((pointer, name)) = reader.waiting.pop_front() {
        items.extend(reader.item(&pointer, name));
    }
    order(&mut items);
    items
}

struct SchemaReader<'s> {
    root: &'s Tree,
    /// The name of each place that has one, by its pointer.
    names: BTreeMap<Pointer, String>,
    used: BTreeSet<String>,
    /// The places whose shapes are still to be read.
    waiting: VecDeque<(Pointer, String)>,
    /// The names of the values in the schema at hand.
    variants: VariantNames,
    /// What the schema at hand says and its shape does not.
    unsaid: Vec<String>,
    /// The place at hand in its item, `content.text`.
    place: Vec<String>,
    /// The fields of other records that are being read, each with the name of its record.
    fields: Vec<(String, String)>,
    /// How many may still be read.
    fields_left: usize,
}

impl<'s> SchemaReader<'s> {
    fn new(root: &'s Tree) -> SchemaReader<'s> {
        SchemaReader {
            root,
            names: BTreeMap::new(),
            used: BTreeSet::new(),
            waiting: VecDeque::new(),
            variants: VariantNames::default(),
            unsaid: Vec::new(),
            place: Vec::new(),
            fields: Vec::new(),
            fields_left: MOST_FIELDS,
        }
    }

    /// The name of the shape at a pointer, which is read if it has none yet.
    fn name_for(&mut self, pointer: &Pointer, wanted: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let mut wanted = pascal(wanted);
        if is_reserved(&wanted) {
            wanted.insert_str(0, "My");
        }
        let mut name = wanted.clone();
        for number in 2.. {
            if self.used.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}{number}");
        }
        self.names.insert(pointer.clone(), name.clone());
        self.waiting.push_back((pointer.clone(), name.clone()));
        name
    }

    fn item(&mut self, pointer: &Pointer, name: String) -> Option<Item> {
        let schema = pointer.find(self.root)?;
        let shape = self.shape(schema);
        Some(Item {
            name,
            documentation: lines(schema),
            shape,
            variants: std::mem::take(&mut self.variants),
            unsaid: std::mem::take(&mut self.unsaid),
        })
    }

    /// Notes what the shape does not say.
    fn leave_out(&mut self, what: &str) {
        let place = match self.place.is_empty() {
            true => String::new(),
            false => format!(" of `{}`", self.place.join(".")),
        };
        let note = format!("`{what}`{place}");
        if !self.unsaid.contains(&note) {
            self.unsaid.push(note);
        }
    }

    /// The shape of a schema that stands at a place of another one.
    fn inside(&mut self, place: &str, schema: &'s Tree) -> Written {
        self.place.push(place.to_owned());
        let shape = self.shape(schema);
        self.place.pop();
        shape
    }

    fn shape(&mut self, schema: &'s Tree) -> Written {
        match schema {
            Tree::Bool(true) => return Written::Any,
            Tree::Object(_) => {}
            _ => {
                self.leave_out("false");
                return Written::Any;
            }
        }
        let mut parts = vec![self.by_type(schema)];
        if let Some(target) = schema.get("$ref").and_then(Tree::as_text) {
            parts.push(self.reference(target));
        }
        if let Some(value) = schema.get("const") {
            parts.push(self.value(value));
        }
        if let Some(values) = schema.get("enum") {
            self.variants.learn_enum(schema);
            let values = values.elements().iter().map(|value| self.value(value)).collect();
            parts.push(Written::union(values));
        }
        for part in schema.get("allOf").map(Tree::elements).unwrap_or_default() {
            parts.push(self.shape(part));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(alternatives) = schema.get(keyword) {
                alternatives.elements().iter().for_each(|part| self.variants.learn_alternative(part));
                let alternatives = alternatives.elements().iter().map(|part| self.shape(part)).collect();
                parts.push(Written::union(alternatives));
            }
        }
        for (key, value) in schema.members() {
            let is_said = (BOUNDS.contains(&key.as_str()) && is_bounded_as_said(schema))
                || (key == "propertyNames" && is_any_text(value))
                || (NAME_LISTS.contains(&key.as_str()) && schema.get("enum").is_some())
                || (OF_TUPLES.contains(&key.as_str()) && TupleSchema::says(schema, key));
            if !is_said && !ANNOTATIONS.contains(&key.as_str()) && !READ.contains(&key.as_str()) {
                self.leave_out(key);
            }
        }
        parts.into_iter().fold(Written::Any, |one, other| match meet(self, one, other) {
            Ok(both) => both,
            Err(wider) => {
                self.leave_out("allOf");
                wider
            }
        })
    }

    /// What `type` says, and the keywords that belong to one type.
    fn by_type(&mut self, schema: &'s Tree) -> Written {
        let types: Vec<&str> = match schema.get("type") {
            Some(Tree::Text(name)) => vec![name],
            Some(names) => names.elements().iter().filter_map(Tree::as_text).collect(),
            // Without a type they say nothing of values of other types; who writes them means the one.
            None if OF_OBJECTS.iter().any(|key| schema.get(key).is_some()) => vec!["object"],
            None if OF_LISTS.iter().any(|key| schema.get(key).is_some()) => vec!["array"],
            None => return Written::Any,
        };
        let shapes = types.into_iter().map(|name| match name {
            "null" => Written::Null,
            "boolean" => Written::Bool,
            "integer" => match schema.get("minimum") {
                Some(Tree::Number(least)) if !least.starts_with('-') => Written::Uint,
                _ => Written::Int,
            },
            "number" => Written::Number,
            "string" => Written::String,
            "array" => self.array(schema),
            "object" => self.object(schema),
            other => {
                self.leave_out(other);
                Written::Any
            }
        });
        let shapes: Vec<Written> = shapes.collect();
        Written::union(shapes)
    }

    fn array(&mut self, schema: &'s Tree) -> Written {
        if let Some(tuple) = TupleSchema::of(schema) {
            return self.tuple(&tuple);
        }
        let items = match schema.get("items") {
            Some(Tree::List(_)) => {
                self.leave_out("items");
                None
            }
            items => items,
        };
        Written::List(Box::new(items.map_or(Written::Any, |items| self.inside("items", items))))
    }

    fn tuple(&mut self, tuple: &TupleSchema<'s>) -> Written {
        let title = |position: &Tree| {
            position.get("title")?.as_text().filter(|text| is_word(text)).map(str::to_owned)
        };
        let mut titles: Vec<Option<String>> = tuple.positions.iter().map(title).collect();
        // A rest without a title has a label where the others have one.
        titles.extend(tuple.rest.map(|rest| title(rest).or_else(|| Some("rest".to_owned()))));
        let different: BTreeSet<&String> = titles.iter().flatten().collect();
        let are_labels = different.len() == titles.len();
        let all = tuple.positions.iter().chain(tuple.rest).zip(titles).enumerate();
        let written = all.map(|(place, (position, title))| {
            let label = title.filter(|_| are_labels);
            let presence = match place {
                place if place == tuple.positions.len() => Presence::Rest,
                place if place < tuple.least => Presence::Required,
                _ => Presence::Optional,
            };
            let shape = self.inside(label.as_ref().unwrap_or(&place.to_string()), position);
            let documentation = if label.is_some() { lines(position) } else { Vec::new() };
            WrittenPosition { label, documentation, presence, shape }
        });
        Written::Tuple(written.collect())
    }

    fn object(&mut self, schema: &'s Tree) -> Written {
        let required: Vec<&str> = match schema.get("required") {
            Some(names) => names.elements().iter().filter_map(Tree::as_text).collect(),
            None => Vec::new(),
        };
        let mut fields: Vec<WrittenField> = Vec::new();
        for (name, property) in schema.get("properties").map(Tree::members).unwrap_or_default() {
            let shape = self.inside(name, property);
            fields.push(WrittenField {
                name: name.clone(),
                documentation: lines(property),
                required: required.contains(&name.as_str()),
                shape,
            });
        }
        for name in required {
            if !fields.iter().any(|field| field.name == name) {
                fields.push(WrittenField {
                    name: name.to_owned(),
                    documentation: Vec::new(),
                    required: true,
                    shape: Written::Any,
                });
            }
        }
        let mut rest = false;
        match schema.get("additionalProperties") {
            None => {}
            Some(Tree::Bool(true)) => rest = true,
            Some(Tree::Object(members)) if members.is_empty() => rest = true,
            Some(Tree::Bool(false)) => self.leave_out("additionalProperties"),
            Some(values) => {
                if fields.is_empty() && schema.get("patternProperties").is_none() {
                    return Written::Map(Box::new(self.inside("additionalProperties", values)));
                }
                rest = true;
                self.leave_out("additionalProperties");
            }
        }
        match fields.is_empty() && schema.get("properties").is_none() {
            true => Written::Object,
            false => Written::Record(WrittenRecord { spreads: Vec::new(), fields, rest }),
        }
    }

    /// The shape of one value.
    fn value(&mut self, value: &Tree) -> Written {
        let (shape, is_said) = match value {
            Tree::Null => (Written::Null, true),
            Tree::Text(_) | Tree::Bool(_) | Tree::Number(_) => match value.literal() {
                Some(literal) => (Written::Literal(literal), true),
                None => (Written::Number, false),
            },
            Tree::List(elements) => {
                let positions = elements
                    .iter()
                    .map(|element| WrittenPosition::unlabelled(Presence::Required, self.value(element)));
                (Written::Tuple(positions.collect()), true)
            }
            Tree::Object(_) => (Written::Object, false),
        };
        if !is_said {
            self.leave_out("const");
        }
        shape
    }

    fn reference(&mut self, target: &str) -> Written {
        let pointer = Pointer::of_reference(target);
        match pointer.filter(|pointer| pointer.find(self.root).is_some()) {
            Some(pointer) => Written::Named(self.name_for(&pointer, pointer.last().unwrap_or("Root"))),
            None => {
                self.leave_out(&format!("$ref {target}"));
                Written::Any
            }
        }
    }

    fn place_of(&self, name: &str) -> Option<&'s Tree> {
        let (pointer, _) = self.names.iter().find(|(_, known)| *known == name)?;
        pointer.find(self.root)
    }

    /// Whether a schema is an object and nothing else.
    fn is_object(&self, schema: &'s Tree) -> bool {
        let has_alternatives = |schema: &Tree| ["anyOf", "oneOf"].iter().any(|key| schema.get(key).is_some());
        self.parts(schema, has_alternatives).into_iter().any(|part| {
            let is_typed = part.get("type").map_or_else(
                || OF_OBJECTS.iter().any(|key| part.get(key).is_some()),
                |kind| kind.as_text() == Some("object"),
            );
            is_typed && (part.get("properties").is_some() || part.get("required").is_some())
        })
    }

    /// A schema and those that it is put together of, each once, but those that are left out.
    fn parts(&self, schema: &'s Tree, leaves_out: impl Fn(&Tree) -> bool) -> Vec<&'s Tree> {
        let mut parts: Vec<&Tree> = Vec::new();
        let mut waiting = vec![schema];
        while let Some(part) = waiting.pop() {
            if leaves_out(part) || parts.iter().any(|known| ptr::eq(*known, part)) {
                continue;
            }
            parts.push(part);
            waiting.extend(part.get("allOf").map(Tree::elements).unwrap_or_default().iter().rev());
            let target = part.get("$ref").and_then(Tree::as_text).and_then(Pointer::of_reference);
            waiting.extend(target.and_then(|target| target.find(self.root)));
        }
        parts
    }
}

impl Names for SchemaReader<'_> {
    fn is_record(&self, name: &str) -> bool {
        self.place_of(name).is_some_and(|schema| self.is_object(schema))
    }

    fn fields(&self, name: &str) -> Vec<String> {
        let parts = self.place_of(name).map(|schema| self.parts(schema, |_| false)).unwrap_or_default();
        let properties = parts.into_iter().filter_map(|part| part.get("properties"));
        let mut names: Vec<String> = Vec::new();
        for (name, _) in properties.flat_map(Tree::members) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn field(&mut self, name: &str, field: &str) -> Option<(Written, bool)> {
        let parts = self.parts(self.place_of(name)?, |_| false);
        let property = parts.iter().find_map(|part| part.get("properties")?.get(field))?;
        let requires = |part: &&Tree| {
            let names = part.get("required").map(Tree::elements).unwrap_or_default();
            names.iter().any(|name| name.as_text() == Some(field))
        };
        let required = parts.iter().any(requires);
        let at_hand = (name.to_owned(), field.to_owned());
        // A field may have the record itself within it, together with others.
        if self.fields.len() == DEEPEST || self.fields_left == 0 || self.fields.contains(&at_hand) {
            self.leave_out("allOf");
            return None;
        }
        self.fields_left -= 1;
        self.fields.push(at_hand);
        let shape = self.inside(field, property);
        self.fields.pop();
        Some((shape, required))
    }
}

/// The positions of a list, and its other elements.
struct TupleSchema<'s> {
    positions: &'s [Tree],
    /// How many of them must be there.
    least: usize,
    /// What stands behind them, if something may.
    rest: Option<&'s Tree>,
}

impl<'s> TupleSchema<'s> {
    /// What a schema of lists says of their positions, if it has some or permits no elements.
    fn of(schema: &'s Tree) -> Option<TupleSchema<'s>> {
        // Older drafts have the positions in `items`.
        let (positions, others) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(positions), others) => (positions.elements(), others),
            (None, Some(Tree::List(positions))) => (positions.as_slice(), schema.get("additionalItems")),
            (None, others) => (&[][..], others),
        };
        let most = number(schema, "maxItems").filter(|most| *most <= positions.len());
        let rest = match others {
            _ if most.is_some() => None,
            Some(Tree::Bool(false)) => None,
            others => Some(others.unwrap_or(&Tree::Bool(true))),
        };
        if rest.is_some() && positions.is_empty() {
            return None;
        }
        let positions = positions.get(..most.unwrap_or(positions.len())).unwrap_or(positions);
        let least = number(schema, "minItems").unwrap_or(0).min(positions.len());
        Some(TupleSchema { positions, least, rest })
    }

    /// Whether a keyword of a schema is in its tuple.
    fn says(schema: &Tree, key: &str) -> bool {
        let has_lists = match schema.get("type") {
            Some(Tree::Text(name)) => name == "array",
            Some(names) => names.elements().iter().any(|name| name.as_text() == Some("array")),
            None => OF_LISTS.iter().any(|key| schema.get(key).is_some()),
        };
        let Some(tuple) = TupleSchema::of(schema).filter(|_| has_lists) else { return false };
        match key {
            "minItems" => number(schema, key).is_some_and(|least| least <= tuple.positions.len()),
            "maxItems" => tuple.rest.is_none(),
            _ => true,
        }
    }
}

/// A number of elements in a schema.
fn number(schema: &Tree, key: &str) -> Option<usize> {
    match schema.get(key)?.literal()? {
        Literal::Int(whole) => usize::try_from(whole).ok(),
        _ => None,
    }
}

/// Whether the bounds of a schema are those that its shape has by itself.
fn is_bounded_as_said(schema: &Tree) -> bool {
    let number = |key: &str| match schema.get(key) {
        Some(Tree::Number(written)) => Some(written.clone()),
        _ => None,
    };
    let signed = (Some(i64::MIN.to_string()), Some(i64::MAX.to_string()));
    let is_integer = schema.get("type").and_then(Tree::as_text) == Some("integer");
    match (number("minimum"), number("maximum")) {
        (Some(least), most) if least == "0" => {
            most.is_none_or(|most| most == u64::MAX.to_string()) && is_integer
        }
        bounds => bounds == signed && is_integer,
    }
}

/// Whether a schema accepts every text, as each name of a member is one.
fn is_any_text(schema: &Tree) -> bool {
    let is_said = |(key, value): &(String, Tree)| match key.as_str() {
        "type" => value.as_text() == Some("string"),
        other => ANNOTATIONS.contains(&other),
    };
    match schema {
        Tree::Bool(accepts) => *accepts,
        Tree::Object(members) => members.iter().all(is_said),
        _ => false,
    }
}

/// The description of a schema, line by line.
fn lines(schema: &Tree) -> Vec<String> {
    let text = schema.get("description").and_then(Tree::as_text).unwrap_or_default();
    text.trim().lines().map(|line| line.trim_end().replace(char::is_control, " ")).collect()
}
