//! What comes late, or is said badly, and must not move anything: each of these was once found by random runs.

use crate::checker::tests::tables::{Tables, To};
use crate::checker::tests::{ENDED, accepted, id, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{KeyIndex, Origin, Side, StateKind};
use crate::{About, Checker, KeyValue, StepKind, Ties, ViolationKind};

#[test]
fn a_cancel_that_names_no_request_does_not_take_the_edge_of_one() {
    let mut tables = Tables::default();
    let call = tables.request("call");
    tables.edit(call.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.state("Idle", StateKind::Linear, &[(Send, call.request, To::Step("Waiting"))]);
    tables.state(
        "Waiting",
        StateKind::Linear,
        &[(Receive, call.reply, To::Step("Idle")), (Send, cancelled, To::Step("Idle"))],
    );
    let mut protocol = tables.build(Side::Client);
    for state in protocol.client.as_mut().unwrap().states.to_mut() {
        for edge in state.edges.to_mut().iter_mut().filter(|edge| edge.message == cancelled) {
            edge.origin = Origin::Cancel;
        }
    }
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    checker.ask(Send, call.request, 1).unwrap();
    let before = checker.states().to_vec();
    assert_eq!(checker.tell(Send, cancelled).unwrap_err().kind, ViolationKind::Untied);
    assert_eq!(checker.states(), before);
    checker.take_back(Send, cancelled, 1).unwrap();
}

#[test]
fn a_copy_whose_id_was_misused_can_still_be_cancelled() {
    let mut tables = Tables::default();
    let (watch, changed) = (tables.request("watch"), tables.notification("changed"));
    tables.edit(watch.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.key("uri", false, &[watch.request, changed]);
    tables.state("Active", StateKind::Replicated, &[(Receive, watch.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Send, watch.reply, To::Step("Watched"))]);
    tables.state("Watched", StateKind::Linear, &[(Send, changed, To::Step("Watched"))]);
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    let keys = [(KeyIndex(0), KeyValue::from("a"))];
    let mut watch_it = || {
        let ties = Ties::keys(&keys);
        checker.request_tied(Receive, watch.request, &id(1), None, ties, never)
    };
    accepted(watch_it());
    assert!(matches!(watch_it().unwrap_err().kind, ViolationKind::DuplicateId { .. }));
    checker.answer(Send, 1, watch.reply).unwrap();
    assert_eq!(checker.take_back(Receive, cancelled, 1).unwrap(), ENDED);
}

#[test]
fn what_follows_a_late_reply_under_the_key_that_it_brought_is_late_too() {
    let mut tables = Tables::default();
    let (make, done) = (tables.request("make"), tables.notification("done"));
    tables.edit(make.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.key("task", false, &[make.reply, done]);
    tables.state("Active", StateKind::Replicated, &[(Send, make.request, To::Spawn("Asked"))]);
    tables.state("Asked", StateKind::Linear, &[(Receive, make.reply, To::Step("Task"))]);
    tables.state("Task", StateKind::Linear, &[(Receive, done, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    checker.ask(Send, make.request, 1).unwrap();
    assert_eq!(checker.take_back(Send, cancelled, 1).unwrap(), ENDED);
    assert_eq!(checker.retired(Receive, &id(1)), Some(make.request));
    let keys = [(KeyIndex(0), KeyValue::from("t"))];
    let late = accepted(checker.stray_reply_tied(Receive, &id(1), Ties::keys(&keys)));
    assert_eq!((late.kind, checker.retired(Receive, &id(1))), (StepKind::Swallowed, None));
    let mut tell = |value: &str| {
        let keys = [(KeyIndex(0), KeyValue::from(value))];
        checker.notification_tied(Receive, done, About::Nothing, Ties::keys(&keys), never)
    };
    assert_eq!(accepted(tell("t")).kind, StepKind::Swallowed);
    assert!(matches!(tell("other").unwrap_err().kind, ViolationKind::UnknownKey { .. }));
}
