//! What ties a notification of revision 2026-07-28 to its subscription.

use crate::mcp_2026_07_28::types::RequestId;

/// The id of a subscription, as its notifications carry it:
/// `NotificationMeta::new().subscription_id(subscription.request_id()?)`.
impl From<mcp_runtime::RequestId> for RequestId {
    fn from(id: mcp_runtime::RequestId) -> RequestId {
        match id {
            mcp_runtime::RequestId::Number(number) => RequestId::Int(number),
            mcp_runtime::RequestId::Text(text) => RequestId::Text(text.into()),
        }
    }
}
