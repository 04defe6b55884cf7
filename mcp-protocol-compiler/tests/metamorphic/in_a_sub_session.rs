//! A session is in a sub-session what it is by itself.
//!
//! The same text is a session, the body of a `*`, with a key in each message, and that of a `*` in the body of another
//! one, with two keys (`placed`). Then whether the roles fit is the same, and the checker says of each message what it
//! says in the session. In four things they differ: a value may come again, so that a message may be taken for one of an
//! earlier sub-session; a sub-session is never closed, so that no role may leave out a channel of the other one; the end
//! of its linear channels ends it, with what is replicated next to them; and the request that opens it may be cancelled
//! as long as it goes on, where that of a session is over with its reply.

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Protocol, Side};
use mcp_protocol_machine::{Checker, RequestId, StepKind};

use crate::behaviour::{Behaviour, SEATS};
use crate::event::{Event, kind_of};
use crate::mistakes::plant;
use crate::parties::talk;
use crate::placed::{self, BEGINS, BEGUN, GOES, Place};
use crate::random::Random;
use crate::reading::Reading;
use crate::run::{USUAL, each, seeds};
use crate::side_by_side::LATE;

/// A value that comes again could be taken for that of an earlier sub-session; a session has none before it.
const REUSED: &str = "S0407";

/// Roles that are not compatible.
const INCOMPATIBLE: &str = "S0502";

/// What is said of the last step of a sub-session.
const OVER: &str = "over";

/// What is said of any other step.
const TAKEN: &str = "taken";

/// A checker of the session in one of its places.
struct Judge<'a> {
    checker: Checker,
    protocol: &'a Protocol,
}

impl<'a> Judge<'a> {
    fn new(protocol: &'a Protocol, side: Side) -> Judge<'a> {
        let mut judge = Judge { checker: Checker::new(protocol.clone(), side).unwrap(), protocol };
        let named =
            |name: &str| protocol.indexed().find(|(_, table)| table.name == name).map(|(message, _)| message);
        if let (Some(request), Some(reply)) = (named(BEGINS), named(BEGUN)) {
            for (from, message) in [(Side::Client, request), (Side::Server, reply)] {
                let event = Event { id: Some("begins".into()), ..Event::new(from, message) };
                judge.keyed(&event).feed(&mut judge.checker, protocol).unwrap();
            }
        }
        judge
    }

    /// A message of the session as it is in this place: with the keys of the sub-sessions that it is in.
    fn keyed(&self, event: &Event) -> Event {
        let keys = self.protocol.message(event.message).unwrap().keys.iter();
        Event { keys: keys.map(|key| (key.key, RequestId::from(1))).collect(), ..event.clone() }
    }

    /// What is said of a message, and what may be sent in either direction then.
    fn says(&mut self, event: &Event, opening: MessageIndex) -> (String, [Vec<MessageIndex>; 2]) {
        let said = match self.keyed(event).feed(&mut self.checker, self.protocol) {
            Ok(step) => match step.kind {
                StepKind::Late(late) => format!("late, crossing {:?}", late.crossed),
                StepKind::Reported | StepKind::Swallowed | StepKind::Closed => format!("{:?}", step.kind),
                StepKind::SubSession { ended: true } => OVER.to_owned(),
                _ => TAKEN.to_owned(),
            },
            Err(violation) => format!("{} by {:?}", kind_of(&violation), violation.sender),
        };
        let around = |message: MessageIndex| {
            let name = self.protocol.message(message).unwrap().name.to_string();
            message == opening || [BEGINS, GOES].contains(&name.as_str())
        };
        let permitted = [Direction::Send, Direction::Receive].map(|direction| {
            let mut permitted = self.checker.permitted(direction);
            permitted.retain(|message| !around(*message));
            permitted
        });
        (said, permitted)
    }
}

/// The first message of which something else is said in another place.
fn judged(
    seen: &[Event],
    side: Side,
    opening: MessageIndex,
    session: &Protocol,
    within: &[&Protocol],
    counts: &mut Counts,
) -> Option<String> {
    let mut alone = Judge::new(session, side);
    let mut others: Vec<Judge<'_>> = within.iter().map(|protocol| Judge::new(protocol, side)).collect();
    for (place, event) in seen.iter().enumerate() {
        // A second one opens a second sub-session; and before the first one there is none.
        let opens = event.message == opening;
        let cancels_it = event.about.is_some() && event.about == seen[0].id;
        if (place > 0) == opens || cancels_it {
            return None;
        }
        counts.messages += 1;
        let alone = alone.says(event, opening);
        let others: Vec<_> = others.iter_mut().map(|judge| judge.says(event, opening)).collect();
        // The last step of the linear channels ends a sub-session.
        if alone.0 == TAKEN && !others.is_empty() && others.iter().all(|(said, _)| said == OVER) {
            counts.ended += 1;
            return None;
        }
        for (other, place_of) in others.iter().zip([Place::SubSession, Place::Inner]) {
            if alone != *other {
                let lines: Vec<String> =
                    seen.iter().take(place + 1).map(|event| format!("  {}", event.show(session))).collect();
                return Some(format!(
                    "the {side:?} says {alone:?} of the session\nand {other:?} of the {place_of:?}\nof\n{}",
                    lines.join("\n")
                ));
            }
        }
    }
    None
}

/// What was seen in many cases.
#[derive(Debug, Default)]
struct Counts {
    texts: u64,
    accepted: u64,
    messages: u64,
    ended: u64,
    reused: u64,
    reused_within: u64,
    otherwise_over: u64,
}

fn compare(random: &mut Random, counts: &mut Counts) -> Result<(), String> {
    let (texts, opener) = placed::written(random);
    let ways = texts.map(Behaviour::of);
    let [alone, others @ ..] = &ways;
    counts.texts += 1;
    counts.accepted += u64::from(alone.is_accepted());
    let fail = |what: String, other: &Behaviour| {
        Err(format!("{what}\n-- as a session:\n{}\n-- as a sub-session:\n{}", alone.text, other.text))
    };
    // Where the one around it may end, too, this is asked of more messages.
    let [within, inner] = others.each_ref().map(|other| other.codes().contains(REUSED));
    counts.reused += u64::from(within);
    counts.reused_within += u64::from(inner);
    let others = match (within, inner) {
        (true, _) => return Ok(()),
        (false, true) => &others[..1],
        (false, false) => &others[..],
    };
    let codes = |way: &Behaviour| way.codes().into_iter().filter(|code| code != LATE).collect::<Vec<_>>();
    for other in others {
        let codes = [codes(alone), codes(other)];
        if codes[0] != codes[1] {
            if codes.iter().flatten().all(|code| code == INCOMPATIBLE) {
                counts.otherwise_over += 1;
                return Ok(());
            }
            let what = format!("the findings are {codes:?}\n{}{}", alone.findings(), other.findings());
            return fail(what, other);
        }
    }
    let Some((protocol, resolution)) = alone.sessions() else { return Ok(()) };
    let within: Vec<&Protocol> = others.iter().filter_map(|way| Some(way.sessions()?.0)).collect();
    let opening = protocol.indexed().find(|(_, table)| table.name == opener.as_str()).unwrap().0;
    let readings = [Side::Client, Side::Server].map(|side| Reading::new(resolution, side));
    let steps = 10 + random.below(30);
    let talk = talk(random, [&readings[0], &readings[1]], protocol, steps);
    for (seat, side) in SEATS {
        let seen = talk.seen(seat);
        let mistaken = plant(random, protocol, seen);
        for seen in [seen, &mistaken] {
            if let Some(what) = judged(seen, side, opening, protocol, &within, counts) {
                return fail(what, &others[others.len() - 1]);
            }
        }
    }
    Ok(())
}

#[test]
fn a_session_is_the_same_in_a_sub_session() {
    let seeds = seeds(USUAL);
    let mut counts = Counts::default();
    each(seeds.clone(), |random, _| compare(random, &mut counts));
    println!("seeds {seeds:?}: {counts:?}");
    if seeds.end - seeds.start >= USUAL {
        let Counts { texts, accepted, messages, ended, reused, reused_within, otherwise_over } = counts;
        assert!(accepted * 2 > texts && messages > texts * 10 && ended * 2 > texts, "{counts:?}");
        assert!((reused + otherwise_over) * 50 < texts && reused_within * 3 < texts, "{counts:?}");
    }
}
