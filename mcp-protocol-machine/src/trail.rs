//! Trails: the states in which a side may still take a channel, or a sub-session, to be.
//!
//! What one side sends comes from the state that this side knows of. That is the state of the wire, or one that a step
//! of the other side has left, if the sender may not have received that step. A message is late if it is a step in such
//! a state and not in the state of the wire.

use std::collections::{HashSet, VecDeque};

use crate::fence::{BothWays, Fence, Receipts};
use crate::id::RequestId;
use crate::protocol::{Action, Direction, MessageIndex, Origin, Role, StateIndex, StateKind};

/// How many states a trail keeps for a side. Older ones become one, in which everything is possible.
const KEPT: usize = 16;

/// A step that led to another state, and its fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// The message; nothing where the session was begun elsewhere.
    pub(crate) by: Option<MessageIndex>,
    pub(crate) fence: Fence,
}

/// A state that a side may take for the present one, because it may not have received the step that left it.
#[derive(Clone, Debug)]
struct Behind {
    /// Nothing where any state is possible.
    state: Option<StateIndex>,
    left: Left,
    /// The number of that step. Channels that were one before it have it under the same number.
    number: u64,
    /// The request that this step ends, by a reply or a cancel, if the other one of them may have crossed it.
    ends: Option<EndedRequest>,
}

/// A request that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndedRequest {
    /// The side that sent it.
    pub(crate) asker: Direction,
    pub(crate) id: RequestId,
}

/// What a trail is read with: the tables, and what replies have proven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) role: Option<&'a Role>,
    /// What is known of the followed role's messages.
    pub(crate) sent: &'a Receipts,
    /// What is known of its peer's messages.
    pub(crate) received: &'a Receipts,
    /// Messages are seen in the order in which each side wrote them. Without that nothing is proven.
    pub(crate) ordered: bool,
}

impl Evidence<'_> {
    /// Whether the step in a direction that has this fence is known to be received.
    pub(crate) fn is_past(&self, by: Direction, fence: Fence) -> bool {
        let receipts = match by {
            Direction::Send => self.sent,
            Direction::Receive => self.received,
        };
        self.ordered && receipts.is_past(fence)
    }

    /// Whether nothing is left of a channel in a state.
    fn is_end(&self, state: StateIndex) -> bool {
        self.role.and_then(|role| role.state(state)).is_some_and(|table| table.kind == StateKind::End)
    }

    /// Whether a side can write a message in a state.
    fn is_step(&self, state: Option<StateIndex>, direction: Direction, message: MessageIndex) -> bool {
        let step = |state| self.role?.state(state)?.edge(direction, message);
        state.is_none_or(|state| step(state).is_some_and(|edge| edge.origin != Origin::Closure))
    }

    /// Where a message leads that a side can write in a state. A cancel is not looked for: the request that it names says
    /// whether it is late.
    fn step(&self, state: StateIndex, direction: Direction, message: MessageIndex) -> Option<Action> {
        let edge = self.role?.state(state)?.edge(direction, message)?;
        matches!(edge.origin, Origin::Written | Origin::Refusal).then_some(edge.action)
    }

    /// Where a message leads in a state of the channel, or the sub-session, that starts in a state: the first one in which
    /// a side can write it.
    fn any_step(&self, start: StateIndex, direction: Direction, message: MessageIndex) -> Option<Action> {
        let mut seen = HashSet::from([start]);
        let mut waiting = VecDeque::from([start]);
        while let Some(state) = waiting.pop_front() {
            let step = self.step(state, direction, message);
            if step.is_some() {
                return step;
            }
            let Some(table) = self.role?.state(state) else { continue };
            let steps = table.edges.iter().filter_map(|edge| match edge.action {
                Action::Step(to) => Some(to),
                Action::Spawn(_) => None,
            });
            waiting.extend(steps.chain(table.parts.iter().copied()).filter(|to| seen.insert(*to)));
        }
        None
    }

    /// Where the followed role goes from a state by a message that it receives, also a late one.
    fn received(&self, state: StateIndex, message: MessageIndex) -> Option<StateIndex> {
        match self.role?.state(state)?.edge(Direction::Receive, message)?.action {
            Action::Step(to) => Some(to),
            Action::Spawn(_) => Some(state),
        }
    }

    /// The state behind a message.
    fn after(&self, state: StateIndex, direction: Direction, message: MessageIndex) -> Option<StateIndex> {
        let edge = self.role?.state(state).and_then(|table| table.edge(direction, message));
        let Some(Action::Step(to)) = edge.map(|edge| edge.action) else { return Some(state) };
        // Which part a channel would be is not followed.
        Some(to).filter(|to| {
            self.role.and_then(|role| role.state(*to)).is_some_and(|to| to.kind != StateKind::Fork)
        })
    }

    /// Whether a side has nothing to write in a state: it goes on only with what it receives.
    fn is_silent(&self, state: StateIndex, direction: Direction) -> bool {
        let table = self.role.and_then(|role| role.state(state));
        let mut edges = table.into_iter().flat_map(|table| table.edges.iter());
        !edges.any(|edge| edge.direction == direction && edge.origin != Origin::Closure)
    }

    fn is_suspended(&self, state: Option<StateIndex>, direction: Direction) -> bool {
        let table = state.and_then(|state| self.role?.state(state));
        table.is_some_and(|table| table.only.suspends(direction))
    }
}

/// The states behind the present one in which each side may take a channel, or a sub-session, to be.
///
/// Invariant: for each direction in which a side sends, oldest first, in the order of the steps of the other side that
/// left them; at most [`KEPT`]. The first ones may be missing if the side has nothing to write there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    behind: BothWays<Vec<Behind>>,
}

impl Trail {
    /// A trail whose beginning was not seen: what either side did last has these fences.
    pub(crate) fn unseen(send: Fence, receive: Fence) -> Trail {
        let anywhere =
            |fence| vec![Behind { state: None, left: Left { by: None, fence }, number: 0, ends: None }];
        Trail { behind: BothWays::new(anywhere(receive), anywhere(send)) }
    }

    /// Whether a side that may be in a state, and in none before it, writes nothing there.
    pub(crate) fn is_silent(&self, side: Direction, state: StateIndex, evidence: &Evidence<'_>) -> bool {
        self.behind.get(side).is_empty() && evidence.is_silent(state, side)
    }

    /// A message in a direction leads from a state to another one. What it says of its sender is for [`said`].
    pub(crate) fn leave(
        &mut self,
        by: Direction,
        state: StateIndex,
        left: Left,
        number: u64,
        evidence: &Evidence<'_>,
    ) {
        let behind = self.behind.get_mut(by.flip());
        behind.retain(|known| !evidence.is_past(by, known.left.fence));
        if behind.len() >= KEPT {
            behind.remove(0);
            if let Some(oldest) = behind.first_mut() {
                oldest.state = None;
            }
        }
        behind.push(Behind { state: Some(state), left, number, ends: None });
    }

    /// The step with a number, in a direction, ends a request, which the other side may end before it receives that.
    pub(crate) fn ends(&mut self, number: u64, by: Direction, request: &EndedRequest) {
        let behind = self.behind.get_mut(by.flip()).iter_mut();
        behind.filter(|known| known.number == number).for_each(|known| known.ends = Some(request.clone()));
    }

    /// The step that ends a request, if a side may not have received it.
    fn end_of(&self, request: &EndedRequest, side: Direction) -> Option<&Behind> {
        self.behind.get(side).iter().find(|known| known.ends.as_ref() == Some(request))
    }

    /// A side has taken a step that it takes in no suspending state.
    pub(crate) fn awake(&mut self, by: Direction, evidence: &Evidence<'_>) {
        let behind = self.behind.get_mut(by);
        if evidence.ordered && !behind.is_empty() {
            let suspended = behind.iter().take_while(|known| evidence.is_suspended(known.state, by)).count();
            behind.drain(..suspended);
        }
    }

    /// The step of the other side that a message has crossed, if its sender may not have received it.
    pub(crate) fn crossed(
        &self,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Left> {
        let mut behind = self.behind.get(direction).iter().rev();
        let found = behind.find(|known| {
            !evidence.is_past(direction.flip(), known.left.fence)
                && (!evidence.ordered || evidence.is_step(known.state, direction, message))
        });
        found.map(|known| known.left)
    }

    /// The same for a message that the followed role has sent and that the present state has no edge for: what it is
    /// there. The role has sent it in a state that the other side has left, and comes to where it comes if it takes this
    /// step first and what it had not received after it. A message that leads back to its state is late, and leaves the
    /// present state as it is. Of a side that is in a state which is not kept, any message is taken that the channel, or
    /// the sub-session, has from its start on.
    pub(crate) fn sent(
        &self,
        start: StateIndex,
        present: StateIndex,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Crossed> {
        let by = Direction::Send;
        let behind = self.behind.get(by);
        behind.iter().enumerate().rev().find_map(|(place, known)| {
            if evidence.is_past(by.flip(), known.left.fence) {
                return None;
            }
            let left = known.left;
            let late = Action::Step(present);
            let Some(state) = known.state else {
                let action = match evidence.any_step(start, by, message)? {
                    Action::Step(_) => late,
                    Action::Spawn(body) => Action::Spawn(body),
                };
                return Some(Crossed { action, left });
            };
            let action = match evidence.step(state, by, message)? {
                Action::Spawn(body) => Action::Spawn(body),
                Action::Step(to) if to == state => late,
                Action::Step(to) => {
                    replay(behind.get(place..)?, to, present, evidence).map_or(late, Action::Step)
                }
            };
            Some(Crossed { action, left })
        })
    }

    /// The first state in which a side may take the sub-session to be, if that is not the present one, and the fence of
    /// the last step of the other side that it may not have received.
    pub(crate) fn unreceived(
        &self,
        direction: Direction,
        evidence: &Evidence<'_>,
    ) -> Option<(StateIndex, Fence)> {
        let last = self.behind.get(direction).last()?;
        Some((self.oldest(direction, evidence)?, last.left.fence))
    }

    /// The fence of the last step of the other side that a side may not have received, and without which the channel is
    /// open for it.
    pub(crate) fn open_until(&self, direction: Direction, evidence: &Evidence<'_>) -> Option<Fence> {
        let unreceived = |known: &&Behind| !evidence.is_past(direction.flip(), known.left.fence);
        let is_open = |known: &&Behind| known.state.is_none_or(|state| !evidence.is_end(state));
        let behind = self.behind.get(direction).iter();
        behind.filter(unreceived).filter(is_open).map(|known| known.left.fence).max()
    }

    /// The states before the present one in which a side may take the channel to be, the first one first.
    pub(crate) fn earlier_states(
        &self,
        direction: Direction,
        evidence: &Evidence<'_>,
    ) -> impl Iterator<Item = StateIndex> {
        let behind = self.behind.get(direction).iter();
        let unreceived = move |known: &&Behind| !evidence.is_past(direction.flip(), known.left.fence);
        behind.filter(unreceived).filter_map(|known| known.state)
    }

    /// The first state in which a side may take the sub-session to be, if that is not the present one.
    pub(crate) fn oldest(&self, direction: Direction, evidence: &Evidence<'_>) -> Option<StateIndex> {
        let mut behind = self.behind.get(direction).iter();
        behind.find(|known| !evidence.is_past(direction.flip(), known.left.fence))?.state
    }
}

/// Where a side comes to that was in the first of these states and has gone from there to another one, once it has
/// received what has left them. Nothing where that is not known.
fn replay(
    behind: &[Behind],
    to: StateIndex,
    present: StateIndex,
    evidence: &Evidence<'_>,
) -> Option<StateIndex> {
    let mut at = to;
    for (place, known) in behind.iter().enumerate() {
        let by = known.left.by?;
        let next = behind.get(place + 1).map_or(Some(present), |next| next.state)?;
        // Between them nothing is missing.
        if evidence.received(known.state?, by)? != next {
            return None;
        }
        // Who is at an end drops what still arrives.
        if !evidence.is_end(at) {
            at = evidence.received(at, by)?;
        }
    }
    Some(at)
}

/// A message that is a step only where its sender may still be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossed {
    /// What it is in the present state.
    pub(crate) action: Action,
    pub(crate) left: Left,
}

/// A side has sent a message that belongs to one of these trails: it was in a state that has the message as a step, and
/// goes on from there. Other trails that were one with this before learn the same.
pub(crate) fn said(
    trails: &mut [Trail],
    place: usize,
    by: Direction,
    message: MessageIndex,
    evidence: &Evidence<'_>,
) {
    said_until(u64::MAX, trails, place, by, (by, message), evidence);
}

/// The sender of a request has cancelled it and had not received its reply. It goes on from where the cancel leads, and
/// drops the reply.
pub(crate) fn cancelled(
    trails: &mut [Trail],
    request: &EndedRequest,
    cancel: MessageIndex,
    evidence: &Evidence<'_>,
) {
    ended(trails, request, request.asker, |_| Some(cancel), evidence);
}

/// The receiver of a request has replied and had not received its cancel. It goes on from where the reply leads, and drops
/// the cancel.
pub(crate) fn replied(trails: &mut [Trail], request: &EndedRequest, evidence: &Evidence<'_>) {
    ended(trails, request, request.asker.flip(), |end| end.left.by, evidence);
}

/// A side has ended a request that the other side has ended, too. Reply and cancel lead to one state, and are steps of the
/// same states: so it is where the cancel leads, and need not receive the step of the other side to be where that has led.
fn ended(
    trails: &mut [Trail],
    request: &EndedRequest,
    side: Direction,
    cancel: impl Fn(&Behind) -> Option<MessageIndex>,
    evidence: &Evidence<'_>,
) {
    let mut ends = trails.iter().map(|trail| trail.end_of(request, side)).enumerate();
    let found = ends.find_map(|(place, end)| Some((place, end?.number, cancel(end?)?)));
    let Some((place, number, cancel)) = found else { return };
    if !evidence.ordered {
        return;
    }
    said_until(number, trails, place, side, (request.asker, cancel), evidence);
    for trail in trails {
        trail.behind.get_mut(side).retain(|known| known.number != number);
    }
}

/// What [`said`] does, where the sender may have been in the states that were left by the step with a number or before it,
/// and in those after it does not go on by its message. Where that leads is where the edge for `step` leads.
fn said_until(
    last: u64,
    trails: &mut [Trail],
    place: usize,
    by: Direction,
    (direction, message): (Direction, MessageIndex),
    evidence: &Evidence<'_>,
) {
    let Some(trail) = trails.get_mut(place) else { return };
    if !evidence.ordered || trail.behind.get(by).is_empty() {
        return;
    }
    let mut own = std::mem::take(trail.behind.get_mut(by));
    own.retain(|known| !evidence.is_past(by.flip(), known.left.fence));
    let is_step = |known: &Behind| known.number > last || evidence.is_step(known.state, direction, message);
    let first = own.iter().position(is_step).unwrap_or(own.len());
    let after = |known: &Behind| match known.number > last {
        true => known.state,
        false => known.state.and_then(|state| evidence.after(state, direction, message)),
    };
    for other in trails.iter_mut() {
        other.behind.get_mut(by).retain_mut(|known| {
            let shared = own.iter().position(|own| own.number == known.number);
            if shared.is_some() {
                known.state = after(known);
            }
            shared.is_none_or(|shared| shared >= first)
        });
    }
    own.drain(..first);
    own.iter_mut().for_each(|known| known.state = after(known));
    if let Some(trail) = trails.get_mut(place) {
        *trail.behind.get_mut(by) = own;
    }
}
