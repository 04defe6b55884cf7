//! The checker and the observer, message by message.
//!
//! In: a compiled text and what was seen. Out: counts, or what is wrong, with the protocol and the session. The claims
//! of a monitor (`docs/language.md`): *transparent*, nothing of what two programs say is refused; *sound*, nothing
//! is refused that somebody could have sent; *prompt*, the first message that nobody could have sent is refused, and
//! its sender is to blame; and a refused message changes nothing, so that all this goes on after it.

use std::collections::{BTreeMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::{Checker, StepKind};

use crate::event::Event;
use crate::mistakes::plant;
use crate::parties::{Seat, talk};
use crate::protocols;
use crate::random::Random;
use crate::reading::Reading;
use crate::sources::Source;
use crate::world::{Verdict, World};

/// How many protocols a run looks at, and from where on; more by `CHECKER_CASES` and `CHECKER_SEED`.
pub(crate) fn budget(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("CHECKER_SEED").unwrap_or(0);
    first..first + number("CHECKER_CASES").unwrap_or(usual)
}

/// What was seen in many cases.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) protocols: u64,
    pub(crate) refused_texts: u64,
    pub(crate) messages: u64,
    pub(crate) late: u64,
    pub(crate) unclear: u64,
    pub(crate) lost: u64,
    pub(crate) most_copies: usize,
    pub(crate) endings: u64,
    pub(crate) mistaken: u64,
    pub(crate) wrong: BTreeMap<String, u64>,
}

/// What the observer and the checker do together.
struct Pair<'a> {
    world: World<'a>,
    checker: Checker,
}

type Added = HashSet<(Direction, MessageIndex)>;

impl<'a> Pair<'a> {
    fn new(source: &'a Source, reading: &'a Reading<'a>, side: Side, added: &Added) -> Pair<'a> {
        let world = World::new(reading, &source.protocol, side, added.clone());
        Pair { world, checker: Checker::new(source.protocol.clone(), side).unwrap() }
    }

    /// Both judge a message; nothing if one cannot go on.
    fn see(&mut self, event: &Event, counts: &mut Counts) -> Result<Option<Verdict>, String> {
        let before = self.checker.states().to_vec();
        let expected = self.world.see(event);
        if self.world.is_lost() {
            counts.lost += 1;
            return Ok(None);
        }
        let got = event.feed(&mut self.checker);
        counts.messages += 1;
        match (expected, &got) {
            (Verdict::Fine, Ok(step)) if !step.kind.is_dropped() => Ok(Some(expected)),
            (Verdict::Late, Ok(step)) if step.kind == StepKind::Swallowed => {
                counts.late += 1;
                Ok(Some(expected))
            }
            (Verdict::Wrong(kind), Err(violation)) => {
                let found = format!("{:?}", violation.kind);
                let found = found.split([' ', '{', '(']).next().unwrap_or_default().to_owned();
                if violation.sender != event.from {
                    return Err(format!("the blame goes to {:?}", violation.sender));
                }
                if kind.split('|').all(|kind| kind != found) {
                    return Err(format!("wrong because of {kind}, refused because of {found}"));
                }
                if self.checker.states() != before {
                    return Err("a refused message has moved the session".to_owned());
                }
                *counts.wrong.entry(found).or_default() += 1;
                Ok(Some(expected))
            }
            (Verdict::Unclear, Ok(step)) => {
                counts.unclear += 1;
                let stays = match step.kind {
                    StepKind::Linear { from, to } => from == to,
                    StepKind::Copy { ended } => !ended,
                    _ => true,
                };
                if stays { Ok(None) } else { Err("what crossed has moved the session".to_owned()) }
            }
            (Verdict::Unclear, Err(_)) => {
                counts.unclear += 1;
                Ok(None)
            }
            _ => Err(format!("it is {expected:?}, and the checker says {got:?}")),
        }
    }
}

/// Everything about a failure.
fn tell(source: &Source, side: Side, seen: &[Event], place: usize, what: &str, seed: u64) -> String {
    let lines: Vec<String> =
        seen[..=place].iter().map(|event| format!("  {}", event.show(&source.protocol))).collect();
    format!("seed {seed}, the {side:?}'s machine, message {place}: {what}\n{}\n{}", lines.join("\n"), source.text)
}

/// One protocol, some sessions, some mistakes.
pub(crate) fn judge(
    source: &Source,
    random: &mut Random,
    counts: &mut Counts,
    seed: u64,
    sessions: usize,
    mistakes: usize,
) -> Result<(), String> {
    let readings = [Side::Client, Side::Server].map(|side| Reading::new(&source.resolution, side));
    let added = [Side::Client, Side::Server].map(|side| source.added(side));
    for _ in 0..sessions {
        let steps = 10 + random.below(50);
        let talk = talk(random, [&readings[0], &readings[1]], &source.protocol, steps);
        counts.most_copies = counts.most_copies.max(talk.copies);
        for (seat, side) in
            [(Seat::Client, Side::Client), (Seat::Middle, Side::Server), (Seat::Server, Side::Server)]
        {
            let who = usize::from(side == Side::Server);
            let (reading, added) = (&readings[who], &added[who]);
            let seen = talk.seen(seat);
            conforming(source, reading, side, added, seen, counts, seed)?;
            if let Some(ending) = talk.ending.filter(|_| seat != Seat::Middle) {
                counts.endings += 1;
                ended(source, side, seen, ending[who])
                    .map_err(|what| tell(source, side, seen, seen.len().saturating_sub(1), &what, seed))?;
            }
            for _ in 0..mistakes {
                let run = plant(random, &source.protocol, seen);
                let mut pair = Pair::new(source, reading, side, added);
                let mut wrong = false;
                for (place, event) in run.iter().enumerate() {
                    match pair.see(event, counts) {
                        Ok(Some(verdict)) => wrong |= matches!(verdict, Verdict::Wrong(_)),
                        Ok(None) => break,
                        Err(what) => return Err(tell(source, side, &run, place, &what, seed)),
                    }
                }
                counts.mistaken += u64::from(wrong);
            }
        }
    }
    Ok(())
}

/// What two programs say, nobody objects to.
fn conforming(
    source: &Source,
    reading: &Reading<'_>,
    side: Side,
    added: &Added,
    seen: &[Event],
    counts: &mut Counts,
    seed: u64,
) -> Result<(), String> {
    let mut checker = Checker::new(source.protocol.clone(), side).unwrap();
    for (place, event) in seen.iter().enumerate() {
        if let Err(violation) = event.feed(&mut checker) {
            let what = format!("not transparent: {violation}");
            return Err(tell(source, side, seen, place, &what, seed));
        }
    }
    let mut pair = Pair::new(source, reading, side, added);
    for (place, event) in seen.iter().enumerate() {
        match pair.see(event, counts) {
            Ok(Some(Verdict::Fine | Verdict::Late)) => {}
            Ok(None) => break,
            Ok(Some(verdict)) => {
                return Err(tell(source, side, seen, place, &format!("was said, and is {verdict:?}"), seed));
            }
            Err(what) => return Err(tell(source, side, seen, place, &what, seed)),
        }
    }
    Ok(())
}

/// Once all has arrived, the checker says of closing what the programs say.
fn ended(source: &Source, side: Side, seen: &[Event], ending: [bool; 2]) -> Result<(), String> {
    let mut checker = Checker::new(source.protocol.clone(), side).unwrap();
    for event in seen {
        event.feed(&mut checker).map_err(|violation| violation.to_string())?;
    }
    let got = [checker.quiescent(), checker.peer_may_close()];
    if got == ending { Ok(()) } else { Err(format!("closing: {ending:?} by the text, {got:?} by the checker")) }
}

/// Runs many cases. A failure is looked for again in further seeds, and the smallest one is told.
fn random_protocols(seeds: std::ops::Range<u64>) -> Counts {
    let mut counts = Counts::default();
    let mut smallest: Option<String> = None;
    let mut failures = 0;
    let mut seed = seeds.start;
    while counts.protocols < seeds.end - seeds.start {
        let mut random = Random::new(seed);
        let text = protocols::write(&mut random);
        match Source::new(&text) {
            Err(findings) => {
                counts.refused_texts += 1;
                if std::env::var("CHECKER_FINDINGS").is_ok() {
                    println!("seed {seed}\n{findings}\n{text}");
                }
            }
            Ok(source) => {
                counts.protocols += 1;
                if let Err(what) = judge(&source, &mut random, &mut counts, seed, 2, 4) {
                    failures += 1;
                    println!("{}", what.lines().next().unwrap_or_default());
                    smallest = smallest.filter(|known| known.len() <= what.len()).or(Some(what));
                }
            }
        }
        seed += 1;
    }
    println!("seeds {}..{seed}: {counts:?}", seeds.start);
    if let Some(smallest) = smallest {
        panic!("{failures} of {} protocols fail; the smallest:\n{smallest}", counts.protocols);
    }
    counts
}

#[test]
fn the_checker_is_sound_prompt_and_transparent() {
    let counts = random_protocols(budget(150));
    assert!(counts.most_copies >= 2, "{counts:?}");
}
