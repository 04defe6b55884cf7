//! The semantics of a session type, read off the tree: no automaton, no minimising, no closing of the diamond.
//!
//! A [`Reading`] has places in the text, and [`Program`]s are at such places and do one action after the other. Queues,
//! ids and the tables of the machine are not used here.
//!
//! A linear channel is a [`Thread`]: a place, and the requests that are open in it, each with the place that a refusal
//! leads back to. A `*` that runs for the rest of the session is a star of the program; one that is a branch of a
//! choice is there as long as a thread is at that choice. A sub-session of a `*` body is a program of its own, with
//! threads and stars as a role's.

mod ahead;
mod memory;
mod nesting;
mod tree;
mod uncorrelated;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use mcp_protocol_compiler::ast::Operator;
use mcp_protocol_compiler::declarations::{Meaning, Resolution};
use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, KeyIndex, Kind, MessageIndex, Side};

use memory::Memory;

/// A place in the text.
pub(crate) type Place = usize;

/// Where the refusal of the request that opens a sub-session leads: nothing is left.
const NOWHERE: Place = usize::MAX;

#[derive(Debug)]
enum Node {
    Pending,
    Reference(Place),
    End,
    Choice(Vec<Branch>, Option<Operator>),
    Parallel(Vec<Place>),
    Star(Place),
}

#[derive(Clone, Debug)]
enum Branch {
    Action { direction: Direction, name: String, next: Place, rule: Option<String> },
    Other(Place),
}

/// A request that a thread has open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) direction: Direction,
    pub(crate) request: MessageIndex,
    pub(crate) id: RequestId,
    back: Place,
    /// In which directions sub-sessions are suspended there.
    suspended: Suspensions,
}

/// Which ways sub-sessions rest: what goes in direction `Send`, and in direction `Receive`.
pub(crate) type Suspensions = [bool; 2];

/// The place of a direction in [`Suspensions`].
pub(crate) fn way(direction: Direction) -> usize {
    usize::from(direction == Direction::Receive)
}

/// One linear channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) at: Place,
    pub(crate) asked: Vec<Asked>,
}

/// A role's program, or one side of a sub-session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Thread>,
    pub(crate) stars: Vec<Place>,
    pub(crate) suspended: Suspensions,
    /// The body of a sub-session, in which nothing opens once its threads have ended.
    pub(crate) body: Option<Place>,
}

/// What a thread may do.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) direction: Direction,
    pub(crate) message: MessageIndex,
    /// For a reply and a refusal: the id of the request.
    pub(crate) id: Option<RequestId>,
    /// The rule that advises against it here.
    rule: Option<String>,
    next: Place,
    /// For an implied refusal: what is suspended in the state that it leads back to.
    suspended: Option<Suspensions>,
}

/// The messages that can come from a place on.
pub(crate) type Alphabet = Rc<HashSet<(Direction, MessageIndex)>>;

/// A role's session type.
pub(crate) struct Reading<'a> {
    resolution: &'a Resolution,
    nodes: Vec<Node>,
    start: Place,
    definitions: HashMap<(usize, Side, bool), Place>,
    /// The places in the text of definitions with `only`, and these definitions themselves.
    only: HashMap<Place, Suspensions>,
    only_definitions: HashMap<Place, Suspensions>,
    /// Whether the text of one is being read.
    in_only: Option<Suspensions>,
    /// The bodies of which sub-sessions can be opened in some state that the role can come to, and where each stands.
    opened: HashMap<Place, Around>,
    /// What a step of a sub-session is where it is uncorrelated, because its key is open.
    uncorrelated: HashMap<(Direction, MessageIndex), Place>,
    memory: Memory,
}

/// From whose point of view text is read.
#[derive(Clone, Copy)]
struct View {
    side: Side,
    flipped: bool,
}

impl<'a> Reading<'a> {
    /// What the text declares.
    pub(crate) fn resolution(&self) -> &'a Resolution {
        self.resolution
    }

    pub(crate) fn new(resolution: &'a Resolution, side: Side) -> Reading<'a> {
        let mut reading = Reading {
            resolution,
            nodes: Vec::new(),
            start: 0,
            definitions: HashMap::new(),
            only: HashMap::new(),
            only_definitions: HashMap::new(),
            in_only: None,
            opened: HashMap::new(),
            uncorrelated: HashMap::new(),
            memory: Memory::default(),
        };
        let role = resolution.roles.iter().find(|role| role.side == side).unwrap();
        reading.start = reading.named(&role.name.text, View { side, flipped: false });
        reading.opened = reading.find_opened();
        reading.find_uncorrelated();
        reading
    }

    /// Where a place really is: names followed, parentheses gone.
    fn settle(&self, mut place: Place) -> Place {
        loop {
            place = match &self.nodes[place] {
                Node::Reference(to) => *to,
                Node::Choice(branches, _) => match branches.as_slice() {
                    [Branch::Other(inner)] => *inner,
                    _ => return place,
                },
                _ => return place,
            };
        }
    }

    /// In which directions sub-sessions may rest where a place really is, if they do: it stands in such a definition, or is called by its name.
    fn is_only(&self, mut place: Place) -> Option<Suspensions> {
        let end = self.settle(place);
        while place != end {
            if let Some(ways) = self.only_definitions.get(&place) {
                return Some(*ways);
            }
            place = match &self.nodes[place] {
                Node::Reference(to) => *to,
                Node::Choice(branches, _) => match branches.as_slice() {
                    [Branch::Other(inner)] => *inner,
                    _ => break,
                },
                _ => break,
            };
        }
        match &self.nodes[end] {
            Node::Parallel(parts) => parts.iter().find_map(|part| self.is_only(*part)),
            _ => self.only.get(&end).copied(),
        }
    }

    /// In which directions sub-sessions are suspended after a message.
    fn suspended_after(
        &self,
        before: Suspensions,
        at: Place,
        direction: Direction,
        next: Place,
    ) -> Suspensions {
        let Some(ways) = Some(next).filter(|next| *next != NOWHERE).and_then(|next| self.is_only(next))
        else {
            return [false; 2];
        };
        let mut suspended = before;
        suspended[way(direction)] |= self.settle(next) != at;
        [0, 1].map(|way| suspended[way] && ways[way])
    }

    /// The threads and stars that run once a place is reached.
    fn land(&self, place: Place, program: &mut Program, asked: Vec<Asked>) {
        if place == NOWHERE {
            program.stars.clear();
            return;
        }
        let place = self.settle(place);
        match &self.nodes[place] {
            Node::Parallel(parts) => {
                let is_linear = |part: &Place| !matches!(self.nodes[self.settle(*part)], Node::Star(_));
                let (linear, stars): (Vec<Place>, Vec<Place>) =
                    parts.iter().partition(|part| is_linear(part));
                let linear = if program.body.is_some() { self.without_ends(linear) } else { linear };
                assert!(asked.is_empty() || linear.len() == 1, "no request is open across a fork");
                for part in linear {
                    // What is open goes on in the one channel.
                    self.land(part, program, asked.clone());
                }
                for star in stars {
                    self.land(star, program, Vec::new());
                }
            }
            Node::Star(body) => program.stars.push(self.settle(*body)),
            _ => program.threads.push(Thread { at: place, asked }),
        }
        program.threads.sort();
        program.stars.sort_unstable();
        program.stars.dedup();
    }

    /// The channels of a sub-session that are not at their end from the beginning; one of those if all are.
    fn without_ends(&self, mut channels: Vec<Place>) -> Vec<Place> {
        let goes_on = |channel: &Place| !matches!(self.nodes[self.settle(*channel)], Node::End);
        if channels.iter().any(goes_on) {
            channels.retain(goes_on);
        } else {
            channels.truncate(1);
        }
        channels
    }

    /// Where the role starts.
    pub(crate) fn start(&self) -> Program {
        let mut program = Program::default();
        self.land(self.start, &mut program, Vec::new());
        program
    }

    /// A new sub-session of a body, before its first action.
    pub(crate) fn sub_session(&self, body: Place) -> Program {
        let mut program = Program { body: Some(body), ..Program::default() };
        self.land(body, &mut program, Vec::new());
        program
    }

    /// The branches of a choice and of those in it: actions, and bodies of `*`.
    fn branches(&self, place: Place, visit: &mut impl FnMut(&Branch), stars: &mut Vec<Place>) {
        let Node::Choice(branches, _) = &self.nodes[place] else { return };
        for branch in branches {
            match branch {
                Branch::Action { .. } => visit(branch),
                Branch::Other(inner) => {
                    let inner = self.settle(*inner);
                    match &self.nodes[inner] {
                        Node::Star(body) => stars.push(self.settle(*body)),
                        _ => self.branches(inner, visit, stars),
                    }
                }
            }
        }
    }

    pub(crate) fn kind(&self, message: MessageIndex) -> Kind {
        self.resolution.declarations.messages[usize::from(message.0)].table.kind
    }

    /// What a thread may do here.
    pub(crate) fn moves(&self, thread: &Thread) -> Vec<Move> {
        let declarations = &self.resolution.declarations;
        let mut moves: Vec<Move> = Vec::new();
        let mut visit = |branch: &Branch| {
            let Branch::Action { direction, name, next, rule } = branch else { return };
            let owed = thread.asked.iter().filter(|asked| asked.direction == direction.flip());
            let candidates: Vec<MessageIndex> = match self.resolution.names.get(name) {
                Some(Meaning::Message(message)) => vec![*message],
                Some(Meaning::Group(members)) => members.clone(),
                None => owed.clone().flat_map(|asked| declarations.replies(asked.request)).collect(),
            };
            for message in candidates {
                let id = match self.kind(message) {
                    Kind::Reply { request } | Kind::Refusal { request } => {
                        match owed.clone().find(|asked| asked.request == request) {
                            Some(asked) => Some(asked.id.clone()),
                            None => continue,
                        }
                    }
                    _ => None,
                };
                moves.push(Move {
                    direction: *direction,
                    message,
                    id,
                    rule: rule.clone(),
                    next: *next,
                    suspended: None,
                });
            }
        };
        self.branches(thread.at, &mut visit, &mut Vec::new());
        for asked in &thread.asked {
            let refusal = declarations.refusal(asked.request).unwrap();
            // An error may come where a reply may; the request that opens a sub-session fails at any time.
            let is_reply = |known: &Move| self.kind(known.message) == Kind::Reply { request: asked.request };
            let may_fail = asked.back == NOWHERE || moves.iter().any(is_reply);
            if may_fail && !moves.iter().any(|known| known.message == refusal) {
                let (direction, id) = (asked.direction.flip(), Some(asked.id.clone()));
                let suspended = Some(asked.suspended);
                moves.push(Move { direction, message: refusal, id, rule: None, next: asked.back, suspended });
            }
        }
        moves
    }

    /// A program after a move of one of its threads; `id` is that of the message.
    pub(crate) fn take(
        &self,
        program: &Program,
        thread: usize,
        step: &Move,
        id: Option<&RequestId>,
        opens: bool,
    ) -> Program {
        let mut after = program.clone();
        let Thread { at, mut asked } = after.threads.remove(thread);
        after.suspended = step
            .suspended
            .unwrap_or_else(|| self.suspended_after(program.suspended, at, step.direction, step.next));
        match self.kind(step.message) {
            Kind::Request => {
                let back = if opens { NOWHERE } else { at };
                let (direction, request) = (step.direction, step.message);
                let suspended = program.suspended;
                asked.push(Asked { direction, request, id: id.unwrap().clone(), back, suspended });
            }
            Kind::Notification => {}
            Kind::Reply { .. } | Kind::Refusal { .. } => {
                asked.retain(|open| Some(&open.id) != id || open.direction == step.direction);
            }
        }
        self.land(step.next, &mut after, asked);
        after
    }

    /// A program after a message, if some thread has it.
    pub(crate) fn step(
        &self,
        program: &Program,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        opens: bool,
    ) -> Option<Program> {
        let (place, step) = self.find(program, direction, message, id)?;
        Some(self.take(program, place, &step, id, opens))
    }

    /// The thread that has a message, and its move.
    fn find(
        &self,
        program: &Program,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Option<(usize, Move)> {
        program.threads.iter().enumerate().find_map(|(place, thread)| {
            let fits = |step: &Move| {
                step.direction == direction
                    && step.message == message
                    && (step.id.is_none() || step.id.as_ref() == id)
            };
            Some((place, self.moves(thread).into_iter().find(fits)?))
        })
    }

    /// The rule that advises against a message that a program has.
    pub(crate) fn rule(
        &self,
        program: &Program,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Option<String> {
        self.find(program, direction, message, id).and_then(|(_, step)| step.rule)
    }

    /// A program after a request of a thread was cancelled.
    pub(crate) fn cancel(&self, program: &Program, direction: Direction, id: &RequestId) -> Option<Program> {
        let same = |asked: &Asked| asked.direction == direction && asked.id == *id;
        let place = program.threads.iter().position(|thread| thread.asked.iter().any(same))?;
        let mut after = program.clone();
        let mut thread = after.threads.remove(place);
        let open = thread.asked.iter().position(same)?;
        let asked = thread.asked[open].clone();
        // It leads where the answers lead, which is mostly back.
        let answer = self.moves(&thread).into_iter().find(|step| step.id.as_ref() == Some(id));
        let leads_on = |step: &Move| {
            asked.back != NOWHERE
                && step.suspended.is_none()
                && self.settle(step.next) != self.settle(asked.back)
        };
        let on = answer.filter(leads_on);
        thread.asked.remove(open);
        let (suspended, next) = match on {
            Some(step) => {
                (self.suspended_after(program.suspended, thread.at, step.direction, step.next), step.next)
            }
            None => (asked.suspended, asked.back),
        };
        after.suspended = suspended;
        self.land(next, &mut after, thread.asked);
        Some(after)
    }

    /// The bodies of which sub-sessions may start now, with what they start with; steps that may be uncorrelated are among
    /// them.
    pub(crate) fn openers(&self, program: &Program) -> Vec<(Place, Move)> {
        if program.body.is_some() && self.is_over(program) {
            return Vec::new();
        }
        let running = self.first_steps(&program.stars).into_iter();
        let running = running.filter(|(_, step)| !program.suspended[way(step.direction)]);
        let at_choices = program.threads.iter().flat_map(|thread| self.openers_at(thread));
        let mut openers: Vec<(Place, Move)> = running.chain(at_choices).collect();
        let uncorrelated = self.uncorrelated_bodies(&openers).into_iter();
        openers.extend(uncorrelated.filter(|(_, step)| !program.suspended[way(step.direction)]));
        openers
    }

    /// Those that a thread's choice has as branches.
    pub(crate) fn openers_at(&self, thread: &Thread) -> Vec<(Place, Move)> {
        let mut bodies = Vec::new();
        self.branches(thread.at, &mut |_| {}, &mut bodies);
        self.first_steps(&bodies)
    }

    fn first_steps(&self, bodies: &[Place]) -> Vec<(Place, Move)> {
        let mut openers = Vec::new();
        for body in bodies {
            for thread in &self.sub_session(*body).threads {
                openers.extend(self.moves(thread).into_iter().map(|step| (*body, step)));
            }
        }
        openers
    }

    /// Whether a message may go on with a sub-session, or open one.
    pub(crate) fn is_of_sub_sessions(&self, direction: Direction, message: MessageIndex) -> bool {
        self.bodies().any(|body| self.alphabet(body).contains(&(direction, message)))
    }

    /// Every body of a `*` that the role can come to.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = Place> {
        let bodies = self.nodes.iter().filter_map(|node| match node {
            Node::Star(body) => Some(self.settle(*body)),
            _ => None,
        });
        bodies.filter(|body| self.opened.contains_key(body))
    }

    /// The bodies of which sub-sessions can be opened in some state that a program can come to: elsewhere they rest, or
    /// the text is not used.
    fn opened_from(&self, start: Program) -> HashSet<Place> {
        let (mut seen, mut waiting) = (HashSet::from([start.clone()]), vec![start]);
        let mut opened = HashSet::new();
        while let Some(program) = waiting.pop() {
            opened.extend(self.openers(&program).into_iter().map(|(body, _)| body));
            for (place, thread) in program.threads.iter().enumerate() {
                for step in self.moves(thread) {
                    let id = step.id.clone().unwrap_or_else(|| i64::from(step.message.0).into());
                    let next = self.take(&program, place, &step, Some(&id), false);
                    if seen.insert(next.clone()) {
                        waiting.push(next);
                    }
                }
            }
        }
        opened
    }

    /// The bodies of which a message opens sub-sessions, wherever it may.
    pub(crate) fn opened_by(&self, direction: Direction, message: MessageIndex) -> Vec<Place> {
        let opens = |body: &Place| {
            let mut steps = self.first_steps(&[*body]).into_iter();
            steps.any(|(_, step)| (step.direction, step.message) == (direction, message))
        };
        let bodies: Vec<Place> = self.bodies().filter(opens).collect();
        if bodies.is_empty() {
            self.uncorrelated.get(&(direction, message)).into_iter().copied().collect()
        } else {
            bodies
        }
    }
}

/// Where a body stands.
#[derive(Clone, Debug, Default)]
struct Around {
    /// The bodies around it; `None` for the role itself.
    bodies: HashSet<Option<Place>>,
    /// The keys of these, which tell sub-sessions of this one apart nowhere.
    keys: HashSet<KeyIndex>,
}

/// Who may end a session, as far as one linear channel says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) over: bool,
    pub(crate) own: bool,
    pub(crate) peer: bool,
    pub(crate) reaches: bool,
}
