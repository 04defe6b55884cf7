//! A `*` in the body of another one, and channels side by side in a body.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{accepted, id, is_late, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Side, StateKind};
use crate::{
    About, Checker, Correlation, KeyValue, Meant, Step, StepKind, SubSessionNumber, Violation, ViolationKind,
};

const SESSION: KeyIndex = KeyIndex(0);
const TERMINAL: KeyIndex = KeyIndex(1);

/// A turn, in which the agent may ask and may run terminals, from the client's side:
/// `*( !prompt . rec t . ( ?update . t & ?done . End & *( ?ask . !reply . End ) & *( ?create . !reply . rec r . ( !output . r
/// & ?release . End ) ) ) )`.
struct Turns {
    checker: Checker,
    prompt: MessageIndex,
    update: MessageIndex,
    done: MessageIndex,
    ask: Exchange,
    create: Exchange,
    output: MessageIndex,
    release: MessageIndex,
}

fn turns() -> Turns {
    let mut tables = Tables::default();
    let (prompt, update, done) =
        (tables.notification("prompt"), tables.notification("update"), tables.notification("done"));
    let (ask, create) = (tables.request("ask"), tables.request("create"));
    let (output, release) = (tables.notification("output"), tables.notification("release"));
    let in_turn = [prompt, update, done, ask.request, create.request, output, release];
    tables.key("session", false, &in_turn);
    tables.key("terminal", false, &[create.reply, output, release]);
    tables.state("Active", StateKind::Replicated, &[(Send, prompt, To::Spawn("Running"))]);
    let running = [
        (Receive, update, To::Step("Running")),
        (Receive, done, To::Step("End")),
        (Receive, ask.request, To::Spawn("Asked")),
        (Receive, create.request, To::Spawn("Created")),
    ];
    tables.state("Running", StateKind::Linear, &running);
    tables.answer("Asked", Send, ask);
    tables.state("Created", StateKind::Linear, &[(Send, create.reply, To::Step("Open"))]);
    let open = [(Send, output, To::Step("Open")), (Receive, release, To::Step("End"))];
    tables.state("Open", StateKind::Linear, &open);
    tables.state("End", StateKind::End, &[]);
    let checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    Turns { checker, prompt, update, done, ask, create, output, release }
}

fn keys(session: &str, terminal: Option<&str>) -> Vec<(KeyIndex, KeyValue)> {
    let terminal = terminal.map(|terminal| (TERMINAL, KeyValue::from(terminal)));
    std::iter::once((SESSION, KeyValue::from(session))).chain(terminal).collect()
}

impl Turns {
    fn tell(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        session: &str,
    ) -> Result<Step, Violation> {
        self.tell_meaning(direction, message, session, None, Meant::Anything)
    }

    fn tell_terminal(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        session: &str,
        terminal: &str,
    ) -> Result<Step, Violation> {
        self.tell_meaning(direction, message, session, Some(terminal), Meant::Anything)
    }

    fn tell_meaning(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        session: &str,
        terminal: Option<&str>,
        meant: Meant,
    ) -> Result<Step, Violation> {
        let keys = keys(session, terminal);
        let correlation = Correlation::meant(&keys, meant);
        self.checker.notification_correlated(direction, message, About::Nothing, correlation, never)
    }

    fn ask(&mut self, message: MessageIndex, number: i64, session: &str) -> Result<Step, Violation> {
        let keys = keys(session, None);
        let correlation = Correlation::keys(&keys);
        self.checker.request_correlated(Receive, message, &id(number), None, correlation, never)
    }

    fn prompt(&mut self, session: &str) -> SubSessionNumber {
        accepted(self.tell(Send, self.prompt, session)).sub_session.unwrap()
    }

    fn create(&mut self, number: i64, session: &str, terminal: &str) -> SubSessionNumber {
        let step = accepted(self.ask(self.create.request, number, session));
        let opened = step.sub_session.unwrap();
        let keys = [(TERMINAL, KeyValue::from(terminal))];
        let reply = self.create.reply;
        accepted(self.checker.reply_correlated(Send, &id(number), reply, Correlation::keys(&keys)));
        opened
    }
}

#[test]
fn exchanges_of_a_sub_session_run_side_by_side_while_it_lasts() {
    let mut turns = turns();
    let early = turns.ask(turns.ask.request, 1, "a").unwrap_err();
    assert!(matches!(early.kind, ViolationKind::UnknownKey { .. }), "{early}");
    let turn = turns.prompt("a");
    for number in [2, 3] {
        let step = accepted(turns.ask(turns.ask.request, number, "a"));
        assert!(matches!(step.kind, StepKind::Spawned { within, .. } if within == Some(turn)), "{step:?}");
    }
    accepted(turns.tell(Receive, turns.update, "a"));
    accepted(turns.checker.reply(Send, &id(3), turns.ask.reply));
    let ended = accepted(turns.tell(Receive, turns.done, "a"));
    assert_eq!((ended.kind, ended.sub_session), (StepKind::SubSession { ended: true }, Some(turn)));
    // The agent has ended the turn, so it knows of it.
    let after = turns.ask(turns.ask.request, 4, "a").unwrap_err();
    assert!(matches!(after.kind, ViolationKind::UnknownKey { .. }), "{after}");
    // What it has asked before is still answered.
    accepted(turns.checker.reply(Send, &id(2), turns.ask.reply));
}

#[test]
fn an_inner_value_is_unique_within_the_outer_one() {
    let mut turns = turns();
    let (a, b) = (turns.prompt("a"), turns.prompt("b"));
    let (in_a, in_b) = (turns.create(1, "a", "t"), turns.create(2, "b", "t"));
    assert!(in_a != in_b && ![a, b].contains(&in_a));
    for (session, expected) in [("a", in_a), ("b", in_b)] {
        let step = accepted(turns.tell_terminal(Send, turns.output, session, "t"));
        assert_eq!(step.sub_session, Some(expected));
    }
    // The reply to the second request in one turn may not name a terminal that is open there.
    accepted(turns.ask(turns.create.request, 3, "a"));
    let keys = [(TERMINAL, KeyValue::from("t"))];
    let reply = turns.create.reply;
    let twice = turns.checker.reply_correlated(Send, &id(3), reply, Correlation::keys(&keys)).unwrap_err();
    assert!(matches!(twice.kind, ViolationKind::KeyInUse { .. }), "{twice}");
    let released = accepted(turns.tell_terminal(Receive, turns.release, "a", "t"));
    assert_eq!(released.kind, StepKind::SubSession { ended: true });
    accepted(turns.checker.reply_correlated(Send, &id(3), reply, Correlation::keys(&keys)));
    let unknown = turns.tell_terminal(Receive, turns.release, "a", "u").unwrap_err();
    assert!(matches!(unknown.kind, ViolationKind::UnknownKey { .. }), "{unknown}");
}

#[test]
fn inner_sub_sessions_end_with_the_outer_one() {
    let mut turns = turns();
    turns.prompt("a");
    let terminal = turns.create(1, "a", "t");
    accepted(turns.tell(Receive, turns.done, "a"));
    assert_eq!(turns.checker.sub_session_state(terminal), None);
    // This side may have sent output before it saw the end, and an observer sees it after that.
    let late = accepted(turns.tell_terminal(Send, turns.output, "a", "t"));
    assert!(is_late(late.kind), "{late:?}");
    // The agent has ended the turn.
    let released = turns.tell_terminal(Receive, turns.release, "a", "t").unwrap_err();
    assert!(matches!(released.kind, ViolationKind::UnknownKey { .. }), "{released}");
    // The values are free in the next turn.
    turns.prompt("a");
    turns.create(2, "a", "t");
}

#[test]
fn a_value_that_a_program_means_is_held_to_its_sub_session() {
    let mut turns = turns();
    let (a, b) = (turns.prompt("a"), turns.prompt("b"));
    let keys = keys("a", None);
    let mut ask = |number, meant| {
        let correlation = Correlation::meant(&keys, meant);
        turns.checker.request_correlated(Receive, turns.ask.request, &id(number), None, correlation, never)
    };
    assert!(matches!(ask(1, Meant::NewWithin(b)).unwrap_err().kind, ViolationKind::WrongKey { .. }));
    accepted(ask(2, Meant::NewWithin(a)));
}

#[test]
fn a_sub_session_ends_when_each_of_its_channels_has() {
    let mut tables = Tables::default();
    let (open, left, right, last) = (
        tables.notification("open"),
        tables.notification("left"),
        tables.request("right"),
        tables.notification("last"),
    );
    tables.key("session", false, &[open, left, right.request, last]);
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("Both"))]);
    tables.fork("Both", &["Left", "Right"]);
    tables.state("Left", StateKind::Linear, &[(Send, left, To::Step("Left")), (Send, last, To::Step("End"))]);
    tables.state("Right", StateKind::Linear, &[(Receive, right.request, To::Step("Answering"))]);
    tables.answer("Answering", Send, right);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = keys("a", None);
    let tell = |checker: &mut Checker, message| {
        checker.notification_correlated(Send, message, About::Nothing, Correlation::keys(&keys), never)
    };
    let opened = accepted(tell(&mut checker, open)).sub_session.unwrap();
    assert_eq!(checker.sub_session_states(opened).len(), 2);
    accepted(tell(&mut checker, left));
    let correlation = Correlation::keys(&keys);
    accepted(checker.request_correlated(Receive, right.request, &id(1), None, correlation, never));
    let last = accepted(tell(&mut checker, last));
    assert_eq!(last.kind, StepKind::SubSession { ended: false });
    let again = tell(&mut checker, left).unwrap_err();
    assert_eq!(again.kind, ViolationKind::NotPermitted);
    let reply = accepted(checker.reply(Send, &id(1), right.reply));
    assert_eq!((reply.kind, reply.sub_session), (StepKind::SubSession { ended: true }, Some(opened)));
}

#[test]
fn what_ends_a_sub_session_may_be_sent_by_a_side_that_does_not_know() {
    let mut tables = Tables::default();
    let (open, mine, theirs, again, inner) = (
        tables.notification("open"),
        tables.notification("mine"),
        tables.notification("theirs"),
        tables.notification("again"),
        tables.notification("inner"),
    );
    tables.key("session", false, &[open, mine, theirs, again, inner]);
    tables.state("Active", StateKind::Replicated, &[(Receive, open, To::Spawn("Either"))]);
    let spawn = (Receive, inner, To::Spawn("End"));
    let either = [(Send, mine, To::Step("Theirs")), (Receive, theirs, To::Step("Mine")), spawn];
    tables.state("Either", StateKind::Linear, &either);
    let left = [(Receive, theirs, To::Step("End")), (Receive, again, To::Step("Theirs")), spawn];
    tables.state("Theirs", StateKind::Linear, &left);
    tables.state("Mine", StateKind::Linear, &[(Send, mine, To::Step("End")), spawn]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let keys = keys("a", None);
    let mut tell = |direction, message| {
        checker.notification_correlated(direction, message, About::Nothing, Correlation::keys(&keys), never)
    };
    accepted(tell(Receive, open));
    accepted(tell(Send, mine));
    assert_eq!(accepted(tell(Receive, theirs)).kind, StepKind::SubSession { ended: true });
    // Both were sent at once, so the server waits for `mine`.
    assert!(is_late(accepted(tell(Receive, inner)).kind));
    accepted(tell(Receive, open));
    accepted(tell(Send, mine));
    accepted(tell(Receive, again));
    assert_eq!(accepted(tell(Receive, theirs)).kind, StepKind::SubSession { ended: true });
    // This time the server had received it.
    let known = tell(Receive, inner).unwrap_err();
    assert!(matches!(known.kind, ViolationKind::UnknownKey { .. }), "{known}");
}

#[test]
fn what_was_sent_within_a_sub_session_is_late_when_its_value_is_used_again() {
    let mut tables = Tables::default();
    let (open, close, start, output) = (
        tables.notification("open"),
        tables.notification("close"),
        tables.notification("start"),
        tables.notification("output"),
    );
    tables.key("session", false, &[open, close, start, output]);
    tables.key("terminal", false, &[start, output]);
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("Open"))]);
    let running = [(Send, close, To::Step("End")), (Send, start, To::Spawn("Running"))];
    tables.state("Open", StateKind::Linear, &running);
    tables.state("Running", StateKind::Linear, &[(Receive, output, To::Step("Running"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let mut tell = |direction, message, terminal| {
        let keys = keys("a", terminal);
        checker.notification_correlated(direction, message, About::Nothing, Correlation::keys(&keys), never)
    };
    accepted(tell(Send, open, None));
    accepted(tell(Send, start, Some("t")));
    accepted(tell(Send, close, None));
    accepted(tell(Send, open, None));
    assert!(is_late(accepted(tell(Receive, output, Some("t"))).kind));
    accepted(tell(Send, start, Some("u")));
    assert!(is_late(accepted(tell(Receive, output, Some("t"))).kind));
    assert_eq!(accepted(tell(Receive, output, Some("u"))).kind, StepKind::SubSession { ended: false });
}

#[test]
fn a_request_that_stands_alone_holds_no_key_whatever_may_open_late_in_its_state() {
    let mut tables = Tables::default();
    let (open, last) = (tables.notification("open"), tables.request("last"));
    let (inner, more) = (tables.notification("inner"), tables.notification("more"));
    tables.key("session", true, &[open, last.request, inner, more]);
    tables.key("terminal", false, &[inner, more]);
    let active = [(Send, open, To::Spawn("Running")), (Send, last.request, To::Spawn("Alone"))];
    tables.state("Active", StateKind::Replicated, &active);
    let running = [(Receive, inner, To::Spawn("Inner")), (Send, last.request, To::Step("Alone"))];
    tables.state("Running", StateKind::Linear, &running);
    let alone = [
        (Receive, last.reply, To::Step("End")),
        (Receive, last.refusal, To::Step("End")),
        (Receive, inner, To::Spawn("Inner")),
    ];
    tables.state("Alone", StateKind::Linear, &alone);
    tables.state("Inner", StateKind::Linear, &[(Receive, more, To::Step("Inner"))]);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build_closed(Side::Client, &[("Alone", inner)]);
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    let keys = keys("a", None);
    let correlation = Correlation::keys(&keys);
    let alone = accepted(checker.request_correlated(Send, last.request, &id(1), None, correlation, never));
    assert_eq!(alone.sub_session, None);
    let opened = checker.notification_correlated(Send, open, About::Nothing, correlation, never);
    assert!(accepted(opened).sub_session.is_some(), "nothing holds the value");
}

#[test]
fn what_is_late_within_a_sub_session_is_late_whatever_token_it_carries() {
    let mut tables = Tables::default();
    let (open, freeze, ask) =
        (tables.notification("open"), tables.notification("freeze"), tables.request("ask"));
    tables.key("session", false, &[open, freeze, ask.request]);
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("Open"))]);
    let opened = [(Send, freeze, To::Step("Frozen")), (Receive, ask.request, To::Spawn("Asked"))];
    tables.state("Open", StateKind::Linear, &opened);
    tables.state("Frozen", StateKind::Linear, &[(Receive, ask.request, To::Spawn("Asked"))]);
    tables.answer("Asked", Send, ask);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build_closed(Side::Client, &[("Frozen", ask.request)]);
    let mut checker = Checker::new(protocol, Side::Client).unwrap();
    let keys = keys("a", None);
    let correlation = Correlation::keys(&keys);
    accepted(checker.notification_correlated(Send, open, About::Nothing, correlation, never));
    let ask = |checker: &mut Checker, number| {
        let token = Some(id(7));
        checker.request_correlated(Receive, ask.request, &id(number), token, correlation, never)
    };
    accepted(ask(&mut checker, 1));
    let twice = ask(&mut checker, 2).unwrap_err();
    assert!(matches!(twice.kind, ViolationKind::TokenInUse { .. }), "{twice}");
    accepted(checker.notification_correlated(Send, freeze, About::Nothing, correlation, never));
    let late = accepted(ask(&mut checker, 3));
    assert!(is_late(late.kind), "{late:?}");
}

#[test]
fn what_may_open_one_within_a_sub_session_or_go_on_with_it_is_not_a_report_there() {
    let mut tables = Tables::default();
    let (open, search) = (tables.notification("open"), tables.request("search"));
    let (started, said) = (tables.reports("started"), tables.notification("said"));
    tables.key("session", false, &[open, started, said]);
    tables.key("terminal", false, &[started, said]);
    let active = [(Send, open, To::Spawn("Open")), (Send, search.request, To::Spawn("Searching"))];
    tables.state("Active", StateKind::Replicated, &active);
    tables.answer("Searching", Receive, search);
    let opened = [(Receive, started, To::Spawn("Started")), (Send, said, To::Spawn("Said"))];
    tables.state("Open", StateKind::Linear, &opened);
    // Either side opens a terminal, and the other one says something in it, too.
    tables.fork("Started", &["End", "Saying"]);
    tables.fork("Said", &["Starting", "End"]);
    tables.state("Saying", StateKind::Linear, &[(Send, said, To::Step("End"))]);
    tables.state("Starting", StateKind::Linear, &[(Receive, started, To::Step("End"))]);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    accepted(checker.request(Send, search.request, &id(1), Some(id(7)), never));
    let correlation = keys("a", None);
    let opened = Correlation::keys(&correlation);
    accepted(checker.notification_correlated(Send, open, About::Nothing, opened, never));
    let keys = keys("a", Some("t"));
    let correlation = Correlation::keys(&keys);
    let (token, about) = (id(7), About::Nothing);
    let within = checker.notification_correlated(Receive, started, About::Token(&token), correlation, never);
    assert!(matches!(accepted(within).kind, StepKind::Spawned { within: Some(_), .. }));
    let last = accepted(checker.notification_correlated(Send, said, about, correlation, never));
    assert_eq!(last.kind, StepKind::SubSession { ended: true });
    let report = checker.notification(Receive, started, About::Token(&token), never);
    assert_eq!(accepted(report).kind, StepKind::Reported);
}

#[test]
fn what_opens_an_exchange_carries_each_value_of_the_sub_session_around_it() {
    let mut tables = Tables::default();
    let (open, ask) = (tables.notification("open"), tables.request("ask"));
    tables.key("session", false, &[open, ask.request]);
    tables.key("terminal", false, &[open, ask.request]);
    tables.state("Active", StateKind::Replicated, &[(Send, open, To::Spawn("Open"))]);
    tables.state("Open", StateKind::Linear, &[(Receive, ask.request, To::Spawn("Asked"))]);
    tables.answer("Asked", Send, ask);
    tables.state("End", StateKind::End, &[]);
    let mut checker = Checker::new(tables.build(Side::Client), Side::Client).unwrap();
    let opened = keys("a", Some("t"));
    let correlation = Correlation::keys(&opened);
    accepted(checker.notification_correlated(Send, open, About::Nothing, correlation, never));
    let mut ask = |number, terminal| {
        let keys = keys("a", Some(terminal));
        let correlation = Correlation::keys(&keys);
        checker.request_correlated(Receive, ask.request, &id(number), None, correlation, never)
    };
    let other = ask(1, "u").unwrap_err();
    assert!(matches!(other.kind, ViolationKind::WrongKey { .. }), "{other}");
    accepted(ask(2, "t"));
}
