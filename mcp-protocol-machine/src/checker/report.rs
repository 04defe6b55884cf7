//! How a refusal becomes a [`Violation`]: names in place of indices, the rule that applies, what would be right.

use crate::id::{RequestId, Token};
use crate::protocol::{
    Action, Direction, Edge, Kind, Level, Message, MessageIndex, Origin, Role, State, StateIndex, Strictness,
    Text,
};
use crate::violation::{Details, Expected, Got, Violation, ViolationKind};

use super::state::Checker;

/// JSON-RPC: the request is not valid.
const INVALID_REQUEST: i64 = -32_600;
/// JSON-RPC: the params are not right.
const INVALID_PARAMS: i64 = -32_602;
/// JSON-RPC: method not found.
const METHOD_NOT_FOUND: i64 = -32_601;
/// JSON-RPC leaves this range to the server: too many requests are running.
const OVERLOADED: i64 = -32_000;

impl Checker {
    /// A message of the protocol, judged in the linear channels.
    #[cold]
    pub(super) fn violation(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
        kind: ViolationKind,
    ) -> Violation {
        // A message of a sub-session is not permitted where its key says so, too.
        let may_be_unknown = matches!(
            kind,
            ViolationKind::NotPermitted | ViolationKind::UnknownKey { .. } | ViolationKind::KeyMissing { .. }
        );
        if may_be_unknown
            && let Some(table) = self.protocol.message(message).filter(|_| self.is_never_said(message))
        {
            return self.missing(direction, table.kind, id, &table.method);
        }
        let states = self.responsible(direction, message);
        Violation::new(self.details(&states, direction, self.got(message, id), kind))
    }

    /// Whether neither side may send a message of this method, because the governing revision does not have it.
    fn is_never_said(&self, message: MessageIndex) -> bool {
        if !self.governed {
            return false;
        }
        let Some((table, role)) = self.protocol.message(message).zip(self.role()) else { return false };
        let alike = |edge: &Edge| {
            let other = self.protocol.message(edge.message);
            other.is_some_and(|other| (other.kind, &other.method) == (table.kind, &table.method))
        };
        matches!(table.kind, Kind::Request | Kind::Notification)
            && table.cancels.is_none()
            && table.reports.is_none()
            && !role.states.iter().flat_map(|state| state.edges.iter()).any(alike)
    }

    /// A message of the protocol that a running sub-session does not accept.
    #[cold]
    pub(super) fn violation_in(
        &self,
        states: &[StateIndex],
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Violation {
        let got = self.got(message, id);
        Violation::new(self.details(states, direction, got, ViolationKind::NotPermitted))
    }

    /// A reply to nothing that runs.
    #[cold]
    pub(super) fn stray_violation(
        &self,
        direction: Direction,
        id: &RequestId,
        kind: ViolationKind,
    ) -> Violation {
        let got = Got {
            message: None,
            name: Text::default(),
            kind: None,
            method: Text::default(),
            id: Some(id.clone()),
            condition: None,
        };
        Violation::new(self.details(self.states(), direction, got, kind))
    }

    /// A method that no message has.
    #[cold]
    pub(super) fn unknown_violation(
        &self,
        direction: Direction,
        id: Option<&RequestId>,
        method: &str,
    ) -> Violation {
        let kind = if id.is_some() { Kind::Request } else { Kind::Notification };
        self.missing(direction, kind, id, method)
    }

    /// The same where the kind is known.
    #[cold]
    pub(super) fn missing(
        &self,
        direction: Direction,
        kind: Kind,
        id: Option<&RequestId>,
        method: &str,
    ) -> Violation {
        let got = Got {
            message: None,
            name: Text::default(),
            kind: Some(kind),
            method: Text::Owned(method.to_owned()),
            id: id.cloned(),
            condition: None,
        };
        let violation = match self.declared_as(direction, kind, method) {
            Some(kind) => ViolationKind::DeclaredAs { kind },
            None => ViolationKind::UnknownMethod,
        };
        Violation::new(self.details(self.states(), direction, got, violation))
    }

    /// What a method is, if the sender may send it, but not as this kind of message.
    fn declared_as(&self, direction: Direction, kind: Kind, method: &str) -> Option<Kind> {
        // A pattern does not say that a method is only what it stands for.
        let other = |table: &Message| table.kind != kind && table.pattern().is_none();
        let mut others = self.protocol.by_method(method).filter(|(_, table)| other(table));
        // A cancel and a report are in no state: they are permitted while their request runs.
        let is_sent = |index: MessageIndex, table: &Message| {
            table.cancels.is_some()
                || table.reports.is_some()
                || !self.permitted_in(direction, index).is_empty()
        };
        others.find(|(index, table)| is_sent(*index, table)).map(|(_, table)| table.kind)
    }

    /// A payload that fits no message of its method, or no reply of its request.
    #[cold]
    pub(super) fn fits_none_violation(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: Option<&RequestId>,
    ) -> Violation {
        let mut got = self.got(message, id);
        let alike = |table: &&Message| Some(table.kind) == got.kind && table.method == got.method;
        let conditions =
            self.protocol.messages.iter().filter(alike).filter_map(|table| table.condition.clone()).collect();
        // It is not one of them: only its method and kind are known.
        (got.message, got.name, got.condition) = (None, Text::default(), None);
        let kind = ViolationKind::FitsNone { conditions };
        Violation::new(self.details(self.states(), direction, got, kind))
    }

    /// What the protocol advises about a message that is accepted in a state.
    pub(super) fn advice(
        &self,
        direction: Direction,
        message: MessageIndex,
        state: StateIndex,
        id: Option<&RequestId>,
    ) -> Option<Violation> {
        // Hardly any state has advice, so this is one look at an empty list.
        let level = self.state(state)?.advice(direction, message)?.clone();
        let mut details =
            self.details(&[state], direction, self.got(message, id), ViolationKind::Discouraged);
        details.strictness = level.strictness;
        details.rule = level.rule;
        details.answerable = false;
        Some(Violation::new(details))
    }

    /// What is wrong with a request whose token belongs to a request that is still running.
    pub(super) fn token_in_use(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<&Token>,
    ) -> Option<Violation> {
        let token = token.filter(|token| self.asked(direction).token(token).holder().is_some())?.clone();
        let kind = ViolationKind::TokenInUse { token };
        Some(Violation::new(self.details(&[], direction, self.got(message, Some(id)), kind)))
    }

    fn got(&self, message: MessageIndex, id: Option<&RequestId>) -> Got {
        let table = self.protocol.message(message);
        Got {
            message: table.map(|_| message),
            name: table.map(|table| table.name.clone()).unwrap_or_default(),
            kind: table.map(|table| table.kind),
            method: table.map(|table| table.method.clone()).unwrap_or_default(),
            id: id.cloned(),
            condition: table.and_then(|table| table.condition.clone()),
        }
    }

    fn details(&self, states: &[StateIndex], direction: Direction, got: Got, kind: ViolationKind) -> Details {
        let tables: Vec<&State> = states.iter().filter_map(|state| self.state(*state)).collect();
        // What a state expects can be said of every message that it refuses, whatever else is wrong with it. A payload is
        // wrong in every state.
        let in_state = !matches!(kind, ViolationKind::Over | ViolationKind::Misshapen { .. });
        let level = self.level(&tables, direction, got.message, &kind);
        let error_code = match (level.as_ref().and_then(|level| level.error), &kind) {
            (Some(error), _) => error,
            (
                None,
                ViolationKind::UnknownMethod
                | ViolationKind::NotNegotiated { .. }
                | ViolationKind::Restricted { .. },
            ) => METHOD_NOT_FOUND,
            (
                None,
                ViolationKind::FitsNone { .. }
                | ViolationKind::Misshapen { .. }
                | ViolationKind::KeyMissing { .. },
            ) => INVALID_PARAMS,
            (None, ViolationKind::TooManyRunning { .. }) => OVERLOADED,
            (None, _) => INVALID_REQUEST,
        };
        let answerable = matches!(got.kind, Some(Kind::Request))
            && got.id.as_ref().is_some_and(|id| !self.asked(direction).awaits_reply(id));
        Details {
            protocol: self.protocol.name.clone(),
            version: self.protocol.version.clone(),
            role: self.role().map(|role| role.name.clone()).unwrap_or_default(),
            side: self.side,
            sender: self.sender(direction),
            direction,
            states: tables.iter().map(|state| state.name.clone()).collect(),
            expected: if in_state { self.expected(&tables, direction) } else { Vec::new() },
            awaited: if in_state { self.awaited(&tables, direction) } else { Vec::new() },
            permitted_in: got
                .message
                .map(|message| self.permitted_in(direction, message))
                .unwrap_or_default(),
            strictness: level.as_ref().map_or(Strictness::Must, |level| level.strictness),
            rule: level.and_then(|level| level.rule),
            error_code,
            answerable,
            got,
            kind,
        }
    }

    /// The level that applies: the message's own before the state's. What JSON-RPC itself demands has none, and what
    /// the rules on exchanges refuse is refused in every state alike.
    fn level(
        &self,
        states: &[&State],
        direction: Direction,
        message: Option<MessageIndex>,
        kind: &ViolationKind,
    ) -> Option<Level> {
        match kind {
            ViolationKind::UnknownMethod
            | ViolationKind::DeclaredAs { .. }
            | ViolationKind::OtherKind { .. }
            | ViolationKind::Over
            | ViolationKind::FitsNone { .. }
            | ViolationKind::Misshapen { .. }
            | ViolationKind::DuplicateId { .. }
            | ViolationKind::TooManyRunning { .. }
            | ViolationKind::UnknownId
            | ViolationKind::SecondReply
            | ViolationKind::WrongReply { .. } => return None,
            _ => {}
        }
        let own =
            message.and_then(|message| self.protocol.message(message)).and_then(|table| table.level.clone());
        if let ViolationKind::UnknownKey { .. } = kind
            && self.may_be_forgotten(direction)
        {
            let level = own.unwrap_or(Level::MUST);
            return Some(Level { strictness: Strictness::Should, ..level });
        }
        if own.is_some() {
            return own;
        }
        let is_of_the_state = match kind {
            ViolationKind::NotPermitted
            | ViolationKind::Suspended
            | ViolationKind::NotNegotiated { .. }
            | ViolationKind::NotDuring { .. } => true,
            ViolationKind::UnknownKey { .. } => {
                message.is_some_and(|message| self.opens_nothing_for(states, direction, message))
            }
            _ => false,
        };
        if !is_of_the_state {
            return None;
        }
        let levels = states.iter().map(|state| match direction {
            Direction::Send => &state.outward,
            Direction::Receive => &state.inward,
        });
        levels.max_by_key(|level| level.strictness).cloned()
    }

    /// Whether these states open no sub-session that has a message as a later step. Then it is the state that has no place for
    /// the message, whichever key it carries.
    fn opens_nothing_for(&self, states: &[&State], direction: Direction, message: MessageIndex) -> bool {
        let way = self.sub_sessions.way_of(direction, message);
        let opens = |edge: &Edge| match edge.action {
            Action::Spawn(start) => self.sub_sessions.starts(start).is_some_and(|body| way.contains(&body)),
            Action::Step(_) => false,
        };
        !states.iter().flat_map(|state| state.edges.iter()).any(opens)
    }

    /// The linear channels that a message is judged in: the one that it belongs to, if that is plain, else all.
    fn responsible(&self, direction: Direction, message: MessageIndex) -> Vec<StateIndex> {
        let mut owners =
            self.states().iter().copied().filter(|place| self.leads_to(*place, direction, message));
        match (self.states().len() > 1).then(|| (owners.next(), owners.next())) {
            Some((Some(owner), None)) => vec![owner],
            _ => self.states().to_vec(),
        }
    }

    /// Whether a linear channel can come to a state that accepts a message.
    fn leads_to(&self, start: StateIndex, direction: Direction, message: MessageIndex) -> bool {
        let mut seen = vec![start];
        let mut next = 0;
        while let Some(state) = seen.get(next).copied() {
            next += 1;
            let Some(table) = self.state(state) else { continue };
            if table.edge(direction, message).is_some() {
                return true;
            }
            let steps = table.edges.iter().filter_map(|edge| match edge.action {
                Action::Step(to) => Some(to),
                Action::Spawn(_) => None,
            });
            for to in steps.chain(table.parts.iter().copied()) {
                if !seen.contains(&to) {
                    seen.push(to);
                }
            }
        }
        false
    }

    /// What may be sent in these states in a direction, gates included; what moves a channel on comes first.
    fn expected(&self, states: &[&State], direction: Direction) -> Vec<Expected> {
        let mut ranked: Vec<(bool, MessageIndex)> = Vec::new();
        for state in states {
            for edge in state.edges.iter().filter(|edge| edge.direction == direction) {
                if edge.origin != Origin::Closure && self.are_gates_open(direction, edge.message) {
                    ranked.push((matches!(edge.action, Action::Spawn(_)), edge.message));
                }
            }
        }
        ranked.sort_unstable();
        ranked.dedup();
        ranked.iter().filter_map(|(_, message)| self.expectation(*message)).collect()
    }

    /// What the sender of a direction waits for: the other side's next linear messages, where it has none itself.
    fn awaited(&self, states: &[&State], direction: Direction) -> Vec<Expected> {
        let mut messages = Vec::new();
        for state in states {
            let moves = |wanted| {
                let edges = state.edges.iter().filter(move |edge| {
                    edge.direction == wanted
                        && matches!(edge.action, Action::Step(_))
                        && matches!(edge.origin, Origin::Written)
                });
                edges.map(|edge| edge.message)
            };
            if moves(direction).next().is_none() {
                messages.extend(moves(direction.flip()));
            }
        }
        messages.sort_unstable();
        messages.dedup();
        messages.iter().filter_map(|message| self.expectation(*message)).collect()
    }

    pub(super) fn expectation(&self, message: MessageIndex) -> Option<Expected> {
        self.protocol.message(message).map(|table| Expected {
            message,
            name: table.name.clone(),
            method: table.method.clone(),
            kind: table.kind,
            condition: table.condition.clone(),
        })
    }

    /// The states that accept a message.
    fn permitted_in(&self, direction: Direction, message: MessageIndex) -> Vec<Text> {
        let states = self.role().map(|role: &Role| &*role.states).unwrap_or_default();
        let accepting = states.iter().filter(|state| state.edge(direction, message).is_some());
        accepting.map(|state| state.name.clone()).collect()
    }
}
