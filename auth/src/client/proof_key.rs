//! [`ProofKey`]: a key that tokens are bound to, and the proofs that a client has it (DPoP, RFC 9449).

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{CommonParameters, Jwk, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use p256::SecretKey;
use p256::elliptic_curve::rand_core::OsRng;
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use reqwest::Method;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::error::AuthorizationError;
use super::identity::{now, random};
use crate::secret::Secret;

/// A key that tokens are bound to (DPoP, RFC 9449): a token that is stolen without it is of no use. It signs with ES256.
///
/// ```
/// use mcp_auth::client::{AuthorizationError, ProofKey};
///
/// fn key_of_this_machine(pem: &str) -> Result<ProofKey, AuthorizationError> {
///     ProofKey::from_pem(pem)
/// }
/// ```
#[derive(Clone)]
pub struct ProofKey(Arc<Pair>);

struct Pair {
    key: EncodingKey,
    public: Jwk,
    thumbprint: String,
    /// The private key as it is stored, if the program does not keep it itself.
    stored: Option<Secret>,
}

impl ProofKey {
    /// Reads a private key on the curve P-256, in PKCS #8 and PEM (`-----BEGIN PRIVATE KEY-----`).
    ///
    /// # Errors
    /// If it is not such a key.
    pub fn from_pem(pem: &str) -> Result<ProofKey, AuthorizationError> {
        ProofKey::of(&parsed(pem)?, None)
    }

    /// Reads a key that [`generate`](Self::generate) has made, and that was stored.
    pub(super) fn from_stored(pem: Secret) -> Result<ProofKey, AuthorizationError> {
        ProofKey::of(&parsed(pem.expose())?, Some(pem))
    }

    /// Makes a new key, which has to be stored with the tokens that are bound to it.
    pub(super) fn generate() -> Result<ProofKey, AuthorizationError> {
        let key = SecretKey::random(&mut OsRng);
        let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(failed)?;
        ProofKey::of(&key, Some(Secret::new(pem.as_str())))
    }

    fn of(key: &SecretKey, stored: Option<Secret>) -> Result<ProofKey, AuthorizationError> {
        let der = key.to_pkcs8_der().map_err(failed)?;
        let key = EncodingKey::from_ec_der(der.as_bytes());
        let public = Jwk::from_encoding_key(&key, Algorithm::ES256).map_err(failed)?;
        // The header of a proof says the algorithm already.
        let public = Jwk { common: CommonParameters::default(), ..public };
        let thumbprint = public.thumbprint(ThumbprintHash::SHA256);
        Ok(ProofKey(Arc::new(Pair { key, public, thumbprint, stored })))
    }

    /// The thumbprint of the public key (RFC 7638, with SHA-256): a token that is bound to the key has it in `cnf.jkt`.
    pub fn thumbprint(&self) -> &str {
        &self.0.thumbprint
    }

    /// The private key, if it has to be stored.
    pub(super) fn stored(&self) -> Option<&Secret> {
        self.0.stored.as_ref()
    }

    /// Proves that a request is by the one who has the key: a text for the header `DPoP`, for this request only. It has to have
    /// the token, if one is sent, and the nonce, if the server has given one.
    pub(super) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<String, AuthorizationError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let claims = Proof {
            jti: random()?,
            htm: method.as_str(),
            htu: target.as_str(),
            iat: now(),
            ath: token.map(|token| BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()))),
            nonce,
        };
        let header = Header {
            typ: Some("dpop+jwt".to_owned()),
            jwk: Some(self.0.public.clone()),
            ..Header::new(Algorithm::ES256)
        };
        jsonwebtoken::encode(&header, &claims, &self.0.key).map_err(failed)
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProofKey").field("thumbprint", &self.thumbprint()).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Proof<'a> {
    jti: String,
    htm: &'a str,
    htu: &'a str,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
}

fn parsed(pem: &str) -> Result<SecretKey, AuthorizationError> {
    SecretKey::from_pkcs8_pem(pem)
        .map_err(|_| failed("it must be a private key on P-256, in PKCS #8 and PEM"))
}

fn failed(reason: impl fmt::Display) -> AuthorizationError {
    AuthorizationError::Key { algorithm: "ES256".to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jsonwebtoken::{DecodingKey, Validation, decode};
    use serde_json::Value;

    use super::*;

    fn claims(proof: &str, key: &ProofKey) -> Value {
        let mut validation = Validation::new(Algorithm::ES256);
        validation.required_spec_claims = HashSet::new();
        validation.validate_exp = false;
        let decoded =
            decode::<Value>(proof, &DecodingKey::from_jwk(&key.0.public).unwrap(), &validation).unwrap();
        assert_eq!(decoded.header.typ.as_deref(), Some("dpop+jwt"));
        assert_eq!(decoded.header.jwk.as_ref(), Some(&key.0.public));
        let public = serde_json::to_value(&key.0.public).unwrap();
        let mut members: Vec<_> = public.as_object().unwrap().keys().map(String::as_str).collect();
        members.sort_unstable();
        assert_eq!(members, ["crv", "kty", "x", "y"], "nothing of the private key");
        decoded.claims
    }

    #[test]
    fn a_proof_is_for_one_request() {
        let key = ProofKey::generate().unwrap();
        let url = Url::parse("https://a.example/mcp?query=1#fragment").unwrap();
        let first = claims(&key.proof(&Method::POST, &url, None, None).unwrap(), &key);
        assert_eq!((&first["htm"], &first["htu"]), (&"POST".into(), &"https://a.example/mcp".into()));
        assert!(first.get("ath").is_none() && first.get("nonce").is_none());
        let token = Secret::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        let second = claims(&key.proof(&Method::GET, &url, Some(&token), Some("n")).unwrap(), &key);
        // The example of RFC 9449, section 7.1.
        assert_eq!(second["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
        assert_eq!((&second["htm"], &second["nonce"]), (&"GET".into(), &"n".into()));
        assert_ne!(first["jti"], second["jti"]);
    }

    #[test]
    fn a_key_that_was_stored_is_the_same_key() {
        let key = ProofKey::generate().unwrap();
        let again = ProofKey::from_stored(key.stored().unwrap().clone()).unwrap();
        assert_eq!(again.thumbprint(), key.thumbprint());
        let given = ProofKey::from_pem(key.stored().unwrap().expose()).unwrap();
        assert!(given.stored().is_none(), "the program keeps it");
    }

    #[test]
    fn other_keys_are_refused_and_none_is_shown() {
        let error =
            ProofKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----").unwrap_err();
        let expected = "the key of the client cannot sign with ES256: it must be a private key on P-256, in PKCS #8 and PEM";
        assert_eq!(error.to_string(), expected);
        let key = ProofKey::generate().unwrap();
        assert_eq!(format!("{key:?}"), format!("ProofKey {{ thumbprint: {:?}, .. }}", key.thumbprint()));
    }
}
