//! One HTTP session of the server.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use mcp_protocol_machine::IdTable;
use mcp_protocol_machine::protocol::{Dialect, Text};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use super::head::RequestHead;
use super::options::ServerOptions;
use super::quotas::SessionQuotas;
use super::streams::{Ending, Streams};
use crate::driver::{
    Carrier, Clocked, Delivery, End, Endpoint, Extension, Finish, Outcome, Outgoing, Outlet, OutletNotice,
    Received, RequestTag, SharedLimits, Transport, TransportEvent, duplicate,
};
use crate::error::{DisconnectReason, Error};
use crate::jsonrpc::MessageText;

/// How long the end of a session waits for its client to take the last messages.
const FLUSH: std::time::Duration = std::time::Duration::from_secs(2);

/// How often it is looked at the most whether clients read.
pub(super) const TICK: std::time::Duration = std::time::Duration::from_millis(1);

/// What requests find a session by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionKey {
    /// The id that its client has been given.
    Id(String),
    /// Nothing: it serves this one request, the number of which only the server knows.
    OneRequest(u64),
}

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<SessionTable>);

#[derive(Debug, Default)]
struct SessionTable {
    by_id: HashMap<String, Arc<HttpSessionState>>,
    of_one_request: IdTable<u64, Arc<HttpSessionState>>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        // What is done under the lock does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, session: Arc<HttpSessionState>) {
        let mut table = self.lock();
        let replaced = match session.key.clone() {
            SessionKey::Id(id) => table.by_id.insert(id, session),
            SessionKey::OneRequest(number) => table.of_one_request.insert(number, session),
        };
        drop(table);
        drop(replaced);
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSessionState>> {
        self.lock().by_id.get(id).cloned()
    }

    fn remove(&self, key: &SessionKey) {
        let mut table = self.lock();
        let removed = match key {
            SessionKey::Id(id) => table.by_id.remove(id),
            SessionKey::OneRequest(number) => table.of_one_request.remove(number),
        };
        // Dropped unlocked: the last handle on a session may take much with it.
        drop(table);
        drop(removed);
    }

    pub(super) fn all(&self) -> Vec<Arc<HttpSessionState>> {
        let table = self.lock();
        table.by_id.values().chain(table.of_one_request.values()).cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        let table = self.lock();
        table.by_id.len() + table.of_one_request.len()
    }
}

/// What the requests of one session share.
#[derive(Debug)]
pub(super) struct HttpSessionState {
    pub(super) key: SessionKey,
    pub(super) options: Arc<ServerOptions>,
    /// The version of the protocol that was agreed on, once it was asked for.
    version: OnceLock<String>,
    endpoint: OnceLock<Attached>,
    streams: Mutex<Streams>,
    /// Notifies the request that waits for the endpoint.
    attaching: Notify,
    /// What it may hold.
    pub(super) quotas: SessionQuotas,
    /// The head of the request that began it.
    pub(super) head: Arc<RequestHead>,
    sessions: Weak<Sessions>,
}

/// The endpoint, which has nothing to show.
struct Attached(Arc<dyn Endpoint>);

impl std::fmt::Debug for Attached {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Attached")
    }
}

impl HttpSessionState {
    pub(super) fn new(
        key: SessionKey,
        options: Arc<ServerOptions>,
        quotas: SessionQuotas,
        head: Arc<RequestHead>,
        sessions: Weak<Sessions>,
    ) -> HttpSessionState {
        let is_for_one_request = matches!(key, SessionKey::OneRequest(_));
        let limits = quotas.streams(&options);
        let streams = Streams::new(limits, is_for_one_request, Instant::now().into_std());
        HttpSessionState {
            key,
            options,
            version: OnceLock::new(),
            endpoint: OnceLock::new(),
            streams: Mutex::new(streams),
            attaching: Notify::new(),
            quotas,
            head,
            sessions,
        }
    }

    /// Whether the session serves one request, and ends with it.
    pub(super) fn is_for_one_request(&self) -> bool {
        matches!(self.key, SessionKey::OneRequest(_))
    }

    /// The version of the protocol of the session's code, if that has no handshake.
    pub(super) fn stateless(&self) -> Option<Text> {
        let Attached(endpoint) = self.endpoint.get()?;
        let info = endpoint.info();
        info.is_stateless.then(|| info.program_version.unwrap_or_default())
    }

    /// Which JSON-RPC the session's code speaks, once it has taken the session on.
    pub(super) fn dialect(&self) -> Option<Dialect> {
        self.endpoint.get().map(|Attached(endpoint)| endpoint.info().dialect)
    }

    /// The version of the protocol that was agreed on, if one was.
    pub(super) fn version(&self) -> Option<&str> {
        if self.version.get().is_none()
            && let Some(Attached(endpoint)) = self.endpoint.get()
            && let Some(agreed) = endpoint.info().agreed_version
        {
            let _ = self.version.set(agreed);
        }
        self.version.get().map(String::as_str)
    }

    /// The streams. The lock is never held while the endpoint is called, which calls back.
    pub(super) fn streams(&self) -> MutexGuard<'_, Streams> {
        // What is done under the lock does not panic.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the code of the session is there.
    pub(super) fn is_attached(&self) -> bool {
        self.endpoint.get().is_some()
    }

    /// Waits until the code of the session is there; `false` if it never will be.
    pub(super) async fn attached(&self) -> bool {
        loop {
            let mut notified = std::pin::pin!(self.attaching.notified());
            // From here on no notification is missed.
            notified.as_mut().enable();
            if self.is_attached() {
                return true;
            }
            if self.streams().is_closed() {
                return false;
            }
            notified.await;
        }
    }

    /// Hands a message to the session.
    pub(super) fn receive(
        &self,
        message: MessageText<'_>,
        stream: u64,
        head: &Arc<RequestHead>,
        now: std::time::Instant,
    ) -> Received {
        let received = match self.endpoint.get() {
            Some(Attached(endpoint)) => {
                let head = Arc::clone(head) as Arc<dyn Extension>;
                let delivery = Delivery::text(message).tagged(RequestTag(stream)).with_extension(&head);
                endpoint.receive(delivery, now)
            }
            None => Received::default(),
        };
        self.streams().delivered(stream);
        received
    }

    /// Messages were taken: tasks that wait for room may continue.
    pub(super) fn wrote(&self) {
        self.notify(TransportEvent::Wrote);
    }

    fn notify(&self, event: TransportEvent<'_>) {
        if let Some(Attached(endpoint)) = self.endpoint.get() {
            endpoint.notify(event);
        }
    }

    /// Ends the session, and removes it from the table.
    pub(super) fn end(&self, ending: Ending) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.remove(&self.key);
        }
        if ending == Ending::Gone {
            self.notify(TransportEvent::Failed(DisconnectReason::PeerClosed));
            self.streams().close();
            self.attaching.notify_waiters();
        } else {
            self.streams().end_gets();
        }
        self.streams().end(ending);
    }

    /// The answer to the only request is not read any further: the request is cancelled if it is still worked on.
    pub(super) fn left(&self, stream: u64) {
        let answered = self.streams().is_answered(stream);
        self.end(if answered { Ending::Shutdown } else { Ending::Gone });
    }

    /// Has readers go that take nothing of what waits for them.
    pub(super) fn cut_stalled(&self) {
        let cut = self.streams().cut_stalled(self.options.write_within, Instant::now().into_std());
        if cut {
            tracing::debug!("a client did not read what waits for it in time");
            self.wrote();
        }
    }

    /// Lets go of what is left of a session that is over once it has been read, or is not being read at all.
    fn linger(self: Arc<HttpSessionState>) {
        let (Ok(runtime), true) = (tokio::runtime::Handle::try_current(), self.streams().waiting() > 0)
        else {
            return self.streams().clear();
        };
        runtime.spawn(async move {
            while self.streams().waiting() > 0 {
                tokio::time::sleep((self.options.write_within / 4).max(TICK)).await;
                self.cut_stalled();
            }
            self.streams().clear();
        });
    }

    /// The code of the session is gone.
    fn over(&self) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.remove(&self.key);
        }
        self.streams().close();
        self.attaching.notify_waiters();
    }
}

/// The transport of one session over HTTP, as [`HttpServer`](super::HttpServer) hands it out. If it is dropped unused
/// the session is refused.
#[derive(Debug)]
pub struct HttpSession {
    shared: Arc<HttpSessionState>,
    carrier: Carrier,
}

impl HttpSession {
    pub(super) fn new(shared: Arc<HttpSessionState>, carrier: Carrier) -> HttpSession {
        HttpSession { shared, carrier }
    }

    /// Returns the head of the request that opened the session.
    pub fn request(&self) -> &RequestHead {
        &self.shared.head
    }

    /// Returns the id of the session; `None` if it serves one request. Do not log it: knowing it suffices to send
    /// messages in the session.
    pub fn id(&self) -> Option<&str> {
        match &self.shared.key {
            SessionKey::Id(id) => Some(id),
            SessionKey::OneRequest(_) => None,
        }
    }

    /// Whether the session serves one request, and ends with it: the request says its revision by itself, or it begins
    /// no session. A program that serves revisions of both kinds gives it to the protocol without a handshake, and all
    /// other sessions to the protocol with one.
    ///
    /// ```no_run
    /// # async fn serve_request(transport: mcp_runtime::transport::http::HttpSession) {}
    /// # async fn serve_session(transport: mcp_runtime::transport::http::HttpSession) {}
    /// use mcp_runtime::transport::http::{HttpServer, ServerOptions};
    ///
    /// let server = HttpServer::new(ServerOptions::default(), |transport| async move {
    ///     match transport.is_for_one_request() {
    ///         true => serve_request(transport).await,
    ///         false => serve_session(transport).await,
    ///     }
    /// });
    /// # drop(server);
    /// ```
    pub fn is_for_one_request(&self) -> bool {
        self.shared.is_for_one_request()
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.shared.over();
        Arc::clone(&self.shared).linger();
    }
}

impl Transport for HttpSession {
    fn limits(&self) -> SharedLimits {
        self.shared.quotas.engine()
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn is_for_one_request(&self) -> bool {
        HttpSession::is_for_one_request(self)
    }

    fn carrier(&self) -> Carrier {
        self.carrier.clone()
    }

    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        endpoint.attach(Box::new(Route(Arc::clone(&self.shared))));
        let mut session = Clocked::new(Arc::clone(&endpoint));
        if self.shared.endpoint.set(Attached(endpoint)).is_err() {
            // A transport is consumed by the one session that it carries.
            return session.terminate(Outcome::Closed);
        }
        self.shared.attaching.notify_waiters();
        let outcome = carry(&self.shared, &mut session).await;
        session.terminate(outcome);
    }
}

/// Waits for the end of a session: its code finishes it, or its client leaves.
async fn carry(shared: &Arc<HttpSessionState>, session: &mut Clocked) -> Outcome {
    let mut presence = Presence { shared: Arc::clone(shared), timer: None };
    let mut present = true;
    let finish = loop {
        let left = tokio::select! {
            biased;
            () = poll_fn(|context| presence.poll_end(context)), if present => End::Eof,
            finish = session.finish() => break finish,
        };
        present = false;
        session.endpoint().notify(TransportEvent::InputEnded(left));
    };
    if finish == Finish::Abandoned {
        return Outcome::Closed;
    }
    let drained = tokio::select! {
        drained = tokio::time::timeout(FLUSH, poll_fn(|context| shared.streams().poll_drained(context))) => drained,
        () = session.abandoned() => return Outcome::Closed,
    };
    let outcome = match drained {
        Ok(()) => Outcome::Closed,
        Err(_) => {
            let problem = format!(
                "the client did not fetch the last messages within {FLUSH:?} after the session was closed"
            );
            let error = io::Error::new(io::ErrorKind::TimedOut, problem);
            session.endpoint().notify(TransportEvent::OutputFailed(duplicate(&error)));
            Outcome::Failed(Arc::new(error))
        }
    };
    session.endpoint().notify(TransportEvent::InputEnded(End::GaveUp));
    outcome
}

/// The way out: each message goes to its stream.
#[derive(Debug)]
struct Route(Arc<HttpSessionState>);

impl Outlet for Route {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        let mut streams = self.0.streams();
        streams.say(outgoing).into_iter().for_each(wake);
        streams.waiting()
    }

    fn note(&mut self, notice: OutletNotice, wake: &mut dyn FnMut(Waker)) {
        let waker = match notice {
            OutletNotice::Accepted(tag) => {
                self.0.streams().accepted(tag);
                None
            }
            OutletNotice::Settled(tag) => self.0.streams().settled(tag),
            OutletNotice::ReleaseConnection(tag) => self.0.streams().release_connection(tag),
            OutletNotice::NotAwaited(_)
            | OutletNotice::NoneAwaited
            | OutletNotice::PeerStepped
            | OutletNotice::Discarded => None,
        };
        waker.into_iter().for_each(wake);
    }

    fn waiting(&self) -> usize {
        self.0.streams().waiting()
    }

    fn routes(&self) -> bool {
        true
    }
}

/// Watches whether the client is there. It tells the time of its end itself.
#[derive(Debug)]
struct Presence {
    shared: Arc<HttpSessionState>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Presence {
    /// Until when the client has time to say something, if that is limited.
    fn deadline(&self, streams: &Streams) -> Option<Instant> {
        if self.shared.is_for_one_request() {
            // Its client is there until the answer is written or dropped, which ends the session.
            return None;
        }
        let options = &self.shared.options;
        let patience = if streams.is_known() { options.idle_after } else { options.opening_within };
        if streams.is_attended() {
            // It is there. What matters is when it leaves.
            return Instant::now().checked_add(patience);
        }
        Instant::from_std(streams.touched()).checked_add(patience)
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let (deadline, lost) = {
                let mut streams = self.shared.streams();
                let Some(lost) = streams.wait_for_end(context) else { return Poll::Ready(()) };
                (self.deadline(&streams), lost)
            };
            for id in lost {
                let error = io::Error::other("the client opened no stream to read it from");
                let error = Error::NotDelivered(Arc::new(error));
                self.shared.notify(TransportEvent::RequestFailed { id, error });
            }
            let Some(deadline) = deadline else { return Poll::Pending };
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            // A timer that rings too early looks again; moving it with every message would cost more.
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if now >= deadline {
                self.shared.end(Ending::Gone);
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}
