//! The sessions of a log: one after another, or side by side under their names.

use std::sync::Arc;

use mcp_protocol_machine::ProtocolRef;
use mcp_runtime::Options;
use mcp_runtime::observer::{MessageText, Observer, SharedRounds};
use mcp_runtime::protocol::{RequestId, Side};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::finding::{Code, Finding};
use super::session::{JudgedSession, Said, Taken};
use super::summary::Summary;
use crate::eras::Eras;
use crate::files::Failure;
use crate::protocol::Chosen;

/// How many messages are held until it is known where a session begins.
const HELD: usize = 64;
/// How many bytes they may have.
const BYTES_HELD: usize = 1024 * 1024;
/// How many sessions may run side by side; the one that was silent for longest ends first.
const SIDE_BY_SIDE: usize = 1_024;

/// The sessions of one log.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// An observer of a session that begins.
    handshake: Observer,
    stateless: Option<Observer>,
    /// What requests are asked for that stand for themselves, in sessions with a name each: they come over HTTP.
    rounds: SharedRounds,
    /// Those that the sides may agree on.
    revisions: Arc<[ProtocolRef]>,
    /// One for each revision and state in which a session may have been before the log begins.
    middles: Vec<Observer>,
    /// The user has said where the log begins.
    is_told: bool,
    /// The one that has heard something last is the last.
    lanes: Vec<Lane>,
    /// A session without a name after which another one has begun, while the client waits for replies of it.
    lingering: Option<Box<JudgedSession>>,
    /// The last line that could not be read.
    missed: Option<u64>,
    summary: Summary,
}

/// What says of a message to which request it replies.
#[derive(Deserialize)]
struct ReplyHead {
    method: Option<IgnoredAny>,
    id: Option<RequestId>,
}

#[derive(Debug)]
struct Lane {
    /// The name of the session, where the log has names.
    name: Option<Box<str>>,
    begun: Begun,
}

#[derive(Debug)]
enum Begun {
    /// Its first messages do not begin a session, and are held.
    Unknown(Held),
    Session(Box<JudgedSession>),
}

impl Default for Begun {
    fn default() -> Begun {
        Begun::Unknown(Held::default())
    }
}

/// Messages before it is known where their session begins.
#[derive(Debug, Default)]
struct Held {
    messages: Vec<(Said, Box<[u8]>)>,
    bytes: usize,
    /// A line before the last of them could not be read.
    missed: Option<u64>,
}

impl Lanes {
    /// Those of a log that begins with a session, unless its messages say otherwise, or in the state `from`.
    ///
    /// # Errors
    /// If the state does not exist, or the tables cannot be followed.
    pub(crate) fn new(chosen: &Chosen, from: Option<&str>) -> Result<Lanes, Failure> {
        let options = || Options::new().judge_payloads(true);
        let handshake = chosen.observer(options())?;
        let mut middles = Vec::new();
        let mut revisions = chosen.revisions();
        for protocol in &revisions {
            let observer = chosen.observer_of(protocol, options())?;
            for state in observer.state_names() {
                let mut observer = observer.clone();
                if from.is_none_or(|from| from == state) && observer.begin_in(&state).is_ok() {
                    middles.push(observer);
                }
            }
        }
        if let (Some(from), true) = (from, middles.is_empty()) {
            let role = handshake.protocol().server.as_ref().map(|role| role.name.to_string());
            let known = handshake.state_names();
            return Err(Failure::NoState(role.unwrap_or_default(), from.to_owned(), known));
        }
        revisions.extend(chosen.stateless().cloned());
        Ok(Lanes {
            handshake,
            stateless: chosen.stateless_observer(options())?,
            rounds: SharedRounds::default(),
            revisions: revisions.into(),
            middles,
            is_told: from.is_some(),
            lanes: Vec::new(),
            lingering: None,
            missed: None,
            summary: Summary::default(),
        })
    }

    /// Judges a message of the session with this name.
    pub(crate) fn take(
        &mut self,
        name: Option<&str>,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
    ) {
        let is_named = name.is_some();
        if !is_named && self.belongs_before(said, message) {
            return self.take_before(said, message, found);
        }
        let begun = self.begun(name, found).map(std::mem::take).unwrap_or_default();
        let begun = match begun {
            Begun::Session(session) => self.go_on(session, is_named, (said, message), found),
            Begun::Unknown(held) => self.hold(held, is_named, (said, message), found),
        };
        if let Some(lane) = self.lanes.last_mut() {
            lane.begun = begun;
        }
    }

    /// A line could not be read. It may have been a message of any session.
    pub(crate) fn missed(&mut self, line: u64) {
        self.missed = Some(line);
        self.lingering.iter_mut().for_each(|session| session.missed(line));
        for lane in &mut self.lanes {
            match &mut lane.begun {
                Begun::Unknown(held) => held.missed = Some(line),
                Begun::Session(session) => session.missed(line),
            }
        }
    }

    /// A message of a session that has begun, or of the one that begins after it.
    fn go_on(
        &mut self,
        mut session: Box<JudgedSession>,
        is_named: bool,
        (said, message): (Said, MessageText<'_>),
        found: &mut Vec<Finding>,
    ) -> Begun {
        if session.take(said, message, found) == Taken::Begins {
            let before = std::mem::replace(&mut session, Box::new(self.session(is_named)));
            session.take(said, message, found);
            self.leave(before, is_named, found);
        }
        Begun::Session(session)
    }

    /// Another session has begun. One without a name may go on with the replies that its client waits for.
    fn leave(&mut self, before: Box<JudgedSession>, is_named: bool, found: &mut Vec<Finding>) {
        let over = match !is_named && before.awaits_reply(None) {
            true => self.lingering.replace(before),
            false => Some(before),
        };
        over.into_iter().for_each(|session| self.summary.add(session.finish(found)));
    }

    /// Whether a message is a reply for which the client waits in the session before, and not in the one at hand.
    fn belongs_before(&self, said: Said, message: MessageText<'_>) -> bool {
        let Some(before) = self.lingering.as_ref().filter(|_| said.sender == Side::Server) else {
            return false;
        };
        let head = serde_json::from_slice::<ReplyHead>(message.bytes()).ok();
        let Some(id) = head.filter(|head| head.method.is_none()).and_then(|head| head.id) else {
            return false;
        };
        let here = self.lanes.iter().find(|lane| lane.name.is_none());
        let is_awaited_here = here.is_some_and(|lane| match &lane.begun {
            Begun::Session(session) => session.awaits_reply(Some(&id)),
            Begun::Unknown(_) => false,
        });
        before.awaits_reply(Some(&id)) && !is_awaited_here
    }

    /// Takes a message of the session before, which is over once its client waits for nothing.
    fn take_before(&mut self, said: Said, message: MessageText<'_>, found: &mut Vec<Finding>) {
        let Some(mut before) = self.lingering.take() else { return };
        before.take(said, message, found);
        match before.awaits_reply(None) {
            true => self.lingering = Some(before),
            false => self.summary.add(before.finish(found)),
        }
    }

    /// What has begun in the lane with a name, which is the last one from here on. If there is none, it is made.
    fn begun(&mut self, name: Option<&str>, found: &mut Vec<Finding>) -> Option<&mut Begun> {
        match self.lanes.iter().rposition(|lane| lane.name.as_deref() == name) {
            // Mostly it is the last one already.
            Some(place) => self.lanes.get_mut(place..)?.rotate_left(1),
            None => {
                if self.lanes.len() == SIDE_BY_SIDE {
                    let silent = self.lanes.remove(0);
                    self.end(silent, found);
                }
                let held = Held { missed: self.missed, ..Held::default() };
                self.lanes.push(Lane { name: name.map(Box::from), begun: Begun::Unknown(held) });
            }
        }
        self.lanes.last_mut().map(|lane| &mut lane.begun)
    }

    fn session(&self, is_named: bool) -> JudgedSession {
        let eras = Eras::new(self.handshake.clone(), self.stateless(is_named));
        JudgedSession::new(eras, self.revisions.clone())
    }

    /// An observer of requests that stand for themselves. Those over HTTP have a session each.
    fn stateless(&self, is_named: bool) -> Option<Observer> {
        let stateless = self.stateless.clone();
        if is_named { stateless.map(|observer| observer.share_rounds(&self.rounds)) } else { stateless }
    }

    /// A message of a session of which it is not known where it begins.
    fn hold(
        &mut self,
        mut held: Held,
        is_named: bool,
        (said, message): (Said, MessageText<'_>),
        found: &mut Vec<Finding>,
    ) -> Begun {
        let mut first = self.session(is_named);
        let opening = first.may_begin_with(said, message).filter(|_| !self.is_told);
        held.bytes += message.bytes().len();
        held.messages.push((said, message.bytes().into()));
        let mut here = Vec::new();
        match (opening, held.messages.split_last()) {
            (Some(id), Some((_, before))) => {
                play(&mut first, before, &mut here);
                // What comes before the beginning is a mistake, unless the client counts from the start again.
                if first.has_used(&id) {
                    let before = self.middle(before, is_named, held.missed, found);
                    return self.go_on(Box::new(before), is_named, (said, message), found);
                }
                first.take(said, message, &mut here);
            }
            (_, last) => {
                held.missed.into_iter().for_each(|line| first.missed(line));
                play(&mut first, last.map_or(&[], |(_, before)| before), &mut here);
                first.take(said, message, &mut here);
                let is_settled = first.has_begun() && here.is_empty() && !self.is_told;
                let is_full = held.messages.len() >= HELD || held.bytes >= BYTES_HELD || self.is_told;
                if !is_settled && is_full {
                    return Begun::Session(Box::new(self.middle(
                        &held.messages,
                        is_named,
                        held.missed,
                        found,
                    )));
                }
                if !is_settled {
                    return Begun::Unknown(held);
                }
            }
        }
        found.append(&mut here);
        Begun::Session(Box::new(first))
    }

    /// The session that fits messages best which do not begin one.
    fn middle(
        &self,
        held: &[(Said, Box<[u8]>)],
        is_named: bool,
        missed: Option<u64>,
        found: &mut Vec<Finding>,
    ) -> JudgedSession {
        let played = |mut session: JudgedSession| {
            let mut here = Vec::new();
            missed.into_iter().for_each(|line| session.missed(line));
            let owed = session.standing().1;
            let standing = session.standing().0;
            play(&mut session, held, &mut here);
            (here, owed, standing, session)
        };
        let first = (!self.is_told).then(|| played(self.session(is_named)));
        let (stateless, revisions) = (self.stateless(is_named), &self.revisions);
        let middles = self.middles.iter().map(|observer| {
            let eras = Eras::in_the_middle(observer.clone(), stateless.clone());
            played(JudgedSession::new(eras, revisions.clone()))
        });
        // Of those that fit alike, the first is of the latest revision.
        let best = middles.min_by_key(|(here, owed, ..)| (here.len(), *owed));
        let (mut here, _, state, mut session) = match (first, best) {
            (Some(first), Some(best))
                if first.0.len() <= best.0.len() || missed.is_none() && begins(held, &first.0, &best.0) =>
            {
                found.extend(first.0);
                return first.3;
            }
            (_, Some(best)) => best,
            (Some(first), None) => first,
            (None, None) => played(self.session(is_named)),
        };
        let line = held.first().map(|(said, _)| said.place.line).unwrap_or_default();
        session.not_observed(format!(
            "the beginning of the session in line {line}: judged from the state `{state}` on, with any capability"
        ));
        found.append(&mut here);
        session
    }

    fn end(&mut self, lane: Lane, found: &mut Vec<Finding>) {
        let is_named = lane.name.is_some();
        let session = match lane.begun {
            Begun::Session(session) => *session,
            Begun::Unknown(held) => self.middle(&held.messages, is_named, held.missed, found),
        };
        self.summary.add(session.finish(found));
    }

    /// Notes that something was not observed.
    pub(crate) fn not_observed(&mut self, what: String) {
        self.summary.not_observed(what);
    }

    /// The log is over.
    pub(crate) fn finish(mut self, found: &mut Vec<Finding>) -> Summary {
        if let Some(before) = self.lingering.take() {
            self.summary.add(before.finish(found));
        }
        for lane in std::mem::take(&mut self.lanes) {
            self.end(lane, found);
        }
        self.summary
    }
}

/// Whether messages begin a session, in which `first` is found: the first state permits the first of them, and fits the
/// others no worse than the state in which `best` is found. An id or a key that belongs to nothing is a mistake then.
fn begins(held: &[(Said, Box<[u8]>)], first: &[Finding], best: &[Finding]) -> bool {
    let out_of_order = |found: &[Finding]| found.iter().filter(|one| one.code == Code::Order).count();
    let opening = held.first().map(|(said, _)| said.place);
    first.iter().all(|one| Some(one.place) != opening) && out_of_order(first) <= out_of_order(best)
}

/// Judges messages one after another.
fn play(session: &mut JudgedSession, messages: &[(Said, Box<[u8]>)], found: &mut Vec<Finding>) {
    for (said, message) in messages {
        session.take(*said, (&**message).into(), found);
    }
}

/// One observer for each protocol whose methods say who sends a message.
///
/// # Errors
/// If the tables cannot be followed.
pub(crate) fn observers(chosen: &Chosen) -> Result<Vec<Observer>, Failure> {
    let options = || Options::new().judge_payloads(true);
    let handshakes = chosen.revisions();
    let handshakes = handshakes.iter().map(|protocol| chosen.observer_of(protocol, options()));
    handshakes.chain(chosen.stateless_observer(options()).transpose()).collect()
}
