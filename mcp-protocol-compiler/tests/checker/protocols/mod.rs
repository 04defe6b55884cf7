//! Random protocols, as text that mostly compiles.
//!
//! A channel is a few states over a few messages of its own, so that a message is right in one state and wrong in
//! another. Mixed choices are loops of one direction and steps of the other in one state, or the two orders written
//! out.

mod channels;
mod during;
mod members;
mod nesting;

use std::collections::HashSet;
use std::fmt::Write;

use crate::random::Random;

struct Definition {
    name: String,
    /// Whether sub-sessions rest in it.
    /// The mark, for sub-sessions to rest.
    only: &'static str,
    /// Each branch, and whether it starts with `!`; `None` for what starts with neither.
    branches: Vec<(Option<bool>, String)>,
}

struct Draft<'r> {
    random: &'r mut Random,
    declarations: String,
    keys: String,
    definitions: Vec<Definition>,
    gated: bool,
    /// Whether each request of some side announces what it can do.
    each: bool,
    /// Small ones show best what is wrong, large ones find most.
    small: bool,
    next: usize,
    /// Whether sub-sessions rest in some states.
    suspends: bool,
    /// Chooses the open keys, so that nothing else of a seed depends on them.
    keys_random: Random,
    /// Chooses the channels of bodies that are at their end from the beginning.
    ends_random: Random,
    cancels: Cancels,
    /// Whether a `*` may stand in the body of another one.
    nests: bool,
    /// Whether the body of a `*` may have several linear channels.
    forks: bool,
    /// The keys of the bodies around what is being written, the outermost first.
    around: Vec<String>,
}

/// Which cancels a protocol has. Nothing else of a seed depends on them.
struct Cancels {
    random: Random,
    /// The reply follows a cancel.
    reply_follows: bool,
    /// Some requests may be cancelled only until they have their reply.
    until_reply: bool,
}

impl Cancels {
    fn new(mut random: Random) -> Cancels {
        let reply_follows = random.percent(35);
        Cancels { reply_follows, until_reply: !reply_follows && random.percent(60), random }
    }

    /// The notification, with its gate.
    fn notification(&self, gate: &str) -> String {
        let reply = if self.reply_follows { " with reply error -32800" } else { "" };
        format!("notification Cancelled \"cancelled\" (P) cancels requestId{reply}{gate}\n")
    }

    /// The modifiers of a request; it has these where each cancel ends an exchange.
    fn of_request<'m>(&mut self, modifiers: &'m str) -> &'m str {
        match modifiers {
            // A cancel that moves nothing is possible everywhere.
            "" if self.reply_follows && self.random.percent(40) => " cancellable",
            " cancellable" if self.until_reply && self.random.percent(50) => " cancellable until reply",
            _ => modifiers,
        }
    }
}

/// What the states of one channel share.
struct Pool {
    notes: Vec<String>,
    requests: Vec<(String, Vec<String>)>,
    /// The key that ties the messages of a sub-session.
    key: Option<String>,
    states: Vec<String>,
    /// How many more forks there may be behind one another.
    depth: usize,
    /// The bodies of a `*` that is a branch in many of the choices.
    bodies: Option<Bodies>,
    /// Every `*` that is a branch in some of the choices of a body.
    inner: Vec<String>,
}

/// Bodies of `*` that one message opens.
struct Bodies {
    names: Vec<String>,
    /// Whether the channel never comes to its end, so that one of them can always be opened.
    endless: bool,
}

/// The other side's text.
pub(crate) fn flip(text: &str) -> String {
    let turn = |character| match character {
        '!' => '?',
        '?' => '!',
        '⊕' => '&',
        '&' => '⊕',
        other => other,
    };
    text.chars().map(turn).collect()
}

fn sign(send: bool) -> char {
    if send { '!' } else { '?' }
}

fn operator(send: bool) -> char {
    if send { '⊕' } else { '&' }
}

/// How many random protocols in a hundred may have a `*` in the body of another one.
const NESTED: usize = 40;
/// How many of those may have several linear channels in the body of a `*`, whether or not another one stands in it.
const FORKED: usize = 50;

/// Where the sides announce again and again what they can do.
const ANNOUNCED_AGAIN: &str = "*( !Init . ?Inited . End ), *( !Told . End ), *( ?Said . End )";
/// Where they grant capabilities, and take them back.
const GRANTED: &str = "*( !GiveC . End ), *( ?GiveS . End ), *( !TakeC . End ), *( ?TakeS . End ), \
    *( !Enter . ?Entered . End ), *( ?Leave . !Left . End )";

/// Writes a random protocol.
pub(crate) fn write(random: &mut Random) -> String {
    let gated = random.percent(40);
    let compatible = random.percent(35);
    let small = random.percent(60);
    let suspends = random.percent(30);
    let keys_random = random.fork();
    let cancels = Cancels::new(keys_random.fork());
    let mut bodies_random = keys_random.fork();
    let ends_random = bodies_random.fork().fork().fork();
    let nests = bodies_random.percent(NESTED);
    let forks = bodies_random.percent(FORKED);
    let mut gates_random = keys_random.fork().fork();
    let changing = gated && gates_random.percent(80);
    // Whose requests announce each what the side can do meanwhile: those of one side at most.
    let who = gates_random.below(4);
    let each = [0, 1].map(|side| changing && who == side);
    let mut draft = Draft {
        random,
        declarations: String::new(),
        keys: String::new(),
        definitions: Vec::new(),
        gated,
        each: each.contains(&true),
        small,
        next: 0,
        suspends,
        keys_random,
        ends_random,
        cancels,
        nests,
        forks,
        around: Vec::new(),
    };
    let main = draft.top();
    let during_random = draft.keys_random.fork().fork().fork();
    let members_random = during_random.fork();
    let grants = changing && each == [false; 2] && gates_random.percent(60);
    let start = match gated {
        true if changing && grants => format!("( {main}, {ANNOUNCED_AGAIN}, {GRANTED} )"),
        true if changing => format!("( {main}, {ANNOUNCED_AGAIN} )"),
        true => format!("!Init . ?Inited . ( {main} )"),
        false => main,
    };
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    if gated {
        // A reply that crosses its cancel still announces.
        let cancellable = if changing && gates_random.percent(50) { " cancellable" } else { "" };
        writeln!(text, "request Init \"init\" (P) -> Inited (P){cancellable}").unwrap();
        let roles = [("client", "Init", "Told"), ("server", "Inited", "Said")];
        for ((role, message, again), each) in roles.into_iter().zip(each) {
            if each {
                writeln!(text, "notification {again} \"{again}\" (P)").unwrap();
                writeln!(text, "capabilities {role} = each request._meta.can").unwrap();
                continue;
            }
            let open = if changing && gates_random.percent(50) { " open until announced" } else { "" };
            writeln!(text, "capabilities {role} = {message}.capabilities{open}").unwrap();
            if changing {
                writeln!(text, "notification {again} \"{again}\" (P)").unwrap();
                writeln!(text, "capabilities {role} = {again}.capabilities").unwrap();
            }
            // A step announces, too, and may come late; half of them are refused, for the other side sends them.
            let notes: Vec<&str> = draft.declarations.lines().filter_map(notification).collect();
            if changing && !notes.is_empty() && gates_random.percent(30) {
                let note = notes[gates_random.below(notes.len())];
                writeln!(text, "capabilities {role} = {note}.capabilities").unwrap();
            }
        }
    }
    if grants {
        text += "notification GiveC \"giveC\" (P) grants can\nnotification GiveS \"giveS\" (P) grants can\n\
                 notification TakeC \"takeC\" (P) revokes can\nnotification TakeS \"takeS\" (P) revokes can\n";
        let mut cancellable = || if gates_random.percent(50) { " cancellable" } else { "" };
        writeln!(text, "request Enter \"enter\" (P) -> Entered (P) grants can{}", cancellable()).unwrap();
        writeln!(text, "request Leave \"leave\" (P) -> Left (P) revokes can{}", cancellable()).unwrap();
    }
    // What is about a request has gates, too, though rarely: without it there is less to see.
    let mut gate = || if gates_random.percent(30) { draft.gate(false) } else { String::new() };
    let (cancel_gate, report_gate) = (gate(), gate());
    text += &draft.cancels.notification(&cancel_gate);
    writeln!(
        text,
        "notification Progress \"progress\" (P) reports progressToken of _meta.progressToken{report_gate}"
    )
    .unwrap();
    // A step that grants or revokes may come late, too.
    let changes = |random: &mut Random| if random.percent(50) { " grants can" } else { " revokes can" };
    for line in draft.declarations.lines() {
        let change = grants && notification(line).is_some() && gates_random.percent(20);
        writeln!(text, "{line}{}", if change { changes(&mut gates_random) } else { "" }).unwrap();
    }
    text += &draft.keys;
    if compatible {
        text += "client C compatible\nserver S\n";
        writeln!(text, "C = {start}\nS = {}", flip(&start)).unwrap();
        for definition in &draft.definitions {
            for server in [false, true] {
                // Who sends may leave something out; who receives takes all.
                let mut branches = definition.branches.clone();
                while draft.random.percent(40) {
                    let sent: Vec<usize> =
                        (0..branches.len()).filter(|place| branches[*place].0 == Some(!server)).collect();
                    if sent.len() < 2 {
                        break;
                    }
                    branches.remove(sent[draft.random.below(sent.len())]);
                }
                let line = lay_out(&branches);
                let role = if server { "S" } else { "C" };
                let only = if server { turned(definition.only) } else { definition.only };
                let line = if server { flip(&line) } else { line };
                writeln!(text, "{role}::{}{only} = {line}", definition.name).unwrap();
            }
        }
    } else {
        text += "client C\nserver S = dual C\n";
        writeln!(text, "C = {start}").unwrap();
        for definition in &draft.definitions {
            let only = definition.only;
            writeln!(text, "{}{only} = {}", definition.name, lay_out(&definition.branches)).unwrap();
        }
    }
    members::add(members_random, during::add(during_random, text))
}

/// The name of the notification that a line declares.
fn notification(line: &str) -> Option<&str> {
    line.strip_prefix("notification ")?.split(' ').next()
}

fn lay_out(branches: &[(Option<bool>, String)]) -> String {
    let texts: Vec<&str> = branches.iter().map(|(_, text)| text.as_str()).collect();
    // A choice in which this side may send belongs to this side, also if it is mixed.
    let internal = branches.iter().any(|(send, _)| *send == Some(true));
    texts.join(&format!(" {} ", operator(internal)))
}

impl Draft<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn below(&mut self, limit: usize) -> usize {
        if self.small && self.random.percent(70) { 0 } else { self.random.below(limit) }
    }

    fn gate(&mut self, request: bool) -> String {
        if !self.gated || !self.random.percent(50) {
            return String::new();
        }
        let holders = ["client", "server", "peer", "own"];
        let condition = match self.random.below(10) {
            0..4 => " if urgent",
            4..6 => " unless urgent",
            _ => "",
        };
        // No message says what holds for the own notifications of a side that announces in each request.
        let holder = match holders[self.random.below(4)] {
            "client" | "own" if self.each && request => "own",
            _ if self.each => "peer",
            holder => holder,
        };
        format!(" requires {holder}.g{}{condition}", self.random.below(3))
    }

    /// What advises against an action.
    fn level(&mut self) -> String {
        if !self.random.percent(10) {
            return String::new();
        }
        let rule = self.fresh("A");
        format!(" [should \"{rule}\"]")
    }

    /// Declares a notification.
    fn note(&mut self, key: Option<&str>) -> String {
        // What is a step of a sub-session may also be a report.
        let reports = key.is_some() && self.keys_random.percent(12);
        self.note_that(key, reports)
    }

    /// Declares a notification, which may also be a report on a request.
    fn note_that(&mut self, key: Option<&str>, reports: bool) -> String {
        let name = self.fresh("N");
        let mut gate = self.gate(false);
        if reports {
            gate += " reports progressToken of _meta.progressToken";
        }
        if self.random.percent(25) {
            // One of several messages of one method, which only the payload tells apart.
            let (group, place) = (self.next % 2, self.next);
            // Values of all kinds, each of them once.
            let value = match place {
                3 | 4 => format!("{}", place == 4),
                _ if place % 3 == 0 => place.to_string(),
                _ => format!("\"{name}\""),
            };
            writeln!(self.declarations, "notification {name} \"note{group}\" if kind = {value} (P){gate}")
                .unwrap();
        } else {
            writeln!(self.declarations, "notification {name} \"{name}\" (P){gate}").unwrap();
        }
        self.tie_within(&name, key);
        name
    }

    /// Gives a message the keys of the bodies around it, by which it finds them, and one of its own.
    fn tie_within(&mut self, message: &str, key: Option<&str>) {
        for around in self.around.clone() {
            self.tie(message, Some(&around));
        }
        self.tie(message, key);
    }

    fn tie(&mut self, message: &str, key: Option<&str>) {
        let Some(key) = key else { return };
        let outermost = self.around.first().is_none_or(|around| around == key);
        let open = if outermost && self.keys_random.percent(8) { "open " } else { "" };
        let carried = format!("{open}{message}.{}", if outermost { "k" } else { key });
        let start = format!("key {key} = ");
        match self.keys.find(&start) {
            Some(place) => self.keys.insert_str(place + start.len(), &format!("{carried} | ")),
            None => {
                let open = if outermost && self.keys_random.percent(35) { "open " } else { "" };
                writeln!(self.keys, "{open}{start}{carried}").unwrap();
            }
        }
    }

    /// Declares a request; gives its replies, too.
    fn request(&mut self, key: Option<&str>, modifiers: &str) -> (String, Vec<String>) {
        let name = self.fresh("R");
        let mut replies = vec![format!("{name}A")];
        let mut line = format!("request {name} \"{name}\" (P) -> {name}A (P)");
        if self.random.percent(30) {
            write!(line, " | {name}B (P) if late").unwrap();
            replies.push(format!("{name}B"));
        }
        let gate = self.gate(true);
        let modifiers = self.cancels.of_request(modifiers);
        writeln!(self.declarations, "{line}{gate}{modifiers}").unwrap();
        self.tie_within(&name, key);
        (name, replies)
    }

    /// What a session is after its handshake.
    fn top(&mut self) -> String {
        match self.random.below(4) {
            // One linear channel with sub-sessions, which its states may suspend.
            _ if self.suspends => format!("( {}, {} )", self.ring(), self.stars()),
            _ if self.nests && self.random.percent(60) => {
                format!("( {}, {} )", self.short(None), self.stars())
            }
            // Channels that end soon, in parallel with others.
            _ if self.random.percent(30) => {
                let other = match self.random.percent(50) {
                    true => self.stopped(None),
                    false => self.channel_with(0, None, true),
                };
                let mut parts = vec![self.short(None), other];
                if self.random.percent(30) {
                    parts.push(self.short(None));
                }
                if self.random.percent(50) {
                    parts.reverse();
                }
                format!("( {} )", parts.join(", "))
            }
            _ if self.small && self.random.percent(50) => format!("( {}, {} )", self.stars(), self.stars()),
            0 => self.channel(2, None),
            _ if self.small => self.channel(1, None),
            1 => format!("( {}, {} )", self.channel(1, None), self.stars()),
            _ => self.fork(2),
        }
    }

    fn fork(&mut self, depth: usize) -> String {
        let mut parts = Vec::new();
        for _ in 0..self.random.below(3) {
            parts.push(self.channel(depth.saturating_sub(1), None));
        }
        if parts.len() < 2 || self.random.percent(60) {
            parts.push(self.stars());
        }
        if parts.len() < 2 {
            parts.push(self.stars());
        }
        format!("( {} )", parts.join(", "))
    }

    fn stars(&mut self) -> String {
        let mut stars = Vec::new();
        for _ in 0..1 + self.below(3) {
            let before = self.definitions.len();
            stars.push(self.star());
            stars.extend(self.written_alone(before));
        }
        stars.join(", ")
    }

    /// A step with an open key of what was defined since then, or what opens an exchange within that, written where it is
    /// uncorrelated.
    fn written_alone(&mut self, before: usize) -> Option<String> {
        let members = |line: &str| {
            let all = line.starts_with("open key");
            let written = line.split(" = ").nth(1).unwrap_or_default().split(" | ");
            let open =
                written.filter_map(move |member| member.strip_prefix("open ").or(all.then_some(member)));
            open.filter_map(|member| member.split('.').next()).map(str::to_owned).collect::<Vec<_>>()
        };
        let open: HashSet<String> = self.keys.lines().flat_map(members).collect();
        let branches = self.definitions[before..].iter().flat_map(|definition| &definition.branches);
        let words = branches.flat_map(|(_, text)| text.split(' '));
        let is_open = |word: &&str| {
            word.get(1..).is_some_and(|name| name.starts_with(['N', 'R']) && open.contains(name))
        };
        let steps: Vec<String> = words.filter(is_open).map(str::to_owned).collect();
        let step = self.keys_random.one(&steps)?.clone();
        let reply = match step.get(1..2) {
            Some("R") => format!("{}reply . ", sign(step.starts_with('?'))),
            _ => String::new(),
        };
        self.keys_random.percent(30).then(|| format!("*( {step} . {reply}End )"))
    }

    /// Something that any number of runs of may go on at once.
    fn star(&mut self) -> String {
        let send = self.random.percent(50);
        let (out, back) = (sign(send), sign(!send));
        let cancellable = if self.random.percent(50) { " cancellable" } else { "" };
        match self.random.below(7) {
            _ if self.suspends && self.random.percent(60) => format!("*{}", self.keyed(send, cancellable)),
            _ if self.nests && self.around.is_empty() && self.random.percent(85) => {
                format!("*{}", self.keyed(send, cancellable))
            }
            0 => {
                let reports = self.keys_random.percent(30);
                format!("*( {out}{} . End )", self.note_that(None, reports))
            }
            1 => {
                let (request, _) = self.request(None, cancellable);
                format!("*( {out}{request} . {back}reply . End )")
            }
            2 => {
                let members = [self.request(None, cancellable).0, self.request(None, "").0];
                let group = self.fresh("G");
                writeln!(self.declarations, "group {group} = {}", members.join(" | ")).unwrap();
                format!("*( {out}{group} . {back}reply . End )")
            }
            _ => format!("*{}", self.keyed(send, cancellable)),
        }
    }

    /// A sub-session with a session type of its own.
    fn keyed(&mut self, send: bool, cancellable: &str) -> String {
        let key = self.fresh("k");
        let (out, back) = (sign(send), sign(!send));
        let nests = self.nests();
        let first = match self.random.below(4) {
            _ if self.forks && self.random.percent(20) => self.started(&key),
            _ if nests && self.random.percent(35) => self.waiting(send, cancellable, &key),
            0 => {
                let note = self.note(Some(&key));
                format!("{out}{note} . {}", self.body(&key, nests))
            }
            1 => {
                let (request, _) = self.request(Some(&key), cancellable);
                format!("{out}{request} . {back}reply . {}", self.body(&key, nests))
            }
            2 => self.answered_late(send, cancellable, &key),
            _ => {
                // The reply names the value of the sub-session.
                let (request, replies) = self.request(None, cancellable);
                for reply in &replies {
                    self.tie(reply, Some(&key));
                }
                let then = replies.iter().map(|_| self.random.below(2)).collect::<Vec<_>>();
                let body = self.body(&key, nests);
                let branches: Vec<String> = replies
                    .iter()
                    .zip(then)
                    .map(|(reply, over)| match over {
                        1 if replies.len() > 1 => format!("{back}{reply} . End"),
                        _ => format!("{back}{reply} . {body}"),
                    })
                    .collect();
                format!("{out}{request} . ( {} )", branches.join(&format!(" {} ", operator(!send))))
            }
        };
        let name = self.fresh("K");
        self.definitions.push(Definition { name: name.clone(), only: "", branches: vec![(None, first)] });
        name
    }

    /// Bodies of one `*`, which differ in what comes after the first message.
    fn bodies(&mut self) -> Bodies {
        let key = self.fresh("k");
        let send = self.random.percent(50);
        let (out, back) = (sign(send), sign(!send));
        let opening = if self.random.percent(50) {
            format!("{out}{}", self.note(Some(&key)))
        } else {
            let cancellable = if self.random.percent(30) { " cancellable" } else { "" };
            let (request, _) = self.request(Some(&key), cancellable);
            format!("{out}{request} . {back}reply")
        };
        // What they have in common, in addition to how they begin.
        let shared = self.note(Some(&key));
        let mut texts: Vec<String> = Vec::new();
        for _ in 0..2 + self.random.below(2) {
            let rest = match self.random.below(4) {
                0 => "End".to_owned(),
                1 => format!("{back}{shared} . End"),
                2 => format!("{back}{shared} . {back}{} . End", self.note(Some(&key))),
                _ => self.channel(0, Some(key.clone())),
            };
            let text = format!("{opening} . {rest}");
            // Bodies that are the same would be one.
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let names = texts.into_iter().map(|text| {
            let name = self.fresh("K");
            let branches = vec![(None, text)];
            self.definitions.push(Definition { name: name.clone(), only: "", branches });
            name
        });
        let names = names.collect();
        Bodies { names, endless: self.random.percent(70) }
    }
}

/// A mark as the other role has it.
fn turned(only: &'static str) -> &'static str {
    match only {
        " only out" => " only in",
        " only in" => " only out",
        other => other,
    }
}
