//! Both sides: clients that log in, and a server that wants them to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "these are tests"
)]

mod authorization_server;
mod dpop;
mod enterprise;
mod guide;
mod introspection;
mod jwt;
mod layer;
mod login;
#[path = "../../../examples/login/browser.rs"]
#[allow(dead_code, clippy::print_stderr, reason = "a part of an example, which prints")]
mod loopback;
mod oidc_provider;
mod principals;
mod proven;
mod redirects;
mod secrets;
mod workload;
mod world;

use std::time::Duration;

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("the test hangs")
}
