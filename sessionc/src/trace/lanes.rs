//! The sessions of a log: one after another, or side by side under their names.

use mcp_runtime::observer::MessageText;
use mcp_runtime::protocol::Side;

use super::beginnings::{Beginnings, Begun, Held};
use super::direction::MessageHead;
use super::finding::Finding;
use super::formats::record::{Place, RecordKind};
use super::session::{JudgedSession, Said, Taken};
use super::summary::Summary;
use crate::files::Failure;
use crate::protocol::Chosen;

/// How many sessions may run side by side; the one that was silent for longest ends first.
const SIDE_BY_SIDE: usize = 1_024;

/// The sessions of one log.
#[derive(Debug)]
pub(crate) struct Lanes {
    beginnings: Beginnings,
    /// The one that has heard something last is the last.
    lanes: Vec<Lane>,
    /// The last place that could not be read.
    missed: Option<Place>,
    summary: Summary,
}

/// The sessions with one name, which follow one another.
#[derive(Debug)]
struct Lane {
    /// `None` where the log has no names.
    name: Option<Box<str>>,
    heard: LaneState,
    /// A session without a name after which another one has begun, while the client waits for replies of it.
    before: Option<Box<JudgedSession>>,
}

#[derive(Debug)]
enum LaneState {
    /// Its first messages do not begin a session, and are held.
    Unknown(Held),
    Session(Box<JudgedSession>),
}

impl Lanes {
    /// Those of a log that begins with a session, unless its messages say otherwise, or in the state `from`.
    ///
    /// # Errors
    /// If the state does not exist, or the tables cannot be followed.
    pub(crate) fn new(chosen: &Chosen, from: Option<&str>) -> Result<Lanes, Failure> {
        Ok(Lanes {
            beginnings: Beginnings::new(chosen, from)?,
            lanes: Vec::new(),
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
        let place = self.place(name, found);
        if let Some(lane) = self.lanes.get_mut(place) {
            lane.take(&self.beginnings, said, message, found, &mut self.summary);
        }
    }

    /// A line could not be read. It may have been a message of any session.
    pub(crate) fn missed(&mut self, place: Place) {
        self.missed = Some(place);
        self.lanes.iter_mut().for_each(|lane| lane.missed(place));
    }

    /// Where the lane with a name is: the last place from here on. If there is none, it is made.
    fn place(&mut self, name: Option<&str>, found: &mut Vec<Finding>) -> usize {
        match self.lanes.iter().rposition(|lane| lane.name.as_deref() == name) {
            // Mostly it is the last one already.
            Some(place) => self.lanes.get_mut(place..).unwrap_or_default().rotate_left(1),
            None => {
                if self.lanes.len() == SIDE_BY_SIDE {
                    let silent = self.lanes.remove(0);
                    silent.end(&self.beginnings, found, &mut self.summary);
                }
                let held = Held::new(name.is_some(), self.missed);
                self.lanes.push(Lane {
                    name: name.map(Box::from),
                    heard: LaneState::Unknown(held),
                    before: None,
                });
            }
        }
        self.lanes.len().saturating_sub(1)
    }

    /// Notes that something was not observed.
    pub(crate) fn not_observed(&mut self, what: String) {
        self.summary.not_observed(what);
    }

    /// The log is over.
    pub(crate) fn finish(mut self, found: &mut Vec<Finding>) -> Summary {
        for lane in self.lanes {
            lane.end(&self.beginnings, found, &mut self.summary);
        }
        self.summary
    }
}

impl Lane {
    fn missed(&mut self, place: Place) {
        self.before.iter_mut().for_each(|session| session.missed(place));
        match &mut self.heard {
            LaneState::Unknown(held) => held.missed(place),
            LaneState::Session(session) => session.missed(place),
        }
    }

    /// Judges a message of its session, or of the next one that begins with it.
    fn take(
        &mut self,
        beginnings: &Beginnings,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
        summary: &mut Summary,
    ) {
        if said.kind == RecordKind::Begins {
            self.begin(beginnings, found, summary);
            return;
        }
        if let Some(before) =
            self.before.as_mut().filter(|before| self.heard.leaves_to(before, said, message))
        {
            before.take(said, message, found);
            // It is over once its client waits for nothing.
            let over = self.before.take_if(|before| !before.awaits_reply(None));
            over.into_iter().for_each(|session| summary.add(session.finish(found)));
            return;
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
            }
        }
        let LaneState::Session(session) = &mut self.heard else { return };
        if session.take(said, message, found) == Taken::Begins {
            let next = Box::new(beginnings.session(self.name.is_some()));
            let last = std::mem::replace(session, next);
            session.take(said, message, found);
            // One without a name may go on with the replies that its client waits for.
            let over = match self.name.is_none() && last.awaits_reply(None) {
                true => self.before.replace(last),
                false => Some(last),
            };
            over.into_iter().for_each(|session| summary.add(session.finish(found)));
        }
    }

    /// The log says that a session begins. Where the user has said in which state the log begins, that is what counts.
    fn begin(&mut self, beginnings: &Beginnings, found: &mut Vec<Finding>, summary: &mut Summary) {
        if beginnings.are_told() {
            return;
        }
        self.before.take().into_iter().for_each(|session| summary.add(session.finish(found)));
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

    fn end(self, beginnings: &Beginnings, found: &mut Vec<Finding>, summary: &mut Summary) {
        if let Some(before) = self.before {
            summary.add(before.finish(found));
        }
        let session = match self.heard {
            LaneState::Session(session) => *session,
            LaneState::Unknown(held) => beginnings.middle(&held, found),
        };
        summary.add(session.finish(found));
    }
}

impl LaneState {
    /// Whether a message is a reply for which the client waits in the session before, and not in this one.
    fn leaves_to(&self, before: &JudgedSession, said: Said, message: MessageText<'_>) -> bool {
        if said.sender != Side::Server {
            return false;
        }
        let Some(id) = MessageHead::of(message).and_then(|head| head.replies_to()) else { return false };
        let is_awaited_here = match self {
            LaneState::Session(session) => session.awaits_reply(Some(&id)),
            LaneState::Unknown(_) => false,
        };
        before.awaits_reply(Some(&id)) && !is_awaited_here
    }
}
