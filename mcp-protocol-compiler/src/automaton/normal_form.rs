//! What a node comes to: references followed, nested choices flattened, parts of `( , )` gathered.

use std::ops::Range;
use std::rc::Rc;

use mcp_protocol_machine::protocol::Direction;

use super::finding::{Finding, FindingKind};
use super::graph::{ActionNode, Branch, Graph, Marked, Node, NodeId};
use crate::ast::Operator;
use crate::declarations::Resolution;
use crate::hash::{Map, Set};
use crate::source::Span;

/// What can happen first at a node.
#[derive(Clone)]
pub(super) enum Head<'a> {
    /// Something wrong stood here, which has been reported.
    Broken,
    /// Nothing is left.
    End,
    /// One of some actions, or the right to end.
    Choice(Rc<ChoiceHead<'a>>),
    /// Several channels.
    Parallel(Rc<ParallelHead>),
}

/// A flattened choice.
#[derive(Default)]
pub(super) struct ChoiceHead<'a> {
    pub(super) actions: Vec<ActionNode<'a>>,
    /// The bodies of `*` branches: sub-sessions may start as long as the choice stands.
    pub(super) replicated: Vec<(NodeId, Span)>,
    /// A bare `End` under `⊕`.
    pub(super) may_close: bool,
    /// A bare `End` under `&`.
    pub(super) peer_may_close: bool,
    /// Where a bare `End` stands.
    pub(super) end: Option<Span>,
    /// The operators of this choice and of those flattened into it, with the actions each has.
    levels: Vec<ChoiceLevel>,
}

/// The branches of one choice in the text.
struct ChoiceLevel {
    operator: Operator,
    span: Span,
    /// Its actions, among those of the flattened choice.
    actions: Range<usize>,
    /// Whether either side may act here: there is a bare `End`, or a `*`.
    both: bool,
}

/// Channels side by side, nested ones gathered.
#[derive(Default)]
pub(super) struct ParallelHead {
    pub(super) linear: Vec<NodeId>,
    pub(super) replicated: Vec<(NodeId, Span)>,
}

pub(super) struct Heads<'a> {
    pub(super) graph: &'a Graph<'a>,
    resolution: &'a Resolution,
    memory: Map<NodeId, Head<'a>>,
    /// What each reference that was followed leads to in the end.
    ends: Map<NodeId, NodeId>,
    /// The first definition with `only` on the way of each reference that was followed.
    only: Map<NodeId, Option<Marked>>,
    /// Whether there are definitions with `only` at all.
    has_only: bool,
    /// How many actions all choices have, each of them flattened.
    actions: usize,
    /// How many choices have been flattened into others.
    choices: usize,
    /// How many channels stand side by side in all.
    channels: usize,
    /// Whether one of these was too many, which has been reported.
    full: bool,
}

impl<'a> Heads<'a> {
    pub(super) fn new(graph: &'a Graph<'a>, resolution: &'a Resolution) -> Self {
        Heads {
            graph,
            resolution,
            memory: Map::default(),
            ends: Map::default(),
            only: Map::default(),
            has_only: resolution.definitions.iter().any(|definition| definition.only.is_some()),
            actions: 0,
            choices: 0,
            channels: 0,
            full: false,
        }
    }

    /// Follows references to what is not one. Those that run in a circle lead to one of themselves; `head` reports that.
    pub(super) fn end(&mut self, node: NodeId) -> NodeId {
        let mut way = Vec::new();
        let mut at = node;
        let end = loop {
            if let Some(end) = self.ends.get(&at) {
                break *end;
            }
            let Node::Reference(next) = self.graph.get(at) else { break at };
            // Until the end is known a reference leads to itself, so that a circle is closed where it is met again.
            self.ends.insert(at, at);
            way.push(at);
            at = *next;
        };
        for node in way {
            self.ends.insert(node, end);
        }
        end
    }

    /// The first definition with `only` on the way from a node to the end of its references.
    pub(super) fn only(&mut self, node: NodeId) -> Option<Marked> {
        if !self.has_only {
            return None;
        }
        let mut way = Vec::new();
        let mut at = node;
        let only = loop {
            if let Some(only) = self.only.get(&at) {
                break *only;
            }
            // In a circle nothing is found where it is met again.
            self.only.insert(at, None);
            way.push(at);
            let definition = self.graph.definition(at);
            let marked = |index: &usize| {
                self.resolution.definitions.get(*index).is_some_and(|definition| definition.only.is_some())
            };
            if let Some(definition) = definition.filter(marked) {
                break Some(Marked { definition, flipped: self.graph.is_flipped(at) });
            }
            let Node::Reference(next) = self.graph.get(at) else { break None };
            at = *next;
        };
        for node in way {
            self.only.insert(node, only);
        }
        only
    }

    /// The nodes on the way from one to the end of its references, both included.
    pub(super) fn way(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<'a> {
        let graph = self.graph;
        let next = move |node: &NodeId| match graph.get(*node) {
            Node::Reference(next) => Some(*next),
            _ => None,
        };
        // No way is longer than there are nodes, unless it runs in a circle.
        std::iter::successors(Some(node), next).take(graph.len())
    }

    /// The first definition on the way from a node to the end of its references.
    pub(super) fn first_definition(&self, node: NodeId) -> Option<usize> {
        self.way(node).find_map(|node| self.graph.definition(node))
    }

    /// The normal form of a node that is not a reference.
    pub(super) fn head(&mut self, node: NodeId, findings: &mut Vec<Finding>) -> Head<'a> {
        if let Some(head) = self.memory.get(&node) {
            return head.clone();
        }
        let head = match self.graph.get(node) {
            Node::Broken | Node::Pending => Head::Broken,
            Node::Reference(_) => {
                self.unguarded(node, findings);
                Head::Broken
            }
            Node::End(_) => Head::End,
            Node::Choice { .. } => self.choice(node, findings),
            Node::Parallel(..) | Node::Replicated(..) => self.parallel(node, findings),
        };
        self.memory.insert(node, head.clone());
        head
    }

    /// Reports a loop without an action, by the name that leads into it.
    fn unguarded(&self, node: NodeId, findings: &mut Vec<Finding>) {
        let mut at = node;
        for _ in 0..=self.graph.len() {
            let definition =
                self.graph.definition(at).and_then(|index| self.resolution.definitions.get(index));
            if let Some(name) = self.graph.variable(at).or(definition.map(|definition| &definition.name)) {
                findings.push(FindingKind::Unguarded(name.text.clone()).at(name.span));
                return;
            }
            match self.graph.get(at) {
                Node::Reference(next) => at = *next,
                _ => return,
            }
        }
    }

    fn choice(&mut self, node: NodeId, findings: &mut Vec<Finding>) -> Head<'a> {
        let mut result = ChoiceHead::default();
        let mut open = Vec::new();
        let mut broken = false;
        self.flatten(node, &mut result, &mut open, &mut broken, findings);
        if self.full {
            return Head::Broken;
        }
        for ChoiceLevel { operator, span, actions, both } in &result.levels {
            let actions = result.actions.get(actions.clone()).unwrap_or_default();
            let against = |action: &ActionNode<'_>| {
                (action.direction == Direction::Receive) == (*operator == Operator::Internal)
            };
            if !both && !actions.is_empty() && actions.iter().all(against) {
                findings.push(FindingKind::AgainstOperator(*operator).at(*span));
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
        into: &mut ChoiceHead<'a>,
        open: &mut Vec<NodeId>,
        broken: &mut bool,
        findings: &mut Vec<Finding>,
    ) {
        let graph = self.graph;
        let Node::Choice { branches, operator, span } = graph.get(node) else { return };
        open.push(node);
        let level = operator.map(|operator| {
            let first = into.actions.len();
            into.levels.push(ChoiceLevel { operator, span: *span, actions: first..first, both: false });
            into.levels.len() - 1
        });
        let branches = graph.branches(branches);
        // Exactly where nothing can follow; what is flattened into another choice would be moved with each of them.
        if open.len() == 1 {
            into.actions.reserve_exact(branches.len().min(MOST_ACTIONS));
        }
        for branch in branches {
            let (named, inner, at) = match branch {
                Branch::Action(action) if self.actions < MOST_ACTIONS => {
                    self.actions += 1;
                    into.actions.push(*action);
                    continue;
                }
                Branch::Action(action) => {
                    self.too_large(action.span, broken, findings);
                    break;
                }
                Branch::Other(named, at) => (*named, self.end(*named), *at),
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
                        level.both = true;
                    }
                }
                Node::Choice { .. } if open.contains(&inner) => {
                    *broken = true;
                    self.unguarded(named, findings);
                }
                Node::Choice { .. } if open.len() >= DEPTH => {
                    *broken = true;
                    findings.push(FindingKind::NoFirstAction("too many definitions in one another").at(at));
                }
                Node::Choice { .. } => {
                    self.choices += 1;
                    if self.choices > MOST_ACTIONS {
                        self.too_large(at, broken, findings);
                        break;
                    }
                    let had_end = into.end.take();
                    self.flatten(inner, into, open, broken, findings);
                    if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
                        level.both |= into.end.is_some();
                    }
                    into.end = into.end.or(had_end);
                }
                Node::Parallel(parts, channels) => {
                    *broken = true;
                    let is_replicated =
                        |part: &NodeId| matches!(graph.get(self.end(*part)), Node::Replicated(..));
                    let what = match parts.iter().all(is_replicated) {
                        true => FindingKind::ChannelsOfBranch { channels: *channels, operator: *operator },
                        false => FindingKind::NoFirstAction("several channels"),
                    };
                    findings.push(what.at(at));
                }
                Node::Replicated(body, span) => {
                    self.bodies(*body, *span, &mut into.replicated, findings);
                    // Its sub-sessions start with either side's action, so it fits under either operator.
                    if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
                        level.both = true;
                    }
                }
                Node::Reference(_) => {
                    *broken = true;
                    self.unguarded(named, findings);
                }
            }
        }
        open.pop();
        let end = into.actions.len();
        if let Some(level) = level.and_then(|level| into.levels.get_mut(level)) {
            level.actions.end = end;
        }
    }

    /// Reports once that choices have more branches than can be written out.
    fn too_large(&mut self, place: Span, broken: &mut bool, findings: &mut Vec<Finding>) {
        *broken = true;
        if !std::mem::replace(&mut self.full, true) {
            findings.push(FindingKind::TooManyBranches(MOST_ACTIONS).at(place));
        }
    }

    fn parallel(&mut self, node: NodeId, findings: &mut Vec<Finding>) -> Head<'a> {
        let mut result = ParallelHead::default();
        let mut waiting = vec![node];
        let first = node;
        while let Some(node) = waiting.pop() {
            let place = self.end(node);
            self.channels += 1;
            if self.channels > MOST_ACTIONS {
                self.too_many_channels(first, findings);
                return Head::Broken;
            }
            match self.graph.get(place) {
                Node::Parallel(parts, _) => {
                    // Channels that contain themselves have been refused as a loop across `( , )`.
                    waiting.extend(parts.iter().rev());
                }
                Node::Replicated(body, span) => {
                    self.bodies(*body, *span, &mut result.replicated, findings);
                }
                // The other channels are still looked at: they may have errors of their own.
                Node::Broken | Node::Pending => {}
                Node::Reference(_) => {
                    self.unguarded(place, findings);
                    return Head::Broken;
                }
                Node::End(_) | Node::Choice { .. } => result.linear.push(node),
            }
        }
        Head::Parallel(Rc::new(result))
    }
}

impl Heads<'_> {
    /// The bodies for which a `*` stands. Any number of times any number of instances is any number of them, so a body
    /// that has nothing but `*` stands for what is in these.
    fn bodies(
        &mut self,
        body: NodeId,
        span: Span,
        into: &mut Vec<(NodeId, Span)>,
        findings: &mut Vec<Finding>,
    ) {
        // One that is there already adds nothing. None is in itself: that has been refused as a loop.
        let mut opened = Set::default();
        let mut waiting = vec![(body, span)];
        while let Some((inner, span)) = waiting.pop() {
            let Some(stars) = self.nothing_but_stars(inner, findings) else {
                into.push((inner, span));
                continue;
            };
            if opened.insert(self.end(inner)) {
                waiting.extend(stars.into_iter().rev());
            }
        }
    }

    /// The `*` of which a body consists, if it has nothing else.
    fn nothing_but_stars(
        &mut self,
        body: NodeId,
        findings: &mut Vec<Finding>,
    ) -> Option<Vec<(NodeId, Span)>> {
        let mut stars = Vec::new();
        let mut waiting = vec![body];
        while let Some(node) = waiting.pop() {
            let place = self.end(node);
            self.channels += 1;
            if self.channels > MOST_ACTIONS {
                self.too_many_channels(body, findings);
                return Some(Vec::new());
            }
            match self.graph.get(place) {
                Node::Parallel(parts, _) => waiting.extend(parts.iter().rev()),
                Node::Replicated(inner, span) => stars.push((*inner, *span)),
                _ => return None,
            }
        }
        Some(stars)
    }

    fn too_many_channels(&mut self, node: NodeId, findings: &mut Vec<Finding>) {
        if !std::mem::replace(&mut self.full, true) {
            findings.push(FindingKind::TooManyChannels(MOST_ACTIONS).at(self.graph.span(node)));
        }
    }
}

/// How many choices may be each other's branches.
const DEPTH: usize = 256;

/// How many branches choices may have in all, and how many channels may stand side by side. A choice that is a branch
/// of many has its branches in each.
const MOST_ACTIONS: usize = 1_000_000;
