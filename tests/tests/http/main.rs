//! Sessions over HTTP.

mod client;
mod server;
mod several_processes;
mod stateless;
