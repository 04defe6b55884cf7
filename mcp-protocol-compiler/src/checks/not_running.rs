//! Messages that stand only where no request runs during which they are permitted.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};

use super::gates::{NEVER_OPEN, worst_of_each_place};
use crate::automaton::{Automaton, Edge, State};
use crate::compiled::Compiled;
use crate::declarations::{Declarations, During, Message};
use crate::diagnostic::{Diagnostic, Edit};
use crate::reach::reachable;
use crate::source::Span;

/// Looks at both roles; what is wrong in one place of the text is reported once.
pub(super) fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let machines = compiled.client.iter().chain(&compiled.server);
    worst_of_each_place(
        machines.flat_map(|machine| MachineWalk::new(machine, &compiled.declarations).findings()),
    )
}

/// How often the machine is walked again, because what was found closes more. What a later walk would find is not said.
const ROUNDS: usize = 8;

/// How many edges all walks of one round may pass. In a larger protocol nothing is looked for.
const MOST_EDGES: usize = 10_000_000;

/// The places of one role's machine.
///
/// Requests that run side by side with other steps may run at any time: those that open an instance of a `*`, and those in
/// its body or in one of several channels. Any other one runs from its step to its reply.
struct MachineWalk<'a> {
    machine: &'a Automaton,
    declarations: &'a Declarations,
    /// Every modifier of a message that occurs, by what it says.
    during: BTreeMap<(Direction, &'a [MessageIndex]), &'a During>,
    /// The states that run side by side with others: of the body of a `*`, or of one of several channels.
    beside: BTreeSet<usize>,
}

/// Where some request may run.
enum Running {
    Anywhere,
    In(BTreeSet<usize>),
}

/// An edge, by its state and its place there.
type EdgePlace = (usize, usize);

impl<'a> MachineWalk<'a> {
    fn new(machine: &'a Automaton, declarations: &'a Declarations) -> MachineWalk<'a> {
        let mut walk =
            MachineWalk { machine, declarations, during: BTreeMap::new(), beside: BTreeSet::new() };
        let edges = || machine.states.iter().flat_map(|state| &state.edges);
        for edge in edges() {
            for during in declarations.message(edge.message).into_iter().flat_map(|message| &message.during) {
                walk.during.entry((edge.direction, &during.table.requests)).or_insert(during);
            }
        }
        if walk.during.len().saturating_mul(edges().count()) > MOST_EDGES {
            walk.during.clear();
        }
        if !walk.during.is_empty() {
            let parts = machine.states.iter().flat_map(|fork| fork.parts.iter().map(|part| number(*part)));
            walk.beside = walk.reached(parts, |_, _| true);
            let bodies = machine.states.iter().enumerate().filter(|(_, state)| state.body);
            walk.beside.extend(bodies.map(|(state, _)| state));
        }
        walk
    }

    fn findings(&self) -> Vec<(Span, Diagnostic)> {
        let mut closed: BTreeMap<EdgePlace, &During> = BTreeMap::new();
        // What lies behind a closed edge opens nothing, so each round may close more.
        for _ in 0..ROUNDS {
            let now = self.closed(&self.reached([0], |_, place| !closed.contains_key(&place)), &closed);
            if now.len() == closed.len() {
                break;
            }
            closed = now;
        }
        if closed.is_empty() {
            return Vec::new();
        }
        let reached = self.reached([0], |_, place| !closed.contains_key(&place));
        let taken: BTreeSet<_> = reached
            .iter()
            .flat_map(|state| self.edges(*state))
            // What comes late was sent where it is written.
            .filter(|(place, edge)| edge.origin != Origin::Closure && !closed.contains_key(place))
            .map(|(_, edge)| (edge.direction == Direction::Send, edge.message))
            .collect();
        let mut found = Vec::new();
        for state in reached {
            let stuck = self.state(state).is_some_and(|table| {
                let ends = table.may_close || table.peer_may_close || table.kind == StateKind::End;
                !ends && table.parts.is_empty()
            }) && self
                .edges(state)
                .all(|(place, edge)| edge.origin == Origin::Closure || closed.contains_key(&place));
            for (place, edge) in self.edges(state) {
                let Some(during) = closed.get(&place) else { continue };
                let nowhere = !taken.contains(&(edge.direction == Direction::Send, edge.message));
                // What may be opened at any time is closed for a while in most sessions.
                if matches!(edge.action, Action::Spawn(_)) && !nowhere {
                    continue;
                }
                let Some(message) = self.declarations.message(edge.message) else { continue };
                found.push((edge.span, not_running(edge.span, message, during, nowhere || stuck)));
            }
        }
        found
    }

    /// The written edges of some states whose message is not permitted there, each with the modifier that says so.
    fn closed(
        &self,
        reached: &BTreeSet<usize>,
        before: &BTreeMap<EdgePlace, &'a During>,
    ) -> BTreeMap<EdgePlace, &'a During> {
        let running: BTreeMap<_, Running> = self
            .during
            .iter()
            .map(|((direction, requests), during)| {
                ((*direction, *requests), self.running(*direction, during, reached, before))
            })
            .collect();
        let mut closed: BTreeMap<EdgePlace, &During> = BTreeMap::new();
        for (place, edge) in reached.iter().flat_map(|state| self.edges(*state)) {
            let message = self.declarations.message(edge.message);
            let mut during = message.into_iter().flat_map(|message| &message.during);
            let shut = during.find(|during| match running.get(&(edge.direction, &*during.table.requests)) {
                Some(Running::In(states)) if self.beside.contains(&place.0) => states.is_empty(),
                Some(Running::In(states)) => !states.contains(&place.0),
                Some(Running::Anywhere) | None => false,
            });
            if let Some(during) = shut.filter(|_| edge.origin == Origin::Written) {
                closed.insert(place, during);
            }
        }
        closed
    }

    /// Where the requests may run during which a message is permitted that goes in a direction.
    fn running(
        &self,
        direction: Direction,
        during: &During,
        reached: &BTreeSet<usize>,
        closed: &BTreeMap<EdgePlace, &'a During>,
    ) -> Running {
        let is_one = |request: MessageIndex| during.table.requests.contains(&request);
        let mut starts: Vec<usize> = Vec::new();
        for (place, edge) in reached.iter().flat_map(|state| self.edges(*state)) {
            if edge.direction == direction || !is_one(edge.message) || closed.contains_key(&place) {
                continue;
            }
            match edge.action {
                Action::Step(to) if !self.beside.contains(&place.0) => starts.push(number(to)),
                Action::Step(_) | Action::Spawn(_) => return Running::Anywhere,
            }
        }
        let ends = |edge: &Edge| {
            let kind = self.declarations.message(edge.message).map(|message| message.table.kind);
            let ended = match kind {
                Some(Kind::Reply { request } | Kind::Refusal { request }) => Some(request),
                _ => edge.cancels,
            };
            ended.is_some_and(is_one)
        };
        Running::In(self.reached(starts, |edge, place| !ends(edge) && !closed.contains_key(&place)))
    }

    /// The states that some edges lead to.
    fn reached(
        &self,
        starts: impl IntoIterator<Item = usize>,
        passes: impl Fn(&Edge, EdgePlace) -> bool,
    ) -> BTreeSet<usize> {
        let next = |state: usize| {
            let parts = self.state(state).into_iter().flat_map(|table| table.parts.iter().copied());
            let edges = self.edges(state).filter(|(place, edge)| passes(edge, *place));
            let targets = edges.map(|(_, edge)| match edge.action {
                Action::Step(to) | Action::Spawn(to) => to,
            });
            parts.chain(targets).map(number).collect::<Vec<usize>>()
        };
        reachable(starts, next).into_iter().collect()
    }

    fn state(&self, state: usize) -> Option<&'a State> {
        self.machine.states.get(state)
    }

    fn edges(&self, state: usize) -> impl Iterator<Item = (EdgePlace, &'a Edge)> + 'a {
        let edges = self.state(state).into_iter().flat_map(|table| &table.edges).enumerate();
        edges.map(move |(place, edge)| ((state, place), edge))
    }
}

fn number(state: StateIndex) -> usize {
    usize::try_from(state.0).unwrap_or(usize::MAX)
}

/// A step that needs a request which does not run there. `never` says that no session comes past it.
fn not_running(place: Span, message: &Message, during: &During, never: bool) -> Diagnostic {
    let sent = &message.table.name;
    let names: Vec<String> = during.names.iter().map(|(name, _)| format!("`{}`", name.text)).collect();
    let (requests, several) = (names.join(" or "), names.len() > 1);
    let text = match several {
        true => format!("`{sent}` is permitted only during {requests}, and none of them runs here"),
        false => format!("`{sent}` is permitted only during {requests}, which does not run here"),
    };
    let (finding, label) = match never {
        true => (Diagnostic::error(NEVER_OPEN, place, text), "no session comes past this"),
        false => (Diagnostic::warning(NEVER_OPEN, place, text), "this branch is never open here"),
    };
    finding
        .label(label)
        .also(during.span, "the gate")
        .suggest("delete this `during`", [Edit::delete(during.span)])
        .with_note(format!(
            "`{sent}` has to come between the request and its reply, or side by side with them"
        ))
}
