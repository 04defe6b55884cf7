//! Whether channels that run side by side share a message in one direction.

use std::collections::{BTreeSet, HashMap};

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::{Explorer, Start};
use crate::automaton::finding::FindingKind;
use crate::automaton::graph::NodeId;
use crate::automaton::normal_form::Head;
use crate::automaton::open_keys;
use crate::automaton::raw::{RawEdge, RawState, Step};
use crate::findings::channels::SharedBodies;
use crate::reach::reachable;
use crate::source::Span;

/// A message that two channels have.
struct SharedStep {
    action: Step,
    first: Span,
    second: Span,
    channels: (usize, usize),
    /// It opens the sub-sessions of two bodies.
    both_open: bool,
    /// It is a later step of the sub-sessions of two bodies.
    both_go_on: bool,
}

/// What a message is to a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChannelUse {
    /// It opens a sub-session, or is a step of the linear channel.
    Own,
    /// It goes on with a sub-session, and finds it by the values of its keys.
    Later,
    /// It opens a sub-session that is nothing else: where a step of another channel's sub-sessions, whose key no
    /// sub-session holds, is uncorrelated. The two do not overlap; whether the key is open is judged with the
    /// sub-sessions.
    Alone,
}

fn with(
    alphabet: HashMap<(Direction, MessageIndex), Span>,
    used: ChannelUse,
) -> HashMap<(Direction, MessageIndex), (Span, ChannelUse)> {
    alphabet.into_iter().map(|(action, span)| (action, (span, used))).collect()
}

impl Explorer<'_> {
    /// Channels that run side by side share no message in one direction.
    pub(super) fn overlaps(&mut self) {
        let starts = std::mem::take(&mut self.starts);
        let mut reported: BTreeSet<(Span, Span)> = BTreeSet::new();
        for Start { linear, running } in starts {
            let mut seen: HashMap<Step, Vec<(Span, ChannelUse, usize)>> = HashMap::new();
            let first_body = linear.len();
            let bodies = self.running.get(running).cloned().unwrap_or_default();
            let linear = linear.iter().map(|state| self.alphabet([*state]));
            let uses = bodies.iter().map(|body| self.uses(body));
            let linear = linear.map(|alphabet| with(alphabet, ChannelUse::Own));
            let channels: Vec<_> = linear.chain(uses).collect();
            let mut found = Vec::new();
            for (channel, alphabet) in channels.into_iter().enumerate() {
                for (action, (span, used)) in alphabet {
                    let others = seen.entry(action).or_default();
                    let rival = others.iter().find(|(_, other, _)| {
                        !matches!(
                            (used, *other),
                            (ChannelUse::Alone, ChannelUse::Later) | (ChannelUse::Later, ChannelUse::Alone)
                        )
                    });
                    found.extend(rival.map(|(first, other, rival)| {
                        let open = used == ChannelUse::Own && *other == ChannelUse::Own;
                        let both_open = open && channel.min(*rival) >= first_body;
                        let both_go_on = used == ChannelUse::Later && *other == ChannelUse::Later;
                        SharedStep {
                            action,
                            first: *first,
                            second: span,
                            channels: (*rival, channel),
                            both_open,
                            both_go_on,
                        }
                    }));
                    others.push((span, used, channel));
                }
            }
            found.sort_unstable_by_key(|shared| (shared.first, shared.second));
            // Where a request is shared, its replies are, too; that is the same mistake.
            let shared: BTreeSet<_> = found.iter().map(|shared| shared.action).collect();
            let follows = |(direction, message): Step| {
                let kind = self.resolution.declarations.message(message).map(|message| message.table.kind);
                matches!(kind, Some(Kind::Reply { request } | Kind::Refusal { request })
                    if shared.contains(&(direction.flip(), request)))
            };
            found.retain(|shared| !follows(shared.action));
            // So are the later steps of two bodies that begin alike.
            let alike: BTreeSet<_> =
                found.iter().filter(|shared| shared.both_open).map(|shared| shared.channels).collect();
            found.retain(|shared| shared.both_open || !alike.contains(&shared.channels));
            for SharedStep { action, first, second, channels, both_open, both_go_on } in found {
                if reported.insert((first, second)) {
                    let body = |channel: usize| bodies.get(channel.checked_sub(first_body)?).copied();
                    let shared = match (body(channels.0), body(channels.1)) {
                        _ if both_open => SharedBodies::BothOpen,
                        (Some(one), Some(two)) if both_go_on => self.one_for_both(one, two),
                        _ => SharedBodies::No,
                    };
                    self.findings.push(FindingKind::Overlap { action, first, bodies: shared }.at(second));
                }
            }
        }
        self.twins(reported.iter().any(|(first, second)| first == second));
    }

    /// The one body that may stand for two, whose sub-sessions have a later step in common.
    fn one_for_both(&mut self, one: NodeId, two: NodeId) -> SharedBodies {
        let mut is_choice = |body: NodeId| {
            let end = self.heads.end(body);
            // What is wrong with the body was reported when it was explored.
            matches!(self.heads.head(end, &mut Vec::new()), Head::Choice(_))
        };
        // Channels are not a branch of a choice.
        if !is_choice(one) || !is_choice(two) {
            return SharedBodies::No;
        }
        let opener = |body| self.bodies.get(&body).and_then(|edges| edges.first());
        let name = |edge: &RawEdge| {
            let definition = self.resolution.definitions.get(edge.sub_session?)?;
            Some(definition.name.text.clone())
        };
        let (Some(one), Some(two)) = (opener(one), opener(two)) else { return SharedBodies::No };
        let sends = [one, two].iter().any(|opener| opener.direction == Direction::Send);
        match (name(one), name(two)) {
            (Some(one), Some(two)) => SharedBodies::OneForBoth { names: (one, two), sends },
            _ => SharedBodies::No,
        }
    }

    /// A body that runs twice shares every message with itself. Where what stands twice is a text with several
    /// channels, which has been reported, it is not said again for each.
    fn twins(&mut self, reported: bool) {
        for ((first, second), body) in std::mem::take(&mut self.twins) {
            let Some(opener) = self.bodies.get(&body).and_then(|edges| edges.first()) else { continue };
            if first != second || !reported {
                let action = (opener.direction, opener.message);
                self.findings.push(FindingKind::OverlapWithItself { action, first }.at(second));
            }
        }
    }

    /// Every message that sub-sessions of a body may have, with a place each.
    fn uses(&self, body: &NodeId) -> HashMap<(Direction, MessageIndex), (Span, ChannelUse)> {
        let declarations = &self.resolution.declarations;
        let edges = self.bodies.get(body).map(Vec::as_slice).unwrap_or_default();
        let (mut uses, mut alone) = (HashMap::new(), HashMap::new());
        for edge in edges {
            let after = self.alphabet_of_body(edge.target);
            if open_keys::stands_alone(&self.states, declarations, edge) {
                alone.extend(with(after, ChannelUse::Alone));
                alone.insert((edge.direction, edge.message), (edge.span, ChannelUse::Alone));
            } else {
                // A message that opens a sub-session is not one of its later steps.
                after.into_iter().for_each(|(action, span)| {
                    uses.entry(action).or_insert((span, ChannelUse::Later));
                });
                uses.insert((edge.direction, edge.message), (edge.span, ChannelUse::Own));
            }
        }
        alone.into_iter().for_each(|(action, used)| {
            uses.entry(action).or_insert(used);
        });
        uses
    }

    /// Every message that a linear channel may have from some states on, with a place each.
    fn alphabet(&self, from: impl IntoIterator<Item = usize>) -> HashMap<(Direction, MessageIndex), Span> {
        self.alphabet_of(from, |place| place.own)
    }

    /// Every message that sub-sessions of a body may have from a state on, those within them included.
    fn alphabet_of_body(&self, from: usize) -> HashMap<(Direction, MessageIndex), Span> {
        self.alphabet_of([from], |place| place.edges.len())
    }

    fn alphabet_of(
        &self,
        from: impl IntoIterator<Item = usize>,
        count: impl Fn(&RawState) -> usize,
    ) -> HashMap<(Direction, MessageIndex), Span> {
        let mut alphabet = HashMap::new();
        let own = |state: usize| {
            self.states.get(state).into_iter().flat_map(|place| place.edges.iter().take(count(place)))
        };
        let parts =
            |state: usize| self.states.get(state).into_iter().flat_map(|place| place.parts.iter().copied());
        let reached = reachable(from, |state| own(state).map(|edge| edge.target).chain(parts(state)));
        for edge in reached.into_iter().flat_map(own) {
            alphabet.entry((edge.direction, edge.message)).or_insert(edge.span);
        }
        alphabet
    }
}
