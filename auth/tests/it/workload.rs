//! A workload, whose platform says who it is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::response::Redirect;
use mcp_auth::Secret;
use mcp_auth::client::{Authorization, RegisteredClient, TokenSource};
use mcp_protocols::eras::Era;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::world::{call, connect, jwt, serve, thief};

async fn world() -> (AuthorizationServer, String) {
    let server = AuthorizationServer::start().await;
    let url = serve(&server.url(), |_| server.clone()).await;
    (server, url)
}

fn client() -> RegisteredClient {
    RegisteredClient::new("nightly")
}

async fn refusal(url: &str, client: RegisteredClient, source: impl TokenSource) -> String {
    let authorization = Authorization::of_workload(url, client, source).build().unwrap();
    connect(&authorization, url, Era::Handshake).await.unwrap_err()
}

/// A platform: each of its JWTs is a new one, for whom it is asked.
#[derive(Clone, Default)]
struct Platform(Arc<AtomicUsize>, Arc<Mutex<Vec<String>>>);

impl TokenSource for Platform {
    type Error = std::convert::Infallible;

    async fn token(&self, audience: &str) -> Result<Secret, std::convert::Infallible> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        self.1.lock().unwrap().push(audience.to_owned());
        Ok(jwt(&json!({ "aud": audience, "sub": format!("nightly-{number}") })))
    }
}

#[tokio::test]
async fn a_workload_gets_a_token_for_the_jwt_of_its_platform() {
    guarded(async {
        let (server, url) = world().await;
        let platform = Platform::default();
        let authorization = Authorization::of_workload(&url, client(), platform.clone()).build().unwrap();
        let session = connect(&authorization, &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "nightly-0 with notes:read");
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        assert_eq!(call(&session, "whoami").await.unwrap(), "nightly-1 with notes:read notes:write");
        // Each token is requested with the JWT that is there then.
        server.withdraw();
        assert_eq!(call(&session, "whoami").await.unwrap(), "nightly-2 with notes:read notes:write");
        assert_eq!(server.take_log(), ["token jwt-bearer"; 3]);
        assert_eq!(*platform.1.lock().unwrap(), [server.url(), server.url(), server.url()]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_token_of_a_workload_is_renewed_before_it_expires() {
    guarded(async {
        let (server, url) = world().await;
        server.desk().lifetime = Some(0);
        let authorization = Authorization::of_workload(&url, client(), Platform::default()).build().unwrap();
        let session = connect(&authorization, &url, Era::Requests).await.unwrap();
        server.take_log();
        assert_eq!(call(&session, "whoami").await.unwrap(), "nightly-2 with notes:read");
        assert_eq!(server.take_log(), ["token jwt-bearer"], "before the server has refused anything");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_jwt_that_is_refused_is_not_sent_again() {
    guarded(async {
        let (server, url) = world().await;
        let expired = jwt(&json!({ "aud": server.url(), "exp": 1_000_000_000 }));
        for error in ["invalid_grant", "invalid_scope", "unauthorized_client", "invalid_client"] {
            server.desk().refuses = Some(error);
            let said = refusal(&url, client(), expired.clone()).await;
            assert!(said.contains(&format!("the authorization server refused: {error}")), "{said}");
            assert_eq!(server.take_log(), ["token jwt-bearer"], "and no other grant is tried");
        }
    })
    .await;
}

#[tokio::test]
async fn a_jwt_goes_only_to_the_authorization_server_that_it_is_for() {
    guarded(async {
        let (server, url) = world().await;
        let other = jwt(&json!({ "aud": "https://auth.example", "sub": "nightly" }));
        for wrong in [other.clone(), Secret::new("opaque")] {
            let error = refusal(&url, client(), wrong).await;
            assert!(
                error.contains(&format!("is not for the authorization server `{}`", server.url())),
                "{error}"
            );
        }
        let elsewhere = client().issuer("https://auth.example");
        let error = refusal(&url, elsewhere, other.clone()).await;
        assert!(error.contains("is registered with `https://auth.example`"), "{error}");
        assert!(server.take_log().is_empty() && server.desk().assertions.is_empty());
        // Some authorization servers want an audience of their own. Then the program says where the client belongs.
        let authorization = Authorization::of_workload(&url, client().issuer(server.url()), other);
        let session = connect(&authorization.build().unwrap(), &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "nightly with notes:read");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_has_no_bearer_token_is_not_used() {
    guarded(async {
        let (server, url) = world().await;
        for (answer, why) in [
            (json!({ "access_token": Value::Null }), "neither a token nor an error"),
            (json!({ "token_type": Value::Null }), "neither a token nor an error"),
            (json!({ "token_type": "mac" }), "does not support bearer tokens"),
            (json!({ "token_type": "DPoP" }), "does not support bearer tokens"),
            (json!({ "token_type": "N_A" }), "does not support bearer tokens"),
        ] {
            server.desk().answer = answer;
            let error = refusal(&url, client(), Platform::default()).await;
            assert!(error.contains(why), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_redirect_carries_no_jwt_elsewhere() {
    guarded(async {
        let (server, url) = world().await;
        let (to, visits) = thief().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/token", listener.local_addr().unwrap());
        let router = Router::new().fallback(move || async move { Redirect::temporary(&to) });
        tokio::spawn(async move { axum::serve(listener, router).await });
        server.desk().metadata = json!({ "token_endpoint": endpoint });
        let error = refusal(&url, client(), Platform::default()).await;
        assert!(error.contains("neither a token nor an error"), "{error}");
        assert_eq!(visits.load(Ordering::SeqCst), 0);
    })
    .await;
}

/// A platform that does not answer.
struct Silent;

impl TokenSource for Silent {
    type Error = std::io::Error;

    async fn token(&self, _audience: &str) -> Result<Secret, std::io::Error> {
        Err(std::io::Error::other("the file of the token is not there"))
    }
}

#[tokio::test]
async fn without_a_jwt_nothing_is_requested() {
    guarded(async {
        let (server, url) = world().await;
        let error = refusal(&url, client(), Silent).await;
        assert!(error.contains("its source failed: the file of the token is not there"), "{error}");
        assert!(server.take_log().is_empty());
    })
    .await;
}
