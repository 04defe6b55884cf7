//! HTTP connections that several sessions may share.

use std::fmt;

use reqwest::redirect::Policy;

use super::direct::DirectConnections;
use super::error::HttpClientError;

/// Connections to servers, which several sessions may share. Cloning gives another handle on the same ones.
///
/// Invariant: no redirect is followed, whatever the builder was told. To follow one would send the session's id, the
/// program's headers and the message to wherever an answer says.
#[derive(Clone)]
pub struct HttpConnections {
    pub(super) client: reqwest::Client,
    /// For servers that need nothing of what the client adds, if the program has set nothing there.
    pub(super) direct: Option<DirectConnections>,
}

impl HttpConnections {
    /// New connections, with `TCP_NODELAY`.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn new() -> Result<HttpConnections, HttpClientError> {
        let connections = HttpConnections::build(reqwest::Client::builder().tcp_nodelay(true))?;
        Ok(HttpConnections { direct: Some(DirectConnections::new()), ..connections })
    }

    /// Connections with the proxies, certificates and limits of a builder. Give it no timeout: streams are open for as
    /// long as a session is. Its policy for redirects is replaced.
    ///
    /// ```no_run
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_runtime::transport::http::{HttpClient, HttpConnections};
    ///
    /// let proxy = reqwest::Proxy::http("http://127.0.0.1:3128")?;
    /// let connections = HttpConnections::build(reqwest::Client::builder().proxy(proxy))?;
    /// let transport = HttpClient::with_connections(connections, "http://example.org/mcp")?;
    /// # drop(transport);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn build(builder: reqwest::ClientBuilder) -> Result<HttpConnections, HttpClientError> {
        Ok(HttpConnections { client: builder.redirect(Policy::none()).build()?, direct: None })
    }
}

impl fmt::Debug for HttpConnections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HttpConnections")
    }
}
