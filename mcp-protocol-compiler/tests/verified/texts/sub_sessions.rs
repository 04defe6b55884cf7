//! Protocols with sub-sessions: bodies that run for good, and bodies that are branches of a choice.

use std::fmt::Write;

use super::{
    Alphabet, Label, Role, State, Step, Text, Wanted, add, body_name, declarations, graph, grid, loops,
    server,
};
use crate::random::Random;

/// The messages of one body, or of bodies that are branches of the choices of one channel.
#[derive(Clone, Copy, Debug)]
struct Family {
    number: usize,
    /// The key is the id of the request that opens a sub-session.
    by_id: bool,
    /// Who opens by a request, where its id is the key.
    sends: bool,
}

/// How many families a text has at most.
const FAMILIES: usize = 3;

/// What the session has at most, and what each family has.
const NOTES: usize = 12;
const REQUESTS: usize = 3;
const OPENERS: usize = 2;

impl Family {
    fn any(random: &mut Random, number: usize) -> Family {
        Family { number, by_id: random.percent(35), sends: random.percent(50) }
    }

    /// What is said in its sub-sessions.
    fn alphabet(self) -> Alphabet {
        Alphabet { notes: NOTES + 4 * self.number, count: 4, request: REQUESTS + self.number, requests: 1 }
    }

    fn note(self, opener: usize) -> usize {
        NOTES + 4 * FAMILIES + OPENERS * self.number + opener
    }

    fn request(self, opener: usize) -> usize {
        REQUESTS + FAMILIES + OPENERS * self.number + opener
    }

    /// What opens a sub-session, and who says it.
    fn opener(self, random: &mut Random) -> (bool, Label) {
        let opener = random.below(OPENERS);
        match self.by_id {
            true => (self.sends, Label::Request(self.request(opener))),
            false if random.percent(50) => (random.percent(50), Label::Request(self.request(opener))),
            false => (random.percent(50), Label::Note(self.note(opener))),
        }
    }

    fn declarations(self, text: &mut String) {
        let Alphabet { notes, count, request, .. } = self.alphabet();
        let (mut keys, mut opening) = (Vec::new(), Vec::new());
        let openers = || 0..OPENERS;
        for note in (notes..notes + count).chain(openers().map(|opener| self.note(opener))) {
            writeln!(text, "notification N{note} \"n{note}\" (P)").unwrap();
            keys.push(format!("N{note}.k"));
        }
        for request in std::iter::once(request).chain(openers().map(|opener| self.request(opener))) {
            writeln!(text, "request Q{request} \"q{request}\" (P) -> R{request} (P)").unwrap();
            match self.by_id && request >= REQUESTS + FAMILIES {
                true => opening.push(format!("id of Q{request}")),
                false => keys.push(format!("Q{request}.k")),
            }
        }
        opening.extend(keys);
        writeln!(text, "key k{} = {}", self.number, opening.join(" | ")).unwrap();
    }
}

/// A `*` in both roles.
struct Body {
    client: Role,
    server: Role,
}

pub(super) fn write(random: &mut Random) -> (String, Wanted) {
    let wanted = if random.percent(50) { Wanted::Dual } else { Wanted::Compatible };
    let (for_good, branches, is_linear) = match random.below(10) {
        0..2 => (1 + random.below(2), 0, false),
        2..5 => (1 + random.below(2), 0, true),
        5..8 => (0, 1 + random.below(2), true),
        _ => (1, 1 + random.below(2), true),
    };
    let (mut bodies, mut families): (Vec<Body>, Vec<Family>) = (Vec::new(), Vec::new());
    for _ in 0..for_good {
        let family = Family::any(random, families.len());
        families.push(family);
        bodies.push(body(random, family, wanted));
    }
    if branches > 0 {
        let family = Family::any(random, families.len());
        families.push(family);
        for _ in 0..branches {
            bodies.push(body(random, family, wanted));
        }
    }
    let mut text = declarations(random, wanted, false);
    for family in families {
        family.declarations(&mut text);
    }
    let session = is_linear.then(|| {
        let (mut client, mut other) = session(random, wanted);
        open(random, &mut client, &mut other, for_good..bodies.len());
        (client, other)
    });
    for (role, name) in ["C", "S"].into_iter().enumerate() {
        let channel = session.as_ref().map(|(client, server)| if role == 0 { client } else { server });
        let mut channels: Vec<String> =
            (0..for_good).map(|body| format!("*{}", body_name(name, body))).collect();
        let start = format!("{name}x");
        channels.extend(channel.map(|_| start.clone()));
        if random.percent(50) {
            channels.reverse();
        }
        let (open, close) = if channels.len() > 1 { ("(", ")") } else { ("", "") };
        writeln!(text, "{name} = {open}{}{close}", channels.join(", ")).unwrap();
        if let Some(channel) = channel {
            Text::new(random, channel, &start, &mut text).role();
        }
        for (number, body) in bodies.iter().enumerate() {
            let body = if role == 0 { &body.client } else { &body.server };
            Text::new(random, body, &body_name(name, number), &mut text).role();
        }
    }
    (text, wanted)
}

/// The linear channel.
fn session(random: &mut Random, wanted: Wanted) -> (Role, Role) {
    if wanted == Wanted::Compatible && random.percent(25) {
        return grid(random, Alphabet::ALL);
    }
    let client = if random.percent(50) { graph(random, Alphabet::ALL) } else { loops(random, Alphabet::ALL) };
    let server = server(random, &client, wanted, Alphabet::ALL);
    (client, server)
}

/// Adds branches that open sub-sessions, mostly the same ones in both roles.
fn open(random: &mut Random, client: &mut Role, server: &mut Role, bodies: std::ops::Range<usize>) {
    let bodies: Vec<usize> = bodies.collect();
    for at in 0..client.len() {
        let Some(body) = random.one(&bodies).copied().filter(|_| random.percent(60)) else { continue };
        client[at].opens.push(body);
        match random.below(20) {
            0 => {}
            1 => server[at].opens.extend(random.one(&bodies)),
            _ => server[at].opens.push(body),
        }
    }
}

/// A body: what opens it, and what follows.
fn body(random: &mut Random, family: Family, wanted: Wanted) -> Body {
    let alphabet = family.alphabet();
    let mut inner = if random.percent(50) { graph(random, alphabet) } else { loops(random, alphabet) };
    inner.truncate(1 + random.below(4));
    let count = inner.len();
    let mut client: Role = vec![State::default()];
    for mut state in inner {
        state.steps.retain(|step| step.to < count);
        state.steps.iter_mut().for_each(|step| step.to += 1);
        client.push(state);
    }
    for _ in 0..1 + usize::from(random.percent(25)) {
        let (sends, label) = family.opener(random);
        let to = 1 + random.below(count);
        let to = match label {
            Label::Request(_) => {
                let mut waiting = State::default();
                add(&mut waiting, Step { sends: !sends, label: Label::Reply, to });
                if random.percent(30) {
                    let (sends, label) = (random.percent(50), alphabet.note(random.below(4)));
                    add(&mut waiting, Step { sends, label, to: client.len() });
                }
                client.push(waiting);
                client.len() - 1
            }
            _ => to,
        };
        add(&mut client[0], Step { sends, label, to });
    }
    let mut other = server(random, &client, wanted, alphabet);
    for role in [&mut client, &mut other] {
        tidy(role, family);
    }
    Body { client, server: other }
}

/// A body starts with what opens it, does not come back there, and cannot be closed.
fn tidy(body: &mut Role, family: Family) {
    let opens = |label: Label| match label {
        Label::Note(note) => note >= family.note(0),
        Label::Request(request) => request >= family.request(0),
        Label::Reply => false,
    };
    for (at, state) in body.iter_mut().enumerate() {
        (state.own_end, state.peer_end) = (false, false);
        state.steps.retain(|step| opens(step.label) == (at == 0));
        for step in &mut state.steps {
            step.to = step.to.max(1);
        }
    }
}
