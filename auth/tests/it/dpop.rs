//! Tokens that are bound to a key.

use std::sync::atomic::Ordering;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect};
use mcp_auth::client::{Authorization, AuthorizationBuilder, MemoryStore, ProofKey, RegisteredClient, Store};
use mcp_protocols::eras::Era;
use serde_json::json;
use tokio::net::TcpListener;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::proven::Layers;
use super::world::{Browser, call, connect, serve_behind, thief};

struct World {
    layers: Layers,
    server: AuthorizationServer,
    url: String,
}

impl World {
    async fn start() -> World {
        let layers = Layers::default();
        let server = AuthorizationServer::start_behind(layers.around_tokens()).await;
        let url = serve_behind(&server.url(), |_| server.clone(), layers.around()).await;
        World { layers, server, url }
    }

    fn user(&self) -> AuthorizationBuilder {
        Authorization::of_user(&self.url, Browser)
    }

    async fn refusal(&self, authorization: AuthorizationBuilder) -> String {
        connect(&authorization.build().unwrap(), &self.url, Era::Requests).await.unwrap_err()
    }

    /// The keys that the tokens so far are bound to.
    fn keys(&self) -> Vec<String> {
        let known = self.layers.known();
        let mut keys: Vec<_> = known.bound.values().cloned().collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

#[tokio::test]
async fn each_request_has_a_proof_and_all_tokens_one_key() {
    guarded(async {
        for era in [Era::Handshake, Era::Requests] {
            let world = World::start().await;
            let session = connect(&world.user().dpop().build().unwrap(), &world.url, era).await.unwrap();
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
            // More scopes, a refresh, and another login.
            assert_eq!(call(&session, "delete").await.unwrap(), "gone");
            world.server.withdraw();
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read notes:write");
            world.server.desk().refreshes = false;
            for _ in 0..2 {
                world.server.withdraw();
                call(&session, "whoami").await.unwrap();
            }
            session.close().await.unwrap();
            assert_eq!(world.layers.known().bound.len(), 5);
            assert_eq!(world.keys().len(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn programs_have_bound_tokens_too() {
    guarded(async {
        let world = World::start().await;
        let client = RegisteredClient::new("robot").secret("s3cr3t-pass");
        let authorization = Authorization::of_program(&world.url, client).dpop().build().unwrap();
        let session = connect(&authorization, &world.url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "robot with notes:read");
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_newest_nonce_of_each_origin_is_in_its_proofs() {
    guarded(async {
        let world = World::start().await;
        world.layers.known().nonces = [Some("a".to_owned()), Some("m".to_owned())];
        let authorization = world.user().dpop().build().unwrap();
        let session = connect(&authorization, &world.url, Era::Requests).await.unwrap();
        let log = world.layers.take_log();
        assert_eq!(log[..4], ["token none: refused", "token a", "mcp none: refused", "mcp m"]);
        assert!(log[4..].iter().all(|line| line == "mcp m"), "{log:?}");
        // An answer brings the next one, so that nothing has to be sent twice.
        world.layers.known().next_nonce = Some("n".to_owned());
        for _ in 0..2 {
            call(&session, "whoami").await.unwrap();
        }
        assert_eq!(world.layers.take_log(), ["mcp m", "mcp n"]);
        // The nonce and the token are replaced together: that the first is wanted says nothing about the second.
        world.layers.known().nonces = [Some("b".to_owned()), Some("o".to_owned())];
        world.server.withdraw();
        world.server.take_log();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        let log = ["mcp n: refused", "mcp o", "token a: refused", "token b", "mcp o"];
        assert_eq!(world.layers.take_log(), log);
        assert_eq!(world.server.take_log(), ["token refresh_token"]);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_nonce_again_and_again_is_given_one_once() {
    guarded(async {
        let world = World::start().await;
        world.layers.known().insists = [true, false];
        let error = world.refusal(world.user().dpop()).await;
        assert!(error.contains("the authorization server refused: use_dpop_nonce"), "{error}");
        assert_eq!(world.layers.take_log(), ["token none: refused", "token 1: refused"]);

        world.layers.known().insists = [false, true];
        let error = world.refusal(world.user().dpop()).await;
        assert!(error.contains("it asks for a nonce again, right after it has given one"), "{error}");
        let log = world.layers.take_log();
        assert_eq!(log, ["token none", "mcp none: refused", "mcp 2: refused"]);
    })
    .await;
}

#[tokio::test]
async fn a_token_is_used_only_if_it_is_what_was_asked_for() {
    guarded(async {
        let world = World::start().await;
        world.layers.known().token_type = Some("Bearer");
        let error = world.refusal(world.user().dpop()).await;
        assert!(error.contains("does not support tokens that are bound to a key (DPoP)"), "{error}");
        assert!(!world.layers.take_log().iter().any(|line| line.starts_with("mcp")));
        // One that says so beforehand is not asked.
        world.server.take_log();
        world.server.desk().metadata = json!({ "dpop_signing_alg_values_supported": ["EdDSA"] });
        let error = world.refusal(world.user().dpop()).await;
        assert!(error.contains("(DPoP) with ES256"), "{error}");
        assert_eq!(world.server.take_log(), ["register"]);
        // A client that has no key cannot use such a token.
        let world = World::start().await;
        let error = world.refusal(world.user()).await;
        assert!(error.contains("invalid_dpop_proof"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_key_that_was_generated_is_kept_with_its_token() {
    guarded(async {
        let world = World::start().await;
        let store = MemoryStore::default();
        let again = || world.user().dpop().store(store.clone()).build().unwrap();
        connect(&again(), &world.url, Era::Requests).await.unwrap().close().await.unwrap();
        world.server.take_log();
        // The program starts again.
        let session = connect(&again(), &world.url, Era::Requests).await.unwrap();
        assert!(world.server.take_log().is_empty());
        world.server.withdraw();
        call(&session, "whoami").await.unwrap();
        assert_eq!(world.server.take_log(), ["token refresh_token"]);
        assert_eq!(world.keys().len(), 1);
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_key_of_the_program_is_not_in_the_store() {
    guarded(async {
        let world = World::start().await;
        let store = MemoryStore::default();
        let [key, next] = [include_str!("key.pem"), include_str!("next_key.pem")]
            .map(|pem| ProofKey::from_pem(pem).unwrap());
        for (key, logins) in [(&key, 1), (&key, 0), (&next, 1)] {
            let authorization = world.user().dpop_key(key.clone()).store(store.clone()).build().unwrap();
            connect(&authorization, &world.url, Era::Requests).await.unwrap().close().await.unwrap();
            let log = world.server.take_log();
            assert_eq!(log.iter().filter(|line| line.starts_with("authorize")).count(), logins);
            let stored = store.load(&format!("token for {}", world.url)).await.unwrap().unwrap();
            assert!(!stored.expose().contains("PRIVATE KEY") && stored.expose().contains(key.thumbprint()));
        }
        let mut expected = [key.thumbprint(), next.thumbprint()];
        expected.sort_unstable();
        assert_eq!(world.keys(), expected);
        // A bearer token is not used where bound ones are wanted, nor the other way round.
        let error = world.refusal(world.user().store(store)).await;
        assert!(error.contains("invalid_dpop_proof"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_redirect_carries_no_proof_elsewhere() {
    guarded(async {
        let world = World::start().await;
        let (to, visits) = thief().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let moved = format!("http://{}", listener.local_addr().unwrap());
        let metadata = json!({ "resource": moved, "authorization_servers": [world.server.url()] });
        let answer = move |request: Request| async move {
            if request.uri().path().starts_with("/.well-known/") {
                return axum::Json(metadata).into_response();
            }
            match request.headers().contains_key("dpop") {
                true => Redirect::temporary(&to).into_response(),
                false => axum::http::StatusCode::UNAUTHORIZED.into_response(),
            }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        let authorization = Authorization::of_user(&moved, Browser).dpop().build().unwrap();
        let error = connect(&authorization, &moved, Era::Handshake).await.unwrap_err();
        assert!(error.contains("redirects to another address"), "{error}");
        assert_eq!(visits.load(Ordering::SeqCst), 0);
        assert_eq!(world.keys().len(), 1, "there was a token");
    })
    .await;
}
