//! The objects and lists that a sender may write, as far as they differ in which alternative of the receiver they are.
//!
//! Which alternative an object is depends on the literals in the fields that tell records apart, and on which required
//! fields are there; that of a list also depends on its length. So the objects of one shape fall into cases, and in each
//! case the receiver chooses one alternative.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Literal;

use super::leaves::{leaves, record, takes_scalar};
use super::objects::{Case, Objects, Written, is_there};
use super::receiver::Receiver;
use crate::declarations::{DeclaredShape, Form};

/// How many cases of one shape are looked at.
const MOST_CASES: usize = 4_096;

/// There are more cases than are looked at.
pub(super) struct TooManyCases;

/// The cases of a sender's objects, each with the alternative that the receiver chooses, if it chooses one.
pub(super) fn cases<'a>(
    (sender_shapes, objects): (&'a [DeclaredShape], &Objects<'a>),
    receiver: &Receiver<'_, 'a>,
) -> Result<Vec<(Case<'a>, Option<&'a Form>)>, TooManyCases> {
    let mut found = Vec::new();
    for by_literal in product(&by_literals(sender_shapes, objects, receiver))? {
        let possible = receiver.possible(objects, &by_literal);
        let mut present = Vec::new();
        for record in possible.iter().filter_map(|leaf| record(leaf)) {
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
            // A record alone, not in a union, is not chosen: what is wrong in it is found in its fields.
            let chosen = match (receiver.leaves, objects.are_lists) {
                ([only @ Form::Record(_)], false) | ([only @ Form::Tuple(_)], true) => Some(*only),
                _ => chosen(&possible, objects, &case),
            };
            found.push((case, chosen));
            if found.len() > MOST_CASES {
                return Err(TooManyCases);
            }
        }
    }
    Ok(found)
}

/// The fields whose literals tell the receiver's records apart, with all that the sender may write there.
fn by_literals<'a>(
    sender_shapes: &'a [DeclaredShape],
    objects: &Objects<'a>,
    receiver: &Receiver<'_, 'a>,
) -> Vec<(&'a str, Vec<Written<'a>>)> {
    let mut found = Vec::new();
    for sent in &objects.fields {
        let Some(literals) = receiver.all_literals.get(sent.name) else { continue };
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
                    let taken = literals.iter().filter(|(_, of_receiver)| takes_scalar(leaf, of_receiver));
                    taken.for_each(|(literal, of_receiver)| add(literal, of_receiver));
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
    let is_complete = |leaf: &&&Form| {
        leaf.parts().iter().filter(|part| !part.optional).all(|part| is_there(objects, case, part.name))
    };
    let complete = possible.iter().find(is_complete);
    match (complete, possible) {
        (Some(complete), _) => Some(complete),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}
