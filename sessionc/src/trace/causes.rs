//! One cause, one finding: what follows from a finding, or says the same again, is only counted.

use std::collections::{HashMap, VecDeque};

use mcp_protocol_machine::protocol::Strictness;
use mcp_protocol_machine::{Violation, ViolationKind};
use mcp_runtime::observer::{Observed, ObservedKind, Observer, Owed};
use mcp_runtime::protocol::{Kind, MessageIndex, Side};

use super::finding::{self, Code, Finding};
use super::formats::record::Place;
use crate::eras::Eras;
use crate::malformed_texts::mistake_of_form;

/// How many steps are remembered that were assumed and have not come.
const ASSUMED: usize = 64;
/// How many different findings of a session are distinguished.
const REMEMBERED: usize = 256;

/// The findings of a session that were reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    reported: HashMap<Same, Again>,
    waiting: Option<Waiting>,
    /// Steps that were assumed when a message had to wait for them, and after which the session has moved on. A step
    /// that comes yet is late, and the message was early; one that never comes is missing.
    assumed: VecDeque<(Owed, Finding)>,
    /// The last message that the state did not permit, until the session waits for it.
    came_early: Option<(Side, MessageIndex)>,
}

/// What findings have in common that say the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Same {
    code: Code,
    blame: Option<Side>,
    state: String,
    message: String,
}

/// A finding that was reported, and what said the same after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) first: Place,
    pub(crate) count: u64,
    pub(crate) last: Place,
}

/// A step that the session waits for, and what has come in its place.
#[derive(Clone, Debug)]
struct Waiting {
    owed: Owed,
    /// The messages that need the step; nothing until that is asked for.
    needing: Option<Vec<MessageIndex>>,
    /// The first message of the side that has to take the step, among those that need it.
    instead: Option<Place>,
    /// A message of that side was reported that has to wait for the step.
    is_reported: bool,
    /// The first message of the other side that has to wait. It is early, unless the step never comes.
    early: Option<Finding>,
    /// The session goes on as if the step had been taken.
    is_assumed: bool,
}

/// A step that never came.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) owed: Owed,
    /// The first message after which it was overdue.
    pub(crate) place: Place,
    /// The first message before which its side had to take it, if there is one.
    pub(crate) before: Option<Place>,
}

impl Same {
    /// What a finding has in common with those that say the same; nothing if there are none. Before the session has begun,
    /// whatever its state does not permit has one cause: that a side does not begin it.
    fn of(finding: &Finding, violation: Option<&Violation>, has_begun: bool) -> Option<Same> {
        // A token or a key that belongs to nothing is one mistake, whatever carries it.
        let tie = violation.and_then(|violation| match &violation.kind {
            ViolationKind::UnknownToken { token } => Some(format!("token {token}")),
            ViolationKind::UnknownKey { key, value } => Some(format!("{key} {value}")),
            ViolationKind::NotPermitted if !has_begun => Some("before the session has begun".to_owned()),
            _ => None,
        });
        // These are habits of a side, whatever the message and its state.
        match (violation.map(|violation| &violation.kind), finding.blame) {
            (Some(ViolationKind::NotNegotiated { holder, capability }), Some(side)) => {
                return Some(Same::of_capability(side, *holder, finding.level, capability));
            }
            (Some(ViolationKind::DuplicateId { running }), Some(side)) => {
                let which = if running.is_some() { "uses ids that run" } else { "uses ids again" };
                return Some(Same::habit(finding.code, side, which.to_owned()));
            }
            (Some(ViolationKind::SecondReply), Some(side)) => {
                return Some(Same::habit(finding.code, side, "a second reply".to_owned()));
            }
            (None, Some(side)) if finding.code == Code::Form => {
                return Some(Same::of_form(side, &finding.message));
            }
            _ => {}
        }
        // Each of these is about other ids or tokens.
        if tie.is_none() && matches!(finding.code, Code::Correlation | Code::Progress | Code::Unanswered) {
            return None;
        }
        Some(Same {
            code: finding.code,
            blame: finding.blame,
            state: finding.state.clone(),
            message: tie.unwrap_or_else(|| finding.message.clone()),
        })
    }

    /// The same for a text that is not a message.
    pub(crate) fn of_form(sender: Side, problem: &str) -> Same {
        Same::habit(Code::Form, sender, mistake_of_form(problem))
    }

    /// The same for what a side does with one request, again and again.
    pub(crate) fn of_request(sender: Side, what: String) -> Same {
        Same::habit(Code::Progress, sender, what)
    }

    /// The same for each message that needs a capability. A rule of another level is another mistake.
    fn of_capability(sender: Side, holder: Side, level: Strictness, capability: &str) -> Same {
        let level = finding::level(level);
        Same::habit(Code::Capability, sender, format!("{} {level} {capability}", holder.word()))
    }

    /// What it is the same as, too: where a capability is missing, so are those within it.
    pub(crate) fn wider(&self) -> impl Iterator<Item = Same> {
        let message = self.message.as_str();
        let ends = message.match_indices('.').map(|(end, _)| end).filter(|_| self.code == Code::Capability);
        ends.filter_map(move |end| Some(Same { message: message.get(..end)?.to_owned(), ..self.clone() }))
    }

    /// The same for each request that a server has left without a reply, because it has exited.
    pub(crate) fn of_exit() -> Same {
        Same::habit(Code::Unanswered, Side::Server, "the server has exited".to_owned())
    }

    /// The same for what follows from messages of two sessions in one, if it may follow from that.
    pub(crate) fn of_overlap(violation: &Violation) -> Option<Same> {
        let what = match &violation.kind {
            ViolationKind::UnknownId => "replies to unknown ids",
            ViolationKind::UnknownToken { .. } => "uses unknown tokens",
            ViolationKind::NotRunning => "cancels what does not run",
            _ => return None,
        };
        Some(Same::of_request(violation.sender, what.to_owned()))
    }

    /// The same for each request without a reply of this side, where messages of two sessions may be in one.
    pub(crate) fn unanswered_in_overlap(replier: Side) -> Same {
        Same::habit(Code::Unanswered, replier, "does not reply".to_owned())
    }

    /// What a side does again and again, in whatever state.
    fn habit(code: Code, side: Side, message: String) -> Same {
        Same { code, blame: Some(side), state: String::new(), message }
    }

    #[cfg(test)]
    pub(crate) fn example(message: &str) -> Same {
        Same { code: Code::Order, blame: None, state: "Ready".to_owned(), message: message.to_owned() }
    }

    /// The same for a finding that is reported when it is found. Where the session waits for a step, whatever has to wait for
    /// it says the same of its side.
    pub(crate) fn of_live(finding: &Finding, violation: &Violation, observer: &Observer) -> Option<Same> {
        let same = Same::of(finding, Some(violation), has_begun(observer))?;
        Some(match observer.owes().first().filter(|owed| waits(violation, owed)) {
            Some(owed) => Same { message: format!("before step {}", owed.message.0), ..same },
            None => match reply_awaited(violation) {
                Some(request) => {
                    let level = finding::level(finding.level);
                    Same { message: format!("{level} before the reply to {}", request.0), ..same }
                }
                None => same,
            },
        })
    }
}

impl Causes {
    /// The step that the session waits for, if a message has to wait for it and the session may go on as if it had been
    /// taken.
    pub(crate) fn to_assume(&self, violation: &Violation) -> Option<(Side, MessageIndex)> {
        let owed = &self.waiting.as_ref()?.owed;
        waits(violation, owed).then_some((owed.side, owed.message))
    }

    /// The session goes on as if the step had been taken that it waits for. Returns what was found, if it is sure.
    pub(crate) fn assume(&mut self, finding: Finding) -> Option<Finding> {
        let waiting = self.waiting.as_mut()?;
        waiting.is_assumed = true;
        if finding.blame == Some(waiting.owed.side) {
            return (!std::mem::replace(&mut waiting.is_reported, true)).then_some(finding);
        }
        waiting.early.get_or_insert(finding);
        None
    }

    /// Whether this is the step that was assumed before it came. Returns what was early.
    pub(crate) fn comes_late(&mut self, sender: Side, message: MessageIndex) -> Option<Option<Finding>> {
        let is_it = |owed: &Owed| (owed.side, owed.message) == (sender, message);
        if self.waiting.as_ref().is_some_and(|waiting| waiting.is_assumed && is_it(&waiting.owed)) {
            return Some(self.proceed());
        }
        let place = self.assumed.iter().position(|(owed, _)| is_it(owed))?;
        self.assumed.remove(place).map(|(_, early)| Some(early))
    }

    /// The finding, if it has a cause of its own. `violation` is what the checker says, if it has found it, and `observer`
    /// whose checker that is.
    pub(crate) fn distinct(
        &mut self,
        finding: Finding,
        violation: Option<(&Violation, &Observer)>,
    ) -> Option<Finding> {
        let has_begun = violation.is_none_or(|(_, observer)| has_begun(observer));
        let violation = violation.map(|(violation, _)| violation);
        if let (Some(waiting), Some(violation)) = (&mut self.waiting, violation)
            && waits(violation, &waiting.owed)
        {
            if finding.blame == Some(waiting.owed.side) {
                return (!std::mem::replace(&mut waiting.is_reported, true)).then_some(finding);
            }
            waiting.early.get_or_insert(finding);
            return None;
        }
        let Some(same) = Same::of(&finding, violation, has_begun) else { return Some(finding) };
        if same.wider().any(|wider| self.count(&wider, finding.place)) || self.count(&same, finding.place) {
            return None;
        }
        self.remember(same, finding.place);
        Some(finding)
    }

    /// What was found is counted from here on.
    pub(crate) fn remember(&mut self, same: Same, place: Place) {
        if self.reported.len() < REMEMBERED {
            self.reported.insert(same, Again { first: place, count: 0, last: place });
        }
    }

    /// What was reported before has come again. Returns whether it was.
    pub(crate) fn count(&mut self, same: &Same, place: Place) -> bool {
        let Some(again) = self.reported.get_mut(same) else { return false };
        (again.count, again.last) = (again.count + 1, place);
        true
    }

    /// The session has moved, and waits for this step, or for none. Returns what was early, now that a step has come.
    pub(crate) fn wait(&mut self, owed: Option<Owed>) -> Option<Finding> {
        let before = self.waiting.take();
        let early = match before {
            Some(Waiting { is_assumed: true, is_reported: false, owed, early: Some(early), .. }) => {
                let is_known = self.assumed.iter().any(|(known, _)| known.message == owed.message);
                if !is_known && self.assumed.len() < ASSUMED {
                    self.assumed.push_back((owed, early));
                }
                None
            }
            before => before.and_then(|before| before.early),
        };
        self.waiting = owed.map(|owed| Waiting {
            owed,
            needing: None,
            instead: None,
            is_reported: false,
            early: None,
            is_assumed: false,
        });
        early
    }

    /// A line could not be read: what is missing may stand in it.
    pub(crate) fn missed(&mut self) {
        self.assumed.clear();
        self.wait(None);
    }

    /// A message came before its state. If it is a step that the session waits for later, it is not missing then.
    pub(crate) fn note_early(&mut self, observed: &Observed) {
        self.came_early = observed.message.map(|message| (observed.sender, message));
    }

    /// The step that the session waits for, if it came before its state. It counts once.
    pub(crate) fn take_early(&mut self) -> Option<(Side, MessageIndex)> {
        let (side, message) = self.awaited().map(|owed| (owed.side, owed.message))?;
        self.came_early.take_if(|early| *early == (side, message))
    }

    /// The session waits for nothing. Returns what was early, now that the step has come.
    fn proceed(&mut self) -> Option<Finding> {
        self.waiting.take().and_then(|before| before.early)
    }

    /// Whether the session waits for a step, and does not go on as if it had been taken.
    pub(crate) fn is_waiting(&self) -> bool {
        self.awaited().is_some()
    }

    /// The step that the session waits for, unless it goes on as if that had been taken.
    pub(crate) fn awaited(&self) -> Option<&Owed> {
        self.waiting.as_ref().filter(|waiting| !waiting.is_assumed).map(|waiting| &waiting.owed)
    }

    /// A message has not moved the session. If its side has to take a step, it has sent something else. What it may send
    /// without the step does not show that the step is missing.
    pub(crate) fn note_instead(&mut self, place: Place, observed: &Observed, eras: &Eras) {
        let opens = matches!(observed.kind, ObservedKind::Request | ObservedKind::Notification);
        // One that is not accepted has a finding of its own.
        let is_taken = opens && observed.step.is_some() && eras.has_begun();
        let Some(message) = observed.message.filter(|_| is_taken) else { return };
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.owed.side == observed.sender)
        else {
            return;
        };
        let needing = || eras.handshake().needing(&waiting.owed);
        if waiting.instead.is_none() && waiting.needing.get_or_insert_with(needing).contains(&message) {
            waiting.instead = Some(place);
        }
    }

    /// A step that never came, if that was not reported; to be asked for until there is none.
    pub(crate) fn missing(&mut self) -> Option<Missing> {
        if let Some((owed, early)) = self.assumed.pop_front() {
            return Some(Missing { owed, place: early.place, before: None });
        }
        let Waiting { owed, instead, is_reported, early, .. } = self.waiting.take()?;
        let place = instead.or(early.map(|early| early.place))?;
        (!is_reported).then_some(Missing { owed, place, before: instead })
    }

    /// What was reported once and came again, in any order.
    pub(crate) fn again(&self) -> impl Iterator<Item = Again> {
        self.reported.values().filter(|again| again.count > 0).copied()
    }
}

/// Whether a session has begun: it does not wait for the step with which it begins.
fn has_begun(observer: &Observer) -> bool {
    !observer.owes().first().is_some_and(|owed| observer.begins_session(owed.message))
}

/// The request for whose reply the session waits, where the state does not permit a message before.
fn reply_awaited(violation: &Violation) -> Option<MessageIndex> {
    let mut awaited = violation.awaited.iter().filter(|_| violation.kind == ViolationKind::NotPermitted);
    awaited.find_map(|awaited| match awaited.kind {
        Kind::Reply { request } => Some(request),
        _ => None,
    })
}

/// Whether a message would be permitted after a step.
fn waits(violation: &Violation, owed: &Owed) -> bool {
    violation.kind == ViolationKind::NotPermitted
        && violation.permitted_in.iter().any(|state| owed.next.iter().any(|next| **state == **next))
}
