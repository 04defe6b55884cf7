//! How messages are put into the inbox, and how tasks wait for them and take them: the open inbox, and the end of a session.
//!
//! `ordering.rs` holds back what may not reach the program yet, `replicated_inputs.rs` has what handlers take, `value_inputs.rs`
//! what values take, `sources.rs` says which of several has the first message, and `mailbox_turns.rs` the same for a session
//! without types.

use std::time::Instant;

use super::Inbox;
use crate::engine::owners::dispatch::most_handlers;
use crate::engine::owners::lifecycle::Lifecycle;
use crate::engine::owners::wakers::Effects;
use crate::rules::Rules;

mod mailbox_turns;
mod ordering;
mod replicated_inputs;
mod sources;
#[cfg(test)]
pub(super) mod tests;
mod value_inputs;

pub(crate) use sources::Source;

/// The inbox, with the parts of the session that decide what is taken from it and when.
///
/// What every message passes here is inlined: the compiler would otherwise call it across the files that it builds apart.
pub(crate) struct OpenInbox<'e> {
    pub(super) inbox: &'e mut Inbox,
    pub(super) rules: &'e Rules,
    pub(super) lifecycle: &'e mut Lifecycle,
    pub(super) effects: &'e mut Effects,
    /// What time it is, as far as the transport has told.
    now: Option<Instant>,
}

impl<'e> OpenInbox<'e> {
    #[inline]
    pub(super) fn new(
        inbox: &'e mut Inbox,
        rules: &'e Rules,
        lifecycle: &'e mut Lifecycle,
        effects: &'e mut Effects,
        now: Option<Instant>,
    ) -> OpenInbox<'e> {
        OpenInbox { inbox, rules, lifecycle, effects, now }
    }

    #[inline]
    fn most_handlers(&self) -> usize {
        most_handlers(self.rules)
    }

    /// Whether something may still come: from the peer, or of what it has said already.
    pub(crate) fn is_receiving(&self) -> bool {
        self.inbox.is_receiving(self.lifecycle)
    }

    /// Tasks that wait for something of the inbox look again: the session has come closer to its end.
    pub(crate) fn wake_everyone(&mut self) {
        let queue = self.inbox.dispatch.queue_mut();
        queue.waiting().wake(self.effects);
        queue.room_waiting().wake(self.effects);
        self.inbox.values.wake(None, self.effects);
    }
}
