//! [`IdentityProvider`]: where the users of an enterprise are logged in.

use std::fmt;
use std::sync::Arc;

use super::discovery::{AuthorizationServer, authorization_server};
use super::error::AuthorizationError;
use super::fetch::Fetcher;
use super::grant::TokenEndpoint;
use super::identity::RegisteredClient;
use super::token_requests::TokenRequests;
use super::token_source::{AnyTokenSource, TokenSource};
use crate::scopes::Scopes;
use crate::secret::Secret;

/// The identity provider of an enterprise, at which the user of the program is logged in already. It says to the authorization
/// servers of MCP servers who the user is, if the enterprise permits it.
///
/// ```
/// use mcp_auth::Secret;
/// use mcp_auth::client::{IdentityProvider, RegisteredClient};
///
/// # let id_token = Secret::new("eyJ…");
/// let program = RegisteredClient::new("notes-on-the-desktop").secret("hunter2");
/// let provider = IdentityProvider::new("https://login.enterprise.example", program, id_token);
/// assert!(!format!("{provider:?}").contains("eyJ"));
/// ```
#[derive(Clone)]
pub struct IdentityProvider {
    issuer: String,
    token_endpoint: Option<String>,
    client: RegisteredClient,
    id_tokens: Arc<dyn AnyTokenSource>,
}

impl IdentityProvider {
    /// The identity provider of that issuer, at which the program is registered as `client`. `id_tokens` returns the ID token
    /// from the login of the user; the identity provider decides for how long it takes it.
    pub fn new(
        issuer: impl Into<String>,
        client: RegisteredClient,
        id_tokens: impl TokenSource,
    ) -> IdentityProvider {
        let (issuer, id_tokens) = (issuer.into(), Arc::new(id_tokens));
        IdentityProvider { issuer, token_endpoint: None, client, id_tokens }
    }

    /// The address at which tokens are exchanged. By default it is that in the metadata of the identity provider.
    #[must_use]
    pub fn token_endpoint(mut self, address: impl Into<String>) -> IdentityProvider {
        self.token_endpoint = Some(address.into());
        self
    }

    /// Gets an assertion of who the user is, for that authorization server and what it protects.
    pub(super) async fn assertion(
        &self,
        fetcher: &Fetcher,
        authorization_server: &str,
        resource: &str,
        scopes: &Scopes,
    ) -> Result<Secret, AuthorizationError> {
        let server = self.server(fetcher).await?;
        let id_token = self.id_tokens.get(&self.client.id).await?;
        let requests = TokenRequests { fetcher, proofs: None };
        let endpoint = TokenEndpoint::at(requests, &server, resource, &self.client)?;
        tracing::debug!(issuer = self.issuer, "the identity provider is asked for an assertion");
        endpoint.id_jag(&id_token, authorization_server, scopes).await.map_err(|error| match error {
            // Which of the two has refused is what the reader of the error needs first.
            AuthorizationError::Refused { error, description } => {
                AuthorizationError::IdentityProvider { issuer: self.issuer.clone(), error, description }
            }
            other => other,
        })
    }

    /// What is known of it, of which only the token endpoint is used.
    async fn server(&self, fetcher: &Fetcher) -> Result<AuthorizationServer, AuthorizationError> {
        match &self.token_endpoint {
            Some(endpoint) => Ok(AuthorizationServer {
                issuer: self.issuer.clone(),
                token_endpoint: Some(endpoint.clone()),
                ..AuthorizationServer::default()
            }),
            None => authorization_server(fetcher, &self.issuer).await,
        }
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("IdentityProvider");
        shown.field("issuer", &self.issuer).field("client", &self.client).finish_non_exhaustive()
    }
}
