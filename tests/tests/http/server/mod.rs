//! The server over HTTP, against clients that do as they please.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

mod budgets;
mod draining;
mod fairness;
mod handlers;
mod hanging_up;
mod heads;
mod lateness;
mod order;
mod slow;
mod streams;

use integration_tests::http::{desk, wire};
use test_support::recorder;
