//! Sessions over HTTP.

mod client;
mod server;
mod stateless;
