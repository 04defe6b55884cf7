//! [`Output`]: what a tool returns.

use mcp_protocols::eras::types::{CallToolResult, ContentBlock, Object};
use mcp_runtime::RpcError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::schema::output_of;

/// What a tool returns: text, content of any kind, [`Json`], or nothing.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not an output of a tool",
    note = "return a text (`.to_string()`), `mcp_kit::Json(value)` of a type that derives `Serialize` and `JsonSchema`, a \
            `ContentBlock`, a `Vec<ContentBlock>`, a `CallToolResult`, or `()`"
)]
pub trait Output: Send + 'static {
    /// The schema of the structured content, if there is any.
    fn schema() -> Option<Object> {
        None
    }

    /// The result of the tool.
    ///
    /// # Errors
    /// If the value cannot be written as JSON.
    fn into_result(self) -> Result<CallToolResult, RpcError>;
}

/// A value that programs read: structured content, with its schema. Clients that know only text get it as JSON.
///
/// ```
/// use mcp_kit::{Json, Server};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// /// Divides, with a remainder
/// #[derive(Deserialize, JsonSchema)]
/// struct Divide {
///     number: u32,
///     by: u32,
/// }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Divided {
///     quotient: u32,
///     remainder: u32,
/// }
///
/// let server = Server::new("calculator", "1.0.0", ()).tool_fn(|divide: Divide, _| async move {
///     let quotient = divide.number.checked_div(divide.by).ok_or("zero divides nothing")?;
///     Ok(Json(Divided { quotient, remainder: divide.number - quotient * divide.by }))
/// });
/// # drop(server);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl Output for String {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text(self))
    }
}

impl Output for &'static str {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text(self))
    }
}

impl Output for () {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::new([]))
    }
}

impl Output for ContentBlock {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::new([self]))
    }
}

impl Output for Vec<ContentBlock> {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::new(self))
    }
}

impl Output for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, RpcError> {
        Ok(self)
    }
}

impl<T: Serialize + JsonSchema + Send + 'static> Output for Json<T> {
    fn schema() -> Option<Object> {
        Some(output_of::<T>())
    }

    fn into_result(self) -> Result<CallToolResult, RpcError> {
        let value: Value =
            serde_json::to_value(self.0).map_err(|error| RpcError::internal_error(error.to_string()))?;
        Ok(CallToolResult::structured(value))
    }
}
