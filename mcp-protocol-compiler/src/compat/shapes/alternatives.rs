//! The alternatives of a shape, and the literals that tell them apart, looked up once for all that is sent.

use std::collections::{BTreeMap, HashMap};

use mcp_protocol_machine::protocol::Literal;

use super::leaves::literals;
use super::objects::{Case, Objects, Written};
use crate::declarations::{DeclaredShape, Form, Position};

/// The alternatives of a receiver, or those of a sender that come before one of its own.
pub(super) struct Alternatives<'a> {
    pub(super) leaves: Vec<&'a Form>,
    /// The fields whose literals tell records apart, with all literals that some record has there.
    pub(super) all_literals: BTreeMap<&'a str, BTreeMap<&'a Literal, &'a Form>>,
    /// For each alternative the fields in which it has a literal.
    literals: Vec<Vec<LiteralField<'a>>>,
    /// The field in which most alternatives have a literal.
    index: Option<Index<'a>>,
}

/// A field of a record, or a position, that may be nothing but one of some literals.
struct LiteralField<'a> {
    name: &'a str,
    optional: bool,
    literals: Vec<&'a Literal>,
}

/// The alternatives by the literal of one field, each list in their order.
struct Index<'a> {
    name: &'a str,
    by_literal: HashMap<&'a Literal, Vec<usize>>,
    /// Those that have no literal there.
    others: Vec<usize>,
}

impl<'a> Alternatives<'a> {
    pub(super) fn new(shapes: &'a [DeclaredShape], leaves: Vec<&'a Form>) -> Alternatives<'a> {
        let mut all_literals: BTreeMap<&str, BTreeMap<&Literal, &Form>> = BTreeMap::new();
        let mut of_leaves = Vec::new();
        for leaf in &leaves {
            let mut of_leaf = Vec::new();
            for part in leaf.parts().into_iter().filter(|part| !part.is_rest) {
                if let Some(literals) = literals(shapes, part.form) {
                    of_leaf.push(LiteralField {
                        name: part.name,
                        optional: part.optional,
                        literals: literals.iter().map(|(literal, _)| *literal).collect(),
                    });
                    all_literals.entry(part.name).or_default().extend(literals);
                }
            }
            of_leaves.push(of_leaf);
        }
        let index = Index::of(&of_leaves);
        Alternatives { leaves, all_literals, literals: of_leaves, index }
    }

    /// The alternatives that an object or a list of a case may be, by its literals.
    pub(super) fn possible(&self, objects: &Objects<'a>, case: &Case<'a>) -> Vec<&'a Form> {
        let places = match self.index.as_ref().and_then(|index| index.places(case)) {
            Some(places) => places,
            None => (0..self.leaves.len()).collect(),
        };
        let possible = places.into_iter().filter(|place| self.is_possible(*place, objects, case));
        possible.filter_map(|place| self.leaves.get(place).copied()).collect()
    }

    fn is_possible(&self, place: usize, objects: &Objects<'a>, case: &Case<'a>) -> bool {
        let has_its_literal = |field: &LiteralField<'a>| match case.get(field.name) {
            None | Some(Written::Absent) => field.optional,
            Some(Written::Literal(literal, _)) => field.literals.contains(literal),
            Some(Written::Other(_)) => false,
        };
        let has_its_literals =
            || self.literals.get(place).is_some_and(|literals| literals.iter().all(has_its_literal));
        match (self.leaves.get(place), objects.are_lists) {
            (Some(Form::Any), _)
            | (Some(Form::Object | Form::Map(_)), false)
            | (Some(Form::List(_)), true) => true,
            (Some(Form::Record(_)), false) => has_its_literals(),
            (Some(Form::Tuple(positions)), true) => {
                (Position::rest_of(positions).is_some() || objects.fields.len() <= positions.len())
                    && has_its_literals()
            }
            _ => false,
        }
    }
}

impl<'a> Index<'a> {
    fn of(literals: &[Vec<LiteralField<'a>>]) -> Option<Index<'a>> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for field in literals.iter().flatten() {
            *counts.entry(field.name).or_default() += 1;
        }
        let (name, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let mut index = Index { name, by_literal: HashMap::new(), others: Vec::new() };
        for (place, fields) in literals.iter().enumerate() {
            match fields.iter().find(|field| field.name == name) {
                Some(field) => {
                    for literal in &field.literals {
                        index.by_literal.entry(literal).or_default().push(place);
                    }
                }
                None => index.others.push(place),
            }
        }
        Some(index)
    }

    /// The alternatives that have the literal of a case, and those that have none; nothing if the case does not say which.
    fn places(&self, case: &Case<'a>) -> Option<Vec<usize>> {
        let Written::Literal(literal, _) = case.get(self.name)? else { return None };
        let mut places = self.by_literal.get(literal).cloned().unwrap_or_default();
        places.extend(&self.others);
        places.sort_unstable();
        places.dedup();
        Some(places)
    }
}
