//! Servers and clients as a user of this crate writes them.
//!
//! What `tracing` sees has a binary of its own, `log`: the other tests run without a subscriber, and which places in the
//! code one wants to hear of is known to a whole process.

#[cfg(unix)]
mod children;
mod connection;
mod empty_fields;
mod gateway;
mod handlers;
mod joined;
mod lines;
mod pages;
mod passed_on_changes;
mod prelude;
mod revisions;
mod server;
mod wrong_answers;

use mcp_kit::Era;

/// The eras before and behind a gateway.
const ERAS: [(Era, Era); 4] = [
    (Era::Handshake, Era::Handshake),
    (Era::Handshake, Era::Requests),
    (Era::Requests, Era::Handshake),
    (Era::Requests, Era::Requests),
];
