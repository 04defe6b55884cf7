//! Sessions with programs of others. These tests need what `.ci/run` installs, so that `cargo test` leaves them out;
//! `cargo test -p integration-tests --test peers -- --ignored` runs them.

mod agents;
mod codex;
mod editors;
mod everything;
mod features;
mod language_server;
mod parents;
mod sdks;
