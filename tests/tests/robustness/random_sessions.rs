//! Random protocols, which two programs that follow them speak through the runtime.
//!
//! Each program does anything that its session permits, at any time: it sends, it opens and cancels, it answers late, it
//! reads little. Then neither side may be blamed, each message comes in its order or is reported as late, and each request
//! is over in the end. The clock is made up, so a session that gets stuck fails at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_protocol_compiler::{Settings, compile_with, generate};
use mcp_runtime::protocol::{Kind, Message, MessageIndex, Protocol, Side};
use mcp_runtime::session::Payload;
use mcp_runtime::transport::duplex::duplex_with_capacity;
use mcp_runtime::{CheckedSession, DropReason, Error, Event, Options, Report, RequestId, RpcError};
use serde_json::{Map, Value, json};

use crate::placed;
use crate::random::Random;
use crate::variable;

/// How many steps a program takes at most before it only answers and reads.
const STEPS: usize = 100;

/// How many sub-sessions a program opens at most.
const OPENED: usize = 4;

/// How long a program waits for a message.
const PATIENCE: Duration = Duration::from_millis(20);

/// The field of each payload that numbers the messages of a side.
const NUMBER: &str = "number";

/// A session or a sub-session of a program.
struct Part {
    session: CheckedSession,
    /// The values of its keys, which each of its messages carries.
    keys: Map<String, Value>,
    /// Requests of the peer that wait for an answer.
    owed: Vec<RequestId>,
    /// It was opened by a request of this side, which has no reply yet.
    asks: bool,
    /// The number of the last message that it has read.
    read: u64,
}

/// One of the two programs.
struct Program {
    side: Side,
    random: Random,
    parts: Vec<Part>,
    reports: Arc<Mutex<Vec<Report>>>,
    /// How many notifications it has sent and read.
    sent: u64,
    read: u64,
    /// The number of its last message.
    number: u64,
    /// Its requests that have no reply yet, each with its part.
    asked: BTreeMap<RequestId, usize>,
    /// Its requests that it has cancelled.
    cancelled: BTreeSet<RequestId>,
    values: u64,
}

/// Notifications that an endpoint has dropped.
#[derive(Debug, Default)]
struct Dropped {
    /// What the peer has sent too late, or too late to be read.
    late: u64,
    /// What its own program has sent too late, so that it was not written.
    unwritten: u64,
}

/// What was seen in many cases.
#[derive(Debug, Default)]
struct Counts {
    protocols: u64,
    notifications: u64,
    requests: u64,
    late: u64,
    unwritten: u64,
    /// Sub-sessions, and those that were opened within others.
    opened: u64,
    within: u64,
    cancelled: u64,
}

impl Program {
    fn new(session: impl FnOnce(Options) -> CheckedSession, side: Side, random: Random) -> Program {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&reports);
        let options =
            Options::new().on_report(move |report: &Report| kept.lock().unwrap().push(report.clone()));
        let part =
            Part { session: session(options), keys: Map::new(), owed: Vec::new(), asks: false, read: 0 };
        let (parts, asked, cancelled) = (vec![part], BTreeMap::new(), BTreeSet::new());
        Program { side, random, parts, reports, sent: 0, read: 0, number: 0, asked, cancelled, values: 0 }
    }

    /// Does something, and then reads and answers until nothing comes any more.
    async fn run(&mut self, protocol: &Protocol, counts: &Mutex<Counts>) {
        for _ in 0..10 + self.random.below(STEPS - 10) {
            let place = self.random.below(self.parts.len());
            if self.random.percent(50) {
                self.say(place, protocol, counts).await;
            } else {
                self.hear(place, protocol).await;
            }
            tokio::task::yield_now().await;
        }
        // The other program may still be at work.
        let mut quiet = 0;
        while quiet < 2 * STEPS {
            quiet += 1;
            for place in (0..self.parts.len()).rev() {
                if self.answer(place).await || self.hear(place, protocol).await {
                    quiet = 0;
                }
            }
        }
    }

    /// Sends one of the messages that are permitted, if one is.
    async fn say(&mut self, place: usize, protocol: &Protocol, counts: &Mutex<Counts>) {
        let permitted = self.parts[place].session.permitted();
        let Some(message) = self.random.one(&permitted).copied() else { return };
        let table = protocol.message(message).unwrap();
        let said = match table.kind {
            Kind::Notification if table.cancels.is_some() => self.cancel(place, protocol, counts),
            Kind::Reply { .. } | Kind::Refusal { .. } => {
                self.answer(place).await;
                Ok(())
            }
            Kind::Request | Kind::Notification => self.send(place, message, protocol, counts).await,
        };
        if let Err(error) = said {
            panic!("the {:?} may send `{}` in {permitted:?}: {error}", self.side, table.name);
        }
    }

    /// Sends a message, or opens a sub-session with it.
    async fn send(
        &mut self,
        place: usize,
        message: MessageIndex,
        protocol: &Protocol,
        counts: &Mutex<Counts>,
    ) -> Result<(), Error> {
        let table = protocol.message(message).unwrap();
        let is_request = table.kind == Kind::Request;
        let mut keys = self.parts[place].keys.clone();
        // What opens a sub-session has a key that this part does not have.
        for key in table.keys.iter().map(|key| &protocol.key(key.key).unwrap().name) {
            self.values += 1;
            let value = json!(format!("{:?} {}", self.side, self.values));
            keys.entry(key.to_string()).or_insert(value);
        }
        let payload = self.payload(&keys);
        let session = &mut self.parts[place].session;
        let sent = match is_request {
            true => session.request(message, &payload).await.map(|id| {
                self.asked.insert(id, place);
            }),
            false => session.notify(message, &payload).await,
        };
        match sent {
            Err(Error::Opens { .. }) if self.parts.len() <= OPENED => {
                let session = match self.parts[place].session.open(message, &payload).await {
                    Err(Error::Closed) if place > 0 => return Ok(()),
                    opened => opened?,
                };
                let mut counts = counts.lock().unwrap();
                counts.opened += 1;
                counts.within += u64::from(place > 0);
                self.parts.push(Part { session, keys, owed: Vec::new(), asks: is_request, read: 0 });
            }
            Err(Error::Opens { .. }) => return Ok(()),
            // The other side has ended the sub-session, which its value has not read.
            Err(Error::Closed) if place > 0 => return Ok(()),
            sent => sent?,
        }
        self.sent += u64::from(!is_request);
        let mut counts = counts.lock().unwrap();
        counts.requests += u64::from(is_request);
        counts.notifications += u64::from(!is_request);
        Ok(())
    }

    /// What a message of a part carries.
    fn payload(&mut self, keys: &Map<String, Value>) -> Value {
        self.number += 1;
        let mut payload = keys.clone();
        payload.insert(NUMBER.to_owned(), json!(self.number));
        Value::Object(payload)
    }

    /// Cancels one of the requests of a part that may be cancelled.
    fn cancel(&mut self, place: usize, protocol: &Protocol, counts: &Mutex<Counts>) -> Result<(), Error> {
        let asked: Vec<&RequestId> =
            self.asked.iter().filter(|(_, asked)| **asked == place).map(|(id, _)| id).collect();
        let Some(id) = self.random.one(&asked).map(|id| (*id).clone()) else { return Ok(()) };
        match self.parts[place].session.cancel(&id) {
            Err(Error::NotPermitted(_)) => Ok(()),
            cancelled => {
                counts.lock().unwrap().cancelled += 1;
                if !reply_follows(protocol) {
                    // Its reply may have come already.
                    self.asked.remove(&id);
                    self.cancelled.insert(id);
                }
                cancelled
            }
        }
    }

    /// Answers a request of the peer; whether there was one.
    async fn answer(&mut self, place: usize) -> bool {
        let part = &mut self.parts[place];
        if part.owed.is_empty() {
            return false;
        }
        let id = part.owed.swap_remove(self.random.below(part.owed.len()));
        let refuses = self.random.percent(20);
        let payload = self.payload(&Map::new());
        let session = &mut self.parts[place].session;
        let answered = match refuses {
            true => session.refuse(&id, &RpcError::invalid_params("no")),
            false => session.respond(&id, &payload).await,
        };
        // The other side may have ended the sub-session.
        if let Err(error) = answered
            && !matches!(error, Error::Closed)
        {
            panic!("the {:?} answers {id}: {error}", self.side);
        }
        true
    }

    /// Reads a message, if one comes; whether one did.
    async fn hear(&mut self, place: usize, protocol: &Protocol) -> bool {
        let next = tokio::time::timeout(PATIENCE, self.parts[place].session.next());
        let Ok(event) = next.await else { return false };
        match event {
            Ok(event) => self.take(place, event, protocol),
            // The sub-session is over, or what opened it was refused, which ends it.
            Err(Error::Closed | Error::Refused(_)) if place > 0 => {
                self.parts[place].asks = false;
                self.asked.retain(|_, asked| *asked != place);
                return false;
            }
            Err(error) => panic!("the {:?} reads: {error}", self.side),
        }
        true
    }

    fn take(&mut self, place: usize, event: Event, protocol: &Protocol) {
        match event {
            Event::Request { id, params, .. } => {
                self.in_order(place, &params);
                self.parts[place].owed.push(id);
            }
            Event::Notification { params, .. } => {
                self.read += 1;
                self.in_order(place, &params);
            }
            Event::Reply { id, .. } | Event::Refused { id, .. } | Event::Failed { id, .. } => {
                let asked = self.asked.remove(&id).is_some() || self.cancelled.remove(&id);
                let opening = !asked && std::mem::take(&mut self.parts[place].asks);
                assert!(asked || opening, "the {:?} has not asked {id}", self.side);
            }
            Event::Cancelled { .. } if reply_follows(protocol) => {}
            Event::Cancelled { id } => self.parts[place].owed.retain(|owed| *owed != id),
            Event::Opened { message, id, params, session } => {
                let mut keys: Map<String, Value> = params.read().unwrap();
                keys.remove(NUMBER);
                let is_notification = protocol.message(message).unwrap().kind == Kind::Notification;
                self.read += u64::from(is_notification);
                let owed = id.into_iter().collect();
                self.parts.push(Part { session, keys, owed, asks: false, read: 0 });
            }
            other => panic!("the {:?} reads {other:?}", self.side),
        }
    }

    /// The notifications that its endpoint has dropped. Nothing else may be reported.
    fn dropped(&self, protocol: &Protocol) -> Dropped {
        let is_notification = |name: &str| {
            let named = protocol.indexed().find(|(_, table)| table.name == name);
            named.is_some_and(|(_, table)| table.kind == Kind::Notification)
        };
        let mut dropped = Dropped::default();
        for report in &*self.reports.lock().unwrap() {
            match report {
                // Its own program has ended the sub-session before it has read them.
                Report::Late { message, .. } | Report::Dropped { message, cause: DropReason::Abandoned } => {
                    dropped.late += u64::from(is_notification(message));
                }
                Report::ManyDropped { message, cause: DropReason::Abandoned, count } => {
                    dropped.late += if is_notification(message) { *count } else { 0 };
                }
                Report::Dropped { message, cause: DropReason::TooLate } => {
                    dropped.unwritten += u64::from(is_notification(message));
                }
                other => panic!("the {:?} reports: {other}", self.side),
            }
        }
        dropped
    }

    /// Messages of one part come in the order in which they were sent.
    fn in_order(&mut self, place: usize, payload: &Payload) {
        let number = payload.read::<Value>().unwrap()[NUMBER].as_u64().unwrap();
        let part = &mut self.parts[place];
        assert!(number > part.read, "the {:?} reads {number} behind {}", self.side, part.read);
        part.read = number;
    }
}

/// Whether a request that was cancelled gets its reply all the same.
fn reply_follows(protocol: &Protocol) -> bool {
    let follows = |table: &Message| table.cancels.as_ref().is_some_and(|how| how.reply_error.is_some());
    protocol.indexed().any(|(_, table)| follows(table))
}

/// Lets two programs speak one protocol.
async fn speak(text: &str, random: &mut Random, counts: &Mutex<Counts>) {
    let compilation = compile_with(
        Path::new("random.session"),
        &mut |_| Ok(text.as_bytes().to_vec()),
        Settings::default().without_tries(true),
    )
    .unwrap();
    let Some(compiled) = &compilation.protocol else { return };
    let protocol = generate::machine(compiled);
    counts.lock().unwrap().protocols += 1;
    // A narrow wire is full most of the time.
    let (near, far) = duplex_with_capacity([40, 300, 1 << 16][random.below(3)]);
    let start = |transport, side| {
        let protocol = protocol.clone();
        move |options| CheckedSession::start(transport, protocol, side, options)
    };
    let mut client = Program::new(start(near, Side::Client), Side::Client, random.fork());
    random.below(2);
    let mut server = Program::new(start(far, Side::Server), Side::Server, random.fork());
    tokio::join!(client.run(&protocol, counts), server.run(&protocol, counts));
    // What a value whose sub-session is over has not read is reported when it is dropped.
    for program in [&mut client, &mut server] {
        let asks = program.parts.iter().filter(|part| part.asks).count();
        assert_eq!(asks, 0, "sub-sessions of the {:?} were not answered", program.side);
        program.parts.truncate(1);
    }
    let dropped = [&client, &server].map(|program| program.dropped(&protocol));
    for (program, other, dropped, unwritten) in [
        (&client, &server, &dropped[0], dropped[1].unwritten),
        (&server, &client, &dropped[1], dropped[0].unwritten),
    ] {
        let side = program.side;
        let (written, read, late) = (other.sent - unwritten, program.read, dropped.late);
        assert_eq!(written, read + late, "notifications to the {side:?}: {read} were read, {late} were late");
        assert!(program.asked.is_empty(), "no replies to the {side:?}: {:?}", program.asked);
        let mut counts = counts.lock().unwrap();
        counts.late += late;
        counts.unwritten += unwritten;
    }
    let sessions = [client, server].map(|mut program| program.parts.swap_remove(0).session);
    for closing in sessions.map(CheckedSession::close).into_iter().flatten() {
        tokio::time::timeout(Duration::from_secs(60), closing).await.expect("the session closes").unwrap();
    }
}

/// Lets programs speak the protocols of one seed.
fn speak_each(seed: u64, counts: &Mutex<Counts>) {
    let mut random = Random::new(seed);
    let (texts, _) = placed::written(&mut random);
    // The sub-session around another one may come to its end, and cut that off.
    let ending =
        texts[2].replace("rec on . !Goes . on", "!Goes . End").replace("rec on . ?Goes . on", "?Goes . End");
    for text in texts.iter().chain([&ending]) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let speaking = || runtime.block_on(speak(text, &mut random.clone(), counts));
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(speaking)) {
            eprintln!("seed {seed}:\n{text}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// The seeds are shared out to the processors: this takes longer than all else in this program.
#[test]
fn programs_that_follow_a_random_protocol_are_never_blamed() {
    let (first, cases) = (variable("ROBUSTNESS_SEED", 1), variable("ROBUSTNESS_CASES", 150));
    let counts = Mutex::new(Counts::default());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for share in 0..threads {
            let counts = &counts;
            let seeds = (first..first + cases).skip(share).step_by(threads);
            scope.spawn(move || seeds.for_each(|seed| speak_each(seed, counts)));
        }
    });
    let counts = counts.into_inner().unwrap();
    println!("{counts:?}");
    if cases >= 150 {
        let Counts { protocols, notifications, requests, late, opened, within, cancelled, .. } = counts;
        assert!(protocols > 2 * cases && notifications > 15 * cases && requests > 5 * cases, "{counts:?}");
        assert!(late > cases / 2 && opened > 3 * cases && within * 3 > cases, "{counts:?}");
        assert!(cancelled > 10, "{counts:?}");
    }
}
