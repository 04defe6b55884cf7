//! Typed sessions, as the macro generates them, over the in-memory transport.

#![allow(missing_docs)]
// Helpers of tests say what they expect by panicking, as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cancelling_calls;
mod cancelling_steps;
mod conditions;
mod ending;
mod gates;
mod keys;
mod late_messages;
mod nesting;
mod opening;
mod order;
mod paging;
mod rejected;
mod serving;
mod several_channels;
mod stepping;
mod sub_sessions;
mod suspended;
mod timing;
mod versions;

use crate::protocols::help_desk::{Clerk, Open, Visitor};
use crate::protocols::{
    cellar, garden, help_desk, kitchen, registry, restaurant, tasting, turns, watching, workbench,
};
use mcp_runtime::Options;
use mcp_runtime::transport::duplex;
use serde_json::json;
use test_support::raw;

/// Both sides, after the handshake.
async fn open() -> (Visitor<Open>, Clerk<Open>) {
    open_with(Options::default(), Options::default()).await
}

async fn open_with(visitor: Options, clerk: Options) -> (Visitor<Open>, Clerk<Open>) {
    let (here, there) = duplex();
    let visitor = Visitor::with_options(here, visitor);
    let clerk = Clerk::with_options(there, clerk);
    let clerk = async {
        let (_, clerk) = clerk.recv_hello().await.unwrap();
        let clerk = clerk.send_welcome(json!({"capabilities": {"questions": {}}})).await.unwrap();
        clerk.recv_ready().await.unwrap()
    };
    let visitor = async {
        let (_, visitor) = visitor.hello(json!({"capabilities": {"approval": {}}})).await.unwrap();
        visitor.send_ready().await.unwrap()
    };
    tokio::join!(visitor, clerk)
}
