//! Sessions without types: what each of them is told of, and whose turn it is of what waits.
//!
//! In: results and reports of the calls that it made, requests that were taken back which it holds. Out: these, and
//! the inputs that wait for everyone, in the order in which they came. Refuses to take replicated inputs from a queue
//! that somebody else attends, and to keep anything once the session without types is gone.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, RequestId};

use super::arrivals::{LinearInput, Verdict};
use super::context::Caller;
use super::engine::Engine;
use super::order::{Held, Turns};
use super::wakers::{Waiter, Waiting};
use crate::jsonrpc::RpcError;

/// A session without types, among those of one session: there are several once linear channels are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FaceKey(u32);

/// What a session without types is told of.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// A call has its result.
    Answered(i64),
    /// A report on a call waits.
    Progress(i64),
    /// The peer has taken a request back.
    TakenBack(RequestId),
}

/// Where the next thing is to be taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// From the linear inputs: this message.
    Linear(MessageIndex),
    /// From the replicated inputs.
    Replicated,
    /// From what only this session without types is told.
    Told,
    /// From nowhere: the session is over.
    Over,
}

/// The sessions without types.
#[derive(Debug, Default)]
pub(crate) struct Faces {
    faces: Vec<Face>,
    next: u32,
}

#[derive(Debug)]
struct Face {
    key: FaceKey,
    /// With the number of the message by which it came. No more than there are calls, requests held, and reports
    /// that wait.
    told: VecDeque<(u64, Told)>,
    waiting: Waiting,
    waiter: Waiter,
    /// How often it was polled while what it waits for was held back.
    turns: Turns,
}

impl Faces {
    fn get_mut(&mut self, key: FaceKey) -> Option<&mut Face> {
        self.faces.iter_mut().find(|face| face.key == key)
    }
}

impl Engine {
    /// There is one more session without types. It attends to replicated inputs.
    pub(crate) fn face_made(&mut self) -> FaceKey {
        let key = FaceKey(self.faces.next);
        self.faces.next = self.faces.next.wrapping_add(1);
        let (told, waiting, waiter) = (VecDeque::new(), Waiting::default(), Waiter::default());
        self.faces.faces.push(Face { key, told, waiting, waiter, turns: Turns::default() });
        self.attend();
        key
    }

    /// A session without types is gone. Its calls are let go of, and what it held is answered with an error.
    pub(crate) fn face_left(&mut self, caller: Caller, key: FaceKey) {
        for id in self.calls_of(key) {
            self.let_go(caller, id);
        }
        for id in self.held_by(key) {
            // If the session is over, there is nobody to tell.
            let _ = self.reply_error(
                caller,
                &id,
                &RpcError::internal_error("the request was dropped unanswered"),
            );
        }
        if let Some(face) = self.faces.get_mut(key) {
            face.waiter.leave(&mut self.effects);
        }
        self.faces.faces.retain(|face| face.key != key);
        self.leave();
    }

    /// Tells a session without types of something.
    pub(super) fn tell_face(&mut self, key: FaceKey, told: Told) {
        let came = self.came;
        if let Some(face) = self.faces.get_mut(key) {
            face.told.push_back((came, told));
            if self.may_wake(Held::Face(key)) {
                self.wake_face(key);
            }
        }
    }

    /// A session without types looks again.
    pub(super) fn wake_face(&mut self, key: FaceKey) {
        if let Some(face) = self.faces.get_mut(key) {
            face.waiting.wake(&mut self.effects);
        }
    }

    /// What a session without types is told of first.
    pub(crate) fn told(&mut self, key: FaceKey) -> Option<Told> {
        self.faces.get_mut(key).and_then(|face| face.told.pop_front()).map(|(_, told)| told)
    }

    /// The result of a call goes to a session without types, and so do reports on it.
    pub(crate) fn asked_by(&mut self, id: i64, key: FaceKey) {
        if let Some(pending) = self.calls.get_mut(&id) {
            pending.face = Some(key);
            pending.progress.get_or_insert_default();
        }
    }

    /// A session without types answers a request of the peer.
    pub(crate) fn hold(&mut self, id: &RequestId, key: FaceKey) {
        let Some(owed) = self.owed.get_mut(id) else { return };
        owed.face = Some(key);
        if owed.cancelled {
            self.tell_face(key, Told::TakenBack(id.clone()));
        }
    }

    /// Whether a session without types may answer a request: it holds it, or nobody does any more.
    pub(crate) fn may_answer(&mut self, id: &RequestId, key: FaceKey) -> bool {
        match self.owed.get_mut(id) {
            Some(owed) => owed.face == Some(key),
            None => self.checker.awaiting(Direction::Send, id) == Awaiting::Retired,
        }
    }

    /// A request that was taken back is answered by nobody.
    pub(crate) fn forget_taken_back(&mut self, id: &RequestId) {
        // In a session that was begun anew, another request may have the id.
        if self.owed.get(id).is_some_and(|owed| owed.cancelled) {
            self.owed.remove(id);
        }
    }

    /// The calls of a session without types.
    pub(crate) fn calls_of(&self, key: FaceKey) -> Vec<i64> {
        let of = self.calls.iter().filter(|(_, pending)| pending.face == Some(key));
        let mut calls: Vec<i64> = of.map(|(id, _)| *id).collect();
        calls.sort_unstable();
        calls
    }

    /// The requests beside the linear channels that a session without types holds.
    pub(crate) fn held_by(&self, key: FaceKey) -> Vec<RequestId> {
        let of = self.owed.iter().filter(|(_, owed)| owed.face == Some(key) && !owed.linear);
        let mut held: Vec<RequestId> = of.map(|(id, _)| id.clone()).collect();
        held.sort_unstable();
        held
    }

    /// Waits until there is something to take, and says where: what came first is taken first.
    pub(crate) fn poll_turn(
        &mut self,
        context: &Context<'_>,
        key: FaceKey,
        mut judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Turn> {
        let linear = self.linear.iter().find(|input| !matches!(judge(input), Verdict::Skip));
        let linear = linear.map(|input| (input.came, Turn::Linear(input.message)));
        // What somebody else attends to is theirs.
        let mine = self.attendants <= self.faces.faces.len();
        let replicated =
            self.incoming.front().filter(|_| mine).map(|arrived| (arrived.came, Turn::Replicated));
        let goes_on = self.goes_on();
        let Some(face) = self.faces.get_mut(key) else { return Poll::Ready(Turn::Over) };
        let told = face.told.front().map(|(came, _)| (*came, Turn::Told));
        if let Some((came, turn)) = linear.into_iter().chain(replicated).chain(told).min() {
            let mut turns = face.turns;
            let free = self.held_back_for(context, &mut turns, Some((came, Held::Face(key))));
            if free {
                return Poll::Ready(turn);
            }
            if let Some(face) = self.faces.get_mut(key) {
                face.turns = turns;
            }
        } else if !goes_on {
            return Poll::Ready(Turn::Over);
        }
        let Some(face) = self.faces.get_mut(key) else { return Poll::Ready(Turn::Over) };
        let Face { waiting, waiter, .. } = face;
        for waiting in [waiting, &mut self.linear_waiting, &mut self.incoming_waiting] {
            waiting.register(context, waiter, &mut self.effects);
        }
        Poll::Pending
    }
}
