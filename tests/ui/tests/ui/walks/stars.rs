//! Random replicated channels, as tables of steps and as text.

use std::fmt::Write;

use super::linear::{Linear, Message, Side};
use crate::random::Random;

/// Names of messages, some of which are items of every generated module or words of Rust.
const NAMES: [&str; 16] = [
    "Watch", "Incoming", "Ping", "Peer", "Context", "Serve", "Async", "Call", "Permits", "Abort", "Handler",
    "Session", "Value", "Clone", "Note", "Error",
];

/// Where the names of a body and of all that is in it come from.
#[derive(Debug)]
struct BodyNames {
    /// Of the sub-session.
    name: &'static str,
    /// What the names of its states begin with.
    prefix: &'static str,
    /// Of its messages.
    messages: [&'static str; 8],
    /// Of what its replicated channels open.
    stars: &'static [&'static str],
    /// Of the sub-sessions within it.
    bodies: &'static [BodyNames],
    /// The members that tie its messages.
    keys: &'static [&'static str],
}

const BODIES: [BodyNames; 2] = [
    BodyNames {
        name: "Watching",
        prefix: "U",
        messages: ["Update", "Stop", "Self2", "Readable", "Poll", "Drop", "Await2", "FirstURL"],
        stars: &["Smell", "Match2", "Ref", "Yield", "Loop2"],
        bodies: &[BodyNames {
            name: "Viewing",
            prefix: "W",
            messages: ["Show", "Hide", "Zoom", "Into2", "As2", "Where", "Impl", "Final"],
            stars: &[],
            bodies: &[],
            keys: &["k", "j"],
        }],
        keys: &["k"],
    },
    BodyNames {
        name: "Job",
        prefix: "V",
        messages: ["Begin", "Cancel", "Into", "Progress", "Done", "Recv", "Send", "Fail"],
        stars: &["Log", "Static", "Question", "Macro2", "Step"],
        bodies: &[BodyNames {
            name: "Part",
            prefix: "X",
            messages: ["Load", "Save", "Dyn", "Box2", "Retry", "Accept", "Reject", "Quit"],
            stars: &[],
            bodies: &[],
            keys: &["k", "j"],
        }],
        keys: &["k"],
    },
];

/// How many in a hundred open sub-sessions: those of a session, and those of a sub-session, of which there are fewer.
const BODIES_IN_A_SESSION: usize = 40;
const BODIES_IN_A_BODY: usize = 65;

/// A replicated channel: a notification, an exchange, or a sub-session that one of them opens.
#[derive(Debug)]
pub(crate) struct Star {
    /// The side that opens it.
    pub(crate) by: Side,
    pub(crate) message: Message,
    pub(crate) body: Option<Body>,
}

/// What follows the first message of a sub-session.
#[derive(Debug)]
pub(crate) struct Body {
    /// The name of the sub-session.
    pub(crate) name: &'static str,
    pub(crate) channel: Linear,
    /// What may be opened in it.
    pub(crate) stars: Vec<Star>,
}

impl Body {
    fn random(random: &mut Random, names: &'static BodyNames) -> Body {
        let channel = Linear::random(random, &names.messages, names.prefix, names.keys);
        let many = if names.stars.is_empty() || random.percent(30) { 0 } else { 1 + random.below(3) };
        let stars = stars(random, many, names.stars, names.bodies, names.keys);
        Body { name: names.name, channel, stars }
    }

    /// The names of all messages in it.
    fn messages(&self) -> Vec<&str> {
        let own = self.channel.messages.iter().map(|message| message.name.as_str());
        own.chain(self.stars.iter().flat_map(Star::messages)).collect()
    }
}

/// So many replicated channels, whose messages are tied by these members.
fn stars(
    random: &mut Random,
    many: usize,
    names: &[&str],
    bodies: &'static [BodyNames],
    keys: &'static [&'static str],
) -> Vec<Star> {
    let first = if names.is_empty() { 0 } else { random.below(names.len()) };
    let mut bodies = bodies.iter();
    let star = |number: usize| {
        let percent = if keys.is_empty() { BODIES_IN_A_SESSION } else { BODIES_IN_A_BODY };
        let body = if random.percent(percent) { bodies.next() } else { None };
        // 3 divides no number of names, so that they differ.
        let name = names[(first + 3 * number) % names.len()];
        let message = Message::random(random, name, body.map_or(keys, |body| body.keys));
        let body = body.map(|names| Body::random(random, names));
        Star { by: Side::random(random), message, body }
    };
    (0..many).map(star).collect()
}

/// The names of the methods by which a side opens these.
pub(crate) fn methods(stars: &[Star], side: Side) -> Vec<String> {
    stars.iter().filter(|star| star.by == side).flat_map(Star::methods).collect()
}

impl Star {
    /// A few replicated channels of a session, or none.
    pub(crate) fn random(random: &mut Random) -> Vec<Star> {
        let many = random.below(4);
        stars(random, many, &NAMES, &BODIES, &[])
    }

    /// The names of all messages in it.
    fn messages(&self) -> Vec<&str> {
        let body = self.body.iter().flat_map(Body::messages);
        [self.message.name.as_str()].into_iter().chain(body).collect()
    }

    pub(crate) fn declare(&self, text: &mut String) {
        self.message.declare(text);
        let Some(body) = &self.body else { return };
        body.channel.messages.iter().for_each(|message| message.declare(text));
        body.stars.iter().for_each(|star| star.declare(text));
        let key = self.message.keys.last().unwrap();
        let all: Vec<String> = self.messages().iter().map(|message| format!("{message}.{key}")).collect();
        writeln!(text, "key of_{} = {}", body.name, all.join(" | ")).unwrap();
    }

    /// As it stands next to the linear channels.
    pub(crate) fn written(&self) -> String {
        match &self.body {
            Some(body) => format!("*{}", body.name),
            None => format!("*( {} . End )", self.opening()),
        }
    }

    pub(crate) fn define(&self, text: &mut String) {
        let Some(body) = &self.body else { return };
        let start = format!("{}0", body.channel.prefix);
        let parts: Vec<String> = [start].into_iter().chain(body.stars.iter().map(Star::written)).collect();
        let parts = if parts.len() == 1 { parts.concat() } else { format!("( {} )", parts.join(", ")) };
        writeln!(text, "{} = {} . {parts}", body.name, self.opening()).unwrap();
        body.channel.define(text);
        body.stars.iter().for_each(|star| star.define(text));
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
    fn methods(&self) -> Vec<String> {
        let Message { name, reply, .. } = &self.message;
        let send = format!("send{name}");
        match (reply, &self.body) {
            (None, _) => vec![send],
            (Some(_), None) => vec![name.clone()],
            (Some(_), Some(_)) => vec![send, name.clone()],
        }
    }
}
