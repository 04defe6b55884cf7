//! The plan: which methods the generated types have, before any of it is written.
//!
//! In: a [`Compiled`] protocol. Out: [`Plan`], the methods of each state and of each role's handle, queue and
//! handler, with their names and places. Refuses to write Rust, so that the check of names and the code judge and
//! print one and the same list.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use mcp_protocol_machine::protocol::{
    Action, Direction, Kind, MessageIndex, Origin, Side, StateIndex, StateKind,
};

use super::names::snake;
use crate::Compiled;
use crate::automaton::{Automaton, CopyType, Edge, State};
use crate::resolve::{Declarations, Message};
use crate::source::Span;

/// Everything that is generated.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) declarations: &'a Declarations,
    /// One marker for each name of a state, in order of appearance, the client's first.
    pub(crate) markers: Vec<Marker<'a>>,
    /// The client and the server, as far as they are declared.
    pub(crate) roles: Vec<Role<'a>>,
    /// Notifications that tell how a running request gets on.
    pub(crate) reports: Vec<MessageIndex>,
}

/// A state marker and the states of both roles that share it.
#[derive(Debug)]
pub(crate) struct Marker<'a> {
    pub(crate) name: &'a str,
    pub(crate) states: Vec<(&'a Automaton, &'a State)>,
}

/// One role.
#[derive(Debug)]
pub(crate) struct Role<'a> {
    pub(crate) automaton: &'a Automaton,
    /// Its states without those of `*` bodies.
    pub(crate) states: Vec<StatePlan<'a>>,
    /// The states that have a method, by its name.
    methods: HashMap<String, Holders<'a>>,
    /// Replicated outputs of any state, in order of appearance.
    pub(crate) outputs: Vec<Replicated<'a>>,
    /// Replicated inputs of any state that a program takes by itself.
    pub(crate) inputs: Vec<Replicated<'a>>,
    /// Requests whose replies are an enum.
    pub(crate) answers: Vec<Answers>,
    /// The session types of its copies, as roles of their own: what has states and steps is planned in one way.
    pub(crate) copies: Vec<Role<'a>>,
    /// For the session type of copies, which that is.
    pub(crate) copy: Option<&'a CopyType>,
}

/// The states that have a method of one name, and the words for them, which each of the methods repeats.
#[derive(Debug, Default)]
struct Holders<'a> {
    states: Vec<&'a str>,
    words: OnceCell<String>,
}

/// How a copy with a session type of its own starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Its type, among the copies of the automaton.
    pub(crate) copy: usize,
    /// The state after the first message.
    pub(crate) start: StateIndex,
    /// The reply to the first message, where that comes next, and the state after it.
    pub(crate) answer: Option<(MessageIndex, StateIndex)>,
}

/// A request with several replies, where they lead to the same state: an enum of them.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) request: MessageIndex,
    pub(crate) replies: Vec<MessageIndex>,
    /// This role receives them.
    pub(crate) read: bool,
    /// This role sends them.
    pub(crate) written: bool,
}

/// One state and its methods.
#[derive(Debug)]
pub(crate) struct StatePlan<'a> {
    pub(crate) index: StateIndex,
    pub(crate) state: &'a State,
    pub(crate) methods: Vec<Method>,
}

/// One method of a session value.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) what: What,
    /// The action in the text.
    pub(crate) span: Span,
}

/// What a method does.
#[derive(Debug)]
pub(crate) enum What {
    /// A linear output: notification, request or reply.
    Send { message: MessageIndex, target: StateIndex },
    /// A linear request together with its reply, or with one of its replies.
    Exchange { request: MessageIndex, replies: Vec<MessageIndex>, target: StateIndex },
    /// A linear request together with one of its replies, which lead to different states; `waiting` is the state in
    /// between, whose choice it is.
    Choose { request: MessageIndex, waiting: StateIndex },
    /// A linear input; `refused` is where the session is when a refusal comes instead.
    Receive { message: MessageIndex, target: StateIndex, refused: Option<StateIndex> },
    /// Whatever linear input comes first.
    Next(Next),
    /// An error in place of the reply that is owed here.
    Refuse { request: MessageIndex, target: StateIndex },
    /// A replicated request.
    Call(Exchange),
    /// A replicated notification.
    Notify { message: MessageIndex },
    /// The first message of a copy; the copy is in its start state then.
    Open { message: MessageIndex, opening: Opening },
    /// The first request of a copy together with its reply.
    OpenExchange { request: MessageIndex, reply: MessageIndex, target: StateIndex, opening: Opening },
    /// The value becomes one for each linear channel.
    Split { parts: Vec<StateIndex> },
    /// This role may close here.
    Close,
}

/// The inputs at a choice.
#[derive(Debug)]
pub(crate) struct Next {
    /// The name of the enum.
    pub(crate) name: String,
    /// Each input and where it leads.
    pub(crate) inputs: Vec<(MessageIndex, StateIndex)>,
    /// Whether the peer may close here.
    pub(crate) closed: bool,
    /// Whether the session stays where it is, whatever comes.
    pub(crate) here: bool,
    /// Where the session is when a refusal comes instead.
    pub(crate) refused: Option<StateIndex>,
}

/// A request and its replies, of which one comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) request: MessageIndex,
    pub(crate) replies: Vec<MessageIndex>,
}

/// The first action of a `*` body.
#[derive(Debug)]
pub(crate) struct Replicated<'a> {
    pub(crate) message: MessageIndex,
    /// The replies, of which one comes, if the message is a request.
    pub(crate) replies: Vec<MessageIndex>,
    /// What it opens, if that has a session type of its own; there are no `replies` then.
    pub(crate) opening: Option<Opening>,
    pub(crate) span: Span,
    /// The states it runs beside.
    pub(crate) states: Vec<&'a str>,
}

/// How the body of a `*` goes on after its first action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing follows.
    Over,
    /// One reply follows, one of these, and then nothing.
    Reply(Vec<MessageIndex>),
    /// More than that.
    Longer,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(compiled: &'a Compiled) -> Self {
        let declarations = &compiled.declarations;
        let automata: Vec<&Automaton> = compiled.client.iter().chain(&compiled.server).collect();
        let mut markers: Vec<Marker<'a>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for automaton in &automata {
            let lives = lives(automaton);
            let numbered = automaton.states.iter().enumerate();
            for (_, state) in numbered.filter(|(index, state)| !state.body || lives.contains(index)) {
                let next = markers.len();
                let place = *places.entry(state.name.as_str()).or_insert(next);
                match markers.get_mut(place) {
                    Some(marker) => marker.states.push((automaton, state)),
                    None => markers.push(Marker { name: &state.name, states: vec![(automaton, state)] }),
                }
            }
        }
        let roles = automata.iter().map(|automaton| Role::new(automaton, declarations)).collect();
        let reports = indices(declarations)
            .filter(|(_, message)| message.table.reports.is_some())
            .map(|(index, _)| index)
            .collect();
        Plan { declarations, markers, roles, reports }
    }

    pub(crate) fn message(&self, index: MessageIndex) -> Option<&'a Message> {
        self.declarations.messages.get(usize::from(index.0))
    }

    /// A message's name.
    pub(crate) fn message_name(&self, index: MessageIndex) -> &'a str {
        self.message(index).map_or("", |message| &message.table.name)
    }

    /// The name of a message where the API calls or handles it: the one after `as`, else its own.
    pub(crate) fn call_name(&self, index: MessageIndex) -> String {
        call_name(self.declarations, index)
    }

    /// What the handle and the module of a role are made of.
    pub(crate) fn error_name(&self) -> String {
        format!("{}Error", self.declarations.name.as_ref().map_or("Protocol", |name| &name.text))
    }
}

pub(crate) fn indices(declarations: &Declarations) -> impl Iterator<Item = (MessageIndex, &Message)> {
    // The tables count messages in 16 bits; what is beyond them cannot be named by any edge either.
    declarations
        .messages
        .iter()
        .enumerate()
        .filter_map(|(index, message)| u16::try_from(index).ok().map(|index| (MessageIndex(index), message)))
}

fn call_name(declarations: &Declarations, index: MessageIndex) -> String {
    match declarations.messages.get(usize::from(index.0)) {
        Some(Message { call_name: Some(name), .. }) => name.text.clone(),
        Some(message) => snake(&message.table.name),
        None => String::new(),
    }
}

/// The module that holds a role's types.
pub(crate) fn role_module(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

impl<'a> Role<'a> {
    fn new(automaton: &'a Automaton, declarations: &'a Declarations) -> Self {
        let planner = Planner { automaton, declarations };
        let numbered = automaton.states.iter().enumerate();
        let states: Vec<StatePlan<'a>> = numbered
            .filter(|(_, state)| !state.body)
            .filter_map(|(index, state)| {
                let index = StateIndex(u32::try_from(index).ok()?);
                Some(StatePlan { index, state, methods: planner.methods(index, state) })
            })
            .collect();
        let outputs = planner.replicated(Direction::Send, |_| true);
        let inputs = planner.replicated(Direction::Receive, |message| {
            let table = &message.table;
            !table.answered && table.cancels.is_none() && table.reports.is_none()
        });
        let copies = planner.copies();
        let with_states = std::iter::once(&states).chain(copies.iter().map(|copy: &Role<'_>| &copy.states));
        let answers = answers(with_states.flatten(), &outputs, &inputs);
        let methods = by_name(&states);
        Role { automaton, states, methods, outputs, inputs, answers, copies, copy: None }
    }

    /// The name of the session type.
    pub(crate) fn session_name(&self) -> &'a str {
        self.copy.map_or(&self.automaton.name, |copy| &copy.name)
    }

    /// The type of a copy.
    pub(crate) fn copy_name(&self, opening: &Opening) -> &'a str {
        self.automaton.copies.get(opening.copy).map_or("", |copy| &copy.name)
    }

    /// Whether nothing is left of a copy there: no value stands for it any more.
    pub(crate) fn is_over(&self, index: StateIndex) -> bool {
        self.copy.is_some() && state(self.automaton, index).is_none_or(|state| state.kind == StateKind::End)
    }

    /// The name of a state.
    pub(crate) fn state_name(&self, index: StateIndex) -> &'a str {
        state(self.automaton, index).map_or("", |state| &state.name)
    }

    /// The states that have a method of this name, in the words that `say` has for them.
    pub(crate) fn states_with(&self, method: &str, say: impl FnOnce(&[&'a str]) -> String) -> &str {
        let Some(holders) = self.methods.get(method) else { return "" };
        holders.words.get_or_init(|| say(&holders.states))
    }
}

/// The states that have each method.
fn by_name<'a>(states: &[StatePlan<'a>]) -> HashMap<String, Holders<'a>> {
    let mut methods: HashMap<String, Holders<'a>> = HashMap::new();
    for plan in states {
        for method in &plan.methods {
            if !methods.contains_key(&method.name) {
                methods.insert(method.name.clone(), Holders::default());
            }
            let Some(with) = methods.get_mut(&method.name) else { continue };
            if with.states.last() != Some(&plan.state.name.as_str()) {
                with.states.push(&plan.state.name);
            }
        }
    }
    methods
}

/// The states of copies that have a session type, by number.
fn lives(automaton: &Automaton) -> BTreeSet<usize> {
    automaton.copies.iter().flat_map(|copy| copy_states(automaton, copy)).collect()
}

/// The states that copies of a type can be in, in order; the end is no such state.
pub(crate) fn copy_states(automaton: &Automaton, copy: &CopyType) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<StateIndex> = copy.starts.clone();
    while let Some(index) = waiting.pop() {
        let Some(state) = state(automaton, index).filter(|state| state.kind != StateKind::End) else {
            continue;
        };
        if usize::try_from(index.0).is_ok_and(|index| seen.insert(index)) {
            waiting.extend(state.edges.iter().filter_map(|edge| match edge.action {
                Action::Step(target) => Some(target),
                Action::Spawn(_) => None,
            }));
        }
    }
    seen
}

/// The requests of a role that are answered by one of several replies where nothing else depends on which it is.
fn answers<'p>(
    states: impl Iterator<Item = &'p StatePlan<'p>>,
    outputs: &[Replicated<'_>],
    inputs: &[Replicated<'_>],
) -> Vec<Answers> {
    let mut all: Vec<Answers> = Vec::new();
    let mut add = |request: MessageIndex, replies: &[MessageIndex], written: bool| {
        if replies.len() < 2 {
            return;
        }
        let place = all.iter().position(|known| known.request == request).unwrap_or_else(|| {
            all.push(Answers { request, replies: Vec::new(), read: false, written: false });
            all.len() - 1
        });
        if let Some(answers) = all.get_mut(place) {
            answers.replies.extend_from_slice(replies);
            answers.replies.sort_unstable();
            answers.replies.dedup();
            answers.read |= !written;
            answers.written |= written;
        }
    };
    for method in states.flat_map(|state| &state.methods) {
        if let What::Exchange { request, replies, .. } = &method.what {
            add(*request, replies, false);
        }
    }
    for (replicated, written) in [(outputs, false), (inputs, true)] {
        for message in replicated {
            add(message.message, &message.replies, written);
        }
    }
    all
}

/// The name of the enum of a request's replies.
pub(crate) fn answers_name(declarations: &Declarations, request: MessageIndex) -> String {
    format!("{}Reply", declarations.message_name(request))
}

/// The name of the enum of what comes next in a state.
pub(crate) fn next_name(state: &State) -> String {
    format!("{}Next", state.name)
}

pub(crate) fn state(automaton: &Automaton, index: StateIndex) -> Option<&State> {
    automaton.states.get(usize::try_from(index.0).ok()?)
}

/// How the body that a spawn edge opens goes on.
pub(crate) fn body(automaton: &Automaton, declarations: &Declarations, target: StateIndex) -> Body {
    let Some(opened) = state(automaton, target) else { return Body::Longer };
    let edges = opened.edges.iter().filter(|edge| {
        edge.origin == Origin::Written
            && !matches!(kind(declarations, edge.message), Some(Kind::Refusal { .. }))
    });
    let mut replies = Vec::new();
    for edge in edges {
        let reply = matches!(kind(declarations, edge.message), Some(Kind::Reply { .. }));
        let last = state(automaton, edge.action.target()).is_some_and(|last| last.kind == StateKind::End);
        if !reply || !last {
            return Body::Longer;
        }
        replies.push(edge.message);
    }
    match replies.as_slice() {
        [] if opened.kind == StateKind::End => Body::Over,
        [] => Body::Longer,
        _ => Body::Reply(replies),
    }
}

fn kind(declarations: &Declarations, message: MessageIndex) -> Option<Kind> {
    declarations.messages.get(usize::from(message.0)).map(|message| message.table.kind)
}

/// Finds the methods of one role.
struct Planner<'a> {
    automaton: &'a Automaton,
    declarations: &'a Declarations,
}

impl<'a> Planner<'a> {
    fn methods(&self, index: StateIndex, state: &'a State) -> Vec<Method> {
        let mut methods = Vec::new();
        if state.kind == StateKind::Fork {
            let what = What::Split { parts: state.parts.clone() };
            methods.push(Method { name: "split".into(), what, span: state.span });
        }
        let refused = self.refused(state, |_| true);
        for edge in &state.edges {
            self.methods_of_edge(index, refused, edge, &mut methods);
        }
        methods.extend(self.next(index, state));
        if state.may_close || matches!(state.kind, StateKind::End | StateKind::Replicated) {
            methods.push(Method { name: "close".into(), what: What::Close, span: state.span });
        }
        methods
    }

    fn methods_of_edge(
        &self,
        here: StateIndex,
        refused: Option<StateIndex>,
        edge: &Edge,
        methods: &mut Vec<Method>,
    ) {
        let Some(kind) = kind(self.declarations, edge.message) else { return };
        let mut add = |name: String, what: What| methods.push(Method { name, what, span: edge.span });
        let message = edge.message;
        let snake_name = snake(self.name(message));
        match (edge.action, edge.direction, kind) {
            // A refusal sent is `refuse`, a refusal received comes through `StepError` or `next`.
            (Action::Step(target), Direction::Send, Kind::Refusal { request }) => {
                add("refuse".into(), What::Refuse { request, target });
            }
            (_, _, Kind::Refusal { .. }) => {}
            // What the compiler added is on the wire and in the checker only.
            _ if edge.origin != Origin::Written => {}
            (Action::Step(target), Direction::Send, _) => {
                add(format!("send_{snake_name}"), What::Send { message, target });
                if let Some(what) = self.exchange(here, message, target) {
                    add(call_name(self.declarations, message), what);
                }
            }
            (Action::Step(target), Direction::Receive, _) => {
                add(format!("recv_{snake_name}"), What::Receive { message, target, refused });
            }
            (Action::Spawn(target), Direction::Send, _) if self.opening(message, target).is_some() => {
                let Some(opening) = self.opening(message, target) else { return };
                let step = match kind {
                    Kind::Request => format!("send_{snake_name}"),
                    _ => notify_name(self.declarations, message),
                };
                add(step, What::Open { message, opening });
                if let Some((reply, target)) = opening.answer {
                    let what = What::OpenExchange { request: message, reply, target, opening };
                    add(call_name(self.declarations, message), what);
                }
            }
            (Action::Spawn(target), Direction::Send, Kind::Request) => {
                if let Body::Reply(replies) = body(self.automaton, self.declarations, target) {
                    add(
                        call_name(self.declarations, message),
                        What::Call(Exchange { request: message, replies }),
                    );
                }
            }
            (Action::Spawn(_), Direction::Send, _) => {
                add(notify_name(self.declarations, message), What::Notify { message });
            }
            (Action::Spawn(_), Direction::Receive, _) => {}
        }
    }

    fn name(&self, message: MessageIndex) -> &'a str {
        self.declarations.messages.get(usize::from(message.0)).map_or("", |message| &message.table.name)
    }

    /// Where the session goes when the reply awaited in a state is a refusal.
    fn refused(&self, state: &State, wanted: impl Fn(&Edge) -> bool) -> Option<StateIndex> {
        let refusal = |edge: &&Edge| {
            edge.direction == Direction::Receive
                && matches!(kind(self.declarations, edge.message), Some(Kind::Refusal { .. }))
                && matches!(edge.action, Action::Step(_))
                && matches!(edge.origin, Origin::Written | Origin::Refusal)
        };
        state.edges.iter().filter(refusal).find(|edge| wanted(edge)).map(|edge| edge.action.target())
    }

    /// The combined form of a linear request: only where nothing but its reply can happen in between, and where a
    /// refusal undoes it.
    fn exchange(&self, here: StateIndex, request: MessageIndex, waiting: StateIndex) -> Option<What> {
        self.exchange_from(Some(here), request, waiting)
    }

    fn exchange_from(
        &self,
        here: Option<StateIndex>,
        request: MessageIndex,
        waiting: StateIndex,
    ) -> Option<What> {
        if kind(self.declarations, request) != Some(Kind::Request) {
            return None;
        }
        let state = state(self.automaton, waiting)?;
        if state.may_close
            || state.peer_may_close
            || self.refused(state, |_| true).is_some_and(|to| here.is_some_and(|here| to != here))
        {
            return None;
        }
        let mut replies = Vec::new();
        let mut targets = Vec::new();
        let mut others = false;
        for edge in state.edges.iter().filter(|edge| edge.origin == Origin::Written) {
            let Action::Step(target) = edge.action else { continue };
            match kind(self.declarations, edge.message)? {
                Kind::Refusal { .. } => {}
                _ if target == waiting => others |= edge.direction == Direction::Receive,
                Kind::Reply { request: of } if of == request => {
                    replies.push(edge.message);
                    targets.push(target);
                }
                _ => return None,
            }
        }
        match targets.as_slice() {
            [] => None,
            [target, more @ ..] if more.iter().all(|other| other == target) => {
                Some(What::Exchange { request, replies, target: *target })
            }
            // What else may come in between would be a choice of its own.
            _ => (!others).then_some(What::Choose { request, waiting }),
        }
    }

    /// The reply to a request and the state after it, where nothing but that reply can happen in a state.
    fn answer(&self, request: MessageIndex, waiting: StateIndex) -> Option<(MessageIndex, StateIndex)> {
        // A refusal ends the copy, so it leads nowhere that would have to be compared.
        match self.exchange_from(None, request, waiting)? {
            What::Exchange { replies, target, .. } => match replies.as_slice() {
                [reply] => Some((*reply, target)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What the first message of a copy opens, if that has a session type of its own.
    fn opening(&self, message: MessageIndex, start: StateIndex) -> Option<Opening> {
        let copy = self.automaton.copies.iter().position(|copy| copy.starts.contains(&start))?;
        let answer = match kind(self.declarations, message) {
            Some(Kind::Request) => self.answer(message, start),
            _ => None,
        };
        Some(Opening { copy, start, answer })
    }

    /// The session types of copies.
    fn copies(&self) -> Vec<Role<'a>> {
        let automaton = self.automaton;
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for state in automaton.copies.iter().flat_map(|copy| copy_states(automaton, copy)) {
            *shared.entry(state).or_default() += 1;
        }
        let plan = |copy: &'a CopyType| {
            let states = copy_states(automaton, copy).into_iter().filter_map(|number| {
                let index = StateIndex(u32::try_from(number).ok()?);
                let state = state(automaton, index)?;
                let mut methods = self.methods(index, state);
                for method in &mut methods {
                    // A state of two types of copies has a choice in each.
                    if let What::Next(next) = &mut method.what
                        && shared.get(&number).is_some_and(|types| *types > 1)
                    {
                        next.name = format!("{}{}", copy.name, next.name);
                    }
                }
                Some(StatePlan { index, state, methods })
            });
            let states: Vec<StatePlan<'a>> = states.collect();
            Role {
                automaton,
                methods: by_name(&states),
                states,
                outputs: Vec::new(),
                inputs: Vec::new(),
                answers: Vec::new(),
                copies: Vec::new(),
                copy: Some(copy),
            }
        };
        automaton.copies.iter().map(plan).collect()
    }

    fn next(&self, here: StateIndex, state: &State) -> Option<Method> {
        let inputs: Vec<(MessageIndex, StateIndex)> = state
            .edges
            .iter()
            .filter(|edge| edge.direction == Direction::Receive && edge.origin == Origin::Written)
            .filter_map(|edge| match edge.action {
                Action::Step(target) => Some((edge.message, target)),
                Action::Spawn(_) => None,
            })
            .collect();
        if inputs.is_empty() || inputs.len() + usize::from(state.peer_may_close) < 2 {
            return None;
        }
        let next = Next {
            name: next_name(state),
            here: inputs.iter().all(|(_, target)| *target == here),
            inputs,
            closed: state.peer_may_close,
            refused: self.refused(state, |edge| edge.origin == Origin::Refusal),
        };
        Some(Method { name: "next".into(), what: What::Next(next), span: state.span })
    }

    fn replicated(&self, direction: Direction, wanted: impl Fn(&Message) -> bool) -> Vec<Replicated<'a>> {
        let mut found: Vec<Replicated<'a>> = Vec::new();
        for state in self.automaton.states.iter().filter(|state| !state.body) {
            for edge in state.edges.iter().filter(|edge| edge.direction == direction) {
                let Action::Spawn(target) = edge.action else { continue };
                let Some(message) = self.declarations.messages.get(usize::from(edge.message.0)) else {
                    continue;
                };
                if edge.origin != Origin::Written || !wanted(message) {
                    continue;
                }
                if let Some(known) = found.iter_mut().find(|known| known.message == edge.message) {
                    known.states.push(&state.name);
                    continue;
                }
                let opening = self.opening(edge.message, target);
                let replies = match (body(self.automaton, self.declarations, target), message.table.kind) {
                    (Body::Reply(replies), Kind::Request) => replies,
                    (Body::Over, Kind::Notification) => Vec::new(),
                    _ if opening.is_some() => Vec::new(),
                    _ => continue,
                };
                let states = vec![state.name.as_str()];
                found.push(Replicated { message: edge.message, replies, opening, span: edge.span, states });
            }
        }
        found
    }
}

/// The name of a replicated notification's method: the one after `as`, else like every other step.
pub(crate) fn notify_name(declarations: &Declarations, message: MessageIndex) -> String {
    match declarations.messages.get(usize::from(message.0)) {
        Some(Message { call_name: Some(name), .. }) => name.text.clone(),
        Some(message) => format!("send_{}", snake(&message.table.name)),
        None => String::new(),
    }
}

/// The names of the methods that open a copy: the one that only sends, and the one that takes the reply, too.
pub(crate) fn open_names(
    plan: &Plan<'_>,
    message: MessageIndex,
    opening: &Opening,
) -> (String, Option<String>) {
    match kind(plan.declarations, message) {
        Some(Kind::Request) => (
            format!("send_{}", snake(plan.message_name(message))),
            opening.answer.map(|_| plan.call_name(message)),
        ),
        _ => (notify_name(plan.declarations, message), None),
    }
}
