//! Random protocols of one linear channel or two of them side by side, as tables of steps and as text.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::random::Random;

/// Names of messages, some of which are methods of every session or words of Rust.
const NAMES: [&str; 16] = [
    "Open", "Next", "Tell", "GetURL", "Close", "Move", "Type", "Ask2", "Refuse", "Split", "Handle", "Resume",
    "Ready", "HTTPGet", "A", "Closed",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// The sign in the client's type of what this side sends.
    fn sign(self) -> char {
        match self {
            Side::Client => '!',
            Side::Server => '?',
        }
    }

    /// The operator in the client's type of what this side chooses.
    fn operator(self) -> &'static str {
        match self {
            Side::Client => " ⊕ ",
            Side::Server => " & ",
        }
    }
}

/// A message that one side sends. It carries a number, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) name: String,
    pub(crate) carries: bool,
    /// The reply, and whether that carries a number.
    pub(crate) reply: Option<(String, bool)>,
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
    /// Its place among the messages.
    pub(crate) message: usize,
    pub(crate) then: Then,
}

/// A state in which one side sends.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) by: Side,
    pub(crate) branches: Vec<Branch>,
    /// That side may close the session here.
    pub(crate) may_close: bool,
}

/// A protocol, as its client sees it.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// One or two.
    pub(crate) channels: Vec<Linear>,
}

impl Protocol {
    pub(crate) fn random(random: &mut Random) -> Protocol {
        let (first, second) = NAMES.split_at(NAMES.len() / 2);
        let mut channels = vec![Linear::random(random, first, "S")];
        if random.percent(35) {
            channels.push(Linear::random(random, second, "T"));
            // A close of one channel cuts the other one.
            channels
                .iter_mut()
                .flat_map(|channel| &mut channel.states)
                .for_each(|state| state.may_close = false);
        }
        Protocol { channels }
    }

    /// The file.
    pub(crate) fn text(&self) -> String {
        let mut text = "protocol Random \"1\"\n".to_owned();
        self.channels.iter().for_each(|channel| channel.declare(&mut text));
        let starts: Vec<String> =
            self.channels.iter().map(|channel| format!("{}0", channel.prefix)).collect();
        let role = match starts.as_slice() {
            [one] => one.clone(),
            several => format!("( {} )", several.join(", ")),
        };
        writeln!(text, "client Guest\nserver Waiter = dual Guest\nGuest = {role}").unwrap();
        self.channels.iter().for_each(|channel| channel.define(&mut text));
        text
    }
}

#[derive(Debug)]
pub(crate) struct Linear {
    /// What the names of its states begin with.
    prefix: &'static str,
    pub(crate) messages: Vec<Message>,
    /// The first one is the initial state.
    pub(crate) states: Vec<State>,
}

impl Linear {
    fn random(random: &mut Random, names: &[&str], prefix: &'static str) -> Linear {
        let first = random.below(names.len());
        let messages: Vec<Message> = (0..3 + random.below(4))
            .map(|number| {
                let name = names[(first + 3 * number) % names.len()].to_owned();
                let reply = random.percent(50).then(|| (format!("{name}Result"), random.percent(60)));
                Message { name, carries: random.percent(60), reply }
            })
            .collect();
        let many = 1 + random.below(4);
        let next = |random: &mut Random| (!random.percent(20)).then(|| random.below(many));
        let state = |random: &mut Random, own: usize| {
            let by = if random.percent(50) { Side::Client } else { Side::Server };
            let from = random.below(messages.len());
            let branches = (0..1 + random.below(3)).map(|number| {
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
                Branch { message, then }
            });
            let branches = branches.collect();
            State { by, branches, may_close: random.percent(15) }
        };
        let states = (0..many).map(|own| state(random, own)).collect();
        Linear { prefix, messages, states }
    }

    /// Whether a refusal of a branch leads back to its state, or to one in which a session goes on in the same way.
    pub(crate) fn leads_back(&self, state: usize, then: Then) -> bool {
        let alike = self.alike();
        match then {
            Then::State(_) => false,
            Then::Reply(_) => true,
            Then::ReplyOrError(_, refused) => refused.is_some_and(|refused| alike[refused] == alike[state]),
        }
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
                        .map(|branch| match branch.then {
                            Then::State(next) => (branch.message, number(next), None),
                            Then::Reply(next) => (branch.message, number(next), Some(Some(*own))),
                            Then::ReplyOrError(next, refused) => {
                                (branch.message, number(next), Some(number(refused)))
                            }
                        })
                        .collect();
                    (*own, state.by == Side::Client, state.may_close, branches)
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

    fn declare(&self, text: &mut String) {
        let carried = |carries: bool| if carries { " ({ n: uint })" } else { "" };
        for Message { name, carries, reply } in &self.messages {
            let params = carried(*carries);
            match reply {
                Some((reply, result)) => {
                    writeln!(text, "request {name} \"{name}\"{params} -> {reply}{}", carried(*result))
                }
                None => writeln!(text, "notification {name} \"{name}\"{params}"),
            }
            .unwrap();
        }
    }

    fn define(&self, text: &mut String) {
        for (number, state) in self.states.iter().enumerate() {
            let mut branches: Vec<String> =
                state.branches.iter().map(|branch| self.branch(state.by, branch)).collect();
            branches.extend(state.may_close.then(|| "End".to_owned()));
            let choice = branches.join(state.by.operator());
            writeln!(text, "{}{number} = {choice}", self.prefix).unwrap();
        }
    }

    fn branch(&self, by: Side, branch: &Branch) -> String {
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
