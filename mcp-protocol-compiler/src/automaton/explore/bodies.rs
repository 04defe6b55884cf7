//! The bodies of `*`: each is explored once. Also the sets of bodies that run in parallel with a channel.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Only, Origin, StateKind};

use super::{Explorer, MOST_EDGES, Start, Via};
use crate::automaton::finding::FindingKind;
use crate::automaton::graph::{ActionNode, NodeId};
use crate::automaton::normal_form::Head;
use crate::automaton::open::OpenSet;
use crate::automaton::raw::{Owner, RawEdge, RawState};
use crate::findings::channels::SharedBodies;
use crate::hash::Set;
use crate::source::Span;

/// How the sub-sessions of a body start.
struct BodyStart {
    /// The linear channels.
    channels: Vec<NodeId>,
    /// The number of the set of bodies that run next to them.
    running: usize,
    /// Where the `*` stands.
    span: Span,
    /// The definition that is the body.
    definition: Option<usize>,
}

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
        let channels = match self.heads.head(node, self.findings) {
            Head::Parallel(ref parallel) => {
                let channels = self.without_ends(&parallel.linear);
                if channels.is_empty() {
                    // All of them are broken.
                    return;
                }
                let running = self.more_running(0, &parallel.replicated);
                BodyStart { channels, running, span, definition }
            }
            _ => BodyStart { channels: vec![node], running: 0, span, definition },
        };
        let current = self.current.take();
        let mut edges = Vec::new();
        let mut seen: HashMap<(Direction, MessageIndex), (usize, Span)> = HashMap::new();
        for place in 0..channels.channels.len() {
            self.openers(&channels, place, &mut seen, &mut edges);
        }
        self.bodies.insert(node, edges);
        self.current = current;
    }

    /// The edges by which the first messages of one of the channels of a body open a sub-session.
    fn openers(
        &mut self,
        start: &BodyStart,
        place: usize,
        seen: &mut HashMap<(Direction, MessageIndex), (usize, Span)>,
        edges: &mut Vec<RawEdge>,
    ) {
        let Some(channel) = start.channels.get(place).copied() else { return };
        let end = self.heads.end(channel);
        let choice = match self.heads.head(end, self.findings) {
            Head::End => return self.findings.push(FindingKind::BodyMayBeEmpty.at(start.span)),
            Head::Choice(choice) => choice,
            // Channels in one another are gathered before.
            Head::Broken | Head::Parallel(_) => {
                self.broken = true;
                return;
            }
        };
        if choice.may_close || choice.peer_may_close {
            self.findings.push(FindingKind::BodyMayBeEmpty.at(choice.end.unwrap_or(start.span)));
        }
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
                if let Some((other, first)) = seen.insert(step, (place, action.span)) {
                    let what = match other == place {
                        true => FindingKind::SameFirstAction { action: step, first },
                        false => FindingKind::Overlap { action: step, first, bodies: SharedBodies::No },
                    };
                    self.findings.push(what.at(action.span));
                    continue;
                }
                let Some(target) = self.opened(start, place, action, message) else { continue };
                edges.push(RawEdge {
                    direction: action.direction,
                    message,
                    target,
                    spawn: true,
                    sub_session: start.definition,
                    origin: Origin::Written,
                    cancels: None,
                    span: action.span,
                    level: action.level().map(Box::new),
                });
            }
        }
    }

    /// The state of a sub-session behind its first message. Where it starts with several channels, the one that has the
    /// message is the first of the parts.
    fn opened(
        &mut self,
        start: &BodyStart,
        place: usize,
        action: &ActionNode<'_>,
        message: MessageIndex,
    ) -> Option<usize> {
        let open = self.after(action, message, OpenSet::EMPTY)?;
        let opener = self.open_sets.requests(open).next().map(|(_, message)| message);
        let via = Via { span: Some(action.span), before: None };
        let BodyStart { channels, running, .. } = start;
        let alone = channels.len() == 1;
        let owner = Owner::SubSession(opener);
        let owner = if alone { owner } else { owner.part() };
        let first = self.target(action.next, open, *running, owner, via);
        let others = channels.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<Option<usize>> =
            others.map(|(_, other)| self.target(*other, OpenSet::EMPTY, *running, owner, via)).collect();
        let parts: Vec<usize> = std::iter::once(first).chain(others).collect::<Option<_>>()?;
        self.starts.push(Start { linear: parts.clone(), running: *running });
        if alone {
            return first;
        }
        let edges = self.spawns(*running, Only::NONE, action.span);
        let fork = RawState::of_sub_session(StateKind::Fork, opener, edges, action.span);
        self.states.push(RawState { own: 0, parts, ..fork });
        self.open.push(OpenSet::EMPTY);
        self.only.push(None);
        Some(self.states.len() - 1)
    }

    /// The channels of a sub-session that are not at their end from the beginning; one of those if all are.
    pub(super) fn without_ends(&mut self, channels: &[NodeId]) -> Vec<NodeId> {
        let goes_on = |channel: &NodeId| {
            let end = self.heads.end(*channel);
            !matches!(self.heads.head(end, self.findings), Head::End)
        };
        let some: Vec<NodeId> = channels.iter().copied().filter(goes_on).collect();
        if some.is_empty() { channels.iter().copied().take(1).collect() } else { some }
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
