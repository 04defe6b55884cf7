//! States, forks, gates, closing: what does not depend on the id table.

use crate::checker::tests::tables::{Tables, To, level, small};
use crate::checker::tests::{ENDED, accepted, active, id, linear, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Holder, Kind, Side, StateIndex, StateKind, Strictness};
use crate::{About, Awaiting, Capabilities, Checker, StepKind, TableError, ViolationKind};

#[test]
fn a_session_from_the_start() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    assert_eq!(checker.state_names(), "Uninit");
    assert_eq!(checker.ask(Send, small.initialize.request, 0).unwrap(), linear(0, 1));
    assert_eq!(checker.linear_request(Receive, small.initialize.request), Some(&id(0)));
    assert_eq!(checker.awaiting(Receive, &id(0)), Awaiting::Request(small.initialize.request));
    assert_eq!(checker.answer(Receive, 0, small.initialize.refusal).unwrap(), linear(1, 0));
    assert_eq!(checker.ask(Send, small.initialize.request, 1).unwrap(), linear(0, 1));
    assert_eq!(checker.answer(Receive, 1, small.initialize.reply).unwrap(), linear(1, 2));
    assert_eq!(checker.linear_request(Receive, small.initialize.request), None);
    checker.announce(Side::Server, Capabilities::from_gates([small.tools]));
    assert_eq!(checker.tell(Send, small.initialized).unwrap(), linear(2, 3));
    assert_eq!(checker.state_names(), "Active");
    assert_eq!(
        checker.ask(Send, small.call.request, 2).unwrap(),
        StepKind::Spawned { state: StateIndex(6), within: None }
    );
    assert_eq!(checker.running(Send), 1);
    assert_eq!(checker.answer(Receive, 2, small.call.reply).unwrap(), ENDED);
    assert_eq!(
        checker.tell(Receive, small.log).unwrap(),
        StepKind::Spawned { state: StateIndex(8), within: None }
    );
    assert_eq!((checker.running(Send), checker.running(Receive)), (0, 0));
}

#[test]
fn a_refusal_says_what_came_where_and_what_is_permitted() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    let early = checker.ask(Send, small.call.request, 5).unwrap_err();
    assert_eq!(
        early.to_string(),
        "`tools/call` is not permitted in `Uninit`: the client may send `initialize` or `ping` now (rule L5, should)"
    );
    assert_eq!((early.sender, early.error_code(), early.rule()), (Side::Client, -32_002, Some("L5")));
    assert_eq!(early.strictness(), Strictness::Should);
    assert_eq!(early.permitted_in, ["Active"]);
    assert!(early.answerable);
    assert_eq!(checker.state_names(), "Uninit", "a refused message changes nothing");
    checker.ask(Send, small.initialize.request, 6).unwrap();
    let waiting = checker.tell(Send, small.initialized).unwrap_err();
    assert_eq!(
        waiting.to_string(),
        "`initialized` is not permitted in `Waiting`: the client may send `ping` now, and waits for the result of \
         `initialize`"
    );
    assert_eq!(waiting.error_code(), -32_600);
    assert!(!waiting.answerable, "a notification has no reply");
    let theirs = checker.ask(Receive, small.call.request, 0).unwrap_err();
    assert_eq!(
        theirs.to_string(),
        "`tools/call` is not permitted in `Waiting`: the server never sends it, it may send the result of \
         `initialize`, the error for `initialize` or `ping` now"
    );
    let unknown = checker.unknown_method(Receive, Some(&id(9)), "server/discover").unwrap_err();
    assert_eq!(unknown.to_string(), "`server/discover` is not a method that the server sends in `Test` 1");
    assert_eq!(unknown.error_code(), -32_601);
    assert_eq!(checker.awaiting(Send, &id(9)), Awaiting::Refused);
}

#[test]
fn a_request_without_an_id_and_a_notification_with_one_are_told_apart_from_unknown_methods() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    let request = checker.unknown_method(Send, Some(&id(1)), "initialized").unwrap_err();
    assert_eq!(request.to_string(), "`initialized` is a notification: send it without an `id`");
    assert_eq!((request.error_code(), request.answerable), (-32_600, true));
    let notification = checker.unknown_method(Send, None, "initialize").unwrap_err();
    assert_eq!(notification.to_string(), "`initialize` is a request: send it with an `id`");
    assert_eq!(notification.kind, ViolationKind::DeclaredAs { kind: Kind::Request });
    assert!(!notification.answerable, "a message without an id has no reply");
    assert_eq!(
        format!("{notification:?}"),
        "Violation(\"`initialize` is a request: send it with an `id`\")",
        "a program whose `main` returns an error prints the sentence, and not the tables around it"
    );
    // The server never sends it, so there is no way to send it right.
    let theirs = checker.unknown_method(Receive, None, "initialize").unwrap_err();
    assert_eq!(theirs.kind, ViolationKind::UnknownMethod);
    checker.ask(Send, small.initialize.request, 2).unwrap();
}

#[test]
fn long_lists_are_cut() {
    let mut tables = Tables::default();
    let methods = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let edges: Vec<_> =
        methods.iter().map(|method| (Send, tables.notification(method), To::Spawn("End"))).collect();
    let other = tables.notification("other");
    tables.state("Busy", StateKind::Replicated, &edges);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let refused = checker.tell(Send, other).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`other` is not permitted in `Busy`: the client never sends it, it may send `a`, `b`, `c`, `d`, `e`, `f`, `g`, \
         `h` and 2 more now"
    );
    assert_eq!(refused.expected.len(), 10, "the data has them all");
    assert_eq!(
        checker.tell(Receive, other).unwrap_err().to_string(),
        "`other` is not permitted in `Busy`: the server never sends it, it may send nothing now"
    );
}

/// Two linear channels: one asks `ask` in a loop and may stop, the other takes `news` until `over`.
fn forked() -> (Tables, [crate::protocol::MessageIndex; 4], super::tables::Exchange) {
    let mut tables = Tables::default();
    let begin = tables.notification("begin");
    let ask = tables.request("ask");
    let stop = tables.notification("stop");
    let news = tables.notification("news");
    let over = tables.notification("over");
    tables.state("Start", StateKind::Linear, &[(Send, begin, To::Step("Both"))]).reaches_end = true;
    tables.fork("Both", &["Asks", "Hears"]);
    tables
        .state(
            "Asks",
            StateKind::Linear,
            &[(Send, ask.request, To::Step("Asked")), (Send, stop, To::Step("End"))],
        )
        .reaches_end = true;
    tables
        .state(
            "Asked",
            StateKind::Linear,
            &[(Receive, ask.reply, To::Step("Asks")), (Receive, ask.refusal, To::Step("Asks"))],
        )
        .reaches_end = true;
    tables
        .state(
            "Hears",
            StateKind::Linear,
            &[(Receive, news, To::Step("Hears")), (Receive, over, To::Step("End"))],
        )
        .reaches_end = true;
    tables.state("End", StateKind::End, &[]);
    (tables, [begin, stop, news, over], ask)
}

#[test]
fn forks_run_side_by_side() {
    let (tables, [begin, stop, news, over], ask) = forked();
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    assert_eq!(checker.tell(Send, begin).unwrap(), linear(0, 1));
    assert_eq!(checker.states(), [StateIndex(2), StateIndex(4)]);
    assert_eq!(checker.state_names(), "Asks and Hears");
    checker.ask(Send, ask.request, 0).unwrap();
    assert_eq!(checker.tell(Receive, news).unwrap(), linear(4, 4));
    let refused = checker.tell(Send, stop).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`stop` is not permitted in `Asked`: the client has to wait for the result of `ask`",
        "only the channel that the message belongs to is named"
    );
    checker.answer(Receive, 0, ask.reply).unwrap();
    checker.tell(Send, stop).unwrap();
    assert!(!checker.quiescent(), "the other channel goes on");
    checker.tell(Receive, over).unwrap();
    assert!(checker.quiescent());
    assert_eq!(checker.state_names(), "End and End");
    let late = checker.tell(Receive, news).unwrap_err();
    assert_eq!(
        late.to_string(),
        "`news` is not permitted in `End` and `End`: the server may send nothing now"
    );
}

#[test]
fn forks_within_forks_keep_their_order() {
    let mut tables = Tables::default();
    let (one, two, three) =
        (tables.notification("one"), tables.notification("two"), tables.notification("three"));
    tables.fork("Outer", &["Inner", "Three"]);
    tables.fork("Inner", &["One", "Two"]);
    tables.state("One", StateKind::Linear, &[(Send, one, To::Step("Outer2"))]);
    tables.state("Two", StateKind::Linear, &[(Send, two, To::Step("End"))]);
    tables.state("Three", StateKind::Linear, &[(Send, three, To::Step("End"))]);
    tables.fork("Outer2", &["End", "Rest"]);
    tables.fork("Rest", &["End", "Two2"]);
    tables.state("Two2", StateKind::Linear, &[(Receive, two, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    assert_eq!(checker.state_names(), "One and Two and Three");
    checker.tell(Send, one).unwrap();
    assert_eq!(checker.state_names(), "End and End and Two2 and Two and Three");
    checker.tell(Send, three).unwrap();
    checker.tell(Send, two).unwrap();
    assert_eq!(checker.state_names(), "End and End and Two2 and End and End");
    checker.tell(Receive, two).unwrap();
    assert_eq!(checker.state_names(), "End and End and End and End and End");
}

#[test]
fn a_cancel_moves_the_channel_of_its_request() {
    let mut tables = Tables::default();
    let (left, right) = (tables.request("left"), tables.request("right"));
    let cancelled = tables.cancels("cancelled");
    tables.fork("Both", &["Left", "Right"]);
    for (exchange, idle, busy) in [(left, "Left", "LeftBusy"), (right, "Right", "RightBusy")] {
        tables.edit(exchange.request).cancellable = true;
        tables.state(idle, StateKind::Linear, &[(Send, exchange.request, To::Step(busy))]);
        let edges = [exchange.reply, exchange.refusal].map(|message| (Receive, message, To::Step(idle)));
        let edges = [&edges[..], &[(Send, cancelled, To::Step(idle))]].concat();
        tables.state(busy, StateKind::Linear, &edges);
    }
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    checker.ask(Send, left.request, 1).unwrap();
    checker.ask(Send, right.request, 2).unwrap();
    assert_eq!(checker.state_names(), "LeftBusy and RightBusy");
    assert_eq!(checker.cancel_request(Send, cancelled, 2).unwrap(), linear(4, 3));
    assert_eq!(checker.state_names(), "LeftBusy and Right");
    checker.ask(Send, right.request, 3).unwrap();
    assert_eq!(checker.answer(Receive, 2, right.reply).unwrap(), StepKind::Swallowed);
    assert_eq!(
        checker.state_names(),
        "LeftBusy and RightBusy",
        "the late reply does not answer the next request"
    );
    assert_eq!(checker.answer(Receive, 3, right.reply).unwrap(), linear(4, 3));
}

#[test]
fn gates_are_closed_before_the_announcement() {
    let (small, mut checker) = active();
    checker.announce(Side::Client, Capabilities::none());
    checker.announce(Side::Server, Capabilities::none());
    let closed = checker.ask(Send, small.call.request, 0).unwrap_err();
    assert_eq!(
        closed.to_string(),
        "`tools/call` needs the capability `tools`, which the server has not announced"
    );
    assert_eq!(
        closed.kind,
        ViolationKind::NotNegotiated { holder: Side::Server, capability: "tools".into() }
    );
    assert_eq!(closed.error_code(), -32_601);
    assert!(!checker.permitted(Send).contains(&small.call.request));
    checker.announce(Side::Server, Capabilities::from_gates([small.tools]));
    checker.ask(Send, small.call.request, 1).unwrap();
    assert!(checker.permitted(Send).contains(&small.call.request));
    let theirs = checker.ask(Receive, small.sample.request, 0).unwrap_err();
    assert_eq!((theirs.sender, theirs.got.id.clone()), (Side::Server, Some(id(0))));
    assert_eq!(
        theirs.kind,
        ViolationKind::NotNegotiated { holder: Side::Client, capability: "sampling".into() }
    );
    checker.announce(Side::Client, Capabilities::from_gates([small.sampling]));
    checker.ask(Receive, small.sample.request, 1).unwrap();
    let applies = |condition: &crate::protocol::Condition| condition.literal == Some("tools".into());
    let refused = checker.request(Receive, small.sample.request, &id(2), None, applies).unwrap_err();
    let capability = "sampling.\"io.x/tools\"".to_owned();
    assert_eq!(refused.kind, ViolationKind::NotNegotiated { holder: Side::Client, capability });
    checker.announce(Side::Client, Capabilities::from_gates([small.sampling, small.sampling_tools]));
    accepted(checker.request(Receive, small.sample.request, &id(3), None, applies));
}

#[test]
fn one_of_two_gates_is_asked_where_a_condition_decides() {
    for announced in [&[][..], &["form"], &["url"], &["form", "url"]] {
        let mut tables = Tables::default();
        let ask = tables.request("ask");
        let gates = [tables.gate(&["form"]), tables.gate(&["url"])];
        tables.requires_when(ask.request, Holder::Receiver, gates[1], Some("url"), false);
        tables.requires_when(ask.request, Holder::Receiver, gates[0], Some("url"), true);
        tables.state("Active", StateKind::Replicated, &[(Send, ask.request, To::Spawn("Asking"))]);
        tables.answer("Asking", Receive, ask);
        tables.state("End", StateKind::End, &[]);
        let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
        let granted = ["form", "url"].into_iter().zip(gates).filter(|(name, _)| announced.contains(name));
        checker.announce(Side::Client, granted.map(|(_, gate)| gate).collect());
        for (number, mode) in [(0, "form"), (1, "url")] {
            let applies = |condition: &crate::protocol::Condition| condition.literal == Some(mode.into());
            let asked = checker.request(Send, ask.request, &id(number), None, applies);
            let closed = ViolationKind::NotNegotiated { holder: Side::Client, capability: mode.into() };
            let wanted = if announced.contains(&mode) { None } else { Some(closed) };
            assert_eq!(asked.err().map(|violation| violation.kind.clone()), wanted, "{announced:?} {mode}");
        }
        // Without a payload no condition applies.
        assert_eq!(checker.permits(Send, ask.request).is_ok(), announced.contains(&"form"));
    }
}

#[test]
fn own_and_peer_gates_follow_the_sender() {
    for side in [Side::Client, Side::Server] {
        let mut tables = Tables::default();
        let (own, peer) = (tables.notification("own"), tables.notification("peer"));
        let gate = tables.gate(&["tasks", "list"]);
        tables.requires(own, Holder::Sender, gate, None);
        tables.requires(peer, Holder::Receiver, gate, None);
        let ways = [(Send, own), (Receive, own), (Send, peer), (Receive, peer)];
        tables.state(
            "Active",
            StateKind::Replicated,
            &ways.map(|(way, message)| (way, message, To::Spawn("End"))),
        );
        tables.state("End", StateKind::End, &[]);
        let mut checker = Checker::new(tables.build(side), side).unwrap();
        checker.announce(side, Capabilities::from_gates([gate]));
        assert!(checker.permits(Send, own).is_ok() && checker.permits(Receive, peer).is_ok());
        let holder = side.other();
        for (direction, message) in [(Receive, own), (Send, peer)] {
            let closed = checker.permits(direction, message).unwrap_err();
            assert_eq!(closed.kind, ViolationKind::NotNegotiated { holder, capability: "tasks.list".into() });
        }
    }
}

#[test]
fn the_state_is_judged_before_the_gate_and_a_handle_may_be_narrower() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    assert_eq!(checker.permits(Send, small.call.request).unwrap_err().kind, ViolationKind::NotPermitted);
    assert_eq!(checker.permitted(Send), [small.initialize.request, small.ping.request]);
    let (_, mut checker_active) = active();
    checker_active.announce(Side::Server, Capabilities::from_gates([small.tools]));
    let none = Capabilities::none();
    let left_out = checker_active.permits_if(Send, small.call.request, &none, never).unwrap_err();
    assert_eq!(left_out.kind, ViolationKind::Restricted { capability: "tools".into() });
    assert!(checker_active.permits_if(Send, small.ping.request, &none, never).is_ok(), "it needs nothing");
    checker.close();
    assert!(checker.permits(Send, small.call.request).is_ok());
    assert!(checker.permitted(Send).is_empty());
}

#[test]
fn what_belongs_to_an_exchange_is_permitted_while_one_runs() {
    let (small, mut checker) = active();
    for message in [small.call.reply, small.call.refusal, small.progress] {
        assert_eq!(checker.permits(Receive, message).unwrap_err().kind, ViolationKind::NothingRunning);
    }
    assert_eq!(
        checker.permits(Receive, small.call.reply).unwrap_err().to_string(),
        "the result of `tools/call` answers nothing: no `tools/call` of the client is running"
    );
    assert_eq!(checker.permits(Send, small.cancelled).unwrap_err().kind, ViolationKind::NothingRunning);
    accepted(checker.request(Send, small.call.request, &id(0), Some(id(7)), never));
    for message in [small.call.reply, small.call.refusal, small.progress] {
        assert!(checker.permits(Receive, message).is_ok());
        assert!(checker.permitted(Receive).contains(&message));
        assert!(checker.permits(Send, message).is_err());
    }
    assert!(checker.permits(Send, small.cancelled).is_ok());
    assert!(checker.permits(Receive, small.cancelled).is_err());
}

#[test]
fn closing_needs_every_channel_that_can_end() {
    let small = small();
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    assert!(!checker.quiescent(), "the only linear channel has not come to its end");
    checker.ask(Send, small.initialize.request, 0).unwrap();
    checker.answer(Receive, 0, small.initialize.reply).unwrap();
    assert!(checker.quiescent(), "`Told` offers the end to this role");
    assert!(!checker.peer_may_close());
    checker.tell(Send, small.initialized).unwrap();
    assert!(checker.quiescent() && checker.peer_may_close(), "no linear channel is left");
    checker.ask(Send, small.ping.request, 1).unwrap();
    assert!(checker.quiescent(), "a running instance does not keep the session open");
    checker.close();
    assert!(checker.is_closed());
    assert_eq!(checker.answer(Receive, 77, small.call.reply).unwrap(), StepKind::Closed);
    assert_eq!(checker.ask(Receive, small.call.request, 1).unwrap(), StepKind::Closed);
    assert_eq!(checker.tell(Receive, small.initialized).unwrap(), StepKind::Closed);
    assert_eq!(checker.stray_reply(Receive, &id(78)).unwrap().kind, StepKind::Closed);
    assert_eq!(checker.unknown_method(Receive, None, "x").unwrap().kind, StepKind::Closed);
}

#[test]
fn channels_that_never_end_are_cut_but_one_must_end() {
    let mut tables = Tables::default();
    let (tick, done) = (tables.notification("tick"), tables.notification("done"));
    tables.fork("Both", &["Ticks", "Works"]);
    tables.state("Ticks", StateKind::Linear, &[(Send, tick, To::Step("Ticks"))]);
    tables.state("Works", StateKind::Linear, &[(Send, done, To::Step("End"))]).reaches_end = true;
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build(Side::Client);
    let mut checker = Checker::new(protocol.clone(), Side::Client).unwrap();
    assert!(!checker.quiescent());
    checker.tell(Send, done).unwrap();
    assert!(checker.quiescent());
    let ticking = Checker::resume(protocol, Side::Client, StateIndex(1)).unwrap();
    assert!(!ticking.quiescent(), "there is a linear channel and none that can end");
}

#[test]
fn advice_is_accepted_and_reported() {
    let mut tables = Tables::default();
    let (early, late) = (tables.notification("early"), tables.notification("late"));
    let edges = [(Send, early, To::Step("Only")), (Receive, late, To::Step("Only"))];
    tables.state("Only", StateKind::Linear, &edges);
    tables.advise("Only", Send, early, level(Strictness::Should, Some("L6"), None));
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    let step = accepted(checker.notification(Send, early, About::Nothing, never));
    let advice = step.advice.unwrap();
    assert_eq!(
        advice.to_string(),
        "`early` is accepted in `Only`, but the server should not send it there (rule L6, should)"
    );
    assert_eq!(accepted(checker.notification(Receive, late, About::Nothing, never)).advice, None);
}

#[test]
fn a_message_has_its_level_before_the_state() {
    let mut tables = Tables::default();
    let (first, second) = (tables.notification("first"), tables.notification("second"));
    tables.edit(second).level = Some(level(Strictness::Should, Some("M1"), Some(-1)));
    let state = tables.state("Only", StateKind::Linear, &[]);
    state.outward = level(Strictness::Must, Some("S1"), Some(-2));
    state.inward = level(Strictness::Should, Some("S2"), None);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let mut rule = |direction, message| {
        let violation = checker.tell(direction, message).unwrap_err();
        (violation.rule().unwrap_or_default().to_owned(), violation.strictness(), violation.error_code())
    };
    assert_eq!(rule(Send, first), ("S1".into(), Strictness::Must, -2));
    assert_eq!(rule(Receive, first), ("S2".into(), Strictness::Should, -32_600));
    assert_eq!(rule(Send, second), ("M1".into(), Strictness::Should, -1));
}

#[test]
fn a_closed_gate_is_refused_by_the_rule_of_the_state() {
    let mut tables = Tables::default();
    let gated = tables.notification("gated");
    let gate = tables.gate(&["news"]);
    tables.requires(gated, Holder::Sender, gate, None);
    let state = tables.state("Only", StateKind::Linear, &[(Send, gated, To::Step("Only"))]);
    state.outward = level(Strictness::Should, Some("L7"), None);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let closed = checker.tell(Send, gated).unwrap_err();
    assert_eq!(
        closed.to_string(),
        "`gated` needs the capability `news`, which the client has not announced (rule L7, should)"
    );
    assert_eq!(closed.error_code(), -32_601);
}

#[test]
fn tables_are_examined() {
    let small = small();
    assert_eq!(
        Checker::new(small.protocol.clone(), Side::Server).unwrap_err(),
        TableError::NoRole(Side::Server)
    );
    let nowhere = StateIndex(99);
    assert_eq!(
        Checker::resume(small.protocol.clone(), Side::Client, nowhere).unwrap_err(),
        TableError::NoState(nowhere)
    );
    let break_state = |change: &dyn Fn(&mut crate::protocol::State)| {
        let mut protocol = small.protocol.clone();
        change(&mut protocol.client.as_mut().unwrap().states.to_mut()[3]);
        Checker::new(protocol, Side::Client).unwrap_err()
    };
    let at = StateIndex(3);
    assert_eq!(break_state(&|state| state.edges.to_mut().reverse()), TableError::Unsorted(at));
    assert_eq!(
        break_state(&|state| {
            state.kind = StateKind::Fork;
            state.edges = vec![].into();
            state.parts = vec![StateIndex(0), at].into();
        }),
        TableError::BadFork(at)
    );
    assert_eq!(break_state(&|state| state.parts = vec![nowhere].into()), TableError::NoState(nowhere));
    let mut protocol = small.protocol.clone();
    protocol.gates = vec![].into();
    assert_eq!(Checker::new(protocol, Side::Client).unwrap_err(), TableError::NoGate(small.call.request));
}

#[test]
fn lookups_find_what_the_tables_say() {
    let small = small();
    let lookup = crate::Lookup::new(&small.protocol);
    assert_eq!(lookup.requests("tools/call"), [small.call.request]);
    assert_eq!(lookup.notifications("tools/call"), []);
    assert_eq!(lookup.notifications("cancelled"), [small.cancelled]);
    assert_eq!(lookup.requests("nonsense"), []);
    assert_eq!(lookup.replies(small.call.request), [small.call.reply]);
    assert_eq!(lookup.refusal(small.call.request), Some(small.call.refusal));
    assert_eq!((lookup.replies(small.log), lookup.refusal(small.log)), (&[][..], None));
    let by_method: Vec<_> = small.protocol.by_method("tools/call").map(|(index, _)| index).collect();
    assert_eq!(by_method, [small.call.request], "replies have the method, too, but are not found by it");
    let by_name = small.protocol.by_name("tools/callResult").map(|(index, _)| index);
    assert_eq!(by_name, Some(small.call.reply));
}
