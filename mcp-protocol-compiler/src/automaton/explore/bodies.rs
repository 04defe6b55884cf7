//! The bodies of `*`: each is explored once. Also the sets of bodies that run in parallel with a channel.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Only, Origin};

use super::{Explorer, MOST_EDGES, Via};
use crate::automaton::finding::FindingKind;
use crate::automaton::graph::NodeId;
use crate::automaton::normal_form::Head;
use crate::automaton::open::OpenSet;
use crate::automaton::raw::{Owner, RawEdge};
use crate::hash::Set;
use crate::source::Span;

impl Explorer<'_> {
    /// Adds `*` bodies to a set of running ones.
    pub(super) fn more_running(&mut self, running: usize, bodies: &[(NodeId, Span)]) -> usize {
        let mut set = self.running.get(running).cloned().unwrap_or_default();
        let mut known: Set<NodeId> = set.iter().copied().collect();
        for (body, span) in bodies {
            let definition = self.heads.first_definition(*body);
            let node = self.heads.end(*body);
            if known.insert(node) {
                set.push(node);
                self.stars.insert(node, *span);
                self.body(node, *span, definition);
            } else if let Some(first) = self.stars.get(&node) {
                self.twins.insert((*first, *span), node);
            }
        }
        if let Some(number) = self.running_numbers.get(&set) {
            return *number;
        }
        let number = self.running.len();
        self.running.push(set.clone());
        self.running_numbers.insert(set, number);
        number
    }

    /// Explores the body of a `*` once.
    pub(super) fn body(&mut self, node: NodeId, span: Span, definition: Option<usize>) {
        if self.bodies.contains_key(&node) {
            return;
        }
        self.bodies.insert(node, Vec::new());
        let choice = match self.heads.head(node, self.findings) {
            Head::Broken => {
                self.broken = true;
                return;
            }
            Head::End => return self.findings.push(FindingKind::BodyMayBeEmpty.at(span)),
            Head::Parallel(_) => return self.findings.push(FindingKind::ChannelsInBody.at(span)),
            Head::Choice(choice) => choice,
        };
        if choice.may_close || choice.peer_may_close {
            self.findings.push(FindingKind::BodyMayBeEmpty.at(choice.end.unwrap_or(span)));
        }
        let current = self.current.take();
        let mut edges = Vec::new();
        let mut seen: HashMap<(Direction, MessageIndex), Span> = HashMap::new();
        for action in &choice.actions {
            if self.starts_with_reply(action) {
                let (direction, name) = (action.direction, action.message.text.clone());
                let request = self.request_of(action);
                self.findings
                    .push(FindingKind::BodyStartsWithReply { direction, name, request }.at(action.span));
                continue;
            }
            let Some(messages) = self.messages(action, OpenSet::EMPTY) else { continue };
            for message in messages {
                let step = (action.direction, message);
                if let Some(first) = seen.insert(step, action.span) {
                    self.findings.push(FindingKind::SameFirstAction { action: step, first }.at(action.span));
                    continue;
                }
                let Some(open) = self.after(action, message, OpenSet::EMPTY) else { continue };
                let opener = self.open_sets.requests(open).next().map(|(_, message)| message);
                let via = Via { span: Some(action.span), before: None };
                let Some(target) = self.target(action.next, open, 0, Owner::SubSession(opener), via) else {
                    continue;
                };
                edges.push(RawEdge {
                    direction: action.direction,
                    message,
                    target,
                    spawn: true,
                    sub_session: definition,
                    origin: Origin::Written,
                    cancels: None,
                    span: action.span,
                    level: action.level().map(Box::new),
                });
            }
        }
        self.bodies.insert(node, edges);
        self.current = current;
    }

    /// The edges that open sub-sessions of the bodies of a set, as far as sub-sessions are not suspended. They are
    /// edges of each state, and count there; what is gathered here is the last that is counted for a state.
    pub(super) fn spawns(&mut self, running: usize, only: Only, place: Span) -> Vec<RawEdge> {
        let bodies = self.running.get(running).map(Vec::as_slice).unwrap_or_default();
        let edges = || {
            let edges = bodies.iter().filter_map(|body| self.bodies.get(body)).flatten();
            edges.filter(|edge| !only.suspends(edge.direction))
        };
        self.count += edges().count();
        if self.count <= MOST_EDGES {
            return edges().cloned().collect();
        }
        self.too_large(place);
        Vec::new()
    }
}
