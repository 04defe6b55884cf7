//! A session is in a sub-session what it is by itself.
//!
//! Behind its first message a session is one linear channel or two, perhaps with a replicated one next to them. The same
//! text is the body of a `*`, with a key in each message, and that of a `*` in the body of another one, with two keys.
//! Then whether the roles fit is the same, and the checker says of each message what it says in the session. In four
//! things they differ: a value may come again, so that a message may be taken for one of an earlier sub-session; a
//! sub-session is never closed, so that no role may leave out a channel of the other one; the end of its linear
//! channels ends it, with what is replicated next to them; and the request that opens it may be cancelled as long as it
//! goes on, where that of a session is over with its reply.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Protocol, Side};
use mcp_protocol_machine::{Checker, RequestId, StepKind};

use crate::behaviour::Behaviour;
use crate::event::Event;
use crate::mistakes::plant;
use crate::parties::{Seat, talk};
use crate::random::Random;
use crate::reading::Reading;
use crate::run::{each, seeds};
use crate::side_by_side::{Channel, Declared, LATE};
use crate::texts::parsed;
use crate::tree::Files;

/// A value that comes again could be taken for that of an earlier sub-session; a session has none before it.
const REUSED: &str = "S0407";

/// Roles that are not compatible.
const INCOMPATIBLE: &str = "S0502";

/// What a role does behind the first exchange, by the names of its channels.
fn body(name: &str, channels: &[Channel], next_to: Option<&str>, text: &mut String) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (place, channel) in channels.iter().enumerate() {
        let name = format!("{name}{}", ["a", "b"][place]);
        channel.write(&name, text);
        parts.push(format!("{name}0"));
    }
    parts.extend(next_to.map(str::to_owned));
    match parts.as_slice() {
        [only] => only.clone(),
        _ => format!("({})", parts.join(", ")),
    }
}

/// Where the session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Session,
    SubSession,
    /// In a sub-session of another one.
    Inner,
}

const PLACES: [Place; 3] = [Place::Session, Place::SubSession, Place::Inner];

/// What opens the sub-session around an inner one.
const BEGINS: &str = "Begins";

/// The reply to it.
const BEGUN: &str = "Begun";

/// What the sub-session around an inner one does then. It does not end: its end would cut the inner one off.
const GOES: &str = "Goes";

/// A session in each place, and the name of its first message.
fn written(random: &mut Random) -> ([Behaviour; 3], String) {
    let mut declared = Declared::default();
    let mut client: Vec<Channel> =
        (0..1 + random.below(2)).map(|_| Channel::random(random, &mut declared)).collect();
    // A sub-session ends where its channels do, and in no other state.
    client.iter_mut().for_each(Channel::only_ends);
    let mut server: Vec<Channel> = client.iter().map(Channel::dual).collect();
    let mut compatible = "";
    if random.percent(50) {
        let place = random.below(server.len());
        server[place].spoil(random);
        server[place].only_ends();
        compatible = if random.percent(50) { " compatible" } else { "" };
    }
    let mut replicated = [None, None];
    if random.percent(30) {
        let note = declared.note();
        let sends = random.percent(50);
        replicated = [sends, !sends].map(|sends| {
            let sign = if sends { '!' } else { '?' };
            Some(format!("*( {sign}{note} . End )"))
        });
    }
    let opens = random.percent(50);
    let [out, back] = if opens { ["!", "?"] } else { ["?", "!"] };
    let (opener, opening) = match random.percent(50) {
        true => {
            let note = declared.note();
            let opening = format!("{out}{note} . ");
            (note, opening)
        }
        false => {
            let (request, reply) = declared.request(false);
            let opening = format!("{out}{request} . {back}{reply} . ");
            (request, opening)
        }
    };
    let turned = |text: &str| -> String {
        text.chars()
            .map(|sign| match sign {
                '!' => '?',
                '?' => '!',
                other => other,
            })
            .collect()
    };
    let mut definitions = String::new();
    let bodies = [("C", &client), ("S", &server)].map(|(name, channels)| {
        let place = usize::from(name == "S");
        body(name, channels, replicated[place].as_deref(), &mut definitions)
    });
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    text.push_str(&declared.text);
    let keyed: Vec<String> =
        declared.text.lines().filter_map(|line| Some(format!("{}.k", line.split(' ').nth(1)?))).collect();
    if declared.has_cancellable {
        let reply = if random.percent(40) { " with reply error -32800" } else { "" };
        writeln!(text, "notification Cancel \"cancel\" (P) cancels id{reply}").unwrap();
    }
    let entry = PathBuf::from("random.session");
    let ways = PLACES.map(|place| {
        let mut text = text.clone();
        if place != Place::Session {
            writeln!(text, "key k = {}", keyed.join(" | ")).unwrap();
        }
        if place == Place::Inner {
            let keyed = keyed.join(" | ").replace(".k", ".o");
            writeln!(
                text,
                "request {BEGINS} \"begins\" (P) -> {BEGUN} (P)\nnotification {GOES} \"goes\" (P)"
            )
            .unwrap();
            writeln!(text, "key o = {BEGINS}.o | {GOES}.o | {keyed}").unwrap();
        }
        writeln!(text, "client C{compatible}\nserver S\n{definitions}").unwrap();
        let [first, second] = [opening.clone(), turned(&opening)];
        for (name, opening, body, [out, back]) in
            [("C", first, &bodies[0], ['!', '?']), ("S", second, &bodies[1], ['?', '!'])]
        {
            let session = format!("{opening}{body}");
            let role = match place {
                Place::Session => session,
                Place::SubSession => format!("*( {session} )"),
                Place::Inner => {
                    format!(
                        "*( {out}{BEGINS} . {back}{BEGUN} . ( rec on . {out}{GOES} . on, *( {session} ) ) )"
                    )
                }
            };
            writeln!(text, "{name} = {role}").unwrap();
        }
        Behaviour::new(&Files::from([(entry.clone(), parsed(&entry, text.into_bytes()))]), Path::new(&entry))
    });
    (ways, opener)
}

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
            Err(violation) => {
                let kind = format!("{:?}", violation.kind);
                let kind = kind.split([' ', '{', '(']).next().unwrap_or_default().to_owned();
                format!("{kind} by {:?}", violation.sender)
            }
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
    let (ways, opener) = written(random);
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
    let seats = [(Seat::Client, Side::Client), (Seat::Middle, Side::Server), (Seat::Server, Side::Server)];
    for (seat, side) in seats {
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
    let seeds = seeds(300);
    let mut counts = Counts::default();
    each(seeds.clone(), |random, _| compare(random, &mut counts));
    println!("seeds {seeds:?}: {counts:?}");
    if seeds.end - seeds.start >= 300 {
        let Counts { texts, accepted, messages, ended, reused, reused_within, otherwise_over } = counts;
        assert!(accepted * 2 > texts && messages > texts * 10 && ended * 2 > texts, "{counts:?}");
        assert!((reused + otherwise_over) * 50 < texts && reused_within * 3 < texts, "{counts:?}");
    }
}
