//! The way to a place, for findings: where a request was opened, and what comes right before.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Explorer, Questions};
use crate::automaton::finding::Before;
use crate::automaton::raw::{RawEdge, Step};
use crate::diagnostic::limit::LIMIT;
use crate::source::Span;

/// How many states are looked at for all questions together.
const MOST_ASKED: usize = 1_000_000;

impl Explorer<'_> {
    /// What leads to the state that is looked at, as it is written and where; the first in the text of several.
    pub(super) fn before(&self) -> Option<Before> {
        let state = self.current.filter(|_| self.asked())?;
        let edges = self.all_edges().filter(|edge| edge.target == state);
        let found = edges.min_by_key(|edge| edge.span)?;
        let declared = self.resolution.declarations.message(found.message)?;
        let written = self.heads.graph.action(found.span).map(|action| action.message.text.clone());
        let group = written.filter(|text| *text != declared.table.name);
        Some(Before { action: (found.direction, found.message), span: found.span, group })
    }

    /// Where a request that is open in a state was opened: the nearest place on a way there.
    pub(super) fn opener(&self, state: Option<usize>, open: Step) -> Option<Span> {
        let state = state.filter(|_| self.asked())?;
        let mut backwards: HashMap<usize, Vec<(usize, &RawEdge)>> = HashMap::new();
        for (from, place) in self.states.iter().enumerate() {
            for edge in &place.edges {
                backwards.entry(edge.target).or_default().push((from, edge));
            }
        }
        for edge in self.bodies.values().flatten() {
            backwards.entry(edge.target).or_default().push((usize::MAX, edge));
        }
        let mut seen = HashSet::from([state]);
        let mut waiting = VecDeque::from([state]);
        for _ in 0..LIMIT {
            let at = waiting.pop_front()?;
            for (from, edge) in backwards.get(&at).into_iter().flatten() {
                if (edge.direction, edge.message) == open {
                    return Some(edge.span);
                }
                // A way on which the request is not open before it is opened leads nowhere.
                let opens = self.open.get(*from).is_some_and(|there| self.open_sets.contains(*there, open));
                if opens && seen.insert(*from) {
                    waiting.push_back(*from);
                }
            }
        }
        None
    }

    fn all_edges(&self) -> impl Iterator<Item = &RawEdge> {
        self.states.iter().flat_map(|place| &place.edges).chain(self.bodies.values().flatten())
    }

    /// Counts a question, and says whether it may still be asked.
    fn asked(&self) -> bool {
        let Questions { asked, states } = self.questions.get();
        let questions = Questions { asked: asked + 1, states: states + self.states.len() };
        self.questions.set(questions);
        questions.asked <= LIMIT && questions.states <= MOST_ASKED
    }
}
