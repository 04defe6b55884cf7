//! What an observer says of a session as a whole: the states it can be in, and what is still to come.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{
    Action, Direction, Edge, Kind, MessageIndex, Origin, Path, Payload, Role, Side, State, StateIndex,
};

use super::{JsonReader, JsonValue, MessageText, Observer, direction};
use crate::jsonrpc::{Envelope, Malformed, RawPayload};
use crate::rules::{alternatives, cancelling, shapes};

/// A step that the session waits for: nothing else leads on from its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owed {
    /// Which side has to take it.
    pub side: Side,
    /// The request or notification. Of several, which the side chooses from, it is the first.
    pub message: MessageIndex,
    /// The state that waits.
    pub state: String,
    /// The states that follow.
    pub next: Vec<String>,
}

impl Observer {
    /// The names of the states that a session can be in, in the order of the tables: each is one in which
    /// [`begin_in`](Observer::begin_in) can begin. Those of sub-sessions are not among them.
    pub fn state_names(&self) -> Vec<String> {
        let mut reached = vec![StateIndex(0)];
        let mut next = 0;
        while let Some(state) = reached.get(next).and_then(|index| self.rules.state(*index)) {
            next += 1;
            for to in linear(state).map(|(_, to)| to).chain(state.parts.iter().copied()) {
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        reached.sort_unstable();
        reached.into_iter().map(|index| self.rules.state_name(index).into_owned()).collect()
    }

    /// The steps that the session waits for now, one for each linear channel at most. A reply is not among them: for those
    /// see [`unanswered`](Observer::unanswered). Neither is a step where the side may as well stay.
    pub fn owes(&self) -> Vec<Owed> {
        self.rules.checker().states().iter().filter_map(|place| self.owed_in(*place)).collect()
    }

    fn owed_in(&self, place: StateIndex) -> Option<Owed> {
        let state = self.rules.state(place)?;
        let steps = || linear(state).filter(|(edge, _)| edge.origin == Origin::Written);
        let (first, _) = steps().next()?;
        let opens = |edge: &Edge| {
            let kind = self.rules.message(edge.message).map(|table| table.kind);
            matches!(kind, Some(Kind::Request | Kind::Notification))
        };
        let leads_on =
            |(edge, to): (&Edge, StateIndex)| edge.direction == first.direction && opens(edge) && to != place;
        steps().all(leads_on).then(|| Owed {
            side: sender(first.direction),
            message: first.message,
            state: state.name.clone().into_owned(),
            next: steps().map(|(_, to)| self.rules.state_name(to).into_owned()).collect(),
        })
    }

    /// The messages that a side may send only after a step that it owes. The role of that side decides, which may be
    /// stricter than what the other role accepts.
    pub fn needing(&self, owed: &Owed) -> Vec<MessageIndex> {
        let protocol = self.rules.protocol();
        let (role, sends) = match (protocol.role(owed.side), self.rules.role()) {
            (Some(own), _) => (own, Direction::Send),
            (None, Some(server)) => (server, direction(owed.side)),
            (None, None) => return Vec::new(),
        };
        let steps = self.steps_of(owed);
        let is_step = |edge: &Edge| edge.direction == sends && steps.contains(&edge.message);
        let free = sent_without(role, sends, |edge| matches!(edge.action, Action::Step(_)) && is_step(edge));
        let mut all: Vec<MessageIndex> = sent_without(role, sends, |_| false);
        all.retain(|message| !free.contains(message) && !steps.contains(message));
        all
    }

    /// The messages that are the step: the side chooses one of them.
    fn steps_of(&self, owed: &Owed) -> Vec<MessageIndex> {
        let states = self.rules.role().map(|role| &*role.states).unwrap_or_default();
        let place = states.iter().find(|state| *state.name == *owed.state);
        let written = place.into_iter().flat_map(linear).filter(|(edge, _)| edge.origin == Origin::Written);
        written.map(|(edge, _)| edge.message).collect()
    }

    /// Whether a request opens a session: it leads on from the first state.
    pub fn begins_session(&self, message: MessageIndex) -> bool {
        let first = self.rules.state(StateIndex(0));
        let mut steps = first.into_iter().flat_map(linear);
        let is_request = self.rules.message(message).is_some_and(|table| table.kind == Kind::Request);
        is_request && steps.any(|(edge, to)| edge.message == message && to != StateIndex(0))
    }

    /// Whether a message of a side leads from one state of a session to another one, if it is permitted.
    pub fn leads_on(&self, sender: Side, message: MessageIndex) -> bool {
        let states = self.rules.role().map(|role| &*role.states).unwrap_or_default();
        let own = direction(sender);
        (0..).map(StateIndex).zip(states).any(|(place, state)| {
            linear(state).any(|(edge, to)| (edge.direction, edge.message) == (own, message) && to != place)
        })
    }

    /// Which request one message is, by its method and its params, and under which id. Nothing else of it is judged.
    pub fn request_of<'a>(
        &self,
        sender: Side,
        message: impl Into<MessageText<'a>>,
    ) -> Option<(MessageIndex, RequestId)> {
        let message = message.into();
        let (depth, dialect) = (self.options.max_depth, self.rules.dialect());
        self.named(sender, message.parse(depth, dialect))
    }

    /// Whether a result is one with which a request of this method is answered: it has the shape of the reply that its
    /// content chooses. Shapes count only with [`judge_payloads`](crate::Options::judge_payloads).
    pub fn answers(&self, method: &str, result: &str) -> bool {
        self.rules.all_of_method(true, method).any(|request| self.answers_request(request, result))
    }

    /// The same for one request of the protocol, such as one that is [unanswered](Observer::unanswered).
    pub fn answers_request(&self, request: MessageIndex, result: &str) -> bool {
        let Some(reply) = self.rules.reply_of(request, result) else { return false };
        let payload = self.rules.message(reply).map(|table| table.payload);
        match payload {
            Some(Payload::None) => result == "{}",
            Some(Payload::Null) => result == "null",
            _ => shapes::mismatch(&self.rules, reply, Some(result)).is_none(),
        }
    }

    fn named<P: RawPayload>(
        &self,
        sender: Side,
        message: Result<Envelope<'_, P>, Malformed>,
    ) -> Option<(MessageIndex, RequestId)> {
        let Ok(Envelope::Request { id, method, params }) = message else { return None };
        Some((alternatives::read_as(&self.rules, direction(sender), true, &method, params)?, id))
    }

    /// Whether the receiver of a request may say more than its reply in what it opens.
    pub(super) fn stays_open(&self, asker: Side, request: MessageIndex) -> bool {
        cancelling::stays_open(&self.rules, direction(asker), request)
    }

    /// Whether a message says in itself what its sender can do, as each request does in a protocol without a handshake.
    pub fn announces_itself<'a>(&self, sender: Side, message: impl Into<MessageText<'a>>) -> bool {
        let Some(place) = self.rules.protocol().announcement_of_each_request(sender) else { return false };
        let message = message.into();
        if let Some(value) = message.value() {
            return announces(value, &place.path);
        }
        // Hardly any other message has something there, and most need not be read for that.
        let Some(last) = place.path.last() else { return false };
        let name = last.rsplit('/').next().unwrap_or(last);
        memchr::memmem::find(message.bytes(), name.as_bytes()).is_some()
            && str::from_utf8(message.bytes()).is_ok_and(|text| {
                JsonReader::default().read(text).is_some_and(|value| announces(value, &place.path))
            })
    }
}

/// Whether a message is a request with something at a path. What else is wrong with it is judged when it is observed.
fn announces(message: JsonValue<'_>, path: &Path) -> bool {
    message.member("params").and_then(|params| params.find(path)).is_some()
        && message.member("method").is_some()
        && message.member("id").is_some()
}

/// The steps of a linear channel, and where they lead.
fn linear(state: &State) -> impl Iterator<Item = (&Edge, StateIndex)> {
    state.edges.iter().filter_map(|edge| match edge.action {
        Action::Step(to) => Some((edge, to)),
        Action::Spawn(_) => None,
    })
}

/// The messages that a role sends in the states that it reaches without some edges.
fn sent_without(role: &Role, sends: Direction, is_left_out: impl Fn(&Edge) -> bool) -> Vec<MessageIndex> {
    let (mut reached, mut next, mut sent) = (vec![Role::START], 0, Vec::new());
    while let Some(state) = reached.get(next).and_then(|index| role.state(*index)) {
        next += 1;
        let edges = state.edges.iter().filter(|edge| !is_left_out(edge));
        let mut to = state.parts.to_vec();
        for edge in edges {
            let (Action::Step(place) | Action::Spawn(place)) = edge.action;
            to.push(place);
            if edge.direction == sends && !sent.contains(&edge.message) {
                sent.push(edge.message);
            }
        }
        for place in to {
            if !reached.contains(&place) {
                reached.push(place);
            }
        }
    }
    sent
}

/// Directions are those of the server.
fn sender(direction: Direction) -> Side {
    match direction {
        Direction::Receive => Side::Client,
        Direction::Send => Side::Server,
    }
}
