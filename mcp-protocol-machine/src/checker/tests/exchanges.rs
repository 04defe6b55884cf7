//! The id table: replies, cancellations, reports, duplicates, and what is remembered.

use crate::checker::tests::tables::{Small, Tables, To, small};
use crate::checker::tests::{ENDED, accepted, active, active_in, id, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Side, StateIndex, StateKind};
use crate::{About, Awaiting, Checker, Limits, RequestId, StepKind, ViolationKind};

#[test]
fn exchanges_run_at_once_and_end_in_any_order() {
    let (small, mut checker) = active();
    for number in 0..100 {
        checker.ask(Send, small.call.request, number).unwrap();
        checker.ask(Receive, small.sample.request, number).unwrap();
    }
    assert_eq!((checker.running(Send), checker.running(Receive)), (100, 100));
    for number in (0..100).rev() {
        assert_eq!(checker.answer(Receive, number, small.call.reply).unwrap(), ENDED);
    }
    for number in (0..100).map(|number| number * 37 % 100) {
        assert_eq!(checker.answer(Send, number, small.sample.refusal).unwrap(), ENDED);
    }
    assert_eq!((checker.running(Send), checker.running(Receive)), (0, 0));
}

#[test]
fn the_two_directions_have_their_own_ids() {
    let (small, mut checker) = active();
    checker.ask(Send, small.call.request, 0).unwrap();
    checker.ask(Receive, small.sample.request, 0).unwrap();
    assert_eq!(checker.awaiting(Receive, &id(0)), Awaiting::Request(small.call.request));
    assert_eq!(checker.awaiting(Send, &id(0)), Awaiting::Request(small.sample.request));
    let wrong = checker.answer(Receive, 0, small.sample.reply).unwrap_err();
    assert_eq!(wrong.kind, ViolationKind::WrongReply { request: "tools/call".into() });
    checker.answer(Send, 0, small.sample.reply).unwrap();
    checker.answer(Receive, 0, small.call.reply).unwrap();
}

#[test]
fn a_number_is_not_a_text() {
    let (small, mut checker) = active();
    accepted(checker.request(Send, small.call.request, &"1".into(), None, never));
    assert_eq!(checker.awaiting(Receive, &id(1)), Awaiting::Unknown);
    checker.ask(Send, small.call.request, 1).unwrap();
    checker.answer(Receive, 1, small.call.reply).unwrap();
    assert_eq!(accepted(checker.reply(Receive, &"1".into(), small.call.reply)).kind, ENDED);
    let again = checker.reply(Receive, &"1".into(), small.call.reply).unwrap_err();
    assert_eq!(
        again.to_string(),
        "the server replies to the id \"1\", but that request has had its reply",
        "texts are remembered, too"
    );
}

#[test]
fn unknown_ids_second_replies_and_duplicates_are_three_mistakes() {
    let (small, mut checker) = active();
    let unknown = checker.answer(Receive, 4, small.call.reply).unwrap_err();
    assert_eq!(unknown.kind, ViolationKind::UnknownId);
    assert_eq!(unknown.sender, Side::Server);
    assert_eq!(
        unknown.to_string(),
        "the server replies to the id 4, but the client has sent no request with it"
    );
    checker.ask(Send, small.call.request, 4).unwrap();
    let running = checker.ask(Send, small.ping.request, 4).unwrap_err();
    assert_eq!(running.kind, ViolationKind::DuplicateId { running: Some("tools/call".into()) });
    assert_eq!(
        running.to_string(),
        "`ping` has the id 4, under which `tools/call` of the client is still running"
    );
    assert!(!running.answerable, "an error would be taken for the reply of the first");
    assert_eq!(checker.answer(Receive, 4, small.call.reply).unwrap(), ENDED, "the first one is unharmed");
    assert_eq!(
        checker.stray_reply(Receive, &id(4)).unwrap().kind,
        StepKind::Swallowed,
        "the answer to the duplicate is not a second report"
    );
    assert_eq!(checker.stray_reply(Receive, &id(4)).unwrap_err().kind, ViolationKind::SecondReply);
    let used = checker.ask(Send, small.ping.request, 4).unwrap_err();
    assert_eq!(used.kind, ViolationKind::DuplicateId { running: None });
    assert!(used.answerable);
}

/// A checker of the small protocol where the id of an exchange that is over may be used again.
fn reusing() -> (Small, Checker) {
    let mut small = small();
    small.protocol.reuses_ids = true;
    active_in(small)
}

#[test]
fn an_id_is_used_again_where_the_protocol_permits_it() {
    let (small, mut checker) = reusing();
    for _ in 0..3 {
        checker.ask(Send, small.call.request, 4).unwrap();
        let running = checker.ask(Send, small.ping.request, 4).unwrap_err();
        assert_eq!(running.kind, ViolationKind::DuplicateId { running: Some("tools/call".into()) });
        assert_eq!(checker.answer(Receive, 4, small.call.reply).unwrap(), ENDED);
        assert_eq!(
            checker.stray_reply(Receive, &id(4)).unwrap().kind,
            StepKind::Swallowed,
            "to the duplicate"
        );
        assert_eq!(checker.stray_reply(Receive, &id(4)).unwrap_err().kind, ViolationKind::SecondReply);
    }
}

#[test]
fn where_ids_are_used_again_each_cancelled_exchange_may_have_its_late_reply() {
    let (small, mut checker) = reusing();
    for _ in 0..2 {
        checker.ask(Send, small.call.request, 4).unwrap();
        checker.notification(Send, small.cancelled, About::Request(&id(4)), never).unwrap();
    }
    checker.ask(Send, small.call.request, 4).unwrap();
    assert!(matches!(checker.awaiting(Receive, &id(4)), Awaiting::Request(_)), "the third one waits");
    assert_eq!(checker.answer(Receive, 4, small.call.reply).unwrap(), ENDED);
    for _ in 0..2 {
        assert_eq!(checker.stray_reply(Receive, &id(4)).unwrap().kind, StepKind::Swallowed);
    }
    assert_eq!(checker.stray_reply(Receive, &id(4)).unwrap_err().kind, ViolationKind::SecondReply);
}

#[test]
fn a_refused_request_makes_one_report() {
    let (small, mut checker) = active();
    let refused = checker.request(Receive, small.call.request, &id(0), Some(id(70)), never);
    assert_eq!(refused.unwrap_err().kind, ViolationKind::NotPermitted);
    assert_eq!(checker.awaiting(Send, &id(0)), Awaiting::Refused);
    assert_eq!(checker.report_on(Send, small.progress, 70).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.cancel_request(Receive, small.cancelled, 0).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.stray_reply(Send, &id(0)).unwrap().kind, StepKind::Swallowed);
    assert_eq!(checker.stray_reply(Send, &id(0)).unwrap_err().kind, ViolationKind::SecondReply);
}

#[test]
fn a_cancelled_sub_session_swallows_one_late_reply() {
    let (small, mut checker) = active();
    checker.ask(Send, small.call.request, 0).unwrap();
    assert_eq!(checker.cancel_request(Send, small.cancelled, 0).unwrap(), ENDED);
    assert_eq!(checker.running(Send), 0);
    assert_eq!(
        checker.cancel_request(Send, small.cancelled, 0).unwrap(),
        StepKind::Swallowed,
        "twice is not a mistake"
    );
    assert_eq!(checker.awaiting(Receive, &id(0)), Awaiting::Retired);
    assert_eq!(checker.answer(Receive, 0, small.call.reply).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.awaiting(Receive, &id(0)), Awaiting::Completed);
    assert_eq!(checker.answer(Receive, 0, small.call.reply).unwrap_err().kind, ViolationKind::SecondReply);
    assert_eq!(checker.cancel_request(Send, small.cancelled, 0).unwrap(), StepKind::Swallowed);
    checker.ask(Send, small.call.request, 1).unwrap();
    checker.answer(Receive, 1, small.call.reply).unwrap();
    assert_eq!(
        checker.cancel_request(Send, small.cancelled, 1).unwrap(),
        StepKind::Swallowed,
        "it comes too late"
    );
}

#[test]
fn only_own_cancellable_requests_that_ran_can_be_cancelled() {
    let (small, mut checker) = active();
    let never_ran = checker.cancel_request(Send, small.cancelled, 3).unwrap_err();
    assert_eq!(never_ran.kind, ViolationKind::NotRunning);
    assert_eq!(
        never_ran.to_string(),
        "`cancelled` names the id 3, but the client has sent no request with it"
    );
    checker.ask(Receive, small.sample.request, 3).unwrap();
    let others = checker.cancel_request(Send, small.cancelled, 3).unwrap_err();
    assert_eq!(others.kind, ViolationKind::NotYours);
    assert_eq!(
        others.to_string(),
        "`cancelled` names the id 3 of a request of the server, which only the server may cancel"
    );
    assert_eq!(checker.cancel_request(Receive, small.cancelled, 3).unwrap(), ENDED);
    checker.ask(Send, small.ping.request, 5).unwrap();
    let ping = checker.cancel_request(Send, small.cancelled, 5).unwrap_err();
    assert_eq!(ping.kind, ViolationKind::NotCancellable { request: "ping".into() });
    checker.answer(Receive, 5, small.ping.reply).unwrap();
    let unnamed = checker.tell(Send, small.cancelled).unwrap_err();
    assert_eq!(unnamed.to_string(), "`cancelled` does not say which request it is about");
}

#[test]
fn reports_follow_their_token() {
    let (small, mut checker) = active();
    accepted(checker.request(Send, small.call.request, &id(0), Some(id(0)), never));
    accepted(checker.request(Send, small.call.request, &id(1), Some("b".into()), never));
    assert_eq!(checker.report_on(Receive, small.progress, 0).unwrap(), StepKind::Reported);
    assert_eq!(checker.reported(Receive, &"b".into()), Some(&id(1)));
    let own = checker.report_on(Send, small.progress, 0).unwrap_err();
    assert_eq!(own.kind, ViolationKind::UnknownToken { token: id(0) });
    assert_eq!(own.to_string(), "`progress` carries the token 0, but no request of the server carried it");
    checker.answer(Receive, 0, small.call.reply).unwrap();
    assert_eq!(checker.report_on(Receive, small.progress, 0).unwrap(), StepKind::Swallowed);
    assert!(checker.report_on(Receive, small.progress, 1).is_err(), "1 is an id, not a token");
    checker.cancel_request(Send, small.cancelled, 1).unwrap();
    let about = About::Token(&"b".into());
    assert_eq!(
        accepted(checker.notification(Receive, small.progress, about, never)).kind,
        StepKind::Swallowed
    );
    assert!(checker.tell(Receive, small.progress).is_err(), "a report without a token is about nothing");
}

#[test]
fn a_token_of_a_running_request_is_not_used_again() {
    let (small, mut checker) = active();
    let call = |checker: &mut Checker, number| {
        checker.request(Send, small.call.request, &id(number), Some(id(9)), never)
    };
    assert!(call(&mut checker, 0).is_ok());
    let violation = call(&mut checker, 1).unwrap_err();
    assert_eq!(violation.kind, ViolationKind::TokenInUse { token: id(9) });
    assert_eq!(
        violation.to_string(),
        "`tools/call` carries the token 9, which belongs to a request that is still running"
    );
    assert_eq!(checker.reported(Receive, &id(9)), Some(&id(0)), "it stays with the request that has it");
    assert_eq!(checker.report_on(Receive, small.progress, 9).unwrap(), StepKind::Reported);
    checker.answer(Receive, 0, small.call.reply).unwrap();
    assert_eq!(checker.report_on(Receive, small.progress, 9).unwrap(), StepKind::Swallowed);
    assert!(call(&mut checker, 2).is_ok(), "once the request is over its token is free");
}

/// `*( !Work . ?WorkResult . End )`: the reply is tied to its sub-session by the id. A report moves none.
#[test]
fn sub_sessions_have_states_of_their_own() {
    let mut tables = Tables::default();
    let work = tables.request("work");
    let progress = tables.reports("progress");
    let cancelled = tables.cancels("cancelled");
    tables.edit(work.request).cancellable = true;
    tables.state("Active", StateKind::Replicated, &[(Send, work.request, To::Spawn("Working"))]);
    tables.state("Working", StateKind::Linear, &[(Receive, work.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    for number in 0..4 {
        accepted(checker.request(Send, work.request, &id(number), Some(id(number + 10)), never));
    }
    assert_eq!(checker.report_on(Receive, progress, 10).unwrap(), StepKind::Reported);
    assert_eq!(checker.answer(Receive, 1, work.reply).unwrap(), ENDED);
    assert_eq!(checker.awaiting(Receive, &id(1)), Awaiting::Completed);
    assert_eq!(checker.answer(Receive, 1, work.reply).unwrap_err().kind, ViolationKind::SecondReply);
    assert_eq!(checker.cancel_request(Send, cancelled, 1).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.running(Send), 3);
    assert_eq!(checker.report_on(Receive, progress, 11).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.report_on(Receive, progress, 10).unwrap(), StepKind::Reported);
    assert_eq!(checker.answer(Receive, 0, work.refusal).unwrap(), ENDED, "a refusal ends an instance");
    assert_eq!(checker.cancel_request(Send, cancelled, 2).unwrap(), ENDED, "and so does a cancel");
    assert_eq!(checker.report_on(Receive, progress, 12).unwrap(), StepKind::Swallowed);
    assert_eq!(
        checker.ask(Send, work.request, 1).unwrap_err().kind,
        ViolationKind::DuplicateId { running: None }
    );
    assert_eq!(checker.running(Send), 1);
}

#[test]
fn too_many_at_once_are_refused() {
    let (small, checker) = active();
    let mut checker = checker.with_limits(Limits { running: 2, ..Limits::default() });
    checker.ask(Send, small.call.request, 0).unwrap();
    checker.ask(Send, small.call.request, 1).unwrap();
    let full = checker.ask(Send, small.call.request, 2).unwrap_err();
    assert_eq!(full.kind, ViolationKind::TooManyRunning { limit: 2 });
    assert_eq!(full.error_code(), -32_000);
    checker.ask(Receive, small.sample.request, 2).unwrap();
    checker.answer(Receive, 0, small.call.reply).unwrap();
    checker.ask(Send, small.call.request, 3).unwrap();
}

#[test]
fn a_hundred_thousand_ids_in_order_take_one_entry() {
    let (small, mut checker) = active();
    for number in 0..100_000 {
        accepted(checker.request(Send, small.call.request, &id(number), Some(id(number)), never));
        checker.answer(Receive, number, small.call.reply).unwrap();
    }
    assert!(checker.sent.remembered() <= 2, "{}", checker.sent.remembered());
    assert_eq!(checker.awaiting(Receive, &id(12_345)), Awaiting::Completed);
    assert_eq!(
        checker.ask(Send, small.call.request, 99_999).unwrap_err().kind,
        ViolationKind::DuplicateId { running: None }
    );
}

#[test]
fn whatever_the_peer_sends_memory_is_bounded() {
    let (small, mut checker) = active();
    let mut random = super::random::Random::new(7);
    for round in 0..100_000_i64 {
        let number = i64::try_from(random.below(usize::MAX) / 2).unwrap();
        let wild: RequestId =
            if round % 2 == 0 { id(number) } else { format!("{number}-{}", "x".repeat(200)).into() };
        match round % 5 {
            0 => drop(
                checker.request(Receive, small.call.request, &wild, Some(wild.clone()), never).unwrap_err(),
            ),
            1 => drop(checker.stray_reply(Receive, &wild).unwrap_err()),
            2 => drop(checker.unknown_method(Receive, Some(&wild), "nonsense").unwrap_err()),
            3 => {
                accepted(checker.request(Receive, small.sample.request, &wild, Some(wild.clone()), never));
                let about = About::Request(&wild);
                assert_eq!(
                    accepted(checker.notification(Receive, small.cancelled, about, never)).kind,
                    ENDED
                );
            }
            _ => {
                accepted(checker.request(Receive, small.ping.request, &wild, None, never));
                accepted(checker.reply(Send, &wild, small.ping.reply));
            }
        }
    }
    let limit = Limits::default().remembered;
    assert!(checker.received.remembered() <= 8 * limit, "{}", checker.received.remembered());
    assert_eq!(checker.sent.remembered(), 0, "unrequested replies leave nothing behind");
}

#[test]
fn an_observer_follows_the_server_and_sees_both_orders() {
    // What the client sends is `Receive` for the server, and a reply may cross the cancel that makes it late.
    let mut tables = Tables::default();
    let call = tables.request("call");
    let cancelled = tables.cancels("cancelled");
    tables.edit(call.request).cancellable = true;
    tables.state("Active", StateKind::Replicated, &[(Receive, call.request, To::Spawn("Called"))]);
    tables.answer("Called", Send, call);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    assert_eq!(
        checker.ask(Receive, call.request, 0).unwrap(),
        StepKind::Spawned { state: StateIndex(1), within: None }
    );
    checker.ask(Receive, call.request, 1).unwrap();
    assert_eq!(checker.cancel_request(Receive, cancelled, 0).unwrap(), ENDED);
    assert_eq!(checker.answer(Send, 0, call.reply).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.answer(Send, 1, call.reply).unwrap(), ENDED);
    assert_eq!(checker.cancel_request(Receive, cancelled, 1).unwrap(), StepKind::Swallowed);
    let blamed = checker.answer(Send, 1, call.reply).unwrap_err();
    assert_eq!(blamed.sender, Side::Server);
    let blamed = checker.ask(Receive, call.request, 1).unwrap_err();
    assert_eq!(blamed.sender, Side::Client);
}
