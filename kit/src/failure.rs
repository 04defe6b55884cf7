//! [`Failure`]: why a tool failed, and what the client gets then.

use mcp_protocols::eras::types::CallToolResult;
use mcp_protocols::rounds::AskError;
use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;

use super::schema::Misfit;

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
    let cannot_be_asked = |error: &AskError| {
        matches!(
            error,
            AskError::NotDeclared { .. } | AskError::NotInRevision { .. } | AskError::NotInitialized { .. }
        )
    };
    match failure.is::<RpcError>() || failure.downcast_ref().is_some_and(cannot_be_asked) {
        true => Err(refusal(failure)),
        false => Ok(CallToolResult::error(failure.to_string())),
    }
}

/// How much is repeated of what was found, and of what was expected, where that is long.
const FOUND: usize = 200;
const EXPECTED: usize = 2000;

/// What is wrong with the arguments of a tool or a prompt. The error may repeat a value in full, in which the client has no
/// interest, before it says what was expected.
pub(crate) fn wrong_arguments(name: &str, error: &Misfit) -> String {
    let text = error.to_string();
    let ends = (text.char_indices().nth(FOUND), text.char_indices().rev().nth(EXPECTED));
    let shown = match ends {
        (Some((found, _)), Some((expected, _))) if found < expected => {
            let part = |part: Option<&str>| part.unwrap_or_default().to_owned();
            part(text.get(..found)) + "…" + &part(text.get(expected..))
        }
        _ => text,
    };
    format!("the arguments of `{}` are wrong: {shown}", Excerpt(name))
}
