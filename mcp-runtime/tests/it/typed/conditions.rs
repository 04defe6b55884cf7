//! Messages and replies that conditions tell apart: each arrives as what it is, and a payload that the peer would read
//! as another one is refused before it is written.

// JSON that a test has written has what the test looks for.
#![allow(clippy::indexing_slicing)]

mod workshop {
    mcp_runtime::protocol!("tests/sessions/workshop.session");
}

mod sale {
    #![allow(
        deprecated,
        reason = "one message of this file is declared and never said, which is warned about"
    )]
    mcp_runtime::protocol!("tests/sessions/counter_sale.session");
}

use mcp_runtime::error::{MismatchError, ReplyProblem};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RpcError, StepError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::raw::{Raw, raw};
use workshop::{Customer, Door, Workshop, capabilities, client, messages, server};

const WELCOME: &str = "capabilities";

async fn open(can: Value) -> (Customer<Door>, Workshop<Door>) {
    open_as(json!({"approval": {}}), can).await
}

async fn open_as(customer_can: Value, can: Value) -> (Customer<Door>, Workshop<Door>) {
    let (here, there) = duplex();
    let customer = async { Customer::new(here).hello(json!({WELCOME: customer_can})).await.unwrap().1 };
    let workshop = async {
        let (_, workshop) = Workshop::new(there).recv_hello().await.unwrap();
        workshop.send_welcome(json!({WELCOME: can})).await.unwrap()
    };
    tokio::join!(customer, workshop)
}

/// Answers as the order says.
struct Maker;

impl server::Handler for Maker {
    async fn make(&self, _: server::Context, order: Option<Value>) -> Result<server::MakeReply, RpcError> {
        match order {
            Some(order) if order["reply"] == "ticket" => {
                Ok(server::MakeReply::Ticket(order["result"].clone()))
            }
            Some(order) => Ok(server::MakeReply::Made(order["result"].clone())),
            None => Ok(server::MakeReply::Made(json!("nothing in particular"))),
        }
    }

    async fn make_by_mould(&self, _: server::Context, order: Value) -> Result<Value, RpcError> {
        Ok(order["mould"].clone())
    }
}

#[tokio::test]
async fn a_call_gives_whichever_reply_came() {
    let (customer, workshop) = open(json!({})).await;
    test_support::spawn(workshop.incoming().serve(Maker));
    let made = customer.make(Some(json!({"result": {"thing": 1}}))).await.unwrap();
    assert!(matches!(made, client::MakeReply::Made(thing) if thing == json!({"thing": 1})));
    let order = json!({"reply": "ticket", "result": {"ticket": "t1"}});
    let ticket = customer.handle().make(Some(order)).await.unwrap();
    assert!(matches!(ticket, client::MakeReply::Ticket(ticket) if ticket["ticket"] == "t1"));
    let made = customer.make(None).await.unwrap();
    assert!(matches!(made, client::MakeReply::Made(thing) if thing == "nothing in particular"));
    // `false` and `null` are not there, as in gates.
    let order = json!({"result": {"ticket": false, "thing": null}});
    assert!(matches!(customer.make(Some(order)).await.unwrap(), client::MakeReply::Made(_)));
}

#[tokio::test]
async fn two_requests_of_one_method_arrive_as_what_they_are() {
    let (customer, workshop) = open(json!({})).await;
    test_support::spawn(workshop.incoming().serve(Maker));
    assert_eq!(customer.make_by_mould(json!({"mould": "round"})).await.unwrap(), "round");
    let error = customer.make_by_mould(json!({"result": 1})).await.unwrap_err();
    assert!(
        matches!(&error, Error::Mismatch { problem: MismatchError::Lacks(condition), .. } if condition.to_string() == "if mould")
    );
    assert_eq!(
        error.to_string(),
        "the payload of `MakeByMould` does not have what tells the message from others: `if mould`"
    );
    let error = customer.make(Some(json!({"mould": "round"}))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the payload of `Make` would be read as `MakeByMould`, because of what it holds: `if mould`"
    );
}

#[tokio::test]
async fn notifications_are_distinguished_by_a_text() {
    let (customer, workshop) = open(json!({})).await;
    let incoming = workshop.incoming();
    customer.send_note(json!({"urgent": "no"})).await.unwrap();
    customer.send_alarm(json!({"urgent": "yes"})).await.unwrap();
    assert!(matches!(incoming.next().await, Some(server::Incoming::Note(note)) if note["urgent"] == "no"));
    assert!(matches!(incoming.next().await, Some(server::Incoming::Alarm(_))));
    let error = customer.send_alarm(json!({"urgent": true})).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { problem: MismatchError::Lacks(_), .. }));
    let error = customer.send_note(json!({"urgent": "yes"})).await.unwrap_err();
    assert!(
        matches!(error, Error::Mismatch { problem: MismatchError::ReadAs { message, .. }, .. } if message == "Alarm")
    );
    // Neither of the two was written: what comes next is the next one that was sent.
    customer.send_note(json!({"last": 1})).await.unwrap();
    assert!(matches!(incoming.next().await, Some(server::Incoming::Note(note)) if note["last"] == 1));
}

#[tokio::test]
async fn a_reply_that_would_be_read_as_another_becomes_an_error() {
    let (customer, workshop) = open(json!({})).await;
    let incoming = workshop.incoming();
    let answering = async {
        let Some(server::Incoming::Make(_, responder)) = incoming.next().await else { panic!() };
        responder.respond(server::MakeReply::Made(json!({"ticket": "t1"}))).unwrap_err()
    };
    let (outcome, error) = tokio::join!(customer.make(None), answering);
    assert!(
        matches!(error, Error::Mismatch { problem: MismatchError::ReadAs { message, .. }, .. } if message == "Ticket")
    );
    assert!(matches!(outcome, Err(Error::Refused(error)) if error.code == -32603));

    let answering = async {
        let Some(server::Incoming::Make(_, responder)) = incoming.next().await else { panic!() };
        responder.respond(server::MakeReply::Ticket(json!({}))).unwrap_err()
    };
    let (outcome, error) = tokio::join!(customer.make(None), answering);
    assert!(matches!(error, Error::Mismatch { problem: MismatchError::Lacks(_), .. }));
    assert!(matches!(outcome, Err(Error::Refused(_))));
}

#[tokio::test]
async fn a_gate_with_a_condition_is_for_the_payloads_that_fit_it() {
    let (customer, workshop) = open(json!({})).await;
    test_support::spawn(workshop.incoming().serve(Maker));
    let made = customer.make(Some(json!({"mode": "calm"}))).await;
    assert!(matches!(made, Ok(client::MakeReply::Made(_))));
    let error = customer.make(Some(json!({"mode": "rush"}))).await.unwrap_err();
    assert!(
        matches!(&error, Error::NotPermitted(violation) if violation.to_string().contains("`rush`")),
        "{error}"
    );
    // The same the other way, judged by what the client has announced.
    let asked = workshop.handle().approve(json!({"mode": "urgent"})).await.unwrap_err();
    assert!(
        matches!(asked, Error::NotPermitted(violation) if violation.to_string().contains("`approval.urgent`"))
    );

    let (customer, workshop) = open(json!({"rush": {}})).await;
    test_support::spawn(workshop.incoming().serve(Maker));
    let made = customer.make(Some(json!({"mode": "rush"}))).await;
    assert!(matches!(made, Ok(client::MakeReply::Made(_))));
}

/// Approves of everything.
struct Approver;

impl client::Handler for Approver {
    async fn approve(&self, _: client::Context, _: Value) -> Result<client::ApproveReply, RpcError> {
        Ok(client::ApproveReply::Approved(json!({"approved": true})))
    }
}

fn lacking(error: &Error) -> String {
    let Error::NotPermitted(violation) = error else { panic!("{error:?}") };
    violation.missing_capability().unwrap_or_else(|| panic!("{violation}")).to_owned()
}

#[tokio::test]
async fn a_capability_with_nothing_in_it_stands_for_its_default() {
    let (calm, urgent) = ("approval.calm", "approval.urgent");
    for (can, may) in [
        (json!({}), [false, false]),
        (json!({"approval": false}), [false, false]),
        (json!({"approval": null}), [false, false]),
        (json!({"approval": {}}), [true, false]),
        (json!({"approval": true}), [true, false]),
        (json!({"approval": {"calm": null, "urgent": null}}), [true, false]),
        (json!({"approval": {"calm": {}}}), [true, false]),
        (json!({"approval": {"urgent": {}}}), [false, true]),
        (json!({"approval": {"calm": false, "urgent": true}}), [false, true]),
        (json!({"approval": {"calm": {}, "urgent": {}}}), [true, true]),
        (json!({"approval": {"other": {}}}), [false, false]),
        (json!({"approval": {"urgent": false}}), [false, false]),
    ] {
        let (customer, workshop) = open_as(can.clone(), json!({})).await;
        test_support::spawn(customer.incoming().serve(Approver));
        let none = can["approval"].is_null() || can["approval"] == false;
        for (mode, capability, may) in [("calm", calm, may[0]), ("urgent", urgent, may[1])] {
            match workshop.approve(json!({"mode": mode})).await {
                Ok(_) => assert!(may, "{can} {mode}"),
                Err(error) => {
                    assert_eq!(lacking(&error), if none { "approval" } else { capability }, "{can} {mode}");
                    assert!(!may, "{can} {mode}");
                }
            }
        }
        // Without a payload conditions are taken not to hold.
        let (permits, permitted) = (workshop.permits(messages::APPROVE), workshop.permitted());
        assert_eq!(permits.is_ok(), may[0], "{can}");
        assert_eq!(permitted.contains(&messages::APPROVE), may[0], "{can}");
        // A handle that leaves one of the two out may do the other.
        let weak = workshop
            .handle()
            .restrict(&[capabilities::APPROVAL, capabilities::APPROVAL_URGENT].into_iter().collect());
        assert_eq!(weak.approve(json!({"mode": "urgent"})).await.is_ok(), may[1], "{can}");
        let Err(refused) = weak.approve(json!({})).await else { panic!("{can}") };
        let wanted = if none { "approval" } else { calm };
        assert_eq!(lacking(&refused), wanted, "{can}");
    }
}

#[tokio::test]
async fn what_is_required_may_be_announced_by_default() {
    for (can, missing) in [
        (json!({"approval": {}}), None),
        (json!({"approval": {"calm": {}}}), None),
        (json!({"approval": {"urgent": {}}}), Some("approval.calm")),
        (json!({}), Some("approval.calm")),
    ] {
        let (here, there) = duplex();
        let options = Options::new().require([capabilities::APPROVAL_CALM]);
        let workshop = test_support::spawn(async {
            let (_, workshop) = Workshop::with_options(there, options).recv_hello().await.unwrap();
            workshop.send_welcome(json!({WELCOME: {}})).await.unwrap()
        });
        match Customer::new(here).hello(json!({WELCOME: can.clone()})).await {
            Ok(_) => assert!(missing.is_none(), "{can}"),
            Err(StepError::Refused { error, .. }) => {
                assert_eq!(error.data.unwrap()["missing"], json!(missing.as_slice()), "{can}");
            }
            Err(other) => panic!("{other:?}"),
        }
        workshop.abort();
    }
}

#[tokio::test]
async fn linear_replies_lead_to_states_of_their_own() {
    let (customer, workshop) = open(json!({})).await;
    let workshop = async {
        let workshop = workshop.recv_enter().await.unwrap();
        let workshop = workshop.send_queued(json!({"place": 2})).await.unwrap();
        let workshop = workshop.recv_leave().await.unwrap().recv_enter().await.unwrap();
        // Neither the wrong payload nor the refused step takes anything away.
        let Err(StepError::NotSent { error, session: workshop }) = workshop.send_queued(json!({})).await
        else {
            panic!()
        };
        assert!(matches!(error, Error::Mismatch { problem: MismatchError::Lacks(_), .. }));
        let Err(StepError::NotSent { session: workshop, .. }) =
            workshop.send_inside(json!({"place": 1})).await
        else {
            panic!()
        };
        let workshop = workshop.refuse(RpcError::new(1, "not yet")).await.unwrap();
        let workshop = workshop.recv_enter().await.unwrap();
        let workshop = workshop.refuse(RpcError::new(2, "still not")).await.unwrap();
        let workshop = workshop.recv_enter().await.unwrap();
        let workshop = workshop.send_inside(json!({})).await.unwrap();
        let server::ShopNext::Book(1, workshop) = workshop.next().await.unwrap() else { panic!() };
        let workshop = workshop.send_booked(7).await.unwrap();
        let server::ShopNext::Book(2, workshop) = workshop.next().await.unwrap() else { panic!() };
        let workshop = workshop.send_full(json!({"full": "up"})).await.unwrap();
        let server::ShopNext::Leave(workshop) = workshop.next().await.unwrap() else { panic!() };
        workshop
    };
    let customer = async {
        let client::AfterEnterNext::Queued(place, customer) = customer.enter().await.unwrap() else {
            panic!()
        };
        assert_eq!(place["place"], 2);
        let customer = customer.send_leave().await.unwrap();
        // A refusal gives the state before the request back, from the combined form and from `next`.
        let Err(StepError::Refused { error, session: customer }) = customer.enter().await else { panic!() };
        assert_eq!(error.code, 1);
        let customer = customer.send_enter().await.unwrap();
        let Err(StepError::Refused { error, session: customer }) = customer.next().await else { panic!() };
        assert_eq!(error.code, 2);
        let client::AfterEnterNext::Inside(_, mut customer) = customer.enter().await.unwrap() else {
            panic!()
        };
        assert!(matches!(customer.book(1).await.unwrap(), client::BookReply::Booked(7)));
        assert!(
            matches!(customer.book(2).await.unwrap(), client::BookReply::Full(full) if full["full"] == "up")
        );
        customer.send_leave().await.unwrap()
    };
    let (customer, _workshop) = tokio::join!(customer, workshop);
    customer.close().await.unwrap();
}

/// A workshop against a peer of raw text, after the handshake, and what was reported.
async fn against_raw() -> (Workshop<Door>, Raw, Arc<Mutex<Vec<String>>>) {
    let (wire, mut raw) = raw();
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options = Options::default().on_report(move |report| {
        if let Report::Violation(violation) = report {
            seen.lock().unwrap().push(violation.to_string());
        }
    });
    let workshop = Workshop::with_options(wire, options);
    let hello =
        json!({"jsonrpc": "2.0", "id": 0, "method": "hello", "params": {"capabilities": {"approval": {}}}});
    raw.say(hello).await;
    let (_, workshop) = workshop.recv_hello().await.unwrap();
    let workshop = workshop.send_welcome(json!({"capabilities": {}})).await.unwrap();
    raw.hear().await.unwrap();
    (workshop, raw, reports)
}

#[tokio::test]
async fn the_gate_of_what_comes_in_is_judged_by_its_payload() {
    let (workshop, mut raw, reports) = against_raw().await;
    test_support::spawn(workshop.incoming().serve(Maker));
    let make =
        |id: u32, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "make", "params": params});
    assert_eq!(raw.ask(make(1, json!({"mode": "calm", "result": 3}))).await["result"], 3);
    assert_eq!(raw.ask(make(2, json!({"mode": "rush", "result": 3}))).await["error"]["code"], -32601);
    assert_eq!(raw.ask(make(3, json!({"mould": "flat", "mode": "rush"}))).await["result"], "flat");
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_reply_of_no_kind_is_a_violation_and_the_call_ends() {
    let (workshop, mut raw, reports) = against_raw().await;
    let asking = async {
        let approved = workshop.handle().approve(json!({})).await;
        assert!(matches!(approved, Ok(server::ApproveReply::Denied(denied)) if denied["reason"] == "no"));
        workshop.handle().approve(json!({})).await.unwrap_err()
    };
    let answering = async {
        let asked = raw.hear().await.unwrap();
        raw.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"reason": "no"}})).await;
        let asked = raw.hear().await.unwrap();
        raw.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"neither": 1}})).await;
    };
    let (error, ()) = tokio::join!(asking, answering);
    let words = "the result of `approve` of the client holds nothing by which it is known: `if approved` or `if reason`";
    let Error::InvalidReply(reply) = &error else { panic!("{error}") };
    assert!(
        matches!(&reply.problem, ReplyProblem::NotPermitted(violation) if violation.to_string() == words)
    );
    assert_eq!(*reports.lock().unwrap(), [words]);
}

#[tokio::test]
async fn conditions_that_only_the_peer_knows_count_and_unsent_ones_do_not() {
    let (here, there) = duplex();
    let (buyer, seller) = (sale::Buyer::new(here), sale::Seller::new(there));
    let incoming = seller.incoming();
    // The buyer's own type has no such order, but the seller would read one.
    let error = buyer.order(json!({"express": 1})).await.unwrap_err();
    assert!(
        matches!(error, Error::Mismatch { problem: MismatchError::ReadAs { message, .. }, .. } if message == "Express")
    );
    // A message that is declared and in neither type cannot be what the payload is.
    buyer.send_tell(json!({"aloud": true})).await.unwrap();
    assert!(
        matches!(incoming.next().await, Some(sale::server::Incoming::Tell(told)) if told["aloud"] == true)
    );
}
