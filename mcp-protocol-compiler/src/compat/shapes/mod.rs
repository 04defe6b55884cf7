//! Whether a receiver accepts every payload that a sender may write, by their shapes.
//!
//! The values of a sender are those that its shape says, with no other members than the fields of its records: what a
//! record ignores, its author does not write. ShapePairs of shapes are walked breadth first, each pair once, so a shape may
//! contain itself, and what is found first is nested least. Each finding comes with a value that the sender's judge
//! accepts and the receiver's refuses: both are asked.
//!
//! `pairs.rs` has the pairs and the places where each stands, `refusals.rs` what was refused. `leaves.rs` says what a shape
//! is in the end; `objects.rs` what a sender may write into an object or a list, `alternatives.rs` and `cases.rs` which
//! alternative that is; `scalars.rs` makes all other values. `path.rs` writes paths.

mod alternatives;
mod cases;
mod leaves;
mod objects;
mod pairs;
mod path;
mod refusals;
mod scalars;

use std::collections::HashSet;

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::ShapeIndex;
use mcp_protocol_machine::shape::{Sample, Samples, absent_params, judge};

use crate::declarations::{DeclaredShape, Form, MOST_POSITIONS, Record, ShapePart};
use crate::source::Span;
use alternatives::Alternatives;
use cases::{Choosers, ChosenCase, before, cases};
use leaves::{declaration, leaves, origin, takes_scalar};
use objects::{Case, Objects, SentField, Written, is_there};
use pairs::{Around, PairPlace, SentLeaves, ShapePairs};
use path::{join, step};
use refusals::{Missing, OpenRefusal, Refusals};
use scalars::scalars;

pub(super) use refusals::Refusal;

/// How many pairs of shapes are compared for one payload.
const MOST_PAIRS: usize = 100_000;

/// What comparing two shapes found.
#[derive(Clone, Debug, Default)]
pub(super) struct Compared {
    /// What is refused.
    pub(super) refusals: Vec<Refusal>,
    /// There is too much to compare.
    pub(super) is_undecided: bool,
}

/// The shapes of a file, and the tables that judge by them.
pub(super) struct ShapeTables {
    pub(super) declared: Vec<DeclaredShape>,
    tables: Protocol,
}

impl ShapeTables {
    pub(super) fn new(declared: &[DeclaredShape]) -> ShapeTables {
        let mut tables = Protocol::new("".into(), Vec::new().into());
        tables.shapes = declared.iter().map(DeclaredShape::table).collect();
        ShapeTables { declared: declared.to_vec(), tables }
    }

    /// What params of a shape are read as if they are left out.
    pub(super) fn absent_params(&self, shape: Option<ShapeIndex>) -> Form {
        match absent_params(&self.tables, shape) {
            "[]" => Form::Tuple(Vec::new()),
            _ => Form::Record(Record::default()),
        }
    }
}

/// Compares what a sender may write with what its receiver accepts. The sender's form may be one that no file declares.
pub(super) fn compare<'a>(
    (sender, of_sender): (&'a ShapeTables, &'a Form),
    (receiver, of_receiver): (&'a ShapeTables, &'a Form),
) -> Compared {
    let any = Form::Any;
    let parts =
        [Form::Null, Form::Bool, Form::Number, Form::String, Form::List(Box::new(Form::Any)), Form::Object];
    let places: Vec<String> = (0..=MOST_POSITIONS).map(|place| place.to_string()).collect();
    // What is made up here outlives the walk, and so does what the files declare.
    let mut walk = ShapeWalk {
        sender,
        receiver,
        samples: Samples::new(&sender.tables),
        roots: (of_sender, of_receiver),
        any: &any,
        parts: &parts,
        places: &places,
        pairs: ShapePairs::new(&receiver.declared),
        refusals: Refusals::default(),
        is_undecided: false,
    };
    walk.run();
    Compared { refusals: walk.refusals.into_kept(), is_undecided: walk.is_undecided }
}

/// What of the lists of one leaf was refused, the shorter ones first.
#[derive(Default)]
struct RefusedLists {
    /// A list of some length.
    as_a_whole: bool,
    /// The positions that were missing.
    missing: HashSet<usize>,
}

struct ShapeWalk<'a> {
    sender: &'a ShapeTables,
    receiver: &'a ShapeTables,
    samples: Samples<'a>,
    roots: (&'a Form, &'a Form),
    any: &'a Form,
    parts: &'a [Form],
    /// The numbers of positions as texts.
    places: &'a [String],
    pairs: ShapePairs<'a>,
    refusals: Refusals<'a>,
    is_undecided: bool,
}

impl<'a> ShapeWalk<'a> {
    fn run(&mut self) {
        let (sender, receiver) = self.roots;
        self.pairs.add(SentLeaves::any_of(&self.sender.declared, sender), receiver, None, (None, None));
        for next in 0.. {
            if self.pairs.get(next).is_none() {
                break;
            }
            if next >= MOST_PAIRS {
                self.is_undecided = true;
            }
            if next >= MOST_PAIRS || self.refusals.are_enough() {
                return;
            }
            self.compare(next);
        }
        // All places are known now.
        for OpenRefusal { pair, leaf, values, missing } in self.refusals.take_open() {
            self.refuse_one_of(pair, leaf, values, missing);
        }
    }

    fn compare(&mut self, index: usize) {
        let Some(pair) = self.pairs.get(index) else { return };
        let receiver = leaves(&self.receiver.declared, pair.receiver);
        if let [Form::Any] = receiver.as_slice() {
            return;
        }
        let of_receiver = Alternatives::new(&self.receiver.declared, receiver.clone());
        let of_sender = leaves(&self.sender.declared, pair.sender);
        // How long a list is, and which members a map has, matters to both sides.
        let of_both: Vec<&'a Form> = of_sender.iter().chain(&receiver).copied().collect();
        let (any, parts) = (self.any, self.parts);
        let of_any = |leaf: &'a Form| -> Vec<(&'a Form, &'a Form)> {
            let is_any = matches!(leaf, Form::Any);
            if is_any { parts.iter().map(|part| (leaf, part)).collect() } else { vec![(leaf, leaf)] }
        };
        let alternatives: Vec<_> = pair.alternatives.iter().copied().flat_map(of_any).collect();
        for (alternative, leaf) in alternatives {
            // One value of `any` is enough to show that not all are taken.
            let is_shown =
                parts.iter().any(|part| std::ptr::eq(part, leaf)) && self.refusals.last_is_of(index);
            if is_shown {
                continue;
            }
            let before = |objects: &Objects<'a>| before(&of_sender, alternative, objects);
            if let Some(lists) = Objects::lists(leaf, &of_both, self.places) {
                // What is wrong with a list is wrong with the longer ones as well.
                let mut refused = RefusedLists::default();
                for list in lists {
                    let before = Alternatives::new(&self.sender.declared, before(&list));
                    let choosers = Choosers { before, receiver: &of_receiver };
                    self.compare_lists(index, leaf, &list, &choosers, &mut refused);
                }
            } else if let Some(objects) = Objects::of(leaf, &of_both, any) {
                let before = Alternatives::new(&self.sender.declared, before(&objects));
                let choosers = Choosers { before, receiver: &of_receiver };
                self.compare_objects(index, leaf, &objects, &choosers);
            } else if !receiver.iter().any(|taker| takes_scalar(taker, leaf)) {
                let values = scalars(leaf, &receiver);
                self.refuse_one_of(index, leaf, values, None);
            }
        }
    }

    /// Lists of one length.
    fn compare_lists(
        &mut self,
        index: usize,
        leaf: &'a Form,
        list: &Objects<'a>,
        choosers: &Choosers<'_, 'a>,
        refused: &mut RefusedLists,
    ) {
        let Ok(cases) = cases((&self.sender.declared, list), choosers) else {
            self.is_undecided = true;
            return;
        };
        for ChosenCase { case, is_own, chosen } in cases {
            let Some(members) = self.members(list, &case, choosers) else { continue };
            let elements: Vec<Sample> = members.into_iter().map(|(_, value)| value).collect();
            let expected: Vec<ShapePart<'a>> = match chosen {
                Some(tuple @ Form::Tuple(_)) => {
                    let mut parts = tuple.parts();
                    if let Some(ShapePart { form, span, .. }) = parts.pop_if(|last| last.is_rest) {
                        let behind = list.fields.iter().skip(parts.len());
                        parts.extend(behind.map(|sent| element(sent, form, span)));
                    }
                    parts
                }
                Some(Form::List(of)) => list.fields.iter().map(|sent| element(sent, of, None)).collect(),
                Some(_) => continue,
                None => Vec::new(),
            };
            if list.fields.len() > expected.len() || chosen.is_none() {
                if !std::mem::replace(&mut refused.as_a_whole, true) {
                    self.refuse_one_of(index, leaf, vec![Sample::List(elements)], None);
                }
                continue;
            }
            for (place, part) in expected.into_iter().enumerate() {
                match written(&self.sender.declared, list, &case, part.name) {
                    Some((sent, span)) => {
                        let mut others = elements.clone();
                        others.remove(place);
                        let around = Around::Element(place, others);
                        let place = Some(PairPlace { outer: index, around, is_own });
                        self.pairs.add(sent, part.form, place, (span, part.span));
                    }
                    None if !part.optional && refused.missing.insert(place) => {
                        let part = Missing { path: format!("[{place}]"), form: part.form, span: part.span };
                        self.refuse_one_of(index, leaf, vec![Sample::List(elements.clone())], Some(part));
                    }
                    None => {}
                }
            }
        }
    }

    fn compare_objects(
        &mut self,
        index: usize,
        leaf: &'a Form,
        objects: &Objects<'a>,
        choosers: &Choosers<'_, 'a>,
    ) {
        let Ok(cases) = cases((&self.sender.declared, objects), choosers) else {
            self.is_undecided = true;
            return;
        };
        for ChosenCase { case, is_own, chosen } in cases {
            // Where a field has no value at all, such an object does not exist.
            let Some(members) = self.members(objects, &case, choosers) else { continue };
            match chosen {
                Some(Form::Record(record)) => {
                    for field in &record.fields {
                        let name = field.name.text.as_str();
                        match written(&self.sender.declared, objects, &case, name) {
                            Some((sent, span)) => {
                                let mut siblings = members.clone();
                                siblings.retain(|(key, _)| key != name);
                                let around = Around::Member(name.to_owned(), siblings);
                                let place = Some(PairPlace { outer: index, around, is_own });
                                self.pairs.add(sent, &field.form, place, (span, Some(field.name.span)));
                            }
                            None if !field.optional => {
                                let without = Sample::Object(members.clone());
                                let missing = Missing {
                                    path: step(name),
                                    form: &field.form,
                                    span: Some(field.name.span),
                                };
                                self.refuse_one_of(index, leaf, vec![without], Some(missing));
                            }
                            None => {}
                        }
                    }
                }
                Some(Form::Map(of)) => {
                    self.compare_members(index, objects, (&case, is_own), members, of);
                }
                Some(_) => {}
                None => self.refuse_one_of(index, leaf, vec![Sample::Object(members)], None),
            }
        }
    }

    /// All members of an object against what those of a `map` are.
    fn compare_members(
        &mut self,
        index: usize,
        objects: &Objects<'a>,
        (case, is_own): (&Case<'a>, bool),
        members: Vec<(String, Sample)>,
        of: &'a Form,
    ) {
        for sent in &objects.fields {
            let Some((written, span)) = written(&self.sender.declared, objects, case, sent.name) else {
                continue;
            };
            let mut siblings = members.clone();
            siblings.retain(|(key, _)| key != sent.name);
            let around = Around::Member(sent.name.to_owned(), siblings);
            let place = Some(PairPlace { outer: index, around, is_own });
            self.pairs.add(written, of, place, (span, None));
        }
        if let Some(others) = objects.others {
            let mut key = "key".to_owned();
            while objects.field(&key).is_some() {
                key.push('_');
            }
            let sent = SentLeaves::any_of(&self.sender.declared, others);
            let around = Around::Member(key, members);
            self.pairs.add(sent, of, Some(PairPlace { outer: index, around, is_own }), (None, None));
        }
    }

    /// The members of a small object of a case; nothing if one of them has no value.
    fn members(
        &self,
        objects: &Objects<'a>,
        case: &Case<'a>,
        choosers: &Choosers<'_, 'a>,
    ) -> Option<Vec<(String, Sample)>> {
        let mut members = Vec::new();
        for sent in &objects.fields {
            if !is_there(objects, case, sent.name) {
                continue;
            }
            let (written, _) = written(&self.sender.declared, objects, case, sent.name)?;
            let literals = choosers.literals(sent.name);
            let value = match case.get(sent.name) {
                Some(Written::Other(_)) if !literals.is_empty() => {
                    let known: Vec<&Form> = literals.into_values().collect();
                    self.other_value(&written.alternatives, &known)?
                }
                _ => self.value(&written.alternatives)?,
            };
            members.push((sent.name.to_owned(), value));
        }
        Some(members)
    }

    fn value(&self, alternatives: &[&Form]) -> Option<Sample> {
        alternatives.iter().find_map(|leaf| self.samples.of(&leaf.table()))
    }

    /// A value that is not one of some literals.
    fn other_value(&self, alternatives: &[&Form], literals: &[&Form]) -> Option<Sample> {
        let is_known = |value: &Sample| {
            literals
                .iter()
                .any(|literal| matches!(literal, Form::Literal(known) if Sample::from(known) == *value))
        };
        alternatives.iter().find_map(|leaf| {
            let mut values = scalars(leaf, literals);
            values.extend(self.samples.of(&leaf.table()));
            values.into_iter().find(|value| !is_known(value))
        })
    }

    /// Notes the first of these values that the sender may really write in a place and the receiver refuses there. If there is
    /// none, a place may be found later.
    fn refuse_one_of(
        &mut self,
        index: usize,
        leaf: &'a Form,
        values: Vec<Sample>,
        missing: Option<Missing<'a>>,
    ) {
        let Some(pair) = self.pairs.get(index) else { return };
        if !self.refusals.is_news(leaf, missing.as_ref()) {
            return;
        }
        let shape = pair.receiver.table();
        let mismatch = |value: Sample| Some((judge(&self.receiver.tables, &shape, &&value).err()?, value));
        let refused: Vec<_> = values.into_iter().filter_map(mismatch).collect();
        let shown = refused.iter().find_map(|(mismatch, value)| Some((mismatch, self.whole(index, value)?)));
        let Some((mismatch, (witness, around))) = shown else {
            let values: Vec<Sample> = refused.into_iter().map(|(_, value)| value).collect();
            if !values.is_empty() && !self.refusals.wait(OpenRefusal { pair: index, leaf, values, missing }) {
                self.is_undecided = true;
            }
            return;
        };
        let mismatch = mismatch.clone();
        let of_sender = origin(&self.sender.declared, pair.sender, leaf).or(pair.spans.0);
        let of_receiver = declaration(&self.receiver.declared, pair.receiver).or(pair.spans.1);
        // Of several missing fields the judge names the first.
        let (path, expected, found) = match &missing {
            Some(part) => (part.path.clone(), self.expected(part.form), "nothing".to_owned()),
            None => (mismatch.path, mismatch.expected, mismatch.found),
        };
        let refusal = Refusal {
            witness,
            path: join(&around, &path),
            expected,
            found,
            sender: of_sender,
            receiver: missing.as_ref().and_then(|part| part.span).or(of_receiver),
            pair: index,
        };
        self.refusals.keep(refusal, leaf, missing.as_ref());
    }

    /// What the receiver expects of a form, in the judge's words.
    fn expected(&self, form: &Form) -> String {
        let values = [
            Sample::Null,
            Sample::Number("0.5".into()),
            Sample::Text(String::new()),
            Sample::List(Vec::new()),
        ];
        let shape = form.table();
        let judged = values.iter().filter_map(|value| judge(&self.receiver.tables, &shape, &value).err());
        let mut of_whole = judged.filter(|mismatch| mismatch.path.is_empty());
        of_whole.next().map_or("a value".to_owned(), |mismatch| mismatch.expected)
    }

    /// A whole payload around a value that the sender may really write and the receiver refuses, and the path that leads to
    /// the value.
    fn whole(&self, index: usize, value: &Sample) -> Option<(Sample, String)> {
        let (sender, receiver) = self.roots;
        let (sender, receiver) = (sender.table(), receiver.table());
        let is_it = |whole: &Sample| {
            judge(&self.sender.tables, &sender, &whole).is_ok()
                && judge(&self.receiver.tables, &receiver, &whole).is_err()
        };
        self.pairs.find_payload(index, value, is_it)
    }
}

/// What is expected of an element that is there.
fn element<'a>(sent: &SentField<'a>, form: &'a Form, span: Option<Span>) -> ShapePart<'a> {
    ShapePart { name: sent.name, optional: false, is_rest: false, form, span }
}

/// What a field of an object may be in a case, and where it is declared; nothing if it is not there.
fn written<'a>(
    shapes: &'a [DeclaredShape],
    objects: &Objects<'a>,
    case: &Case<'a>,
    name: &str,
) -> Option<(SentLeaves<'a>, Option<Span>)> {
    let sent = objects.field(name)?;
    let alternatives = match case.get(name) {
        Some(Written::Absent) => return None,
        Some(Written::Literal(_, leaf)) => vec![*leaf],
        Some(Written::Other(leaves)) => leaves.clone(),
        None => leaves(shapes, sent.form),
    };
    Some((SentLeaves { alternatives, form: sent.form }, sent.span))
}
