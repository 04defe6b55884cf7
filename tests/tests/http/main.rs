//! Sessions over HTTP.

mod at_capacity;
mod client;
mod cut_connections;
mod graceful;
mod http2;
mod pages;
mod server;
mod several_processes;
mod stateless;
