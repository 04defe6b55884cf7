//! Random protocols, random messages, good and bad: the checker and the slow model agree at every step.

use std::thread;

use crate::checker::tests::model::{Model, applying};
use crate::checker::tests::random::Random;
use crate::checker::tests::tables::{EdgeTo, Tables, To};
use crate::protocol::{Direction, GateIndex, Holder, Kind, MessageIndex, Protocol, Side, StateKind};
use crate::{About, Capabilities, Checker, RequestId, StepKind, ViolationKind};

const LINEAR: [&str; 7] = ["S0", "S1", "S2", "S3", "S4", "S5", "S6"];
const FORKS: [&str; 2] = ["F0", "F1"];
const BODIES: [&str; 4] = ["B0", "B1", "B2", "B3"];

/// Tables without any sense in them: only their form is right.
fn random_protocol(random: &mut Random, side: Side) -> Protocol {
    let mut tables = Tables::default();
    let (mut openers, mut rest) = (vec![], vec![]);
    for method in ["ask", "call", "work"] {
        let exchange = tables.request(method);
        tables.edit(exchange.request).cancellable = random.chance(60);
        openers.push(exchange.request);
        rest.extend([exchange.reply, exchange.refusal]);
    }
    openers.extend([tables.notification("note"), tables.notification("news")]);
    let cancels = match random.chance(50) {
        true => tables.cancels("cancelled"),
        false => tables.cancels_with_reply("cancelled"),
    };
    rest.extend([cancels, tables.reports("progress")]);
    let gates = [tables.gate(&["one"]), tables.gate(&["two"])];
    for message in openers.iter().chain(&rest[6..]).copied() {
        while random.chance(20) {
            let holder = match random.below(4) {
                0 => Holder::Side(Side::Client),
                1 => Holder::Side(Side::Server),
                2 => Holder::Sender,
                _ => Holder::Receiver,
            };
            let gate = gates[random.below(2)];
            let condition = random.chance(30).then_some("x");
            tables.requires_when(message, holder, gate, condition, random.chance(40));
        }
    }
    let direction =
        |random: &mut Random| if random.chance(50) { Direction::Send } else { Direction::Receive };
    for name in LINEAR {
        let mut edges: Vec<EdgeTo> = vec![];
        let mut add = |edge: EdgeTo| {
            if !edges.iter().any(|other| (other.0, other.1) == (edge.0, edge.1)) {
                edges.push(edge);
            }
        };
        for _ in 0..1 + random.below(5) {
            let message = openers[random.below(openers.len())];
            let to = match random.below(10) {
                0..=3 => {
                    To::Spawn(if random.chance(15) { "End" } else { BODIES[random.below(BODIES.len())] })
                }
                4 => To::Step(FORKS[random.below(FORKS.len())]),
                5 => To::Step("End"),
                _ => To::Step(LINEAR[random.below(LINEAR.len())]),
            };
            add((direction(random), message, to));
        }
        for _ in 0..random.below(9) {
            let message = rest[random.below(rest.len())];
            add((direction(random), message, To::Step(LINEAR[random.below(LINEAR.len())])));
        }
        let kind = if random.chance(15) { StateKind::Replicated } else { StateKind::Linear };
        let state = tables.state(name, kind, &edges);
        state.may_close = random.chance(30);
        state.peer_may_close = random.chance(30);
        state.reaches_end = random.chance(70);
    }
    for (place, name) in FORKS.into_iter().enumerate() {
        let mut parts = vec![LINEAR[random.below(LINEAR.len())], LINEAR[random.below(LINEAR.len())]];
        if random.chance(30) {
            parts.push("End");
        }
        if place == 1 && random.chance(30) {
            parts[random.below(2)] = FORKS[0];
        }
        tables.fork(name, &parts);
    }
    for name in BODIES {
        let mut edges: Vec<EdgeTo> = vec![];
        for message in rest.iter().copied() {
            if random.chance(70) {
                let to = if random.chance(60) { "End" } else { BODIES[random.below(BODIES.len())] };
                edges.push((direction(random), message, To::Step(to)));
            }
        }
        tables.state(name, StateKind::Linear, &edges);
    }
    tables.state("End", StateKind::End, &[]);
    let mut protocol = tables.build(side);
    protocol.reuses_ids = random.chance(40);
    protocol
}

fn random_id(random: &mut Random) -> RequestId {
    let number = i64::try_from(random.below(40)).unwrap() - 4;
    if random.chance(70) { RequestId::Number(number) } else { format!("t{number}").into() }
}

fn one_of(random: &mut Random, ids: &[RequestId]) -> RequestId {
    if ids.is_empty() || random.chance(15) { random_id(random) } else { ids[random.below(ids.len())].clone() }
}

/// How often each outcome was seen, so that the test knows that it tests something.
#[derive(Default, Debug)]
struct Seen {
    linear: usize,
    forked: usize,
    spawned: usize,
    sub_sessions: usize,
    reported: usize,
    swallowed: usize,
    violations: std::collections::BTreeMap<String, usize>,
}

impl Seen {
    /// What was seen here and there.
    fn and(mut self, other: Seen) -> Seen {
        let Seen { linear, forked, spawned, sub_sessions, reported, swallowed, violations } = other;
        self.linear += linear;
        self.forked += forked;
        self.spawned += spawned;
        self.sub_sessions += sub_sessions;
        self.reported += reported;
        self.swallowed += swallowed;
        for (kind, count) in violations {
            *self.violations.entry(kind).or_default() += count;
        }
        self
    }

    fn note(&mut self, outcome: &Result<StepKind, ViolationKind>) {
        match outcome {
            Ok(StepKind::Linear { .. }) => self.linear += 1,
            Ok(StepKind::Spawned { .. }) => self.spawned += 1,
            Ok(StepKind::SubSession { .. }) => self.sub_sessions += 1,
            Ok(StepKind::Reported) => self.reported += 1,
            Ok(StepKind::Swallowed) => self.swallowed += 1,
            Ok(StepKind::Late(late)) => panic!("no state of these tables was closed: {late:?}"),
            Ok(StepKind::Closed) => {}
            Err(kind) => {
                let name = format!("{kind:?}").split([' ', '{', '(']).next().unwrap_or_default().to_owned();
                *self.violations.entry(name).or_default() += 1;
            }
        }
    }
}

fn walk(seed: u64, length: usize, seen: &mut Seen) {
    let random = &mut Random::new(seed);
    let side = if random.chance(50) { Side::Client } else { Side::Server };
    let protocol = random_protocol(random, side);
    let mut model = Model::new(protocol.clone(), side);
    let mut checker = Checker::new(protocol.clone(), side).unwrap();
    for step in 0..length {
        let direction = if random.chance(50) { Direction::Send } else { Direction::Receive };
        if random.chance(4) {
            let side = if random.chance(50) { Side::Client } else { Side::Server };
            let gates: Vec<GateIndex> = (0..2).map(GateIndex).filter(|_| random.chance(75)).collect();
            model.granted.retain(|(holder, _)| *holder != side);
            model.granted.extend(gates.iter().map(|gate| (side, *gate)));
            checker.announce(side, Capabilities::from_gates(gates));
        }
        if random.chance(1) && step > length / 2 {
            model.closed = true;
            checker.close();
        }
        // Half of the time something good, so that the walk gets somewhere.
        let permitted = model.permitted(direction);
        let message = if permitted.is_empty() || random.chance(40) {
            MessageIndex(u16::try_from(random.below(protocol.messages.len())).unwrap())
        } else {
            permitted[random.below(permitted.len())]
        };
        let applies = random.chance(30);
        let fits = applying(applies);
        let (expected, got) = match protocol.messages[usize::from(message.0)].kind {
            Kind::Request => {
                let id = random_id(random);
                let token = random.chance(50).then(|| random_id(random));
                let expected = model.request(direction, message, &id, token.as_ref(), applies);
                (expected, checker.request(direction, message, &id, token, fits))
            }
            Kind::Notification => {
                let named = match random.below(3) {
                    0 => one_of(random, &model.held()),
                    1 => one_of(random, &model.ids(direction.flip())),
                    _ => one_of(random, &model.ids(direction)),
                };
                let about = match random.below(5) {
                    0 => About::Nothing,
                    1 | 2 => About::Request(&named),
                    _ => About::Token(&named),
                };
                let expected = model.notification(direction, message, about, applies);
                (expected, checker.notification(direction, message, about, fits))
            }
            Kind::Reply { .. } | Kind::Refusal { .. } => {
                let ids = model.ids(direction.flip());
                let fitting = ids.iter().filter(|id| model.clone().reply(direction, id, message).is_ok());
                let fitting: Vec<RequestId> = fitting.cloned().collect();
                let id = if random.chance(70) { one_of(random, &fitting) } else { one_of(random, &ids) };
                (model.reply(direction, &id, message), checker.reply(direction, &id, message))
            }
        };
        let cancels = protocol.messages[usize::from(message.0)].cancels.is_some();
        if cancels && expected == Ok(StepKind::Reported) {
            // What was cancelled and runs on may be cancelled once only.
            let again = model.cancelled(direction).unwrap();
            let about = About::Request(&again);
            let twice = checker.notification(direction, message, about, applying(applies)).unwrap_err();
            assert_eq!(model.notification(direction, message, about, applies), Err(twice.kind.clone()));
            seen.note(&Err(twice.kind.clone()));
        }
        let context = || format!("seed {seed}, step {step}, {direction:?} {message:?}");
        if let Err(violation) = &got {
            assert_eq!(violation.sender == side, direction == Direction::Send, "{}", context());
            assert!(!violation.to_string().is_empty());
        }
        let got = got.map(|step| step.kind).map_err(|violation| violation.kind.clone());
        assert_eq!(got, expected, "{}", context());
        seen.note(&got);
        seen.forked += usize::from(checker.states().len() > 1);
        assert_eq!(checker.states(), model.states(), "{}", context());
        assert_eq!(checker.quiescent(), model.may_close(true), "{}", context());
        assert_eq!(checker.peer_may_close(), model.may_close(false), "{}", context());
        let id = random_id(random);
        for direction in [Direction::Send, Direction::Receive] {
            assert_eq!(checker.running(direction), model.count(direction), "{}", context());
            assert_eq!(checker.awaiting(direction, &id), model.awaiting(direction, &id), "{}", context());
            if step % 6 == 0 && !model.closed {
                let permitted = model.permitted(direction);
                assert_eq!(checker.permitted(direction), permitted, "{}", context());
                for (index, _) in protocol.indexed() {
                    let permits = checker.permits(direction, index).is_ok();
                    assert_eq!(permits, permitted.contains(&index), "{} asks {index:?}", context());
                    assert_eq!(
                        checker.is_permitted(direction, index),
                        permits,
                        "{} asks {index:?}",
                        context()
                    );
                }
            }
        }
    }
}

#[test]
fn the_checker_and_the_slow_model_agree() {
    // This takes longer than all other tests of the crate, so the seeds are shared out to the processors.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let seen = thread::scope(|scope| {
        let share = |first: usize| {
            scope.spawn(move || {
                let mut seen = Seen::default();
                (1..=300).skip(first).step_by(threads).for_each(|seed| walk(seed, 80, &mut seen));
                seen
            })
        };
        let running: Vec<_> = (0..threads).map(share).collect();
        running.into_iter().fold(Seen::default(), |seen, share| seen.and(share.join().unwrap()))
    });
    println!("{seen:?}");
    for (what, count) in [
        ("linear", seen.linear),
        ("forked", seen.forked),
        ("spawned", seen.spawned),
        ("instances", seen.sub_sessions),
        ("reported", seen.reported),
        ("swallowed", seen.swallowed),
    ] {
        assert!(count > 60, "{what} was seen {count} times only: {seen:?}");
    }
    for kind in [
        "NotPermitted",
        "NotNegotiated",
        "DuplicateId",
        "UnknownId",
        "SecondReply",
        "WrongReply",
        "UnknownToken",
        "RequestUnnamed",
        "NotRunning",
        "NotYours",
        "NotCancellable",
        "CancelledTwice",
    ] {
        assert!(
            seen.violations.get(kind).is_some_and(|count| *count > 10),
            "{kind} was hardly seen: {seen:?}"
        );
    }
}
