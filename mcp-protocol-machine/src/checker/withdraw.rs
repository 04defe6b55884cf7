//! What became of messages after they were judged. Those that did not arrive: what they did to the session is undone, as
//! far as it is known. Those that were refused and passed on all the same: they run.

use super::state::Checker;
use crate::exchange::Place;
use crate::id::{RequestId, Token};
use crate::protocol::{Action, Direction, Kind, MessageIndex, StateIndex};
use crate::sub_sessions::Correlation;

impl Checker {
    /// A request that was accepted did not arrive: the session is as if it had not been sent, and its id and its token are
    /// free. Of a channel, its refusal says where it was before. `refusal` is that of the request.
    ///
    /// If the request arrived all the same, the reply to it is not a violation.
    pub fn withdraw_request(
        &mut self,
        direction: Direction,
        id: &RequestId,
        token: Option<&Token>,
        refusal: Option<MessageIndex>,
    ) {
        let exchange = self.asked(direction).running_under(id);
        if let Some(place) =
            exchange.filter(|exchange| !exchange.is_answered()).map(|exchange| exchange.place)
        {
            match (place, refusal) {
                (Place::Linear(channel), Some(refusal)) => {
                    let found = self.find_in(channel, direction.flip(), refusal);
                    if let Some((place, Action::Step(to))) = found.map(|found| (found.place, found.action)) {
                        self.move_channel(place, to);
                    }
                }
                (Place::Keyed(sub_session, channel), Some(refusal)) => {
                    let place = (sub_session, channel);
                    // Where the sub-session does not permit a refusal here, it stays as it is.
                    let nothing = Correlation::default();
                    drop(self.reply_keyed(place, direction.flip(), id, refusal, nothing));
                }
                _ => {}
            }
            self.asked_mut(direction).finish(id);
        }
        self.free_id(direction, id, token);
    }

    /// A request that was refused as a violation did not arrive, or its answer was not one of the protocol: its id and its
    /// token are free, unless a request runs under the id.
    pub fn free_id(&mut self, direction: Direction, id: &RequestId, token: Option<&Token>) {
        let limits = self.limits;
        let asked = self.asked_mut(direction);
        if asked.running_under(id).is_none() {
            asked.free(id, token, &limits);
        }
    }

    /// A notification that was accepted did not arrive: where it has led a linear channel to another state, and nothing has
    /// moved the channel since, it is in the state before.
    pub fn withdraw_step(&mut self, from: StateIndex, to: StateIndex) {
        let place = self.channels.iter().find(|(_, _, state)| *state == to).map(|(place, _, _)| place);
        if let Some(place) = place.filter(|_| from != to) {
            self.move_channel(place, from);
        }
    }

    /// A reply that was accepted did not arrive: its request waits for one again. Only a request that has opened a
    /// sub-session without a key can wait again.
    pub fn withdraw_reply(&mut self, direction: Direction, id: &RequestId, reply: MessageIndex) {
        let kind = self.protocol.message(reply).map(|table| table.kind);
        let Some(Kind::Reply { request } | Kind::Refusal { request }) = kind else { return };
        self.reopen(direction.flip(), id, request, None);
    }

    /// A request that was refused as a violation was passed on to its receiver all the same: it runs from here on, and its
    /// reply is awaited. Only a request that opens a sub-session without a key in some state can run in another one. Returns
    /// whether it does.
    pub fn run_refused(
        &mut self,
        direction: Direction,
        id: &RequestId,
        request: MessageIndex,
        token: Option<Token>,
    ) -> bool {
        let runs = self.reopen(direction, id, request, token);
        if runs {
            // The reply that it still gets is that of a request which runs.
            self.asked_mut(direction).swallow(id);
        }
        runs
    }

    /// A request runs that opens a sub-session without a key, whether or not the state permits it. Returns whether it does.
    fn reopen(
        &mut self,
        direction: Direction,
        id: &RequestId,
        request: MessageIndex,
        token: Option<Token>,
    ) -> bool {
        let states = self.role().map_or(&[][..], |role| &*role.states);
        let start = states.iter().find_map(|state| match state.edge(direction, request)?.action {
            Action::Spawn(start) => Some(start),
            Action::Step(_) => None,
        });
        let start = start.filter(|start| self.sub_sessions.starts(*start).is_none());
        let limits = self.limits;
        let (Some(start), None) = (start, self.asked(direction).running_under(id)) else { return false };
        if self.asked(direction).open() >= limits.running {
            return false;
        }
        let token = token.filter(|token| self.asked(direction).token(token).holder().is_none());
        let place = Place::SubSession(start);
        self.asked_mut(direction).open_exchange(id, request, place, token, None, &limits);
        true
    }
}
