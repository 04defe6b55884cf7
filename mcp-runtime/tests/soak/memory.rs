//! Both sides in one process, with a proxy in the middle of the wire. The clock stands still but for what is waited
//! for, so that whatever hangs is found at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::Outcome;
use serde_json::json;

use crate::caller::{Purse, active, ask};
use crate::everything::{Caller, Service};
use crate::ledger::{Ending, Ledger, Whose};
use crate::noise::Noise;
use crate::service::{ServiceState, live};
use crate::wire::{Middle, between};

/// Tasks of the caller, and how many calls each makes.
const TASKS: usize = 8;
const CALLS: usize = 40;

pub(crate) fn round(seed: u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let ledger = Arc::new(Ledger::default());
    let noise = Noise::new(seed);
    let played = runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(3600), play(&ledger, noise)).await });
    let ending = played.unwrap_or_else(|_| panic!("seed {seed} hangs: {ledger:#?}"));
    assert_eq!(ledger.problems(), Vec::<String>::new(), "seed {seed}, {ending:?}: {ledger:#?}");
    let count = |count: &std::sync::atomic::AtomicUsize| count.load(Ordering::SeqCst);
    assert_eq!(count(&ledger.made), count(&ledger.settled) + count(&ledger.dropped), "seed {seed}");
    assert_eq!(count(&ledger.begun), count(&ledger.ended), "seed {seed}, {ending:?}");
    assert_eq!(count(&ledger.complaints), 0, "the proxy does not pass these on");
    for side in 0..2 {
        let (noticed, said) = (count(&ledger.noticed[side]), count(&ledger.garbage[side]));
        // An abrupt end may leave a line that is cut, too, and garbage that is not read.
        let right = if ending == Ending::InOrder { noticed == said } else { noticed <= said + 1 };
        assert!(
            right,
            "seed {seed}, {ending:?}: {noticed} of {said} lines of garbage were noticed: {ledger:#?}"
        );
    }
    if ending == Ending::InOrder {
        let (sent, heard) = (&ledger.notes_sent, &ledger.notes_heard);
        assert_eq!(sent.load(Ordering::SeqCst), heard.load(Ordering::SeqCst), "seed {seed}");
        let (sent, heard) = (&ledger.bells_sent, &ledger.bells_heard);
        let lost = sent.load(Ordering::SeqCst) - heard.load(Ordering::SeqCst);
        assert!(lost == 0 || ledger.is_tight(), "seed {seed}: {lost} bells were lost");
        assert!(count(&ledger.answered) > TASKS * CALLS / 20, "seed {seed}: {ledger:#?}");
    }
}

async fn play(ledger: &Arc<Ledger>, mut noise: Noise) -> Ending {
    let ending = match noise.below(10) {
        0 | 1 => Ending::Cut,
        2 => Ending::CallerCloses,
        3 => Ending::CallerAborts,
        4 => Ending::ServiceAborts,
        _ => Ending::InOrder,
    };
    ledger.tight.store(noise.once_in(3), Ordering::SeqCst);
    let (near, far, middle) = between(ledger, &mut noise);
    let caller = Caller::with_options(near, ledger.options(Whose::Caller));
    let service = Service::with_options(far, ledger.options(Whose::Service));
    let topic =
        ServiceState { ledger: Arc::clone(ledger), noise: noise.fork().into(), interrupt: Box::new(|| {}) };
    let service_handle = service.handle();
    let selling = tokio::spawn(live(service, topic, TASKS * CALLS / 10, ending));
    let purse = Purse { ledger: Arc::clone(ledger), told: 0.into() };
    let serving = tokio::spawn(caller.incoming().serve(purse));
    let Middle { cut, task: carrying } = middle;
    if ending == Ending::Cut {
        let (ledger, moment) = (Arc::clone(ledger), Duration::from_millis(noise.below(200) as u64));
        tokio::spawn(async move {
            tokio::time::sleep(moment).await;
            ledger.end();
            cut.notify_one();
        });
    }
    match caller.hello(json!({ "capabilities": { "approval": {} } })).await {
        Ok((_, caller)) => {
            let tasks: Vec<_> = (0..TASKS)
                .map(|topic| {
                    tokio::spawn(ask(caller.handle(), Arc::clone(ledger), noise.fork(), topic, CALLS))
                })
                .collect();
            let steps = match ending {
                Ending::InOrder => CALLS,
                // Until it ends.
                Ending::ServiceAborts => usize::MAX,
                _ => noise.below(CALLS),
            };
            let caller = active(caller, ledger, &mut noise, steps).await;
            match (ending, caller) {
                (Ending::CallerCloses, Some(caller)) => {
                    ledger.end();
                    drop(caller.close().await);
                }
                (Ending::CallerAborts, Some(caller)) => {
                    ledger.end();
                    caller.abort();
                }
                (Ending::InOrder, caller) => {
                    for task in tasks {
                        task.await.unwrap();
                    }
                    // Messages on their way arrive, and abandoned handlers end.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let Some(caller) = caller else { return ending };
                    agree(ledger, &format!("{:?}", caller.handle()), &format!("{service_handle:?}"));
                    ledger.end();
                    let closed = caller.close().await;
                    if !matches!(closed, Ok(Outcome::Closed)) {
                        ledger.problem(format!("closing gave {closed:?}"));
                    }
                    selling.await.unwrap();
                    serving.await.unwrap();
                    carrying.await.unwrap();
                    return ending;
                }
                (_, caller) => {
                    // The end comes from elsewhere, or has come; until then the value stays.
                    if let Some(caller) = caller {
                        caller.ended().await;
                    }
                }
            }
            for task in tasks {
                task.await.unwrap();
            }
        }
        Err(error) => {
            if !ledger.is_over() {
                ledger.problem(format!("no handshake: {error}"));
            }
        }
    }
    selling.await.unwrap();
    serving.await.unwrap();
    carrying.await.unwrap();
    ending
}

/// Both sides are in the same states, and neither waits for the other.
fn agree(ledger: &Ledger, caller: &str, service: &str) {
    let states = |text: &str| text.split_once("Session").map(|(_, states)| states.to_owned());
    if states(caller) != states(service) || !caller.contains("running: 0, unanswered: 0") {
        ledger.problem(format!("the sides do not agree: {caller} and {service}"));
    }
}
