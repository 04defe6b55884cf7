//! Sub-sessions of checked sessions.

use std::sync::Arc;

use mcp_runtime::error::MismatchError;
use mcp_runtime::protocol::{NamedShape, Protocol, Shape, ShapeIndex, Side};
use mcp_runtime::session::WhyNot;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, ViolationKind};
use serde_json::json;

use super::watching::{AfterSubscribed, AwaitingSubscribed, client};
use super::{is_idle, next, notification, reply, request, restaurant, watching};

async fn active() -> (CheckedSession, CheckedSession) {
    active_in(Arc::new(watching::PROTOCOL.clone()), Options::default()).await
}

async fn active_in(protocol: Arc<Protocol>, options: Options) -> (CheckedSession, CheckedSession) {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &protocol, side, options.clone());
    let (mut watcher, mut watched) = (start(here, Side::Client), start(there, Side::Server));
    watcher.request("hello", &()).await.unwrap();
    let (id, _) = request(&mut watched).await;
    watched.respond(&id, &()).await.unwrap();
    reply(&mut watcher).await;
    (watcher, watched)
}

#[tokio::test]
async fn a_sub_session_is_opened_stepped_and_over() {
    let (mut watcher, mut watched) = active().await;
    let uri = |uri: &str| json!({ "uri": uri });
    let mut one = watcher.open("resources/subscribe", &uri("one")).await.unwrap();
    let mut two = watcher.open("resources/subscribe", &uri("two")).await.unwrap();
    let mut serving = Vec::new();
    for name in ["one", "two"] {
        let Event::Opened { id: Some(id), params, mut session, .. } = next(&mut watched).await else {
            panic!()
        };
        assert_eq!(params.read::<serde_json::Value>().unwrap(), uri(name));
        session.respond(&id, &uri(name)).await.unwrap();
        serving.push(session);
    }
    serving[1].notify("notifications/resources/updated", &uri("two")).await.unwrap();
    for subscription in [&mut one, &mut two] {
        reply(subscription).await;
        assert_eq!(subscription.state_name(), "AfterSubscribed");
    }
    assert_eq!(notification(&mut two).await.1, uri("two"));
    assert!(is_idle(&mut one).await, "it is the other instance's");

    // Another value of the key is not this sub-session's, and messages that are not its steps are refused.
    let error = serving[0].notify("notifications/resources/updated", &uri("two")).await.unwrap_err();
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
    assert!(one.permits("textDocument/didChange").is_err());

    let left = one.request("resources/unsubscribe", &uri("one")).await.unwrap();
    let (id, _) = request(&mut serving[0]).await;
    serving[0].respond(&id, &json!({})).await.unwrap();
    assert_eq!(reply(&mut one).await.0, left);
    assert!(one.permitted().is_empty());
}

#[tokio::test]
async fn what_opens_a_sub_session_is_sent_with_open_alone() {
    let (mut watcher, _watched) = active().await;
    let error = watcher.request("resources/subscribe", &json!({ "uri": "a" })).await.unwrap_err();
    assert_eq!(error.to_string(), "`Subscribe` opens a sub-session: send it with `open`");
    assert_eq!(
        watcher.open("ping", &()).await.unwrap_err().to_string(),
        "`Ping` does not open a sub-session: send it with `request`, `call` or `notify`"
    );
}

#[tokio::test]
async fn a_sub_session_goes_from_face_to_face() {
    let (mut watcher, mut watched) = active().await;
    let subscription = watcher.open("resources/subscribe", &json!({ "uri": "a" })).await.unwrap();
    let Event::Opened { id: Some(id), mut session, .. } = next(&mut watched).await else { panic!() };
    session.respond(&id, &json!({})).await.unwrap();
    let not = subscription.try_into_typed::<client::Subscription<AfterSubscribed>>().unwrap_err();
    assert!(matches!(not.why, WhyNot::State { .. }), "{}", not.why);
    assert!(is_idle(&mut watched).await);
    let not = not.session.try_into_typed::<client::Subscription<AwaitingSubscribed>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Pending { message: "Subscribed".into() });
    let mut subscription = not.session;
    reply(&mut subscription).await;
    let subscription: client::Subscription<AfterSubscribed> = subscription.try_into_typed().unwrap();
    session.notify("notifications/resources/updated", &json!({ "uri": "a" })).await.unwrap();
    let mut subscription = subscription.into_checked();
    notification(&mut subscription).await;
    // A sub-session does not close the session.
    assert!(subscription.close().is_err());
}

#[tokio::test]
async fn where_sub_sessions_rest_permits_says_so() {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &restaurant::PROTOCOL, side, Options::default());
    let (mut guest, mut host) = (start(here, Side::Client), start(there, Side::Server));
    let pie = json!({ "dish": "pie" });
    let mut dish = guest.open("order", &pie).await.unwrap();
    let Event::Opened { id: Some(id), mut session, .. } = next(&mut host).await else { panic!() };
    session.respond(&id, &json!("soon")).await.unwrap();
    reply(&mut dish).await;
    assert!(dish.permits("change").is_ok());
    guest.request("bill", &()).await.unwrap();
    let resting = dish.permits("change").unwrap_err();
    assert_eq!(resting.kind, ViolationKind::Suspended);
    assert!(dish.permitted().is_empty());
    let Err(Error::NotPermitted(refused)) = dish.request("change", &pie).await else { panic!() };
    assert_eq!(refused.kind, ViolationKind::Suspended);
}

#[tokio::test]
async fn a_sub_session_returns_the_cancels_of_the_peer() {
    let (mut watcher, mut watched) = active().await;
    let room = json!({ "room": "one" });
    let mut chat = watcher.open("chat/join", &room).await.unwrap();
    let Event::Opened { id: Some(id), session: mut serving, .. } = next(&mut watched).await else { panic!() };
    serving.respond(&id, &()).await.unwrap();
    reply(&mut chat).await;
    for _ in 0..2 {
        // One of its linear channel, and one of a `*` next to that.
        for method in ["chat/turn", "chat/quiz"] {
            let asked = serving.request(method, &room).await.unwrap();
            let (id, _) = request(&mut chat).await;
            assert!(is_idle(&mut chat).await);
            serving.cancel(&asked).unwrap();
            let Event::Cancelled { id: cancelled } = next(&mut chat).await else { panic!() };
            assert_eq!(cancelled, id);
            assert!(is_idle(&mut chat).await, "it comes once");
            // Nothing is left to answer, and the sub-session goes on.
            let error = chat.respond(&id, &json!("too late")).await.unwrap_err();
            assert!(matches!(error, Error::NotHeld { .. }), "{error}");
            if method == "chat/quiz" {
                let Event::Failed { .. } = next(&mut serving).await else { panic!() };
            }
        }
        let asked = serving.request("chat/turn", &room).await.unwrap();
        let (id, _) = request(&mut chat).await;
        chat.respond(&id, &json!("something")).await.unwrap();
        assert_eq!(reply(&mut serving).await.0, asked);
    }
}

#[tokio::test]
async fn after_a_reply_that_is_not_sent_the_request_is_still_answered() {
    let mut protocol = watching::PROTOCOL.clone();
    protocol.shapes = vec![NamedShape::named("Word", Shape::Text)].into();
    let (guess, _) = protocol.by_name("Guess").unwrap();
    protocol.messages.to_mut()[usize::from(guess.0)].shape = Some(ShapeIndex(0));
    let (mut watcher, mut watched) = active_in(Arc::new(protocol), Options::new().judge_payloads(true)).await;
    let room = json!({ "room": "one" });
    let mut chat = watcher.open("chat/join", &room).await.unwrap();
    let Event::Opened { id: Some(id), session: mut serving, .. } = next(&mut watched).await else { panic!() };
    serving.respond(&id, &()).await.unwrap();
    reply(&mut chat).await;

    let asked = serving.request("chat/quiz", &room).await.unwrap();
    let (id, _) = request(&mut chat).await;
    let error = chat.respond(&id, &5).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { problem: MismatchError::Shape(_), .. }), "{error}");
    chat.respond(&id, "five").await.unwrap();
    assert_eq!(reply(&mut serving).await, (asked, json!("five")));

    // A value that is dropped answers what it still holds.
    let asked = serving.request("chat/quiz", &room).await.unwrap();
    let (id, _) = request(&mut chat).await;
    chat.respond(&id, &5).await.unwrap_err();
    drop(chat);
    let Event::Refused { id: refused, .. } = next(&mut serving).await else { panic!() };
    assert_eq!(refused, asked);
}
