//! The log: the client says from which severity on it wants to hear of it.

use std::sync::{Mutex, PoisonError};

use mcp_protocols::mcp_2025_11_25::{McpError, server};
use mcp_protocols::types::{LoggingLevel, LoggingMessageParams};

/// What the client wants to hear.
pub(crate) struct Log {
    least: Mutex<LoggingLevel>,
}

impl Default for Log {
    fn default() -> Log {
        Log { least: Mutex::new(LoggingLevel::Info) }
    }
}

impl Log {
    pub(crate) fn set_level(&self, least: LoggingLevel) {
        *self.least.lock().unwrap_or_else(PoisonError::into_inner) = least;
    }

    /// Tells the client, if it wants to know. What is said by the context of a request takes the way of its answer.
    pub(crate) async fn info(&self, context: &server::Context, message: &str) -> Result<(), McpError> {
        let least = *self.least.lock().unwrap_or_else(PoisonError::into_inner);
        if LoggingLevel::Info >= least {
            let line = LoggingMessageParams::new(LoggingLevel::Info, message).logger("desk");
            context.peer().send_log_message(line).await?;
        }
        Ok(())
    }
}
