//! Restricted handles.

use mcp_runtime::{Capabilities, Error, ViolationKind};
use serde_json::json;

use super::help_desk::{Clerk, Open, Visitor, capabilities, messages};
use super::{is_idle, open};

async fn typed() -> (Visitor<Open>, Clerk<Open>) {
    let (visitor, clerk) = open().await;
    (visitor.try_into_typed().unwrap(), clerk.try_into_typed().unwrap())
}

#[tokio::test]
async fn a_restricted_handle_sends_nothing_that_needs_more() {
    let (visitor, clerk) = typed().await;
    let full = visitor.handle();
    let weak = full.restrict(&Capabilities::none());
    assert!(full.permits(messages::ASK).is_ok());
    let refused = weak.permits(messages::ASK).unwrap_err();
    assert_eq!(refused.kind, ViolationKind::Restricted { capability: "questions".to_owned() });
    assert_eq!(refused.missing_capability(), Some("questions"));
    assert!(!weak.permitted().contains(&messages::ASK) && weak.permitted().contains(&messages::LOOK));
    let Err(Error::NotPermitted(violation)) = weak.ask("why".to_owned()).await else { panic!() };
    assert_eq!(violation.kind, refused.kind);
    // What needs nothing goes out, and nothing else was written.
    let seen = async { weak.look(Some(json!("around"))).await };
    let mut clerk = clerk.into_checked();
    let serving = async {
        let (id, params) = super::request(&mut clerk).await;
        assert_eq!(params, json!("around"));
        clerk.respond(&id, &json!("all")).await.unwrap();
    };
    let (seen, ()) = tokio::join!(seen, serving);
    assert_eq!(seen.unwrap(), json!("all"));
    assert!(is_idle(&mut clerk).await);
}

#[tokio::test]
async fn restricting_again_with_more_gives_nothing_back() {
    let (visitor, _clerk) = typed().await;
    let both: Capabilities = [capabilities::QUESTIONS, capabilities::APPROVAL].into_iter().collect();
    let weak = visitor.handle().restrict(&Capabilities::none()).restrict(&both);
    assert!(weak.restrict(&Capabilities::unknown()).permits(messages::ASK).is_err());
    assert!(visitor.handle().restrict(&both).permits(messages::ASK).is_ok());
    assert!(visitor.handle().permits(messages::ASK).is_ok(), "the handle that it was made from is as it was");
}

#[tokio::test]
async fn a_session_without_types_can_be_restricted_as_well() {
    let (mut visitor, mut clerk) = open().await;
    visitor.restrict(&Capabilities::none());
    visitor.restrict(&Capabilities::unknown());
    assert!(matches!(visitor.permits("ask").unwrap_err().kind, ViolationKind::Restricted { .. }));
    assert!(!visitor.permitted().contains(&messages::ASK));
    for refused in [visitor.request("ask", "x").await.map(drop), visitor.call::<_, ()>("ask", "x").await] {
        let Err(Error::NotPermitted(violation)) = refused else { panic!("{refused:?}") };
        assert_eq!(violation.missing_capability(), Some("questions"));
    }
    assert!(is_idle(&mut clerk).await);
    visitor.notify("bell", &1).await.unwrap();
    super::notification(&mut clerk).await;
}
