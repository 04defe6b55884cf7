//! Calls that open sub-sessions: timeouts, cancellation, progress, pending calls; with a reply and without.

#![allow(clippy::indexing_slicing, reason = "the payloads are the test's own")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, RequestId, TimeoutKind};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::garden::server::{self, Incoming};
use super::garden::{BeforeDug, BeforePlanted, Gardener, Growing, Owner, Start, client};

const SECOND: Duration = Duration::from_secs(1);

fn garden(owner: Options) -> (Owner<Start>, Gardener<Start>) {
    let (here, there) = duplex();
    (Owner::with_options(here, owner), Gardener::new(there))
}

fn bed(name: &str) -> Value {
    json!({ "bed": name })
}

async fn dig(incoming: &server::IncomingQueue) -> server::Bed<BeforeDug> {
    match incoming.next().await.unwrap() {
        Incoming::Dig(_, bed) => bed,
        other => panic!("{other:?}"),
    }
}

async fn plant(incoming: &server::IncomingQueue) -> server::Tree<BeforePlanted> {
    match incoming.next().await.unwrap() {
        Incoming::Plant(_, tree) => tree,
        other => panic!("{other:?}"),
    }
}

/// The gardener sees that a bed is not wanted any more, and nothing can be said of it.
async fn is_over(theirs: server::Bed<BeforeDug>) {
    theirs.cancelled().await;
    let ended = Error::from(theirs.send_dug(json!("late")).await.unwrap_err());
    assert!(matches!(ended, Error::Cancelled), "{ended}");
}

/// A bed from its first message to its last.
async fn a_bed_grows(owner: &Owner<Start>, incoming: &server::IncomingQueue, name: &str) {
    let dug = async { dig(incoming).await.send_dug(json!("deep")).await.unwrap() };
    let (mine, mut theirs) = tokio::join!(owner.dig(bed(name)), dug);
    let (depth, mut mine) = mine.unwrap();
    assert_eq!(depth, "deep");
    theirs.send_grown(bed(name)).await.unwrap();
    assert_eq!(mine.recv_grown().await.unwrap(), bed(name));
    mine.send_fill(bed(name)).await.unwrap();
    theirs.recv_fill().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cancelled_and_frees_its_key() {
    let (owner, gardener) = garden(Options::default());
    let incoming = gardener.incoming();
    let started = tokio::time::Instant::now();
    let (outcome, theirs) = tokio::join!(owner.dig(bed("a")).timeout(SECOND * 5), dig(&incoming));
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Timeout { after, what: TimeoutKind::Reply, .. } if after == SECOND * 5));
    assert_eq!(
        error.to_string(),
        "`bed/dig` was not answered within 5s: see `Options::timeout`, and `timeout` of the call"
    );
    assert_eq!(started.elapsed(), SECOND * 5);
    is_over(theirs).await;
    a_bed_grows(&owner, &incoming, "a").await;
}

#[tokio::test(start_paused = true)]
async fn an_uncancellable_call_that_takes_too_long_is_abandoned() {
    let (owner, gardener) = garden(Options::default().timeout(SECOND * 3));
    let incoming = gardener.incoming();
    let tree = json!({"tree": "oak"});
    let (outcome, theirs) = tokio::join!(owner.plant(tree.clone()), plant(&incoming));
    assert!(matches!(outcome.unwrap_err(), Error::Timeout { after, .. } if after == SECOND * 3));
    // It goes on for the gardener, without a report.
    let mut theirs = theirs.send_planted().await.unwrap();
    theirs.send_bloomed(tree.clone()).await.unwrap();
    let again = owner.plant(tree).await.unwrap_err();
    assert!(matches!(again, Error::NotPermitted(_)), "the value is held: {again}");
    a_bed_grows(&owner, &incoming, "a").await;
}

#[tokio::test]
async fn a_canceller_ends_it_before_and_after_it_is_written_and_not_once_it_is_answered() {
    let (owner, gardener) = garden(Options::default());
    let incoming = gardener.incoming();
    let mut never = owner.dig(bed("never"));
    never.canceller().cancel().unwrap();
    assert!(matches!(never.await, Err(Error::Cancelled)));
    let mut call = owner.dig(bed("a"));
    let canceller = call.canceller();
    let taken_back = async {
        let theirs = dig(&incoming).await;
        canceller.cancel_with(&json!({"reason": "rain"})).unwrap();
        theirs
    };
    let (outcome, theirs) = tokio::join!(call, taken_back);
    assert!(matches!(outcome, Err(Error::Cancelled)));
    is_over(theirs).await;
    let mut call = owner.handle().dig(bed("a"));
    let canceller = call.canceller();
    let dug = async { dig(&incoming).await.send_dug(json!("deep")).await.unwrap() };
    let (mine, mut theirs) = tokio::join!(call, dug);
    let (_, mut mine): (Value, client::Bed<Growing>) = mine.unwrap();
    canceller.cancel().unwrap();
    theirs.send_grown(bed("a")).await.unwrap();
    assert_eq!(mine.recv_grown().await.unwrap(), bed("a"), "the call is complete, and its instance goes on");
}

#[tokio::test]
async fn dropping_it_before_its_reply_abandons_the_sub_session() {
    let (owner, gardener) = garden(Options::default());
    let incoming = gardener.incoming();
    let theirs = tokio::select! {
        _ = owner.dig(bed("a")) => panic!("completed without an answer"),
        theirs = dig(&incoming) => theirs,
    };
    is_over(theirs).await;
    a_bed_grows(&owner, &incoming, "a").await;
}

#[tokio::test]
async fn it_can_be_written_before_it_is_waited_for() {
    let (owner, gardener) = garden(Options::default());
    let incoming = gardener.incoming();
    let call = owner.dig(bed("a")).send().await.unwrap();
    assert_eq!(call.id(), RequestId::from(0));
    let mut theirs = dig(&incoming).await.send_dug(json!("deep")).await.unwrap();
    theirs.send_grown(bed("a")).await.unwrap();
    let (_, mut mine) = call.await.unwrap();
    assert_eq!(mine.recv_grown().await.unwrap(), bed("a"), "what came meanwhile waits for the value");
}

/// Digs and tells how far it is.
struct Digging(mpsc::UnboundedSender<bool>);

impl server::Handler for Digging {
    async fn dig(&self, context: server::Context, _: Value, bed: server::Bed<BeforeDug>) {
        self.0.send(context.wants_progress()).unwrap();
        for step in 1..=3 {
            context.send_progress(json!({"progress": step})).await.unwrap();
        }
        let bed = bed.send_dug(json!("deep")).await.unwrap();
        let _ = bed.recv_fill().await;
    }
}

#[tokio::test]
async fn it_hears_of_its_progress() {
    let (owner, gardener) = garden(Options::default());
    let (told, mut wanted) = mpsc::unbounded_channel();
    test_support::spawn(gardener.incoming().serve(Digging(told)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let call = owner.dig(bed("a")).on_progress(move |progress| {
        notes.lock().unwrap().push(progress["progress"].as_u64().unwrap());
    });
    let (depth, mine) = call.await.unwrap();
    assert_eq!((depth, &*seen.lock().unwrap()), (json!("deep"), &vec![1, 2, 3]));
    mine.send_fill(bed("a")).await.unwrap();
    let (_, _mine) = owner.dig(bed("b")).await.unwrap();
    assert_eq!((wanted.recv().await, wanted.recv().await), (Some(true), Some(false)));
}
