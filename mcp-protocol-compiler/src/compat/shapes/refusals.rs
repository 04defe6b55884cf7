//! What a receiver refuses.

use std::collections::HashSet;

use mcp_protocol_machine::shape::Sample;

use crate::declarations::Form;
use crate::source::Span;

/// How many refusals of one payload are kept.
const MOST: usize = 50;

/// How many refusals wait until all places are known.
const MOST_OPEN: usize = 10_000;

/// A value that a sender may write and its receiver refuses.
#[derive(Clone, Debug)]
pub(in crate::compat) struct Refusal {
    /// The whole payload.
    pub(in crate::compat) witness: Sample,
    /// Where in it.
    pub(in crate::compat) path: String,
    /// What the receiver expects there.
    pub(in crate::compat) expected: String,
    /// What is there.
    pub(in crate::compat) found: String,
    /// The field of the sender that it is in.
    pub(in crate::compat) sender: Option<Span>,
    /// The field of the receiver that it is in, or that is missing.
    pub(in crate::compat) receiver: Option<Span>,
    /// The pair of shapes that was compared.
    pub(super) pair: usize,
}

impl Refusal {
    /// Whether both say the same.
    pub(in crate::compat) fn says_the_same(&self, other: &Refusal) -> bool {
        (&self.path, &self.expected, &self.found) == (&other.path, &other.expected, &other.found)
    }
}

/// A part of the receiver that must be there and is not.
pub(super) struct Missing<'a> {
    pub(super) path: String,
    pub(super) form: &'a Form,
    pub(super) span: Option<Span>,
}

/// Values that a receiver refuses, while it is not known where the sender writes one of them.
pub(super) struct OpenRefusal<'a> {
    pub(super) pair: usize,
    pub(super) leaf: &'a Form,
    pub(super) values: Vec<Sample>,
    pub(super) missing: Option<Missing<'a>>,
}

/// What was refused so far.
///
/// Invariant: where many are refused, those that are kept are each the first of an alternative, or of a missing field.
#[derive(Default)]
pub(super) struct Refusals<'a> {
    kept: Vec<Refusal>,
    /// The alternatives that were refused, and the fields that were missing.
    alternatives: HashSet<*const Form>,
    missing: HashSet<*const Form>,
    /// What is refused in no place that is known so far.
    open: Vec<OpenRefusal<'a>>,
}

impl<'a> Refusals<'a> {
    /// Whether no more is kept.
    pub(super) fn are_enough(&self) -> bool {
        self.kept.len() >= MOST
    }

    /// Whether the last one is of this pair.
    pub(super) fn last_is_of(&self, pair: usize) -> bool {
        self.kept.last().is_some_and(|last| last.pair == pair)
    }

    /// Whether a refusal is to be kept. Each alternative of a large union may be refused for each one of another.
    pub(super) fn is_news(&self, leaf: &Form, missing: Option<&Missing<'a>>) -> bool {
        !self.are_enough()
            || !self.alternatives.contains(&std::ptr::from_ref(leaf))
            || missing.is_some_and(|part| !self.missing.contains(&std::ptr::from_ref(part.form)))
    }

    /// Keeps a refusal of an alternative.
    pub(super) fn keep(&mut self, refusal: Refusal, leaf: &Form, missing: Option<&Missing<'a>>) {
        self.kept.push(refusal);
        self.alternatives.insert(leaf);
        self.missing.extend(missing.map(|part| std::ptr::from_ref(part.form)));
    }

    /// A refusal waits until all places are known. Returns whether there is room for it.
    pub(super) fn wait(&mut self, refusal: OpenRefusal<'a>) -> bool {
        let has_room = self.open.len() < MOST_OPEN;
        self.open.extend(Some(refusal).filter(|_| has_room));
        has_room
    }

    /// What has waited.
    pub(super) fn take_open(&mut self) -> Vec<OpenRefusal<'a>> {
        std::mem::take(&mut self.open)
    }

    pub(super) fn into_kept(self) -> Vec<Refusal> {
        self.kept
    }
}
