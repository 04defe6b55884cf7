//! Random linear channels, as tables of steps and as text.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// The module of its generated code.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }

    /// One of the two.
    pub(crate) fn random(random: &mut Random) -> Side {
        if random.percent(50) { Side::Client } else { Side::Server }
    }

    /// The sign in the client's type of what this side sends.
    pub(crate) fn sign(self) -> char {
        match self {
            Side::Client => '!',
            Side::Server => '?',
        }
    }

    /// The operator in the client's type of what this side chooses.
    pub(crate) fn operator(self) -> &'static str {
        match self {
            Side::Client => " ⊕ ",
            Side::Server => " & ",
        }
    }
}

/// How many states in a hundred are mixed choices.
const MIXED: usize = 30;

/// A message that one side sends. It carries a number, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) name: String,
    pub(crate) carries: bool,
    /// The reply, and whether that carries a number.
    pub(crate) reply: Option<(String, bool)>,
    /// The members that tie it to sub-sessions, the outermost first. Where there are any, it carries a number, too.
    pub(crate) keys: &'static [&'static str],
    /// Its method is that of others, which have other values in their `kind`. It carries a number, too.
    kind: Option<String>,
}

impl Message {
    pub(crate) fn random(random: &mut Random, name: &str, keys: &'static [&'static str]) -> Message {
        let reply = random.percent(50).then(|| (format!("{name}Result"), random.percent(60)));
        let kind = (reply.is_none() && random.percent(30)).then(|| kind(random, name));
        let carries = random.percent(60) || !keys.is_empty() || kind.is_some();
        Message { name: name.to_owned(), carries, reply, keys, kind }
    }

    pub(crate) fn declare(&self, text: &mut String) {
        let name = &self.name;
        let keys: String = self.keys.iter().map(|key| format!("{key}: uint, ")).collect();
        if let Some(kind) = &self.kind {
            let params = format!("({{ {keys}kind: {kind}, n: uint }})");
            return writeln!(text, "notification {name} \"told\" if kind = {kind} {params}").unwrap();
        }
        let params = if self.carries { format!(" ({{ {keys}n: uint }})") } else { String::new() };
        match &self.reply {
            Some((reply, result)) => {
                let result = if *result { " ({ n: uint })" } else { "" };
                writeln!(text, "request {name} \"{name}\"{params} -> {reply}{result}")
            }
            None => writeln!(text, "notification {name} \"{name}\"{params}"),
        }
        .unwrap();
    }
}

/// A value that no other message has.
fn kind(random: &mut Random, name: &str) -> String {
    match name {
        "Next" => "true".to_owned(),
        "Type" => "false".to_owned(),
        name if random.percent(50) => format!("\"{name}\""),
        name => name.bytes().fold(-1000, |sum: i64, byte| 31 * sum + i64::from(byte)).to_string(),
    }
}

/// What follows a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// The state of this number, or the end.
    State(Option<usize>),
    /// The reply, and the state after it. A refusal leads back to the state before the request.
    Reply(Option<usize>),
    /// The reply or the refusal, as the file says it, and the states after them.
    ReplyOrError(Option<usize>, Option<usize>),
}

#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub(crate) by: Side,
    /// Its place among the messages.
    pub(crate) message: usize,
    pub(crate) then: Then,
}

/// A state in which one side chooses.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) by: Side,
    pub(crate) branches: Vec<Branch>,
    /// That side may close the session here.
    pub(crate) may_close: bool,
}

#[derive(Debug)]
pub(crate) struct Linear {
    /// What the names of its states begin with.
    pub(crate) prefix: &'static str,
    pub(crate) messages: Vec<Message>,
    /// The first one is the initial state.
    pub(crate) states: Vec<State>,
    /// It is the body of a sub-session.
    keyed: bool,
}

impl Linear {
    pub(crate) fn random(
        random: &mut Random,
        names: &[&str],
        prefix: &'static str,
        keys: &'static [&'static str],
    ) -> Linear {
        let first = random.below(names.len());
        let messages: Vec<Message> = (0..3 + random.below(4))
            .map(|number| Message::random(random, names[(first + 3 * number) % names.len()], keys))
            .collect();
        let many = 1 + random.below(4);
        let next = |random: &mut Random| (!random.percent(20)).then(|| random.below(many));
        let branches_of = |random: &mut Random, own: usize, by: Side, many: usize| -> Vec<Branch> {
            let from = random.below(messages.len());
            let branch = |number: usize| {
                let message = (from + number) % messages.len();
                let then = match messages[message].reply {
                    None => Then::State(next(random)),
                    Some(_) if random.percent(70) => Then::Reply(next(random)),
                    // What leads back is a refusal that needs no notation.
                    Some(_) => match (next(random), next(random)) {
                        (replied, Some(refused)) if refused == own => Then::Reply(replied),
                        (replied, refused) => Then::ReplyOrError(replied, refused),
                    },
                };
                Branch { by, message, then }
            };
            (0..many).map(branch).collect()
        };
        let state = |random: &mut Random, own: usize| {
            let by = Side::random(random);
            let many = 1 + random.below(3);
            let mut branches = branches_of(random, own, by, many);
            // A mixed choice; most others are races.
            if random.percent(MIXED) {
                let many = 1 + random.below(2);
                let mut others = branches_of(random, own, by.other(), many);
                for branch in &mut others {
                    branch.then = match branch.then {
                        Then::State(_) if random.percent(75) => Then::State(Some(own)),
                        Then::Reply(_) if random.percent(75) => Then::Reply(Some(own)),
                        then => then,
                    };
                }
                branches.extend(others);
            }
            State { by, branches, may_close: random.percent(15) && keys.is_empty() }
        };
        let states = (0..many).map(|own| state(random, own)).collect();
        Linear { prefix, messages, states, keyed: !keys.is_empty() }
    }

    /// Whether a request and its reply are one call, too: a refusal leads back to its state, or to one in which a
    /// session goes on in the same way, or it ends a sub-session.
    pub(crate) fn is_a_call(&self, state: usize, then: Then) -> bool {
        let alike = self.alike();
        match then {
            Then::State(_) => false,
            Then::Reply(_) => true,
            Then::ReplyOrError(_, None) => self.keyed,
            Then::ReplyOrError(_, Some(refused)) => alike[refused] == alike[state],
        }
    }

    /// Whether a session goes on in the same way in both states.
    pub(crate) fn are_alike(&self, one: Option<usize>, other: Option<usize>) -> bool {
        let alike = self.alike();
        one.map(|state| alike[state]) == other.map(|state| alike[state])
    }

    /// A number for each state, which is that of the states in which a session goes on in the same way.
    fn alike(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.states.len()];
        loop {
            let number = |state: Option<usize>| state.map(|state| numbers[state]);
            let kinds: Vec<_> = self
                .states
                .iter()
                .zip(&numbers)
                .map(|(state, own)| {
                    let branches: BTreeSet<_> = state
                        .branches
                        .iter()
                        .map(|branch| {
                            let (next, refused) = match branch.then {
                                Then::State(next) => (next, None),
                                Then::Reply(next) => (next, Some(Some(*own))),
                                Then::ReplyOrError(next, refused) => (next, Some(number(refused))),
                            };
                            (branch.by, branch.message, number(next), refused)
                        })
                        .collect();
                    (*own, state.may_close.then_some(state.by), branches)
                })
                .collect();
            let refined: Vec<usize> =
                kinds.iter().map(|kind| kinds.iter().position(|other| other == kind).unwrap()).collect();
            if refined == numbers {
                return numbers;
            }
            numbers = refined;
        }
    }

    pub(crate) fn define(&self, text: &mut String) {
        for (number, state) in self.states.iter().enumerate() {
            let mut branches: Vec<String> = state.branches.iter().map(|branch| self.branch(branch)).collect();
            branches.extend(state.may_close.then(|| "End".to_owned()));
            let choice = branches.join(state.by.operator());
            writeln!(text, "{}{number} = {choice}", self.prefix).unwrap();
        }
    }

    fn branch(&self, branch: &Branch) -> String {
        let by = branch.by;
        let Message { name, reply, .. } = &self.messages[branch.message];
        let (sent, answered) = (by.sign(), by.other().sign());
        let state =
            |next: Option<usize>| next.map_or("End".to_owned(), |number| format!("{}{number}", self.prefix));
        let reply = reply.as_ref().map_or("", |(name, _)| name);
        match branch.then {
            Then::State(next) => format!("{sent}{name} . {}", state(next)),
            Then::Reply(next) => format!("{sent}{name} . {answered}{reply} . {}", state(next)),
            Then::ReplyOrError(next, refused) => format!(
                "{sent}{name} . ( {answered}{reply} . {}{}{answered}{name}Error . {} )",
                state(next),
                by.other().operator(),
                state(refused)
            ),
        }
    }
}
