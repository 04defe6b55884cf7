//! [`TokenSource`]: the JWTs with which others say who the user or the program is.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::pin::Pin;

use serde::Deserialize;

use super::error::AuthorizationError;
use crate::secret::Secret;

/// Where a program finds the JWT that says who it is, or who its user is: the file that Kubernetes projects into a container,
/// the metadata service of a cloud, or the login at the identity provider of an enterprise.
///
/// It is asked each time that a token is to be requested with the JWT, so it should return one that is still valid. A
/// [`Secret`] is a source that always returns itself.
///
/// ```
/// use std::path::PathBuf;
/// use mcp_auth::Secret;
/// use mcp_auth::client::TokenSource;
///
/// /// The token of a service account, which Kubernetes replaces before it expires.
/// struct Projected(PathBuf);
///
/// impl TokenSource for Projected {
///     type Error = std::io::Error;
///
///     async fn token(&self, _audience: &str) -> Result<Secret, std::io::Error> {
///         Ok(Secret::new(std::fs::read_to_string(&self.0)?.trim()))
///     }
/// }
/// ```
pub trait TokenSource: Send + Sync + 'static {
    /// What can go wrong.
    type Error: StdError + Send + Sync + 'static;

    /// Returns the JWT. `audience` says for whom it has to be, where the source can choose: the issuer of the authorization
    /// server for that of a workload, the id of the client at the identity provider for an ID token.
    fn token(&self, audience: &str) -> impl Future<Output = Result<Secret, Self::Error>> + Send;
}

impl TokenSource for Secret {
    type Error = Infallible;

    async fn token(&self, _audience: &str) -> Result<Secret, Infallible> {
        Ok(self.clone())
    }
}

type Sourced<'a> = Pin<Box<dyn Future<Output = Result<Secret, AuthorizationError>> + Send + 'a>>;

/// A source of any type.
pub(super) trait AnyTokenSource: Send + Sync {
    fn get<'a>(&'a self, audience: &'a str) -> Sourced<'a>;
}

impl<S: TokenSource> AnyTokenSource for S {
    fn get<'a>(&'a self, audience: &'a str) -> Sourced<'a> {
        Box::pin(async move {
            let token = self.token(audience).await;
            token.map_err(|error| AuthorizationError::TokenSource(Box::new(error)))
        })
    }
}

/// Whether a JWT is for one of those audiences, as it says itself. A slash at the end makes no difference.
///
/// Its signature is that of another, which the authorization server checks: this is only to keep it from going elsewhere.
pub(super) fn is_for(token: &Secret, audiences: &[&str]) -> bool {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Several(Vec<String>),
    }

    #[derive(Deserialize)]
    struct Claims {
        aud: Audience,
    }

    let Ok(decoded) = jsonwebtoken::dangerous::insecure_decode::<Claims>(token.expose()) else {
        return false;
    };
    let named = match decoded.claims.aud {
        Audience::One(audience) => vec![audience],
        Audience::Several(audiences) => audiences,
    };
    let bare = |text: &str| text.trim_end_matches('/').to_owned();
    named.iter().any(|named| audiences.iter().any(|audience| bare(named) == bare(audience)))
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_token_says_for_whom_it_is() {
        let of = |claims: Value| {
            Secret::new(encode(&Header::default(), &claims, &EncodingKey::from_secret(b"key")).unwrap())
        };
        let here = ["https://auth.example", "https://auth.example/token"];
        assert!(is_for(&of(json!({ "aud": "https://auth.example" })), &here));
        assert!(is_for(&of(json!({ "aud": "https://auth.example/" })), &here));
        assert!(is_for(
            &of(json!({ "aud": ["https://other.example", "https://auth.example/token"] })),
            &here
        ));
        assert!(!is_for(&of(json!({ "aud": "https://auth.example.evil.example" })), &here));
        assert!(!is_for(&of(json!({ "aud": [] })), &here));
        assert!(!is_for(&of(json!({ "sub": "https://auth.example" })), &here));
        assert!(!is_for(&Secret::new("opaque"), &here));
    }
}
