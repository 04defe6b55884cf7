//! Sessions of the example `counter`: both of its sides, together and each against a hand-driven peer.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/counter/main.rs"]
mod example;

use example::counting::server::ReadyNext::{Add, Stop, Total};
use example::counting::types::{AddParams, Count, OpenParams};
use example::counting::{Counter, CountingError, Start, Teller};
use example::{count, keep};
use mcp_runtime::transport::duplex;
use tokio::task::JoinHandle;

/// A teller whose counter runs in a task of its own.
fn teller() -> (Teller<Start>, JoinHandle<Result<u64, CountingError>>) {
    let (near, far) = duplex();
    (Teller::new(near), test_support::spawn(keep(Counter::new(far))))
}

fn apples() -> OpenParams {
    OpenParams::new("apples")
}

#[tokio::test]
async fn the_two_sides_of_the_example_agree() {
    let (teller, counter) = teller();
    assert_eq!(count(teller).await.unwrap(), 7);
    assert_eq!(counter.await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn a_total_is_what_was_added_before_it() {
    let (teller, counter) = teller();
    let (opened, mut teller) = teller.open(apples()).await.unwrap();
    assert_eq!(opened.count, 0);
    assert_eq!(teller.total().await.unwrap().count, 0);
    let mut expected = 0;
    for amount in [5, 0, 37] {
        teller.send_add(AddParams::new(amount)).await.unwrap();
        expected += amount;
        assert_eq!(teller.total().await.unwrap().count, expected);
    }
    teller.send_add(AddParams::new(1)).await.unwrap();
    teller.send_stop().await.unwrap().close().await.unwrap();
    assert_eq!(counter.await.unwrap().unwrap(), 43);
}

#[tokio::test]
async fn the_teller_opens_adds_twice_asks_and_stops() {
    let (near, far) = duplex();
    let teller = test_support::spawn(count(Teller::new(near)));
    let (opening, counter) = Counter::new(far).recv_open().await.unwrap();
    assert_eq!(opening.name, "apples");
    let counter = counter.send_opened(Count::new(100)).await.unwrap();
    let Add(AddParams { amount: 3 }, counter) = counter.next().await.unwrap() else {
        panic!("no 3 was added")
    };
    let Add(AddParams { amount: 4 }, counter) = counter.next().await.unwrap() else {
        panic!("no 4 was added")
    };
    let Total(counter) = counter.next().await.unwrap() else { panic!("no total was asked for") };
    let counter = counter.send_sum(Count::new(107)).await.unwrap();
    let Stop(counter) = counter.next().await.unwrap() else { panic!("the teller did not stop") };
    counter.close().await.unwrap();
    assert_eq!(teller.await.unwrap().unwrap(), 107);
}

#[tokio::test]
async fn a_teller_that_leaves_without_a_stop_is_an_error_of_the_counter() {
    let (teller, counter) = teller();
    let (_, mut teller) = teller.open(apples()).await.unwrap();
    teller.send_add(AddParams { amount: 5 }).await.unwrap();
    drop(teller);
    assert!(counter.await.unwrap().is_err());
}
