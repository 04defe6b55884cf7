//! Closing the diamond: messages that change nothing may arrive late.
//!
//! A late message belongs to the channel whose choice was left, also when that channel has ended: ends that several
//! channels share are separated first ([`super::ends`]). A late message that opens a sub-session opens the body that it
//! opened before the choice was left.
//!
//! Where a message of either direction returns to the same pair of places, and a message of the other direction leads
//! from there to another pair, the first may still be on its way when the second is sent: it is a self-loop at the other
//! pair, too. That is repeated until nothing changes. Of these self-loops a role needs those along which it receives. It
//! sends along the edges that were written, so it gets none to send along; only the search for races follows both. Channels at `End` are closed like any
//! other, for a session lives on while it is not closed; a sub-session that is over is not, for its id or its key
//! swallows what is late for it. What is already there under that name is left alone; if it does not fit,
//! [`super::races`] says so.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex, Origin, Side, StateIndex};

use super::diamond;
use super::ends::{ChannelEnds, Late};
use super::machine::{Event, Locations, Machine, Move, RoleEdge, position};
use super::product::{Grouping, Pair, PairIndex, Walk};
use super::report;
use super::shared::{Shared, shared};
use crate::automaton::{Automaton, Edge};
use crate::declarations::Message;
use crate::diagnostic::Diagnostic;
use crate::findings::size;
use crate::hash::Map;
use crate::source::Span;

/// One edge that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// To which role.
    pub side: Side,
    /// To which of its states.
    pub state: StateIndex,
    /// The edge; its span is that of the self-loop it repeats.
    pub edge: Edge,
}

/// What closing the diamond did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// Every edge added, in the order of the client's states, then of the server's.
    pub added: Vec<Added>,
    /// A note for each message that got edges, or the error that stopped it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Two roles with every edge that messages which cross may take, in either role: what an observer between them follows,
/// and what races are looked for in.
///
/// A role needs of these edges only those along which it receives, for it sends what it was written to send:
/// [`receive`](Crossings::receive) leaves the others out.
pub struct Crossings {
    /// The roles, with ends apart.
    pub(super) client: Automaton,
    pub(super) server: Automaton,
    ends: [ChannelEnds; 2],
    planned: Planned,
    limit: Option<Diagnostic>,
}

/// Closes the diamond of two roles.
pub fn close(client: &Automaton, server: &Automaton, messages: &[Message]) -> Crossings {
    let (mut client, mut server) = (client.clone(), server.clone());
    if Machine::new(&client).is_half_duplex() || Machine::new(&server).is_half_duplex() {
        let ends = [ChannelEnds::none(&client), ChannelEnds::none(&server)];
        return Crossings { client, server, ends, planned: Planned::new(), limit: None };
    }
    let ends = [ChannelEnds::apart(&mut client), ChannelEnds::apart(&mut server)];
    let mut planned = Planned::new();
    let limit = loop {
        let round = match round(&client, &server, messages) {
            Ok(round) => round,
            Err(limit) => break Some(limit),
        };
        for (&(side, state, event), cause) in &round.planned {
            let automaton = if side == Side::Client { &mut client } else { &mut server };
            if let Some(state) = automaton.states.get_mut(position(state)) {
                state.edges.push(cause.edge(side, event));
            }
        }
        let is_last = round.is_last();
        planned.extend(round.planned);
        if is_last {
            break None;
        }
    };
    Crossings { client, server, ends, planned, limit }
}

impl Crossings {
    /// The races that are left, as in [`races`](diamond::races).
    ///
    /// What is late in a state may be so on one way there and not on another, and then a sender has an edge that it
    /// would never take. So where there are races, the roles are looked at once more as they will be: without edges to
    /// send along, but for those that messages which cross need.
    pub fn races(&self, messages: &[Message]) -> Vec<Diagnostic> {
        let races = diamond::races(&self.client, &self.server, messages);
        if races.is_empty() {
            return races;
        }
        let (mut client, mut server) = (self.client.clone(), self.server.clone());
        [&mut client, &mut server].into_iter().for_each(send_as_written);
        let as_they_will_be = diamond::races(&client, &server, messages);
        if as_they_will_be.is_empty() { as_they_will_be } else { races }
    }

    /// Gives each role the edges along which it receives what comes late. No role gets one along which it sends.
    pub fn receive(self, client: &mut Automaton, server: &mut Automaton, messages: &[Message]) -> Closed {
        let Crossings { client: of_client, server: of_server, ends, mut planned, limit } = self;
        (*client, *server) = (of_client, of_server);
        planned.retain(|(side, _, event), _| event.direction(*side) == Direction::Receive);
        send_as_written(client);
        send_as_written(server);
        let late = |side: Side, state: StateIndex| -> Late {
            at(&planned, side, state).map(|(event, cause)| (event, cause.body())).collect()
        };
        let [from_client, from_server] = ends;
        let of_client = from_client.join(client, |state| late(Side::Client, state), messages);
        let of_server = from_server.join(server, |state| late(Side::Server, state), messages);
        let mut joined = Planned::new();
        for ((side, state, event), mut cause) in planned {
            let state = if side == Side::Client { of_client.now(state) } else { of_server.now(state) };
            if let Action::Step(_) = cause.arrow.action {
                cause.arrow.action = Action::Step(state);
            }
            joined.entry((side, state, event)).or_insert(cause);
        }
        let diagnostics = match limit {
            Some(limit) => vec![limit],
            None => notes(client, server, &joined, messages),
        };
        let mut added = Vec::with_capacity(joined.len());
        for ((side, state, event), cause) in joined {
            added.push(Added { side, state, edge: cause.edge(side, event) });
        }
        Closed { added, diagnostics }
    }
}

/// Leaves out the edges that were added to send along.
fn send_as_written(role: &mut Automaton) {
    let sent = |edge: &Edge| edge.origin == Origin::Closure && edge.direction == Direction::Send;
    role.states.iter_mut().for_each(|state| state.edges.retain(|edge| !sent(edge)));
}

/// What one look at all pairs plans.
struct Round {
    planned: Planned,
    /// Channels were looked at in groups that share no message. An edge that is added may make two groups one.
    is_split: bool,
}

impl Round {
    /// Whether the roles with what is planned meet in the same pairs as without it, so that another look finds nothing.
    /// Two groups of channels may become one, and an opening that is late in one state may meet an opening of another
    /// body in the other role's.
    fn is_last(&self) -> bool {
        let opens = || self.planned.values().any(|late| late.body().is_some());
        self.planned.is_empty() || !(self.is_split || opens())
    }
}

fn round(client: &Automaton, server: &Automaton, messages: &[Message]) -> Result<Round, Diagnostic> {
    let (one, other) = (Machine::new(client), Machine::new(server));
    let walk = diamond::explore(&one, &other, Grouping::Apart)
        .map_err(|limit| report::too_many(&one, &other, messages, &limit))?;
    let is_split = walk.all().any(|index| walk.is_split(index));
    let plan = plan(&walk);
    match plan.too_many() {
        Some(place) => Err(size::too_many_late(place, MOST_LATE)),
        None => Ok(Round { planned: plan.planned.into_iter().collect(), is_split }),
    }
}

/// An edge to be added, and the message that the other one may cross.
struct LateEdge {
    arrow: RoleEdge,
    /// What the other role does when this message passes: both open the bodies that were related.
    partner: Action,
    crossing: Event,
    crossing_span: Span,
}

impl LateEdge {
    fn edge(&self, side: Side, event: Event) -> Edge {
        Edge {
            direction: event.direction(side),
            message: event.message,
            action: self.arrow.action,
            origin: Origin::Closure,
            cancels: event.cancels,
            span: self.arrow.span,
            level: None,
        }
    }

    fn body(&self) -> Option<StateIndex> {
        match self.arrow.action {
            Action::Spawn(body) => Some(body),
            Action::Step(_) => None,
        }
    }
}

/// Where an edge is added, and for what.
type Place = (Side, StateIndex, Event);

/// What is planned, in the order of the states.
type Planned = BTreeMap<Place, LateEdge>;

/// What is planned at a state.
fn at(planned: &Planned, side: Side, state: StateIndex) -> impl Iterator<Item = (Event, &LateEdge)> {
    let low = Event { sender: Side::Client, message: MessageIndex(0), cancels: None };
    let from = planned.range((side, state, low)..);
    let here = from.take_while(move |((at_side, at, _), _)| *at_side == side && *at == state);
    here.map(|((_, _, event), cause)| (*event, cause))
}

/// A message that both roles have in a pair and that leads elsewhere, with where it leads.
struct Crossing {
    both: Shared,
    client: Locations,
    server: Locations,
}

/// What is known of one pair.
///
/// A loop is carried over what crosses it once for each pair, whenever it is found: at the start, or when it is planned
/// for a state of the pair.
#[derive(Default)]
struct PairPlan {
    /// The messages that lead elsewhere, once the pair has been looked at.
    crossings: Option<Rc<[Crossing]>>,
    /// Loops that were planned for one of its states and that have not been carried on.
    news: BTreeSet<Event>,
}

/// The machines with the edges planned so far.
struct ClosurePlanner<'w, 'a, 'b> {
    walk: &'w Walk<'a, 'b>,
    /// It is looked into far more often than it is walked through, and so has no order.
    planned: Map<Place, LateEdge>,
    /// The pairs in which a state takes part, to be looked at again when it gets an edge.
    at: Map<(Side, StateIndex), Vec<PairIndex>>,
    places: Map<PairIndex, PairPlan>,
    waiting: Vec<PairIndex>,
    /// How often a loop was carried over a message that crosses it.
    carried: usize,
}

/// How many edges for late messages both roles may have together.
const MOST_LATE: usize = 1_500_000;

fn plan<'w, 'a, 'b>(walk: &'w Walk<'a, 'b>) -> ClosurePlanner<'w, 'a, 'b> {
    let mut at: Map<(Side, StateIndex), Vec<PairIndex>> = Map::default();
    let mut waiting: Vec<PairIndex> = walk.all().filter(|&index| !walk.is_split(index)).collect();
    for &index in &waiting {
        let Some(pair) = walk.pair(index) else { continue };
        for &location in pair.client.locations.iter() {
            at.entry((Side::Client, location)).or_default().push(index);
        }
        for &location in pair.server.locations.iter() {
            at.entry((Side::Server, location)).or_default().push(index);
        }
    }
    waiting.reverse();
    let (planned, places) = (Map::default(), Map::default());
    let mut planner = ClosurePlanner { walk, planned, at, places, waiting, carried: 0 };
    while let Some(index) = planner.waiting.pop() {
        planner.visit(index);
        if planner.planned.len() > MOST_LATE {
            break;
        }
    }
    planner
}

impl ClosurePlanner<'_, '_, '_> {
    /// Where the first of too many edges was planned, if there are too many.
    fn too_many(&self) -> Option<Span> {
        let full = self.planned.len() > MOST_LATE;
        let first = || self.planned.iter().min_by_key(|(place, _)| **place);
        full.then(first).flatten().map(|(_, cause)| cause.arrow.span)
    }

    /// The move of an event in a configuration, planned edges included.
    fn find(&self, side: Side, locations: &[StateIndex], event: Event) -> Option<Move> {
        self.walk.machine(side).find(locations, event).or_else(|| {
            locations.iter().find_map(|&from| {
                let cause = self.planned.get(&(side, from, event))?;
                Some(Move { from, arrow: cause.arrow })
            })
        })
    }

    /// Carries the loops of a pair on that have not been: those that are written when it is looked at first, and those
    /// that were planned since.
    fn visit(&mut self, index: PairIndex) {
        let place = self.places.entry(index).or_default();
        let (crossings, news) = (place.crossings.clone(), std::mem::take(&mut place.news));
        if news.is_empty() && crossings.is_some() {
            return;
        }
        let Some(pair) = self.walk.pair(index) else { return };
        let mut loops = Vec::new();
        let crossings = crossings.unwrap_or_else(|| {
            let (written, others): (Vec<Shared>, Vec<Shared>) =
                shared(self.walk, index).into_iter().partition(Shared::is_loop);
            loops = written;
            let others = others.into_iter().filter(|both| both.client.is_linear());
            let crossings = others.map(|both| Crossing {
                client: self.walk.client.step(&pair.client.locations, &both.client),
                server: self.walk.server.step(&pair.server.locations, &both.server),
                both,
            });
            crossings.collect()
        });
        self.places.entry(index).or_default().crossings = Some(crossings.clone());
        loops.extend(news.into_iter().filter_map(|event| self.planned_loop(&pair, event)));
        for crossing in crossings.iter() {
            for both in loops.iter().filter(|both| both.event().sender != crossing.both.event().sender) {
                self.carried += 1;
                let (client, server) = (&both.client, &both.server);
                for (side, locations, repeated, step) in [
                    (Side::Client, &crossing.client, (client, server), &crossing.both.client),
                    (Side::Server, &crossing.server, (server, client), &crossing.both.server),
                ] {
                    if !self.walk.is_over(&pair, self.walk.machine(side), locations) {
                        self.add(side, locations, repeated, step);
                    }
                }
            }
        }
    }

    /// A message that was planned for a state of this pair, if it returns to the pair. What was planned for one role
    /// only, because of another pair, is given to the other one here: both have every edge.
    fn planned_loop(&mut self, pair: &Pair, event: Event) -> Option<Shared> {
        let (own, others) = (&pair.client.locations, &pair.server.locations);
        // What is written is there already.
        if self.walk.client.find(own, event).is_some() && self.walk.server.find(others, event).is_some() {
            return None;
        }
        let client = self.give(Side::Client, own, event, others)?;
        let server = self.give(Side::Server, others, event, own)?;
        let both = Shared { client, server };
        (both.is_loop() && client.is_linear() == server.is_linear()).then_some(both)
    }

    /// The move of an event in a configuration. Where there is none but the other role has a planned one, it is
    /// planned here, too.
    fn give(&mut self, side: Side, locations: &Locations, event: Event, others: &Locations) -> Option<Move> {
        if let Some(known) = self.find(side, locations, event) {
            return Some(known);
        }
        let other = self.find(side.other(), others, event)?;
        let state = heir(self.walk.machine(side), locations, event)?;
        let known = self.planned.get(&(side.other(), other.from, event))?;
        let arrow = RoleEdge {
            action: late(known.partner, state),
            origin: Origin::Closure,
            span: other.arrow.span,
            event,
        };
        let (partner, crossing, crossing_span) = (other.arrow.action, known.crossing, known.crossing_span);
        self.plan(side, state, LateEdge { arrow, partner, crossing, crossing_span });
        Some(Move { from: state, arrow })
    }

    /// Plans a loop that this role repeats, and that the other one repeats with its own edge, behind a message that it
    /// crosses.
    fn add(
        &mut self,
        side: Side,
        locations: &Locations,
        (repeated, others): (&Move, &Move),
        crossing: &Move,
    ) {
        let event = repeated.arrow.event;
        if self.find(side, locations, event).is_some() {
            return;
        }
        let machine = self.walk.machine(side);
        // The channel that moved is the one that had the loop.
        let reached = machine.expand(crossing.arrow.action.target());
        let Some(state) = heir(machine, &reached, event) else { return };
        let action = late(repeated.arrow.action, state);
        let arrow = RoleEdge { action, origin: Origin::Closure, ..repeated.arrow };
        let (partner, crossing, crossing_span) =
            (others.arrow.action, crossing.arrow.event, crossing.arrow.span);
        self.plan(side, state, LateEdge { arrow, partner, crossing, crossing_span });
    }

    fn plan(&mut self, side: Side, state: StateIndex, cause: LateEdge) {
        let event = cause.arrow.event;
        self.planned.insert((side, state, event), cause);
        for index in self.at.get(&(side, state)).into_iter().flatten().rev() {
            self.places.entry(*index).or_default().news.insert(event);
            if self.waiting.last() != Some(index) {
                self.waiting.push(*index);
            }
        }
    }
}

/// What a message does that comes late in a state: nothing, or it opens the body that it always opened.
fn late(action: Action, state: StateIndex) -> Action {
    match action {
        Action::Step(_) => Action::Step(state),
        Action::Spawn(body) => Action::Spawn(body),
    }
}

/// Which of several channels takes on a message of the channel before them: the one that has it later on, for there it
/// must not be taken for another one's. Where none has it, both roles choose the same channel, in whatever order they
/// list them, and whichever of them is the client. Of channels that say something, one in which the sender of the
/// message does goes first: behind what it sends there nothing from before is late.
fn heir(machine: &Machine<'_>, channels: &[StateIndex], event: Event) -> Option<StateIndex> {
    if let [only] = channels {
        return Some(*only);
    }
    let rank = |channel: StateIndex| {
        let reach = machine.reach(channel);
        let of_sender = |other: Event| (other.sender != event.sender, other.message, other.cancels);
        let mut events: Vec<_> = reach.events().map(of_sender).collect();
        events.sort_unstable();
        (!reach.has(event), events, channel)
    };
    channels.iter().copied().min_by_key(|&channel| rank(channel))
}

/// A note for each message that crosses others. It has all the messages that it may cross and that are late in the same
/// states.
fn notes(client: &Automaton, server: &Automaton, planned: &Planned, messages: &[Message]) -> Vec<Diagnostic> {
    let mut by_event: BTreeMap<Event, Vec<(StateIndex, &LateEdge)>> = BTreeMap::new();
    for ((_, state, event), cause) in planned {
        by_event.entry(*event).or_default().push((*state, cause));
    }
    let mut by_crossing: BTreeMap<_, Vec<(Event, Span)>> = BTreeMap::new();
    for (event, places) in by_event {
        let Some((_, cause)) = places.first() else { continue };
        let states: Vec<StateIndex> = places.iter().map(|(state, _)| *state).collect();
        let crossed = (event.sender.other(), states, cause.crossing, cause.crossing_span);
        by_crossing.entry(crossed).or_default().push((event, cause.arrow.span));
    }
    let of_crossing = by_crossing.into_iter().filter_map(|((receiver, states, crossing, at), late)| {
        let automaton = if receiver == Side::Client { client } else { server };
        report::accepted_late(automaton, &states, &late, (crossing, at), messages)
    });
    of_crossing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::tests::notation::{automaton, flip};

    /// States in a ring, each with a message of its own each way that changes nothing.
    fn ring(size: usize) -> String {
        let state = |at: usize| format!("{at} !l{at} {at}; {at} ?r{at} {at}; {at} !next {}", (at + 1) % size);
        (0..size).map(state).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_loop_is_carried_over_a_message_once_for_each_role_that_gets_it() {
        for size in [4, 32] {
            let client = automaton(Side::Client, &ring(size), &mut Vec::new());
            let server = flip(&client);
            let (client, server) = (Machine::new(&client), Machine::new(&server));
            let walk = diamond::explore(&client, &server, Grouping::Apart).unwrap();
            let planner = plan(&walk);
            // Each of the server's messages may be late in every other state, for both roles.
            assert_eq!(planner.planned.len(), 2 * size * (size - 1));
            let all = size * size;
            assert!((all..=2 * all).contains(&planner.carried), "{} of {all}", planner.carried);
        }
    }
}
