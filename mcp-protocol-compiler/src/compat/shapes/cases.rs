//! The objects and lists that a sender may write, as far as they differ in which alternative of the receiver they are.
//!
//! Which alternative an object is depends on the literals in the fields that tell records apart, and on which required
//! fields are there; that of a list also depends on its length. So the objects of one shape fall into cases, and in each
//! case the receiver chooses one alternative. So does the sender's own judge, which may read a case as an alternative
//! before this shape.

use std::collections::{BTreeMap, HashSet};

use mcp_protocol_machine::protocol::Literal;

use super::alternatives::Alternatives;
use super::leaves::{leaves, record, takes_scalar};
use super::objects::{Case, Objects, Written, is_there};
use crate::declarations::{DeclaredShape, Form};

/// How many cases of one shape are looked at.
const MOST_CASES: usize = 4_096;

/// There are more cases than are looked at.
pub(super) struct TooManyCases;

/// Who chooses what an object, or a list, of one leaf of the sender is.
pub(super) struct Choosers<'l, 'a> {
    /// The sender's alternatives that come before the leaf.
    pub(super) before: Alternatives<'a>,
    pub(super) receiver: &'l Alternatives<'a>,
}

impl<'a> Choosers<'_, 'a> {
    /// The literals that tell alternatives apart in a field, each with a form that says so.
    pub(super) fn literals(&self, name: &str) -> BTreeMap<&'a Literal, &'a Form> {
        let of_both = [&self.receiver.all_literals, &self.before.all_literals];
        of_both.into_iter().filter_map(|all| all.get(name)).flatten().map(|(l, form)| (*l, *form)).collect()
    }
}

/// The sender's alternatives before a leaf that an object or a list of the leaf may be read as. The others need what the
/// leaf never has.
pub(super) fn before<'a>(alternatives: &[&'a Form], leaf: &Form, objects: &Objects<'a>) -> Vec<&'a Form> {
    let place = alternatives.iter().position(|alternative| std::ptr::eq(*alternative, leaf));
    let may_be_it = |alternative: &&Form| {
        let mut required = alternative.parts().into_iter().filter(|part| !part.optional);
        let is_of_kind = match objects.are_lists {
            true => matches!(alternative, Form::Any | Form::List(_) | Form::Tuple(_)),
            false => matches!(alternative, Form::Any | Form::Object | Form::Map(_) | Form::Record(_)),
        };
        is_of_kind && required.all(|part| objects.field(part.name).is_some())
    };
    alternatives.iter().take(place.unwrap_or_default()).copied().filter(may_be_it).collect()
}

/// One case of a sender's objects, or of its lists.
pub(super) struct ChosenCase<'a> {
    pub(super) case: Case<'a>,
    /// The sender's own judge does not read it as an alternative before this shape.
    pub(super) is_own: bool,
    /// The alternative that the receiver chooses, if it chooses one.
    pub(super) chosen: Option<&'a Form>,
}

/// The cases of a sender's objects.
pub(super) fn cases<'a>(
    (sender_shapes, objects): (&'a [DeclaredShape], &Objects<'a>),
    choosers: &Choosers<'_, 'a>,
) -> Result<Vec<ChosenCase<'a>>, TooManyCases> {
    let receiver = choosers.receiver;
    let mut found = Vec::new();
    for by_literal in product(&by_literals(sender_shapes, objects, choosers))? {
        let possible = receiver.possible(objects, &by_literal);
        let before = choosers.before.possible(objects, &by_literal);
        let mut present = Vec::new();
        for record in possible.iter().chain(&before).filter_map(|leaf| record(leaf)) {
            for field in record.fields.iter().filter(|field| !field.optional) {
                let name = field.name.text.as_str();
                let Some(sent) = objects.field(name).filter(|sent| sent.optional) else { continue };
                if !by_literal.contains_key(name) && present.iter().all(|(known, _)| *known != sent.name) {
                    let there = Written::Other(leaves(sender_shapes, sent.form));
                    present.push((sent.name, vec![Written::Absent, there]));
                }
            }
        }
        for more in product(&present)? {
            let mut case = by_literal.clone();
            case.extend(more);
            let is_own = !before.iter().any(|leaf| is_complete(leaf, objects, &case));
            // A record alone, not in a union, is not chosen: what is wrong in it is found in its fields.
            let chosen = match (receiver.leaves.as_slice(), objects.are_lists) {
                ([only @ Form::Record(_)], false) | ([only @ Form::Tuple(_)], true) => Some(*only),
                _ => chosen(&possible, objects, &case),
            };
            found.push(ChosenCase { case, is_own, chosen });
            if found.len() > MOST_CASES {
                return Err(TooManyCases);
            }
        }
    }
    Ok(found)
}

/// The fields whose literals tell alternatives apart, with all that the sender may write there.
fn by_literals<'a>(
    sender_shapes: &'a [DeclaredShape],
    objects: &Objects<'a>,
    choosers: &Choosers<'_, 'a>,
) -> Vec<(&'a str, Vec<Written<'a>>)> {
    let mut found = Vec::new();
    for sent in &objects.fields {
        let literals = choosers.literals(sent.name);
        if literals.is_empty() {
            continue;
        }
        let mut ways: Vec<Written<'a>> = Vec::new();
        let (mut others, mut known) = (Vec::new(), HashSet::new());
        let mut add = |literal: &'a Literal, leaf: &'a Form| {
            if known.insert(literal) {
                ways.push(Written::Literal(literal, leaf));
            }
        };
        for leaf in leaves(sender_shapes, sent.form) {
            match leaf {
                Form::Literal(literal) => add(literal, leaf),
                leaf => {
                    let taken = literals.iter().filter(|(_, of_literal)| takes_scalar(leaf, of_literal));
                    taken.for_each(|(literal, of_literal)| add(literal, of_literal));
                    others.push(leaf);
                }
            }
        }
        if !others.is_empty() {
            ways.push(Written::Other(others));
        }
        if sent.optional {
            ways.push(Written::Absent);
        }
        found.push((sent.name, ways));
    }
    found
}

/// Every combination of what may be written in several fields.
fn product<'a>(fields: &[(&'a str, Vec<Written<'a>>)]) -> Result<Vec<Case<'a>>, TooManyCases> {
    let mut cases = vec![Case::new()];
    for (name, ways) in fields {
        if cases.len().saturating_mul(ways.len()) > MOST_CASES {
            return Err(TooManyCases);
        }
        cases = cases
            .iter()
            .flat_map(|case| {
                ways.iter().map(|way| {
                    let mut case = case.clone();
                    case.insert(name, way.clone());
                    case
                })
            })
            .collect();
    }
    Ok(cases)
}

/// The alternative that the receiver chooses of those that are possible.
fn chosen<'a>(possible: &[&'a Form], objects: &Objects<'a>, case: &Case<'a>) -> Option<&'a Form> {
    let complete = possible.iter().find(|leaf| is_complete(leaf, objects, case));
    match (complete, possible) {
        (Some(complete), _) => Some(complete),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// Whether all that an alternative requires is there in a case.
fn is_complete(alternative: &Form, objects: &Objects<'_>, case: &Case<'_>) -> bool {
    let parts = alternative.parts();
    parts.iter().filter(|part| !part.optional).all(|part| is_there(objects, case, part.name))
}
