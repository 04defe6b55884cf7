//! The graph of session types that lowering makes and exploring walks: places in the text and how they lead on.

use std::ops::Range;

use mcp_protocol_machine::protocol::{Direction, Level};

use crate::ast::{self, Name, Operator};
use crate::declarations;
use crate::source::Span;

/// Points into [`Graph::nodes`].
pub(super) type NodeId = usize;

/// All nodes of one role.
#[derive(Default)]
pub(super) struct Graph<'a> {
    nodes: Vec<Node>,
    /// The branches of all choices, one choice behind the other.
    branches: Vec<Branch<'a>>,
    /// Which definition a node stands for, as an index into the resolution's definitions, and whether `dual` turned it
    /// round.
    definitions: crate::hash::Map<NodeId, (usize, bool)>,
    /// Where the text of a definition with `only` begins and ends among the nodes, and which definition it is; in
    /// order.
    only: Vec<(NodeId, NodeId, Marked)>,
    /// The recursion variable that a node stands for.
    variables: crate::hash::Map<NodeId, Name>,
}

/// A definition with `only`, and whether `dual` turned it round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) definition: usize,
    pub(super) flipped: bool,
}

/// One place of a session type.
pub(super) enum Node {
    /// Made before what it stands for is known: a recursion variable or a definition.
    Pending,
    /// Something wrong stood here, which has been reported.
    Broken,
    /// The same as another node; where it is written, if a variable or a name led here.
    Reference(NodeId),
    /// `End`
    End(Span),
    /// One action or several branches.
    Choice { branches: Branches, operator: Option<Operator>, span: Span },
    /// `(A, B)`
    Parallel(Vec<NodeId>, Span),
    /// `*S`
    Replicated(NodeId, Span),
}

/// The branches of a choice: [`Graph::branches`] has them.
pub(super) struct Branches(Range<usize>);

/// One branch of a choice.
#[derive(Clone, Copy)]
pub(super) enum Branch<'a> {
    /// `!M . S`, the message still a name: what `reply` means depends on the way here.
    Action(ActionNode<'a>),
    /// Something without an action of its own in front: to be flattened into the choice around it.
    Other(NodeId, Span),
}

/// `!M . S`
#[derive(Clone, Copy)]
pub(super) struct ActionNode<'a> {
    pub(super) direction: Direction,
    pub(super) message: &'a Name,
    /// The level written after it, `[should "L5"]`.
    written_level: Option<&'a ast::Level>,
    pub(super) span: Span,
    pub(super) next: NodeId,
}

impl<'a> ActionNode<'a> {
    /// An action as it stands in the text, or as it is read from the other side.
    pub(super) fn new(action: &'a ast::Action, flipped: bool, next: NodeId) -> Self {
        ActionNode {
            direction: match action.send != flipped {
                true => Direction::Send,
                false => Direction::Receive,
            },
            message: &action.message,
            written_level: action.levels.first(),
            span: action.span,
            next,
        }
    }

    pub(super) fn level(&self) -> Option<Level> {
        self.written_level.map(declarations::level)
    }

    /// Where the sign and the name stand, without the levels behind them.
    pub(super) fn head(&self) -> Span {
        Span { end: self.message.span.end.max(self.span.start), ..self.span }
    }
}

impl<'a> Graph<'a> {
    /// The action that stands at a place.
    pub(super) fn action(&self, span: Span) -> Option<&ActionNode<'a>> {
        let mut actions = self.branches.iter().filter_map(|branch| match branch {
            Branch::Action(action) => Some(action),
            Branch::Other(..) => None,
        });
        actions.find(|action| action.span == span)
    }

    pub(super) fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds a choice.
    pub(super) fn add_choice(
        &mut self,
        branches: impl IntoIterator<Item = Branch<'a>>,
        operator: Option<Operator>,
        span: Span,
    ) -> NodeId {
        let first = self.branches.len();
        self.branches.extend(branches);
        let branches = Branches(first..self.branches.len());
        self.add(Node::Choice { branches, operator, span })
    }

    pub(super) fn branches(&self, branches: &Branches) -> &[Branch<'a>] {
        self.branches.get(branches.0.clone()).unwrap_or_default()
    }

    /// Says what a pending node is.
    pub(super) fn set(&mut self, id: NodeId, node: Node) {
        if let Some(place) = self.nodes.get_mut(id) {
            *place = node;
        }
    }

    pub(super) fn get(&self, id: NodeId) -> &Node {
        self.nodes.get(id).unwrap_or(&Node::Broken)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn name(&mut self, id: NodeId, definition: usize, flipped: bool) {
        self.definitions.insert(id, (definition, flipped));
    }

    /// Says that the nodes from one on, up to here, are the text of a definition with `only`.
    pub(super) fn only_since(&mut self, first: NodeId, marked: Marked) {
        self.only.push((first, self.nodes.len(), marked));
    }

    /// The definition with `only` in whose text a node stands.
    pub(super) fn only(&self, id: NodeId) -> Option<Marked> {
        let after = self.only.partition_point(|(first, ..)| *first <= id);
        let (_, end, marked) = after.checked_sub(1).and_then(|last| self.only.get(last))?;
        (id < *end).then_some(*marked)
    }

    pub(super) fn bind(&mut self, id: NodeId, variable: Name) {
        self.variables.insert(id, variable);
    }

    pub(super) fn variable(&self, id: NodeId) -> Option<&Name> {
        self.variables.get(&id)
    }

    pub(super) fn definition(&self, id: NodeId) -> Option<usize> {
        self.definitions.get(&id).map(|(definition, _)| *definition)
    }

    /// Whether the definition that a node stands for is read from the other side.
    pub(super) fn is_flipped(&self, id: NodeId) -> bool {
        self.definitions.get(&id).is_some_and(|(_, flipped)| *flipped)
    }
}

impl Graph<'_> {
    /// Where a node stands in the text.
    pub(super) fn span(&self, id: NodeId) -> Span {
        match self.get(id) {
            Node::End(span)
            | Node::Choice { span, .. }
            | Node::Parallel(_, span)
            | Node::Replicated(_, span) => *span,
            Node::Pending | Node::Broken | Node::Reference(_) => Span::default(),
        }
    }
}
