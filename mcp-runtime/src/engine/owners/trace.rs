//! Records for `tracing`: a span for each session, a span in it for each exchange, events for states and ends.
//!
//! The engine notes them in order while it is locked, and only if a subscriber listens. They are emitted once it is
//! unlocked, because a subscriber may call into the session. Payloads are never recorded.
//!
//! Spans: `session` (level info) with `protocol`, `version`, `side` and `number`; `exchange` (level debug) with
//! `method`, `id`, `from` (`here` or `peer`) and, once it is over, `outcome`. Events (level debug): `state` with `from`
//! and `to`, and for a sub-session that opens, moves or is over its number `sub_session`, too; `ignored` with `method` and
//! `id` or `token`; `ended` with `reason`.
//! Reports, violations among them, are events in the span of the session, too.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Protocol, Side, StateIndex, Text};
use mcp_protocol_machine::{RequestId, Step, StepKind, SubSessionNumber, Token};
use tracing::{Level, Span, field};

use super::lifecycle::Lifecycle;
use crate::error::Error;
use crate::rules::Rules;
use crate::rules::judge::Named;

/// Something to be recorded.
#[derive(Debug)]
enum Trace {
    /// A request was sent or has come.
    Asked { from: Direction, id: RequestId, method: Text },
    /// An exchange is over.
    Over { from: Direction, id: RequestId, outcome: ExchangeOutcome },
    /// A linear channel has moved.
    Moved { from: Text, to: Text },
    /// A sub-session took a step, and is in this state if it goes on.
    SubSession { sub_session: SubSessionNumber, state: Option<(StateIndex, Text)> },
    /// A message came too late for the request that it is about.
    Ignored { method: Option<Text>, about: RequestName },
    /// The session has come to its end, or closer to it.
    Ended { reason: String, last: bool },
}

/// What a message says of the request that it is about.
#[derive(Clone, Debug)]
pub(crate) enum RequestName {
    /// A cancel or a reply: the id.
    Id(RequestId),
    /// Progress: the token.
    Token(Token),
}

impl RequestName {
    /// What a notification names, if it names a request.
    pub(crate) fn of(named: Named) -> Option<RequestName> {
        named.cancelled.map(RequestName::Id).or(named.token.map(RequestName::Token))
    }
}

/// What became of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExchangeOutcome {
    Result,
    /// An error, with its code.
    Error(i64),
    Cancelled,
    /// This side waits no longer.
    Timeout,
    /// It was not delivered, or its reply will not come.
    Lost,
}

/// What is to be recorded of one session.
///
/// Invariant: empty unless a subscriber listens.
#[derive(Debug, Default)]
pub(crate) struct Traces(Vec<Trace>);

impl Traces {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// A request was sent or has come, and was accepted.
    pub(crate) fn asked(&mut self, rules: &Rules, from: Direction, id: &RequestId, message: MessageIndex) {
        if is_heard() {
            self.0.push(Trace::Asked { from, id: id.clone(), method: rules.method(message) });
        }
    }

    /// An exchange is over.
    pub(crate) fn over(&mut self, from: Direction, id: &RequestId, outcome: ExchangeOutcome) {
        if is_heard() {
            self.0.push(Trace::Over { from, id: id.clone(), outcome });
        }
    }

    /// A step was taken.
    pub(crate) fn step(&mut self, rules: &Rules, step: &Step) {
        let name = |state: StateIndex| rules.state_name(state);
        let trace = match (step.kind, step.sub_session) {
            (StepKind::Linear { from, to }, _) if from != to && is_heard() => {
                Trace::Moved { from: name(from), to: name(to) }
            }
            (StepKind::Spawned { .. } | StepKind::SubSession { .. }, Some(sub_session)) if is_heard() => {
                let state = rules.checker().sub_session_state(sub_session);
                Trace::SubSession { sub_session, state: state.map(|state| (state, name(state))) }
            }
            _ => return,
        };
        self.0.push(trace);
    }

    /// A message came too late for the request that it is about, and is ignored: a notification, or a reply where there
    /// is not a `message`.
    pub(crate) fn ignored(&mut self, rules: &Rules, message: Option<MessageIndex>, about: RequestName) {
        if is_heard() {
            let method = message.map(|message| rules.method(message));
            self.0.push(Trace::Ignored { method, about });
        }
    }

    /// A sub-session is over without a step.
    pub(crate) fn sub_session_over(&mut self, sub_session: SubSessionNumber) {
        if is_heard() {
            self.0.push(Trace::SubSession { sub_session, state: None });
        }
    }

    /// The session has come to its end, or closer to it.
    pub(crate) fn end(&mut self, lifecycle: &Lifecycle, last: bool) {
        if is_heard() {
            let reason = lifecycle.error().unwrap_or(Error::Closed).to_string();
            self.0.push(Trace::Ended { reason, last });
        }
    }
}

/// Whether a subscriber listens.
fn is_heard() -> bool {
    tracing::enabled!(Level::DEBUG)
}

/// The spans of one session.
#[derive(Debug)]
pub(crate) struct Tracer {
    session: Span,
    /// What the engine has noted and was not emitted yet. Locked within the engine's lock.
    notes: Mutex<VecDeque<Trace>>,
    /// Locked by the task that emits; others leave it to that task.
    running: Mutex<Running>,
}

/// What was recorded and is not over.
#[derive(Debug, Default)]
struct Running {
    exchanges: HashMap<(Direction, RequestId), Span>,
    /// The states that sub-sessions are in.
    sub_sessions: HashMap<SubSessionNumber, (StateIndex, Text)>,
}

impl Tracer {
    pub(crate) fn new(protocol: &Protocol, side: Side) -> Tracer {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let session = tracing::info_span!(
            parent: None,
            "session",
            protocol = &*protocol.name,
            version = protocol.version.as_deref(),
            side = side.word(),
            number = NUMBER.fetch_add(1, Ordering::Relaxed),
        );
        Tracer { session, notes: Mutex::default(), running: Mutex::default() }
    }

    /// The span of the session.
    pub(crate) fn session(&self) -> &Span {
        &self.session
    }

    /// The span of a request of the peer that runs; that of the session if there is none.
    pub(crate) fn of_request(&self, id: Option<&RequestId>) -> Span {
        if !is_heard() {
            return Span::none();
        }
        self.tell();
        let key = id.map(|id| (Direction::Receive, id.clone()));
        let running = self.running.try_lock().ok();
        let span = key.zip(running).and_then(|(key, running)| running.exchanges.get(&key).cloned());
        span.unwrap_or_else(|| self.session.clone())
    }

    /// Takes notes over, to be recorded once the engine is unlocked.
    pub(crate) fn note(&self, traces: &mut Traces) {
        self.notes().extend(traces.0.drain(..));
    }

    /// Emits everything that was noted, in order, unless another task is doing so already.
    pub(crate) fn tell(&self) {
        while !self.notes().is_empty() {
            let mut running = match self.running.try_lock() {
                Ok(running) => running,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // The task that holds it looks again when it is done.
                Err(TryLockError::WouldBlock) => return,
            };
            loop {
                // A subscriber may call into the session, which then notes more.
                let note = self.notes().pop_front();
                let Some(note) = note else { break };
                self.tell_one(&mut running, note);
            }
        }
    }

    fn notes(&self) -> MutexGuard<'_, VecDeque<Trace>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_one(&self, running: &mut Running, note: Trace) {
        let session = &self.session;
        match note {
            Trace::Asked { from, id, method } => {
                let span = tracing::debug_span!(
                    parent: session,
                    "exchange",
                    method = &*method,
                    %id,
                    from = match from {
                        Direction::Send => "here",
                        Direction::Receive => "peer",
                    },
                    outcome = field::Empty,
                );
                running.exchanges.insert((from, id), span);
            }
            Trace::Over { from, id, outcome } => {
                let Some(span) = running.exchanges.remove(&(from, id)) else { return };
                match outcome {
                    ExchangeOutcome::Result => span.record("outcome", "result"),
                    ExchangeOutcome::Error(code) => {
                        span.record("outcome", field::display(format_args!("error {code}")))
                    }
                    ExchangeOutcome::Cancelled => span.record("outcome", "cancelled"),
                    ExchangeOutcome::Timeout => span.record("outcome", "timeout"),
                    ExchangeOutcome::Lost => span.record("outcome", "lost"),
                };
            }
            Trace::Moved { from, to } => tracing::debug!(parent: session, from = &*from, to = &*to, "state"),
            Trace::SubSession { sub_session, state } => {
                let before = match &state {
                    Some(state) => running.sub_sessions.insert(sub_session, state.clone()),
                    None => running.sub_sessions.remove(&sub_session),
                };
                if before != state {
                    let (from, to) = (before.map(|(_, name)| name), state.map(|(_, name)| name));
                    tracing::debug!(
                        parent: session,
                        sub_session = sub_session.0,
                        from = from.as_deref(),
                        to = to.as_deref(),
                        "state"
                    );
                }
            }
            Trace::Ignored { method, about } => {
                let (id, token) = match &about {
                    RequestName::Id(id) => (Some(field::display(id)), None),
                    RequestName::Token(token) => (None, Some(field::display(token))),
                };
                tracing::debug!(parent: session, method = method.as_deref(), id, token, "ignored");
            }
            Trace::Ended { reason, last } => {
                tracing::debug!(parent: session, reason, "ended");
                if last {
                    // What was not answered never will be.
                    running.exchanges.clear();
                    running.sub_sessions.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_noted_where_nothing_listens() {
        let mut traces = Traces::default();
        traces.over(Direction::Send, &RequestId::Number(1), ExchangeOutcome::Lost);
        traces.sub_session_over(SubSessionNumber(1));
        traces.end(&Lifecycle::default(), true);
        assert!(traces.is_empty() && traces.capacity() == 0);
    }
}
