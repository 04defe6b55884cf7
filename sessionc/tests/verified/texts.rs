//! Random protocols of the linear fragment: no `*`, one channel.

use std::fmt::Write;

use crate::random::Random;

/// How the roles are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Dual,
    Compatible,
}

/// What a step says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Note(usize),
    Request(usize),
    /// The reply to the request that is open.
    Reply,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    sends: bool,
    label: Label,
    to: usize,
}

/// A state of a role: a definition, or a part of one.
#[derive(Clone, Debug, Default)]
struct State {
    steps: Vec<Step>,
    own_end: bool,
    peer_end: bool,
}

type Role = Vec<State>;

const NOTES: usize = 8;
const REQUESTS: usize = 2;

/// A random text, and how its roles are to relate.
pub(crate) fn write(random: &mut Random) -> (String, Wanted) {
    let (client, server, wanted) = match random.below(10) {
        0..3 => {
            let (client, server) = grid(random);
            (client, server, Wanted::Compatible)
        }
        shape => {
            let client = if shape < 7 { graph(random) } else { loops(random) };
            let mut server = flipped(&client);
            let wanted = if random.percent(40) { Wanted::Dual } else { Wanted::Compatible };
            match (wanted, random.below(4)) {
                (Wanted::Compatible, 0..3) => loosen(random, &mut server),
                (_, 3) => change(random, &mut server),
                _ => {}
            }
            (client, server, wanted)
        }
    };
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    for note in 0..NOTES {
        writeln!(text, "notification N{note} \"n{note}\" (P)").unwrap();
    }
    for request in 0..REQUESTS {
        writeln!(text, "request Q{request} \"q{request}\" (P) -> R{request} (P)").unwrap();
    }
    let compatible = if wanted == Wanted::Compatible { " compatible" } else { "" };
    writeln!(text, "client C{compatible}\nserver S").unwrap();
    Text::new(random, &client, "C", &mut text).role();
    Text::new(random, &server, "S", &mut text).role();
    (text, wanted)
}

fn flipped(role: &Role) -> Role {
    let state = |state: &State| State {
        steps: state.steps.iter().map(|step| Step { sends: !step.sends, ..*step }).collect(),
        own_end: state.peer_end,
        peer_end: state.own_end,
    };
    role.iter().map(state).collect()
}

fn add(state: &mut State, step: Step) {
    let same = |known: &Step| (known.sends, known.label) == (step.sends, step.label);
    if !state.steps.iter().any(same) {
        state.steps.push(step);
    }
}

/// Any steps between any states, with a few requests.
fn graph(random: &mut Random) -> Role {
    let (count, notes) = (1 + random.below(5), 2 + random.below(3));
    let (density, looped) = (10 + random.below(30), random.below(70));
    let mut role: Role = vec![State::default(); count];
    for (from, state) in role.iter_mut().enumerate() {
        for note in 0..notes {
            for sends in [true, false] {
                if random.percent(density) {
                    let to = if random.percent(looped) { from } else { random.below(count) };
                    add(state, Step { sends, label: Label::Note(note), to });
                }
            }
        }
    }
    if random.percent(30) {
        request(random, &mut role, notes);
    }
    if random.percent(30) {
        ends(random, &mut role);
    }
    role
}

/// States that one side leaves, while the other side repeats itself.
fn loops(random: &mut Random) -> Role {
    let (count, notes) = (1 + random.below(5), 2 + random.below(4));
    let strict = random.percent(70);
    let mut role: Role = vec![State::default(); count];
    for (from, state) in role.iter_mut().enumerate() {
        let moves = random.percent(50);
        for note in 0..notes {
            if random.percent(35) {
                add(state, Step { sends: moves, label: Label::Note(note), to: random.below(count) });
            }
            if random.percent(30) {
                let to = if strict || random.percent(80) { from } else { random.below(count) };
                add(state, Step { sends: !moves, label: Label::Note(note), to });
            }
        }
    }
    if random.percent(25) {
        request(random, &mut role, notes);
    }
    if random.percent(40) {
        ends(random, &mut role);
    }
    role
}

/// A request somewhere, in which a few things repeat until it is answered.
fn request(random: &mut Random, role: &mut Role, notes: usize) {
    let states = role.len();
    for request in 0..1 + random.below(REQUESTS) {
        let (from, waiting) = (random.below(states), role.len());
        let sends = random.percent(50);
        let to = if random.percent(50) { from } else { random.below(states) };
        add(&mut role[from], Step { sends, label: Label::Request(request), to: waiting });
        let mut state = State::default();
        add(&mut state, Step { sends: !sends, label: Label::Reply, to });
        for _ in 0..random.below(3) {
            let (sends, label) = (random.percent(50), Label::Note(random.below(notes)));
            add(&mut state, Step { sends, label, to: waiting });
        }
        role.push(state);
    }
}

fn ends(random: &mut Random, role: &mut Role) {
    for state in role {
        let waits = state.steps.iter().any(|step| step.label == Label::Reply);
        if !state.steps.is_empty() && !waits && random.percent(30) {
            (state.own_end, state.peer_end) = if random.percent(50) { (true, false) } else { (false, true) };
        }
    }
}

/// Some state that a step of this one may lead to: a request stays open until it is answered.
fn near(random: &mut Random, role: &Role, from: usize) -> usize {
    let waits = |state: usize| role[state].steps.iter().any(|step| step.label == Label::Reply);
    let to = random.below(role.len());
    if waits(to) || waits(from) { from } else { to }
}

/// Makes a server ask for more and do less.
fn loosen(random: &mut Random, server: &mut Role) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(server.len());
        let to = near(random, server, at);
        if random.percent(60) {
            if !server[at].steps.is_empty() {
                add(&mut server[at], Step { sends: false, label: Label::Note(random.below(NOTES)), to });
            }
        } else {
            let outputs: Vec<usize> = (0..server[at].steps.len())
                .filter(|step| server[at].steps[*step].sends && server[at].steps[*step].label != Label::Reply)
                .collect();
            if let Some(step) = random.one(&outputs).filter(|_| server[at].steps.len() > 1) {
                server[at].steps.remove(*step);
            }
        }
    }
}

/// Changes one thing.
fn change(random: &mut Random, role: &mut Role) {
    let at = random.below(role.len());
    let to = near(random, role, at);
    let (kind, which) = (random.below(4), random.below(role[at].steps.len()));
    let (sends, label) = (random.percent(50), Label::Note(random.below(4)));
    let state = &mut role[at];
    match kind {
        0 if state.steps.len() > 1 && state.steps[which].label != Label::Reply => {
            state.steps.remove(which);
        }
        1 if !state.steps.is_empty() && matches!(state.steps[which].label, Label::Note(_)) => {
            state.steps[which].to = to;
        }
        2 if !state.steps.is_empty() => (state.own_end, state.peer_end) = (state.peer_end, !state.peer_end),
        _ if !state.steps.is_empty() => add(state, Step { sends, label, to }),
        _ => {}
    }
}

/// Steps of the client one way and of the server the other, in any order; each role leaves some out that it might send,
/// and sometimes something is wrong.
fn grid(random: &mut Random) -> (Role, Role) {
    let (width, height) = (2 + random.below(2), 2 + random.below(2));
    let (rarely, often) = (random.below(12), 15 + random.below(30));
    let closes = random.percent(30);
    let count = width * height;
    let (mut client, mut server): (Role, Role) =
        (vec![State::default(); count], vec![State::default(); count]);
    for at in 0..count {
        let (x, y) = (at % width, at / width);
        let across = (x + 1 < width).then_some((true, x, at + 1));
        let down = (y + 1 < height).then_some((false, 3 + y, at + width));
        for (from_client, note, to) in across.into_iter().chain(down) {
            for (role, sends) in [(&mut client, from_client), (&mut server, !from_client)] {
                if random.percent(if sends { often } else { rarely }) {
                    continue;
                }
                let to = if random.percent(rarely) { random.below(count) } else { to };
                add(&mut role[at], Step { sends, label: Label::Note(note), to });
            }
        }
        if closes {
            (client[at].own_end, server[at].peer_end) = (true, true);
        } else {
            let label = Label::Note(NOTES - 1);
            add(&mut client[at], Step { sends: true, label, to: at });
            add(&mut server[at], Step { sends: false, label, to: at });
        }
    }
    (client, server)
}

/// Writes a role: a definition for each state, unless it stands where it is used.
struct Text<'a> {
    random: &'a mut Random,
    role: &'a Role,
    prefix: &'static str,
    text: &'a mut String,
    /// The states that have a definition, in the order in which they are found.
    named: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(random: &'a mut Random, role: &'a Role, prefix: &'static str, text: &'a mut String) -> Text<'a> {
        Text { random, role, prefix, text, named: vec![0] }
    }

    fn role(mut self) {
        let mut at = 0;
        while let Some(state) = self.named.get(at).copied() {
            let body = self.state(state, &mut Vec::new());
            let name = if state == 0 { self.prefix.to_owned() } else { format!("{}{state}", self.prefix) };
            writeln!(self.text, "{name} = {body}").unwrap();
            at += 1;
        }
    }

    /// The choice of a state. `within` are the loops that it stands in.
    fn state(&mut self, at: usize, within: &mut Vec<usize>) -> String {
        let state = &self.role[at];
        let mut branches = Vec::new();
        for step in &state.steps {
            let sign = if step.sends { '!' } else { '?' };
            let message = match step.label {
                Label::Note(note) => format!("N{note}"),
                Label::Request(request) => format!("Q{request}"),
                Label::Reply => "reply".to_owned(),
            };
            branches.push(format!("{sign}{message} . {}", self.tail(step.to, within)));
        }
        let bare = state.own_end || state.peer_end || branches.is_empty();
        if bare {
            branches.push("End".to_owned());
        }
        let sends = state.steps.iter().any(|step| step.sends);
        let receives = state.steps.iter().any(|step| !step.sends);
        let internal = match (state.own_end, state.peer_end) {
            (true, _) => true,
            (false, true) => false,
            _ if sends && receives => self.random.percent(50),
            _ => sends,
        };
        branches.join(if internal { " ⊕ " } else { " & " })
    }

    /// What stands behind a step: a name, or the state itself.
    fn tail(&mut self, to: usize, within: &mut Vec<usize>) -> String {
        if within.contains(&to) {
            return format!("x{to}");
        }
        let is_named = self.named.contains(&to);
        if within.len() < 3 && self.random.percent(if is_named { 10 } else { 50 }) {
            within.push(to);
            let body = self.state(to, within);
            within.pop();
            // A loop that nothing leads back to is a warning.
            return match body.contains(&format!("x{to}")) {
                true => format!("( rec x{to} . ( {body} ) )"),
                false => format!("( {body} )"),
            };
        }
        if !is_named {
            self.named.push(to);
        }
        if to == 0 { self.prefix.to_owned() } else { format!("{}{to}", self.prefix) }
    }
}
