//! [`Jwt`]: tokens that are signed (RFC 9068).

use jsonwebtoken::jwk::{Jwk, KeyAlgorithm};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::fetch::connections;
use super::keys::Keys;
use super::principal::{Principal, is_for, of_claims};
use super::validator::{TokenError, TokenValidator};

/// The algorithms that are accepted: none of those for which both sides know the key.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::EdDSA,
];

/// How far the clocks may be apart, in seconds.
const LEEWAY: u64 = 30;

/// Validates tokens that the authorization server has signed: their signature, issuer, audience and times. Its keys are
/// requested when they are needed, and again when a token names another one, at most once in ten seconds.
pub struct Jwt {
    issuer: String,
    keys: Keys,
    leeway: u64,
}

impl Jwt {
    /// Tokens of that issuer, whose keys (JWKS) are at that address.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn new(issuer: impl Into<String>, keys: impl Into<String>) -> Result<Jwt, reqwest::Error> {
        Jwt::with_connections(issuer, keys, reqwest::Client::builder())
    }

    /// The same with proxies and certificates of your own for the requests of the keys.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn with_connections(
        issuer: impl Into<String>,
        keys: impl Into<String>,
        builder: reqwest::ClientBuilder,
    ) -> Result<Jwt, reqwest::Error> {
        let keys = Keys::new(connections(builder)?, keys.into());
        Ok(Jwt { issuer: issuer.into(), keys, leeway: LEEWAY })
    }

    /// Sets how far the clocks may be apart, in seconds. Default: 30.
    #[must_use]
    pub fn leeway(mut self, seconds: u64) -> Jwt {
        self.leeway = seconds;
        self
    }

    fn claims(
        &self,
        token: &str,
        key: &Jwk,
        algorithm: Algorithm,
        resource: &str,
    ) -> Result<Map<String, Value>, TokenError> {
        if key.common.key_algorithm.is_some_and(|of_key| Some(of_key) != named(algorithm)) {
            return Err(TokenError::invalid("it is signed with another algorithm than its key is for"));
        }
        let key = DecodingKey::from_jwk(key).map_err(TokenError::invalid)?;
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway;
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[resource]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let token = decode::<Map<String, Value>>(token, &key, &validation).map_err(TokenError::invalid)?;
        // The crate accepts any token of which some audience is among those; it is said here once more what that means.
        if is_for(&token.claims, resource) {
            Ok(token.claims)
        } else {
            Err(TokenError::invalid("it is for another resource"))
        }
    }
}

fn named(algorithm: Algorithm) -> Option<KeyAlgorithm> {
    format!("{algorithm:?}").parse().ok()
}

impl std::fmt::Debug for Jwt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Jwt").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl TokenValidator for Jwt {
    async fn validate(&self, token: &str, resource: &str) -> Result<Principal, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::invalid("it is not a signed token"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(TokenError::invalid("it is signed with an algorithm that is not accepted"));
        }
        let key = self.keys.key(header.kid.as_deref()).await?;
        let claims = self.claims(token, &key, header.alg, resource)?;
        of_claims(claims, &self.issuer).map_err(TokenError::invalid)
    }
}
