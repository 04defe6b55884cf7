//! Until when a message is late, and what it is afterwards.

use crate::checker::tests::tables::{Exchange, Tables, To};
use crate::checker::tests::{ENDED, accepted, id, is_late, linear, never};
use crate::protocol::Direction::{Receive, Send};
use crate::protocol::{Direction, KeyIndex, MessageIndex, Role, Side, StateIndex, StateKind, Strictness};
use crate::{About, Checker, Correlation, KeyValue, Late, Limits, Step, StepKind, Violation, ViolationKind};

/// `Idle = ?Prompt . Turn`, `Turn = !Done . Idle & ?Cancel . Turn`, in parallel with `*( !Look . ?reply . End )`, as
/// the agent sees it, with what closing the diamond adds.
struct Agent {
    checker: Checker,
    prompt: Exchange,
    cancel: MessageIndex,
    look: Exchange,
}

const IDLE: StateIndex = Role::START;

fn agent_from(state: Option<&str>) -> Agent {
    let mut tables = Tables::default();
    let (prompt, look) = (tables.request("prompt"), tables.request("look"));
    let cancel = tables.notification("cancel");
    let spawn = (Send, look.request, To::Spawn("Looking"));
    let idle = [(Receive, prompt.request, To::Step("Turn")), (Receive, cancel, To::Step("Idle")), spawn];
    tables.state("Idle", StateKind::Linear, &idle);
    let turn = [
        (Send, prompt.reply, To::Step("Idle")),
        (Send, prompt.refusal, To::Step("Idle")),
        (Receive, cancel, To::Step("Turn")),
        spawn,
    ];
    tables.state("Turn", StateKind::Linear, &turn);
    let leaving = [(Receive, cancel, To::Step("Leaving")), spawn];
    tables.state("Leaving", StateKind::Linear, &leaving);
    tables.answer("Looking", Receive, look);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build_closed(Side::Server, &[("Idle", cancel), ("Leaving", cancel)]);
    let checker = match state {
        None => Checker::new(protocol, Side::Server),
        Some(state) => {
            let state = protocol.role(Side::Server).unwrap().by_name(state).unwrap();
            Checker::resume(protocol, Side::Server, state)
        }
    };
    Agent { checker: checker.unwrap(), prompt, cancel, look }
}

fn agent() -> Agent {
    agent_from(None)
}

impl Agent {
    fn turn(&mut self, number: i64) {
        assert_eq!(self.checker.ask(Receive, self.prompt.request, number).unwrap(), linear(0, 1));
        assert_eq!(self.checker.answer(Send, number, self.prompt.reply).unwrap(), linear(1, 0));
    }

    fn cancel(&mut self) -> Result<StepKind, ViolationKind> {
        self.checker.tell(Receive, self.cancel).map_err(|violation| violation.kind.clone())
    }
}

#[test]
fn a_message_that_crosses_a_step_is_late_in_the_state_that_it_finds() {
    let mut agent = agent();
    agent.turn(1);
    let late = Late { state: IDLE, crossed: Some(agent.prompt.reply), over: false };
    assert_eq!(agent.cancel(), Ok(StepKind::Late(late)));
    agent.checker.ask(Receive, agent.prompt.request, 2).unwrap();
    assert_eq!(agent.cancel(), Ok(linear(1, 1)), "here it is a step");
}

#[test]
fn nothing_is_late_where_no_step_was_taken_that_it_could_have_crossed() {
    let mut agent = agent();
    assert_eq!(agent.cancel(), Err(ViolationKind::NotPermitted));
    agent.checker.set_ordered(false);
    assert!(
        is_late(agent.cancel().unwrap()),
        "without order a message may come before the state that it is for"
    );
}

#[test]
fn the_reply_to_a_request_that_was_written_after_a_step_ends_the_lateness() {
    for written_after in [false, true] {
        let mut agent = agent();
        if !written_after {
            agent.checker.ask(Send, agent.look.request, 10).unwrap();
        }
        agent.turn(1);
        if written_after {
            agent.checker.ask(Send, agent.look.request, 10).unwrap();
        }
        assert!(is_late(agent.cancel().unwrap()), "the request alone proves nothing");
        agent.checker.answer(Receive, 10, agent.look.refusal).unwrap();
        if written_after {
            assert_eq!(agent.cancel(), Err(ViolationKind::NotPermitted));
        } else {
            assert!(is_late(agent.cancel().unwrap()), "who answers may not have heard of the step");
        }
    }
}

#[test]
fn no_reply_ends_the_lateness_where_messages_overtake_one_another() {
    let mut agent = agent();
    agent.checker.set_ordered(false);
    agent.turn(1);
    agent.checker.ask(Send, agent.look.request, 10).unwrap();
    agent.checker.answer(Receive, 10, agent.look.reply).unwrap();
    assert!(is_late(agent.cancel().unwrap()));
}

#[test]
fn what_was_on_its_way_when_a_session_is_taken_over_is_late() {
    let mut agent = agent_from(Some("Leaving"));
    assert!(is_late(agent.cancel().unwrap()), "the step that it crosses is unknown");
    agent.checker.ask(Send, agent.look.request, 10).unwrap();
    agent.checker.answer(Receive, 10, agent.look.reply).unwrap();
    assert_eq!(agent.cancel(), Err(ViolationKind::NotPermitted));
}

/// `*( !watch . ?reply . rec w . ( ?changed . w & ?ask . !reply . w & !leave . End ) )`, from the client's side.
struct Watching {
    checker: Checker,
    watch: Exchange,
    changed: MessageIndex,
    ask: Exchange,
    leave: MessageIndex,
}

const KEY: KeyIndex = KeyIndex(0);

fn watching(limits: Limits) -> Watching {
    let mut tables = Tables::default();
    let (watch, ask) = (tables.request("watch"), tables.request("ask"));
    let (changed, leave) = (tables.notification("changed"), tables.notification("leave"));
    tables.key("uri", false, &[watch.request, changed, ask.request, leave]);
    tables.state("Active", StateKind::Replicated, &[(Send, watch.request, To::Spawn("Opening"))]);
    let opening = [(Receive, watch.reply, To::Step("Watched")), (Receive, watch.refusal, To::Step("End"))];
    tables.state("Opening", StateKind::Linear, &opening);
    let watched = [
        (Receive, changed, To::Step("Watched")),
        (Receive, ask.request, To::Step("Asked")),
        (Send, leave, To::Step("End")),
    ];
    tables.state("Watched", StateKind::Linear, &watched);
    let asked = [(Send, ask.reply, To::Step("Watched")), (Send, ask.refusal, To::Step("Watched"))];
    tables.state("Asked", StateKind::Linear, &asked);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build(Side::Client);
    let checker = Checker::new(protocol, Side::Client).unwrap().with_limits(limits);
    Watching { checker, watch, changed, ask, leave }
}

impl Watching {
    fn watch(&mut self, number: i64, uri: &str) {
        let keys = [(KEY, KeyValue::from(uri))];
        let message = self.watch.request;
        accepted(self.checker.request_correlated(
            Send,
            message,
            &id(number),
            None,
            Correlation::keys(&keys),
            never,
        ));
    }

    fn answer(&mut self, number: i64) {
        self.checker.answer(Receive, number, self.watch.reply).unwrap();
    }

    fn leave(&mut self, uri: &str) {
        let leave = self.leave;
        assert_eq!(accepted(self.tell(Send, leave, uri)).kind, ENDED);
    }

    fn tell(&mut self, direction: Direction, message: MessageIndex, uri: &str) -> Result<Step, Violation> {
        let keys = [(KEY, KeyValue::from(uri))];
        self.checker.notification_correlated(
            direction,
            message,
            About::Nothing,
            Correlation::keys(&keys),
            never,
        )
    }

    fn changed(&mut self, uri: &str) -> Result<StepKind, Violation> {
        self.tell(Receive, self.changed, uri).map(|step| step.kind)
    }
}

#[test]
fn what_belongs_to_a_sub_session_that_is_over_is_late_until_a_reply_proves_that_its_end_was_heard() {
    let mut watching = watching(Limits::default());
    watching.watch(1, "a");
    watching.answer(1);
    watching.watch(2, "b");
    watching.leave("a");
    let late = Late { state: StateIndex(2), crossed: Some(watching.leave), over: true };
    assert_eq!(watching.changed("a").unwrap(), StepKind::Late(late));
    watching.answer(2);
    assert_eq!(
        watching.changed("a").unwrap(),
        StepKind::Late(late),
        "that request was written before the end"
    );
    watching.watch(3, "c");
    assert_eq!(watching.changed("a").unwrap(), StepKind::Late(late));
    watching.answer(3);
    let refused = watching.changed("a").unwrap_err();
    assert_eq!(refused.to_string(), "`changed` carries the uri \"a\", and nothing is running under it");
    assert_eq!((refused.strictness(), refused.sender), (Strictness::Must, Side::Server));
}

#[test]
fn a_late_request_is_answered_with_an_error_and_its_id_is_spent() {
    let mut watching = watching(Limits::default());
    watching.watch(1, "a");
    watching.answer(1);
    watching.leave("a");
    let keys = [(KEY, KeyValue::from("a"))];
    let (ask, correlation) = (watching.ask, Correlation::keys(&keys));
    let late =
        accepted(watching.checker.request_correlated(Receive, ask.request, &id(1), None, correlation, never));
    assert!(is_late(late.kind));
    assert_eq!(watching.checker.answer(Send, 1, ask.refusal).unwrap(), StepKind::Swallowed);
    let again = watching
        .checker
        .request_correlated(Receive, ask.request, &id(1), None, correlation, never)
        .unwrap_err();
    assert!(matches!(again.kind, ViolationKind::DuplicateId { .. }));
}

#[test]
fn what_crosses_the_end_and_the_opening_of_the_next_is_late_until_that_is_answered() {
    let mut watching = watching(Limits::default());
    watching.watch(1, "a");
    watching.answer(1);
    watching.leave("a");
    watching.watch(2, "a");
    assert!(is_late(watching.changed("a").unwrap()));
    watching.answer(2);
    assert_eq!(watching.changed("a").unwrap(), StepKind::SubSession { ended: false });
}

#[test]
fn a_value_that_is_forgotten_while_it_could_be_late_is_unknown_and_not_wrong() {
    for (ordered, strictness) in [(true, Strictness::Must), (false, Strictness::Should)] {
        let limits = Limits { remembered: 2, ..Limits::default() };
        let mut watching = watching(limits);
        watching.checker.set_ordered(ordered);
        for (number, uri) in [(1, "a"), (2, "b"), (3, "c")] {
            watching.watch(number, uri);
            watching.answer(number);
            watching.leave(uri);
        }
        assert!(is_late(watching.changed("c").unwrap()));
        let unknown = watching.changed("a").unwrap_err();
        assert!(matches!(unknown.kind, ViolationKind::UnknownKey { .. }));
        // The request for "c" was written after the end of "a", and answered.
        assert_eq!(unknown.strictness(), strictness, "{unknown}");
        // A value that has not been in use is not another case: nothing distinguishes them.
        assert_eq!(watching.changed("z").unwrap_err().strictness(), strictness);
    }
}

#[test]
fn texts_count_in_bytes_and_what_is_too_long_is_unknown() {
    let limits = Limits { remembered_bytes: 16, ..Limits::default() };
    let mut watching = watching(limits);
    let long = "a value that is longer than all that may be remembered";
    watching.watch(1, long);
    watching.answer(1);
    watching.leave(long);
    assert_eq!(watching.changed(long).unwrap_err().strictness(), Strictness::Should);
    watching.watch(2, "b");
    watching.answer(2);
    assert_eq!(watching.changed(long).unwrap_err().strictness(), Strictness::Must, "it was heard of by then");
}
