//! The sessions with one name, or without a name: one after another, or several that go on at once.

use std::cell::LazyCell;
use std::collections::VecDeque;

use mcp_runtime::observer::MessageText;

use super::beginnings::{Beginnings, Begun, Held};
use super::doubts::Doubts;
use super::finding::Finding;
use super::fit::{Fit, UnplacedMessage};
use super::formats::record::{Place, RecordKind};
use super::reopening::{Reopened, Reopening};
use super::session::{JudgedSession, OpeningId, Said, Taken};
use super::summary::Summary;
use super::wording;

/// How many ids that the last session has used show that another one goes on.
const STRANGE: u8 = 3;

/// How many lines are named in which a session may have been opened twice.
const NAMED: usize = 20;

/// How many sessions without a name may go on after another one has begun.
const GOING_ON: usize = 8;

/// The sessions with one name. Those without a name may go on after another one has begun.
#[derive(Debug)]
pub(super) struct Lane {
    /// `None` where the log has no names.
    name: Option<Box<str>>,
    heard: LaneState,
    /// Sessions without a name after which others have begun, the newest last. Their clients may still wait for replies, or
    /// go on at the same time.
    before: VecDeque<Box<JudgedSession>>,
    /// The session of which the log has nothing but the last replies.
    left: Option<Box<JudgedSession>>,
    /// A request that may open another session, while the last one goes on.
    reopening: Option<Reopening>,
    /// Sessions without a name are known to go on at the same time.
    at_once: bool,
    /// How many requests of the client have had ids that the last session has used.
    strange: u8,
    /// The line in which the last session begins, after another.
    begun: u64,
    /// The lines in which sessions begin that may be the ones before them, opened twice.
    reopened: Vec<u64>,
    /// What is wrong with messages that are of the last session, unless one before it still goes on.
    doubts: Doubts,
}

#[derive(Debug)]
enum LaneState {
    /// Its first messages do not begin a session, and are held.
    Unknown(Held),
    Session(Box<JudgedSession>),
}

/// Which session of a lane a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LanePlace {
    Last,
    /// The one that begins, if one does.
    Reopening,
    /// One of those before the last.
    Before(usize),
}

impl Lane {
    /// One that has heard nothing. `missed` is the last place of the log that could not be read.
    pub(super) fn new(name: Option<&str>, missed: Option<Place>) -> Lane {
        Lane {
            name: name.map(Box::from),
            heard: LaneState::Unknown(Held::new(name.is_some(), missed)),
            before: VecDeque::new(),
            left: None,
            reopening: None,
            at_once: false,
            strange: 0,
            begun: 0,
            reopened: Vec::new(),
            doubts: Doubts::default(),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A line could not be read.
    pub(super) fn missed(&mut self, place: Place) {
        self.before.iter_mut().for_each(|session| session.missed(place));
        self.reopening.iter_mut().for_each(|reopening| reopening.session_mut().missed(place));
        match &mut self.heard {
            LaneState::Unknown(held) => held.missed(place),
            LaneState::Session(session) => session.missed(place),
        }
    }

    /// Judges a message of its session, or of the next one that begins with it.
    pub(super) fn take(
        &mut self,
        beginnings: &Beginnings,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
        summary: &mut Summary,
    ) {
        if said.kind == RecordKind::Begins {
            return self.begin(beginnings, found, summary);
        }
        if let Some(unplaced) = self.unplaced(said, message) {
            match self.place(&unplaced, summary) {
                LanePlace::Before(place) => {
                    self.doubt(place, &unplaced);
                    if let Some(session) = self.before.get_mut(place) {
                        session.take_here(said, message, found);
                    }
                    return;
                }
                LanePlace::Reopening => return self.take_reopening(said, message, found, summary),
                LanePlace::Last => {}
            }
        }
        if let LaneState::Session(session) = &mut self.heard
            && !beginnings.are_told()
            && session.is_left(said, message)
        {
            let next = LaneState::Unknown(Held::new(self.name.is_some(), None));
            if let LaneState::Session(session) = std::mem::replace(&mut self.heard, next) {
                summary.add(session.finish(found));
            }
        }
        if let LaneState::Unknown(held) = &mut self.heard {
            match beginnings.hold(held, said, message, found) {
                Begun::Unknown => return,
                Begun::With(session) => {
                    self.heard = LaneState::Session(session);
                    return;
                }
                Begun::Before(session) => self.heard = LaneState::Session(session),
                Begun::After(session) => {
                    self.left = Some(session);
                    self.heard = LaneState::Session(Box::new(beginnings.session(self.name.is_some())));
                }
            }
        }
        let LaneState::Session(session) = &mut self.heard else { return };
        let Taken::Begins(opening) = session.take(said, message, found) else { return };
        // Another client, or the same once more.
        self.reopen(found, summary);
        let LaneState::Session(session) = &mut self.heard else { return };
        let mut next = Box::new(beginnings.session(self.name.is_some()));
        next.note_other(session);
        match opening {
            OpeningId::StartsOver => {
                self.follow(next, said.place.line, found, summary);
                if let LaneState::Session(session) = &mut self.heard {
                    session.take(said, message, found);
                }
            }
            OpeningId::GoesOn | OpeningId::Runs => {
                self.reopening = Some(Reopening::new(next, opening, said));
                self.take_reopening(said, message, found, summary);
            }
        }
    }

    /// A session begins after the last one, which may go on if it has no name.
    fn follow(
        &mut self,
        next: Box<JudgedSession>,
        line: u64,
        found: &mut Vec<Finding>,
        summary: &mut Summary,
    ) {
        self.begun = line;
        let LaneState::Session(last) = std::mem::replace(&mut self.heard, LaneState::Session(next)) else {
            return;
        };
        if self.name.is_some() {
            return summary.add(last.finish(found));
        }
        if self.before.len() >= GOING_ON
            && let Some(mut oldest) = self.before.pop_front()
        {
            oldest.note_other(&last);
            summary.add(oldest.finish(found));
        }
        self.before.push_back(last);
    }

    /// A message that may belong to another session than the last one, if there is another one.
    fn unplaced<'a>(&self, said: Said, message: MessageText<'a>) -> Option<UnplacedMessage<'a>> {
        let LaneState::Session(_) = &self.heard else { return None };
        let is_only = self.before.is_empty() && self.reopening.is_none();
        if is_only || !said.kind.is_sent() { None } else { UnplacedMessage::of(said, message) }
    }

    /// Which session a message belongs to.
    fn place(&mut self, unplaced: &UnplacedMessage<'_>, summary: &mut Summary) -> LanePlace {
        let LaneState::Session(last) = &self.heard else { return LanePlace::Last };
        let mut best = (unplaced.fit(last, self.at_once), LanePlace::Last);
        let is_next = best.0 == Fit::Likely && unplaced.is_clients_request();
        // It may begin a session, too.
        if is_next || unplaced.may_begin(last) {
            return LanePlace::Last;
        }
        let reopening = self.reopening.iter().map(|it| (LanePlace::Reopening, it.session()));
        let before = self.before.iter().enumerate().rev();
        let last_differs = LazyCell::new(|| unplaced.is_of_another_request(last));
        let others = reopening.chain(before.map(|(place, it)| (LanePlace::Before(place), &**it)));
        for (place, session) in others {
            if place != LanePlace::Reopening && !unplaced.may_fit(session, best.0) {
                continue;
            }
            let fit = unplaced.fit(session, self.at_once);
            // What a server says of itself while the client opens another session is of the server that was started again.
            let is_of_next = place == LanePlace::Reopening && unplaced.is_servers_own() && !self.at_once;
            // Only where both wait for a reply with this id is the result held against their requests.
            let is_rather_of_this = || {
                (fit, best) == (Fit::Certain, (Fit::Certain, LanePlace::Last))
                    && *last_differs
                    && !unplaced.is_of_another_request(session)
            };
            if fit > best.0 || (fit == best.0 && is_of_next) || is_rather_of_this() {
                best = (fit, place);
            }
        }
        match (unplaced.is_clients_request(), best) {
            (true, (Fit::Likely, LanePlace::Before(_))) => self.note_at_once(self.begun, summary),
            // That an id was used, and not elsewhere, says little if it happens once.
            (true, (Fit::No, _) | (Fit::Perhaps, LanePlace::Before(_))) if !self.at_once => {
                self.strange = self.strange.saturating_add(1);
                if self.strange < STRANGE {
                    return LanePlace::Last;
                }
                self.note_at_once(self.begun, summary);
            }
            _ => {}
        }
        best.1
    }

    /// Takes note of a message that is taken for one of a session before the last. What names nothing of that session may as
    /// well be of the last one, which does not permit it; anything else shows that the session goes on.
    fn doubt(&mut self, place: usize, unplaced: &UnplacedMessage<'_>) {
        let (LaneState::Session(last), Some(before)) = (&self.heard, self.before.get(place)) else { return };
        if !unplaced.is_servers_own() || unplaced.fit(before, self.at_once) > Fit::Perhaps {
            return self.doubts.clear();
        }
        if let Some(method) = unplaced.method().filter(|_| !self.at_once && last.is_open()) {
            self.doubts.note(method, last, unplaced.said(), unplaced.message());
        }
    }

    /// Sessions go on at the same time, of which one begins in this line.
    fn note_at_once(&mut self, line: u64, summary: &mut Summary) {
        if self.at_once {
            return;
        }
        self.at_once = true;
        self.doubts.clear();
        summary.not_observed(wording::overlapping_sessions(line));
        self.before.iter_mut().for_each(|session| session.note_overlap());
        self.reopening.iter_mut().for_each(|reopening| reopening.session_mut().note_overlap());
        if let LaneState::Session(session) = &mut self.heard {
            session.note_overlap();
        }
    }

    /// Takes a message that belongs to the session which begins, if one does.
    fn take_reopening(
        &mut self,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
        summary: &mut Summary,
    ) {
        let Some(reopening) = &mut self.reopening else { return };
        match reopening.take(said, message) {
            Reopened::Unknown => {}
            Reopened::Yes => self.reopen(found, summary),
            Reopened::No => self.leave(found),
        }
    }

    /// Another session has begun.
    fn reopen(&mut self, found: &mut Vec<Finding>, summary: &mut Summary) {
        let Some(reopening) = self.reopening.take() else { return };
        let (line, opening) = (reopening.line(), reopening.opening());
        // Where it has the id of a request that was never answered, the server may have been started again.
        let is_opening = matches!(&self.heard, LaneState::Session(last) if last.has_opened().is_none());
        self.follow(reopening.begin(found), line, found, summary);
        match opening {
            OpeningId::Runs if is_opening => self.note_at_once(line, summary),
            _ if self.reopened.len() < NAMED => self.reopened.push(line),
            _ => {}
        }
    }

    /// No other session has begun.
    fn leave(&mut self, found: &mut Vec<Finding>) {
        if let (Some(reopening), LaneState::Session(session)) = (self.reopening.take(), &mut self.heard) {
            reopening.leave(session, found);
        }
    }

    /// No reply says any more whether another session has begun. The server that was started again may not answer; but a
    /// client that opens a session under an id which runs has sent its request twice.
    fn decide_reopening(&mut self, found: &mut Vec<Finding>, summary: &mut Summary) {
        match self.reopening.as_ref().map(Reopening::opening) {
            Some(OpeningId::Runs) => self.leave(found),
            Some(OpeningId::GoesOn | OpeningId::StartsOver) => self.reopen(found, summary),
            None => {}
        }
    }

    /// Ends the sessions before the last one, and says what is not known of where they end.
    fn end_before(&mut self, found: &mut Vec<Finding>, summary: &mut Summary) {
        self.decide_reopening(found, summary);
        self.doubts.take().for_each(|finding| summary.emit(Some(finding), found));
        for mut session in self.left.take().into_iter().chain(self.before.drain(..)) {
            if let LaneState::Session(last) = &self.heard {
                session.note_other(last);
            }
            summary.add(session.finish(found));
        }
        let reopened = std::mem::take(&mut self.reopened);
        let reopened = reopened.into_iter().filter(|_| !self.at_once);
        reopened.for_each(|line| summary.not_observed(wording::reopened(line)));
    }

    /// The log says that a session begins. Where the user has said in which state the log begins, that is what counts.
    fn begin(&mut self, beginnings: &Beginnings, found: &mut Vec<Finding>, summary: &mut Summary) {
        if beginnings.are_told() {
            return;
        }
        self.end_before(found, summary);
        let next = LaneState::Session(Box::new(beginnings.session(self.name.is_some()).marked()));
        match std::mem::replace(&mut self.heard, next) {
            LaneState::Session(session) => summary.add(session.finish(found)),
            LaneState::Unknown(held) if held.is_empty() => {}
            LaneState::Unknown(held) => {
                let session = beginnings.middle(&held, found);
                summary.add(session.finish(found));
            }
        }
    }

    /// The log is over.
    pub(super) fn end(mut self, beginnings: &Beginnings, found: &mut Vec<Finding>, summary: &mut Summary) {
        self.end_before(found, summary);
        let session = match self.heard {
            LaneState::Session(session) => *session,
            LaneState::Unknown(held) => beginnings.middle(&held, found),
        };
        summary.add(session.finish(found));
    }
}
