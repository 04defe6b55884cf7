//! Cancelled requests, and values that are dropped while the session goes on.

use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, RpcError, ViolationKind};
use serde_json::json;

use super::help_desk::{Clerk, Open, server};
use super::two_channels::{Guest, Host, Lefts, Rights};
use super::{halves, is_idle, next, notification, open, reply, request, two_channels};

/// A guest and a host with two linear channels, both without types.
async fn two_channels() -> (CheckedSession, CheckedSession) {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &two_channels::PROTOCOL, side, Options::default());
    let (mut guest, mut host) = (start(here, Side::Client), start(there, Side::Server));
    guest.request("begin", &()).await.unwrap();
    let (id, _) = request(&mut host).await;
    host.respond(&id, &()).await.unwrap();
    reply(&mut guest).await;
    (guest, host)
}

#[tokio::test]
async fn a_cancelled_linear_request_leaves_both_sides_where_they_were() {
    let (mut guest, mut host) = two_channels().await;
    let asked = guest.request("wait", &json!({})).await.unwrap();
    assert!(guest.permits("left").is_err());
    let (id, _) = request(&mut host).await;
    guest.cancel(&asked).unwrap();
    assert_eq!(guest.state_name(), "Lefts and Rights");
    let Event::Cancelled { id: back } = next(&mut host).await else { panic!() };
    assert_eq!(back, id);
    assert_eq!(host.state_name(), "Lefts and Rights");
    guest.notify("left", &()).await.unwrap();
    assert_eq!(notification(&mut host).await.0, "left");
    // The same by the notification that says so, when the answer is on its way already.
    let asked = guest.request("wait", &json!({})).await.unwrap();
    let (id, _) = request(&mut host).await;
    host.respond(&id, &json!("done")).await.unwrap();
    assert!(is_idle(&mut host).await);
    guest.cancel(&asked).unwrap();
    assert_eq!(reply(&mut guest).await, (asked, json!("done")));
    assert!(is_idle(&mut host).await);
}

#[tokio::test]
async fn a_half_that_goes_lets_go_of_what_it_asked_and_answers_what_it_held() {
    let (here, there) = duplex();
    let (guest, host) = (Guest::new(here), Host::new(there));
    let (guest, host) =
        tokio::join!(guest.begin(), async { host.recv_begin().await.unwrap().send_begun().await.unwrap() });
    let (lefts, rights) = guest.unwrap().split();
    let (host_lefts, _host_rights): (Host<Lefts>, Host<Rights>) = host.split();
    let mut host = host_lefts.into_checked();
    let mut rights: CheckedSession = rights.into_checked();
    rights.request("ask", &json!("slow")).await.unwrap();
    let (id, _) = request(&mut host).await;
    let queried = host.request("query", &json!("someone")).await.unwrap();
    request(&mut rights).await;
    // The other half keeps the session alive, which can do without this one.
    drop(rights);
    let mut seen = vec![next(&mut host).await, next(&mut host).await];
    seen.sort_by_key(|event| matches!(event, Event::Refused { .. }));
    let Event::Cancelled { id: back } = &seen[0] else { panic!("{seen:?}") };
    assert_eq!(*back, id);
    let Event::Refused { id: refused, error } = &seen[1] else { panic!("{seen:?}") };
    assert_eq!((refused, error.code), (&queried, RpcError::INTERNAL_ERROR));
    let mut lefts: Guest<Lefts> = lefts;
    lefts.send_left().await.unwrap();
    assert_eq!(notification(&mut host).await.0, "left");
}

#[tokio::test]
async fn a_cancelled_request_is_not_held_any_more() {
    let (mut visitor, mut clerk) = open().await;
    let asked = visitor.request("ask", "slow").await.unwrap();
    request(&mut clerk).await;
    visitor.cancel(&asked).unwrap();
    assert!(matches!(next(&mut clerk).await, Event::Cancelled { .. }));
    let clerk: Clerk<Open> = clerk.try_into_typed().unwrap();
    drop(clerk);
}

#[tokio::test]
async fn what_another_value_holds_is_not_answered_here() {
    let (mut visitor, clerk) = open().await;
    let clerk: Clerk<Open> = clerk.try_into_typed().unwrap();
    let incoming = clerk.incoming();
    let asked = visitor.request("ask", "who").await.unwrap();
    let Some(server::Incoming::Ask(_, responder)) = incoming.next().await else { panic!() };
    let mut clerk = clerk.into_checked();
    for answered in [clerk.refuse(&asked, &RpcError::new(1, "me")), clerk.respond(&asked, "me").await] {
        assert!(matches!(answered, Err(Error::NotHeld { .. })), "{answered:?}");
    }
    responder.respond("me".to_owned()).unwrap();
    assert_eq!(reply(&mut visitor).await, (asked, json!("me")));
}

#[tokio::test]
async fn a_message_that_only_crosses_on_the_wire_is_not_a_step_of_the_program() {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &halves::PROTOCOL, side, Options::default());
    let (mut player, mut keeper) = (start(here, Side::Client), start(there, Side::Server));
    player.request("begin", &()).await.unwrap();
    let (id, _) = request(&mut keeper).await;
    keeper.respond(&id, &()).await.unwrap();
    reply(&mut player).await;
    player.request("surrender", &()).await.unwrap();
    assert!(is_idle(&mut player).await);
    // It is there, but the keeper has not seen it, and may still send what crosses it.
    assert!(keeper.permits("hint").is_ok());
    keeper.notify("hint", &1).await.unwrap();
    let (id, _) = request(&mut keeper).await;
    assert_eq!(keeper.permits("hint").unwrap_err().kind, ViolationKind::NotPermitted);
    assert!(keeper.permitted().iter().all(|message| *message != halves::messages::HINT));
    assert!(matches!(keeper.notify("hint", &2).await, Err(Error::NotPermitted(_))));
    keeper.respond(&id, "well played").await.unwrap();
    // What crosses a step is late, and is not there in a later state.
    assert_eq!(reply(&mut player).await.1, json!("well played"));
    keeper.notify("hint", &3).await.unwrap();
    assert_eq!(notification(&mut player).await, ("hint".to_owned(), json!(3)));
}

#[tokio::test]
async fn a_request_taken_by_a_typed_value_is_cancelled_in_a_checked_one() {
    let (here, there) = duplex();
    let (guest, host) = (Guest::new(here), Host::new(there));
    let (guest, host) =
        tokio::join!(guest.begin(), async { host.recv_begin().await.unwrap().send_begun().await.unwrap() });
    let (lefts, _rights) = guest.unwrap().split();
    let (host_lefts, _host_rights) = host.split();
    let mut lefts = lefts.into_checked();
    let asked = lefts.request("wait", &json!({})).await.unwrap();
    let two_channels::server::LeftsNext::Wait(_, waiting) = host_lefts.next().await.unwrap() else {
        panic!()
    };
    let mut waiting = waiting.into_checked();
    lefts.cancel(&asked).unwrap();
    assert!(matches!(next(&mut waiting).await, Event::Cancelled { .. }));
    assert!(waiting.try_into_typed::<Host<Lefts>>().is_ok());
}
