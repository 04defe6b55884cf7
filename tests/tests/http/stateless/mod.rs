//! Revision 2026-07-28 over HTTP: requests without sessions, over a port of the loopback.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used)]

mod client;
mod desk;
mod guide;
mod rounds;
mod server;
