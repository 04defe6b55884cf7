//! The pairs of shapes that are compared, and the places where each stands.

use std::collections::HashMap;

use mcp_protocol_machine::shape::{DEEPEST, Sample};

use super::leaves::leaves;
use super::path::{join, step};
use crate::declarations::{DeclaredShape, Form};
use crate::source::Span;

/// How many places of a pair are remembered.
const MOST_PLACES: usize = 16;

/// How many places are gone through to find a payload around a value.
const MOST_STEPS: usize = 512;

/// What a sender may write in a place, and what its receiver accepts there.
pub(super) struct FormPair<'a> {
    pub(super) alternatives: Vec<&'a Form>,
    /// The form that these are of.
    pub(super) sender: &'a Form,
    pub(super) receiver: &'a Form,
    /// Where it is declared, or what is around it.
    pub(super) spans: (Option<Span>, Option<Span>),
    /// The places where it stands; none for the whole payload.
    places: Vec<PairPlace>,
    depth: usize,
}

/// A place where a pair of shapes stands.
#[derive(Clone)]
pub(super) struct PairPlace {
    /// The pair of what is around it.
    pub(super) outer: usize,
    pub(super) around: Around,
    /// The sender's judge does not read what is around it as another alternative, which may not accept what stands here.
    pub(super) is_own: bool,
}

/// How a value stands in another one.
#[derive(Clone)]
pub(super) enum Around {
    /// At this place, with the other elements of the list.
    Element(usize, Vec<Sample>),
    Member(String, Vec<(String, Sample)>),
}

/// What a sender may write in a place: some leaves of a form.
pub(super) struct SentLeaves<'a> {
    pub(super) alternatives: Vec<&'a Form>,
    pub(super) form: &'a Form,
}

impl<'a> SentLeaves<'a> {
    /// Every leaf of a form.
    pub(super) fn any_of(shapes: &'a [DeclaredShape], form: &'a Form) -> SentLeaves<'a> {
        SentLeaves { alternatives: leaves(shapes, form), form }
    }
}

/// The leaves of the sender and of the receiver that a pair compares.
type PairKey = (Vec<*const Form>, Vec<*const Form>);

/// The pairs, in the order in which they were found.
///
/// Invariant: no two pairs compare the same leaves, and the first one is that of the whole payload.
pub(super) struct ShapePairs<'a> {
    of_receiver: &'a [DeclaredShape],
    all: Vec<FormPair<'a>>,
    seen: HashMap<PairKey, usize>,
}

impl<'a> ShapePairs<'a> {
    /// None so far. `of_receiver` are the shapes of the receiver's file.
    pub(super) fn new(of_receiver: &'a [DeclaredShape]) -> ShapePairs<'a> {
        ShapePairs { of_receiver, all: Vec::new(), seen: HashMap::new() }
    }

    pub(super) fn get(&self, index: usize) -> Option<&FormPair<'a>> {
        self.all.get(index)
    }

    /// Adds a pair, or a place to one that is known. `spans` say where it is declared; without them, it is where what is around
    /// it is declared.
    pub(super) fn add(
        &mut self,
        SentLeaves { alternatives, form: sender }: SentLeaves<'a>,
        receiver: &'a Form,
        place: Option<PairPlace>,
        spans: (Option<Span>, Option<Span>),
    ) {
        let outer = place.as_ref().and_then(|place| self.all.get(place.outer));
        let (depth, outer) = outer.map_or((0, (None, None)), |outer| (outer.depth + 1, outer.spans));
        // Nesting that deep no judge accepts.
        if depth > DEEPEST {
            return;
        }
        let address = |leaf: &&'a Form| std::ptr::from_ref::<Form>(leaf);
        let key = (
            alternatives.iter().map(address).collect(),
            leaves(self.of_receiver, receiver).iter().map(address).collect(),
        );
        if let Some(pair) = self.seen.get(&key).and_then(|index| self.all.get_mut(*index)) {
            pair.places.extend(place.filter(|_| pair.places.len() < MOST_PLACES));
            return;
        }
        self.seen.insert(key, self.all.len());
        let spans = (spans.0.or(outer.0), spans.1.or(outer.1));
        let places = place.into_iter().collect();
        self.all.push(FormPair { alternatives, sender, receiver, spans, places, depth });
    }

    /// A whole payload around a value of a pair that `is_it` accepts, and the path that leads to the value.
    pub(super) fn find_payload(
        &self,
        index: usize,
        value: &Sample,
        is_it: impl Fn(&Sample) -> bool,
    ) -> Option<(Sample, String)> {
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
        let pair = self.all.get(index).filter(|_| *steps < MOST_STEPS)?;
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
