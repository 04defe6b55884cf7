//! Which revision the messages of one connection belong to: one with a handshake, or one whose requests stand for themselves.

use mcp_protocol_machine::StepKind;
use mcp_runtime::ViolationKind;
use mcp_runtime::observer::{MessageText, Observed, ObservedKind, Observer, Owed};
use mcp_runtime::protocol::{MessageIndex, RequestId, Side};

use crate::message_head::{MessageHead, is_batch};

/// Which observer a message belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Era {
    #[default]
    Handshake,
    Stateless,
}

/// The observers of one connection. A client may find out which revision its server speaks, so both may have been used.
///
/// Invariant: a connection is stateless only where there is an observer for that.
#[derive(Clone, Debug)]
pub(crate) struct Eras {
    handshake: Observer,
    /// The session with a handshake has left its first state, or begins elsewhere.
    has_begun: bool,
    stateless: Option<Observer>,
    /// A message of the revision without a handshake has come.
    is_stateless: bool,
}

impl Eras {
    /// A connection from its first message on.
    pub(crate) fn new(handshake: Observer, stateless: Option<Observer>) -> Eras {
        Eras { handshake, has_begun: false, stateless, is_stateless: false }
    }

    /// A connection whose beginning was not seen; the observer is in the state that it is in.
    pub(crate) fn in_the_middle(handshake: Observer, stateless: Option<Observer>) -> Eras {
        Eras { has_begun: true, ..Eras::new(handshake, stateless) }
    }

    /// The observer of the session with a handshake.
    pub(crate) fn handshake(&self) -> &Observer {
        &self.handshake
    }

    /// The observer that messages of an era belong to.
    pub(crate) fn observer(&self, era: Era) -> &Observer {
        match (era, &self.stateless) {
            (Era::Stateless, Some(stateless)) => stateless,
            _ => &self.handshake,
        }
    }

    /// The observer that messages of an era belong to.
    pub(crate) fn observer_mut(&mut self, era: Era) -> &mut Observer {
        match (era, &mut self.stateless) {
            (Era::Stateless, Some(stateless)) => stateless,
            _ => &mut self.handshake,
        }
    }

    /// All observers that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Observer> {
        std::iter::once(&self.handshake).chain(&self.stateless)
    }

    /// All observers that there are.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Observer> {
        std::iter::once(&mut self.handshake).chain(&mut self.stateless)
    }

    /// The step that the session with a handshake waits for.
    pub(crate) fn owed(&self) -> Option<Owed> {
        self.handshake.owes().into_iter().next()
    }

    /// Whether the session with a handshake has left its first state, or begins elsewhere.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the request that opens the session with a handshake has its reply.
    pub(crate) fn has_opened(&self) -> bool {
        self.opening().is_none()
    }

    /// The request that opens the session with a handshake, while it has no reply, and its id.
    pub(crate) fn opening(&self) -> Option<(&RequestId, MessageIndex)> {
        let sides = [Side::Client, Side::Server].into_iter();
        let mut running = sides.flat_map(|side| self.handshake.running(side));
        running.find(|(_, request)| self.handshake.begins_session(*request))
    }

    /// Whether a message of the revision without a handshake has come.
    pub(crate) fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// Whether a message of the client is a request that stands for itself. One that lacks what each of them has to say is
    /// known by its method, if no session has begun and only the revision without a handshake has that method.
    pub(crate) fn stands_alone(&self, message: MessageText<'_>) -> bool {
        let Some(stateless) = &self.stateless else { return false };
        let is_only_there = || {
            !self.has_begun
                && stateless.request_of(Side::Client, message).is_some()
                && self.handshake.request_of(Side::Client, message).is_none()
        };
        stateless.announces_itself(Side::Client, message) || is_only_there()
    }

    /// Which revision a message belongs to.
    pub(crate) fn era(&self, sender: Side, message: MessageText<'_>) -> Era {
        let is_stateless = match sender {
            Side::Client if self.stands_alone(message) => true,
            _ if !self.is_stateless => false,
            Side::Client => !self.has_begun && self.may_begin_with(sender, message).is_none(),
            Side::Server => !self.has_begun || self.answers_one_that_stands_alone(message),
        };
        if is_stateless { Era::Stateless } else { Era::Handshake }
    }

    /// The id of a message that would begin a session, if it were the first.
    pub(crate) fn may_begin_with(&self, sender: Side, message: MessageText<'_>) -> Option<RequestId> {
        if sender != Side::Client {
            return None;
        }
        let (request, id) = match is_batch(message) {
            false => self.handshake.request_of(sender, message)?,
            // What is in a batch, and whether it may be one, is known only when it is judged.
            true => match self.handshake.clone().observe(sender, message).as_slice() {
                [Observed { kind: ObservedKind::Request, message: Some(request), id: Some(id), .. }] => {
                    (*request, id.clone())
                }
                _ => return None,
            },
        };
        self.handshake.begins_session(request).then_some(id)
    }

    /// Whether some request with this method begins a session.
    pub(crate) fn may_begin_with_method(&self, method: &str) -> bool {
        self.handshake.of_method(method).any(|message| self.handshake.begins_session(message))
    }

    /// The client has asked in both ways: a reply belongs to what it answers. No batch is such a reply.
    fn answers_one_that_stands_alone(&self, message: MessageText<'_>) -> bool {
        let head = MessageHead::of(message).filter(|_| !is_batch(message));
        let answered = head.and_then(|head| head.replies_to());
        answered.is_some_and(|id| self.stateless.as_ref().is_some_and(|it| awaits(it, Side::Server, &id)))
    }

    /// Judges a message of an era.
    pub(crate) fn observe(&mut self, era: Era, sender: Side, message: MessageText<'_>) -> Vec<Observed> {
        let mut observed = Vec::new();
        self.observe_into(era, sender, message, &mut observed);
        observed
    }

    /// The same. What is observed goes into `observed`, which is empty.
    pub(crate) fn observe_into(
        &mut self,
        era: Era,
        sender: Side,
        message: MessageText<'_>,
        observed: &mut Vec<Observed>,
    ) {
        match (era, &mut self.stateless) {
            (Era::Stateless, Some(stateless)) => {
                self.is_stateless = true;
                return stateless.observe_into(sender, message, observed);
            }
            _ => self.handshake.observe_into(sender, message, observed),
        }
        self.has_begun |= observed.iter().any(advances);
    }
}

impl Eras {
    /// Messages have passed that could not be read.
    pub(crate) fn missed_messages(&mut self) {
        self.all_mut().for_each(Observer::missed_messages);
    }

    /// Whether the state, or what was announced, does not permit a message that does not begin a session.
    pub(crate) fn is_out_of_order(&self, observed: &[Observed]) -> bool {
        let begins = |one: &Observed| one.message.is_some_and(|it| self.handshake.begins_session(it));
        let is_of_state = |one: &Observed| {
            let kind = one.violation().map(|violation| &violation.kind);
            matches!(kind, Some(ViolationKind::NotPermitted | ViolationKind::NotNegotiated { .. }))
        };
        observed.iter().any(|one| is_of_state(one) && !begins(one))
    }

    /// After messages that could not be read, the session with a handshake goes on in a state that permits this one, of
    /// those the one that waits for the least. Returns the state, and what is observed there.
    pub(crate) fn find_again(
        &mut self,
        sender: Side,
        message: MessageText<'_>,
    ) -> Option<(String, Vec<Observed>)> {
        let tried = self.handshake.state_names().into_iter().filter_map(|state| {
            let mut observer = self.handshake.clone();
            observer.begin_in(&state).ok()?;
            let owed = observer.owes().len();
            let observed = observer.observe(sender, message);
            let is_permitted = observed.iter().all(|one| one.step.is_some() && one.is_clean());
            is_permitted.then_some((owed, state, observer, observed))
        });
        let (_, state, observer, observed) = tried.min_by_key(|(owed, ..)| *owed)?;
        (self.handshake, self.has_begun) = (observer, true);
        Some((state, observed))
    }
}

/// Whether a request of the other side waits for a reply with this id.
pub(crate) fn awaits(observer: &Observer, replier: Side, id: &RequestId) -> bool {
    observer.awaited(replier, id).is_some()
}

/// Whether a message has moved the session to another state.
pub(crate) fn advances(one: &Observed) -> bool {
    matches!(one.step, Some(StepKind::Linear { from, to }) if from != to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Shipped;
    use crate::protocol::choose;
    use mcp_runtime::Options;

    const ALONE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    const REFUSED: &[u8] = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const CANCELLED: &[u8] =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;

    fn eras() -> Eras {
        let chosen = choose(None, Some(Shipped::Mcp)).unwrap();
        let stateless = chosen.stateless_observer(Options::new()).unwrap();
        Eras::new(chosen.observer(Options::new()).unwrap(), stateless)
    }

    #[test]
    fn a_client_finds_out_and_begins_a_session() {
        let mut eras = eras();
        assert_eq!(eras.era(Side::Client, PING.into()), Era::Handshake);
        assert_eq!(eras.era(Side::Client, ALONE.into()), Era::Stateless);
        eras.observe(Era::Stateless, Side::Client, ALONE.into());
        // Neither announces itself.
        assert_eq!(eras.era(Side::Client, CANCELLED.into()), Era::Stateless);
        assert_eq!(eras.era(Side::Client, INITIALIZE.into()), Era::Handshake);
        eras.observe(Era::Handshake, Side::Client, INITIALIZE.into());
        assert_eq!((eras.is_stateless(), eras.has_begun()), (true, true));
        assert_eq!(eras.era(Side::Client, CANCELLED.into()), Era::Handshake);
    }

    #[test]
    fn a_request_that_says_too_little_is_known_by_its_method() {
        let bare = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{}}}"#;
        let mut eras = eras();
        assert_eq!(eras.era(Side::Client, bare.as_slice().into()), Era::Stateless);
        eras.observe(Era::Handshake, Side::Client, INITIALIZE.into());
        assert_eq!(eras.era(Side::Client, bare.as_slice().into()), Era::Handshake);
    }

    #[test]
    fn a_reply_belongs_to_what_it_answers() {
        let mut eras = eras();
        eras.observe(Era::Stateless, Side::Client, ALONE.into());
        eras.observe(Era::Handshake, Side::Client, INITIALIZE.into());
        // A request of the server with the same id answers nothing.
        assert_eq!(eras.era(Side::Server, PING.into()), Era::Handshake);
        assert_eq!(eras.era(Side::Server, REFUSED.into()), Era::Stateless);
        eras.observe(Era::Stateless, Side::Server, REFUSED.into());
        assert_eq!(eras.era(Side::Server, REFUSED.into()), Era::Handshake);
    }
}
