//! From typed to checked and back, in the middle of a session.

use std::sync::Arc;

use mcp_runtime::protocol::{ProtocolRef, Side};
use mcp_runtime::session::WhyNot;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, RpcError};
use serde_json::json;

use super::halves::{Keeper, Notes, Player, Ticks};
use super::help_desk::{Clerk, Greeted, Greeting, Open, Visitor};
use super::{halves, hello, is_idle, next, notification, open, reply, request, strangers, watching, welcome};

#[tokio::test]
async fn a_session_goes_from_face_to_face_and_loses_nothing() {
    let (here, there) = duplex();
    let (visitor, clerk) = (Visitor::new(here), Clerk::new(there));
    // Typed here, without types there, and the other way round.
    let mut clerk = clerk.into_checked();
    let visitor = visitor.send_hello(hello()).await.unwrap();
    let (id, _) = request(&mut clerk).await;
    clerk.respond(&id, &welcome()).await.unwrap();
    let clerk: Clerk<Greeted> = clerk.try_into_typed().unwrap();
    let mut visitor = visitor.into_checked();
    reply(&mut visitor).await;
    visitor.notify("ready", &()).await.unwrap();
    let clerk: Clerk<Open> = clerk.recv_ready().await.unwrap();
    let mut visitor: Visitor<Open> = visitor.try_into_typed().unwrap();
    visitor.send_note("hello".to_owned()).await.unwrap();
    let mut clerk = clerk.into_checked();
    assert_eq!(notification(&mut clerk).await, ("note".to_owned(), json!("hello")));
    visitor.close().await.unwrap();
    assert!(matches!(next(&mut clerk).await, Event::Closed));
}

#[tokio::test]
async fn a_request_that_was_taken_typed_is_answered_checked_and_the_other_way_round() {
    let (here, there) = duplex();
    let (visitor, clerk) = (Visitor::new(here), Clerk::new(there));
    let visitor = visitor.send_hello(hello()).await.unwrap();
    let (_, clerk) = clerk.recv_hello().await.unwrap();
    let mut clerk = clerk.into_checked();
    clerk.refuse(&0.into(), &RpcError::new(9, "again")).unwrap();
    let visitor = visitor.recv_welcome().await.unwrap_err().into_parts().0.unwrap();
    let visitor = visitor.send_hello(hello()).await.unwrap();
    request(&mut clerk).await;
    let clerk: Clerk<super::help_desk::BeforeWelcome> = clerk.try_into_typed().unwrap();
    let _clerk = clerk.send_welcome(welcome()).await.unwrap();
    let _visitor = visitor.recv_welcome().await.unwrap();
}

#[tokio::test]
async fn what_does_not_fit_is_given_back_with_the_reason() {
    let (visitor, clerk) = open().await;
    let not = visitor.try_into_typed::<Visitor<Greeted>>().unwrap_err();
    assert_eq!(not.why, WhyNot::State { is: "Open".into(), wanted: "Greeted".into() });
    assert_eq!(not.to_string(), "the session is in `Open`, and the type is that of `Greeted`");
    let not = not.session.try_into_typed::<Clerk<Open>>().unwrap_err();
    assert_eq!(not.to_string(), "the session is one of `Visitor`, and the type is one of `Clerk`");
    let not = not.session.try_into_typed::<watching::Watcher<watching::Active>>().unwrap_err();
    assert_eq!(not.to_string(), "the session follows the protocol `Desk`, and the type is one of `Watching`");
    let visitor: Visitor<Open> = not.session.try_into_typed().unwrap();
    drop((visitor, clerk));
}

#[tokio::test]
async fn what_waits_has_to_be_taken_first() {
    let (mut visitor, mut clerk) = open().await;
    visitor.notify("note", "wait").await.unwrap();
    assert!(is_idle(&mut visitor).await);
    let not = clerk.try_into_typed::<Clerk<Open>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Pending { message: "Note".into() });
    clerk = not.session;
    notification(&mut clerk).await;

    let asked = visitor.request("ask", "x").await.unwrap();
    let (id, _) = request(&mut clerk).await;
    let not = visitor.try_into_typed::<Visitor<Open>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Asked { ids: vec![asked] });
    visitor = not.session;
    let not = clerk.try_into_typed::<Clerk<Open>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Held { ids: vec![id.clone()] });
    clerk = not.session;

    clerk.respond(&id, "y").await.unwrap();
    let clerk: Clerk<Open> = clerk.try_into_typed().unwrap();
    reply(&mut visitor).await;
    let visitor: Visitor<Open> = visitor.try_into_typed().unwrap();
    drop((visitor, clerk));
}

#[tokio::test]
async fn inputs_that_were_queued_for_the_typed_face_come_to_the_checked_one() {
    let (here, there) = duplex();
    let (mut visitor, clerk) = (Visitor::new(here).into_checked(), Clerk::new(there));
    visitor.request("hello", &hello()).await.unwrap();
    let (_, clerk) = clerk.recv_hello().await.unwrap();
    let clerk = clerk.send_welcome(welcome()).await.unwrap();
    reply(&mut visitor).await;
    visitor.notify("bell", &1).await.unwrap();
    visitor.notify("ready", &()).await.unwrap();
    let mut clerk = clerk.into_checked();
    assert_eq!(notification(&mut clerk).await, ("bell".to_owned(), json!(1)));
    assert_eq!(notification(&mut clerk).await.0, "ready");
}

#[tokio::test]
async fn what_a_typed_queue_attends_to_is_left_to_it() {
    let (here, there) = duplex();
    let (mut visitor, clerk) = (Visitor::new(here).into_checked(), Clerk::new(there));
    let incoming = clerk.incoming();
    let mut clerk = clerk.into_checked();
    visitor.request("hello", &hello()).await.unwrap();
    let (id, _) = request(&mut clerk).await;
    clerk.respond(&id, &welcome()).await.unwrap();
    reply(&mut visitor).await;
    visitor.notify("bell", &1).await.unwrap();
    assert!(is_idle(&mut clerk).await);
    assert!(matches!(incoming.next().await.unwrap(), super::help_desk::server::Incoming::Bell(1)));
    // Once no queue is held, it goes to the session.
    visitor.notify("bell", &2).await.unwrap();
    assert!(is_idle(&mut clerk).await);
    drop(incoming);
    assert_eq!(notification(&mut clerk).await, ("bell".to_owned(), json!(2)));
}

#[tokio::test]
async fn several_channels_are_several_places_of_one_session() {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &halves::PROTOCOL, side, Options::default());
    let mut player = start(here, Side::Client);
    let mut keeper = start(there, Side::Server);
    player.request("begin", &()).await.unwrap();
    let (id, _) = request(&mut keeper).await;
    keeper.respond(&id, &()).await.unwrap();
    reply(&mut player).await;
    // In the fork itself it can still become the type that splits.
    let typed: Player<halves::AfterBegun> = player.try_into_typed().unwrap();
    let mut player = typed.into_checked();
    keeper.notify("tick", &1).await.unwrap();
    keeper.notify("hint", &2).await.unwrap();
    player.notify("note", "three").await.unwrap();
    assert_eq!(player.state_name(), "Notes and Ticks");
    assert_eq!(notification(&mut player).await, ("tick".to_owned(), json!(1)));
    assert_eq!(notification(&mut player).await, ("hint".to_owned(), json!(2)));
    assert_eq!(notification(&mut keeper).await, ("note".to_owned(), json!("three")));
    let not = player.try_into_typed::<Player<Notes>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Split);
    let wrong = not.session.permits("leave").unwrap_err();
    assert_eq!(wrong.states, ["Notes", "Ticks"]);
    not.session.close().unwrap().await.unwrap();
}

#[tokio::test]
async fn one_of_the_halves_may_do_without_its_type() {
    let (here, there) = duplex();
    let (player, keeper) = (Player::new(here), Keeper::new(there));
    let (player, keeper) = tokio::join!(player.begin(), async {
        keeper.recv_begin().await.unwrap().send_begun().await.unwrap()
    });
    let (notes, ticks) = player.unwrap().split();
    let (keeping, mut ticking) = keeper.split();
    let mut notes = notes.into_checked();
    let ticks = ticks.into_checked();
    assert_eq!((notes.state_name(), ticks.state_name()), ("Notes".to_owned(), "Ticks".to_owned()));
    ticking.send_tick(4).await.unwrap();
    notes.notify("note", "mine").await.unwrap();
    let mut keeping = keeping.into_checked();
    assert_eq!(notification(&mut keeping).await, ("note".to_owned(), json!("mine")));
    // The tick is the other half's.
    assert!(is_idle(&mut notes).await);
    let not = ticks.try_into_typed::<Player<Ticks>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Pending { message: "Tick".into() });
    let mut ticks = not.session;
    assert_eq!(notification(&mut ticks).await, ("tick".to_owned(), json!(4)));
    let mut ticks: Player<Ticks> = ticks.try_into_typed().unwrap();
    ticking.send_tick(5).await.unwrap();
    assert_eq!(ticks.recv_tick().await.unwrap(), 5);
    let error = notes.notify("tick", &6).await.unwrap_err();
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
}

#[tokio::test]
async fn a_resumed_session_without_a_peer_ends() {
    let (visitor, clerk) = strangers();
    clerk.abort();
    let mut visitor = visitor;
    visitor.ended().await;
    assert!(visitor.next().await.is_err());
}

#[tokio::test]
async fn a_protocol_that_was_read_at_run_time_is_the_same_protocol() {
    let (here, there) = duplex();
    let read = ProtocolRef::Shared(Arc::new(super::help_desk::PROTOCOL.clone()));
    let visitor = CheckedSession::start(here, read, Side::Client, Options::default());
    let visitor: Visitor<Greeting> = visitor.try_into_typed().unwrap();
    let clerk = Clerk::new(there);
    let (asked, taken) = tokio::join!(visitor.hello(hello()), async {
        let (params, clerk) = clerk.recv_hello().await.unwrap();
        (params, clerk.send_welcome(welcome()).await.unwrap())
    });
    assert_eq!((asked.unwrap().0, taken.0), (welcome(), hello()));
}
