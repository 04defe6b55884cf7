//! Values of keys whose sub-sessions are over: how each ended, and since when that excuses late messages.

use std::collections::HashMap;

use crate::copies::{CopyNumber, KeyValue};
use crate::exchange::Limits;
use crate::fence::{BothWays, Fence};
use crate::memory::Recent;
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
    /// Requests of the other side had no reply then. They are still answered, and whoever hears of such an answer
    /// before it hears of the end goes on from there.
    pub(crate) awaited: bool,
    /// Until when the other side may not have received that message.
    pub(crate) fence: Fence,
    /// The request that opened it came late where it was seen, and its outcome was not seen yet. The side that received
    /// it may have been where it is permitted.
    pub(crate) unsure: Option<CopyNumber>,
}

/// The values of sub-sessions that are over, the newest of each key of a channel.
///
/// Invariant: no value is in it that a running sub-session holds; for each key of a channel it holds at most
/// [`Limits::remembered`] values and [`Limits::remembered_bytes`] of text; and `forgotten` is not before the fence of
/// any ending that was pushed out by these limits, so a value that is not in it and whose fence may be open is unknown
/// and not wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    past: HashMap<(u32, KeyIndex), Recent<Ended>>,
    /// The latest fence of what was pushed out, by the direction of the message that ended it.
    forgotten: BothWays<Option<Fence>>,
}

impl Endings {
    /// How the sub-session ended that held a value last.
    pub(crate) fn get(&self, channel: u32, key: KeyIndex, value: &KeyValue) -> Option<&Ended> {
        self.past.get(&(channel, key)).and_then(|past| past.get(value))
    }

    /// A running sub-session holds the value.
    pub(crate) fn remove(&mut self, channel: u32, key: KeyIndex, value: &KeyValue) {
        if let Some(past) = self.past.get_mut(&(channel, key)) {
            past.remove(value);
        }
    }

    /// The sub-session that held the value is over.
    pub(crate) fn insert(
        &mut self,
        channel: u32,
        key: KeyIndex,
        value: &KeyValue,
        ended: Ended,
        limits: &Limits,
    ) {
        let forgotten = &mut self.forgotten;
        self.past.entry((channel, key)).or_default().insert_with(value, ended, limits, |gone| {
            let latest = forgotten.get_mut(gone.by);
            *latest = (*latest).max(Some(gone.fence));
        });
    }

    /// A request that came late has opened nothing: what comes under its values is late until a fence.
    pub(crate) fn settle(&mut self, number: CopyNumber, fence: Fence) {
        for ended in self.past.values_mut().flat_map(Recent::values_mut) {
            if ended.unsure == Some(number) {
                (ended.unsure, ended.fence) = (None, fence);
            }
        }
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
