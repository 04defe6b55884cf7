//! [`RequestHead`]: the head of an HTTP request, for handlers.

use std::fmt::{self, Write as _};
use std::net::IpAddr;

use axum::extract::OriginalUri;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{Extensions, HeaderMap, HeaderValue, Uri};
use bytes::BytesMut;

use crate::budget::Permit;
use crate::driver::{Extension, PeerIdentity};

/// How many bytes of a head are not counted against `max_bytes`.
pub(super) const UNCOUNTED: usize = 4 * 1024;

/// The head of a request: its headers, and what the layers in front of the server have put into its extensions.
///
/// That of the request which began a session is [`HttpSession::request`](super::HttpSession::request). A handler gets
/// that of the request which carried its message from its context:
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use axum::{Extension, Router};
/// use mcp_runtime::RpcError;
/// use mcp_runtime::transport::http::{HttpServer, RequestHead, ServerOptions};
/// use serde_json::{Value, json};
/// use weather::{WeatherServer, server};
///
/// /// What a layer has found out about the caller.
/// #[derive(Clone)]
/// struct User(&'static str);
///
/// struct Service;
///
/// impl server::Handler for Service {
///     async fn forecast(&self, context: server::Context, params: Value) -> Result<Value, RpcError> {
///         let head = context.extension::<RequestHead>();
///         let user = head.as_ref().and_then(|head| head.extensions().get::<User>());
///         let Some(User(name)) = user else { return Err(RpcError::new(-32001, "log in first")) };
///         Ok(json!({ "city": params["city"], "for": name }))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = ServerOptions::new().opens_with("weather/open");
/// let server = HttpServer::new(options, |transport| async move {
///     let Ok((_params, session)) = WeatherServer::new(transport).recv_open().await else { return };
///     let Ok(session) = session.send_opened(json!({})).await else { return };
///     session.incoming().serve(Service).await;
/// });
/// // In place of a layer that authenticates.
/// let router = Router::new().route("/weather", server.method_router()).layer(Extension(User("Ada")));
/// # // Two requests without a socket.
/// # let mut router = router;
/// # let mut post = |session: Option<String>, body: &'static str| {
/// #     let post = axum::http::Request::post("/weather").header("host", "localhost");
/// #     let mut post = post.header("content-type", "application/json");
/// #     if let Some(session) = session { post = post.header("mcp-session-id", session); }
/// #     tower_service::Service::call(&mut router, post.body(axum::body::Body::from(body)).unwrap())
/// # };
/// # let opened = post(None, r#"{"jsonrpc":"2.0","id":1,"method":"weather/open","params":{}}"#).await?;
/// # let session = opened.headers()["mcp-session-id"].to_str()?.to_owned();
/// # let asks = r#"{"jsonrpc":"2.0","id":2,"method":"weather/forecast","params":{"city":"Oslo"}}"#;
/// # let answer = axum::body::to_bytes(post(Some(session), asks).await?.into_body(), 1024).await?;
/// # let answer: Value = serde_json::from_slice(&answer)?;
/// # assert_eq!(answer["result"], json!({ "city": "Oslo", "for": "Ada" }), "{answer}");
/// # Ok(())
/// # }
/// ```
pub struct RequestHead {
    pub(super) parts: Parts,
    pub(super) identity: PeerIdentity,
    /// What it holds beyond [`UNCOUNTED`] bytes.
    pub(super) _permit: Permit,
}

impl RequestHead {
    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// What layers have put there, such as who asks.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// The address that the request comes from, as far as that is known; see
    /// [`ServerOptions::trusted_proxies`](super::ServerOptions::trusted_proxies).
    pub fn address(&self) -> Option<IpAddr> {
        self.identity.address
    }

    /// The principal that makes the request, as [`ServerOptions::principal`](super::ServerOptions::principal()) names it.
    pub fn principal(&self) -> Option<&str> {
        self.identity.principal.as_deref()
    }
}

impl Extension for RequestHead {
    fn peer_identity(&self) -> PeerIdentity {
        self.identity.clone()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may carry secrets.
        formatter.debug_struct("RequestHead").field("address", &self.identity.address).finish_non_exhaustive()
    }
}

/// Copies what a head has of the buffer that its connection was read into. The session keeps the head of the request
/// that opened it, and a handler keeps that of its own request; as long as they share the buffer, the connection has to
/// read on into another.
pub(super) fn detached(mut parts: Parts) -> Parts {
    // All copies are parts of one buffer. Most targets are paths, and the two URIs have the same one.
    let mut buffer = BytesMut::with_capacity(
        parts.headers.values().map(HeaderValue::len).sum::<usize>() + 2 * target(&parts).len(),
    );
    parts.headers.values().for_each(|value| buffer.extend_from_slice(value.as_bytes()));
    let mut copies = buffer.split().freeze();
    for value in parts.headers.values_mut() {
        if let Ok(mut copy) = HeaderValue::from_maybe_shared(copies.split_to(value.len())) {
            copy.set_sensitive(value.is_sensitive());
            *value = copy;
        }
    }
    let mut copy = |uri: &Uri| {
        match uri.path_and_query().filter(|_| uri.scheme().is_none() && uri.authority().is_none()) {
            Some(target) => buffer.extend_from_slice(target.as_str().as_bytes()),
            // A buffer takes whatever is written.
            None => drop(write!(buffer, "{uri}")),
        }
        Uri::from_maybe_shared(buffer.split().freeze()).unwrap_or_else(|_| uri.clone())
    };
    let copied = copy(&parts.uri);
    if let Some(OriginalUri(original)) = parts.extensions.get_mut() {
        *original = if *original == parts.uri { copied.clone() } else { copy(original) };
    }
    parts.uri = copied;
    parts
}

/// How many bytes a head has, about.
pub(super) fn length(parts: &Parts) -> usize {
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    headers.sum::<usize>() + target(parts).len()
}

/// The path and the query that a request is for.
fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("", PathAndQuery::as_str)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_detached_head_is_equal_and_holds_nothing_of_its_buffer() {
        let buffer = Bytes::from(b"/weather?city=Oslo token".to_vec());
        let uri = Uri::from_maybe_shared(buffer.slice(..18)).unwrap();
        let mut secret = HeaderValue::from_maybe_shared(buffer.slice(19..)).unwrap();
        secret.set_sensitive(true);
        let request = Request::builder().uri(uri.clone()).header("authorization", secret);
        let request = request.header("accept", "text/plain").header("accept", "text/html");
        let (parts, ()) = request.extension(OriginalUri(uri)).body(()).unwrap().into_parts();
        assert!(!buffer.is_unique());
        let parts = detached(parts);
        assert!(buffer.is_unique());
        assert_eq!(parts.uri, "/weather?city=Oslo");
        assert_eq!(parts.extensions.get::<OriginalUri>().unwrap().0, "/weather?city=Oslo");
        let kept = &parts.headers["authorization"];
        assert!(kept == "token" && kept.is_sensitive());
        assert!(parts.headers.get_all("accept").iter().eq(["text/plain", "text/html"]));
    }
}
