//! Two linear channels side by side are what a mixed choice that interleaves them is.
//!
//! Each channel is a short chain of messages, with requests, loops, and choices whose messages may cross. Each role is
//! written both ways, and the server may have a mistake in it. Whether the roles fit does not depend on which role is
//! written which way, and the checker says the same of a session in both. In two things they differ: that a message of
//! one channel was received proves nothing of the other channel, so where messages may be late, only what is said of
//! the messages of two programs that follow the text is compared; and a client that leaves out messages goes on in each
//! channel for itself.

use std::fmt::Write;

use crate::behaviour::{Behaviour, Compared};
use crate::channel::{Channel, Declared};
use crate::protocols::flip;
use crate::random::Random;
use crate::run::{USUAL, each, seeds};

/// The finding of messages that may arrive late.
pub(crate) const LATE: &str = "S0510";

/// A role that leaves out messages keeps one in each group of channels, of which there are fewer where they are one. It may
/// leave out a channel altogether, which it cannot where that is a part of another one.
const WAITS: &str = "and the client sends nothing";

/// How many states the checker keeps in which the sender of a message may still be. The states of two channels are more
/// than those of each.
const KEPT: usize = 16;

/// What stands before the channels, and next to them.
struct Around {
    before: &'static str,
    next_to: Vec<&'static str>,
}

impl Around {
    fn random(random: &mut Random, ends: bool, declared: &mut String) -> Around {
        let before = match random.below(5) {
            0 => "!Start . ",
            1 => "?Start . ",
            2 => "rec on . ( !Tick . on ⊕ ?Start . ( ",
            _ => "",
        };
        if before.contains("Start") {
            declared.push_str("notification Start \"start\" (P)\n");
        }
        if before.contains("Tick") {
            declared.push_str("notification Tick \"tick\" (P)\n");
        }
        let mut next_to = Vec::new();
        if random.percent(25) {
            declared.push_str("notification Ping \"ping\" (P)\n");
            next_to.push("*( !Ping . End )");
        }
        if ends && random.percent(15) {
            declared.push_str("notification Third \"third\" (P)\n");
            next_to.push("?Third . End");
        }
        Around { before, next_to }
    }

    /// The client's session type, or that of the server.
    fn write(&self, role: &str, channels: &[&str], is_client: bool, text: &mut String) {
        let all: Vec<&str> = channels.iter().copied().chain(self.next_to.iter().copied()).collect();
        let all = if all.len() == 1 { all[0].to_owned() } else { format!("({})", all.join(", ")) };
        let closed = " )".repeat(self.before.matches('(').count());
        let body = format!("{}{all}{closed}", self.before);
        let body = if is_client { body } else { flip(&body) };
        writeln!(text, "{role} = {body}").unwrap();
    }
}

/// A role, written as channels or as one.
fn role(name: &str, channels: &[Channel; 2], around: &Around, in_one: bool) -> String {
    let mut text = String::new();
    let [one, two] = channels;
    let names = ["a", "b", "ab"].map(|channel| format!("{name}{channel}"));
    let starts = names.each_ref().map(|name| format!("{name}0"));
    let is_client = name == "C";
    if in_one {
        one.interleaved(two).write(&names[2], &mut text);
        around.write(name, &[starts[2].as_str()], is_client, &mut text);
    } else {
        one.write(&names[0], &mut text);
        two.write(&names[1], &mut text);
        around.write(name, &[starts[0].as_str(), starts[1].as_str()], is_client, &mut text);
    }
    text
}

/// All four ways to write two roles: each as channels, or in one; and whether the client sends nothing in a channel in which
/// the server waits.
fn written(random: &mut Random) -> ([Behaviour; 4], bool) {
    let mut declared = Declared::default();
    let client = [0, 1].map(|_| Channel::random(random, &mut declared));
    let mut server = client.each_ref().map(Channel::dual);
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    text.push_str(&declared.text);
    if declared.has_cancellable {
        text.push_str("notification Cancel \"cancel\" (P) cancels id\n");
    }
    let mut compatible = "";
    if random.percent(50) {
        server[random.below(2)].spoil(random);
        compatible = if random.percent(50) { " compatible" } else { "" };
    }
    let leaves_out = |(client, server): (&Channel, &Channel)| !client.sends() && server.dual().sends();
    let leaves_out = !compatible.is_empty() && client.iter().zip(&server).any(leaves_out);
    let ends = [&client, &server].iter().all(|[one, two]| one.ends_with(two));
    let around = Around::random(random, ends, &mut text);
    writeln!(text, "client C{compatible}\nserver S").unwrap();
    let ways = [[false, false], [true, false], [false, true], [true, true]].map(|[one, other]| {
        let client = role("C", &client, &around, one);
        let text = format!("{text}{client}{}", role("S", &server, &around, other));
        Behaviour::of(text)
    });
    (ways, leaves_out)
}

/// What was seen in many cases.
#[derive(Debug, Default)]
struct Counts {
    texts: u64,
    accepted: u64,
    with_late: u64,
    messages: u64,
    /// Comparisons in which only the way in one asks for a message of the client.
    left_out: u64,
}

fn compare(random: &mut Random, counts: &mut Counts) -> Result<(), String> {
    let (ways, leaves_out) = written(random);
    let [apart, others @ ..] = &ways;
    let late = apart.codes().contains(LATE);
    counts.texts += 1;
    counts.accepted += u64::from(apart.is_accepted());
    counts.with_late += u64::from(late);
    for other in others {
        if apart.findings().contains(WAITS) {
            continue;
        }
        if leaves_out && apart.is_accepted() && other.findings().contains(WAITS) {
            counts.left_out += 1;
            continue;
        }
        let compared = Compared { everything: !late, messages: KEPT };
        let what = apart
            .finds_otherwise(other)
            .or_else(|| apart.judges_otherwise(other, random, compared, &mut counts.messages));
        if let Some(what) = what {
            return Err(format!("{what}\n-- as channels:\n{}\n-- in one:\n{}", apart.text, other.text));
        }
    }
    Ok(())
}

#[test]
fn channels_are_their_interleaving() {
    let seeds = seeds(USUAL);
    let mut counts = Counts::default();
    each(seeds.clone(), |random, _| compare(random, &mut counts));
    println!("seeds {seeds:?}: {counts:?}");
    if seeds.end - seeds.start >= USUAL {
        let Counts { texts, accepted, with_late, messages, left_out } = counts;
        assert!(left_out * 1_000 <= texts, "{counts:?}");
        assert!(accepted * 2 > texts && accepted * 5 < texts * 4, "{counts:?}");
        assert!(with_late * 10 > texts && messages > texts * 67, "{counts:?}");
    }
}
