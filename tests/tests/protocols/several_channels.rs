//! Several linear channels in the body of a `*`.

use mcp_runtime::session::WhyNot;
use mcp_runtime::transport::{Duplex, duplex};
use mcp_runtime::{Error, Event, Options, RpcError};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::in_time;

mod builds {
    mcp_runtime::protocol!("protocols/builds.session");
}

use builds::client::{LoggingNext, SteeringNext};
use builds::server::Incoming;
use builds::{Active, AfterStarted, Builder, Editor, Logging, Steering, client, server};

fn reported() -> (Options, UnboundedReceiver<String>) {
    let (told, reports) = unbounded_channel();
    (Options::new().on_report(move |report| _ = told.send(report.to_string())), reports)
}

fn build(build: &str) -> Value {
    json!({ "build": build })
}

async fn active(near: Duplex, far: Duplex) -> (Editor<Active>, Builder<Active>) {
    let opening = async { Builder::new(far).recv_open().await.unwrap().send_opened().await.unwrap() };
    let (editor, builder) = tokio::join!(Editor::new(near).open(), opening);
    (editor.unwrap(), builder)
}

/// A build, as both sides have it.
async fn started(
    editor: &Editor<Active>,
    builder: &Builder<Active>,
    key: &str,
) -> (client::Build<AfterStarted>, server::Build<AfterStarted>) {
    let starting = async {
        let Some(Incoming::Start(_, build)) = builder.incoming().next().await else { panic!() };
        build.send_started(json!({})).await.unwrap()
    };
    let (own, theirs) = in_time(async { tokio::join!(editor.start(build(key)), starting) }).await;
    (own.unwrap().1, theirs)
}

#[tokio::test]
async fn each_channel_of_a_sub_session_is_a_value_for_a_task_of_its_own() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    let (own, theirs) = started(&editor, &builder, "a").await;
    let (mut logging, steering) = theirs.split();
    let saying = test_support::spawn(async move {
        for number in 0..100 {
            logging.send_line(json!({ "build": "a", "line": number })).await.unwrap();
        }
        logging.send_finished(build("a")).await.unwrap();
    });
    let steered = test_support::spawn(steered(steering));
    let (mut logging, mut steering) = own.split();
    let hearing = test_support::spawn(async move {
        let mut lines = 0;
        loop {
            match logging.next().await.unwrap() {
                LoggingNext::Line(line, next) => {
                    assert_eq!(line["line"], lines);
                    lines += 1;
                    logging = next;
                }
                LoggingNext::Finished(_) => return lines,
                other => panic!("{other:?}"),
            }
        }
    });
    for number in 0..100 {
        steering.send_priority(json!({ "build": "a", "priority": number })).await.unwrap();
    }
    steering.detach(build("a")).await.unwrap();
    in_time(saying).await.unwrap();
    assert_eq!((in_time(hearing).await.unwrap(), in_time(steered).await.unwrap()), (100, 100));
}

/// Receives the priorities of a build, and returns how many there were.
async fn steered(mut steering: server::Build<Steering>) -> i32 {
    let mut told = 0;
    loop {
        match steering.next().await.unwrap() {
            server::SteeringNext::Priority(_, next) => {
                told += 1;
                steering = next;
            }
            server::SteeringNext::Detach(_, build) => {
                build.send_detached().await.unwrap();
                return told;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_sub_session_goes_on_until_the_last_of_its_channels_has_ended() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    let (own, theirs) = started(&editor, &builder, "a").await;
    let handle = own.handle();
    let (logging, steering) = own.split();
    let (their_logging, their_steering) = theirs.split();
    their_logging.send_finished(build("a")).await.unwrap();
    in_time(logging.recv_finished()).await.unwrap();
    // The other channel, and what runs next to it, go on.
    let answering = async {
        let server::SteeringNext::Status(_, owed, next) = their_steering.next().await.unwrap() else {
            panic!()
        };
        owed.respond(json!("half")).unwrap();
        next
    };
    let (status, their_steering) =
        in_time(async { tokio::join!(handle.status(build("a")), answering) }).await;
    assert_eq!(status.unwrap(), json!("half"));
    let in_use = editor.send_start(build("a")).await.unwrap_err();
    assert!(in_use.to_string().contains("running already"), "{in_use}");
    in_time(async { tokio::join!(steering.detach(build("a")), steered(their_steering)) }).await.0.unwrap();
    // With it, it is over.
    let over = handle.status(build("a")).await.unwrap_err();
    assert!(matches!(over, Error::Closed), "{over:?}");
    let (own, theirs) = started(&editor, &builder, "a").await;
    drop((own, theirs));
}

#[tokio::test]
async fn dropping_one_channel_abandons_the_sub_session_unless_it_can_go_on_without_it() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    let (own, theirs) = started(&editor, &builder, "a").await;
    let (their_logging, their_steering) = theirs.split();
    let (logging, mut steering) = own.split();
    their_logging.send_finished(build("a")).await.unwrap();
    // The value of the channel that has ended is gone with its last step.
    in_time(logging.recv_finished()).await.unwrap();
    steering.send_priority(build("a")).await.unwrap();
    let detaching = test_support::spawn(steering.detach(build("a")));
    let server::SteeringNext::Priority(_, their_steering) = in_time(their_steering.next()).await.unwrap()
    else {
        panic!()
    };
    let (_, detached) = in_time(their_steering.recv_detach()).await.unwrap();
    drop(detached);
    let refused = in_time(detaching).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("dropped unanswered"), "{refused}");

    let (own, theirs) = started(&editor, &builder, "b").await;
    let (logging, mut steering) = own.split();
    drop(logging);
    let over = in_time(steering.send_priority(build("b"))).await.unwrap_err();
    assert!(matches!(over, Error::Closed), "{over:?}");
    drop(theirs);
    // The session itself goes on.
    let (own, theirs) = started(&editor, &builder, "c").await;
    drop((own, theirs));
}

#[tokio::test]
async fn an_exchange_waits_for_whichever_channel_takes_it() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    let (own, theirs) = started(&editor, &builder, "a").await;
    let asking = theirs.handle();
    let asked = test_support::spawn(asking.ask(build("a")));
    let (their_logging, their_steering) = theirs.split();
    let (logging, mut steering) = own.split();
    in_time(logging.readable()).await;
    their_logging.send_finished(build("a")).await.unwrap();
    // It was there first, and the channel that goes on takes it.
    in_time(logging.recv_finished()).await.unwrap();
    let SteeringNext::Ask(_, owed) = in_time(steering.next()).await.unwrap();
    owed.respond(json!("yes")).unwrap();
    assert_eq!(in_time(asked).await.unwrap().unwrap(), json!("yes"));
    drop((steering, their_steering));
}

#[tokio::test]
async fn what_is_left_behind_in_one_channel_is_dropped_there() {
    let (wire, mut raw) = raw();
    let (options, mut reports) = reported();
    let opening = test_support::spawn(Editor::with_options(wire, options).open());
    let opened = raw.hear().await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": opened["id"], "result": {} })).await;
    let editor = in_time(opening).await.unwrap().unwrap();
    let room = editor.send_chat(json!({ "room": "a" })).await.unwrap();
    let (talking, hearing) = room.split();
    raw.hear().await.unwrap();
    raw.say(notification("chat/joined", json!({ "room": "a", "who": 1 }))).await;
    raw.say(notification("chat/joined", json!({ "room": "a", "who": 2 }))).await;
    raw.say(notification("chat/left", json!({ "room": "a" }))).await;
    let (who, hearing) = in_time(hearing.recv_joined()).await.unwrap();
    assert_eq!(who["who"], 1);
    // `Left` is behind the second `Joined`, and that stays for a value that does not ask for it.
    in_time(hearing.recv_left()).await.unwrap();
    let report = in_time(reports.recv()).await.unwrap();
    assert!(report.contains("`Joined`"), "{report}");
    talking.send_left(json!({ "room": "a" })).await.unwrap();
    assert_eq!(in_time(raw.hear()).await.unwrap()["method"], "chat/left");
}

#[tokio::test]
async fn a_sub_session_that_starts_with_channels_is_opened_by_any_of_them() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    // Both open the same one at once.
    let own = editor.send_chat(json!({ "room": "a" })).await.unwrap();
    let theirs = builder.send_joined(json!({ "room": "a" })).await;
    let (mut talking, hearing) = own.split();
    let (their_talking, their_hearing) = match theirs {
        Ok(theirs) => {
            let (hearing, talking) = theirs.split();
            (talking.recv_chat().await.unwrap().1, hearing)
        }
        // The first message has arrived already, and this is a step of what it has opened.
        Err(_) => {
            let Some(Incoming::Chat(_, room)) = builder.incoming().next().await else { panic!() };
            let (talking, hearing) = room.split();
            (talking, hearing.send_joined(json!({ "room": "a" })).await.unwrap())
        }
    };
    let (_, hearing) = in_time(hearing.recv_joined()).await.unwrap();
    talking.send_chat(json!({ "room": "a" })).await.unwrap();
    talking.send_left(json!({ "room": "a" })).await.unwrap();
    their_hearing.send_left(json!({ "room": "a" })).await.unwrap();
    in_time(hearing.recv_left()).await.unwrap();
    let server::TalkingNext::Chat(_, their_talking) = in_time(their_talking.next()).await.unwrap() else {
        panic!()
    };
    in_time(their_talking.recv_left()).await.unwrap();
    // It is over for both, so the value is free.
    drop(in_time(builder.send_joined(json!({ "room": "a" }))).await.unwrap());
}

#[tokio::test]
async fn sides_that_open_one_sub_session_at_once_are_in_the_same_one() {
    let (wire, mut raw) = raw();
    let opening = test_support::spawn(Editor::new(wire).open());
    let opened = raw.hear().await.unwrap();
    raw.say(json!({ "jsonrpc": "2.0", "id": opened["id"], "result": {} })).await;
    let editor = in_time(opening).await.unwrap().unwrap();
    let room = editor.send_chat(json!({ "room": "a" })).await.unwrap();
    // The other side has not received that, and opens the room as well.
    raw.say(notification("chat/joined", json!({ "room": "a" }))).await;
    let (talking, hearing) = room.split();
    let (_, hearing) = in_time(hearing.recv_joined()).await.unwrap();
    talking.send_left(json!({ "room": "a" })).await.unwrap();
    raw.say(notification("chat/left", json!({ "room": "a" }))).await;
    in_time(hearing.recv_left()).await.unwrap();
}

#[tokio::test]
async fn a_session_without_types_has_them_too() {
    let (near, far) = duplex();
    let (editor, builder) = active(near, far).await;
    let (mut editor, mut builder) = (editor.into_checked(), builder.into_checked());
    let mut own = editor.open("build/start", &build("a")).await.unwrap();
    let Event::Opened { id: Some(id), session: mut theirs, .. } = in_time(builder.next()).await.unwrap()
    else {
        panic!()
    };
    theirs.respond(&id, &json!({})).await.unwrap();
    let Event::Reply { .. } = in_time(own.next()).await.unwrap() else { panic!() };
    // A step of each channel, and an exchange, in the order of the wire.
    own.notify("build/priority", &build("a")).await.unwrap();
    assert_eq!(own.state_name(), "Logging and Steering");
    let not = own.try_into_typed::<client::Build<Logging>>().unwrap_err();
    assert_eq!(not.why, WhyNot::Split);
    own = not.session;
    theirs.notify("build/line", &json!({ "build": "a", "line": 1 })).await.unwrap();
    theirs.request("build/ask", &build("a")).await.unwrap();
    theirs.notify("build/finished", &build("a")).await.unwrap();
    let Event::Notification { method, .. } = in_time(own.next()).await.unwrap() else { panic!() };
    assert_eq!(method, "build/line");
    let Event::Request { id, .. } = in_time(own.next()).await.unwrap() else { panic!() };
    let Event::Notification { method, .. } = in_time(own.next()).await.unwrap() else { panic!() };
    assert_eq!((&*method, own.state_name().as_str()), ("build/finished", "End and Steering"));
    own.respond(&id, &json!("yes")).await.unwrap();
    let Event::Notification { method, .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    assert_eq!(method, "build/priority");
    let Event::Reply { .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    let detached = own.request("build/detach", &build("a")).await.unwrap();
    let Event::Request { id, .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    theirs.refuse(&id, &RpcError::invalid_params("not now")).unwrap();
    let Event::Refused { id, .. } = in_time(own.next()).await.unwrap() else { panic!() };
    assert_eq!((id, own.state_name().as_str()), (detached, "End and Steering"));
    own.request("build/detach", &build("a")).await.unwrap();
    let Event::Request { id, .. } = in_time(theirs.next()).await.unwrap() else { panic!() };
    theirs.respond(&id, &json!({})).await.unwrap();
    let Event::Reply { .. } = in_time(own.next()).await.unwrap() else { panic!() };
    for session in [&mut own, &mut theirs] {
        let over = in_time(session.next()).await.unwrap_err();
        assert!(matches!(over, Error::Closed), "{over:?}");
    }
    // The session itself goes on.
    drop(editor.open("build/start", &build("a")).await.unwrap());
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

mod cooking {
    mcp_runtime::protocol!("protocols/cooking.session");
}

/// Where the message that opens a sub-session ends its channel, the value of the other one is left, on both sides.
#[tokio::test]
async fn a_channel_that_is_over_with_the_first_message_has_no_value() {
    let dish = || cooking::types::Dish { dish: "soup".to_owned() };
    let (near, far) = duplex();
    let (guest, kitchen) = (cooking::Guest::new(near), cooking::Kitchen::new(far));
    let incoming = kitchen.incoming();
    let meal = in_time(guest.send_salt(dish())).await.unwrap().split();
    let Some(cooking::server::Incoming::Salt(_, theirs)) = in_time(incoming.next()).await else { panic!() };
    let theirs = in_time(theirs.split().send_cooked(dish())).await.unwrap();
    let (cooked, meal) = in_time(meal.recv_cooked()).await.unwrap();
    assert_eq!(cooked.dish, "soup");
    in_time(meal.send_serve(dish())).await.unwrap();
    assert_eq!(in_time(theirs.recv_serve()).await.unwrap().dish, "soup");
}
