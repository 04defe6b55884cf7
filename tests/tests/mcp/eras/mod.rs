//! One program for the revisions with a handshake and the one without. The server and the client are the example `eras`.

mod clients;
mod connecting;
mod proxies;
mod sessions;

#[path = "../../../../examples/eras/client.rs"]
mod client;

#[path = "../../../../examples/eras/server.rs"]
mod server;

use std::time::Duration;

use mcp_protocols::eras::types::SubscriptionFilter;
use mcp_protocols::eras::{Client, Era};
use mcp_runtime::transport::duplex;
use test_support::script::guarded;

use client::{Ada, connector};

/// What the client says of the server, after the first line.
const TALK: [&str; 6] = [
    "greet: Hello, Ada!",
    "learn: I can dance now.",
    "count: one, two, three",
    "climb: 1, 2, 3, I am on the roof.",
    "tools: greet, learn, count, climb, write, dance",
    "note: buy bread",
];

/// A client of a server that has just started, in memory.
async fn connected(era: Option<Era>) -> Client<Ada> {
    let (near, far) = duplex();
    test_support::spawn(async move { server::server().unwrap().serve(far).await });
    let connector = match era {
        Some(era) => connector().era(era),
        None => connector().probe_within(Duration::from_secs(60)),
    };
    connector.connect(near).await.unwrap()
}

#[tokio::test]
async fn a_program_sees_no_difference_between_the_eras() {
    guarded(async {
        for (era, version) in
            [(None, "2026-07-28"), (Some(Era::Requests), "2026-07-28"), (Some(Era::Handshake), "2025-11-25")]
        {
            let client = connected(era).await;
            assert_eq!(client.offer().instructions.as_deref(), Some("Be polite."));
            assert_eq!(client.era(), era.unwrap_or(Era::Requests));
            let said = client::talk(client).await.unwrap();
            assert_eq!(said[0], format!("desk in {version}"));
            assert_eq!(said[1..], TALK);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_not_waited_for() {
    for era in [Era::Requests, Era::Handshake] {
        let client = connected(Some(era)).await;
        let wanted =
            SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["desk://note"]);
        let listening = client.listen(wanted).await.unwrap();
        let before = tokio::time::Instant::now();
        client.close().await.unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO, "{era:?}: no limit has passed");
        drop(listening);
    }
}
