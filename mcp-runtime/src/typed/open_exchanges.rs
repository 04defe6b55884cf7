//! The linear exchanges of one session value.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::MessageIndex;

/// The linear exchanges that are not over for one value.
///
/// The engine has tables of the running requests, too (`calls`, `owed`). They follow the wire, and say nothing of
/// values: a value may trail the wire, and one session has several once linear channels are split. A request that the
/// peer has cancelled and made again stands in `owed` twice, and the value has to answer the first one first.
///
/// Invariant: a request of the peer stands here from when the value has taken it until the value has answered it. A
/// request of the value stands here until the value has taken its reply or cancelled it, and only if it was
/// [asked](Self::asked) by its id.
#[derive(Debug, Default)]
pub(crate) struct OpenExchanges {
    to_answer: Vec<(MessageIndex, RequestId)>,
    asked: Vec<i64>,
    /// A request of the value whose reply is abandoned; it must arrive before the next step.
    abandoned: Option<i64>,
}

impl OpenExchanges {
    /// The value has to answer these requests.
    pub(super) fn to_answer(requests: Vec<(MessageIndex, RequestId)>) -> OpenExchanges {
        OpenExchanges { to_answer: requests, ..OpenExchanges::default() }
    }

    /// The value has taken a request of the peer.
    pub(crate) fn took(&mut self, request: MessageIndex, id: RequestId) {
        self.to_answer.push((request, id));
    }

    /// The id of the request that is to be answered first of those that are this message.
    pub(super) fn id_of(&self, request: MessageIndex) -> Option<&RequestId> {
        self.to_answer.iter().find(|(open, _)| *open == request).map(|(_, id)| id)
    }

    /// Which message the request with an id is, if it is to be answered.
    pub(crate) fn message_of(&self, id: &RequestId) -> Option<MessageIndex> {
        self.to_answer.iter().find(|(_, open)| open == id).map(|(request, _)| *request)
    }

    /// Calls `answer` with the id of the request that is to be answered first of those that are this message. It is
    /// answered if that succeeds. `None` if no such request is open.
    pub(super) fn answer<E>(
        &mut self,
        request: MessageIndex,
        answer: impl FnOnce(&RequestId) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let place = self.to_answer.iter().position(|(open, _)| *open == request)?;
        let answered = answer(&self.to_answer.get(place)?.1);
        if answered.is_ok() {
            self.to_answer.remove(place);
        }
        Some(answered)
    }

    /// The ids of all requests that are to be answered.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &RequestId> {
        self.to_answer.iter().map(|(_, id)| id)
    }

    /// The value has sent a request, and may be told to cancel it by its id.
    pub(crate) fn asked(&mut self, id: i64) {
        self.asked.push(id);
    }

    /// The value has the reply to a request of its own, or will have none. Returns whether it waited for that.
    pub(crate) fn replied(&mut self, id: i64) -> bool {
        let place = self.asked.iter().position(|asked| *asked == id);
        place.map(|place| self.asked.swap_remove(place)).is_some()
    }

    /// The reply to a request of the value is abandoned, if it will come.
    pub(super) fn abandon(&mut self, id: Option<i64>) {
        self.abandoned = id;
    }

    /// The request whose abandoned reply must arrive before the next step.
    pub(super) fn abandoned(&self) -> Option<i64> {
        self.abandoned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: MessageIndex = MessageIndex(1);
    const READ: MessageIndex = MessageIndex(2);

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn a_request_that_was_made_again_is_answered_in_its_turn() {
        let mut open = OpenExchanges::to_answer(vec![(OPEN, id(1))]);
        open.took(READ, id(2));
        open.took(OPEN, id(3));
        assert_eq!((open.id_of(OPEN), open.message_of(&id(3))), (Some(&id(1)), Some(OPEN)));
        let mut answered = Vec::new();
        let mut answer = |request| {
            open.answer(request, |id| {
                answered.push(id.clone());
                Ok::<_, ()>(())
            })
        };
        assert_eq!([answer(OPEN), answer(OPEN), answer(OPEN)], [Some(Ok(())), Some(Ok(())), None]);
        assert_eq!(answered, [id(1), id(3)]);
        assert_eq!(open.ids().collect::<Vec<_>>(), [&id(2)]);
    }

    #[test]
    fn a_request_that_could_not_be_answered_is_still_to_be_answered() {
        let mut open = OpenExchanges::to_answer(vec![(OPEN, id(1))]);
        assert_eq!(open.answer(OPEN, |_| Err("too long")), Some(Err("too long")));
        assert_eq!(open.id_of(OPEN), Some(&id(1)));
    }

    #[test]
    fn a_request_of_the_value_has_one_reply() {
        let mut open = OpenExchanges::default();
        open.asked(1);
        open.asked(2);
        assert!(open.replied(1) && !open.replied(1) && !open.replied(3) && open.replied(2));
        open.abandon(Some(4));
        assert_eq!(open.abandoned(), Some(4));
    }
}
