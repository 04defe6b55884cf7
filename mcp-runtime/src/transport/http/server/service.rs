//! [`HttpServer`]: the table of sessions, and how they begin and end.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::MethodRouter;
use tower_service::Service;

use super::head::RequestHead;
use super::log_limit::LogLimit;
use super::options::ServerOptions;
use super::quotas::{ClientBudgets, Quotas, SessionSlot};
use super::refusal::{RequestRefusal, refused};
use super::request_work::{CarrierPlace, RequestWork};
use super::session::{HttpSession, HttpSessionState, SessionKey, Sessions, TICK};
use super::streams::Ending;
use crate::driver::{Carrier, Carry, Carrying};
use crate::jsonrpc::Dialect;

/// Serves sessions over HTTP. Cloning gives another handle on the same server.
#[derive(Clone, Debug)]
#[must_use = "mount `method_router()` in a router, and serve that"]
pub struct HttpServer {
    pub(super) server: Arc<Server>,
}

/// What all handles on a server share.
pub(super) struct Server {
    pub(super) options: Arc<ServerOptions>,
    pub(super) sessions: Arc<Sessions>,
    serve: Box<dyn Fn(HttpSession) -> Carrying + Send + Sync>,
    closing: AtomicBool,
    /// How many requests were served without a session.
    requests: AtomicU64,
    /// Whether sessions last longer than one request, once that is known: what the code of a session shows that was not
    /// begun for one request.
    pub(super) has_sessions: OnceLock<bool>,
    /// Which JSON-RPC the program speaks, once a session has shown it.
    dialect: OnceLock<Dialect>,
    /// The task that looks for clients that read nothing is running.
    sweeping: AtomicBool,
    pub(super) quotas: Quotas,
    pub(super) log: LogLimit,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("options", &self.options)
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Creates a server that calls `serve` with the transport of each new session. Its future runs in a task of its
    /// own; that of a request without a session in the future of the request, until the request has its answer.
    pub fn new<F, Fut>(options: ServerOptions, serve: F) -> HttpServer
    where
        F: Fn(HttpSession) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let options = Arc::new(options);
        let server = Server {
            quotas: Quotas::new(&options),
            sweeping: AtomicBool::new(false),
            log: LogLimit::default(),
            options,
            sessions: Arc::default(),
            serve: Box::new(move |transport| Box::pin(serve(transport))),
            closing: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            has_sessions: OnceLock::new(),
            dialect: OnceLock::new(),
        };
        HttpServer { server: Arc::new(server) }
    }

    /// The endpoint, to be mounted at a path of an axum router: `router.route("/mcp", server.method_router())`.
    ///
    /// ```
    /// use mcp_runtime::transport::http::{HttpServer, ServerOptions};
    ///
    /// let server = HttpServer::new(ServerOptions::default(), |transport| async move {
    ///     // let server = WeatherServer::new(transport);
    ///     drop(transport);
    /// });
    /// let app: axum::Router = axum::Router::new().route("/weather", server.method_router());
    /// # drop(app);
    /// ```
    pub fn method_router<S: Clone + Send + Sync + 'static>(&self) -> MethodRouter<S> {
        axum::routing::any_service(HttpService(Arc::clone(&self.server)))
    }

    /// Returns the number of open sessions; a request without a session counts while it is served. A session that has ended is not counted here, but counts against
    /// [`ServerOptions::max_sessions`] until its code has returned.
    pub fn session_count(&self) -> usize {
        self.server.sessions.len()
    }

    /// Returns how many bytes sessions hold at the moment: bodies that are being read, messages that wait or are being
    /// worked on, answers that are not written yet, and what is kept for clients that come back.
    pub fn held_bytes(&self) -> usize {
        self.server.quotas.bytes()
    }

    /// Refuses new sessions and ends the present ones; running requests are still answered. Returns whether all
    /// sessions ended within that time. Their streams end, so that their connections can be closed.
    /// [`serve`](Self::serve) does this by itself.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mcp_runtime::transport::http::HttpServer;
    ///
    /// async fn stop(server: &HttpServer) {
    ///     if !server.shutdown(Duration::from_secs(5)).await {
    ///         eprintln!("some sessions were cut off");
    ///     }
    /// }
    /// ```
    pub async fn shutdown(&self, within: Duration) -> bool {
        self.server.closing.store(true, Ordering::Release);
        let ending = self.server.sessions.all();
        for session in &ending {
            session.end(Ending::Shutdown);
        }
        let ended = tokio::time::timeout(within, self.server.quotas.all_returned()).await.is_ok();
        // Ended sessions cannot be found any more; others may have begun meanwhile.
        for session in ending.into_iter().chain(self.server.sessions.all()) {
            session.end(Ending::Gone);
        }
        ended
    }
}

/// The server as axum calls it. The future of an axum handler would hold each request twice.
#[derive(Clone)]
struct HttpService(Arc<Server>);

impl Service<Request> for HttpService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(Arc::clone(&self.0).answer(request))
    }
}

impl Server {
    /// A new session, whose code runs in a task.
    pub(super) fn open(
        self: &Arc<Server>,
        caller: &ClientBudgets,
        head: &Arc<RequestHead>,
    ) -> Result<Arc<HttpSessionState>, RequestRefusal> {
        let id = new_id().ok_or_else(|| unavailable("the system has no randomness for a session id"))?;
        let (session, slot) = self.begin(caller, head, SessionKey::Id(id))?;
        let serving = (self.serve)(HttpSession::new(Arc::clone(&session), Carrier::default()));
        tokio::spawn(async move {
            serving.await;
            drop(slot);
        });
        Ok(session)
    }

    /// A new session for one request, and the work on it.
    pub(super) fn open_for_one(
        self: &Arc<Server>,
        caller: &ClientBudgets,
        head: &Arc<RequestHead>,
    ) -> Result<(Arc<HttpSessionState>, RequestWork), RequestRefusal> {
        let key = SessionKey::OneRequest(self.requests.fetch_add(1, Ordering::Relaxed));
        let (session, slot) = self.begin(caller, head, key)?;
        let place = Arc::new(CarrierPlace::default());
        let carrier = Carrier::at(Arc::clone(&place) as Arc<dyn Carry>);
        let serving = (self.serve)(HttpSession::new(Arc::clone(&session), carrier));
        Ok((session, RequestWork::new(serving, place, slot)))
    }

    /// Which JSON-RPC the program speaks: version 2.0 as long as no session has shown it.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect.get().copied().unwrap_or_default()
    }

    /// Learns which JSON-RPC the program speaks from a session that its code has taken on.
    pub(super) fn learn_dialect(&self, session: &HttpSessionState) {
        // Asked once: each question locks the session.
        if self.dialect.get().is_none()
            && let Some(dialect) = session.dialect()
        {
            let _ = self.dialect.set(dialect);
        }
    }

    /// Puts a new session into the table.
    fn begin(
        self: &Arc<Server>,
        caller: &ClientBudgets,
        head: &Arc<RequestHead>,
        key: SessionKey,
    ) -> Result<(Arc<HttpSessionState>, SessionSlot), RequestRefusal> {
        if self.closing.load(Ordering::Acquire) {
            return Err(unavailable("the server is shutting down"));
        }
        let slot = self.quotas.session(caller)?;
        let quotas = caller.session_quotas(&self.options, matches!(key, SessionKey::OneRequest(_)));
        let shared = Arc::new(HttpSessionState::new(
            key,
            Arc::clone(&self.options),
            quotas,
            Arc::clone(head),
            Arc::downgrade(&self.sessions),
        ));
        self.sessions.insert(Arc::clone(&shared));
        self.sweep();
        Ok((shared, slot))
    }

    /// Sees to it that clients are looked for that read nothing, as long as there are sessions.
    fn sweep(self: &Arc<Server>) {
        if self.sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let (server, every) = (Arc::downgrade(self), self.options.write_within / 4);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every.max(TICK)).await;
                let Some(server) = server.upgrade() else { return };
                let sessions = server.sessions.all();
                sessions.iter().for_each(|session| session.cut_stalled());
                if sessions.is_empty() {
                    server.sweeping.store(false, Ordering::Release);
                    // One that has begun in the same moment has seen it running.
                    if server.sessions.len() == 0 || server.sweeping.swap(true, Ordering::AcqRel) {
                        return;
                    }
                }
            }
        });
    }
}

fn unavailable(problem: &'static str) -> RequestRefusal {
    refused(StatusCode::SERVICE_UNAVAILABLE, problem)
}

/// Returns an unguessable id: 128 bits from the system's cryptographic source, as visible text.
fn new_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_differ_and_are_visible_text() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| super::new_id().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
        // No bit of them can be foretold: each is set in about half of them, give or take ten standard deviations.
        for bit in 0..128 {
            let set = ids.iter().filter(|id| u128::from_str_radix(id, 16).unwrap() >> bit & 1 == 1).count();
            assert!((340..=660).contains(&set), "bit {bit} is set in {set}");
        }
    }
}
