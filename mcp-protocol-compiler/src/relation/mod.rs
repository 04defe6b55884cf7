//! How two roles relate: dual, compatible, and free of races.
//!
//! In: two automata, each from its own role's point of view, and the messages. Out: diagnostics, and the edges that
//! close the diamond. Refuses to repair anything but that.
//!
//! Everything here is computed on the pairs of configurations in which the roles can meet (`product`), breadth
//! first, so that what is reported is reported with a shortest way there. The order of the calls matters:
//! [`relate`] compares what the author wrote, then [`close`] adds edges to both automata, then [`races`] looks at
//! the result. Relating after closing would make different roles equal.

mod close_races;
mod close_rights;
mod closure;
mod compatible;
mod diamond;
mod disagreement;
mod dual;
mod ends;
mod machine;
mod product;
mod race;
mod report;
mod roles;
mod suggestions;
mod suspension;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::{Code, Diagnostic};

pub use close_races::closing_races;
pub use closure::{Added, Closed, close};
pub use diamond::races;

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

/// Compares two roles as they were written. Empty if they relate as wanted.
pub fn relate(
    client: &Automaton,
    server: &Automaton,
    messages: &[Message],
    wanted: Wanted,
) -> Vec<Diagnostic> {
    let (one, other) = (machine::Machine::new(client), machine::Machine::new(server));
    match search(&one, &other, wanted) {
        Outcome::Related => Vec::new(),
        Outcome::TooMany(limit) => vec![report::too_many(&one, &other, messages, &limit)],
        Outcome::Apart(found) => {
            let weaker = wanted == Wanted::Dual
                && matches!(search(&one, &other, Wanted::Compatible), Outcome::Related);
            vec![report::not_related(&one, &other, messages, wanted, &found, weaker)]
        }
    }
}

/// What a comparison found.
enum Outcome {
    Related,
    Apart(Box<Found>),
    TooMany(product::TooMany),
}

/// What one walk found.
enum Searched {
    Related,
    Apart(Box<Found>),
    /// Nothing is wrong in the groups of channels, but this depends on who may close, which has to be judged on all
    /// of them together.
    Undecided(Box<Found>),
}

/// The first place where the roles do not fit, and the way there.
struct Found {
    pair: product::Pair,
    way: Vec<machine::Event>,
    what: disagreement::Disagreement,
}

fn search(client: &machine::Machine<'_>, server: &machine::Machine<'_>, wanted: Wanted) -> Outcome {
    let walk = |grouping| match wanted {
        Wanted::Dual => dual::search(client, server, grouping),
        Wanted::Compatible => compatible::search(client, server, grouping),
    };
    let part = match walk(product::Grouping::Apart) {
        Ok(Searched::Related) => return Outcome::Related,
        Ok(Searched::Apart(found)) => return Outcome::Apart(found),
        Ok(Searched::Undecided(part)) => part,
        Err(limit) => return Outcome::TooMany(limit),
    };
    match walk(product::Grouping::Together) {
        Ok(Searched::Apart(found)) => Outcome::Apart(found),
        Ok(Searched::Related | Searched::Undecided(_)) => Outcome::Related,
        // The parts differ; whether that shows in the whole is too much to find out, so it has to be mended.
        Err(_) => Outcome::Apart(part),
    }
}
