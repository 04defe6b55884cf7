//! Replicated inputs that no task has taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};
use mcp_protocol_machine::{IdTable, RequestId, SubSessionNumber, Token};

use super::wakers::Waiting;
use crate::budget::Permit;
use crate::driver::Extension;
use crate::epoch::Epoch;

/// Whose replicated channels are meant: those of the session, or those of a sub-session.
pub(crate) type Scope = Option<SubSessionNumber>;

/// A replicated input.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The token that reports about it carry.
    pub(crate) token: Option<Token>,
    /// Whose replicated channel it came on.
    pub(crate) scope: Scope,
    /// The sub-session that it opens, and the state that this is in, if a value is to stand for it.
    pub(crate) sub_session: Option<(SubSessionNumber, StateIndex)>,
    pub(crate) payload: Option<Box<str>>,
    /// What it holds of the budgets for input, until it has been worked on.
    pub(crate) permit: Permit,
    /// What the transport knows of it.
    pub(crate) extension: Option<Arc<dyn Extension>>,
    pub(crate) at: Instant,
    /// The number of the message.
    pub(crate) came: u64,
    /// The epoch that it arrived in.
    pub(crate) epoch: Epoch,
}

impl Arrived {
    /// Whether it needs an answer, or opens a sub-session that a value goes on with.
    pub(crate) fn is_asked(&self) -> bool {
        self.id.is_some() || self.sub_session.is_some()
    }
}

/// The replicated inputs that no task has taken, in the order in which they came, and the tasks that take them.
///
/// An *attendant* is what can take them: a dispatcher, or a session without types. It attends to one scope.
///
/// Invariant: what waits here for a sub-session has an attendant. Without one, the value of the sub-session takes it.
#[derive(Debug, Default)]
pub(crate) struct ReplicatedQueue {
    inputs: VecDeque<Arrived>,
    waiting: Waiting,
    /// Dispatchers that have no room for more handlers at the moment.
    room_waiting: Waiting,
    /// How many attend to each scope, and to all of them.
    attendants: IdTable<Scope, usize>,
    all_attendants: usize,
    /// The time for an attendant of the session to come has passed once. Cleared when one comes.
    unattended: bool,
}

impl ReplicatedQueue {
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(crate) fn is_empty(&self, scope: Scope) -> bool {
        self.first(scope).is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arrived> {
        self.inputs.iter()
    }

    pub(crate) fn first(&self, scope: Scope) -> Option<&Arrived> {
        self.inputs.iter().find(|arrived| arrived.scope == scope)
    }

    /// Adds an input in its place: what waited for a value that is gone may be older than what waits here.
    #[inline]
    pub(crate) fn insert(&mut self, arrived: Arrived) {
        // Most sessions have one at a time, and the queue would begin with four places.
        if self.inputs.capacity() == 0 {
            self.inputs.reserve_exact(1);
        }
        let place = self.inputs.partition_point(|waiting| waiting.came <= arrived.came);
        self.inputs.insert(place, arrived);
    }

    pub(crate) fn take(&mut self, place: usize) -> Option<Arrived> {
        self.inputs.remove(place)
    }

    /// Takes the first input of a scope.
    pub(crate) fn take_first(&mut self, scope: Scope) -> Option<Arrived> {
        let place = self.inputs.iter().position(|arrived| arrived.scope == scope)?;
        self.take(place)
    }

    /// Takes a request of the peer.
    pub(crate) fn take_request(&mut self, id: &RequestId) -> Option<Arrived> {
        let place = self.inputs.iter().position(|arrived| arrived.id.as_ref() == Some(id))?;
        self.take(place)
    }

    /// Takes everything that meets a condition.
    pub(crate) fn take_all(&mut self, which: impl Fn(&Arrived) -> bool) -> VecDeque<Arrived> {
        let (taken, kept) = std::mem::take(&mut self.inputs).into_iter().partition(which);
        self.inputs = kept;
        taken
    }

    pub(crate) fn attendants(&self, scope: Scope) -> usize {
        self.attendants.get(&scope).copied().unwrap_or_default()
    }

    pub(crate) fn has_several_attendants(&self) -> bool {
        self.all_attendants > 1
    }

    /// Whether what comes for the session is refused at once: nothing attends, and nothing has for too long.
    pub(crate) fn is_closed(&self) -> bool {
        self.unattended && self.attendants(None) == 0
    }

    pub(crate) fn attend(&mut self, scope: Scope) {
        *self.attendants.entry(scope).or_default() += 1;
        self.all_attendants += 1;
        self.unattended &= scope.is_some();
    }

    pub(crate) fn leave(&mut self, scope: Scope) {
        self.all_attendants = self.all_attendants.saturating_sub(1);
        match self.attendants.get_mut(&scope) {
            Some(attendants) if *attendants > 1 => *attendants -= 1,
            _ => _ = self.attendants.remove(&scope),
        }
    }

    /// When the first input has waited long enough for an attendant.
    pub(crate) fn deadline(&self, patience: Duration) -> Option<Instant> {
        let first = self.first(None).filter(|_| self.attendants(None) == 0)?;
        first.at.checked_add(patience)
    }

    /// Takes the first input if it has waited long enough for an attendant.
    pub(crate) fn take_expired(&mut self, patience: Duration, now: Instant) -> Option<Arrived> {
        self.deadline(patience).filter(|deadline| *deadline <= now)?;
        self.unattended = true;
        self.take_first(None)
    }

    /// The tasks that wait for an input.
    pub(crate) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// The dispatchers that have no room for more handlers at the moment.
    pub(crate) fn room_waiting(&mut self) -> &mut Waiting {
        &mut self.room_waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn arrived(came: u64, id: Option<i64>, at: Instant) -> Arrived {
        Arrived {
            message: MessageIndex(0),
            id: id.map(RequestId::Number),
            token: None,
            scope: None,
            sub_session: None,
            payload: None,
            permit: Permit::default(),
            extension: None,
            at,
            came,
            epoch: Epoch::FIRST,
        }
    }

    #[test]
    fn inputs_stand_in_the_order_in_which_they_came() {
        let (mut queue, at) = (ReplicatedQueue::default(), Instant::now());
        for came in [2, 5, 3] {
            queue.insert(arrived(came, (came == 5).then_some(5), at));
        }
        assert_eq!(queue.iter().map(|arrived| arrived.came).collect::<Vec<_>>(), [2, 3, 5]);
        assert!(queue.take_request(&RequestId::Number(2)).is_none());
        assert!(queue.take_request(&RequestId::Number(5)).is_some());
        assert_eq!(queue.take_all(|arrived| arrived.came > 2).len(), 1);
        assert_eq!(queue.first(None).map(|arrived| arrived.came), Some(2));
    }

    #[test]
    fn inputs_expire_only_while_nothing_attends() {
        let (mut queue, at) = (ReplicatedQueue::default(), Instant::now());
        queue.insert(arrived(1, None, at));
        queue.attend(None);
        assert_eq!(queue.deadline(PATIENCE), None);
        queue.leave(None);
        assert!(queue.take_expired(PATIENCE, at).is_none() && !queue.is_closed());
        assert!(queue.take_expired(PATIENCE, at + PATIENCE).is_some());
        assert!(queue.is_closed(), "the next one does not wait as long");
        queue.attend(Some(SubSessionNumber(0)));
        assert!(queue.is_closed(), "it attends to a sub-session");
        queue.attend(None);
        queue.leave(None);
        assert!(!queue.is_closed(), "an attendant may come back");
    }

    #[test]
    fn what_a_sub_session_waits_for_is_not_the_session_s() {
        let (mut queue, at) = (ReplicatedQueue::default(), Instant::now());
        let scope = Some(SubSessionNumber(7));
        queue.attend(scope);
        queue.insert(Arrived { scope, ..arrived(1, None, at) });
        assert!(queue.is_empty(None) && queue.deadline(PATIENCE).is_none());
        assert!(queue.take_expired(PATIENCE, at + PATIENCE).is_none());
        queue.insert(arrived(2, None, at));
        assert_eq!(queue.take_first(None).map(|arrived| arrived.came), Some(2));
        assert_eq!(queue.take_first(scope).map(|arrived| arrived.came), Some(1));
        assert_eq!((queue.attendants(scope), queue.attendants(None)), (1, 0));
    }
}
