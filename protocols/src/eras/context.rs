//! What a handler knows of its request, and what it asks with.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use mcp_runtime::RpcError;
use mcp_runtime::driver::PeerIdentity;

use super::era::Era;
use crate::mcp_2025_11_25 as handshake;
use crate::mcp_2026_07_28 as requests;
use crate::mcp_2026_07_28::McpError;
use crate::mcp_2026_07_28::types::{
    CreateMessageInput, CreateMessageParams, CreateMessageResult, ElicitInput, ElicitParams, ElicitResult,
    InputRequest, InputResponse, ListRootsInput, ListRootsResult, LoggingLevel, LoggingMessageParams,
    ProgressParams, RequestMeta,
};
use crate::rounds::{Answers, AskError, User, asks};

/// What a handler knows of the request that it answers, and what it says about it.
#[derive(Clone)]
pub struct Context {
    meta: Arc<RequestMeta>,
    way: ContextWay,
}

#[derive(Clone)]
enum ContextWay {
    Request(requests::server::Context),
    Session(handshake::server::Context, Arc<LogLevel>),
}

/// The lowest severity that the client of a session wants to hear of; all, until it says so.
#[derive(Debug, Default)]
pub(super) struct LogLevel(Mutex<Option<LoggingLevel>>);

impl LogLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    fn get(&self) -> Option<LoggingLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    pub(super) fn of_request(context: requests::server::Context, meta: RequestMeta) -> Context {
        Context { meta: Arc::new(meta), way: ContextWay::Request(context) }
    }

    pub(super) fn of_session(
        context: handshake::server::Context,
        meta: RequestMeta,
        level: Arc<LogLevel>,
    ) -> Context {
        Context { meta: Arc::new(meta), way: ContextWay::Session(context, level) }
    }

    /// How the client began.
    pub fn era(&self) -> Era {
        match self.way {
            ContextWay::Request(_) => Era::Requests,
            ContextWay::Session(..) => Era::Handshake,
        }
    }

    /// The revision that governs the request, what its client can do, and who the client is, as in the params of the
    /// request.
    pub fn meta(&self) -> &RequestMeta {
        &self.meta
    }

    /// Reports the progress of the request; the token is filled in. Nothing is sent if the client did not ask for progress.
    ///
    /// # Errors
    /// If the session has ended, or the progress is not more than in the report before.
    pub async fn send_progress(&self, params: ProgressParams) -> Result<(), McpError> {
        match &self.way {
            ContextWay::Request(context) => context.send_progress(params).await,
            ContextWay::Session(context, _) => context.send_progress(params.into()).await,
        }
    }

    /// Writes to the log of the server, as the client sees it. Nothing is sent if the client does not want messages of this
    /// severity.
    ///
    /// # Errors
    /// If the session has ended, or the server does not offer `logging`.
    pub async fn log(&self, params: LoggingMessageParams) -> Result<(), McpError> {
        match &self.way {
            _ if self.log_level().is_none_or(|least| params.level < least) => Ok(()),
            ContextWay::Request(context) => context.peer().send_log_message(params).await,
            ContextWay::Session(context, _) => context.peer().send_log_message(params.into()).await,
        }
    }

    /// The lowest severity of the messages that [`log`](Self::log) sends, as far as the client has said: of a session
    /// that has set no level all are sent. `None` if the client wants none.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        match &self.way {
            ContextWay::Request(_) => self.meta.log_level,
            ContextWay::Session(_, level) => Some(level.get().unwrap_or(LoggingLevel::Debug)),
        }
    }

    /// Waits until the client cancels the request, or is gone.
    pub async fn cancelled(&self) {
        match &self.way {
            ContextWay::Request(context) => context.cancelled().await,
            ContextWay::Session(context, _) => context.cancelled().await,
        }
    }

    /// Whether the client has cancelled the request, or is gone. The answer to such a request is not sent.
    pub fn is_cancelled(&self) -> bool {
        match &self.way {
            ContextWay::Request(context) => context.is_cancelled(),
            ContextWay::Session(context, _) => context.is_cancelled(),
        }
    }

    /// Ends the connection on which the client waits for the answer, where it can come back for the rest, as over HTTP in a
    /// session. The request goes on. A request without a session keeps its connection: to end it is to cancel it.
    pub fn release_connection(&self) {
        if let ContextWay::Session(context, _) = &self.way {
            context.release_connection();
        }
    }

    /// What the transport knows of the request, if that is of this type: over HTTP, its head.
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match &self.way {
            ContextWay::Request(context) => context.extension(),
            ContextWay::Session(context, _) => context.extension(),
        }
    }

    /// Which client makes the request, as far as the transport knows: over HTTP, by address and by principal.
    pub fn peer_identity(&self) -> PeerIdentity {
        match &self.way {
            ContextWay::Request(context) => context.peer_identity(),
            ContextWay::Session(context, _) => context.peer_identity(),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("era", &self.era()).finish_non_exhaustive()
    }
}

/// What a handler asks the client with, in the middle of its work. A client of an older revision gets a request; a client of
/// 2026-07-28 gets a result that asks, and comes back with its answer.
#[derive(Clone)]
pub struct Asker(Arc<dyn Ask>);

/// How the client of one request is asked.
pub(super) trait Ask: Send + Sync {
    fn context(&self) -> Context;

    fn ask(&self, questions: Vec<(String, InputRequest)>) -> BoxFuture<'_, Result<Answers, AskError>>;
}

impl Asker {
    pub(super) fn new(ask: impl Ask + 'static) -> Asker {
        Asker(Arc::new(ask))
    }

    /// The context of the request that is answered now. A question may begin a new request, so ask for this again after it.
    pub fn context(&self) -> Context {
        self.0.context()
    }

    asks! {}

    /// Asks several things at the same time, by names of the server's choice. The answers have the same names, and each is
    /// an answer to its question. Calls of `ask` and of the methods above that run at the same time, as in `tokio::join!`,
    /// do the same: a client of 2026-07-28 gets them in one round.
    ///
    /// # Errors
    /// See [`AskError`].
    pub async fn ask(
        &self,
        questions: impl IntoIterator<Item = (String, InputRequest)> + Send,
    ) -> Result<Answers, AskError> {
        self.0.ask(questions.into_iter().collect()).await
    }
}

/// A proxy has its client answer what another server asks: it calls that server with `answered_by(asker)`.
impl User for Asker {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        Ok(Asker::elicit(self, params).await?)
    }

    async fn create_message(&self, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        Ok(Asker::create_message(self, params).await?)
    }

    async fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        Ok(Asker::list_roots(self).await?)
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Asker").field(&self.context()).finish()
    }
}
