//! What a plan says: types, methods, and what they are called.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Origin, Side, StateIndex, StateKind};

use super::names::snake;
use crate::automaton::{Automaton, State, SubSessionType};
use crate::declarations::{Declarations, Message};
use crate::source::Span;

/// Everything that is generated.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) declarations: Arc<Declarations>,
    /// One marker for each name of a state, in order of appearance, the client's first.
    pub(crate) markers: Vec<Marker>,
    /// The client and the server, as far as they are declared.
    pub(crate) roles: Vec<RolePlan>,
    /// Notifications that tell how a running request gets on.
    pub(crate) reports: Vec<MessageIndex>,
}

/// A state marker and the states of both roles that share it.
#[derive(Debug)]
pub(crate) struct Marker {
    pub(crate) name: String,
    pub(crate) places: Vec<MarkedState>,
}

/// A state of one role, and the sub-sessions that can be in it, if it is theirs.
#[derive(Debug)]
pub(crate) struct MarkedState {
    pub(crate) automaton: Arc<Automaton>,
    pub(super) index: StateIndex,
    pub(super) sub_sessions: Vec<usize>,
}

/// One role.
#[derive(Debug)]
pub(crate) struct RolePlan {
    pub(crate) automaton: Arc<Automaton>,
    /// Its states without those of `*` bodies.
    pub(crate) states: Vec<StatePlan>,
    /// The states that have each method.
    pub(super) methods: MethodHolders,
    /// What a handle sends: replicated outputs of any state, in order of appearance, and for sub-sessions the steps that
    /// may be taken while the value waits.
    pub(crate) outputs: Vec<Replicated>,
    /// Replicated inputs of any state that a program takes by itself.
    pub(crate) inputs: Vec<Replicated>,
    /// Requests whose replies are an enum.
    pub(crate) answers: Vec<Answers>,
    /// The session types of its sub-sessions, as roles of their own: what has states and steps is planned in one way.
    pub(crate) sub_sessions: Vec<RolePlan>,
    /// For the session type of sub-sessions, which that is, among the sub-sessions of the automaton.
    pub(super) sub_session: Option<usize>,
}

/// The states that have each method: by the request that it is about, where its name does not say that, and by its name.
pub(super) type MethodHolders = HashMap<Option<MessageIndex>, HashMap<String, Holders>>;

/// The states that have a method, and the words for them, which each of the methods repeats.
#[derive(Debug, Default)]
pub(super) struct Holders {
    pub(super) states: Vec<String>,
    pub(super) words: OnceLock<String>,
}

/// How a sub-session with a session type of its own starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Its type, among the sub-sessions of the automaton.
    pub(crate) sub_session: usize,
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
pub(crate) struct StatePlan {
    pub(crate) index: StateIndex,
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) methods: Vec<Method>,
}

impl StatePlan {
    pub(super) fn new(index: StateIndex, state: &State, methods: Vec<Method>) -> StatePlan {
        StatePlan { index, name: state.name.clone(), span: state.span, methods }
    }
}

/// One method of a session value.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) what: MethodKind,
    /// The action in the text.
    pub(crate) span: Span,
}

impl Method {
    /// The request that it is about, where its name does not say that: `refuse` is a method of each state that owes a reply.
    fn unnamed_request(&self) -> Option<MessageIndex> {
        match self.what {
            MethodKind::Refuse { request, .. } | MethodKind::Cancelled { request } => Some(request),
            _ => None,
        }
    }
}

/// What a method does.
#[derive(Debug)]
pub(crate) enum MethodKind {
    /// A linear output: notification, request or reply.
    Send { message: MessageIndex, target: StateIndex },
    /// A linear request together with its reply, or with one of its replies; `refused` is where the session is when a
    /// refusal comes instead.
    Exchange {
        request: MessageIndex,
        replies: Vec<MessageIndex>,
        target: StateIndex,
        refused: Option<StateIndex>,
    },
    /// A linear request together with one of its replies, which lead to different states; `waiting` is the state in
    /// between, whose choice it is.
    Choose { request: MessageIndex, waiting: StateIndex },
    /// A linear input; `refused` is where the session is when a refusal comes instead.
    Receive { message: MessageIndex, target: StateIndex, refused: Option<StateIndex> },
    /// Whatever linear input comes first.
    Next(NextPlan),
    /// An error in place of the reply that is owed here.
    Refuse { request: MessageIndex, target: StateIndex },
    /// Whether the peer still wants the reply that is owed here.
    Cancelled { request: MessageIndex },
    /// A replicated request.
    Call(Exchange),
    /// The same for page after page of its result.
    Pages(Exchange),
    /// A replicated notification.
    Notify { message: MessageIndex },
    /// The first message of a sub-session; the sub-session is in its start state then.
    Open { message: MessageIndex, opening: Opening },
    /// The first request of a sub-session together with its reply.
    OpenExchange { request: MessageIndex, reply: MessageIndex, target: StateIndex, opening: Opening },
    /// The value becomes one for each linear channel.
    Split { parts: Vec<StateIndex> },
    /// This role may close here.
    Close,
}

/// The inputs at a choice.
#[derive(Debug)]
pub(crate) struct NextPlan {
    /// The name of the enum.
    pub(crate) name: String,
    /// Each input and where it leads.
    pub(crate) inputs: Vec<(MessageIndex, StateIndex)>,
    /// In a sub-session: what may come on its replicated channels, which leads nowhere.
    pub(crate) replicated: Vec<Replicated>,
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

/// The first action of a `*` body, or a step of a sub-session that its handle takes, too.
#[derive(Clone, Debug)]
pub(crate) struct Replicated {
    pub(crate) message: MessageIndex,
    /// The replies, of which one comes, if the message is a request.
    pub(crate) replies: Vec<MessageIndex>,
    /// What it opens, if that has a session type of its own; `replies` is empty then.
    pub(crate) opening: Option<Opening>,
    /// It is a step of a sub-session.
    pub(crate) step: bool,
    pub(crate) span: Span,
    /// The states in which it may be sent.
    pub(crate) states: Vec<StateIndex>,
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

impl Plan {
    pub(crate) fn message(&self, index: MessageIndex) -> Option<&Message> {
        self.declarations.messages.get(usize::from(index.0))
    }

    /// A message's name.
    pub(crate) fn message_name(&self, index: MessageIndex) -> &str {
        self.message(index).map_or("", |message| &message.table.name)
    }

    /// The name of a message where the API calls or handles it: the one after `as`, else its own.
    pub(crate) fn call_name(&self, index: MessageIndex) -> String {
        call_name(&self.declarations, index)
    }

    /// What the handle and the module of a role are made of.
    pub(crate) fn error_name(&self) -> String {
        format!("{}Error", self.declarations.name.as_ref().map_or("Protocol", |name| &name.text))
    }
}

impl MarkedState {
    pub(crate) fn state(&self) -> Option<&State> {
        state(&self.automaton, self.index)
    }

    /// The session types of the sub-sessions that can be in the state.
    pub(crate) fn sub_sessions(&self) -> impl Iterator<Item = &SubSessionType> {
        self.sub_sessions.iter().filter_map(|number| self.automaton.sub_sessions.get(*number))
    }
}

impl RolePlan {
    /// The name of the session type.
    pub(crate) fn session_name(&self) -> &str {
        self.sub_session().map_or(&self.automaton.name, |sub_session| &sub_session.name)
    }

    /// For the session type of sub-sessions, which that is.
    pub(crate) fn sub_session(&self) -> Option<&SubSessionType> {
        self.automaton.sub_sessions.get(self.sub_session?)
    }

    /// The type of a sub-session.
    pub(crate) fn sub_session_name(&self, opening: &Opening) -> &str {
        self.automaton.sub_sessions.get(opening.sub_session).map_or("", |sub_session| &sub_session.name)
    }

    /// Whether nothing is left of a sub-session there: no value stands for it any more.
    pub(crate) fn is_over(&self, index: StateIndex) -> bool {
        self.sub_session.is_some()
            && state(&self.automaton, index).is_none_or(|state| state.kind == StateKind::End)
    }

    /// The name of a state.
    pub(crate) fn state_name(&self, index: StateIndex) -> &str {
        state(&self.automaton, index).map_or("", |state| &state.name)
    }

    /// The first state that has a method of this name, which says what it is about.
    pub(crate) fn first_with(&self, method: &str) -> Option<&str> {
        self.methods.get(&None)?.get(method)?.states.first().map(String::as_str)
    }

    /// The states that have a method, in the words that `say` has for them.
    pub(crate) fn states_with(&self, method: &Method, say: impl FnOnce(&[String]) -> String) -> &str {
        let of_request = self.methods.get(&method.unnamed_request());
        let Some(holders) = of_request.and_then(|methods| methods.get(&method.name)) else { return "" };
        holders.words.get_or_init(|| say(&holders.states))
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

pub(super) fn call_name(declarations: &Declarations, index: MessageIndex) -> String {
    match declarations.messages.get(usize::from(index.0)) {
        Some(Message { call_name: Some(name), .. }) => name.text.clone(),
        Some(message) => snake(&message.table.name),
        None => String::new(),
    }
}

/// The module that holds a role's types.
pub(crate) fn role_module(side: Side) -> &'static str {
    side.word()
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

/// The states with their indices. The tables count states in 32 bits; no edge leads beyond them.
pub(super) fn indexed(states: &[State]) -> impl Iterator<Item = (StateIndex, &State)> {
    (0..).map(StateIndex).zip(states)
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

pub(super) fn kind(declarations: &Declarations, message: MessageIndex) -> Option<Kind> {
    declarations.messages.get(usize::from(message.0)).map(|message| message.table.kind)
}

/// The states that have each method.
pub(super) fn method_holders(states: &[StatePlan]) -> MethodHolders {
    let mut holders = MethodHolders::new();
    for plan in states {
        for method in &plan.methods {
            let methods = holders.entry(method.unnamed_request()).or_default();
            if !methods.contains_key(&method.name) {
                methods.insert(method.name.clone(), Holders::default());
            }
            let Some(with) = methods.get_mut(&method.name) else { continue };
            if with.states.last() != Some(&plan.name) {
                with.states.push(plan.name.clone());
            }
        }
    }
    holders
}
