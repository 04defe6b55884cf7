//! Passes requests on to the server.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, ORIGIN, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::uri::{self, Authority, PathAndQuery, Scheme, Uri};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::address;
use crate::files::Failure;

/// Opens connections to the server.
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;
#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;

/// The headers of one connection, which are not passed on.
const OF_ONE_CONNECTION: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The server that is guarded.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    client: Client<Connector, Body>,
    scheme: Scheme,
    authority: Authority,
    /// The path of its endpoint; nothing, if every path may be one.
    endpoint: Option<String>,
    /// What the guard itself is called by clients.
    own: Vec<String>,
}

impl Upstream {
    /// A server at an address, guarded at another.
    ///
    /// # Errors
    /// If the address is not one of HTTP, or the system has no certificates to trust.
    pub(super) fn new(to: &str, listen: SocketAddr) -> Result<Upstream, Failure> {
        let uri = address::guarded(to)?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Failure::NotAnAddress(to.to_owned()));
        };
        let port = listen.port();
        Ok(Upstream {
            // The header `Host` is passed on.
            client: Client::builder(TokioExecutor::new()).set_host(false).build(connector()?),
            scheme: scheme.clone(),
            authority: authority.clone(),
            endpoint: Some(normal(uri.path())).filter(|path| path != "/"),
            own: vec![
                listen.to_string(),
                format!("localhost:{port}"),
                format!("127.0.0.1:{port}"),
                format!("[::1]:{port}"),
            ],
        })
    }

    /// Whether messages of the protocol are expected at this path.
    pub(super) fn is_endpoint(&self, path: &str) -> bool {
        self.endpoint.as_ref().is_none_or(|endpoint| *endpoint == normal(path))
    }

    /// Passes a request on.
    ///
    /// # Errors
    /// If the server cannot be reached, says why.
    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, String> {
        let path = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        let mut parts = uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        *request.uri_mut() = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        *request.version_mut() = Version::HTTP_11;
        self.rename(request.headers_mut());
        let response = self.client.request(request).await;
        response.map(|response| response.map(Body::new)).map_err(|error| {
            let (server, why) = (self.origin(), reason(&error));
            match error.is_connect() {
                true => {
                    format!("the server at {server} cannot be reached: {why}: start it, or correct `--to`")
                }
                false => format!(
                    "the server at {server} has not answered the request: {why}: its log may say more"
                ),
            }
        })
    }

    /// The address of the server without a path.
    fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// Where a client has called the guard by its name, the server is called by its own. Any other name is passed on, so
    /// that the server can refuse it: the page of another site may have resolved its name to this machine.
    fn rename(&self, headers: &mut HeaderMap) {
        let is_own = |name: &str| self.own.iter().any(|own| own.eq_ignore_ascii_case(name));
        fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
            headers.get(name).and_then(|value| value.to_str().ok())
        }
        if text(headers, HOST).is_none_or(is_own)
            && let Ok(value) = HeaderValue::from_str(self.authority.as_str())
        {
            headers.insert(HOST, value);
        }
        let origin =
            text(headers, ORIGIN).is_some_and(|origin| origin.strip_prefix("http://").is_some_and(is_own));
        if let (true, Ok(value)) = (origin, HeaderValue::from_str(&self.origin())) {
            headers.insert(ORIGIN, value);
        }
    }
}

/// What opens connections to the server.
#[cfg(not(feature = "tls"))]
fn connector() -> Result<Connector, Failure> {
    Ok(tcp())
}

/// The same, encrypted where the address says so. The certificates are those that the system trusts.
#[cfg(feature = "tls")]
fn connector() -> Result<Connector, Failure> {
    let mut tcp = tcp();
    tcp.enforce_http(false);
    let builder = hyper_rustls::HttpsConnectorBuilder::new().try_with_platform_verifier();
    let builder = builder.map_err(|error| Failure::Start(std::io::Error::other(error)))?;
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector
}

/// The headers that are passed on.
pub(super) fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> =
        named.flat_map(|value| value.split(',')).map(|name| name.trim().to_owned()).collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_ONE_CONNECTION {
        headers.remove(name);
    }
    headers
}

/// The headers of a request whose answer is to be read: it must not be compressed.
pub(super) fn readable(headers: HeaderMap) -> HeaderMap {
    let mut headers = end_to_end(headers);
    headers.remove(ACCEPT_ENCODING);
    headers
}

/// The same without what belongs to a body that is replaced.
pub(super) fn without_length(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_LENGTH);
    headers
}

/// A path in the form in which two that may mean the same are equal.
fn normal(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy().to_ascii_lowercase();
    let parts: Vec<&str> = decoded.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("/{}", parts.join("/"))
}

/// The innermost reason of an error, which says most.
fn reason(error: &dyn std::error::Error) -> String {
    let mut reason = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(to: &str) -> Upstream {
        Upstream::new(to, "127.0.0.1:9000".parse().unwrap()).unwrap()
    }

    #[test]
    fn only_the_names_of_the_guard_become_those_of_the_server() {
        let renamed = |host: &str, origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            headers.insert(ORIGIN, origin.parse().unwrap());
            upstream("http://127.0.0.1:3001/mcp").rename(&mut headers);
            [HOST, ORIGIN].map(|name| headers.get(name).unwrap().to_str().unwrap().to_owned())
        };
        let own = ["127.0.0.1:3001", "http://127.0.0.1:3001"];
        assert_eq!(renamed("127.0.0.1:9000", "http://127.0.0.1:9000"), own);
        assert_eq!(renamed("LOCALHOST:9000", "http://localhost:9000"), own);
        let other = ["evil.example:9000", "http://evil.example:9000"];
        assert_eq!(renamed(other[0], other[1]), other);
    }

    #[test]
    fn an_endpoint_is_known_in_all_its_spellings() {
        let server = upstream("http://127.0.0.1:3001/mcp");
        for path in ["/mcp", "/mcp/", "//mcp", "/%6Dcp", "/MCP", "/./mcp"] {
            assert!(server.is_endpoint(path), "{path}");
        }
        assert!(!server.is_endpoint("/.well-known/oauth-protected-resource"));
        assert!(upstream("http://127.0.0.1:3001").is_endpoint("/anything"));
    }

    #[test]
    fn headers_of_one_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "x-own, close"), ("x-own", "1"), ("te", "trailers"), ("x-other", "2")]
        {
            headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let passed: Vec<_> = end_to_end(headers).keys().map(ToString::to_string).collect();
        assert_eq!(passed, ["x-other"]);
    }
}
