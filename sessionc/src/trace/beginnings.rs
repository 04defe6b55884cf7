//! Where a session of a log begins: with its first message there, or in the middle, in a state of some revision.

use std::sync::Arc;

use mcp_protocol_machine::ProtocolRef;
use mcp_runtime::Options;
use mcp_runtime::observer::{MessageText, Observer, SharedRounds};
use mcp_runtime::protocol::Side;

use super::finding::{Code, Finding};
use super::formats::record::Place;
use super::session::{JudgedSession, Said, SessionBounds};
use crate::eras::Eras;
use crate::files::Failure;
use crate::message_head::MessageHead;
use crate::protocol::Chosen;

/// How many messages are held until it is known where a session begins.
const HELD: usize = 64;
/// How many bytes they may have.
const BYTES_HELD: usize = 1024 * 1024;

/// The observers that a session of a log may begin with.
#[derive(Debug)]
pub(super) struct Beginnings {
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
}

/// Messages before it is known where their session begins.
#[derive(Debug)]
pub(super) struct Held {
    /// The session has a name.
    is_named: bool,
    messages: Vec<(Said, Box<[u8]>)>,
    bytes: usize,
    /// A line before the last of them could not be read.
    missed: Option<Place>,
}

/// Where a session has begun.
pub(super) enum Begun {
    /// That is not known yet.
    Unknown,
    /// With the messages that were held, of which the newest is judged, too.
    With(Box<JudgedSession>),
    /// Before the newest message, which is not judged yet and may begin the next session.
    Before(Box<JudgedSession>),
    /// With the newest message, which is not judged yet. This is the session that has ended before it.
    After(Box<JudgedSession>),
}

impl Held {
    /// Those of a new session. `missed` is the last place before it that could not be read.
    pub(super) fn new(is_named: bool, missed: Option<Place>) -> Held {
        Held { is_named, messages: Vec::new(), bytes: 0, missed }
    }

    /// Nothing of the session was read.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// There are messages, and each of them answers one that the log does not have: a session ends with them.
    fn are_replies(&self) -> bool {
        let is_reply =
            |text: &[u8]| MessageHead::of(text.into()).is_some_and(|head| head.replies_to().is_some());
        !self.is_empty() && self.messages.iter().all(|(said, text)| said.kind.is_sent() && is_reply(text))
    }

    /// A line could not be read.
    pub(super) fn missed(&mut self, place: Place) {
        self.missed = Some(place);
    }
}

impl Beginnings {
    /// Those of a log that begins with a session, unless its messages say otherwise, or in the state `from`.
    ///
    /// # Errors
    /// If the state does not exist, or the tables cannot be followed.
    pub(super) fn new(chosen: &Chosen, from: Option<&str>) -> Result<Beginnings, Failure> {
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
        Ok(Beginnings {
            handshake,
            stateless: chosen.stateless_observer(options())?,
            rounds: SharedRounds::default(),
            revisions: revisions.into(),
            middles,
            is_told: from.is_some(),
        })
    }

    /// Whether the user has said where the log begins.
    pub(super) fn are_told(&self) -> bool {
        self.is_told
    }

    /// A session that begins with its next message.
    pub(super) fn session(&self, is_named: bool) -> JudgedSession {
        let eras = Eras::new(self.handshake.clone(), self.stateless(is_named));
        JudgedSession::new(eras, self.revisions.clone(), SessionBounds::of_name(is_named))
    }

    /// An observer of requests that stand for themselves. Those over HTTP have a session each.
    fn stateless(&self, is_named: bool) -> Option<Observer> {
        let stateless = self.stateless.clone();
        if is_named { stateless.map(|observer| observer.share_rounds(&self.rounds)) } else { stateless }
    }

    /// Takes a message of a session of which it is not known where it begins.
    pub(super) fn hold(
        &self,
        held: &mut Held,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
    ) -> Begun {
        let mut first = self.session(held.is_named);
        let opening = first.may_begin_with(said, message).filter(|_| !self.is_told);
        let mut here = Vec::new();
        if let Some(id) = opening {
            play(&mut first, &held.messages, &mut here);
            // What comes before the beginning is a mistake, unless the client counts from the start again, or it answers
            // what the log does not have.
            if first.ids(Side::Client).has(&id) {
                return Begun::Before(Box::new(self.middle(held, found)));
            }
            if held.are_replies() {
                return Begun::After(Box::new(self.middle(held, found)));
            }
            first.take(said, message, &mut here);
        } else {
            held.missed.into_iter().for_each(|place| first.missed(place));
            play(&mut first, &held.messages, &mut here);
            first.take(said, message, &mut here);
            held.bytes += message.bytes().len();
            held.messages.push((said, message.bytes().into()));
            let is_full = held.messages.len() >= HELD || held.bytes >= BYTES_HELD || self.is_told;
            let is_settled = first.has_begun() && here.is_empty() && !self.is_told;
            if !is_settled {
                return if is_full {
                    Begun::With(Box::new(self.middle(held, found)))
                } else {
                    Begun::Unknown
                };
            }
        }
        found.append(&mut here);
        Begun::With(Box::new(first))
    }

    /// The session that fits messages best which do not begin one.
    pub(super) fn middle(&self, held: &Held, found: &mut Vec<Finding>) -> JudgedSession {
        let Held { is_named, messages, missed, .. } = held;
        let played = |mut session: JudgedSession| {
            let mut here = Vec::new();
            missed.iter().for_each(|place| session.missed(*place));
            let (standing, owed) = session.standing();
            play(&mut session, messages, &mut here);
            (here, owed, standing, session)
        };
        let first = (!self.is_told).then(|| played(self.session(*is_named)));
        let (stateless, revisions) = (self.stateless(*is_named), &self.revisions);
        let middles = self.middles.iter().map(|observer| {
            let eras = Eras::in_the_middle(observer.clone(), stateless.clone());
            played(JudgedSession::new(eras, revisions.clone(), SessionBounds::of_name(*is_named)))
        });
        // Of those that fit alike, the first is of the latest revision.
        let best = middles.min_by_key(|(here, owed, ..)| (here.len(), *owed));
        let (mut here, _, state, mut session) = match (first, best) {
            (Some(first), Some(best))
                if first.0.len() <= best.0.len()
                    || missed.is_none() && begins(messages, &first.0, &best.0) =>
            {
                found.extend(first.0);
                return first.3;
            }
            (_, Some(best)) => best,
            (Some(first), None) => first,
            (None, None) => played(self.session(*is_named)),
        };
        let line = messages.first().map(|(said, _)| said.place.line).unwrap_or_default();
        session.began_in(state, line);
        found.append(&mut here);
        session
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
