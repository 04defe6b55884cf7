//! Values of keys whose sub-sessions are over: how each ended, and since when that excuses late messages.
//!
//! One value can have been that of several sub-sessions, one after the other. The end of each excuses what its other
//! side sends until the fence of that end, so what comes under a value may be late for any of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::fence::{BothWays, Fence};
use crate::history::{Recent, Remembered};
use crate::id::{KeyValue, Limits, SubSessionNumber};
use crate::protocol::{Direction, KeyIndex, MessageIndex, StateIndex};

/// Where the values of keys are unique: one body of a `*`, within one sub-session if the `*` stands in the body of
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Space {
    pub(crate) body: u32,
    /// The sub-session around it.
    pub(crate) outer: Option<SubSessionNumber>,
}

/// How a sub-session came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Which way the message went that ended it.
    pub(crate) by: Direction,
    /// That message.
    pub(crate) message: MessageIndex,
    /// The state that this message found it in.
    pub(crate) from: StateIndex,
    /// A state before that in which the followed role may have taken it to be, where that role did not end it. For its
    /// peer the tables say what comes late in the state before.
    pub(crate) behind: Option<StateIndex>,
    /// Where it had several channels, or sub-sessions of its own: the states in which the side whose messages go in a
    /// direction may take these to be.
    pub(crate) besides: BothWays<Option<Arc<[StateIndex]>>>,
    /// Requests of the other side had no reply then. They are still answered, and the side that hears of such an answer
    /// before it hears of the end goes on from there.
    pub(crate) awaited: bool,
    /// Until when the other side may not have received that message.
    pub(crate) fence: Fence,
    /// The message has crossed steps of the other side, so the side that sent it does not know of the end either: where it
    /// takes the sub-session to be, and until when it may not have received them.
    pub(crate) crossed: Option<(StateIndex, Fence)>,
    /// The request that opened it came late where it was seen, and its outcome was not seen yet. The side that received
    /// it may have been where it is permitted.
    pub(crate) unsure: Option<SubSessionNumber>,
    /// The side whose messages go in direction `by` has used the value again, by which it shows that it knows of the end.
    pub(crate) reused: bool,
}

impl Space {
    /// That of a body that runs in the session itself.
    pub(crate) const fn of(body: u32) -> Space {
        Space { body, outer: None }
    }

    fn held(self, value: &KeyValue) -> Held {
        Held { outer: self.outer, value: value.clone() }
    }
}

impl Ended {
    /// The request that came late under a number was refused by a side and has opened nothing, so this excuses messages
    /// until a fence. Returns whether it excuses any.
    pub(crate) fn settle(&mut self, number: SubSessionNumber, by: Direction, fence: Fence) -> bool {
        if self.unsure != Some(number) {
            return true;
        }
        (self.unsure, self.fence) = (None, fence);
        // Otherwise the side that it excused has used the value again.
        self.by == by
    }

    /// What this excuses once a side has used the value again, by which it shows that it knows of the end.
    pub(crate) fn reused_by(self, by: Direction) -> Option<Ended> {
        match self.unsure {
            // It excused both sides, and excuses the other one still.
            Some(_) if !self.reused => Some(Ended { by, reused: true, ..self }),
            _ => self.heard_by(by),
        }
    }

    /// What this excuses once a side is known to have heard of the end.
    pub(crate) fn heard_by(self, by: Direction) -> Option<Ended> {
        match (self.by == by, self.crossed) {
            (true, _) => Some(Ended { crossed: None, ..self }),
            // As if this side had ended it, by the step that the other one may not have received.
            (false, Some((from, fence))) => {
                Some(Ended { by, from, behind: None, fence, crossed: None, ..self })
            }
            (false, None) => None,
        }
    }

    /// Whether this excuses whatever the end of an earlier sub-session with the same value excuses.
    fn covers(&self, earlier: &Ended) -> bool {
        (self.by, self.from, self.behind, &self.besides, self.awaited, self.crossed)
            == (earlier.by, earlier.from, earlier.behind, &earlier.besides, earlier.awaited, earlier.crossed)
            && self.unsure.is_none()
            && earlier.unsure.is_none()
            && self.fence >= earlier.fence
    }
}

/// How the sub-sessions ended that held a value one after the other.
///
/// Invariant: oldest first, at most [`KEPT`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends(Vec<Ended>);

/// How many endings are kept of each value.
const KEPT: usize = 16;

impl Ends {
    /// The newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ended> {
        self.0.iter().rev()
    }

    /// Adds the newest one, instead of those that it covers. Returns one that is forgotten for it.
    fn push(&mut self, ended: Ended) -> Option<Ended> {
        self.0.retain(|earlier| !ended.covers(earlier));
        let oldest = (self.0.len() >= KEPT).then(|| self.0.remove(0));
        self.0.push(ended);
        oldest
    }
}

/// A value, and the sub-session around the one that held it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    outer: Option<SubSessionNumber>,
    value: KeyValue,
}

impl Remembered for Held {
    fn text_length(&self) -> usize {
        self.value.text_length()
    }
}

/// The values of sub-sessions that are over, the newest of each key of a body.
///
/// Invariant: no value is in it that a running sub-session holds; for each key of a body it holds at most
/// [`Limits::remembered`] values and [`Limits::remembered_bytes`] of text; and `forgotten` is not before the fence of
/// any ending that was pushed out by these limits, so a value that is not in it and whose fence may be open is unknown
/// and not wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    past: HashMap<(u32, KeyIndex), Recent<Ends, Held>>,
    /// The latest fence of what was pushed out, by the direction of the message that ended it.
    forgotten: BothWays<Option<Fence>>,
}

impl Endings {
    /// How the sub-sessions ended that held a value, the newest first.
    pub(crate) fn get(
        &self,
        space: Space,
        key: KeyIndex,
        value: &KeyValue,
    ) -> impl Iterator<Item = &Ended> + use<'_> {
        let past = self.past.get(&(space.body, key)).and_then(|past| past.get(&space.held(value)));
        past.into_iter().flat_map(Ends::iter)
    }

    /// How sub-sessions within another one ended.
    pub(crate) fn within(&self, outer: SubSessionNumber) -> impl Iterator<Item = &Ended> {
        let past = self.past.values().flat_map(Recent::iter);
        past.filter(move |(held, _)| held.outer == Some(outer)).flat_map(|(_, ends)| ends.iter())
    }

    /// A running sub-session holds the value from now on. Returns how those ended that held it before, the oldest
    /// first.
    pub(crate) fn take(
        &mut self,
        space: Space,
        key: KeyIndex,
        value: &KeyValue,
    ) -> impl Iterator<Item = Ended> + use<> {
        let past = self.past.get_mut(&(space.body, key)).and_then(|past| past.remove(&space.held(value)));
        past.unwrap_or_default().0.into_iter()
    }

    /// The sub-sessions that held the value last are over, the newest at the end.
    pub(crate) fn insert(
        &mut self,
        space: Space,
        key: KeyIndex,
        value: &KeyValue,
        last: impl IntoIterator<Item = Ended>,
        limits: &Limits,
    ) {
        let forgotten = &mut self.forgotten;
        let mut forget = |gone: &Ended| {
            for (by, fence) in
                [(gone.by, Some(gone.fence)), (gone.by.flip(), gone.crossed.map(|(_, fence)| fence))]
            {
                let latest = forgotten.get_mut(by);
                *latest = (*latest).max(fence);
            }
        };
        let past = self.past.entry((space.body, key)).or_default();
        let held = space.held(value);
        let mut ends = past.remove(&held).unwrap_or_default();
        last.into_iter().filter_map(|ended| ends.push(ended)).for_each(|gone| forget(&gone));
        past.insert_with(&held, ends, limits, |gone| gone.iter().for_each(&mut forget));
    }

    /// A request that came late was refused by a side and has opened nothing: what comes under its values is late until
    /// a fence.
    pub(crate) fn settle(&mut self, number: SubSessionNumber, by: Direction, fence: Fence) {
        let ends = self.past.values_mut().flat_map(Recent::values_mut);
        ends.for_each(|ends| ends.0.retain_mut(|ended| ended.settle(number, by, fence)));
    }

    /// The fence of the latest forgotten ending by a message in a direction.
    pub(crate) fn forgotten(&self, by: Direction) -> Option<Fence> {
        *self.forgotten.get(by)
    }

    /// Forgets everything: the session was begun once more, and nothing of the one before can come.
    pub(crate) fn clear(&mut self) {
        *self = Endings::default();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.past.values().map(Recent::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_that_came_late_excuses_the_side_that_has_not_used_the_value_again() {
        let number = SubSessionNumber(7);
        let late = Ended {
            by: Direction::Receive,
            message: MessageIndex(0),
            from: StateIndex(0),
            behind: None,
            besides: BothWays::default(),
            awaited: false,
            fence: Fence::NEVER,
            crossed: None,
            unsure: Some(number),
            reused: false,
        };
        // It has sent the request, and does not wait for the answer.
        let mut reused = late.clone().reused_by(Direction::Send).unwrap();
        assert_eq!((reused.by, reused.unsure), (Direction::Send, Some(number)));
        assert!(!reused.settle(number, Direction::Receive, Fence::NEVER), "the other side has refused it");
        let mut waiting = late.clone();
        assert!(waiting.settle(number, Direction::Receive, Fence::NEVER), "the answer may be on its way");
        assert_eq!(waiting.clone().reused_by(Direction::Send), None);
        assert_eq!(waiting.clone().reused_by(Direction::Receive), Some(waiting));
    }
}
