//! Requests: judged, and opened if they are permitted.

use super::judge::Judged;
use super::keyed::Later;
use super::opening::JudgedMessage;
use super::state::Checker;
use super::step::{Step, StepKind};
use crate::exchange::Place;
use crate::id::{KeyValue, RequestId, Token};
use crate::protocol::{Action, Condition, Direction, KeyIndex, Kind, MessageIndex};
use crate::shape::ShapeMismatch;
use crate::sub_sessions::Correlation;
use crate::violation::{RoundFault, Violation};

impl Checker {
    /// Judges a request and, if it is permitted, opens its exchange.
    ///
    /// `token` is what a `reports` notification about it will carry. `applies` is asked whether the payload fits a
    /// condition, and only for gates that have one.
    ///
    /// An endpoint that is refused has not written the message, so its id is free; it therefore asks
    /// [`permits_if`](Self::permits_if) first and spends an id only then.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        self.request_correlated(direction, message, id, token, Correlation::default(), applies)
    }

    /// Refuses a request whose token belongs to a request that is still running, which keeps it.
    fn take_token(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<&Token>,
    ) -> Result<(), Violation> {
        let Some(violation) = self.token_in_use(direction, message, id, token) else { return Ok(()) };
        let limits = self.limits;
        self.asked_mut(direction).refuse(id, None, &limits);
        Err(violation)
    }

    /// The same for a message that carries keys.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn request_correlated(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<Token>,
        correlation: Correlation<'_>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        let step = self.take_request(direction, message, (id, token), correlation, &applies)?;
        // What is late grants all the same: its sender has said it, and goes by it.
        if let Some(grants) = correlation.grants
            && step.kind != StepKind::Closed
        {
            self.grant(self.sender(direction), grants);
        }
        // What it revokes, its answer does; nothing waits for that of a late request.
        if let Some(revokes) = correlation.revokes
            && !step.kind.is_dropped()
        {
            let revoked = self.ask_back(self.sender(direction), revokes);
            self.asked_mut(direction).revokes(id, &revoked);
        }
        self.note_members(direction, message, id, correlation.keys);
        self.note_grants(direction, message);
        Ok(step)
    }

    /// Notes what a request has in members of its envelope, for its reply has the same. Hardly any request has such members.
    fn note_members(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        keys: &[(KeyIndex, KeyValue)],
    ) {
        let Some(table) = self.protocol.message(message).filter(|_| !keys.is_empty()) else { return };
        let is_member = |key: KeyIndex| table.member_keys().any(|(member, _)| member == key);
        let members: Vec<_> = keys.iter().filter(|(key, _)| is_member(*key)).cloned().collect();
        if !members.is_empty() {
            self.asked_mut(direction).has_members(id, members.into());
        }
    }

    fn take_request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        (id, token): (&RequestId, Option<Token>),
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step::plain(StepKind::Closed, message));
        }
        let found = match self.judge_request(direction, message, id, correlation, applies) {
            Ok(found) => found,
            Err(violation) => {
                let limits = self.limits;
                self.asked_mut(direction).refuse(id, token.as_ref(), &limits);
                return Err(violation);
            }
        };
        let found = match found {
            Judged::Found(found) => found,
            Judged::Later(later) => {
                // What is late is refused, whatever token it carries.
                if let Later::SubSession(_, found) = &later
                    && self.lateness(found, true).is_none()
                {
                    self.take_token(direction, message, id, token.as_ref())?;
                }
                let request = Some((id, token));
                return Ok(self.step_later(later, JudgedMessage { direction, message, request, correlation }));
            }
        };
        if let Some(late) = self.lateness(&found, true) {
            let request = Some((id, token));
            return Ok(self.come_late(
                None,
                &found,
                late,
                JudgedMessage { direction, message, request, correlation },
            ));
        }
        self.take_token(direction, message, id, token.as_ref())?;
        let to = match found.action {
            Action::Step(to) => to,
            Action::Spawn(start) => {
                let request = Some((id, token));
                return Ok(self.open_body(
                    None,
                    &found,
                    start,
                    JudgedMessage { direction, message, request, correlation },
                ));
            }
        };
        let advice = self.advice(direction, message, found.state, Some(id));
        let limits = self.limits;
        let place = Place::Linear(found.channel);
        self.asked_mut(direction).open_exchange(id, message, place, token, correlation.announces, &limits);
        let kind = self.step(found, to, direction, message, Some(id));
        Ok(Step { kind, message: Some(message), sub_session: None, advice })
    }

    /// Reports a request or a notification with a method that no message has. The id of a request is remembered, as
    /// that of any refused request.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn unknown_method(
        &mut self,
        direction: Direction,
        id: Option<&RequestId>,
        method: &str,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step { kind: StepKind::Closed, message: None, sub_session: None, advice: None });
        }
        let violation = self.unknown_violation(direction, id, method);
        if let Some(id) = id {
            let limits = self.limits;
            self.asked_mut(direction).refuse(id, None, &limits);
        }
        Err(violation)
    }

    /// Reports a message whose payload fits none of the conditions that tell the messages of its method apart, or the
    /// replies of its request; `message` is one of these. The id of a request is remembered, as that of any refused
    /// request.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn fits_none(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Result<Step, Violation> {
        let violation = self.fits_none_violation(direction, message, id);
        self.unfitting(direction, id, violation)
    }

    /// Reports a message whose payload does not have its shape. The id of a request is remembered, as that of any refused
    /// request.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn misshapen(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        mismatch: ShapeMismatch,
    ) -> Result<Step, Violation> {
        let violation = self.would_be_misshapen(direction, message, id, mismatch);
        self.unfitting(direction, id, violation)
    }

    /// Another round of a request that is not as the round before it asks for, or a reply that asks for nothing.
    ///
    /// # Errors
    /// Always a [`Violation`], unless the session is closed.
    pub fn wrong_round(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        fault: RoundFault,
    ) -> Result<Step, Violation> {
        let violation = self.would_be_wrong_round(direction, message, id, fault);
        self.unfitting(direction, id, violation)
    }

    /// A payload is not accepted in any state.
    fn unfitting(
        &mut self,
        direction: Direction,
        id: Option<&RequestId>,
        violation: Violation,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step { kind: StepKind::Closed, message: None, sub_session: None, advice: None });
        }
        if let (Some(id), Some(Kind::Request)) = (id, violation.got.kind) {
            let limits = self.limits;
            self.asked_mut(direction).refuse(id, None, &limits);
        }
        Err(violation)
    }
}
