//! Which sub-session a message of the followed role would end, asked before the message is sent.

use crate::exchange::{Place, Standing};
use crate::id::{RequestId, SubSessionNumber};
use crate::protocol::{Action, Condition, Direction, Kind, MessageIndex};
use crate::sub_sessions::Correlation;

use super::judge::Judged;
use super::keyed::{Later, ReplyWithin};
use super::state::Checker;

impl Checker {
    /// The running sub-session that a notification of the followed role would end by its last step; nothing if the
    /// notification is not permitted now. What runs in the sub-session can be cancelled before.
    pub fn would_end(
        &self,
        message: MessageIndex,
        correlation: Correlation<'_>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Option<SubSessionNumber> {
        if self.closed {
            return None;
        }
        let judged = self.judge(Direction::Send, message, Kind::Notification, correlation, &applies);
        let Ok(Judged::Later(Later::SubSession(sub_session, found))) = judged else { return None };
        let Action::Step(to) = found.action else { return None };
        let ends = self.lateness(&found, false).is_none() && self.ends_with(sub_session, found.place, to);
        ends.then_some(sub_session)
    }

    /// The same for a reply to a request with this id: by its last step, or because it refuses the request that opened the
    /// sub-session.
    pub fn reply_would_end(
        &self,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Option<SubSessionNumber> {
        let standing = self.asked(Direction::Receive).standing(id);
        let Standing::Running(request, Place::Keyed(sub_session, channel)) = standing else { return None };
        if self.closed {
            return None;
        }
        let answers = match self.protocol.message(message)?.kind {
            Kind::Reply { request } | Kind::Refusal { request } => request,
            Kind::Request | Kind::Notification => return None,
        };
        self.same_members(Direction::Send, id, message, correlation).ok()?;
        let place = (sub_session, channel);
        match self.judge_reply_keyed(place, Direction::Send, id, message, correlation).ok()? {
            _ if answers != request => None,
            ReplyWithin::Refusal { .. } => Some(sub_session),
            ReplyWithin::Step { goes_on, .. } => (!goes_on).then_some(sub_session),
        }
    }

    /// Whether a running sub-session is another one, or runs within that.
    pub fn is_within(&self, sub_session: SubSessionNumber, outer: SubSessionNumber) -> bool {
        self.sub_sessions.is_within(sub_session, outer)
    }
}
