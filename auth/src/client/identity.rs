//! [`RegisteredClient`]: as whom a client is known to an authorization server.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use super::error::AuthorizationError;
use crate::secret::Secret;

/// How long an assertion of the client's identity is valid, in seconds.
const ASSERTED: u64 = 60;

/// A client that somebody has registered with an authorization server.
///
/// ```
/// use mcp_auth::client::RegisteredClient;
///
/// let client = RegisteredClient::new("notes").issuer("https://auth.example").secret("hunter2");
/// assert_eq!(format!("{client:?}"), r#"RegisteredClient { id: "notes", issuer: Some("https://auth.example"), .. }"#);
/// ```
#[derive(Clone)]
pub struct RegisteredClient {
    pub(super) id: String,
    pub(super) issuer: Option<String>,
    pub(super) credential: Credential,
}

/// How a client shows that it is the one it says.
#[derive(Clone)]
pub(super) enum Credential {
    /// Not at all: it is a program on a user's machine.
    Public,
    /// With a secret, in the way that the authorization server supports; or in the one that it has said.
    Secret(Secret, Option<SecretIn>),
    /// With an assertion that it has signed.
    Key(Arc<SigningKey>),
}

/// Where in a request a secret stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretIn {
    Header,
    Body,
}

impl SecretIn {
    /// The method of that name.
    pub(super) fn named(method: &str) -> Option<SecretIn> {
        match method {
            "client_secret_basic" => Some(SecretIn::Header),
            "client_secret_post" => Some(SecretIn::Body),
            _ => None,
        }
    }
}

/// A key of the client.
pub(super) struct SigningKey {
    algorithm: Algorithm,
    key: EncodingKey,
}

impl RegisteredClient {
    /// The client of that id, which has no secret.
    pub fn new(id: impl Into<String>) -> RegisteredClient {
        RegisteredClient { id: id.into(), issuer: None, credential: Credential::Public }
    }

    /// Says which authorization server knows the client. Otherwise it is the first that the MCP server names.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> RegisteredClient {
        self.issuer = Some(issuer.into());
        self
    }

    /// Authenticates the client with a secret (`client_secret_basic`, or else `client_secret_post`).
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> RegisteredClient {
        self.credential = Credential::Secret(Secret::new(secret), None);
        self
    }

    /// Authenticates the client with a key (`private_key_jwt`). `algorithm` is `ES256`, `ES384`, `RS256`, `PS256` or `EdDSA`,
    /// for instance; `pem` is the private key, in PKCS #8.
    ///
    /// # Errors
    /// If the algorithm is not known, or the key is not one for it.
    pub fn private_key(mut self, algorithm: &str, pem: &str) -> Result<RegisteredClient, AuthorizationError> {
        let failed = |reason: String| AuthorizationError::Key { algorithm: algorithm.to_owned(), reason };
        let parsed = algorithm.parse().map_err(|_| failed("this algorithm is not known".to_owned()))?;
        let key = match parsed {
            Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_pem(pem.as_bytes()),
            Algorithm::EdDSA => EncodingKey::from_ed_pem(pem.as_bytes()),
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => {
                return Err(failed("it needs a secret, not a key".to_owned()));
            }
            _ => EncodingKey::from_rsa_pem(pem.as_bytes()),
        };
        let key = key.map_err(|error| failed(error.to_string()))?;
        self.credential = Credential::Key(Arc::new(SigningKey { algorithm: parsed, key }));
        Ok(self)
    }
}

impl fmt::Debug for RegisteredClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RegisteredClient");
        shown.field("id", &self.id).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Assertion<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: String,
    iat: u64,
    exp: u64,
}

impl SigningKey {
    /// A text that shows an authorization server that this is that client. It is of use once, for a minute.
    pub(super) fn assertion(&self, client: &str, issuer: &str) -> Result<String, AuthorizationError> {
        let failed =
            |reason: String| AuthorizationError::Key { algorithm: format!("{:?}", self.algorithm), reason };
        let iat = now();
        let claims = Assertion {
            iss: client,
            sub: client,
            aud: issuer,
            jti: random()?,
            iat,
            exp: iat.saturating_add(ASSERTED),
        };
        jsonwebtoken::encode(&Header::new(self.algorithm), &claims, &self.key)
            .map_err(|error| failed(error.to_string()))
    }
}

/// 128 random bits, as a text: the name of a text that is of use once.
pub(super) fn random() -> Result<String, AuthorizationError> {
    let mut bytes = [0; 16];
    let failed = |error: getrandom::Error| AuthorizationError::Key {
        algorithm: "a random `jti`".to_owned(),
        reason: error.to_string(),
    };
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The time, in seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
