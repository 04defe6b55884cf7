//! The checker and the observer, message by message.
//!
//! Checks the claims of a monitor (`docs/language.md`). *Transparent*: no message of two correct programs is refused.
//! *Sound*: no message is refused that a correct program could have sent. *Prompt*: the first message that no correct
//! program could have sent is refused, and its sender is to blame. A refused message changes nothing, so these hold
//! after it, too.

use std::collections::{BTreeMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::{Checker, Step, StepKind};

use crate::cases::MARK;
use crate::event::{Event, kind_of};
use crate::mistakes::{plant, plant_cancel, plant_during, plant_member};
use crate::parties::{Seat, talk};
use crate::protocols;
use crate::random::Random;
use crate::reading::Reading;
use crate::reused_ids::judge_again;
use crate::sources::Source;
use crate::world::{Verdict, World};

/// How many times a session is seen with a mistake in it, from each seat.
const MISTAKES: usize = 4;

/// The seeds of a run: from `CHECKER_SEED` on, as many as another variable says.
pub(crate) fn budget(variable: &str, usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("CHECKER_SEED").unwrap_or(0);
    first..first + number(variable).unwrap_or(usual)
}

/// What was seen in many cases.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) protocols: u64,
    pub(crate) refused_texts: u64,
    pub(crate) messages: u64,
    pub(crate) late: u64,
    pub(crate) stale: u64,
    pub(crate) distant: u64,
    pub(crate) uncorrelated: u64,
    pub(crate) advised: u64,
    pub(crate) estranged: u64,
    pub(crate) lost: u64,
    pub(crate) most_sub_sessions: usize,
    /// Protocols in which a `*` stands in the body of another one, sub-sessions that were opened within others, and those
    /// within these.
    pub(crate) nested: u64,
    pub(crate) within: u64,
    pub(crate) deep: u64,
    /// Messages that came through a gate which had closed behind them.
    pub(crate) behind_gates: u64,
    pub(crate) endings: u64,
    /// Requests with the id of an exchange that is over.
    pub(crate) reused: u64,
    pub(crate) mistaken: u64,
    pub(crate) wrong: BTreeMap<String, u64>,
}

/// What the observer and the checker do together.
#[derive(Clone)]
struct Pair<'a> {
    world: World<'a>,
    checker: Checker,
    source: &'a Source,
    foreign: &'a Marked,
    /// Something was seen that the other role of the protocol never says. The diamond is closed for what both say.
    estranged: bool,
    seen: Vec<Event>,
}

type Marked = HashSet<(Direction, MessageIndex)>;

/// A role, read, and what to know of its machine.
struct Followed<'a> {
    source: &'a Source,
    side: Side,
    reading: Reading<'a>,
    added: Marked,
    foreign: Marked,
}

impl<'a> Followed<'a> {
    fn new(source: &'a Source, side: Side) -> Followed<'a> {
        Followed {
            source,
            side,
            reading: Reading::new(&source.resolution, side),
            added: source.added(side),
            foreign: source.foreign(side),
        }
    }

    fn checker(&self) -> Checker {
        Checker::new(self.source.protocol.clone(), self.side).unwrap()
    }
}

impl<'a> Pair<'a> {
    fn new(role: &'a Followed<'a>) -> Pair<'a> {
        let world = World::new(&role.reading, &role.source.protocol, role.side, role.added.clone());
        Pair {
            world,
            checker: role.checker(),
            source: role.source,
            foreign: &role.foreign,
            estranged: false,
            seen: Vec::new(),
        }
    }

    /// Both judge a message; nothing if one cannot go on.
    fn see(&mut self, event: &Event, counts: &mut Counts) -> Result<Option<Verdict>, String> {
        let judged = self.judge(event, counts);
        if judged.is_err() && self.was_foreign_here(event) {
            counts.estranged += 1;
            return Ok(None);
        }
        self.seen.push(event.clone());
        judged
    }

    /// Whether this, or something before it, is what the other role does not say where it stands, though it says it
    /// elsewhere. A gate that is closed is looked at only where a message has a step, so it makes no difference.
    fn was_foreign_here(&self, event: &Event) -> bool {
        let side = self.checker.side().other();
        let reading = Reading::new(&self.source.resolution, side);
        let mut world = World::new(&reading, &self.source.protocol, side, self.source.added(side));
        let seen = || self.seen.iter().chain([event]);
        let mut verdicts = seen().map(|event| world.see(event));
        let mut own =
            World::new(self.world.reading(), &self.source.protocol, self.checker.side(), HashSet::new());
        let differs = seen().any(|event| match (own.see(event), verdicts.next()) {
            (
                Verdict::Fine
                | Verdict::Reported
                | Verdict::Late
                | Verdict::Wrong("NotNegotiated" | "NotDuring"),
                Some(Verdict::Wrong(kind)),
            ) => !matches!(kind, "NotNegotiated" | "NotDuring"),
            // It is an uncorrelated one, for in a sub-session the other role does not say it there.
            (Verdict::Late, Some(Verdict::Fine | Verdict::Reported)) => true,
            // It is wrong by the other role's text, too, which says only that its sender may be far behind.
            (Verdict::Fine | Verdict::Reported | Verdict::Late, Some(Verdict::Distant)) => true,
            _ => false,
        });
        drop(verdicts);
        // Which of two bodies it opens is left open by the text of one role alone: the other role says only one of them.
        differs || own.is_torn() && !world.is_torn()
    }

    fn judge(&mut self, event: &Event, counts: &mut Counts) -> Result<Option<Verdict>, String> {
        let before = self.checker.states().to_vec();
        let expected = self.world.see(event);
        if self.world.is_torn() {
            return Err("a message opens either of two bodies".to_owned());
        }
        if self.world.is_lost() {
            counts.lost += 1;
            return Ok(None);
        }
        let got = event.feed(&mut self.checker, &self.source.protocol);
        if std::env::var("CHECKER_STEPS").is_ok() {
            println!("{} {expected:?} {got:?}", event.show(&self.source.protocol));
        }
        self.estranged |= self.foreign.contains(&(event.direction(self.checker.side()), event.message));
        counts.messages += 1;
        match (expected, &got) {
            (Verdict::Reported, Ok(Step { kind: StepKind::Reported, .. })) => Ok(Some(expected)),
            (Verdict::Fine, Ok(step)) if !step.kind.is_dropped() && step.kind != StepKind::Reported => {
                let advice = step.advice.as_ref().and_then(|advice| advice.rule.as_deref());
                if let Some(rule) = self.world.advice(event) {
                    counts.advised += u64::from(rule.is_some());
                    if rule.as_deref() != advice {
                        return Err(format!("the text advises {rule:?}, the checker {advice:?}"));
                    }
                }
                Ok(Some(expected))
            }
            (Verdict::Late, Ok(step)) if matches!(step.kind, StepKind::Swallowed | StepKind::Late(_)) => {
                counts.late += 1;
                Ok(Some(expected))
            }
            (Verdict::Wrong(kind), Err(violation)) => {
                let found = kind_of(violation);
                if violation.sender != event.from {
                    return Err(format!("the blame goes to {:?}", violation.sender));
                }
                if kind.split('|').all(|kind| kind != found) {
                    if self.estranged {
                        counts.estranged += 1;
                        return Ok(None);
                    }
                    return Err(format!("wrong because of {kind}, refused because of {found}"));
                }
                if self.checker.states() != before {
                    return Err("a refused message has moved the session".to_owned());
                }
                *counts.wrong.entry(found).or_default() += 1;
                Ok(Some(expected))
            }
            (Verdict::Stale, Ok(Step { kind: StepKind::Swallowed | StepKind::Late(_), .. }) | Err(_)) => {
                counts.stale += 1;
                self.world.settle_stale(event, got.is_ok());
                Ok(Some(expected))
            }
            // What follows depends on what the checker has made of it.
            (Verdict::Distant, Ok(Step { kind: StepKind::Late(_), .. }) | Err(_)) => {
                counts.distant += 1;
                Ok(None)
            }
            _ if self.estranged => {
                counts.estranged += 1;
                Ok(None)
            }
            _ => Err(format!("it is {expected:?}, and the checker says {got:?}")),
        }
    }
}

/// One protocol, some sessions of some steps each, some mistakes.
pub(crate) fn judge(
    source: &Source,
    random: &mut Random,
    counts: &mut Counts,
    sessions: usize,
    most_steps: usize,
) -> Result<(), String> {
    let roles = [Side::Client, Side::Server].map(|side| Followed::new(source, side));
    counts.nested += u64::from(roles[0].reading.is_nested());
    for _ in 0..sessions {
        let steps = 10 + random.below(most_steps);
        let talk = talk(random, [&roles[0].reading, &roles[1].reading], &source.protocol, steps);
        counts.most_sub_sessions = counts.most_sub_sessions.max(talk.sub_sessions);
        for (seat, who) in [(Seat::Client, 0), (Seat::Middle, 1), (Seat::Server, 1)] {
            let (role, seen) = (&roles[who], talk.seen(seat));
            let rare = [
                plant_cancel(random, &source.protocol, seen),
                plant_during(random, &source.protocol, seen),
                plant_member(random, &source.protocol, seen),
            ];
            let mut mistaken: Vec<Vec<Event>> = rare.into_iter().flatten().collect();
            mistaken.extend((0..MISTAKES).map(|_| plant(random, &source.protocol, seen)));
            let ending = talk.ending.filter(|_| seat != Seat::Middle).map(|ending| ending[who]);
            role.conforming(seen, ending, &mistaken, counts)?;
        }
    }
    Ok(())
}

/// What the observer makes of the last message that a side has seen, where the checker agrees with it on all of them;
/// nothing if one cannot go on.
pub(crate) fn last_verdict(source: &Source, side: Side, seen: &[Event]) -> Result<Option<Verdict>, String> {
    let (role, mut counts) = (Followed::new(source, side), Counts::default());
    let (mut pair, mut last) = (Pair::new(&role), None);
    for (place, event) in seen.iter().enumerate() {
        last = pair.see(event, &mut counts).map_err(|what| role.tell(seen, place, &what))?;
        if last.is_none() {
            break;
        }
    }
    Ok(last)
}

impl Followed<'_> {
    /// No checker objects to what two correct programs send. Once all has arrived, the checker agrees with them on who
    /// may close. `mistaken` is the same with a mistake in it, several times: up to the mistake both have judged it
    /// already, so each goes on from there.
    fn conforming(
        &self,
        seen: &[Event],
        ending: Option<[bool; 2]>,
        mistaken: &[Vec<Event>],
        counts: &mut Counts,
    ) -> Result<(), String> {
        let mut checker = self.checker();
        for (place, event) in seen.iter().enumerate() {
            if let Err(violation) = event.feed(&mut checker, &self.source.protocol) {
                return Err(self.tell(seen, place, &format!("not transparent: {violation}")));
            }
        }
        let got = [checker.quiescent(), checker.peer_may_close()];
        if let Some(ending) = ending {
            counts.endings += 1;
            if got != ending {
                let what = format!("closing: {ending:?} by the text, {got:?} by the checker");
                return Err(self.tell(seen, seen.len().saturating_sub(1), &what));
            }
        }
        let shared = |run: &[Event]| run.iter().zip(seen).take_while(|(event, other)| event == other).count();
        let mut mistaken: Vec<(usize, &[Event])> =
            mistaken.iter().map(|run| (shared(run), run.as_slice())).collect();
        let mut pair = Pair::new(self);
        for (place, event) in seen.iter().enumerate() {
            for (_, run) in mistaken.extract_if(.., |(shared, _)| *shared == place) {
                self.mistaken(pair.clone(), place, run, counts)?;
            }
            match pair.see(event, counts) {
                Ok(Some(Verdict::Fine | Verdict::Reported | Verdict::Late | Verdict::Stale)) => {}
                // Those with a mistake behind it would come to the same end.
                Ok(None) => {
                    mistaken.clear();
                    break;
                }
                Ok(Some(verdict)) => {
                    return Err(self.tell(
                        seen,
                        place,
                        &format!("two programs said it, and it is {verdict:?}"),
                    ));
                }
                Err(what) => return Err(self.tell(seen, place, &what)),
            }
        }
        for (_, run) in mistaken {
            self.mistaken(pair.clone(), seen.len(), run, counts)?;
        }
        counts.reused += judge_again(&self.source.protocol, self.side, seen)
            .map_err(|(place, what)| self.tell(seen, place, &what))?;
        counts.uncorrelated += pair.world.uncorrelated;
        counts.within += pair.world.within;
        counts.behind_gates += pair.world.behind_gates;
        counts.deep += pair.world.deep;
        Ok(())
    }

    /// With a mistake in it, the checker says of every message what the observer says. `pair` has judged the messages
    /// before this place.
    fn mistaken(
        &self,
        mut pair: Pair<'_>,
        start: usize,
        seen: &[Event],
        counts: &mut Counts,
    ) -> Result<(), String> {
        let mut wrong = false;
        for (place, event) in seen.iter().enumerate().skip(start) {
            match pair.see(event, counts) {
                Ok(Some(verdict)) => wrong |= matches!(verdict, Verdict::Wrong(_)),
                Ok(None) => break,
                Err(what) => return Err(self.tell(seen, place, &what)),
            }
        }
        counts.mistaken += u64::from(wrong);
        Ok(())
    }

    /// Everything about a failure, as a case to keep.
    fn tell(&self, seen: &[Event], place: usize, what: &str) -> String {
        let protocol = &self.source.protocol;
        let lines: Vec<String> = seen.iter().take(place + 1).map(|event| event.show(protocol)).collect();
        let (side, text) = (self.side, &self.source.text);
        format!("the {side:?}'s machine, message {place}: {what}\n{text}{MARK}{side:?}\n{}", lines.join("\n"))
    }
}

/// Runs many cases. After a failure further seeds are tried, and the smallest failure is reported.
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
                if let Err(what) = judge(&source, &mut random, &mut counts, 2, 50) {
                    failures += 1;
                    let what = format!("seed {seed}: {what}");
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
    let counts = random_protocols(budget("CHECKER_CASES", 150));
    // A few cases are asked for to look into them, not to count what they see.
    if counts.protocols < 100 {
        return;
    }
    assert!(
        counts.most_sub_sessions >= 2 && counts.advised > 100 && counts.late > 300 && counts.endings > 100,
        "{counts:?}"
    );
    assert!(counts.uncorrelated > 20, "hardly anything was uncorrelated: {counts:?}");
    assert!(counts.nested > 10 && counts.within > 50, "hardly anything was nested: {counts:?}");
    assert!(counts.behind_gates > 5, "hardly any gate closed behind a message: {counts:?}");
    assert!(counts.mistaken > 500, "{counts:?}");
    assert!(counts.reused > 200, "hardly any id was used again: {counts:?}");
    for kind in [
        "NotPermitted",
        "NotDuring",
        "Suspended",
        "DuplicateId",
        "UnknownId",
        "SecondReply",
        "WrongReply",
        "NotRunning",
        "NotCancellable",
        "CancelledTwice",
        "UnknownKey",
        "KeyInUse",
        "UnknownToken",
        "RequestUnnamed",
    ] {
        assert!(counts.wrong.contains_key(kind), "{kind} was never seen: {counts:?}");
    }
}
