//! Random files, random edits of them, and sessions between an old and a new peer: what `compat` calls compatible is
//! accepted, message by message, by the checkers of both files.
//!
//! A peer sends what the checker of its own file permits. The bytes then go to the checker of the other peer's file. The
//! files have what makes a message another one for a checker: conditions, gates with defaults and `open until announced`,
//! correlation keys, optional fields, and several messages of one method.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking"
)]

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use mcp_protocol_compiler::compat::{Comparison, PairVerdict, compare};
use mcp_protocol_compiler::{Settings, compile_with, generate};
use mcp_protocol_machine::{RequestId, StepKind};
use mcp_runtime::Options;
use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::{Protocol, Side};
use serde_json::{Map, Value, json};

use crate::random::Random;

mod files;

use files::File;

/// How many cases the test judges by default. `COMPAT_CASES` multiplies them, `COMPAT_SEED` is the first.
const USUAL: u64 = 60;
/// How many sessions two peers have, and how many messages each. `COMPAT_SESSIONS` multiplies the former.
const SESSIONS: u64 = 12;
const MESSAGES: usize = 14;

/// What happened in all sessions.
#[derive(Debug, Default)]
struct Counted {
    compatible: usize,
    broken: usize,
    messages: usize,
    /// Files that the compiler refuses.
    unread: usize,
    /// How many messages of each name were sent.
    sent: BTreeMap<String, usize>,
    /// Pairs with findings that no session showed, by the codes of the findings.
    silent: BTreeMap<String, Vec<u64>>,
}

/// A peer: the file that it was written for, and the checker of that file.
struct Peer<'a> {
    side: Side,
    file: &'a File,
    observer: Observer,
    next_id: u64,
}

/// The tables of a file, and whether the compiler warns that a gate decides between two of its messages.
fn tables(text: &str) -> (Arc<Protocol>, bool) {
    let mut read = |_: &Path| Ok(text.as_bytes().to_vec());
    let settings = Settings::default().without_tries(true);
    let compilation = compile_with(Path::new("test.session"), &mut read, settings).unwrap();
    let reads_by_gate = compilation.diagnostics.iter().any(|found| found.code.0 == "S0128");
    (Arc::new(generate::machine(compilation.protocol.as_ref().unwrap())), reads_by_gate)
}

fn comparison(old: &str, new: &str) -> Comparison {
    let mut read =
        |path: &Path| Ok(if path == Path::new("old.session") { old } else { new }.as_bytes().to_vec());
    compare(Path::new("old.session"), Path::new("new.session"), &mut read).unwrap()
}

impl<'a> Peer<'a> {
    fn new(side: Side, file: &'a File, tables: &Arc<Protocol>) -> Peer<'a> {
        let observer = Observer::new(Arc::clone(tables), Options::new().judge_payloads(true))
            .unwrap()
            .refuse_misshapen();
        Peer { side, file, observer, next_id: 1 }
    }

    /// A message that the peer might write, and its name in the file, unless it is a reply.
    fn message(&mut self, random: &mut Random) -> Option<(Option<String>, Value)> {
        let unanswered = self.observer.unanswered();
        let (owed, running): (Vec<_>, Vec<_>) =
            unanswered.into_iter().partition(|request| request.sender != self.side);
        let number = |id: &RequestId| id.to_string().trim_matches('"').parse::<u64>().unwrap();
        if !owed.is_empty() && random.percent(60) {
            let request = &owed[random.below(owed.len())];
            let method = &self.observer.protocol().message(request.message).unwrap().method;
            let id = number(&request.id);
            let result = match &**method {
                "hello" => self.file.announcement(random, self.side),
                _ => json!({}),
            };
            return Some((None, json!({ "jsonrpc": "2.0", "id": id, "result": result })));
        }
        let running: Vec<u64> = running.iter().map(|request| number(&request.id)).collect();
        let (name, (method, is_request, params)) = self.file.opening(random, self.side, &running)?;
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), json!("2.0"));
        message.insert("method".to_owned(), json!(method));
        if is_request {
            message.insert("id".to_owned(), json!(self.next_id));
        }
        message.extend(params.map(|params| ("params".to_owned(), params)));
        Some((Some(name), Value::Object(message)))
    }

    /// Sends a message if the checker of the peer's own file permits it, and reads it as what it was written as.
    fn send(&mut self, random: &mut Random, counted: &mut Counted) -> Option<Vec<u8>> {
        let (name, message) = self.message(random)?;
        let message = message.to_string().into_bytes();
        let mut after = self.observer.clone();
        let read_as = |index| after.protocol().message(index).map(|message| message.name.to_string());
        let observed = after.clone().observe(self.side, &*message).pop()?;
        // What may be late for an observer, its sender does not send: it has seen what came before.
        let is_tied = name.as_deref().is_some_and(|name| ["Cancel", "Progress"].contains(&name));
        let permitted = self.observer.permitted(self.side);
        let is_permitted = observed.message.is_none_or(|index| permitted.contains(&index));
        let is_late =
            observed.step.is_some_and(StepKind::is_dropped) || (name.is_some() && !is_tied && !is_permitted);
        if is_late || !observed.is_clean() || (name.is_some() && observed.message.and_then(read_as) != name) {
            return None;
        }
        after.observe(self.side, &*message);
        *counted.sent.entry(name.unwrap_or_else(|| "a reply".to_owned())).or_default() += 1;
        self.observer = after;
        self.next_id += 1;
        Some(message)
    }
}

/// Lets two peers talk, and returns the messages up to the first one that its receiver refuses, or up to where one of the
/// two may end the session and the other does not expect it. In half of the sessions messages cross, unless a gate that
/// opens meanwhile makes another message of them.
fn refused(
    random: &mut Random,
    mut peers: [Peer<'_>; 2],
    reads_by_gate: bool,
    counted: &mut Counted,
) -> Option<String> {
    let is_crossing = random.percent(50) && !reads_by_gate;
    let mut said = Vec::new();
    let mut on_the_way = [VecDeque::new(), VecDeque::new()];
    let mut count = 0;
    for turn in 0..MESSAGES * 4 {
        let who = random.below(2);
        let is_over = count >= MESSAGES || turn >= MESSAGES * 3;
        if is_over && on_the_way.iter().all(VecDeque::is_empty) {
            break;
        }
        if !is_over && let Some(message) = peers[who].send(random, counted) {
            count += 1;
            said.push(format!("{:?}: {}", peers[who].side, String::from_utf8_lossy(&message)));
            on_the_way[who].push_back(message);
        }
        if is_crossing && !is_over && random.percent(50) {
            continue;
        }
        for (sender, message) in [who, 1 - who].map(|sender| (sender, on_the_way[sender].pop_front())) {
            let Some(message) = message else { continue };
            let side = peers[sender].side;
            counted.messages += 1;
            if is_crossing {
                said.push(format!("  received from the {side:?}: {}", String::from_utf8_lossy(&message)));
            }
            let observed = peers[1 - sender].observer.observe(side, &*message);
            // Only an observer from the middle cannot say that nothing has crossed.
            let judged = observed.iter().filter(|one| !matches!(one.step, Some(StepKind::Late(_))));
            let reports: Vec<String> = judged.flat_map(|one| &one.reports).map(ToString::to_string).collect();
            if !reports.is_empty() {
                return Some(format!("{}\n  {}", said.join("\n"), reports.join("\n  ")));
            }
        }
        if on_the_way.iter().all(VecDeque::is_empty) {
            let ends = |at: usize| [Side::Client, Side::Server].map(|side| peers[at].observer.may_end(side));
            let (client, server) = (ends(0), ends(1));
            if (client[0] && !server[0]) || (server[1] && !client[1]) {
                let who = if client[0] && !server[0] { Side::Client } else { Side::Server };
                return Some(format!("{}\n  {who:?} may end here", said.join("\n")));
            }
        }
    }
    None
}

fn codes(pair: &PairVerdict) -> String {
    let codes = pair.found.iter().filter(|found| found.is_error()).map(|found| found.diagnostic.code.0);
    let codes: std::collections::BTreeSet<&str> = codes.collect();
    codes.into_iter().collect::<Vec<_>>().join(" ")
}

/// What was refused although the verdict is that nothing breaks.
fn judge(seed: u64, counted: &mut Counted) -> Option<String> {
    let mut random = Random::new(seed);
    let old = File::random(&mut random);
    let mut new = old.clone();
    // Files without an edit show that two peers of one file never accuse each other.
    let edits = if random.percent(10) { 0 } else { 1 + random.below(3) };
    for _ in 0..edits {
        new.edit(&mut random);
    }
    let (old, new) = (old.written(), new.written());
    let (old_text, new_text) = (old.text(), new.text());
    let Some(verdict) = comparison(&old_text, &new_text).verdict else {
        counted.unread += 1;
        return None;
    };
    let ((of_old, old_by_gate), (of_new, new_by_gate)) = (tables(&old_text), tables(&new_text));
    let pairs = [((&old, &of_old), (&new, &of_new)), ((&new, &of_new), (&old, &of_old))];
    for (pair, (client, server)) in verdict.pairs.iter().zip(pairs) {
        let mut sessions = (0..SESSIONS * number("COMPAT_SESSIONS").unwrap_or(1)).filter_map(|_| {
            let peers =
                [Peer::new(Side::Client, client.0, client.1), Peer::new(Side::Server, server.0, server.1)];
            refused(&mut random, peers, old_by_gate || new_by_gate, counted)
        });
        let session = sessions.next();
        drop(sessions);
        match (pair.is_compatible(), session) {
            (true, Some(session)) => {
                return Some(format!(
                    "seed {seed}, {} client:\n{session}\n-- old:\n{old_text}-- new:\n{new_text}",
                    pair.client.word()
                ));
            }
            (true, None) => counted.compatible += 1,
            (false, Some(_)) => counted.broken += 1,
            (false, None) => counted.silent.entry(codes(pair)).or_default().push(seed),
        }
    }
    None
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn what_is_called_compatible_is_accepted_by_both_checkers() {
    let first = number("COMPAT_SEED").unwrap_or(0);
    let mut counted = Counted::default();
    let seeds = first..first + USUAL * number("COMPAT_CASES").unwrap_or(1);
    let mut wrong: Vec<String> = seeds.filter_map(|seed| judge(seed, &mut counted)).collect();
    println!("{counted:?}");
    wrong.sort_by_key(String::len);
    wrong.truncate(3);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(counted.compatible > 10 && counted.broken > 10 && counted.messages > 1_000, "{counted:?}");
}
