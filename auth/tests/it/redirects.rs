//! No redirect takes a token, a code or a message to another origin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use mcp_auth::client::Authorization;
use mcp_protocols::eras::Era;
use serde_json::json;
use tokio::net::TcpListener;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::world::{Browser, call, connect, serve};

/// Answers every request in this way, at an origin of its own.
async fn answering(answer: impl Fn(Request) -> Response + Clone + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(move |request: Request| async move { answer(request) });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn a_redirect_is_followed_nowhere() {
    guarded(async {
        let visits = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&visits);
        let thief = answering(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            "thanks".into_response()
        })
        .await;
        let server = AuthorizationServer::start().await;
        let url = serve(&server.url(), |_| server.clone()).await;

        // The server's own requests, with the token.
        let authorization = Authorization::of_user(&url, Browser).build().unwrap();
        let session = connect(&authorization, &url, Era::Requests).await.unwrap();
        let (to, issuer) = (thief.clone(), server.url());
        let moved = answering(move |request: Request| {
            let host = format!("http://{}", request.headers()["host"].to_str().unwrap());
            if request.uri().path().starts_with("/.well-known/") {
                let metadata = json!({ "resource": host, "authorization_servers": [issuer] });
                return axum::Json(metadata).into_response();
            }
            match request.headers().contains_key("authorization") {
                true => Redirect::temporary(&to).into_response(),
                false => axum::http::StatusCode::UNAUTHORIZED.into_response(),
            }
        })
        .await;
        let authorization = Authorization::of_user(&moved, Browser).build().unwrap();
        let error = connect(&authorization, &moved, Era::Handshake).await.unwrap_err();
        assert!(error.contains("redirects to another address"), "{error}");
        assert!(server.take_log().contains(&"token authorization_code".to_owned()));

        // The requests for metadata, for registration and for tokens.
        for endpoint in ["token_endpoint", "registration_endpoint"] {
            let to = thief.clone();
            let redirecting = answering(move |_| Redirect::temporary(&to).into_response()).await;
            server.desk().metadata = json!({ endpoint: redirecting });
            let authorization = Authorization::of_user(&url, Browser).build().unwrap();
            let error = connect(&authorization, &url, Era::Requests).await.unwrap_err();
            assert!(!error.contains("thanks"), "{error}");
        }
        let to = thief.clone();
        let issuer = answering(move |_| Redirect::temporary(&to).into_response()).await;
        let url = serve(&issuer, |_| server.clone()).await;
        let other = Authorization::of_user(&url, Browser).build().unwrap();
        let error = connect(&other, &url, Era::Requests).await.unwrap_err();
        assert!(error.contains("answered with status 307"), "{error}");

        assert_eq!(visits.load(Ordering::SeqCst), 0);
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        session.close().await.unwrap();
    })
    .await;
}
