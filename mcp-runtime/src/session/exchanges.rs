//! Linear requests of this side whose reply leads back to where they were sent.
//!
//! In: such a request, when whoever sent it has let go of it or waits no longer. Out: a request that was taken back,
//! or a debt: a reply that is thrown away when it comes. Refuses to let the next step be written before that: the peer
//! would read it in a state where it does not belong.

use std::task::{Context, Poll};

use mcp_protocol_machine::protocol::{Direction, MessageIndex};
use mcp_protocol_machine::{Awaiting, CopyNumber, RequestId};

use super::context::Caller;
use super::engine::Engine;
use super::wakers::Waiter;
use crate::error::Error;

impl Engine {
    /// Nobody waits for the reply to a linear request any more. It is taken back if it may be; otherwise its reply is
    /// a debt, whose number is given, unless it is here already.
    pub(crate) fn leave_exchange(
        &mut self,
        caller: Caller,
        request: MessageIndex,
        id: i64,
        copy: Option<CopyNumber>,
        why: Option<&Error>,
    ) -> Option<i64> {
        if self.message(request).is_some_and(|message| message.cancellable) {
            let reason = why.and_then(|error| self.reason(error));
            if matches!(self.cancel(caller, id, reason.as_deref()), Ok(true)) {
                return None;
            }
        }
        if self.forget_reply(id, copy) || !self.lifecycle.is_open() {
            return None;
        }
        self.debts.push(id);
        Some(id)
    }

    /// Takes a request back for which a value may wait; `false` if its reply has come already.
    pub(crate) fn cancel_awaited(
        &mut self,
        caller: Caller,
        id: i64,
        extra: Option<&str>,
    ) -> Result<bool, Error> {
        let copy = self.checker.copy_of(Direction::Send, &RequestId::Number(id));
        let taken_back = self.cancel(caller, id, extra)?;
        match copy {
            _ if !taken_back => {}
            Some(copy) => self.wake_copy(copy),
            None => self.linear_waiting.wake(&mut self.effects),
        }
        Ok(taken_back)
    }

    /// Throws a reply away that waits to be taken.
    fn forget_reply(&mut self, id: i64, copy: Option<CopyNumber>) -> bool {
        if let Some(copy) = copy {
            return self.forget_copy_reply(copy, id);
        }
        let place = self.linear.iter().position(|input| input.answers == Some(id));
        place.is_some_and(|place| self.linear.remove(place).is_some())
    }

    /// A reply has come; if nobody waits for it, that is settled.
    pub(super) fn debt_paid(&mut self, id: &RequestId) -> bool {
        let RequestId::Number(id) = id else { return false };
        let Some(place) = self.debts.iter().position(|debt| debt == id) else { return false };
        self.debts.swap_remove(place);
        self.linear_waiting.wake(&mut self.effects);
        true
    }

    /// The peer has lost the session: what the checker does not wait for any more will not come.
    pub(super) fn forget_debts(&mut self) {
        let checker = &self.checker;
        self.debts.retain(|id| {
            let id = RequestId::Number(*id);
            matches!(checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
        });
        self.linear_waiting.wake(&mut self.effects);
    }

    /// Waits until a debt is paid.
    pub(crate) fn poll_debt(
        &mut self,
        caller: Caller,
        context: &Context<'_>,
        waiter: &mut Waiter,
        id: i64,
    ) -> Poll<Result<(), Error>> {
        if let Some(error) = self.closed(caller) {
            return Poll::Ready(Err(error));
        }
        if !self.debts.contains(&id) {
            return Poll::Ready(Ok(()));
        }
        self.linear_waiting.register(context, waiter, &mut self.effects);
        Poll::Pending
    }
}
