//! What can be reached in a graph.

use std::hash::Hash;

use crate::hash::Set;

/// The nodes that some lead to, these included, in the order in which they are met depth first. `next` gives where a
/// node leads.
pub(crate) fn reachable<N: Copy + Eq + Hash, Next: IntoIterator<Item = N>>(
    starts: impl IntoIterator<Item = N>,
    mut next: impl FnMut(N) -> Next,
) -> Vec<N> {
    let mut seen: Set<N> = Set::default();
    let mut reached = Vec::new();
    let mut waiting: Vec<N> = starts.into_iter().collect();
    while let Some(node) = waiting.pop() {
        if seen.insert(node) {
            reached.push(node);
            waiting.extend(next(node));
        }
    }
    reached
}
