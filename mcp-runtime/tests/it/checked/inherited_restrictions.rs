//! Restrictions are inherited: by types, parts, handles, handlers and sub-sessions.

use std::pin::Pin;

use mcp_runtime::call::Uncancellable;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Capabilities, CheckedSession, Error, Event, Options, StepError, ViolationKind};
use serde_json::{Value, json};

use super::restrictions::{
    self, Active, BeforeEdit, BeforePoke, Caller, Lefts, Rights, capabilities, client,
};
use super::{is_idle, next, reply, request};

/// The capabilities of the service, by which the tables below go.
const NAMES: [&str; 6] = ["notes", "counts", "questions", "pokes", "edits", "reports"];
const NOTES: usize = 0;
const COUNTS: usize = 1;
const QUESTIONS: usize = 2;
const POKES: usize = 3;
const EDITS: usize = 4;
const REPORTS: usize = 5;

/// Which of these capabilities may still be used.
type Left = [bool; NAMES.len()];

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// Most of the capabilities; `left` is what is left when they are all that may be used.
    fn set(&mut self, left: &mut Left) -> Capabilities {
        let kept: Left = std::array::from_fn(|_| self.below(5) > 0);
        for (left, kept) in left.iter_mut().zip(kept) {
            *left &= kept;
        }
        let all = [
            capabilities::NOTES,
            capabilities::COUNTS,
            capabilities::QUESTIONS,
            capabilities::POKES,
            capabilities::EDITS,
            capabilities::REPORTS,
        ];
        all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(capability, _)| capability).collect()
    }
}

/// A caller and a service that announced everything, in `Active`.
async fn connected() -> (CheckedSession, CheckedSession) {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &restrictions::PROTOCOL, side, Options::default());
    let (mut caller, mut service) = (start(here, Side::Client), start(there, Side::Server));
    caller.request("hello", &json!({ "capabilities": {} })).await.unwrap();
    let (id, _) = request(&mut service).await;
    let offers: serde_json::Map<_, _> = NAMES.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    service.respond(&id, &json!({ "capabilities": offers })).await.unwrap();
    reply(&mut caller).await;
    (caller, service)
}

/// Answers whatever is asked with what it carries, in the session and in the sub-sessions that the peer opens.
fn attend(mut session: CheckedSession) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        while let Ok(event) = session.next().await {
            match event {
                Event::Request { id, params, .. } => {
                    session.respond(&id, &params.read::<Value>().unwrap()).await.unwrap();
                }
                Event::Opened { id: Some(id), session: mut sub_session, .. } => {
                    sub_session.respond(&id, &json!(0)).await.unwrap();
                    test_support::spawn(attend(sub_session));
                }
                _ => {}
            }
        }
    })
}

/// A step is taken iff what it needs is left, and is refused for that reason otherwise.
#[track_caller]
fn judged<T: std::fmt::Debug>(outcome: Result<T, Error>, needs: usize, left: &Left) {
    match outcome {
        Ok(_) => assert!(left[needs], "`{}` is needed, and not left: {left:?}", NAMES[needs]),
        Err(Error::NotPermitted(violation)) => {
            let restricted = ViolationKind::Restricted { capability: NAMES[needs].to_owned() };
            assert_eq!(violation.kind, restricted, "{left:?}");
            assert!(!left[needs], "`{}` is left: {left:?}", NAMES[needs]);
        }
        Err(error) => panic!("{error}"),
    }
}

async fn judge_checked(caller: &mut CheckedSession, left: &Left) {
    assert_eq!(caller.permits("note").is_ok(), left[NOTES]);
    judged(caller.notify("note", &1).await, NOTES, left);
    judged(caller.call::<_, u32>("count", &2).await, COUNTS, left);
    judged(caller.call::<_, u32>("ask", &3).await, QUESTIONS, left);
    if left[QUESTIONS] {
        caller.request("ask", &4).await.unwrap();
        reply(caller).await;
    }
}

async fn judge_typed(caller: &mut Caller<Active>, left: &Left) {
    assert_eq!(caller.permits(restrictions::messages::ASK).is_ok(), left[QUESTIONS]);
    assert_eq!(caller.permitted().contains(&restrictions::messages::NOTE), left[NOTES]);
    judged(caller.send_note(1).await, NOTES, left);
    judged(caller.count(2).await, COUNTS, left);
    judged(caller.ask(3).await, QUESTIONS, left);
    judged(caller.handle().ask(4).await, QUESTIONS, left);
}

/// The sub-session, with a type and without.
async fn judge_sub_session(mut sub_session: client::Watching<BeforePoke>, topic: &Value, left: &Left) {
    judged(sub_session.send_poke(topic.clone()).await, POKES, left);
    let mut sub_session = sub_session.into_checked();
    assert_eq!(sub_session.permits("poke").is_ok(), left[POKES]);
    judged(sub_session.notify("poke", topic).await, POKES, left);
    let mut sub_session: client::Watching<BeforePoke> = sub_session.try_into_typed().unwrap();
    judged(sub_session.send_poke(topic.clone()).await, POKES, left);
    judged(sub_session.send_poke(topic.clone()).await, POKES, left);
}

#[tokio::test]
async fn no_chain_of_restrictions_conversions_and_sub_sessions_ever_widens() {
    let mut random = Random(42);
    for _ in 0..40 {
        let (mut caller, service) = connected().await;
        let serving = test_support::spawn(attend(service));
        let mut left: Left = [true; NAMES.len()];
        for step in 0..6 {
            let topic = json!({ "topic": step });
            match random.below(5) {
                0 | 1 => caller.restrict(&random.set(&mut left)),
                2 => {
                    let mut typed: Caller<Active> = caller.try_into_typed().unwrap();
                    judge_typed(&mut typed, &left).await;
                    let (_, sub_session) = typed.watch(topic.clone()).await.unwrap();
                    judge_sub_session(sub_session, &topic, &left).await;
                    caller = typed.into_checked();
                }
                3 => {
                    let mut sub_session = caller.open("watch", &topic).await.unwrap();
                    reply(&mut sub_session).await;
                    judge_sub_session(sub_session.try_into_typed().unwrap(), &topic, &left).await;
                }
                _ => {
                    // The handle is restricted further, and the session that it comes from is not.
                    let mut weaker = left;
                    let typed: Caller<Active> = caller.try_into_typed().unwrap();
                    let handle = typed.handle().restrict(&random.set(&mut weaker));
                    judged(handle.ask(5).await, QUESTIONS, &weaker);
                    let (_, sub_session) = handle.watch(topic.clone()).await.unwrap();
                    judge_sub_session(sub_session, &topic, &weaker).await;
                    caller = typed.into_checked();
                }
            }
            judge_checked(&mut caller, &left).await;
        }
        // The halves of a fork.
        match random.below(2) {
            0 => {
                caller.notify("part", &()).await.unwrap();
                judged(caller.notify("left", &()).await, NOTES, &left);
                caller.restrict(&random.set(&mut left));
                judged(caller.notify("left", &()).await, NOTES, &left);
                judged(caller.notify("right", &()).await, COUNTS, &left);
            }
            _ => {
                let caller: Caller<Active> = caller.try_into_typed().unwrap();
                let (mut lefts, rights): (Caller<Lefts>, Caller<Rights>) =
                    caller.send_part().await.unwrap().split();
                judged(lefts.send_left().await, NOTES, &left);
                judged(lefts.ask(6).await, QUESTIONS, &left);
                let mut rights = rights.into_checked();
                judged(rights.notify("right", &()).await, COUNTS, &left);
                judged(rights.call::<_, u32>("ask", &7).await, QUESTIONS, &left);
            }
        }
        serving.abort();
    }
}

#[tokio::test]
async fn sub_sessions_of_the_peer_are_restricted_as_the_session_that_they_come_to() {
    let none: Left = [false; NAMES.len()];
    let (mut caller, mut service) = connected().await;
    caller.restrict(&Capabilities::none());
    let first = json!({ "document": "first" });
    let mut sharing = service.open("share", &first).await.unwrap();
    let Event::Opened { id: Some(id), session: mut shared, .. } = next(&mut caller).await else { panic!() };
    shared.respond(&id, &json!("yes")).await.unwrap();
    judged(shared.notify("edit", &first).await, EDITS, &none);
    let mut shared: client::Shared<BeforeEdit> = shared.try_into_typed().unwrap();
    judged(shared.send_edit(first).await, EDITS, &none);
    reply(&mut sharing).await;
    assert!(is_idle(&mut sharing).await, "nothing was written");

    let caller: Caller<Active> = caller.try_into_typed().unwrap();
    let incoming = caller.incoming();
    let second = json!({ "document": "second" });
    let _sharing = service.open("share", &second).await.unwrap();
    let Some(client::Incoming::Share(_, shared)) = incoming.next().await else { panic!() };
    let mut shared = shared.send_received(json!("yes")).await.unwrap();
    judged(shared.send_edit(second).await, EDITS, &none);
}

#[tokio::test]
async fn handlers_call_back_and_report_with_what_is_left() {
    let none: Left = [false; NAMES.len()];
    let (mut caller, mut service) = connected().await;
    let review = json!({ "_meta": { "progressToken": 1 } });
    let report = json!({ "progressToken": 1, "progress": 1 });
    caller.restrict(&Capabilities::none());
    service.request("review", &review).await.unwrap();
    let (id, _) = request(&mut caller).await;
    judged(caller.notify("progress", &report).await, REPORTS, &none);
    caller.respond(&id, &json!("good")).await.unwrap();
    reply(&mut service).await;

    let caller: Caller<Active> = caller.try_into_typed().unwrap();
    let incoming = caller.incoming();
    service.request("review", &review).await.unwrap();
    let Some(client::Incoming::Review(_, responder)) = incoming.next().await else { panic!() };
    let context = responder.context();
    let handle = context.handle();
    assert!(handle.permits(restrictions::messages::ASK).is_err(), "no handler would answer");
    let call = handle.call::<_, u32, Uncancellable, ()>(restrictions::messages::ASK, &1);
    judged(call.await, QUESTIONS, &none);
    judged(context.report(restrictions::messages::PROGRESS, &report).await, REPORTS, &none);
    assert!(is_idle(&mut service).await, "nothing was written");
    responder.respond(json!("good")).unwrap();
    reply(&mut service).await;
}

#[tokio::test]
async fn a_step_that_is_refused_gives_the_value_back() {
    let (mut caller, service) = connected().await;
    caller.restrict(&Capabilities::none());
    let serving = test_support::spawn(attend(service));
    let caller: Caller<Active> = caller.try_into_typed().unwrap();
    let refused = caller.send_count(1).await;
    let Err(StepError::NotSent { error: Error::NotPermitted(_), session }) = refused else { panic!() };
    // What needs nothing goes on from there.
    drop(session.send_part().await.unwrap());
    serving.abort();
}
