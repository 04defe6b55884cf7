//! The lock around an engine. It is never held while code of the program or of a transport runs.

use std::fmt;
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol_machine::protocol::{Protocol, Role, Side};
use mcp_protocol_machine::{ProtocolRef, RequestId, SubSessionNumber};
use tracing::Span;

use super::owners::context::Caller;
use super::owners::trace::Tracer;
use super::owners::wakers::Waiter;
use super::state::Engine;
use crate::clock::now;
use crate::driver::{
    Aside, Delivery, Endpoint, Outlet, Received, SessionInfo, SessionStatus, SharedLimits, TransportEvent,
};
use crate::epoch::Epoch;
use crate::options::Options;
use crate::report::Report;
use crate::rules::{beginning, version};

/// One session, shared by its values, calls, handlers and its transport.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
    /// The request of the peer that is being worked on where this handle is used.
    about: Option<Arc<RequestId>>,
    /// The only epoch that this handle may speak in; `None`: any.
    epoch: Option<Epoch>,
    /// The sub-session whose value this handle belongs to, counted from one so that it is small: what it opens, it opens
    /// within that.
    sub_session: Option<NonZeroU64>,
}

struct Shared {
    engine: Mutex<Box<Engine>>,
    // What never changes is readable without the lock.
    protocol: ProtocolRef,
    side: Side,
    options: Arc<Options>,
    limits: SharedLimits,
    tracer: Tracer,
}

impl Link {
    pub(crate) fn new(
        engine: Box<Engine>,
        protocol: ProtocolRef,
        side: Side,
        options: Arc<Options>,
        limits: SharedLimits,
    ) -> Link {
        let tracer = Tracer::new(&protocol, side);
        let shared = Shared { engine: Mutex::new(engine), protocol, side, options, limits, tracer };
        Link { shared: Arc::new(shared), about: None, epoch: None, sub_session: None }
    }

    /// The same handle, for a task that works on a request of the peer: what it says is about that request.
    pub(crate) fn about(&self, request: Option<RequestId>) -> Link {
        Link { about: request.map(Arc::new), ..self.clone() }
    }

    /// The same handle, for a caller that has a part in one epoch only: a request of the peer, or a sub-session that it
    /// opened. Once that epoch is over, so is this handle.
    pub(crate) fn within(&self, epoch: Epoch) -> Link {
        Link { epoch: Some(epoch), ..self.clone() }
    }

    /// The same handle, for the value of a sub-session; or for the session itself, for whatever is not about a
    /// sub-session.
    pub(crate) fn in_sub_session(&self, sub_session: Option<SubSessionNumber>) -> Link {
        let sub_session =
            sub_session.and_then(|SubSessionNumber(number)| NonZeroU64::MIN.checked_add(number));
        Link { sub_session, ..self.clone() }
    }

    /// The sub-session whose value this handle belongs to.
    pub(crate) fn sub_session(&self) -> Option<SubSessionNumber> {
        self.sub_session.map(|number| SubSessionNumber(number.get() - 1))
    }

    /// Does something with the engine, then what follows from it outside of the lock.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Engine) -> R) -> R {
        let mut engine = self.lock();
        let result = act(&mut engine);
        self.leave(engine);
        result
    }

    /// Leaves the lock. Apart from `with`, so that it is compiled once and not for each act.
    fn leave(&self, mut engine: MutexGuard<'_, Box<Engine>>) {
        let effects = engine.take_effects();
        let traced = !engine.traces().is_empty();
        if traced {
            // Within the lock, so that the order stays; told without it.
            self.shared.tracer.note(engine.traces());
        }
        drop(engine);
        if traced {
            self.shared.tracer.tell();
        }
        if let Some(effects) = effects {
            effects.run(&self.shared.options, self.shared.tracer.session());
        }
    }

    /// The same on behalf of the holder of this handle.
    pub(crate) fn speak<R>(&self, act: impl FnOnce(&mut Engine, Caller) -> R) -> R {
        self.speak_about(self.about.as_deref(), act)
    }

    /// The same for a caller that works on this request of the peer.
    pub(crate) fn speak_about<R>(
        &self,
        request: Option<&RequestId>,
        act: impl FnOnce(&mut Engine, Caller) -> R,
    ) -> R {
        self.with(|engine| {
            let caller = engine.caller(self.epoch, request).in_sub_session(self.sub_session());
            act(engine, caller)
        })
    }

    /// Waits for something of the engine, in a place of its own among those who wait.
    pub(crate) async fn wait<R>(
        &self,
        mut poll: impl FnMut(&mut Engine, &Context<'_>, &mut Waiter) -> Poll<R>,
    ) -> R {
        let mut waiter = Waiter::default();
        poll_fn(|context| self.with(|engine| poll(engine, context, &mut waiter))).await
    }

    /// The same on behalf of the holder of this handle.
    pub(crate) async fn wait_as<R>(
        &self,
        mut poll: impl FnMut(&mut Engine, Caller, &Context<'_>, &mut Waiter) -> Poll<R>,
    ) -> R {
        let mut waiter = Waiter::default();
        poll_fn(|context| self.speak(|engine, caller| poll(engine, caller, context, &mut waiter))).await
    }

    /// Tells the time as long as something waits for a dispatcher. The transport does while it is there.
    pub(crate) async fn settle(&self) {
        while let Some(at) = self.with(|engine| engine.inbox().order_deadline()) {
            tokio::select! {
                () = self.wait(|engine, context, waiter| engine.inbox().poll_settled(context, waiter)) => return,
                () = tokio::time::sleep_until(at.into()) => self.tick(now()),
            }
        }
    }

    /// Reports what was noticed outside of the engine.
    pub(crate) fn report(&self, report: &Report) {
        self.shared.tracer.session().in_scope(|| self.shared.options.report(report));
    }

    /// The span that a handler of a message of the peer runs in.
    pub(crate) fn span_of(&self, id: Option<&RequestId>) -> Span {
        self.shared.tracer.of_request(id)
    }

    fn lock(&self) -> MutexGuard<'_, Box<Engine>> {
        // The engine does not panic, and if it did, the session would still be better than a second panic.
        self.shared.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn protocol(&self) -> &Protocol {
        &self.shared.protocol
    }

    pub(crate) fn role(&self) -> Option<&Role> {
        self.shared.protocol.role(self.shared.side)
    }

    /// Whether this is the same session.
    pub(crate) fn is(&self, other: &Link) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The limits that the session shares with others.
    pub(crate) fn limits(&self) -> &SharedLimits {
        &self.shared.limits
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.lock();
        let states = engine.rules().checker().state_names();
        let (running, unanswered) = engine.open_requests();
        drop(engine);
        formatter
            .debug_struct("Session")
            .field("protocol", &self.shared.protocol.name)
            .field("state", &states)
            .field("running", &running)
            .field("unanswered", &unanswered)
            .finish()
    }
}

impl Endpoint for Link {
    fn attach(&self, outlet: Box<dyn Outlet>) {
        self.with(|engine| engine.attach(outlet));
    }

    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received {
        self.with(|engine| engine.receive(delivery, now))
    }

    fn notify(&self, event: TransportEvent<'_>) {
        self.with(|engine| match event {
            TransportEvent::Wrote => engine.wrote(),
            TransportEvent::InputEnded(why) => engine.input_ended(why),
            TransportEvent::OutputFailed(error) => engine.output_failed(error),
            TransportEvent::Failed(reason) => engine.end(reason),
            TransportEvent::RequestFailed { id, error } => engine.request_failed(id, error),
            TransportEvent::Noticed(report) => engine.report(report),
            TransportEvent::Reconnected { request, reply } => engine.reconnected(request, reply),
            TransportEvent::Terminated(outcome) => engine.terminated(outcome),
        });
    }

    fn status(&self, context: &mut Context<'_>) -> SessionStatus {
        self.with(|engine| engine.status(context))
    }

    fn tick(&self, now: Instant) {
        self.with(|engine| engine.tick(now));
    }

    fn info(&self) -> SessionInfo {
        self.with(|engine| SessionInfo {
            resumed: engine.lifecycle().is_resumed(),
            agreed_version: version::agreed(engine.rules()).map(Into::into),
            program_version: self.protocol().version.clone(),
            is_stateless: self.protocol().announces_in_each_request(Side::Client),
            reuses_ids: self.protocol().reuses_ids,
            dialect: engine.rules().dialect(),
        })
    }

    fn read_aside(&self, message: &[u8]) -> Aside {
        self.with(|engine| Aside {
            answer: beginning::answer_aside(engine.rules(), message),
            version: version::of_reply(engine.rules(), message),
            requested: version::asked_by(engine.rules(), message),
        })
    }
}
