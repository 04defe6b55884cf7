//! Which steps of a sub-session its handle takes, too: what one task may send while another one waits for the peer.
//!
//! The value that waits does not learn of such a step. What it can receive afterwards must be what it expects anyway,
//! or the reply to the step, which goes to the task that took it.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};

use super::methods::{Planner, is_taken};
use super::types::{Replicated, kind, state};
use crate::automaton::Edge;
use crate::reach::reachable;

/// The state in which a value takes the sub-session to be, and the one that it is in.
type Views = (StateIndex, StateIndex);

impl Planner<'_> {
    /// The steps that a handle takes in some states of a sub-session. There are none where channels fork: each of those
    /// has a value of its own.
    pub(super) fn handle_steps(&self, states: &BTreeSet<StateIndex>) -> Vec<Replicated> {
        let kind = |index: &StateIndex| state(self.automaton, *index).map(|state| state.kind);
        if states.iter().any(|index| kind(index) == Some(StateKind::Fork)) {
            return Vec::new();
        }
        let mut steps: Vec<Replicated> = Vec::new();
        for index in states.iter().filter(|index| self.may_wait(**index)) {
            for (edge, _) in self.steps(*index, Direction::Send) {
                let opens = matches!(self.kind(edge), Some(Kind::Request | Kind::Notification));
                if !opens || edge.origin != Origin::Written {
                    continue;
                }
                match steps.iter_mut().find(|step| step.message == edge.message) {
                    Some(known) => known.states.push(*index),
                    None => steps.push(Replicated {
                        message: edge.message,
                        replies: self.replies(edge.message, states),
                        opening: None,
                        step: true,
                        span: edge.span,
                        states: vec![*index],
                    }),
                }
            }
        }
        steps.retain(|step| self.leaves_values_right(step.message, &[step.message], states));
        // Each is right by itself. Together they must be, too.
        let taken: Vec<MessageIndex> = steps.iter().map(|step| step.message).collect();
        steps.retain(|step| self.leaves_values_right(step.message, &taken, states));
        steps
    }

    /// Whether a value that waits in a state may get something there.
    fn may_wait(&self, index: StateIndex) -> bool {
        state(self.automaton, index).is_some_and(|state| {
            state.edges.iter().any(|edge| {
                edge.direction == Direction::Receive
                    && edge.origin == Origin::Written
                    && !matches!(self.kind(edge), Some(Kind::Refusal { .. }))
            })
        })
    }

    /// Whether a step that a handle takes never makes a value receive what it does not expect, whatever else is `taken`
    /// by handles.
    fn leaves_values_right(
        &self,
        step: MessageIndex,
        taken: &[MessageIndex],
        states: &BTreeSet<StateIndex>,
    ) -> bool {
        let first = states.iter().flat_map(|index| {
            let edges = self.steps(*index, Direction::Send).filter(|(edge, _)| edge.message == step);
            edges.map(|(_, target)| (*index, target))
        });
        let mut right = true;
        reachable(first, |views: Views| match self.next_views(views, taken) {
            Some(next) => next,
            None => {
                right = false;
                Vec::new()
            }
        });
        right
    }

    /// What both views may become. `None`: something may come that the value does not expect.
    fn next_views(&self, (seen, actual): Views, taken: &[MessageIndex]) -> Option<Vec<Views>> {
        let mut next = Vec::new();
        if self.opened_by_peer(actual).any(|message| self.opened_by_peer(seen).all(|known| known != message))
        {
            return None;
        }
        for (edge, target) in self.steps(actual, Direction::Receive) {
            let expected = self.steps(seen, Direction::Receive).find(|(own, _)| own.message == edge.message);
            let answers = match self.kind(edge) {
                Some(Kind::Reply { request } | Kind::Refusal { request }) => taken.contains(&request),
                _ => false,
            };
            match expected {
                Some((_, own)) => next.push((own, target)),
                // The value has not asked, so a handle has.
                None if answers => next.push((seen, target)),
                None => return None,
            }
        }
        for (edge, target) in self.steps(actual, Direction::Send) {
            if taken.contains(&edge.message) {
                next.push((seen, target));
            }
            let own = self.steps(seen, Direction::Send).find(|(own, _)| own.message == edge.message);
            next.extend(own.map(|(_, own)| (own, target)));
        }
        Some(next)
    }

    /// The steps of a state that move a value, or leave it where it is.
    fn steps(&self, index: StateIndex, direction: Direction) -> impl Iterator<Item = (&Edge, StateIndex)> {
        let edges = state(self.automaton, index).map(|state| state.edges.as_slice()).unwrap_or_default();
        edges.iter().filter_map(move |edge| match edge.action {
            Action::Step(target) if edge.direction == direction && edge.origin != Origin::Closure => {
                Some((edge, target))
            }
            _ => None,
        })
    }

    /// What the peer may open in a state on a replicated channel, and the value takes.
    fn opened_by_peer(&self, index: StateIndex) -> impl Iterator<Item = MessageIndex> {
        let edges = state(self.automaton, index).map(|state| state.edges.as_slice()).unwrap_or_default();
        let opening = |edge: &&Edge| {
            edge.direction == Direction::Receive
                && edge.origin == Origin::Written
                && matches!(edge.action, Action::Spawn(_))
        };
        let taken = |message| self.declarations.message(message).is_some_and(is_taken);
        edges.iter().filter(opening).map(|edge| edge.message).filter(move |message| taken(*message))
    }

    fn replies(&self, request: MessageIndex, states: &BTreeSet<StateIndex>) -> Vec<MessageIndex> {
        let received = states.iter().flat_map(|index| self.steps(*index, Direction::Receive));
        let replies = received.filter(|(edge, _)| self.kind(edge) == Some(Kind::Reply { request }));
        let replies: BTreeSet<MessageIndex> = replies.map(|(edge, _)| edge.message).collect();
        replies.into_iter().collect()
    }

    fn kind(&self, edge: &Edge) -> Option<Kind> {
        kind(self.declarations, edge.message)
    }
}
