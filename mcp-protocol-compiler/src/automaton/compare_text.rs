//! Two roles' texts side by side, where one of them cannot be built.
//!
//! The walk goes through both graphs at once, breadth first, as if each message that differs were the same, so that
//! what lies behind it is compared as well. That is what tells a wrong name from a step too many.

use std::collections::{HashMap, VecDeque};

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use super::graph::{ActionNode, Branch, Graph, Node, NodeId};
use super::lower::RoleGraph;
use super::raw::sign;
use crate::declarations::{Meaning, Resolution};
use crate::hash::Set;
use crate::source::Span;

/// How two roles' texts compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextComparison {
    /// Where one message stands in another's place, in the order of a walk from the start.
    pub differences: Vec<OtherMessage>,
    /// Whether the texts are each other's duals but for these.
    pub alike_otherwise: bool,
}

/// One message in another's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMessage {
    /// The action of the role with mistakes.
    pub own: Span,
    /// As it is written, `?ToolsResult`.
    pub written: String,
    /// What it would be to fit, `?InitializeResult`.
    pub fitting: String,
    /// The action of the other role.
    pub other: Span,
    /// As that is written, `!InitializeResult`.
    pub facing: String,
    /// Whether what lies behind the two actions fits as far as it was compared.
    pub only_the_name: bool,
}

/// How many comparisons are made; enough for any protocol that people write.
const MOST_COMPARED: usize = 200_000;

/// How deep `( , )` and `*` are looked into to find which parts belong together.
const DEPTH: usize = 4;

/// Compares the text of one role with that of the other.
pub(super) fn compare(resolution: &Resolution, own: &RoleGraph<'_>, other: &RoleGraph<'_>) -> TextComparison {
    let mut walk = TextWalk {
        resolution,
        own: &own.graph,
        other: &other.graph,
        waiting: VecDeque::from([(own.start, other.start, None)]),
        seen: Set::default(),
        numbers: HashMap::new(),
        found: TextComparison { differences: Vec::new(), alike_otherwise: true },
        left: MOST_COMPARED,
    };
    while let Some((own, other, behind)) = walk.waiting.pop_front() {
        if walk.seen.insert((own, other)) {
            walk.places(own, other, behind);
        }
        if walk.left == 0 {
            return TextComparison::default();
        }
    }
    walk.found
}

/// What may come first at a node.
#[derive(Clone, Copy)]
enum FirstStep<'a> {
    Action(&'a ActionNode<'a>),
    End,
    Parallel(&'a [NodeId]),
    SubSessions(NodeId),
}

struct TextWalk<'a> {
    resolution: &'a Resolution,
    own: &'a Graph<'a>,
    other: &'a Graph<'a>,
    /// Pairs of nodes to be compared, and the difference they lie behind.
    waiting: VecDeque<(NodeId, NodeId, Option<usize>)>,
    seen: Set<(NodeId, NodeId)>,
    /// The places of the differences, and where each is in the list.
    numbers: HashMap<(Span, Span), usize>,
    found: TextComparison,
    /// How many comparisons may still be made.
    left: usize,
}

/// Which of two lists' members belong together.
struct Pairs {
    pairs: Vec<(usize, usize)>,
    /// Pairs that do not fit, and are each other's only partners.
    unlike: Vec<(usize, usize)>,
    /// Whether a member has no partner at all.
    incomplete: bool,
}

impl<'a> TextWalk<'a> {
    fn places(&mut self, own: NodeId, other: NodeId, behind: Option<usize>) {
        let (own_graph, other_graph) = (self.own, self.other);
        let (own_place, other_place) = (own, other);
        let (Some(mut own), Some(mut other)) = (self.heads(own_graph, own), self.heads(other_graph, other))
        else {
            return self.apart(behind);
        };
        own.retain(|step| !self.is_implied(own_graph, own_place, *step, &other));
        other.retain(|step| !self.is_implied(other_graph, other_place, *step, &own));
        let matched = self.matched(&own, &other, |walk, own, other| walk.fits(own, other, DEPTH));
        if matched.incomplete {
            self.apart(behind);
        }
        for (one, two) in matched.pairs.into_iter().chain(matched.unlike) {
            let (Some(own), Some(other)) = (own.get(one), other.get(two)) else { continue };
            match (*own, *other) {
                (FirstStep::Action(own), FirstStep::Action(other)) => self.actions(own, other, behind),
                (FirstStep::End, FirstStep::End) => {}
                (FirstStep::SubSessions(own), FirstStep::SubSessions(other)) => {
                    self.waiting.push_back((own, other, behind))
                }
                (FirstStep::Parallel(own), FirstStep::Parallel(other)) => self.parts(own, other, behind),
                _ => self.apart(behind),
            }
        }
    }

    /// Whether a step at a node is the refusal of the request before it, and leads back to where that is sent. A text in
    /// which it is not written, as in that of the other role, means the same.
    fn is_implied(
        &mut self,
        graph: &'a Graph<'a>,
        place: NodeId,
        step: FirstStep<'a>,
        facing: &[FirstStep<'a>],
    ) -> bool {
        let FirstStep::Action(refusal) = step else { return false };
        let Some(Meaning::Message(message)) = self.resolution.names.get(&refusal.message.text) else {
            return false;
        };
        let table = self.resolution.declarations.message(*message).map(|message| message.table.kind);
        let Some(Kind::Refusal { request }) = table else { return false };
        let of = |step: &FirstStep<'a>, message: MessageIndex| match *step {
            FirstStep::Action(action) => {
                let named = self.resolution.names.get(&action.message.text);
                matches!(named, Some(Meaning::Message(named)) if *named == message).then_some(action)
            }
            _ => None,
        };
        if facing.iter().any(|step| of(step, *message).is_some()) {
            return false;
        }
        let back = self.heads(graph, refusal.next).unwrap_or_default();
        let mut asked = back.iter().filter_map(|step| of(step, request));
        asked.any(|asked| followed(graph, asked.next) == followed(graph, place))
    }

    /// Actions that stand in the same place.
    fn actions(&mut self, own: &ActionNode<'_>, other: &ActionNode<'_>, behind: Option<usize>) {
        if own.direction == other.direction {
            return self.apart(behind);
        }
        let behind = match self.same(&own.message.text, &other.message.text) {
            true => behind,
            false => Some(self.difference(own, other)),
        };
        self.waiting.push_back((own.next, other.next, behind));
    }

    /// The number of a difference, which a loop leads to again.
    fn difference(&mut self, own: &ActionNode<'_>, other: &ActionNode<'_>) -> usize {
        let differences = &mut self.found.differences;
        *self.numbers.entry((own.span, other.span)).or_insert_with(|| {
            let action = |direction, name: &str| format!("{}{name}", sign(direction));
            differences.push(OtherMessage {
                own: own.head(),
                written: action(own.direction, &own.message.text),
                fitting: action(own.direction, &other.message.text),
                other: other.head(),
                facing: action(other.direction, &other.message.text),
                only_the_name: true,
            });
            differences.len() - 1
        })
    }

    /// Channels that stand in the same place.
    fn parts(&mut self, own: &[NodeId], other: &[NodeId], behind: Option<usize>) {
        let matched = self.matched(own, other, |walk, own, other| walk.alike(own, other, DEPTH));
        if matched.incomplete {
            self.apart(behind);
        }
        for (one, two) in matched.pairs.into_iter().chain(matched.unlike) {
            if let (Some(own), Some(other)) = (own.get(one), other.get(two)) {
                self.waiting.push_back((*own, *other, behind));
            }
        }
    }

    /// The texts differ in more than a name.
    fn apart(&mut self, behind: Option<usize>) {
        self.found.alike_otherwise = false;
        if let Some(difference) = behind.and_then(|index| self.found.differences.get_mut(index)) {
            difference.only_the_name = false;
        }
    }

    /// Members in the same position come first: of two branches with one name, the one is wrong that stands where the
    /// other role has something else.
    fn matched<T: Copy>(
        &mut self,
        own: &[T],
        other: &[T],
        mut fits: impl FnMut(&mut Self, T, T) -> bool,
    ) -> Pairs {
        let mut pairs = Vec::new();
        let (mut own_left, mut other_left) = (Vec::new(), Vec::new());
        for index in 0..own.len().max(other.len()) {
            match (own.get(index), other.get(index)) {
                (Some(one), Some(two)) if fits(self, *one, *two) => pairs.push((index, index)),
                (one, two) => {
                    own_left.extend(one.map(|one| (index, *one)));
                    other_left.extend(two.map(|two| (index, *two)));
                }
            }
        }
        own_left.retain(|(index, one)| {
            let partner = other_left.iter().position(|(_, two)| fits(self, *one, *two));
            if let Some((two, _)) = partner.map(|partner| other_left.remove(partner)) {
                pairs.push((*index, two));
            }
            partner.is_none()
        });
        let unlike = match (own_left.as_slice(), other_left.as_slice()) {
            ([(one, _)], [(two, _)]) => vec![(*one, *two)],
            (own, other) => {
                let same = own.iter().zip(other).all(|((one, _), (two, _))| one == two);
                if !same || own.len() != other.len() {
                    return Pairs { pairs, unlike: Vec::new(), incomplete: true };
                }
                own.iter().map(|(index, _)| (*index, *index)).collect()
            }
        };
        Pairs { pairs, unlike, incomplete: false }
    }

    fn fits(&mut self, own: FirstStep<'a>, other: FirstStep<'a>, depth: usize) -> bool {
        self.left = self.left.saturating_sub(1);
        match (own, other) {
            (FirstStep::Action(own), FirstStep::Action(other)) => {
                own.direction != other.direction && self.same(&own.message.text, &other.message.text)
            }
            (FirstStep::End, FirstStep::End) | (FirstStep::Parallel(_), FirstStep::Parallel(_)) => true,
            (FirstStep::SubSessions(own), FirstStep::SubSessions(other)) => self.alike(own, other, depth),
            _ => false,
        }
    }

    /// Whether two nodes start with the same messages.
    fn alike(&mut self, own: NodeId, other: NodeId, depth: usize) -> bool {
        let (own_graph, other_graph) = (self.own, self.other);
        let (Some(own), Some(other)) = (self.heads(own_graph, own), self.heads(other_graph, other)) else {
            return false;
        };
        let Some(depth) = depth.checked_sub(1) else { return true };
        own.len() == other.len() && own.iter().zip(&other).all(|(own, other)| self.fits(*own, *other, depth))
    }

    /// Whether two names in actions stand for the same messages.
    fn same(&self, own: &str, other: &str) -> bool {
        let messages = |name: &str| match self.resolution.names.get(name) {
            Some(Meaning::Message(message)) => vec![*message],
            Some(Meaning::Group(messages)) => messages.clone(),
            None => Vec::new(),
        };
        let answers = |message: &MessageIndex| {
            let kind = self.resolution.declarations.message(*message).map(|message| message.table.kind);
            matches!(kind, Some(Kind::Reply { .. } | Kind::Refusal { .. }))
        };
        if own == other {
            return true;
        }
        let (one, two) = (messages(own), messages(other));
        match (own, other) {
            ("reply", _) => two.iter().all(answers) && !two.is_empty(),
            (_, "reply") => one.iter().all(answers) && !one.is_empty(),
            _ => one == two && !one.is_empty(),
        }
    }

    /// What may come first at a node, names followed and choices in choices flattened; nothing where that cannot be
    /// read.
    fn heads(&mut self, graph: &'a Graph<'a>, node: NodeId) -> Option<Vec<FirstStep<'a>>> {
        enum NextNode<'a> {
            Node(NodeId),
            Action(&'a ActionNode<'a>),
        }
        let mut heads = Vec::new();
        let mut seen: Set<NodeId> = Set::default();
        let mut stack = vec![NextNode::Node(node)];
        while let Some(next) = stack.pop() {
            self.left = self.left.checked_sub(1)?;
            let node = match next {
                NextNode::Action(action) => {
                    heads.push(FirstStep::Action(action));
                    continue;
                }
                NextNode::Node(node) => node,
            };
            if !seen.insert(node) {
                continue;
            }
            match graph.get(node) {
                Node::Pending | Node::Broken => return None,
                Node::Reference(to) => stack.push(NextNode::Node(*to)),
                Node::End(_) => heads.push(FirstStep::End),
                Node::Choice { branches, .. } => {
                    stack.extend(graph.branches(branches).iter().rev().map(|branch| match branch {
                        Branch::Action(action) => NextNode::Action(action),
                        Branch::Other(node, _) => NextNode::Node(*node),
                    }))
                }
                Node::Parallel(parts, _) => heads.push(FirstStep::Parallel(parts)),
                Node::Replicated(body, _) => heads.push(FirstStep::SubSessions(*body)),
            }
        }
        Some(heads)
    }
}

/// The node that a name stands for.
fn followed(graph: &Graph<'_>, mut node: NodeId) -> NodeId {
    let mut seen: Set<NodeId> = Set::default();
    while let Node::Reference(to) = graph.get(node)
        && seen.insert(node)
    {
        node = *to;
    }
    node
}
