//! A small value of a shape.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use super::json::{Json, JsonView};
use super::judge::{DEEPEST, judge};
use crate::protocol::{Protocol, Shape, ShapeIndex};

/// The longest sample, in bytes.
pub const LONGEST_SAMPLE: usize = 1 << 16;

/// A small value of a shape, as JSON: with the fields that must be there, empty texts and lists, and zeros. Of a union it is
/// an alternative that nests least. [`judge`] accepts it.
///
/// Returns `None` if there is no finite value, as of `type Endless = { next: Endless }`, or if the value would be as long
/// as [`LONGEST_SAMPLE`] or nested too deep.
pub fn sample(protocol: &Protocol, shape: &Shape) -> Option<String> {
    let heights = Heights::new(protocol);
    // A value adds at most three to the height: those of a record, a name and a union.
    heights.of(shape).filter(|height| *height <= 3 * DEEPEST)?;
    let value = Sampler { protocol, heights: &heights, left: LONGEST_SAMPLE }.value(shape)?;
    judge(protocol, shape, &&value).ok()?;
    Some(value.to_string()).filter(|text| text.len() < LONGEST_SAMPLE)
}

/// A value that is made up.
#[derive(Clone, Debug)]
enum Sample<'p> {
    Null,
    False,
    Zero,
    Text(&'p str),
    List,
    Object(Vec<(&'p str, Sample<'p>)>),
}

impl<'p> Json for &Sample<'p> {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            Sample::Null => JsonView::Null,
            Sample::False => JsonView::Bool(false),
            Sample::Zero => JsonView::Number(Cow::Borrowed("0")),
            Sample::Text(text) => JsonView::Text(Cow::Borrowed(text)),
            Sample::List => JsonView::List(Cow::Borrowed(&[])),
            Sample::Object(members) => {
                JsonView::Object(members.iter().map(|(key, value)| (Cow::Borrowed(*key), value)).collect())
            }
        }
    }
}

impl fmt::Display for Sample<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Null => formatter.write_str("null"),
            Sample::False => formatter.write_str("false"),
            Sample::Zero => formatter.write_str("0"),
            Sample::Text(text) => write_text(formatter, text),
            Sample::List => formatter.write_str("[]"),
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

struct Sampler<'p> {
    protocol: &'p Protocol,
    heights: &'p Heights,
    /// How many bytes the value may still have, roughly.
    left: usize,
}

impl<'p> Sampler<'p> {
    /// Recursion ends, because each step inside goes to a shape of a smaller height.
    fn value(&mut self, shape: &'p Shape) -> Option<Sample<'p>> {
        self.left = self.left.checked_sub(2)?;
        Some(match shape {
            Shape::Any | Shape::Null => Sample::Null,
            Shape::Bool => Sample::False,
            Shape::Int | Shape::Uint | Shape::Number => Sample::Zero,
            Shape::Text => Sample::Text(""),
            Shape::Literal(text) => Sample::Text(text),
            Shape::List(_) => Sample::List,
            Shape::Object | Shape::Map(_) => Sample::Object(Vec::new()),
            Shape::Record(record) => {
                let mut members = Vec::new();
                for field in record.fields.iter().filter(|field| field.required) {
                    self.left = self.left.checked_sub(field.name.len())?;
                    members.push((&*field.name, self.value(&field.shape)?));
                }
                Sample::Object(members)
            }
            Shape::Union(parts) => {
                let limit = self.heights.of(shape)?;
                let least = parts.iter().filter(|part| self.heights.of(part).is_some_and(|of| of < limit));
                let least: Vec<&Shape> = least.collect();
                // A later alternative may look like an earlier one that it is not.
                least.into_iter().find_map(|part| {
                    let value = self.value(part)?;
                    judge(self.protocol, shape, &&value).ok().map(|()| value)
                })?
            }
            Shape::Named(index) => {
                self.heights.named(*index)?;
                self.value(&self.protocol.shape(*index)?.shape)?
            }
        })
    }
}

/// How far the smallest value of each named shape is nested; those without a finite value have no height.
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
        match shape {
            Shape::Record(record) => {
                let required = record.fields.iter().filter(|field| field.required);
                required
                    .map(|field| self.of(&field.shape))
                    .try_fold(0, |most, height| Some(most.max(height?)))
            }
            Shape::Union(parts) => parts.iter().filter_map(|part| self.of(part)).min(),
            Shape::Named(index) => self.named(*index),
            _ => Some(0),
        }
        .map(|height| height + 1)
    }
}
