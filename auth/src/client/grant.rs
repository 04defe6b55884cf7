//! [`Grant`]: a token and what it is for. [`TokenEndpoint`] gets one.

use std::time::Duration;

use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, EndpointNotSet, EndpointSet, PkceCodeVerifier,
    RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse, TokenUrl,
};
use serde::{Deserialize, Serialize};
use url::Url;

use super::binding::BoundKey;
use super::discovery::AuthorizationServer;
use super::error::AuthorizationError;
use super::fetch::FetchError;
use super::identity::{Credential, RegisteredClient, SecretIn, now};
use super::token_requests::TokenRequests;
use crate::scopes::Scopes;
use crate::secret::Secret;

/// A token is renewed when a tenth of its lifetime is left, and at most so many seconds before it expires.
const AHEAD: u64 = 60;

/// A token, and what has to be known to renew it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client: String,
    pub(super) resource: String,
    /// What was asked for so far; the user may have granted less.
    pub(super) requested: Scopes,
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// In seconds since 1970.
    pub(super) expires: Option<u64>,
    /// In seconds since 1970, when it is to be renewed.
    pub(super) renew: Option<u64>,
    /// The key without which the token is of no use.
    #[serde(default)]
    pub(super) bound: Option<BoundKey>,
    /// How it came about.
    #[serde(skip)]
    pub(super) origin: Origin,
}

/// Where a token comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// From the store.
    #[default]
    Stored,
    /// In exchange for a refresh token.
    Refreshed,
    /// The user, or the client itself, was authorized.
    Issued,
}

impl Grant {
    /// Whether the token is about to expire.
    pub(super) fn is_due(&self) -> bool {
        self.renew.is_some_and(|renew| renew <= now())
    }

    /// Whether the token has expired.
    pub(super) fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= now())
    }
}

/// Where a client gets tokens for a resource, and as whom.
pub(super) struct TokenEndpoint<'a> {
    pub(super) requests: TokenRequests<'a>,
    pub(super) issuer: &'a str,
    pub(super) endpoint: &'a str,
    pub(super) resource: &'a str,
    pub(super) client: &'a RegisteredClient,
    /// Where a secret stands, unless the registration says so.
    pub(super) secret_in: SecretIn,
}

type TokenClient = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

pub(super) type TokenError = RequestTokenError<AuthorizationError, BasicErrorResponse>;

impl<'a> TokenEndpoint<'a> {
    /// That of an authorization server, for tokens for that resource.
    pub(super) fn at(
        requests: TokenRequests<'a>,
        server: &'a AuthorizationServer,
        resource: &'a str,
        client: &'a RegisteredClient,
    ) -> Result<TokenEndpoint<'a>, AuthorizationError> {
        let issuer = &server.issuer;
        let unsupported = |what| AuthorizationError::Unsupported { issuer: issuer.clone(), what };
        let endpoint = server.token_endpoint.as_deref().ok_or_else(|| unsupported("a token endpoint"))?;
        if requests.proofs.is_some() && !server.has_dpop() {
            return Err(unsupported("tokens that are bound to a key (DPoP) with ES256"));
        }
        let secret_in = secret_in(server);
        Ok(TokenEndpoint { requests, issuer, endpoint, resource, client, secret_in })
    }

    /// That which a token came from.
    pub(super) fn of_grant(
        requests: TokenRequests<'a>,
        grant: &'a Grant,
        client: &'a RegisteredClient,
    ) -> TokenEndpoint<'a> {
        let (issuer, endpoint, resource) = (&grant.issuer, &grant.token_endpoint, &grant.resource);
        TokenEndpoint { requests, issuer, endpoint, resource, client, secret_in: SecretIn::Header }
    }

    /// Exchanges the code that the user came back with.
    pub(super) async fn exchange(
        &self,
        code: String,
        verifier: PkceCodeVerifier,
        redirect_uri: RedirectUrl,
        requested: Scopes,
    ) -> Result<Grant, AuthorizationError> {
        let client = self.client()?.set_redirect_uri(redirect_uri);
        let request = client.exchange_code(AuthorizationCode::new(code)).set_pkce_verifier(verifier);
        let request = self
            .extra()?
            .into_iter()
            .fold(request, |request, (name, value)| request.add_extra_param(name, value));
        let response = request.request_async(&self.requests).await;
        self.granted(response, requested, Origin::Issued, None)
    }

    /// Gets another token in exchange for a refresh token.
    pub(super) async fn refresh(
        &self,
        refresh: &Secret,
        requested: Scopes,
    ) -> Result<Grant, AuthorizationError> {
        let token = RefreshToken::new(refresh.expose().to_owned());
        let client = self.client()?;
        let request = client.exchange_refresh_token(&token);
        let request = self
            .extra()?
            .into_iter()
            .fold(request, |request, (name, value)| request.add_extra_param(name, value));
        let response = request.request_async(&self.requests).await;
        // A server that does not replace the refresh token means the one before.
        self.granted(response, requested, Origin::Refreshed, Some(refresh.clone()))
    }

    /// Gets a token for the client itself.
    pub(super) async fn credentials(&self, requested: Scopes) -> Result<Grant, AuthorizationError> {
        let client = self.client()?;
        let request = client.exchange_client_credentials();
        let request = request.add_scopes(requested.iter().map(|scope| Scope::new(scope.to_owned())));
        let request = self
            .extra()?
            .into_iter()
            .fold(request, |request, (name, value)| request.add_extra_param(name, value));
        let response = request.request_async(&self.requests).await;
        self.granted(response, requested, Origin::Issued, None)
    }

    fn client(&self) -> Result<TokenClient, AuthorizationError> {
        let url: Url = self.requests.fetcher.address(self.endpoint)?;
        let client = BasicClient::new(ClientId::new(self.client.id.clone()));
        let client = match &self.client.credential {
            Credential::Public | Credential::Key(_) => client.set_auth_type(AuthType::RequestBody),
            Credential::Secret(secret, place) => client
                .set_client_secret(ClientSecret::new(secret.expose().to_owned()))
                .set_auth_type(match place.unwrap_or(self.secret_in) {
                    SecretIn::Header => AuthType::BasicAuth,
                    SecretIn::Body => AuthType::RequestBody,
                }),
        };
        Ok(client.set_token_uri(TokenUrl::from_url(url)))
    }

    /// What each request says in addition: what the token is for, and a signed assertion of who asks.
    pub(super) fn extra(&self) -> Result<Vec<(&'static str, String)>, AuthorizationError> {
        let mut extra = vec![("resource", self.resource.to_owned())];
        if let Credential::Key(key) = &self.client.credential {
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            extra.push(("client_assertion_type", kind.to_owned()));
            extra.push(("client_assertion", key.assertion(&self.client.id, self.issuer)?));
        }
        Ok(extra)
    }

    pub(super) fn granted(
        &self,
        response: Result<BasicTokenResponse, TokenError>,
        requested: Scopes,
        origin: Origin,
        before: Option<Secret>,
    ) -> Result<Grant, AuthorizationError> {
        let response = response.map_err(|error| self.failed(error))?;
        let key = self.requests.proofs.as_ref().map(|proofs| &proofs.key);
        let (scheme, what) = match key {
            Some(_) => ("dpop", "tokens that are bound to a key (DPoP)"),
            None => ("bearer", "bearer tokens"),
        };
        if !response.token_type().as_ref().eq_ignore_ascii_case(scheme) {
            return Err(AuthorizationError::Unsupported { issuer: self.issuer.to_owned(), what });
        }
        let lifetime = response.expires_in().as_ref().map(Duration::as_secs);
        let after = |seconds: u64| now().saturating_add(seconds);
        Ok(Grant {
            issuer: self.issuer.to_owned(),
            token_endpoint: self.endpoint.to_owned(),
            client: self.client.id.clone(),
            resource: self.resource.to_owned(),
            requested,
            access: Secret::new(response.access_token().secret()),
            refresh: response.refresh_token().map(|token| Secret::new(token.secret())).or(before),
            expires: lifetime.map(after),
            renew: lifetime.map(|lifetime| after(lifetime.saturating_sub(AHEAD.min(lifetime / 10)))),
            bound: key.map(BoundKey::new),
            origin,
        })
    }

    /// What went wrong, without anything of an answer that could not be read: it may have a token in it.
    pub(super) fn failed(&self, error: TokenError) -> AuthorizationError {
        match error {
            RequestTokenError::ServerResponse(response) => AuthorizationError::Refused {
                error: response.error().to_string(),
                description: response.error_description().cloned(),
            },
            RequestTokenError::Request(error) => error,
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => FetchError::Malformed {
                host: self.issuer.to_owned(),
                reason: "it has neither a token nor an error".to_owned(),
            }
            .into(),
        }
    }
}

/// Where a secret stands in requests to an authorization server: in the header, unless it takes it in the body only.
fn secret_in(server: &AuthorizationServer) -> SecretIn {
    let supported = server.token_endpoint_auth_methods_supported.iter().flatten();
    let mut supported = supported.filter_map(|method| SecretIn::named(method));
    let first = supported.next();
    if first == Some(SecretIn::Body) && supported.all(|other| other == SecretIn::Body) {
        SecretIn::Body
    } else {
        SecretIn::Header
    }
}
