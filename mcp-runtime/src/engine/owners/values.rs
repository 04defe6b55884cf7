//! What the values of the linear channels and of sub-sessions have not taken.

use std::task::Context;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};
use mcp_protocol_machine::{SubSessionNumber, protocol::Edge};

use super::inputs::{Body, InputQueue, LinearInput};
use super::owed::OwedReplies;
use super::sub_sessions::SubSessions;
use super::wakers::{Effects, Waiter};
use crate::budget::{Account, Exhausted, Permit};
use crate::error::DisconnectReason;
use crate::report::DropReason;
use crate::rules::Rules;

/// A step with a payload of up to this many bytes is taken also where no more may wait.
const SMALL_STEP: usize = 16 * 1024;

/// What the values of the linear channels and of sub-sessions have not taken.
///
/// Invariant: the bytes of each input that waits are counted in `account`, until the input is dropped or has been worked
/// on. Only small steps are counted beyond what there is room for.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// For the values of the linear channels.
    linear: InputQueue,
    sub_sessions: SubSessions,
    /// What the messages of the peer that wait, or are being worked on, draw on.
    account: Account,
}

/// An input cannot wait for its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMuch {
    /// How many inputs wait already.
    waiting: usize,
    /// The budget that has no room for its bytes, if that is the reason.
    exhausted: Option<Exhausted>,
}

impl TooMuch {
    /// Why the input is dropped, where its value can follow without it.
    pub(crate) fn drop_reason(self) -> DropReason {
        if self.exhausted.is_some() { DropReason::TooManyBytes } else { DropReason::QueueFull }
    }

    /// Why the value ends, where it cannot.
    pub(crate) fn disconnect_reason(self, input: &LinearInput) -> DisconnectReason {
        match self.exhausted {
            Some(Exhausted { name, limit, .. }) => {
                DisconnectReason::InputTooLarge { bytes: input.length(), setting: name, limit }
            }
            None => DisconnectReason::InputFull(self.waiting),
        }
    }
}

impl Values {
    /// Nothing waits, and what will draws on these budgets.
    pub(crate) fn new(account: Account) -> Values {
        Values { account, ..Values::default() }
    }

    pub(crate) fn linear(&self) -> &InputQueue {
        &self.linear
    }

    pub(crate) fn linear_mut(&mut self) -> &mut InputQueue {
        &mut self.linear
    }

    pub(crate) fn sub_sessions(&self) -> &SubSessions {
        &self.sub_sessions
    }

    pub(crate) fn sub_sessions_mut(&mut self) -> &mut SubSessions {
        &mut self.sub_sessions
    }

    /// The inputs that wait for a value.
    pub(crate) fn inputs(&self, sub_session: Option<SubSessionNumber>) -> Option<&InputQueue> {
        match sub_session {
            Some(sub_session) => self.sub_sessions.inputs(sub_session),
            None => Some(&self.linear),
        }
    }

    /// Counts bytes of something that waits elsewhere.
    pub(crate) fn count(&self, bytes: usize) -> Result<Permit, Exhausted> {
        self.account.take(bytes)
    }

    /// Counts the bytes of an input and says whether it may wait for its value, where `most` may. Steps are counted whether
    /// or not there is room for them if they are few: most cannot be left out.
    pub(crate) fn admit(
        &self,
        sub_session: Option<SubSessionNumber>,
        input: &mut LinearInput,
        most: usize,
    ) -> Result<(), TooMuch> {
        let waiting = self.inputs(sub_session).map_or(0, InputQueue::len);
        let length = input.length();
        input.permit = match self.account.take(length) {
            Err(_) if length <= SMALL_STEP => self.account.overdraw(length),
            counted => counted.map_err(|exhausted| TooMuch { waiting, exhausted: Some(exhausted) })?,
        };
        let has_room = match sub_session {
            Some(sub_session) => self.sub_sessions.has_room(sub_session, most),
            None => waiting < most,
        };
        if has_room { Ok(()) } else { Err(TooMuch { waiting, exhausted: None }) }
    }

    /// Adds an input that was admitted.
    pub(crate) fn push(&mut self, sub_session: Option<SubSessionNumber>, input: LinearInput) {
        match sub_session {
            Some(sub_session) => self.sub_sessions.push(sub_session, input),
            None => self.linear.push(input),
        }
    }

    /// Takes an input for its value.
    pub(crate) fn take(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        place: usize,
    ) -> Option<LinearInput> {
        let taken = match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take(place)),
            None => self.linear.take(place),
        };
        taken.map(LinearInput::taken)
    }

    /// Drops a reply that waits to be taken. Returns whether there was one.
    pub(crate) fn forget_reply(&mut self, request: i64, sub_session: Option<SubSessionNumber>) -> bool {
        let reply = match sub_session {
            Some(sub_session) => self.sub_sessions.take(sub_session, |inputs| inputs.take_reply(request)),
            None => self.linear.take_reply(request),
        };
        reply.is_some()
    }

    /// A task waits for an input of a value.
    pub(crate) fn register(
        &mut self,
        sub_session: Option<SubSessionNumber>,
        context: &Context<'_>,
        waiter: &mut Waiter,
        effects: &mut Effects,
    ) {
        match sub_session {
            Some(sub_session) => self.sub_sessions.register(sub_session, context, waiter, effects),
            None => self.linear.waiting().register(context, waiter, effects),
        }
    }

    /// Wakes the task that waits for an input of a value.
    pub(crate) fn wake(&mut self, sub_session: Option<SubSessionNumber>, effects: &mut Effects) {
        match sub_session {
            Some(sub_session) => self.sub_sessions.wake(sub_session, effects),
            None => self.linear.waiting().wake(effects),
        }
    }

    /// The places of the inputs that a value has passed over by moving to a state, last first.
    pub(crate) fn passed_over(
        &self,
        rules: &Rules,
        owed: &OwedReplies,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
        is_mine: impl Fn(MessageIndex) -> bool,
    ) -> Vec<usize> {
        let mut passed = Vec::new();
        let Some(inputs) = self.inputs(sub_session) else { return passed };
        if inputs.iter().next().is_none() {
            return passed;
        }
        // The value takes the others one by one, and what it cannot take on that way it never could in order.
        let mut at = state;
        let mut cancels = owed.cancels(sub_session, &is_mine).into_iter().peekable();
        for (place, input) in inputs.iter().enumerate().filter(|(_, input)| is_mine(input.message)) {
            // The value goes on from where a cancel leads once it has answered, or learned of it.
            while cancels.next_if(|came| *came < input.came).is_some() {
                let cancelled =
                    |edge: &&Edge| edge.direction == Direction::Receive && edge.origin == Origin::Cancel;
                let edge = rules.state(at).and_then(|table| table.edges.iter().find(cancelled));
                at = edge.map_or(at, |edge| edge.action.target());
            }
            let Some(table) = rules.state(at) else { break };
            if table.kind == StateKind::Fork {
                break;
            }
            let is_notification =
                || rules.message(input.message).is_some_and(|table| table.kind == Kind::Notification);
            let edge = table.edge(Direction::Receive, input.message);
            match edge.filter(|edge| edge.origin != Origin::Closure) {
                Some(Edge { action: Action::Step(to), .. }) => at = *to,
                Some(_) => {}
                None if matches!(input.body, Body::Exchange(_)) || is_notification() => passed.push(place),
                None => break,
            }
        }
        passed.reverse();
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Background;
    use super::*;
    use crate::budget::{Budget, Holder};

    const SUB_SESSION: SubSessionNumber = SubSessionNumber(1);

    fn input(bytes: usize) -> LinearInput {
        LinearInput {
            message: MessageIndex(0),
            id: None,
            answers: Some(7),
            body: Body::Payload(Some("x".repeat(bytes).into())),
            negotiation: None,
            permit: Permit::default(),
            came: 1,
            background: Background::default(),
        }
    }

    fn values(budget: &Budget) -> Values {
        Values::new(Account::of([budget.clone()]))
    }

    #[test]
    fn bytes_are_counted_until_the_input_is_dropped() {
        let budget = Budget::new(Holder::Session, "max_input_bytes", 10);
        let mut values = values(&budget);
        let mut first = input(8);
        assert!(values.admit(None, &mut first, 2).is_ok());
        values.push(None, first);
        let mut small = input(8);
        assert!(values.admit(None, &mut small, 2).is_ok(), "a small step is taken all the same");
        values.push(None, small);
        assert_eq!(budget.held(), 16);
        assert!(values.count(1).is_err(), "what waits elsewhere is not");
        let taken = values.take(None, 0);
        assert_eq!(budget.held(), 16, "it is being worked on");
        drop(taken);
        assert!(values.forget_reply(7, None) && !values.forget_reply(7, None));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn an_input_that_cannot_wait_says_why() {
        let budget = Budget::new(Holder::Session, "max_input_bytes", 10);
        let mut values = values(&budget);
        let mut large = input(SMALL_STEP + 1);
        let refused = values.admit(None, &mut large, 1).unwrap_err();
        assert!(matches!(refused.disconnect_reason(&large), DisconnectReason::InputTooLarge { .. }));
        assert_eq!((refused.drop_reason(), budget.held()), (DropReason::TooManyBytes, 0));
        assert!(values.admit(Some(SUB_SESSION), &mut input(1), 1).is_err(), "no value takes it");
        for place in [None, Some(SUB_SESSION)] {
            values.sub_sessions_mut().begin(SUB_SESSION, None, false);
            let mut first = input(1);
            assert!(values.admit(place, &mut first, 1).is_ok());
            values.push(place, first);
            let refused = values.admit(place, &mut input(1), 1).unwrap_err();
            assert!(matches!(refused.disconnect_reason(&input(1)), DisconnectReason::InputFull(1)));
            assert_eq!(refused.drop_reason(), DropReason::QueueFull);
        }
    }
}
