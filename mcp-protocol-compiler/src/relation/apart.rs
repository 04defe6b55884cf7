//! The first place where the roles of two files do not fit, as data: who compares files words it.

use mcp_protocol_machine::protocol::{Action, MessageIndex, Side};

use super::disagreement::Disagreement;
use super::machine::{Event, Machine};
use super::outcome::{Found, Outcome, Wanted};
use super::search::search;
use super::{roles, words};
use crate::automaton::Automaton;
use crate::source::Span;

/// The first place where a client is not compatible with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// The shortest exchange that leads there.
    pub exchange: Vec<Sent>,
    /// What is wrong there.
    pub reason: Reason,
    /// Where the client is.
    pub client: Place,
    /// Where the server is.
    pub server: Place,
}

/// One message of an exchange that both roles have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Who sends it.
    pub sender: Side,
    /// Which message.
    pub message: MessageIndex,
    /// For a cancel, the request that it withdraws.
    pub cancels: Option<MessageIndex>,
    /// The step in the text of the client.
    pub client: Span,
    /// The step in the text of the server.
    pub server: Span,
}

/// Where a role is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In the text.
    pub span: Span,
    /// In words: `` in `Active` of `McpClient` ``.
    pub words: String,
}

/// What is wrong between a client and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A role may send what the other does not accept.
    Unexpected {
        /// Who sends it.
        sender: Side,
        /// The message.
        message: MessageIndex,
        /// For a cancel, the request that it withdraws.
        cancels: Option<MessageIndex>,
        /// The step in the sender's text.
        step: Span,
        /// It moves its channel to another state.
        moves: bool,
    },
    /// One role has one instance at a time of what the other has in a `*`.
    LinearAndReplicated {
        /// The message.
        message: MessageIndex,
        /// Which role has one at a time.
        linear: Side,
        /// The steps of the client and of the server.
        steps: (Span, Span),
    },
    /// A role may close, which the other does not expect.
    MayNotClose(Side),
    /// A role may go on with sub-sessions that the other suspends.
    GoesOn(Side),
    /// The server waits for one of these messages, and the client sends nothing.
    Silent(Vec<MessageIndex>),
    /// The server's sub-session has ended, and the client still waits for this message.
    NeverSent(MessageIndex),
    /// There are too many pairs of places to compare.
    TooMany,
}

/// The first place where a client is not compatible with a server, on a shortest way; `None` if there is none. Messages
/// that are one message have one index in both.
pub fn apart(client: &Automaton, server: &Automaton) -> Option<Apart> {
    let (one, other) = (Machine::new(client), Machine::new(server));
    match search(&one, &other, Wanted::Compatible) {
        Outcome::Related => None,
        Outcome::Apart(found) => Some(of(&one, &other, &found)),
        Outcome::TooMany(limit) => Some(Apart {
            exchange: Vec::new(),
            reason: Reason::TooMany,
            client: place(&one, &limit.client, false),
            server: place(&other, &limit.server, false),
        }),
    }
}

fn place(machine: &Machine<'_>, locations: &super::machine::Locations, at_start: bool) -> Place {
    Place { span: roles::span(machine, locations), words: words::within(machine, locations, at_start) }
}

fn of(client: &Machine<'_>, server: &Machine<'_>, found: &Found) -> Apart {
    let at_start = found.way.is_empty();
    let (of_client, of_server) = (steps(client, &found.way), steps(server, &found.way));
    let exchange = found.way.iter().zip(of_client.into_iter().zip(of_server));
    Apart {
        exchange: exchange
            .map(|(event, (client, server))| Sent {
                sender: event.sender,
                message: event.message,
                cancels: event.cancels,
                client,
                server,
            })
            .collect(),
        reason: reason(&found.what),
        client: place(client, &found.pair.client.locations, at_start),
        server: place(server, &found.pair.server.locations, at_start),
    }
}

fn reason(what: &Disagreement) -> Reason {
    match what {
        Disagreement::Unexpected(step) => Reason::Unexpected {
            sender: step.arrow.event.sender,
            message: step.arrow.event.message,
            cancels: step.arrow.event.cancels,
            step: step.arrow.span,
            moves: !step.is_loop(),
        },
        Disagreement::NeverSent(step) => Reason::NeverSent(step.arrow.event.message),
        Disagreement::LinearAndReplicated { client, server } => Reason::LinearAndReplicated {
            message: client.arrow.event.message,
            linear: if client.is_linear() { Side::Client } else { Side::Server },
            steps: (client.arrow.span, server.arrow.span),
        },
        Disagreement::MayNotClose(who) | Disagreement::NeverCloses(who) => Reason::MayNotClose(*who),
        Disagreement::GoesOn(who) | Disagreement::NeverGoesOn(who) => Reason::GoesOn(*who),
        Disagreement::Silent(awaited) => {
            Reason::Silent(awaited.iter().map(|step| step.arrow.event.message).collect())
        }
    }
}

/// Where the text of a role has each step of a way.
fn steps(machine: &Machine<'_>, way: &[Event]) -> Vec<Span> {
    let mut locations = machine.start();
    let mut steps = Vec::new();
    for event in way {
        let Some(step) = machine.find(&locations, *event) else { break };
        locations = match step.arrow.action {
            Action::Spawn(body) => machine.body(body),
            Action::Step(_) => machine.step(&locations, &step),
        };
        steps.push(step.arrow.span);
    }
    steps.resize(way.len(), machine.automaton().span);
    steps
}
