//! The oracle: two roles, two queues, every interleaving.
//!
//! Explores two automata with bounded queues as they would run, and returns a [`Verdict`] with the shortest trace to a
//! failure. It shares no code with the relations that it judges.
//!
//! A role's program may send what its state has, closing edges excepted; messages wait in the queue of their direction
//! and are judged when they arrive. Sub-sessions of a `*` body and linear requests carry a number, so that a late reply
//! to a cancelled request is swallowed, as is a late cancellation. The number of a sub-session is the id of the request
//! that opened it, or the value of the key that all its messages share: once both sides are through with it, and
//! nothing on its way names it, it is used again. The side that opened a sub-session may cancel it in any state, if the
//! request says so, and a refusal ends it likewise; later messages are swallowed. What goes wrong: an *unexpected*
//! message; a *deadlock*, with empty queues one side waits and neither will send; a sub-session *left over* on one
//! side; a *close* that the other side does not expect; and a *lag*, where the wire, which is ahead of the program,
//! ends up elsewhere when the program sends what its state has: by the step that the wire has for it, or by none, for
//! then it is late there. Where sub-sessions are suspended for a
//! side, it sends no step of one, but replies and cancellations, and what it receives is unexpected, even for a
//! sub-session that has ended.

mod rest;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};

use crate::automaton::{Automaton, Edge};
use crate::declarations::Message;
use crate::relation::tests::notation::show;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum Tag {
    Main,
    Request(u8),
    SubSession(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Item {
    message: MessageIndex,
    tag: Tag,
}

/// Where one side of a sub-session is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Life {
    Unborn,
    At(Vec<StateIndex>),
    /// Ended, cancelled or refused: later messages are swallowed.
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Copied {
    number: u8,
    lives: [Life; 2],
    /// The side that opened it, if it may cancel it.
    cancellable: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Exchange {
    number: u8,
    asker: usize,
    request: MessageIndex,
    /// For the asker: neither answered nor cancelled yet.
    awaited: bool,
    /// For the answerer: arrived and neither answered nor cancelled yet.
    owed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    main: [Vec<StateIndex>; 2],
    /// The queue towards each side.
    inbox: [VecDeque<Item>; 2],
    sub_sessions: Vec<Copied>,
    exchanges: Vec<Exchange>,
}

/// What the oracle found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::relation) enum Verdict {
    Safe,
    /// What went wrong, and the trace.
    Unsafe(String),
    /// Too many worlds to explore them all; nothing went wrong in those explored.
    Unknown,
}

pub(in crate::relation) struct Oracle<'a> {
    pub(in crate::relation) client: &'a Automaton,
    pub(in crate::relation) server: &'a Automaton,
    pub(in crate::relation) messages: &'a [Message],
    pub(in crate::relation) bound: usize,
    pub(in crate::relation) worlds: usize,
}

/// How many sub-sessions may live at once.
const SUB_SESSIONS: usize = 2;

/// In how many worlds, of all that were explored so far, as many sub-sessions as may were alive on both sides.
pub(in crate::relation) static CROWDED: AtomicUsize = AtomicUsize::new(0);

impl Oracle<'_> {
    pub(in crate::relation) fn judge(&self) -> Verdict {
        let start = World {
            main: [self.expand(0, StateIndex(0)), self.expand(1, StateIndex(0))],
            inbox: [VecDeque::new(), VecDeque::new()],
            sub_sessions: Vec::new(),
            exchanges: Vec::new(),
        };
        let mut parents: HashMap<World, Option<(World, String)>> = HashMap::new();
        parents.insert(start.clone(), None);
        let mut waiting = VecDeque::from([start]);
        let mut complete = true;
        while let Some(world) = waiting.pop_front() {
            let lives =
                |sub_session: &&Copied| sub_session.lives.iter().all(|life| matches!(life, Life::At(_)));
            CROWDED
                .fetch_add(world.sub_sessions.iter().filter(lives).count() / SUB_SESSIONS, Ordering::Relaxed);
            match self.next(&world) {
                Err(what) => return Verdict::Unsafe(self.tell(&parents, &world, &what)),
                Ok(next) => {
                    for (step, mut world_after) in next {
                        tidy(&mut world_after);
                        if parents.len() >= self.worlds {
                            complete = false;
                            continue;
                        }
                        if !parents.contains_key(&world_after) {
                            parents.insert(world_after.clone(), Some((world.clone(), step)));
                            waiting.push_back(world_after);
                        }
                    }
                }
            }
        }
        if complete { Verdict::Safe } else { Verdict::Unknown }
    }

    fn tell(&self, parents: &HashMap<World, Option<(World, String)>>, world: &World, what: &str) -> String {
        let mut steps = Vec::new();
        let mut at = world;
        while let Some(Some((before, step))) = parents.get(at) {
            steps.push(step.clone());
            at = before;
        }
        steps.reverse();
        format!(
            "{what} after [{}]\nclient: {}\nserver: {}",
            steps.join(", "),
            show(self.client, self.messages),
            show(self.server, self.messages)
        )
    }

    fn role(&self, side: usize) -> &Automaton {
        if side == 0 { self.client } else { self.server }
    }

    fn expand(&self, side: usize, target: StateIndex) -> Vec<StateIndex> {
        let state = &self.role(side).states[target.0 as usize];
        if state.kind != StateKind::Fork {
            return vec![target];
        }
        let mut all: Vec<_> = state.parts.iter().flat_map(|&part| self.expand(side, part)).collect();
        all.sort();
        all
    }

    fn edges<'s>(
        &'s self,
        side: usize,
        at: &'s [StateIndex],
        direction: Direction,
    ) -> impl Iterator<Item = (StateIndex, &'s Edge)> + 's {
        let states = &self.role(side).states;
        at.iter().flat_map(move |&from| {
            let edges = states[from.0 as usize].edges.iter();
            edges.filter(move |edge| edge.direction == direction).map(move |edge| (from, edge))
        })
    }

    fn edge(
        &self,
        side: usize,
        at: &[StateIndex],
        direction: Direction,
        message: MessageIndex,
    ) -> Option<(StateIndex, Edge)> {
        let mut edges = self.edges(side, at, direction);
        edges.find(|(_, edge)| edge.message == message).map(|(from, edge)| (from, edge.clone()))
    }

    fn moved(&self, side: usize, at: &[StateIndex], from: StateIndex, action: Action) -> Vec<StateIndex> {
        let Action::Step(target) = action else { return at.to_vec() };
        let mut rest = at.to_vec();
        let place = rest.iter().position(|&other| other == from).unwrap();
        rest.remove(place);
        rest.extend(self.expand(side, target));
        rest.sort();
        rest
    }

    fn life(&self, side: usize, at: Vec<StateIndex>) -> Life {
        let over = at.iter().all(|state| self.role(side).states[state.0 as usize].kind == StateKind::End);
        if over { Life::Ended } else { Life::At(at) }
    }

    /// The notification that takes a sub-session back; it needs no edge.
    fn cancel(&self) -> MessageIndex {
        let place = self.messages.iter().position(|message| message.table.name == "Cancel");
        MessageIndex(place.map_or(u16::MAX, |place| u16::try_from(place).unwrap()))
    }

    /// Whether a message of a sub-session is a step of it, and does not belong to one of its requests.
    fn is_step(&self, message: MessageIndex) -> bool {
        matches!(self.kind(message), Kind::Request | Kind::Notification) && message != self.cancel()
    }

    /// Whether sub-sessions take no step in a direction, for one side.
    fn is_suspended(&self, side: usize, world: &World, direction: Direction) -> bool {
        world.main[side].iter().any(|state| self.role(side).states[state.0 as usize].only.suspends(direction))
    }

    fn name(&self, message: MessageIndex) -> &str {
        &self.messages[usize::from(message.0)].table.name
    }

    fn kind(&self, message: MessageIndex) -> Kind {
        self.messages[usize::from(message.0)].table.kind
    }

    /// Every world after one step.
    fn next(&self, world: &World) -> Result<Vec<(String, World)>, String> {
        let mut next = Vec::new();
        for side in [0, 1] {
            let who = if side == 0 { "client" } else { "server" };
            if let Some(&item) = world.inbox[side].front() {
                let mut after = world.clone();
                after.inbox[side].pop_front();
                self.receive(&mut after, side, item)?;
                next.push((format!("{who} ?{}", self.name(item.message)), after));
            }
            if world.inbox[1 - side].len() >= self.bound {
                continue;
            }
            let sends: Vec<(StateIndex, Edge)> = self
                .edges(side, &world.main[side], Direction::Send)
                .map(|(from, edge)| (from, edge.clone()))
                .collect();
            for (from, edge) in sends.iter().filter(|(_, edge)| edge.origin != Origin::Closure) {
                self.takes(world, side, *from, edge)?;
                if let Some(after) = self.send(world, side, edge) {
                    self.lag(world, side, edge)?;
                    next.push((format!("{who} !{}", self.name(edge.message)), after));
                }
            }
            for (index, sub_session) in world.sub_sessions.iter().enumerate() {
                let Life::At(at) = &sub_session.lives[side] else { continue };
                if sub_session.cancellable == Some(side) {
                    let mut after = world.clone();
                    after.sub_sessions[index].lives[side] = Life::Ended;
                    let item = Item { message: self.cancel(), tag: Tag::SubSession(sub_session.number) };
                    after.inbox[1 - side].push_back(item);
                    next.push((format!("{who} #{} cancels", sub_session.number), after));
                }
                let sends: Vec<(StateIndex, Edge)> =
                    self.edges(side, at, Direction::Send).map(|(from, edge)| (from, edge.clone())).collect();
                for (from, edge) in sends.iter().filter(|(_, edge)| edge.origin != Origin::Closure) {
                    if self.is_step(edge.message) && self.is_suspended(side, world, Direction::Send) {
                        continue;
                    }
                    self.sub_session_lag(world, side, index, *from, edge)?;
                    let mut after = world.clone();
                    let moved = self.moved(side, at, *from, edge.action);
                    after.sub_sessions[index].lives[side] = self.life(side, moved);
                    let item = Item { message: edge.message, tag: Tag::SubSession(sub_session.number) };
                    after.inbox[1 - side].push_back(item);
                    next.push((format!("{who} #{} !{}", sub_session.number, self.name(edge.message)), after));
                }
            }
        }
        if world.inbox.iter().all(VecDeque::is_empty) {
            self.rest(world)?;
        }
        Ok(next)
    }

    /// What is sent in one channel is the step of that channel, and not of another one that is found first.
    fn takes(&self, world: &World, side: usize, from: StateIndex, edge: &Edge) -> Result<(), String> {
        let found = self.edge(side, &world.main[side], Direction::Send, edge.message);
        match found {
            Some((place, other)) if (place, other.action) == (from, edge.action) => Ok(()),
            // A `*` in parallel with several channels is an edge of each.
            Some((_, other)) if other.action == edge.action && matches!(edge.action, Action::Spawn(_)) => {
                Ok(())
            }
            _ => Err(format!("`!{}` is taken by another channel", self.name(edge.message))),
        }
    }

    /// A message of the main channels; `None` where it would open one sub-session too many.
    fn send(&self, world: &World, side: usize, edge: &Edge) -> Option<World> {
        let (from, _) = self.edge(side, &world.main[side], Direction::Send, edge.message).unwrap();
        let mut after = world.clone();
        after.main[side] = self.moved(side, &world.main[side], from, edge.action);
        let tag = match (edge.action, self.kind(edge.message)) {
            (Action::Spawn(body), _) => {
                if world.sub_sessions.len() >= SUB_SESSIONS {
                    return None;
                }
                let number = (0..)
                    .find(|n| world.sub_sessions.iter().all(|sub_session| sub_session.number != *n))
                    .unwrap();
                let mut lives = [Life::Unborn, Life::Unborn];
                lives[side] = self.life(side, self.expand(side, body));
                let table = &self.messages[usize::from(edge.message.0)].table;
                let cancellable = table.cancellable.then_some(side);
                after.sub_sessions.push(Copied { number, lives, cancellable });
                Tag::SubSession(number)
            }
            (Action::Step(_), Kind::Request) => {
                let number = (0..).find(|n| world.exchanges.iter().all(|known| known.number != *n)).unwrap();
                let request = edge.message;
                after.exchanges.push(Exchange { number, asker: side, request, awaited: true, owed: false });
                Tag::Request(number)
            }
            (Action::Step(_), Kind::Reply { request } | Kind::Refusal { request }) => {
                let open =
                    |known: &&mut Exchange| known.asker != side && known.request == request && known.owed;
                let exchange = after.exchanges.iter_mut().find(open).unwrap();
                exchange.owed = false;
                Tag::Request(exchange.number)
            }
            (Action::Step(_), Kind::Notification) if edge.origin == Origin::Cancel => {
                let open = |known: &&mut Exchange| known.asker == side && known.awaited;
                let exchange = after.exchanges.iter_mut().find(open).unwrap();
                exchange.awaited = false;
                Tag::Request(exchange.number)
            }
            (Action::Step(_), Kind::Notification) => Tag::Main,
        };
        after.inbox[1 - side].push_back(Item { message: edge.message, tag });
        Some(after)
    }

    fn receive(&self, world: &mut World, side: usize, item: Item) -> Result<(), String> {
        let who = if side == 0 { "client" } else { "server" };
        let unexpected = || format!("unexpected `{}` at the {who}", self.name(item.message));
        if let Tag::Request(number) = item.tag {
            let exchange = world.exchanges.iter_mut().find(|known| known.number == number).unwrap();
            match self.kind(item.message) {
                Kind::Request => exchange.owed = true,
                Kind::Reply { .. } | Kind::Refusal { .. } => {
                    if !exchange.awaited {
                        return Ok(());
                    }
                    exchange.awaited = false;
                }
                Kind::Notification => {
                    if !exchange.owed {
                        return Ok(());
                    }
                    exchange.owed = false;
                }
            }
        }
        if let Tag::SubSession(number) = item.tag {
            let index =
                world.sub_sessions.iter().position(|sub_session| sub_session.number == number).unwrap();
            let opens = world.sub_sessions[index].lives[side] == Life::Unborn;
            if !opens && self.is_step(item.message) && self.is_suspended(side, world, Direction::Receive) {
                return Err(unexpected());
            }
            match world.sub_sessions[index].lives[side].clone() {
                Life::At(_) if item.message == self.cancel() => {
                    world.sub_sessions[index].lives[side] = Life::Ended;
                }
                // Its id or its key swallows what is late for it.
                Life::Ended => {}
                Life::At(at) => {
                    let edge = self.edge(side, &at, Direction::Receive, item.message);
                    let (from, edge) = edge.ok_or_else(unexpected)?;
                    let moved = self.moved(side, &at, from, edge.action);
                    world.sub_sessions[index].lives[side] = self.life(side, moved);
                }
                Life::Unborn => {
                    let edge = self.edge(side, &world.main[side], Direction::Receive, item.message);
                    let Some((_, Edge { action: Action::Spawn(body), .. })) = edge else {
                        return Err(unexpected());
                    };
                    world.sub_sessions[index].lives[side] = self.life(side, self.expand(side, body));
                }
            }
            return Ok(());
        }
        let edge = self.edge(side, &world.main[side], Direction::Receive, item.message);
        let (from, edge) = edge.ok_or_else(unexpected)?;
        if matches!(edge.action, Action::Spawn(_)) {
            return Err(unexpected());
        }
        world.main[side] = self.moved(side, &world.main[side], from, edge.action);
        Ok(())
    }
}

/// Forgets sub-sessions that are over and requests that are settled, once nothing on its way names them.
fn tidy(world: &mut World) {
    let tags: Vec<Tag> = world.inbox.iter().flatten().map(|item| item.tag).collect();
    world.sub_sessions.retain(|sub_session| {
        let over = |life: &Life| *life == Life::Ended;
        !sub_session.lives.iter().all(over) || tags.contains(&Tag::SubSession(sub_session.number))
    });
    world.exchanges.retain(|known| known.awaited || known.owed || tags.contains(&Tag::Request(known.number)));
    world.sub_sessions.sort_by_key(|sub_session| sub_session.number);
    world.exchanges.sort_by_key(|known| known.number);
}
