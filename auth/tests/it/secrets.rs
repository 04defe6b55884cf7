//! Nothing that is logged has a token in it, at any level, of any crate.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcp_auth::Secret;
use mcp_auth::client::{Authorization, IdentityProvider, MemoryStore, ProofKey, RegisteredClient};
use mcp_protocols::eras::Era;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::authorization_server::{AuthorizationServer, MARK};
use super::guarded;
use super::proven::Layers;
use super::world::{Browser, call, connect, serve, serve_behind};

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        write!(self.0.lock().unwrap(), "{}: ", event.metadata().target()).unwrap();
        event.record(&mut self.clone());
        self.0.lock().unwrap().push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs a test on one thread, so that all tasks log here. Returns what they log.
fn logged(test: impl Future<Output = ()>) -> String {
    let everything = Everything::default();
    let kept = everything.clone();
    // While there is one subscriber alone, what another test logs first, on a thread without a subscriber, is never logged
    // again, also not here. With two, every subscriber is asked.
    let _second = tracing::Dispatch::new(Everything::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(everything, || runtime.block_on(guarded(test)));
    kept.0.lock().unwrap().clone()
}

#[test]
fn no_secret_is_logged() {
    let logged = logged(async {
        tracing::trace!(token = MARK, "this is found");
        let server = AuthorizationServer::start().await;
        let url = serve(&server.url(), |_| server.clone()).await;
        let store = MemoryStore::default();
        let authorization = Authorization::of_user(&url, Browser).store(store.clone()).build().unwrap();
        let session = connect(&authorization, &url, Era::Handshake).await.unwrap();
        call(&session, "whoami").await.unwrap();
        call(&session, "delete").await.unwrap();
        server.withdraw();
        call(&session, "whoami").await.unwrap();
        // Then there is no other token, and the user refuses.
        server.desk().refreshes = false;
        server.withdraw();
        call(&session, "whoami").await.unwrap();
        server.desk().denies = true;
        server.withdraw();
        let error = call(&session, "whoami").await.unwrap_err();
        session.close().await.unwrap();
        let client = RegisteredClient::new("robot").secret("s3cr3t-pass");
        let robot = Authorization::of_program(&url, client.clone()).build().unwrap();
        let session = connect(&robot, &url, Era::Requests).await.unwrap();
        call(&session, "whoami").await.unwrap();
        // JWTs of others, which are refused as well.
        let assertion = Secret::new("s3cr3t-assertion");
        let here = RegisteredClient::new("nightly").issuer(server.url());
        let workload = Authorization::of_workload(&url, here.clone(), assertion.clone()).build().unwrap();
        connect(&workload, &url, Era::Requests).await.unwrap().close().await.unwrap();
        server.desk().refuses = Some("invalid_grant");
        let provider = IdentityProvider::new(server.url(), here.clone(), assertion);
        let builder = Authorization::of_enterprise_user(&url, here, provider.clone());
        let employee = builder.build().unwrap();
        let refused = connect(&employee, &url, Era::Requests).await.unwrap_err();
        // What can be shown does not show it either.
        tracing::info!(error, refused, ?authorization, ?robot, ?client, ?store, ?provider, "the end");
    });
    for target in ["mcp_auth::client", "mcp_auth::server", "mcp_runtime", "hyper_util"] {
        assert!(logged.contains(target), "{target} logs nothing:\n{logged}");
    }
    assert!(logged.contains("asked for an assertion"), "{logged}");
    let found: Vec<&str> = logged.lines().filter(|line| line.contains(MARK)).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn no_key_and_no_proof_is_logged() {
    let logged = logged(async {
        let layers = Layers::default();
        layers.known().nonces = [Some("n".to_owned()), Some("n".to_owned())];
        let server = AuthorizationServer::start_behind(layers.around_tokens()).await;
        let url = serve_behind(&server.url(), |_| server.clone(), layers.around()).await;
        let key = ProofKey::from_pem(include_str!("key.pem")).unwrap();
        for bound in [
            Authorization::of_user(&url, Browser).dpop(),
            Authorization::of_user(&url, Browser).dpop_key(key.clone()),
        ] {
            let authorization = bound.build().unwrap();
            let session = connect(&authorization, &url, Era::Requests).await.unwrap();
            call(&session, "delete").await.unwrap();
            layers.known().insists = [true, true];
            let error = call(&session, "whoami").await.unwrap_err();
            layers.known().insists = [false, false];
            tracing::info!(error, ?authorization, ?key, "the end");
            session.close().await.unwrap();
        }
    });
    assert!(logged.contains("wants a nonce in the proof") && logged.contains("thumbprint"), "{logged}");
    // Tokens, proofs, and keys.
    for secret in [MARK, "eyJ", "PRIVATE KEY"] {
        assert!(!logged.contains(secret), "{secret}:\n{logged}");
    }
}
