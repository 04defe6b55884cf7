//! The objects that a sender may write, as far as they differ in which alternative of the receiver they are.
//!
//! Which alternative an object is depends on the texts of the fields that tell records apart, and on which required
//! fields are there. So the objects of one shape fall into cases, and in each case the receiver chooses one alternative.

use std::collections::{BTreeMap, HashSet};

use super::leaves::{leaves, record};
use super::receiver::Receiver;
use crate::declarations::{DeclaredShape, Form, Record};

/// How many cases of one shape are looked at.
const MOST_CASES: usize = 4_096;

/// The objects that one leaf of the sender may be.
pub(super) struct Objects<'a> {
    /// The fields that the sender may write.
    pub(super) fields: Vec<SentField<'a>>,
    /// What other members are, if there may be any.
    pub(super) others: Option<&'a Form>,
}

/// A field that the sender may write.
#[derive(Clone)]
pub(super) struct SentField<'a> {
    pub(super) name: &'a str,
    pub(super) optional: bool,
    pub(super) form: &'a Form,
    /// Where it is declared; nothing for a key of a `map`.
    pub(super) span: Option<crate::source::Span>,
}

impl<'a> Objects<'a> {
    /// The objects that a leaf of the sender may be; nothing if it is not one of objects. Members that the sender leaves
    /// open are not taken to be fields of the receiver; those of a `map` are.
    pub(super) fn of(leaf: &'a Form, receiver: &[&'a Form], any: &'a Form) -> Option<Objects<'a>> {
        match leaf {
            Form::Record(record) => {
                let fields = record.fields.iter().map(|field| SentField {
                    name: &field.name.text,
                    optional: field.optional,
                    form: &field.form,
                    span: Some(field.name.span),
                });
                Some(Objects { fields: fields.collect(), others: record.rest.then_some(any) })
            }
            Form::Object => Some(Objects { fields: Vec::new(), others: Some(any) }),
            Form::Map(of) => {
                let records = receiver.iter().filter_map(|leaf| record(leaf));
                let fields = records.flat_map(|record| &record.fields).map(|field| SentField {
                    name: &field.name.text,
                    optional: true,
                    form: of,
                    span: None,
                });
                let names: BTreeMap<&str, SentField<'a>> = fields.map(|field| (field.name, field)).collect();
                Some(Objects { fields: names.into_values().collect(), others: Some(of) })
            }
            _ => None,
        }
    }

    /// The field with a name.
    pub(super) fn field(&self, name: &str) -> Option<&SentField<'a>> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// What a case says of one field.
#[derive(Clone, Debug)]
pub(super) enum Written<'a> {
    /// It is not there.
    Absent,
    /// It is this text, and this is a shape that says so.
    Text(&'a str, &'a Form),
    /// It is one of these, and not a text that tells the receiver's records apart.
    Other(Vec<&'a Form>),
}

/// What is written in the fields that matter.
pub(super) type Case<'a> = BTreeMap<&'a str, Written<'a>>;

/// There are more cases than are looked at.
pub(super) struct TooManyCases;

/// The cases of a sender's objects, each with the alternative that the receiver chooses, if it chooses one.
pub(super) fn cases<'a>(
    (sender_shapes, objects): (&'a [DeclaredShape], &Objects<'a>),
    receiver: &Receiver<'_, 'a>,
) -> Result<Vec<(Case<'a>, Option<&'a Form>)>, TooManyCases> {
    let mut found = Vec::new();
    for by_text in product(&by_texts(sender_shapes, objects, receiver))? {
        let possible = receiver.possible(&by_text);
        let mut present = Vec::new();
        for record in possible.iter().filter_map(|leaf| record(leaf)) {
            for field in record.fields.iter().filter(|field| !field.optional) {
                let name = field.name.text.as_str();
                let Some(sent) = objects.field(name).filter(|sent| sent.optional) else { continue };
                if !by_text.contains_key(name) && present.iter().all(|(known, _)| *known != sent.name) {
                    let there = Written::Other(leaves(sender_shapes, sent.form));
                    present.push((sent.name, vec![Written::Absent, there]));
                }
            }
        }
        for more in product(&present)? {
            let mut case = by_text.clone();
            case.extend(more);
            // A record alone, not in a union, is not chosen: what is wrong in it is found in its fields.
            let chosen = match receiver.leaves {
                [only @ Form::Record(_)] => Some(*only),
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

/// The fields whose texts tell the receiver's records apart, with all that the sender may write there.
fn by_texts<'a>(
    sender_shapes: &'a [DeclaredShape],
    objects: &Objects<'a>,
    receiver: &Receiver<'_, 'a>,
) -> Vec<(&'a str, Vec<Written<'a>>)> {
    let mut found = Vec::new();
    for sent in &objects.fields {
        let Some(texts) = receiver.all_texts.get(sent.name) else { continue };
        let mut ways: Vec<Written<'a>> = Vec::new();
        let (mut others, mut known) = (Vec::new(), HashSet::new());
        let mut add = |text: &'a str, leaf: &'a Form| {
            if known.insert(text) {
                ways.push(Written::Text(text, leaf));
            }
        };
        for leaf in leaves(sender_shapes, sent.form) {
            match leaf {
                Form::Literal(text) => add(text, leaf),
                leaf => {
                    if matches!(leaf, Form::String | Form::Any) {
                        texts.iter().for_each(|(text, of_receiver)| add(text, of_receiver));
                    }
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
    let is_complete = |record: &Record| {
        let mut required = record.fields.iter().filter(|field| !field.optional);
        required.all(|field| is_there(objects, case, &field.name.text))
    };
    let complete = possible.iter().find(|leaf| record(leaf).is_none_or(is_complete));
    match (complete, possible) {
        (Some(complete), _) => Some(complete),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// Whether a field is there in a case for certain.
pub(super) fn is_there(objects: &Objects<'_>, case: &Case<'_>, name: &str) -> bool {
    match case.get(name) {
        Some(Written::Absent) => false,
        Some(_) => true,
        None => objects.field(name).is_some_and(|sent| !sent.optional),
    }
}
