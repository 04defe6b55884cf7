//! The server over HTTP, against clients that do as they please.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

#[path = "http/desk.rs"]
#[allow(dead_code, reason = "the tests of the client use the rest")]
mod desk;
#[path = "../../mcp-runtime/tests/tracing/recorder.rs"]
#[allow(dead_code, reason = "what is told to `tracing` is tested where the rest is used")]
mod recorder;
#[path = "http/wire.rs"]
mod wire;

#[path = "http/budgets.rs"]
mod budgets;
#[path = "http/draining.rs"]
mod draining;
#[path = "http/fairness.rs"]
mod fairness;
#[path = "http/handlers.rs"]
mod handlers;
#[path = "http/hanging_up.rs"]
mod hanging_up;
#[path = "http/heads.rs"]
mod heads;
#[path = "http/lateness.rs"]
mod lateness;
#[path = "http/order.rs"]
mod order;
#[path = "http/slow.rs"]
mod slow;
#[path = "http/streams.rs"]
mod streams;
