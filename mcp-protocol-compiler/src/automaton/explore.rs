//! Graph to states: what can happen where, with the requests that are open and the channels that run.
//!
//! In: a [`Graph`]. Out: a [`Raw`] automaton, deterministic, not minimal, without refusals. Refuses actions that
//! nobody could tell apart, replies without requests, requests without replies, and channels that share messages.

use std::collections::{BTreeSet, HashMap};

use mcp_protocol_machine::protocol::{Direction, Kind, Level, MessageIndex, StateKind};

use super::graph::{ActionNode, Graph, NodeId};
use super::head::{ChoiceHead, Head, Heads, Reached};
use crate::checks::{channels, choices, declarations, replies};
use crate::diagnostic::Diagnostic;
use crate::resolve::{Meaning, Resolution};
use crate::source::Span;

/// An automaton in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    pub(super) states: Vec<RawState>,
    pub(super) start: usize,
}

#[derive(Clone, Debug)]
pub(super) struct RawState {
    pub(super) kind: StateKind,
    pub(super) edges: Vec<RawEdge>,
    /// How many of the edges are the channel's own; those of `*` channels beside it come behind.
    pub(super) own: usize,
    pub(super) parts: Vec<usize>,
    pub(super) may_close: bool,
    pub(super) peer_may_close: bool,
    pub(super) outward: Option<Level>,
    pub(super) inward: Option<Level>,
    /// The request that opened the `*` copy whose state this is; `None` inside for a notification.
    pub(super) body: Option<Option<MessageIndex>>,
    /// Definitions that are this state, in the order in which they were met.
    pub(super) definitions: Vec<usize>,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) struct RawEdge {
    pub(super) direction: Direction,
    pub(super) message: MessageIndex,
    pub(super) target: usize,
    pub(super) spawn: bool,
    /// The definition that is the body of the copy that is opened.
    pub(super) copy: Option<usize>,
    pub(super) origin: mcp_protocol_machine::protocol::Origin,
    pub(super) span: Span,
    pub(super) level: Option<Level>,
}

/// A request that waits for its reply, and who sent it.
pub(super) type Open = (Direction, MessageIndex);

/// Two places are one state if they are the same text with the same requests open and the same channels running.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    node: NodeId,
    open: Vec<Open>,
    running: usize,
    body: Option<Option<MessageIndex>>,
}

pub(super) struct Explorer<'a> {
    heads: Heads<'a>,
    resolution: &'a Resolution,
    diagnostics: &'a mut Vec<Diagnostic>,
    states: Vec<RawState>,
    keys: HashMap<Key, usize>,
    /// States that are numbered and not yet looked at.
    waiting: Vec<(usize, Key)>,
    /// Sets of `*` bodies, each once; the first is empty.
    running: Vec<Vec<NodeId>>,
    running_numbers: HashMap<Vec<NodeId>, usize>,
    bodies: HashMap<NodeId, Vec<RawEdge>>,
    /// Which requests are open in each state.
    open: Vec<Vec<Open>>,
    /// Where several channels start: the states of the linear ones, the bodies that are new, those that ran before.
    starts: Vec<(Vec<usize>, usize)>,
    /// Whether something stood on the way that could not be read; it has been reported.
    broken: bool,
}

/// Explores one role from its first node.
pub(super) fn explore(
    graph: &Graph,
    start: NodeId,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Raw> {
    let errors = |diagnostics: &[Diagnostic]| {
        diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == crate::diagnostic::Severity::Error)
            .count()
    };
    let before = errors(diagnostics);
    let mut explorer = Explorer {
        heads: Heads::new(graph, resolution),
        resolution,
        diagnostics,
        states: Vec::new(),
        keys: HashMap::new(),
        waiting: Vec::new(),
        running: vec![Vec::new()],
        running_numbers: HashMap::from([(Vec::new(), 0)]),
        bodies: HashMap::new(),
        open: Vec::new(),
        starts: Vec::new(),
        broken: false,
    };
    let start = explorer.target(start, Vec::new(), 0, None, None)?;
    explorer.run();
    // What follows looks along the edges, and what is in error has none, be it an action or a name that means
    // nothing: it would only repeat what is known.
    if explorer.broken {
        return None;
    }
    if errors(explorer.diagnostics) == 0 {
        explorer.unanswered();
        super::copies::untied(&explorer.states, &resolution.declarations, explorer.diagnostics);
        let missing = super::replies::missing(&explorer.states, &explorer.open, &resolution.declarations);
        explorer.diagnostics.extend(missing);
        explorer.overlaps();
    }
    let states = std::mem::take(&mut explorer.states);
    (errors(diagnostics) == before).then_some(Raw { states, start })
}

impl Explorer<'_> {
    fn run(&mut self) {
        while let Some((state, key)) = self.waiting.pop() {
            let Head::Choice(choice) = self.heads.head(key.node, self.diagnostics) else { continue };
            let mut edges = self.edges(&choice, &key);
            let own = edges.len();
            edges.extend(self.spawns(key.running));
            if let Some(place) = self.states.get_mut(state) {
                place.edges = edges;
                place.own = own;
            }
        }
    }

    /// The state behind a node; `None` if something wrong stands there.
    fn target(
        &mut self,
        node: NodeId,
        open: Vec<Open>,
        running: usize,
        body: Option<Option<MessageIndex>>,
        from: Option<Span>,
    ) -> Option<usize> {
        let place = self.heads.place(node);
        let head = self.heads.head(place.node, self.diagnostics);
        match head {
            Head::Broken => {
                self.broken = true;
                None
            }
            Head::End | Head::Choice(_) => {
                let kind = if matches!(head, Head::End) { StateKind::End } else { StateKind::Linear };
                let key = Key { node: place.node, open, running, body };
                Some(self.state(key, kind, Vec::new(), &place.definitions, &head))
            }
            Head::Parallel(ref parallel) => {
                let span = from.unwrap_or_default();
                if body.is_some() {
                    self.diagnostics.push(channels::channels_in_body(span));
                    return None;
                }
                for (direction, message) in &open {
                    let action = self.action(*direction, *message);
                    self.diagnostics.push(replies::open_across_channels(&action, span));
                }
                if !open.is_empty() {
                    return None;
                }
                let running = self.more_running(running, &parallel.replicated);
                match parallel.linear.as_slice() {
                    [] => {
                        let key = Key { node: place.node, open, running, body };
                        let state =
                            self.state(key, StateKind::Replicated, Vec::new(), &place.definitions, &head);
                        let spawns = self.spawns(running);
                        if let Some(place) = self.states.get_mut(state) {
                            place.edges = spawns;
                        }
                        self.starts.push((vec![state], running));
                        Some(state)
                    }
                    [only] => {
                        let state = self.target(*only, open, running, body, from)?;
                        // The linear channel's own name comes first; the one around it is the second best.
                        self.also_named(state, &place.definitions);
                        self.starts.push((vec![state], running));
                        Some(state)
                    }
                    several => {
                        let parts: Option<Vec<usize>> = several
                            .iter()
                            .map(|part| self.target(*part, Vec::new(), running, body, from))
                            .collect();
                        let parts = parts?;
                        self.starts.push((parts.clone(), running));
                        let key = Key { node: place.node, open, running, body };
                        let state = self.state(key, StateKind::Fork, parts, &place.definitions, &head);
                        let spawns = self.spawns(running);
                        if let Some(place) = self.states.get_mut(state) {
                            place.edges = spawns;
                        }
                        Some(state)
                    }
                }
            }
        }
    }

    fn state(
        &mut self,
        key: Key,
        kind: StateKind,
        parts: Vec<usize>,
        definitions: &[Reached],
        head: &Head,
    ) -> usize {
        if let Some(state) = self.keys.get(&key) {
            let state = *state;
            self.also_named(state, definitions);
            return state;
        }
        let (may_close, peer_may_close, span) = match head {
            Head::Choice(choice) => (
                choice.may_close,
                choice.peer_may_close,
                choice.actions.first().map(|action| action.span).unwrap_or_default(),
            ),
            _ => (false, false, self.heads.graph.span(key.node)),
        };
        let state = self.states.len();
        self.states.push(RawState {
            kind,
            edges: Vec::new(),
            own: 0,
            parts,
            may_close,
            peer_may_close,
            outward: None,
            inward: None,
            body: key.body,
            definitions: Vec::new(),
            span,
        });
        self.open.push(key.open.clone());
        self.also_named(state, definitions);
        if kind == StateKind::End {
            let spawns = self.spawns(key.running);
            if let Some(place) = self.states.get_mut(state) {
                place.edges = spawns;
            }
        }
        self.keys.insert(key.clone(), state);
        if kind == StateKind::Linear {
            self.waiting.push((state, key));
        }
        state
    }

    /// Gives a state further names, and the levels that come with the first name that has any.
    fn also_named(&mut self, state: usize, definitions: &[Reached]) {
        let Some(place) = self.states.get_mut(state) else { return };
        for Reached { index, flipped } in definitions {
            if !place.definitions.contains(index) {
                place.definitions.push(*index);
            }
            let Some(definition) = self.resolution.definitions.get(*index) else { continue };
            for level in &definition.levels {
                use crate::ast::LevelDirection::{In, Out};
                // What the one side sends is what the other receives.
                let (not_out, not_in) = if *flipped { (Out, In) } else { (In, Out) };
                let value = crate::resolve::level(level);
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
    fn edges(&mut self, choice: &ChoiceHead, key: &Key) -> Vec<RawEdge> {
        let mut edges: Vec<RawEdge> = Vec::new();
        let mut seen: HashMap<(Direction, MessageIndex), Span> = HashMap::new();
        for action in &choice.actions {
            let Some(messages) = self.messages(action, &key.open) else { continue };
            for message in messages {
                if let Some(first) = seen.get(&(action.direction, message)) {
                    let text = self.action(action.direction, message);
                    self.diagnostics.push(choices::same_first_action(&text, action.span, *first));
                    continue;
                }
                seen.insert((action.direction, message), action.span);
                let Some(open) = self.after(action, message, &key.open) else { continue };
                let Some(target) = self.target(action.next, open, key.running, key.body, Some(action.span))
                else {
                    continue;
                };
                edges.push(RawEdge {
                    direction: action.direction,
                    message,
                    target,
                    spawn: false,
                    copy: None,
                    origin: mcp_protocol_machine::protocol::Origin::Written,
                    span: action.span,
                    level: action.level.clone(),
                });
            }
        }
        for (body, span) in &choice.replicated {
            let place = self.heads.place(*body);
            let body = place.node;
            if key.body.is_some() {
                self.diagnostics.push(channels::channels_in_body(*span));
                continue;
            }
            self.body(body, *span, place.definitions.first().map(|reached| reached.index));
            for edge in self.bodies.get(&body).cloned().unwrap_or_default() {
                match seen.insert((edge.direction, edge.message), edge.span) {
                    Some(first) => {
                        let text = self.action(edge.direction, edge.message);
                        self.diagnostics.push(choices::same_first_action(&text, edge.span, first));
                    }
                    None => edges.push(edge),
                }
            }
        }
        edges
    }

    /// What the name in an action stands for here.
    fn messages(&mut self, action: &ActionNode, open: &[Open]) -> Option<Vec<MessageIndex>> {
        let declarations = &self.resolution.declarations;
        let asked: Vec<MessageIndex> = open
            .iter()
            .filter(|(direction, _)| *direction == action.direction.flip())
            .map(|(_, message)| *message)
            .collect();
        let sign = sign(action.direction);
        if action.message.text == "reply" {
            return match asked.as_slice() {
                [request] => Some(declarations.replies(*request).collect()),
                [] => {
                    let other = open.first().map(|(direction, message)| self.action(*direction, *message));
                    self.diagnostics.push(replies::without_request(
                        &format!("{sign}reply"),
                        action.span,
                        other.as_deref(),
                        other.is_some(),
                    ));
                    None
                }
                several => {
                    let names: Vec<String> = several
                        .iter()
                        .map(|message| declarations.message_name(*message).to_owned())
                        .collect();
                    self.diagnostics.push(replies::ambiguous(action.span, &names));
                    None
                }
            };
        }
        match self.resolution.names.get(&action.message.text) {
            None => {
                self.diagnostics.push(declarations::undefined_message(&action.message, self.resolution));
                None
            }
            Some(Meaning::Message(message)) => Some(vec![*message]),
            Some(Meaning::Group(members)) => {
                // Of the replies in a group those count whose request is open: a reply to a group stands for that of
                // the member which was sent.
                let fits = |member: &MessageIndex| match declarations.message(*member).map(|m| m.table.kind) {
                    Some(Kind::Reply { request } | Kind::Refusal { request }) => asked.contains(&request),
                    _ => true,
                };
                let fitting: Vec<MessageIndex> = members.iter().copied().filter(fits).collect();
                if fitting.is_empty() && !members.is_empty() {
                    let action_text = format!("{sign}{}", action.message.text);
                    self.diagnostics.push(replies::without_request(&action_text, action.span, None, false));
                    return None;
                }
                Some(fitting)
            }
        }
    }

    /// Which requests are open after a message.
    fn after(&mut self, action: &ActionNode, message: MessageIndex, open: &[Open]) -> Option<Vec<Open>> {
        let kind = self.resolution.declarations.message(message)?.table.kind;
        let mut after = open.to_vec();
        match kind {
            Kind::Notification => {}
            Kind::Request => {
                let opened = (action.direction, message);
                if after.contains(&opened) {
                    let text = self.action(action.direction, message);
                    // A request that is open both ways was probably written where its reply was meant.
                    let meant = after.contains(&(action.direction.flip(), message)).then(|| {
                        let reply = self.resolution.declarations.replies(message).next();
                        reply
                            .map_or("reply", |reply| self.resolution.declarations.message_name(reply))
                            .to_owned()
                    });
                    self.diagnostics.push(replies::open_already(&text, action.span, meant.as_deref()));
                    return None;
                }
                after.push(opened);
                after.sort_unstable();
            }
            Kind::Reply { request } | Kind::Refusal { request } => {
                let opened = (action.direction.flip(), request);
                let Some(at) = after.iter().position(|open| *open == opened) else {
                    let text = self.action(action.direction, message);
                    let other_way = after.contains(&(action.direction, request));
                    let sender = if other_way { action.direction } else { action.direction.flip() };
                    let request = self.action(sender, request);
                    self.diagnostics.push(replies::without_request(
                        &text,
                        action.span,
                        Some(&request),
                        other_way,
                    ));
                    return None;
                };
                after.remove(at);
            }
        }
        Some(after)
    }

    /// Adds `*` bodies to a set of running ones.
    fn more_running(&mut self, running: usize, bodies: &[(NodeId, Span)]) -> usize {
        let mut set = self.running.get(running).cloned().unwrap_or_default();
        for (body, span) in bodies {
            let place = self.heads.place(*body);
            let node = place.node;
            if !set.contains(&node) {
                set.push(node);
                self.body(node, *span, place.definitions.first().map(|reached| reached.index));
            }
        }
        if let Some(number) = self.running_numbers.get(&set) {
            return *number;
        }
        let number = self.running.len();
        self.running.push(set.clone());
        self.running_numbers.insert(set, number);
        number
    }

    /// Explores the body of a `*` once.
    fn body(&mut self, node: NodeId, span: Span, definition: Option<usize>) {
        if self.bodies.contains_key(&node) {
            return;
        }
        self.bodies.insert(node, Vec::new());
        let choice = match self.heads.head(node, self.diagnostics) {
            Head::Broken => {
                self.broken = true;
                return;
            }
            Head::End => return self.diagnostics.push(channels::body_may_be_empty(span)),
            Head::Parallel(_) => return self.diagnostics.push(channels::channels_in_body(span)),
            Head::Choice(choice) => choice,
        };
        if choice.may_close || choice.peer_may_close {
            let end = choice.end.unwrap_or(span);
            self.diagnostics.push(channels::body_may_be_empty(end));
        }
        let mut edges = Vec::new();
        let mut seen: HashMap<(Direction, MessageIndex), Span> = HashMap::new();
        for action in &choice.actions {
            if self.starts_with_reply(action) {
                let text = format!("{}{}", sign(action.direction), action.message.text);
                self.diagnostics.push(channels::body_starts_with_reply(action.span, &text));
                continue;
            }
            let Some(messages) = self.messages(action, &[]) else { continue };
            for message in messages {
                if let Some(first) = seen.insert((action.direction, message), action.span) {
                    let text = self.action(action.direction, message);
                    self.diagnostics.push(choices::same_first_action(&text, action.span, first));
                    continue;
                }
                let Some(open) = self.after(action, message, &[]) else { continue };
                let opener = open.first().map(|(_, message)| *message);
                let Some(target) = self.target(action.next, open, 0, Some(opener), Some(action.span)) else {
                    continue;
                };
                edges.push(RawEdge {
                    direction: action.direction,
                    message,
                    target,
                    spawn: true,
                    copy: definition,
                    origin: mcp_protocol_machine::protocol::Origin::Written,
                    span: action.span,
                    level: action.level.clone(),
                });
            }
        }
        self.bodies.insert(node, edges);
    }

    fn starts_with_reply(&self, action: &ActionNode) -> bool {
        let kind = match self.resolution.names.get(&action.message.text) {
            Some(Meaning::Message(message)) => Some(*message),
            Some(Meaning::Group(members)) => members.first().copied(),
            None => return action.message.text == "reply",
        };
        let kind = kind.and_then(|message| self.resolution.declarations.message(message));
        kind.is_some_and(|message| matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. }))
    }

    fn spawns(&self, running: usize) -> Vec<RawEdge> {
        let bodies = self.running.get(running).map(Vec::as_slice).unwrap_or_default();
        bodies.iter().filter_map(|body| self.bodies.get(body)).flatten().cloned().collect()
    }

    /// Every open request must have a reply ahead, on every way.
    fn unanswered(&mut self) {
        let declarations = &self.resolution.declarations;
        let mut answered: BTreeSet<(usize, Open)> = BTreeSet::new();
        let mut backwards: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut waiting = Vec::new();
        for (state, place) in self.states.iter().enumerate() {
            for edge in place.edges.iter().filter(|edge| !edge.spawn) {
                backwards.entry(edge.target).or_default().push(state);
                if let Some(Kind::Reply { request } | Kind::Refusal { request }) =
                    declarations.message(edge.message).map(|message| message.table.kind)
                {
                    waiting.push((state, (edge.direction.flip(), request)));
                }
            }
        }
        while let Some((state, open)) = waiting.pop() {
            if !answered.insert((state, open)) {
                continue;
            }
            for before in backwards.get(&state).into_iter().flatten() {
                if self.open.get(*before).is_some_and(|there| there.contains(&open)) {
                    waiting.push((*before, open));
                }
            }
        }
        let mut reported: BTreeSet<Open> = BTreeSet::new();
        let mut found = Vec::new();
        for (state, place) in self.states.iter().enumerate() {
            for open in self.open.get(state).into_iter().flatten() {
                if !answered.contains(&(state, *open)) && reported.insert(*open) {
                    let action = self.action(open.0, open.1);
                    let ends = self.comes_to_an_end(state);
                    found.push(replies::never_answered(&action, place.span, ends));
                }
            }
        }
        self.diagnostics.append(&mut found);
    }

    /// Whether `End` lies ahead of a state.
    fn comes_to_an_end(&self, state: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![state];
        while let Some(state) = waiting.pop() {
            let Some(place) = self.states.get(state).filter(|_| seen.insert(state)) else { continue };
            if place.kind == StateKind::End || place.may_close || place.peer_may_close {
                return true;
            }
            waiting.extend(place.edges.iter().filter(|edge| !edge.spawn).map(|edge| edge.target));
        }
        false
    }

    /// Channels that run side by side share no message in one direction.
    fn overlaps(&mut self) {
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
        let mut seen: std::collections::HashSet<usize> = std::collections::HashSet::new();
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

    fn action(&self, direction: Direction, message: MessageIndex) -> String {
        format!("{}{}", sign(direction), self.resolution.declarations.message_name(message))
    }
}

/// `!` or `?`.
pub(super) fn sign(direction: Direction) -> char {
    match direction {
        Direction::Send => '!',
        Direction::Receive => '?',
    }
}
