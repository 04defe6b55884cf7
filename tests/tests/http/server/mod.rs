//! Tests of the HTTP server, against raw and typed clients.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

mod budgets;
mod client_shares;
mod cut_streams;
mod handlers;
mod late_messages;
mod order;
mod refusals_while_writing;
mod released_connections;
mod request_heads;
mod slow_clients;
mod streams;

use integration_tests::http::{test_server, wire};
use test_support::recorder;
