//! Linear requests that are cancelled: by a canceller, before and after they are written; what their receiver sees.

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report};
use serde_json::json;

use super::kitchen::{BeforeMeal, Chef, Guest, Seated};

/// What both sides reported, as text.
type Reports = Arc<Mutex<Vec<String>>>;

async fn seated() -> (Guest<Seated>, Chef<Seated>, Reports) {
    let reports: Reports = Arc::default();
    let options = || {
        let reports = Arc::clone(&reports);
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.to_string()))
    };
    let (here, there) = duplex();
    let (guest, chef) = (Guest::with_options(here, options()), Chef::with_options(there, options()));
    let seating = async {
        let (_, chef) = chef.recv_table().await.unwrap();
        chef.send_seat(json!({})).await.unwrap()
    };
    let (guest, chef) = tokio::join!(guest.table(json!({})), seating);
    (guest.unwrap().1, chef, reports)
}

/// A dish is ordered and eaten, as if nothing had been.
async fn dine(guest: &mut Guest<Seated>, chef: Chef<Seated>) {
    let cooking = async {
        let (dish, chef) = chef.recv_cook().await.unwrap();
        chef.send_meal(dish).await.unwrap()
    };
    let (meal, _chef) = tokio::join!(guest.cook("bread".into()), cooking);
    assert_eq!(meal.unwrap(), "bread");
}

#[tokio::test]
async fn a_canceller_takes_a_step_back_and_its_receiver_sees_that() {
    let (mut guest, chef, reports) = seated().await;
    let mut soup = guest.cook("soup".into());
    let canceller = soup.canceller();
    let cooking = async {
        let (_, chef): (_, Chef<BeforeMeal>) = chef.recv_cook().await.unwrap();
        canceller.cancel_with(&json!({"reason": "in a hurry"})).unwrap();
        chef.cancelled().await;
        // It is not read, and causes no error.
        chef.send_meal("cold soup".into()).await.unwrap()
    };
    let (outcome, chef) = tokio::join!(soup, cooking);
    assert!(matches!(outcome, Err(Error::Cancelled)));
    canceller.cancel().unwrap();
    dine(&mut guest, chef).await;
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_request_cancelled_before_it_is_written_is_never_written() {
    let (mut guest, chef, reports) = seated().await;
    let mut never = guest.cook("never".into());
    never.canceller().cancel().unwrap();
    assert!(matches!(never.await, Err(Error::Cancelled)));
    dine(&mut guest, chef).await;
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_and_dropped_request_leaves_no_abandoned_reply() {
    let (mut guest, chef, reports) = seated().await;
    let mut soup = Box::pin(async {
        let mut soup = guest.cook("soup".into());
        let canceller = soup.canceller();
        tokio::select! {
            _ = &mut soup => panic!("completed without an answer"),
            () = chef.readable() => {}
        }
        canceller.cancel().unwrap();
    });
    soup.as_mut().await;
    drop(soup);
    let (_, chef) = chef.recv_cook().await.unwrap();
    chef.cancelled().await;
    let chef = chef.send_meal("cold soup".into()).await.unwrap();
    dine(&mut guest, chef).await;
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_that_is_there_already_is_given() {
    let (mut guest, chef, _) = seated().await;
    let mut soup = guest.cook("soup".into());
    let canceller = soup.canceller();
    let cooking = async {
        let (dish, chef) = chef.recv_cook().await.unwrap();
        chef.send_meal(dish).await.unwrap()
    };
    let (outcome, chef) = tokio::join!(soup, cooking);
    assert_eq!(outcome.unwrap(), "soup");
    canceller.cancel().unwrap();
    dine(&mut guest, chef).await;
}

#[tokio::test]
async fn the_end_of_the_session_is_seen_as_well() {
    let (mut guest, chef, _) = seated().await;
    let chef = tokio::select! {
        _ = guest.cook("soup".into()) => panic!("completed without an answer"),
        received = chef.recv_cook() => received.unwrap().1,
    };
    guest.abort();
    chef.cancelled().await;
}
