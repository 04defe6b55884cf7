//! One role as the relations see it: arrows sorted for look-up, configurations, steps.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::rc::Rc;

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, Origin, Side, StateIndex, StateKind};

use crate::automaton::{Automaton, Edge, State};
use crate::hash::Map;
use crate::lists::Lists;
use crate::source::Span;

/// A message and who sends it: the same value for the edge `!M` of one role and `?M` of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) sender: Side,
    pub(super) message: MessageIndex,
    /// For a cancel, the request that it withdraws: cancels share their message, not their meaning.
    pub(super) cancels: Option<MessageIndex>,
}

impl Event {
    /// The direction in which a role sees this event.
    pub(super) fn direction(self, side: Side) -> Direction {
        if self.sender == side { Direction::Send } else { Direction::Receive }
    }

    fn of(edge: &Edge, side: Side) -> Event {
        let sender = match edge.direction {
            Direction::Send => side,
            Direction::Receive => side.other(),
        };
        Event { sender, message: edge.message, cancels: edge.cancels }
    }
}

/// An edge of either role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoleEdge {
    pub(super) event: Event,
    pub(super) action: Action,
    pub(super) origin: Origin,
    pub(super) span: Span,
}

/// An arrow together with the location that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) from: StateIndex,
    pub(super) arrow: RoleEdge,
}

impl Move {
    /// Whether a linear edge, one that moves its channel.
    pub(super) fn is_linear(&self) -> bool {
        matches!(self.arrow.action, Action::Step(_))
    }

    /// Whether both move their channel, or both open a sub-session of the same body.
    pub(super) fn does_same(&self, other: &Move) -> bool {
        match (self.arrow.action, other.arrow.action) {
            (Action::Spawn(one), Action::Spawn(other)) => one == other,
            (Action::Step(_), Action::Step(_)) => true,
            (Action::Step(_), Action::Spawn(_)) | (Action::Spawn(_), Action::Step(_)) => false,
        }
    }

    /// Whether the configuration stays what it was.
    pub(super) fn is_loop(&self) -> bool {
        match self.arrow.action {
            Action::Step(target) => target == self.from,
            Action::Spawn(_) => true,
        }
    }
}

/// The current location of every linear channel, sorted: two that list the same locations are the same.
///
/// A single one, which most configurations have, takes no allocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Locations(Channels);

/// The locations of one channel, or of any other number of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Channels {
    One(StateIndex),
    Others(Rc<[StateIndex]>),
}

impl From<Vec<StateIndex>> for Locations {
    fn from(locations: Vec<StateIndex>) -> Self {
        Locations(match locations.as_slice() {
            [only] => Channels::One(*only),
            _ => Channels::Others(locations.into()),
        })
    }
}

impl Deref for Locations {
    type Target = [StateIndex];

    fn deref(&self) -> &[StateIndex] {
        match &self.0 {
            Channels::One(only) => std::slice::from_ref(only),
            Channels::Others(others) => others,
        }
    }
}

/// What can still happen along the channel that starts at some location.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Every event on the way, and what is known of it.
    uses: BTreeMap<Event, Use>,
    /// How many states there are on the way.
    states: usize,
}

/// What an event is along a channel.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// In how many states it may happen.
    states: usize,
    /// The body that it opens, if it opens one, and the same one wherever it may happen.
    body: Option<StateIndex>,
}

impl Reach {
    /// Every event on the way.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.uses.keys().copied()
    }

    /// Whether an event may happen on the way.
    pub(super) fn has(&self, event: Event) -> bool {
        self.uses.contains_key(&event)
    }

    /// The body that an event opens wherever it may happen on the way; `None` if it opens several, or none, or never
    /// happens.
    pub(super) fn only_body(&self, event: Event) -> Option<StateIndex> {
        self.uses.get(&event)?.body
    }

    /// The events of replicated channels that run all the way, with the body of each, which never changes.
    pub(super) fn always(&self) -> impl Iterator<Item = (Event, StateIndex)> {
        let all = self.uses.iter().filter(|(_, used)| used.states == self.states);
        all.filter_map(|(event, used)| Some((*event, used.body?)))
    }

    fn add(&mut self, arrow: &RoleEdge) {
        let body = match arrow.action {
            Action::Spawn(body) => Some(body),
            Action::Step(_) => None,
        };
        let used = self.uses.entry(arrow.event).or_insert(Use { states: 0, body });
        used.states += 1;
        used.body = used.body.filter(|known| Some(*known) == body);
    }
}

/// A role, prepared.
pub(super) struct Machine<'a> {
    automaton: &'a Automaton,
    arrows: Lists<RoleEdge>,
    reach: RefCell<Map<StateIndex, Rc<Reach>>>,
}

/// A state's place in a list.
pub(super) fn position(state: StateIndex) -> usize {
    usize::try_from(state.0).unwrap_or(usize::MAX)
}

impl<'a> Machine<'a> {
    pub(super) fn new(automaton: &'a Automaton) -> Self {
        let arrows = automaton.states.iter().map(|state| sorted(state, automaton.side)).collect();
        Machine { automaton, arrows, reach: RefCell::default() }
    }

    pub(super) fn automaton(&self) -> &'a Automaton {
        self.automaton
    }

    pub(super) fn side(&self) -> Side {
        self.automaton.side
    }

    pub(super) fn state(&self, index: StateIndex) -> Option<&'a State> {
        self.automaton.states.get(position(index))
    }

    pub(super) fn arrows(&self, index: StateIndex) -> &[RoleEdge] {
        self.arrows.get(position(index))
    }

    /// The arrow of an event at one location.
    pub(super) fn arrow(&self, index: StateIndex, event: Event) -> Option<RoleEdge> {
        let arrows = self.arrows(index);
        arrows.binary_search_by_key(&event, |arrow| arrow.event).ok().and_then(|at| arrows.get(at)).copied()
    }

    /// Where a session starts.
    pub(super) fn start(&self) -> Locations {
        self.arrive(&[], StateIndex(0))
    }

    /// Where a sub-session of a `*` body starts.
    pub(super) fn body(&self, state: StateIndex) -> Locations {
        self.arrive(&[], state)
    }

    /// Whether no configuration has messages of both senders, so that none cross: there is one channel, and each of its
    /// states belongs to one sender.
    pub(super) fn is_half_duplex(&self) -> bool {
        let one_sender = |arrows: &[RoleEdge]| {
            arrows.iter().zip(arrows.iter().skip(1)).all(|(one, next)| one.event.sender == next.event.sender)
        };
        self.automaton.states.iter().all(|state| state.kind != StateKind::Fork)
            && self.arrows.iter().all(one_sender)
    }

    /// The move of an event in a configuration. What is written goes before what may come late for another channel.
    pub(super) fn find(&self, locations: &[StateIndex], event: Event) -> Option<Move> {
        let moves = locations.iter().filter_map(|&from| Some(Move { from, arrow: self.arrow(from, event)? }));
        moves.min_by_key(|step| step.arrow.origin == Origin::Closure)
    }

    /// Every move in a configuration, sorted by event, one an event, as [`find`](Machine::find) finds it.
    pub(super) fn moves(&self, locations: &[StateIndex]) -> Vec<Move> {
        let mut moves: Vec<Move> = locations
            .iter()
            .flat_map(|&from| self.arrows(from).iter().map(move |&arrow| Move { from, arrow }))
            .collect();
        if locations.len() > 1 {
            moves.sort_by_key(|step| (step.arrow.event, step.arrow.origin == Origin::Closure));
            moves.dedup_by_key(|step| step.arrow.event);
        }
        moves
    }

    /// Whether a sub-session is over there, of which these are all channels. What comes for it later is swallowed by its
    /// id or its key and finds no state.
    pub(super) fn is_over(&self, locations: &[StateIndex]) -> bool {
        let mut states = locations.iter().filter_map(|state| self.automaton().states.get(position(*state)));
        !locations.is_empty() && states.all(|state| state.body && state.kind == StateKind::End)
    }

    /// The configuration after a move.
    pub(super) fn step(&self, locations: &Locations, step: &Move) -> Locations {
        if step.is_loop() {
            return locations.clone();
        }
        if locations.len() == 1 {
            return self.arrive(&[], step.arrow.action.target());
        }
        let mut rest = locations.to_vec();
        if let Some(at) = rest.iter().position(|&location| location == step.from) {
            rest.remove(at);
        }
        self.arrive(&rest, step.arrow.action.target())
    }

    /// The channels that run once a state is reached: the state itself, or what it forks into.
    pub(super) fn expand(&self, target: StateIndex) -> Vec<StateIndex> {
        if !self.forks(target) {
            return vec![target];
        }
        let mut reached = Vec::new();
        let mut waiting = vec![target];
        // A fork that contains itself is refused long before; should it come here, each fork is opened once.
        let mut opened = HashSet::new();
        while let Some(state) = waiting.pop() {
            match self.state(state) {
                Some(fork) if fork.kind == StateKind::Fork => {
                    if opened.insert(state) {
                        waiting.extend(fork.parts.iter().rev());
                    }
                }
                _ => reached.push(state),
            }
        }
        reached
    }

    fn forks(&self, target: StateIndex) -> bool {
        self.state(target).is_some_and(|state| state.kind == StateKind::Fork)
    }

    fn arrive(&self, rest: &[StateIndex], target: StateIndex) -> Locations {
        if rest.is_empty() && !self.forks(target) {
            return Locations(Channels::One(target));
        }
        let mut locations = rest.to_vec();
        locations.extend(self.expand(target));
        locations.sort_unstable();
        locations.into()
    }

    /// What can still happen along one channel. Each location is computed once.
    pub(super) fn reach(&self, from: StateIndex) -> Rc<Reach> {
        if let Some(known) = self.reach.borrow().get(&from) {
            return known.clone();
        }
        let mut reach = Reach::default();
        let mut waiting = self.expand(from);
        let mut seen: HashSet<StateIndex> = waiting.iter().copied().collect();
        while let Some(state) = waiting.pop() {
            reach.states += 1;
            for arrow in self.arrows(state) {
                reach.add(arrow);
                if let Action::Step(target) = arrow.action {
                    waiting.extend(self.expand(target).into_iter().filter(|&next| seen.insert(next)));
                }
            }
        }
        let reach = Rc::new(reach);
        self.reach.borrow_mut().insert(from, reach.clone());
        reach
    }
}

fn sorted(state: &State, side: Side) -> Vec<RoleEdge> {
    let mut arrows: Vec<RoleEdge> = state
        .edges
        .iter()
        .map(|edge| RoleEdge {
            event: Event::of(edge, side),
            action: edge.action,
            origin: edge.origin,
            span: edge.span,
        })
        .collect();
    arrows.sort_by_key(|arrow| arrow.event);
    arrows.dedup_by_key(|arrow| arrow.event);
    arrows
}
