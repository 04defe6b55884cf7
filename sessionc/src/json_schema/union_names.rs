//! Which of the names of its values a union can have.

use std::collections::HashMap;

use mcp_protocol_compiler::generate::variant_of_literal;

use super::item::Written;
use super::variants::VariantNames;

/// The name of each alternative of a union, where it has one that no other has. Next to shapes with names of their own,
/// after which their variants are called, there is none.
pub(super) fn names(known: &VariantNames, parts: &[Written]) -> Vec<Option<String>> {
    let has_own_names = |part: &Written| {
        matches!(part, Written::Named(_) | Written::Record(_) | Written::Tuple(_) | Written::Union(_))
    };
    if parts.len() < 2 || parts.iter().any(has_own_names) {
        return vec![None; parts.len()];
    }
    let names = parts.iter().map(|part| match part {
        Written::Literal(value) => (Some(variant_of_literal(value)), known.of(value).map(str::to_owned)),
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
