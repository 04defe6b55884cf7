//! [`ProtectedResource`]: the MCP server as a resource that tokens are for.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use axum::routing::any;
use url::Url;

use super::operation::Operation;
use super::service::{Protected, Resource};
use super::validator::TokenValidator;
use crate::metadata::{PROTECTED_RESOURCE, ResourceMetadata, well_known};
use crate::scopes::Scopes;

/// How many bytes of a body are read to find out what it does, by default.
const MOST: usize = 4 * 1024 * 1024;

/// An MCP server that wants a token with each request. [`protect`](Self::protect) adds this to the routes of a router, with a
/// route for the metadata of the resource. Requests without a valid token are answered with 401, and those whose token does not
/// permit enough with 403. What is left has its [`Principal`](super::Principal) in its extensions, and its token no longer:
/// nothing behind it can log the token, or send it on.
///
/// ```no_run
/// use axum::Router;
/// use mcp_auth::server::{Jwt, ProtectedResource, principal};
/// use mcp_runtime::transport::http::{HttpServer, ServerOptions};
///
/// # fn example() -> Result<Router, Box<dyn std::error::Error>> {
/// let tokens = Jwt::new("https://auth.example", "https://auth.example/jwks")?;
/// let resource = ProtectedResource::new("https://notes.example/mcp", "https://auth.example", tokens)?
///     .scopes("notes:read")
///     .scopes_of(|operation| match operation.name {
///         Some("delete_note") => "notes:write".into(),
///         _ => "".into(),
///     });
/// let options = ServerOptions::new().hosts(["notes.example"]).principal(principal);
/// let server = HttpServer::new(options, |transport| async move { drop(transport) });
/// let protected = resource.protect(Router::new().route("/mcp", server.method_router()));
/// // Other routes need no token.
/// Ok(protected.route("/health", axum::routing::any(|| async { "it is there" })))
/// # }
/// ```
///
/// It is also a layer of tower, for services that are not a router. The layer answers requests for the metadata itself, so it has
/// to get them: around a router it gets those for which there is no route, and loses them to another fallback.
#[derive(Clone)]
pub struct ProtectedResource(Arc<Resource>);

/// An address that cannot be that of a resource.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the address of a resource: write the one that clients connect to, without a fragment")]
pub struct ResourceAddressError(String);

impl ProtectedResource {
    /// The MCP server at that address, as its clients write it. Its tokens are issued by that authorization server, and are for
    /// this address.
    ///
    /// # Errors
    /// If the address cannot be read, or is not one of HTTP.
    pub fn new(
        address: impl Into<String>,
        authorization_server: impl Into<String>,
        validator: impl TokenValidator,
    ) -> Result<ProtectedResource, ResourceAddressError> {
        let resource = address.into();
        let url = Url::parse(&resource).ok().filter(|url| {
            matches!(url.scheme(), "https" | "http") && url.fragment().is_none() && url.has_host()
        });
        let Some(url) = url else { return Err(ResourceAddressError(resource)) };
        let metadata = ResourceMetadata {
            resource,
            authorization_servers: vec![authorization_server.into()],
            scopes_supported: None,
            bearer_methods_supported: vec!["header".to_owned()],
            resource_name: None,
        };
        Ok(ProtectedResource(Arc::new(Resource {
            validator: Arc::new(validator),
            metadata,
            metadata_url: well_known(&url, PROTECTED_RESOURCE),
            scopes: Scopes::new(),
            scopes_of: None,
            max_body_bytes: MOST,
        })))
    }

    /// Has the routes of a router want a token, and adds a route for the metadata of the resource, which wants none.
    ///
    /// What it returns is a router like any other. Routes that are added afterwards, routers that are merged with it in either
    /// order, and its fallback need no token. A router that is nested under a path is nested before: the metadata are at
    /// the path that follows from the address of the resource.
    ///
    /// # Panics
    /// If the router has a route at the address of the metadata already.
    pub fn protect<S>(self, router: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let resource = Arc::clone(&self.0);
        // A router without routes cannot have a layer around them.
        let router = if router.has_routes() { router.route_layer(self) } else { router };
        let path = resource.metadata_url.path().to_owned();
        let metadata = any(move |method: Method| async move { resource.metadata(&method) });
        router.route(&path, metadata)
    }

    fn with(self, change: impl FnOnce(&mut Resource)) -> ProtectedResource {
        let Resource { validator, metadata, metadata_url, scopes, scopes_of, max_body_bytes } = &*self.0;
        let mut resource = Resource {
            validator: Arc::clone(validator),
            metadata: metadata.clone(),
            metadata_url: metadata_url.clone(),
            scopes: scopes.clone(),
            scopes_of: scopes_of.clone(),
            max_body_bytes: *max_body_bytes,
        };
        change(&mut resource);
        ProtectedResource(Arc::new(resource))
    }

    /// The scopes that every request needs, and that clients ask for at first.
    #[must_use]
    pub fn scopes(self, scopes: impl Into<Scopes>) -> ProtectedResource {
        let scopes = scopes.into();
        self.with(|resource| {
            resource.metadata.scopes_supported = Some(scopes.iter().map(str::to_owned).collect());
            resource.scopes = scopes;
        })
    }

    /// The scopes that an operation needs in addition. For this the layer reads the body of each POST before the server does,
    /// within [`max_body_bytes`](Self::max_body_bytes) and 30 seconds.
    #[must_use]
    pub fn scopes_of(
        self,
        scopes: impl Fn(Operation<'_>) -> Scopes + Send + Sync + 'static,
    ) -> ProtectedResource {
        self.with(|resource| resource.scopes_of = Some(Arc::new(scopes)))
    }

    /// How long a body may be that is read for [`scopes_of`](Self::scopes_of), in bytes. Default: 4 MiB.
    #[must_use]
    pub fn max_body_bytes(self, bytes: usize) -> ProtectedResource {
        self.with(|resource| resource.max_body_bytes = bytes)
    }

    /// What users see as the name of the server when they consent.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> ProtectedResource {
        self.with(|resource| resource.metadata.resource_name = Some(name.into()))
    }
}

impl fmt::Debug for ProtectedResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProtectedResource").field(&self.0.metadata.resource).finish()
    }
}

impl<S> tower_layer::Layer<S> for ProtectedResource {
    type Service = Protected<S>;

    fn layer(&self, inner: S) -> Protected<S> {
        Protected::new(inner, Arc::clone(&self.0))
    }
}
