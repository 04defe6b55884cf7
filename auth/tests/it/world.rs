//! A server with tools behind the layer, and clients that log in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use mcp_auth::Secret;
use mcp_auth::client::{Authorization, Url, UserAgent};
use mcp_auth::server::{Operation, Principal, ProtectedResource, TokenValidator, principal};
use mcp_kit::{Client, Failure, Tool};
use mcp_protocols::eras::types::{CallToolParams, CallToolResult, ClientCapabilities, Implementation};
use mcp_protocols::eras::{Connector, Era};
use mcp_protocols::rounds::User;
use mcp_runtime::transport::http::{RequestHead, ServerOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

/// Says who asks
#[derive(Deserialize, JsonSchema)]
struct Whoami {}

impl Tool<()> for Whoami {
    type Needs = ();
    type Output = String;

    async fn run(self, (): &(), client: Client) -> Result<String, Failure> {
        let named = client.principal().ok_or("the caller has no principal")?;
        let head = client.context().extension::<RequestHead>().ok_or("the request has no head")?;
        assert!(!head.headers().contains_key("authorization"), "the token stays in front of the layer");
        let principal = Principal::of(&head).ok_or("the request has no principal")?;
        assert_eq!(named, principal.name());
        Ok(format!("{} with {}", principal.subject(), principal.scopes()))
    }
}

/// Deletes everything
#[derive(Deserialize, JsonSchema)]
struct Delete {}

impl Tool<()> for Delete {
    type Needs = ();
    type Output = String;

    async fn run(self, (): &(), _: Client) -> Result<String, Failure> {
        Ok("gone".to_owned())
    }
}

/// The scopes that an operation needs in addition to `notes:read`.
fn needs(operation: Operation<'_>) -> mcp_auth::Scopes {
    if operation.name == Some("delete") { "notes:write".into() } else { "".into() }
}

/// Serves the tools at `/mcp`, for tokens of that issuer. Returns the address.
pub(crate) async fn serve<V: TokenValidator>(issuer: &str, validator: impl FnOnce(&str) -> V) -> String {
    serve_behind(issuer, validator, |_, router| router).await
}

/// The same with a layer around it, which is given the address.
pub(crate) async fn serve_behind<V: TokenValidator>(
    issuer: &str,
    validator: impl FnOnce(&str) -> V,
    layer: impl FnOnce(&str, Router) -> Router,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let resource = ProtectedResource::new(&*url, issuer, validator(&url)).unwrap();
    let resource = resource.scopes("notes:read").scopes_of(needs);
    let options = ServerOptions::new().principal(principal);
    let server =
        mcp_kit::Server::new("notes", "1", ()).tool::<Whoami>().tool::<Delete>().http(options).unwrap();
    let router = resource.protect(Router::new().route("/mcp", server.method_router()));
    let router = layer(&url, router);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A JWT of another issuer with these claims. The key that signs it does not matter here.
pub(crate) fn jwt(claims: &serde_json::Value) -> Secret {
    let key = jsonwebtoken::EncodingKey::from_secret(b"a key of another issuer");
    Secret::new(jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).unwrap())
}

/// A server at an origin of its own that counts what it is asked. Nothing should be sent there.
pub(crate) async fn thief() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let visits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&visits);
    let router = Router::new().fallback(move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        "thanks"
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, visits)
}

/// A browser whose user consents to everything: it stops where it is sent back.
pub(crate) struct Browser;

impl UserAgent for Browser {
    type Error = std::io::Error;

    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/back".to_owned()
    }

    async fn visit(&self, address: Url) -> Result<Url, std::io::Error> {
        let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        let answer = browser.unwrap().get(address).send().await.map_err(std::io::Error::other)?;
        let back = answer.headers().get("location").and_then(|back| back.to_str().ok());
        back.and_then(|back| Url::parse(back).ok()).ok_or_else(|| std::io::Error::other("not sent back"))
    }
}

/// A user who is not asked anything by servers.
pub(crate) struct Nobody;

impl User for Nobody {}

pub(crate) type Session = mcp_protocols::eras::Client<Nobody>;

/// Connects in this era, or finds out which.
pub(crate) async fn connect(
    authorization: &Authorization,
    url: &str,
    era: impl Into<Option<Era>>,
) -> Result<Session, String> {
    let connector = Connector::new(Implementation::new("test", "1"), ClientCapabilities::new(), Nobody);
    let connector = match era.into() {
        Some(era) => connector.era(era),
        None => connector,
    };
    connector.connect_to(url, || authorization.transport()).await.map_err(|error| error.to_string())
}

/// Calls a tool without arguments, and returns the text of its result.
pub(crate) async fn call(session: &Session, tool: &str) -> Result<String, String> {
    let params = CallToolParams::new(tool, session.meta());
    let result: CallToolResult = session.call_tool(params).await.map_err(|error| error.to_string())?;
    Ok(result.first_text().unwrap_or_default().to_owned())
}
