//! What a proxy knows of a message after it was judged: whether it was passed on, and whether it arrived.

use mcp_protocol_machine::{StepKind, ViolationKind};

use super::{Observed, ObservedKind, Observer, direction};

impl Observer {
    /// A request that is not permitted was passed on to its receiver all the same: it runs, as a permitted one does. So its
    /// reply is judged, and so is the progress that is reported on it; and it is [unanswered](Observer::unanswered) until the
    /// reply comes.
    ///
    /// The request has moved nothing else. A request that would lead to another state, or open a sub-session with a key, does
    /// not run: any reply to it is accepted. Returns whether the message is a request that runs from here on.
    pub fn passed_on(&mut self, observed: &Observed) -> bool {
        let (ObservedKind::Request, None) = (observed.kind, observed.step) else { return false };
        let (Some(id), Some(request)) = (&observed.id, observed.message) else { return false };
        if observed.violation().is_none() || has_used_id(observed) {
            return false;
        }
        let token = observed.token.clone();
        self.rules.checker_mut().run_refused(direction(observed.sender), id, request, token)
    }

    /// A message that was observed did not arrive: its receiver has rejected it before it was read, for instance by a status
    /// of HTTP. Its sender may send it again, with the same id.
    ///
    /// The session is as if the message had not been sent: a request does not run, a notification has not led to another
    /// state, and a request whose reply did not arrive waits for one. Two things stay: a notification that cancels or reports
    /// has done so, and a request that had opened a sub-session with a key does not wait again. If a request arrived all the
    /// same, the reply to it is not reported.
    pub fn withdraw(&mut self, observed: &Observed) {
        let direction = direction(observed.sender);
        let refusal = observed.message.and_then(|message| self.rules.refusal_of(message));
        let checker = self.rules.checker_mut();
        match (observed.kind, &observed.id, observed.step, observed.message) {
            // The id is that of another request.
            (ObservedKind::Request, ..) if has_used_id(observed) => {}
            (ObservedKind::Request, Some(id), ..) => {
                checker.withdraw_request(direction, id, observed.token.as_ref(), refusal);
            }
            (ObservedKind::Notification, _, Some(StepKind::Linear { from, to }), _) => {
                checker.withdraw_step(from, to);
            }
            (
                ObservedKind::Result | ObservedKind::Error,
                Some(id),
                Some(StepKind::SubSession { ended: true }),
                Some(reply),
            ) => checker.withdraw_reply(direction, id, reply),
            _ => {}
        }
        // No value waits for what ended.
        checker.take_ended();
        checker.take_left();
    }
}

/// Whether a request has an id that was used before.
fn has_used_id(observed: &Observed) -> bool {
    let kind = observed.violation().map(|violation| &violation.kind);
    matches!(kind, Some(ViolationKind::DuplicateId { .. }))
}
