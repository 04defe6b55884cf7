//! The two roles where they were found to disagree, to be looked up by side, and how a finding speaks of places in
//! them.

use mcp_protocol_machine::protocol::{Action, Side, StateIndex, StateKind};

use super::machine::{Event, Machine, Move};
use super::outcome::Found;
use super::words;
use crate::automaton::State;
use crate::declarations::Message;
use crate::source::Span;

/// Where a configuration is in the text.
pub(super) fn span(machine: &Machine<'_>, locations: &[StateIndex]) -> Span {
    locations
        .iter()
        .find_map(|&location| machine.state(location))
        .map_or(machine.automaton().span, |state| state.span)
}

/// Where a configuration lets a role close: at a bare `End`, or where nothing else is left.
pub(super) fn end(machine: &Machine<'_>, locations: &[StateIndex], who: Side) -> Option<Span> {
    let offers = |state: &&State| match who == machine.side() {
        _ if state.kind == StateKind::End => true,
        true => state.may_close,
        false => state.peer_may_close,
    };
    let mut states = locations.iter().filter_map(|&location| machine.state(location)).filter(offers);
    states.find_map(|state| state.end.or((state.kind == StateKind::End).then_some(state.span)))
}

/// The last step of a way, where a role has it in its text.
fn last_step(machine: &Machine<'_>, way: &[Event]) -> Option<Span> {
    let mut locations = machine.start();
    let mut last = None;
    for event in way {
        let step = machine.find(&locations, *event)?;
        locations = match step.arrow.action {
            Action::Spawn(body) => machine.body(body),
            Action::Step(_) => machine.step(&locations, &step),
        };
        last = Some(step.arrow.span);
    }
    last
}

/// The two roles, to be looked up by side.
pub(super) struct Roles<'a, 'b> {
    pub(super) client: &'b Machine<'a>,
    pub(super) server: &'b Machine<'a>,
    pub(super) found: &'b Found,
    pub(super) messages: &'b [Message],
}

impl<'a> Roles<'a, '_> {
    pub(super) fn machine(&self, side: Side) -> &Machine<'a> {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    pub(super) fn locations(&self, side: Side) -> &[StateIndex] {
        match side {
            Side::Client => &self.found.pair.client.locations,
            Side::Server => &self.found.pair.server.locations,
        }
    }

    pub(super) fn name_of(&self, side: Side) -> &str {
        &self.machine(side).automaton().name
    }

    /// `` in `Active` of `McpClient` ``. A state that no definition names is found by its line alone.
    pub(super) fn place(&self, side: Side) -> String {
        words::within(self.machine(side), self.locations(side), self.found.way.is_empty())
    }

    pub(super) fn span(&self, side: Side) -> Span {
        span(self.machine(side), self.locations(side))
    }

    /// Where a step is missing, and how to point at it. One state is the end of much that the text has, so that the
    /// step before it says which end is meant.
    pub(super) fn gap(&self, side: Side) -> (Span, &'static str) {
        let machine = self.machine(side);
        let mut states = self.locations(side).iter().filter_map(|&location| machine.state(location));
        let ended = states.all(|state| state.kind == StateKind::End && !state.named);
        match last_step(machine, &self.found.way).filter(|_| ended) {
            Some(step) => (step, "after this"),
            None => (self.span(side), "here"),
        }
    }

    /// Where a role lets `who` close here; the place itself if it does not.
    pub(super) fn end(&self, side: Side, who: Side) -> Span {
        end(self.machine(side), self.locations(side), who).unwrap_or(self.span(side))
    }

    pub(super) fn action(&self, step: &Move, side: Side) -> String {
        words::action(self.messages, step.arrow.event, side)
    }

    pub(super) fn name(&self, step: &Move) -> &str {
        words::name(self.messages, step.arrow.event.message)
    }

    /// What to write in a role so that it has this move.
    pub(super) fn text(&self, step: &Move, side: Side) -> String {
        if step.is_linear() {
            format!("{} . …", self.action(step, side))
        } else {
            words::replicated(self.messages, step.arrow.event, side)
        }
    }

    /// The moves that the text has here, in its order.
    pub(super) fn written(&self, side: Side) -> Vec<Move> {
        words::written(self.machine(side), self.locations(side))
    }
}
