//! Random linear channels: short chains of messages, with requests, loops, and choices whose messages may cross.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::random::Random;

/// A step of a channel.
#[derive(Clone, Debug)]
struct Edge {
    send: bool,
    message: String,
    to: usize,
    /// A refusal that leads back, which is written only where other steps may come before it.
    implied: bool,
}

/// Where a channel is: its steps, and whether this role and its peer may close there.
#[derive(Clone, Debug, Default)]
struct State {
    edges: Vec<Edge>,
    close: [bool; 2],
}

/// A linear channel, which starts in its first state.
#[derive(Clone, Debug)]
pub(crate) struct Channel(Vec<State>);

/// The declarations of messages.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) text: String,
    count: usize,
    pub(crate) has_cancellable: bool,
}

impl Declared {
    fn name(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    pub(crate) fn note(&mut self) -> String {
        let number = self.name();
        writeln!(self.text, "notification N{number} \"n{number}\" (P)").unwrap();
        format!("N{number}")
    }

    /// A request and its reply.
    pub(crate) fn request(&mut self, cancellable: bool) -> (String, String) {
        let number = self.name();
        let modifier = if cancellable { " cancellable" } else { "" };
        self.has_cancellable |= cancellable;
        writeln!(self.text, "request Q{number} \"q{number}\" (P) -> R{number} (P){modifier}").unwrap();
        (format!("Q{number}"), format!("R{number}"))
    }
}

impl Channel {
    pub(crate) fn random(random: &mut Random, declared: &mut Declared) -> Channel {
        let mut channel = Channel(vec![State::default()]);
        let steps = 1 + random.below(3);
        let goes_round = random.percent(35);
        for step in 0..steps {
            let here = channel.0.len() - 1;
            if random.percent(15) {
                channel.0[here].close[random.below(2)] = true;
            }
            channel.repeats(random, declared, here);
            let ends = goes_round && step + 1 == steps;
            channel.step(random, declared, here, ends.then_some(0));
        }
        let last = channel.0.last_mut().unwrap();
        if last.edges.is_empty() {
            last.close = [true, true];
        }
        channel
    }

    fn state(&mut self) -> usize {
        self.0.push(State::default());
        self.0.len() - 1
    }

    fn edge(&mut self, from: usize, send: bool, message: &str, to: usize) {
        self.0[from].edges.push(Edge { send, message: message.to_owned(), to, implied: false });
    }

    /// Perhaps a message that may come any number of times.
    fn repeats(&mut self, random: &mut Random, declared: &mut Declared, here: usize) {
        if random.percent(25) {
            self.edge(here, random.percent(50), &declared.note(), here);
        }
    }

    /// A step to `to`, or to a new state, which is the last one of the list then.
    fn step(&mut self, random: &mut Random, declared: &mut Declared, here: usize, to: Option<usize>) {
        let send = random.percent(50);
        match random.below(10) {
            0..3 => {
                // A cancel leads where the reply leads, and a role says which of several requests it means.
                let back = to == Some(here) && !declared.has_cancellable && random.percent(60);
                let (request, reply) = declared.request(back);
                let waiting = self.state();
                self.repeats(random, declared, waiting);
                let to = to.unwrap_or_else(|| self.state());
                self.edge(here, send, &request, waiting);
                self.edge(waiting, !send, &reply, to);
                let refusal = format!("{request}Error");
                self.0[waiting].edges.push(Edge { send: !send, message: refusal, to: here, implied: true });
            }
            // Both orders of two messages that may cross.
            3..5 => {
                let (one, two) = (declared.note(), declared.note());
                let (sent, received) = (self.state(), self.state());
                let to = to.unwrap_or_else(|| self.state());
                self.edge(here, true, &one, sent);
                self.edge(here, false, &two, received);
                self.edge(sent, false, &two, to);
                self.edge(received, true, &one, to);
            }
            _ => {
                let to = to.unwrap_or_else(|| self.state());
                self.edge(here, send, &declared.note(), to);
                if random.percent(25) {
                    self.edge(here, send, &declared.note(), to);
                }
            }
        }
    }

    /// Takes every close away but that of a state without steps.
    pub(crate) fn only_ends(&mut self) {
        for state in &mut self.0 {
            state.close = [state.edges.is_empty(); 2];
        }
    }

    /// The same from the other side.
    pub(crate) fn dual(&self) -> Channel {
        let mut dual = self.clone();
        for state in &mut dual.0 {
            state.close.reverse();
            state.edges.iter_mut().for_each(|edge| edge.send ^= true);
        }
        dual
    }

    /// Whether this role sends anything.
    pub(crate) fn sends(&self) -> bool {
        self.0.iter().flat_map(|state| &state.edges).any(|edge| edge.send)
    }

    /// Changes something, so that the roles may not fit any more.
    pub(crate) fn spoil(&mut self, random: &mut Random) {
        let count = self.0.len();
        let state = &mut self.0[random.below(count)];
        let place = random.below(state.edges.len());
        // Without its reply a request could only be refused.
        let several = state.edges.len() > 1 && !state.edges.iter().any(|edge| edge.implied);
        match (random.below(5), state.edges.get_mut(place).filter(|edge| !edge.implied)) {
            (0, Some(edge)) => edge.send ^= true,
            (1, Some(edge)) => edge.to = random.below(count),
            (2 | 3, Some(_)) if several => {
                state.edges.remove(place);
            }
            (_, Some(_)) => state.close[random.below(2)] ^= true,
            (_, None) => {}
        }
    }

    /// From which states the channel can come to an end.
    fn ends(&self) -> BTreeSet<usize> {
        let closes = |place: &usize| self.0[*place].close != [false, false];
        let mut found: BTreeSet<usize> = (0..self.0.len()).filter(closes).collect();
        loop {
            let leads = |place: &usize| self.0[*place].edges.iter().any(|edge| found.contains(&edge.to));
            let more: BTreeSet<usize> = (0..self.0.len()).filter(leads).collect();
            if more.is_subset(&found) {
                return found;
            }
            found.extend(more);
        }
    }

    /// Whether the interleaving can end where both can. It cannot where each role may end one of them alone.
    pub(crate) fn ends_with(&self, other: &Channel) -> bool {
        let both = self.interleaved(other);
        let ends = both.ends();
        let width = other.0.len();
        let (own, others) = (self.ends(), other.ends());
        (0..both.0.len()).all(|place| {
            let can = own.contains(&(place / width)) || others.contains(&(place % width));
            can == ends.contains(&place)
        })
    }

    /// Both channels in one: each step of either.
    pub(crate) fn interleaved(&self, other: &Channel) -> Channel {
        let width = other.0.len();
        let number = |one: usize, two: usize| one * width + two;
        let (ends, other_ends) = (self.ends(), other.ends());
        let mut states = Vec::new();
        for (one, state) in self.0.iter().enumerate() {
            for (two, second) in other.0.iter().enumerate() {
                let moved = |edge: &Edge, to: usize| Edge { to, implied: false, ..edge.clone() };
                let first = state.edges.iter().map(|edge| moved(edge, number(edge.to, two)));
                let second_edges = second.edges.iter().map(|edge| moved(edge, number(one, edge.to)));
                // A channel that cannot end does not stand in the way of a close, if another one can.
                let (can, other_can) = (ends.contains(&one), other_ends.contains(&two));
                let close = [0, 1].map(|who| {
                    (can || other_can) && (state.close[who] || !can) && (second.close[who] || !other_can)
                });
                states.push(State { edges: first.chain(second_edges).collect(), close });
            }
        }
        Channel(states)
    }

    /// The definitions of the states that can be reached, as `NAME0`.
    pub(crate) fn write(&self, name: &str, text: &mut String) {
        let (mut known, mut next) = (BTreeSet::from([0]), vec![0]);
        while let Some(place) = next.pop() {
            let state = &self.0[place];
            let mut branches: Vec<String> = Vec::new();
            for Edge { send, message, to, implied } in &state.edges {
                if known.insert(*to) {
                    next.push(*to);
                }
                if !implied {
                    branches.push(format!("{}{message} . {name}{to}", if *send { '!' } else { '?' }));
                }
            }
            let sends = state.edges.iter().any(|edge| edge.send && !edge.implied);
            let branches = branches.join(if sends { " ⊕ " } else { " & " });
            let body = match (branches.is_empty(), state.close) {
                (true, _) => "End".to_owned(),
                (false, [false, false]) => branches,
                (false, [true, false]) => format!("( {branches} ) ⊕ End"),
                (false, [false, true]) => format!("( {branches} ) & End"),
                (false, [true, true]) => format!("( ( {branches} ) ⊕ End ) & End"),
            };
            writeln!(text, "{name}{place} = {body}").unwrap();
        }
    }
}
