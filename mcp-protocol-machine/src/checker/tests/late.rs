//! What comes late, or is said badly, and must not move anything: each of these was once found by random runs.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{ENDED, accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Origin, Side, StateKind};
use crate::{About, Checker, Correlation, KeyValue, StepKind, ViolationKind};

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
    assert_eq!(checker.tell(Send, cancelled).unwrap_err().kind, ViolationKind::RequestUnnamed);
    assert_eq!(checker.states(), before);
    checker.cancel_request(Send, cancelled, 1).unwrap();
}

#[test]
fn a_sub_session_whose_id_was_misused_can_still_be_cancelled() {
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
        let correlation = Correlation::keys(&keys);
        checker.request_correlated(Receive, watch.request, &id(1), None, correlation, never)
    };
    accepted(watch_it());
    assert!(matches!(watch_it().unwrap_err().kind, ViolationKind::DuplicateId { .. }));
    checker.answer(Send, 1, watch.reply).unwrap();
    assert_eq!(checker.cancel_request(Receive, cancelled, 1).unwrap(), ENDED);
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
    assert_eq!(checker.cancel_request(Send, cancelled, 1).unwrap(), ENDED);
    assert_eq!(checker.retired(Receive, &id(1)), Some(make.request));
    let keys = [(KeyIndex(0), KeyValue::from("t"))];
    let late = accepted(checker.reply_correlated(Receive, &id(1), make.reply, Correlation::keys(&keys)));
    assert_eq!((late.kind, checker.retired(Receive, &id(1))), (StepKind::Swallowed, None));
    let mut tell = |value: &str| {
        let keys = [(KeyIndex(0), KeyValue::from(value))];
        checker.notification_correlated(Receive, done, About::Nothing, Correlation::keys(&keys), never)
    };
    assert!(is_late(accepted(tell("t")).kind));
    assert!(matches!(tell("other").unwrap_err().kind, ViolationKind::UnknownKey { .. }));
}

#[test]
fn what_crosses_the_end_of_its_sub_session_and_the_refusal_of_the_step_before_is_late() {
    let mut tables = Tables::default();
    let (watch, ask) = (tables.request("watch"), tables.request("ask"));
    tables.edit(watch.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.key("uri", false, &[watch.request, ask.request]);
    tables.state("Active", StateKind::Replicated, &[(Send, watch.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Receive, watch.reply, To::Step("Watched"))]);
    tables.state("Watched", StateKind::Linear, &[(Receive, ask.request, To::Step("Asked"))]);
    let answered = [(Send, ask.reply, To::Step("Watched")), (Send, ask.refusal, To::Step("Watched"))];
    tables.state("Asked", StateKind::Linear, &answered);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let request = |checker: &mut Checker, direction, message, number, uri: &str| {
        let keys = [(KeyIndex(0), KeyValue::from(uri))];
        checker.request_correlated(direction, message, &id(number), None, Correlation::keys(&keys), never)
    };
    for (number, uri) in [(1, "a"), (2, "b")] {
        accepted(request(&mut checker, Send, watch.request, number, uri));
        checker.answer(Receive, number, watch.reply).unwrap();
    }
    // The step before is refused after the end, but the refusal may get there first, by another way.
    accepted(request(&mut checker, Receive, ask.request, 10, "a"));
    assert_eq!(checker.cancel_request(Send, cancelled, 1).unwrap(), ENDED);
    assert_eq!(checker.answer(Send, 10, ask.refusal).unwrap(), StepKind::Swallowed);
    let next = accepted(request(&mut checker, Receive, ask.request, 11, "a"));
    assert!(is_late(next.kind) && next.sub_session.is_none(), "{next:?}");
    assert_eq!(checker.answer(Send, 11, ask.refusal).unwrap(), StepKind::Swallowed);
    // Nothing was asked here, and what never was a step of the sub-session is not late for it.
    assert_eq!(checker.cancel_request(Send, cancelled, 2).unwrap(), ENDED);
    accepted(request(&mut checker, Receive, ask.request, 12, "b"));
    let never_was = request(&mut checker, Receive, ask.request, 13, "c").unwrap_err();
    assert!(matches!(never_was.kind, ViolationKind::UnknownKey { .. }));
}

#[test]
fn what_asks_again_after_the_answer_that_ended_its_sub_session_is_not_late() {
    let mut tables = Tables::default();
    let (watch, ask) = (tables.request("watch"), tables.request("ask"));
    tables.key("uri", false, &[watch.request, ask.request]);
    tables.state("Active", StateKind::Replicated, &[(Send, watch.request, To::Spawn("Opening"))]);
    tables.state("Opening", StateKind::Linear, &[(Receive, watch.reply, To::Step("Watched"))]);
    tables.state("Watched", StateKind::Linear, &[(Receive, ask.request, To::Step("Asked"))]);
    let answered = [(Send, ask.reply, To::Step("End")), (Send, ask.refusal, To::Step("Watched"))];
    tables.state("Asked", StateKind::Linear, &answered);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = [(KeyIndex(0), KeyValue::from("a"))];
    let correlation = Correlation::keys(&keys);
    accepted(checker.request_correlated(Send, watch.request, &id(1), None, correlation, never));
    checker.answer(Receive, 1, watch.reply).unwrap();
    accepted(checker.request_correlated(Receive, ask.request, &id(10), None, correlation, never));
    assert_eq!(checker.answer(Send, 10, ask.reply).unwrap(), ENDED);
    let again =
        checker.request_correlated(Receive, ask.request, &id(11), None, correlation, never).unwrap_err();
    assert!(matches!(again.kind, ViolationKind::UnknownKey { .. }));
}

#[test]
fn what_follows_a_late_reply_is_late_for_its_own_sub_session_and_not_for_the_one_before() {
    let mut tables = Tables::default();
    let (make, step, done) =
        (tables.request("make"), tables.notification("step"), tables.notification("done"));
    tables.edit(make.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.key("task", false, &[make.reply, step, done]);
    tables.state("Active", StateKind::Replicated, &[(Send, make.request, To::Spawn("Asked"))]);
    tables.state("Asked", StateKind::Linear, &[(Receive, make.reply, To::Step("Task"))]);
    tables.state("Task", StateKind::Linear, &[(Receive, step, To::Step("Half"))]);
    tables.state("Half", StateKind::Linear, &[(Receive, done, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = [(KeyIndex(0), KeyValue::from("t"))];
    let correlation = Correlation::keys(&keys);
    checker.ask(Send, make.request, 1).unwrap();
    accepted(checker.reply_correlated(Receive, &id(1), make.reply, correlation));
    accepted(checker.notification_correlated(Receive, step, About::Nothing, correlation, never));
    assert_eq!(checker.cancel_request(Send, cancelled, 1).unwrap(), ENDED);
    // The other side has heard of that, and gives the value again, to a sub-session that it does not know to be over.
    checker.ask(Send, make.request, 2).unwrap();
    assert_eq!(checker.cancel_request(Send, cancelled, 2).unwrap(), ENDED);
    assert_eq!(
        accepted(checker.reply_correlated(Receive, &id(2), make.reply, correlation)).kind,
        StepKind::Swallowed
    );
    for message in [step, done] {
        let late =
            accepted(checker.notification_correlated(Receive, message, About::Nothing, correlation, never));
        assert!(is_late(late.kind));
    }
}

/// `*( !make . ?reply . ( ?ready . Task & ?stop . End ) )` with `Task = !step . Task & ?stop . End`, where the reply
/// brings the key: the client's machine.
struct Making {
    checker: Checker,
    make: Exchange,
    ready: MessageIndex,
    step: MessageIndex,
    stop: MessageIndex,
    cancelled: MessageIndex,
}

fn making() -> Making {
    let mut tables = Tables::default();
    let make = tables.request("make");
    let [ready, step, stop] = ["ready", "step", "stop"].map(|name| tables.notification(name));
    tables.edit(make.request).cancellable = true;
    let cancelled = tables.cancels("cancelled");
    tables.key("task", false, &[make.reply, ready, step, stop]);
    tables.state("Active", StateKind::Replicated, &[(Send, make.request, To::Spawn("Asked"))]);
    tables.state("Asked", StateKind::Linear, &[(Receive, make.reply, To::Step("Made"))]);
    let made = [(Receive, ready, To::Step("Task")), (Receive, stop, To::Step("End"))];
    tables.state("Made", StateKind::Linear, &made);
    let task = [(Send, step, To::Step("Task")), (Receive, stop, To::Step("End"))];
    tables.state("Task", StateKind::Linear, &task);
    tables.state("End", StateKind::End, &[]);
    let checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    Making { checker, make, ready, step, stop, cancelled }
}

impl Making {
    fn make(&mut self, number: i64) {
        self.checker.ask(Send, self.make.request, number).unwrap();
    }

    fn cancel(&mut self, number: i64) {
        assert_eq!(self.checker.cancel_request(Send, self.cancelled, number).unwrap(), ENDED);
    }

    fn reply(&mut self, number: i64) -> StepKind {
        let keys = [(KeyIndex(0), KeyValue::from("t"))];
        let reply = self.make.reply;
        accepted(self.checker.reply_correlated(Receive, &id(number), reply, Correlation::keys(&keys))).kind
    }

    fn tell(&mut self, direction: Direction, message: MessageIndex) -> Result<StepKind, ViolationKind> {
        let keys = [(KeyIndex(0), KeyValue::from("t"))];
        let correlation = Correlation::keys(&keys);
        let told =
            self.checker.notification_correlated(direction, message, About::Nothing, correlation, never);
        told.map(|step| step.kind).map_err(|violation| violation.kind.clone())
    }
}

#[test]
fn the_reply_to_a_request_that_is_known_to_be_cancelled_takes_no_value_from_another_sub_session() {
    let mut making = making();
    making.make(1);
    making.cancel(1);
    making.make(2);
    making.cancel(2);
    // Who answers the second request has received the cancel of the first, and not yet that of the second.
    assert_eq!(making.reply(2), StepKind::Swallowed);
    assert_eq!(making.reply(1), StepKind::Swallowed);
    assert!(is_late(making.tell(Receive, making.stop).unwrap()));
}

#[test]
fn a_message_may_be_late_for_any_sub_session_that_held_its_value() {
    let mut making = making();
    making.make(1);
    making.reply(1);
    making.tell(Receive, making.ready).unwrap();
    making.make(2);
    // The other side ends the first sub-session and gives its value to the second one.
    assert_eq!(making.tell(Receive, making.stop), Ok(ENDED));
    assert_eq!(making.reply(2), StepKind::SubSession { ended: false });
    let late = making.tell(Send, making.step).unwrap();
    assert!(is_late(late), "it fits the first instance alone, whose end its sender may not have received");
    assert_eq!(making.tell(Receive, making.stop), Ok(ENDED));
    assert!(is_late(making.tell(Send, making.step).unwrap()), "nor that of the second one");
    assert!(matches!(making.tell(Receive, making.stop), Err(ViolationKind::UnknownKey { .. })));
}

#[test]
fn a_step_of_a_sub_session_proves_that_the_one_before_it_with_the_same_value_is_over() {
    let mut making = making();
    making.make(1);
    making.reply(1);
    making.cancel(1);
    making.make(2);
    // The other side uses the value again, so it knows of the cancel.
    assert_eq!(making.reply(2), StepKind::SubSession { ended: false });
    assert_eq!(making.tell(Receive, making.stop), Ok(ENDED));
    assert!(matches!(making.tell(Receive, making.stop), Err(ViolationKind::UnknownKey { .. })));
}

#[test]
fn the_use_of_a_value_proves_nothing_where_messages_overtake_one_another() {
    for ordered in [true, false] {
        let mut making = making();
        making.checker.set_ordered(ordered);
        making.make(1);
        making.reply(1);
        making.cancel(1);
        making.make(2);
        assert_eq!(making.reply(2), StepKind::SubSession { ended: false });
        assert_eq!(making.tell(Receive, making.ready), Ok(StepKind::SubSession { ended: false }));
        match making.tell(Receive, making.ready) {
            Ok(kind) => assert!(is_late(kind) && !ordered, "it may have been sent for the first instance"),
            Err(kind) => assert!(kind == ViolationKind::NotPermitted && ordered),
        }
    }
}
