//! A state that goes through the client and comes back unread and unchanged.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use mcp_runtime::RpcError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::retry::Retry;

/// A secret of 32 bytes. Every process that has it opens what another one has sealed.
#[derive(Clone)]
pub struct SealingKey([u8; 32]);

impl SealingKey {
    /// The key with these bytes, which must be random: the program reads them from where it keeps its secrets.
    pub const fn from_bytes(bytes: [u8; 32]) -> SealingKey {
        SealingKey(bytes)
    }

    /// A key that no other process has.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn random() -> Result<SealingKey, SealError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| SealError::NoRandomness)?;
        Ok(SealingKey(bytes))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealingKey(…)")
    }
}

/// Seals what a server needs to go on with a request in its next round, so that any process with the key goes on.
///
/// A state is encrypted with XChaCha20-Poly1305. It opens only for a request with the same method and name, of the same
/// principal, until it expires. It may be used more than once until then: what must happen once, the server has to see to.
///
/// ```
/// use mcp_protocols::mcp_2026_07_28::types::{CallToolParams, ClientCapabilities, RequestMeta};
/// use mcp_protocols::rounds::{Retry, Seal, SealError, SealingKey};
///
/// let seal = Seal::new(SealingKey::random()?).principal("ada");
/// let first = CallToolParams::new("greet", RequestMeta::new("2026-07-28", ClientCapabilities::new()));
/// assert_eq!(seal.open::<_, u32>(&first)?, None);
/// let state = seal.seal(&first, &7)?;
///
/// let second = first.again(None, Some(state));
/// assert_eq!(seal.open::<_, u32>(&second)?, Some(7));
/// let other = Seal::new(SealingKey::random()?);
/// assert_eq!(other.open::<_, u32>(&second), Err(SealError::NotOurs));
/// # Ok::<(), SealError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Seal {
    key: SealingKey,
    /// Keys that sealed before.
    older: Vec<SealingKey>,
    lifetime: Duration,
    most_bytes: usize,
    principal: Option<String>,
}

/// How long a state may be used, unless the program says otherwise.
const LIFETIME: Duration = Duration::from_secs(600);

/// How many bytes a sealed state has at most, unless the program says otherwise.
const MOST_BYTES: usize = 16 * 1024;

/// The bytes before the encrypted part, and the ones before what was sealed.
const NONCE: usize = 24;
const EXPIRY: usize = 8;

impl Seal {
    /// Seals with this key. A state may be used for ten minutes, and has at most 16 KiB.
    pub fn new(key: SealingKey) -> Seal {
        Seal { key, older: Vec::new(), lifetime: LIFETIME, most_bytes: MOST_BYTES, principal: None }
    }

    /// Opens also what this key has sealed, for the time in which processes change from one key to the next.
    #[must_use]
    pub fn also_opens(mut self, key: SealingKey) -> Self {
        self.older.push(key);
        self
    }

    /// How long a state may be used.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// How many bytes a sealed state has at most, as it is in the message: about four thirds of what was sealed.
    #[must_use]
    pub fn most_bytes(mut self, most: usize) -> Self {
        self.most_bytes = most;
        self
    }

    /// The same for one principal: what is sealed for one does not open for another.
    #[must_use]
    pub fn principal(&self, principal: impl Into<String>) -> Self {
        Seal { principal: Some(principal.into()), ..self.clone() }
    }

    /// Seals a state for the next round of a request: give it to
    /// [`InputRequiredResult::request_state`](crate::mcp_2026_07_28::types::InputRequiredResult::request_state).
    ///
    /// # Errors
    /// [`SealError::NotJson`] if the state cannot be written as JSON, [`SealError::TooLarge`], and
    /// [`SealError::NoRandomness`].
    pub fn seal<P: Retry, S: Serialize + ?Sized>(&self, params: &P, state: &S) -> Result<String, SealError> {
        let expiry = now().saturating_add(self.lifetime.as_secs());
        let mut sealed = vec![0; NONCE];
        getrandom::fill(&mut sealed).map_err(|_| SealError::NoRandomness)?;
        let nonce = XNonce::try_from(&*sealed).map_err(|_| SealError::NotOurs)?;
        let mut plain = expiry.to_be_bytes().to_vec();
        serde_json::to_writer(&mut plain, state).map_err(|_| SealError::NotJson)?;
        let payload = Payload { msg: &plain, aad: &self.binding(params) };
        sealed.extend(self.key.cipher().encrypt(&nonce, payload).map_err(|_| SealError::TooLarge)?);
        let sealed = URL_SAFE_NO_PAD.encode(sealed);
        match sealed.len() <= self.most_bytes {
            true => Ok(sealed),
            false => Err(SealError::TooLarge),
        }
    }

    /// Opens the state that a request brings; nothing if it brings none, as in its first round.
    ///
    /// # Errors
    /// [`SealError::TooLarge`], [`SealError::NotOurs`] for what was not sealed for this request with a known key, and
    /// [`SealError::Expired`]; [`SealError::NotJson`] if it is not a state of this type.
    pub fn open<P: Retry, S: DeserializeOwned>(&self, params: &P) -> Result<Option<S>, SealError> {
        let Some(sealed) = params.state() else { return Ok(None) };
        if sealed.len() > self.most_bytes {
            return Err(SealError::TooLarge);
        }
        let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError::NotOurs)?;
        let (nonce, sealed) = sealed.split_at_checked(NONCE).ok_or(SealError::NotOurs)?;
        let nonce = XNonce::try_from(nonce).map_err(|_| SealError::NotOurs)?;
        let binding = self.binding(params);
        let mut opened = std::iter::once(&self.key)
            .chain(&self.older)
            .filter_map(|key| key.cipher().decrypt(&nonce, Payload { msg: sealed, aad: &binding }).ok());
        let plain = opened.next().ok_or(SealError::NotOurs)?;
        let (expiry, state) = plain.split_first_chunk::<EXPIRY>().ok_or(SealError::NotOurs)?;
        if u64::from_be_bytes(*expiry) <= now() {
            return Err(SealError::Expired);
        }
        serde_json::from_slice(state).map(Some).map_err(|_| SealError::NotJson)
    }

    /// What a state belongs to, each part with its length before it, so that no two bindings are the same bytes.
    fn binding<P: Retry>(&self, params: &P) -> Vec<u8> {
        let mut bytes = b"request state 1".to_vec();
        let principal = self.principal.as_deref();
        for part in [Some(P::METHOD), Some(params.name()), principal] {
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            bytes.extend(length.to_be_bytes());
            bytes.extend(part.unwrap_or_default().as_bytes());
        }
        bytes
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Why a state cannot be sealed or opened. A handler may return it: it becomes an error of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The state was not sealed with a known key, or not for this method, name and principal, or was changed.
    NotOurs,
    /// The state was sealed too long ago.
    Expired,
    /// The state has more bytes than the program permits.
    TooLarge,
    /// The state cannot be written as JSON, or is not of the type that is read.
    NotJson,
    /// The system has no randomness.
    NoRandomness,
}

impl fmt::Display for SealError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SealError::NotOurs => "the `requestState` was not given for this request",
            SealError::Expired => "the `requestState` has expired; send the request again without it",
            SealError::TooLarge => "the `requestState` is too large",
            SealError::NotJson => "the `requestState` is of another kind",
            SealError::NoRandomness => "the system has no randomness",
        })
    }
}

impl std::error::Error for SealError {}

impl From<SealError> for RpcError {
    fn from(error: SealError) -> RpcError {
        match error {
            SealError::NoRandomness => RpcError::internal_error(error.to_string()),
            _ => RpcError::invalid_params(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_2026_07_28::types::{
        CallToolParams, ClientCapabilities, GetPromptParams, ReadResourceParams, RequestMeta,
    };

    const KEY: SealingKey = SealingKey::from_bytes([7; 32]);

    fn meta() -> RequestMeta {
        RequestMeta::new("2026-07-28", ClientCapabilities::new())
    }

    fn call(name: &str, state: &str) -> CallToolParams {
        CallToolParams::new(name, meta()).request_state(state)
    }

    #[test]
    fn any_process_with_the_key_goes_on() {
        let state = Seal::new(KEY).seal(&call("greet", ""), "half way").unwrap();
        assert_eq!(Seal::new(KEY).open(&call("greet", &state)), Ok(Some("half way".to_owned())));
        assert_eq!(Seal::new(KEY).open::<_, u32>(&call("greet", &state)), Err(SealError::NotJson));
        let newer = Seal::new(SealingKey::from_bytes([8; 32]));
        assert_eq!(newer.open::<_, String>(&call("greet", &state)), Err(SealError::NotOurs));
        let both = newer.also_opens(KEY);
        assert_eq!(both.open(&call("greet", &state)), Ok(Some("half way".to_owned())));
    }

    #[test]
    fn a_state_is_of_no_use_elsewhere() {
        let seal = Seal::new(KEY);
        let state = seal.seal(&call("greet", ""), &1).unwrap();
        let not_ours = Err(SealError::NotOurs);
        assert_eq!(seal.open::<_, u32>(&call("part", &state)), not_ours);
        let prompt = GetPromptParams::new("greet", meta()).request_state(&*state);
        assert_eq!(seal.open::<_, u32>(&prompt), not_ours);
        let resource = ReadResourceParams::new("greet", meta()).request_state(&*state);
        assert_eq!(seal.open::<_, u32>(&resource), not_ours);
        assert_eq!(seal.principal("ada").open::<_, u32>(&call("greet", &state)), not_ours);
        let of_ada = seal.principal("ada").seal(&call("greet", ""), &1).unwrap();
        assert_eq!(seal.principal("ada").open::<_, u32>(&call("greet", &of_ada)), Ok(Some(1)));
        assert_eq!(seal.principal("bob").open::<_, u32>(&call("greet", &of_ada)), not_ours);
        assert_eq!(seal.open::<_, u32>(&call("greet", &of_ada)), not_ours);
        // What one part ends with is not what the next one begins with.
        let shifted = seal.principal("b").seal(&call("a", ""), &1).unwrap();
        assert_eq!(seal.principal("").open::<_, u32>(&call("ab", &shifted)), not_ours);
    }

    #[test]
    fn a_state_that_was_changed_in_any_place_does_not_open() {
        let seal = Seal::new(KEY);
        let state = seal.seal(&call("greet", ""), &1).unwrap();
        for place in 0..state.len() {
            let mut forged = state.clone().into_bytes();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            // Of the last character, some bits stand for nothing.
            let opened = seal.open::<_, u32>(&call("greet", &forged));
            assert_eq!(opened, Err(SealError::NotOurs), "{place}");
            assert_eq!(
                seal.open::<_, u32>(&call("greet", &state[..place])),
                Err(SealError::NotOurs),
                "{place}"
            );
        }
        for garbage in ["", "=", "no base64!", "AAAA", "\u{1f512}"] {
            assert_eq!(seal.open::<_, u32>(&call("greet", garbage)), Err(SealError::NotOurs), "{garbage}");
        }
    }

    #[test]
    fn a_state_expires() {
        let seal = Seal::new(KEY).lifetime(Duration::ZERO);
        let state = seal.seal(&call("greet", ""), &1).unwrap();
        assert_eq!(Seal::new(KEY).open::<_, u32>(&call("greet", &state)), Err(SealError::Expired));
        let forever = Seal::new(KEY).lifetime(Duration::MAX);
        let state = forever.seal(&call("greet", ""), &1).unwrap();
        assert_eq!(Seal::new(KEY).open::<_, u32>(&call("greet", &state)), Ok(Some(1)));
    }

    #[test]
    fn a_state_has_a_limit_in_bytes() {
        let seal = Seal::new(KEY).most_bytes(200);
        assert_eq!(seal.seal(&call("greet", ""), &"x".repeat(200)), Err(SealError::TooLarge));
        let large = Seal::new(KEY).seal(&call("greet", ""), &"x".repeat(200)).unwrap();
        assert_eq!(seal.open::<_, String>(&call("greet", &large)), Err(SealError::TooLarge));
        assert!(seal.seal(&call("greet", ""), &"x".repeat(50)).unwrap().len() <= 200);
    }

    #[test]
    fn nothing_of_a_state_can_be_read_and_no_two_are_alike() {
        let seal = Seal::new(KEY);
        let (one, other) = (seal.seal(&call("a", ""), "secret"), seal.seal(&call("a", ""), "secret"));
        assert_ne!(one, other);
        let bytes = URL_SAFE_NO_PAD.decode(one.unwrap()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"secret"));
        assert_eq!(format!("{seal:?}").matches("SealingKey(…)").count(), 1);
    }
}
