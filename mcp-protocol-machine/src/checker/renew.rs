//! A session that is begun once more, with a peer that knows nothing of what was before.

use super::state::Checker;
use crate::closed::ClosedGates;
use crate::exchange::{Exchange, Exchanges, Place};
use crate::id::RequestId;
use crate::protocol::Direction;

impl Checker {
    /// The session was begun once more, with a peer that knows nothing of what was before, and its linear channels are
    /// in the states that they are in. Of what runs, the linear requests of the followed role go on, and those that
    /// `goes_on` names and of which nothing was heard yet: they are sent once more, or fail. Everything else is as in a
    /// new session: no ids, no tokens, no sub-sessions, nothing that could come late. Gives the requests of the
    /// followed role whose replies will not come.
    ///
    /// `None` if the peer waits for a reply in a linear channel: no beginning leads there, and nothing has changed.
    pub fn renew(&mut self, goes_on: impl Fn(&RequestId) -> bool) -> Option<Vec<RequestId>> {
        if self.received.running().any(|exchange| matches!(exchange.place, Place::Linear(_))) {
            return None;
        }
        self.received = Exchanges::new(self.protocol.reuses_ids);
        self.closed_gates = ClosedGates::default();
        self.ended_during = ClosedGates::default();
        let (sub_sessions, limits) = (&self.sub_sessions, self.limits);
        let kept = |id: &RequestId, exchange: &Exchange| match exchange.place {
            Place::Linear(_) => true,
            Place::SubSession(_) => !exchange.is_answered() && goes_on(id),
            Place::Keyed(sub_session, _) => {
                !exchange.is_answered()
                    && goes_on(id)
                    && sub_sessions.is_as_opened(sub_session, Direction::Send, id)
            }
        };
        let lost = self.sent.renew(kept, &limits);
        self.channels.renew();
        let sent = &self.sent;
        self.sub_sessions.renew(|running| {
            let opener = running.opener.as_ref();
            opener.is_some_and(|(asker, id)| *asker == Direction::Send && sent.running_under(id).is_some())
        });
        Some(lost)
    }
}
