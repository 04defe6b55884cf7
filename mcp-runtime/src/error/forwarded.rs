//! What the client of a server gets where that server has called another one, and the call has failed.

use super::variants::Error;
use crate::jsonrpc::RpcError;

/// So that a handler which calls another server ends with `?`: a refusal is passed on as it came, with its code and its
/// data, and any other error is an internal one with the text of the error.
///
/// ```
/// use mcp_runtime::{Error, RpcError};
///
/// let refused = Error::Refused(RpcError::invalid_params("no such city"));
/// assert_eq!(RpcError::from(refused), RpcError::invalid_params("no such city"));
/// assert_eq!(RpcError::from(Error::Cancelled), RpcError::internal_error("the call was cancelled"));
/// ```
impl From<Error> for RpcError {
    fn from(error: Error) -> RpcError {
        match error {
            Error::Refused(error) => error,
            error => RpcError::internal_error(error.to_string()),
        }
    }
}
