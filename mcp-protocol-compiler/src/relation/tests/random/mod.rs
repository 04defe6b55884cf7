//! Random automata: a client, and servers that are its dual, nearly its dual, or compatible with it.

mod bodies;
mod suspension;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::protocol::{
    Action, Condition, Direction, Literal, MessageIndex, Only, Origin, Side, StateIndex, StateKind,
};

pub(in crate::relation::tests) use suspension::disturb;

use crate::automaton::{Automaton, Edge, State};
use crate::declarations::Message;
use crate::relation::tests::notation::{complete, flip, messages, of_states, state};
use crate::source::Span;

/// A small deterministic generator (xorshift64*).
pub(in crate::relation::tests) struct Random(u64);

impl Random {
    pub(in crate::relation::tests) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(in crate::relation::tests) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % limit
    }

    pub(in crate::relation::tests) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

/// The messages that random automata use: notifications `a` to `h`, the openers of sub-sessions `m` to `p`, what
/// sub-sessions say, one request that may be cancelled, one that opens sub-sessions and may be cancelled, too, and one
/// within these. Conditions alone tell some of them apart.
pub(in crate::relation::tests) fn vocabulary() -> Vec<Message> {
    let mut list = messages(
        "a; b; c; d; e; f; g; h; m; n; o; p; r; s; t; Call -> Result cancellable; Cancel; \
         Open -> Opened | Deferred cancellable; Ask -> Told",
    );
    let literals = [Literal::from("one"), 2.into(), false.into(), (-4).into()];
    for (place, literal) in [0, 1, 12, 13].into_iter().zip(literals) {
        let path = vec![Cow::Borrowed("kind")].into();
        list[place].table.method = Cow::Borrowed("told");
        list[place].table.condition = Some(Condition::new(path, Some(literal)));
    }
    list
}

const OPENERS: u16 = 8;
const INNER: u16 = 12;
const CALL: u16 = 15;
const RESULT: u16 = 16;
const REFUSED: u16 = 17;
const CANCEL: u16 = 18;
const OPEN: u16 = 19;
const ASK: u16 = 23;

/// What a random automaton may have.
#[derive(Clone, Copy, Debug)]
pub(in crate::relation::tests) struct Shape {
    pub(in crate::relation::tests) states: usize,
    pub(in crate::relation::tests) density: usize,
    pub(in crate::relation::tests) spawns: bool,
    pub(in crate::relation::tests) forks: bool,
    pub(in crate::relation::tests) requests: bool,
    pub(in crate::relation::tests) closes: bool,
    pub(in crate::relation::tests) suspends: bool,
    pub(in crate::relation::tests) shared_ends: bool,
}

impl Shape {
    pub(in crate::relation::tests) fn any(random: &mut Random) -> Self {
        let parallel = random.percent(30);
        Shape {
            states: 1 + random.below(5),
            density: 10 + random.below(30),
            spawns: parallel || random.percent(40),
            forks: parallel || random.percent(25),
            requests: random.percent(30),
            closes: random.percent(40),
            suspends: random.percent(60),
            shared_ends: random.percent(80),
        }
    }
}

fn edge(direction: Direction, message: u16, action: Action, origin: Origin) -> Edge {
    let cancels = (origin == Origin::Cancel).then_some(MessageIndex(CALL));
    Edge {
        direction,
        message: MessageIndex(message),
        action,
        origin,
        cancels,
        span: Span::default(),
        level: None,
    }
}

fn direction(random: &mut Random) -> Direction {
    if random.percent(50) { Direction::Send } else { Direction::Receive }
}

fn index(place: usize) -> StateIndex {
    StateIndex(u32::try_from(place).unwrap())
}

/// Adds a linear channel with messages from a range; gives its first state.
fn channel(
    random: &mut Random,
    shape: Shape,
    states: &mut Vec<State>,
    messages: std::ops::Range<u16>,
) -> usize {
    let first = states.len();
    states.extend((first..first + shape.states).map(state));
    let looped = random.below(70);
    for from in first..first + shape.states {
        for message in messages.clone() {
            for way in [Direction::Send, Direction::Receive] {
                if random.percent(shape.density) {
                    let target =
                        if random.percent(looped) { from } else { first + random.below(shape.states) };
                    let action = Action::Step(index(target));
                    states[from].edges.push(edge(way, message, action, Origin::Written));
                }
            }
        }
        if states[from].edges.is_empty() {
            states[from].kind = StateKind::End;
        } else if shape.closes {
            states[from].may_close = random.percent(20);
            states[from].peer_may_close = random.percent(20);
        }
    }
    first
}

/// Adds a request to some state of a channel, with its reply, its refusal, and often its cancellation.
fn request(random: &mut Random, states: &mut Vec<State>, first: usize) {
    let from = first + random.below(states.len() - first);
    let waiting = states.len();
    let back = if random.percent(70) { from } else { first + random.below(states.len() - first) };
    states.push(state(waiting));
    let asks = direction(random);
    states[from].kind = StateKind::Linear;
    let step = |target| Action::Step(index(target));
    states[from].edges.push(edge(asks, CALL, step(waiting), Origin::Written));
    states[waiting].edges.push(edge(asks.flip(), RESULT, step(back), Origin::Written));
    states[waiting].edges.push(edge(asks.flip(), REFUSED, step(from), Origin::Refusal));
    if back == from && random.percent(60) {
        states[waiting].edges.push(edge(asks, CANCEL, step(back), Origin::Cancel));
    }
    for message in 0..2 {
        if random.percent(30) {
            let way = direction(random);
            states[waiting].edges.push(edge(way, message, step(waiting), Origin::Written));
        }
    }
}

/// A random client.
pub(in crate::relation::tests) fn client(random: &mut Random, shape: Shape) -> Automaton {
    let mut states = Vec::new();
    let mut channels = Vec::new();
    if shape.forks {
        // The session starts forked, or forks when a step of its first channel is taken.
        let small = Shape { states: 1 + random.below(3), ..shape };
        states.push(state(0));
        let early = random.percent(50);
        let mut parts = Vec::new();
        for part in 0..2u16 {
            let range = part * 3..part * 3 + 2;
            let first = channel(random, small, &mut states, range);
            parts.push(index(first));
            channels.push(first..states.len());
        }
        let fork = if early {
            0
        } else {
            let fork = states.len();
            states.push(state(fork));
            let way = direction(random);
            states[0].edges.push(edge(way, 6, Action::Step(index(fork)), Origin::Written));
            let other = direction(random);
            states[0].edges.push(edge(other, 7, Action::Step(index(0)), Origin::Written));
            channels.push(0..1);
            fork
        };
        states[fork].kind = StateKind::Fork;
        states[fork].parts = parts;
    } else {
        let count = 2 + u16::try_from(random.below(3)).unwrap();
        channel(random, shape, &mut states, 0..count);
        if shape.requests {
            request(random, &mut states, 0);
        }
        channels.push(0..states.len());
    }
    if shape.spawns {
        bodies::spawns(random, &mut states, &channels);
    }
    let mut automaton = finish(Side::Client, states);
    // What sub-sessions are opened by is compared by body, so equal bodies are one.
    share_ends(&mut automaton, |state| state.body || shape.shared_ends);
    if shape.suspends && shape.spawns && !shape.forks {
        suspension::mark_only(random, &mut automaton);
    }
    automaton
}

/// Makes one state of all ends that have the same edges, as minimising does, whichever channel they end; of those that
/// are chosen.
pub(in crate::relation::tests) fn share_ends(automaton: &mut Automaton, chosen: impl Fn(&State) -> bool) {
    let same = |one: &State, other: &State| {
        (one.kind, one.body, &one.edges) == (other.kind, other.body, &other.edges)
            && one.kind == StateKind::End
            && chosen(one)
    };
    let first = |at: StateIndex| {
        let own = &automaton.states[at.0 as usize];
        index(automaton.states.iter().position(|other| same(own, other)).unwrap_or(at.0 as usize))
    };
    let mut states = automaton.states.clone();
    for state in &mut states {
        for edge in &mut state.edges {
            edge.action = match edge.action {
                Action::Step(target) => Action::Step(first(target)),
                Action::Spawn(target) => Action::Spawn(first(target)),
            };
        }
        for part in &mut state.parts {
            *part = first(*part);
        }
    }
    automaton.states = states;
}

fn finish(side: Side, states: Vec<State>) -> Automaton {
    of_states(side, Span::default(), states)
}

/// The dual, with its states and its channels in another order.
pub(in crate::relation::tests) fn dual(random: &mut Random, client: &Automaton) -> Automaton {
    let mut server = flip(client);
    let count = server.states.len();
    let mut order: Vec<usize> = (0..count).collect();
    for place in (2..count).rev() {
        order.swap(place, 1 + random.below(place));
    }
    let moved = |target: StateIndex| index(order[target.0 as usize]);
    for state in &mut server.states {
        for edge in &mut state.edges {
            edge.action = match edge.action {
                Action::Step(target) => Action::Step(moved(target)),
                Action::Spawn(target) => Action::Spawn(moved(target)),
            };
        }
        for part in &mut state.parts {
            *part = moved(*part);
        }
        if random.percent(50) {
            state.parts.reverse();
        }
    }
    let mut states = server.states.clone();
    for (place, state) in server.states.into_iter().enumerate() {
        states[order[place]] = state;
    }
    server.states = states;
    server
}

/// Changes one thing at random.
pub(in crate::relation::tests) fn mutate(random: &mut Random, automaton: &mut Automaton) {
    let count = automaton.states.len();
    let place = random.below(count);
    let target = near(random, automaton, place);
    let (way, message) = (direction(random), u16::try_from(random.below(6)).unwrap());
    let what = random.below(5);
    let state = &mut automaton.states[place];
    let edges = state.edges.len();
    match what {
        0 if edges > 1 && state.edges.iter().all(|edge| matches!(edge.action, Action::Step(_))) => {
            state.edges.remove(random.below(edges));
        }
        1 if edges > 0 => {
            let edge = &mut state.edges[random.below(edges)];
            if let (Action::Step(_), Origin::Written) = (edge.action, edge.origin) {
                edge.action = Action::Step(target);
            }
        }
        2 if state.kind == StateKind::Linear => {
            add(state, edge(way, message, Action::Step(target), Origin::Written))
        }
        3 if state.kind == StateKind::Linear && !state.body => state.may_close = !state.may_close,
        4 if state.kind == StateKind::Linear && !state.body => state.peer_may_close = !state.peer_may_close,
        _ => {}
    }
    complete(automaton);
}

/// Has a `*` open another body than it did in one of its places.
pub(in crate::relation::tests) fn change_body(random: &mut Random, automaton: &mut Automaton) {
    let opened = |automaton: &Automaton| -> Vec<(usize, usize, u16, StateIndex)> {
        let states = automaton.states.iter().enumerate();
        let edges = states.flat_map(|(place, state)| {
            state.edges.iter().enumerate().filter_map(move |(at, edge)| match edge.action {
                Action::Spawn(body) => Some((place, at, edge.message.0, body)),
                Action::Step(_) => None,
            })
        });
        edges.collect()
    };
    let all = opened(automaton);
    if all.is_empty() {
        return;
    }
    let (place, at, message, body) = all[random.below(all.len())];
    let others: Vec<StateIndex> =
        all.iter().filter(|other| other.2 == message && other.3 != body).map(|other| other.3).collect();
    if others.is_empty() {
        return;
    }
    automaton.states[place].edges[at].action = Action::Spawn(others[random.below(others.len())]);
}

/// Some state that an edge of this one may be led to without a channel forking within itself.
fn near(random: &mut Random, automaton: &Automaton, place: usize) -> StateIndex {
    let forked = automaton.states.iter().any(|state| state.kind == StateKind::Fork);
    let here = &automaton.states[place];
    let known: Vec<StateIndex> = here
        .edges
        .iter()
        .filter_map(|edge| match edge.action {
            Action::Step(target) => Some(target),
            Action::Spawn(_) => None,
        })
        .chain([index(place)])
        .collect();
    let other = random.below(automaton.states.len());
    let there = &automaton.states[other];
    let fits = here.body == there.body && (!forked || there.kind == StateKind::End);
    if fits { index(other) } else { known[random.below(known.len())] }
}

fn add(state: &mut State, edge: Edge) {
    let same = |known: &Edge| (known.direction, known.message) == (edge.direction, edge.message);
    if !state.edges.iter().any(same) {
        state.edges.push(edge);
    }
}

/// Makes a server ask for more and do less: further inputs anywhere, fewer outputs.
pub(in crate::relation::tests) fn loosen(random: &mut Random, server: &mut Automaton) {
    for _ in 0..1 + random.below(4) {
        let count = server.states.len();
        let place = random.below(count);
        let target = near(random, server, place);
        let looped = random.percent(40);
        let message = u16::try_from(random.below(8)).unwrap();
        let state = &mut server.states[place];
        if random.percent(60) {
            if state.kind == StateKind::Linear {
                let target = if looped { index(place) } else { target };
                add(state, edge(Direction::Receive, message, Action::Step(target), Origin::Written));
            }
        } else {
            let outputs: Vec<usize> = (0..state.edges.len())
                .filter(|&at| state.edges[at].direction == Direction::Send)
                .filter(|&at| {
                    state.edges[at].origin == Origin::Written && state.edges[at].message.0 != RESULT
                })
                .collect();
            // A linear state keeps one linear edge: no type has one without.
            let linear = state.edges.iter().filter(|edge| matches!(edge.action, Action::Step(_))).count();
            if !outputs.is_empty() && linear > 1 {
                state.edges.remove(outputs[random.below(outputs.len())]);
            }
        }
        if random.percent(20) {
            // It accepts more.
            server.states[place].only.inward = false;
        }
        if random.percent(20) && server.states[place].kind == StateKind::Linear && !server.states[place].body
        {
            server.states[place].peer_may_close = true;
        }
    }
    complete(server);
}

/// Whether the channels of every fork have messages of their own.
pub(in crate::relation::tests) fn channels_are_apart(automaton: &Automaton) -> bool {
    let alphabet = |part: StateIndex| {
        let mut events = HashSet::new();
        let mut seen = HashSet::new();
        let mut waiting = vec![part];
        while let Some(at) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            let state = &automaton.states[at.0 as usize];
            waiting.extend(&state.parts);
            for edge in &state.edges {
                if let Action::Step(target) = edge.action {
                    events.insert((edge.direction, edge.message));
                    waiting.push(target);
                }
            }
        }
        events
    };
    automaton.states.iter().all(|state| {
        let mut all = HashSet::new();
        state.parts.iter().all(|part| alphabet(*part).into_iter().all(|event| all.insert(event)))
    })
}

/// The same role with its channels written out one after the other, in every order: no forks left.
pub(in crate::relation::tests) fn interleave(automaton: &Automaton) -> Automaton {
    fn expand(automaton: &Automaton, target: StateIndex) -> Vec<StateIndex> {
        let state = &automaton.states[target.0 as usize];
        if state.kind != StateKind::Fork {
            return vec![target];
        }
        state.parts.iter().flat_map(|&part| expand(automaton, part)).collect()
    }
    let mut places: HashMap<Vec<StateIndex>, usize> = HashMap::new();
    let mut waiting = vec![expand(automaton, index(0))];
    places.insert(waiting[0].clone(), 0);
    let mut states = vec![state(0)];
    while let Some(at) = waiting.pop() {
        let place = places[&at];
        let parts: Vec<&State> = at.iter().map(|part| &automaton.states[part.0 as usize]).collect();
        let mut whole = state(place);
        whole.only = Only {
            outward: parts.iter().any(|part| part.only.outward),
            inward: parts.iter().any(|part| part.only.inward),
        };
        let able: Vec<&&State> = parts
            .iter()
            .filter(|part| part.kind == StateKind::End || part.kind == StateKind::Linear && part.reaches_end)
            .collect();
        let open = |flag: fn(&State) -> bool| {
            !able.is_empty() && able.iter().all(|part| part.kind == StateKind::End || flag(part))
        };
        (whole.may_close, whole.peer_may_close) =
            (open(|part| part.may_close), open(|part| part.peer_may_close));
        let kinds = |kind| parts.iter().all(|part| part.kind == kind);
        if kinds(StateKind::End) {
            whole.kind = StateKind::End;
        } else if parts.iter().all(|part| part.kind != StateKind::Linear) {
            whole.kind = if parts.iter().any(|part| part.kind == StateKind::End) {
                StateKind::End
            } else {
                StateKind::Replicated
            };
        }
        for (which, part) in parts.iter().enumerate() {
            for known in &part.edges {
                let mut copied = known.clone();
                if let Action::Step(target) = known.action {
                    let mut next = at.clone();
                    next.splice(which..=which, expand(automaton, target));
                    let fresh = places.len();
                    let target = *places.entry(next.clone()).or_insert_with(|| {
                        waiting.push(next);
                        states.push(state(fresh));
                        fresh
                    });
                    copied.action = Action::Step(index(target));
                }
                add(&mut whole, copied);
            }
        }
        states[place] = whole;
    }
    // The bodies follow, with their numbers shifted.
    let shift = states.len();
    let moved = |target: StateIndex| index(target.0 as usize + shift);
    for state in &mut states {
        for edge in &mut state.edges {
            if let Action::Spawn(target) = edge.action {
                edge.action = Action::Spawn(moved(target));
            }
        }
    }
    for body in &automaton.states {
        let mut body = body.clone();
        for edge in &mut body.edges {
            edge.action = match edge.action {
                Action::Step(target) => Action::Step(moved(target)),
                Action::Spawn(target) => Action::Spawn(moved(target)),
            };
        }
        for part in &mut body.parts {
            *part = moved(*part);
        }
        states.push(body);
    }
    finish(automaton.side, states)
}
