//! What the pages of `docs` show: it compiles, runs, and is what stands there.

mod calls;
mod checked;
mod client;
mod language;
mod mcp;
mod migrating;
mod server;
#[cfg(unix)]
mod transports;
