//! Layers that bind tokens to keys (DPoP, RFC 9449), around an authorization server and a server that know bearer tokens only.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::dangerous::insecure_decode;
use jsonwebtoken::jwk::ThumbprintHash;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What both layers know, and what a test wants of them.
#[derive(Default)]
pub(crate) struct Known {
    /// The nonces that proofs must have, where they must: of the authorization server, and of the server.
    pub(crate) nonces: [Option<String>; 2],
    /// The nonce of the server after its next answer that is not a refusal.
    pub(crate) next_nonce: Option<String>,
    /// Asks for a nonce whatever the proof has.
    pub(crate) insists: [bool; 2],
    /// Another type than `DPoP` for tokens.
    pub(crate) token_type: Option<&'static str>,
    /// What was answered, in order: `token` or `mcp`, the nonce of the proof, and what came of it.
    pub(crate) log: Vec<String>,
    /// Which key each token is bound to.
    pub(crate) bound: HashMap<String, String>,
    proofs: HashSet<String>,
}

/// The layers; clones share what they know.
#[derive(Clone, Default)]
pub(crate) struct Layers(Arc<Mutex<Known>>);

#[derive(Clone)]
struct Layer {
    known: Layers,
    /// The only address that proofs are for.
    url: String,
}

impl Layers {
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap()
    }

    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.known().log)
    }

    /// The key that a token is bound to: as the layer has noted, or as the token says.
    fn key_of(&self, token: &str) -> String {
        let noted = self.known().bound.get(token).cloned();
        let read =
            || insecure_decode::<Value>(token).unwrap().claims["cnf"]["jkt"].as_str().unwrap().to_owned();
        noted.unwrap_or_else(read)
    }

    /// The layer around an authorization server.
    pub(crate) fn around_tokens(&self) -> impl FnOnce(Router) -> Router {
        let layer = Layer { known: self.clone(), url: String::new() };
        move |router| router.layer(from_fn_with_state(layer, issue))
    }

    /// The layer around a server.
    pub(crate) fn around(&self) -> impl FnOnce(&str, Router) -> Router {
        let known = self.clone();
        move |url, router| router.layer(from_fn_with_state(Layer { known, url: url.to_owned() }, admit))
    }
}

/// The claims of the proof of a request, and the thumbprint of its key. It must be for this request, and be sent once.
fn proof(known: &Layers, headers: &HeaderMap, method: &str, url: &str) -> (Value, String) {
    let all: Vec<_> = headers.get_all("dpop").iter().collect();
    let [proof] = all[..] else { panic!("{} proofs", all.len()) };
    let proof = proof.to_str().unwrap();
    let header = decode_header(proof).unwrap();
    assert_eq!((header.typ.as_deref(), header.alg), (Some("dpop+jwt"), Algorithm::ES256));
    let key = header.jwk.unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    (validation.validate_exp, validation.required_spec_claims) = (false, HashSet::new());
    let claims = decode::<Value>(proof, &DecodingKey::from_jwk(&key).unwrap(), &validation).unwrap().claims;
    assert_eq!((&claims["htm"], &claims["htu"]), (&json!(method), &json!(url)));
    assert!(known.known().proofs.insert(claims["jti"].as_str().unwrap().to_owned()), "sent twice");
    (claims, key.thumbprint(ThumbprintHash::SHA256))
}

/// Whether the proof has the nonce that it must have; logs it.
fn has_nonce(known: &Layers, place: usize, claims: &Value) -> bool {
    let mut known = known.known();
    let is_right = known.nonces[place].as_deref() == claims["nonce"].as_str() && !known.insists[place];
    let nonce = claims["nonce"].as_str().unwrap_or("none");
    let line = format!("{} {nonce}{}", ["token", "mcp"][place], if is_right { "" } else { ": refused" });
    known.log.push(line);
    is_right
}

fn with_nonce(known: &Layers, place: usize, mut response: Response) -> Response {
    let known = known.known();
    let nonce =
        known.nonces[place].clone().or_else(|| known.insists[place].then(|| known.log.len().to_string()));
    if let Some(nonce) = nonce {
        response.headers_mut().insert("dpop-nonce", HeaderValue::try_from(nonce).unwrap());
    }
    response
}

async fn issue(State(Layer { known, .. }): State<Layer>, request: Request, next: Next) -> Response {
    if request.uri().path() != "/token" {
        return next.run(request).await;
    }
    if !request.headers().contains_key("dpop") {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_dpop_proof" }))).into_response();
    }
    let url = format!("http://{}/token", request.headers()["host"].to_str().unwrap());
    let (claims, thumbprint) = proof(&known, request.headers(), "POST", &url);
    assert!(claims.get("ath").is_none());
    if !has_nonce(&known, 0, &claims) {
        let refused = (StatusCode::BAD_REQUEST, Json(json!({ "error": "use_dpop_nonce" })));
        return with_nonce(&known, 0, refused.into_response());
    }
    let (mut head, body) = next.run(request).await.into_parts();
    let mut answer: Value = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap()).unwrap();
    if let Some(token) = answer["access_token"].as_str() {
        known.known().bound.insert(token.to_owned(), thumbprint);
        answer["token_type"] = known.known().token_type.unwrap_or("DPoP").into();
    }
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(answer.to_string()))
}

async fn admit(State(Layer { known, url }): State<Layer>, mut request: Request, next: Next) -> Response {
    if let Some(authorization) = request.headers().get(AUTHORIZATION).cloned() {
        let authorization = authorization.to_str().unwrap();
        let token = authorization.strip_prefix("DPoP ").expect("the scheme is DPoP");
        let (claims, thumbprint) = proof(&known, request.headers(), request.method().as_str(), &url);
        assert_eq!(claims["ath"], json!(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(token))));
        if !has_nonce(&known, 1, &claims) {
            let challenge = [(WWW_AUTHENTICATE, r#"DPoP error="use_dpop_nonce", algs="ES256""#)];
            return with_nonce(&known, 1, (StatusCode::UNAUTHORIZED, challenge).into_response());
        }
        assert_eq!(known.key_of(token), thumbprint, "another key");
        let bearer = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
        request.headers_mut().insert(AUTHORIZATION, bearer);
    }
    let mut response = next.run(request).await;
    if let Some(challenge) = response.headers_mut().get_mut(WWW_AUTHENTICATE) {
        let bound = challenge.to_str().unwrap().replacen("Bearer", "DPoP", 1);
        *challenge = HeaderValue::try_from(bound).unwrap();
        return response;
    }
    let next_nonce = known.known().next_nonce.take();
    if next_nonce.is_none() {
        return response;
    }
    known.known().nonces[1] = next_nonce;
    with_nonce(&known, 1, response)
}
