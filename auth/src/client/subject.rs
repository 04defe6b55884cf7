//! [`Subject`]: for whom the tokens of a client are.

use std::sync::Arc;

use super::error::AuthorizationError;
use super::grant::{Grant, TokenEndpoint};
use super::identity_provider::IdentityProvider;
use super::token_source::{AnyTokenSource, is_for};
use super::user_agent::AnyUserAgent;
use crate::scopes::Scopes;

/// For whom the tokens of a client are.
#[derive(Clone)]
pub(super) enum Subject {
    /// For the user, who logs in with a browser.
    User(Arc<dyn AnyUserAgent>),
    /// For one whom the authorization server knows without a login.
    Known(Known),
}

/// One whom the authorization server knows without a login.
#[derive(Clone)]
pub(super) enum Known {
    /// The program itself, which has credentials.
    Program,
    /// The program itself, of which its platform says what it is.
    Workload(Arc<dyn AnyTokenSource>),
    /// A user of an enterprise, who is logged in at its identity provider.
    EnterpriseUser(IdentityProvider),
}

impl Known {
    /// Gets a token.
    pub(super) async fn grant(
        &self,
        endpoint: &TokenEndpoint<'_>,
        requested: Scopes,
    ) -> Result<Grant, AuthorizationError> {
        let issuer = endpoint.issuer;
        match self {
            Known::Program => endpoint.credentials(requested).await,
            Known::Workload(source) => {
                let assertion = source.get(issuer).await?;
                // The MCP server names the authorization server: it must not be given a JWT that another one takes.
                let is_registered = endpoint.client.issuer.is_some();
                if !is_registered && !is_for(&assertion, &[issuer, endpoint.endpoint]) {
                    return Err(AuthorizationError::OtherAudience { issuer: issuer.to_owned() });
                }
                endpoint.by_assertion(&assertion, requested).await
            }
            Known::EnterpriseUser(provider) => {
                let (fetcher, resource) = (endpoint.requests.fetcher, endpoint.resource);
                let assertion = provider.assertion(fetcher, issuer, resource, &requested).await?;
                endpoint.by_assertion(&assertion, requested).await
            }
        }
    }
}
