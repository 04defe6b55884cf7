//! Sub-sessions with correlation keys: which one a message finds, when a value is free, what is late.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Side, StateKind};
use crate::{
    About, Awaiting, Checker, Correlation, KeyValue, Limits, Meant, Step, StepKind, SubSessionNumber,
    Violation, ViolationKind,
};

/// `*( !subscribe . ?result . rec w . ( ?updated . w & !unsubscribe . ?result . End ) )`, from the client's side,
/// with what closing the diamond adds.
struct Watching {
    checker: Checker,
    subscribe: Exchange,
    updated: MessageIndex,
    unsubscribe: Exchange,
    cancelled: MessageIndex,
}

const URI: KeyIndex = KeyIndex(0);

fn tables(open: bool) -> (Tables, Exchange, MessageIndex, Exchange, MessageIndex) {
    let mut tables = Tables::default();
    let subscribe = tables.request("subscribe");
    let updated = tables.notification("updated");
    let unsubscribe = tables.request("unsubscribe");
    let cancelled = tables.cancels("cancelled");
    tables.edit(subscribe.request).cancellable = true;
    tables.key("uri", open, &[subscribe.request, updated, unsubscribe.request]);
    (tables, subscribe, updated, unsubscribe, cancelled)
}

fn watching_with(open: bool) -> Watching {
    let (mut tables, subscribe, updated, unsubscribe, cancelled) = tables(open);
    let mut opened = vec![(Send, subscribe.request, To::Spawn("Opening"))];
    if open {
        opened.push((Receive, updated, To::Spawn("End")));
        opened.push((Send, unsubscribe.request, To::Spawn("Alone")));
        let alone =
            [(Receive, unsubscribe.reply, To::Step("End")), (Receive, unsubscribe.refusal, To::Step("End"))];
        tables.state("Active", StateKind::Replicated, &opened);
        tables.state("Alone", StateKind::Linear, &alone);
    } else {
        tables.state("Active", StateKind::Replicated, &opened);
    }
    tables.state(
        "Opening",
        StateKind::Linear,
        &[(Receive, subscribe.reply, To::Step("Watched")), (Receive, subscribe.refusal, To::Step("End"))],
    );
    tables.state(
        "Watched",
        StateKind::Linear,
        &[(Receive, updated, To::Step("Watched")), (Send, unsubscribe.request, To::Step("Leaving"))],
    );
    tables.state(
        "Leaving",
        StateKind::Linear,
        &[
            (Receive, updated, To::Step("Leaving")),
            (Receive, unsubscribe.reply, To::Step("End")),
            (Receive, unsubscribe.refusal, To::Step("Watched")),
        ],
    );
    tables.state("End", StateKind::End, &[]);
    let checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    Watching { checker, subscribe, updated, unsubscribe, cancelled }
}

fn watching() -> Watching {
    watching_with(false)
}

impl Watching {
    fn ask(&mut self, message: MessageIndex, number: i64, uri: &str) -> Result<Step, Violation> {
        let keys = [(URI, KeyValue::from(uri))];
        self.checker.request_correlated(Send, message, &id(number), None, Correlation::keys(&keys), never)
    }

    fn subscribe(&mut self, number: i64, uri: &str) -> SubSessionNumber {
        let sub_session = accepted(self.ask(self.subscribe.request, number, uri)).sub_session.unwrap();
        let step = accepted(self.checker.reply(Receive, &id(number), self.subscribe.reply));
        assert_eq!((step.kind, step.sub_session), (StepKind::SubSession { ended: false }, Some(sub_session)));
        sub_session
    }

    fn unsubscribe(&mut self, number: i64, uri: &str) {
        accepted(self.ask(self.unsubscribe.request, number, uri));
        let step = accepted(self.checker.reply(Receive, &id(number), self.unsubscribe.reply));
        assert_eq!(step.kind, StepKind::SubSession { ended: true });
    }

    fn cancel(&mut self, number: i64) {
        let message = self.cancelled;
        let step = self.checker.notification(Send, message, About::Request(&id(number)), never);
        assert_eq!(accepted(step).kind, StepKind::SubSession { ended: true });
    }

    fn tell(&mut self, direction: Direction, uri: &str) -> Result<Step, Violation> {
        let keys = [(URI, KeyValue::from(uri))];
        let correlation = Correlation::keys(&keys);
        self.checker.notification_correlated(direction, self.updated, About::Nothing, correlation, never)
    }

    fn updated(&mut self, uri: &str) -> Result<Step, Violation> {
        self.tell(Receive, uri)
    }
}

#[test]
fn each_message_finds_its_sub_session() {
    let mut watching = watching();
    let (a, b) = (watching.subscribe(1, "a"), watching.subscribe(2, "b"));
    assert_ne!(a, b);
    for (uri, sub_session) in [("a", a), ("b", b), ("b", b), ("a", a)] {
        let step = accepted(watching.updated(uri));
        assert_eq!((step.kind, step.sub_session), (StepKind::SubSession { ended: false }, Some(sub_session)));
    }
    watching.unsubscribe(3, "a");
    assert_eq!(accepted(watching.updated("b")).sub_session, Some(b), "the other one goes on");
    assert!(watching.checker.sub_session_state(a).is_none());
}

#[test]
fn a_value_that_nothing_ever_had_is_unknown_and_a_missing_one_is_missed() {
    let mut watching = watching();
    watching.subscribe(1, "a");
    let unknown = watching.updated("z").unwrap_err();
    assert_eq!(unknown.to_string(), "`updated` carries the uri \"z\", and nothing is running under it");
    assert_eq!(unknown.sender, Side::Server);
    let updated = watching.updated;
    let missing = watching.checker.notification(Receive, updated, About::Nothing, never).unwrap_err();
    assert_eq!(missing.to_string(), "`updated` does not carry the key `uri`, which says what it belongs to");
    let message = watching.subscribe.request;
    let missing = watching.checker.request(Send, message, &id(9), None, never).unwrap_err();
    assert_eq!(missing.kind, ViolationKind::KeyMissing { key: "uri".into() });
    assert_eq!(missing.error_code(), -32_602, "the params lack something");
}

#[test]
fn a_value_opens_one_sub_session_at_a_time() {
    let mut watching = watching();
    watching.subscribe(1, "a");
    let again = watching.ask(watching.subscribe.request, 2, "a").unwrap_err();
    assert_eq!(
        again.to_string(),
        "`subscribe` carries the uri \"a\", under which something is running already"
    );
    watching.unsubscribe(3, "a");
    watching.subscribe(4, "a");
    accepted(watching.updated("a"));
}

#[test]
fn a_value_that_ended_is_not_sent_again_by_the_side_that_ended_it() {
    let mut watching = watching();
    watching.subscribe(1, "a");
    watching.unsubscribe(2, "a");
    // The server's reply ended it: what the server sends afterwards was not under way.
    assert!(matches!(watching.updated("a").unwrap_err().kind, ViolationKind::UnknownKey { .. }));
    // Nor did the client have anything to say while it waited for that reply.
    let again = watching.ask(watching.unsubscribe.request, 3, "a").unwrap_err();
    assert!(matches!(again.kind, ViolationKind::UnknownKey { .. }), "{again}");
}

#[test]
fn a_cancel_ends_the_sub_session_in_any_state_and_what_crosses_it_is_swallowed() {
    for answered in [false, true] {
        let mut watching = watching();
        accepted(watching.ask(watching.subscribe.request, 1, "a"));
        if answered {
            accepted(watching.checker.reply(Receive, &id(1), watching.subscribe.reply));
        }
        let again = watching.ask(watching.subscribe.request, 1, "b").unwrap_err();
        assert_eq!(again.answerable, answered, "an error could be taken for the reply that is still to come");
        if answered {
            accepted(watching.checker.stray_reply(Receive, &id(1)));
        }
        let step =
            accepted(watching.checker.notification(Send, watching.cancelled, About::Request(&id(1)), never));
        assert_eq!(step.kind, StepKind::SubSession { ended: true });
        assert!(step.sub_session.is_some());
        assert!(is_late(accepted(watching.updated("a")).kind));
        if !answered {
            let late = accepted(watching.checker.reply(Receive, &id(1), watching.subscribe.reply));
            assert_eq!(late.kind, StepKind::Swallowed);
        }
        watching.subscribe(5, "a");
        accepted(watching.updated("a"));
    }
}

#[test]
fn the_end_of_a_sub_session_names_the_requests_that_it_leaves_unanswered() {
    let mut watching = watching();
    watching.subscribe(1, "a");
    accepted(watching.ask(watching.unsubscribe.request, 2, "a"));
    assert_eq!(watching.checker.take_left(), []);
    watching.cancel(1);
    assert_eq!(watching.checker.take_left(), [id(2)], "the other one has its answer");
    assert_eq!(watching.checker.take_left(), [], "they are named once");
    // Only the last sub-session is remembered once no request needs the others.
    for number in 3..6 {
        accepted(watching.ask(watching.subscribe.request, number, "a"));
        watching.cancel(number);
    }
    assert_eq!(watching.checker.take_left(), [id(5)]);
    watching.subscribe(6, "a");
    watching.unsubscribe(7, "a");
    assert_eq!(watching.checker.take_left(), []);
}

#[test]
fn refusals_end_the_sub_session_or_undo_a_later_request() {
    let mut watching = watching();
    accepted(watching.ask(watching.subscribe.request, 1, "a"));
    let step = accepted(watching.checker.reply(Receive, &id(1), watching.subscribe.refusal));
    assert_eq!(step.kind, StepKind::SubSession { ended: true });
    let sub_session = watching.subscribe(2, "a");
    let before = watching.checker.sub_session_state(sub_session);
    accepted(watching.ask(watching.unsubscribe.request, 3, "a"));
    let step = accepted(watching.checker.reply(Receive, &id(3), watching.unsubscribe.refusal));
    assert_eq!(step.kind, StepKind::SubSession { ended: false });
    assert_eq!(watching.checker.sub_session_state(sub_session), before);
    accepted(watching.updated("a"));
    watching.unsubscribe(4, "a");
    assert_eq!(watching.checker.awaiting(Receive, &id(2)), Awaiting::Completed);
    assert_eq!(watching.checker.running(Send), 0);
}

#[test]
fn a_step_out_of_the_order_of_its_sub_session_names_the_state_of_the_sub_session() {
    let mut watching = watching();
    accepted(watching.ask(watching.subscribe.request, 1, "a"));
    let early = watching.updated("a").unwrap_err();
    assert_eq!(early.state_names(), "Opening");
    assert_eq!(early.kind, ViolationKind::NotPermitted);
    assert_eq!(
        watching.checker.permits(Send, watching.unsubscribe.request).unwrap_err().kind,
        ViolationKind::NotPermitted
    );
    accepted(watching.checker.reply(Receive, &id(1), watching.subscribe.reply));
    watching.checker.permits(Send, watching.unsubscribe.request).unwrap();
}

#[test]
fn a_sender_that_means_another_sub_session_gets_a_violation() {
    let mut watching = watching();
    let (a, _) = (watching.subscribe(1, "a"), watching.subscribe(2, "b"));
    let keys = [(URI, KeyValue::from("b"))];
    let correlation = Correlation::meant(&keys, Meant::SubSession(a));
    let message = watching.unsubscribe.request;
    let wrong =
        watching.checker.request_correlated(Send, message, &id(3), None, correlation, never).unwrap_err();
    assert!(matches!(wrong.kind, ViolationKind::WrongKey { .. }));
}

#[test]
fn an_open_key_without_a_sub_session_lets_a_step_be_uncorrelated() {
    let mut watching = watching_with(true);
    let alone = accepted(watching.updated("z"));
    assert!(matches!((alone.kind, alone.sub_session), (StepKind::Spawned { .. }, None)), "{alone:?}");
    let step = accepted(watching.ask(watching.unsubscribe.request, 1, "z"));
    assert!(matches!((step.kind, step.sub_session), (StepKind::Spawned { .. }, None)), "{step:?}");
    let step = accepted(watching.checker.reply(Receive, &id(1), watching.unsubscribe.reply));
    assert_eq!(step.kind, StepKind::SubSession { ended: true });
    let sub_session = watching.subscribe(2, "a");
    assert_eq!(accepted(watching.updated("a")).sub_session, Some(sub_session));
    assert_eq!(accepted(watching.updated("b")).sub_session, None);
    // The server's reply ended it; later messages of the server are uncorrelated again.
    watching.unsubscribe(3, "a");
    assert!(matches!(accepted(watching.updated("a")).kind, StepKind::Spawned { .. }));
    // A message that crosses the client's own end is uncorrelated at once, too, and is not lost.
    watching.subscribe(4, "a");
    watching.cancel(4);
    assert!(matches!(accepted(watching.updated("a")).kind, StepKind::Spawned { .. }));
}

#[test]
fn of_a_key_that_is_not_open_one_message_may_be() {
    let (mut tables, subscribe, updated, unsubscribe, _) = tables(false);
    tables.edit(updated).keys.to_mut()[0].open = true;
    let opened = [(Send, subscribe.request, To::Spawn("Opening")), (Receive, updated, To::Spawn("End"))];
    tables.state("Active", StateKind::Replicated, &opened);
    tables.state("Opening", StateKind::Linear, &[(Receive, subscribe.reply, To::Step("Open"))]);
    let open = [(Receive, updated, To::Step("Open")), (Send, unsubscribe.request, To::Step("Closing"))];
    tables.state("Open", StateKind::Linear, &open);
    tables.state("Closing", StateKind::Linear, &[(Receive, unsubscribe.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = |uri: &str| [(URI, KeyValue::from(uri))];
    let alone = accepted(checker.notification_correlated(
        Receive,
        updated,
        About::Nothing,
        Correlation::keys(&keys("a")),
        never,
    ));
    assert!(matches!((alone.kind, alone.sub_session), (StepKind::Spawned { .. }, None)), "{alone:?}");
    let (message, id, keys) = (unsubscribe.request, id(1), keys("a"));
    let unknown = checker.request_correlated(Send, message, &id, None, Correlation::keys(&keys), never);
    assert!(matches!(unknown.unwrap_err().kind, ViolationKind::UnknownKey { .. }));
}

#[test]
fn what_is_to_stand_alone_is_none_of_a_sub_session_s() {
    let mut watching = watching_with(true);
    watching.subscribe(1, "a");
    let keys = [(URI, KeyValue::from("a"))];
    let correlation = Correlation::meant(&keys, Meant::New);
    let message = watching.unsubscribe.request;
    let taken =
        watching.checker.request_correlated(Send, message, &id(2), None, correlation, never).unwrap_err();
    assert!(matches!(taken.kind, ViolationKind::KeyInUse { .. }), "{taken}");
}

#[test]
fn what_crosses_the_opening_of_a_sub_session_is_not_meant_for_it() {
    let mut watching = watching_with(true);
    let sub_session = accepted(watching.ask(watching.subscribe.request, 1, "a")).sub_session;
    // The server has not received the subscription, and sends the change without one.
    let step = accepted(watching.updated("a"));
    assert!(matches!((step.kind, step.sub_session), (StepKind::Spawned { .. }, None)), "{step:?}");
    accepted(watching.checker.reply(Receive, &id(1), watching.subscribe.reply));
    assert_eq!(accepted(watching.updated("a")).sub_session, sub_session);
}

#[test]
fn what_is_late_for_a_sub_session_is_not_taken_for_the_next_one_of_its_value() {
    let mut watching = watching();
    watching.subscribe(1, "a");
    watching.cancel(1);
    accepted(watching.ask(watching.subscribe.request, 2, "a"));
    // The server has heard of neither.
    assert!(is_late(accepted(watching.updated("a")).kind));
    accepted(watching.checker.reply(Receive, &id(2), watching.subscribe.reply));
    assert!(accepted(watching.updated("a")).sub_session.is_some());
    // Nothing was there before this one.
    accepted(watching.ask(watching.subscribe.request, 3, "b"));
    assert_eq!(watching.updated("b").unwrap_err().kind, ViolationKind::NotPermitted);
}

#[test]
fn a_message_may_go_on_with_a_sub_session_or_open_one() {
    let (mut tables, subscribe, updated, _, _) = tables(false);
    let opened = [(Send, subscribe.request, To::Spawn("Opening"))];
    tables.state("Active", StateKind::Replicated, &opened);
    tables.state("Opening", StateKind::Linear, &[(Receive, subscribe.reply, To::Step("Watched"))]);
    let again = [(Send, subscribe.request, To::Step("Again")), (Receive, updated, To::Step("Watched"))];
    tables.state("Watched", StateKind::Linear, &again);
    let answered =
        [(Receive, subscribe.reply, To::Step("Watched")), (Receive, subscribe.refusal, To::Step("Watched"))];
    tables.state("Again", StateKind::Linear, &answered);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let mut ask = |number: i64, uri: &str, reply| {
        let keys = [(URI, KeyValue::from(uri))];
        let step = checker.request_correlated(
            Send,
            subscribe.request,
            &id(number),
            None,
            Correlation::keys(&keys),
            never,
        );
        let answered = checker.reply(Receive, &id(number), reply);
        (accepted(step).kind, accepted(answered).sub_session)
    };
    let (kind, first) = ask(1, "a", subscribe.reply);
    assert!(matches!(kind, StepKind::Spawned { .. }));
    for (number, reply) in [(2, subscribe.reply), (3, subscribe.refusal), (4, subscribe.reply)] {
        assert_eq!(ask(number, "a", reply), (StepKind::SubSession { ended: false }, first));
    }
    let (kind, second) = ask(5, "b", subscribe.reply);
    assert!(matches!(kind, StepKind::Spawned { .. }));
    assert_ne!(first, second);
}

#[test]
fn a_notification_opens_a_sub_session_and_its_memory_is_bounded() {
    let mut tables = Tables::default();
    let (opened, changed, closed) =
        (tables.notification("open"), tables.notification("change"), tables.notification("close"));
    tables.key("uri", false, &[opened, changed, closed]);
    tables.state("Active", StateKind::Replicated, &[(Receive, opened, To::Spawn("Editing"))]);
    tables.state(
        "Editing",
        StateKind::Linear,
        &[(Receive, changed, To::Step("Editing")), (Receive, closed, To::Step("End"))],
    );
    tables.state("End", StateKind::End, &[]);
    let limits = Limits { running: 10, remembered: 16, remembered_bytes: 1_000 };
    let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap().with_limits(limits);
    let mut tell = |message: MessageIndex, number: i64| {
        let keys = [(URI, KeyValue::from(number))];
        let step = checker.notification_correlated(
            Receive,
            message,
            About::Nothing,
            Correlation::keys(&keys),
            never,
        );
        (step.map(|step| step.kind), checker.sub_sessions.remembered())
    };
    for number in 0..1_000 {
        assert!(matches!(tell(opened, number).0, Ok(StepKind::Spawned { .. })));
        assert_eq!(tell(changed, number).0, Ok(StepKind::SubSession { ended: false }));
        let (ended, remembered) = tell(closed, number);
        assert_eq!(ended, Ok(StepKind::SubSession { ended: true }));
        assert!(remembered < 100, "{remembered}");
    }
    for number in 0..10 {
        tell(opened, number).0.unwrap();
    }
    let full = tell(opened, 10).0.unwrap_err();
    assert_eq!(full.kind, ViolationKind::TooManyRunning { limit: 10 });
}

#[test]
fn each_channel_has_values_of_its_own_under_one_key() {
    let mut tables = Tables::default();
    let (open, change) = (tables.notification("open"), tables.notification("change"));
    let (watch, changed) = (tables.notification("watch"), tables.notification("changed"));
    tables.key("uri", false, &[open, change, watch, changed]);
    let opened = [(Send, open, To::Spawn("Editing")), (Send, watch, To::Spawn("Watching"))];
    tables.state("Active", StateKind::Replicated, &opened);
    tables.state("Editing", StateKind::Linear, &[(Send, change, To::Step("End"))]);
    tables.state("Watching", StateKind::Linear, &[(Receive, changed, To::Step("Watching"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let mut tell = |direction, message| {
        let keys = [(URI, KeyValue::from("a"))];
        checker.notification_correlated(direction, message, About::Nothing, Correlation::keys(&keys), never)
    };
    let (editing, watching) =
        (accepted(tell(Send, open)).sub_session, accepted(tell(Send, watch)).sub_session);
    assert_ne!(editing, watching);
    assert_eq!(accepted(tell(Receive, changed)).sub_session, watching);
    assert_eq!(accepted(tell(Send, change)).sub_session, editing);
    // The one is over, and the other goes on under the same value.
    assert_eq!(accepted(tell(Receive, changed)).sub_session, watching);
    let unknown = tell(Send, change).unwrap_err();
    assert!(matches!(unknown.kind, ViolationKind::UnknownKey { .. }), "{unknown}");
    assert!(matches!(tell(Send, watch).unwrap_err().kind, ViolationKind::KeyInUse { .. }));
}

#[test]
fn the_id_of_a_request_is_a_value_like_any_other() {
    let mut tables = Tables::default();
    let (run, output) = (tables.request("run"), tables.notification("output"));
    tables.key("task", false, &[run.request, output]);
    tables.state("Active", StateKind::Replicated, &[(Send, run.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Receive, run.reply, To::Step("Running"))]);
    tables.state("Running", StateKind::Linear, &[(Receive, output, To::Step("Running"))]);
    tables.edit(run.request).keys.to_mut()[0].place = crate::protocol::KeyPlace::Id;
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let mut sub_sessions = Vec::new();
    for value in [KeyValue::from(1), KeyValue::from("1")] {
        let keys = [(URI, value.clone())];
        let step =
            checker.request_correlated(Send, run.request, &value, None, Correlation::keys(&keys), never);
        accepted(checker.reply(Receive, &value, run.reply));
        let sub_session = accepted(step).sub_session.unwrap();
        assert_eq!(checker.sub_session_opener(sub_session), Some(&value));
        sub_sessions.push((sub_session, keys));
    }
    for (sub_session, keys) in sub_sessions.iter().rev() {
        let correlation = Correlation::keys(keys);
        let step = checker.notification_correlated(Receive, output, About::Nothing, correlation, never);
        assert_eq!(accepted(step).sub_session, Some(*sub_session), "`1` is not `\"1\"`");
    }
}

#[test]
fn a_reply_has_in_its_envelope_what_its_request_has_there() {
    let mut tables = Tables::default();
    let (open, ask) = (tables.request("open"), tables.request("ask"));
    tables.key("session", false, &[open.request, ask.request]);
    tables.edit(ask.request).keys.to_mut()[0].place = crate::protocol::KeyPlace::Member("session".into());
    tables.state("Active", StateKind::Replicated, &[(Send, open.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Receive, open.reply, To::Step("Open"))]);
    tables.state("Open", StateKind::Linear, &[(Send, ask.request, To::Step("Asked"))]);
    tables.state(
        "Asked",
        StateKind::Linear,
        &[(Receive, ask.reply, To::Step("Open")), (Receive, ask.refusal, To::Step("End"))],
    );
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = [(URI, KeyValue::from("A"))];
    let opened =
        checker.request_correlated(Send, open.request, &id(1), None, Correlation::keys(&keys), never);
    let sub_session = accepted(opened).sub_session.unwrap();
    accepted(checker.reply(Receive, &id(1), open.reply));
    assert_eq!(checker.key_value(sub_session, URI), Some(&keys[0].1));
    let ask_with = |checker: &mut Checker, number: i64, keys: &[(KeyIndex, KeyValue)]| {
        let correlation = Correlation::meant(keys, Meant::SubSession(sub_session));
        checker.request_correlated(Send, ask.request, &id(number), None, correlation, never)
    };
    let reply_with = |checker: &mut Checker, number: i64, message: MessageIndex, members: &[_]| {
        let correlation = Correlation::default().with_members(members);
        checker.reply_correlated(Receive, &id(number), message, correlation)
    };
    accepted(ask_with(&mut checker, 2, &keys));
    assert_eq!(checker.members_of(Send, &id(2)), keys);
    assert_eq!(checker.members_of(Send, &id(1)), [], "that key is in the payload");
    let others = [(URI, KeyValue::from("B"))];
    for message in [ask.reply, ask.refusal] {
        let refused = reply_with(&mut checker, 2, message, &others).unwrap_err();
        assert!(matches!(refused.kind, ViolationKind::WrongKey { .. }), "{refused}");
    }
    accepted(reply_with(&mut checker, 2, ask.reply, &[]));
    accepted(ask_with(&mut checker, 3, &keys));
    accepted(reply_with(&mut checker, 3, ask.refusal, &keys));
    // The sub-session is over, and with it the value. Who means it may not have heard of that.
    assert_eq!(checker.key_value(sub_session, URI), None);
    let late = accepted(ask_with(&mut checker, 4, &[]));
    assert!(matches!(late.kind, StepKind::Late(late) if late.over), "{late:?}");
    let missing = checker
        .request_correlated(Send, ask.request, &id(5), None, Correlation::default(), never)
        .unwrap_err();
    assert!(matches!(missing.kind, ViolationKind::KeyMissing { .. }), "{missing}");
}

#[test]
fn what_is_open_in_the_envelope_stands_alone_without_a_value() {
    let mut tables = Tables::default();
    let (open, ask) = (tables.request("open"), tables.request("ask"));
    tables.key("session", false, &[open.request, ask.request]);
    let key = &mut tables.edit(ask.request).keys.to_mut()[0];
    key.place = crate::protocol::KeyPlace::Member("session".into());
    key.open = true;
    tables.state(
        "Active",
        StateKind::Replicated,
        &[(Send, open.request, To::Spawn("Opening")), (Send, ask.request, To::Spawn("Alone"))],
    );
    tables.state("Opening", StateKind::Linear, &[(Receive, open.reply, To::Step("Open"))]);
    tables.state("Open", StateKind::Linear, &[(Send, ask.request, To::Step("Asked"))]);
    tables.state("Asked", StateKind::Linear, &[(Receive, ask.reply, To::Step("Open"))]);
    tables.state("Alone", StateKind::Linear, &[(Receive, ask.reply, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = [(URI, KeyValue::from("A"))];
    accepted(checker.request_correlated(Send, open.request, &id(1), None, Correlation::keys(&keys), never));
    accepted(checker.reply(Receive, &id(1), open.reply));
    let ask_with = |checker: &mut Checker, number: i64, correlation: Correlation<'_>| {
        checker.request_correlated(Send, ask.request, &id(number), None, correlation, never)
    };
    let others = [(URI, KeyValue::from("B"))];
    assert_eq!(accepted(ask_with(&mut checker, 2, Correlation::default())).sub_session, None);
    let refused = checker
        .reply_correlated(Receive, &id(2), ask.reply, Correlation::default().with_members(&keys))
        .unwrap_err();
    assert!(matches!(refused.kind, ViolationKind::WrongKey { .. }), "its request has none: {refused}");
    accepted(checker.reply(Receive, &id(2), ask.reply));
    let unknown = ask_with(&mut checker, 3, Correlation::keys(&others)).unwrap_err();
    assert!(matches!(unknown.kind, ViolationKind::UnknownKey { .. }), "{unknown}");
    let within = accepted(ask_with(&mut checker, 4, Correlation::keys(&keys)));
    assert!(within.sub_session.is_some());
}
