//! What is kept for the values of sub-sessions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::task::Context;

use mcp_protocol_machine::SubSessionNumber;
use mcp_protocol_machine::protocol::MessageIndex;

use super::inputs::{InputQueue, LinearInput};
use super::wakers::{Effects, Listener, Waiter};
use crate::error::Error;

/// How many queues of the longest permitted length all sub-sessions may fill together.
const TOGETHER: usize = 64;

/// A request of this side that has opened a sub-session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opener {
    pub(crate) message: MessageIndex,
    pub(crate) id: i64,
}

/// What waits for the values of one sub-session.
#[derive(Debug, Default)]
struct SubSessionInbox {
    inputs: InputQueue,
    /// How many values stand for it: one, or one for each of its linear channels.
    values: usize,
    /// The sub-session is over, or has lost an input: what is left to be said once the queue is empty.
    over: Option<Error>,
    /// The request of this side that opened it.
    opener: Option<Opener>,
    /// The value that opened it belongs to this epoch: in another one it means nothing.
    bound: bool,
    /// Hears the progress of the request that opened it, once that has its reply.
    listener: Option<Listener>,
    /// What the last report of this side on the request that opened it said, once that has its reply.
    progress: Option<f64>,
}

/// The inboxes of all sub-sessions that a value stands for.
///
/// Invariant: `queued` is the sum of the lengths of all queues.
#[derive(Debug, Default)]
pub(crate) struct SubSessions {
    inboxes: HashMap<SubSessionNumber, SubSessionInbox>,
    /// How many inputs wait in all of them.
    queued: usize,
}

impl SubSessions {
    /// What waits for the value of a sub-session.
    pub(crate) fn inputs(&self, sub_session: SubSessionNumber) -> Option<&InputQueue> {
        self.inboxes.get(&sub_session).map(|inbox| &inbox.inputs)
    }

    /// Takes an input from the queue of a sub-session.
    pub(crate) fn take(
        &mut self,
        sub_session: SubSessionNumber,
        take: impl FnOnce(&mut InputQueue) -> Option<LinearInput>,
    ) -> Option<LinearInput> {
        let taken = take(&mut self.inboxes.get_mut(&sub_session)?.inputs)?;
        self.queued = self.queued.saturating_sub(1);
        Some(taken)
    }

    /// Takes what came on replicated channels from the queue of a sub-session.
    pub(crate) fn take_exchanges(&mut self, sub_session: SubSessionNumber) -> VecDeque<LinearInput> {
        let inbox = self.inboxes.get_mut(&sub_session);
        let taken = inbox.map(|inbox| inbox.inputs.take_exchanges()).unwrap_or_default();
        self.queued = self.queued.saturating_sub(taken.len());
        taken
    }

    /// Why nothing follows what waits for a value, if that is so. `None` if it has no value.
    pub(crate) fn over(&self, sub_session: SubSessionNumber) -> Option<Option<&Error>> {
        self.inboxes.get(&sub_session).map(|inbox| inbox.over.as_ref())
    }

    /// Why the value of a sub-session can send nothing any more, if that is so.
    pub(crate) fn why_over(&self, sub_session: SubSessionNumber) -> Option<Error> {
        match self.over(sub_session) {
            Some(over) => over.cloned(),
            None => Some(Error::Closed),
        }
    }

    /// A task waits for an input of a sub-session.
    pub(crate) fn register(
        &mut self,
        sub_session: SubSessionNumber,
        context: &Context<'_>,
        waiter: &mut Waiter,
        effects: &mut Effects,
    ) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.inputs.waiting().register(context, waiter, effects);
        }
    }

    /// A value will stand for a sub-session.
    pub(crate) fn begin(&mut self, sub_session: SubSessionNumber, opener: Option<Opener>, bound: bool) {
        self.inboxes
            .insert(sub_session, SubSessionInbox { opener, bound, values: 1, ..SubSessionInbox::default() });
    }

    /// One more value stands for a sub-session.
    pub(crate) fn value_made(&mut self, sub_session: SubSessionNumber) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.values += 1;
        }
    }

    /// One of the values that stand for a sub-session is gone. Returns whether it was the last one.
    pub(crate) fn value_gone(&mut self, sub_session: SubSessionNumber) -> bool {
        self.inboxes.get_mut(&sub_session).is_some_and(|inbox| {
            inbox.values = inbox.values.saturating_sub(1);
            inbox.values == 0
        })
    }

    /// Whether one more input may wait for a value, where each queue may have `most`.
    pub(crate) fn has_room(&self, sub_session: SubSessionNumber, most: usize) -> bool {
        let inbox = self.inboxes.get(&sub_session);
        self.queued < most.saturating_mul(TOGETHER)
            && inbox.is_some_and(|inbox| inbox.over.is_none() && inbox.inputs.len() < most)
    }

    /// Adds an input to the queue of a value.
    pub(crate) fn push(&mut self, sub_session: SubSessionNumber, input: LinearInput) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.inputs.push(input);
            self.queued += 1;
        }
    }

    /// Nothing follows what waits for a value. The first reason counts.
    pub(crate) fn end(&mut self, sub_session: SubSessionNumber, error: Error, effects: &mut Effects) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.over.get_or_insert(error);
            inbox.inputs.waiting().wake(effects);
        }
    }

    /// The session is over: the tasks that wait learn of it. What came before still counts if `kept`.
    pub(crate) fn end_all(&mut self, kept: bool, effects: &mut Effects) {
        for inbox in self.inboxes.values_mut() {
            if !kept {
                inbox.inputs.clear();
            }
            inbox.inputs.waiting().wake(effects);
        }
        if !kept {
            self.queued = 0;
        }
    }

    /// Wakes the task that waits for an input of a sub-session.
    pub(crate) fn wake(&mut self, sub_session: SubSessionNumber, effects: &mut Effects) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            inbox.inputs.waiting().wake(effects);
        }
    }

    /// Drops the requests that wait for a value: the peer does not wait for answers any more.
    pub(crate) fn drop_requests(&mut self, sub_session: SubSessionNumber) {
        if let Some(inbox) = self.inboxes.get_mut(&sub_session) {
            let dropped = inbox.inputs.retain(|input| input.id.is_none());
            self.queued = self.queued.saturating_sub(dropped);
        }
    }

    /// The value of a sub-session is gone. Returns the request of this side that opened it, and what the value has not
    /// taken.
    pub(crate) fn remove(
        &mut self,
        sub_session: SubSessionNumber,
        effects: &mut Effects,
    ) -> Option<(Option<Opener>, VecDeque<LinearInput>)> {
        let mut inbox = self.inboxes.remove(&sub_session)?;
        inbox.inputs.waiting().wake(effects);
        if let Some(listener) = inbox.listener.take() {
            effects.let_go(listener);
        }
        self.queued = self.queued.saturating_sub(inbox.inputs.len());
        Some((inbox.opener, inbox.inputs.into_inputs()))
    }

    /// All that a value stands for, in order.
    pub(crate) fn numbers(&self) -> Vec<SubSessionNumber> {
        let mut numbers: Vec<SubSessionNumber> = self.inboxes.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// The request of this side that opened a sub-session.
    pub(crate) fn opener(&self, sub_session: SubSessionNumber) -> Option<Opener> {
        self.inboxes.get(&sub_session)?.opener
    }

    /// The requests of this side that have opened sub-sessions for values that belong to every epoch.
    pub(crate) fn unbound_openers(&self) -> HashSet<i64> {
        let inboxes = self.inboxes.values().filter(|inbox| !inbox.bound);
        inboxes.filter_map(|inbox| inbox.opener.map(|opener| opener.id)).collect()
    }

    /// Reports on the request that opened a sub-session go to a listener.
    pub(crate) fn listen(
        &mut self,
        sub_session: SubSessionNumber,
        listener: Listener,
        effects: &mut Effects,
    ) {
        let unheard = match self.inboxes.get_mut(&sub_session) {
            Some(inbox) => inbox.listener.replace(listener),
            None => Some(listener),
        };
        if let Some(unheard) = unheard {
            effects.let_go(unheard);
        }
    }

    pub(crate) fn listener(&self, sub_session: SubSessionNumber) -> Option<Listener> {
        self.inboxes.get(&sub_session)?.listener.clone()
    }

    /// What the last report of this side said on the request that opened a sub-session.
    pub(crate) fn progress_mut(&mut self, sub_session: SubSessionNumber) -> Option<&mut Option<f64>> {
        self.inboxes.get_mut(&sub_session).map(|inbox| &mut inbox.progress)
    }

    /// How many values there are, and how many inputs wait for all of them.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.inboxes.len(), self.queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Permit;
    use crate::engine::owners::inputs::{Background, Body};

    const FIRST: SubSessionNumber = SubSessionNumber(1);

    fn input(id: Option<i64>) -> LinearInput {
        LinearInput {
            message: MessageIndex(0),
            id: id.map(Into::into),
            answers: None,
            body: Body::Payload(None),
            negotiation: None,
            permit: Permit::default(),
            came: 1,
            background: Background::default(),
        }
    }

    #[test]
    fn what_waits_is_counted_whatever_takes_it() {
        let (mut sub_sessions, mut effects) = (SubSessions::default(), Effects::default());
        sub_sessions.push(FIRST, input(None));
        assert_eq!(sub_sessions.kept(), (0, 0), "no value stands for it");
        sub_sessions.begin(FIRST, None, false);
        for id in [None, Some(1), None, Some(2)] {
            assert!(sub_sessions.has_room(FIRST, 4));
            sub_sessions.push(FIRST, input(id));
        }
        assert!(!sub_sessions.has_room(FIRST, 4));
        assert!(sub_sessions.take(FIRST, |inputs| inputs.take(0)).is_some());
        assert_eq!(sub_sessions.kept(), (1, 3));
        sub_sessions.drop_requests(FIRST);
        assert_eq!(sub_sessions.kept(), (1, 1));
        assert!(sub_sessions.remove(FIRST, &mut effects).is_some_and(|(_, inputs)| inputs.len() == 1));
        assert_eq!(sub_sessions.kept(), (0, 0));
    }

    #[test]
    fn the_first_reason_why_nothing_follows_counts() {
        let (mut sub_sessions, mut effects) = (SubSessions::default(), Effects::default());
        sub_sessions.begin(FIRST, Some(Opener { message: MessageIndex(3), id: 7 }), true);
        sub_sessions.end(FIRST, Error::SessionReplaced, &mut effects);
        sub_sessions.end(FIRST, Error::Closed, &mut effects);
        assert!(matches!(sub_sessions.over(FIRST), Some(Some(Error::SessionReplaced))));
        assert!(!sub_sessions.has_room(FIRST, 4));
        assert!(sub_sessions.unbound_openers().is_empty(), "the value belongs to one epoch");
    }
}
