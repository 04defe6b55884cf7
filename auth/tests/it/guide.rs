//! The examples of `docs/authorization.md`, which run here.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Mutex;

use axum::Router;
use axum::routing::get;
use mcp_auth::Secret;
use mcp_auth::client::{
    Authorization, AuthorizationError, IdentityProvider, RegisteredClient, Store, TokenSource, Url,
};
use mcp_auth::server::{Introspection, Jwt, Principal, ProtectedResource, TokenValidator, principal};
use mcp_kit::transport::http::{RequestHead, ServerOptions};
use mcp_kit::{Client, Failure, Tool};
use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Connector, Era};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::loopback::Browser;
use super::proven::Layers;
use super::world::{Nobody, call, connect, jwt, serve_behind};

fn connector() -> Connector<Nobody> {
    Connector::new(Implementation::new("guide", "1.0.0"), ClientCapabilities::new(), Nobody)
}

/// A user who consents to everything, in a browser that follows redirects.
fn consent(address: &Url) {
    let address = address.clone();
    tokio::spawn(async move { reqwest::get(address).await.unwrap().error_for_status().unwrap() });
}

async fn list(url: &str, browser: Browser) -> Result<Vec<String>, Box<dyn Error>> {
    let authorization = Authorization::of_user(url, browser)
        .client_name("Notes on the desktop")
        .client_metadata_document("https://desktop.example/client.json")
        .build()?;
    let client = connector().connect_to(url, || authorization.transport()).await?;
    let tools = client.list_tools(PaginatedParams::new(client.meta())).await?.tools;
    client.close().await?;
    Ok(tools.into_iter().map(|tool| tool.name).collect())
}

fn of_program(url: &str, pem: &str) -> Result<Authorization, AuthorizationError> {
    let client = RegisteredClient::new("nightly").issuer("https://auth.example").private_key("ES256", pem)?;
    Authorization::of_program(url, client).scopes("notes:read").build()
}

struct ServiceAccount(PathBuf);

impl TokenSource for ServiceAccount {
    type Error = std::io::Error;

    async fn token(&self, _audience: &str) -> Result<Secret, std::io::Error> {
        Ok(Secret::new(std::fs::read_to_string(&self.0)?.trim()))
    }
}

fn of_workload(url: &str, issuer: &str, token: PathBuf) -> Result<Authorization, AuthorizationError> {
    let client = RegisteredClient::new("nightly").issuer(issuer);
    Authorization::of_workload(url, client, ServiceAccount(token)).build()
}

fn of_employee(url: &str, id_token: Secret) -> Result<Authorization, AuthorizationError> {
    let desktop = RegisteredClient::new("notes-on-the-desktop");
    let provider = IdentityProvider::new("https://login.enterprise.example", desktop, id_token);
    let client = RegisteredClient::new("notes").issuer("https://auth.example").secret("a secret");
    Authorization::of_enterprise_user(url, client, provider).build()
}

fn bound(url: &str, browser: Browser) -> Result<Authorization, AuthorizationError> {
    Authorization::of_user(url, browser).dpop().store(Kept::default()).build()
}

/// Keeps tokens as long as the program runs.
#[derive(Default)]
struct Kept(Mutex<HashMap<String, Secret>>);

impl Store for Kept {
    type Error = std::io::Error;

    async fn load(&self, key: &str) -> Result<Option<Secret>, std::io::Error> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    async fn save(&self, key: &str, text: Option<Secret>) -> Result<(), std::io::Error> {
        let mut kept = self.0.lock().unwrap();
        match text {
            Some(text) => drop(kept.insert(key.to_owned(), text)),
            None => drop(kept.remove(key)),
        }
        Ok(())
    }
}

fn router(address: &str, issuer: &str, tokens: impl TokenValidator) -> Result<Router, Box<dyn Error>> {
    let resource =
        ProtectedResource::new(address, issuer, tokens)?.scopes("notes:read").scopes_of(|operation| {
            match operation.name {
                Some("delete_note") => "notes:write".into(),
                _ => "".into(),
            }
        });
    let options = ServerOptions::new().principal(principal);
    let server = mcp_kit::Server::new("notes", "1.0.0", ()).tool::<Greet>().http(options)?;
    let protected = resource.protect(Router::new().route("/mcp", server.method_router()));
    Ok(protected.route("/health", get(|| async { "it is there" })))
}

fn validators() -> Result<(Jwt, Introspection), Box<dyn Error>> {
    let signed = Jwt::new("https://auth.example", "https://auth.example/jwks")?;
    let asked =
        Introspection::new("https://auth.example", "https://auth.example/introspect", "notes", "a secret")?;
    Ok((signed, asked))
}

/// Greets the caller
#[derive(Deserialize, JsonSchema)]
struct Greet {}

impl Tool<()> for Greet {
    type Needs = ();
    type Output = String;

    async fn run(self, (): &(), client: Client) -> Result<String, Failure> {
        let head = client.context().extension::<RequestHead>().ok_or("this is not HTTP")?;
        let principal = Principal::of(&head).ok_or("log in first")?;
        assert_eq!(client.principal(), Some(principal.name()));
        Ok(format!("hello, {}", principal.subject()))
    }
}

#[tokio::test]
async fn the_page_runs() {
    guarded(async {
        let server = AuthorizationServer::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = router(&url, &server.url(), server.clone()).unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let browser = Browser::opening(consent as fn(&Url)).await.unwrap();
        assert_eq!(list(&url, browser).await.unwrap(), ["greet"]);

        let browser = Browser::opening(consent as fn(&Url)).await.unwrap();
        let authorization = Authorization::of_user(&url, browser).store(Kept::default()).build().unwrap();
        let session = connect(&authorization, &url, Era::Handshake).await.unwrap();
        assert_eq!(call(&session, "greet").await.unwrap(), "hello, ada");
        session.close().await.unwrap();
        of_program(&url, include_str!("key.pem")).unwrap();
        validators().unwrap();

        let file = std::env::temp_dir().join(format!("mcp-auth-guide-{}", std::process::id()));
        let claims = serde_json::json!({ "aud": "https://platform.example", "sub": "nightly" });
        std::fs::write(&file, jwt(&claims).expose()).unwrap();
        let workload = of_workload(&url, &server.url(), file.clone()).unwrap();
        let session = connect(&workload, &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "greet").await.unwrap(), "hello, nightly");
        session.close().await.unwrap();
        std::fs::remove_file(file).unwrap();
        of_employee(&url, jwt(&claims)).unwrap();

        let layers = Layers::default();
        let server = AuthorizationServer::start_behind(layers.around_tokens()).await;
        let url = serve_behind(&server.url(), |_| server.clone(), layers.around()).await;
        let browser = Browser::opening(consent as fn(&Url)).await.unwrap();
        let session = connect(&bound(&url, browser).unwrap(), &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_user_comes_back_with_their_own_answer_only() {
    guarded(async {
        // What else browsers ask for, and what is not asked of this host, is not the answer.
        let visit = |address: &Url| {
            let address = address.clone();
            tokio::spawn(async move {
                let back = address.query_pairs().next().unwrap().1.into_owned();
                let icon = Url::parse(&back).unwrap().join("/favicon.ico").unwrap();
                assert_eq!(reqwest::get(icon).await.unwrap().status(), 404);
                assert_eq!(reqwest::get(format!("{back}?code=c")).await.unwrap().status(), 200);
            });
        };
        let browser = Browser::opening(visit).await.unwrap();
        let back = mcp_auth::client::UserAgent::redirect_uri(&browser);
        let address = Url::parse_with_params("http://127.0.0.1/", [("back", &back)]).unwrap();
        let returned = mcp_auth::client::UserAgent::visit(&browser, address).await.unwrap();
        assert_eq!(returned.as_str(), format!("{back}?code=c"));
    })
    .await;
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn the_examples_of_the_page_are_here() {
    let page = include_str!("../../../docs/authorization.md");
    let here = squeezed(include_str!("guide.rs"));
    let examples: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    for code in &examples {
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
    }
    assert_eq!(examples.len(), 11);
}
