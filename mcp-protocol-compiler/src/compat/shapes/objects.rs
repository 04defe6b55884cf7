//! What a sender may write into an object or a list. The elements of a list are its fields, by their numbers.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::Literal;

use super::leaves::record;
use crate::declarations::{Form, ShapePart};

/// The objects that one leaf of the sender may be, or its lists of one length.
pub(super) struct Objects<'a> {
    pub(super) are_lists: bool,
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
    /// Where it is declared; nothing for a key of a `map` and for an element of a list.
    pub(super) span: Option<crate::source::Span>,
}

impl<'a> Objects<'a> {
    /// The objects that a leaf of the sender may be; nothing if it is not one of objects. Members that the sender leaves
    /// open are not taken to be fields of an alternative of either side; those of a `map` are.
    pub(super) fn of(leaf: &'a Form, alternatives: &[&'a Form], any: &'a Form) -> Option<Objects<'a>> {
        match leaf {
            Form::Record(record) => {
                let fields = record.fields.iter().map(|field| SentField {
                    name: &field.name.text,
                    optional: field.optional,
                    form: &field.form,
                    span: field.written(),
                });
                let others = record.rest.then_some(any);
                Some(Objects { are_lists: false, fields: fields.collect(), others })
            }
            Form::Object => Some(Objects { are_lists: false, fields: Vec::new(), others: Some(any) }),
            Form::Map(of) => {
                let records = alternatives.iter().filter_map(|leaf| record(leaf));
                let fields = records.flat_map(|record| &record.fields).map(|field| SentField {
                    name: &field.name.text,
                    optional: true,
                    form: of,
                    span: None,
                });
                let names: BTreeMap<&str, SentField<'a>> = fields.map(|field| (field.name, field)).collect();
                let fields = names.into_values().collect();
                Some(Objects { are_lists: false, fields, others: Some(of) })
            }
            _ => None,
        }
    }

    /// The lists that a leaf of the sender may be, as far as their lengths matter to the alternatives of both sides, the
    /// shortest first; nothing if it is not one of lists. `places` are the numbers of positions as texts.
    pub(super) fn lists(
        leaf: &'a Form,
        alternatives: &[&'a Form],
        places: &'a [String],
    ) -> Option<Vec<Objects<'a>>> {
        let (parts, behind) = match leaf {
            Form::List(of) => (Vec::new(), Some((&**of, None))),
            Form::Tuple(_) => {
                let mut parts = leaf.parts();
                let rest = parts.pop_if(|last| last.is_rest);
                (parts, rest.map(|rest| (rest.form, rest.span)))
            }
            _ => return None,
        };
        let of_part = |ShapePart { name, optional, form, span, .. }| SentField { name, optional, form, span };
        let mut sent: Vec<SentField<'a>> = parts.into_iter().map(of_part).collect();
        if let Some((form, span)) = behind {
            // One more than any alternative has positions: all behind it are alike.
            let longest = alternatives.iter().map(|leaf| leaf.parts().len()).max().unwrap_or_default();
            let places = places.iter().take(longest + 1).skip(sent.len());
            sent.extend(places.map(|place| SentField { name: place, optional: true, form, span }));
        }
        let least = sent.iter().filter(|field| !field.optional).count();
        let of_length = |length: usize| {
            let fields = sent.iter().take(length).map(|field| SentField { optional: false, ..field.clone() });
            Objects { are_lists: true, fields: fields.collect(), others: None }
        };
        Some((least..=sent.len()).map(of_length).collect())
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
    /// It is this value, and this is a shape that says so.
    Literal(&'a Literal, &'a Form),
    /// It is one of these, and not a literal that tells alternatives apart.
    Other(Vec<&'a Form>),
}

/// What is written in the fields that matter.
pub(super) type Case<'a> = BTreeMap<&'a str, Written<'a>>;

/// Whether a field is there in a case for certain.
pub(super) fn is_there(objects: &Objects<'_>, case: &Case<'_>, name: &str) -> bool {
    match case.get(name) {
        Some(Written::Absent) => false,
        Some(_) => true,
        None => objects.field(name).is_some_and(|sent| !sent.optional),
    }
}
