//! Messages that did not arrive, as a record of `sessionc guard` has them and `sessionc trace` reads them.

use mcp_runtime::RequestId;
use serde::{Deserialize, Serialize};

/// A message that did not arrive, by what a line of a record says of it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NotReceived {
    /// With this id.
    Request(RequestId),
    /// To the request with this id.
    Reply(RequestId),
    /// With this method.
    Notification(String),
}
