//! [`Binding`]: whether tokens are bound to a key, and to which.

use serde::{Deserialize, Serialize};

use super::error::AuthorizationError;
use super::proof_key::ProofKey;
use crate::secret::Secret;

/// Whether the tokens of a client are bound to a key. A client that wants it uses no others: a bearer token that somebody has
/// made the authorization server issue would undo it.
#[derive(Clone, Debug, Default)]
pub(super) enum Binding {
    /// They are bearer tokens.
    #[default]
    Unbound,
    /// To a key that is generated, and stored with the token.
    Generated,
    /// To a key that the program has.
    Program(ProofKey),
}

/// The key that a token is bound to, as it is stored with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BoundKey {
    thumbprint: String,
    /// The private key, if it was generated.
    key: Option<Secret>,
    #[serde(skip)]
    parsed: Option<ProofKey>,
}

impl Binding {
    /// Whether they are bound to any key.
    pub(super) fn is_bound(&self) -> bool {
        !matches!(self, Binding::Unbound)
    }

    /// The key for the next token: that of the token before, if it was generated.
    pub(super) fn next(&self, before: Option<&BoundKey>) -> Result<Option<ProofKey>, AuthorizationError> {
        match self {
            Binding::Unbound => Ok(None),
            Binding::Program(key) => Ok(Some(key.clone())),
            Binding::Generated => match before.and_then(|bound| bound.parsed.clone()) {
                Some(key) => Ok(Some(key)),
                None => ProofKey::generate().map(Some),
            },
        }
    }

    /// Whether a token that was stored with this key can be used.
    pub(super) fn fits(&self, bound: Option<&mut BoundKey>) -> bool {
        match (self, bound) {
            (Binding::Unbound, bound) => bound.is_none(),
            (_, None) => false,
            (Binding::Program(key), Some(bound)) => {
                bound.parsed = Some(key.clone()).filter(|key| key.thumbprint() == bound.thumbprint);
                bound.parsed.is_some()
            }
            (Binding::Generated, Some(bound)) => {
                bound.parsed = bound.key.clone().and_then(|stored| ProofKey::from_stored(stored).ok());
                bound.parsed.is_some()
            }
        }
    }
}

impl BoundKey {
    pub(super) fn new(key: &ProofKey) -> BoundKey {
        let stored = key.stored().cloned();
        BoundKey { thumbprint: key.thumbprint().to_owned(), key: stored, parsed: Some(key.clone()) }
    }

    /// The key, if the program has it.
    pub(super) fn key(&self) -> Option<&ProofKey> {
        self.parsed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it comes back from the store.
    fn stored(key: &ProofKey) -> BoundKey {
        serde_json::from_str(&serde_json::to_string(&BoundKey::new(key)).unwrap()).unwrap()
    }

    #[test]
    fn a_stored_token_is_used_only_with_its_key() {
        let generated = ProofKey::generate().unwrap();
        let own = ProofKey::from_pem(generated.stored().unwrap().expose()).unwrap();
        let other = ProofKey::from_pem(ProofKey::generate().unwrap().stored().unwrap().expose()).unwrap();
        let mut bound = stored(&generated);
        assert!(Binding::Generated.fits(Some(&mut bound)));
        assert_eq!(bound.key().unwrap().thumbprint(), generated.thumbprint());
        let next = Binding::Generated.next(Some(&bound)).unwrap().unwrap();
        assert_eq!(next.thumbprint(), generated.thumbprint());
        // That of the program is not stored.
        let mut bound = stored(&own);
        assert!(!serde_json::to_string(&bound).unwrap().contains("PRIVATE"));
        assert!(Binding::Program(own).fits(Some(&mut bound)));
        assert!(!Binding::Program(other).fits(Some(&mut bound)) && bound.key().is_none());
        assert!(!Binding::Generated.fits(Some(&mut bound)));
        assert!(!Binding::Generated.fits(None) && Binding::Unbound.fits(None));
        assert!(!Binding::Unbound.fits(Some(&mut bound)));
    }

    #[test]
    fn no_key_is_shown() {
        let key = ProofKey::generate().unwrap();
        let shown = format!("{:?} {:?}", BoundKey::new(&key), Binding::Program(key));
        assert!(!shown.contains("PRIVATE"), "{shown}");
    }
}
