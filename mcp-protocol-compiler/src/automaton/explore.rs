//! Explores the states of a role: turns a [`Graph`] into a [`Raw`] automaton.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Only, Origin, StateKind};

use super::finding::{Finding, FindingKind, errors};
use super::graph::{Graph, NodeId};
use super::normal_form::{ChoiceHead, Head, Heads, ParallelHead};
use super::open::{OpenSet, OpenSets};
use super::raw::{Owner, Raw, RawEdge, RawState};
use crate::declarations::Resolution;
use crate::hash::{Map, Set};
use crate::source::Span;

use repeated::Told;

mod answers;
mod bodies;
mod messages;
mod only;
mod overlaps;
mod predecessors;
mod repeated;

/// Two places are one state if they are the same text with the same requests open and the same channels running.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct StateKey {
    node: NodeId,
    open: OpenSet,
    running: usize,
    owner: Owner,
    only: Only,
}

/// By which way a place is reached.
#[derive(Clone, Copy, Default)]
struct Via {
    /// The action, where there is one in the text.
    span: Option<Span>,
    /// The message's direction, and the place before it with what is suspended there; nothing at the start of a session
    /// or of a sub-session.
    before: Option<(Direction, NodeId, Only)>,
}

/// Channels that run side by side from here on.
struct Start {
    /// The states of the linear ones.
    linear: Vec<usize>,
    /// The number of the set of bodies.
    running: usize,
}

/// How often something was asked, and how many states were looked at for the answers.
#[derive(Clone, Copy, Default)]
struct Questions {
    asked: usize,
    states: usize,
}

pub(super) struct Explorer<'a> {
    heads: Heads<'a>,
    resolution: &'a Resolution,
    findings: &'a mut Vec<Finding>,
    states: Vec<RawState>,
    keys: Map<StateKey, usize>,
    /// States that are numbered and not yet looked at.
    waiting: Vec<(usize, StateKey)>,
    /// Sets of `*` bodies, each once; the first is empty.
    running: Vec<Vec<NodeId>>,
    running_numbers: HashMap<Vec<NodeId>, usize>,
    bodies: HashMap<NodeId, Vec<RawEdge>>,
    /// Where each body was last seen to start to run, and the places at which one that runs already is to run again.
    stars: HashMap<NodeId, Span>,
    twins: BTreeMap<(Span, Span), NodeId>,
    /// Which requests are open in each state.
    open: Vec<OpenSet>,
    open_sets: OpenSets,
    /// Where channels start.
    starts: Vec<Start>,
    /// The definition with `only` that each state is of.
    only: Vec<Option<usize>>,
    /// Whether something stood on the way that could not be read; it has been reported.
    broken: bool,
    /// How many edges there are so far.
    count: usize,
    /// Whether there are too many of them, or of names, which has been reported.
    full: bool,
    /// The references by which each state was reached, and the definitions that it has its names from.
    reached: Set<(usize, NodeId)>,
    named: Set<(usize, usize)>,
    /// The state whose edges are being found.
    current: Option<usize>,
    /// What findings cost that asked for the way to their place.
    questions: Cell<Questions>,
    told: Told,
    /// How often each place was looked at with several requests open.
    sets_seen: Map<NodeId, usize>,
}

/// How many edges a machine may have.
const MOST_EDGES: usize = 1_000_000;

/// How many states a machine may have.
const MOST_STATES: usize = 250_000;

/// With how many sets of open requests a place is looked at when there is an error already.
const MOST_SETS_WITH_ERRORS: usize = 64;

/// How many names states may have in all.
const MOST_NAMES: usize = 1_000_000;

/// Explores one role from its first node.
pub(super) fn explore(
    graph: &Graph<'_>,
    start: NodeId,
    resolution: &Resolution,
    findings: &mut Vec<Finding>,
) -> Option<Raw> {
    let before = errors(findings);
    let told = Told::behind(findings);
    let mut explorer = Explorer {
        heads: Heads::new(graph, resolution),
        resolution,
        findings,
        states: Vec::new(),
        keys: Map::default(),
        waiting: Vec::new(),
        running: vec![Vec::new()],
        running_numbers: HashMap::from([(Vec::new(), 0)]),
        bodies: HashMap::new(),
        stars: HashMap::new(),
        twins: BTreeMap::new(),
        open: Vec::new(),
        open_sets: OpenSets::default(),
        starts: Vec::new(),
        only: Vec::new(),
        broken: false,
        count: 0,
        full: false,
        reached: Set::default(),
        named: Set::default(),
        current: None,
        questions: Cell::default(),
        told,
        sets_seen: Map::default(),
    };
    let start = explorer.target(start, OpenSet::EMPTY, 0, Owner::Session, Via::default())?;
    explorer.run();
    // What follows looks along the edges, and what is in error has none, be it an action or a name that means
    // nothing: it would only repeat what is known.
    if explorer.broken {
        return None;
    }
    explorer.useless_marks();
    if errors(explorer.findings) == 0 {
        explorer.unanswered();
        super::sub_sessions::no_steps(&explorer.states, &resolution.declarations, explorer.findings);
        let seen =
            super::sub_sessions::valueless(&explorer.states, &resolution.declarations, explorer.findings);
        super::sub_sessions::keyless(&explorer.states, &resolution.declarations, seen, explorer.findings);
        let open = (explorer.open.as_slice(), &explorer.open_sets);
        let missing = super::replies::missing(&explorer.states, open, &resolution.declarations);
        explorer.findings.extend(missing);
        explorer.overlaps();
    }
    let mut states = std::mem::take(&mut explorer.states);
    super::open_keys::add(&mut states, &resolution.declarations);
    (errors(findings) == before).then_some(Raw { states, start })
}

impl Explorer<'_> {
    fn run(&mut self) {
        while let Some((state, key)) = self.waiting.pop() {
            let Head::Choice(choice) = self.heads.head(key.node, self.findings) else { continue };
            if self.seen_enough(&key) {
                continue;
            }
            self.current = Some(state);
            let mut edges = self.edges(&choice, &key);
            let own = edges.len();
            self.count += own;
            let span = self.states.get(state).map_or(Span::default(), |place| place.span);
            edges.extend(self.spawns(key.running, key.only, span));
            if self.states.len() > MOST_STATES {
                self.too_large(span);
            }
            self.told.forget_repeated(self.findings);
            if self.full {
                return;
            }
            if let Some(place) = self.states.get_mut(state) {
                place.edges = edges;
                place.own = own;
            }
        }
    }

    /// Whether there is an error and a place has been looked at with so many sets of open requests that further ones
    /// would tell nothing new.
    fn seen_enough(&mut self, key: &StateKey) -> bool {
        if !self.open_sets.asked_twice(key.open) {
            return false;
        }
        let seen = self.sets_seen.entry(key.node).or_default();
        *seen += 1;
        *seen > MOST_SETS_WITH_ERRORS && self.told.errors()
    }

    /// Reports that there is more than can be built, and what makes it so: where most of the states are one place of
    /// the text, each with another set of open requests, that is it.
    fn too_large(&mut self, place: Span) {
        if std::mem::replace(&mut self.full, true) {
            return;
        }
        self.broken = true;
        let mut sets: Map<NodeId, usize> = Map::default();
        for key in self.keys.keys().filter(|key| self.open_sets.asked_twice(key.open)) {
            *sets.entry(key.node).or_default() += 1;
        }
        let most = sets.into_iter().max_by_key(|(node, count)| (*count, std::cmp::Reverse(*node)));
        self.findings.push(match most {
            Some((node, count)) if count > self.states.len() / 4 => {
                FindingKind::TooManyOpenSets(count).at(self.heads.graph.span(node))
            }
            _ if self.count > MOST_EDGES => FindingKind::TooManyEdges(MOST_EDGES).at(place),
            _ => FindingKind::TooManyStates(MOST_STATES).at(place),
        });
    }

    /// The state behind a node; `None` if something wrong stands there.
    fn target(
        &mut self,
        node: NodeId,
        open: OpenSet,
        running: usize,
        owner: Owner,
        via: Via,
    ) -> Option<usize> {
        let end = self.heads.end(node);
        let head = self.heads.head(end, self.findings);
        let marked = self.marked(node);
        if let Some(marked) = marked
            && let Some(found) = self.no_place_for_only(marked.definition, &head, owner != Owner::Session)
        {
            self.findings.push(found);
            return None;
        }
        let only = self.suspension(end, marked, via);
        match head {
            Head::Broken => {
                self.broken = true;
                None
            }
            Head::End | Head::Choice(_) => {
                let kind = if matches!(head, Head::End) { StateKind::End } else { StateKind::Linear };
                let key = StateKey { node: end, open, running, owner, only };
                let state = self.state(key, kind, Vec::new(), node, &head);
                if let Some(slot) = self.only.get_mut(state) {
                    *slot = slot.or(marked.map(|marked| marked.definition));
                }
                Some(state)
            }
            Head::Parallel(ref parallel) => {
                let key = StateKey { node: end, open, running, owner, only };
                self.target_of_channels(key, node, &head, parallel, via)
            }
        }
    }

    /// The state in which channels start side by side. `from` is the node that leads there, and `key` that of the state, in
    /// which the channels themselves do not run yet.
    fn target_of_channels(
        &mut self,
        key: StateKey,
        from: NodeId,
        head: &Head<'_>,
        parallel: &ParallelHead,
        via: Via,
    ) -> Option<usize> {
        let StateKey { open, owner, .. } = key;
        let span = via.span.unwrap_or_default();
        let channels = match owner {
            Owner::Session => parallel.linear.clone(),
            Owner::SubSession(_) | Owner::Part(_) => self.without_ends(&parallel.linear),
        };
        // With one linear channel, that is where they go on.
        if !open.is_empty() && channels.len() != 1 {
            let requests = self.open_sets.requests(open);
            self.findings.extend(requests.map(|request| FindingKind::OpenAcrossChannels(request).at(span)));
            return None;
        }
        let running = self.more_running(key.running, &parallel.replicated);
        let key = StateKey { running, ..key };
        match channels.as_slice() {
            [] => {
                let state = self.state(key, StateKind::Replicated, Vec::new(), from, head);
                self.add_spawns(state, key, span);
                self.starts.push(Start { linear: vec![state], running });
                Some(state)
            }
            [single] => {
                let state = self.target(*single, open, running, owner, via)?;
                // The linear channel's own name comes first; the one around it is the second best.
                self.also_named(state, from);
                self.starts.push(Start { linear: vec![state], running });
                Some(state)
            }
            several => {
                let parts: Option<Vec<usize>> = several
                    .iter()
                    .map(|part| self.target(*part, OpenSet::EMPTY, running, owner.part(), via))
                    .collect();
                let parts = parts?;
                self.starts.push(Start { linear: parts.clone(), running });
                let state = self.state(key, StateKind::Fork, parts, from, head);
                self.add_spawns(state, key, span);
                Some(state)
            }
        }
    }

    /// Gives a state the edges that open what runs there.
    fn add_spawns(&mut self, state: usize, key: StateKey, span: Span) {
        let spawns = self.spawns(key.running, key.only, span);
        if let Some(place) = self.states.get_mut(state) {
            place.edges = spawns;
        }
    }

    fn state(
        &mut self,
        key: StateKey,
        kind: StateKind,
        parts: Vec<usize>,
        from: NodeId,
        head: &Head<'_>,
    ) -> usize {
        if let Some(state) = self.keys.get(&key) {
            let state = *state;
            self.also_named(state, from);
            return state;
        }
        let (may_close, peer_may_close, end, span) = match head {
            Head::Choice(choice) => (
                choice.may_close,
                choice.peer_may_close,
                choice.end,
                choice.actions.first().map(|action| action.span).unwrap_or_default(),
            ),
            _ => (false, false, None, self.heads.graph.span(key.node)),
        };
        let state = self.states.len();
        self.states.push(RawState {
            kind,
            edges: Vec::new(),
            own: 0,
            parts,
            may_close,
            peer_may_close,
            end,
            only: key.only,
            outward: None,
            inward: None,
            owner: key.owner,
            definitions: Vec::new(),
            span,
        });
        self.open.push(key.open);
        self.only.push(None);
        self.also_named(state, from);
        // A sub-session that has ended opens nothing. One that goes on in other channels does.
        if kind == StateKind::End && !matches!(key.owner, Owner::SubSession(_)) {
            let spawns = self.spawns(key.running, key.only, span);
            if let Some(place) = self.states.get_mut(state) {
                place.edges = spawns;
            }
        }
        self.keys.insert(key, state);
        if kind == StateKind::Linear {
            self.waiting.push((state, key));
        }
        state
    }

    /// Gives a state the names on the way from a node, and the levels that come with the first name that has any.
    fn also_named(&mut self, state: usize, from: NodeId) {
        let Some(place) = self.states.get_mut(state) else { return };
        for node in self.heads.way(from) {
            // From here on the way has been gone before.
            if !self.reached.insert((state, node)) {
                return;
            }
            let Some(index) = self.heads.graph.definition(node) else { continue };
            let Some(definition) = self.resolution.definitions.get(index) else { continue };
            if self.reached.len() > MOST_NAMES {
                if !std::mem::replace(&mut self.full, true) {
                    self.broken = true;
                    self.findings.push(FindingKind::TooManyNames(MOST_NAMES).at(definition.name.span));
                }
                return;
            }
            if self.named.insert((state, index)) {
                place.definitions.push(index);
            }
            let flipped = self.heads.graph.is_flipped(node);
            // What is said of one direction is more specific than what is said of both, in whatever order they stand.
            let (directed, general): (Vec<_>, Vec<_>) =
                definition.levels.iter().partition(|level| level.direction.is_some());
            for level in directed.into_iter().chain(general) {
                use crate::ast::LevelDirection::{In, Out};
                // What the one side sends is what the other receives.
                let (not_out, not_in) = if flipped { (Out, In) } else { (In, Out) };
                let value = crate::declarations::level(level);
                if level.direction != Some(not_out) && place.outward.is_none() {
                    place.outward = Some(value.clone());
                }
                if level.direction != Some(not_in) && place.inward.is_none() {
                    place.inward = Some(value);
                }
            }
        }
    }

    /// The edges of a choice.
    fn edges(&mut self, choice: &ChoiceHead<'_>, key: &StateKey) -> Vec<RawEdge> {
        let mut edges: Vec<RawEdge> = Vec::with_capacity(choice.actions.len());
        let mut seen: Map<(Direction, MessageIndex), Span> = Map::default();
        for action in &choice.actions {
            let Some(messages) = self.messages(action, key.open) else { continue };
            for message in messages {
                let step = (action.direction, message);
                if let Some(first) = seen.get(&step) {
                    self.findings
                        .push(FindingKind::SameFirstAction { action: step, first: *first }.at(action.span));
                    continue;
                }
                seen.insert(step, action.span);
                let Some(open) = self.after(action, message, key.open) else { continue };
                let before = Some((action.direction, key.node, key.only));
                let via = Via { span: Some(action.span), before };
                let Some(target) = self.target(action.next, open, key.running, key.owner, via) else {
                    continue;
                };
                edges.push(RawEdge {
                    direction: action.direction,
                    message,
                    target,
                    spawn: false,
                    sub_session: None,
                    origin: Origin::Written,
                    cancels: None,
                    span: action.span,
                    level: action.level().map(Box::new),
                });
            }
        }
        for (body, span) in &choice.replicated {
            let definition = self.heads.first_definition(*body);
            let body = self.heads.end(*body);
            self.body(body, *span, definition);
            for edge in self.bodies.get(&body).cloned().unwrap_or_default() {
                let action = (edge.direction, edge.message);
                match seen.insert(action, edge.span) {
                    Some(first) => {
                        self.findings.push(FindingKind::SameFirstAction { action, first }.at(edge.span))
                    }
                    None => edges.push(edge),
                }
            }
        }
        edges
    }
}
