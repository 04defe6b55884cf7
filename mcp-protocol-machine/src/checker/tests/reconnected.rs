//! Sessions that are begun once more: what goes on, and what is forgotten.

use crate::checker::tests::tables::{Tables, To};
use crate::checker::tests::{active, id, linear, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{KeyIndex, Side, StateKind};
use crate::{Awaiting, Checker, Correlation, KeyValue, StepKind, ViolationKind};

#[test]
fn ids_tokens_and_what_could_come_late_are_forgotten_and_calls_go_on_that_are_named() {
    let (small, mut checker) = active();
    let states = checker.states().to_vec();
    for call in [1, 2, 3] {
        checker.request(Send, small.call.request, &id(call), Some(id(call)), never).unwrap();
    }
    checker.cancel_request(Send, small.cancelled, 3).unwrap();
    checker.ask(Receive, small.ping.request, 0).unwrap();
    assert!(matches!(
        checker.ask(Receive, small.ping.request, 0).unwrap_err().kind,
        ViolationKind::DuplicateId { .. }
    ));
    assert_eq!(checker.renew(|call| *call == id(2)), Some(vec![id(1)]));
    assert_eq!(checker.states(), states);
    assert_eq!((checker.running(Send), checker.running(Receive)), (1, 0));
    assert_eq!(checker.awaiting(Send, &id(0)), Awaiting::Unknown);
    checker.ask(Receive, small.ping.request, 0).unwrap();
    for gone in [1, 3] {
        assert_eq!(checker.awaiting(Receive, &id(gone)), Awaiting::Unknown);
        assert!(checker.report_on(Receive, small.progress, gone).is_err());
    }
    assert_eq!(checker.report_on(Receive, small.progress, 2).unwrap(), StepKind::Reported);
    checker.answer(Receive, 2, small.call.reply).unwrap();
}

#[test]
fn sub_sessions_are_forgotten_but_those_that_have_heard_nothing() {
    let mut tables = Tables::default();
    let (watch, changed) = (tables.request("watch"), tables.notification("changed"));
    tables.key("uri", false, &[watch.request, changed]);
    tables.state("Active", StateKind::Replicated, &[(Send, watch.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Receive, watch.reply, To::Step("Watched"))]);
    tables.state("Watched", StateKind::Linear, &[(Receive, changed, To::Step("Watched"))]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let watched = |checker: &mut Checker, number: i64, uri: &str| {
        let keys = [(KeyIndex(0), KeyValue::from(uri))];
        checker.request_correlated(Send, watch.request, &id(number), None, Correlation::keys(&keys), never)
    };
    let first = watched(&mut checker, 1, "a").unwrap().sub_session.unwrap();
    checker.answer(Receive, 1, watch.reply).unwrap();
    let second = watched(&mut checker, 2, "b").unwrap().sub_session.unwrap();
    assert_eq!(checker.renew(|_| true), Some(Vec::new()), "both are asked for, and one has its answer");
    assert_eq!((checker.sub_session_state(first), checker.sub_session_state(second).is_some()), (None, true));
    assert!(matches!(watched(&mut checker, 3, "b").unwrap_err().kind, ViolationKind::KeyInUse { .. }));
    let third = watched(&mut checker, 4, "a").unwrap().sub_session.unwrap();
    assert!(third > second, "numbers are not used twice");
    assert_eq!(checker.renew(|_| false), Some(vec![id(2), id(4)]));
    watched(&mut checker, 5, "b").unwrap();
}

#[test]
fn a_linear_request_goes_on_and_one_of_the_peer_cannot_be_there() {
    let (small, _) = active();
    let mut client = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    client.ask(Send, small.initialize.request, 0).unwrap();
    assert_eq!(client.renew(|_| false), Some(Vec::new()));
    assert_eq!(client.answer(Receive, 0, small.initialize.reply).unwrap(), linear(1, 2));
    let mut tables = Tables::default();
    let ask = tables.request("ask");
    tables.state("Start", StateKind::Linear, &[(Receive, ask.request, To::Step("Asked"))]);
    tables.state("Asked", StateKind::Linear, &[(Send, ask.reply, To::Step("Start"))]);
    let mut asked = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    asked.ask(Receive, ask.request, 0).unwrap();
    assert_eq!(asked.renew(|_| true), None);
    asked.answer(Send, 0, ask.reply).unwrap();
}
