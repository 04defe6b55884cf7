//! Random protocols of linear and replicated channels side by side, as tables of steps and as text.

use std::fmt::Write;

use super::linear::{Linear, Side};
use super::stars::Star;
use crate::random::Random;

/// Names of messages, some of which are methods of every session or words of Rust.
const NAMES: [&str; 16] = [
    "Open", "Next", "Tell", "GetURL", "Close", "Move", "Type", "Ask2", "Refuse", "Split", "Handle", "Resume",
    "Ready", "HTTPGet", "A", "Closed",
];

/// A protocol, as its client sees it.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// Up to two.
    pub(crate) channels: Vec<Linear>,
    /// The replicated channels, at least one if there is no linear one.
    pub(crate) stars: Vec<Star>,
}

impl Protocol {
    pub(crate) fn random(random: &mut Random) -> Protocol {
        let (first, second) = NAMES.split_at(NAMES.len() / 2);
        let stars = Star::random(random);
        let mut channels = Vec::new();
        if stars.is_empty() || random.percent(80) {
            channels.push(Linear::random(random, first, "S", &[]));
        }
        if channels.len() == 1 && random.percent(35) {
            channels.push(Linear::random(random, second, "T", &[]));
            // A close of one channel cuts the other one.
            channels
                .iter_mut()
                .flat_map(|channel| &mut channel.states)
                .for_each(|state| state.may_close = false);
        }
        Protocol { channels, stars }
    }

    /// The file.
    pub(crate) fn text(&self) -> String {
        let mut text = "protocol Random \"1\"\n".to_owned();
        let linear = self.channels.iter().flat_map(|channel| &channel.messages);
        linear.for_each(|message| message.declare(&mut text));
        self.stars.iter().for_each(|star| star.declare(&mut text));
        let starts = self.channels.iter().map(|channel| format!("{}0", channel.prefix));
        let parts: Vec<String> = starts.chain(self.stars.iter().map(Star::written)).collect();
        let role = match parts.as_slice() {
            [one] => one.clone(),
            several => format!("( {} )", several.join(", ")),
        };
        writeln!(text, "client Guest\nserver Waiter = dual Guest\nGuest = {role}").unwrap();
        self.channels.iter().for_each(|channel| channel.define(&mut text));
        self.stars.iter().for_each(|star| star.define(&mut text));
        text
    }

    /// The names of the methods by which a side uses the replicated channels, in every state of the session.
    pub(crate) fn always(&self, side: Side) -> Vec<String> {
        super::stars::methods(&self.stars, side)
    }
}
