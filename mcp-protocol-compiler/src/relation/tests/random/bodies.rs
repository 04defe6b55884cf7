//! Random bodies of `*`, and the states in which sub-sessions of them may start.
//!
//! A `*` either runs in parallel with all channels, or is a branch in the choices of one of them. As a branch it may
//! have another body in each choice.

use std::ops::Range;

use mcp_protocol_machine::protocol::{Action, Direction, Origin, StateKind};

use super::{ASK, INNER, OPEN, OPENERS, Random, Shape, channel, direction, edge, index};
use crate::automaton::State;
use crate::relation::tests::notation::state;

/// Adds bodies. `channels` has the states of each channel.
pub(super) fn spawns(random: &mut Random, states: &mut Vec<State>, channels: &[Range<usize>]) {
    let linear = states.len();
    let mut openers: Vec<u16> = (OPENERS..OPENERS + 1 + u16::try_from(random.below(3)).unwrap()).collect();
    if random.percent(60) {
        openers.push(OPEN);
    }
    for opener in openers {
        let way = direction(random);
        let branch = random.percent(50);
        let count = if branch { 1 + random.below(3) } else { 1 };
        let bodies: Vec<usize> = (0..count).map(|_| body(random, states, opener, way)).collect();
        let (places, chance) = match branch {
            true => (channels[random.below(channels.len())].clone(), [50, 80, 100][random.below(3)]),
            false => (0..linear, 100),
        };
        for place in places {
            let body = bodies[random.below(count)];
            let state = &mut states[place];
            // A channel that is at its end has no choices.
            let closed = branch && state.kind == StateKind::End;
            if state.kind == StateKind::Fork || closed || !random.percent(chance) {
                continue;
            }
            state.edges.push(edge(way, opener, Action::Spawn(index(body)), Origin::Written));
            if state.kind == StateKind::End && random.percent(50) {
                state.kind = StateKind::Replicated;
            }
        }
    }
}

/// Adds one body; returns its first state, the one behind the opener.
fn body(random: &mut Random, states: &mut Vec<State>, opener: u16, way: Direction) -> usize {
    let shape = Shape {
        states: 1 + random.below(3),
        density: 15 + random.below(20),
        spawns: false,
        forks: false,
        requests: false,
        closes: false,
        suspends: false,
        shared_ends: false,
    };
    let first = channel(random, shape, states, INNER..INNER + 2);
    if opener == OPEN { asked(random, states, first, way) } else { first }
}

/// Makes a body one that a request opens, with another request in it; gives its first state.
fn asked(random: &mut Random, states: &mut Vec<State>, body: usize, way: Direction) -> usize {
    let over = states.len();
    let mut end = state(over);
    end.kind = StateKind::End;
    let (first, waiting) = (over + 1, over + 2);
    states.extend([end, state(first), state(waiting)]);
    let step = |target| Action::Step(index(target));
    // What follows the opening is known by its key; the replies come first, or after some words in between.
    let deferred = if random.percent(50) { over } else { body };
    let back = way.flip();
    states[first].edges.push(edge(back, OPEN + 1, step(body), Origin::Written));
    states[first].edges.push(edge(back, OPEN + 2, step(deferred), Origin::Written));
    states[first].edges.push(edge(back, OPEN + 3, step(over), Origin::Refusal));
    if random.percent(40) {
        let said = direction(random);
        states[first].edges.push(edge(said, INNER + 2, step(first), Origin::Written));
    }
    if random.percent(60) {
        let from = body + random.below(over - body);
        let asks = direction(random);
        states[from].kind = StateKind::Linear;
        states[from].edges.push(edge(asks, ASK, step(waiting), Origin::Written));
        let to = if random.percent(50) { from } else { body + random.below(over - body) };
        states[waiting].edges.push(edge(asks.flip(), ASK + 1, step(to), Origin::Written));
        states[waiting].edges.push(edge(asks.flip(), ASK + 2, step(from), Origin::Refusal));
    } else {
        states[waiting].kind = StateKind::End;
    }
    first
}
