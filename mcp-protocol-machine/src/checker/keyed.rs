//! Copies that a key ties together: how a later step finds its copy, and when a value is free to open one.
//!
//! A value is held from the first message of a copy that carries it until the copy is over. What comes for it later
//! stands alone at once where its key is open. Otherwise it is late where it may have been under way: in the direction
//! that did not end the copy, if the copy had it ahead, until the fence of what ended the copy. Several copies may have
//! held the value one after the other; then one of them is enough.

use crate::capability::Capabilities;
use crate::exchange::Place;
use crate::id::{CopyNumber, KeyValue, RequestId};
use crate::protocol::{Action, Condition, Direction, KeyIndex, Kind, MessageIndex, Origin, StateIndex, Text};
use crate::sub_sessions::{CopyStep, Meant, Ties};
use crate::violation::{Violation, ViolationKind};

use super::{Checker, Late, Step, StepKind};

/// What a later step finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Later {
    /// Its copy, which is in a state that accepts it.
    Copy { copy: CopyNumber, from: StateIndex, to: StateIndex },
    /// Its copy is over or has gone on, and the message may have been under way. Where the copy goes on, which it is.
    Late(Late, Option<CopyNumber>),
}

/// What a message may do that can be a later step of a copy, if no copy holds its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// Open a copy that its keys tie together.
    Opens,
    /// Stand alone, where its key is open.
    Alone,
    /// Nothing.
    Refused,
}

impl Checker {
    /// Judges a message as a later step of a copy; nothing if no copy has it as one, or none holds its values and it
    /// may do what it may do otherwise.
    pub(super) fn judge_later(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        ties: Ties<'_>,
        otherwise: Otherwise,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Option<Result<Later, Violation>> {
        let channel = self.copies.later(direction, message)?;
        let found = self.find_later(channel, direction, message, id, ties, otherwise).and_then(|later| {
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
        ties: Ties<'_>,
        otherwise: Otherwise,
    ) -> Result<Option<Later>, Violation> {
        let refuse = |kind| Err(self.violation(direction, message, id, kind));
        let Some((key, value)) = ties.keys.first() else {
            return refuse(ViolationKind::KeyMissing { key: self.first_key(message) });
        };
        if let Meant::Copy(meant) = ties.meant
            && self.copies.get(meant).is_none()
        {
            // Who means it lags the wire, where it is over.
            let ended = self.copies.ended(channel, ties.keys).next();
            let here = Late { state: StateIndex(0), crossed: None, over: true };
            return Ok(Some(Later::Late(ended.map_or(here, Checker::late_for), None)));
        }
        let holder = ties.keys.iter().find_map(|(key, value)| self.copies.holder(channel, *key, value));
        let open = ties.keys.iter().any(|(key, _)| self.protocol.key(*key).is_some_and(|key| key.open));
        let alone = open && otherwise == Otherwise::Alone;
        let Some(copy) = holder else {
            let new = !matches!(ties.meant, Meant::Copy(_));
            if new && (alone || otherwise == Otherwise::Opens) {
                return Ok(None);
            }
            let mut ended = self.copies.ended(channel, ties.keys);
            return match ended.find(|ended| self.may_be_late_for(ended, direction, message)) {
                Some(ended) => Ok(Some(Later::Late(Checker::late_for(ended), None))),
                None => refuse(ViolationKind::UnknownKey { key: self.key_name(*key), value: value.clone() }),
            };
        };
        match ties.meant {
            Meant::Copy(meant) if meant != copy => {
                return refuse(ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() });
            }
            Meant::New => {
                return refuse(ViolationKind::KeyInUse { key: self.key_name(*key), value: value.clone() });
            }
            _ => {}
        }
        self.fitting(copy, direction, message, id, ties)?;
        let Some(running) = self.copies.get(copy) else { return Ok(None) };
        let from = running.state;
        let edge = self.state(from).and_then(|table| table.edge(direction, message));
        let crossed = || running.crossed(direction, message, &self.evidence()).map(|left| left.by);
        // It may cross the message that opened the copy.
        let unknown = ties.meant == Meant::Anything && running.may_be_unknown(direction);
        match edge.map(|edge| (edge.action, edge.origin)) {
            Some((Action::Step(_), Origin::Closure)) if !self.ordered || crossed().is_some() => {
                let crossed = crossed().flatten();
                Ok(Some(Later::Late(Late { state: from, crossed, over: false }, Some(copy))))
            }
            Some((Action::Step(to), origin)) if origin != Origin::Closure => {
                Ok(Some(Later::Copy { copy, from, to }))
            }
            _ if unknown && alone => Ok(None),
            _ => {
                // It may be meant for one that was before.
                let mut before = ties.keys.iter().flat_map(|(key, _)| running.reused(*key));
                let late = before.find(|ended| self.may_be_late_for(ended, direction, message));
                match late.filter(|_| ties.meant == Meant::Anything) {
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

    /// Whether the values that a message carries are those of its copy, or free.
    pub(super) fn fitting(
        &self,
        copy: CopyNumber,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        ties: Ties<'_>,
    ) -> Result<(), Violation> {
        for (key, value) in ties.keys {
            match self.copies.value(copy, *key) {
                Some(held) if held == value => {}
                Some(_) => {
                    let kind = ViolationKind::WrongKey { key: self.key_name(*key), value: value.clone() };
                    return Err(self.violation(direction, message, id, kind));
                }
                None => {
                    let start = self.copies.get(copy).map(|running| running.channel());
                    self.free(start, direction, message, id, *key, value)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a message may open a copy that starts in a state: whatever key it could carry it does carry, and
    /// nothing runs under the values.
    pub(super) fn judge_opening(
        &self,
        start: StateIndex,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        ties: Ties<'_>,
    ) -> Result<(), Violation> {
        let Some(channel) = self.copies.starts(start) else { return Ok(()) };
        self.complete(direction, message, id, ties)?;
        for (key, value) in ties.keys {
            self.free(Some(channel), direction, message, id, *key, value)?;
        }
        let limit = self.limits.running;
        if self.copies.len() >= limit {
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
        ties: Ties<'_>,
    ) -> Result<(), Violation> {
        let Some(table) = self.protocol.message(message) else { return Ok(()) };
        let carried = |wanted: KeyIndex| ties.keys.iter().any(|(key, _)| *key == wanted);
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
        match channel.and_then(|channel| self.copies.holder(channel, key, value)) {
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

    /// Moves a copy by a request or a notification that was judged.
    pub(super) fn step_later(
        &mut self,
        later: Later,
        direction: Direction,
        message: MessageIndex,
        request: Option<(&RequestId, Option<crate::id::Token>)>,
        ties: Ties<'_>,
    ) -> Step {
        let limits = self.limits;
        match later {
            Later::Late(late, copy) => {
                let (channels, copies, evidence) = self.with_evidence();
                channels.awake(direction, &evidence);
                if let Some(copy) = copy {
                    copies.said(copy, direction, message, &evidence);
                }
                if let Some((id, token)) = request {
                    // The only answer to it will be an error.
                    self.asked_mut(direction).refuse(id, token.as_ref(), &limits);
                }
                Step::plain(StepKind::Late(late), message)
            }
            Later::Copy { copy, from, to } => {
                let (channels, _, evidence) = self.with_evidence();
                channels.awake(direction, &evidence);
                let id = request.as_ref().map(|(id, _)| *id);
                let advice = self.advice(direction, message, from, id);
                if let Some((id, token)) = request {
                    self.asked_mut(direction).open_exchange(id, message, Place::Keyed(copy), token, &limits);
                    self.copies.asked(copy, direction, id);
                }
                let ended = self.is_end(to);
                let step = self.copy_step(direction, message, id);
                if ended {
                    self.end_copy(copy, step);
                } else {
                    self.advance_copy(copy, to, step, ties.keys);
                }
                Step { kind: StepKind::Copy { ended }, message: Some(message), copy: Some(copy), advice }
            }
        }
    }

    /// A step of a copy that is taken now. A request is booked before.
    pub(super) fn copy_step(
        &self,
        by: Direction,
        message: MessageIndex,
        request: Option<&RequestId>,
    ) -> CopyStep {
        CopyStep { by, message, fence: self.fence(by, request) }
    }

    /// A copy goes on, by a step, and holds what values that carries.
    pub(super) fn advance_copy(
        &mut self,
        copy: CopyNumber,
        to: StateIndex,
        step: CopyStep,
        keys: &[(KeyIndex, KeyValue)],
    ) {
        let (_, copies, evidence) = self.with_evidence();
        copies.advance(copy, to, step, keys, &evidence);
    }

    /// A copy is over, by a step of its body.
    pub(super) fn end_copy(&mut self, copy: CopyNumber, step: CopyStep) {
        let (_, copies, evidence) = self.with_evidence();
        copies.heard(copy, step.by, &evidence);
        self.close_copy(copy, step);
    }

    /// A copy is over, by a step or by the cancel of the request that opened it: who cancels that may not have received
    /// what the other side has said in it. What its requests still wait for comes late.
    pub(super) fn close_copy(&mut self, copy: CopyNumber, step: CopyStep) {
        let limits = self.limits;
        let Some((running, ended)) = self.copies.end(copy, step, &limits) else { return };
        // A caller that takes none of them must not make the list grow.
        self.left.clear();
        for (asker, id) in &running.open {
            self.asked_mut(*asker).cancel(id, &limits);
            self.leave(*asker, id);
        }
        if let Some((asker, id)) = &running.opener {
            let asked = self.asked_mut(*asker);
            match asked.running_under(id) {
                Some(exchange) if exchange.answered => asked.finish(id),
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
    /// copy: whoever waits for an answer to them waits for nothing. Gives them once.
    pub fn take_left(&mut self) -> Vec<RequestId> {
        std::mem::take(&mut self.left)
    }

    /// Whether some copy is in a state that accepts a message.
    pub(super) fn some_copy_accepts(&self, direction: Direction, message: MessageIndex) -> bool {
        self.copies.later(direction, message).is_some()
            && !self.rests(direction)
            && self.copies.states().any(|state| {
                let edge = self.state(state).and_then(|table| table.edge(direction, message));
                edge.is_some_and(|edge| edge.origin != Origin::Closure)
            })
    }

    /// The copy that a running request belongs to, of those that a key ties together.
    pub fn copy_of(&self, direction: Direction, id: &RequestId) -> Option<CopyNumber> {
        match self.asked(direction).running_under(id)?.place {
            Place::Keyed(copy) => Some(copy),
            _ => None,
        }
    }

    /// The id of the request that opened a running copy, of those that a key ties together.
    pub fn copy_opener(&self, copy: CopyNumber) -> Option<&RequestId> {
        self.copies.get(copy)?.opener.as_ref().map(|(_, id)| id)
    }

    /// The state of a running copy that a key ties together.
    pub fn copy_state(&self, copy: CopyNumber) -> Option<StateIndex> {
        self.copies.get(copy).map(|running| running.state)
    }

    /// A reply to a request of a copy.
    pub(super) fn reply_keyed(
        &mut self,
        copy: CopyNumber,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        ties: Ties<'_>,
    ) -> Result<Step, Violation> {
        let asker = direction.flip();
        let Some(running) = self.copies.get(copy) else {
            return Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted));
        };
        let (from, opener) =
            (running.state, running.opener.as_ref().is_some_and(|(by, first)| (*by, first) == (asker, id)));
        let refusal =
            matches!(self.protocol.message(message).map(|table| table.kind), Some(Kind::Refusal { .. }));
        let edge = self.state(from).and_then(|table| table.edge(direction, message)).copied();
        let to = match edge.map(|edge| edge.action.target()) {
            // A refusal of the request that opened it ends the copy whatever came between.
            _ if refusal && opener => None,
            Some(to) => Some(to).filter(|to| !self.is_end(*to)),
            None => return Err(self.violation_in(from, direction, message, Some(id))),
        };
        if !refusal {
            self.complete(direction, message, Some(id), ties)?;
            self.fitting(copy, direction, message, Some(id), ties)?;
        }
        let advice = self.advice(direction, message, from, Some(id));
        match to {
            Some(to) if opener => self.asked_mut(asker).answer(id, to),
            _ => self.asked_mut(asker).finish(id),
        }
        self.copies.answered(copy, asker, id);
        let step = self.copy_step(direction, message, None);
        match to {
            Some(to) => self.advance_copy(copy, to, step, ties.keys),
            None => self.end_copy(copy, step),
        }
        Ok(Step {
            kind: StepKind::Copy { ended: to.is_none() },
            message: Some(message),
            copy: Some(copy),
            advice,
        })
    }
}
