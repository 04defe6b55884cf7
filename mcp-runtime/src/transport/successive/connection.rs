//! What the sessions of one connection share.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::driver::{
    Delivery, End, Endpoint, Finish, Frame, Outcome, Outgoing, Outlet, OutletNotice, SharedLimits,
    TransportEvent, duplicate,
};
use crate::jsonrpc::{ANY_DIALECT, Envelope, Sketch, parse};

/// To which session a message of the peer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// It begins the next session. The one before gets no more messages, and may finish what it says.
    Begins,
    /// It belongs to the session that runs, or begins the first one.
    Continues,
    /// The same, and so do all that follow: no message is looked at any more.
    Settled,
}

/// Says to which session a message belongs, by its method.
pub(super) type Divide = Box<dyn FnMut(&str) -> Division + Send>;

/// How many bytes of messages wait for a session that has not started.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// How many bytes a session counts that waits to be taken, and what is noted for it.
const SLOT: usize = 256;

/// How deep a message may nest that is looked at. One that nests deeper continues its session, which refuses it.
const DEEPEST: usize = 100;

/// What the sessions of one connection share.
pub(super) struct Connection {
    state: Mutex<State>,
    pub(super) limits: SharedLimits,
    pub(super) is_ordered: bool,
}

/// Invariants: messages that come in go to the last of the sessions, the current one. The others have begun before it and have
/// not started yet; those that had started have been told that no more messages will come. Messages wait in `held` only
/// while their session has no endpoint.
struct State {
    divide: Option<Divide>,
    /// Where the connection takes what the sessions say; `None` until it has started.
    outlet: Option<Box<dyn Outlet>>,
    sessions: VecDeque<PartState>,
    /// The number of the session that began last; the first one has the number 1.
    begun: u64,
    /// The number of the session that the program has taken last.
    taken: u64,
    /// What sessions before this one say is not sent.
    heard_from: u64,
    /// How many bytes wait in all sessions.
    held_bytes: usize,
    /// Why nothing more comes in: each session that begins after it ends for the same reason.
    input_ended: Option<End>,
    /// The program may still begin another session, though the current one has ended by itself.
    is_kept: bool,
    finish: Option<Finish>,
    outcome: Option<Outcome>,
    /// The connection, which waits for `finish`.
    connection: Option<Waker>,
    /// Tasks that wait for a session, for the outlet or for the outcome.
    waiting: Vec<Waker>,
}

/// One session of the connection.
struct PartState {
    name: SessionName,
    endpoint: Option<Arc<dyn Endpoint>>,
    held: VecDeque<HeldPart>,
}

/// A session that has begun.
#[derive(Clone, Debug)]
pub(super) struct SessionName {
    pub(super) number: u64,
    /// The method of the peer's message that has begun it.
    pub(super) method: Option<String>,
}

/// What waits for a session to start.
enum HeldPart {
    Message(Vec<u8>),
    TooLong(Sketch),
    Ended(End),
    OutputFailed(std::io::Error),
}

impl HeldPart {
    fn of(frame: Frame<'_>) -> HeldPart {
        match frame {
            Frame::Whole(message) => HeldPart::Message(message.bytes().to_vec()),
            Frame::TooLong(sketch) => HeldPart::TooLong(sketch),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            HeldPart::Message(message) => message.len(),
            _ => SLOT,
        }
    }

    fn hand_to(self, endpoint: &dyn Endpoint, now: Instant) {
        match self {
            HeldPart::Message(message) => drop(endpoint.receive(Delivery::message(&message), now)),
            HeldPart::TooLong(sketch) => drop(endpoint.receive(Delivery::frame(Frame::TooLong(sketch)), now)),
            HeldPart::Ended(end) => endpoint.notify(TransportEvent::InputEnded(end)),
            HeldPart::OutputFailed(error) => endpoint.notify(TransportEvent::OutputFailed(error)),
        }
    }
}

impl State {
    /// Begins the next session. Returns the endpoint of the one before, which gets no more messages and does not know
    /// it.
    #[must_use]
    fn begin(&mut self, method: Option<String>) -> Option<Arc<dyn Endpoint>> {
        self.begun = self.begun.saturating_add(1);
        let has_started = self.current().is_some_and(|session| session.endpoint.is_some());
        let before = if has_started { self.sessions.pop_back() } else { None };
        let name = SessionName { number: self.begun, method };
        self.sessions.push_back(PartState { name, endpoint: None, held: VecDeque::new() });
        self.count(SLOT);
        if let Some(end) = &self.input_ended {
            let end = same(end);
            self.hold(HeldPart::Ended(end));
        }
        self.is_kept = false;
        // What the one before has said of the end does not hold for this one.
        if self.finish != Some(Finish::Abandoned) {
            self.finish = None;
        }
        // Of the connection's end it has heard.
        before.filter(|_| self.input_ended.is_none()).and_then(|before| before.endpoint)
    }

    /// Keeps something for the current session until it starts.
    fn hold(&mut self, held: HeldPart) {
        let bytes = held.bytes();
        if let Some(session) = self.sessions.back_mut() {
            session.held.push_back(held);
            self.count(bytes);
        }
    }

    fn count(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if self.held_bytes > MOST_HELD {
            tracing::warn!(
                limit = MOST_HELD,
                "too many messages wait for a session to start; the connection ends"
            );
            self.sessions.iter_mut().for_each(|session| session.held.clear());
            self.held_bytes = 0;
            self.finish = Some(Finish::Abandoned);
        }
    }

    fn current(&self) -> Option<&PartState> {
        self.sessions.back()
    }

    fn is_current(&self, number: u64) -> bool {
        self.begun == number
    }

    /// Everything that waits for a change.
    fn take_waiting(&mut self) -> Vec<Waker> {
        self.connection.take().into_iter().chain(self.waiting.drain(..)).collect()
    }
}

/// The method of a request or a notification.
fn method(message: &[u8]) -> Option<String> {
    match parse(message, DEEPEST, ANY_DIALECT) {
        Ok(Envelope::Request { method, .. } | Envelope::Notification { method, .. }) => {
            Some(method.into_owned())
        }
        _ => None,
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

impl Connection {
    pub(super) fn new(limits: SharedLimits, is_ordered: bool, divide: Option<Divide>) -> Connection {
        let state = State {
            divide,
            outlet: None,
            sessions: VecDeque::new(),
            begun: 0,
            taken: 0,
            heard_from: 0,
            held_bytes: 0,
            input_ended: None,
            is_kept: false,
            finish: None,
            outcome: None,
            connection: None,
            waiting: Vec::new(),
        };
        Connection { state: Mutex::new(state), limits, is_ordered }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is done under the lock does not panic, except for the program's `divide`, which leaves it as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes all that wait for a change.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        let waiting = state.take_waiting();
        drop(state);
        wake(waiting);
        result
    }

    /// Waits until something can be read off the state.
    async fn wait<T>(&self, mut read: impl FnMut(&mut State) -> Option<T>) -> T {
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some(found) = read(&mut state) {
                return Poll::Ready(found);
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    // What the program does.

    /// Begins a session, and makes those before silent.
    pub(super) fn begin_here(&self) -> SessionName {
        let (before, name) = self.change(|state| {
            let before = state.begin(None);
            (state.taken, state.heard_from) = (state.begun, state.begun);
            state.sessions.retain(|session| session.name.number == state.begun);
            (before, SessionName { number: state.begun, method: None })
        });
        end(before);
        name
    }

    /// The end of the current session is not the connection's, until the next one begins or there will be none.
    pub(super) fn keep(&self) {
        self.change(|state| state.is_kept = true);
    }

    /// Waits for a session that the peer begins.
    pub(super) async fn begun(&self) -> Option<SessionName> {
        self.wait(|state| {
            let next = state.sessions.iter().find(|session| session.name.number > state.taken);
            if let Some(name) = next.map(|session| session.name.clone()) {
                state.taken = name.number;
                return Some(Some(name));
            }
            (state.input_ended.is_some() || state.outcome.is_some()).then_some(None)
        })
        .await
    }

    /// The program begins no other session, and takes none.
    pub(super) fn no_more(&self) {
        self.change(|state| {
            state.is_kept = false;
            if state.taken < state.begun || state.begun == 0 {
                state.finish = Some(Finish::Abandoned);
            }
        });
    }

    // What a session does.

    /// Waits until the session can speak, or the connection is gone.
    pub(super) async fn started(&self) {
        self.wait(|state| (state.outlet.is_some() || state.outcome.is_some()).then_some(())).await;
    }

    /// Gives a session what waits for it, and from then on what comes for it.
    pub(super) fn attach(&self, number: u64, endpoint: &Arc<dyn Endpoint>) {
        let mut has_ended = false;
        loop {
            let mut state = self.lock();
            let is_current = state.is_current(number);
            let session = state.sessions.iter_mut().find(|session| session.name.number == number);
            match session.and_then(|session| session.held.pop_front()) {
                Some(held) => {
                    state.held_bytes = state.held_bytes.saturating_sub(held.bytes());
                    // A session is called without the lock, because it says something while it is locked itself.
                    drop(state);
                    has_ended |= matches!(held, HeldPart::Ended(_));
                    held.hand_to(&**endpoint, tokio::time::Instant::now().into_std());
                }
                None => {
                    state.held_bytes = state.held_bytes.saturating_sub(SLOT);
                    if is_current {
                        if let Some(session) = state.sessions.back_mut() {
                            session.endpoint = Some(Arc::clone(endpoint));
                        }
                        return;
                    }
                    state.sessions.retain(|session| session.name.number != number);
                    drop(state);
                    if !has_ended {
                        endpoint.notify(TransportEvent::InputEnded(End::Eof));
                    }
                    return;
                }
            }
        }
    }

    /// A session has said everything, or wants nothing any more. The connection ends with the current one.
    pub(super) fn finish(&self, number: u64, finish: Finish) {
        self.change(|state| {
            if state.is_current(number) && state.finish != Some(Finish::Abandoned) {
                state.finish = Some(finish);
            }
        });
    }

    /// Waits for the end of the connection.
    pub(super) async fn outcome(&self) -> Outcome {
        self.wait(|state| state.outcome.clone()).await
    }

    /// Waits until a session is not the current one any more.
    pub(super) async fn superseded(&self, number: u64) {
        self.wait(|state| (!state.is_current(number)).then_some(())).await;
    }

    // What the connection does.

    pub(super) fn set_outlet(&self, outlet: Box<dyn Outlet>) {
        self.change(|state| state.outlet = Some(outlet));
    }

    pub(super) fn poll_finish(&self, context: &mut Context<'_>) -> Option<Finish> {
        let mut state = self.lock();
        state.connection = Some(context.waker().clone());
        state.finish.filter(|_| !state.is_kept)
    }

    /// The session that gets what comes in.
    pub(super) fn endpoint(&self) -> Option<Arc<dyn Endpoint>> {
        self.lock().current()?.endpoint.clone()
    }

    /// Whether all that comes goes to the current session.
    pub(super) fn is_settled(&self) -> bool {
        let state = self.lock();
        state.divide.is_none() && state.current().is_some()
    }

    /// Hands a message to its session, or holds it.
    pub(super) fn receive(&self, frame: Frame<'_>, now: Instant) {
        // An empty line is not a message, and begins nothing.
        if matches!(frame, Frame::Whole(message) if message.bytes().trim_ascii().is_empty()) {
            return;
        }
        let mut state = self.lock();
        let name = match (&frame, &state.divide) {
            (Frame::Whole(message), Some(_)) => method(message.bytes()),
            _ => None,
        };
        let division = match (&name, &mut state.divide) {
            (Some(name), Some(divide)) => divide(name),
            _ => Division::Continues,
        };
        if division == Division::Settled {
            state.divide = None;
        }
        let mut before = None;
        if division == Division::Begins || state.current().is_none() {
            before = state.begin(name);
        }
        let endpoint = state.current().and_then(|session| session.endpoint.clone());
        if endpoint.is_none() {
            state.hold(HeldPart::of(frame));
            let waiting = state.take_waiting();
            drop(state);
            wake(waiting);
            return end(before);
        }
        drop(state);
        if let Some(endpoint) = endpoint {
            endpoint.receive(Delivery::frame(frame), now);
        }
    }

    /// Hands the current session an event, or holds it.
    pub(super) fn notify(&self, event: TransportEvent<'_>) {
        let mut state = self.lock();
        let mut waiting = Vec::new();
        if let TransportEvent::InputEnded(end) = &event {
            state.input_ended = Some(same(end));
            waiting = state.take_waiting();
        }
        match state.current().map(|session| session.endpoint.clone()) {
            Some(Some(endpoint)) => {
                drop(state);
                endpoint.notify(event);
            }
            Some(None) => {
                match event {
                    TransportEvent::InputEnded(end) => state.hold(HeldPart::Ended(end)),
                    TransportEvent::OutputFailed(error) => state.hold(HeldPart::OutputFailed(error)),
                    // The others are about what a session has said, and this one has said nothing.
                    _ => {}
                }
                drop(state);
            }
            None => drop(state),
        }
        wake(waiting);
    }

    pub(super) fn terminated(&self, outcome: Outcome) {
        self.change(|state| {
            state.outcome.get_or_insert(outcome);
        });
    }
}

/// A second end that says the same: `io::Error` cannot be cloned.
fn same(end: &End) -> End {
    match end {
        End::Eof => End::Eof,
        End::Failed(error) => End::Failed(duplicate(error)),
        End::Exited(status) => End::Exited(*status),
        End::GaveUp => End::GaveUp,
    }
}

/// The session that was current gets no more messages.
fn end(before: Option<Arc<dyn Endpoint>>) {
    if let Some(before) = before {
        before.notify(TransportEvent::InputEnded(End::Eof));
    }
}

/// Takes what one session says.
pub(super) struct PartOutlet {
    pub(super) number: u64,
    pub(super) connection: Arc<Connection>,
}

impl PartOutlet {
    fn with<T: Default>(&self, speak: impl FnOnce(&mut dyn Outlet) -> T) -> T {
        let mut state = self.connection.lock();
        let is_heard = self.number >= state.heard_from;
        match &mut state.outlet {
            Some(outlet) if is_heard => speak(&mut **outlet),
            _ => T::default(),
        }
    }
}

impl Outlet for PartOutlet {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        self.with(|outlet| outlet.take(outgoing, wake))
    }

    fn note(&mut self, notice: OutletNotice, wake: &mut dyn FnMut(Waker)) {
        // What is discarded is said by the session whose connection fails, and that is the current one.
        if notice != OutletNotice::Discarded || self.connection.lock().is_current(self.number) {
            self.with(|outlet| outlet.note(notice, wake));
        }
    }

    fn waiting(&self) -> usize {
        self.with(|outlet| outlet.waiting())
    }

    fn routes(&self) -> bool {
        self.with(|outlet| outlet.routes())
    }
}

impl fmt::Debug for PartOutlet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PartOutlet").field("number", &self.number).finish_non_exhaustive()
    }
}
