//! One change, and how changes are collected.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::Side;

use super::super::found::Break;
use super::super::pair_verdict::PairVerdict;
use super::super::version::{Age, Peer, Version};
use crate::source::Span;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// What has changed.
    pub part: Part,
    /// Its name.
    pub name: String,
    /// How it has changed.
    pub text: String,
    /// Which clients can no longer talk to which servers because of it.
    pub breaks: Vec<(Peer, Peer)>,
    /// Where it stands in the old file.
    pub old: Option<Span>,
    /// Where it stands in the new file.
    pub new: Option<Span>,
}

/// What may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// The protocol as a whole.
    Protocol,
    /// A message.
    Message,
    /// A shape.
    Shape,
    /// A state of a role.
    State,
    /// A client of one file and a server of the other: what breaks them, where no change of one declaration or state does.
    Pair,
}

impl Part {
    /// `protocol`, `message`, `shape`, `state`, `pair`
    pub const fn word(self) -> &'static str {
        match self {
            Part::Protocol => "protocol",
            Part::Message => "message",
            Part::Shape => "shape",
            Part::State => "state",
            Part::Pair => "pair",
        }
    }
}

/// Collects changes, with what they break.
pub(super) struct Changes<'a> {
    pairs: &'a [PairVerdict],
    found: Vec<Change>,
    /// The findings that some change is marked with, by the places of the pair and of the finding in it.
    marked: BTreeSet<(usize, usize)>,
}

/// What a change is about, to find what it breaks.
#[derive(Default)]
pub(super) struct About<'a> {
    /// Declarations, of which one is enough.
    pub(super) spans: Vec<Span>,
    /// Which findings about these count.
    pub(super) counts: Option<&'a dyn Fn(&Break) -> bool>,
    /// Only pairs in which this side is of the new file count: the change is one of what that side does.
    pub(super) side: Option<Side>,
}

impl<'a> Changes<'a> {
    /// None yet; a change is marked with what of these it breaks.
    pub(super) fn new(pairs: &'a [PairVerdict]) -> Changes<'a> {
        Changes { pairs, found: Vec::new(), marked: BTreeSet::new() }
    }

    pub(super) fn add(
        &mut self,
        (part, name): (Part, &str),
        text: String,
        (old, new): (Option<Span>, Option<Span>),
        about: &About<'_>,
    ) {
        let is_about = |found: &Break| {
            found.is_error()
                && about.counts.is_none_or(|counts| counts(found))
                && found.subjects.iter().any(|span| about.spans.contains(span))
        };
        let is_of_side = |pair: &&PairVerdict| {
            about.side.is_none_or(|side| match side {
                Side::Client => pair.client == Age::New,
                Side::Server => pair.server() == Age::New,
            })
        };
        let mut breaks = Vec::new();
        for (number, pair) in self.pairs.iter().enumerate().filter(|(_, pair)| is_of_side(pair)) {
            let places = pair.found.iter().enumerate().filter(|(_, found)| is_about(found));
            let places: Vec<_> = places.map(|(place, _)| (number, place)).collect();
            breaks.extend((!places.is_empty()).then(|| peers(pair)));
            self.marked.extend(places);
        }
        self.found.push(Change { part, name: name.to_owned(), text, breaks, old, new });
    }

    /// Lists what breaks a pair and belongs to no change so far.
    pub(super) fn add_unmarked(&mut self) {
        for (number, pair) in self.pairs.iter().enumerate() {
            let (client, server) = peers(pair);
            let errors = pair.found.iter().enumerate().filter(|(_, found)| found.is_error());
            for (_, found) in errors.filter(|(place, _)| !self.marked.contains(&(number, *place))) {
                self.found.push(Change {
                    part: Part::Pair,
                    name: format!("{client} with {server}"),
                    text: found.diagnostic.message.clone(),
                    breaks: vec![(client, server)],
                    old: None,
                    new: None,
                });
            }
        }
    }

    /// Every change that was added, sorted.
    pub(super) fn sorted(self) -> Vec<Change> {
        let mut found = self.found;
        found.sort_by(|one, other| {
            (one.part, &one.name, &one.text).cmp(&(other.part, &other.name, &other.text))
        });
        found.dedup();
        found
    }
}

/// The client and the server of a pair.
fn peers(pair: &PairVerdict) -> (Peer, Peer) {
    (Peer { age: pair.client, side: Side::Client }, Peer { age: pair.server(), side: Side::Server })
}

/// The two files in the order of their ages.
pub(super) fn by_age<'v, 'a>(old: &'v Version<'a>, new: &'v Version<'a>) -> [(Age, &'v Version<'a>); 2] {
    [(Age::Old, old), (Age::New, new)]
}
