//! The id table: which requests of one side run, and what is remembered of those that are over.
//!
//! There is one table for each side that asks: the ids of the two directions have nothing to do with one another.

use crate::capability::Capabilities;
use crate::endings::{Ended, Space};
use crate::fence::{Fence, Receipts};
use crate::grants::{Grants, Released};
use crate::hash::SteadyTable;
use crate::history::{Recent, Used};
use crate::id::{KeyValue, Limits, RequestId, SubSessionNumber, Token};
use crate::protocol::{GateIndex, KeyIndex, MessageIndex, StateIndex};

/// A request that has been sent and whose exchange is not over.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The request.
    pub(crate) message: MessageIndex,
    /// Where its later messages belong.
    pub(crate) place: Place,
    /// It has its reply, which has this fence; what goes on is the sub-session that it opened.
    pub(crate) reply: Option<Fence>,
    /// It was cancelled, and still gets its reply.
    pub(crate) cancelled: bool,
    /// What `reports` notifications about it carry.
    pub(crate) token: Option<Token>,
    /// What its reply proves.
    pub(crate) fence: Fence,
    /// What it announces for as long as it is not over.
    pub(crate) grants: Option<Box<Capabilities>>,
    /// What its result revokes.
    pub(crate) revokes: Option<Box<Capabilities>>,
    /// The values of the keys in members of its envelope, which its reply has, too.
    pub(crate) members: Option<Box<[(KeyIndex, KeyValue)]>>,
}

impl Exchange {
    /// Whether it has its reply.
    pub(crate) const fn is_answered(&self) -> bool {
        self.reply.is_some()
    }
}

/// Where the later messages of an exchange belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In the linear channel with this number.
    Linear(u32),
    /// In a sub-session of a `*` body, which is in this state.
    SubSession(StateIndex),
    /// In a sub-session that a key ties together, and in its linear channel with this number.
    Keyed(SubSessionNumber, u32),
}

/// Why a reply is expected for an exchange that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// It was cancelled; the reply may have been under way.
    Cancelled,
    /// The request was a violation; its receiver says so in an error.
    Refused,
}

/// An exchange that is over and for which one more reply is not a violation.
#[derive(Clone, Debug)]
struct Over {
    why: Past,
    /// The request, where the protocol permits it; nothing where the late replies may be those of different ones.
    request: Option<MessageIndex>,
    /// How many more replies are not a violation: one, but where ids are used again, one for each of their exchanges.
    replies: usize,
    /// What its reply proves; nothing for a request that was a violation.
    fence: Option<Fence>,
    /// For the request that opened a sub-session which keys tie together.
    opened: Option<Opened>,
    /// What a late request announced, which may not be late any more where it arrives.
    grants: Option<Box<Capabilities>>,
    /// What its reply revokes, if one comes.
    revokes: Option<Box<Capabilities>>,
}

/// A request that opened a sub-session and was cancelled, or came too late to open one.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Where its values are unique.
    pub(crate) space: Space,
    /// How the sub-session came to its end.
    pub(crate) ended: Ended,
}

/// A request that came late, and that may not be late any more where it arrives.
#[derive(Clone, Debug)]
pub(crate) struct LateRequest<'a> {
    /// Which request it is.
    pub(crate) message: MessageIndex,
    /// The sub-session that it would have opened.
    pub(crate) opened: Option<Opened>,
    /// What it announces if it is not refused.
    pub(crate) announces: Option<&'a Capabilities>,
}

/// Where an id stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Running(MessageIndex, Place),
    Past(Past),
    Completed,
    Unknown,
}

/// Where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenStanding<'a> {
    /// The request with this id holds it.
    Running(&'a RequestId),
    Over,
    Unknown,
}

impl<'a> TokenStanding<'a> {
    /// The running request that holds the token.
    pub(crate) fn holder(self) -> Option<&'a RequestId> {
        match self {
            TokenStanding::Running(id) => Some(id),
            TokenStanding::Over | TokenStanding::Unknown => None,
        }
    }
}

/// The exchanges that one side has opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    /// Whether the id of an exchange that is over may be used again.
    reuses_ids: bool,
    running: SteadyTable<RequestId, Exchange>,
    /// How many of them have their reply.
    answered: usize,
    /// The linear ones among them, oldest first. There are as many as requests open in linear channels: few.
    linear: Vec<(MessageIndex, RequestId)>,
    /// Those that are over and for which one more reply is not a violation.
    past: Recent<Over>,
    /// Every id ever used, as far as remembered.
    used: Used,
    /// The request that holds each token now.
    tokens: SteadyTable<Token, RequestId>,
    /// Every token ever used, as far as remembered.
    used_tokens: Used,
    /// What the replies have proven.
    receipts: Receipts,
    /// What those that are not over announce.
    grants: Grants,
}

impl Exchanges {
    /// None yet, in a protocol that permits the id of an exchange that is over for another one, or does not.
    pub(crate) fn new(reuses_ids: bool) -> Exchanges {
        Exchanges { reuses_ids, ..Exchanges::default() }
    }

    /// Another revision governs from here on.
    pub(crate) fn set_reuses_ids(&mut self, reuses_ids: bool) {
        self.reuses_ids = reuses_ids;
    }

    /// Where an id stands.
    pub(crate) fn standing(&self, id: &RequestId) -> Standing {
        match self.running.get(id) {
            Some(exchange) if !exchange.is_answered() => Standing::Running(exchange.message, exchange.place),
            running => match self.past.get(id) {
                Some(past) => Standing::Past(past.why),
                None if running.is_some() || self.used.contains(id) => Standing::Completed,
                None => Standing::Unknown,
            },
        }
    }

    /// Whether the id may not be used for a new request; the request that runs under it now, if one does.
    pub(crate) fn taken(&self, id: &RequestId) -> Option<Option<MessageIndex>> {
        match self.running.get(id) {
            Some(exchange) => Some(Some(exchange.message)),
            None => (!self.reuses_ids && self.used.contains(id)).then_some(None),
        }
    }

    /// The request that runs under an id, its reply sent or not.
    pub(crate) fn running_under(&self, id: &RequestId) -> Option<&Exchange> {
        self.running.get(id)
    }

    /// Whether a request runs under an id that has no reply yet.
    pub(crate) fn awaits_reply(&self, id: &RequestId) -> bool {
        self.running.get(id).is_some_and(|exchange| !exchange.is_answered())
    }

    /// Every exchange that is not over.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Exchange> {
        self.running.values()
    }

    /// The running ones with their ids, in no particular order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&RequestId, &Exchange)> {
        self.running.iter()
    }

    /// Whether a report could be about one of them.
    pub(crate) fn any_token(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// How many requests await their reply.
    pub(crate) fn awaiting(&self) -> usize {
        self.running.len() - self.answered
    }

    /// How many exchanges are not over.
    pub(crate) fn open(&self) -> usize {
        self.running.len()
    }

    /// The oldest open linear request of a message.
    pub(crate) fn linear_request(&self, message: MessageIndex) -> Option<&RequestId> {
        self.linear.iter().find(|(request, _)| *request == message).map(|(_, id)| id)
    }

    /// Where a token stands.
    pub(crate) fn token(&self, token: &Token) -> TokenStanding<'_> {
        match self.tokens.get(token).filter(|id| self.running.get(id).is_some()) {
            Some(id) => TokenStanding::Running(id),
            None if self.used_tokens.contains(token) => TokenStanding::Over,
            None => TokenStanding::Unknown,
        }
    }

    /// A request has been accepted. A token that an older request holds goes over to this one.
    pub(crate) fn open_exchange(
        &mut self,
        id: &RequestId,
        message: MessageIndex,
        place: Place,
        token: Option<Token>,
        announces: Option<&Capabilities>,
        limits: &Limits,
    ) {
        self.used.insert(id, limits);
        if !self.reuses_ids {
            // The id is new as far as the table knows, so nothing remembered of an older use may speak for it.
            self.past.remove(id);
        }
        let grants = announces.filter(|grants| !grants.is_none()).map(|grants| Box::new(grants.clone()));
        if let Some(grants) = &grants {
            self.grants.add(grants);
        }
        if let Some(token) = &token {
            self.used_tokens.insert(token, limits);
            self.tokens.insert(token.clone(), id.clone());
        }
        if matches!(place, Place::Linear(_)) {
            self.linear.push((message, id.clone()));
        }
        let fence = self.receipts.request();
        let exchange = Exchange {
            message,
            place,
            reply: None,
            cancelled: false,
            token,
            fence,
            grants,
            revokes: None,
            members: None,
        };
        self.running.insert(id.clone(), exchange);
    }

    /// A running request has these values in members of its envelope.
    pub(crate) fn has_members(&mut self, id: &RequestId, members: Box<[(KeyIndex, KeyValue)]>) {
        if let Some(exchange) = self.running.get_mut(id) {
            exchange.members = Some(members);
        }
    }

    /// The values that a request has in members of its envelope; nothing if it does not run.
    pub(crate) fn members(&self, id: &RequestId) -> Option<&[(KeyIndex, KeyValue)]> {
        self.running.get(id).map(|exchange| exchange.members.as_deref().unwrap_or_default())
    }

    /// A running request takes this back with its result.
    pub(crate) fn revokes(&mut self, id: &RequestId, revokes: &Capabilities) {
        if let Some(exchange) = self.running.get_mut(id) {
            exchange.revokes = Some(Box::new(revokes.clone()));
        }
    }

    /// What the answer to a request revokes that runs, or was cancelled.
    pub(crate) fn revoked_by_answer(&self, id: &RequestId) -> Option<Capabilities> {
        let revokes = match self.running.get(id) {
            Some(exchange) => &exchange.revokes,
            None => &self.past.get(id)?.revokes,
        };
        revokes.as_deref().cloned()
    }

    /// The answer has revoked it, and nothing else does so again.
    pub(crate) fn has_revoked(&mut self, id: &RequestId) {
        if let Some(exchange) = self.running.get_mut(id) {
            exchange.revokes = None;
        } else if let Some(over) = self.past.get_mut(id) {
            over.revokes = None;
        }
    }

    /// What those that are not over announce.
    pub(crate) fn grants(&self) -> Capabilities {
        self.grants.all()
    }

    /// Whether those that are not over announce exactly this.
    pub(crate) fn grant_exactly(&self, capabilities: &Capabilities) -> bool {
        self.grants.are(capabilities)
    }

    /// Whether one of those that are not over grants a gate.
    pub(crate) fn has_granted(&self, gate: GateIndex) -> bool {
        self.grants.has(gate)
    }

    /// Whether a request announces a gate that has no answer yet, and may have been refused.
    pub(crate) fn may_grant(&self, gate: GateIndex) -> bool {
        self.past.iter().any(|(_, over)| over.grants.as_ref().is_some_and(|grants| grants.grants(gate)))
    }

    /// What those announced that are over since the last call, if they announced anything.
    #[inline]
    pub(crate) fn take_released(&mut self) -> Option<Released> {
        self.grants.take_released()
    }

    /// Those that the present message ends, the other side has ended without having received what has this fence.
    pub(crate) fn end_by_crossing(&mut self, fence: Fence) {
        self.grants.crosses(fence);
    }

    /// What replies to these requests have proven.
    pub(crate) fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    /// What a reply to an id would prove.
    pub(crate) fn proof(&self, id: &RequestId) -> Option<Fence> {
        let past = self.past.get(id);
        match self.running.get(id).filter(|exchange| !exchange.is_answered()) {
            // A reply to an earlier exchange of the same id may be under way still. Which of them it is cannot be seen, so
            // it proves what both do.
            Some(exchange) => Some(past.and_then(|past| past.fence).unwrap_or(exchange.fence)),
            None => past?.fence,
        }
    }

    /// A reply has come that proves this.
    pub(crate) fn prove(&mut self, fence: Option<Fence>) {
        if let Some(fence) = fence {
            self.receipts.reply(fence);
        }
    }

    /// A request has been refused as a violation. An exchange that runs under the same id is left alone.
    pub(crate) fn refuse(&mut self, id: &RequestId, token: Option<&Token>, limits: &Limits) {
        self.refuse_with(id, token, None, limits);
    }

    /// The same for a request that was late.
    pub(crate) fn refuse_late(
        &mut self,
        id: &RequestId,
        token: Option<&Token>,
        late: LateRequest<'_>,
        limits: &Limits,
    ) {
        self.refuse_with(id, token, Some(late), limits);
    }

    fn refuse_with(
        &mut self,
        id: &RequestId,
        token: Option<&Token>,
        late: Option<LateRequest<'_>>,
        limits: &Limits,
    ) {
        self.used.insert(id, limits);
        let (message, opened, announces) =
            late.map_or((None, None, None), |late| (Some(late.message), late.opened, late.announces));
        // The reply that is still under way may be that of the exchange before.
        let opened = self.opened(id).or(opened);
        let message = self.retired(id).or(message);
        let fence = self.past.get(id).and_then(|over| over.fence);
        let grants = announces.map(|grants| Box::new(grants.clone()));
        self.remember(id, (Past::Refused, message), fence, opened, grants, limits);
        if let Some(token) = token {
            self.used_tokens.insert(token, limits);
        }
    }

    /// A request has not arrived: its id and its token are free. Where it arrived all the same, its reply is not a
    /// violation.
    pub(crate) fn free(&mut self, id: &RequestId, token: Option<&Token>, limits: &Limits) {
        self.refuse(id, None, limits);
        self.used.remove(id);
        if let Some(token) = token {
            self.used_tokens.remove(token);
        }
    }

    /// The sub-session that an id opened has its reply, which has this fence, and goes on.
    pub(crate) fn answer(&mut self, id: &RequestId, state: StateIndex, reply: Fence) {
        if let Some(exchange) = self.running.get_mut(id) {
            if !matches!(exchange.place, Place::Keyed(..)) {
                exchange.place = Place::SubSession(state);
            }
            if exchange.reply.replace(reply).is_none() {
                self.answered += 1;
            }
        }
    }

    /// An exchange is over.
    pub(crate) fn finish(&mut self, id: &RequestId) {
        let Some(exchange) = self.running.remove(id) else { return };
        if let Some(grants) = &exchange.grants {
            self.grants.remove(grants);
        }
        if exchange.is_answered() {
            self.answered -= 1;
        }
        if matches!(exchange.place, Place::Linear(_)) {
            self.linear.retain(|(_, linear)| linear != id);
        }
        if let Some(token) = exchange.token
            && self.tokens.get(&token) == Some(id)
        {
            self.tokens.remove(&token);
        }
    }

    /// A request was cancelled that still gets its reply. Returns `false` if it was cancelled before.
    pub(crate) fn cancel_running(&mut self, id: &RequestId) -> bool {
        self.running.get_mut(id).is_some_and(|exchange| !std::mem::replace(&mut exchange.cancelled, true))
    }

    /// An exchange was cancelled: it is over, and one late reply is not a violation.
    pub(crate) fn cancel(&mut self, id: &RequestId, limits: &Limits) {
        self.over(id, None, limits);
    }

    /// The same for the request that opened a sub-session: the late reply may carry values of keys, which
    /// are those of a sub-session that is over.
    pub(crate) fn cancel_opener(&mut self, id: &RequestId, space: Space, ended: Ended, limits: &Limits) {
        self.over(id, Some(Opened { space, ended }), limits);
    }

    fn over(&mut self, id: &RequestId, opened: Option<Opened>, limits: &Limits) {
        let exchange = self.running.get(id);
        let (fence, request) = exchange.map(|exchange| (exchange.fence, exchange.message)).unzip();
        let revokes = exchange.and_then(|exchange| exchange.revokes.clone());
        let opened = opened.filter(|_| request.is_some());
        self.finish(id);
        self.remember(id, (Past::Cancelled, request), fence, opened, None, limits);
        if let Some(over) = self.past.get_mut(id) {
            over.revokes = revokes.or(over.revokes.take());
        }
    }

    /// One more reply to this id is not a violation.
    fn remember(
        &mut self,
        id: &RequestId,
        (why, request): (Past, Option<MessageIndex>),
        fence: Option<Fence>,
        opened: Option<Opened>,
        grants: Option<Box<Capabilities>>,
        limits: &Limits,
    ) {
        let before = self.past.get(id).filter(|_| self.reuses_ids);
        let replies = before.map_or(0, |over| over.replies).saturating_add(1);
        // The reply that comes first proves no more than that of the first exchange does.
        let fence = before.and_then(|over| over.fence).or(fence);
        let request = request.filter(|_| before.is_none_or(|over| over.request == request));
        let known = self.past.get(id);
        let revokes = known.and_then(|over| over.revokes.clone());
        // A request with the id of a late one that has no answer yet does not undo what that announced.
        let grants = grants.or_else(|| known.and_then(|over| over.grants.clone()));
        self.past.insert(id, Over { why, request, replies, fence, opened, grants, revokes }, limits);
    }

    /// The request of an exchange that is over and whose reply is still expected, if it is known which.
    pub(crate) fn retired(&self, id: &RequestId) -> Option<MessageIndex> {
        self.past.get(id).and_then(|over| over.request)
    }

    /// What opened a sub-session that was over before the reply to it had come.
    pub(crate) fn opened(&self, id: &RequestId) -> Option<Opened> {
        self.past.get(id).and_then(|over| over.opened.clone())
    }

    /// A reply that was still expected for an exchange that is over has come.
    pub(crate) fn swallow(&mut self, id: &RequestId) {
        match self.past.get_mut(id) {
            Some(over) if over.replies > 1 => over.replies -= 1,
            _ => _ = self.past.remove(id),
        }
    }

    /// Forgets everything but the exchanges that go on, which are kept as they are. Gives the requests whose replies
    /// will not come.
    pub(crate) fn renew(
        &mut self,
        goes_on: impl Fn(&RequestId, &Exchange) -> bool,
        limits: &Limits,
    ) -> Vec<RequestId> {
        let before = std::mem::replace(self, Exchanges::new(self.reuses_ids));
        let mut lost = Vec::new();
        for (id, exchange) in before.running {
            if !goes_on(&id, &exchange) {
                lost.extend(Some(id).filter(|_| !exchange.is_answered()));
                continue;
            }
            self.used.insert(&id, limits);
            if let Some(token) = &exchange.token {
                self.used_tokens.insert(token, limits);
                if before.tokens.get(token) == Some(&id) {
                    self.tokens.insert(token.clone(), id.clone());
                }
            }
            if let Some(grants) = &exchange.grants {
                self.grants.add(grants);
            }
            self.answered += usize::from(exchange.is_answered());
            self.running.insert(id, exchange);
        }
        self.linear = before.linear;
        self.linear.retain(|(_, id)| self.running.contains_key(id));
        lost.sort_unstable();
        lost
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        [&self.used, &self.used_tokens]
            .map(|used| used.numbers.len() + used.texts.len())
            .iter()
            .sum::<usize>()
            + self.past.len()
            + self.tokens.len()
            + self.running.len()
            + self.linear.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "serde")]
    #[test]
    fn ids_are_written_and_read_as_in_json() {
        for id in ["0", "-7", "9223372036854775807", "\"0\"", "\"a\\\"b\\n\""] {
            let read: RequestId = serde_json::from_str(id).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), id);
        }
        for other in ["null", "1.5", "true", "{}", "9223372036854775808"] {
            assert!(serde_json::from_str::<RequestId>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn ids_are_shown_as_in_json() {
        assert_eq!(RequestId::from(0).to_string(), "0");
        assert_eq!(RequestId::from("0").to_string(), "\"0\"");
        assert_eq!(RequestId::from("a\"b\n").to_string(), "\"a\\\"b\\n\"");
        let long: String = "é".repeat(100);
        assert_eq!(RequestId::from(long).to_string(), format!("\"{}…\"", "é".repeat(64)));
        assert_ne!(RequestId::from(1), RequestId::from("1"));
    }
}
