//! What has changed between two files, for a reviewer. Documentation is not compared.
//!
//! A change breaks a pair of roles if the comparison of that pair found an error about the same declaration. An error about
//! no change is listed as one of the pair.

mod change;
mod forms;
mod messages;
mod protocol;
mod shapes;
mod states;

use mcp_protocol_machine::protocol::Side;

use super::pair_verdict::PairVerdict;
use super::version::Version;
use super::wire::Wire;
use change::Changes;

pub use change::{Change, Part};

/// Every change, sorted.
pub(super) fn changes(
    old: &Version<'_>,
    new: &Version<'_>,
    wire: &Wire,
    pairs: &[PairVerdict],
) -> Vec<Change> {
    let mut changes = Changes::new(pairs);
    protocol::compare(&mut changes, old, new);
    messages::compare(&mut changes, old, new, wire);
    shapes::compare(&mut changes, old, new);
    for side in [Side::Client, Side::Server] {
        states::compare(&mut changes, (old, new), side, wire);
    }
    changes.add_unmarked();
    changes.sorted()
}
