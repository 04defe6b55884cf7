//! Whether a loop leaves its channel by way of definitions.

use super::finding::{Finding, FindingKind};
use super::graph::{Branch, Graph, Node, NodeId};
use crate::components::components;
use crate::declarations::Resolution;
use crate::findings::recursion::Barrier;
use crate::source::Span;

/// Reports every loop across `( , )` or `*`; `true` if there is none.
pub(super) fn stay_in_their_channel(
    graph: &Graph<'_>,
    resolution: &Resolution,
    findings: &mut Vec<Finding>,
) -> bool {
    let channels = |node| matches!(graph.get(node), Node::Parallel(..) | Node::Replicated(..));
    if !(0..graph.len()).any(channels) {
        return true;
    }
    let components = components(graph.len(), |node| successors(graph, node));
    let mut crossed = Vec::new();
    for node in 0..graph.len() {
        let (parts, barrier, span): (&[NodeId], Barrier, Span) = match graph.get(node) {
            Node::Parallel(parts, span) => (parts, Barrier::Parallel, *span),
            Node::Replicated(body, span) => (std::slice::from_ref(body), Barrier::Replicated, *span),
            _ => continue,
        };
        let own = components.get(node);
        if parts.iter().any(|part| components.get(*part) == own) {
            crossed.push((own, barrier, span));
        }
    }
    for (own, barrier, span) in &crossed {
        // What is around another one that the loop crosses is in order once that one is.
        let is_around = |other: &Span| {
            other != span && span.file == other.file && span.start <= other.start && other.end <= span.end
        };
        if crossed.iter().any(|(other, _, inner)| other == own && is_around(inner)) {
            continue;
        }
        // The first definition in the loop is the name a reader knows.
        let name = (0..graph.len())
            .filter(|other| components.get(*other) == *own)
            .find_map(|other| graph.definition(other))
            .and_then(|index| resolution.definitions.get(index))
            .map_or("this", |definition| definition.name.text.as_str());
        findings.push(FindingKind::DefinitionAcross { name: name.to_owned(), barrier: *barrier }.at(*span));
    }
    crossed.is_empty()
}

fn successors(graph: &Graph<'_>, node: NodeId) -> Vec<NodeId> {
    match graph.get(node) {
        Node::Pending | Node::Broken | Node::End(_) => Vec::new(),
        Node::Reference(next) => vec![*next],
        Node::Choice { branches, .. } => graph
            .branches(branches)
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
