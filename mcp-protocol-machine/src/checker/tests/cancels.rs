//! The kinds of cancels: after which the reply follows, and which end what they may only until it has come.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{ENDED, accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{KeyIndex, MessageIndex, Side, StateKind};
use crate::{About, Awaiting, Checker, Correlation, KeyValue, StepKind, ViolationKind};

/// `Idle = !Lock . ( ?LockResult . Locked & ?LockError . Idle )`, with `*( !Hover . ?HoverResult . End )` next to it.
fn editor(side: Side) -> (Checker, Exchange, Exchange, MessageIndex) {
    let (ours, theirs) = match side {
        Side::Client => (Send, Receive),
        Side::Server => (Receive, Send),
    };
    let mut tables = Tables::default();
    let (lock, hover) = (tables.request("lock"), tables.request("hover"));
    for request in [lock.request, hover.request] {
        tables.edit(request).cancellable = true;
    }
    let cancel = tables.cancels_with_reply("$/cancelRequest");
    let hovers = (ours, hover.request, To::Spawn("Hovering"));
    tables.state("Idle", StateKind::Linear, &[(ours, lock.request, To::Step("Locking")), hovers]);
    tables.state(
        "Locking",
        StateKind::Linear,
        &[(theirs, lock.reply, To::Step("Locked")), (theirs, lock.refusal, To::Step("Idle")), hovers],
    );
    tables.state("Locked", StateKind::Linear, &[hovers]);
    tables.answer("Hovering", theirs, hover);
    tables.state("End", StateKind::End, &[]);
    (Checker::new(tables.build(side), side).unwrap(), lock, hover, cancel)
}

#[test]
fn a_request_whose_cancel_has_a_reply_runs_until_that_has_come() {
    for (side, asks) in [(Side::Client, Send), (Side::Server, Receive)] {
        let (mut checker, lock, hover, cancel) = editor(side);
        for (number, answer) in [(1, hover.reply), (2, hover.refusal)] {
            checker.ask(asks, hover.request, number).unwrap();
            assert!(checker.permits(asks, cancel).is_ok());
            assert_eq!(checker.cancel_request(asks, cancel, number).unwrap(), StepKind::Reported);
            assert!(checker.permits(asks, cancel).is_err(), "a request is cancelled once");
            assert_eq!(checker.running(asks), 1, "the reply is still awaited");
            assert_eq!(checker.awaiting(asks.flip(), &id(number)), Awaiting::Request(hover.request));
            assert_eq!(checker.answer(asks.flip(), number, answer).unwrap(), ENDED);
            let second = checker.answer(asks.flip(), number, answer).unwrap_err();
            assert_eq!(second.kind, ViolationKind::SecondReply, "the cancel does not excuse another reply");
        }
        // The state does not change before the reply, which decides where the channel goes.
        checker.ask(asks, lock.request, 3).unwrap();
        assert_eq!(checker.cancel_request(asks, cancel, 3).unwrap(), StepKind::Reported);
        assert_eq!(checker.state_names(), "Locking");
        checker.answer(asks.flip(), 3, lock.reply).unwrap();
        assert_eq!(checker.state_names(), "Locked");
    }
}

#[test]
fn a_cancel_that_crosses_the_reply_which_follows_it_is_dropped() {
    let (mut checker, lock, _, cancel) = editor(Side::Server);
    checker.ask(Receive, lock.request, 1).unwrap();
    checker.answer(Send, 1, lock.reply).unwrap();
    assert_eq!(checker.cancel_request(Receive, cancel, 1).unwrap(), StepKind::Swallowed);
    assert_eq!(checker.state_names(), "Locked");
}

#[test]
fn a_second_cancel_is_a_violation_while_the_reply_is_awaited() {
    let (mut checker, _, hover, cancel) = editor(Side::Server);
    checker.ask(Receive, hover.request, 1).unwrap();
    checker.cancel_request(Receive, cancel, 1).unwrap();
    let twice = checker.cancel_request(Receive, cancel, 1).unwrap_err();
    assert_eq!(twice.kind, ViolationKind::CancelledTwice { request: "hover".into() });
    assert_eq!(
        twice.to_string(),
        "`$/cancelRequest` names the id 1 of `hover`, which the client has cancelled before"
    );
    assert_eq!(checker.answer(Send, 1, hover.reply).unwrap(), ENDED);
    assert_eq!(checker.cancel_request(Receive, cancel, 1).unwrap(), StepKind::Swallowed);
}

const URI: KeyIndex = KeyIndex(0);

/// Subscriptions that `watch` opens, and a request of the other side.
struct Subscriptions {
    checker: Checker,
    watch: Exchange,
    changed: MessageIndex,
    ask: Exchange,
    cancel: MessageIndex,
}

fn subscriptions(until_reply: bool) -> Subscriptions {
    let mut tables = Tables::default();
    let (watch, changed, ask) =
        (tables.request("watch"), tables.notification("changed"), tables.request("ask"));
    let cancel = tables.cancels("cancelled");
    tables.edit(watch.request).cancellable = true;
    tables.edit(watch.request).until_reply = until_reply;
    tables.key("uri", false, &[watch.request, changed]);
    tables.state(
        "Active",
        StateKind::Replicated,
        &[(Receive, watch.request, To::Spawn("Opening")), (Send, ask.request, To::Spawn("Asked"))],
    );
    tables.state("Opening", StateKind::Linear, &[(Send, watch.reply, To::Step("Watched"))]);
    tables.state("Watched", StateKind::Linear, &[(Send, changed, To::Step("Watched"))]);
    tables.answer("Asked", Receive, ask);
    tables.state("End", StateKind::End, &[]);
    let checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
    Subscriptions { checker, watch, changed, ask, cancel }
}

impl Subscriptions {
    fn watch(&mut self, number: i64) {
        let keys = [(URI, KeyValue::from("a"))];
        let (watch, correlation) = (self.watch.request, Correlation::keys(&keys));
        accepted(self.checker.request_correlated(Receive, watch, &id(number), None, correlation, never));
    }

    fn changed(&mut self) -> Result<StepKind, ViolationKind> {
        let keys = [(URI, KeyValue::from("a"))];
        let correlation = Correlation::keys(&keys);
        let step =
            self.checker.notification_correlated(Send, self.changed, About::Nothing, correlation, never);
        step.map(|step| step.kind).map_err(|violation| violation.kind.clone())
    }
}

#[test]
fn a_cancel_that_may_have_crossed_the_reply_ends_the_sub_session() {
    let mut all = subscriptions(true);
    all.watch(1);
    assert_eq!(all.checker.cancel_request(Receive, all.cancel, 1).unwrap(), ENDED);
    assert_eq!(all.checker.answer(Send, 1, all.watch.reply).unwrap(), StepKind::Swallowed);
    all.watch(2);
    all.checker.answer(Send, 2, all.watch.reply).unwrap();
    assert_eq!(all.changed().unwrap(), StepKind::SubSession { ended: false });
    assert_eq!(all.checker.cancel_request(Receive, all.cancel, 2).unwrap(), ENDED);
    assert!(is_late(all.changed().unwrap()), "the subscription is over");
}

#[test]
fn behind_the_fence_of_the_reply_a_subscription_is_not_cancelled() {
    let mut all = subscriptions(true);
    all.watch(1);
    all.checker.ask(Send, all.ask.request, 8).unwrap();
    all.checker.answer(Send, 1, all.watch.reply).unwrap();
    all.checker.ask(Send, all.ask.request, 9).unwrap();
    // The client has answered what was asked before the reply: it may not have received the reply.
    all.checker.answer(Receive, 8, all.ask.reply).unwrap();
    let mut before = all.checker.clone();
    assert_eq!(before.cancel_request(Receive, all.cancel, 1).unwrap(), ENDED);
    all.checker.answer(Receive, 9, all.ask.reply).unwrap();
    let late = all.checker.cancel_request(Receive, all.cancel, 1).unwrap_err();
    assert_eq!(late.kind, ViolationKind::NoLongerCancellable { request: "watch".into() });
    assert_eq!(
        late.to_string(),
        "`cancelled` names the id 1 of `watch`, which has its reply and cannot be cancelled any more"
    );
    assert_eq!(all.changed().unwrap(), StepKind::SubSession { ended: false }, "it goes on");
}

#[test]
fn without_the_mark_a_subscription_is_cancelled_in_any_state() {
    let mut all = subscriptions(false);
    all.watch(1);
    all.checker.answer(Send, 1, all.watch.reply).unwrap();
    all.checker.ask(Send, all.ask.request, 9).unwrap();
    all.checker.answer(Receive, 9, all.ask.reply).unwrap();
    assert_eq!(all.checker.cancel_request(Receive, all.cancel, 1).unwrap(), ENDED);
}

#[test]
fn what_could_never_be_cancelled_is_not_cancelled_while_what_it_opened_goes_on() {
    for reply_follows in [false, true] {
        let mut tables = Tables::default();
        let (watch, changed, stop) =
            (tables.request("watch"), tables.notification("changed"), tables.notification("stop"));
        let cancel = match reply_follows {
            true => tables.cancels_with_reply("cancelled"),
            false => tables.cancels("cancelled"),
        };
        tables.key("uri", false, &[watch.request, changed, stop]);
        let watches = [(Receive, watch.request, To::Spawn("Opening"))];
        tables.state("Active", StateKind::Replicated, &watches);
        tables.state("Opening", StateKind::Linear, &[(Send, watch.reply, To::Step("Watched"))]);
        let watched = [(Send, changed, To::Step("Watched")), (Receive, stop, To::Step("End"))];
        tables.state("Watched", StateKind::Linear, &watched);
        tables.state("End", StateKind::End, &[]);
        let checker = Checker::new(tables.build(Side::Server), Side::Server).unwrap();
        let mut all = Subscriptions { checker, watch, changed, ask: watch, cancel };
        all.watch(1);
        let refused = ViolationKind::NotCancellable { request: "watch".into() };
        let cancel = |all: &mut Subscriptions| all.checker.cancel_request(Receive, all.cancel, 1);
        assert_eq!(cancel(&mut all).unwrap_err().kind, refused, "it runs");
        all.checker.answer(Send, 1, all.watch.reply).unwrap();
        assert_eq!(cancel(&mut all).unwrap_err().kind, refused, "it has its reply");
        assert_eq!(all.changed().unwrap(), StepKind::SubSession { ended: false }, "it goes on");
        let keys = [(URI, KeyValue::from("a"))];
        let correlation = Correlation::keys(&keys);
        accepted(all.checker.notification_correlated(Receive, stop, About::Nothing, correlation, never));
        // Which request had this id is not known any more.
        assert_eq!(cancel(&mut all).unwrap(), StepKind::Swallowed);
    }
}

#[test]
fn who_cancels_what_has_its_reply_goes_on_from_where_the_cancel_leads() {
    let mut tables = Tables::default();
    let ask = tables.request("ask");
    let [log, stop] = ["log", "stop"].map(|name| tables.notification(name));
    let cancel = tables.cancels("cancelled");
    tables.edit(ask.request).cancellable = true;
    let here = |to| (Receive, log, To::Step(to));
    let asked = |to| (Receive, ask.request, To::Step(to));
    let over = |to| [(Send, ask.reply, to), (Send, ask.refusal, to), (Receive, cancel, to)];
    let [open, closed] = ["Open", "Closed"].map(To::Step).map(over);
    let stops = |to| (Send, stop, To::Step(to));
    tables.state("Open", StateKind::Linear, &[here("Open"), asked("OpenAsked"), stops("Closed")]);
    let asked_open = [here("OpenAsked"), stops("ClosedAsked"), open[0], open[1], open[2]];
    tables.state("OpenAsked", StateKind::Linear, &asked_open);
    tables.state("Closed", StateKind::Linear, &[here("Closed"), asked("ClosedAsked")]);
    tables.state("ClosedAsked", StateKind::Linear, &[here("ClosedAsked"), closed[0], closed[1], closed[2]]);
    let late = [("Closed", log), ("ClosedAsked", log)];
    let mut checker = Checker::new(tables.build_closed(Side::Client, &late), Side::Client).unwrap();
    checker.ask(Receive, ask.request, 1).unwrap();
    checker.tell(Send, stop).unwrap();
    checker.answer(Send, 1, ask.reply).unwrap();
    assert!(is_late(checker.tell(Receive, log).unwrap()));
    assert_eq!(checker.cancel_request(Receive, cancel, 1).unwrap(), StepKind::Swallowed);
    // The server has received neither `stop` nor the reply: it asks once more in `Open`.
    checker.ask(Receive, ask.request, 2).unwrap();
    assert!(is_late(checker.tell(Receive, log).unwrap()));
    assert_eq!(checker.cancel_request(Receive, cancel, 1).unwrap(), StepKind::Swallowed, "it moves nothing");
    assert!(is_late(checker.tell(Receive, log).unwrap()));
}

#[test]
fn who_replies_to_what_was_cancelled_goes_on_from_where_the_reply_leads() {
    let mut tables = Tables::default();
    let ask = tables.request("ask");
    let [stop, log, note] = ["stop", "log", "note"].map(|name| tables.notification(name));
    let cancel = tables.cancels("cancelled");
    tables.edit(ask.request).cancellable = true;
    let said = |message, to| (Receive, message, To::Step(to));
    let over = |to| [(Receive, ask.reply, to), (Receive, ask.refusal, to), (Send, cancel, to)];
    let [open, closed] = ["Open", "Closed"].map(To::Step).map(over);
    let step = |message, to| (Send, message, To::Step(to));
    let begins =
        [said(log, "Open"), said(note, "Open"), step(stop, "Closed"), step(ask.request, "OpenAsked")];
    tables.state("Open", StateKind::Linear, &begins);
    let here = |state| [said(log, state), said(note, state)];
    let asked = [step(stop, "ClosedAsked"), open[0], open[1], open[2]];
    tables.state("OpenAsked", StateKind::Linear, &[&here("OpenAsked")[..], &asked].concat());
    let asks = [step(ask.request, "ClosedAsked")];
    tables.state("Closed", StateKind::Linear, &[&here("Closed")[..], &asks].concat());
    tables.state("ClosedAsked", StateKind::Linear, &[&here("ClosedAsked")[..], &closed].concat());
    let late = [("Closed", log), ("ClosedAsked", log), ("OpenAsked", note), ("ClosedAsked", note)];
    let mut checker = Checker::new(tables.build_closed(Side::Client, &late), Side::Client).unwrap();
    checker.ask(Send, ask.request, 1).unwrap();
    checker.tell(Send, stop).unwrap();
    checker.cancel_request(Send, cancel, 1).unwrap();
    checker.ask(Send, ask.request, 2).unwrap();
    // The server has received neither `stop` nor the cancel, and is in `Open` with its reply.
    assert_eq!(checker.answer(Receive, 1, ask.reply).unwrap(), StepKind::Swallowed);
    assert!(is_late(checker.tell(Receive, note).unwrap()));
    assert!(is_late(checker.tell(Receive, log).unwrap()));
    // In `Closed` or `ClosedAsked`, it has received `stop`.
    checker.answer(Receive, 2, ask.reply).unwrap();
    assert!(checker.tell(Receive, log).is_err());
}

#[test]
fn who_still_waits_for_the_reply_stays_where_it_is() {
    let mut tables = Tables::default();
    let ask = tables.request("ask");
    let log = tables.notification("log");
    let cancel = tables.cancels_with_reply("cancelled");
    tables.edit(ask.request).cancellable = true;
    tables.state("Open", StateKind::Linear, &[(Receive, ask.request, To::Step("Asked"))]);
    let replies = [ask.reply, ask.refusal].map(|reply| (Send, reply, To::Step("Over")));
    tables.state("Asked", StateKind::Linear, &[(Receive, log, To::Step("Asked")), replies[0], replies[1]]);
    let late = (Receive, log, To::Step("Over"));
    tables.state("Over", StateKind::Linear, &[(Receive, ask.request, To::Step("Asked")), late]);
    let mut checker =
        Checker::new(tables.build_closed(Side::Client, &[("Over", log)]), Side::Client).unwrap();
    checker.ask(Receive, ask.request, 1).unwrap();
    checker.answer(Send, 1, ask.reply).unwrap();
    assert_eq!(checker.cancel_request(Receive, cancel, 1).unwrap(), StepKind::Swallowed);
    assert!(is_late(checker.tell(Receive, log).unwrap()), "the reply may not have come yet");
}

#[test]
fn who_has_cancelled_goes_on_alike_with_and_without_the_reply() {
    let mut tables = Tables::default();
    let ask = tables.request("ask");
    let leave = tables.notification("leave");
    let cancel = tables.cancels("cancelled");
    tables.edit(ask.request).cancellable = true;
    let leaves = (Send, leave, To::Step("Left"));
    tables.state("Here", StateKind::Linear, &[leaves, (Send, ask.request, To::Step("Asked"))]);
    let [reply, refusal] = [ask.reply, ask.refusal].map(|reply| (Receive, reply, To::Step("Here")));
    tables.state("Asked", StateKind::Linear, &[reply, refusal, (Send, cancel, To::Step("Here"))]);
    let [log, note] = ["log", "note"].map(|name| tables.notification(name));
    tables.fork("Left", &["Logs", "Notes"]);
    tables.state("Logs", StateKind::Linear, &[(Send, log, To::Step("Logs"))]);
    tables.state("Notes", StateKind::Linear, &[(Send, note, To::Step("Notes"))]);
    let mut protocol = tables.build(Side::Server);
    // The client's is the dual, which says what it may receive late.
    protocol.client = protocol.server.clone();
    for state in protocol.client.as_mut().unwrap().states.to_mut() {
        state.edges.to_mut().iter_mut().for_each(|edge| edge.direction = edge.direction.flip());
    }
    let mut checker = Checker::new(protocol, Side::Server).unwrap();
    checker.ask(Send, ask.request, 1).unwrap();
    checker.answer(Receive, 1, ask.reply).unwrap();
    assert_eq!(checker.cancel_request(Send, cancel, 1).unwrap(), StepKind::Swallowed);
    checker.tell(Send, leave).unwrap();
    assert!(checker.tell(Send, leave).is_err(), "it has left, whether it has received the reply or not");
}
