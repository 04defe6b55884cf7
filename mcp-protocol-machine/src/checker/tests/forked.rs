//! Several linear channels in a sub-session: how its end and its beginning cross on the wire.

use crate::checker::tests::tables::{Tables, To};
use crate::checker::tests::{accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Side, StateKind};
use crate::{About, Checker, Correlation, KeyValue, Step, StepKind, Violation, ViolationKind};

/// A notification that carries a value of the first key, and perhaps one of the second.
fn tell(
    checker: &mut Checker,
    direction: Direction,
    message: MessageIndex,
    value: &'static str,
    inner: Option<&'static str>,
) -> Result<Step, Violation> {
    let inner = inner.map(|inner| (KeyIndex(1), KeyValue::from(inner)));
    let keys: Vec<(KeyIndex, KeyValue)> =
        std::iter::once((KeyIndex(0), KeyValue::from(value))).chain(inner).collect();
    checker.notification_correlated(direction, message, About::Nothing, Correlation::keys(&keys), never)
}

#[test]
fn a_side_that_takes_the_last_step_may_not_know_of_the_end() {
    let mut tables = Tables::default();
    let (open, stop, more, done) = (
        tables.notification("open"),
        tables.notification("stop"),
        tables.notification("more"),
        tables.notification("done"),
    );
    let ping = tables.request("ping");
    tables.key("session", false, &[open, stop, more, done]);
    let active = [(Send, open, To::Spawn("Both")), (Send, ping.request, To::Spawn("Pinged"))];
    tables.state("Active", StateKind::Replicated, &active);
    tables.fork("Both", &["Left", "Right"]);
    let left = [(Send, stop, To::Step("Stopped")), (Receive, more, To::Step("Left"))];
    tables.state("Left", StateKind::Linear, &left);
    tables.state("Stopped", StateKind::End, &[(Receive, more, To::Step("Stopped"))]);
    tables.state("Right", StateKind::Linear, &[(Receive, done, To::Step("End"))]);
    tables.answer("Pinged", Receive, ping);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build_closed(Side::Client, &[("Stopped", more)]);
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    accepted(tell(&mut checker, Send, open, "a", None));
    accepted(tell(&mut checker, Send, stop, "a", None));
    let late = accepted(tell(&mut checker, Receive, more, "a", None));
    assert!(matches!(late.kind, StepKind::Late(late) if !late.over), "{late:?}");
    // The server ends it, and has not received that the other channel has ended.
    let done = accepted(tell(&mut checker, Receive, done, "a", None));
    assert_eq!(done.kind, StepKind::SubSession { ended: true });
    assert!(is_late(accepted(tell(&mut checker, Receive, more, "a", None)).kind));
    accepted(checker.request(Send, ping.request, &id(1), None, never));
    assert!(is_late(accepted(tell(&mut checker, Receive, more, "a", None)).kind));
    accepted(checker.reply(Receive, &id(1), ping.reply));
    let known = tell(&mut checker, Receive, more, "a", None).unwrap_err();
    assert!(matches!(known.kind, ViolationKind::UnknownKey { .. }), "{known}");
}

#[test]
fn sides_that_open_a_sub_session_at_once_with_different_messages_are_in_one() {
    let mut tables = Tables::default();
    let (mine, theirs) = (tables.notification("mine"), tables.notification("theirs"));
    tables.key("session", false, &[mine, theirs]);
    let active = [(Send, mine, To::Spawn("Opened")), (Receive, theirs, To::Spawn("Asked"))];
    tables.state("Active", StateKind::Replicated, &active);
    tables.fork("Opened", &["End", "Awaiting"]);
    tables.fork("Asked", &["End", "Before"]);
    tables.state("Awaiting", StateKind::Linear, &[(Receive, theirs, To::Step("End"))]);
    tables.state("Before", StateKind::Linear, &[(Send, mine, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    for _ in 0..2 {
        let opened = accepted(tell(&mut checker, Send, mine, "a", None));
        let again = tell(&mut checker, Send, mine, "a", None).unwrap_err();
        assert_eq!(again.kind, ViolationKind::NotPermitted);
        // The other side did not know of it, and has opened it, too.
        let step = accepted(tell(&mut checker, Receive, theirs, "a", None));
        assert_eq!((step.kind, step.sub_session), (StepKind::SubSession { ended: true }, opened.sub_session));
        // It is over, so the value is free, for either side.
        accepted(tell(&mut checker, Receive, theirs, "a", None));
        let last = accepted(tell(&mut checker, Send, mine, "a", None));
        assert_eq!(last.kind, StepKind::SubSession { ended: true });
    }
}

#[test]
fn a_value_that_a_reply_brings_late_is_one_of_what_ended_without_values() {
    let mut tables = Tables::default();
    let (open, next) = (tables.notification("open"), tables.notification("next"));
    let (start, output) = (tables.request("start"), tables.notification("output"));
    let (close, cancel) = (tables.notification("close"), tables.cancels("cancel"));
    tables.key("session", false, &[open, next, start.request, output, close]);
    tables.key("terminal", false, &[start.reply, output]);
    tables.edit(start.request).cancellable = true;
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("First"))]);
    let first = [(Send, next, To::Step("Second")), (Send, start.request, To::Spawn("Started"))];
    tables.state("First", StateKind::Linear, &first);
    // Here none is opened any more.
    tables.state("Second", StateKind::Linear, &[(Send, close, To::Step("End"))]);
    tables.state("Started", StateKind::Linear, &[(Receive, start.reply, To::Step("Running"))]);
    tables.state("Running", StateKind::Linear, &[(Receive, output, To::Step("Running"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    accepted(tell(&mut checker, Send, open, "a", None));
    let keys = [(KeyIndex(0), KeyValue::from("a"))];
    let asked = Correlation::keys(&keys);
    accepted(checker.request_correlated(Send, start.request, &id(1), None, asked, never));
    accepted(checker.notification(Send, cancel, About::Request(&id(1)), never));
    accepted(tell(&mut checker, Send, next, "a", None));
    accepted(tell(&mut checker, Send, close, "a", None));
    // The server has received neither the cancel nor the end.
    let named = [(KeyIndex(1), KeyValue::from("t"))];
    let reply = checker.reply_correlated(Receive, &id(1), start.reply, Correlation::keys(&named));
    assert_eq!(accepted(reply).kind, StepKind::Swallowed);
    assert!(is_late(accepted(tell(&mut checker, Receive, output, "a", Some("t"))).kind));
}

#[test]
fn a_side_that_is_silent_in_a_channel_may_not_have_received_its_end() {
    let mut tables = Tables::default();
    let (open, stop, done) =
        (tables.notification("open"), tables.notification("stop"), tables.notification("done"));
    let (start, output) = (tables.notification("start"), tables.notification("output"));
    tables.key("session", false, &[open, stop, done, start, output]);
    tables.key("terminal", false, &[start, output]);
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("Both"))]);
    tables.fork("Both", &["Left", "Right"]);
    let starts = (Send, start, To::Spawn("Running"));
    tables.state("Left", StateKind::Linear, &[(Send, stop, To::Step("End")), starts]);
    tables.state("Right", StateKind::Linear, &[(Receive, done, To::Step("End")), starts]);
    tables.state("Running", StateKind::Linear, &[(Receive, output, To::Step("Running"))]);
    tables.state("End", StateKind::End, &[starts]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    accepted(tell(&mut checker, Send, open, "a", None));
    accepted(tell(&mut checker, Send, start, "a", Some("t")));
    accepted(tell(&mut checker, Send, stop, "a", None));
    // The channel has ended, and what runs next to it goes on.
    accepted(tell(&mut checker, Send, start, "a", Some("u")));
    let done = accepted(tell(&mut checker, Receive, done, "a", None));
    assert_eq!(done.kind, StepKind::SubSession { ended: true });
    assert!(is_late(accepted(tell(&mut checker, Receive, output, "a", Some("t"))).kind));
}
