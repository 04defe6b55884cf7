//! Plants mistakes in a recorded session.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{KeyIndex, Kind, MessageIndex, Protocol, Side};

use crate::during::may_log;
use crate::event::{Event, keys_in_one_field};
use crate::random::Random;

/// Plants one mistake.
pub(crate) fn plant(random: &mut Random, protocol: &Protocol, seen: &[Event]) -> Vec<Event> {
    let mut run = seen.to_vec();
    let place = random.below(run.len() + 1);
    let earlier = |random: &mut Random| random.one(&seen[..place]).cloned();
    let kind = |event: &Event| protocol.message(event.message).unwrap().kind;
    match random.below(15) {
        // Something is missing.
        0 if place < run.len() => {
            run.remove(place);
        }
        // Two things are in the wrong order.
        1 if place + 1 < run.len() => run.swap(place, place + 1),
        2 if place + 1 < run.len() => {
            let other = place + 1 + random.below(run.len() - place - 1);
            run.swap(place, other);
        }
        // Something comes again: a duplicate id, a second reply, a late message of a sub-session.
        3 | 4 => {
            if let Some(again) = earlier(random) {
                run.insert(place, again);
            }
        }
        // A message of the sub-sessions again, with an id of its own.
        5 => {
            if let Some(mut again) = earlier(random) {
                if kind(&again) == Kind::Request {
                    again.id = Some(fresh(random));
                }
                run.insert(place, again);
            }
        }
        // Somebody else says it.
        6 => {
            if let Some(mut turned) = earlier(random) {
                turned.from = turned.from.other();
                run.insert(place, turned);
            }
        }
        // A reply to something else, a cancel of something else, another key.
        7 if place < run.len() => {
            let event = run[place].clone();
            let other = earlier(random).and_then(|other| other.id.or(other.about));
            let other = other.filter(|_| random.percent(60)).unwrap_or_else(|| fresh(random));
            let event_kind = kind(&event);
            let changed = &mut run[place];
            if changed.about.is_some() {
                changed.about = if random.percent(15) { None } else { Some(other) };
            } else if matches!(event_kind, Kind::Reply { .. } | Kind::Refusal { .. }) {
                changed.id = Some(other);
            } else if changed.keys.len() > 1 {
                // One of the values by which it finds its sub-session and those around that.
                let one = random.below(changed.keys.len());
                if random.percent(15) {
                    changed.keys.remove(one);
                } else {
                    changed.keys[one] = other_value(random, &seen[..place], changed.keys[one].0);
                }
            } else if let Some(key) = changed.keys.first_mut() {
                if random.percent(20) {
                    changed.keys.clear();
                } else {
                    let held = earlier(random).and_then(|other| other.keys.first().cloned());
                    key.1 = held.map_or_else(|| fresh(random), |(_, value)| value);
                }
            } else if event_kind == Kind::Notification && changed.token.is_some() {
                changed.token = if random.percent(20) { None } else { Some(other) };
            }
        }
        // A reply of another kind.
        8 if place < run.len() => {
            if matches!(kind(&run[place]), Kind::Reply { .. } | Kind::Refusal { .. }) {
                let other =
                    any(random, protocol, |kind| matches!(kind, Kind::Reply { .. } | Kind::Refusal { .. }));
                run[place].message = other;
                run[place].keys = keys(random, protocol, seen, other);
            }
        }
        // The same with another payload, which may need a capability.
        9 if place < run.len() => {
            run[place].urgent = true;
            run[place].logs = false;
        }
        // A cancel that names nothing, or one of a request whose id was used once more.
        10 => {
            let cancels: Vec<usize> = (0..run.len()).filter(|place| run[*place].about.is_some()).collect();
            if let Some(place) = random.one(&cancels).copied() {
                let (from, about) = (run[place].from, run[place].about.clone());
                let asked =
                    |event: &Event| event.from == from && event.id == about && kind(event) == Kind::Request;
                match run.iter().take(place).position(asked) {
                    Some(request) if random.percent(60) => {
                        let again = run[request].clone();
                        run.insert(request + 1 + random.below(place - request), again);
                    }
                    _ => run[place].about = None,
                }
            }
        }
        // Something comes too early, too.
        11 | 12 if place < run.len() => {
            let mut early = run[place + random.below(run.len() - place)].clone();
            if kind(&early) == Kind::Request {
                early.id = Some(fresh(random));
            }
            run.insert(place, early);
        }
        // Anything at all, with ids and keys that are somehow related.
        _ => {
            let message = any(random, protocol, |_| true);
            let from = if random.percent(50) { Side::Client } else { Side::Server };
            let mut event = Event::new(from, message);
            let table = protocol.message(message).unwrap();
            let known = earlier(random).and_then(|other| other.id);
            match table.kind {
                Kind::Request => event.id = Some(fresh(random)),
                Kind::Notification if table.cancels.is_some() => {
                    event.about = if random.percent(10) { None } else { known.or(Some(fresh(random))) };
                }
                Kind::Notification if table.reports.is_some() => event.token = Some(fresh(random)),
                Kind::Notification => {}
                _ => event.id = Some(known.unwrap_or_else(|| fresh(random))),
            }
            event.keys = keys(random, protocol, seen, message);
            event.urgent = random.percent(30);
            event.logs = may_log(protocol, message) && random.percent(50);
            run.insert(place, event);
        }
    }
    run.iter_mut().for_each(|event| one_field_one_value(protocol, event));
    run
}

/// Keys of a message that are in one field have one value, whatever was planted.
fn one_field_one_value(protocol: &Protocol, event: &mut Event) {
    for (key, first) in keys_in_one_field(protocol.message(event.message).unwrap()) {
        event.keys.retain(|(held, _)| *held != key);
        let value = event.keys.iter().find(|(held, _)| *held == first).map(|(_, value)| value.clone());
        event.keys.extend(value.map(|value| (key, value)));
    }
}

/// Adds a cancel of some request by its sender, wherever that stands: it may be answered, or cancelled before. Nothing
/// else of a seed depends on it.
pub(crate) fn plant_cancel(random: &Random, protocol: &Protocol, seen: &[Event]) -> Option<Vec<Event>> {
    let mut random = random.fork();
    let (cancel, _) = protocol.indexed().find(|(_, table)| table.cancels.is_some())?;
    let table = |place: &usize| protocol.message(seen[*place].message).unwrap();
    let mut asked: Vec<usize> = (0..seen.len()).filter(|place| table(place).cancellable).collect();
    // Those that have an answer, and what they opened, are rare.
    if random.percent(80) && asked.iter().any(|place| table(place).until_reply) {
        asked.retain(|place| table(place).until_reply);
    }
    let request = random.one(&asked).copied()?;
    let mut event = Event::new(seen[request].from, cancel);
    event.about.clone_from(&seen[request].id);
    let mut run = seen.to_vec();
    let place = match random.percent(50) {
        true => run.len(),
        false => request + 1 + random.below(run.len() - request),
    };
    run.insert(place, event);
    Some(run)
}

/// Lets the envelope of a reply name another sub-session than that of its request, or one though its request names none.
/// Nothing else of a seed depends on it.
pub(crate) fn plant_member(random: &Random, protocol: &Protocol, seen: &[Event]) -> Option<Vec<Event>> {
    let mut random = random.fork();
    let key_of = |event: &Event| match protocol.message(event.message)?.kind {
        Kind::Reply { request } => Some(protocol.message(request)?.member_keys().next()?.0),
        _ => None,
    };
    let replies: Vec<(usize, KeyIndex)> =
        seen.iter().enumerate().filter_map(|(place, event)| Some((place, key_of(event)?))).collect();
    let (place, key) = random.one(&replies).copied()?;
    let mut run = seen.to_vec();
    let value = run[place].members.first().map(|(_, value)| value.clone());
    let carried = seen.iter().flat_map(|event| &event.keys);
    let others: Vec<RequestId> = carried
        .filter(|(known, other)| (*known, Some(other)) != (key, value.as_ref()))
        .map(|(_, other)| other.clone())
        .collect();
    let other = random.one(&others).cloned().filter(|_| random.percent(70));
    run[place].members = vec![(key, other.unwrap_or_else(|| fresh(&mut random)))];
    Some(run)
}

/// Adds a message that is permitted only during requests somewhere else. Nothing else of a seed depends on it.
pub(crate) fn plant_during(random: &Random, protocol: &Protocol, seen: &[Event]) -> Option<Vec<Event>> {
    let mut random = random.fork().fork();
    let is_during = |event: &&Event| {
        let mut requires = protocol.message(event.message).unwrap().requires.iter();
        requires.any(|required| protocol.gate(required.gate).unwrap().during.is_some())
    };
    let said: Vec<&Event> = seen.iter().filter(is_during).collect();
    let mut again = (*random.one(&said)?).clone();
    if protocol.message(again.message).unwrap().kind == Kind::Request {
        again.id = Some(fresh(&mut random));
    }
    let mut run = seen.to_vec();
    // After a cancel it is late, until the reply to a later request: so mostly it comes behind both.
    let is_cancel = |event: &Event| event.about.is_some() && event.from != again.from;
    let cancel = run.iter().position(is_cancel).filter(|_| random.percent(80)).unwrap_or(0);
    let place = if random.percent(40) { run.len() } else { cancel + random.below(run.len() + 1 - cancel) };
    run.insert(place, again);
    Some(run)
}

fn fresh(random: &mut Random) -> RequestId {
    RequestId::Number(10_000 + i64::try_from(random.below(1_000_000)).unwrap())
}

/// A value of a key that an earlier message has carried, or a new one.
fn other_value(random: &mut Random, seen: &[Event], key: KeyIndex) -> (KeyIndex, RequestId) {
    let held = seen.iter().flat_map(|event| &event.keys).filter(|(held, _)| *held == key);
    let held: Vec<_> = held.cloned().collect();
    let value = random.one(&held).cloned().filter(|_| random.percent(80));
    value.unwrap_or_else(|| (key, fresh(random)))
}

fn any(random: &mut Random, protocol: &Protocol, fits: impl Fn(Kind) -> bool) -> MessageIndex {
    let all: Vec<MessageIndex> =
        protocol.indexed().filter(|(_, table)| fits(table.kind)).map(|(message, _)| message).collect();
    random.one(&all).copied().unwrap_or(MessageIndex(0))
}

/// Values for the keys of a message, from the session or new.
fn keys(
    random: &mut Random,
    protocol: &Protocol,
    seen: &[Event],
    message: MessageIndex,
) -> Vec<(KeyIndex, RequestId)> {
    let mut keys = Vec::new();
    for declared in protocol.message(message).unwrap().keys.iter() {
        let used: Vec<RequestId> = seen
            .iter()
            .flat_map(|event| event.keys.iter())
            .filter(|(key, _)| *key == declared.key)
            .map(|(_, value)| value.clone())
            .collect();
        let value = random.one(&used).cloned().filter(|_| random.percent(80));
        keys.push((declared.key, value.unwrap_or_else(|| fresh(random))));
    }
    keys
}
