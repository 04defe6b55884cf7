//! Values of keys whose sub-sessions are over: how each ended, and since when that excuses late messages.
//!
//! One value can have been that of several sub-sessions, one after the other. The end of each excuses what its other
//! side sends until the fence of that end, so what comes under a value may be late for any of them.

use std::collections::HashMap;

use crate::fence::{BothWays, Fence};
use crate::history::Recent;
use crate::id::{KeyValue, Limits, SubSessionNumber};
use crate::protocol::{Direction, KeyIndex, MessageIndex, StateIndex};

/// How a sub-session came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Requests of the other side had no reply then. They are still answered, and the side that hears of such an answer
    /// before it hears of the end goes on from there.
    pub(crate) awaited: bool,
    /// Until when the other side may not have received that message.
    pub(crate) fence: Fence,
    /// The request that opened it came late where it was seen, and its outcome was not seen yet. The side that received
    /// it may have been where it is permitted.
    pub(crate) unsure: Option<SubSessionNumber>,
    /// The side whose messages go in direction `by` has used the value again, by which it shows that it knows of the end.
    pub(crate) reused: bool,
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
            _ => Some(self).filter(|ended| ended.by == by),
        }
    }

    /// Whether this excuses whatever the end of an earlier sub-session with the same value excuses.
    fn covers(&self, earlier: &Ended) -> bool {
        (self.by, self.from, self.behind, self.awaited)
            == (earlier.by, earlier.from, earlier.behind, earlier.awaited)
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

/// The values of sub-sessions that are over, the newest of each key of a channel.
///
/// Invariant: no value is in it that a running sub-session holds; for each key of a channel it holds at most
/// [`Limits::remembered`] values and [`Limits::remembered_bytes`] of text; and `forgotten` is not before the fence of
/// any ending that was pushed out by these limits, so a value that is not in it and whose fence may be open is unknown
/// and not wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    past: HashMap<(u32, KeyIndex), Recent<Ends>>,
    /// The latest fence of what was pushed out, by the direction of the message that ended it.
    forgotten: BothWays<Option<Fence>>,
}

impl Endings {
    /// How the sub-sessions ended that held a value, the newest first.
    pub(crate) fn get(
        &self,
        channel: u32,
        key: KeyIndex,
        value: &KeyValue,
    ) -> impl Iterator<Item = &Ended> + use<'_> {
        let past = self.past.get(&(channel, key)).and_then(|past| past.get(value));
        past.into_iter().flat_map(Ends::iter)
    }

    /// A running sub-session holds the value from now on. Returns how those ended that held it before, the oldest
    /// first.
    pub(crate) fn take(
        &mut self,
        channel: u32,
        key: KeyIndex,
        value: &KeyValue,
    ) -> impl Iterator<Item = Ended> + use<> {
        let past = self.past.get_mut(&(channel, key)).and_then(|past| past.remove(value));
        past.unwrap_or_default().0.into_iter()
    }

    /// The sub-sessions that held the value last are over, the newest at the end.
    pub(crate) fn insert(
        &mut self,
        channel: u32,
        key: KeyIndex,
        value: &KeyValue,
        last: impl IntoIterator<Item = Ended>,
        limits: &Limits,
    ) {
        let forgotten = &mut self.forgotten;
        let mut forget = |gone: &Ended| {
            let latest = forgotten.get_mut(gone.by);
            *latest = (*latest).max(Some(gone.fence));
        };
        let past = self.past.entry((channel, key)).or_default();
        let mut ends = past.remove(value).unwrap_or_default();
        last.into_iter().filter_map(|ended| ends.push(ended)).for_each(|gone| forget(&gone));
        past.insert_with(value, ends, limits, |gone| gone.iter().for_each(&mut forget));
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
            awaited: false,
            fence: Fence::NEVER,
            unsure: Some(number),
            reused: false,
        };
        // It has sent the request, and does not wait for the answer.
        let mut reused = late.reused_by(Direction::Send).unwrap();
        assert_eq!((reused.by, reused.unsure), (Direction::Send, Some(number)));
        assert!(!reused.settle(number, Direction::Receive, Fence::NEVER), "the other side has refused it");
        let mut waiting = late;
        assert!(waiting.settle(number, Direction::Receive, Fence::NEVER), "the answer may be on its way");
        assert_eq!(waiting.reused_by(Direction::Send), None);
        assert_eq!(waiting.reused_by(Direction::Receive), Some(waiting));
    }
}
