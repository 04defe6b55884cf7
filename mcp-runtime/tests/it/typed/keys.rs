//! Correlation keys: open ones, ids as keys, several replies to an opening request, values that are used again.

#![allow(clippy::indexing_slicing, reason = "the payloads are the test's own")]

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RequestId, RpcError, StepError};
use serde_json::{Value, json};

use super::workbench::server::Incoming;
use super::workbench::{BeforeWelcome, Bench, Drafting, Maker, Making, Running, Waiting, client, server};

/// What both sides reported, as text.
type Reports = Arc<Mutex<Vec<String>>>;

async fn making() -> (Maker<Making>, Bench<Making>, Reports) {
    let reports: Reports = Arc::default();
    let options = || {
        let reports = Arc::clone(&reports);
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.to_string()))
    };
    let (left, right) = duplex();
    let (maker, bench) = (Maker::with_options(left, options()), Bench::with_options(right, options()));
    let served = async {
        let bench: Bench<BeforeWelcome> = bench.recv_hello().await.unwrap();
        bench.send_welcome().await.unwrap()
    };
    let (maker, bench) = tokio::join!(maker.hello(), served);
    (maker.unwrap(), bench, reports)
}

fn quiet(reports: &Reports) {
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

fn name(name: &str) -> Value {
    json!({ "name": name })
}

fn task(id: Option<RequestId>) -> Value {
    match id.unwrap() {
        RequestId::Number(number) => json!({ "task": number }),
        RequestId::Text(text) => json!({ "task": text }),
    }
}

async fn next_task(incoming: &server::IncomingQueue) -> server::Task<super::workbench::AfterRun> {
    match incoming.next().await.unwrap() {
        Incoming::Run(_, task) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_id_of_what_opens_a_sub_session_is_its_key() {
    let (maker, bench, reports) = making().await;
    let incoming = bench.incoming();
    let mut running: Vec<(client::Task<Running>, server::Task<Running>)> = Vec::new();
    for _ in 0..2 {
        let opened = maker.send_run(json!({})).await.unwrap();
        let served = next_task(&incoming).await;
        assert_eq!(opened.request_id(), served.request_id());
        let served = served.send_started(json!({})).await.unwrap();
        let client::AfterRunNext::Started(_, opened) = opened.next().await.unwrap() else { panic!() };
        running.push((opened, served));
    }
    assert_ne!(running[0].0.request_id(), running[1].0.request_id());
    for (opened, served) in running.iter_mut().rev() {
        let said = task(served.request_id());
        served.send_output(said.clone()).await.unwrap();
        assert_eq!(opened.recv_output().await.unwrap(), said);
    }
    let (other, _) = running.pop().unwrap();
    let (first, served) = running.pop().unwrap();
    let StepError::NotSent { error, session } = first.stop(task(other.request_id())).await.unwrap_err()
    else {
        panic!()
    };
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
    let id = task(session.request_id());
    let stopping = async {
        let (params, served) = served.recv_stop().await.unwrap();
        served.send_stopped().await.unwrap();
        params
    };
    let (stopped, params) = tokio::join!(session.stop(id.clone()), stopping);
    stopped.unwrap();
    assert_eq!(params, id);
    quiet(&reports);
}

#[tokio::test]
async fn what_opens_a_sub_session_may_have_several_replies() {
    let (maker, bench, reports) = making().await;
    let incoming = bench.incoming();
    // One that ends the sub-session at once.
    let opened = maker.send_run(json!({})).await.unwrap();
    next_task(&incoming).await.send_denied(json!({ "denied": true })).await.unwrap();
    let client::AfterRunNext::Denied(params) = opened.next().await.unwrap() else { panic!() };
    assert_eq!(params, json!({ "denied": true }));
    // One that leads elsewhere than the first.
    let opened = maker.send_run(json!({})).await.unwrap();
    let served = next_task(&incoming).await.send_queued(json!({ "queued": true })).await.unwrap();
    let client::AfterRunNext::Queued(_, opened) = opened.next().await.unwrap() else { panic!() };
    let opened: client::Task<Waiting> = opened;
    let output = task(served.request_id());
    let _served = served.send_output(output.clone()).await.unwrap();
    assert_eq!(opened.recv_output().await.unwrap().0, output);
    // And a refusal, which ends it whatever the replies would have done.
    let opened = maker.send_run(json!({})).await.unwrap();
    next_task(&incoming).await.refuse(RpcError::new(7, "no")).await.unwrap();
    let refused = opened.next().await.unwrap_err();
    assert!(matches!(refused, Error::Refused(error) if error.code == 7));
    quiet(&reports);
}

async fn drafting(
    maker: &Maker<Making>,
    incoming: &server::IncomingQueue,
    title: &str,
) -> (client::Writing<Drafting>, server::Writing<Drafting>) {
    let serving = async {
        match incoming.next().await.unwrap() {
            Incoming::Draft(params, draft) => {
                assert_eq!(params, name(title));
                draft.send_drafted().await.unwrap()
            }
            other => panic!("{other:?}"),
        }
    };
    let (opened, served) = tokio::join!(maker.draft(name(title)), serving);
    (opened.unwrap(), served)
}

#[tokio::test]
async fn a_step_whose_open_key_has_no_sub_session_is_uncorrelated() {
    let (maker, bench, reports) = making().await;
    let (heard, asked) = (maker.incoming(), bench.incoming());
    let (mut draft, mut served) = drafting(&maker, &asked, "a").await;
    bench.send_spelling(name("elsewhere")).await.unwrap();
    served.send_spelling(name("a")).await.unwrap();
    let client::Incoming::Spelling(params) = heard.next().await.unwrap();
    assert_eq!(params, name("elsewhere"));
    assert_eq!(draft.recv_spelling().await.unwrap(), name("a"));
    // A request that stands alone has its reply, or its refusal.
    let serving = async {
        for answer in [Ok(json!("done")), Err(RpcError::new(8, "never"))] {
            let Incoming::Publish(params, responder) = asked.next().await.unwrap() else { panic!() };
            assert_eq!(params, name("elsewhere"));
            responder.answer(answer).unwrap();
        }
    };
    let publishing = async {
        assert_eq!(maker.publish(name("elsewhere")).await.unwrap(), "done");
        let refused = maker.handle().publish(name("elsewhere")).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(error) if error.code == 8));
    };
    tokio::join!(serving, publishing);
    // What a sub-session holds is the sub-session's.
    let taken = bench.send_spelling(name("a")).await.unwrap_err();
    assert_eq!(
        taken.to_string(),
        "`draft/spelling` carries the name \"a\", under which something is running already"
    );
    assert!(matches!(maker.publish(name("a")).await.unwrap_err(), Error::NotPermitted(_)));
    quiet(&reports);
}

#[tokio::test]
async fn what_crosses_the_opening_of_a_sub_session_stands_alone() {
    let (maker, bench, reports) = making().await;
    let (heard, asked) = (maker.incoming(), bench.incoming());
    let draft = maker.send_draft(name("a")).await.unwrap();
    // The bench has not read of it.
    bench.send_spelling(name("a")).await.unwrap();
    let client::Incoming::Spelling(params) = heard.next().await.unwrap();
    assert_eq!(params, name("a"));
    let Incoming::Draft(_, served) = asked.next().await.unwrap() else { panic!() };
    let held = bench.send_spelling(name("a")).await.unwrap_err();
    assert!(matches!(held, Error::NotPermitted(_)), "{held}");
    served.send_drafted().await.unwrap().send_spelling(name("a")).await.unwrap();
    let mut draft = draft.recv_drafted().await.unwrap();
    assert_eq!(draft.recv_spelling().await.unwrap(), name("a"));
    drop(draft);
    bench.send_spelling(name("b")).await.unwrap();
    let client::Incoming::Spelling(params) = heard.next().await.unwrap();
    assert_eq!(params, name("b"));
    quiet(&reports);
}

#[tokio::test]
async fn a_value_is_free_after_the_end_and_what_crosses_the_end_stands_alone() {
    let (maker, bench, reports) = making().await;
    let (heard, asked) = (maker.incoming(), bench.incoming());
    for round in 0..3 {
        let (draft, mut served) = drafting(&maker, &asked, "a").await;
        drop(draft);
        // The bench has not read of the end: what it says stands alone, and is not taken for the next sub-session's.
        let late = json!({ "name": "a", "late": round });
        served.send_spelling(late.clone()).await.unwrap();
        let client::Incoming::Spelling(params) = heard.next().await.unwrap();
        assert_eq!(params, late);
    }
    let (draft, served) = drafting(&maker, &asked, "a").await;
    let publishing = async {
        let (_, served) = served.recv_publish().await.unwrap();
        served.refuse(RpcError::new(9, "unreadable")).await.unwrap();
    };
    let (refused, ()) = tokio::join!(draft.publish(name("a")), publishing);
    assert!(matches!(refused.unwrap_err(), StepError::Ended(Error::Refused(error)) if error.code == 9));
    // The bench ended this one, so what it says now stands alone.
    bench.send_spelling(name("a")).await.unwrap();
    let client::Incoming::Spelling(params) = heard.next().await.unwrap();
    assert_eq!(params, name("a"));
    quiet(&reports);
}
