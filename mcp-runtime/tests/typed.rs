//! The typed face, as the macro generates it, over the in-memory transport.

#![allow(missing_docs)]
// Helpers of tests say what they expect by panicking, as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod desk {
    mcp_runtime::protocol!("tests/sessions/desk.session");
}

mod garden {
    mcp_runtime::protocol!("tests/sessions/garden.session");
}

mod kitchen {
    mcp_runtime::protocol!("tests/sessions/kitchen.session");
}

mod restaurant {
    mcp_runtime::protocol!("tests/sessions/restaurant.session");
}

mod turns {
    mcp_runtime::protocol!("tests/sessions/turns.session");
}

mod watching {
    mcp_runtime::protocol!("tests/sessions/watching.session");
}

mod workbench {
    mcp_runtime::protocol!("tests/sessions/workbench.session");
}

#[path = "typed/cancelling.rs"]
mod cancelling;
#[path = "typed/conditions.rs"]
mod conditions;
#[path = "typed/copies.rs"]
mod copies;
#[path = "typed/ending.rs"]
mod ending;
#[path = "typed/halves.rs"]
mod halves;
#[path = "typed/keys.rs"]
mod keys;
#[path = "typed/lateness.rs"]
mod lateness;
#[path = "typed/nesting.rs"]
mod nesting;
#[path = "typed/opening.rs"]
mod opening;
#[path = "typed/order.rs"]
mod order;
#[path = "typed/paging.rs"]
mod paging;
#[path = "typed/raw.rs"]
mod raw;
#[path = "typed/rejected.rs"]
mod rejected;
#[path = "typed/serving.rs"]
mod serving;
#[path = "typed/stepping.rs"]
mod stepping;
#[path = "typed/suspended.rs"]
mod suspended;
#[path = "typed/taking_back.rs"]
mod taking_back;
#[path = "typed/timing.rs"]
mod timing;

use desk::{Clerk, Open, Visitor};
use mcp_runtime::Options;
use mcp_runtime::transport::duplex;
use serde_json::json;

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
