//! What a server sends of its own accord: its log in both eras; and in sessions, its questions and changes.

use std::sync::Arc;

use mcp_runtime::RpcError;
use tokio::sync::{broadcast, watch};

use super::super::changes::Change;
use super::super::older::recast;
use super::answerers::{OnLog, RunningCalls};
use crate::mcp_2025_11_25::client as handshake;
use crate::mcp_2025_11_25::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult,
    LoggingMessageParams, RequestParams, ResourceUpdatedParams,
};
use crate::mcp_2026_07_28::client as requests;
use crate::mcp_2026_07_28::types as newer;
use crate::rounds::{User, unless_cancelled};

/// Takes what a server without sessions sends for no subscription.
pub(super) struct Log {
    pub(super) calls: Arc<RunningCalls>,
    pub(super) on_log: Option<OnLog>,
    /// Dropping it says that the connection is gone.
    pub(super) _running: watch::Sender<()>,
}

impl requests::Handler for Log {
    async fn log_message(&self, _: requests::Context, params: newer::LoggingMessageParams) {
        self.calls.log(self.on_log.as_ref(), params);
    }
}

/// Takes what a server sends in a session.
pub(super) struct SessionUser<U> {
    pub(super) user: Arc<U>,
    /// The calls that run, one of which may have a user or a log of its own.
    pub(super) calls: Arc<RunningCalls>,
    pub(super) on_log: Option<OnLog>,
    pub(super) changes: broadcast::Sender<Change>,
    /// Dropping it says that the connection is gone.
    pub(super) _running: watch::Sender<()>,
}

impl<U> SessionUser<U> {
    fn changed(&self, change: Change) {
        // It fails without a listener.
        let _ = self.changes.send(change);
    }
}

/// A question or an answer that the other era cannot say.
fn unsayable(error: serde_json::Error) -> RpcError {
    RpcError::invalid_params(error.to_string())
}

/// The answer of the user, unless the server has cancelled its question.
async fn wanted<T>(
    context: handshake::Context,
    answer: impl Future<Output = Result<T, RpcError>>,
) -> Result<T, RpcError> {
    let answered = unless_cancelled(context.cancelled(), answer).await;
    answered.unwrap_or_else(|| Err(context.cancelled_error()))
}

/// What the user of the only call that runs answers, or the client's own.
macro_rules! answered {
    ($self:ident, $context:ident, $method:ident($($asked:ident)?)) => {
        match $self.calls.only().answerer {
            Some(answerer) => wanted($context, answerer.$method($($asked)?)).await?,
            None => wanted($context, $self.user.$method($($asked)?)).await?,
        }
    };
}

impl<U: User + 'static> handshake::Handler for SessionUser<U> {
    async fn log_message(&self, _: handshake::Context, params: LoggingMessageParams) {
        self.calls.log(self.on_log.as_ref(), params.into());
    }

    async fn elicit(
        &self,
        context: handshake::Context,
        params: ElicitParams,
    ) -> Result<ElicitResult, RpcError> {
        let asked = recast(&params).map_err(unsayable)?;
        recast(&answered!(self, context, elicit(asked))).map_err(unsayable)
    }

    async fn create_message(
        &self,
        context: handshake::Context,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        let asked = recast(&params).map_err(unsayable)?;
        recast(&answered!(self, context, create_message(asked))).map_err(unsayable)
    }

    async fn list_roots(
        &self,
        context: handshake::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        recast(&answered!(self, context, list_roots())).map_err(unsayable)
    }

    async fn tools_list_changed(&self, _: handshake::Context) {
        self.changed(Change::Tools);
    }

    async fn prompts_list_changed(&self, _: handshake::Context) {
        self.changed(Change::Prompts);
    }

    async fn resources_list_changed(&self, _: handshake::Context) {
        self.changed(Change::Resources);
    }

    /// Of a part of a resource, which has no subscription of its own.
    async fn resource_updated(&self, _: handshake::Context, params: ResourceUpdatedParams) {
        self.changed(Change::Resource(params.uri));
    }
}
