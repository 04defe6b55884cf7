//! Violations are returned before anything is written, with all their fields.

use mcp_runtime::protocol::{Direction, Kind, Side, Strictness};
use mcp_runtime::{CheckedSession, Error, Event, Options, Violation, ViolationKind};
use serde_json::json;

use super::raw::{Raw, raw};
use super::{help_desk, next, open, reporting, request, strangers};

#[track_caller]
fn violation<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Violation {
    match outcome {
        Err(Error::NotPermitted(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

/// A visitor over a wire on which every line can be seen.
fn watched() -> (CheckedSession, Raw) {
    let (wire, raw) = raw();
    (CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Client, Options::default()), raw)
}

#[tokio::test]
async fn nothing_is_written_of_what_is_refused() {
    let (mut visitor, mut raw) = watched();
    violation(visitor.request("count", &1).await);
    violation(visitor.notify("note", "early").await);
    violation(visitor.request("ask", "early").await);
    violation(visitor.request("nonsense", &()).await);
    violation(visitor.call::<_, u32>("count", &1).await);
    // The first thing on the wire is the first that was right, under the first id.
    visitor.request("hello", &json!({})).await.unwrap();
    assert_eq!(
        raw.hear().await.unwrap(),
        json!({"jsonrpc": "2.0", "id": 0, "method": "hello", "params": {}})
    );
}

#[tokio::test]
async fn a_violation_names_the_sender_the_state_the_message_and_the_rule() {
    let (mut visitor, _clerk) = strangers();
    let violation = violation(visitor.request("count", &1).await);
    assert_eq!(&*violation.role, "Visitor");
    assert_eq!((violation.side, violation.sender), (Side::Client, Side::Client));
    assert_eq!(violation.direction, Direction::Send);
    assert_eq!(violation.states, ["Greeting"]);
    assert_eq!((&*violation.got.method, violation.got.kind), ("count", Some(Kind::Request)));
    assert_eq!(violation.kind, ViolationKind::NotPermitted);
    let expected: Vec<&str> = violation.expected.iter().map(|expected| &*expected.method).collect();
    assert_eq!(expected, ["hello", "ping"]);
    assert_eq!(violation.permitted_in, ["Open"]);
    assert_eq!((violation.strictness, violation.rule.clone()), (Strictness::Must, None));
    assert_eq!(violation.missing_capability(), None);
    assert_eq!(
        violation.report().to_string(),
        "`count` is not permitted in `Greeting`: the client may send `hello` or `ping` now
  protocol  Desk 1
  role      Visitor, the client
  direction sent by this role
  state     Greeting
  expected  `hello` or `ping`
  got       `count`
  elsewhere permitted in Open
  rule      none by name, must
  to blame  the client"
    );
}

#[tokio::test]
async fn what_the_peer_does_wrong_is_blamed_on_the_peer() {
    let (wire, mut raw) = raw();
    let (options, reports) = reporting();
    let mut clerk = CheckedSession::start(wire, &help_desk::PROTOCOL, Side::Server, options);
    let answer = raw.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "count", "params": 1})).await;
    assert_eq!(answer["error"]["data"]["state"], json!("Greeting"));
    assert_eq!(reports.lock().unwrap().len(), 1);
    // It never comes this far, and the session lives on.
    raw.say(json!({"jsonrpc": "2.0", "id": 2, "method": "hello", "params": {}})).await;
    assert_eq!(request(&mut clerk).await.0, 2.into());
}

#[tokio::test]
async fn another_kind_and_no_kind_at_all() {
    let (mut visitor, _clerk) = strangers();
    let other = violation(visitor.notify("hello", &()).await);
    assert_eq!(other.kind, ViolationKind::OtherKind { taken_for: Kind::Notification });
    assert_eq!(other.to_string(), "`hello` is a request, not a notification");
    let unknown = violation(visitor.request("helo", &()).await);
    assert_eq!(unknown.kind, ViolationKind::UnknownMethod);
    let index = violation(visitor.request(help_desk::messages::WELCOME, &()).await);
    assert_eq!(index.kind, ViolationKind::OtherKind { taken_for: Kind::Request });
}

#[tokio::test]
async fn permits_agrees_with_what_is_then_done_and_permitted_lists_it() {
    let (mut visitor, mut clerk) = strangers();
    let names = |session: &CheckedSession| {
        let messages = session.permitted().into_iter();
        messages
            .map(|message| session.protocol().message(message).unwrap().name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&visitor), ["Hello", "Ping"]);
    assert_eq!(names(&clerk), ["Ping"]);
    assert!(visitor.permits("hello").is_ok());
    let early = visitor.permits("ask").unwrap_err();
    assert_eq!((early.kind.clone(), early.missing_capability()), (ViolationKind::NotPermitted, None));

    // Neither side announces anything: the state permits more than was negotiated.
    visitor.request("hello", &json!({})).await.unwrap();
    let (id, _) = request(&mut clerk).await;
    assert_eq!(names(&clerk), ["Welcome", "HelloError", "Ping"]);
    clerk.respond(&id, &json!({})).await.unwrap();
    next(&mut visitor).await;
    visitor.notify("ready", &()).await.unwrap();
    next(&mut clerk).await;
    let ungated = visitor.permits("ask").unwrap_err();
    assert_eq!(ungated.missing_capability(), Some("questions"));
    assert!(matches!(ungated.kind, ViolationKind::NotNegotiated { holder: Side::Server, .. }));
    assert_eq!(violation(visitor.request("ask", "x").await).kind, ungated.kind);
    assert_eq!(names(&visitor), ["Note", "Count", "Look", "Bell", "Ping"]);

    // With everything announced, and a request that can be cancelled and answered.
    let (mut visitor, mut clerk) = open().await;
    assert_eq!(names(&visitor), ["Note", "Count", "Ask", "Look", "Bell", "Ping"]);
    visitor.request("ask", "x").await.unwrap();
    assert!(visitor.permits("cancelled").is_ok());
    request(&mut clerk).await;
    assert_eq!(names(&clerk), ["Told", "AskError", "Approve", "Changed", "Ping"]);

    // And nothing once it is over.
    drop(visitor.close().unwrap());
    assert!(matches!(next(&mut clerk).await, Event::Cancelled { .. } | Event::Closed));
    assert_eq!(clerk.permits("approve").unwrap_err().kind, ViolationKind::Over);
    assert!(!names(&clerk).contains(&"Approve".to_owned()));
}

#[tokio::test]
async fn where_this_side_may_not_close_the_session_is_given_back() {
    let (visitor, clerk) = strangers();
    let visitor = visitor.close().unwrap_err();
    assert_eq!(visitor.state_name(), "Greeting");
    drop(clerk.close().unwrap_err());
}
