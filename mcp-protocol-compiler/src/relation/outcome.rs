//! What the relations are asked, and what they can find.

use super::disagreement::Disagreement;
use super::machine::Event;
use super::product::{Pair, TooMany};
use crate::diagnostic::Code;

/// The server is not the dual of the client.
pub const NOT_DUAL: Code = Code("S0501");
/// The client is not compatible with the server.
pub const NOT_COMPATIBLE: Code = Code("S0502");
/// Two messages cross on the wire, and one of them is no longer expected.
pub const RACE: Code = Code("S0503");
/// The roles group their messages so differently that there are too many combinations of places.
pub const TOO_MANY: Code = Code("S0504");
/// Edges were added for messages that cross on the wire.
pub const CLOSED: Code = Code("S0510");

/// Which relation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Each role sends exactly what the other receives.
    Dual,
    /// The client sends no more than the server receives, and receives no less than the server sends.
    Compatible,
}

/// What a comparison found.
pub(super) enum Outcome {
    Related,
    Apart(Box<Found>),
    TooMany(TooMany),
}

/// What one walk found.
pub(super) enum Searched {
    Related,
    Apart(Box<Found>),
    /// Nothing is wrong in the groups of channels, but this depends on who may close, which has to be judged on all
    /// of them together.
    Undecided(Box<Found>),
}

/// The first place where the roles do not fit, and the way there.
pub(super) struct Found {
    pub(super) pair: Pair,
    pub(super) way: Vec<Event>,
    pub(super) what: Disagreement,
}
