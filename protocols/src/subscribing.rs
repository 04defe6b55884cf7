//! What ties the messages of a server in revision 2026-07-28 to their subscription.

use crate::mcp_2026_07_28::types::{RequestId, ResultType, SubscriptionClosedMeta, SubscriptionClosedResult};

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

impl SubscriptionClosedResult {
    /// The result with which a server ends the subscription with this id:
    /// `SubscriptionClosedResult::of(subscription.request_id()?)`.
    pub fn of(id: impl Into<RequestId>) -> SubscriptionClosedResult {
        SubscriptionClosedResult::new(SubscriptionClosedMeta::new(id)).result_type(ResultType::Complete)
    }
}
