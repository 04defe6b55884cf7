//! Two linear channels side by side are what a mixed choice that interleaves them is.
//!
//! Each channel is a short chain of messages, with requests, loops, and choices whose messages may cross. Each role is
//! written both ways, and the server may have a mistake in it. Whether the roles fit does not depend on which role is
//! written which way, and the checker says the same of a session in both. In two things they differ: that a message of
//! one channel was received proves nothing of the other channel, so where messages may be late, only what is said of
//! the messages of two programs that follow the text is compared; and a client that leaves out messages goes on in each
//! channel for itself.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::behaviour::{Behaviour, Compared};
use crate::random::Random;
use crate::run::{each, seeds};
use crate::texts::parsed;
use crate::tree::Files;

/// The finding of messages that may arrive late.
pub(crate) const LATE: &str = "S0510";

/// A role that leaves out messages keeps one in each group of channels, of which there are fewer where they are one. It may
/// leave out a channel altogether, which it cannot where that is a part of another one.
const WAITS: &str = "and the client sends nothing";

/// How many states the checker keeps in which the sender of a message may still be. The states of two channels are more
/// than those of each.
const KEPT: usize = 16;

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
    fn sends(&self) -> bool {
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
    fn ends_with(&self, other: &Channel) -> bool {
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
    fn interleaved(&self, other: &Channel) -> Channel {
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

/// What stands before the channels, and next to them.
struct Around {
    before: &'static str,
    next_to: Vec<&'static str>,
}

impl Around {
    fn random(random: &mut Random, ends: bool, declared: &mut String) -> Around {
        let before = match random.below(5) {
            0 => "!Start . ",
            1 => "?Start . ",
            2 => "rec on . ( !Tick . on ⊕ ?Start . ( ",
            _ => "",
        };
        if before.contains("Start") {
            declared.push_str("notification Start \"start\" (P)\n");
        }
        if before.contains("Tick") {
            declared.push_str("notification Tick \"tick\" (P)\n");
        }
        let mut next_to = Vec::new();
        if random.percent(25) {
            declared.push_str("notification Ping \"ping\" (P)\n");
            next_to.push("*( !Ping . End )");
        }
        if ends && random.percent(15) {
            declared.push_str("notification Third \"third\" (P)\n");
            next_to.push("?Third . End");
        }
        Around { before, next_to }
    }

    /// The client's session type, or that of the server.
    fn write(&self, role: &str, channels: &[&str], is_client: bool, text: &mut String) {
        let all: Vec<&str> = channels.iter().copied().chain(self.next_to.iter().copied()).collect();
        let all = if all.len() == 1 { all[0].to_owned() } else { format!("({})", all.join(", ")) };
        let closed = " )".repeat(self.before.matches('(').count());
        let body = format!("{}{all}{closed}", self.before);
        let turned = body.chars().map(|sign| match sign {
            '!' => '?',
            '?' => '!',
            '⊕' => '&',
            other => other,
        });
        let body = if is_client { body } else { turned.collect() };
        writeln!(text, "{role} = {body}").unwrap();
    }
}

/// A role, written as channels or as one.
fn role(name: &str, channels: &[Channel; 2], around: &Around, in_one: bool) -> String {
    let mut text = String::new();
    let [one, two] = channels;
    let names = ["a", "b", "ab"].map(|channel| format!("{name}{channel}"));
    let starts = names.each_ref().map(|name| format!("{name}0"));
    let is_client = name == "C";
    if in_one {
        one.interleaved(two).write(&names[2], &mut text);
        around.write(name, &[starts[2].as_str()], is_client, &mut text);
    } else {
        one.write(&names[0], &mut text);
        two.write(&names[1], &mut text);
        around.write(name, &[starts[0].as_str(), starts[1].as_str()], is_client, &mut text);
    }
    text
}

/// All four ways to write two roles: each as channels, or in one; and whether the client sends nothing in a channel in which
/// the server waits.
fn written(random: &mut Random) -> ([Behaviour; 4], bool) {
    let mut declared = Declared::default();
    let client = [0, 1].map(|_| Channel::random(random, &mut declared));
    let mut server = client.each_ref().map(Channel::dual);
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    text.push_str(&declared.text);
    if declared.has_cancellable {
        text.push_str("notification Cancel \"cancel\" (P) cancels id\n");
    }
    let mut compatible = "";
    if random.percent(50) {
        server[random.below(2)].spoil(random);
        compatible = if random.percent(50) { " compatible" } else { "" };
    }
    let leaves_out = |(client, server): (&Channel, &Channel)| !client.sends() && server.dual().sends();
    let leaves_out = !compatible.is_empty() && client.iter().zip(&server).any(leaves_out);
    let ends = [&client, &server].iter().all(|[one, two]| one.ends_with(two));
    let around = Around::random(random, ends, &mut text);
    writeln!(text, "client C{compatible}\nserver S").unwrap();
    let entry = PathBuf::from("random.session");
    let ways = [[false, false], [true, false], [false, true], [true, true]].map(|[one, other]| {
        let client = role("C", &client, &around, one);
        let text = format!("{text}{client}{}", role("S", &server, &around, other));
        Behaviour::new(&Files::from([(entry.clone(), parsed(&entry, text.into_bytes()))]), Path::new(&entry))
    });
    (ways, leaves_out)
}

/// What was seen in many cases.
#[derive(Debug, Default)]
struct Counts {
    texts: u64,
    accepted: u64,
    with_late: u64,
    messages: u64,
    /// Comparisons in which only the way in one asks for a message of the client.
    left_out: u64,
}

fn compare(random: &mut Random, counts: &mut Counts) -> Result<(), String> {
    let (ways, leaves_out) = written(random);
    let [apart, others @ ..] = &ways;
    let late = apart.codes().contains(LATE);
    counts.texts += 1;
    counts.accepted += u64::from(apart.is_accepted());
    counts.with_late += u64::from(late);
    for other in others {
        if apart.findings().contains(WAITS) {
            continue;
        }
        if leaves_out && apart.is_accepted() && other.findings().contains(WAITS) {
            counts.left_out += 1;
            continue;
        }
        let compared = Compared { everything: !late, messages: KEPT };
        let what = apart
            .finds_otherwise(other)
            .or_else(|| apart.judges_otherwise(other, random, compared, &mut counts.messages));
        if let Some(what) = what {
            return Err(format!("{what}\n-- as channels:\n{}\n-- in one:\n{}", apart.text, other.text));
        }
    }
    Ok(())
}

#[test]
fn channels_are_their_interleaving() {
    let seeds = seeds(300);
    let mut counts = Counts::default();
    each(seeds.clone(), |random, _| compare(random, &mut counts));
    println!("seeds {seeds:?}: {counts:?}");
    if seeds.end - seeds.start >= 300 {
        let Counts { texts, accepted, with_late, messages, left_out } = counts;
        assert!(left_out * 1_000 <= texts, "{counts:?}");
        assert!(accepted * 2 > texts && accepted * 5 < texts * 4, "{counts:?}");
        assert!(with_late * 10 > texts && messages > 20_000, "{counts:?}");
    }
}
