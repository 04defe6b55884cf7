//! Whether a loop leaves its channel by way of definitions.
//!
//! In: the graph. Out: an error for each `( , )` and `*` that can be reached from one of its own parts. A recursion
//! variable that does so is found when it is lowered; a definition has no place where it is bound, so the graph is
//! asked.

use super::graph::{Branch, Graph, Node, NodeId};
use crate::checks::recursion::{Barrier, definition_across};
use crate::diagnostic::Diagnostic;
use crate::resolve::Resolution;
use crate::source::Span;

/// Reports every loop across `( , )` or `*`; `true` if there is none.
pub(super) fn stay_in_their_channel(
    graph: &Graph,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let components = components(graph);
    let mut fine = true;
    for node in 0..graph.len() {
        let (parts, barrier, span): (&[NodeId], Barrier, Span) = match graph.get(node) {
            Node::Parallel(parts, span) => (parts, Barrier::Parallel, *span),
            Node::Replicated(body, span) => (std::slice::from_ref(body), Barrier::Replicated, *span),
            _ => continue,
        };
        let own = components.get(node);
        if parts.iter().any(|part| components.get(*part) == own) {
            fine = false;
            // The first definition in the loop is the name a reader knows.
            let name = (0..graph.len())
                .filter(|other| components.get(*other) == own)
                .find_map(|other| graph.definition(other))
                .and_then(|index| resolution.definitions.get(index))
                .map_or("this", |definition| definition.name.text.as_str());
            diagnostics.push(definition_across(name, span, barrier));
        }
    }
    fine
}

fn successors(node: &Node) -> Vec<NodeId> {
    match node {
        Node::Pending | Node::Broken | Node::End(_) => Vec::new(),
        Node::Reference(next) => vec![*next],
        Node::Choice { branches, .. } => branches
            .iter()
            .map(|branch| match branch {
                Branch::Action(action) => action.next,
                Branch::Other(next, _) => *next,
            })
            .collect(),
        Node::Parallel(parts, _) => parts.clone(),
        Node::Replicated(body, _) => vec![*body],
    }
}

/// The strongly connected component of each node, by Tarjan's algorithm with a stack of its own.
fn components(graph: &Graph) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let count = graph.len();
    let mut order = vec![UNSEEN; count];
    let mut low = vec![UNSEEN; count];
    let mut component = vec![UNSEEN; count];
    let mut waiting: Vec<NodeId> = Vec::new();
    let mut next_order = 0;
    let mut next_component = 0;
    let at = |list: &[usize], index: usize| list.get(index).copied().unwrap_or(UNSEEN);
    let put = |list: &mut [usize], index: usize, value: usize| {
        if let Some(place) = list.get_mut(index) {
            *place = value;
        }
    };
    for root in 0..count {
        if at(&order, root) != UNSEEN {
            continue;
        }
        let mut path: Vec<(NodeId, std::vec::IntoIter<NodeId>)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                put(&mut order, node, next_order);
                put(&mut low, node, next_order);
                next_order += 1;
                waiting.push(node);
                path.push((node, successors(graph.get(node)).into_iter()));
            }
            let Some((node, rest)) = path.last_mut() else { break };
            let node = *node;
            match rest.next() {
                Some(next) if at(&order, next) == UNSEEN => enter = Some(next),
                Some(next) => {
                    if at(&component, next) == UNSEEN {
                        let least = at(&low, node).min(at(&order, next));
                        put(&mut low, node, least);
                    }
                }
                None => {
                    path.pop();
                    if at(&low, node) == at(&order, node) {
                        while let Some(member) = waiting.pop() {
                            put(&mut component, member, next_component);
                            if member == node {
                                break;
                            }
                        }
                        next_component += 1;
                    }
                    if let Some((parent, _)) = path.last() {
                        let least = at(&low, *parent).min(at(&low, node));
                        put(&mut low, *parent, least);
                    }
                }
            }
        }
    }
    component
}
