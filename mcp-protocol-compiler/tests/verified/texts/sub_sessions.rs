//! Protocols with sub-sessions: bodies that run for good, and bodies that are branches of a choice.

use std::fmt::Write;

use super::{
    Alphabet, Label, Role, State, Step, Text, Wanted, add, body_name, declarations, flipped, go_on, graph,
    grid, interleaved, letter, loops, one_of_several, server,
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
    /// How many channels its sub-sessions have.
    channels: usize,
    /// Its sub-sessions open others.
    nests: bool,
    /// The family in whose sub-sessions its own are.
    outer: Option<usize>,
    /// Two channels are one in the server's sub-sessions, which has their steps in any order.
    interleaves: bool,
}

/// How many families a text has at most.
const FAMILIES: usize = 4;

/// What the session has at most, and what each family has.
const NOTES: usize = 12;
const REQUESTS: usize = 3;
const OPENERS: usize = 2;
const CHANNELS: usize = 2;

impl Family {
    fn any(random: &mut Random, number: usize) -> Family {
        Family {
            number,
            by_id: random.percent(35),
            sends: random.percent(50),
            channels: 1 + usize::from(random.percent(35)),
            interleaves: random.percent(30),
            nests: false,
            outer: None,
        }
    }

    /// What is said in one channel of its sub-sessions.
    fn alphabet(self, channel: usize) -> Alphabet {
        let of_all = CHANNELS * self.number + channel;
        Alphabet { notes: NOTES + 4 * of_all, count: 4, request: REQUESTS + of_all, requests: 1 }
    }

    fn note(self, opener: usize) -> usize {
        NOTES + 4 * CHANNELS * FAMILIES + OPENERS * self.number + opener
    }

    fn request(self, opener: usize) -> usize {
        REQUESTS + CHANNELS * FAMILIES + OPENERS * self.number + opener
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

    /// Declares its messages and its key, or adds them to the keys of the family around it.
    fn declarations(self, cancellable: bool, text: &mut String, keys_of: &mut [Vec<String>]) {
        let (mut keys, mut opening, mut around) = (Vec::new(), Vec::new(), Vec::new());
        let channels = (0..self.channels).map(|channel| self.alphabet(channel));
        let openers = || 0..OPENERS;
        let notes = channels.clone().flat_map(|Alphabet { notes, count, .. }| notes..notes + count);
        for note in notes.chain(openers().map(|opener| self.note(opener))) {
            writeln!(text, "notification N{note} \"n{note}\" (P)").unwrap();
            keys.push(format!("N{note}.k"));
            around.push(format!("N{note}.o"));
        }
        let requests = channels.map(|channel| channel.request);
        for request in requests.chain(openers().map(|opener| self.request(opener))) {
            let modifier = if cancellable { " cancellable" } else { "" };
            writeln!(text, "request Q{request} \"q{request}\" (P) -> R{request} (P){modifier}").unwrap();
            match self.by_id && request >= self.request(0) {
                true => opening.push(format!("id of Q{request}")),
                false => keys.push(format!("Q{request}.k")),
            }
            around.push(format!("Q{request}.o"));
        }
        opening.extend(keys);
        keys_of[self.number].extend(opening);
        if let Some(outer) = self.outer {
            keys_of[outer].extend(around);
        }
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
    let nests = random.percent(30);
    // What opens sub-sessions in the session, and what opens them in the first of these.
    let (in_session, inner) = (for_good + branches, usize::from(nests));
    let (mut bodies, mut families): (Vec<Body>, Vec<Family>) = (Vec::new(), Vec::new());
    let mut add_family = |random: &mut Random, count: usize, families: &mut Vec<Family>| {
        let number = families.len();
        let nests = nests && number == 0;
        let family = Family { nests, ..Family::any(random, number) };
        families.push(family);
        for _ in 0..count {
            bodies.push(body(random, family, wanted, in_session));
        }
    };
    for _ in 0..for_good {
        add_family(random, 1, &mut families);
    }
    if branches > 0 {
        add_family(random, branches, &mut families);
    }
    for _ in 0..inner {
        let family = Family { outer: Some(0), channels: 1, ..Family::any(random, families.len()) };
        families.push(family);
        bodies.push(body(random, family, wanted, in_session));
    }
    // Roles with sub-sessions within sub-sessions are judged without cancels.
    let cancellable = !nests && random.percent(50);
    let mut text = declarations(wanted, cancellable);
    let mut keys = vec![Vec::new(); families.len()];
    for family in families {
        family.declarations(cancellable, &mut text, &mut keys);
    }
    for (number, key) in keys.iter().enumerate() {
        writeln!(text, "key k{number} = {}", key.join(" | ")).unwrap();
    }
    let mut session: Vec<(Role, Role)> = Vec::new();
    if is_linear && nests {
        let (mut client, mut other) = one_of_several(random, wanted, Alphabet::of(0), 2);
        go_on(&mut client, &mut other, Alphabet::of(0));
        session.push((client, other));
    } else if is_linear && random.percent(35) {
        for channel in 0..2 {
            let alphabet = Alphabet::of(channel);
            let (mut client, mut other) = one_of_several(random, wanted, alphabet, 3);
            if wanted == Wanted::Compatible {
                go_on(&mut client, &mut other, alphabet);
            }
            session.push((client, other));
        }
    } else if is_linear {
        session.push(linear(random, wanted));
    }
    if !session.is_empty() {
        // The branches of one family belong to one channel.
        let channel = random.below(session.len());
        let (client, other) = &mut session[channel];
        open(random, client, other, for_good..in_session);
    }
    let interleaves = session.len() > 1 && random.percent(30);
    for (role, name) in ["C", "S"].into_iter().enumerate() {
        let mut linear: Vec<Role> = session
            .iter()
            .map(|(client, server)| if role == 0 { client.clone() } else { server.clone() })
            .collect();
        if role == 1 && interleaves {
            linear = vec![interleaved(&linear[0], &linear[1])];
        }
        let mut channels: Vec<String> =
            (0..for_good).map(|body| format!("*{}", body_name(name, body))).collect();
        let starts: Vec<String> =
            (0..linear.len()).map(|number| format!("{name}{}", letter(number))).collect();
        channels.extend(starts.clone());
        if random.percent(50) {
            channels.reverse();
        }
        let (open, close) = if channels.len() > 1 { ("(", ")") } else { ("", "") };
        writeln!(text, "{name} = {open}{}{close}", channels.join(", ")).unwrap();
        for (channel, start) in linear.iter().zip(&starts) {
            Text::new(random, channel, start, &mut text).role();
        }
        for (number, body) in bodies.iter().enumerate() {
            let body = if role == 0 { &body.client } else { &body.server };
            Text::new(random, body, &body_name(name, number), &mut text).role();
        }
    }
    (text, wanted)
}

/// The one linear channel.
fn linear(random: &mut Random, wanted: Wanted) -> (Role, Role) {
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
fn body(random: &mut Random, family: Family, wanted: Wanted, inner: usize) -> Body {
    if family.channels > 1 || family.nests {
        return body_with_channels(random, family, wanted, inner);
    }
    let alphabet = family.alphabet(0);
    let inner_states = if family.by_id && random.percent(20) {
        ending(random, alphabet)
    } else {
        let mut states = if random.percent(50) { graph(random, alphabet) } else { loops(random, alphabet) };
        states.truncate(1 + random.below(if family.outer.is_some() { 2 } else { 4 }));
        states
    };
    let count = inner_states.len();
    let mut client: Role = vec![State::default()];
    for mut state in inner_states {
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

/// States from which one side ends, while messages of the other side lead from one to the other.
fn ending(random: &mut Random, alphabet: Alphabet) -> Role {
    let count = 1 + random.below(3);
    let ends = random.percent(50);
    let mut role: Role = vec![State::default(); count + 1];
    for state in &mut role[..count] {
        let to = if random.percent(10) { random.below(count) } else { count };
        add(state, Step { sends: ends, label: alphabet.note(0), to });
        for _ in 0..1 + random.below(2) {
            let label = alphabet.note(1 + random.below(2));
            let states = count + usize::from(random.percent(10));
            let to = random.below(states);
            add(state, Step { sends: !ends, label, to });
        }
    }
    role
}

/// A body whose channels start side by side after the first exchange. It may open sub-sessions of the body `inner`.
fn body_with_channels(random: &mut Random, family: Family, wanted: Wanted, inner: usize) -> Body {
    let mut client: Role = vec![State::default()];
    let (sends, label) = family.opener(random);
    let opener = Step { sends, label, to: 1 };
    add(&mut client[0], opener);
    if let Label::Request(_) = label {
        let mut waiting = State::default();
        add(&mut waiting, Step { sends: !sends, label: Label::Reply, to: 2 });
        client.push(waiting);
    }
    let mut other = flipped(&client);
    let (mut clients, mut servers): (Vec<Role>, Vec<Role>) = (Vec::new(), Vec::new());
    let opens_by_choice = family.nests && random.percent(60);
    for channel in 0..family.channels {
        let states = if family.nests { 2 } else { 3 };
        let (mut client, mut server) = one_of_several(random, wanted, family.alphabet(channel), states);
        if channel == 0 && opens_by_choice {
            open(random, &mut client, &mut server, inner..inner + 1);
        }
        if family.channels > 1 {
            // A channel that goes on with `*` alone has no end, and what runs next to it has none either.
            for state in client.iter_mut().chain(&mut server).filter(|state| state.steps.is_empty()) {
                state.opens.clear();
            }
        }
        clients.push(client);
        servers.push(server);
    }
    if family.interleaves && family.channels > 1 {
        servers = vec![interleaved(&servers[0], &servers[1])];
    }
    for (role, channels) in [(&mut client, clients), (&mut other, servers)] {
        let stars = if family.nests && !opens_by_choice { vec![inner] } else { Vec::new() };
        fork(role, channels, stars);
        for state in role {
            (state.own_end, state.peer_end) = (false, false);
        }
    }
    Body { client, server: other }
}

/// Has channels start behind the last state, and `*` next to them.
fn fork(role: &mut Role, channels: Vec<Role>, stars: Vec<usize>) {
    let is_one = channels.len() == 1 && stars.is_empty();
    let at = role.len();
    if !is_one {
        role.push(State { stars, ..State::default() });
    }
    for channel in channels {
        let start = role.len();
        if !is_one {
            role[at].parts.push(start);
        }
        role.extend(channel.into_iter().map(|mut state| {
            state.steps.iter_mut().for_each(|step| step.to += start);
            state
        }));
    }
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
