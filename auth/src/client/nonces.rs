//! [`Nonces`]: what servers want to find in the next proof of a key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName};
use url::Url;

/// The header with which a server gives a nonce.
pub(super) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The longest nonce that is kept, in bytes: it is repeated in each request.
const LONGEST: usize = 1024;

/// Of how many origins nonces are kept. A client speaks to its MCP server, and to one authorization server at a time.
const MOST: usize = 16;

/// The newest nonce of each origin (RFC 9449, sections 8 and 9). One origin does not see that of another.
#[derive(Default)]
pub(super) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    /// The nonce for the next request to that address.
    pub(super) fn newest(&self, url: &Url) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&origin(url)).cloned()
    }

    /// Keeps the nonce of an answer from that address. Returns whether it has one.
    pub(super) fn note(&self, url: &Url, head: &HeaderMap) -> bool {
        let nonce = head.get(DPOP_NONCE).and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| !nonce.is_empty() && nonce.len() <= LONGEST) else {
            return false;
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = origin(url);
        if kept.len() >= MOST && !kept.contains_key(&origin) {
            // A server that is asked without a nonce gives another one.
            kept.clear();
        }
        kept.insert(origin, nonce.to_owned());
        true
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(nonce: &str) -> HeaderMap {
        HeaderMap::from_iter([(DPOP_NONCE, nonce.parse().unwrap())])
    }

    #[test]
    fn each_origin_has_the_nonce_that_it_gave_last() {
        let nonces = Nonces::default();
        let [mcp, auth] =
            ["https://a.example/mcp", "https://auth.example/"].map(|url| Url::parse(url).unwrap());
        assert!(!nonces.note(&mcp, &HeaderMap::new()));
        assert!(nonces.note(&mcp, &head("1")) && nonces.note(&mcp, &head("2")));
        assert!(!nonces.note(&mcp, &head("")) && !nonces.note(&mcp, &head(&"x".repeat(LONGEST + 1))));
        assert_eq!(nonces.newest(&mcp.join("/other?query").unwrap()), Some("2".to_owned()));
        assert_eq!(nonces.newest(&auth), None);
    }

    #[test]
    fn not_more_than_a_few_are_kept() {
        let nonces = Nonces::default();
        for number in 0..100 {
            let url = Url::parse(&format!("https://a{number}.example/")).unwrap();
            nonces.note(&url, &head("1"));
            assert_eq!(nonces.newest(&url), Some("1".to_owned()));
            assert!(nonces.0.lock().unwrap().len() <= MOST);
        }
    }
}
