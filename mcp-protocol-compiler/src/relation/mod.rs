//! How two roles relate: dual, compatible, and free of races.
//!
//! Compares two automata, each from its own role's point of view. Returns diagnostics, and the edges that close the
//! diamond.
//!
//! Everything here is computed on the pairs of configurations in which the roles can meet (`product`), breadth
//! first, so that what is reported is reported with a shortest way there. The order of the calls matters:
//! [`relate`] compares what the author wrote, then [`close`] adds edges to copies of both automata, then
//! [`Crossings::races`] looks at these, then [`Crossings::receive`] gives each role those along which it receives. Relating
//! after closing would make different roles equal.

mod apart;
mod close_races;
mod close_rights;
mod closure;
mod compatible;
mod completion;
mod diamond;
mod disagreement;
mod dual;
mod ends;
mod machine;
mod outcome;
mod product;
mod race;
mod remedy;
mod report;
mod roles;
mod search;
mod shared;
mod suggestions;
mod suspension;
mod suspension_races;
mod undone;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;
use machine::Machine;
use outcome::Outcome;
use search::{search, search_within};

pub use apart::{Apart, Place, Reason, Sent, apart};
pub use close_races::closing_races;
pub use closure::{Added, Closed, Crossings, close};
pub use diamond::races;
pub use outcome::{CLOSED, NOT_COMPATIBLE, NOT_DUAL, RACE, TOO_MANY, Wanted};
pub use product::PRODUCT_LIMIT;

/// Compares two roles as they were written. Empty if they relate as wanted. At most `most_products` combinations of the
/// states of their channels are looked at: [`PRODUCT_LIMIT`], and fewer in tests.
pub fn relate(
    client: &Automaton,
    server: &Automaton,
    messages: &[Message],
    wanted: Wanted,
    most_products: usize,
) -> Vec<Diagnostic> {
    let (one, other) = (Machine::new(client), Machine::new(server));
    match search_within(&one, &other, wanted, most_products) {
        Outcome::Related => Vec::new(),
        Outcome::TooMany(limit) => vec![report::too_many(&one, &other, messages, &limit)],
        Outcome::Apart(found) => {
            let weaker = wanted == Wanted::Dual
                && matches!(search(&one, &other, Wanted::Compatible), Outcome::Related);
            vec![report::not_related(&one, &other, messages, wanted, &found, weaker)]
        }
    }
}
