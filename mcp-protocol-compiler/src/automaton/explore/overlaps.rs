//! Whether channels that run side by side share a message in one direction.
//!
//! In: the states that were explored, and where several channels start. Out: a finding for each message that two of
//! them may have. Refuses nothing else.

use std::collections::{BTreeSet, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::Explorer;
use crate::checks::channels;
use crate::source::Span;

impl Explorer<'_> {
    /// Channels that run side by side share no message in one direction.
    pub(super) fn overlaps(&mut self) {
        let starts = std::mem::take(&mut self.starts);
        let mut reported: BTreeSet<(Span, Span)> = BTreeSet::new();
        for (linear, running) in starts {
            let mut seen: HashMap<(Direction, MessageIndex), (usize, Span)> = HashMap::new();
            let bodies = self.running.get(running).cloned().unwrap_or_default();
            let linear = linear.iter().map(|state| self.alphabet([*state]));
            let bodies = bodies.iter().map(|body| {
                let edges = self.bodies.get(body).map(Vec::as_slice).unwrap_or_default();
                let mut alphabet = self.alphabet(edges.iter().map(|edge| edge.target));
                for edge in edges {
                    alphabet.entry((edge.direction, edge.message)).or_insert(edge.span);
                }
                alphabet
            });
            let channels: Vec<_> = linear.chain(bodies).collect();
            let mut found = Vec::new();
            for (channel, alphabet) in channels.into_iter().enumerate() {
                for (action, span) in alphabet {
                    match seen.get(&action) {
                        Some((other, first)) if *other != channel => found.push((action, *first, span)),
                        _ => {
                            seen.insert(action, (channel, span));
                        }
                    }
                }
            }
            found.sort_unstable_by_key(|(_, first, second)| (*first, *second));
            // Where a request is shared, its replies are, too; that is the same mistake.
            let shared: BTreeSet<_> = found.iter().map(|(action, ..)| *action).collect();
            let follows = |direction: Direction, message: MessageIndex| {
                let kind = self.resolution.declarations.message(message).map(|message| message.table.kind);
                matches!(kind, Some(Kind::Reply { request } | Kind::Refusal { request })
                    if shared.contains(&(direction.flip(), request)))
            };
            found.retain(|((direction, message), ..)| !follows(*direction, *message));
            for ((direction, message), first, second) in found {
                if reported.insert((first, second)) {
                    let action = self.action(direction, message);
                    self.diagnostics.push(channels::overlap(&action, first, second));
                }
            }
        }
    }

    /// Every message that a linear channel may have from some states on, with a place each.
    fn alphabet(&self, from: impl IntoIterator<Item = usize>) -> HashMap<(Direction, MessageIndex), Span> {
        let mut alphabet = HashMap::new();
        let mut seen: HashSet<usize> = HashSet::new();
        let mut waiting: Vec<usize> = from.into_iter().collect();
        while let Some(state) = waiting.pop() {
            if !seen.insert(state) {
                continue;
            }
            let Some(place) = self.states.get(state) else { continue };
            for edge in place.edges.iter().take(place.own) {
                alphabet.entry((edge.direction, edge.message)).or_insert(edge.span);
                waiting.push(edge.target);
            }
            waiting.extend(&place.parts);
        }
        alphabet
    }
}
