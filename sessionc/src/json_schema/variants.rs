//! What the values of an enum are called in a schema, which are the names of their variants.

use std::collections::HashMap;

use mcp_protocol_compiler::parser::words::is_reserved;
use mcp_protocol_machine::protocol::Literal;

use super::tree::Tree;
use super::words::pascal;

/// Where generators of code look for the names of the values of an `enum`.
pub(super) const NAME_LISTS: [&str; 3] = ["x-enum-varnames", "x-enumNames", "enumNames"];

/// A title that is longer is a sentence for people, and no variant is called so.
const LONGEST: usize = 40;

/// The names of the values of an item. A value has one, or none: two that differ would leave open which is meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VariantNames {
    names: HashMap<Literal, Option<String>>,
}

impl VariantNames {
    /// Takes the names that a schema has for the values of its `enum`.
    pub(super) fn learn_enum(&mut self, schema: &Tree) {
        let names = NAME_LISTS.iter().find_map(|key| schema.get(key)).map(Tree::elements).unwrap_or_default();
        let values = schema.get("enum").map(Tree::elements).unwrap_or_default();
        for (place, value) in values.iter().enumerate() {
            self.name(value, names.get(place));
        }
    }

    /// Takes the title of an alternative that is one value. That of any other value is of its field: some generators repeat
    /// there what the field is called.
    pub(super) fn learn_alternative(&mut self, schema: &Tree) {
        if let Some(value) = schema.get("const") {
            self.name(value, schema.get("title"));
        }
    }

    /// A value may have this name. One without a name in another place may be called otherwise there.
    fn name(&mut self, value: &Tree, name: Option<&Tree>) {
        let Some(literal) = value.literal().filter(|literal| !matches!(literal, Literal::Bool(_))) else {
            return;
        };
        let name = name.and_then(Tree::as_text).and_then(variant);
        self.names
            .entry(literal)
            .and_modify(|known| *known = known.take().filter(|known| Some(known) == name.as_ref()))
            .or_insert(name);
    }

    /// The name of a value.
    pub(super) fn of(&self, value: &Literal) -> Option<&str> {
        self.names.get(value)?.as_deref()
    }
}

/// The name of a variant that a title is, if it is one: no sentence, and not in letters that Rust's style does not have.
fn variant(title: &str) -> Option<String> {
    let is_loud = !title.contains(|letter: char| letter.is_lowercase());
    let title = if is_loud { title.to_lowercase() } else { title.to_owned() };
    let is_name = title.len() <= LONGEST
        && title.is_ascii()
        && title.starts_with(|first: char| first.is_ascii_alphabetic());
    is_name.then(|| pascal(&title)).filter(|name| !is_reserved(name))
}
