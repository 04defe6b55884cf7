//! What a node comes to: references followed, nested choices flattened, parts of `( , )` gathered.
//!
//! In: a node of the graph. Out: its [`Head`]. Refuses loops that come back without an action.

use std::rc::Rc;

use super::graph::{ActionNode, Branch, Graph, Node, NodeId};
use crate::ast::Operator;
use crate::checks::{choices, recursion, size};
use crate::diagnostic::Diagnostic;
use crate::hash::Map;
use crate::resolve::Resolution;
use crate::source::Span;

/// What can happen first at a node.
#[derive(Clone)]
pub(super) enum Head {
    /// Something wrong stood here, which has been reported.
    Broken,
    /// Nothing is left.
    End,
    /// One of some actions, or the right to end.
    Choice(Rc<ChoiceHead>),
    /// Several channels.
    Parallel(Rc<ParallelHead>),
}

/// A flattened choice.
#[derive(Default)]
pub(super) struct ChoiceHead {
    pub(super) actions: Vec<ActionNode>,
    /// The bodies of `*` branches: copies may start as long as the choice stands.
    pub(super) replicated: Vec<(NodeId, Span)>,
    /// A bare `End` under `⊕`.
    pub(super) may_close: bool,
    /// A bare `End` under `&`.
    pub(super) peer_may_close: bool,
    /// Where a bare `End` stands.
    pub(super) end: Option<Span>,
    /// The operators of this choice and of those flattened into it, with the actions each has.
    pub(super) levels: Vec<(Operator, Span, std::ops::Range<usize>, bool)>,
}

/// Channels side by side, nested ones gathered.
#[derive(Default)]
pub(super) struct ParallelHead {
    pub(super) linear: Vec<NodeId>,
    pub(super) replicated: Vec<(NodeId, Span)>,
}

/// A node with the names on the way to it.
pub(super) struct Place {
    /// The node that is no reference.
    pub(super) node: NodeId,
    /// The definitions on the way, outermost first.
    pub(super) definitions: Vec<Reached>,
}

/// A definition on the way to a node.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    /// Which, in the resolution's definitions.
    pub(super) index: usize,
    /// Whether it is read from the other side, `dual`.
    pub(super) flipped: bool,
}

pub(super) struct Heads<'a> {
    pub(super) graph: &'a Graph,
    resolution: &'a Resolution,
    memory: Map<NodeId, Head>,
    /// How many actions all choices have, each of them flattened.
    actions: usize,
    /// How many choices have been flattened into others.
    choices: usize,
    /// Whether either was too many, which has been reported.
    full: bool,
}

impl<'a> Heads<'a> {
    pub(super) fn new(graph: &'a Graph, resolution: &'a Resolution) -> Self {
        Heads { graph, resolution, memory: Map::default(), actions: 0, choices: 0, full: false }
    }

    /// Follows references.
    pub(super) fn place(&self, node: NodeId) -> Place {
        let mut place = Place { node, definitions: Vec::new() };
        // No way is longer than there are nodes, unless it runs in a circle; `head` reports that.
        for _ in 0..=self.graph.len() {
            if let Some(definition) = self.graph.definition(place.node)
                && !place.definitions.iter().any(|known| known.index == definition)
            {
                let flipped = self.graph.is_flipped(place.node);
                place.definitions.push(Reached { index: definition, flipped });
            }
            match self.graph.get(place.node) {
                Node::Reference(next) => place.node = *next,
                _ => return place,
            }
        }
        place
    }

    /// The head of a node that is no reference.
    pub(super) fn head(&mut self, node: NodeId, diagnostics: &mut Vec<Diagnostic>) -> Head {
        if let Some(head) = self.memory.get(&node) {
            return head.clone();
        }
        let head = match self.graph.get(node) {
            Node::Broken | Node::Pending => Head::Broken,
            Node::Reference(_) => {
                self.unguarded(node, diagnostics);
                Head::Broken
            }
            Node::End(_) => Head::End,
            Node::Choice { .. } => self.choice(node, diagnostics),
            Node::Parallel(..) | Node::Replicated(..) => self.parallel(node, diagnostics),
        };
        self.memory.insert(node, head.clone());
        head
    }

    /// Reports a loop without an action, by the name that leads into it.
    fn unguarded(&self, node: NodeId, diagnostics: &mut Vec<Diagnostic>) {
        let mut at = node;
        for _ in 0..=self.graph.len() {
            let definition =
                self.graph.definition(at).and_then(|index| self.resolution.definitions.get(index));
            if let Some(name) = self.graph.variable(at).or(definition.map(|definition| &definition.name)) {
                diagnostics.push(recursion::unguarded(&name.text, name.span));
                return;
            }
            match self.graph.get(at) {
                Node::Reference(next) => at = *next,
                _ => return,
            }
        }
    }

    fn choice(&mut self, node: NodeId, diagnostics: &mut Vec<Diagnostic>) -> Head {
        let mut result = ChoiceHead::default();
        let mut open = Vec::new();
        let mut broken = false;
        self.flatten(node, &mut result, &mut open, &mut broken, diagnostics);
        if self.full {
            return Head::Broken;
        }
        for (operator, span, range, has_end) in &result.levels {
            let actions = result.actions.get(range.clone()).unwrap_or_default();
            let against = |action: &ActionNode| {
                (action.direction == mcp_protocol_machine::protocol::Direction::Receive)
                    == (*operator == Operator::Internal)
            };
            if !has_end && !actions.is_empty() && actions.iter().all(against) {
                diagnostics.push(choices::against_operator(*operator, *span));
            }
        }
        match (result.actions.is_empty() && result.replicated.is_empty(), result.end) {
            (true, _) if broken => Head::Broken,
            (true, Some(_)) => Head::End,
            _ => Head::Choice(Rc::new(result)),
        }
    }

    /// Adds the branches of a choice, and of the choices that are its branches. The depth is that of the nesting in
    /// the text, which the parser limits, and of definitions that are each other's branch without an action.
    fn flatten(
        &mut self,
        node: NodeId,
        into: &mut ChoiceHead,
        open: &mut Vec<NodeId>,
        broken: &mut bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let graph = self.graph;
        let Node::Choice { branches, operator, span } = graph.get(node) else { return };
        open.push(node);
        let level = operator.map(|operator| {
            let first = into.actions.len();
            into.levels.push((operator, *span, first..first, false));
            into.levels.len() - 1
        });
        for branch in branches {
            let (named, inner, at) = match branch {
                Branch::Action(action) if self.actions < MOST_ACTIONS => {
                    self.actions += 1;
                    into.actions.push(action.clone());
                    continue;
                }
                Branch::Action(action) => {
                    self.too_large(action.span, broken, diagnostics);
                    break;
                }
                Branch::Other(named, at) => (*named, self.place(*named).node, *at),
            };
            match graph.get(inner) {
                Node::Broken | Node::Pending => *broken = true,
                Node::End(_) => {
                    match operator {
                        Some(Operator::External) => into.peer_may_close = true,
                        _ => into.may_close = true,
                    }
                    into.end = Some(at);
                    if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
                        level.3 = true;
                    }
                }
                Node::Choice { .. } if open.contains(&inner) => {
                    *broken = true;
                    self.unguarded(named, diagnostics);
                }
                Node::Choice { .. } if open.len() >= DEPTH => {
                    *broken = true;
                    diagnostics.push(choices::no_first_action(at, "too many definitions in one another"));
                }
                Node::Choice { .. } => {
                    self.choices += 1;
                    if self.choices > MOST_ACTIONS {
                        self.too_large(at, broken, diagnostics);
                        break;
                    }
                    let had_end = into.end.take();
                    self.flatten(inner, into, open, broken, diagnostics);
                    if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
                        level.3 |= into.end.is_some();
                    }
                    into.end = into.end.or(had_end);
                }
                Node::Parallel(..) => {
                    *broken = true;
                    diagnostics.push(choices::no_first_action(at, "several channels"));
                }
                Node::Replicated(body, span) => {
                    into.replicated.push((*body, *span));
                    // Its copies start with either side's action, so it fits under either operator.
                    if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
                        level.3 = true;
                    }
                }
                Node::Reference(_) => {
                    *broken = true;
                    self.unguarded(named, diagnostics);
                }
            }
        }
        open.pop();
        let end = into.actions.len();
        if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
            level.2.end = end;
        }
    }

    /// Reports once that choices have more branches than can be written out.
    fn too_large(&mut self, place: Span, broken: &mut bool, diagnostics: &mut Vec<Diagnostic>) {
        *broken = true;
        if !std::mem::replace(&mut self.full, true) {
            diagnostics.push(size::too_many_branches(place, MOST_ACTIONS));
        }
    }

    fn parallel(&mut self, node: NodeId, diagnostics: &mut Vec<Diagnostic>) -> Head {
        let mut result = ParallelHead::default();
        let mut waiting = vec![(node, Span::default())];
        let mut seen = Vec::new();
        while let Some((node, _)) = waiting.pop() {
            let place = self.place(node).node;
            match self.graph.get(place) {
                Node::Parallel(parts, span) => {
                    // Channels that contain themselves have been refused as a loop across `( , )`.
                    if seen.contains(&place) {
                        return Head::Broken;
                    }
                    seen.push(place);
                    waiting.extend(parts.iter().rev().map(|part| (*part, *span)));
                }
                Node::Replicated(body, span) => result.replicated.push((*body, *span)),
                // The other channels are still looked at: they may have errors of their own.
                Node::Broken | Node::Pending => {}
                Node::Reference(_) => {
                    self.unguarded(place, diagnostics);
                    return Head::Broken;
                }
                Node::End(_) | Node::Choice { .. } => result.linear.push(node),
            }
        }
        Head::Parallel(Rc::new(result))
    }
}

/// How many choices may be each other's branches.
const DEPTH: usize = 256;

/// How many branches choices may have in all. A choice that is a branch of many has its branches in each.
const MOST_ACTIONS: usize = 1_000_000;
