//! Random replicated channels, as tables of steps and as text.

use std::fmt::Write;

use super::linear::{Linear, Message, Side};
use crate::random::Random;

/// Names of messages, some of which are items of every generated module or words of Rust.
const NAMES: [&str; 16] = [
    "Watch", "Incoming", "Ping", "Peer", "Context", "Serve", "Async", "Call", "Permits", "Abort", "Handler",
    "Session", "Value", "Clone", "Note", "Error",
];

/// Each is the name of a body, what the names of its states begin with, and the names of its messages.
const BODIES: [(&str, &str, [&str; 8]); 2] = [
    ("Watching", "U", ["Update", "Stop", "Self2", "Readable", "Poll", "Drop", "Await2", "FirstURL"]),
    ("Job", "V", ["Begin", "Cancel", "Into", "Progress", "Done", "Recv", "Send", "Fail"]),
];

/// How many in a hundred open sub-sessions.
const BODY: usize = 40;

/// A replicated channel: a notification, an exchange, or a sub-session that one of them opens.
#[derive(Debug)]
pub(crate) struct Star {
    /// The side that opens it.
    pub(crate) by: Side,
    pub(crate) message: Message,
    /// What follows, with the name of the sub-session.
    pub(crate) body: Option<(&'static str, Linear)>,
}

impl Star {
    /// A few replicated channels, or none.
    pub(crate) fn random(random: &mut Random) -> Vec<Star> {
        let many = random.below(4);
        let first = random.below(NAMES.len());
        let mut bodies = BODIES.iter();
        let star = |number| {
            let body = if random.percent(BODY) { bodies.next() } else { None };
            let name = NAMES[(first + 5 * number) % NAMES.len()];
            let message = Message::random(random, name, body.is_some());
            let body = body.map(|(name, prefix, names)| (*name, Linear::random(random, names, prefix, true)));
            Star { by: Side::random(random), message, body }
        };
        (0..many).map(star).collect()
    }

    pub(crate) fn declare(&self, text: &mut String) {
        self.message.declare(text);
        let Some((name, body)) = &self.body else { return };
        body.messages.iter().for_each(|message| message.declare(text));
        let all = [&self.message].into_iter().chain(&body.messages);
        let all: Vec<String> = all.map(|message| format!("{}.k", message.name)).collect();
        writeln!(text, "key of_{name} = {}", all.join(" | ")).unwrap();
    }

    /// As it stands in the role.
    pub(crate) fn written(&self) -> String {
        match &self.body {
            Some((name, _)) => format!("*{name}"),
            None => format!("*( {} . End )", self.opening()),
        }
    }

    pub(crate) fn define(&self, text: &mut String) {
        let Some((name, body)) = &self.body else { return };
        writeln!(text, "{name} = {} . {}0", self.opening(), body.prefix).unwrap();
        body.define(text);
    }

    /// The first message, with its reply.
    fn opening(&self) -> String {
        let sent = format!("{}{}", self.by.sign(), self.message.name);
        match &self.message.reply {
            Some((reply, _)) => format!("{sent} . {}{reply}", self.by.other().sign()),
            None => sent,
        }
    }

    /// The names of the methods by which its side opens it.
    pub(crate) fn methods(&self) -> Vec<String> {
        let Message { name, reply, .. } = &self.message;
        let send = format!("send{name}");
        match (reply, &self.body) {
            (None, _) => vec![send],
            (Some(_), None) => vec![name.clone()],
            (Some(_), Some(_)) => vec![send, name.clone()],
        }
    }
}
