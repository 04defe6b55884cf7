//! Nothing that is logged has a token in it, at any level, of any crate.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use mcp_auth::client::{Authorization, MemoryStore, RegisteredClient};
use mcp_protocols::eras::Era;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::authorization_server::{AuthorizationServer, MARK};
use super::guarded;
use super::world::{Browser, call, connect, serve};

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

#[test]
fn no_secret_is_logged() {
    let everything = Everything::default();
    let kept = everything.clone();
    // While there is one subscriber alone, what another test logs first, on a thread without a subscriber, is never logged
    // again, also not here. With two, every subscriber is asked.
    let _second = tracing::Dispatch::new(Everything::default());
    // One thread, so that all tasks log here.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(everything, || {
        runtime.block_on(guarded(async {
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
            // What can be shown does not show it either.
            tracing::info!(error, ?authorization, ?robot, ?client, ?store, "the end");
        }));
    });
    let logged = kept.0.lock().unwrap().clone();
    for target in ["mcp_auth::client", "mcp_auth::server", "mcp_runtime", "hyper_util"] {
        assert!(logged.contains(target), "{target} logs nothing:\n{logged}");
    }
    let found: Vec<&str> = logged.lines().filter(|line| line.contains(MARK)).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
}
