//! Random mistakes in recordings that follow their protocol. Each is found where the checker alone sees it, and what the
//! checker accepts is not reported.

use std::collections::{HashMap, HashSet};

use mcp_protocols::{REVISIONS, mcp_2025_11_25, mcp_2026_07_28_tasks};
use mcp_runtime::Options;
use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::{RequestId, Side};
use serde_json::{Value, json};

use super::command::{Message, is, line_of, messages, trace, written};
use super::planted::CONFORMING;

/// Numbers that look random, and are the same in each run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// A message for which this holds.
    fn pick(&mut self, messages: &[Message], holds: impl Fn(&Value) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            messages.iter().enumerate().filter(|(_, (_, it))| holds(it)).map(|(place, _)| place).collect();
        (!fitting.is_empty()).then(|| fitting[self.below(fitting.len())])
    }
}

const MISTAKES: [&str; 11] = [
    "drop",
    "duplicate",
    "swap neighbours",
    "change an id",
    "take the id of another",
    "rename a method",
    "delete a member",
    "change a type",
    "decrease progress",
    "repeat progress",
    "turn round",
];

/// Makes a mistake; nothing if the messages have no place for it. Returns where.
fn plant(mistake: &str, messages: &mut Vec<Message>, numbers: &mut Numbers) -> Option<usize> {
    let place = match mistake {
        "change an id" | "take the id of another" => {
            numbers.pick(messages, |message| !message["id"].is_null())?
        }
        "rename a method" => numbers.pick(messages, |message| message["method"].is_string())?,
        "delete a member" | "change a type" => {
            numbers.pick(messages, |message| members(message).is_some())?
        }
        "decrease progress" | "repeat progress" => {
            numbers.pick(messages, |message| message["method"] == "notifications/progress")?
        }
        _ => numbers.below(messages.len()),
    };
    match mistake {
        "drop" => drop(messages.remove(place)),
        "duplicate" => messages.insert(place, messages[place].clone()),
        "swap neighbours" => {
            let next = (place + 1).min(messages.len() - 1);
            messages.swap(place, next);
        }
        "change an id" => messages[place].1["id"] = json!(987_654),
        "take the id of another" => {
            let other = numbers.pick(messages, |message| !message["id"].is_null())?;
            messages[place].1["id"] = messages[other].1["id"].clone();
        }
        "rename a method" => messages[place].1["method"] = json!("no/such"),
        "delete a member" => {
            let members = members_mut(&mut messages[place].1)?;
            let key = members.keys().nth(numbers.below(members.len()))?.clone();
            members.remove(&key);
        }
        "change a type" => {
            let members = members_mut(&mut messages[place].1)?;
            let key = members.keys().nth(numbers.below(members.len()))?.clone();
            members.insert(key, json!([[7]]));
        }
        "decrease progress" => {
            let mut less = messages[place].clone();
            less.1["params"]["progress"] = json!(-1.0);
            messages.insert(place + 1, less);
        }
        "repeat progress" => {
            let again = vec![messages[place].clone(); 1 + numbers.below(3)];
            messages.splice(place..place, again);
        }
        "turn round" => messages[place].0 = !messages[place].0,
        other => panic!("{other}"),
    }
    Some(place)
}

fn payload(message: &Value) -> &'static str {
    if message["method"].is_string() { "params" } else { "result" }
}

fn members(message: &Value) -> Option<()> {
    message[payload(message)].as_object().filter(|members| !members.is_empty()).map(drop)
}

fn members_mut(message: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    let payload = payload(message);
    message[payload].as_object_mut()
}

/// The lines that the checker refuses or advises against, with nothing around it.
fn refused(messages: &[Message], is_stateless: bool) -> Vec<u64> {
    let options = Options::new().judge_payloads(true);
    let mut handshake =
        Observer::new(&mcp_2025_11_25::PROTOCOL, options.clone().revisions(REVISIONS)).unwrap();
    let mut stateless = Observer::new(&mcp_2026_07_28_tasks::PROTOCOL, options).unwrap();
    let mut lines = Vec::new();
    for (line, (is_client, message)) in (1..).zip(messages) {
        let side = if *is_client { Side::Client } else { Side::Server };
        let observer = if is_stateless { &mut stateless } else { &mut handshake };
        let observed = observer.observe(side, message.to_string().as_bytes());
        if observed.iter().any(|one| !one.is_clean()) {
            lines.push(line);
        }
    }
    let left = handshake.unanswered().into_iter().chain(stateless.unanswered());
    let of = |side, id: &RequestId| {
        let all = (1..).zip(messages);
        let asks = |(is_client, message): &Message| {
            *is_client == (side == Side::Client)
                && message["method"].is_string()
                && serde_json::from_value::<RequestId>(message["id"].clone()).is_ok_and(|it| it == *id)
        };
        // Where an id is used again, the last request with it is the one that waits.
        all.filter(|(_, message)| asks(message)).last().map(|(line, _)| line)
    };
    let left = left.filter(|request| !request.stays_open);
    lines.extend(left.filter_map(|request| of(request.sender, &request.id)));
    lines.extend(bad_progress(messages));
    lines.extend(second_cancels(messages));
    lines
}

/// Cancels of requests that their side has cancelled before.
fn second_cancels(messages: &[Message]) -> Vec<u64> {
    let (mut asked, mut cancelled, mut lines) = (HashSet::new(), HashSet::new(), Vec::new());
    for (line, (is_client, message)) in (1..).zip(messages) {
        let request = (*is_client, message["id"].to_string());
        if message["method"].is_string() && !message["id"].is_null() {
            cancelled.remove(&request);
            asked.insert(request);
        }
        if message["method"] == "notifications/cancelled" {
            let request = (*is_client, message["params"]["requestId"].to_string());
            if asked.contains(&request) && !cancelled.insert(request) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Progress that does not increase, or comes after the reply.
fn bad_progress(messages: &[Message]) -> Vec<u64> {
    let (mut last, mut tokens, mut over) = (HashMap::new(), HashMap::new(), Vec::new());
    let mut lines = Vec::new();
    for (line, (is_client, message)) in (1..).zip(messages) {
        let token = &message["params"]["_meta"]["progressToken"];
        if !token.is_null() {
            tokens.insert((*is_client, message["id"].to_string()), token.to_string());
        }
        if message["method"].is_null() {
            over.extend(tokens.remove(&(!is_client, message["id"].to_string())));
        }
        if message["method"] == "notifications/progress" {
            let token = message["params"]["progressToken"].to_string();
            let progress = message["params"]["progress"].as_f64().unwrap_or_default();
            let before = last.insert(token.clone(), progress);
            if before.is_some_and(|before| progress <= before) || over.contains(&token) {
                lines.push(line);
            }
        }
    }
    lines
}

#[test]
fn random_mistakes_are_found_where_the_checker_sees_them() {
    let mut numbers = Numbers(4711);
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    // The client of the other one asks in both ways, and a mistake in its handshake decides by which it is judged.
    let names: Vec<&str> = CONFORMING.into_iter().filter(|name| *name != "real-py230-se").collect();
    for round in 0..264 {
        let mistake = MISTAKES[round % MISTAKES.len()];
        let name = names[numbers.below(names.len())];
        let mut log = messages(name);
        let Some(place) = plant(mistake, &mut log, &mut numbers) else { continue };
        let is_stateless = name.starts_with("2026");
        let refused = refused(&log, is_stateless);
        let found = trace(written(&log));
        let what = format!("{round}: {mistake} at {place} of {name}: refused {refused:?}, found {found:#?}");
        let count = counts.entry(mistake).or_default();
        let is_cut = found.unobserved().iter().any(|what| what.starts_with("the beginning"));
        match refused.iter().min() {
            // Harmless: nothing is made up.
            None => {
                let overdue = found.places().iter().all(|(_, code)| code == "missing");
                assert!(overdue, "{what}");
                count.0 += 1;
            }
            Some(first) => {
                // The beginning is lost, or a step that never came is named where it was overdue. That a request has no
                // reply may follow from a reply that is named.
                let request = &log[usize::try_from(*first).unwrap() - 1].1;
                let unanswered = request["method"].is_string() && request["id"] != Value::Null;
                let is_named = found.lines().contains(first)
                    || (unanswered && found.lines().iter().any(|line| refused.contains(line)))
                    || is_cut
                    || found.places().iter().any(|(line, code)| code == "missing" && line <= first);
                assert!(is_named, "{what}");
                let may_be = found.places().into_iter();
                let made_up: Vec<_> =
                    may_be.filter(|(line, code)| !refused.contains(line) && code != "missing").collect();
                let progress = found.places().into_iter().filter(|(_, code)| code == "progress").count();
                assert!(mistake != "repeat progress" || progress == 1, "one cause, one finding: {what}");
                assert!(made_up.is_empty() || is_cut || found.summary["sessions"] != 1, "{made_up:?} {what}");
                count.1 += 1;
            }
        }
    }
    // Each kind of mistake was found at some place.
    for mistake in MISTAKES {
        assert!(counts.get(mistake).is_some_and(|(_, found)| *found > 0), "{mistake}: {counts:?}");
    }
}

/// The messages with ids and tokens that go on after so many of another session.
fn shifted(messages: &[Message], by: u64) -> Vec<Message> {
    fn shift(value: &mut Value, by: u64) {
        match value.as_u64() {
            Some(number) => *value = json!(number + by),
            None => *value = json!(format!("{value} {by}")),
        }
    }
    let mut messages = messages.to_vec();
    for (_, message) in &mut messages {
        for place in ["/id", "/params/requestId", "/params/progressToken", "/params/_meta/progressToken"] {
            message.pointer_mut(place).into_iter().for_each(|value| shift(value, by));
        }
    }
    messages
}

/// A server that is started again, and clients that write one log: each session is judged as it is alone.
#[test]
fn sessions_without_names_are_judged_as_they_are_alone() {
    let mut numbers = Numbers(815);
    let names: Vec<&str> =
        CONFORMING.into_iter().filter(|name| !name.starts_with("2026") && *name != "real-py230-se").collect();
    for round in 0..160 {
        let [one, two] = [0, 1].map(|_| messages(names[numbers.below(names.len())]));
        // A session is not known by a ping with which it begins.
        let two = &two[line_of(&two, is("initialize")) - 1..];
        // The ids go on, or start over; the sessions follow one another, or go on at once.
        let (goes_on, at_once) = (round % 2 == 0, round % 4 > 1);
        let highest = one.iter().filter_map(|(_, message)| message["id"].as_u64()).max().unwrap();
        let two = if goes_on { shifted(two, highest + 1) } else { two.to_vec() };
        // The second begins once the first is open.
        let open = line_of(&one, is("notifications/initialized"));
        let alone = if at_once { open + numbers.below(one.len() - open) } else { one.len() };
        // Nothing says to which of them a notification belongs that comes during the handshake of the second.
        let opened = line_of(&two, is("notifications/initialized"));
        let mut log = [&one[..alone], &two[..opened]].concat();
        let mut sides = [&one[alone..], &two[opened..]];
        while sides.iter().any(|side| !side.is_empty()) {
            let side = numbers.below(2);
            if let [first, rest @ ..] = sides[side] {
                log.push(first.clone());
                sides[side] = rest;
            }
        }
        let found = trace(written(&log));
        // Where requests of the server have the same ids, what they belong to may stay unknown.
        let few = if at_once && !goes_on { 4 } else { 0 };
        assert!(found.places().len() <= few, "{round} {goes_on} {at_once} {alone} {found:#?}");
        assert_eq!(found.summary["sessions"], 2, "{round} {goes_on} {at_once} {alone}");
    }
}
