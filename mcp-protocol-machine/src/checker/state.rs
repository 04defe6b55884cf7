//! [`Checker`]: the state of a session, as one side's role has it.

use std::sync::Arc;

use crate::bodies::Bodies;
use crate::capability::Capabilities;
use crate::channels::Channels;
use crate::closed::ClosedGates;
use crate::exchange::Exchanges;
use crate::fence::{Fence, Receipts};
use crate::grants::Grants;
use crate::id::{Limits, RequestId, SubSessionNumber};
use crate::protocol::{
    Direction, GateIndex, Kind, MessageIndex, Protocol, Role, Side, State, StateIndex, StateKind,
};
use crate::sub_sessions::SubSessions;
use crate::tables::{Derived, ProtocolRef, TableError, examine};
use crate::trail::Trail;

/// The bodies of a role, once its tables were examined.
type Examined = Result<Arc<Bodies>, TableError>;

static EXAMINED_CLIENTS: Derived<Examined> = Derived::new();
static EXAMINED_SERVERS: Derived<Examined> = Derived::new();

/// Follows one role's machine through a session.
///
/// ```
/// use mcp_protocol_machine::protocol::edges::{receive, send};
/// use mcp_protocol_machine::protocol::{
///     Direction, Edge, Message, MessageIndex, Role, Side, State, StateIndex,
/// };
/// use mcp_protocol_machine::{Checker, Protocol, RequestId};
///
/// const SUM: MessageIndex = MessageIndex(0);
/// const TOTAL: MessageIndex = MessageIndex(1);
/// const READY: StateIndex = StateIndex(0);
/// const WAITING: StateIndex = StateIndex(1);
/// static MESSAGES: [Message; 2] =
///     [Message::request("Sum", "calculator/sum"), Message::reply("Total", SUM)];
/// static ASKING: [Edge; 1] = [send(SUM, WAITING)];
/// static ANSWERED: [Edge; 1] = [receive(TOTAL, READY)];
/// static STATES: [State; 2] = [State::linear("Ready", &ASKING), State::linear("Waiting", &ANSWERED)];
/// static CALCULATOR: Protocol =
///     Protocol::table("Calculator", &MESSAGES).client(Role::table("Client", &STATES));
///
/// let mut checker = Checker::new(&CALCULATOR, Side::Client).unwrap();
/// let sent = checker.request(Direction::Send, SUM, &RequestId::Number(1), None, |_| false);
/// assert!(sent.is_ok());
/// // A second request has to wait for the reply to the first one.
/// let again = checker.request(Direction::Send, SUM, &RequestId::Number(2), None, |_| false);
/// assert!(again.unwrap_err().to_string().contains("Waiting"));
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) protocol: ProtocolRef,
    pub(super) side: Side,
    pub(super) channels: Channels,
    /// The exchanges that the followed role opened.
    pub(super) sent: Exchanges,
    /// The exchanges that its peer opened.
    pub(super) received: Exchanges,
    /// The sub-sessions that a key ties together.
    pub(super) sub_sessions: SubSessions,
    /// What the end of the last sub-session has cut off. Most sessions have no sub-session.
    pub(super) cut_off: Option<Box<CutOff>>,
    /// What each side may be asked for: what it has announced, and what was granted since.
    pub(super) client: Capabilities,
    pub(super) server: Capabilities,
    /// What each side has announced.
    announced: [Capabilities; 2],
    /// What was granted to each side while the session ran.
    granted: [Grants; 2],
    /// What the gates let through before they closed.
    pub(super) closed_gates: ClosedGates,
    /// The same for what is permitted during requests which are over.
    pub(super) ended_during: ClosedGates,
    /// What the peer may use though it was not announced.
    pub(super) tolerated: Capabilities,
    pub(super) limits: Limits,
    pub(super) closed: bool,
    /// The tables are those of another revision than the one that the session is written against.
    pub(super) governed: bool,
    /// Messages are seen in the order in which each side wrote them.
    pub(super) ordered: bool,
}

/// What the end of a sub-session has cut off, until it is taken.
#[derive(Clone, Debug, Default)]
pub(super) struct CutOff {
    /// The requests of the followed role that it has left without a reply.
    pub(super) left: Vec<RequestId>,
    /// The sub-sessions that ended with the one around them.
    pub(super) ended: Vec<SubSessionNumber>,
}

impl Checker {
    /// A new session, in the start state of one side's role. Directions are relative to that side from here on.
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn new(protocol: impl Into<ProtocolRef>, side: Side) -> Result<Checker, TableError> {
        Checker::resume(protocol, side, Role::START)
    }

    /// A session that is already in a state, because it was opened elsewhere. Nothing runs in it, and no capability
    /// is announced; the caller adds what it knows with [`announce`](Self::announce).
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn resume(
        protocol: impl Into<ProtocolRef>,
        side: Side,
        state: StateIndex,
    ) -> Result<Checker, TableError> {
        Checker::resume_channels(protocol, side, state, &[])
    }

    /// The same with several linear channels: the state of the first, and those of the others.
    ///
    /// # Errors
    /// If the tables cannot be followed: a number in them names nothing, or the side has no role.
    pub fn resume_channels(
        protocol: impl Into<ProtocolRef>,
        side: Side,
        state: StateIndex,
        others: &[StateIndex],
    ) -> Result<Checker, TableError> {
        let protocol = protocol.into();
        let examined = match side {
            Side::Client => &EXAMINED_CLIENTS,
            Side::Server => &EXAMINED_SERVERS,
        };
        let examined = examined.of(&protocol, |protocol| {
            let role = examine(protocol, side)?;
            Ok(Arc::new(Bodies::new(protocol, role)))
        });
        let bodies = Examined::clone(&examined)?;
        for state in others.iter().chain([&state]) {
            protocol.role(side).and_then(|role| role.state(*state)).ok_or(TableError::NoState(*state))?;
        }
        // Where a session began elsewhere, it is not known what is still on its way.
        let unseen = state != Role::START || !others.is_empty();
        let next = Receipts::default().next();
        let trail = if unseen { Trail::unseen(next, next) } else { Trail::default() };
        let initial = |side| match protocol.is_open_until_announced(side) {
            true => Capabilities::unknown(),
            false => Capabilities::none(),
        };
        let (client, server) = (initial(Side::Client), initial(Side::Server));
        let reuses_ids = protocol.reuses_ids;
        let mut checker = Checker {
            protocol,
            side,
            channels: Channels::new(Role::START, state, trail.clone()),
            sent: Exchanges::new(reuses_ids),
            received: Exchanges::new(reuses_ids),
            sub_sessions: SubSessions::new(bodies),
            cut_off: None,
            announced: [client.clone(), server.clone()],
            granted: Default::default(),
            client,
            server,
            closed_gates: ClosedGates::default(),
            ended_during: ClosedGates::default(),
            tolerated: Capabilities::none(),
            limits: Limits::default(),
            closed: false,
            governed: false,
            ordered: true,
        };
        checker.move_channel(0, state);
        for state in others {
            let place = checker.channels.states().len();
            checker.channels.add(*state, trail.clone());
            checker.move_channel(place, *state);
        }
        Ok(checker)
    }

    /// The same with other limits.
    // It is large, and not moved where it is inlined.
    #[inline]
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Checker {
        self.limits = limits;
        self
    }

    /// A message has announced what its sender can do; an announcement replaces an earlier one. The caller says so right
    /// after the checker has accepted the message, when it has seen the payload.
    ///
    /// Where the announcement closes a gate, what the other side sends through it is late until it is known to have
    /// received the announcement.
    pub fn announced(&mut self, side: Side, message: MessageIndex, capabilities: Capabilities) {
        let (before, announced) = (self.capabilities(side).clone(), self.announced_by(side).clone());
        self.announce(side, capabilities);
        // What was granted as well may be revoked while the announcement is on its way.
        if !announced.is_within(self.announced_by(side)) {
            self.note_closing((side, side), before, Some(message), self.fence_of(side, Some(message)));
        }
    }

    /// Sets what one side has announced, as it is known from elsewhere: nothing is on its way through a gate that this
    /// closes. What a message announces is [`announced`](Self::announced).
    pub fn announce(&mut self, side: Side, capabilities: Capabilities) {
        let [client, server] = &mut self.announced;
        match side {
            Side::Client => *client = capabilities,
            Side::Server => *server = capabilities,
        }
        self.join_grants(side);
    }

    /// A side can do more from now on, in addition to what it has announced. What is granted more than once has to be
    /// revoked as often.
    pub fn grant(&mut self, side: Side, capabilities: &Capabilities) {
        let [client, server] = &mut self.granted;
        match side {
            Side::Client => client.add(capabilities),
            Side::Server => server.add(capabilities),
        }
        self.join_grants(side);
    }

    /// Takes back what was granted to a side. What the side has announced stays announced. If the side itself has taken
    /// it back, in this message or in none, what the other side sends is late until it is known to have received that.
    pub fn revoke(&mut self, side: Side, capabilities: &Capabilities, message: Option<MessageIndex>) {
        let revoked = self.ask_back(side, capabilities);
        self.take_back(side, &revoked, message);
    }

    /// A side asks back what was granted to it. Returns what of that it has, and has not asked back before.
    pub(super) fn ask_back(&mut self, side: Side, capabilities: &Capabilities) -> Capabilities {
        let [client, server] = &mut self.granted;
        match side {
            Side::Client => client.ask_back(capabilities),
            Side::Server => server.ask_back(capabilities),
        }
    }

    /// What a side has asked back is not granted to it any more.
    pub(super) fn take_back(
        &mut self,
        side: Side,
        capabilities: &Capabilities,
        message: Option<MessageIndex>,
    ) {
        let before = self.capabilities(side).clone();
        let [client, server] = &mut self.granted;
        match side {
            Side::Client => client.remove(capabilities),
            Side::Server => server.remove(capabilities),
        }
        self.join_grants(side);
        let is_reply = message
            .and_then(|message| self.protocol.message(message))
            .is_some_and(|table| matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. }));
        // The reply to a request that revokes is of the other side.
        let closer = if is_reply { side.other() } else { side };
        self.note_closing((side, closer), before, message, self.fence_of(closer, message));
    }

    /// Whether a gate of a side was granted while the session ran.
    pub(super) fn is_granted(&self, side: Side, gate: GateIndex) -> bool {
        let [client, server] = &self.granted;
        if side == Side::Client { client.has(gate) } else { server.has(gate) }
    }

    /// What a side has announced, without what was granted since.
    pub(super) fn announced_by(&self, side: Side) -> &Capabilities {
        let [client, server] = &self.announced;
        if side == Side::Client { client } else { server }
    }

    /// What a side may be asked for is what it has announced, and what was granted.
    fn join_grants(&mut self, side: Side) {
        let ([client, server], [more_client, more_server]) = (&self.announced, &self.granted);
        match side {
            Side::Client => self.client = client.join(&more_client.all()),
            Side::Server => self.server = server.join(&more_server.all()),
        }
    }

    /// A side has closed gates of a holder, some of which may have let a message through that is on its way.
    pub(super) fn note_closing(
        &mut self,
        (holder, closer): (Side, Side),
        before: Capabilities,
        message: Option<MessageIndex>,
        fence: Fence,
    ) {
        let mut closed = std::mem::take(&mut self.closed_gates);
        closed.add((holder, closer), before, message, fence, |side, fence| {
            self.is_past(self.sent_by(side), fence)
        });
        self.closed_gates = closed;
    }

    /// Proves that the other side has received a message of this side, or what this side has just sent.
    pub(super) fn fence_of(&self, side: Side, message: Option<MessageIndex>) -> Fence {
        let receipts = self.asked(self.sent_by(side)).receipts();
        let kind = message.and_then(|message| self.protocol.message(message)).map(|table| table.kind);
        if kind == Some(Kind::Request) { receipts.last() } else { receipts.next() }
    }

    /// Requests of a side are over, during which the other side may have sent what is on its way: until the fence, it may not
    /// have received what has ended them for it.
    pub(super) fn note_ended(
        &mut self,
        side: Side,
        granted: Capabilities,
        message: MessageIndex,
        fence: Fence,
    ) {
        let mut ended = std::mem::take(&mut self.ended_during);
        ended.add((side, side), granted, Some(message), fence, |side, fence| {
            self.is_past(self.sent_by(side), fence)
        });
        self.ended_during = ended;
    }

    /// Accepts messages of the peer that need these capabilities although they were not announced. What the followed
    /// role sends needs them as before.
    pub fn tolerate(&mut self, capabilities: Capabilities) {
        self.tolerated = capabilities;
    }

    /// Another revision of the protocol governs from here on, as [`Protocol::governed_by`] gives it: the states and all
    /// numbers are those of the tables that were followed so far.
    pub fn govern(&mut self, protocol: impl Into<ProtocolRef>) {
        self.protocol = protocol.into();
        for exchanges in [&mut self.sent, &mut self.received] {
            exchanges.set_reuses_ids(self.protocol.reuses_ids);
        }
        self.governed = true;
    }

    /// Whether another revision governs than the one that the session is written against.
    pub fn is_governed(&self) -> bool {
        self.governed
    }

    /// The session is closed: from here on everything is accepted and to be dropped.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// A linear channel is in another state.
    pub(super) fn move_channel(&mut self, place: usize, to: StateIndex) {
        if let Some(role) = self.protocol.role(self.side) {
            self.channels.put(place, to, role);
        }
    }

    /// Whether nothing follows a state.
    pub(super) fn is_end(&self, state: StateIndex) -> bool {
        self.state(state).is_some_and(|table| table.kind == StateKind::End)
    }

    /// The followed role. The constructor made sure that there is one.
    pub(super) fn role(&self) -> Option<&Role> {
        self.protocol.role(self.side)
    }

    /// A state of the followed role.
    pub(super) fn state(&self, state: StateIndex) -> Option<&State> {
        self.role().and_then(|role| role.state(state))
    }

    /// The exchanges whose requests go in a direction.
    pub(super) fn asked(&self, direction: Direction) -> &Exchanges {
        match direction {
            Direction::Send => &self.sent,
            Direction::Receive => &self.received,
        }
    }

    /// The same to change them.
    pub(super) fn asked_mut(&mut self, direction: Direction) -> &mut Exchanges {
        match direction {
            Direction::Send => &mut self.sent,
            Direction::Receive => &mut self.received,
        }
    }

    /// Which way goes what a side sends.
    pub(super) fn sent_by(&self, side: Side) -> Direction {
        if side == self.side { Direction::Send } else { Direction::Receive }
    }

    /// Who sends what goes in a direction.
    pub(super) fn sender(&self, direction: Direction) -> Side {
        match direction {
            Direction::Send => self.side,
            Direction::Receive => self.side.other(),
        }
    }

    /// The protocol that is followed.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }
}
