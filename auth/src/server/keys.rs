//! [`Keys`]: the keys of an authorization server, as it publishes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jsonwebtoken::jwk::{Jwk, JwkSet};
use tokio::time::Instant;

use super::fetch::json;
use super::validator::TokenError;

/// How long keys are used before they are read again, so that one that was withdrawn does not count any longer.
const AGE: Duration = Duration::from_secs(15 * 60);

/// The shortest time between two requests for the keys: a token that names an unknown key costs no more than that.
const APART: Duration = Duration::from_secs(10);

/// The keys of an authorization server. They are requested when a token names one that is not known, and when they are old.
///
/// Invariant: one request runs at a time, and after one has been made there is none for the time [`APART`]. If a request fails
/// the keys before stay.
pub(super) struct Keys {
    connections: reqwest::Client,
    address: String,
    known: Mutex<KnownKeys>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct KnownKeys {
    keys: Option<Arc<JwkSet>>,
    /// When they were requested last.
    requested: Option<Instant>,
    /// When they were read.
    read: Option<Instant>,
}

impl Keys {
    pub(super) fn new(connections: reqwest::Client, address: String) -> Keys {
        Keys { connections, address, known: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, KnownKeys> {
        // Nothing that is done under the lock panics.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of that id; or, if the token names none, the only key there is.
    pub(super) async fn key(&self, id: Option<&str>) -> Result<Jwk, TokenError> {
        let find = |keys: &JwkSet| match id {
            Some(id) => keys.find(id).cloned(),
            None => keys.keys.first().filter(|_| keys.keys.len() == 1).cloned(),
        };
        let fresh = |known: &KnownKeys| {
            known.read.filter(|read| read.elapsed() < AGE).and(known.keys.as_deref()).and_then(find)
        };
        if let Some(key) = fresh(&self.known()) {
            return Ok(key);
        }
        let _turn = self.turn.lock().await;
        if let Some(key) = fresh(&self.known()) {
            return Ok(key);
        }
        let may = self.known().requested.is_none_or(|requested| requested.elapsed() >= APART);
        let asked = if may { self.request().await } else { Ok(()) };
        let keys = self.known().keys.clone();
        match (keys.as_deref().and_then(find), asked) {
            (Some(key), _) => Ok(key),
            (None, Err(error)) => Err(error),
            (None, Ok(())) if keys.is_none() => {
                Err(TokenError::unavailable("the keys of the authorization server could not be read"))
            }
            (None, Ok(())) => Err(TokenError::invalid("it is signed with a key that is not known")),
        }
    }

    async fn request(&self) -> Result<(), TokenError> {
        self.known().requested = Some(Instant::now());
        let keys: JwkSet = match json(self.connections.get(&self.address)).await {
            Ok(keys) => keys,
            Err(error) => {
                tracing::warn!(%error, "the keys of the authorization server were not read");
                return Err(error);
            }
        };
        tracing::debug!(keys = keys.keys.len(), "the keys of the authorization server were read");
        let mut known = self.known();
        (known.keys, known.read) = (Some(Arc::new(keys)), Some(Instant::now()));
        Ok(())
    }
}
