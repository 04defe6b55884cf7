//! One change, and how changes are collected.

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
}

impl Part {
    /// `protocol`, `message`, `shape`, `state`
    pub const fn word(self) -> &'static str {
        match self {
            Part::Protocol => "protocol",
            Part::Message => "message",
            Part::Shape => "shape",
            Part::State => "state",
        }
    }
}

/// Collects changes, with what they break.
pub(super) struct Changes<'a> {
    pairs: &'a [PairVerdict],
    found: Vec<Change>,
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
        Changes { pairs, found: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        (part, name): (Part, &str),
        text: String,
        (old, new): (Option<Span>, Option<Span>),
        about: &About<'_>,
    ) {
        let is_about = |found: &&Break| {
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
        let pairs = self.pairs.iter().filter(is_of_side);
        let broken = pairs.filter(|pair| pair.found.iter().any(|found| is_about(&found)));
        let breaks = broken.map(|pair| {
            let client = Peer { age: pair.client, side: Side::Client };
            (client, Peer { age: pair.server(), side: Side::Server })
        });
        self.found.push(Change { part, name: name.to_owned(), text, breaks: breaks.collect(), old, new });
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

/// The two files in the order of their ages.
pub(super) fn by_age<'v, 'a>(old: &'v Version<'a>, new: &'v Version<'a>) -> [(Age, &'v Version<'a>); 2] {
    [(Age::Old, old), (Age::New, new)]
}
