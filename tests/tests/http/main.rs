//! Sessions over HTTP.

mod at_capacity;
mod client;
mod server;
mod several_processes;
mod stateless;
