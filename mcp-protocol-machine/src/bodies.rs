//! What the tables say of the bodies of `*`: which messages belong to each, and which stands within which.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::hash::IdTable;
use crate::protocol::{Action, Direction, Kind, MessageIndex, Origin, Protocol, Role, StateIndex};

/// What the tables say of the bodies that keys tie together. A body is a number here. Bodies are alternatives of one `*`,
/// and have one number, if they share a message, or if one of them has a message that opens the other one.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    /// The body that starts in a state.
    starts: IdTable<StateIndex, u32>,
    /// The body that has a message as a later step, the innermost one.
    later: IdTable<(Direction, MessageIndex), u32>,
    /// What opens each body.
    openers: HashSet<(u32, Direction, MessageIndex)>,
    /// Where the first message of a body stands in one of several channels, by the state that it leads to: the place of
    /// the channel, and the state in which the other side may open the body with the message of another channel.
    other_openings: IdTable<StateIndex, (usize, StateIndex)>,
    /// For each body, the bodies around it and the body itself, the outermost first.
    ways: Vec<Vec<u32>>,
}

impl Bodies {
    pub(crate) fn new(protocol: &Protocol, role: &Role) -> Bodies {
        let mut bodies = Bodies::default();
        if !protocol.keys.is_empty() {
            let session = Body::of(protocol, role, Role::START);
            bodies.add(protocol, role, &[], session.starts);
        }
        bodies
    }

    /// Adds the bodies that can be opened in the session itself, or in the last of some bodies within each other.
    fn add(&mut self, protocol: &Protocol, role: &Role, around: &[u32], starts: Starts) {
        // A body that contains itself is added once: such tables are not a protocol's.
        let bodies = starts.into_iter().filter(|(start, _)| !self.starts.contains_key(start));
        let bodies: Vec<(StateIndex, Messages, Body)> =
            bodies.map(|(start, openers)| (start, openers, Body::of(protocol, role, start))).collect();
        let mut alternatives: Vec<Alternatives<'_>> = Vec::new();
        for body in &bodies {
            let (_, openers, of) = body;
            let (openers, messages) = (openers.clone(), of.all_later(protocol, role));
            let mut new = Alternatives { openers, messages, bodies: vec![body] };
            if !new.messages.iter().any(|(_, message)| carries(protocol, *message)) {
                continue;
            }
            alternatives.retain_mut(|known| {
                let apart = known.messages.is_disjoint(&new.messages)
                    && known.messages.is_disjoint(&new.openers)
                    && known.openers.is_disjoint(&new.messages);
                if !apart {
                    new.openers.append(&mut known.openers);
                    new.messages.append(&mut known.messages);
                    new.bodies.splice(0..0, known.bodies.drain(..));
                }
                apart
            });
            alternatives.push(new);
        }
        for Alternatives { openers, bodies, .. } in alternatives {
            let number = u32::try_from(self.ways.len()).unwrap_or(u32::MAX);
            let way = [around, &[number]].concat();
            self.ways.push(way.clone());
            let openers = openers.into_iter().map(|(direction, message)| (number, direction, message));
            self.openers.extend(openers);
            let mut inner = Starts::new();
            for (start, openers, _) in &bodies {
                let others = bodies.iter().filter(|(other, ..)| other != start);
                let mut found = others.filter_map(|(other, others, _)| {
                    other_opening(role, (*start, openers), (*other, others))
                });
                if let Some(found) = found.next() {
                    self.other_openings.insert(*start, found);
                }
            }
            for (start, _, body) in bodies {
                self.starts.insert(*start, number);
                self.later.extend(body.later.iter().map(|message| (*message, number)));
                for (start, openers) in &body.starts {
                    inner.entry(*start).or_default().extend(openers);
                }
            }
            self.add(protocol, role, &way, inner);
        }
    }

    /// The body that starts in a state, if keys tie its steps.
    pub(crate) fn starts(&self, state: StateIndex) -> Option<u32> {
        self.starts.get(&state).copied()
    }

    /// The channel that has the first message of a body, if it is one of several of which each may have it, and where
    /// that channel is for a side that has opened the body by another message.
    pub(crate) fn other_opening(&self, start: StateIndex) -> Option<(usize, StateIndex)> {
        self.other_openings.get(&start).copied()
    }

    /// The body that has a message as a later step, the innermost one.
    pub(crate) fn later(&self, direction: Direction, message: MessageIndex) -> Option<u32> {
        self.later.get(&(direction, message)).copied()
    }

    /// Whether a message opens a body.
    pub(crate) fn opens(&self, body: u32, direction: Direction, message: MessageIndex) -> bool {
        self.openers.contains(&(body, direction, message))
    }

    /// Whether some body stands in another one.
    pub(crate) fn are_nested(&self) -> bool {
        self.ways.iter().any(|way| way.len() > 1)
    }

    /// The bodies around one and the body itself, the outermost first.
    pub(crate) fn way(&self, body: u32) -> &[u32] {
        usize::try_from(body).ok().and_then(|body| self.ways.get(body)).map_or(&[], Vec::as_slice)
    }
}

/// Messages, and which way each goes.
type Messages = BTreeSet<(Direction, MessageIndex)>;

/// Where bodies start, and what opens each.
type Starts = BTreeMap<StateIndex, Messages>;

/// Bodies that share messages.
struct Alternatives<'a> {
    /// What opens them.
    openers: Messages,
    /// What they may have after their first message.
    messages: Messages,
    bodies: Vec<&'a (StateIndex, Messages, Body)>,
}

/// What the tables say of one body, or of the session itself.
#[derive(Debug, Default)]
struct Body {
    /// The requests and notifications that it may have after its first message: its steps, and what opens bodies within
    /// it.
    ///
    /// Late ones do not count: an uncorrelated step may share its state with a sub-session that has left others, and has
    /// no key.
    later: Messages,
    /// Where the bodies start that can be opened in it, late ones left out, too.
    starts: Starts,
}

impl Body {
    /// Of the channels that start in a state.
    fn of(protocol: &Protocol, role: &Role, start: StateIndex) -> Body {
        let mut body = Body::default();
        let mut seen = HashSet::from([start]);
        let mut waiting = vec![start];
        while let Some(state) = waiting.pop() {
            let Some(table) = role.state(state) else { continue };
            waiting.extend(table.parts.iter().copied().filter(|part| seen.insert(*part)));
            for edge in table.edges.iter().filter(|edge| edge.origin != Origin::Closure) {
                match edge.action {
                    Action::Spawn(start) => {
                        body.starts.entry(start).or_default().insert((edge.direction, edge.message));
                    }
                    Action::Step(target) => waiting.extend(Some(target).filter(|to| seen.insert(*to))),
                }
                let message = protocol.message(edge.message);
                if message.is_some_and(|message| {
                    matches!(message.kind, Kind::Request | Kind::Notification) && message.cancels.is_none()
                }) {
                    body.later.insert((edge.direction, edge.message));
                }
            }
        }
        body
    }

    /// What it may have after its first message, bodies within it included.
    fn all_later(&self, protocol: &Protocol, role: &Role) -> Messages {
        let mut later = self.later.clone();
        let mut seen: BTreeSet<StateIndex> = self.starts.keys().copied().collect();
        let mut waiting: Vec<StateIndex> = self.starts.keys().copied().collect();
        while let Some(start) = waiting.pop() {
            let body = Body::of(protocol, role, start);
            later.extend(body.later);
            waiting.extend(body.starts.into_keys().filter(|start| seen.insert(*start)));
        }
        later
    }
}

/// The channel that has the first message of a body, if another body is the same but for the first message, which stands
/// in another channel: its place, and where the channel is in the other body.
fn other_opening(
    role: &Role,
    one: (StateIndex, &Messages),
    other: (StateIndex, &Messages),
) -> Option<(usize, StateIndex)> {
    let parts = |state| role.state(state).map(|table| &*table.parts);
    let (mine, others) = (parts(one.0)?, parts(other.0)?);
    // Each is where the other is before its own first message.
    let (from, place) = first_step(role, others, mine, one.1)?;
    let (second, to) = first_step(role, mine, others, other.1)?;
    let without = |parts: &[StateIndex], left_out: [usize; 2]| {
        let rest = parts.iter().enumerate().filter(|(place, _)| !left_out.contains(place));
        let mut rest: Vec<StateIndex> = rest.map(|(_, state)| *state).collect();
        rest.sort_unstable();
        rest
    };
    let is_same = without(mine, [place, second]) == without(others, [from, to]);
    let state = others.get(from).copied().filter(|_| is_same && place != second && from != to)?;
    Some((place, state))
}

/// The channels, before and after it, in which one of some messages is a step.
fn first_step(
    role: &Role,
    before: &[StateIndex],
    after: &[StateIndex],
    messages: &Messages,
) -> Option<(usize, usize)> {
    before.iter().enumerate().find_map(|(from, state)| {
        let table = role.state(*state)?;
        let edges = messages.iter().filter_map(|(direction, message)| table.edge(*direction, *message));
        let mut targets = edges.filter_map(|edge| match edge.action {
            Action::Step(to) => Some(to),
            Action::Spawn(_) => None,
        });
        targets.find_map(|to| Some((from, after.iter().position(|part| *part == to)?)))
    })
}

fn carries(protocol: &Protocol, message: MessageIndex) -> bool {
    protocol.message(message).is_some_and(|message| !message.keys.is_empty())
}
