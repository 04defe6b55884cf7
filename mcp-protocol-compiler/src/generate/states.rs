//! What both roles share: a marker for each state and a constant for each message.

use mcp_protocol_machine::protocol::{
    Action, Direction, Gate, GateIndex, Only, Origin, Protocol, StateIndex, StateKind,
};
use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{after, attributes, links, message_lines, with_code};
use super::generator::Generator;
use super::tables;
use super::types::Scope;
use crate::automaton::{Automaton, State};
use crate::plan::names::ident;
use crate::plan::{MarkedState, Marker, role_module, state as state_at};

impl Generator<'_> {
    /// The markers, in order of appearance.
    pub(super) fn markers(&self) -> TokenStream {
        let rows: TokenStream = self.plan.markers.iter().map(|marker| self.marker(marker)).collect();
        if rows.is_empty() { rows } else { quote!(typed::roles::markers! { #rows }) }
    }

    fn marker(&self, marker: &Marker) -> TokenStream {
        let name = ident(&marker.name);
        let allow = &self.allow;
        let documentation = attributes(&self.marker_lines(marker));
        quote!(#documentation #allow #name;)
    }

    fn marker_lines(&self, marker: &Marker) -> Vec<String> {
        let mut written: Vec<String> = Vec::new();
        let mut own: Vec<String> = Vec::new();
        let mut places = Vec::new();
        let all: Vec<_> = marker.places.iter().filter_map(|place| Some((place, place.state()?))).collect();
        for (MarkedState { automaton, .. }, state) in &all {
            // One definition is one place; the text of another state reads differently from each side.
            let definition = self.docs.is_definition(state.span);
            if definition && places.contains(&state.span) {
                continue;
            }
            places.push(state.span);
            if written.is_empty() {
                written.clone_from(&state.documentation);
            }
            let here = all
                .iter()
                .filter(|(_, other)| other.span == state.span)
                .map(|(place, _)| *place)
                .filter(|other| definition || other.automaton.side == automaton.side);
            let roles = if state.body {
                here.flat_map(sub_sessions_in).collect::<Vec<_>>().join(" and ")
            } else {
                links(here.map(|other| other.automaton.name.as_str()), Scope::Top)
            };
            let place = self.docs.place(state.span);
            let aliases = match state.aliases.as_slice() {
                [] => String::new(),
                names => format!(", also `{}`", names.join("`, `")),
            };
            if !own.is_empty() {
                own.push(String::new());
            }
            let rest = match state.only {
                Only::NONE => "",
                _ => ", in which sub-sessions are suspended",
            };
            // Only a definition's text says all of a state; the text of another is one action of it.
            let code = match definition {
                true => self.docs.fragment(state.span),
                false => self.state_type(automaton, state),
            };
            own.extend(with_code(format!("A state of {roles}{aliases}{rest}; {place}"), code));
        }
        after(&written, own)
    }

    /// The linear steps of a state as the author would write them.
    fn state_type(&self, automaton: &Automaton, state: &State) -> Vec<String> {
        let name = |index: StateIndex| state_at(automaton, index).map_or("", |state| state.name.as_str());
        let mut operator = "&";
        let mut branches: Vec<String> = Vec::new();
        for edge in state.edges.iter().filter(|edge| edge.origin == Origin::Written) {
            let Action::Step(target) = edge.action else { continue };
            let sign = match edge.direction {
                Direction::Send => '!',
                Direction::Receive => '?',
            };
            if edge.direction == Direction::Send {
                operator = "⊕";
            }
            branches.push(format!("{sign}{} . {}", self.plan.message_name(edge.message), name(target)));
        }
        if !state.parts.is_empty() {
            let parts: Vec<&str> = state.parts.iter().map(|part| name(*part)).collect();
            branches.push(format!("({})", parts.join(", ")));
        }
        if state.may_close || state.peer_may_close || state.kind == StateKind::End {
            branches.push("End".to_owned());
        }
        branches.join(&format!("\n{operator} ")).lines().map(str::to_owned).collect()
    }

    /// The constants that name capabilities; nothing where no message requires any.
    pub(super) fn capabilities(&self, machine: &Protocol) -> Option<TokenStream> {
        tables::capabilities(machine, &self.allow, |index| {
            let gate = machine.gate(index);
            let lines: Vec<String> = gate.and_then(|gate| self.default_of(index, gate)).into_iter().collect();
            attributes(&lines)
        })
    }

    /// Who announces a capability without a word about it.
    fn default_of(&self, index: GateIndex, gate: &Gate) -> Option<String> {
        let (_, around) = gate.path.split_last()?;
        let around = Gate::new(around.to_vec().into());
        let all = self.plan.declarations.announcements.iter().map(|announced| &announced.table);
        let sides = all.filter(|announcement| announcement.defaults.contains(&index));
        let sides: Vec<&str> = sides.map(|announcement| role_module(announcement.side)).collect();
        let who = if sides.is_empty() { return None } else { sides.join(" or a ") };
        Some(format!("A {who} announces it as well by a `{around}` with nothing in it."))
    }

    /// The constants that name messages.
    pub(super) fn messages(&self, machine: &Protocol) -> TokenStream {
        tables::messages(machine, &self.allow, |index| {
            attributes(&message_lines(&self.plan, &self.docs, index))
        })
    }
}

/// Links to the session types of the sub-sessions that can be in a state.
fn sub_sessions_in(place: &MarkedState) -> impl Iterator<Item = String> {
    let module = role_module(place.automaton.side);
    place.sub_sessions().map(move |sub_session| format!("[`{module}::{}`]", ident(&sub_session.name)))
}
