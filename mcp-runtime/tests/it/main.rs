//! Sessions, typed and checked, and the transports that need no feature.

mod checked;
#[cfg(unix)]
mod child;
mod duplex;
mod message_stream;
mod protocols;
mod successive;
mod tracing;
mod transports;
mod typed;
