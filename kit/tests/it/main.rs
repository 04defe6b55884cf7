//! Servers and clients as a user of this crate writes them.

mod connection;
mod log;
mod server;
