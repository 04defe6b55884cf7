//! What has changed between two files, for a reviewer.

use super::PairVerdict;
use super::version::{Peer, Version};
use super::wire::Wire;
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
    /// Which pairs of roles it breaks.
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

pub(super) fn changes(
    _old: &Version<'_>,
    _new: &Version<'_>,
    _wire: &Wire,
    _pairs: &[PairVerdict],
) -> Vec<Change> {
    Vec::new()
}
