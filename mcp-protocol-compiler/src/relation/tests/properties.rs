//! Properties of the relations on random automata, judged by the oracle.
//!
//! Each case is made from a number, which a failing test prints.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, Origin, Side, StateIndex, StateKind};

use super::notation::{automaton, flip, messages, show};
use super::random::{
    Random, Shape, change_body, channels_are_apart, client, disturb, dual, interleave, loosen, mutate,
    share_ends, vocabulary,
};
use crate::automaton::{Automaton, State};
use crate::declarations::Message;
use crate::relation::tests::oracle::{CROWDED, Oracle, Verdict};
use crate::relation::{CLOSED, PRODUCT_LIMIT, TOO_MANY, Wanted, close, races, relate};

/// How many cases a property is held against: `RELATION_CASES`, by default few, because every change waits for them.
/// Cases are counted from `RELATION_SEED`, which is 0.
fn cases() -> u64 {
    number("RELATION_CASES").unwrap_or(if cfg!(debug_assertions) { 100 } else { 6_000 })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Whether there are too few cases to expect something of their shares: a failing one runs again alone.
fn are_few() -> bool {
    cases() < 100
}

/// The seeds of so many cases.
fn seeds(cases: u64) -> std::ops::Range<u64> {
    let first = number("RELATION_SEED").unwrap_or(0);
    println!("seeds {first}..{}", first + cases);
    first..first + cases
}

/// A client and a server that may be related.
fn roles(random: &mut Random) -> (Automaton, Automaton) {
    let shape = Shape::any(random);
    let one = client(random, shape);
    let written = dual(random, &one);
    let mut other = written.clone();
    match random.below(7) {
        0 => {}
        1 => mutate(random, &mut other),
        2 | 3 => loosen(random, &mut other),
        4 => other = interleave(&other),
        5 => change_body(random, &mut other),
        _ => {
            other = interleave(&other);
            loosen(random, &mut other);
        }
    }
    if random.percent(20) {
        disturb(random, &mut other);
    }
    // Channels side by side never share messages; an invalid change is undone.
    let other = if channels_are_apart(&other) { other } else { written };
    (one, other)
}

fn related(one: &Automaton, other: &Automaton, messages: &[Message], wanted: Wanted) -> bool {
    relate(one, other, messages, wanted, PRODUCT_LIMIT).is_empty()
}

fn both(one: &Automaton, other: &Automaton, messages: &[Message]) -> String {
    format!("client: {}\nserver: {}", show(one, messages), show(other, messages))
}

/// Duality by its definition, on whole configurations: no groups, no classes.
fn dual_by_definition(client: &Automaton, server: &Automaton) -> bool {
    type At = Vec<StateIndex>;
    fn expand(role: &Automaton, target: StateIndex) -> At {
        let state = &role.states[target.0 as usize];
        if state.kind != StateKind::Fork {
            return vec![target];
        }
        let mut all: At = state.parts.iter().flat_map(|&part| expand(role, part)).collect();
        all.sort();
        all
    }
    type Line = (Direction, u16, bool);
    fn edges(role: &Automaton, at: &At, flipped: bool) -> Vec<(Line, StateIndex, Action)> {
        let mut list = Vec::new();
        for &from in at {
            for edge in &role.states[from.0 as usize].edges {
                let way = if flipped { edge.direction.flip() } else { edge.direction };
                let line = (way, edge.message.0, matches!(edge.action, Action::Spawn(_)));
                list.push((line, from, edge.action));
            }
        }
        list.sort_by_key(|(line, _, _)| *line);
        list.dedup_by_key(|(line, _, _)| *line);
        list
    }
    fn next(role: &Automaton, at: &At, from: StateIndex, action: Action) -> At {
        match action {
            Action::Spawn(body) => expand(role, body),
            Action::Step(target) => {
                let mut rest = at.clone();
                let place = rest.iter().position(|&other| other == from).unwrap();
                rest.remove(place);
                rest.extend(expand(role, target));
                rest.sort();
                rest
            }
        }
    }
    fn may_close(role: &Automaton, at: &At, own: bool) -> bool {
        let states: Vec<_> = at.iter().map(|state| &role.states[state.0 as usize]).collect();
        let mut able = states.iter().filter(|state| {
            state.kind == StateKind::End || state.kind == StateKind::Linear && state.reaches_end
        });
        let offered = |flag: bool, kind| kind == StateKind::End || flag;
        let linear = states.iter().any(|state| state.kind == StateKind::Linear);
        let some = able.clone().next().is_some();
        let all =
            able.all(|state| offered(if own { state.may_close } else { state.peer_may_close }, state.kind));
        if some { all } else { !linear }
    }
    let start = (expand(client, StateIndex(0)), expand(server, StateIndex(0)), false);
    let mut seen = HashSet::from([start.clone()]);
    let mut waiting = vec![start];
    while let Some((one, other, body)) = waiting.pop() {
        let (ours, theirs) = (edges(client, &one, false), edges(server, &other, true));
        let suspended = |role: &Automaton, at: &At, direction: Direction| {
            at.iter().any(|state| role.states[state.0 as usize].only.suspends(direction))
        };
        let ways = [(Direction::Send, Direction::Receive), (Direction::Receive, Direction::Send)];
        if ways.into_iter().any(|(way, back)| suspended(client, &one, way) != suspended(server, &other, back))
        {
            return false;
        }
        let lines =
            |list: &[(Line, StateIndex, Action)]| list.iter().map(|(line, _, _)| *line).collect::<Vec<_>>();
        if lines(&ours) != lines(&theirs) {
            return false;
        }
        if !body
            && (may_close(client, &one, true) != may_close(server, &other, false)
                || may_close(client, &one, false) != may_close(server, &other, true))
        {
            return false;
        }
        for ((line, from, action), (_, others_from, others_action)) in ours.iter().zip(&theirs) {
            let after = (
                next(client, &one, *from, *action),
                next(server, &other, *others_from, *others_action),
                body || line.2,
            );
            if seen.insert(after.clone()) {
                waiting.push(after);
            }
        }
    }
    true
}

#[test]
fn every_automaton_relates_to_its_dual() {
    let messages = vocabulary();
    for seed in seeds(cases()) {
        let mut random = Random::new(seed);
        let shape = Shape::any(&mut random);
        let one = client(&mut random, shape);
        let other = dual(&mut random, &one);
        for wanted in [Wanted::Dual, Wanted::Compatible] {
            assert!(
                related(&one, &other, &messages, wanted),
                "seed {seed}, {wanted:?}\n{}",
                both(&one, &other, &messages)
            );
        }
        assert!(
            related(&one, &interleave(&other), &messages, Wanted::Dual),
            "seed {seed}, interleaved\n{}",
            both(&one, &interleave(&other), &messages)
        );
    }
}

#[test]
fn dual_is_what_its_definition_says() {
    let messages = vocabulary();
    let mut counts = [0u64, 0];
    for seed in seeds(2 * cases()) {
        let mut random = Random::new(seed);
        let (one, other) = roles(&mut random);
        let expected = dual_by_definition(&one, &other);
        counts[usize::from(expected)] += 1;
        assert_eq!(
            related(&one, &other, &messages, Wanted::Dual),
            expected,
            "seed {seed}\n{}",
            both(&one, &other, &messages)
        );
    }
    assert!(are_few() || counts.iter().all(|count| *count > cases() / 6), "{counts:?}");
}

#[test]
fn dual_implies_compatible() {
    let messages = vocabulary();
    for seed in seeds(2 * cases()) {
        let mut random = Random::new(seed);
        let (one, other) = roles(&mut random);
        if related(&one, &other, &messages, Wanted::Dual) {
            let compatible = related(&one, &other, &messages, Wanted::Compatible);
            assert!(compatible, "seed {seed}\n{}", both(&one, &other, &messages));
        }
    }
}

/// What became of many cases.
#[derive(Debug, Default)]
struct Counts {
    unrelated: u64,
    raced: u64,
    accepted: u64,
    cut_short: u64,
}

fn safety(seeds: std::ops::Range<u64>, wanted: Wanted) -> Counts {
    let messages = vocabulary();
    let mut counts = Counts::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let (mut one, mut other) = roles(&mut random);
        if !related(&one, &other, &messages, wanted) {
            counts.unrelated += 1;
            continue;
        }
        let written = both(&one, &other, &messages);
        let crossings = close(&one, &other, &messages);
        let races = crossings.races(&messages);
        let closed = crossings.receive(&mut one, &mut other, &messages);
        assert!(closed.diagnostics.iter().all(|found| found.code == CLOSED || found.code == TOO_MANY));
        if !races.is_empty() {
            counts.raced += 1;
            continue;
        }
        counts.accepted += 1;
        let bound = 1 + random.below(3);
        let oracle = Oracle { client: &one, server: &other, messages: &messages, bound, worlds: 1_000 };
        match oracle.judge() {
            Verdict::Safe => {}
            Verdict::Unknown => counts.cut_short += 1,
            Verdict::Unsafe(what) => panic!("seed {seed}, bound {bound}: {what}\nwritten:\n{written}"),
        }
    }
    // Where the oracle gave up it has found nothing wrong as far as it came; most cases must be seen to their end.
    assert!(are_few() || counts.cut_short * 3 < counts.accepted, "{counts:?}");
    counts
}

#[test]
fn dual_roles_with_the_diamond_are_safe() {
    let counts = safety(seeds(cases()), Wanted::Dual);
    assert!(are_few() || counts.accepted > cases() / 10, "{counts:?}");
    println!("{counts:?}");
}

#[test]
fn compatible_roles_with_the_diamond_are_safe() {
    let counts = safety(seeds(2 * cases()), Wanted::Compatible);
    assert!(are_few() || counts.accepted > cases() / 5, "{counts:?}");
    let crowded = CROWDED.load(Ordering::Relaxed);
    assert!(are_few() || crowded > 50, "there were two instances in {crowded} worlds only");
    println!("{counts:?}, two instances in {crowded} worlds");
}

#[test]
fn which_ends_are_one_state_and_how_channels_are_ordered_changes_no_verdict() {
    let messages = vocabulary();
    let mut raced = 0u64;
    for seed in seeds(cases()) {
        let mut random = Random::new(seed);
        let shape = Shape { forks: true, shared_ends: false, ..Shape::any(&mut random) };
        let apart = client(&mut random, shape);
        let mut shared = apart.clone();
        share_ends(&mut shared, |_| true);
        let verdict = |one: &Automaton, other: &Automaton| {
            let related = related(one, other, &messages, Wanted::Dual);
            (related, close(one, other, &messages).races(&messages).is_empty())
        };
        let expected = verdict(&apart, &flip(&apart));
        raced += u64::from(!expected.1);
        for (one, other) in [
            (&apart, dual(&mut random, &apart)),
            (&shared, flip(&shared)),
            (&shared, dual(&mut random, &shared)),
            (&apart, dual(&mut random, &shared)),
        ] {
            let (got, both) = (verdict(one, &other), both(one, &other, &messages));
            assert_eq!(
                got,
                expected,
                "seed {seed}\n{both}\nwhere it should be as in\n{}",
                show(&apart, &messages)
            );
        }
    }
    assert!(are_few() || (raced > cases() / 10 && raced < cases() / 10 * 9), "{raced}");
}

#[test]
fn a_race_of_dual_roles_is_real() {
    let messages = vocabulary();
    let (mut real, mut false_alarms) = (0u64, 0u64);
    for seed in seeds(cases()) {
        let mut random = Random::new(seed);
        let shape = Shape { spawns: false, ..Shape::any(&mut random) };
        let mut one = client(&mut random, shape);
        let mut other = flip(&one);
        let crossings = close(&one, &other, &messages);
        let races = crossings.races(&messages);
        if races.is_empty() {
            continue;
        }
        crossings.receive(&mut one, &mut other, &messages);
        let oracle = Oracle { client: &one, server: &other, messages: &messages, bound: 3, worlds: 20_000 };
        match oracle.judge() {
            Verdict::Unsafe(_) => real += 1,
            Verdict::Safe | Verdict::Unknown => {
                false_alarms += 1;
                if false_alarms < 4 {
                    println!("seed {seed}: {:?}\n{}", races[0].message, both(&one, &other, &messages));
                }
            }
        }
    }
    println!("{real} real, {false_alarms} false alarms");
    assert!(
        are_few() || (real > cases() / 10 && false_alarms * 50 < real),
        "{real} real, {false_alarms} false alarms"
    );
}

#[test]
fn closing_adds_edges_to_receive_along_and_twice_is_once() {
    let messages = vocabulary();
    let mut closed_some = 0u64;
    for seed in seeds(cases()) {
        let mut random = Random::new(seed);
        let (mut one, mut other) = roles(&mut random);
        if !related(&one, &other, &messages, Wanted::Compatible) {
            continue;
        }
        let sent = |role: &Automaton| -> Vec<Vec<(MessageIndex, Origin)>> {
            let sends = |state: &State| {
                let edges = state.edges.iter().filter(|edge| edge.direction == Direction::Send);
                edges.map(|edge| (edge.message, edge.origin)).collect()
            };
            // Ends that one role receives late messages at are apart from the others, behind all other states.
            let mut sent: Vec<_> = role.states.iter().map(sends).collect();
            sent.dedup();
            sent
        };
        let written = (sent(&one), sent(&other));
        let crossings = close(&one, &other, &messages);
        let (from, with) = (crossings.client.clone(), crossings.server.clone());
        let first = crossings.receive(&mut one, &mut other, &messages);
        assert!(
            first.added.iter().all(|added| added.edge.direction == Direction::Receive),
            "seed {seed}: a role got an edge to send along\n{}",
            both(&one, &other, &messages)
        );
        for (role, written) in [(&one, written.0), (&other, written.1)] {
            let now = sent(role);
            assert!(
                now.iter().all(|sends| written.contains(sends)),
                "seed {seed}: a state of a role sends something else than before\n{}",
                both(&one, &other, &messages)
            );
        }
        let again = close(&from, &with, &messages);
        assert!(
            (&again.client, &again.server) == (&from, &with),
            "seed {seed}: closing twice is more than closing once\n{}\n{}",
            both(&from, &with, &messages),
            both(&again.client, &again.server, &messages)
        );
        closed_some += u64::from(!first.added.is_empty());
    }
    assert!(are_few() || closed_some > cases() / 15, "{closed_some}");
}

/// Two roles of one channel, in which messages of both cross: the client has steps of its own and so has the server, in
/// any order; each role leaves some out that it might send, and sometimes something is wrong.
fn crossing_roles(random: &mut Random) -> (Automaton, Automaton, Vec<Message>) {
    let (width, height) = (2 + random.below(2), 2 + random.below(2));
    let state = |x: usize, y: usize| y * width + x;
    let (mut client, mut server) = (Vec::new(), Vec::new());
    let (rarely, often) = (random.below(12), 15 + random.below(30));
    let closes = random.percent(30);
    for x in 0..width {
        for y in 0..height {
            let at = state(x, y);
            let steps = [
                ('!', x + 1 < width, format!("a{x}"), state(x + 1, y)),
                ('?', y + 1 < height, format!("b{y}"), state(x, y + 1)),
            ];
            for (mark, _, message, to) in steps.into_iter().filter(|(_, exists, _, _)| *exists) {
                for (role, sends) in [(&mut client, mark == '!'), (&mut server, mark == '?')] {
                    if random.percent(if sends { often } else { rarely }) {
                        continue;
                    }
                    let to = if random.percent(rarely) { random.below(width * height) } else { to };
                    role.push(format!("{at} {}{message} {to}", if sends { '!' } else { '?' }));
                }
            }
            // A state that nothing leaves would be an end, and who may close is another matter.
            let (own, others) = match closes {
                true => (format!("{at} + End"), format!("{at} & End")),
                false => (format!("{at} !z {at}"), format!("{at} ?z {at}")),
            };
            client.push(own);
            server.push(others);
        }
    }
    let mut messages = messages("");
    let client = automaton(Side::Client, &client.join("; "), &mut messages);
    let server = automaton(Side::Server, &server.join("; "), &mut messages);
    (client, server, messages)
}

/// Whether the pairs in which two roles of one channel meet have the diamond, with each edge in both roles.
fn meetings_have_the_diamond(client: &Automaton, server: &Automaton) -> bool {
    let step = |role: &Automaton, at: StateIndex, direction: Direction, message: MessageIndex| {
        let edges = &role.states[at.0 as usize].edges;
        let edge = edges.iter().find(|edge| (edge.direction, edge.message) == (direction, message))?;
        Some(edge.action.target())
    };
    // The client's direction decides.
    let meet = |(one, other): (StateIndex, StateIndex), direction: Direction, message: MessageIndex| {
        Some((step(client, one, direction, message)?, step(server, other, direction.flip(), message)?))
    };
    let start = (StateIndex(0), StateIndex(0));
    let mut seen = HashSet::from([start]);
    let mut waiting = vec![start];
    while let Some(at) = waiting.pop() {
        let edges = &client.states[usize::try_from(at.0.0).unwrap()].edges;
        let moves: Vec<_> =
            edges.iter().filter_map(|edge| Some((edge, meet(at, edge.direction, edge.message)?))).collect();
        for (sent, after) in moves.iter().filter(|(edge, _)| edge.direction == Direction::Send) {
            for (received, before) in moves.iter().filter(|(edge, _)| edge.direction == Direction::Receive) {
                let one = meet(*after, Direction::Receive, received.message);
                let other = meet(*before, Direction::Send, sent.message);
                if one.is_none() || one != other {
                    return false;
                }
            }
        }
        waiting.extend(moves.iter().map(|(_, after)| *after).filter(|after| seen.insert(*after)));
    }
    true
}

#[test]
fn what_only_crossing_messages_lead_to_is_no_race_where_it_is_safe() {
    let (mut counts, mut completed, mut real, mut alarms) = (Counts::default(), 0u64, 0u64, 0u64);
    for seed in seeds(5 * cases()) {
        let mut random = Random::new(seed);
        let (one, other, messages) = crossing_roles(&mut random);
        if !related(&one, &other, &messages, Wanted::Compatible) {
            counts.unrelated += 1;
            continue;
        }
        let accepted = races(&one, &other, &messages).is_empty();
        let strict = meetings_have_the_diamond(&one, &other);
        assert!(
            accepted || !strict,
            "seed {seed}: stricter than the diamond\n{}",
            both(&one, &other, &messages)
        );
        let oracle = Oracle { client: &one, server: &other, messages: &messages, bound: 3, worlds: 3_000 };
        match (oracle.judge(), accepted) {
            (Verdict::Unsafe(what), true) => panic!("seed {seed}: {what}"),
            (Verdict::Unsafe(_), false) => real += 1,
            (Verdict::Safe | Verdict::Unknown, false) => alarms += 1,
            (Verdict::Unknown, true) => counts.cut_short += 1,
            (Verdict::Safe, true) => {}
        }
        match accepted {
            true => counts.accepted += 1,
            false => counts.raced += 1,
        }
        completed += u64::from(accepted && !strict);
    }
    println!(
        "{counts:?}, {completed} accepted without the diamond, {real} races are real and {alarms} are not"
    );
    assert!(are_few() || completed > cases() / 10, "{counts:?}, {completed} completed");
    assert!(are_few() || real > cases() / 10, "{counts:?}, {real} real");
    assert!(are_few() || alarms * 4 < real, "{real} real, {alarms} false alarms");
}
