//! The log: the client says from which severity on it wants to hear of it.

use std::sync::{Mutex, PoisonError};

use mcp_protocols::mcp_2025_11_25::{McpError, server};
use mcp_protocols::types::{LogLevel, LoggingMessageParams, SetLogLevelParams};
use mcp_runtime::RpcError;
use serde_json::Value;

/// What the client wants to hear.
#[derive(Default)]
pub(crate) struct Log {
    level: Mutex<LogLevel>,
}

impl Log {
    pub(crate) fn set_level(&self, params: Value) -> Result<(), RpcError> {
        let params: SetLogLevelParams = serde_json::from_value(params)
            .map_err(|error| RpcError::invalid_params(format!("this is not a severity: {error}")))?;
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = params.level;
        Ok(())
    }

    /// Tells the client, if it wants to know. What is said by the context of a request takes the way of its answer.
    pub(crate) async fn info(&self, context: &server::Context, message: &str) -> Result<(), McpError> {
        let least = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        // The most severe comes first.
        if LogLevel::Info <= least {
            let line = LoggingMessageParams::new(LogLevel::Info, message).with_logger("desk");
            context.peer().send_log_message(line).await?;
        }
        Ok(())
    }
}
