//! Suspended sub-sessions: what the sender refuses, what the receiver reports, and what continues.

use std::sync::{Arc, Mutex};

use mcp_runtime::{Error, Options, Report, StepError};
use serde_json::{Value, json};

use super::raw::{Raw, raw};
use super::restaurant::{BeforeOrdered, Cooking, Dining, Guest, Host, client, server};

type Reports = Arc<Mutex<Vec<String>>>;

fn reporting() -> (Options, Reports) {
    let reports: Reports = Arc::default();
    let seen = Arc::clone(&reports);
    let options =
        Options::default().on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string()));
    (options, reports)
}

fn pie() -> Value {
    json!({ "dish": "pie" })
}

fn cooked() -> Value {
    json!({"jsonrpc": "2.0", "method": "cooked", "params": pie()})
}

fn reply(asked: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.get("id"), "result": result})
}

fn asked(id: u32, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": pie()})
}

async fn hear(raw: &mut Raw, method: &str) -> Value {
    let heard = raw.hear().await.unwrap();
    assert_eq!(heard.get("method").and_then(Value::as_str), Some(method), "{heard}");
    heard
}

/// A guest with a pie on the stove of a host of raw text, and what the guest reports.
async fn guest() -> (Guest<Dining>, client::Dish<Cooking>, Raw, Reports) {
    let (wire, mut host) = raw();
    let (options, reports) = reporting();
    let guest = Guest::with_options(wire, options);
    let serving = async {
        let order = hear(&mut host, "order").await;
        host.say(reply(&order, json!("soon"))).await;
    };
    let (ordered, ()) = tokio::join!(guest.order(pie()), serving);
    let (_, dish) = ordered.unwrap();
    (guest, dish, host, reports)
}

/// A host with a pie on the stove for a guest of raw text, and what the host reports.
async fn host() -> (Host<Dining>, server::Dish<Cooking>, Raw, Reports) {
    let (wire, mut guest) = raw();
    let (options, reports) = reporting();
    let host = Host::with_options(wire, options);
    let incoming = host.incoming();
    guest.say(asked(1, "order")).await;
    let server::Incoming::Order(_, dish) = incoming.next().await.unwrap();
    let dish: server::Dish<BeforeOrdered> = dish;
    let dish = dish.send_ordered(json!("soon")).await.unwrap();
    guest.hear().await.unwrap();
    (host, dish, guest, reports)
}

#[tokio::test]
async fn a_guest_who_has_asked_for_the_bill_orders_nothing_and_receives_what_was_under_way() {
    let (guest, dish, mut host, reports) = guest().await;
    let dish = dish.send_change(pie()).await.unwrap();
    let guest = guest.send_bill().await.unwrap();
    let change = hear(&mut host, "change").await;
    let bill = hear(&mut host, "bill").await;
    // This one crosses the change, and is late.
    host.say(cooked()).await;
    host.say(reply(&change, json!("changed"))).await;
    host.say(cooked()).await;
    host.say(reply(&bill, json!(12))).await;
    let (changed, mut dish) = dish.recv_changed().await.unwrap();
    assert_eq!(changed, "changed");
    assert_eq!(dish.recv_cooked().await.unwrap(), pie());
    let refused = dish.change(pie()).await.unwrap_err();
    assert!(matches!(refused, Error::NotPermitted(_)), "{refused}");
    let (total, guest) = guest.recv_total().await.unwrap();
    assert_eq!(total, 12);
    let StepError::NotSent { error: Error::NotPermitted(violation), .. } =
        dish.send_change(pie()).await.unwrap_err()
    else {
        panic!()
    };
    assert!(violation.to_string().contains("is suspended in `Leaving`"), "{violation}");
    let late = ["`Cooked` is late: it crossed `Change`, after which `AwaitingChanged` does not accept it"];
    assert_eq!(*reports.lock().unwrap(), late);
    let guest = guest.send_leave().await.unwrap();
    // Of all that was refused nothing was written.
    hear(&mut host, "leave").await;
    host.hush().await;
    guest.close().await.unwrap();
}

#[tokio::test]
async fn nothing_comes_of_a_dish_after_the_total() {
    let (guest, dish, mut host, reports) = guest().await;
    let guest = guest.send_bill().await.unwrap();
    let bill = hear(&mut host, "bill").await;
    host.say(reply(&bill, json!(12))).await;
    host.say(cooked()).await;
    let (_, guest) = guest.recv_total().await.unwrap();
    host.hush().await;
    guest.ended().await;
    let reports = reports.lock().unwrap().clone();
    assert!(
        reports.iter().any(|report| report.contains("is suspended in `Leaving`: the server has to wait")),
        "{reports:?}"
    );
    drop(dish);
}

#[tokio::test]
async fn a_refused_bill_continues_the_dishes() {
    let (guest, mut dish, mut host, _) = guest().await;
    let refusing = async {
        let bill = hear(&mut host, "bill").await;
        let error = json!({"code": 1, "message": "stay a little"});
        host.say(json!({"jsonrpc": "2.0", "id": bill.get("id"), "error": error})).await;
    };
    let (refused, ()) = tokio::join!(guest.bill(), refusing);
    let StepError::Refused { session: guest, .. } = refused.unwrap_err() else { panic!() };
    let changing = async {
        let change = hear(&mut host, "change").await;
        host.say(reply(&change, json!("changed"))).await;
    };
    let (changed, ()) = tokio::join!(dish.change(pie()), changing);
    assert_eq!(changed.unwrap(), "changed");
    let _: Guest<Dining> = guest;
}

#[tokio::test]
async fn a_guest_with_wishes_after_the_bill_is_to_blame_and_what_was_asked_before_is_answered() {
    let (host, mut dish, mut guest, reports) = host().await;
    guest.say(asked(2, "change")).await;
    guest.say(asked(3, "bill")).await;
    let refused = guest.ask(asked(4, "change")).await;
    assert_eq!(refused.pointer("/error/code"), Some(&json!(-32050)), "{refused}");
    // The host has not sent the total, so the dish is still spoken of.
    dish.send_cooked(pie()).await.unwrap();
    hear(&mut guest, "cooked").await;
    let host = host.recv_bill().await.unwrap();
    let host = host.send_total(12).await.unwrap();
    assert_eq!(guest.hear().await.unwrap().get("result"), Some(&json!(12)));
    assert!(matches!(dish.send_cooked(pie()).await, Err(Error::NotPermitted(_))));
    let (_, dish) = dish.recv_change().await.unwrap();
    let dish = dish.send_changed(json!("changed")).await.unwrap();
    assert_eq!(guest.hear().await.unwrap().get("id"), Some(&json!(2)));
    let reports = reports.lock().unwrap().clone();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let words = ["the client", "is suspended in `Paying`", "rule \"no wishes after the bill\", must"];
    assert!(words.iter().all(|word| reports.concat().contains(word)), "{reports:?}");
    guest.say(json!({"jsonrpc": "2.0", "method": "leave"})).await;
    let host = host.recv_leave().await.unwrap();
    guest.hush().await;
    host.close().await.unwrap();
    drop(dish);
}
