//! The comparison of two roles, part by part if that is enough.

use super::machine::Machine;
use super::outcome::{Outcome, Searched, Wanted};
use super::product::{Grouping, PRODUCT_LIMIT};
use super::{compatible, dual};

/// Compares two roles: their groups of channels each by itself, and all together where that does not decide.
pub(super) fn search(client: &Machine<'_>, server: &Machine<'_>, wanted: Wanted) -> Outcome {
    search_within(client, server, wanted, PRODUCT_LIMIT)
}

/// Compares two roles as [`search`] does, and looks at no more than so many pairs with several channels at once.
pub(super) fn search_within(
    client: &Machine<'_>,
    server: &Machine<'_>,
    wanted: Wanted,
    most_products: usize,
) -> Outcome {
    let walk = |grouping| match wanted {
        Wanted::Dual => dual::search(client, server, grouping, most_products),
        Wanted::Compatible => compatible::search(client, server, grouping, most_products),
    };
    let part = match walk(Grouping::Apart) {
        Ok(Searched::Related) => return Outcome::Related,
        Ok(Searched::Apart(found)) => return Outcome::Apart(found),
        Ok(Searched::Undecided(part)) => part,
        Err(limit) => return Outcome::TooMany(limit),
    };
    match walk(Grouping::Together) {
        Ok(Searched::Apart(found)) => Outcome::Apart(found),
        Ok(Searched::Related | Searched::Undecided(_)) => Outcome::Related,
        // The parts differ; whether that shows in the whole is too much to find out, so it has to be mended.
        Err(_) => Outcome::Apart(part),
    }
}
