//! An accepted message allocates nothing once the tables of running exchanges have grown.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::borrow::Cow;

use allocation_counter::measure;
use mcp_protocol_machine::protocol::{
    Action, Cancels, Direction, Edge, Gate, GateIndex, Holder, Message, MessageIndex, Origin, Payload,
    Protocol, Reports, Requirement, Role, Side, State, StateIndex, StateKind, Text,
};
use mcp_protocol_machine::{
    About, Capabilities, Checker, Limits, RequestId, Step, StepKind, Token, Violation,
};

const GREET: MessageIndex = MessageIndex(0);
const GREETED: MessageIndex = MessageIndex(1);
const GREET_ERROR: MessageIndex = MessageIndex(2);
const CALL: MessageIndex = MessageIndex(3);
const RESULT: MessageIndex = MessageIndex(4);
const CALL_ERROR: MessageIndex = MessageIndex(5);
const ASK: MessageIndex = MessageIndex(6);
const ANSWER: MessageIndex = MessageIndex(7);
const ASK_ERROR: MessageIndex = MessageIndex(8);
const TURN: MessageIndex = MessageIndex(9);
const LOG: MessageIndex = MessageIndex(10);
const CANCELLED: MessageIndex = MessageIndex(11);
const PROGRESS: MessageIndex = MessageIndex(12);

const DAY: StateIndex = StateIndex(0);
const NIGHT: StateIndex = StateIndex(1);
const WAITING: StateIndex = StateIndex(2);
const CALLING: StateIndex = StateIndex(3);
const ASKED: StateIndex = StateIndex(4);
const END: StateIndex = StateIndex(5);

/// What the server must have announced for a call and for a log line.
static NEEDS: [Requirement; 1] = [Requirement::new(Holder::Side(Side::Server), GateIndex(0))];
static GATES: [Gate; 1] = [Gate::at(&[Cow::Borrowed("tools")])];
static REQUEST_ID: [Text; 1] = [Cow::Borrowed("requestId")];
static TOKEN: [Text; 1] = [Cow::Borrowed("progressToken")];

/// A client's session: linear steps back and forth, with calls both ways and log lines in parallel.
fn protocol() -> Protocol {
    const NOTHING: Payload = Payload::None;
    let mut messages = Message::with_methods([
        Message::request("Greet", "greet").payload(NOTHING),
        Message::reply("Greeted", GREET).payload(NOTHING),
        Message::refusal("GreetError", GREET),
        Message::request("Call", "call").payload(NOTHING),
        Message::reply("Result", CALL).payload(NOTHING),
        Message::refusal("CallError", CALL),
        Message::request("Ask", "ask").payload(NOTHING),
        Message::reply("Answer", ASK).payload(NOTHING),
        Message::refusal("AskError", ASK),
        Message::notification("Turn", "turn").payload(NOTHING),
        Message::notification("Log", "log").payload(NOTHING),
        Message::notification("Cancelled", "cancelled").payload(NOTHING),
        Message::notification("Progress", "progress").payload(NOTHING),
    ]);
    for message in &mut messages {
        match &*message.name {
            "Call" => {
                message.requires = Cow::Borrowed(&NEEDS);
                message.cancellable = true;
            }
            "Log" => message.requires = Cow::Borrowed(&NEEDS),
            "Cancelled" => message.cancels = Some(Cancels::new(Cow::Borrowed(&REQUEST_ID), None)),
            "Progress" => {
                let of = vec![Cow::Borrowed(&TOKEN[..])].into();
                message.reports = Some(Reports::new(Cow::Borrowed(&TOKEN), of));
            }
            _ => {}
        }
    }
    let states = vec![
        with_sub_sessions("Day", &[send(GREET, WAITING), send(TURN, NIGHT)]),
        with_sub_sessions("Night", &[receive(TURN, DAY)]),
        with_sub_sessions("Waiting", &[receive(GREETED, DAY), receive(GREET_ERROR, DAY)]),
        state("Calling", StateKind::Linear, vec![receive(RESULT, END), receive(CALL_ERROR, END)]),
        state("Asked", StateKind::Linear, vec![send(ANSWER, END), send(ASK_ERROR, END)]),
        state("End", StateKind::End, vec![]),
    ];
    let mut protocol = Protocol::new("Small".into(), messages.to_vec().into()).gates(&GATES);
    protocol.client = Some(Role::new("Client".into(), states.into()));
    protocol
}

fn send(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::send(message, Action::Step(to), Origin::Written)
}

fn receive(message: MessageIndex, to: StateIndex) -> Edge {
    Edge::receive(message, Action::Step(to), Origin::Written)
}

fn state(name: &'static str, kind: StateKind, mut edges: Vec<Edge>) -> State {
    edges.sort_by_key(|edge| (edge.direction, edge.message));
    State::new(name.into(), kind, edges.into())
}

/// A state of the linear channel, with calls, questions and log lines in parallel.
fn with_sub_sessions(name: &'static str, edges: &[Edge]) -> State {
    let replicated = [
        Edge::send(CALL, Action::Spawn(CALLING), Origin::Written),
        Edge::receive(ASK, Action::Spawn(ASKED), Origin::Written),
        Edge::receive(LOG, Action::Spawn(END), Origin::Written),
    ];
    state(name, StateKind::Linear, [edges, &replicated].concat())
}

/// A session in which the server has announced everything, and the ids that come next in it.
struct Followed {
    checker: Checker,
    id: i64,
}

impl Followed {
    fn new() -> Followed {
        let mut checker = Checker::new(protocol(), Side::Client).unwrap().with_limits(LIMITS);
        checker.announce(Side::Server, Capabilities::from_gates([GateIndex(0)]));
        Followed { checker, id: 0 }
    }

    fn ask(&mut self, direction: Direction, message: MessageIndex, token: Option<Token>) -> RequestId {
        self.id += 1;
        let id = RequestId::Number(self.id);
        accepted(self.checker.request(direction, message, &id, token, |_| false));
        id
    }

    fn tell(&mut self, direction: Direction, message: MessageIndex, about: About<'_>) -> StepKind {
        accepted(self.checker.notification(direction, message, about, |_| false))
    }

    fn answer(&mut self, direction: Direction, id: &RequestId, message: MessageIndex) -> StepKind {
        accepted(self.checker.reply(direction, id, message))
    }
}

fn accepted(moved: Result<Step, Violation>) -> StepKind {
    moved.unwrap().kind
}

/// What is remembered of finished exchanges: little, so that a few rounds fill it and make it forget the oldest.
const LIMITS: Limits = Limits { running: 128, remembered: 32, remembered_bytes: 1_024 };

/// How many sessions do the same: each has hashes of its own, and with them places in its tables.
const SESSIONS: usize = 100;

/// How often a hundred rounds allocate in each of many sessions, after enough of them that every table has its size.
fn allocations_of(round: impl FnMut(&mut Followed)) -> u64 {
    allocations_of_rounds(100, round)
}

/// The same for some rounds, after twice as many.
fn allocations_of_rounds(rounds: usize, mut round: impl FnMut(&mut Followed)) -> u64 {
    let allocations = |_| {
        let mut session = Followed::new();
        for _ in 0..2 * rounds {
            round(&mut session);
        }
        let counted = measure(|| {
            for _ in 0..rounds {
                round(&mut session);
            }
        });
        counted.count_total
    };
    (0..SESSIONS).map(allocations).sum()
}

#[test]
fn an_accepted_notification_allocates_nothing() {
    use Direction::{Receive, Send};
    let linear = allocations_of(|session| {
        assert_eq!(session.tell(Send, TURN, About::Nothing), StepKind::Linear { from: DAY, to: NIGHT });
        assert_eq!(session.tell(Receive, TURN, About::Nothing), StepKind::Linear { from: NIGHT, to: DAY });
    });
    assert_eq!(linear, 0, "a step of the linear channel");
    let replicated = allocations_of(|session| {
        assert_eq!(
            session.tell(Receive, LOG, About::Nothing),
            StepKind::Spawned { state: END, within: None }
        );
    });
    assert_eq!(replicated, 0, "one of a replicated channel, behind a gate");
}

#[test]
fn an_accepted_request_and_its_reply_allocate_nothing() {
    use Direction::{Receive, Send};
    let ended = StepKind::SubSession { ended: true };
    let sent = allocations_of(|session| {
        let id = session.ask(Send, CALL, None);
        assert_eq!(session.answer(Receive, &id, RESULT), ended);
    });
    assert_eq!(sent, 0, "a call of this side");
    let received = allocations_of(|session| {
        let id = session.ask(Receive, ASK, None);
        assert_eq!(session.answer(Send, &id, ANSWER), ended);
    });
    assert_eq!(received, 0, "a question of the peer");
    let refused = allocations_of(|session| {
        let id = session.ask(Send, CALL, None);
        assert_eq!(session.answer(Receive, &id, CALL_ERROR), ended);
    });
    assert_eq!(refused, 0, "a call that the peer refuses");
    let linear = allocations_of(|session| {
        let id = session.ask(Send, GREET, None);
        assert_eq!(session.answer(Receive, &id, GREETED), StepKind::Linear { from: WAITING, to: DAY });
    });
    assert_eq!(linear, 0, "a request of the linear channel");
}

#[test]
fn many_exchanges_at_once_allocate_nothing() {
    use Direction::{Receive, Send};
    // Each round is that of sixty-four exchanges, so fewer rounds are needed.
    let crowded = allocations_of_rounds(20, |session| {
        let first = session.id + 1;
        for _ in 0..64 {
            session.ask(Send, CALL, None);
        }
        // The newest is answered first: the order must cost nothing either.
        for number in (first..=session.id).rev() {
            session.answer(Receive, &RequestId::Number(number), RESULT);
        }
    });
    assert_eq!(crowded, 0);
}

#[test]
fn reports_and_cancellations_allocate_nothing() {
    use Direction::{Receive, Send};
    let reported = allocations_of(|session| {
        let token = Token::Number(session.id);
        let id = session.ask(Send, CALL, Some(token.clone()));
        assert_eq!(session.tell(Receive, PROGRESS, About::Token(&token)), StepKind::Reported);
        session.answer(Receive, &id, RESULT);
        assert_eq!(session.tell(Receive, PROGRESS, About::Token(&token)), StepKind::Swallowed);
    });
    assert_eq!(reported, 0, "a call with a report in time and one that is late");
    let cancelled = allocations_of(|session| {
        let id = session.ask(Send, CALL, None);
        let ended = StepKind::SubSession { ended: true };
        assert_eq!(session.tell(Send, CANCELLED, About::Request(&id)), ended);
        assert_eq!(session.answer(Receive, &id, RESULT), StepKind::Swallowed);
    });
    assert_eq!(cancelled, 0, "a cancelled call, and its late reply");
    let silent = allocations_of(|session| {
        let id = session.ask(Send, CALL, None);
        session.tell(Send, CANCELLED, About::Request(&id));
    });
    assert_eq!(silent, 0, "a cancelled call, and no reply");
}

/// The counter counts: what is refused is reported, and a report is made of texts.
#[test]
fn a_violation_allocates() {
    let refused = allocations_of(|session| {
        let moved = session.checker.notification(Direction::Receive, TURN, About::Nothing, |_| false);
        assert!(moved.is_err());
    });
    assert!(refused >= 100, "{refused}");
}
