//! [`Failure`]: why a tool failed, and what the client gets then.

use mcp_protocols::eras::types::CallToolResult;
use mcp_protocols::rounds::AskError;
use mcp_runtime::RpcError;

/// Why a tool failed: any error, or a text, made with `?`. The client's model reads its text in the result of the tool, and may
/// call again. An [`RpcError`] is the reply as it is, and says that the tool was not run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The reply to a request that is not a tool call.
pub(crate) fn refusal(failure: Failure) -> RpcError {
    let failure = match failure.downcast::<RpcError>() {
        Ok(error) => return *error,
        Err(failure) => failure,
    };
    match failure.downcast::<AskError>() {
        Ok(error) => (*error).into(),
        Err(failure) => RpcError::internal_error(failure.to_string()),
    }
}

/// What a tool call comes to that has failed.
pub(crate) fn failed(failure: Failure) -> Result<CallToolResult, RpcError> {
    match failure.is::<RpcError>() || matches!(failure.downcast_ref(), Some(AskError::NotDeclared { .. })) {
        true => Err(refusal(failure)),
        false => Ok(CallToolResult::error(failure.to_string())),
    }
}
