//! [`TokenHeaders`]: adds the token to each request, and hears what the server says to it.

use std::iter::successors;
use std::sync::Arc;

use mcp_runtime::transport::http::{Challenge, HeaderProvider};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::Url;

use super::error::AuthorizationError;
use super::grant::{Grant, Origin};
use super::renewal::{Reason, Tokens};
use super::token_requests::{DPOP, Proofs, USE_NONCE};
use crate::challenge::BearerChallenge;

/// Adds the token to each request, and the proof of its key, if it is bound to one. It is made for the transport to one server
/// only, so the token goes nowhere else.
pub(super) struct TokenHeaders(pub(super) Arc<Tokens>);

/// What callers find in `HttpError::Headers`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct Failed(Arc<AuthorizationError>);

impl From<AuthorizationError> for Failed {
    fn from(error: AuthorizationError) -> Failed {
        Failed(Arc::new(error))
    }
}

fn authorization(grant: &Grant) -> Option<HeaderValue> {
    let scheme = if grant.bound.is_some() { "DPoP" } else { "Bearer" };
    let mut value = HeaderValue::from_str(&format!("{scheme} {}", grant.access.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether a server refuses a request only because its proof has no nonce, or an old one.
fn wants_nonce(challenge: &Challenge) -> bool {
    let asked = challenge.authenticate.as_deref().and_then(|asked| BearerChallenge::of_scheme(asked, "dpop"));
    challenge.status == 401 && asked.is_some_and(|asked| asked.error.as_deref() == Some(USE_NONCE))
}

/// The refusals of the same request before this one, the newest first.
fn earlier(challenge: &Challenge) -> impl Iterator<Item = &Challenge> {
    successors(challenge.previous.as_deref(), |challenge| challenge.previous.as_deref())
}

impl TokenHeaders {
    /// The present token, renewed if it is about to expire.
    async fn token(&self) -> Result<Option<Arc<Grant>>, Failed> {
        let grant = self.0.grant().await?;
        let Some(due) = grant.as_ref().filter(|grant| grant.is_due()) else { return Ok(grant) };
        if let Err(error) = self.0.renew(Some(due.access.clone()), Reason::Expires).await {
            // The server will say what it wants.
            tracing::debug!(%error, "the token was not renewed");
        }
        Ok(self.0.grant().await?.filter(|grant| !grant.is_expired() || grant.origin != Origin::Stored))
    }

    /// What the server says about the token that it wants, in the scheme that this client uses.
    fn asked(&self, challenge: &Challenge) -> Option<BearerChallenge> {
        let asked = challenge.authenticate.as_deref()?;
        let bound = || BearerChallenge::of_scheme(asked, "dpop").filter(|_| self.0.binding.is_bound());
        bound().or_else(|| BearerChallenge::parse(asked))
    }

    /// The server wants a nonce in the proof. It is given one, once for each time that it wants another one.
    fn give_nonce(&self, challenge: &Challenge) -> Result<bool, Failed> {
        let was_given = challenge.previous.as_deref().is_some_and(wants_nonce);
        if was_given || self.0.nonces.newest(&self.0.server).is_none() {
            return Err(AuthorizationError::NonceRefused.into());
        }
        tracing::debug!("the server wants a nonce in the proof of the key");
        Ok(true)
    }
}

impl HeaderProvider for TokenHeaders {
    type Error = Failed;

    async fn headers(&self) -> Result<HeaderMap, Failed> {
        // The transport asks for those of one request. Most are messages that are posted.
        self.headers_of(&Method::POST, &self.0.server).await
    }

    async fn headers_of(&self, method: &Method, url: &Url) -> Result<HeaderMap, Failed> {
        let mut headers = HeaderMap::new();
        let Some(grant) = self.token().await? else { return Ok(headers) };
        headers.extend(authorization(&grant).map(|value| (AUTHORIZATION, value)));
        if let Some(key) = grant.bound.as_ref().and_then(|bound| bound.key()) {
            let proofs = Proofs { key: key.clone(), nonces: Arc::clone(&self.0.nonces) };
            headers.insert(DPOP, proofs.header(method, url, Some(&grant.access))?);
        }
        Ok(headers)
    }

    fn answered(&self, head: &HeaderMap) {
        if self.0.binding.is_bound() {
            self.0.nonces.note(&self.0.server, head);
        }
    }

    async fn challenged(&self, challenge: Challenge) -> Result<bool, Failed> {
        let asked = self.asked(&challenge);
        let grant = self.0.grant().await?;
        let sent = challenge.sent.get(AUTHORIZATION);
        let present = grant.as_deref().and_then(authorization);
        if sent != present.as_ref() && present.is_some() {
            // Somebody else has renewed it meanwhile.
            return Ok(true);
        }
        if challenge.sent.contains_key(DPOP) && wants_nonce(&challenge) {
            return self.give_nonce(&challenge);
        }
        let before = grant.as_ref().map(|grant| grant.access.clone());
        let reason = match challenge.status {
            401 => {
                let asked = asked.unwrap_or_default();
                let is_new = grant.as_ref().is_some_and(|grant| grant.origin == Origin::Issued);
                // That a nonce was wanted says nothing about the token.
                let again = earlier(&challenge).any(|refusal| !wants_nonce(refusal));
                if again && is_new {
                    return Err(AuthorizationError::TokenRefused(asked.error_description).into());
                }
                Reason::Refused { challenge: asked, again }
            }
            _ => {
                let Some(asked) = asked.filter(|asked| asked.error.as_deref() == Some("insufficient_scope"))
                else {
                    return Ok(false);
                };
                let Some(wanted) = &asked.scope else { return Ok(false) };
                if grant.as_ref().is_some_and(|grant| grant.requested.contains_all(wanted)) {
                    return Err(AuthorizationError::NotGranted(wanted.to_string()).into());
                }
                Reason::Insufficient(asked)
            }
        };
        self.0.renew(before, reason).await.map_err(Failed)?;
        Ok(true)
    }
}
