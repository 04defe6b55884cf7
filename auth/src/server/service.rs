//! [`Protected`]: what the layer makes of a service.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use futures_util::future::BoxFuture;
use mcp_runtime::RpcError;
use serde_json::json;
use tower_service::Service;
use url::Url;

use super::operation::{Operation, each};
use super::principal::Principal;
use super::validator::{AnyValidator, TokenError};
use crate::challenge::BearerChallenge;
use crate::metadata::ResourceMetadata;
use crate::scopes::Scopes;

/// How long the body of a request may take.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// What a request has to meet, and the metadata that say so to clients.
pub(super) struct Resource {
    pub(super) validator: Arc<dyn AnyValidator>,
    pub(super) metadata: ResourceMetadata,
    /// The address of the metadata.
    pub(super) metadata_url: Url,
    /// What each request needs.
    pub(super) scopes: Scopes,
    pub(super) scopes_of: Option<Arc<ScopesOf>>,
    pub(super) max_body_bytes: usize,
}

pub(super) type ScopesOf = dyn Fn(Operation<'_>) -> Scopes + Send + Sync;

/// A service behind a [`ProtectedResource`](super::ProtectedResource).
#[derive(Clone)]
pub struct Protected<S> {
    inner: S,
    resource: Arc<Resource>,
}

impl<S> Protected<S> {
    pub(super) fn new(inner: S, resource: Arc<Resource>) -> Protected<S> {
        Protected { inner, resource }
    }
}

impl<S> std::fmt::Debug for Protected<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Protected").field(&self.resource.metadata.resource).finish()
    }
}

impl<S> Service<Request<Body>> for Protected<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The service that is ready is called, and its clone waits until it is.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let resource = Arc::clone(&self.resource);
        Box::pin(async move {
            if request.uri().path() == resource.metadata_url.path() {
                return Ok(resource.metadata(request.method()));
            }
            match resource.admit(request).await {
                Ok(request) => inner.call(request).await,
                Err(refusal) => Ok(*refusal),
            }
        })
    }
}

/// The token of a request.
enum Presented {
    Token(String),
    Nothing,
    Unclear,
}

impl Resource {
    /// The metadata of the resource, which every page may read, pages of other hosts included.
    pub(super) fn metadata(&self, method: &Method) -> Response<Body> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refused = answer(StatusCode::METHOD_NOT_ALLOWED, Body::empty());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        let Ok(text) = serde_json::to_string(&self.metadata) else {
            return answer(StatusCode::INTERNAL_SERVER_ERROR, Body::empty());
        };
        let mut response = answer(StatusCode::OK, text.into());
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }

    /// The request with its principal, if its token permits it.
    async fn admit(&self, request: Request<Body>) -> Result<Request<Body>, Box<Response<Body>>> {
        let token = match presented(request.headers()) {
            Presented::Token(token) => token,
            Presented::Nothing => {
                let challenge = BearerChallenge { scope: self.initial(), ..self.challenge() };
                return Err(refusal(StatusCode::UNAUTHORIZED, &challenge, "a token is needed"));
            }
            Presented::Unclear => {
                let error = Some("invalid_request".to_owned());
                let challenge = BearerChallenge { error, ..self.challenge() };
                return Err(refusal(
                    StatusCode::BAD_REQUEST,
                    &challenge,
                    "the header `authorization` is there twice, or has no token",
                ));
            }
        };
        let principal = match self.validator.principal(&token, &self.metadata.resource).await {
            Ok(principal) => principal,
            Err(TokenError::Invalid(why)) => {
                let (error, description) =
                    (Some("invalid_token".to_owned()), format!("the token is not valid: {why}"));
                let scope = self.initial();
                let error_description = Some(description.clone());
                let challenge = BearerChallenge { error, error_description, scope, ..self.challenge() };
                return Err(refusal(StatusCode::UNAUTHORIZED, &challenge, &description));
            }
            Err(TokenError::Unavailable(error)) => {
                tracing::warn!(error, "a token could not be validated");
                let mut response = answer(
                    StatusCode::SERVICE_UNAVAILABLE,
                    said("tokens cannot be validated now: try again later"),
                );
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
                return Err(Box::new(response));
            }
        };
        let (mut request, operations) = self.operations(request).await?;
        let needed = self.scopes.with(&operations);
        if !principal.scopes().contains_all(&needed) {
            tracing::debug!(scopes = %needed, "a token does not permit enough");
            let (error, scope) = (Some("insufficient_scope".to_owned()), Some(needed.clone()));
            let challenge = BearerChallenge { error, scope, ..self.challenge() };
            let why = format!("the token does not permit this: it needs the scopes `{needed}`");
            return Err(refusal(StatusCode::FORBIDDEN, &challenge, &why));
        }
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert::<Principal>(principal);
        Ok(request)
    }

    /// What the operations in a request need, for which its body is read.
    async fn operations(
        &self,
        request: Request<Body>,
    ) -> Result<(Request<Body>, Scopes), Box<Response<Body>>> {
        let Some(scopes_of) = self.scopes_of.as_ref().filter(|_| request.method() == Method::POST) else {
            return Ok((request, Scopes::new()));
        };
        let (head, body) = request.into_parts();
        let reading = tokio::time::timeout(BODY_WITHIN, to_bytes(body, self.max_body_bytes));
        let body: Bytes = match reading.await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => {
                let why = format!("the body is longer than {} bytes, or broke off", self.max_body_bytes);
                return Err(Box::new(answer(StatusCode::PAYLOAD_TOO_LARGE, said(&why))));
            }
            Err(_) => {
                let why = "the body did not arrive in time";
                return Err(Box::new(answer(StatusCode::REQUEST_TIMEOUT, said(why))));
            }
        };
        let mut needed = Scopes::new();
        each(&body, |operation| needed = needed.with(&scopes_of(operation))).map_err(|error| {
            // Let through, it would need no scopes, whatever the server makes of it.
            let body =
                error_body(RpcError::PARSE_ERROR, &format!("what the message does cannot be read: {error}"));
            Box::new(answer(StatusCode::BAD_REQUEST, body))
        })?;
        Ok((Request::from_parts(head, Body::from(body)), needed))
    }

    fn challenge(&self) -> BearerChallenge {
        BearerChallenge {
            resource_metadata: Some(self.metadata_url.to_string()),
            ..BearerChallenge::default()
        }
    }

    /// What a client is to ask for at first.
    fn initial(&self) -> Option<Scopes> {
        Some(self.scopes.clone()).filter(|scopes| !scopes.is_empty())
    }
}

fn presented(headers: &HeaderMap) -> Presented {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, more) = (values.next(), values.next());
    if more.is_some() {
        return Presented::Unclear;
    }
    let Some(value) = value else { return Presented::Nothing };
    let Some((scheme, token)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
        return Presented::Unclear;
    };
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Presented::Nothing;
    }
    let is_token = |character: char| character.is_ascii_alphanumeric() || "-._~+/=".contains(character);
    if token.is_empty() || !token.chars().all(is_token) {
        Presented::Unclear
    } else {
        Presented::Token(token.to_owned())
    }
}

fn answer(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An error of JSON-RPC, as the server behind the layer answers with.
fn said(why: &str) -> Body {
    error_body(-32000, why)
}

fn error_body(code: i64, why: &str) -> Body {
    json!({ "jsonrpc": "2.0", "error": { "code": code, "message": why } }).to_string().into()
}

fn refusal(status: StatusCode, challenge: &BearerChallenge, why: &str) -> Box<Response<Body>> {
    let mut response = answer(status, said(why));
    if let Ok(value) = HeaderValue::from_str(&challenge.to_string()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    Box::new(response)
}
