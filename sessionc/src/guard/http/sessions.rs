//! The sessions of a server over HTTP, by their ids.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderName;
use mcp_protocol_machine::protocol::Side;
use mcp_runtime::observer::{Observer, SharedRounds};
use mcp_runtime::{Options, RpcError};
use serde_json::Value;

use crate::files::Failure;
use crate::guard::judge::{Judge, Policy};
use crate::guard::repeated::SharedRemarks;
use crate::guard::session::{GuardedSession, Outputs};
use crate::protocol::Chosen;
use crate::trace::stream_progress::StreamNumber;

/// The header with the id of a session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// How many sessions are kept: of more, those that were used the longest time ago are forgotten.
const KEPT: usize = 10_000;
/// How many events of a session are known again when they are sent once more.
const KNOWN_EVENTS: usize = 1024;
/// How many sessions that have ended, or were reported to be unknown, are not reported.
const SETTLED: usize = 1024;

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    chosen: Chosen,
    policy: Policy,
    payloads: bool,
    outputs: Outputs,
    /// What requests that stand for themselves are asked for, and answer with another one.
    rounds: SharedRounds,
    /// What was reported of messages without the id of a session.
    remarks: SharedRemarks,
    /// Writes the errors that belong to no session.
    outside: Observer,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many sessions there were.
    count: u64,
    /// How often sessions were looked up.
    turn: u64,
    by_id: HashMap<Vec<u8>, KnownSession>,
    /// Ids that the guard does not know, and does not report: these sessions have ended, or it has reported them.
    settled: VecDeque<Vec<u8>>,
    /// How a session began with a server that gives its sessions no ids.
    handshake: Option<Handshake>,
    /// It was reported that messages come without the id of their session.
    has_named_missing_id: bool,
}

/// The first request of a session, and its result.
#[derive(Clone, Debug)]
struct Handshake {
    request: Vec<u8>,
    result: Vec<u8>,
}

#[derive(Debug)]
struct KnownSession {
    session: HttpSession,
    used: u64,
}

/// A session that several requests share.
#[derive(Clone, Debug)]
pub(super) struct HttpSession(Arc<Mutex<Judged>>);

/// A session, the events of it that were judged, and its streams.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) session: GuardedSession,
    /// Hashes of their ids, each with the stream that it came in.
    events: VecDeque<(u64, StreamNumber)>,
    /// How many streams there were.
    streams: u64,
}

/// Where a message belongs.
#[derive(Debug)]
pub(super) enum Belongs {
    /// To a session that is known, or that the message may begin, or to one of its own.
    To { session: HttpSession, opens: bool, stands_alone: bool },
    /// To a session that began before the guard, or was forgotten.
    Unknown,
}

impl HttpSession {
    pub(super) fn lock(&self) -> MutexGuard<'_, Judged> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judged {
    /// Another stream: a body that the client has posted, or an answer. Each has its own order.
    pub(super) fn stream(&mut self) -> StreamNumber {
        self.streams += 1;
        StreamNumber(self.streams)
    }

    /// The stream in which the event with this id came: the client resumes it there. If that is not known, another one.
    pub(super) fn resumed(&mut self, id: &[u8]) -> StreamNumber {
        let known = self.stream_of(hash_of(id)).filter(|_| !id.is_empty());
        known.unwrap_or_else(|| self.stream())
    }

    /// Whether an event with this id was judged already: a stream that is resumed repeats it. From here on it was, in this
    /// stream.
    pub(super) fn knows(&mut self, id: &[u8], stream: StreamNumber) -> bool {
        let hash = hash_of(id);
        if id.is_empty() || self.stream_of(hash).is_some() {
            return !id.is_empty();
        }
        if self.events.len() >= KNOWN_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back((hash, stream));
        false
    }

    fn stream_of(&self, event: u64) -> Option<StreamNumber> {
        self.events.iter().find(|(hash, _)| *hash == event).map(|(_, stream)| *stream)
    }
}

fn hash_of(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl Sessions {
    /// # Errors
    /// If the tables of the protocol cannot be followed.
    pub(super) fn new(
        chosen: Chosen,
        policy: Policy,
        payloads: bool,
        outputs: Outputs,
    ) -> Result<Sessions, Failure> {
        let (rounds, state) = (SharedRounds::default(), Mutex::default());
        let remarks = SharedRemarks::new(outputs.reporter.clone());
        let outside = chosen.observer(Options::new())?;
        Ok(Sessions { chosen, policy, payloads, outputs, rounds, remarks, outside, state })
    }

    /// An error that belongs to no session.
    pub(super) fn error(&self, error: &RpcError) -> Vec<u8> {
        self.outside.error_reply(b"", None, error)
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the session of a request by its id.
    pub(super) fn find(&self, id: &[u8]) -> Belongs {
        let mut state = self.lock();
        state.turn += 1;
        let turn = state.turn;
        match state.by_id.get_mut(id) {
            Some(entry) => {
                entry.used = turn;
                Belongs::To { session: entry.session.clone(), opens: false, stands_alone: false }
            }
            None => {
                if state.settle(id) {
                    let what = "a session is not judged, because it began before the guard or was forgotten";
                    self.outputs.event(what);
                }
                Belongs::Unknown
            }
        }
    }

    /// A session for a message that names none: it stands for itself, or begins one, or the server gives no ids.
    ///
    /// # Errors
    /// If the tables of the protocol cannot be followed.
    pub(super) fn begin(&self, message: &[u8]) -> Result<Belongs, Failure> {
        let mut judge = Judge::new(&self.chosen, self.policy, self.payloads, Some(&self.rounds))?;
        let mut state = self.lock();
        state.count += 1;
        let stands_alone = judge.stands_alone(message);
        let follows = state.handshake.as_ref().filter(|it| !stands_alone && !it.begins(message));
        if let Some(handshake) = follows {
            judge.follow([(Side::Client, &*handshake.request), (Side::Server, &*handshake.result)]);
        }
        let opens = !stands_alone && follows.is_none();
        // The server has given ids, and this is not a message that begins a session.
        let lacks_id =
            opens && !state.by_id.is_empty() && !message.is_empty() && !judge.may_begin_with(message);
        if lacks_id && !std::mem::replace(&mut state.has_named_missing_id, true) {
            let what = "a message comes without the id of its session: the client has to send the `Mcp-Session-Id` that came \
                        with the result of `initialize` with each message";
            self.outputs.event(what);
        }
        let is_let_through = lacks_id && self.policy == Policy::Observe;
        if is_let_through {
            judge.began_before();
        }
        let opens = opens && !is_let_through;
        let session = GuardedSession::new(Some(state.count), opens, judge, self.outputs.clone());
        // What opens a session may be given an id.
        let session = if opens { session } else { session.sharing(self.remarks.clone()) };
        let session =
            HttpSession(Arc::new(Mutex::new(Judged { session, events: VecDeque::new(), streams: 0 })));
        Ok(Belongs::To { session, opens, stands_alone })
    }

    /// The server has given a session its id.
    pub(super) fn insert(&self, id: Vec<u8>, session: HttpSession) {
        let mut state = self.lock();
        state.turn += 1;
        let used = state.turn;
        state.by_id.insert(id, KnownSession { session, used });
        if state.by_id.len() > KEPT {
            let oldest = state.by_id.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
            oldest.and_then(|id| state.by_id.remove(&id));
        }
    }

    /// The session is over. What a client still sends in it, as one that opens its stream again because the server has
    /// ended it, is the server's to answer.
    pub(super) fn end(&self, id: &[u8]) {
        let mut state = self.lock();
        if state.by_id.remove(id).is_some() {
            state.settle(id);
        }
    }

    /// The server has begun a session without an id: later messages of such sessions are judged as if they followed.
    /// Returns whether these were a request and its result.
    pub(super) fn remember(&self, request: &[u8], result: &[u8]) -> bool {
        let handshake = Handshake::of(request, result);
        let is_one = handshake.is_some();
        if is_one {
            self.lock().handshake = handshake;
        }
        is_one
    }
}

impl State {
    /// A session that the guard does not know is not reported from here on. Returns whether it was until now.
    fn settle(&mut self, id: &[u8]) -> bool {
        if self.settled.iter().any(|settled| settled == id) {
            return false;
        }
        if self.settled.len() >= SETTLED {
            self.settled.pop_front();
        }
        self.settled.push_back(id.to_vec());
        true
    }
}

impl Handshake {
    /// Keeps a request and its result, if they are. The id is one that no client uses, because others may use theirs.
    fn of(request: &[u8], result: &[u8]) -> Option<Handshake> {
        const ID: &str = "sessionc guard: the handshake of another session";
        let with_id = |message: &[u8], member: &str| {
            let mut message: Value = serde_json::from_slice(message).ok()?;
            message.get(member)?;
            *message.get_mut("id")? = ID.into();
            Some(message.to_string().into_bytes())
        };
        Some(Handshake { request: with_id(request, "method")?, result: with_id(result, "result")? })
    }

    /// Whether a message begins a session in the same way.
    fn begins(&self, message: &[u8]) -> bool {
        let method = |message: &[u8]| crate::guard::head::EnvelopeHead::of(message).method;
        method(message) == method(&self.request)
    }
}
