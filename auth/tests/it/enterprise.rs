//! A user of an enterprise, who is logged in at its identity provider.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use mcp_auth::Secret;
use mcp_auth::client::{Authorization, IdentityProvider, RegisteredClient};
use mcp_protocols::eras::Era;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::world::{call, connect, jwt, serve, thief};

const ID_TOKEN: &str = "s3cr3t-id-token";

/// The identity provider: what it has been asked, and how it answers otherwise.
#[derive(Default)]
struct Desk {
    url: String,
    issuer: Option<String>,
    asked: Vec<(HashMap<String, String>, Option<String>)>,
    answer: Value,
    refuses: Option<&'static str>,
    redirects: Option<String>,
}

#[derive(Clone, Default)]
struct Provider(Arc<Mutex<Desk>>);

impl Provider {
    async fn start() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Provider::default();
        provider.desk().url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/token", post(exchange))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap()
    }

    /// As the program knows it.
    fn known(&self) -> IdentityProvider {
        let program = RegisteredClient::new("desktop").secret("s3cr3t-pass");
        IdentityProvider::new(self.desk().url.clone(), program, Secret::new(ID_TOKEN))
    }
}

async fn metadata(State(provider): State<Provider>) -> Json<Value> {
    let desk = provider.desk();
    let issuer = desk.issuer.as_ref().unwrap_or(&desk.url);
    Json(json!({ "issuer": issuer, "token_endpoint": format!("{}/token", desk.url) }))
}

async fn exchange(
    State(provider): State<Provider>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Response {
    let mut desk = provider.desk();
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let id_jag = jwt(&json!({ "sub": "ada", "aud": form["audience"], "client_id": "notes" }));
    desk.asked.push((form, authorization));
    if let Some(to) = &desk.redirects {
        return Redirect::temporary(to).into_response();
    }
    if let Some(error) = desk.refuses {
        let body = json!({ "error": error, "error_description": "the ID token has expired" });
        return (StatusCode::BAD_REQUEST, Json(body)).into_response();
    }
    let mut answer = json!({
        "access_token": id_jag.expose(),
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "token_type": "N_A",
    });
    for (name, value) in desk.answer.as_object().into_iter().flatten() {
        answer[name] = value.clone();
    }
    Json(answer).into_response()
}

async fn world() -> (Provider, AuthorizationServer, String) {
    let server = AuthorizationServer::start().await;
    let url = serve(&server.url(), |_| server.clone()).await;
    (Provider::start().await, server, url)
}

fn authorization(url: &str, provider: IdentityProvider) -> Authorization {
    let client = RegisteredClient::new("notes").secret("s3cr3t-notes");
    Authorization::of_enterprise_user(url, client, provider).build().unwrap()
}

async fn refusal(url: &str, provider: IdentityProvider) -> String {
    connect(&authorization(url, provider), url, Era::Handshake).await.unwrap_err()
}

#[tokio::test]
async fn the_identity_provider_says_who_the_user_is() {
    guarded(async {
        let (provider, server, url) = world().await;
        let session = connect(&authorization(&url, provider.known()), &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        let (form, authorization) = provider.desk().asked[0].clone();
        let expected = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("subject_token", ID_TOKEN),
            ("audience", &server.url()),
            ("resource", &url),
            ("scope", "notes:read"),
        ];
        assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(authorization.as_deref(), Some("Basic ZGVza3RvcDpzM2NyM3QtcGFzcw=="));
        // For more scopes, and for another token, the identity provider is asked again.
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        server.withdraw();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read notes:write");
        let scopes: Vec<_> = provider.desk().asked.iter().map(|(form, _)| form["scope"].clone()).collect();
        assert_eq!(scopes, ["notes:read", "notes:read notes:write", "notes:read notes:write"]);
        assert_eq!(server.take_log(), ["token jwt-bearer"; 3]);
        assert!(!server.desk().assertions.iter().any(|assertion| assertion == ID_TOKEN), "it stays there");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_address_for_exchanges_may_be_given() {
    guarded(async {
        let (provider, _server, url) = world().await;
        provider.desk().issuer = Some("https://login.enterprise.example".to_owned());
        let known = provider.known().token_endpoint(format!("{}/token", provider.desk().url));
        connect(&authorization(&url, known), &url, Era::Requests).await.unwrap().close().await.unwrap();
        // Without it, metadata of another issuer are not used.
        let error = refusal(&url, provider.known()).await;
        assert!(error.contains("are those of `https://login.enterprise.example`"), "{error}");
        assert_eq!(provider.desk().asked.len(), 1);
        // Nor is an address on this machine where the provider is not one of it, nor one without encryption.
        let known = provider.known().token_endpoint("http://login.enterprise.example/token");
        let error = refusal(&url, known).await;
        assert!(error.contains("must begin with `https://`"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_identity_provider_that_refuses_ends_it() {
    guarded(async {
        let (provider, server, url) = world().await;
        provider.desk().refuses = Some("invalid_grant");
        let error = refusal(&url, provider.known()).await;
        let expected = format!(
            "the identity provider `{}` refused: invalid_grant: the ID token has expired: the user may have to log in there",
            provider.desk().url
        );
        assert!(error.contains(&expected), "{error}");
        assert_eq!(provider.desk().asked.len(), 1);
        assert!(server.take_log().is_empty());
    })
    .await;
}

#[tokio::test]
async fn an_answer_without_an_assertion_is_not_used() {
    guarded(async {
        let (provider, server, url) = world().await;
        let access_token = "urn:ietf:params:oauth:token-type:access_token";
        for (answer, why) in [
            (json!({ "access_token": Value::Null }), "neither a token nor an error"),
            (json!({ "issued_token_type": Value::Null }), "neither a token nor an error"),
            (json!({ "issued_token_type": access_token }), "where an ID-JAG was requested"),
        ] {
            provider.desk().answer = answer;
            let error = refusal(&url, provider.known()).await;
            assert!(error.contains(why) && !error.contains("eyJ"), "{error}");
        }
        assert!(server.take_log().is_empty());
    })
    .await;
}

#[tokio::test]
async fn an_assertion_that_is_refused_is_not_sent_again() {
    guarded(async {
        let (provider, server, url) = world().await;
        server.desk().refuses = Some("invalid_grant");
        let error = refusal(&url, provider.known()).await;
        assert!(error.contains("the authorization server refused: invalid_grant"), "{error}");
        assert_eq!(server.take_log(), ["token jwt-bearer"]);
        assert_eq!(provider.desk().asked.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_redirect_carries_no_id_token_elsewhere() {
    guarded(async {
        let (provider, server, url) = world().await;
        let (to, visits) = thief().await;
        provider.desk().redirects = Some(to);
        let error = refusal(&url, provider.known()).await;
        assert!(error.contains("neither a token nor an error"), "{error}");
        assert_eq!(visits.load(Ordering::SeqCst), 0);
        assert!(server.take_log().is_empty());
    })
    .await;
}
