//! Replies: results and errors, which carry no method and are found by their id.

use crate::exchange::{Past, Place, Standing};
use crate::id::RequestId;
use crate::protocol::{Direction, Kind, MessageIndex};
use crate::sub_sessions::Correlation;
use crate::trail::EndedRequest;
use crate::violation::{Violation, ViolationKind};

use super::state::Checker;
use super::step::{Awaiting, Step, StepKind};

/// A reply that has come, before it is judged as one message or another.
#[derive(Clone, Copy)]
struct Heard<'a> {
    direction: Direction,
    id: &'a RequestId,
    correlation: Correlation<'a>,
}

impl Checker {
    /// Where the exchange stands that a reply in this direction belongs to.
    pub fn awaiting(&self, direction: Direction, id: &RequestId) -> Awaiting {
        match self.asked(direction.flip()).standing(id) {
            Standing::Running(message, _) => Awaiting::Request(message),
            Standing::Past(Past::Cancelled) => Awaiting::Retired,
            Standing::Past(Past::Refused) => Awaiting::Refused,
            Standing::Completed => Awaiting::Completed,
            Standing::Unknown => Awaiting::Unknown,
        }
    }

    /// Judges a reply and, if it is permitted, applies it. `message` is one of the replies of the request that
    /// [`awaiting`](Self::awaiting) names, or its refusal. Replies have no gates of their own: the request had them.
    ///
    /// For a request that does not run this is [`stray_reply`](Self::stray_reply).
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn reply(
        &mut self,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
    ) -> Result<Step, Violation> {
        self.reply_correlated(direction, id, message, Correlation::default())
    }

    /// The same for a reply that carries keys.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn reply_correlated(
        &mut self,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<Step, Violation> {
        self.hear(Heard { direction, id, correlation }, Some(message), |checker, heard| {
            checker.judge_reply(heard, message)
        })
    }

    /// What [`reply_correlated`](Self::reply_correlated) would say of a reply of the followed role to a running request.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message.
    pub fn check_reply(
        &self,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        let direction = Direction::Send;
        let Standing::Running(request, place) = self.asked(direction.flip()).standing(id) else {
            return Ok(());
        };
        if self.closed {
            return Ok(());
        }
        let refusal = self.refuses(direction, id, message, request)?;
        match place {
            Place::Linear(channel) if self.find_in(channel, direction, message).is_none() => {
                Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted))
            }
            Place::Keyed(sub_session, channel) => {
                self.judge_reply_keyed((sub_session, channel), direction, id, message, correlation).map(drop)
            }
            Place::SubSession(state)
                if !refusal
                    && self.state(state).and_then(|table| table.edge(direction, message)).is_none() =>
            {
                Err(self.violation_in(&[state], direction, message, Some(id)))
            }
            Place::Linear(_) | Place::SubSession(_) => Ok(()),
        }
    }

    /// Whether a reply has in members of its envelope what its request has there. The id says which request it answers, so
    /// one that lacks them is understood as well.
    pub(super) fn same_members(
        &self,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> Result<(), Violation> {
        // Most replies have none, and their request is not looked up for them.
        if correlation.members.is_empty() {
            return Ok(());
        }
        let Some(asked) = self.asked(direction.flip()).members(id) else { return Ok(()) };
        let Some((key, value)) = correlation.members.iter().find(|member| !asked.contains(member)) else {
            return Ok(());
        };
        let key = self.protocol.key(*key).map(|key| key.name.clone()).unwrap_or_default();
        let kind = ViolationKind::WrongKey { key, value: value.clone() };
        Err(self.violation(direction, message, Some(id), kind))
    }

    /// Whether an answer refuses its request; a violation if it belongs to another one.
    fn refuses(
        &self,
        direction: Direction,
        id: &RequestId,
        message: MessageIndex,
        request: MessageIndex,
    ) -> Result<bool, Violation> {
        match self.protocol.message(message).map(|table| table.kind) {
            Some(Kind::Reply { request: answered }) if answered == request => Ok(false),
            Some(Kind::Refusal { request: answered }) if answered == request => Ok(true),
            _ => {
                let request =
                    self.protocol.message(request).map(|table| table.method.clone()).unwrap_or_default();
                Err(self.violation(direction, message, Some(id), ViolationKind::WrongReply { request }))
            }
        }
    }

    /// Judges a reply; one that is permitted proves what its sender has received.
    fn hear(
        &mut self,
        heard: Heard<'_>,
        message: Option<MessageIndex>,
        judge: impl FnOnce(&mut Checker, Heard<'_>) -> Result<Step, Violation>,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step { kind: StepKind::Closed, message, sub_session: None, advice: None });
        }
        let asker = heard.direction.flip();
        let proof = self.asked(asker).proof(heard.id);
        let revoked = self.asked(asker).revoked_by_answer(heard.id);
        let was_cancelled = matches!(self.asked(asker).standing(heard.id), Standing::Past(Past::Cancelled));
        let step = judge(self, heard)?;
        self.asked_mut(asker).prove(proof);
        if was_cancelled {
            let request = EndedRequest { asker, id: heard.id.clone() };
            let (channels, sub_sessions, evidence) = self.with_evidence();
            channels.replied(&request, &evidence);
            sub_sessions.replied(&request, &evidence);
        }
        // Whatever the answer is: what a side does not want to be asked for any more, it need not be asked for.
        if let (Some(revoked), Some(message)) = (revoked, step.message) {
            self.asked_mut(asker).has_revoked(heard.id);
            self.take_back(self.sender(asker), &revoked, Some(message));
        }
        if let Some(message) = step.message {
            self.note_grants(heard.direction, message);
        }
        Ok(step)
    }

    fn judge_reply(&mut self, heard: Heard<'_>, message: MessageIndex) -> Result<Step, Violation> {
        let Heard { direction, id, correlation } = heard;
        let asker = direction.flip();
        let Standing::Running(request, place) = self.asked(asker).standing(id) else {
            return self.stray(heard, Some(message));
        };
        let refusal = self.refuses(direction, id, message, request)?;
        self.same_members(direction, id, message, correlation)?;
        match place {
            Place::Linear(channel) => {
                let Some(found) = self.find_in(channel, direction, message) else {
                    return Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted));
                };
                let advice = self.advice(direction, message, found.state, Some(id));
                self.asked_mut(asker).finish(id);
                let before = self.channels.steps();
                let kind = self.take(found, direction, message);
                if self.protocol.message(request).is_some_and(|table| table.cancellable) {
                    self.channels.ended(direction, &EndedRequest { asker, id: id.clone() }, before);
                }
                Ok(Step { kind, message: Some(message), sub_session: None, advice })
            }
            Place::Keyed(sub_session, channel) => {
                self.reply_keyed((sub_session, channel), direction, id, message, correlation)
            }
            Place::SubSession(state) => {
                let advice = self.advice(direction, message, state, Some(id));
                let edge = self.state(state).and_then(|table| table.edge(direction, message)).copied();
                let ended = match edge {
                    // A refusal ends the sub-session whatever came between, so it needs no edge.
                    _ if refusal => true,
                    Some(edge) if self.is_end(edge.action.target()) => true,
                    Some(edge) => {
                        let fence = self.fence(direction, None);
                        self.asked_mut(asker).answer(id, edge.action.target(), fence);
                        false
                    }
                    None => return Err(self.violation_in(&[state], direction, message, Some(id))),
                };
                if ended {
                    self.asked_mut(asker).finish(id);
                }
                Ok(Step {
                    kind: StepKind::SubSession { ended },
                    message: Some(message),
                    sub_session: None,
                    advice,
                })
            }
        }
    }

    /// Judges a reply for which [`awaiting`](Self::awaiting) names no running request: the one reply to a request
    /// that was cancelled, or refused as a violation, is swallowed, any other is a violation. Where [`retired`](Self::retired)
    /// names the request, [`reply_correlated`](Self::reply_correlated) takes the reply with its keys: its sender did not know
    /// yet that the sub-session is over, and may send more under these values.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn stray_reply(&mut self, direction: Direction, id: &RequestId) -> Result<Step, Violation> {
        let correlation = Correlation::default();
        self.hear(Heard { direction, id, correlation }, None, |checker, heard| checker.stray(heard, None))
    }

    /// The request that a late reply in this direction belongs to: the request was cancelled, or was late itself. What the
    /// reply announces counts, and if the request would have opened a sub-session, so do the keys.
    pub fn retired(&self, direction: Direction, id: &RequestId) -> Option<MessageIndex> {
        self.asked(direction.flip()).retired(id)
    }

    fn stray(&mut self, heard: Heard<'_>, message: Option<MessageIndex>) -> Result<Step, Violation> {
        let Heard { direction, id, correlation } = heard;
        let limits = self.limits;
        let asked = self.asked_mut(direction.flip());
        match asked.standing(id) {
            Standing::Past(_) => {
                let opened = asked.opened(id);
                asked.swallow(id);
                if let Some(opened) = opened {
                    self.sub_sessions.retire(opened.space, &opened.ended, correlation.keys, &limits);
                    let kind =
                        message.and_then(|message| self.protocol.message(message)).map(|table| table.kind);
                    // The followed role answers what it finds late with an error.
                    let refused = kind
                        .map_or(direction == Direction::Send, |kind| matches!(kind, Kind::Refusal { .. }));
                    if refused {
                        self.sub_sessions.settle(opened, self.fence(direction, None));
                    }
                }
                Ok(Step { kind: StepKind::Swallowed, message, sub_session: None, advice: None })
            }
            Standing::Completed => Err(self.stray_violation(direction, id, ViolationKind::SecondReply)),
            // A running request has replies of its own, and the caller did not name one.
            Standing::Running(request, _) => {
                let request =
                    self.protocol.message(request).map(|table| table.method.clone()).unwrap_or_default();
                Err(self.stray_violation(direction, id, ViolationKind::WrongReply { request }))
            }
            Standing::Unknown => Err(self.stray_violation(direction, id, ViolationKind::UnknownId)),
        }
    }
}
