//! What the values of an enum are called in a schema, which are the names of their variants.

use std::collections::HashMap;

use mcp_protocol_compiler::parser::words::is_reserved;
use mcp_protocol_machine::protocol::Literal;

use super::item::Written;
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

    /// The name of each alternative of a union, where it has one that no other has. Next to shapes with names of their own,
    /// after which their variants are called, there is none.
    pub(super) fn of(&self, parts: &[Written]) -> Vec<Option<String>> {
        let has_own_names = |part: &Written| {
            matches!(part, Written::Named(_) | Written::Record(_) | Written::Tuple(_) | Written::Union(_))
        };
        if parts.len() < 2 || parts.iter().any(has_own_names) {
            return vec![None; parts.len()];
        }
        let names = parts.iter().map(|part| match part {
            Written::Literal(value) => (Some(by_itself(value)), self.names.get(value).cloned().flatten()),
            _ => (None, None),
        });
        let names: Vec<(Option<String>, Option<String>)> =
            names.map(|(own, said)| (own.clone(), said.filter(|said| Some(said) != own.as_ref()))).collect();
        let mut taken = HashMap::from([("Other", 1)]);
        for name in names.iter().flat_map(|(own, said)| [own, said]).flatten() {
            *taken.entry(name.as_str()).or_default() += 1;
        }
        let is_alone = |name: &&String| taken.get(name.as_str()) == Some(&1);
        names.iter().map(|(_, said)| said.as_ref().filter(is_alone).cloned()).collect()
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

/// What the variant of a value is called that has no name.
fn by_itself(value: &Literal) -> String {
    match value {
        Literal::Text(text) => pascal(text),
        Literal::Int(number) if *number < 0 => format!("Minus{}", number.unsigned_abs()),
        Literal::Int(number) => format!("V{number}"),
        Literal::Bool(value) => pascal(&value.to_string()),
    }
}
