//! [`TokenValidator`]: whether a token is valid, and whose it is.

use std::error::Error as StdError;
use std::pin::Pin;

use super::principal::Principal;

/// Says whether a token is valid, and whose it is. [`Jwt`](super::Jwt) and [`Introspection`](super::Introspection) are two.
///
/// One for tokens that a program keeps itself:
///
/// ```
/// use std::collections::HashMap;
///
/// use mcp_auth::server::{Principal, TokenError, TokenValidator};
///
/// /// Who has which key.
/// struct Keys(HashMap<String, String>);
///
/// impl TokenValidator for Keys {
///     async fn validate(&self, token: &str, _resource: &str) -> Result<Principal, TokenError> {
///         let user = self.0.get(token).ok_or(TokenError::Invalid("this key does not exist".to_owned()))?;
///         Ok(Principal::new("https://weather.example", user).with_scopes(["forecasts"]))
///     }
/// }
/// ```
pub trait TokenValidator: Send + Sync + 'static {
    /// Returns who has the token. `resource` is what it has to be for: a token for another resource is not valid.
    fn validate(
        &self,
        token: &str,
        resource: &str,
    ) -> impl Future<Output = Result<Principal, TokenError>> + Send;
}

/// Why a token has no principal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is not valid. The client learns why (401).
    #[error("the token is not valid: {0}")]
    Invalid(String),
    /// It cannot be said at the moment whether the token is valid. The client is asked to try again (503), and the log says why.
    #[error("the token cannot be validated: {0}")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
}

impl TokenError {
    pub(super) fn invalid(why: impl ToString) -> TokenError {
        TokenError::Invalid(why.to_string())
    }

    pub(super) fn unavailable(why: impl Into<Box<dyn StdError + Send + Sync>>) -> TokenError {
        TokenError::Unavailable(why.into())
    }
}

type Validated<'a> = Pin<Box<dyn Future<Output = Result<Principal, TokenError>> + Send + 'a>>;

/// A validator of any type.
pub(super) trait AnyValidator: Send + Sync {
    fn principal<'a>(&'a self, token: &'a str, resource: &'a str) -> Validated<'a>;
}

impl<V: TokenValidator> AnyValidator for V {
    fn principal<'a>(&'a self, token: &'a str, resource: &'a str) -> Validated<'a> {
        Box::pin(self.validate(token, resource))
    }
}
