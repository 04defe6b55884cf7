//! A small value of a shape.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use super::choose::{Seen, leaves};
use super::json::{Json, JsonView};
use super::judge::{DEEPEST, judge};
use crate::protocol::{Literal, Protocol, Shape, ShapeIndex};

/// The longest sample, in bytes.
pub const LONGEST_SAMPLE: usize = 1 << 16;

/// A small value of a shape, as JSON: with the fields that must be there, empty texts and lists, and zeros. Of a union it is
/// the alternative that nests least, among those whose value is not taken for another one. [`judge`] accepts it.
///
/// Returns `None` if the shape has no finite value, as in `type Endless = { next: Endless }`, or if the value would be
/// as long as [`LONGEST_SAMPLE`] or nested too deep.
pub fn sample(protocol: &Protocol, shape: &Shape) -> Option<String> {
    let value = Samples::new(protocol).of(shape)?;
    Some(value.to_string()).filter(|text| text.len() < LONGEST_SAMPLE)
}

/// Makes up small values of the shapes of one protocol.
#[derive(Debug)]
pub struct Samples<'p> {
    protocol: &'p Protocol,
    heights: Heights,
}

impl<'p> Samples<'p> {
    /// Looks at all shapes once.
    pub fn new(protocol: &'p Protocol) -> Samples<'p> {
        Samples { protocol, heights: Heights::new(protocol) }
    }

    /// A small value of a shape, as [`sample`] makes it.
    ///
    /// ```
    /// use mcp_protocol_machine::Protocol;
    /// use mcp_protocol_machine::protocol::Shape;
    /// use mcp_protocol_machine::shape::Samples;
    ///
    /// let protocol = Protocol::new("Weather".into(), Vec::new().into());
    /// let value = Samples::new(&protocol).of(&Shape::Text);
    /// assert_eq!(value.map(|value| value.to_string()).as_deref(), Some("\"\""));
    /// ```
    pub fn of(&self, shape: &Shape) -> Option<Sample> {
        // A value adds at most three to the height: those of a record, a name and a union.
        self.heights.of(shape).filter(|height| *height <= 3 * DEEPEST)?;
        let mut sampler = Sampler {
            protocol: self.protocol,
            heights: &self.heights,
            left: LONGEST_SAMPLE,
            open: Vec::new(),
        };
        let value = sampler.value(shape)?;
        judge(self.protocol, shape, &&value).ok().map(|()| value)
    }
}

/// A JSON value that is made up. Its `Display` is JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as JSON writes it.
    Number(Cow<'static, str>),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Sample>),
    /// An object, each key once.
    Object(Vec<(String, Sample)>),
}

impl From<&Literal> for Sample {
    fn from(literal: &Literal) -> Sample {
        match literal {
            Literal::Text(text) => Sample::Text(text.to_string()),
            Literal::Int(number) => Sample::Number(number.to_string().into()),
            Literal::Bool(value) => Sample::Bool(*value),
        }
    }
}

impl Json for &Sample {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            Sample::Null => JsonView::Null,
            Sample::Bool(value) => JsonView::Bool(*value),
            Sample::Number(written) => JsonView::Number(Cow::Borrowed(written)),
            Sample::Text(text) => JsonView::Text(Cow::Borrowed(text)),
            Sample::List(elements) => JsonView::List(elements.iter().collect()),
            Sample::Object(members) => JsonView::Object(
                members.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value)).collect(),
            ),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Null => formatter.write_str("null"),
            Sample::Bool(value) => write!(formatter, "{value}"),
            Sample::Number(written) => formatter.write_str(written),
            Sample::Text(text) => write_text(formatter, text),
            Sample::List(elements) => {
                formatter.write_str("[")?;
                for (place, element) in elements.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(formatter, "{comma}{element}")?;
                }
                formatter.write_str("]")
            }
            Sample::Object(members) => {
                formatter.write_str("{")?;
                for (place, (key, value)) in members.iter().enumerate() {
                    if place > 0 {
                        formatter.write_str(",")?;
                    }
                    write_text(formatter, key)?;
                    write!(formatter, ":{value}")?;
                }
                formatter.write_str("}")
            }
        }
    }
}

fn write_text(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    formatter.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(formatter, "\\{letter}")?,
            letter if letter.is_control() => write!(formatter, "\\u{:04x}", u32::from(letter))?,
            letter => write!(formatter, "{letter}")?,
        }
    }
    formatter.write_str("\"")
}

/// An object with members that rule out alternatives of a union: texts other than the values that they fix. Fields of
/// `own` are left as they are.
fn told_apart(protocol: &Protocol, union: &Shape, own: Option<&Shape>, mut value: Sample) -> Sample {
    let Sample::Object(members) = &mut value else { return value };
    let mut own_names = HashSet::new();
    if let Some(own) = own {
        leaves(protocol, own, &mut Seen::default(), &mut |leaf| {
            if let Shape::Record(record) = leaf {
                own_names.extend(record.fields.iter().map(|field| &*field.name));
            }
        });
    }
    leaves(protocol, union, &mut Seen::default(), &mut |leaf| {
        let Shape::Record(record) = leaf else { return };
        for field in record.fields.iter() {
            let is_there =
                own_names.contains(&*field.name) || members.iter().any(|(name, _)| *name == *field.name);
            if let (Some(literal), false) = (fixed(protocol, &field.shape), is_there) {
                let other = match literal {
                    Literal::Text(text) => format!("not {text}"),
                    other => format!("not {}", Sample::from(other)),
                };
                members.push((field.name.to_string(), Sample::Text(other)));
            }
        }
    });
    value
}

/// An object with the optional members of its own shape that have a value without anything in it: they may say which
/// alternative it is.
fn with_flat_members(
    protocol: &Protocol,
    own: &Shape,
    mut value: Sample,
    takes: impl Fn(&str) -> bool,
) -> Sample {
    let Sample::Object(members) = &mut value else { return value };
    leaves(protocol, own, &mut Seen::default(), &mut |leaf| {
        let Shape::Record(record) = leaf else { return };
        for field in record.fields.iter().filter(|field| takes(&field.name)) {
            let is_there = members.iter().any(|(name, _)| *name == *field.name);
            if let (Some(flat), false) = (flat(protocol, &field.shape), is_there) {
                members.push((field.name.to_string(), flat));
            }
        }
    });
    value
}

/// A value of a shape that has nothing in it, if there is one: a scalar if possible.
fn flat(protocol: &Protocol, shape: &Shape) -> Option<Sample> {
    let (mut scalar, mut empty) = (None, None);
    leaves(protocol, shape, &mut Seen::default(), &mut |leaf| {
        scalar = scalar.take().or_else(|| scalar_of(leaf));
        empty = empty.take().or_else(|| empty_of(leaf));
    });
    scalar.or(empty)
}

/// The list or the object of a shape that is empty.
fn empty_of(leaf: &Shape) -> Option<Sample> {
    match leaf {
        Shape::List(_) => Some(Sample::List(Vec::new())),
        Shape::Tuple(positions) => {
            let may_be_empty = positions.iter().all(|position| !position.presence.is_required());
            may_be_empty.then(|| Sample::List(Vec::new()))
        }
        Shape::Object | Shape::Map(_) => Some(Sample::Object(Vec::new())),
        Shape::Record(record) => {
            let may_be_empty = record.fields.iter().all(|field| !field.required);
            may_be_empty.then(|| Sample::Object(Vec::new()))
        }
        _ => None,
    }
}

/// The value of a shape that is neither a list, an object, a union nor a name.
fn scalar_of(leaf: &Shape) -> Option<Sample> {
    Some(match leaf {
        Shape::Any | Shape::Null => Sample::Null,
        Shape::Bool => Sample::Bool(false),
        Shape::Int | Shape::Uint | Shape::Number => Sample::Number(Cow::Borrowed("0")),
        Shape::Text => Sample::Text(String::new()),
        Shape::Literal(literal) => Sample::from(literal),
        _ => return None,
    })
}

/// A value of a shape that has certain ones only.
fn fixed<'p>(protocol: &'p Protocol, shape: &'p Shape) -> Option<&'p Literal> {
    let (mut literal, mut is_fixed) = (None, true);
    leaves(protocol, shape, &mut Seen::default(), &mut |leaf| match leaf {
        Shape::Literal(fixed) => literal = Some(fixed),
        _ => is_fixed = false,
    });
    literal.filter(|_| is_fixed)
}

struct Sampler<'p> {
    protocol: &'p Protocol,
    heights: &'p Heights,
    /// How many bytes the value may still have, roughly.
    left: usize,
    /// The unions of which an alternative is tried that does not nest least, or one with its optional members.
    open: Vec<&'p Shape>,
}

impl<'p> Sampler<'p> {
    /// A value of the first alternative of a union whose value is taken for it: a later alternative may look like an
    /// earlier one that it is not.
    fn first_of(&mut self, union: &'p Shape, parts: &[(usize, &'p Shape)]) -> Option<Sample> {
        let fits = |value: &Sample| judge(self.protocol, union, &value).is_ok();
        parts.iter().find_map(|(_, part)| {
            let value = self.value(part)?;
            if fits(&value) {
                return Some(value);
            }
            let named = told_apart(self.protocol, union, None, value.clone());
            if fits(&named) {
                return Some(named);
            }
            let own = with_flat_members(self.protocol, part, value.clone(), |_| true);
            let all = Some(told_apart(self.protocol, union, Some(part), own)).filter(fits);
            // Another one of them may say that it is an alternative before this one.
            all.or_else(|| self.with_one_flat_member(part, &value, fits))
        })
    }

    /// A value that fits with one of its optional members that have nothing in them.
    fn with_one_flat_member(
        &self,
        part: &Shape,
        value: &Sample,
        fits: impl Fn(&Sample) -> bool,
    ) -> Option<Sample> {
        let mut names: Vec<&str> = Vec::new();
        leaves(self.protocol, part, &mut Seen::default(), &mut |leaf| {
            if let Shape::Record(record) = leaf {
                let optional = record.fields.iter().filter(|field| !field.required);
                names.extend(optional.map(|field| &*field.name));
            }
        });
        let with = |name| with_flat_members(self.protocol, part, value.clone(), |field| field == name);
        names.into_iter().map(with).find(fits)
    }

    /// The same where only an optional member that is not empty says which alternative it is: a value with all optional
    /// members that have one.
    fn filled(&mut self, union: &'p Shape, parts: &'p [Shape]) -> Option<Sample> {
        if self.open.iter().any(|open| std::ptr::eq(*open, union)) {
            return None;
        }
        self.open.push(union);
        let found = parts.iter().find_map(|part| {
            let value = self.value(part)?;
            let own = with_flat_members(self.protocol, part, value, |_| true);
            let own = self.with_all_members(part, own);
            let value = told_apart(self.protocol, union, Some(part), own);
            Some(value).filter(|value| judge(self.protocol, union, &value).is_ok())
        });
        self.open.pop();
        found
    }

    /// An object with the optional members of its own shape that have a value.
    fn with_all_members(&mut self, own: &'p Shape, mut value: Sample) -> Sample {
        let mut fields = Vec::new();
        leaves(self.protocol, own, &mut Seen::default(), &mut |leaf| {
            if let Shape::Record(record) = leaf {
                fields.extend(record.fields.iter());
            }
        });
        let Sample::Object(members) = &mut value else { return value };
        for field in fields {
            if !members.iter().any(|(name, _)| *name == *field.name)
                && let Some(filled) = self.value(&field.shape)
            {
                members.push((field.name.to_string(), filled));
            }
        }
        value
    }

    /// The same for the alternatives that nest more than those whose values are taken for others.
    fn higher(&mut self, union: &'p Shape, mut parts: Vec<(usize, &'p Shape)>) -> Option<Sample> {
        if self.open.iter().any(|open| std::ptr::eq(*open, union)) {
            return None;
        }
        parts.sort_by_key(|(height, _)| *height);
        self.open.push(union);
        let value = self.first_of(union, &parts);
        self.open.pop();
        value
    }

    /// Recursion ends, because each step inside goes to a shape of a smaller height, but for the alternatives of a union
    /// that nest more and for its optional members, and within these the union has neither.
    fn value(&mut self, shape: &'p Shape) -> Option<Sample> {
        self.left = self.left.checked_sub(2)?;
        Some(match shape {
            Shape::Record(record) => {
                let mut members = Vec::new();
                for field in record.fields.iter().filter(|field| field.required) {
                    self.left = self.left.checked_sub(field.name.len())?;
                    members.push((field.name.to_string(), self.value(&field.shape)?));
                }
                Sample::Object(members)
            }
            Shape::Tuple(positions) => {
                let required = positions.iter().filter(|position| position.presence.is_required());
                Sample::List(required.map(|position| self.value(&position.shape)).collect::<Option<_>>()?)
            }
            Shape::Union(parts) => {
                let limit = self.heights.of(shape)?;
                let finite = parts.iter().filter_map(|part| Some((self.heights.of(part)?, part)));
                let (least, higher): (Vec<_>, Vec<_>) = finite.partition(|(height, _)| *height < limit);
                let value = self.first_of(shape, &least).or_else(|| self.higher(shape, higher));
                value.or_else(|| self.filled(shape, parts))?
            }
            Shape::Named(index) => {
                self.heights.named(*index)?;
                self.value(&self.protocol.shape(*index)?.shape)?
            }
            leaf => {
                if let Shape::Literal(Literal::Text(text)) = leaf {
                    self.left = self.left.checked_sub(text.len())?;
                }
                scalar_of(leaf).or_else(|| empty_of(leaf))?
            }
        })
    }
}

/// How far the smallest value of each named shape is nested; those without a finite value have no height.
#[derive(Debug)]
struct Heights(HashMap<ShapeIndex, usize>);

impl Heights {
    fn new(protocol: &Protocol) -> Heights {
        let mut heights = Heights(HashMap::new());
        // Each round adds the shapes that need only those of earlier rounds.
        loop {
            let mut found = Vec::new();
            for (index, named) in (0..=u16::MAX).map(ShapeIndex).zip(protocol.shapes.iter()) {
                if !heights.0.contains_key(&index)
                    && let Some(height) = heights.of(&named.shape)
                {
                    found.push((index, height + 1));
                }
            }
            if found.is_empty() {
                return heights;
            }
            heights.0.extend(found);
        }
    }

    fn named(&self, index: ShapeIndex) -> Option<usize> {
        self.0.get(&index).copied()
    }

    fn of(&self, shape: &Shape) -> Option<usize> {
        let most = |shapes: &mut dyn Iterator<Item = &Shape>| {
            shapes.map(|shape| self.of(shape)).try_fold(0, |most, height| Some(most.max(height?)))
        };
        match shape {
            Shape::Record(record) => {
                let required = record.fields.iter().filter(|field| field.required);
                most(&mut required.map(|field| &field.shape))
            }
            Shape::Tuple(positions) => {
                let required = positions.iter().filter(|position| position.presence.is_required());
                most(&mut required.map(|position| &position.shape))
            }
            Shape::Union(parts) => parts.iter().filter_map(|part| self.of(part)).min(),
            Shape::Named(index) => self.named(*index),
            _ => Some(0),
        }
        .map(|height| height + 1)
    }
}
