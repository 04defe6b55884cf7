//! What the variants of a union are called.
//!
//! A variant is best called by the text that tells it apart, or by what its type's name has and those of the others have
//! not: `ContentBlock::Text(TextContent)`. A variant with the name of a type would also make rustc write that type with
//! its whole path in all messages, because it leaves out the path only of names that nothing else has.

use mcp_protocol_machine::protocol::Literal;

use crate::declarations::{Alternative, DeclaredShape, Form, ShapePart, pascal};
use crate::plan::names::snake;

/// The names of types that every Rust program has, and of those that generated code takes from the runtime.
const TAKEN: [&str; 11] =
    ["String", "Option", "Vec", "Box", "Result", "Some", "None", "Ok", "Err", "Number", "Object"];

/// A name for each alternative of a union. Two may be the same.
pub(super) fn names(shapes: &[DeclaredShape], union: usize, parts: &[Alternative]) -> Vec<String> {
    let named = |part: &Alternative| match part.form {
        Form::Named(index) => shapes.get(index),
        _ => None,
    };
    let types: Vec<&DeclaredShape> = parts.iter().filter_map(named).collect();
    let is_free = |name: &str| !TAKEN.contains(&name) && shapes.iter().all(|shape| shape.name.text != name);
    let tag = tag(&types);
    let union = shapes.get(union).map_or("", |shape| shape.name.text.as_str());
    let short = shortened(&types, union).filter(|names| names.iter().all(|name| is_free(name)));
    let mut place = 0;
    let mut name = |part: &Alternative| {
        let Some(shape) = named(part) else { return of_form(&part.form).to_owned() };
        let short = short.as_ref().and_then(|names| names.get(place)).cloned();
        place += 1;
        let tagged =
            tag.and_then(|key| literal_of(shape, key)).map(variant_of_literal).filter(|name| is_free(name));
        tagged.or(short).unwrap_or_else(|| shape.name.text.clone())
    };
    parts.iter().map(&mut name).collect()
}

/// What an alternative without a name of its own is called.
fn of_form(form: &Form) -> &'static str {
    match form {
        Form::Any => "Any",
        Form::Null => "Null",
        Form::Bool => "Bool",
        Form::Int => "Int",
        Form::Uint => "Uint",
        Form::Number => "Number",
        Form::String | Form::Literal(_) => "Text",
        Form::Object | Form::Record(_) | Form::Named(_) => "Object",
        Form::List(_) => "List",
        Form::Tuple(_) => "Tuple",
        Form::Map(_) => "Map",
        Form::Union(_) => "Value",
    }
}

/// The field or position in which each of several types has a literal of its own. `V1` says less than the name that its
/// author gave to a type, and more than a name that is made up: a field that is not a text counts where there is such a
/// name.
fn tag<'a>(types: &[&'a DeclaredShape]) -> Option<&'a str> {
    let (first, rest) = types.split_first()?;
    let made_up = types.iter().any(|shape| shape.is_inner);
    let tag_of = |shape: &'a DeclaredShape, key: &str| {
        literal_of(shape, key).filter(|literal| made_up || matches!(literal, Literal::Text(_)))
    };
    let mut keys = literals(first).into_iter().map(|(key, _)| key).filter(|key| tag_of(first, key).is_some());
    keys.find(|key| {
        let mut literals = Vec::from_iter(tag_of(first, key));
        !rest.is_empty()
            && rest.iter().all(|shape| match tag_of(shape, key) {
                Some(literal) if !literals.contains(&literal) => {
                    literals.push(literal);
                    true
                }
                _ => false,
            })
    })
}

/// The literals that a record or a tuple must have, each with the key of its field or the number of its position.
fn literals<'s>(shape: &'s DeclaredShape) -> Vec<(&'s str, &'s Literal)> {
    let literal = |part: ShapePart<'s>| match part.form {
        Form::Literal(literal) if !part.optional => Some((part.name, literal)),
        _ => None,
    };
    shape.form.parts().into_iter().filter_map(literal).collect()
}

/// The literal that a record or a tuple must have in a place.
fn literal_of<'a>(shape: &'a DeclaredShape, key: &str) -> Option<&'a Literal> {
    literals(shape).into_iter().find(|(name, _)| *name == key).map(|(_, literal)| literal)
}

/// The names of types without the words that all of them begin or end with; of a single one, without the name of the
/// union. Nothing where a name would be left without words.
fn shortened(types: &[&DeclaredShape], union: &str) -> Option<Vec<String>> {
    let words: Vec<Vec<String>> = types.iter().map(|shape| words(&shape.name.text)).collect();
    let (first, rest) = words.split_first()?;
    let (front, back) = match rest {
        [] => {
            let union = self::words(union);
            (if first.starts_with(&union) { union.len() } else { 0 }, 0)
        }
        rest => (common(first.iter(), rest, |words| words.iter()), {
            common(first.iter().rev(), rest, |words| words.iter().rev())
        }),
    };
    let short = words.iter().map(|words| {
        let left = words.get(front..words.len().checked_sub(back)?).filter(|left| !left.is_empty())?;
        Some(pascal(&left.join("_")))
    });
    short.collect()
}

/// `ResourceLink` is `resource` and `link`.
fn words(name: &str) -> Vec<String> {
    snake(name).split('_').map(str::to_owned).collect()
}

/// How many words all others have in common with the first.
fn common<'a, I: Iterator<Item = &'a String>>(
    first: I,
    rest: &'a [Vec<String>],
    order: impl Fn(&'a [String]) -> I,
) -> usize {
    let mut others: Vec<I> = rest.iter().map(|words| order(words)).collect();
    first.take_while(|word| others.iter_mut().all(|other| other.next() == Some(*word))).count()
}

/// What the variant of a literal is called that has no name: that of `1` is `V1`, of `-1` `Minus1`, of `true` `True`.
pub fn variant_of_literal(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) => of_text(text),
        Literal::Int(number) if *number < 0 => format!("Minus{}", number.unsigned_abs()),
        Literal::Int(number) => format!("V{number}"),
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
    }
}

/// A text as the name of a variant: `resource_link` is `ResourceLink`, and `2025-11-25` is `V20251125`.
fn of_text(text: &str) -> String {
    let name = pascal(text);
    match name.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_numeric() => format!("V{name}"),
        Some(_) => name,
    }
}
