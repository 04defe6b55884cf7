//! Both sides in one process, with a proxy in the middle of the wire. The clock stands still but for what is waited
//! for, so that whatever hangs is found at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::Outcome;
use serde_json::json;

use crate::bazaar::{Buyer, Seller};
use crate::buyer::{Purse, ask, trade};
use crate::ledger::{Ending, Ledger, Whose};
use crate::noise::Noise;
use crate::seller::{Stall, live};
use crate::wire::{Middle, between};

/// Tasks of the buyer, and how many calls each makes.
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
        2 => Ending::BuyerCloses,
        3 => Ending::BuyerAborts,
        4 => Ending::SellerAborts,
        _ => Ending::InOrder,
    };
    ledger.tight.store(noise.once_in(3), Ordering::SeqCst);
    let (near, far, middle) = between(ledger, &mut noise);
    let buyer = Buyer::with_options(near, ledger.options(Whose::Buyer));
    let seller = Seller::with_options(far, ledger.options(Whose::Seller));
    let stall = Stall { ledger: Arc::clone(ledger), noise: noise.fork().into(), interrupt: Box::new(|| {}) };
    let sellers = seller.handle();
    let selling = tokio::spawn(live(seller, stall, TASKS * CALLS / 10, ending));
    let purse = Purse { ledger: Arc::clone(ledger), told: 0.into() };
    let serving = tokio::spawn(buyer.incoming().serve(purse));
    let Middle { cut, task: carrying } = middle;
    if ending == Ending::Cut {
        let (ledger, moment) = (Arc::clone(ledger), Duration::from_millis(noise.below(200) as u64));
        tokio::spawn(async move {
            tokio::time::sleep(moment).await;
            ledger.end();
            cut.notify_one();
        });
    }
    match buyer.hello(json!({ "capabilities": { "approval": {} } })).await {
        Ok((_, buyer)) => {
            let tasks: Vec<_> = (0..TASKS)
                .map(|stall| {
                    tokio::spawn(ask(buyer.handle(), Arc::clone(ledger), noise.fork(), stall, CALLS))
                })
                .collect();
            let steps = match ending {
                Ending::InOrder => CALLS,
                // Until it ends.
                Ending::SellerAborts => usize::MAX,
                _ => noise.below(CALLS),
            };
            let buyer = trade(buyer, ledger, &mut noise, steps).await;
            match (ending, buyer) {
                (Ending::BuyerCloses, Some(buyer)) => {
                    ledger.end();
                    drop(buyer.close().await);
                }
                (Ending::BuyerAborts, Some(buyer)) => {
                    ledger.end();
                    buyer.abort();
                }
                (Ending::InOrder, buyer) => {
                    for task in tasks {
                        task.await.unwrap();
                    }
                    // Messages on their way arrive, and abandoned handlers end.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let Some(buyer) = buyer else { return ending };
                    agree(ledger, &format!("{:?}", buyer.handle()), &format!("{sellers:?}"));
                    ledger.end();
                    let closed = buyer.close().await;
                    if !matches!(closed, Ok(Outcome::Closed)) {
                        ledger.problem(format!("closing gave {closed:?}"));
                    }
                    selling.await.unwrap();
                    serving.await.unwrap();
                    carrying.await.unwrap();
                    return ending;
                }
                (_, buyer) => {
                    // The end comes from elsewhere, or has come; until then the value stays.
                    if let Some(buyer) = buyer {
                        buyer.ended().await;
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
fn agree(ledger: &Ledger, buyer: &str, seller: &str) {
    let states = |text: &str| text.split_once("Session").map(|(_, states)| states.to_owned());
    if states(buyer) != states(seller) || !buyer.contains("running: 0, unanswered: 0") {
        ledger.problem(format!("the sides do not agree: {buyer} and {seller}"));
    }
}
