//! Small protocols, and the code that is generated from them.

mod announced_tokens;
mod announcing;
mod cancelling;
mod closing_within;
mod condition_values;
mod conversations;
mod devtools;
mod during;
mod generated;
mod handle_steps;
mod inner;
mod inner_incoming;
mod late_refusals;
mod left_behind;
mod lsp;
mod note;
mod ovsdb;
mod patterns;
mod payloads_in_place;
mod positions;
mod requiring;
mod several_channels;
mod shape_names;
mod shapes;
mod star_branch;
mod stratum;
mod two_replies;
mod versioned;
mod whole_payloads;
mod wire_order;

use std::time::Duration;

/// Only against a hang; no outcome depends on it.
const HANG: Duration = Duration::from_secs(60);

/// Waits for what has to come.
async fn in_time<T>(waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, waiting).await.expect("it hangs")
}
