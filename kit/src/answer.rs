//! [`Answer`]: what a user says to a form.

/// What a user said to a form.
///
/// ```
/// use mcp_kit::{Answer, Client, Failure, User};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm {
///     sure: bool,
/// }
///
/// async fn is_sure(client: &Client<User>) -> Result<bool, Failure> {
///     Ok(match client.ask::<Confirm>("Delete all notes?").await? {
///         Answer::Accepted(confirm) => confirm.sure,
///         Answer::Declined | Answer::Cancelled => false,
///     })
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user filled it in.
    Accepted(T),
    /// The user refused.
    Declined,
    /// The user dismissed the form without a choice.
    Cancelled,
}

impl<T> Answer<T> {
    /// What the user filled in, if that was done.
    pub fn accepted(self) -> Option<T> {
        match self {
            Answer::Accepted(value) => Some(value),
            Answer::Declined | Answer::Cancelled => None,
        }
    }
}
