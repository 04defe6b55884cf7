//! [`DirectConnections`]: connections to servers that need neither TLS nor a proxy.
//!
//! A `reqwest::Client` reads the address of each request twice more, for redirects, and copies its headers three times,
//! for redirects and repetitions. That is an eighth of what a call costs both ends, and no redirect is followed here. So what
//! needs nothing else of it goes over the client of hyper, which is what reqwest has inside.

use std::sync::Arc;
use std::time::Duration;

use hyper::http::uri::Scheme;
use hyper::{Request, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest::Body;
use reqwest::header::{HOST, HeaderValue};

/// How long a connection is kept that is not used, as by reqwest.
const IDLE: Duration = Duration::from_secs(90);

/// When it is asked whether the peer of a silent connection is there, and how often; as by reqwest.
const SILENCE: Duration = Duration::from_secs(15);
const QUESTIONS: u32 = 3;

/// How long what was sent may go without being taken before its connection is cut; as by reqwest.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNTAKEN: Duration = Duration::from_secs(30);

/// Connections without TLS and without a proxy. Cloning gives another handle on the same ones.
#[derive(Clone)]
pub(super) struct DirectConnections {
    client: Client<HttpConnector, Body>,
    /// The proxies that the system names.
    proxies: Arc<Matcher>,
}

impl DirectConnections {
    pub(super) fn new() -> DirectConnections {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(SILENCE));
        connector.set_keepalive_interval(Some(SILENCE));
        connector.set_keepalive_retries(Some(QUESTIONS));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        connector.set_tcp_user_timeout(Some(UNTAKEN));
        let mut client = Client::builder(TokioExecutor::new());
        client.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        DirectConnections { client: client.build(connector), proxies: Arc::new(Matcher::from_system()) }
    }

    /// The same for one server; nothing if that is to be reached in another way.
    pub(super) fn to(self, url: &reqwest::Url) -> Option<DirectServer> {
        let uri: Uri = url.as_str().parse().ok()?;
        let name = url.host_str()?;
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        let host = HeaderValue::from_str(&host).ok()?;
        let is_direct = uri.scheme() == Some(&Scheme::HTTP) && self.proxies.intercept(&uri).is_none();
        is_direct.then_some(DirectServer { client: self.client, uri, host })
    }
}

/// A server that is reached without TLS and without a proxy.
pub(super) struct DirectServer {
    client: Client<HttpConnector, Body>,
    uri: Uri,
    /// The header `Host` of a request that has none. The client would write it for each.
    host: HeaderValue,
}

impl DirectServer {
    /// Sends a request.
    pub(super) fn send(&self, mut request: reqwest::Request) -> ResponseFuture {
        let mut sent = Request::new(request.body_mut().take().unwrap_or_default());
        *sent.method_mut() = request.method().clone();
        *sent.uri_mut() = self.uri.clone();
        *sent.headers_mut() = std::mem::take(request.headers_mut());
        sent.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        self.client.request(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_without_tls_and_proxies_are_direct() {
        let reached = |proxies: Matcher, url: &str| {
            let connections = DirectConnections { proxies: Arc::new(proxies), ..DirectConnections::new() };
            connections.to(&url.parse().unwrap()).is_some()
        };
        let none = || Matcher::builder().build();
        let proxy = || Matcher::builder().http("http://127.0.0.1:3128").no("localhost").build();
        assert!(reached(none(), "http://example.org/mcp"));
        assert!(!reached(none(), "https://example.org/mcp"));
        assert!(!reached(proxy(), "http://example.org/mcp"));
        assert!(reached(proxy(), "http://localhost/mcp"));
    }

    #[test]
    fn a_server_is_named_by_its_host_and_a_port_that_is_not_the_usual_one() {
        let named = |url: &str| DirectConnections::new().to(&url.parse().unwrap()).unwrap().host;
        assert_eq!(named("http://Example.org:80/mcp"), "example.org");
        assert_eq!(named("http://me:secret@example.org:8080/mcp"), "example.org:8080");
        assert_eq!(named("http://[::1]:8080"), "[::1]:8080");
    }
}
