//! Notifications: those that the state decides about, and those that belong to a running exchange.

use crate::exchange::{Place, Standing, TokenStanding};
use crate::id::{KeyValue, RequestId, SubSessionNumber, Token};
use crate::protocol::{Action, Condition, Direction, KeyIndex, Kind, MessageIndex, Text};
use crate::sub_sessions::{Correlation, SubSessionStep};
use crate::trail::EndedRequest;
use crate::violation::{Violation, ViolationKind};

use super::gates::Within;
use super::judge::Judged;
use super::keyed::{Later, Otherwise};
use super::opening::JudgedMessage;
use super::state::Checker;
use super::step::{About, Step, StepKind};

impl Checker {
    /// Judges a notification and, if it is permitted, applies it.
    ///
    /// A message with `cancels`, and one with `reports` that [is a report](Self::is_report), belong to the exchange that
    /// `about` names and are judged by that alone, besides their gates: legal while it runs, swallowed after it, a
    /// violation if it never ran. All others are judged by the state.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn notification(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        about: About<'_>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        self.notification_correlated(direction, message, about, Correlation::default(), applies)
    }

    /// The same for a message that carries keys.
    ///
    /// # Errors
    /// The [`Violation`], if the protocol does not permit the message. The state has not changed.
    pub fn notification_correlated(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        about: About<'_>,
        correlation: Correlation<'_>,
        applies: impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        let step = self.take_notification(direction, message, about, correlation, &applies)?;
        // What is late grants all the same: its sender has said it, and goes by it.
        if step.kind != StepKind::Closed {
            if let Some(grants) = correlation.grants {
                self.grant(self.sender(direction), grants);
            }
            if let Some(revokes) = correlation.revokes {
                self.revoke(self.sender(direction), revokes, Some(message));
            }
        }
        self.note_grants(direction, message);
        Ok(step)
    }

    fn take_notification(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        about: About<'_>,
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        if self.closed {
            return Ok(Step::plain(StepKind::Closed, message));
        }
        let (cancels, reports) = self
            .protocol
            .message(message)
            .map_or((false, false), |table| (table.cancels.is_some(), table.reports.is_some()));
        match about {
            About::Request(id) if cancels => self.cancellation(direction, message, id, applies),
            About::Token(token) if self.is_report(direction, message, token, correlation.keys) => {
                self.report(direction, message, token, correlation, applies)
            }
            _ => {
                let found = self
                    .judge(direction, message, Kind::Notification, correlation, applies)
                    .map_err(|violation| {
                        // A notification about a request that says not which: the state is not what is wrong with it.
                        let unnamed = (cancels || reports)
                            && violation.kind == ViolationKind::NotPermitted
                            && !self.sub_sessions.may_have(direction, message, correlation.keys);
                        let kind = match about {
                            About::Token(token) if reports => {
                                ViolationKind::UnknownToken { token: token.clone() }
                            }
                            _ => ViolationKind::RequestUnnamed,
                        };
                        if unnamed { self.violation(direction, message, None, kind) } else { violation }
                    })?;
                let said = JudgedMessage { direction, message, request: None, correlation };
                Ok(self.take_judged(found, said))
            }
        }
    }

    /// A notification that the state decides about, and that was judged.
    fn take_judged(&mut self, judged: Judged, said: JudgedMessage<'_>) -> Step {
        let JudgedMessage { direction, message, .. } = said;
        let found = match judged {
            Judged::Found(found) => found,
            Judged::Later(later) => return self.step_later(later, said),
        };
        if let Some(late) = self.lateness(&found, false) {
            return self.come_late(None, &found, late, said);
        }
        match found.action {
            Action::Spawn(start) => self.open_body(None, &found, start, said),
            Action::Step(to) => {
                let advice = self.advice(direction, message, found.state, None);
                let kind = self.step(found, to, direction, message, None);
                Step { kind, message: Some(message), sub_session: None, advice }
            }
        }
    }

    /// A notification that cancels a request of its own sender.
    fn cancellation(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        let refuse = |checker: &Checker, kind| Err(checker.violation(direction, message, Some(id), kind));
        let cancels = self.protocol.message(message).and_then(|table| table.cancels.as_ref());
        let reply_follows = cancels.is_some_and(|cancels| cancels.reply_error.is_some());
        let standing = self.asked(direction).standing(id);
        // What it opened goes on, so it is known which request it was: no cancel of that can have crossed its reply.
        if standing == Standing::Completed
            && let Some(request) = self.never_cancellable(direction, id)
        {
            return refuse(self, ViolationKind::NotCancellable { request });
        }
        let (request, place, reply) = match standing {
            Standing::Running(request, place) => (request, place, None),
            Standing::Completed | Standing::Past(_)
                if !reply_follows && self.keyed_under(direction, id).is_some() =>
            {
                // It has its reply, but the sub-session that it opened goes on: the cancel ends it in whatever state it
                // is, also where its id was misused since then.
                match self.asked(direction).running_under(id) {
                    Some(exchange) => (exchange.message, exchange.place, exchange.reply),
                    None => return Ok(Step::plain(StepKind::Swallowed, message)),
                }
            }
            Standing::Completed if !reply_follows => {
                let (channels, sub_sessions, evidence) = self.with_evidence();
                let request = EndedRequest { asker: direction, id: id.clone() };
                channels.cancelled(&request, message, &evidence);
                sub_sessions.cancelled(&request, message, &evidence);
                return Ok(Step::plain(StepKind::Swallowed, message));
            }
            Standing::Completed | Standing::Past(_) => {
                return Ok(Step::plain(StepKind::Swallowed, message));
            }
            Standing::Unknown => {
                let theirs = matches!(self.asked(direction.flip()).standing(id), Standing::Running(..));
                let kind = if theirs { ViolationKind::NotYours } else { ViolationKind::NotRunning };
                return refuse(self, kind);
            }
        };
        let table = self.protocol.message(request);
        if !table.is_some_and(|table| table.cancellable) {
            let request = table.map(|table| table.method.clone()).unwrap_or_default();
            return refuse(self, ViolationKind::NotCancellable { request });
        }
        let until_reply = table.is_some_and(|table| table.until_reply);
        if until_reply && reply.is_some_and(|reply| self.evidence().is_past(direction.flip(), reply)) {
            let request = table.map(|table| table.method.clone()).unwrap_or_default();
            return refuse(self, ViolationKind::NoLongerCancellable { request });
        }
        if reply_follows {
            return self.cancel_running(direction, message, id, request, applies);
        }
        let limits = self.limits;
        match place {
            Place::SubSession(state) => {
                self.judge_gates(direction, message, Within::Any, applies)?;
                let advice = self.advice(direction, message, state, Some(id));
                self.asked_mut(direction).cancel(id, &limits);
                Ok(Step {
                    kind: StepKind::SubSession { ended: true },
                    message: Some(message),
                    sub_session: None,
                    advice,
                })
            }
            Place::Keyed(sub_session, channel) => {
                if self.keyed_under(direction, id) != Some(sub_session) {
                    let place = (sub_session, channel);
                    return self.cancellation_within(place, direction, message, id, applies);
                }
                self.judge_gates(direction, message, Within::Any, applies)?;
                let state = self.sub_session_state(sub_session);
                let advice = state.and_then(|state| self.advice(direction, message, state, Some(id)));
                let step = SubSessionStep { cuts: true, ..self.sub_session_step(direction, message, None) };
                self.close_sub_session(sub_session, 0, step);
                let kind = StepKind::SubSession { ended: true };
                Ok(Step { kind, message: Some(message), sub_session: Some(sub_session), advice })
            }
            Place::Linear(channel) => {
                let found = self.find_in(channel, direction, message);
                let Some((found, Action::Step(to))) = found.map(|found| (found, found.action)) else {
                    return refuse(self, ViolationKind::NotPermitted);
                };
                self.judge_gates(direction, message, Within::Any, applies)?;
                let advice = self.advice(direction, message, found.state, Some(id));
                self.asked_mut(direction).cancel(id, &limits);
                let before = self.channels.steps();
                let kind = self.step(found, to, direction, message, None);
                self.channels.ended(direction, &EndedRequest { asker: direction, id: id.clone() }, before);
                Ok(Step { kind, message: Some(message), sub_session: None, advice })
            }
        }
    }

    /// A request is cancelled that still gets its reply: nothing moves before that.
    fn cancel_running(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        request: MessageIndex,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        self.judge_gates(direction, message, Within::Any, applies)?;
        if !self.asked_mut(direction).cancel_running(id) {
            let request =
                self.protocol.message(request).map(|table| table.method.clone()).unwrap_or_default();
            return Err(self.violation(
                direction,
                message,
                Some(id),
                ViolationKind::CancelledTwice { request },
            ));
        }
        Ok(Step::plain(StepKind::Reported, message))
    }

    /// A later request of a sub-session is cancelled: by an edge, as in a linear channel.
    fn cancellation_within(
        &mut self,
        (sub_session, channel): (SubSessionNumber, u32),
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        let running = self.sub_sessions.get(sub_session);
        let found = running.and_then(|running| {
            self.find_among(&running.channels, direction, message, |number| number == channel)
        });
        let Some((found, Action::Step(to))) = found.map(|found| (found, found.action)) else {
            return Err(self.violation(direction, message, Some(id), ViolationKind::NotPermitted));
        };
        self.judge_gates(direction, message, Within::Any, applies)?;
        let advice = self.advice(direction, message, found.state, Some(id));
        let limits = self.limits;
        self.asked_mut(direction).cancel(id, &limits);
        self.sub_sessions.answered(sub_session, direction, id);
        let step = self.sub_session_step(direction, message, None);
        let before = self.sub_sessions.steps(sub_session);
        let ended = self.move_sub_session(sub_session, found.leads(to), step, &[]);
        let request = EndedRequest { asker: direction, id: id.clone() };
        self.sub_sessions.ends(sub_session, direction, &request, before);
        let kind = StepKind::SubSession { ended };
        Ok(Step { kind, message: Some(message), sub_session: Some(sub_session), advice })
    }

    /// The method of a request that has its reply, and could not be cancelled before either, while the sub-session that
    /// it opened goes on.
    fn never_cancellable(&self, direction: Direction, id: &RequestId) -> Option<Text> {
        let exchange = self.asked(direction).running_under(id).filter(|exchange| exchange.is_answered())?;
        let request = self.protocol.message(exchange.message).filter(|table| !table.cancellable)?;
        Some(request.method.clone())
    }

    /// The sub-session that a request opened, of those that a key ties together.
    fn keyed_under(&self, direction: Direction, id: &RequestId) -> Option<SubSessionNumber> {
        let Place::Keyed(sub_session, _) = self.asked(direction).running_under(id)?.place else {
            return None;
        };
        let opener = self.sub_sessions.get(sub_session)?.opener.as_ref()?;
        (opener.0 == direction && opener.1 == *id).then_some(sub_session)
    }

    /// Whether a notification with a token is a report on a request of the other side: on one that runs with this token, or
    /// has run. With another token it is a message of its own, if session types have it; so it is where a sub-session
    /// holds the values that it carries.
    pub fn is_report(
        &self,
        direction: Direction,
        message: MessageIndex,
        token: &Token,
        keys: &[(KeyIndex, KeyValue)],
    ) -> bool {
        if self.protocol.message(message).is_none_or(|table| table.reports.is_none()) {
            return false;
        }
        if self.sub_sessions.may_have(direction, message, keys) {
            return false;
        }
        let is_written = || {
            let edges = self
                .role()
                .into_iter()
                .flat_map(|role| role.states.iter())
                .flat_map(|state| state.edges.iter());
            edges.into_iter().any(|edge| (edge.direction, edge.message) == (direction, message))
        };
        !matches!(self.asked(direction.flip()).token(token), TokenStanding::Unknown) || !is_written()
    }

    /// A notification about a running request of the other side.
    fn report(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        token: &Token,
        correlation: Correlation<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Step, Violation> {
        let asker = direction.flip();
        match self.asked(asker).token(token) {
            TokenStanding::Running(id) => {
                let Err(violation) = self.judge_gates(direction, message, Within::Report(asker, id), applies)
                else {
                    return Ok(Step::plain(StepKind::Reported, message));
                };
                // It may be meant for a sub-session that is over, by a side that has not heard of that.
                match self.judge(direction, message, Kind::Notification, correlation, applies) {
                    Ok(judged) if self.is_of_one_that_is_over(&judged, message, correlation) => {
                        let said = JudgedMessage { direction, message, request: None, correlation };
                        Ok(self.take_judged(judged, said))
                    }
                    _ => Err(violation),
                }
            }
            TokenStanding::Over => Ok(Step::plain(StepKind::Swallowed, message)),
            TokenStanding::Unknown => {
                let kind = ViolationKind::UnknownToken { token: token.clone() };
                Err(self.violation(direction, message, None, kind))
            }
        }
    }

    /// Whether a message is late for a sub-session that is over, or uncorrelated because none holds its values any more.
    fn is_of_one_that_is_over(
        &self,
        judged: &Judged,
        message: MessageIndex,
        correlation: Correlation<'_>,
    ) -> bool {
        match judged {
            Judged::Later(later) => matches!(later, Later::Late(_)),
            Judged::Found(found) => match found.action {
                Action::Spawn(start) => {
                    self.sub_sessions.starts(start).is_none()
                        && self.may_be_alone(message, correlation, Otherwise::Alone)
                }
                Action::Step(_) => false,
            },
        }
    }
}
