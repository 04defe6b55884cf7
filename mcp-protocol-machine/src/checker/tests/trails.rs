//! What a message shows about its sender: which states it can have been in, and what is late from there.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Side, StateKind};
use crate::{About, Checker, Correlation, KeyValue, StepKind, Violation, ViolationKind};

/// `Open = ?log . Open & ?both . Open & !stop . Closed`, `Closed = ?note . Closed & ?both . Closed`: after `stop` a `log` is
/// late.
struct Logging {
    checker: Checker,
    log: MessageIndex,
    both: MessageIndex,
    note: MessageIndex,
}

/// With `fork`, `stop` leads to two channels, of which the second has what `Closed` has.
fn logging(fork: bool) -> Logging {
    let mut tables = Tables::default();
    let [log, both, note, stop] = ["log", "both", "note", "stop"].map(|name| tables.notification(name));
    let to = if fork { "Fork" } else { "Closed" };
    let open =
        [(Receive, log, To::Step("Open")), (Receive, both, To::Step("Open")), (Send, stop, To::Step(to))];
    tables.state("Open", StateKind::Linear, &open);
    let closed = [(Receive, both, To::Step("Closed")), (Receive, note, To::Step("Closed"))];
    let late = (Receive, log, To::Step("Closed"));
    if fork {
        tables.fork("Fork", &["Left", "Closed"]);
        tables.state("Left", StateKind::Linear, &[(Receive, log, To::Step("Left"))]);
        tables.state("Closed", StateKind::Linear, &closed);
    } else {
        tables.state("Closed", StateKind::Linear, &[closed[0], closed[1], late]);
    }
    let protocol = tables.build_closed(Side::Server, &[(if fork { "Left" } else { "Closed" }, log)]);
    let mut checker = Checker::new(protocol, Side::Server).unwrap();
    checker.tell(Receive, log).unwrap();
    checker.tell(Send, stop).unwrap();
    Logging { checker, log, both, note }
}

impl Logging {
    fn log(&mut self) -> Result<StepKind, ViolationKind> {
        self.checker.tell(Receive, self.log).map_err(|violation| violation.kind.clone())
    }
}

#[test]
fn a_message_that_is_a_step_only_behind_a_step_proves_its_receipt() {
    let mut logging = logging(false);
    assert!(is_late(logging.log().unwrap()));
    logging.checker.tell(Receive, logging.both).unwrap();
    assert!(is_late(logging.log().unwrap()), "the state before has that message, too");
    logging.checker.tell(Receive, logging.note).unwrap();
    assert_eq!(logging.log(), Err(ViolationKind::NotPermitted));
}

#[test]
fn a_message_of_one_channel_proves_that_the_channels_were_split() {
    let mut logging = logging(true);
    assert!(is_late(logging.log().unwrap()));
    logging.checker.tell(Receive, logging.both).unwrap();
    assert!(is_late(logging.log().unwrap()));
    logging.checker.tell(Receive, logging.note).unwrap();
    assert_eq!(logging.log(), Err(ViolationKind::NotPermitted));
}

#[test]
fn a_message_proves_nothing_where_messages_overtake_one_another() {
    let mut logging = logging(false);
    logging.checker.set_ordered(false);
    logging.checker.tell(Receive, logging.note).unwrap();
    assert!(is_late(logging.log().unwrap()));
}

#[test]
fn a_sender_may_be_many_steps_behind() {
    let mut tables = Tables::default();
    let [log, go, note] = ["log", "go", "note"].map(|name| tables.notification(name));
    let even =
        [(Receive, log, To::Step("Even")), (Receive, note, To::Step("Even")), (Send, go, To::Step("Odd"))];
    tables.state("Even", StateKind::Linear, &even);
    let odd =
        [(Receive, log, To::Step("Odd")), (Receive, note, To::Step("Odd")), (Send, go, To::Step("Even"))];
    tables.state("Odd", StateKind::Linear, &odd);
    let protocol = tables.build_closed(Side::Server, &[("Odd", log), ("Even", note)]);
    for steps in [1, 3, 15, 17, 101] {
        let mut checker = Checker::new(protocol.clone(), Side::Server).unwrap();
        for _ in 0..steps {
            checker.tell(Send, go).unwrap();
        }
        assert!(is_late(checker.tell(Receive, log).unwrap()), "{steps}");
        checker.tell(Receive, note).unwrap();
        let again = checker.tell(Receive, log);
        assert_eq!(again.is_err(), steps == 1, "a later `Even` is possible except after one step: {steps}");
    }
}

/// `Idle = *( ?watch . !reply . rec w . ( !changed . w ) ) & !busy . Busy`, `Busy = !free . Idle`: what an observer sees
/// of a `watch` that crosses `busy` and `free`.
struct Observer {
    checker: Checker,
    watch: Exchange,
    changed: MessageIndex,
    free: MessageIndex,
}

fn observer() -> Observer {
    let mut tables = Tables::default();
    let watch = tables.request("watch");
    let [changed, busy, free] = ["changed", "busy", "free"].map(|name| tables.notification(name));
    tables.key("uri", false, &[watch.request, changed]);
    let opens = (Receive, watch.request, To::Spawn("Opening"));
    tables.state("Idle", StateKind::Linear, &[opens, (Send, busy, To::Step("Busy"))]);
    tables.state("Busy", StateKind::Linear, &[opens, (Send, free, To::Step("Idle"))]);
    let opening = [(Send, watch.reply, To::Step("Watched")), (Send, watch.refusal, To::Step("End"))];
    tables.state("Opening", StateKind::Linear, &opening);
    tables.state("Watched", StateKind::Linear, &[(Send, changed, To::Step("Watched"))]);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build_closed(Side::Server, &[("Busy", watch.request)]);
    let mut checker = Checker::new(protocol, Side::Server).unwrap();
    checker.tell(Send, busy).unwrap();
    Observer { checker, watch, changed, free }
}

impl Observer {
    /// A `watch` that comes late here.
    fn watch(&mut self) {
        let (keys, message) = ([(KeyIndex(0), KeyValue::from("a"))], self.watch.request);
        let step =
            self.checker.request_correlated(Receive, message, &id(1), None, Correlation::keys(&keys), never);
        assert!(is_late(accepted(step).kind));
        self.checker.tell(Send, self.free).unwrap();
    }

    fn changed(&mut self, direction: Direction) -> Result<StepKind, Violation> {
        let keys = [(KeyIndex(0), KeyValue::from("a"))];
        let correlation = Correlation::keys(&keys);
        self.checker
            .notification_correlated(direction, self.changed, About::Nothing, correlation, never)
            .map(|step| step.kind)
    }
}

#[test]
fn a_request_that_an_observer_finds_late_may_have_opened_a_sub_session() {
    let mut observer = observer();
    observer.watch();
    assert_eq!(observer.checker.answer(Send, 1, observer.watch.reply).unwrap(), StepKind::Swallowed);
    assert!(is_late(observer.changed(Send).unwrap()), "its receiver was where it is permitted");
    assert!(is_late(observer.changed(Send).unwrap()), "and goes on");
}

#[test]
fn a_request_that_was_late_for_its_receiver_has_opened_nothing() {
    let mut observer = observer();
    observer.watch();
    assert_eq!(observer.checker.answer(Send, 1, observer.watch.refusal).unwrap(), StepKind::Swallowed);
    assert!(matches!(observer.changed(Send).unwrap_err().kind, ViolationKind::UnknownKey { .. }));
}

#[test]
fn a_value_is_in_use_only_for_sub_sessions_that_share_a_message() {
    for shared in [false, true] {
        let mut tables = Tables::default();
        let [open, one, other, go] = ["open", "one", "other", "go"].map(|name| tables.notification(name));
        tables.key("uri", false, &[open, one, other]);
        let first = [(Send, open, To::Spawn("One")), (Send, go, To::Step("Second"))];
        tables.state("First", StateKind::Linear, &first);
        tables.state("Second", StateKind::Linear, &[(Send, open, To::Spawn("Other"))]);
        tables.state("One", StateKind::Linear, &[(Receive, one, To::Step("End"))]);
        let later = if shared { one } else { other };
        let mut edges = vec![(Receive, later, To::Step("End"))];
        // The same body would be the same `*`.
        edges.extend(shared.then_some((Receive, other, To::Step("End"))));
        tables.state("Other", StateKind::Linear, &edges);
        tables.state("End", StateKind::End, &[]);
        let mut checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
        let keys = [(KeyIndex(0), KeyValue::from("a"))];
        let correlation = Correlation::keys(&keys);
        accepted(checker.notification_correlated(Send, open, About::Nothing, correlation, never));
        checker.tell(Send, go).unwrap();
        let second = checker.notification_correlated(Send, open, About::Nothing, correlation, never);
        match second {
            Ok(_) => assert!(!shared),
            Err(violation) => {
                assert!(shared && matches!(violation.kind, ViolationKind::KeyInUse { .. }), "{violation}");
            }
        }
    }
}
