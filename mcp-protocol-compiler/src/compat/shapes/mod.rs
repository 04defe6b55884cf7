//! Whether a receiver accepts every payload that a sender may write, by their shapes.
//!
//! The values of a sender are those that its shape says, with no other members than the fields of its records: what a
//! record ignores, its author does not write. Pairs of shapes are walked breadth first, each pair once, so a shape may
//! contain itself, and what is found first is nested least. Each finding comes with a value that the sender's judge
//! accepts and the receiver's refuses: both are asked.

mod alternatives;
mod cases;
mod leaves;
mod objects;
mod restrict;

use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::Literal;
use mcp_protocol_machine::shape::{DEEPEST, Sample, Samples, judge};

use crate::declarations::{DeclaredShape, Form, MOST_POSITIONS, ShapePart};
use crate::source::Span;
use alternatives::Alternatives;
use cases::{Choosers, ChosenCase, before, cases};
use leaves::{declaration, leaves, origin, takes_scalar};
use objects::{Case, Objects, SentField, Written, is_there};

pub(super) use restrict::{may_hold, restricted};

/// How many pairs of shapes are compared for one payload.
const MOST_PAIRS: usize = 100_000;

/// How many refusals of one payload are kept.
const MOST_REFUSALS: usize = 50;

/// How many places of a pair are remembered.
const MOST_PLACES: usize = 16;

/// How many places are gone through to find a payload around a value.
const MOST_STEPS: usize = 512;

/// How many refusals wait until all places are known.
const MOST_OPEN: usize = 10_000;

/// A value that a sender may write and its receiver refuses.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The whole payload.
    pub(super) witness: Sample,
    /// Where in it.
    pub(super) path: String,
    /// What the receiver expects there.
    pub(super) expected: String,
    /// What is there.
    pub(super) found: String,
    /// The field of the sender that it is in.
    pub(super) sender: Option<Span>,
    /// The field of the receiver that it is in, or that is missing.
    pub(super) receiver: Option<Span>,
    /// The pair of shapes that was compared.
    pair: usize,
}

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
        pairs: Vec::new(),
        seen: HashMap::new(),
        open: Vec::new(),
        found: Compared::default(),
        refused: HashSet::new(),
        missing: HashSet::new(),
    };
    walk.run();
    walk.found
}

/// What a sender may write in a place, and what its receiver accepts there.
struct FormPair<'a> {
    alternatives: Vec<&'a Form>,
    /// The form that these are of.
    sender: &'a Form,
    receiver: &'a Form,
    /// The places where it stands; none for the whole payload.
    places: Vec<PairPlace>,
    depth: usize,
    spans: (Option<Span>, Option<Span>),
}

/// A place where a pair of shapes stands.
#[derive(Clone)]
struct PairPlace {
    /// The pair of what is around it.
    outer: usize,
    around: Around,
    /// The sender's judge does not read what is around it as another alternative, which may not accept what stands here.
    is_own: bool,
}

/// How a value stands in another one.
#[derive(Clone)]
enum Around {
    /// At this place, with the other elements of the list.
    Element(usize, Vec<Sample>),
    Member(String, Vec<(String, Sample)>),
}

/// Values that a receiver refuses, while it is not known where the sender writes one of them.
struct OpenRefusal<'a> {
    pair: usize,
    leaf: &'a Form,
    values: Vec<Sample>,
    missing: Option<Missing<'a>>,
}

/// A part of the receiver that must be there and is not.
struct Missing<'a> {
    path: String,
    form: &'a Form,
    span: Option<Span>,
}

/// What of the lists of one leaf was refused, the shorter ones first.
#[derive(Default)]
struct RefusedLists {
    /// A list of some length.
    as_a_whole: bool,
    /// The positions that were missing.
    missing: HashSet<usize>,
}

/// What a sender may write in a place: some leaves of a form.
struct SentLeaves<'a> {
    alternatives: Vec<&'a Form>,
    form: &'a Form,
}

impl<'a> SentLeaves<'a> {
    /// Every leaf of a form.
    fn any_of(shapes: &'a [DeclaredShape], form: &'a Form) -> SentLeaves<'a> {
        SentLeaves { alternatives: leaves(shapes, form), form }
    }
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
    pairs: Vec<FormPair<'a>>,
    /// The pairs by the leaves that they compare.
    seen: HashMap<(Vec<*const Form>, Vec<*const Form>), usize>,
    /// What is refused in no place that is known so far.
    open: Vec<OpenRefusal<'a>>,
    found: Compared,
    /// The alternatives that were refused, and the fields that were missing.
    refused: HashSet<*const Form>,
    missing: HashSet<*const Form>,
}

impl<'a> ShapeWalk<'a> {
    fn run(&mut self) {
        let (sender, receiver) = self.roots;
        self.add(SentLeaves::any_of(&self.sender.declared, sender), receiver, None, 0, (None, None));
        let mut next = 0;
        while next < self.pairs.len() {
            if next >= MOST_PAIRS {
                self.found.is_undecided = true;
            }
            if next >= MOST_PAIRS || self.found.refusals.len() >= MOST_REFUSALS {
                return;
            }
            self.compare(next);
            next += 1;
        }
        // All places are known now.
        for OpenRefusal { pair, leaf, values, missing } in std::mem::take(&mut self.open) {
            self.refuse_one_of(pair, leaf, values, missing);
        }
    }

    fn add(
        &mut self,
        SentLeaves { alternatives, form: sender }: SentLeaves<'a>,
        receiver: &'a Form,
        place: Option<PairPlace>,
        depth: usize,
        spans: (Option<Span>, Option<Span>),
    ) {
        let address = |leaf: &&'a Form| std::ptr::from_ref::<Form>(leaf);
        let key = (
            alternatives.iter().map(address).collect(),
            leaves(&self.receiver.declared, receiver).iter().map(address).collect(),
        );
        // Nesting that deep no judge accepts.
        if depth > DEEPEST {
            return;
        }
        if let Some(pair) = self.seen.get(&key).and_then(|index| self.pairs.get_mut(*index)) {
            pair.places.extend(place.filter(|_| pair.places.len() < MOST_PLACES));
            return;
        }
        self.seen.insert(key, self.pairs.len());
        let places = place.into_iter().collect();
        self.pairs.push(FormPair { alternatives, sender, receiver, places, depth, spans });
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
            let is_shown = parts.iter().any(|part| std::ptr::eq(part, leaf))
                && self.found.refusals.last().is_some_and(|last| last.pair == index);
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
            self.found.is_undecided = true;
            return;
        };
        for ChosenCase { case, is_own, chosen } in cases {
            let Some(members) = self.members(list, &case, choosers) else { continue };
            let elements: Vec<Sample> = members.into_iter().map(|(_, value)| value).collect();
            let expected: Vec<ShapePart<'a>> = match chosen {
                Some(tuple @ Form::Tuple(_)) => tuple.parts(),
                Some(Form::List(of)) => {
                    let part = |sent: &SentField<'a>| ShapePart {
                        name: sent.name,
                        optional: false,
                        form: of,
                        span: None,
                    };
                    list.fields.iter().map(part).collect()
                }
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
                        let (depth, (of_sender, of_receiver)) = self.below(index);
                        let spans = (span.or(of_sender), part.span.or(of_receiver));
                        self.add(
                            sent,
                            part.form,
                            Some(PairPlace { outer: index, around, is_own }),
                            depth,
                            spans,
                        );
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
            self.found.is_undecided = true;
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
                                let (depth, (of_sender, _)) = self.below(index);
                                let spans = (span.or(of_sender), Some(field.name.span));
                                self.add(sent, &field.form, place, depth, spans);
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
            let (depth, (of_sender, of_receiver)) = self.below(index);
            let around = Around::Member(sent.name.to_owned(), siblings);
            let place = Some(PairPlace { outer: index, around, is_own });
            self.add(written, of, place, depth, (span.or(of_sender), of_receiver));
        }
        if let Some(others) = objects.others {
            let mut key = "key".to_owned();
            while objects.field(&key).is_some() {
                key.push('_');
            }
            let (depth, spans) = self.below(index);
            let sent = SentLeaves::any_of(&self.sender.declared, others);
            let around = Around::Member(key, members);
            self.add(sent, of, Some(PairPlace { outer: index, around, is_own }), depth, spans);
        }
    }

    fn below(&self, index: usize) -> (usize, (Option<Span>, Option<Span>)) {
        let pair = self.pairs.get(index);
        pair.map_or((DEEPEST + 1, (None, None)), |pair| (pair.depth + 1, pair.spans))
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
        if !self.is_news(leaf, missing.as_ref()) {
            return;
        }
        let shape = pair.receiver.table();
        let mismatch = |value: Sample| Some((judge(&self.receiver.tables, &shape, &&value).err()?, value));
        let refused: Vec<_> = values.into_iter().filter_map(mismatch).collect();
        let shown = refused.iter().find_map(|(mismatch, value)| Some((mismatch, self.whole(index, value)?)));
        let Some((mismatch, (witness, around))) = shown else {
            let values: Vec<Sample> = refused.into_iter().map(|(_, value)| value).collect();
            match (values.is_empty(), self.open.len() < MOST_OPEN) {
                (true, _) => {}
                (false, true) => self.open.push(OpenRefusal { pair: index, leaf, values, missing }),
                (false, false) => self.found.is_undecided = true,
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
        self.found.refusals.push(Refusal {
            witness,
            path: join(&around, &path),
            expected,
            found,
            sender: of_sender,
            receiver: missing.as_ref().and_then(|part| part.span).or(of_receiver),
            pair: index,
        });
        self.refused.insert(leaf);
        self.missing.extend(missing.map(|part| std::ptr::from_ref(part.form)));
    }

    /// Whether a refusal is to be kept. Each alternative of a large union may be refused for each one of another: of many
    /// refusals those are kept that are the first of an alternative, or of a missing field.
    fn is_news(&self, leaf: &Form, missing: Option<&Missing<'a>>) -> bool {
        self.found.refusals.len() < MOST_REFUSALS
            || !self.refused.contains(&std::ptr::from_ref(leaf))
            || missing.is_some_and(|part| !self.missing.contains(&std::ptr::from_ref(part.form)))
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
        self.find_around(index, (value.clone(), String::new()), &mut Vec::new(), &mut 0, &is_it)
    }

    /// Goes outwards from a value, through one place after the other, until a whole payload is found that `is_it` accepts.
    /// No pair is gone through twice on one way.
    fn find_around(
        &self,
        index: usize,
        (value, path): (Sample, String),
        through: &mut Vec<usize>,
        steps: &mut usize,
        is_it: &impl Fn(&Sample) -> bool,
    ) -> Option<(Sample, String)> {
        let pair = self.pairs.get(index).filter(|_| *steps < MOST_STEPS)?;
        *steps += 1;
        if index == 0 {
            return is_it(&value).then_some((value, path));
        }
        through.push(index);
        let (own, others): (Vec<&PairPlace>, Vec<&PairPlace>) =
            pair.places.iter().partition(|place| place.is_own);
        let found = own.into_iter().chain(others).find_map(|place| {
            let is_new = !through.contains(&place.outer);
            let around = is_new.then(|| place.around.with(value.clone(), &path))?;
            self.find_around(place.outer, around, through, steps, is_it)
        });
        through.pop();
        found
    }
}

impl Around {
    /// What is around a value, and the path that leads to where a path within the value leads.
    fn with(&self, value: Sample, path: &str) -> (Sample, String) {
        match self {
            Around::Element(place, others) => {
                let mut elements = others.clone();
                elements.insert((*place).min(elements.len()), value);
                (Sample::List(elements), join(&format!("[{place}]"), path))
            }
            Around::Member(key, siblings) => {
                let mut members = siblings.clone();
                members.push((key.clone(), value));
                (Sample::Object(members), join(&step(key), path))
            }
        }
    }
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

/// Values of a leaf that is neither a list nor an object, among them one that the receiver's leaves refuse if they refuse
/// any.
fn scalars(leaf: &Form, receiver: &[&Form]) -> Vec<Sample> {
    let is_known = |literal: &Literal| {
        receiver.iter().any(|leaf| matches!(leaf, Form::Literal(known) if known == literal))
    };
    let number = |number: i64| Sample::Number(number.to_string().into());
    // There are fewer literals than numbers.
    let unknown = |step: i64| {
        let mut number = step;
        while is_known(&number.into()) {
            number += step;
        }
        number
    };
    match leaf {
        Form::Null => vec![Sample::Null],
        Form::Bool => vec![Sample::Bool(false), Sample::Bool(true)],
        Form::Int => vec![number(0), number(-1), number(unknown(1)), number(unknown(-1))],
        Form::Uint => {
            vec![number(0), number(unknown(1)), Sample::Number("18446744073709551615".into())]
        }
        Form::Number => vec![number(0), Sample::Number("0.5".into())],
        Form::Literal(literal) => vec![Sample::from(literal)],
        Form::String => {
            let mut text = "text".to_owned();
            while is_known(&text.clone().into()) {
                text.push('_');
            }
            vec![Sample::Text(text)]
        }
        _ => Vec::new(),
    }
}

/// A key as a step of a path.
fn step(key: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '-');
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { format!("[{key:?}]") }
}

/// Two paths, one behind the other.
fn join(front: &str, back: &str) -> String {
    match (front.is_empty(), back.is_empty() || back.starts_with('[')) {
        (true, _) => back.to_owned(),
        (false, true) => format!("{front}{back}"),
        (false, false) => format!("{front}.{back}"),
    }
}
