//! [`Fetcher`]: the requests for metadata and to authorization servers.

use std::time::Duration;

use oauth2::{HttpRequest, HttpResponse};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use serde::de::DeserializeOwned;
use url::{Host, Url};

/// The longest answer that is read, in bytes.
const MOST: usize = 256 * 1024;

/// How long a request may take.
const WITHIN: Duration = Duration::from_secs(30);

/// A request that a client makes to get a token has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// No encrypted connection would be made, or one to this machine because a server on another one says so.
    #[error(
        "`{0}` is not requested: it must begin with `https://`, or be on the loopback like the MCP server itself"
    )]
    Insecure(String),
    /// It is not an address.
    #[error("`{0}` is not an address")]
    Address(String),
    /// The request failed.
    #[error("`{host}` cannot be reached: {reason}")]
    Request {
        /// The host.
        host: String,
        /// What reqwest says.
        reason: String,
    },
    /// The answer did not come in time.
    #[error("`{0}` did not answer within 30 seconds")]
    Late(String),
    /// The answer is too long.
    #[error("the answer of `{0}` is longer than 256 KiB")]
    TooLong(String),
    /// The answer has another status than it should have.
    #[error("`{url}` answered with status {status}")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
    },
    /// The answer is not what it should be.
    #[error("the answer of `{host}` is not what it should be: {reason}")]
    Malformed {
        /// The host.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What a request was answered with.
struct Answer {
    status: u16,
    head: HeaderMap,
    body: Vec<u8>,
}

/// Makes requests on the way to a token.
///
/// Invariants: no redirect is followed, because it would carry codes and tokens elsewhere. Connections are encrypted, except
/// within this machine, and a server on another machine cannot have this one's own services requested.
#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    client: reqwest::Client,
    on_loopback: bool,
}

impl Fetcher {
    /// For the authorization of requests to that server.
    pub(super) fn new(builder: reqwest::ClientBuilder, server: &Url) -> Result<Fetcher, reqwest::Error> {
        Ok(Fetcher { client: builder.redirect(Policy::none()).build()?, on_loopback: is_loopback(server) })
    }

    /// Reads an address that may be requested.
    pub(super) fn address(&self, text: &str) -> Result<Url, FetchError> {
        let url = Url::parse(text).map_err(|_| FetchError::Address(text.to_owned()))?;
        let is_allowed = if is_loopback(&url) { self.on_loopback } else { url.scheme() == "https" };
        if is_allowed && matches!(url.scheme(), "https" | "http") {
            Ok(url)
        } else {
            Err(FetchError::Insecure(text.to_owned()))
        }
    }

    /// Gets a JSON document, if there is one at that address.
    pub(super) async fn json<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, FetchError> {
        let mut request = reqwest::Request::new(reqwest::Method::GET, self.address(url.as_str())?);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let Answer { status, body, .. } = self.send(request).await?;
        tracing::debug!(%url, status, "requested metadata");
        match status {
            200 => parsed(url, &body).map(Some),
            400..500 => Ok(None),
            _ => Err(FetchError::Status { url: url.to_string(), status }),
        }
    }

    /// Posts JSON. Returns the status and the body of the answer.
    pub(super) async fn post(&self, url: &Url, body: String) -> Result<(u16, Vec<u8>), FetchError> {
        let mut request = reqwest::Request::new(reqwest::Method::POST, self.address(url.as_str())?);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.into());
        let Answer { status, body, .. } = self.send(request).await?;
        Ok((status, body))
    }

    /// Makes a request of the `oauth2` crate, to which every answer is JSON.
    pub(super) async fn request(&self, request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let url = self.address(&request.uri().to_string())?;
        let malformed = |reason: &dyn std::fmt::Display| FetchError::Malformed {
            host: host(&url),
            reason: reason.to_string(),
        };
        let request = reqwest::Request::try_from(request).map_err(|error| malformed(&error.without_url()))?;
        let Answer { status, mut head, body } = self.send(request).await?;
        let mut response = HttpResponse::new(body);
        *response.status_mut() = status.try_into().map_err(|error| malformed(&error))?;
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.headers_mut() = head;
        Ok(response)
    }

    async fn send(&self, request: reqwest::Request) -> Result<Answer, FetchError> {
        let host = host(request.url());
        let failed =
            |error: reqwest::Error| FetchError::Request { host: host.clone(), reason: innermost(&error) };
        let answered = async {
            let mut response = self.client.execute(request).await.map_err(failed)?;
            let mut body = Vec::new();
            while let Some(piece) = response.chunk().await.map_err(failed)? {
                if body.len().saturating_add(piece.len()) > MOST {
                    return Err(FetchError::TooLong(host.clone()));
                }
                body.extend_from_slice(&piece);
            }
            let head = std::mem::take(response.headers_mut());
            Ok(Answer { status: response.status().as_u16(), head, body })
        };
        tokio::time::timeout(WITHIN, answered).await.unwrap_or_else(|_| Err(FetchError::Late(host.clone())))
    }
}

/// Reads the JSON of an answer.
pub(super) fn parsed<T: DeserializeOwned>(url: &Url, body: &[u8]) -> Result<T, FetchError> {
    let malformed = |error: serde_json::Error| {
        // What serde says may repeat a part of the text, which may be secret.
        let reason =
            if error.is_data() { "a member is missing, or of another type" } else { "it is not JSON" };
        FetchError::Malformed { host: host(url), reason: reason.to_owned() }
    };
    serde_json::from_slice(body).map_err(malformed)
}

/// Whether an address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// The last cause of an error, without the address, which may hold secrets.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if std::ptr::addr_eq(innermost, error) { "the request failed".to_owned() } else { innermost.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_connections_leave_this_machine() {
        let of = |server: &str, text: &str| {
            Fetcher::new(reqwest::Client::builder(), &Url::parse(server).unwrap())
                .unwrap()
                .address(text)
                .is_ok()
        };
        assert!(of("https://mcp.example/mcp", "https://auth.example/token"));
        assert!(!of("https://mcp.example/mcp", "http://auth.example/token"));
        assert!(!of("https://mcp.example/mcp", "file:///etc/passwd"));
        // What a server elsewhere says does not reach into this machine.
        assert!(!of("https://mcp.example/mcp", "http://127.0.0.1:9200/"));
        assert!(!of("https://mcp.example/mcp", "https://localhost/token"));
        assert!(!of("https://mcp.example/mcp", "http://[::ffff:127.0.0.1]/"));
        assert!(of("http://127.0.0.1:1/mcp", "http://localhost:2/token"));
        assert!(of("http://[::1]:1/mcp", "https://auth.example/token"));
    }
}
