//! A client that logs in, stays logged in, and is asked for more.

use mcp_auth::Scopes;
use mcp_auth::client::{Authorization, MemoryStore, RegisteredClient};
use mcp_protocols::eras::Era;
use serde_json::json;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::world::{Browser, call, connect, serve};

async fn world() -> (AuthorizationServer, String) {
    let server = AuthorizationServer::start().await;
    let url = serve(&server.url(), |_| server.clone()).await;
    (server, url)
}

fn authorization(url: &str) -> Authorization {
    Authorization::of_user(url, Browser).build().unwrap()
}

#[tokio::test]
async fn the_user_logs_in_once_and_is_asked_for_more_when_more_is_needed() {
    guarded(async {
        for era in [Era::Handshake, Era::Requests] {
            let (server, url) = world().await;
            let session = connect(&authorization(&url), &url, era).await.unwrap();
            assert_eq!(server.take_log(), ["register", "authorize notes:read", "token authorization_code"]);
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
            assert!(server.take_log().is_empty());
            // The session goes on, with what was granted before and what the tool needs.
            assert_eq!(call(&session, "delete").await.unwrap(), "gone");
            assert_eq!(server.take_log(), ["authorize notes:read notes:write", "token authorization_code"]);
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read notes:write");
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_token_that_is_not_valid_any_more_is_renewed_within_the_call() {
    guarded(async {
        let (server, url) = world().await;
        let session = connect(&authorization(&url), &url, Era::Handshake).await.unwrap();
        server.take_log();
        server.withdraw();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(server.take_log(), ["token refresh_token"]);
        // Once more, now without a new refresh token: the one of the time before means nothing then.
        server.withdraw();
        server.desk().refreshes = false;
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(server.take_log(), ["token refresh_token"]);
        // The refresh token was used up: the user logs in once more.
        server.withdraw();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        let log = ["token refresh_token", "authorize notes:read", "token authorization_code"];
        assert_eq!(server.take_log(), log);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_refuses_every_token_ends_it() {
    guarded(async {
        let server = AuthorizationServer::start().await;
        // Another authorization server says what is valid: nothing is.
        let other = AuthorizationServer::start().await;
        let url = serve(&server.url(), |_| other.clone()).await;
        let error = connect(&authorization(&url), &url, Era::Handshake).await.unwrap_err();
        assert!(error.contains("refuses a token that was just issued for it"), "{error}");
        assert!(error.contains("it is not known"), "{error}");
        assert_eq!(server.take_log(), ["register", "authorize notes:read", "token authorization_code"]);
    })
    .await;
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    guarded(async {
        let (server, url) = world().await;
        // It is due as soon as it is there.
        server.desk().lifetime = Some(0);
        let session = connect(&authorization(&url), &url, Era::Requests).await.unwrap();
        server.take_log();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(server.take_log(), ["token refresh_token"], "before the server has refused anything");
        server.desk().lifetime = Some(3600);
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(server.take_log(), ["token refresh_token"]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn calls_that_are_refused_together_are_renewed_together() {
    guarded(async {
        let (server, url) = world().await;
        let session = connect(&authorization(&url), &url, Era::Handshake).await.unwrap();
        server.take_log();
        server.withdraw();
        let calls = futures_util::future::join_all((0..20).map(|_| call(&session, "whoami"))).await;
        assert!(calls.iter().all(|said| said.as_deref() == Ok("ada with notes:read")), "{calls:?}");
        assert_eq!(server.take_log(), ["token refresh_token"]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_user_who_refuses_is_asked_once() {
    guarded(async {
        let (server, url) = world().await;
        let session = connect(&authorization(&url), &url, Era::Handshake).await.unwrap();
        server.take_log();
        server.desk().denies = true;
        let refused = call(&session, "delete").await.unwrap_err();
        assert!(refused.contains("the authorization server refused: access_denied"), "{refused}");
        assert_eq!(server.take_log(), ["authorize notes:read notes:write"]);
        // What was granted before is as it was.
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_user_who_refuses_is_asked_once_by_a_client_that_finds_out_what_the_server_speaks() {
    guarded(async {
        let (server, url) = world().await;
        server.desk().denies = true;
        let refused = connect(&authorization(&url), &url, None).await.unwrap_err();
        assert!(refused.starts_with("the server could not be asked what it speaks: "), "{refused}");
        assert!(refused.contains("the authorization server refused: access_denied"), "{refused}");
        assert_eq!(server.take_log(), ["register", "authorize notes:read"]);
        server.desk().denies = false;
        let session = connect(&authorization(&url), &url, None).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn scopes_that_are_not_granted_are_not_asked_for_again() {
    guarded(async {
        let (server, url) = world().await;
        server.desk().withheld = Scopes::from("notes:write");
        let session = connect(&authorization(&url), &url, Era::Requests).await.unwrap();
        server.take_log();
        let refused = call(&session, "delete").await.unwrap_err();
        assert!(refused.contains("were requested already"), "{refused}");
        assert_eq!(server.take_log(), ["authorize notes:read notes:write", "token authorization_code"]);
        call(&session, "delete").await.unwrap_err();
        assert!(server.take_log().is_empty());
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_token_and_a_registration_are_kept_in_the_store() {
    guarded(async {
        let (server, url) = world().await;
        let store = MemoryStore::default();
        let again = || Authorization::of_user(&url, Browser).store(store.clone()).build().unwrap();
        connect(&again(), &url, Era::Requests).await.unwrap().close().await.unwrap();
        server.take_log();
        // The program starts again.
        let second = again();
        connect(&second, &url, Era::Requests).await.unwrap().close().await.unwrap();
        assert!(server.take_log().is_empty());
        second.forget().await.unwrap();
        server.desk().user = "bob".to_owned();
        let session = connect(&second, &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "bob with notes:read");
        assert_eq!(server.take_log(), ["authorize notes:read", "token authorization_code"]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_program_has_credentials_of_its_own() {
    guarded(async {
        let (server, url) = world().await;
        let client = RegisteredClient::new("robot").issuer(server.url()).secret("s3cr3t-pass");
        let authorization = Authorization::of_program(&url, client).build().unwrap();
        let session = connect(&authorization, &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "robot with notes:read");
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        server.withdraw();
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        assert_eq!(server.take_log(), ["token client_credentials"; 3]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_authorization_server_that_does_not_do_what_is_needed_is_refused() {
    guarded(async {
        let (server, url) = world().await;
        for (metadata, why) in [
            (json!({ "code_challenge_methods_supported": ["plain"] }), "does not support PKCE with S256"),
            (json!({ "code_challenge_methods_supported": null }), "does not support PKCE with S256"),
            (json!({ "issuer": "https://other.example" }), "are those of `https://other.example`"),
            (json!({ "registration_endpoint": null }), "registers none by itself"),
            (json!({ "token_endpoint": "http://auth.example/token" }), "must begin with `https://`"),
        ] {
            server.desk().metadata = metadata;
            let error = connect(&authorization(&url), &url, Era::Requests).await.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(!server.take_log().iter().any(|entry| entry.starts_with("token")));
    })
    .await;
}

#[tokio::test]
async fn metadata_that_are_named_and_not_there_are_reported() {
    guarded(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let named = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
        let challenge = format!(r#"Bearer resource_metadata="{named}""#);
        let refuse =
            move || async move { (axum::http::StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]) };
        let router = axum::Router::new().route("/mcp", axum::routing::any(refuse));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let error = connect(&authorization(&url), &url, Era::Requests).await.unwrap_err();
        let expected = format!("the server says that its metadata are at `{named}`, and nothing is there");
        assert!(error.contains(&expected), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_token_endpoint_that_fails_is_said_to_have_failed() {
    guarded(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let failing = format!("http://{}/token", listener.local_addr().unwrap());
        let router = axum::Router::new()
            .fallback(|| async { (axum::http::StatusCode::BAD_GATEWAY, "<h1>Bad Gateway</h1>") });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let (server, url) = world().await;
        server.desk().metadata = json!({ "token_endpoint": failing });
        let error = connect(&authorization(&url), &url, Era::Requests).await.unwrap_err();
        assert!(error.contains(&format!("`{failing}` answered with status 502")), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_registered_elsewhere_says_so() {
    guarded(async {
        let (server, url) = world().await;
        server.desk().metadata = json!({ "registration_endpoint": null });
        let client = RegisteredClient::new("notes").issuer("https://auth.example");
        let elsewhere = Authorization::of_user(&url, Browser).registered(client).build().unwrap();
        let error = connect(&elsewhere, &url, Era::Requests).await.unwrap_err();
        assert!(error.contains("the client `notes` is registered with `https://auth.example`"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_address_that_a_token_must_not_be_sent_to_is_refused() {
    for address in ["http://notes.example/mcp", "notes.example", "ftp://127.0.0.1/"] {
        let error = Authorization::of_user(address, Browser).build().unwrap_err();
        assert!(error.to_string().contains("write one that begins with `https://`"), "{error}");
    }
    let builder = Authorization::of_user("https://notes.example/mcp", Browser);
    let error = builder.client_metadata_document("https://client.example").build().unwrap_err();
    assert!(error.to_string().contains("has a path"), "{error}");
}
