//! [`Introspection`]: tokens that the authorization server is asked about (RFC 7662).

use serde_json::{Map, Value};

use super::fetch::{connections, json};
use super::principal::{Principal, is_for, of_claims};
use super::validator::{TokenError, TokenValidator};
use crate::secret::Secret;

/// Asks the authorization server about each token. It says at once when a token was withdrawn, and costs a request each time.
pub struct Introspection {
    connections: reqwest::Client,
    issuer: String,
    endpoint: String,
    client: String,
    secret: Secret,
}

impl Introspection {
    /// Asks at that address of the issuer, as the client of that id.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn new(
        issuer: impl Into<String>,
        endpoint: impl Into<String>,
        client: impl Into<String>,
        secret: impl Into<String>,
    ) -> Result<Introspection, reqwest::Error> {
        Ok(Introspection {
            connections: connections(reqwest::Client::builder())?,
            issuer: issuer.into(),
            endpoint: endpoint.into(),
            client: client.into(),
            secret: Secret::new(secret),
        })
    }

    /// The same with proxies and certificates of your own.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn connections(mut self, builder: reqwest::ClientBuilder) -> Result<Introspection, reqwest::Error> {
        self.connections = connections(builder)?;
        Ok(self)
    }
}

impl std::fmt::Debug for Introspection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Introspection").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

impl TokenValidator for Introspection {
    async fn validate(&self, token: &str, resource: &str) -> Result<Principal, TokenError> {
        let body = format!("token={}&token_type_hint=access_token", encoded(token));
        let request = self
            .connections
            .post(&self.endpoint)
            .basic_auth(encoded(&self.client), Some(encoded(self.secret.expose())))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(body);
        let said: Map<String, Value> = json(request).await?;
        if said.get("active") != Some(&Value::Bool(true)) {
            return Err(TokenError::invalid("it is not active"));
        }
        if said.get("iss").is_some_and(|issuer| *issuer != self.issuer) {
            return Err(TokenError::invalid("it is of another issuer"));
        }
        if !is_for(&said, resource) {
            return Err(TokenError::invalid("it is for another resource"));
        }
        of_claims(said, &self.issuer).map_err(TokenError::invalid)
    }
}
