//! Whether a message may come: the id first, then the state, then the gates.

use crate::endings::Space;
use crate::id::RequestId;
use crate::protocol::{Action, Condition, Direction, Kind, MessageIndex, Origin};
use crate::sub_sessions::Correlation;
use crate::violation::{Violation, ViolationKind};

use super::find::Found;
use super::gates::{NOTHING, Within};
use super::keyed::{Later, Otherwise};
use super::state::Checker;

/// Where a request or a notification belongs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judged {
    /// To the linear channels, or it opens a sub-session.
    Found(Found),
    /// To a sub-session that a key ties together.
    Later(Later),
}

impl Checker {
    /// Whether running sub-sessions take no step in a direction, because of the state that the session is in.
    pub(super) fn is_suspended(&self, direction: Direction) -> bool {
        let mut states = self.states().iter().filter_map(|state| self.state(*state));
        states.any(|state| state.only.suspends(direction))
    }

    /// A request: a new id, a state that accepts it, open gates, and room.
    pub(super) fn judge_request(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Judged, Violation> {
        // The id comes first: whatever else is wrong, a used id leaves no way to tell the two exchanges apart.
        if let Some(running) = self.asked(direction).taken(id) {
            let running =
                running.and_then(|running| self.protocol.message(running)).map(|table| table.method.clone());
            return Err(self.violation(direction, message, Some(id), ViolationKind::DuplicateId { running }));
        }
        let found = self.judge_with(direction, message, Kind::Request, Some(id), correlation, applies)?;
        let limit = self.limits.running;
        if self.asked(direction).open() >= limit {
            return Err(self.violation(
                direction,
                message,
                Some(id),
                ViolationKind::TooManyRunning { limit },
            ));
        }
        Ok(found)
    }

    /// A message of a kind that the state alone decides about.
    pub(super) fn judge(
        &self,
        direction: Direction,
        message: MessageIndex,
        kind: Kind,
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Judged, Violation> {
        self.judge_with(direction, message, kind, None, correlation, applies)
    }

    fn judge_with(
        &self,
        direction: Direction,
        message: MessageIndex,
        kind: Kind,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Judged, Violation> {
        let not_permitted = || Err(self.violation(direction, message, id, ViolationKind::NotPermitted));
        let Some(table) = self.protocol.message(message).filter(|table| table.kind == kind) else {
            return not_permitted();
        };
        // An edge that takes a request back is for the notification that names the request.
        let found = self.find(direction, message).filter(|found| found.origin != Origin::Cancel);
        let otherwise = match found.map(|found| found.action) {
            Some(Action::Step(_)) => None,
            // What goes on with a sub-session carries a key; most messages carry none, and no table is asked for them.
            Some(Action::Spawn(_)) if table.keys.is_empty() => None,
            Some(Action::Spawn(start)) if self.sub_sessions.starts(start).is_some() => Some(Otherwise::Opens),
            Some(Action::Spawn(_)) => Some(Otherwise::Alone),
            None => Some(Otherwise::Refused),
        };
        // Where sub-sessions are suspended, no message is one of their steps, late or not.
        let suspended = otherwise.is_some() && self.is_suspended(direction);
        // The envelope names a sub-session, or would if that were not over.
        let is_named = || {
            table.has_member_keys()
                && (correlation.meant.sub_session().is_some() || !correlation.keys.is_empty())
        };
        if suspended
            && (found.is_none() || is_named())
            && self.sub_sessions.later(direction, message).is_some()
        {
            return Err(self.violation(direction, message, id, ViolationKind::Suspended));
        }
        if let Some(otherwise) = otherwise.filter(|_| !suspended)
            && let Some(later) = self.judge_later(direction, message, id, correlation, otherwise, applies)
        {
            return later.map(Judged::Later);
        }
        let Some(found) = found else { return not_permitted() };
        let during = match id {
            Some(_) => Within::Opening(Some(correlation.announces.unwrap_or(&NOTHING))),
            None => Within::Any,
        };
        let closed_gate = self
            .gates_on_arrival(direction, message, during, applies)
            .map_err(|kind| self.violation(direction, message, id, kind))?;
        let mut shows_state = true;
        if let Action::Spawn(start) = found.action {
            self.judge_opening(start, None, direction, message, id, correlation)?;
            let before = self.sub_sessions.later(direction, message);
            let before =
                before.and_then(|body| self.late_before(Space::of(body), direction, message, correlation));
            shows_state = before.is_none();
        }
        Ok(Judged::Found(Found { shows_state, closed_gate, ..found }))
    }
}
