//! From tree to states: one deterministic, minimal automaton per role.
//!
//! Turns the resolved declarations and definitions into an [`Automaton`] per role. Its states are named, in order of
//! appearance, and each edge knows its place in the text. `relation` relates the two roles; where one of them cannot be
//! built, `compare_text` compares their texts.
//!
//! [`Lowered`] reads the text of both roles, once. `build` has the stages from there in order.

use mcp_protocol_machine::protocol::Side;

mod cancel;
mod compare_text;
mod correlation;
mod explore;
mod finding;
mod finish;
mod graph;
mod keys;
mod loops;
mod lower;
mod minimise;
mod names;
mod nesting;
mod normal_form;
mod open;
mod open_keys;
mod raw;
mod refuse;
mod replies;
mod sets;
mod state;
mod sub_sessions;
mod words;

#[cfg(test)]
mod tests;

use crate::declarations::Resolution;
use crate::diagnostic::Diagnostic;
use finding::{Finding, errors};
use lower::RoleGraph;

pub use compare_text::{OtherMessage, TextComparison};
pub use state::{Automaton, Edge, State, SubSessionType};

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
    pub fn compare(&self, side: Side) -> TextComparison {
        match (self.role(side), self.role(side.other())) {
            (Some(own), Some(other)) => compare_text::compare(self.resolution, own, other),
            _ => TextComparison::default(),
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
    sub_sessions::mistakable(&written, declarations, findings);
    if errors(findings) > before {
        return None;
    }
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
