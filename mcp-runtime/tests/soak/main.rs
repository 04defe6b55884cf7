//! Thousands of exchanges at once, with everything going wrong that may: delays, replies that overtake one another,
//! garbage between the lines, futures dropped half-way, ends out of the blue. Every call must have exactly one outcome,
//! one that what was done to it explains, and where the session ends in order both sides must agree on where they are.
//!
//! `SOAK_SEED` and `SOAK_ROUNDS` are printed and can be set: round after round takes the next seed, and a seed does
//! the same again in memory, where the clock stands still but for what is waited for. With a child process the order
//! of things is up to the system as well.
//!
//! It has no usual test harness, because it is started again by itself as the child.

#![cfg_attr(not(unix), allow(dead_code, unused_imports))]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is its own harness")]

mod everything {
    mcp_runtime::protocol!("tests/sessions/everything.session");
}

mod caller;
mod calls;
mod child;
mod ledger;
mod memory;
mod noise;
mod service;
mod wire;

/// What is run by default.
const SEED: u64 = 20_250_326;
const ROUNDS: u64 = 40;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number: `{text}`")))
}

/// The name of a test, and what plays one round of it.
type Test = (&'static str, fn(u64));

/// Says how to see a failure again.
struct Told {
    name: &'static str,
    seed: u64,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("again: SOAK_SEED={} SOAK_ROUNDS=1, test {}", self.seed, self.name);
        }
    }
}

fn main() {
    if let Some(seed) = number("SOAK_CHILD") {
        return child::play(seed);
    }
    // No test of these is ignored.
    if std::env::args().any(|argument| argument == "--ignored") {
        return;
    }
    let (seed, rounds) = (number("SOAK_SEED").unwrap_or(SEED), number("SOAK_ROUNDS").unwrap_or(ROUNDS));
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let tests: [Test; 2] = [("memory", memory::round), ("child", child::round)];
    println!("SOAK_SEED={seed} SOAK_ROUNDS={rounds}");
    let chosen = tests
        .into_iter()
        .filter(|(name, _)| filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())));
    // With a child process most of the time is waited, in which the sessions in memory go on.
    let play = |(name, round): Test| {
        // A child takes its time to start.
        let rounds = if name == "child" { rounds.div_ceil(4) } else { rounds };
        for seed in (0..rounds).map(|round| seed.wrapping_add(round)) {
            let _told = Told { name, seed };
            round(seed);
        }
        println!("test {name} ... ok");
    };
    std::thread::scope(|scope| {
        for test in chosen {
            scope.spawn(move || play(test));
        }
    });
}
