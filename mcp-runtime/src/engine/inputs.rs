//! Linear inputs: what the values of the linear channels and of sub-sessions take.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex};
use mcp_protocol_machine::{RequestId, StepKind, SubSessionNumber};

use super::context::Caller;
use super::order::Held;
use super::state::Engine;
use super::wakers::{Waiter, Waiting};
use crate::budget::{Exhausted, Permit};
use crate::error::{DisconnectReason, Error};
use crate::jsonrpc::RpcError;
use crate::report::{DropReason, Report};

/// A step with a payload of up to this many bytes is taken also where no more may wait.
const SMALL_STEP: usize = 16 * 1024;

/// A linear input.
#[derive(Debug)]
pub(crate) struct LinearInput {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The id of the request of this side that it answers, if it answers one.
    pub(crate) answers: Option<i64>,
    pub(crate) body: Body,
    /// What it announces, if the program cannot work with it.
    pub(crate) negotiation: Option<Box<Error>>,
    /// What it holds of the budgets for input, until it is taken.
    pub(super) permit: Permit,
    /// The number of the message.
    pub(super) came: u64,
}

impl LinearInput {
    /// How many bytes its payload has.
    pub(super) fn length(&self) -> usize {
        match &self.body {
            Body::Payload(payload) => payload.as_ref().map_or(0, |payload| payload.len()),
            Body::Refusal(error) => error.message.len(),
            Body::Rejected(_) => 0,
        }
    }
}

/// What a linear input carries.
#[derive(Debug)]
pub(crate) enum Body {
    Payload(Option<Box<str>>),
    Refusal(RpcError),
    /// The reply that came cannot be accepted. Whatever it says, the state behind it is the same, or the session is
    /// over.
    Rejected(Error),
}

/// The body of a reply.
impl From<Result<&str, RpcError>> for Body {
    fn from(outcome: Result<&str, RpcError>) -> Body {
        match outcome {
            Ok(result) => Body::Payload(Some(result.into())),
            Err(error) => Body::Refusal(error),
        }
    }
}

/// What a session value does with a linear input that waits.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Takes it.
    Take,
    /// Leaves it for later, or for another value, and looks further.
    Skip,
    /// Can neither take it nor anything behind it.
    Stop(Error),
}

/// The inputs that a value has not taken, in the order in which they came, and the tasks that wait for one.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    inputs: VecDeque<LinearInput>,
    waiting: Waiting,
}

/// An input that a value wants, or cannot pass over.
struct Wanted {
    place: usize,
    came: u64,
    verdict: Verdict,
}

impl InputQueue {
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LinearInput> {
        self.inputs.iter()
    }

    pub(super) fn push(&mut self, input: LinearInput) {
        self.inputs.push_back(input);
    }

    pub(super) fn take(&mut self, place: usize) -> Option<LinearInput> {
        self.inputs.remove(place)
    }

    /// Takes the reply to a request of this side.
    pub(super) fn take_reply(&mut self, request: i64) -> Option<LinearInput> {
        let place = self.inputs.iter().position(|input| input.answers == Some(request))?;
        self.take(place)
    }

    /// Drops what does not meet a condition. Returns how many inputs that were.
    pub(super) fn retain(&mut self, kept: impl Fn(&LinearInput) -> bool) -> usize {
        let before = self.inputs.len();
        self.inputs.retain(kept);
        before - self.inputs.len()
    }

    pub(super) fn clear(&mut self) {
        self.inputs.clear();
    }

    pub(super) fn into_inputs(self) -> VecDeque<LinearInput> {
        self.inputs
    }

    /// The first input that a value does not skip.
    fn wanted(&self, mut judge: impl FnMut(&LinearInput) -> Verdict) -> Option<Wanted> {
        let judged = self.inputs.iter().enumerate();
        let mut judged = judged.map(|(place, input)| (place, input.came, judge(input)));
        let (place, came, verdict) = judged.find(|(.., verdict)| !matches!(verdict, Verdict::Skip))?;
        Some(Wanted { place, came, verdict })
    }

    /// The tasks that wait for an input.
    pub(super) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }
}

impl Engine {
    /// Takes the first input that `judge` wants: of a sub-session, or of the linear channels. `Ok(None)`: the session is
    /// over, and the peer was allowed to end it here.
    pub(crate) fn poll_input(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<Result<Option<LinearInput>, Error>> {
        let wanted = self.inputs(sub_session).and_then(|queue| queue.wanted(judge));
        if let Some(Wanted { place, came, verdict }) = wanted {
            if self.held_back_for(context, &mut waiter.turns, Some((came, held(sub_session)))) {
                return Poll::Ready(match verdict {
                    Verdict::Stop(error) => Err(error),
                    Verdict::Take | Verdict::Skip => Ok(self.take_input(sub_session, place)),
                });
            }
        } else if let Some(error) = self.inputs_ended(caller, sub_session) {
            return Poll::Ready(match error {
                Error::Disconnected { reason: DisconnectReason::PeerClosed } if sub_session.is_none() => {
                    Ok(None)
                }
                error => Err(error),
            });
        }
        self.register_input(context, waiter, sub_session);
        Poll::Pending
    }

    /// Waits until there is an input that `judge` wants, or there will be none. Takes nothing.
    pub(crate) fn poll_input_ready(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
        judge: impl FnMut(&LinearInput) -> Verdict,
    ) -> Poll<()> {
        let wanted = self.inputs(sub_session).and_then(|queue| queue.wanted(judge));
        let is_ready = match wanted {
            Some(Wanted { came, .. }) => {
                self.held_back_for(context, &mut waiter.turns, Some((came, held(sub_session))))
            }
            None => self.inputs_ended(Caller::ANY, sub_session).is_some(),
        };
        if is_ready {
            return Poll::Ready(());
        }
        self.register_input(context, waiter, sub_session);
        Poll::Pending
    }

    /// Why no further input comes, if that is so.
    fn inputs_ended(&self, caller: Caller, sub_session: Option<SubSessionNumber>) -> Option<Error> {
        let over = match sub_session {
            None if self.goes_on() => return None,
            None => return Some(self.lifecycle.error().unwrap_or(Error::Closed)),
            Some(sub_session) => self.sub_sessions.over(sub_session),
        };
        match over {
            Some(Some(error)) => Some(error.clone()),
            Some(None) if self.lifecycle.is_open() => None,
            Some(None) | None => Some(self.closed(caller).unwrap_or(Error::Closed)),
        }
    }

    /// The inputs that wait for a value.
    pub(super) fn inputs(&self, sub_session: Option<SubSessionNumber>) -> Option<&InputQueue> {
        match sub_session {
            Some(sub_session) => self.sub_sessions.inputs(sub_session),
            None => Some(&self.linear),
        }
    }

    pub(super) fn take_input(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        place: usize,
    ) -> Option<LinearInput> {
        match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take(place)),
            None => self.linear.take(place),
        }
    }

    /// Drops a reply that waits to be taken. Returns whether there was one.
    pub(super) fn forget_reply(&mut self, request: i64, sub_session: Option<SubSessionNumber>) -> bool {
        let reply = match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take_reply(request)),
            None => self.linear.take_reply(request),
        };
        reply.is_some()
    }

    fn register_input(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sub_session: Option<SubSessionNumber>,
    ) {
        match sub_session {
            Some(sub_session) => self.sub_sessions.register(sub_session, context, waiter, &mut self.effects),
            None => self.linear.waiting().register(context, waiter, &mut self.effects),
        }
    }

    /// The first input that waits for a value, and that the value would take.
    pub(crate) fn first_input(
        &self,
        sub_session: Option<SubSessionNumber>,
        takes: impl Fn(&LinearInput) -> bool,
    ) -> Option<MessageIndex> {
        self.inputs(sub_session)?.iter().find(|input| takes(input)).map(|input| input.message)
    }

    /// A linear input was accepted.
    pub(super) fn linear_came(&mut self, mut input: LinearInput, kind: StepKind) {
        let admitted = self.admit_step(&mut input);
        if self.linear.len() >= self.options.max_linear || admitted.is_err() {
            let reason = too_much(&input, self.linear.len(), admitted.err());
            let left_out = match &input.id {
                Some(id) if self.is_undone_by_refusal(input.message, kind) => {
                    let error = RpcError::busy("too many messages are waiting: try again later");
                    self.reply_error(Caller::ANY, id, &error).is_ok()
                }
                Some(_) => false,
                // The state is the same with the message and without it, so it can be dropped.
                None => matches!(kind, StepKind::Linear { from, to } if from == to),
            };
            if left_out {
                let message = self.name(input.message);
                let cause = if admitted.is_err() { DropReason::TooManyBytes } else { DropReason::QueueFull };
                self.report(Report::Dropped { message, cause });
            } else {
                self.end(reason);
            }
            return;
        }
        if input.answers.is_none() {
            self.peer_stepped();
        }
        self.linear.push(input);
        if self.may_wake(Held::Linear) {
            self.linear.waiting().wake(&mut self.effects);
        }
    }

    /// Counts a step's bytes, whether or not there is room for them if they are few: most steps cannot be left out.
    pub(super) fn admit_step(&mut self, input: &mut LinearInput) -> Result<(), Exhausted> {
        let length = input.length();
        input.permit = match self.input.take(length) {
            Err(_) if length <= SMALL_STEP => self.input.overdraw(length),
            taken => taken?,
        };
        Ok(())
    }

    /// Whether a linear request that is refused leaves its channel where it was before. A refusal with a branch of its
    /// own leads on, and the value that has not seen the request could not follow.
    fn is_undone_by_refusal(&self, request: MessageIndex, kind: StepKind) -> bool {
        let StepKind::Linear { from, to } = kind else { return false };
        let refusal = self.names.refusal(&self.protocol, request);
        let asked = self.role().and_then(|role| role.state(to));
        let edge = refusal.zip(asked).and_then(|(refusal, asked)| asked.edge(Direction::Send, refusal));
        edge.is_some_and(|edge| edge.action == Action::Step(from))
    }
}

/// Why an input cannot be kept: so many wait already, or there is no room for its bytes.
pub(super) fn too_much(
    input: &LinearInput,
    waiting: usize,
    exhausted: Option<Exhausted>,
) -> DisconnectReason {
    match exhausted {
        Some(Exhausted { name, limit, .. }) => {
            DisconnectReason::InputTooLarge { bytes: input.length(), setting: name, limit }
        }
        None => DisconnectReason::InputFull(waiting),
    }
}

/// By what a task that waits for an input is known where its message is held back.
fn held(sub_session: Option<SubSessionNumber>) -> Held {
    sub_session.map_or(Held::Linear, Held::SubSession)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(message: u16, answers: Option<i64>) -> LinearInput {
        LinearInput {
            message: MessageIndex(message),
            id: None,
            answers,
            body: Body::Payload(None),
            negotiation: None,
            permit: Permit::default(),
            came: u64::from(message),
        }
    }

    #[test]
    fn a_value_takes_what_it_wants_and_leaves_the_rest_in_order() {
        let mut queue = InputQueue::default();
        for message in 0..4 {
            queue.push(input(message, (message == 2).then_some(7)));
        }
        let second = |input: &LinearInput| match input.message {
            MessageIndex(1) => Verdict::Take,
            _ => Verdict::Skip,
        };
        assert!(matches!(queue.wanted(second), Some(Wanted { place: 1, came: 1, verdict: Verdict::Take })));
        assert!(queue.take(1).is_some_and(|taken| taken.message == MessageIndex(1)));
        assert!(queue.take_reply(8).is_none());
        assert!(queue.take_reply(7).is_some_and(|taken| taken.message == MessageIndex(2)));
        assert_eq!(queue.iter().map(|input| input.message.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(queue.retain(|input| input.message.0 > 0), 1);
        assert!(queue.wanted(|_| Verdict::Skip).is_none());
        assert_eq!(queue.into_inputs().len(), 1);
    }
}
