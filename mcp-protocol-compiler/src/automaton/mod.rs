//! From tree to states: one deterministic, minimal automaton per role.
//!
//! Turns the resolved declarations and definitions into an [`Automaton`] per role. Its states are named, in order of
//! appearance, and each edge knows its place in the text. `relation` relates the two roles; where one of them cannot be
//! built, `compare_text` compares their texts.
//!
//! [`Lowered`] reads the text of both roles, once. `build` has the stages from there in order.

use mcp_protocol_machine::protocol::{
    Action, Direction, Level, MessageIndex, Only, Origin, Side, StateIndex, StateKind,
};

use crate::source::Span;

mod cancel;
mod compare_text;
mod components;
mod correlation;
mod explore;
mod finding;
mod finish;
mod graph;
mod loops;
mod lower;
mod minimise;
mod names;
mod normal_form;
mod open;
mod open_keys;
mod raw;
mod refuse;
mod replies;
mod sets;
mod sub_sessions;
mod words;

#[cfg(test)]
mod tests;

use crate::declarations::Resolution;
use crate::diagnostic::Diagnostic;
use finding::{Finding, errors};
use lower::RoleGraph;

pub use compare_text::{Comparison, Difference};

/// The machine of one role, with what the text says of each part.
///
/// The shape is that of [`mcp_protocol_machine::protocol::Role`], which is made from it; here everything is owned
/// and knows its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// Which side.
    pub side: Side,
    /// The role's name.
    pub name: String,
    /// Where the role is declared.
    pub span: Span,
    /// Documentation of the role's definition.
    pub documentation: Vec<String>,
    /// Whether the role's session type stands in the item that declares it, `server Shop = …`.
    pub inline: bool,
    /// Whether its session type is written as the dual of something.
    pub derived: bool,
    /// All states in order of appearance, the start first; states of `*` bodies have [`State::body`] set.
    pub states: Vec<State>,
    /// The session types of `*` bodies that are longer than a request and its reply.
    pub sub_sessions: Vec<SubSessionType>,
}

/// The session type of the sub-sessions of a `*` body that is longer than a request and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubSessionType {
    /// The name of the definition that is the body.
    pub name: String,
    /// The definition.
    pub span: Span,
    /// Documentation of the definition.
    pub documentation: Vec<String>,
    /// The states in which sub-sessions start, one for each first action; the other states follow from these.
    pub starts: Vec<StateIndex>,
}

/// One state of an [`Automaton`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The name, unique within the role; the same name in both roles is the same marker.
    pub name: String,
    /// Whether a definition has this name, so that it stands in the text.
    pub named: bool,
    /// Further definitions that are this state.
    pub aliases: Vec<String>,
    /// What this place is.
    pub kind: StateKind,
    /// What may happen here, in order of appearance in the text. All [`Action::Spawn`] edges of replicated channels
    /// that run here are included.
    pub edges: Vec<Edge>,
    /// For [`StateKind::Fork`], the linear channels that run from here on.
    pub parts: Vec<StateIndex>,
    /// Whether a bare `End` branch lets this role close here.
    pub may_close: bool,
    /// Whether a bare `End` branch lets the peer close here.
    pub peer_may_close: bool,
    /// Where the bare `End` branch stands.
    pub end: Option<Span>,
    /// Whether `End` can be reached from here along this channel.
    pub reaches_end: bool,
    /// In which directions sub-sessions are suspended while the session is here.
    pub only: Only,
    /// How bad it is for this role to send what is refused here.
    pub outward: Level,
    /// How bad it is for the peer to send what is refused here.
    pub inward: Level,
    /// The state of a `*` body: reached only through a spawn edge. Named after the request that opens it.
    pub body: bool,
    /// The definition or the choice that is this state.
    pub span: Span,
    /// Documentation comments of the definition that names the state.
    pub documentation: Vec<String>,
}

/// One edge of an [`Automaton`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which way the message goes.
    pub direction: Direction,
    /// Which message, in [`crate::declarations::Declarations::messages`].
    pub message: MessageIndex,
    /// What follows.
    pub action: Action,
    /// Who wrote the edge.
    pub origin: Origin,
    /// For the cancel of a linear request, that request. A cancel names its request by id, so cancels of different
    /// requests are different messages, though they have one name.
    pub cancels: Option<MessageIndex>,
    /// The action in the text; for an implied edge the action it comes from.
    pub span: Span,
    /// The level written after the action, for what is accepted but reported.
    pub level: Option<Box<Level>>,
}

/// The session types of both roles as graphs.
pub struct Lowered<'a> {
    resolution: &'a Resolution,
    client: Option<RoleGraph<'a>>,
    server: Option<RoleGraph<'a>>,
}

/// One role that was built: its automaton, or why it has none.
#[derive(Debug)]
pub struct Built {
    /// The automaton; `None` iff there is an error among the findings.
    pub automaton: Option<Automaton>,
    /// What was found, warnings included.
    pub found: Vec<Diagnostic>,
}

impl<'a> Lowered<'a> {
    /// Reads the text of both roles.
    pub fn new(resolution: &'a Resolution) -> Lowered<'a> {
        let lower = |side| resolution.role(side).map(|role| lower::lower(resolution, role));
        Lowered { resolution, client: lower(Side::Client), server: lower(Side::Server) }
    }

    /// What was read.
    pub fn resolution(&self) -> &'a Resolution {
        self.resolution
    }

    fn role(&self, side: Side) -> Option<&RoleGraph<'a>> {
        match side {
            Side::Client => self.client.as_ref(),
            Side::Server => self.server.as_ref(),
        }
    }

    /// What is wrong with the definitions that no role reaches, and that none does.
    pub fn unreached(&self) -> Vec<Diagnostic> {
        let roles: Vec<_> = self.client.iter().chain(&self.server).collect();
        words::say(&lower::unreached(self.resolution, &roles), self.resolution)
    }

    /// How the text of one role compares with that of the other one.
    pub fn compare(&self, side: Side) -> Comparison {
        match (self.role(side), self.role(side.other())) {
            (Some(own), Some(other)) => compare_text::compare(self.resolution, own, other),
            _ => Comparison::default(),
        }
    }

    /// Builds the automaton of one role, if it is declared.
    pub fn build(&self, side: Side) -> Option<Built> {
        let role = self.role(side)?;
        let mut findings = role.findings.clone();
        let automaton = build(self.resolution, role, &mut findings).filter(|_| errors(&findings) == 0);
        Some(Built { automaton, found: words::say(&findings, self.resolution) })
    }
}

/// The stages in order; nothing where the next one would only repeat what is wrong.
fn build(resolution: &Resolution, role: &RoleGraph<'_>, findings: &mut Vec<Finding>) -> Option<Automaton> {
    let declarations = &resolution.declarations;
    if !loops::stay_in_their_channel(&role.graph, resolution, findings) {
        return None;
    }
    let explored = explore::explore(&role.graph, role.start, resolution, findings)?;
    let written = minimise::minimise(explored);
    let before = errors(findings);
    let complete = match written.has_requests(declarations) {
        true => minimise::minimise(refuse::refuse(&written, declarations, findings)),
        // Only a request has refusals and cancels.
        false => written,
    };
    // Where a refusal has no place its edge is missing, and states may seem to differ.
    if errors(findings) == before {
        sub_sessions::confused(&complete, declarations, findings);
    }
    let ordered = finish::in_order(complete);
    let names = names::name(&ordered, resolution);
    Some(finish::finish(&ordered, names, resolution, role.role))
}
