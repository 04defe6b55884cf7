//! The alternatives of a receiver, and the texts that tell them apart, looked up once for all that is sent.

use std::collections::{BTreeMap, HashMap};

use super::leaves::{literals, record};
use super::objects::{Case, Written};
use crate::declarations::{DeclaredShape, Form};

/// The alternatives of a receiver.
pub(super) struct Receiver<'l, 'a> {
    pub(super) leaves: &'l [&'a Form],
    /// The fields whose texts tell records apart, with all texts that some record has there.
    pub(super) all_texts: BTreeMap<&'a str, BTreeMap<&'a str, &'a Form>>,
    /// For each alternative the fields in which it has a text.
    texts: Vec<Vec<TextField<'a>>>,
    /// The field in which most alternatives have a text.
    index: Option<Index<'a>>,
}

/// A field of a record that may be nothing but one of some texts.
struct TextField<'a> {
    name: &'a str,
    optional: bool,
    texts: Vec<&'a str>,
}

/// The alternatives by the text of one field, each list in their order.
struct Index<'a> {
    name: &'a str,
    by_text: HashMap<&'a str, Vec<usize>>,
    /// Those that have no text there.
    others: Vec<usize>,
}

impl<'l, 'a> Receiver<'l, 'a> {
    pub(super) fn new(shapes: &'a [DeclaredShape], leaves: &'l [&'a Form]) -> Receiver<'l, 'a> {
        let mut all_texts: BTreeMap<&str, BTreeMap<&str, &Form>> = BTreeMap::new();
        let mut texts = Vec::new();
        for leaf in leaves {
            let mut of_leaf = Vec::new();
            for field in record(leaf).iter().flat_map(|record| &record.fields) {
                if let Some(literals) = literals(shapes, field) {
                    of_leaf.push(TextField {
                        name: &field.name.text,
                        optional: field.optional,
                        texts: literals.iter().map(|(text, _)| *text).collect(),
                    });
                    all_texts.entry(&field.name.text).or_default().extend(literals);
                }
            }
            texts.push(of_leaf);
        }
        let index = Index::of(&texts);
        Receiver { leaves, all_texts, texts, index }
    }

    /// The alternatives that an object of a case may be, by its texts.
    pub(super) fn possible(&self, case: &Case<'a>) -> Vec<&'a Form> {
        let places = match self.index.as_ref().and_then(|index| index.places(case)) {
            Some(places) => places,
            None => (0..self.leaves.len()).collect(),
        };
        let possible = places.into_iter().filter(|place| self.is_possible(*place, case));
        possible.filter_map(|place| self.leaves.get(place).copied()).collect()
    }

    fn is_possible(&self, place: usize, case: &Case<'a>) -> bool {
        let has_its_text = |field: &TextField<'a>| match case.get(field.name) {
            None | Some(Written::Absent) => field.optional,
            Some(Written::Text(text, _)) => field.texts.contains(text),
            Some(Written::Other(_)) => false,
        };
        match self.leaves.get(place) {
            Some(Form::Any | Form::Object | Form::Map(_)) => true,
            Some(Form::Record(_)) => {
                self.texts.get(place).is_some_and(|texts| texts.iter().all(has_its_text))
            }
            _ => false,
        }
    }
}

impl<'a> Index<'a> {
    fn of(texts: &[Vec<TextField<'a>>]) -> Option<Index<'a>> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for field in texts.iter().flatten() {
            *counts.entry(field.name).or_default() += 1;
        }
        let (name, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let mut index = Index { name, by_text: HashMap::new(), others: Vec::new() };
        for (place, fields) in texts.iter().enumerate() {
            match fields.iter().find(|field| field.name == name) {
                Some(field) => {
                    field.texts.iter().for_each(|text| index.by_text.entry(text).or_default().push(place));
                }
                None => index.others.push(place),
            }
        }
        Some(index)
    }

    /// The alternatives that have the text of a case, and those that have none; nothing if the case does not say the text.
    fn places(&self, case: &Case<'a>) -> Option<Vec<usize>> {
        let Written::Text(text, _) = case.get(self.name)? else { return None };
        let mut places = self.by_text.get(text).cloned().unwrap_or_default();
        places.extend(&self.others);
        places.sort_unstable();
        places.dedup();
        Some(places)
    }
}
