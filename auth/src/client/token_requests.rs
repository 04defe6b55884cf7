//! [`TokenRequests`]: the requests to token endpoints, with proofs where tokens are bound to a key.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use url::Url;

use super::error::AuthorizationError;
use super::fetch::{FetchError, Fetcher};
use super::nonces::Nonces;
use super::proof_key::ProofKey;
use crate::secret::Secret;

/// The header of a proof.
pub(super) const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The error with which servers want a nonce in a proof.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// Sends requests to token endpoints.
pub(super) struct TokenRequests<'a> {
    pub(super) fetcher: &'a Fetcher,
    /// What tokens are bound to, if they are.
    pub(super) proofs: Option<Proofs>,
}

/// A key, and what servers want in the proofs of it.
#[derive(Clone)]
pub(super) struct Proofs {
    pub(super) key: ProofKey,
    pub(super) nonces: Arc<Nonces>,
}

impl Proofs {
    /// The header that proves that a request is by the one who has the key.
    pub(super) fn header(
        &self,
        method: &reqwest::Method,
        url: &Url,
        token: Option<&Secret>,
    ) -> Result<HeaderValue, AuthorizationError> {
        let proof = self.key.proof(method, url, token, self.nonces.newest(url).as_deref())?;
        let mut value = HeaderValue::from_str(&proof).map_err(|error| AuthorizationError::Key {
            algorithm: "ES256".to_owned(),
            reason: error.to_string(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl TokenRequests<'_> {
    /// Sends a request; once more, if the authorization server wants a nonce and gives one.
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, AuthorizationError> {
        let Some(proofs) = &self.proofs else { return self.answer(request).await };
        let url = self.fetcher.address(&request.uri().to_string())?;
        let mut is_repeated = false;
        loop {
            let proof = proofs.header(request.method(), &url, None)?;
            request.headers_mut().insert(DPOP, proof);
            let response = self.answer(request.clone()).await?;
            let has_nonce = proofs.nonces.note(&url, response.headers());
            if is_repeated || !has_nonce || !wants_nonce(&response) {
                return Ok(response);
            }
            tracing::debug!("the authorization server wants a nonce in the proof");
            is_repeated = true;
        }
    }
}

/// What a token endpoint says that refuses a request.
#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
}

/// Whether a token endpoint has refused a request because its proof has no nonce, or an old one.
fn wants_nonce(response: &HttpResponse) -> bool {
    let refused = response.status().is_client_error();
    refused && serde_json::from_slice(response.body()).is_ok_and(|TokenRefusal { error }| error == USE_NONCE)
}

impl TokenRequests<'_> {
    /// Sends a request once.
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, AuthorizationError> {
        let url = request.uri().to_string();
        let response = self.fetcher.request(request).await?;
        let status = response.status();
        // One that fails may say nothing that can be read, or the page of what stands in front of it.
        if status.is_server_error() && serde_json::from_slice::<TokenRefusal>(response.body()).is_err() {
            return Err(FetchError::Status { url, status: status.as_u16() }.into());
        }
        Ok(response)
    }
}

impl<'c> AsyncHttpClient<'c> for TokenRequests<'_> {
    type Error = AuthorizationError;
    type Future = BoxFuture<'c, Result<HttpResponse, AuthorizationError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
