//! Sub-sessions that a key ties together: how a later step finds its sub-session, and when a value is free to open one.
//!
//! A value is held from the first message of a sub-session that carries it until the sub-session is over. A later
//! message with the value is uncorrelated at once where its key is open. Otherwise it is late where it may have been
//! under way: in the direction that did not end the sub-session, if the sub-session had it ahead, until the fence of
//! what ended the sub-session. Several sub-sessions may have held the value one after the other; then one of them is
//! enough.

use crate::endings::Space;
use crate::exchange::{LateRequest, Place};
use crate::fence::Fence;
use crate::id::{KeyValue, RequestId, SubSessionNumber};
use crate::protocol::{
    Action, Condition, Direction, KeyIndex, KeyPlace, Kind, Message, MessageIndex, Origin, StateIndex, Text,
};
use crate::sub_sessions::{Correlation, Lead, Meant, SubSessionStep, ValueHolder};
use crate::trail::EndedRequest;
use crate::violation::{Violation, ViolationKind};

use super::find::Found;
use super::gates::{NOTHING, Within};
use super::opening::JudgedMessage;
use super::state::Checker;
use super::step::{Late, Step, StepKind};

/// What a later step finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Later {
    /// Its sub-session, one of whose channels is in a state that accepts it: as a step, or as what opens a sub-session
    /// within it.
    SubSession(SubSessionNumber, Found),
    /// Its sub-session is over, and the message may have been under way.
    Late(Late),
}

/// What a reply to a request of a sub-session does.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyWithin {
    /// It refuses the request that opened the sub-session, and so ends it, whose channel at this place is in this state.
    Refusal { place: usize, from: StateIndex },
    /// It is a step. `opener` says that it answers the request that opened the sub-session.
    Step { found: Found, goes_on: bool, opener: bool },
}

/// A message that is judged as a later step of a sub-session.
#[derive(Clone, Copy)]
struct Sought<'a> {
    direction: Direction,
    message: MessageIndex,
    id: Option<&'a RequestId>,
    correlation: Correlation<'a>,
}

/// What a message may do that can be a later step of a sub-session, if no sub-session holds its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// Open a sub-session that its keys tie together.
    Opens,
    /// Stand alone, where its key is open.
    Alone,
    /// Nothing.
    Refused,
}

impl Checker {
    /// Judges a message as a later step of a sub-session; nothing if no sub-session has it as one, or none holds its
    /// values and it may do what it may do otherwise.
    pub(super) fn judge_later(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
        otherwise: Otherwise,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Option<Result<Later, Violation>> {
        let body = self.sub_sessions.later(direction, message)?;
        let sought = Sought { direction, message, id, correlation };
        let found = self.find_later(body, sought, otherwise).and_then(|later| {
            let judged = self.judge_gates_of(later, sought, applies);
            match (later, judged) {
                (Some(Later::SubSession(sub_session, _)), Err(violation)) => {
                    // What is closed here may be open where the sender meant it.
                    let elsewhere = self.meant_elsewhere(sub_session, sought, otherwise).ok_or(violation)?;
                    self.judge_gates_of(elsewhere, sought, applies)
                }
                (_, judged) => judged,
            }
        });
        found.transpose()
    }

    /// The gates of a message that is judged as a later step.
    fn judge_gates_of(
        &self,
        later: Option<Later>,
        sought: Sought<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Option<Later>, Violation> {
        let Sought { direction, message, id, correlation } = sought;
        let own = id.map(|_| correlation.announces.unwrap_or(&NOTHING));
        let during = match later {
            Some(Later::SubSession(sub_session, _)) => Within::SubSession(sub_session, own),
            Some(Later::Late(_)) => Within::Over,
            // It opens a sub-session, or is uncorrelated: that is judged next.
            None => return Ok(None),
        };
        let closed_gate = self
            .gates_on_arrival(direction, message, during, applies)
            .map_err(|kind| self.violation(direction, message, id, kind))?;
        Ok(match later {
            Some(Later::SubSession(sub_session, found)) => {
                Some(Later::SubSession(sub_session, Found { closed_gate, ..found }))
            }
            other => other,
        })
    }

    /// What a message may be that is not a step of the running sub-session which holds its values, because its sender
    /// has not heard of that: uncorrelated, or late for a sub-session before it.
    fn meant_elsewhere(
        &self,
        sub_session: SubSessionNumber,
        sought: Sought<'_>,
        otherwise: Otherwise,
    ) -> Option<Option<Later>> {
        let Sought { direction, message, correlation, .. } = sought;
        if correlation.meant != Meant::Anything {
            return None;
        }
        let unknown = self.sub_sessions.get(sub_session)?.may_be_unknown(direction);
        if unknown && self.may_be_alone(message, correlation, otherwise) {
            return Some(None);
        }
        let mut before = self.sub_sessions.reused_around(Some(sub_session), correlation.keys);
        let ended = before.find(|ended| self.may_be_late_for(ended, direction, message))?;
        Some(Some(Later::Late(Checker::late_for(ended))))
    }

    /// Whether a message may be uncorrelated, if its sender knows of no sub-session that holds its values. One with a key in
    /// its envelope is, if it has no value there: it would have that of its sub-session.
    pub(super) fn may_be_alone(
        &self,
        message: MessageIndex,
        correlation: Correlation<'_>,
        otherwise: Otherwise,
    ) -> bool {
        if otherwise != Otherwise::Alone {
            return false;
        }
        let declared = self.protocol.message(message).map(|table| &*table.keys).unwrap_or_default();
        let is_carried = |key: KeyIndex| correlation.keys.iter().any(|(carried, _)| *carried == key);
        declared.iter().filter(|declared| self.protocol.is_open(declared)).any(|declared| {
            match declared.place {
                KeyPlace::Member(_) => correlation.keys.is_empty(),
                KeyPlace::Path(_) | KeyPlace::Id => is_carried(declared.key),
            }
        })
    }

    fn find_later(
        &self,
        body: u32,
        sought: Sought<'_>,
        otherwise: Otherwise,
    ) -> Result<Option<Later>, Violation> {
        let Sought { direction, message, id, correlation } = sought;
        let refuse = |kind| Err(self.violation(direction, message, id, kind));
        let here = Late { state: StateIndex(0), crossed: None, over: true };
        let meant = correlation.meant.sub_session();
        let is_over = meant.is_some_and(|meant| self.sub_sessions.get(meant).is_none());
        let alone = self.may_be_alone(message, correlation, otherwise);
        let Some((key, value)) = correlation.keys.first() else {
            if meant.is_none() && alone {
                return Ok(None);
            }
            // Its sender has the values of members from the sub-session that it means, which may be over on the wire.
            return match is_over && self.protocol.message(message).is_some_and(Message::has_member_keys) {
                true => Ok(Some(Later::Late(here))),
                false => refuse(ViolationKind::KeyMissing { key: self.first_key(message) }),
            };
        };
        let holder = self.sub_sessions.find(body, correlation.keys);
        if is_over {
            // Who means it lags the wire, where it is over.
            let ended = match holder {
                ValueHolder::Missing { space, .. } => self.sub_sessions.ended(space, correlation.keys).next(),
                ValueHolder::Running(_) => None,
            };
            return Ok(Some(Later::Late(ended.map_or(here, Checker::late_for))));
        }
        match holder {
            ValueHolder::Running(sub_session) => self.find_in_running(sub_session, sought, otherwise),
            ValueHolder::Missing { space, last } => {
                if space.outer.is_none() && meant.is_none() && (alone || otherwise == Otherwise::Opens) {
                    return Ok(None);
                }
                if let Some(outer) = space.outer.filter(|_| last)
                    && let Some(found) = self.find_opening(outer, sought)?
                {
                    return Ok(Some(Later::SubSession(outer, found)));
                }
                match self.late_before(space, direction, message, correlation) {
                    Some(ended) => Ok(Some(Later::Late(Checker::late_for(ended)))),
                    None => {
                        refuse(ViolationKind::UnknownKey { key: self.key_name(*key), value: value.clone() })
                    }
                }
            }
        }
    }

    /// The edge by which a message opens a sub-session within a running one.
    fn find_opening(&self, outer: SubSessionNumber, sought: Sought<'_>) -> Result<Option<Found>, Violation> {
        let Sought { direction, message, id, correlation } = sought;
        let Some(running) = self.sub_sessions.get(outer) else { return Ok(None) };
        let found = self.find_among(&running.channels, direction, message, |_| true);
        let Some((found, start)) = found.and_then(|found| match found.action {
            Action::Spawn(start) => Some((found, start)),
            Action::Step(_) => None,
        }) else {
            return Ok(None);
        };
        if let Meant::NewWithin(meant) = correlation.meant
            && meant != outer
        {
            let Some((key, value)) = correlation.keys.first() else { return Ok(None) };
            let kind = ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() };
            return Err(self.violation(direction, message, id, kind));
        }
        self.judge_opening(start, Some(outer), direction, message, id, correlation)?;
        let before = self.late_before(running.space(), direction, message, correlation);
        Ok(Some(Found { shows_state: before.is_none(), ..found }))
    }

    /// A message whose values a running sub-session holds.
    fn find_in_running(
        &self,
        sub_session: SubSessionNumber,
        sought: Sought<'_>,
        otherwise: Otherwise,
    ) -> Result<Option<Later>, Violation> {
        let Sought { direction, message, id, correlation } = sought;
        let refuse = |kind| Err(self.violation(direction, message, id, kind));
        match self.find_opening(sub_session, sought) {
            Ok(Some(found)) => return Ok(Some(Later::SubSession(sub_session, found))),
            Ok(None) => {}
            // It may have been sent for a sub-session before this one.
            Err(violation) => {
                let space = self.sub_sessions.get(sub_session).map(|running| running.space());
                let ended = space.and_then(|space| self.late_before(space, direction, message, correlation));
                let late = ended.filter(|_| correlation.meant == Meant::Anything);
                return late.map(|ended| Some(Later::Late(Checker::late_for(ended)))).ok_or(violation);
            }
        }
        let Some((key, value)) = correlation.keys.first() else { return Ok(None) };
        match correlation.meant {
            Meant::SubSession(meant) if meant != sub_session => {
                return refuse(ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() });
            }
            Meant::New | Meant::NewWithin(_) => {
                return refuse(ViolationKind::KeyInUse { key: self.key_name(*key), value: value.clone() });
            }
            Meant::SubSession(_) | Meant::Anything => {}
        }
        self.fitting(sub_session, direction, message, id, correlation)?;
        let Some(running) = self.sub_sessions.get(sub_session) else { return Ok(None) };
        // It may cross the message that opened the sub-session.
        let unknown = correlation.meant == Meant::Anything && running.may_be_unknown(direction);
        if let Some(found) = self.find_among(&running.channels, direction, message, |_| true) {
            let alone = unknown && self.may_be_alone(message, correlation, otherwise);
            let found = Found { shows_state: found.shows_state && !alone, ..found };
            return Ok(Some(Later::SubSession(sub_session, found)));
        }
        self.meant_elsewhere(sub_session, sought, otherwise)
            .ok_or_else(|| self.violation_in(running.channels.states(), direction, message, id))
    }

    pub(super) fn is_answer(&self, message: MessageIndex) -> bool {
        let kind = self.protocol.message(message).map(|table| table.kind);
        matches!(kind, Some(Kind::Reply { .. } | Kind::Refusal { .. }))
    }

    /// Whether the values that a message carries are those of its sub-session, or free.
    pub(super) fn fitting(
        &self,
        sub_session: SubSessionNumber,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        for (key, value) in correlation.keys {
            match self.sub_sessions.value(sub_session, *key) {
                Some(held) if held == value => {}
                Some(_) => {
                    let kind = ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() };
                    return Err(self.violation(direction, message, id, kind));
                }
                None => {
                    let space = self.sub_sessions.get(sub_session).map(|running| running.space());
                    self.free(space, direction, message, id, *key, value)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a message may open a sub-session that starts in a state: whatever key it could carry it does carry, and
    /// nothing runs under the values. Within another sub-session it carries the values of that, and its own are free
    /// there.
    pub(super) fn judge_opening(
        &self,
        start: StateIndex,
        outer: Option<SubSessionNumber>,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        let held = |key: KeyIndex| outer.and_then(|outer| self.sub_sessions.value(outer, key));
        if let Some((key, value)) =
            correlation.keys.iter().find(|(key, value)| held(*key).is_some_and(|held| held != value))
        {
            let kind = ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() };
            return Err(self.violation(direction, message, id, kind));
        }
        let Some(body) = self.sub_sessions.starts(start) else { return Ok(()) };
        self.complete(direction, message, id, correlation)?;
        for (key, value) in correlation.keys.iter().filter(|(key, _)| held(*key).is_none()) {
            self.free(Some(Space { body, outer }), direction, message, id, *key, value)?;
        }
        let limit = self.limits.running;
        if self.sub_sessions.len() >= limit {
            return Err(self.violation(direction, message, id, ViolationKind::TooManyRunning { limit }));
        }
        Ok(())
    }

    /// Whether a message carries every key that it is declared with.
    pub(super) fn complete(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        let Some(table) = self.protocol.message(message) else { return Ok(()) };
        let carried = |wanted: KeyIndex| correlation.keys.iter().any(|(key, _)| *key == wanted);
        match table.keys.iter().find(|declared| !carried(declared.key)) {
            None => Ok(()),
            Some(missing) => {
                let kind = ViolationKind::KeyMissing { key: self.key_name(missing.key) };
                Err(self.violation(direction, message, id, kind))
            }
        }
    }

    fn free(
        &self,
        space: Option<Space>,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        key: KeyIndex,
        value: &KeyValue,
    ) -> Result<(), Violation> {
        match space.and_then(|space| self.sub_sessions.holder(space, key, value)) {
            Some(_) => {
                let kind = ViolationKind::KeyInUse { key: self.key_name(key), value: value.clone() };
                Err(self.violation(direction, message, id, kind))
            }
            None => Ok(()),
        }
    }

    fn key_name(&self, key: KeyIndex) -> Text {
        self.protocol.key(key).map(|key| key.name.clone()).unwrap_or_default()
    }

    fn first_key(&self, message: MessageIndex) -> Text {
        let carried = self.protocol.message(message).and_then(|table| table.keys.first());
        carried.map(|carried| self.key_name(carried.key)).unwrap_or_default()
    }

    /// Moves a sub-session by a request or a notification that was judged.
    pub(super) fn step_later(&mut self, later: Later, said: JudgedMessage<'_>) -> Step {
        let JudgedMessage { direction, message, ref request, correlation } = said;
        let limits = self.limits;
        let (channels, _, evidence) = self.with_evidence();
        channels.awake(direction, &evidence);
        let (sub_session, found) = match later {
            Later::SubSession(sub_session, found) => (sub_session, found),
            Later::Late(late) => {
                if let Some((id, token)) = request {
                    // The only answer to it will be an error.
                    let late = LateRequest { message, opened: None, announces: correlation.announces };
                    self.asked_mut(direction).refuse_late(id, token.as_ref(), late, &limits);
                }
                return Step::plain(StepKind::Late(late), message);
            }
        };
        if let Some(late) = self.lateness(&found, request.is_some()) {
            return self.come_late(Some(sub_session), &found, late, said);
        }
        match found.action {
            Action::Step(to) => self.step_within(sub_session, found, to, said),
            Action::Spawn(start) => self.open_body(Some(sub_session), &found, start, said),
        }
    }

    /// A step of a sub-session.
    fn step_within(
        &mut self,
        sub_session: SubSessionNumber,
        found: Found,
        to: StateIndex,
        said: JudgedMessage<'_>,
    ) -> Step {
        let JudgedMessage { direction, message, request, correlation } = said;
        let limits = self.limits;
        let id = request.as_ref().map(|(id, _)| *id);
        let advice = self.advice(direction, message, found.state, id);
        if let Some((id, token)) = request {
            let place = Place::Keyed(sub_session, found.channel);
            self.asked_mut(direction).open_exchange(
                id,
                message,
                place,
                token,
                correlation.announces,
                &limits,
            );
            self.sub_sessions.asked(sub_session, direction, id);
        }
        let step = self.sub_session_step(direction, message, id);
        let ended = self.move_sub_session(sub_session, found.leads(to), step, correlation.keys);
        let kind = StepKind::SubSession { ended };
        Step { kind, message: Some(message), sub_session: Some(sub_session), advice }
    }

    /// A channel of a sub-session moves to a state, which ends the sub-session if no channel goes on. Returns whether it
    /// does.
    pub(super) fn move_sub_session(
        &mut self,
        sub_session: SubSessionNumber,
        lead: Lead,
        step: SubSessionStep,
        keys: &[(KeyIndex, KeyValue)],
    ) -> bool {
        let ended = self.ends_with(sub_session, lead.place, lead.to);
        let (_, sub_sessions, evidence) = self.with_evidence();
        if ended {
            sub_sessions.said(sub_session, lead.place, step.by, step.message, &evidence);
            sub_sessions.heard(sub_session, step.by, &evidence);
            self.close_sub_session(sub_session, lead.place, step);
        } else {
            sub_sessions.advance(sub_session, lead, step, keys, &evidence);
        }
        ended
    }

    /// Whether a step that leads the channel at a place to a state ends its sub-session.
    pub(super) fn ends_with(&self, sub_session: SubSessionNumber, place: usize, to: StateIndex) -> bool {
        self.role().is_some_and(|role| {
            let running = self.sub_sessions.get(sub_session);
            running.is_some_and(|running| running.channels.ends_with(place, to, role))
        })
    }

    /// A step of a sub-session that is taken now. A request is booked before.
    pub(super) fn sub_session_step(
        &self,
        by: Direction,
        message: MessageIndex,
        request: Option<&RequestId>,
    ) -> SubSessionStep {
        SubSessionStep { by, message, fence: self.fence(by, request), cuts: false }
    }

    /// A sub-session is over, by a step or by the cancel of the request that opened it: who cancels that may not have
    /// received what the other side has said in it. What its requests still wait for comes late.
    pub(super) fn close_sub_session(
        &mut self,
        sub_session: SubSessionNumber,
        place: usize,
        step: SubSessionStep,
    ) {
        // A caller that takes none of them must not make the lists grow.
        self.cut_off = None;
        // Who has ended it by a message that crossed others goes on in it until these arrive, and with it the requests of
        // the other side.
        if let Some(crossed) = self.end_with_inner(sub_session, place, step) {
            self.asked_mut(step.by.flip()).end_by_crossing(crossed);
        }
    }

    /// A sub-session is over, and those within it are. Returns the fence of what this has crossed.
    fn end_with_inner(
        &mut self,
        sub_session: SubSessionNumber,
        place: usize,
        step: SubSessionStep,
    ) -> Option<Fence> {
        let limits = self.limits;
        let inner = self.sub_sessions.within(sub_session);
        let awaited = self.awaits(sub_session, step.by.flip());
        let (_, sub_sessions, evidence) = self.with_evidence();
        let running = sub_sessions.get(sub_session).filter(|_| !step.cuts);
        let crossed = running.and_then(|running| running.channels.open_until(step.by, &evidence));
        let ended = sub_sessions.end(sub_session, place, step, awaited, &limits, &evidence);
        let (running, ended) = ended?;
        for inner in inner {
            self.cut_off.get_or_insert_default().ended.push(inner);
            self.end_with_inner(inner, 0, step);
        }
        for (asker, id) in &running.open {
            self.asked_mut(*asker).cancel(id, &limits);
            self.leave(*asker, id);
        }
        if let Some((asker, id)) = &running.opener {
            let asked = self.asked_mut(*asker);
            match asked.running_under(id) {
                Some(exchange) if exchange.is_answered() => asked.finish(id),
                Some(_) => {
                    asked.cancel_opener(id, running.space(), ended, &limits);
                    self.leave(*asker, id);
                }
                None => {}
            }
        }
        crossed
    }

    /// Whether later requests in a direction await a reply in a sub-session, or any in those within it.
    fn awaits(&self, sub_session: SubSessionNumber, asker: Direction) -> bool {
        let is_open = |id: &RequestId| {
            self.asked(asker).running_under(id).is_some_and(|exchange| !exchange.is_answered())
        };
        self.sub_sessions.with_all_within(sub_session).into_iter().any(|number| {
            let Some(running) = self.sub_sessions.get(number) else { return false };
            let opener = running.opener.as_ref().filter(|(by, _)| *by == asker && number != sub_session);
            running.open.iter().any(|(by, _)| *by == asker) || opener.is_some_and(|(_, id)| is_open(id))
        })
    }

    fn leave(&mut self, asker: Direction, id: &RequestId) {
        if asker == Direction::Send {
            self.cut_off.get_or_insert_default().left.push(id.clone());
        }
    }

    /// The requests of the followed role that the message before has left without a reply, because it has ended their
    /// sub-session. Returns them once.
    pub fn take_left(&mut self) -> Vec<RequestId> {
        self.cut_off.as_mut().map(|cut_off| std::mem::take(&mut cut_off.left)).unwrap_or_default()
    }

    /// The sub-sessions that the message before has ended because it has ended the one around them. Returns them once.
    pub fn take_ended(&mut self) -> Vec<SubSessionNumber> {
        self.cut_off.as_mut().map(|cut_off| std::mem::take(&mut cut_off.ended)).unwrap_or_default()
    }

    /// Whether some sub-session is in a state that accepts a message.
    pub(super) fn some_sub_session_accepts(&self, direction: Direction, message: MessageIndex) -> bool {
        self.sub_sessions.later(direction, message).is_some()
            && !self.is_suspended(direction)
            && self.sub_sessions.states().any(|state| {
                let edge = self.state(state).and_then(|table| table.edge(direction, message));
                edge.is_some_and(|edge| edge.origin != Origin::Closure)
            })
    }

    /// The sub-session that a running request belongs to, of those that a key ties together.
    pub fn sub_session_of(&self, direction: Direction, id: &RequestId) -> Option<SubSessionNumber> {
        match self.asked(direction).running_under(id)?.place {
            Place::Keyed(sub_session, _) => Some(sub_session),
            _ => None,
        }
    }

    /// The value of a key that a running sub-session, or one around it, holds.
    pub fn key_value(&self, sub_session: SubSessionNumber, key: KeyIndex) -> Option<&KeyValue> {
        self.sub_sessions.value(sub_session, key)
    }

    /// The id of the request that opened a running sub-session, of those that a key ties together.
    pub fn sub_session_opener(&self, sub_session: SubSessionNumber) -> Option<&RequestId> {
        self.sub_sessions.get(sub_session)?.opener.as_ref().map(|(_, id)| id)
    }

    /// The state of each linear channel of a running sub-session that a key ties together: one, unless it has forked.
    /// Empty if it does not run.
    pub fn sub_session_states(&self, sub_session: SubSessionNumber) -> &[StateIndex] {
        self.sub_sessions.get(sub_session).map(|running| running.channels.states()).unwrap_or_default()
    }

    /// The state of the first of them.
    pub fn sub_session_state(&self, sub_session: SubSessionNumber) -> Option<StateIndex> {
        self.sub_session_states(sub_session).first().copied()
    }

    /// What a reply to a request of a sub-session does, in one of its linear channels.
    pub(super) fn judge_reply_keyed(
        &self,
        (sub_session, channel): (SubSessionNumber, u32),
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<ReplyWithin, Violation> {
        let asker = direction.flip();
        let Some(running) = self.sub_sessions.get(sub_session) else {
            return Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted));
        };
        let opener = running.opener.as_ref().is_some_and(|(by, first)| (*by, first) == (asker, id));
        let refusal =
            matches!(self.protocol.message(message).map(|table| table.kind), Some(Kind::Refusal { .. }));
        if refusal && opener {
            // A refusal of the request that opened it ends the sub-session whatever came between.
            let here = running.channels.iter().find(|(_, number, _)| *number == channel);
            let (place, from) =
                here.map_or((0, running.channels.start()), |(place, _, state)| (place, state));
            return Ok(ReplyWithin::Refusal { place, from });
        }
        let Some(found) = self.find_among(&running.channels, direction, message, |number| number == channel)
        else {
            return Err(self.violation_in(running.channels.states(), direction, message, Some(id)));
        };
        if !refusal {
            self.complete(direction, message, Some(id), correlation)?;
            self.fitting(sub_session, direction, message, Some(id), correlation)?;
        }
        let goes_on = !self.ends_with(sub_session, found.place, found.action.target());
        Ok(ReplyWithin::Step { found, goes_on, opener })
    }

    /// A reply to a request of a sub-session, in one of its linear channels.
    pub(super) fn reply_keyed(
        &mut self,
        (sub_session, channel): (SubSessionNumber, u32),
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<Step, Violation> {
        let asker = direction.flip();
        let judged = self.judge_reply_keyed((sub_session, channel), direction, id, message, correlation)?;
        let request = self.asked(asker).running_under(id).map(|exchange| exchange.message);
        let table = request.and_then(|request| self.protocol.message(request));
        let is_cancellable = table.is_some_and(|table| table.cancellable);
        let step = self.sub_session_step(direction, message, None);
        let (found, goes_on, opener) = match judged {
            ReplyWithin::Refusal { place, from } => {
                let advice = self.advice(direction, message, from, Some(id));
                self.asked_mut(asker).finish(id);
                self.sub_sessions.answered(sub_session, asker, id);
                let (_, sub_sessions, evidence) = self.with_evidence();
                sub_sessions.heard(sub_session, step.by, &evidence);
                self.close_sub_session(sub_session, place, SubSessionStep { cuts: true, ..step });
                let kind = StepKind::SubSession { ended: true };
                return Ok(Step { kind, message: Some(message), sub_session: Some(sub_session), advice });
            }
            ReplyWithin::Step { found, goes_on, opener } => (found, goes_on, opener),
        };
        let advice = self.advice(direction, message, found.state, Some(id));
        let to = found.action.target();
        match goes_on && opener {
            true => self.asked_mut(asker).answer(id, to, step.fence),
            false => self.asked_mut(asker).finish(id),
        }
        self.sub_sessions.answered(sub_session, asker, id);
        let before = self.sub_sessions.steps(sub_session);
        let ended = self.move_sub_session(sub_session, found.leads(to), step, correlation.keys);
        if is_cancellable && !opener {
            let request = EndedRequest { asker, id: id.clone() };
            self.sub_sessions.ends(sub_session, direction, &request, before);
        }
        let kind = StepKind::SubSession { ended };
        Ok(Step { kind, message: Some(message), sub_session: Some(sub_session), advice })
    }
}
