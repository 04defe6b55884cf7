//! The books of sub-sessions that are tied by a key: where each is, and what finds it.
//!
//! Each body of a `*` has its own [`Space`] of values. Bodies are distinguished by their messages, which parallel
//! channels do not share. A `*` in the body of another one has a space in each sub-session of that: what finds the inner
//! sub-session is the values of the outer one, and then its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::bodies::Bodies;
use crate::capability::Capabilities;
use crate::channels::Channels;
use crate::endings::{Ended, Endings, Space};
use crate::exchange::Opened;
use crate::fence::{BothWays, Fence};
use crate::id::{KeyValue, Limits, RequestId, SubSessionNumber};
use crate::protocol::{Direction, KeyIndex, MessageIndex, StateIndex};
use crate::trail::{EndedRequest, Evidence, Left};

/// What ties a message to a running sub-session, as the reader of the wire finds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Correlation<'a> {
    /// The values of the keys that the message carries.
    pub keys: &'a [(KeyIndex, KeyValue)],
    /// What the message is meant for, if its sender knows.
    pub meant: Meant,
    /// What a request announces for as long as it runs, where each request of its side does that.
    pub announces: Option<&'a Capabilities>,
    /// What the message grants to its sender; a request, as soon as it is written.
    pub grants: Option<&'a Capabilities>,
    /// What the message revokes; a request, with its result.
    pub revokes: Option<&'a Capabilities>,
    /// Of a reply: the values in those members of its envelope that its request has as keys.
    pub members: &'a [(KeyIndex, KeyValue)],
}

/// What a message is meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meant {
    /// Whatever its keys find.
    #[default]
    Anything,
    /// This sub-session: another one refuses it.
    SubSession(SubSessionNumber),
    /// No running sub-session: it opens one, or is uncorrelated, and a sub-session that its keys find refuses it.
    New,
    /// The same within this sub-session.
    NewWithin(SubSessionNumber),
}

impl Meant {
    /// The sub-session that it is meant for, or within which it opens another one.
    pub const fn sub_session(self) -> Option<SubSessionNumber> {
        match self {
            Meant::SubSession(meant) | Meant::NewWithin(meant) => Some(meant),
            Meant::Anything | Meant::New => None,
        }
    }
}

impl<'a> Correlation<'a> {
    /// The values of keys, as they were read from a message.
    pub const fn keys(keys: &'a [(KeyIndex, KeyValue)]) -> Correlation<'a> {
        Correlation::meant(keys, Meant::Anything)
    }

    /// The same for what a side means for something.
    pub const fn meant(keys: &'a [(KeyIndex, KeyValue)], meant: Meant) -> Correlation<'a> {
        Correlation { keys, meant, announces: None, grants: None, revokes: None, members: &[] }
    }

    /// Sets what a reply has in members of its envelope.
    #[must_use]
    pub const fn with_members(mut self, members: &'a [(KeyIndex, KeyValue)]) -> Correlation<'a> {
        self.members = members;
        self
    }

    /// Sets what a request announces for as long as it runs.
    #[must_use]
    pub const fn announcing(mut self, capabilities: Option<&'a Capabilities>) -> Correlation<'a> {
        self.announces = capabilities;
        self
    }

    /// Sets what the message grants, and what it revokes.
    #[must_use]
    pub const fn changing(
        mut self,
        grants: Option<&'a Capabilities>,
        revokes: Option<&'a Capabilities>,
    ) -> Correlation<'a> {
        self.grants = grants;
        self.revokes = revokes;
        self
    }
}

/// A sub-session that goes on.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Where it is: channels, as a session has them.
    pub(crate) channels: Channels,
    space: Space,
    /// The request that opened it, and who sent that.
    pub(crate) opener: Option<(Direction, RequestId)>,
    /// Which way its first message went.
    by: Direction,
    /// The side that did not open it has sent something in it, and so knows of it.
    known: bool,
    /// How sub-sessions ended that held one of its values before, oldest first. The side that has ended them has given
    /// the value to this one; what the other side sends under it may be meant for them until it takes a step in this
    /// one. Without order that proves nothing, and neither does the use of the value.
    reused: Vec<(KeyIndex, Ended)>,
    /// Its own values: those that no sub-session around it holds.
    keys: Vec<(KeyIndex, KeyValue)>,
    /// Its later requests that await a reply.
    pub(crate) open: Vec<(Direction, RequestId)>,
    /// Where sub-sessions within it were when they ended before they held values of their own. A reply may still bring
    /// one.
    nameless: BTreeSet<StateIndex>,
}

impl Running {
    /// Where its values are unique.
    pub(crate) fn space(&self) -> Space {
        self.space
    }

    /// Its own value of a key.
    fn value(&self, key: KeyIndex) -> Option<&KeyValue> {
        self.keys.iter().find(|(held, _)| *held == key).map(|(_, value)| value)
    }

    /// Whether the sender of a direction may not know of the sub-session yet.
    pub(crate) fn may_be_unknown(&self, sender: Direction) -> bool {
        !self.known && sender != self.by
    }

    /// The sub-sessions before it for which what comes under a value of a key may be late, the newest first.
    pub(crate) fn reused(&self, key: KeyIndex) -> impl Iterator<Item = &Ended> {
        self.reused.iter().rev().filter(move |(held, _)| *held == key).map(|(_, ended)| ended)
    }

    /// A side has taken a step in it, so it knows of the end of those before it.
    fn heard(&mut self, by: Direction, evidence: &Evidence<'_>) {
        if evidence.ordered {
            let reused = std::mem::take(&mut self.reused).into_iter();
            self.reused = reused.filter_map(|(key, ended)| Some((key, ended.heard_by(by)?))).collect();
        }
    }
}

/// What a message finds by the values that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueHolder {
    /// The sub-session that it belongs to.
    Running(SubSessionNumber),
    /// No sub-session in the space where its values are looked for. `last` says that it is the space of the message's
    /// own body, and not one around that.
    Missing { space: Space, last: bool },
}

/// Where a step leads one channel of a sub-session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    /// Which of its linear channels.
    pub(crate) place: usize,
    pub(crate) to: StateIndex,
    /// The message shows that its sender knows the state it leads from. One that may have been sent before its sender
    /// knew of the sub-session, because its key is open, shows nothing.
    pub(crate) shows_state: bool,
}

/// A step of a sub-session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubSessionStep {
    pub(crate) by: Direction,
    pub(crate) message: MessageIndex,
    pub(crate) fence: Fence,
    /// It ends the sub-session, in whatever state that is.
    pub(crate) cuts: bool,
}

/// Every sub-session that a key ties together.
#[derive(Clone, Debug)]
pub(crate) struct SubSessions {
    bodies: Arc<Bodies>,
    // Ordered, so that what is asked of all of them does not depend on chance.
    running: BTreeMap<SubSessionNumber, Running>,
    holders: HashMap<(Space, KeyIndex, KeyValue), SubSessionNumber>,
    /// The values of sub-sessions that are over.
    past: Endings,
    next: u64,
}

impl SubSessions {
    pub(crate) fn new(bodies: Arc<Bodies>) -> SubSessions {
        SubSessions {
            bodies,
            running: BTreeMap::new(),
            holders: HashMap::new(),
            past: Endings::default(),
            next: 0,
        }
    }

    /// The body that starts in a state, if keys tie its steps.
    pub(crate) fn starts(&self, state: StateIndex) -> Option<u32> {
        self.bodies.starts(state)
    }

    /// The body that has a message as a later step, the innermost one.
    pub(crate) fn later(&self, direction: Direction, message: MessageIndex) -> Option<u32> {
        self.bodies.later(direction, message)
    }

    /// That body and those around it, the outermost first. Empty if no body has the message as a later step.
    pub(crate) fn way_of(&self, direction: Direction, message: MessageIndex) -> &[u32] {
        self.later(direction, message).map(|body| self.bodies.way(body)).unwrap_or_default()
    }

    /// Whether a message may be a step of a running sub-session that holds its values, or open one within that.
    pub(crate) fn may_have(
        &self,
        direction: Direction,
        message: MessageIndex,
        keys: &[(KeyIndex, KeyValue)],
    ) -> bool {
        let Some(body) = self.later(direction, message) else { return false };
        match self.find(body, keys) {
            ValueHolder::Running(_) => true,
            // As a step it belongs to the inner body, where it finds none.
            ValueHolder::Missing { space, last } => {
                last && space.outer.is_some() && self.bodies.opens(body, direction, message)
            }
        }
    }

    pub(crate) fn get(&self, sub_session: SubSessionNumber) -> Option<&Running> {
        self.running.get(&sub_session)
    }

    /// The number of the channel of a sub-session that has its first message.
    pub(crate) fn first_channel(&self, sub_session: SubSessionNumber) -> u32 {
        self.get(sub_session).map(|running| running.channels.first()).unwrap_or_default()
    }

    /// How many run.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// The states that sub-sessions are in.
    pub(crate) fn states(&self) -> impl Iterator<Item = StateIndex> {
        self.running.values().flat_map(|sub_session| sub_session.channels.states().iter().copied())
    }

    /// The running sub-session of a body that holds the values which a message carries. It is looked for within the
    /// sub-sessions around it, the outermost first.
    pub(crate) fn find(&self, body: u32, keys: &[(KeyIndex, KeyValue)]) -> ValueHolder {
        let mut outer = None;
        for &around in self.bodies.way(body) {
            let space = Space { body: around, outer };
            match keys.iter().find_map(|(key, value)| self.holder(space, *key, value)) {
                Some(holder) => outer = Some(holder),
                None => return ValueHolder::Missing { space, last: around == body },
            }
        }
        outer.map_or(ValueHolder::Missing { space: Space::of(body), last: true }, ValueHolder::Running)
    }

    /// The running sub-session that holds a value of a key.
    pub(crate) fn holder(&self, space: Space, key: KeyIndex, value: &KeyValue) -> Option<SubSessionNumber> {
        self.holders.get(&(space, key, value.clone())).copied()
    }

    /// How the sub-sessions ended that held one of these values, those of each value with the newest first.
    pub(crate) fn ended(&self, space: Space, keys: &[(KeyIndex, KeyValue)]) -> impl Iterator<Item = &Ended> {
        keys.iter().flat_map(move |(key, value)| self.past.get(space, *key, value))
    }

    /// The same, with those that held a value before a running sub-session.
    pub(crate) fn before(&self, space: Space, keys: &[(KeyIndex, KeyValue)]) -> impl Iterator<Item = &Ended> {
        let reused = keys.iter().flat_map(move |(key, value)| {
            let holder = self.holder(space, *key, value).and_then(|holder| self.get(holder));
            holder.into_iter().flat_map(|holder| holder.reused(*key))
        });
        self.ended(space, keys).chain(reused)
    }

    /// Those that held one of these values before a sub-session, or before one around it.
    pub(crate) fn reused_around(
        &self,
        sub_session: Option<SubSessionNumber>,
        keys: &[(KeyIndex, KeyValue)],
    ) -> impl Iterator<Item = &Ended> {
        let around = self.around(sub_session);
        around.flat_map(move |running| {
            let held = keys.iter().filter(|(key, value)| running.value(*key) == Some(value));
            held.flat_map(|(key, _)| running.reused(*key))
        })
    }

    /// The value of a key that a sub-session holds, or one around it.
    pub(crate) fn value(&self, sub_session: SubSessionNumber, key: KeyIndex) -> Option<&KeyValue> {
        self.around(Some(sub_session)).find_map(|running| running.value(key))
    }

    /// A sub-session and those around it, the innermost first.
    fn around(&self, sub_session: Option<SubSessionNumber>) -> impl Iterator<Item = &Running> {
        let first = sub_session.and_then(|number| self.running.get(&number));
        std::iter::successors(first, |running| self.running.get(&running.space.outer?))
    }

    /// A sub-session of a body starts, if keys tie its steps: in the session itself, or within another one. `opened` is its
    /// first message, and the id of that if it is a request.
    pub(crate) fn start(
        &mut self,
        state: StateIndex,
        outer: Option<SubSessionNumber>,
        by: Direction,
        opened: (Left, Option<RequestId>),
        keys: &[(KeyIndex, KeyValue)],
        evidence: &Evidence<'_>,
    ) -> Option<SubSessionNumber> {
        let (left, opener) = opened;
        let space = Space { body: self.starts(state)?, outer };
        let mut channels = Channels::of_sub_session(state, evidence.role);
        if let Some(other) = self.bodies.other_opening(state) {
            channels.also_opened_at(other, by, left, evidence);
        }
        let sub_session = SubSessionNumber(self.next);
        self.next = self.next.wrapping_add(1);
        let running = Running {
            channels,
            space,
            opener: opener.map(|id| (by, id)),
            by,
            known: false,
            reused: Vec::new(),
            keys: Vec::new(),
            open: Vec::new(),
            nameless: BTreeSet::new(),
        };
        self.running.insert(sub_session, running);
        self.hold(sub_session, by, keys, evidence);
        Some(sub_session)
    }

    /// A sub-session moves on by a step, and holds the values that it did not hold before.
    pub(crate) fn advance(
        &mut self,
        sub_session: SubSessionNumber,
        lead: Lead,
        step: SubSessionStep,
        keys: &[(KeyIndex, KeyValue)],
        evidence: &Evidence<'_>,
    ) {
        let Lead { place, to, shows_state } = lead;
        if shows_state {
            self.said(sub_session, place, step.by, step.message, evidence);
        }
        if let Some(running) = self.running.get_mut(&sub_session)
            && running.channels.state(place) != Some(to)
        {
            // What leaves the sub-session where it is may come from before it, too.
            running.known |= step.by != running.by;
            running.heard(step.by, evidence);
            let left = Left { by: Some(step.message), fence: step.fence };
            running.channels.leave(place, step.by, left, evidence);
            if let Some(role) = evidence.role {
                running.channels.put(place, to, role);
            }
        }
        self.hold(sub_session, step.by, keys, evidence);
    }

    /// The sender of a request that has its reply, and that may have been a later one of a sub-session, has cancelled it.
    pub(crate) fn cancelled(
        &mut self,
        request: &EndedRequest,
        cancel: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        for running in self.running.values_mut() {
            running.channels.cancelled(request, cancel, evidence);
        }
    }

    /// The receiver of a request that was cancelled, and that may have been a later one of a sub-session, has replied to it.
    pub(crate) fn replied(&mut self, request: &EndedRequest, evidence: &Evidence<'_>) {
        for running in self.running.values_mut() {
            running.channels.replied(request, evidence);
        }
    }

    /// The steps of a sub-session so far.
    pub(crate) fn steps(&self, sub_session: SubSessionNumber) -> u64 {
        self.get(sub_session).map_or(0, |running| running.channels.steps())
    }

    /// The reply to a later request of a sub-session, or its cancel, was taken in a direction, before which there were so
    /// many steps: the other one may have crossed it.
    pub(crate) fn ends(
        &mut self,
        sub_session: SubSessionNumber,
        by: Direction,
        request: &EndedRequest,
        before: u64,
    ) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            running.channels.ended(by, request, before);
        }
    }

    /// A message in a direction was accepted for a channel of a sub-session that goes on, also as one that is late.
    pub(crate) fn said(
        &mut self,
        sub_session: SubSessionNumber,
        place: usize,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            running.channels.said(place, direction, message, evidence);
        }
    }

    /// A side gives values to a sub-session, if it does not hold others.
    fn hold(
        &mut self,
        sub_session: SubSessionNumber,
        by: Direction,
        keys: &[(KeyIndex, KeyValue)],
        evidence: &Evidence<'_>,
    ) {
        let new = keys.iter().filter(|(key, _)| self.value(sub_session, *key).is_none());
        let new: Vec<&(KeyIndex, KeyValue)> = new.collect();
        let Some(running) = self.running.get_mut(&sub_session) else { return };
        for (key, value) in new {
            running.keys.push((*key, value.clone()));
            let before = self.past.take(running.space, *key, value);
            // The side that uses a value again knows that the sub-sessions which held it before are over.
            let before = before.filter_map(|ended| match evidence.ordered {
                true => ended.reused_by(by),
                false => Some(ended),
            });
            running.reused.extend(before.map(|ended| (*key, ended)));
            self.holders.insert((running.space, *key, value.clone()), sub_session);
        }
    }

    /// A later request of a sub-session was sent.
    pub(crate) fn asked(&mut self, sub_session: SubSessionNumber, direction: Direction, id: &RequestId) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            running.open.push((direction, id.clone()));
        }
    }

    /// A later request of a sub-session has its reply.
    pub(crate) fn answered(&mut self, sub_session: SubSessionNumber, direction: Direction, id: &RequestId) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            running.open.retain(|(asker, open)| *asker != direction || open != id);
        }
    }

    /// A side has taken a step in a sub-session, so it knows of the end of those before it.
    pub(crate) fn heard(&mut self, sub_session: SubSessionNumber, by: Direction, evidence: &Evidence<'_>) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            running.heard(by, evidence);
        }
    }

    /// A sub-session is over, by this step of the channel at a place, or because one around it is. Its values are
    /// remembered, so that what is late for it can be told from what never was: the newest [`Limits::remembered`] of each
    /// key of a body, and no more text than [`Limits::remembered_bytes`]. A value beyond that is one that no sub-session
    /// ever held. `awaited` says whether requests of the other side than the step's await a reply in it or within it.
    pub(crate) fn end(
        &mut self,
        sub_session: SubSessionNumber,
        place: usize,
        step: SubSessionStep,
        awaited: bool,
        limits: &Limits,
        evidence: &Evidence<'_>,
    ) -> Option<(Running, Ended)> {
        let besides = self.besides(sub_session, place, step.by, evidence);
        let running = self.running.remove(&sub_session)?;
        let SubSessionStep { by, message, fence, cuts } = step;
        let behind = match by {
            Direction::Receive => running.channels.oldest(Direction::Send, evidence).next(),
            Direction::Send => None,
        };
        let from = running.channels.state(place).unwrap_or(running.channels.start());
        let crossed = running.channels.unreceived(by, evidence).filter(|_| !cuts);
        let (unsure, reused) = (None, false);
        let ended = Ended { by, message, from, behind, besides, awaited, fence, crossed, unsure, reused };
        if let Some(outer) = running.space.outer.filter(|_| running.keys.is_empty())
            && let Some(outer) = self.running.get_mut(&outer)
        {
            outer.nameless.extend(std::iter::once(ended.from).chain(ended.behind));
        }
        for (key, value) in &running.keys {
            self.holders.remove(&(running.space, *key, value.clone()));
            let before = running.reused.iter().filter(|(reused, _)| reused == key);
            let before = before.map(|(_, ended)| ended.clone());
            self.past.insert(running.space, *key, value, before.chain([ended.clone()]), limits);
        }
        Some((running, ended))
    }

    /// Where each side may still take the channels of a sub-session to be, and the sub-sessions within it, if a step in a
    /// direction ends it in the channel at a place; nothing if it has one channel and none within.
    fn besides(
        &self,
        sub_session: SubSessionNumber,
        place: usize,
        by: Direction,
        evidence: &Evidence<'_>,
    ) -> BothWays<Option<Arc<[StateIndex]>>> {
        let Some(running) = self.running.get(&sub_session) else { return BothWays::default() };
        let mut inner: BTreeSet<StateIndex> = running.nameless.clone();
        let add = |states: &mut BTreeSet<StateIndex>, channels: &Channels| {
            states.extend(channels.states());
            // What comes late in the state before, the tables of its receiver say.
            if by == Direction::Receive {
                states.extend(channels.oldest(Direction::Send, evidence));
            }
        };
        let all = self.with_all_within(sub_session);
        for running in all.iter().skip(1).filter_map(|number| self.running.get(number)) {
            add(&mut inner, &running.channels);
            inner.extend(&running.nameless);
        }
        let mut besides = BothWays::default();
        for direction in [Direction::Send, Direction::Receive] {
            let mut states = inner.clone();
            for ended in all.iter().flat_map(|number| self.past.within(*number)) {
                states.insert(ended.from);
                states.extend(ended.behind);
                states.extend(ended.besides.get(direction).iter().flat_map(|besides| besides.iter()));
            }
            match (running.channels.states().len(), direction == by) {
                (..2, _) => {}
                (_, false) => add(&mut states, &running.channels),
                // The side that takes the last step does not know of the end, either, as long as it has not received other
                // ones.
                (_, true) => states.extend(running.channels.known(place, by, evidence)),
            }
            *besides.get_mut(direction) = (!states.is_empty()).then(|| states.into_iter().collect());
        }
        besides
    }

    /// A sub-session, and those that run within it, however deep.
    pub(crate) fn with_all_within(&self, outer: SubSessionNumber) -> Vec<SubSessionNumber> {
        let mut all = vec![outer];
        let mut next = 0;
        while let Some(number) = all.get(next).copied() {
            next += 1;
            all.extend(self.within(number));
        }
        all
    }

    /// Whether a running sub-session is another one, or runs within that.
    pub(crate) fn is_within(&self, sub_session: SubSessionNumber, outer: SubSessionNumber) -> bool {
        let around = self.around(Some(sub_session)).map(|running| running.space.outer);
        std::iter::once(Some(sub_session)).chain(around).any(|number| number == Some(outer))
    }

    /// The sub-sessions that run within one.
    pub(crate) fn within(&self, outer: SubSessionNumber) -> Vec<SubSessionNumber> {
        if !self.bodies.are_nested() {
            return Vec::new();
        }
        let running = self.running.iter().filter(|(_, running)| running.space.outer == Some(outer));
        running.map(|(number, _)| *number).collect()
    }

    /// The latest fence of an ending by a message in a direction that is no longer remembered.
    pub(crate) fn forgotten(&self, by: Direction) -> Option<Fence> {
        self.past.forgotten(by)
    }

    /// Whether nothing was said in a sub-session but the request that opened it, which one side has sent.
    pub(crate) fn is_as_opened(&self, sub_session: SubSessionNumber, by: Direction, id: &RequestId) -> bool {
        self.running.get(&sub_session).is_some_and(|running| {
            let opener = running.opener.as_ref();
            opener.is_some_and(|(asker, opener)| *asker == by && opener == id)
                && running.channels.is_at_start()
                && running.open.is_empty()
                && !running.known
        })
    }

    /// Forgets everything but the sub-sessions that go on. Numbers are still not used twice.
    pub(crate) fn renew(&mut self, goes_on: impl Fn(&Running) -> bool) {
        self.running.retain(|_, running| running.space.outer.is_none() && goes_on(running));
        self.holders.retain(|_, sub_session| self.running.contains_key(sub_session));
        self.past.clear();
    }

    /// A request that would open a sub-session came late. The other side answers it with an error, or has gone on to
    /// where it is permitted.
    pub(crate) fn open_late(
        &mut self,
        start: StateIndex,
        outer: Option<SubSessionNumber>,
        by: Direction,
        request: MessageIndex,
        keys: &[(KeyIndex, KeyValue)],
        limits: &Limits,
    ) -> Option<Opened> {
        let space = Space { body: self.starts(start)?, outer };
        let unsure = Some(SubSessionNumber(self.next));
        self.next = self.next.wrapping_add(1);
        let (by, fence) = (by.flip(), Fence::NEVER);
        let (message, from, behind) = (request, start, None);
        let ended = Ended {
            by,
            message,
            from,
            behind,
            besides: BothWays::default(),
            awaited: false,
            fence,
            crossed: None,
            unsure,
            reused: false,
        };
        self.retire(space, &ended, keys, limits);
        Some(Opened { space, ended })
    }

    /// A late request has its error, so it has opened nothing.
    pub(crate) fn settle(&mut self, opened: Opened, fence: Fence) {
        if let Ended { unsure: Some(number), by, .. } = opened.ended {
            for running in self.running.values_mut() {
                running.reused.retain_mut(|(_, ended)| ended.settle(number, by, fence));
            }
            self.past.settle(number, by, fence);
        }
    }

    /// A sub-session is known to be over before its values are: each that no running sub-session holds is one of a
    /// sub-session that is over. The side that gave it the value may have known that, so this proves nothing of a
    /// sub-session that held the value before.
    pub(crate) fn retire(
        &mut self,
        space: Space,
        ended: &Ended,
        keys: &[(KeyIndex, KeyValue)],
        limits: &Limits,
    ) {
        for (key, value) in keys {
            let own = self.around(space.outer).all(|around| around.value(*key).is_none());
            if own && !self.holders.contains_key(&(space, *key, value.clone())) {
                self.past.insert(space, *key, value, [ended.clone()], limits);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.running.len() + self.holders.len() + self.past.len()
    }
}
