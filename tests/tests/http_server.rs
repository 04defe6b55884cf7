//! The server over HTTP, against clients that do as they please.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

#[path = "http/desk.rs"]
#[allow(dead_code, reason = "the tests of the client use the rest")]
mod desk;
#[path = "http/wire.rs"]
mod wire;

#[path = "http/hanging_up.rs"]
mod hanging_up;
#[path = "http/heads.rs"]
mod heads;
#[path = "http/order.rs"]
mod order;
#[path = "http/slow.rs"]
mod slow;
#[path = "http/streams.rs"]
mod streams;
