//! The payload of a message whose method is a pattern.

use serde::{Deserialize, Serialize};

/// A method, and the params of a message with that method: what a program sends and receives as a message that a
/// `.session` file declares with a pattern, `notification Extension "$/*" (_)`.
///
/// ```
/// use mcp_runtime::call::WithMethod;
/// use serde_json::json;
///
/// let extension = WithMethod::new("$/setTrace", json!({ "value": "off" }));
/// assert_eq!(extension.method, "$/setTrace");
/// assert_eq!(extension.params["value"], "off");
/// ```
///
/// A method that does not fit the pattern, or that another message stands for, is not sent: the call fails with
/// [`Error::Mismatch`](crate::Error::Mismatch).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WithMethod<P> {
    /// The whole method, with what the pattern begins with.
    pub method: String,
    /// What stands in `params`.
    pub params: P,
}

impl<P> WithMethod<P> {
    /// A method and its params.
    pub fn new(method: impl Into<String>, params: P) -> WithMethod<P> {
        WithMethod { method: method.into(), params }
    }
}
