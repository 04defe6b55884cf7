//! What the protocol says of a session: the tables in force, the state on the wire, and which message a payload is.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{
    Cancels, Direction, Gate, GateIndex, Kind, Message, MessageIndex, Path, Protocol, Role, Side, State,
    StateIndex, Text,
};
use mcp_protocol_machine::{Checker, Derived, Late, Limits, ProtocolRef, TableError, Token};

use crate::jsonrpc::{Dialect, JsonReader, LookedUp, RawPayload};
use crate::options::Options;
use crate::report::Report;

pub(crate) mod alternatives;
pub(crate) mod announcements;
pub(crate) mod beginning;
pub(crate) mod cancelling;
pub(crate) mod ended;
pub(crate) mod judge;
pub(crate) mod members;
pub(crate) mod method;
pub(crate) mod names;
mod negotiation;
pub(crate) mod place;
pub(crate) mod refusal;
pub(crate) mod resume;
pub(crate) mod shapes;
pub(crate) mod version;

use ended::EndedRequests;
use names::Names;
use negotiation::Negotiation;

static NAMES: Derived<Names> = Derived::new();

/// What the protocol says of one session, as one side sees it.
///
/// Invariant: `names` is the index of `protocol`, and the checker follows its states and numbers. Another revision may
/// come to govern, with which both are replaced.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    protocol: ProtocolRef,
    side: Side,
    options: Arc<Options>,
    names: Arc<Names>,
    /// It has kilobytes, so it stays where it is made.
    checker: Box<Checker>,
    /// The version of the protocol, as far as it is negotiated.
    negotiation: Negotiation,
    /// What peers may end once more.
    ended: EndedRequests,
}

/// A checker in a state, with the limits and the tolerance of the options.
fn checker(
    protocol: &ProtocolRef,
    side: Side,
    state: StateIndex,
    options: &Options,
) -> Result<Box<Checker>, TableError> {
    let limits = Limits { running: options.max_running, ..Limits::default() };
    let mut checker = Box::new(Checker::resume(protocol, side, state)?.with_limits(limits));
    if options.tolerated().is_empty() {
        return Ok(checker);
    }
    let gates = (0..=u16::MAX).map(GateIndex).zip(protocol.gates.iter());
    let is_tolerated = |gate: &Gate| options.tolerated().iter().any(|name| gate.to_string() == **name);
    let named = gates.filter(|(_, gate)| gate.during.is_none() && is_tolerated(gate));
    let tolerated = named.map(|(index, _)| index).chain(tolerated_during(protocol, options));
    checker.tolerate(tolerated.collect());
    Ok(checker)
}

/// What messages are permitted `during` that are tolerated at any time, by their methods.
fn tolerated_during<'a>(
    protocol: &'a Protocol,
    options: &'a Options,
) -> impl Iterator<Item = GateIndex> + 'a {
    let is_tolerated = |message: &&Message| options.tolerated().iter().any(|name| message.method == **name);
    let gates = protocol.messages.iter().filter(is_tolerated).flat_map(|message| message.requires.iter());
    let gates = gates.map(|requirement| requirement.gate);
    gates.filter(|gate| protocol.gate(*gate).is_some_and(|gate| gate.during.is_some()))
}

impl Rules {
    /// Those of a session that begins.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub(crate) fn new(protocol: ProtocolRef, side: Side, options: Arc<Options>) -> Result<Rules, TableError> {
        let checker = checker(&protocol, side, Role::START, &options)?;
        let names = NAMES.of(&protocol, Names::new);
        Ok(Rules {
            protocol,
            side,
            options,
            names,
            checker,
            negotiation: Negotiation::default(),
            ended: EndedRequests::default(),
        })
    }

    /// The tables in force.
    pub(crate) fn protocol(&self) -> &ProtocolRef {
        &self.protocol
    }

    /// How messages look in this protocol.
    pub(crate) fn dialect(&self) -> Dialect {
        self.protocol.dialect
    }

    /// The settings of the session.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// The state on the wire.
    pub(crate) fn checker(&self) -> &Checker {
        &self.checker
    }

    pub(crate) fn checker_mut(&mut self) -> &mut Checker {
        &mut self.checker
    }

    /// The role of this side.
    pub(crate) fn role(&self) -> Option<&Role> {
        self.protocol.role(self.side)
    }

    /// The side that sends in a direction.
    pub(crate) fn sender(&self, direction: Direction) -> Side {
        match direction {
            Direction::Send => self.side,
            Direction::Receive => self.side.other(),
        }
    }

    /// A message of the protocol.
    pub(crate) fn message(&self, index: MessageIndex) -> Option<&Message> {
        self.protocol.message(index)
    }

    /// The name of a message in the `.session` file.
    pub(crate) fn name(&self, index: MessageIndex) -> Text {
        self.message(index).map(|message| message.name.clone()).unwrap_or_default()
    }

    /// The wire method of a message.
    pub(crate) fn method(&self, index: MessageIndex) -> Text {
        self.message(index).map(|message| message.method.clone()).unwrap_or_default()
    }

    /// The token that a request carries.
    pub(crate) fn token(&self, params: Option<impl RawPayload>) -> Option<Token> {
        self.names.token(&self.protocol, params)
    }

    /// The params of a request of one side, to be looked into. Where each request says what its sender can do, or its version,
    /// several values are looked up in them, and they are read for that if they were not before.
    pub(crate) fn params<'p>(
        &self,
        sender: Side,
        payload: Option<LookedUp<'p>>,
        reader: &'p mut JsonReader,
    ) -> Option<LookedUp<'p>> {
        match payload {
            Some(LookedUp::Text(text)) if self.protocol.announces_in_each_request(sender) => {
                Some(LookedUp::read(text, reader))
            }
            payload => payload,
        }
    }

    /// Whether a message announces a version or capabilities, or asks for a version.
    pub(crate) fn is_announcement(&self, message: MessageIndex) -> bool {
        self.names.is_announcement(message)
    }

    /// Where a request has the token that reports on it carry.
    pub(crate) fn token_path(&self) -> Option<&Path> {
        self.names.token_path(&self.protocol)
    }

    /// A state of the role of this side.
    pub(crate) fn state(&self, state: StateIndex) -> Option<&State> {
        self.role()?.state(state)
    }

    /// The name of a state.
    pub(crate) fn state_name(&self, state: StateIndex) -> Text {
        self.state(state).map(|state| state.name.clone()).unwrap_or_default()
    }

    /// The report on a message that is late.
    pub(crate) fn late(&self, message: MessageIndex, late: Late) -> Report {
        Report::Late {
            message: self.name(message),
            state: self.state_name(late.state),
            crossed: late.crossed.map(|crossed| self.name(crossed)),
            over: late.over,
        }
    }

    /// The message of this side that a method and a payload stand for.
    pub(crate) fn of_method(&self, kind: Kind, method: &str, params: Option<&str>) -> Option<MessageIndex> {
        alternatives::read_as(self, Direction::Send, kind == Kind::Request, method, params)
    }

    /// Some message of a method, whatever its payload.
    pub(crate) fn some_of(&self, kind: Kind, method: &str) -> Option<MessageIndex> {
        self.names.any_of(&self.protocol, kind == Kind::Request, method)
    }

    /// The reply that a result is to a request.
    pub(crate) fn reply_of(&self, request: MessageIndex, result: impl RawPayload) -> Option<MessageIndex> {
        self.names.reply(&self.protocol, request, result)
    }

    /// Some reply of a request, whatever the result.
    pub(crate) fn any_reply_to(&self, request: MessageIndex) -> Option<MessageIndex> {
        self.names.any_reply(request)
    }

    /// The requests of a method, or the notifications; several only where conditions tell them apart.
    pub(crate) fn all_of_method(&self, request: bool, method: &str) -> impl Iterator<Item = MessageIndex> {
        self.names.of_method(&self.protocol, request, method).map(|(index, _)| index)
    }

    /// The request of this side that a method and params stand for, whatever was announced.
    pub(crate) fn own_request(&self, method: &str, params: Option<&str>) -> Option<MessageIndex> {
        self.names.by_method(&self.protocol, self.side, true, method, params)
    }

    /// The refusal of a request.
    pub(crate) fn refusal_of(&self, request: MessageIndex) -> Option<MessageIndex> {
        self.names.refusal(&self.protocol, request)
    }

    /// The notification that cancels a request, and how.
    pub(crate) fn cancels(&self) -> Option<(MessageIndex, Cancels)> {
        self.names.cancels(&self.protocol)
    }

    /// The notification that cancels a request.
    pub(crate) fn cancel_message(&self) -> Option<MessageIndex> {
        self.cancels().map(|(message, _)| message)
    }
}
