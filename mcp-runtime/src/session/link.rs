//! The shared handle on an engine.
//!
//! In: whatever an engine takes, from any thread. Out: the same as the engine's. Refuses to hold the lock while code
//! runs that is not the engine's: tasks are woken and reports are made after it is released.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::{Protocol, Role, Side};
use mcp_protocol_machine::{ProtocolRef, RequestId};
use tracing::Span;

use super::engine::Engine;
use super::trace::Tracer;
use crate::driver::{DirectOutput, End, Endpoint, Outcome, Output};
use crate::options::{Options, Report};

/// One session, shared by its values, calls, handlers and its transport.
#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    engine: Mutex<Engine>,
    // What never changes is readable without the lock.
    protocol: ProtocolRef,
    side: Side,
    options: Arc<Options>,
    tracer: Tracer,
}

impl Link {
    pub(crate) fn new(engine: Engine, protocol: ProtocolRef, side: Side, options: Arc<Options>) -> Link {
        let tracer = Tracer::new(&protocol, side);
        Link(Arc::new(Shared { engine: Mutex::new(engine), protocol, side, options, tracer }))
    }

    /// Does something with the engine, then what follows from it outside of the lock.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Engine) -> R) -> R {
        let mut engine = self.lock();
        let result = act(&mut engine);
        let effects = engine.take_effects();
        let traced = !engine.traces().is_empty();
        if traced {
            // Within the lock, so that the order stays; told without it.
            self.0.tracer.note(engine.traces());
        }
        drop(engine);
        if traced {
            self.0.tracer.tell();
        }
        if let Some(effects) = effects {
            effects.run(&self.0.options, self.0.tracer.session());
        }
        result
    }

    /// Reports what was noticed outside of the engine.
    pub(crate) fn report(&self, report: &Report) {
        self.0.tracer.session().in_scope(|| self.0.options.report(report));
    }

    /// The span that a handler of a message of the peer runs in.
    pub(crate) fn span_of(&self, id: Option<&RequestId>) -> Span {
        self.0.tracer.of_request(id)
    }

    fn lock(&self) -> MutexGuard<'_, Engine> {
        // The engine does not panic, and if it did, the session would still be better than a second panic.
        self.0.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn protocol(&self) -> &Protocol {
        &self.0.protocol
    }

    pub(crate) fn role(&self) -> Option<&Role> {
        self.0.protocol.role(self.0.side)
    }

    /// Whether this is the same session.
    pub(crate) fn is(&self, other: &Link) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.lock();
        let states = engine.checker().state_names();
        let (running, unanswered) = engine.open_requests();
        drop(engine);
        formatter
            .debug_struct("Session")
            .field("protocol", &self.0.protocol.name)
            .field("state", &states)
            .field("running", &running)
            .field("unanswered", &unanswered)
            .finish()
    }
}

impl Endpoint for Link {
    fn offer_direct_output(&self, output: Box<dyn DirectOutput>) {
        self.with(|engine| engine.direct_output_offered(output));
    }

    fn receive(&self, bytes: &[u8], now: Instant) {
        self.with(|engine| engine.receive(bytes, now));
    }

    fn input_ended(&self, why: End) {
        self.with(|engine| engine.input_ended(why));
    }

    fn poll_output(&self, context: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<Output> {
        self.with(|engine| engine.poll_output(context, into, room))
    }

    fn wrote(&self) {
        self.with(Engine::wrote);
    }

    fn output_failed(&self, error: io::Error) {
        self.with(|engine| engine.output_failed(error));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.with(|engine| engine.next_deadline())
    }

    fn tick(&self, now: Instant) {
        self.with(|engine| engine.tick(now));
    }

    fn terminated(&self, outcome: Outcome) {
        self.with(|engine| engine.terminated(outcome));
    }
}
