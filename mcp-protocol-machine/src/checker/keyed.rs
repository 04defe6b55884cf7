//! Sub-sessions that a key ties together: how a later step finds its sub-session, and when a value is free to open one.
//!
//! A value is held from the first message of a sub-session that carries it until the sub-session is over. A later
//! message with the value is uncorrelated at once where its key is open. Otherwise it is late where it may have been
//! under way: in the direction that did not end the sub-session, if the sub-session had it ahead, until the fence of
//! what ended the sub-session. Several sub-sessions may have held the value one after the other; then one of them is
//! enough.

use crate::capability::Capabilities;
use crate::exchange::Place;
use crate::id::{KeyValue, RequestId, SubSessionNumber};
use crate::protocol::{Action, Condition, Direction, KeyIndex, Kind, MessageIndex, Origin, StateIndex, Text};
use crate::sub_sessions::{Correlation, Meant, SubSessionStep};
use crate::violation::{Violation, ViolationKind};

use super::state::Checker;
use super::step::{Late, Step, StepKind};

/// What a later step finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Later {
    /// Its sub-session, which is in a state that accepts it.
    SubSession { sub_session: SubSessionNumber, from: StateIndex, to: StateIndex },
    /// Its sub-session is over or has gone on, and the message may have been under way. Where the sub-session goes on,
    /// which it is.
    Late(Late, Option<SubSessionNumber>),
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
        let channel = self.sub_sessions.later(direction, message)?;
        let found =
            self.find_later(channel, direction, message, id, correlation, otherwise).and_then(|later| {
                self.gates(direction, message, &Capabilities::unknown(), applies)
                    .map_err(|kind| self.violation(direction, message, id, kind))?;
                Ok(later)
            });
        found.transpose()
    }

    fn find_later(
        &self,
        channel: u32,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
        otherwise: Otherwise,
    ) -> Result<Option<Later>, Violation> {
        let refuse = |kind| Err(self.violation(direction, message, id, kind));
        let Some((key, value)) = correlation.keys.first() else {
            return refuse(ViolationKind::KeyMissing { key: self.first_key(message) });
        };
        if let Meant::SubSession(meant) = correlation.meant
            && self.sub_sessions.get(meant).is_none()
        {
            // Who means it lags the wire, where it is over.
            let ended = self.sub_sessions.ended(channel, correlation.keys).next();
            let here = Late { state: StateIndex(0), crossed: None, over: true };
            return Ok(Some(Later::Late(ended.map_or(here, Checker::late_for), None)));
        }
        let holder =
            correlation.keys.iter().find_map(|(key, value)| self.sub_sessions.holder(channel, *key, value));
        let open =
            correlation.keys.iter().any(|(key, _)| self.protocol.key(*key).is_some_and(|key| key.open));
        let alone = open && otherwise == Otherwise::Alone;
        let Some(sub_session) = holder else {
            let new = !matches!(correlation.meant, Meant::SubSession(_));
            if new && (alone || otherwise == Otherwise::Opens) {
                return Ok(None);
            }
            return match self.late_before(channel, direction, message, correlation) {
                Some(ended) => Ok(Some(Later::Late(Checker::late_for(ended), None))),
                None => refuse(ViolationKind::UnknownKey { key: self.key_name(*key), value: value.clone() }),
            };
        };
        match correlation.meant {
            Meant::SubSession(meant) if meant != sub_session => {
                return refuse(ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() });
            }
            Meant::New => {
                return refuse(ViolationKind::KeyInUse { key: self.key_name(*key), value: value.clone() });
            }
            _ => {}
        }
        self.fitting(sub_session, direction, message, id, correlation)?;
        let Some(running) = self.sub_sessions.get(sub_session) else { return Ok(None) };
        let from = running.state;
        let edge = self.state(from).and_then(|table| table.edge(direction, message));
        let crossed = || running.crossed(direction, message, &self.evidence()).map(|left| left.by);
        // It may cross the message that opened the sub-session.
        let unknown = correlation.meant == Meant::Anything && running.may_be_unknown(direction);
        match edge.map(|edge| (edge.action, edge.origin)) {
            Some((Action::Step(_), Origin::Closure)) if !self.ordered || crossed().is_some() => {
                let crossed = crossed().flatten();
                Ok(Some(Later::Late(Late { state: from, crossed, over: false }, Some(sub_session))))
            }
            Some((Action::Step(to), origin)) if origin != Origin::Closure => {
                Ok(Some(Later::SubSession { sub_session, from, to }))
            }
            None if direction == Direction::Send
                && let Some(sent) = running.sent(message, &self.evidence())
                && self.is_received(message) =>
            {
                if let Action::Step(to) = sent.action
                    && to != from
                {
                    return Ok(Some(Later::SubSession { sub_session, from, to }));
                }
                let late = Late { state: from, crossed: sent.left.by, over: false };
                Ok(Some(Later::Late(late, Some(sub_session))))
            }
            _ if unknown && alone => Ok(None),
            _ => {
                // It may be meant for one that was before.
                let mut before = correlation.keys.iter().flat_map(|(key, _)| running.reused(*key));
                let late = before.find(|ended| self.may_be_late_for(ended, direction, message));
                match late.filter(|_| correlation.meant == Meant::Anything) {
                    Some(ended) => Ok(Some(Later::Late(Checker::late_for(ended), None))),
                    None => Err(self.violation_in(from, direction, message, id)),
                }
            }
        }
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
                    let start = self.sub_sessions.get(sub_session).map(|running| running.channel());
                    self.free(start, direction, message, id, *key, value)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a message may open a sub-session that starts in a state: whatever key it could carry it does carry, and
    /// nothing runs under the values.
    pub(super) fn judge_opening(
        &self,
        start: StateIndex,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        let Some(channel) = self.sub_sessions.starts(start) else { return Ok(()) };
        self.complete(direction, message, id, correlation)?;
        for (key, value) in correlation.keys {
            self.free(Some(channel), direction, message, id, *key, value)?;
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
        channel: Option<u32>,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        key: KeyIndex,
        value: &KeyValue,
    ) -> Result<(), Violation> {
        match channel.and_then(|channel| self.sub_sessions.holder(channel, key, value)) {
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
    pub(super) fn step_later(
        &mut self,
        later: Later,
        direction: Direction,
        message: MessageIndex,
        request: Option<(&RequestId, Option<crate::id::Token>)>,
        correlation: Correlation<'_>,
    ) -> Step {
        let limits = self.limits;
        match later {
            Later::Late(late, sub_session) => {
                let (channels, sub_sessions, evidence) = self.with_evidence();
                channels.awake(direction, &evidence);
                if let Some(sub_session) = sub_session {
                    sub_sessions.said(sub_session, direction, message, &evidence);
                }
                if let Some((id, token)) = request {
                    // The only answer to it will be an error.
                    self.asked_mut(direction).refuse(id, token.as_ref(), &limits);
                }
                Step::plain(StepKind::Late(late), message)
            }
            Later::SubSession { sub_session, from, to } => {
                let (channels, _, evidence) = self.with_evidence();
                channels.awake(direction, &evidence);
                let id = request.as_ref().map(|(id, _)| *id);
                let advice = self.advice(direction, message, from, id);
                if let Some((id, token)) = request {
                    self.asked_mut(direction).open_exchange(
                        id,
                        message,
                        Place::Keyed(sub_session),
                        token,
                        &limits,
                    );
                    self.sub_sessions.asked(sub_session, direction, id);
                }
                let ended = self.is_end(to);
                let step = self.sub_session_step(direction, message, id);
                if ended {
                    self.end_sub_session(sub_session, step);
                } else {
                    self.advance_sub_session(sub_session, to, step, correlation.keys);
                }
                Step {
                    kind: StepKind::SubSession { ended },
                    message: Some(message),
                    sub_session: Some(sub_session),
                    advice,
                }
            }
        }
    }

    /// A step of a sub-session that is taken now. A request is booked before.
    pub(super) fn sub_session_step(
        &self,
        by: Direction,
        message: MessageIndex,
        request: Option<&RequestId>,
    ) -> SubSessionStep {
        SubSessionStep { by, message, fence: self.fence(by, request) }
    }

    /// A sub-session goes on, by a step, and holds what values that carries.
    pub(super) fn advance_sub_session(
        &mut self,
        sub_session: SubSessionNumber,
        to: StateIndex,
        step: SubSessionStep,
        keys: &[(KeyIndex, KeyValue)],
    ) {
        let (_, sub_sessions, evidence) = self.with_evidence();
        sub_sessions.advance(sub_session, to, step, keys, &evidence);
    }

    /// A sub-session is over, by a step of its body.
    pub(super) fn end_sub_session(&mut self, sub_session: SubSessionNumber, step: SubSessionStep) {
        let (_, sub_sessions, evidence) = self.with_evidence();
        sub_sessions.heard(sub_session, step.by, &evidence);
        self.close_sub_session(sub_session, step);
    }

    /// A sub-session is over, by a step or by the cancel of the request that opened it: who cancels that may not have
    /// received what the other side has said in it. What its requests still wait for comes late.
    pub(super) fn close_sub_session(&mut self, sub_session: SubSessionNumber, step: SubSessionStep) {
        let limits = self.limits;
        let (_, sub_sessions, evidence) = self.with_evidence();
        let Some((running, ended)) = sub_sessions.end(sub_session, step, &limits, &evidence) else { return };
        // A caller that takes none of them must not make the list grow.
        self.left.clear();
        for (asker, id) in &running.open {
            self.asked_mut(*asker).cancel(id, &limits);
            self.leave(*asker, id);
        }
        if let Some((asker, id)) = &running.opener {
            let asked = self.asked_mut(*asker);
            match asked.running_under(id) {
                Some(exchange) if exchange.is_answered() => asked.finish(id),
                Some(_) => {
                    asked.cancel_opener(id, running.channel(), ended, &limits);
                    self.leave(*asker, id);
                }
                None => {}
            }
        }
    }

    fn leave(&mut self, asker: Direction, id: &RequestId) {
        if asker == Direction::Send {
            self.left.push(id.clone());
        }
    }

    /// The requests of the followed role that the message before has left without a reply, because it has ended their
    /// sub-session. Returns them once.
    pub fn take_left(&mut self) -> Vec<RequestId> {
        std::mem::take(&mut self.left)
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
            Place::Keyed(sub_session) => Some(sub_session),
            _ => None,
        }
    }

    /// The id of the request that opened a running sub-session, of those that a key ties together.
    pub fn sub_session_opener(&self, sub_session: SubSessionNumber) -> Option<&RequestId> {
        self.sub_sessions.get(sub_session)?.opener.as_ref().map(|(_, id)| id)
    }

    /// The state of a running sub-session that a key ties together.
    pub fn sub_session_state(&self, sub_session: SubSessionNumber) -> Option<StateIndex> {
        self.sub_sessions.get(sub_session).map(|running| running.state)
    }

    /// A reply to a request of a sub-session.
    pub(super) fn reply_keyed(
        &mut self,
        sub_session: SubSessionNumber,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<Step, Violation> {
        let asker = direction.flip();
        let Some(running) = self.sub_sessions.get(sub_session) else {
            return Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted));
        };
        let (from, opener) =
            (running.state, running.opener.as_ref().is_some_and(|(by, first)| (*by, first) == (asker, id)));
        let refusal =
            matches!(self.protocol.message(message).map(|table| table.kind), Some(Kind::Refusal { .. }));
        let edge = self.state(from).and_then(|table| table.edge(direction, message)).copied();
        let to = match edge.map(|edge| edge.action.target()) {
            // A refusal of the request that opened it ends the sub-session whatever came between.
            _ if refusal && opener => None,
            Some(to) => Some(to).filter(|to| !self.is_end(*to)),
            None => return Err(self.violation_in(from, direction, message, Some(id))),
        };
        if !refusal {
            self.complete(direction, message, Some(id), correlation)?;
            self.fitting(sub_session, direction, message, Some(id), correlation)?;
        }
        let advice = self.advice(direction, message, from, Some(id));
        let step = self.sub_session_step(direction, message, None);
        match to {
            Some(to) if opener => self.asked_mut(asker).answer(id, to, step.fence),
            _ => self.asked_mut(asker).finish(id),
        }
        self.sub_sessions.answered(sub_session, asker, id);
        match to {
            Some(to) => self.advance_sub_session(sub_session, to, step, correlation.keys),
            None => self.end_sub_session(sub_session, step),
        }
        Ok(Step {
            kind: StepKind::SubSession { ended: to.is_none() },
            message: Some(message),
            sub_session: Some(sub_session),
            advice,
        })
    }
}
