//! Restrictions are inherited: by types, parts, handles, handlers and sub-sessions.

use std::pin::Pin;

use mcp_runtime::call::Uncancellable;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Capabilities, CheckedSession, Error, Event, Options, StepError, ViolationKind};
use serde_json::{Value, json};

use super::cellar::{self, BeforeHaggle, BeforePoke, Keeper, Lefts, Rights, Trade, capabilities, client};
use super::{is_idle, next, reply, request};

/// The capabilities of the cellar, by which the tables below go.
const NAMES: [&str; 6] = ["notes", "counts", "questions", "pokes", "haggling", "reports"];
const NOTES: usize = 0;
const COUNTS: usize = 1;
const QUESTIONS: usize = 2;
const POKES: usize = 3;
const HAGGLING: usize = 4;
const REPORTS: usize = 5;

/// Which of them are left.
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
            capabilities::HAGGLING,
            capabilities::REPORTS,
        ];
        all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(capability, _)| capability).collect()
    }
}

/// A keeper and a cellar that announced everything, in `Trade`.
async fn trading() -> (CheckedSession, CheckedSession) {
    let (here, there) = duplex();
    let start = |end, side| CheckedSession::start(end, &cellar::PROTOCOL, side, Options::default());
    let (mut keeper, mut cellar) = (start(here, Side::Client), start(there, Side::Server));
    keeper.request("hello", &json!({ "capabilities": {} })).await.unwrap();
    let (id, _) = request(&mut cellar).await;
    let offers: serde_json::Map<_, _> = NAMES.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    cellar.respond(&id, &json!({ "capabilities": offers })).await.unwrap();
    reply(&mut keeper).await;
    (keeper, cellar)
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
                    tokio::spawn(attend(sub_session));
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

async fn judge_checked(keeper: &mut CheckedSession, left: &Left) {
    assert_eq!(keeper.permits("note").is_ok(), left[NOTES]);
    judged(keeper.notify("note", &1).await, NOTES, left);
    judged(keeper.call::<_, u32>("count", &2).await, COUNTS, left);
    judged(keeper.call::<_, u32>("ask", &3).await, QUESTIONS, left);
    if left[QUESTIONS] {
        keeper.request("ask", &4).await.unwrap();
        reply(keeper).await;
    }
}

async fn judge_typed(keeper: &mut Keeper<Trade>, left: &Left) {
    assert_eq!(keeper.permits(cellar::messages::ASK).is_ok(), left[QUESTIONS]);
    assert_eq!(keeper.permitted().contains(&cellar::messages::NOTE), left[NOTES]);
    judged(keeper.send_note(1).await, NOTES, left);
    judged(keeper.count(2).await, COUNTS, left);
    judged(keeper.ask(3).await, QUESTIONS, left);
    judged(keeper.handle().ask(4).await, QUESTIONS, left);
}

/// The sub-session, with a type and without.
async fn judge_sub_session(mut sub_session: client::Watching<BeforePoke>, cask: &Value, left: &Left) {
    judged(sub_session.send_poke(cask.clone()).await, POKES, left);
    let mut sub_session = sub_session.into_checked();
    assert_eq!(sub_session.permits("poke").is_ok(), left[POKES]);
    judged(sub_session.notify("poke", cask).await, POKES, left);
    let mut sub_session: client::Watching<BeforePoke> = sub_session.try_into_typed().unwrap();
    judged(sub_session.send_poke(cask.clone()).await, POKES, left);
    judged(sub_session.send_poke(cask.clone()).await, POKES, left);
}

#[tokio::test]
async fn no_chain_of_restrictions_conversions_and_sub_sessions_ever_widens() {
    let mut random = Random(42);
    for _ in 0..40 {
        let (mut keeper, cellar) = trading().await;
        let serving = tokio::spawn(attend(cellar));
        let mut left: Left = [true; NAMES.len()];
        for step in 0..6 {
            let cask = json!({ "cask": step });
            match random.below(5) {
                0 | 1 => keeper.restrict(&random.set(&mut left)),
                2 => {
                    let mut typed: Keeper<Trade> = keeper.try_into_typed().unwrap();
                    judge_typed(&mut typed, &left).await;
                    let (_, sub_session) = typed.watch(cask.clone()).await.unwrap();
                    judge_sub_session(sub_session, &cask, &left).await;
                    keeper = typed.into_checked();
                }
                3 => {
                    let mut sub_session = keeper.open("watch", &cask).await.unwrap();
                    reply(&mut sub_session).await;
                    judge_sub_session(sub_session.try_into_typed().unwrap(), &cask, &left).await;
                }
                _ => {
                    // The handle is restricted further, and the session that it comes from is not.
                    let mut weaker = left;
                    let typed: Keeper<Trade> = keeper.try_into_typed().unwrap();
                    let handle = typed.handle().restrict(&random.set(&mut weaker));
                    judged(handle.ask(5).await, QUESTIONS, &weaker);
                    let (_, sub_session) = handle.watch(cask.clone()).await.unwrap();
                    judge_sub_session(sub_session, &cask, &weaker).await;
                    keeper = typed.into_checked();
                }
            }
            judge_checked(&mut keeper, &left).await;
        }
        // The halves of a fork.
        match random.below(2) {
            0 => {
                keeper.notify("part", &()).await.unwrap();
                judged(keeper.notify("left", &()).await, NOTES, &left);
                keeper.restrict(&random.set(&mut left));
                judged(keeper.notify("left", &()).await, NOTES, &left);
                judged(keeper.notify("right", &()).await, COUNTS, &left);
            }
            _ => {
                let keeper: Keeper<Trade> = keeper.try_into_typed().unwrap();
                let (mut lefts, rights): (Keeper<Lefts>, Keeper<Rights>) =
                    keeper.send_part().await.unwrap().split();
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
    let (mut keeper, mut cellar) = trading().await;
    keeper.restrict(&Capabilities::none());
    let red = json!({ "wine": "red" });
    let mut offer = cellar.open("offer", &red).await.unwrap();
    let Event::Opened { id: Some(id), session: mut offered, .. } = next(&mut keeper).await else { panic!() };
    offered.respond(&id, &json!("yes")).await.unwrap();
    judged(offered.notify("haggle", &red).await, HAGGLING, &none);
    let mut offered: client::Offered<BeforeHaggle> = offered.try_into_typed().unwrap();
    judged(offered.send_haggle(red).await, HAGGLING, &none);
    reply(&mut offer).await;
    assert!(is_idle(&mut offer).await, "nothing was written");

    let keeper: Keeper<Trade> = keeper.try_into_typed().unwrap();
    let incoming = keeper.incoming();
    let white = json!({ "wine": "white" });
    let _offer = cellar.open("offer", &white).await.unwrap();
    let Some(client::Incoming::Offer(_, offered)) = incoming.next().await else { panic!() };
    let mut offered = offered.send_taken(json!("yes")).await.unwrap();
    judged(offered.send_haggle(white).await, HAGGLING, &none);
}

#[tokio::test]
async fn handlers_call_back_and_report_with_what_is_left() {
    let none: Left = [false; NAMES.len()];
    let (mut keeper, mut cellar) = trading().await;
    let taste = json!({ "_meta": { "progressToken": 1 } });
    let report = json!({ "progressToken": 1, "progress": 1 });
    keeper.restrict(&Capabilities::none());
    cellar.request("taste", &taste).await.unwrap();
    let (id, _) = request(&mut keeper).await;
    judged(keeper.notify("progress", &report).await, REPORTS, &none);
    keeper.respond(&id, &json!("good")).await.unwrap();
    reply(&mut cellar).await;

    let keeper: Keeper<Trade> = keeper.try_into_typed().unwrap();
    let incoming = keeper.incoming();
    cellar.request("taste", &taste).await.unwrap();
    let Some(client::Incoming::Taste(_, responder)) = incoming.next().await else { panic!() };
    let context = responder.context();
    let handle = context.handle();
    assert!(handle.permits(cellar::messages::ASK).is_err(), "no handler would answer");
    let call = handle.call::<_, u32, Uncancellable, ()>(cellar::messages::ASK, &1);
    judged(call.await, QUESTIONS, &none);
    judged(context.report(cellar::messages::PROGRESS, &report).await, REPORTS, &none);
    assert!(is_idle(&mut cellar).await, "nothing was written");
    responder.respond(&json!("good")).unwrap();
    reply(&mut cellar).await;
}

#[tokio::test]
async fn a_step_that_is_refused_gives_the_value_back() {
    let (mut keeper, cellar) = trading().await;
    keeper.restrict(&Capabilities::none());
    let serving = tokio::spawn(attend(cellar));
    let keeper: Keeper<Trade> = keeper.try_into_typed().unwrap();
    let refused = keeper.send_count(1).await;
    let Err(StepError::NotSent { error: Error::NotPermitted(_), session }) = refused else { panic!() };
    // What needs nothing goes on from there.
    drop(session.send_part().await.unwrap());
    serving.abort();
}
