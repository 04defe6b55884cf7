//! The books of sub-sessions that are tied by a key: where each is, and what finds it.
//!
//! Each channel, one body of a `*`, has its own space of values. Bodies are distinguished by their messages, which
//! parallel channels do not share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::endings::{Ended, Endings};
use crate::exchange::Opened;
use crate::fence::Fence;
use crate::id::{KeyValue, Limits, RequestId, SubSessionNumber};
use crate::protocol::{Action, Direction, KeyIndex, Kind, MessageIndex, Origin, Protocol, Role, StateIndex};
use crate::trail::{Crossed, Evidence, Left, Trail, said};

/// What ties a message to a running sub-session, as the reader of the wire finds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Correlation<'a> {
    /// The values of the keys that the message carries.
    pub keys: &'a [(KeyIndex, KeyValue)],
    /// What the message is meant for, if its sender knows.
    pub meant: Meant,
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
}

impl<'a> Correlation<'a> {
    /// The values of keys, as they were read from a message.
    pub const fn keys(keys: &'a [(KeyIndex, KeyValue)]) -> Correlation<'a> {
        Correlation { keys, meant: Meant::Anything }
    }
}

/// What the tables say of the bodies that keys tie together.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The channel of each state that such a body starts in.
    starts: HashMap<StateIndex, u32>,
    /// The channel that has a message as a later step.
    later: HashMap<(Direction, MessageIndex), u32>,
}

impl Layout {
    pub(crate) fn new(protocol: &Protocol, role: &Role) -> Layout {
        let mut layout = Layout::default();
        if protocol.keys.is_empty() {
            return layout;
        }
        let starts: HashSet<StateIndex> = role
            .states
            .iter()
            .flat_map(|state| state.edges.iter())
            .filter_map(|edge| match edge.action {
                Action::Spawn(start) => Some(start),
                Action::Step(_) => None,
            })
            .collect();
        let mut starts: Vec<StateIndex> = starts.into_iter().collect();
        starts.sort_unstable();
        let mut next = 0;
        for start in starts {
            let later = later_steps(protocol, role, start);
            if !later.iter().any(|(_, message)| carries(protocol, *message)) {
                continue;
            }
            // Bodies that share a message are alternatives of one channel.
            let known: Vec<u32> =
                later.iter().filter_map(|message| layout.later.get(message).copied()).collect();
            let channel = known.first().copied().unwrap_or(next);
            next += 1;
            if known.iter().any(|other| *other != channel) {
                for place in layout.starts.values_mut().chain(layout.later.values_mut()) {
                    if known.contains(place) {
                        *place = channel;
                    }
                }
            }
            layout.starts.insert(start, channel);
            layout.later.extend(later.into_iter().map(|message| (message, channel)));
        }
        layout
    }
}

fn carries(protocol: &Protocol, message: MessageIndex) -> bool {
    protocol.message(message).is_some_and(|message| !message.keys.is_empty())
}

/// The requests and notifications that a sub-session may have after its first message.
///
/// Late ones do not count: an uncorrelated step may share its state with a sub-session that has left others, and has no
/// key.
fn later_steps(protocol: &Protocol, role: &Role, start: StateIndex) -> Vec<(Direction, MessageIndex)> {
    let mut seen = HashSet::from([start]);
    let mut waiting = vec![start];
    let mut found = Vec::new();
    while let Some(state) = waiting.pop() {
        let Some(table) = role.state(state) else { continue };
        for edge in table.edges.iter().filter(|edge| edge.origin != Origin::Closure) {
            let Action::Step(target) = edge.action else { continue };
            if seen.insert(target) {
                waiting.push(target);
            }
            let message = protocol.message(edge.message);
            let own = message.is_some_and(|message| {
                matches!(message.kind, Kind::Request | Kind::Notification)
                    && message.cancels.is_none()
                    && message.reports.is_none()
            });
            if own && !found.contains(&(edge.direction, edge.message)) {
                found.push((edge.direction, edge.message));
            }
        }
    }
    found
}

/// A sub-session that goes on.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Its first state.
    start: StateIndex,
    pub(crate) state: StateIndex,
    channel: u32,
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
    /// The steps that may cross what comes.
    trail: Trail,
    keys: Vec<(KeyIndex, KeyValue)>,
    /// Its later requests that await a reply.
    pub(crate) open: Vec<(Direction, RequestId)>,
}

impl Running {
    /// The body that it is a sub-session of.
    pub(crate) fn channel(&self) -> u32 {
        self.channel
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
        self.reused.retain(|(_, ended)| !evidence.ordered || ended.by == by);
    }

    /// The step that a message has crossed, if its sender may not have received it.
    pub(crate) fn crossed(
        &self,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) -> Option<Left> {
        self.trail.crossed(direction, message, evidence)
    }

    /// What a message is that the followed role has sent in a state before the present one.
    pub(crate) fn sent(&self, message: MessageIndex, evidence: &Evidence<'_>) -> Option<Crossed> {
        self.trail.sent(self.start, self.state, message, evidence)
    }
}

/// A step of a sub-session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubSessionStep {
    pub(crate) by: Direction,
    pub(crate) message: MessageIndex,
    pub(crate) fence: Fence,
}

/// Every sub-session that a key ties together.
#[derive(Clone, Debug)]
pub(crate) struct SubSessions {
    layout: Arc<Layout>,
    // Ordered, so that what is asked of all of them does not depend on chance.
    running: BTreeMap<SubSessionNumber, Running>,
    holders: HashMap<(u32, KeyIndex, KeyValue), SubSessionNumber>,
    /// The values of sub-sessions that are over.
    past: Endings,
    next: u64,
}

impl SubSessions {
    pub(crate) fn new(layout: Layout) -> SubSessions {
        SubSessions {
            layout: Arc::new(layout),
            running: BTreeMap::new(),
            holders: HashMap::new(),
            past: Endings::default(),
            next: 0,
        }
    }

    /// The channel of a body that starts in a state, if keys tie its steps.
    pub(crate) fn starts(&self, state: StateIndex) -> Option<u32> {
        self.layout.starts.get(&state).copied()
    }

    /// The channel that has a message as a later step.
    pub(crate) fn later(&self, direction: Direction, message: MessageIndex) -> Option<u32> {
        self.layout.later.get(&(direction, message)).copied()
    }

    pub(crate) fn get(&self, sub_session: SubSessionNumber) -> Option<&Running> {
        self.running.get(&sub_session)
    }

    /// How many run.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// The states that sub-sessions are in.
    pub(crate) fn states(&self) -> impl Iterator<Item = StateIndex> {
        self.running.values().map(|sub_session| sub_session.state)
    }

    /// The running sub-session that holds a value of a key.
    pub(crate) fn holder(&self, channel: u32, key: KeyIndex, value: &KeyValue) -> Option<SubSessionNumber> {
        self.holders.get(&(channel, key, value.clone())).copied()
    }

    /// How the sub-sessions ended that held one of these values, those of each value with the newest first.
    pub(crate) fn ended(&self, channel: u32, keys: &[(KeyIndex, KeyValue)]) -> impl Iterator<Item = &Ended> {
        keys.iter().flat_map(move |(key, value)| self.past.get(channel, *key, value))
    }

    /// The same, with those that held a value before a running sub-session.
    pub(crate) fn before(&self, channel: u32, keys: &[(KeyIndex, KeyValue)]) -> impl Iterator<Item = &Ended> {
        let reused = keys.iter().flat_map(move |(key, value)| {
            let holder = self.holder(channel, *key, value).and_then(|holder| self.get(holder));
            holder.into_iter().flat_map(|holder| holder.reused(*key))
        });
        self.ended(channel, keys).chain(reused)
    }

    /// The value of a key that a sub-session holds.
    pub(crate) fn value(&self, sub_session: SubSessionNumber, key: KeyIndex) -> Option<&KeyValue> {
        let running = self.running.get(&sub_session)?;
        running.keys.iter().find(|(held, _)| *held == key).map(|(_, value)| value)
    }

    /// A sub-session of a body starts, if keys tie its steps.
    pub(crate) fn start(
        &mut self,
        state: StateIndex,
        by: Direction,
        opener: Option<RequestId>,
        keys: &[(KeyIndex, KeyValue)],
        evidence: &Evidence<'_>,
    ) -> Option<SubSessionNumber> {
        let channel = self.starts(state)?;
        let sub_session = SubSessionNumber(self.next);
        self.next = self.next.wrapping_add(1);
        let running = Running {
            start: state,
            state,
            channel,
            opener: opener.map(|id| (by, id)),
            by,
            known: false,
            reused: Vec::new(),
            trail: Trail::default(),
            keys: Vec::new(),
            open: Vec::new(),
        };
        self.running.insert(sub_session, running);
        self.hold(sub_session, by, keys, evidence);
        Some(sub_session)
    }

    /// A sub-session moves on by a step, and holds the values that it did not hold before.
    pub(crate) fn advance(
        &mut self,
        sub_session: SubSessionNumber,
        state: StateIndex,
        step: SubSessionStep,
        keys: &[(KeyIndex, KeyValue)],
        evidence: &Evidence<'_>,
    ) {
        self.said(sub_session, step.by, step.message, evidence);
        if let Some(running) = self.running.get_mut(&sub_session)
            && state != running.state
        {
            // What leaves the sub-session where it is may come from before it, too.
            running.known |= step.by != running.by;
            running.heard(step.by, evidence);
            let left = Left { by: Some(step.message), fence: step.fence };
            running.trail.leave(step.by, running.state, left, 0, evidence);
            running.state = state;
        }
        self.hold(sub_session, step.by, keys, evidence);
    }

    /// A message in a direction was accepted for a sub-session that goes on, also as one that is late.
    pub(crate) fn said(
        &mut self,
        sub_session: SubSessionNumber,
        direction: Direction,
        message: MessageIndex,
        evidence: &Evidence<'_>,
    ) {
        if let Some(running) = self.running.get_mut(&sub_session) {
            said(std::slice::from_mut(&mut running.trail), 0, direction, message, evidence);
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
        let Some(running) = self.running.get_mut(&sub_session) else { return };
        for (key, value) in keys {
            if running.keys.iter().any(|(held, _)| held == key) {
                continue;
            }
            running.keys.push((*key, value.clone()));
            let before = self.past.take(running.channel, *key, value);
            // The side that uses a value again knows that the sub-sessions which held it before are over.
            let before = before.filter_map(|ended| match evidence.ordered {
                true => ended.reused_by(by),
                false => Some(ended),
            });
            running.reused.extend(before.map(|ended| (*key, ended)));
            self.holders.insert((running.channel, *key, value.clone()), sub_session);
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

    /// A sub-session is over, by this step. Its values are remembered, so that what is late for it can be
    /// told from what never was: the newest [`Limits::remembered`] of each key of a channel, and no more text than
    /// [`Limits::remembered_bytes`]. A value beyond that is one that no sub-session ever held.
    pub(crate) fn end(
        &mut self,
        sub_session: SubSessionNumber,
        step: SubSessionStep,
        limits: &Limits,
        evidence: &Evidence<'_>,
    ) -> Option<(Running, Ended)> {
        let running = self.running.remove(&sub_session)?;
        let SubSessionStep { by, message, fence } = step;
        let awaited = running.open.iter().any(|(asker, _)| *asker != by);
        let behind = match by {
            Direction::Receive => running.trail.oldest(Direction::Send, evidence),
            Direction::Send => None,
        };
        let from = running.state;
        let ended = Ended { by, message, from, behind, awaited, fence, unsure: None, reused: false };
        for (key, value) in &running.keys {
            self.holders.remove(&(running.channel, *key, value.clone()));
            let before = running.reused.iter().filter(|(reused, _)| reused == key).map(|(_, ended)| *ended);
            self.past.insert(running.channel, *key, value, before.chain([ended]), limits);
        }
        Some((running, ended))
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
                && self.starts(running.state).is_some()
                && running.open.is_empty()
                && !running.known
        })
    }

    /// Forgets everything but the sub-sessions that go on. Numbers are still not used twice.
    pub(crate) fn renew(&mut self, goes_on: impl Fn(&Running) -> bool) {
        self.running.retain(|_, running| goes_on(running));
        self.holders.retain(|_, sub_session| self.running.contains_key(sub_session));
        self.past.clear();
    }

    /// A request that would open a sub-session came late. The other side answers it with an error, or has gone on to
    /// where it is permitted.
    pub(crate) fn open_late(
        &mut self,
        start: StateIndex,
        by: Direction,
        request: MessageIndex,
        keys: &[(KeyIndex, KeyValue)],
        limits: &Limits,
    ) -> Option<Opened> {
        let channel = self.starts(start)?;
        let unsure = Some(SubSessionNumber(self.next));
        self.next = self.next.wrapping_add(1);
        let (by, fence) = (by.flip(), Fence::NEVER);
        let (message, from, behind) = (request, start, None);
        let ended = Ended { by, message, from, behind, awaited: false, fence, unsure, reused: false };
        self.retire(channel, ended, keys, limits);
        Some(Opened { request, channel, ended })
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
        channel: u32,
        ended: Ended,
        keys: &[(KeyIndex, KeyValue)],
        limits: &Limits,
    ) {
        for (key, value) in keys {
            if !self.holders.contains_key(&(channel, *key, value.clone())) {
                self.past.insert(channel, *key, value, [ended], limits);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.running.len() + self.holders.len() + self.past.len()
    }
}
