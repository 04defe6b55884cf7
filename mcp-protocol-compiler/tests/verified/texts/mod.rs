//! Random protocols: one channel, or a few side by side, and sub-sessions.

mod sub_sessions;

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
    /// The bodies of which sub-sessions can be opened here.
    opens: Vec<usize>,
    /// Instead of everything else, the states in which channels start side by side, and bodies of `*` next to them.
    parts: Vec<usize>,
    stars: Vec<usize>,
}

type Role = Vec<State>;

/// The messages that a channel may have: notifications and a request or two.
#[derive(Clone, Copy, Debug)]
struct Alphabet {
    notes: usize,
    count: usize,
    request: usize,
    requests: usize,
}

const NOTES: usize = 12;
const REQUESTS: usize = 3;

impl Alphabet {
    /// What a single channel has.
    const ALL: Alphabet = Alphabet { notes: 0, count: 8, request: 0, requests: 2 };

    /// What one of several channels has.
    fn of(channel: usize) -> Alphabet {
        Alphabet { notes: 4 * channel, count: 4, request: channel, requests: 1 }
    }

    fn note(self, number: usize) -> Label {
        Label::Note(self.notes + number % self.count)
    }
}

/// A random text, and how its roles are to relate.
pub(crate) fn write(random: &mut Random) -> (String, Wanted) {
    match random.below(100) {
        0..25 => side_by_side(random),
        25..55 => sub_sessions::write(random),
        _ => one_channel(random),
    }
}

fn one_channel(random: &mut Random) -> (String, Wanted) {
    let (client, server, wanted) = match random.below(10) {
        0..3 => {
            let (client, server) = grid(random, Alphabet::ALL);
            (client, server, Wanted::Compatible)
        }
        3 => {
            let (client, server) = hub(random, Alphabet::ALL);
            (client, server, Wanted::Compatible)
        }
        shape => {
            let client = if shape < 7 { graph(random, Alphabet::ALL) } else { loops(random, Alphabet::ALL) };
            let wanted = if random.percent(40) { Wanted::Dual } else { Wanted::Compatible };
            let server = server(random, &client, wanted, Alphabet::ALL);
            (client, server, wanted)
        }
    };
    let mut text = declarations(wanted, random.percent(35));
    Text::new(random, &client, "C", &mut text).role();
    Text::new(random, &server, "S", &mut text).role();
    (text, wanted)
}

/// Channels that share no message, which the server has in another order, or two of them as one.
fn side_by_side(random: &mut Random) -> (String, Wanted) {
    let wanted = if random.percent(50) { Wanted::Dual } else { Wanted::Compatible };
    let (mut clients, mut servers): (Vec<Role>, Vec<Role>) = (Vec::new(), Vec::new());
    let channels = if random.percent(20) { 3 } else { 2 };
    for number in 0..channels {
        let alphabet = Alphabet::of(number);
        let (mut client, mut other) =
            one_of_several(random, wanted, alphabet, if channels == 3 { 2 } else { 4 });
        if wanted == Wanted::Compatible {
            // Who may close is judged by the whole session and not by groups.
            go_on(&mut client, &mut other, alphabet);
        }
        clients.push(client);
        servers.push(other);
    }
    if random.percent(40) {
        let (one, other) = (servers.remove(0), servers.remove(0));
        servers.push(interleaved(&one, &other));
    }
    if random.percent(50) {
        servers.reverse();
    }
    let mut text = declarations(wanted, random.percent(35));
    for (role, channels) in [("C", &clients), ("S", &servers)] {
        let names: Vec<String> =
            (0..channels.len()).map(|number| format!("{role}{}", letter(number))).collect();
        let (open, close) = if channels.len() > 1 { ("(", ")") } else { ("", "") };
        writeln!(text, "{role} = {open}{}{close}", names.join(", ")).unwrap();
        for (channel, name) in channels.iter().zip(&names) {
            Text::new(random, channel, name, &mut text).role();
        }
    }
    (text, wanted)
}

/// One of several channels, in which the client has so many states at most.
fn one_of_several(random: &mut Random, wanted: Wanted, alphabet: Alphabet, states: usize) -> (Role, Role) {
    if wanted == Wanted::Compatible && random.percent(30) {
        return grid(random, alphabet);
    }
    let mut client = if random.percent(50) { graph(random, alphabet) } else { loops(random, alphabet) };
    client.truncate(states);
    let count = client.len();
    for state in &mut client {
        state.steps.retain(|step| step.to < count);
    }
    let other = server(random, &client, wanted, alphabet);
    (client, other)
}

/// Makes a channel one that neither side can close and that has no end.
fn go_on(client: &mut Role, server: &mut Role, alphabet: Alphabet) {
    for (role, sends) in [(client, true), (server, false)] {
        for (at, state) in role.iter_mut().enumerate() {
            (state.own_end, state.peer_end) = (false, false);
            if state.steps.is_empty() {
                add(state, Step { sends, label: alphabet.note(3), to: at });
            }
        }
    }
}

/// The definition of a body in the role whose definitions begin like this one.
fn body_name(role: &str, body: usize) -> String {
    let role = role.chars().next().unwrap();
    format!("{role}Body{}", letter(body))
}

fn letter(number: usize) -> char {
    ['a', 'b', 'c', 'd', 'e', 'f'][number]
}

/// Two channels as one that has their steps in any order.
fn interleaved(one: &Role, other: &Role) -> Role {
    let at = |x: usize, y: usize| x * other.len() + y;
    let mut role = Role::new();
    for (x, first) in one.iter().enumerate() {
        for (y, second) in other.iter().enumerate() {
            let steps = first.steps.iter().map(|step| Step { to: at(step.to, y), ..*step });
            let others = second.steps.iter().map(|step| Step { to: at(x, step.to), ..*step });
            // A channel at its end may be closed, if the other one may.
            let over = |state: &State| state.steps.is_empty();
            let may = |own: fn(&State) -> bool| {
                (own(first) || over(first)) && (own(second) || over(second)) && !(over(first) && over(second))
            };
            role.push(State {
                steps: steps.chain(others).collect(),
                own_end: may(|state| state.own_end),
                peer_end: may(|state| state.peer_end),
                opens: first.opens.iter().chain(&second.opens).copied().collect(),
                ..State::default()
            });
        }
    }
    role
}

fn declarations(wanted: Wanted, cancellable: bool) -> String {
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    for note in 0..NOTES {
        writeln!(text, "notification N{note} \"n{note}\" (P)").unwrap();
    }
    for request in 0..REQUESTS {
        let modifier = if cancellable { " cancellable" } else { "" };
        writeln!(text, "request Q{request} \"q{request}\" (P) -> R{request} (P){modifier}").unwrap();
    }
    if cancellable {
        writeln!(text, "notification Cancelled \"cancelled\" (P) cancels id").unwrap();
    }
    let compatible = if wanted == Wanted::Compatible { " compatible" } else { "" };
    writeln!(text, "client C{compatible}\nserver S").unwrap();
    text
}

/// The other side of a client, which may have a mistake.
fn server(random: &mut Random, client: &Role, wanted: Wanted, alphabet: Alphabet) -> Role {
    let mut server = flipped(client);
    match (wanted, random.below(4)) {
        (Wanted::Compatible, 0..3) => loosen(random, &mut server, alphabet),
        (_, 3) => change(random, &mut server, alphabet),
        _ => {}
    }
    server
}

fn flipped(role: &Role) -> Role {
    let state = |state: &State| State {
        steps: state.steps.iter().map(|step| Step { sends: !step.sends, ..*step }).collect(),
        own_end: state.peer_end,
        peer_end: state.own_end,
        opens: state.opens.clone(),
        parts: state.parts.clone(),
        stars: state.stars.clone(),
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
fn graph(random: &mut Random, alphabet: Alphabet) -> Role {
    let (count, notes) = (1 + random.below(5), 2 + random.below(3));
    let (density, looped) = (10 + random.below(30), random.below(70));
    let mut role: Role = vec![State::default(); count];
    for (from, state) in role.iter_mut().enumerate() {
        for note in 0..notes {
            for sends in [true, false] {
                if random.percent(density) {
                    let to = if random.percent(looped) { from } else { random.below(count) };
                    add(state, Step { sends, label: alphabet.note(note), to });
                }
            }
        }
    }
    if random.percent(30) {
        request(random, &mut role, notes, alphabet);
    }
    if random.percent(30) {
        ends(random, &mut role);
    }
    role
}

/// States that one side leaves, while the other side repeats itself.
fn loops(random: &mut Random, alphabet: Alphabet) -> Role {
    let (count, notes) = (1 + random.below(5), 2 + random.below(4));
    let strict = random.percent(70);
    let mut role: Role = vec![State::default(); count];
    for (from, state) in role.iter_mut().enumerate() {
        let moves = random.percent(50);
        for note in 0..notes {
            if random.percent(35) {
                add(state, Step { sends: moves, label: alphabet.note(note), to: random.below(count) });
            }
            if random.percent(30) {
                let to = if strict || random.percent(80) { from } else { random.below(count) };
                add(state, Step { sends: !moves, label: alphabet.note(note), to });
            }
        }
    }
    if random.percent(25) {
        request(random, &mut role, notes, alphabet);
    }
    if random.percent(40) {
        ends(random, &mut role);
    }
    role
}

/// A request somewhere, in which a few things repeat until it is answered.
fn request(random: &mut Random, role: &mut Role, notes: usize, alphabet: Alphabet) {
    let states = role.len();
    for number in 0..1 + random.below(alphabet.requests) {
        let request = alphabet.request + number;
        let (from, waiting) = (random.below(states), role.len());
        let sends = random.percent(50);
        let to = if random.percent(65) { from } else { random.below(states) };
        add(&mut role[from], Step { sends, label: Label::Request(request), to: waiting });
        let mut state = State::default();
        add(&mut state, Step { sends: !sends, label: Label::Reply, to });
        for _ in 0..random.below(3) {
            let (sends, label) = (random.percent(50), alphabet.note(random.below(notes)));
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
fn loosen(random: &mut Random, server: &mut Role, alphabet: Alphabet) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(server.len());
        let to = near(random, server, at);
        if random.percent(60) {
            if !server[at].steps.is_empty() {
                add(&mut server[at], Step { sends: false, label: alphabet.note(random.below(8)), to });
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
fn change(random: &mut Random, role: &mut Role, alphabet: Alphabet) {
    let at = random.below(role.len());
    let to = near(random, role, at);
    let (kind, which) = (random.below(4), random.below(role[at].steps.len()));
    let (sends, label) = (random.percent(50), alphabet.note(random.below(4)));
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
fn grid(random: &mut Random, alphabet: Alphabet) -> (Role, Role) {
    let (width, height) = (2 + random.below(2), 2 + random.below(2));
    let (rarely, often) = (random.below(12), 15 + random.below(30));
    let closes = random.percent(30);
    let count = width * height;
    let (mut client, mut server): (Role, Role) =
        (vec![State::default(); count], vec![State::default(); count]);
    for at in 0..count {
        let (x, y) = (at % width, at / width);
        let across = (x + 1 < width).then_some((true, x, at + 1));
        let down = (y + 1 < height).then_some((false, 2 + y, at + width));
        for (from_client, note, to) in across.into_iter().chain(down) {
            for (role, sends) in [(&mut client, from_client), (&mut server, !from_client)] {
                if random.percent(if sends { often } else { rarely }) {
                    continue;
                }
                let to = if random.percent(rarely) { random.below(count) } else { to };
                add(&mut role[at], Step { sends, label: alphabet.note(note), to });
            }
        }
        if closes {
            (client[at].own_end, server[at].peer_end) = (true, true);
        } else {
            let label = alphabet.note(alphabet.count - 1);
            add(&mut client[at], Step { sends: true, label, to: at });
            add(&mut server[at], Step { sends: false, label, to: at });
        }
    }
    (client, server)
}

/// Places in which the client sends one message, and which one message of the server leads away from, to one place. What
/// crosses it may lead from there to several others.
fn hub(random: &mut Random, alphabet: Alphabet) -> (Role, Role) {
    let [sent, moves, left, idle, busy] = [0, 1, 2, 3, 4].map(|note| alphabet.note(note));
    let rows = 2 + random.below(2);
    let (hub, ends) = (2 * rows, [2 * rows + 1, 2 * rows + 2]);
    let step = |sends: bool, label: Label, to: usize| Step { sends, label, to };
    let mut client: Role = vec![State::default(); 2 * rows + 3];
    for row in 0..rows {
        add(&mut client[row], step(true, sent, rows + row));
        add(&mut client[row], step(false, left, hub));
        if row + 1 < rows {
            add(&mut client[row], step(true, moves, row + 1));
        }
        let end = ends[usize::from(random.percent(25))];
        add(&mut client[rows + row], step(false, left, end));
        add(&mut client[rows + row], step(false, busy, rows + row));
    }
    for at in [hub, ends[0], ends[1]] {
        add(&mut client[at], step(true, idle, at));
    }
    add(&mut client[ends[1]], step(false, busy, ends[1]));
    let mut server = flipped(&client);
    for row in 0..rows {
        if random.percent(50) {
            server[rows + row].steps.retain(|step| step.label == busy);
        }
    }
    add(&mut server[hub], step(false, sent, ends[usize::from(random.percent(10))]));
    add(&mut server[hub], step(false, moves, hub));
    if random.percent(20) {
        loosen(random, &mut server, alphabet);
    }
    (client, server)
}

/// Writes a role: a definition for each state, unless it stands where it is used.
struct Text<'a> {
    random: &'a mut Random,
    role: &'a Role,
    prefix: &'a str,
    text: &'a mut String,
    /// The states that have a definition, in the order in which they are found.
    named: Vec<usize>,
}

impl<'a> Text<'a> {
    fn new(random: &'a mut Random, role: &'a Role, prefix: &'a str, text: &'a mut String) -> Text<'a> {
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
        let role = self.role;
        let state = &role[at];
        if !state.parts.is_empty() {
            let mut parts: Vec<String> = state.parts.iter().map(|part| self.reference(*part)).collect();
            parts.extend(state.stars.iter().map(|body| format!("*{}", body_name(self.prefix, *body))));
            return format!("({})", parts.join(", "));
        }
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
        for body in &state.opens {
            branches.push(format!("*{}", body_name(self.prefix, *body)));
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
        self.reference(to)
    }

    /// The name of a state, which has a definition.
    fn reference(&mut self, to: usize) -> String {
        if !self.named.contains(&to) {
            self.named.push(to);
        }
        if to == 0 { self.prefix.to_owned() } else { format!("{}{to}", self.prefix) }
    }
}
