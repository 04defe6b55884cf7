//! A guard in front of a server over HTTP.
//!
//! - `events.rs`: server-sent events, with their bytes. `upstream.rs`: the server, and which headers it gets.
//! - `sessions.rs`: the sessions by their ids. `guarded.rs`: both. `body.rs`: bodies that are read to a
//!   limit. `failures.rs`: what keeps messages from arriving.
//! - `exchange.rs`: one request and its answer. `reply.rs`: judges an answer. `refusal.rs`: answers of the guard itself.

mod body;
mod exchange;
mod failures;
mod guarded;
mod refusal;
mod reply;
mod sessions;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use super::judge::Policy;
use super::session::Outputs;
use crate::files::Failure;
use crate::protocol::Chosen;
use failures::Failures;
use guarded::Guarded;
use sessions::Sessions;
use upstream::Upstream;

/// Where the guard listens, and which server it guards.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    pub(crate) listen: SocketAddr,
    pub(crate) to: String,
}

/// Serves until a signal asks to stop.
///
/// # Errors
/// If the address of the server is not an `http` or `https` URL, or the guard cannot listen.
pub(crate) fn run(
    addresses: &Addresses,
    limit: usize,
    chosen: Chosen,
    policy: Policy,
    payloads: bool,
    outputs: &Outputs,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Start)?;
    runtime.block_on(async {
        let refused = |error| Failure::Listen(addresses.listen, error);
        let listener = TcpListener::bind(addresses.listen).await.map_err(refused)?;
        let own = listener.local_addr().map_err(refused)?;
        let upstream = Upstream::new(&addresses.to, own)?;
        let sessions = Sessions::new(chosen, policy, payloads, outputs.clone())?;
        let guarded =
            Arc::new(Guarded::new(sessions, upstream, limit, Failures::new(outputs.reporter.clone())));
        // A program that reads that it listens may stop it.
        let stopped = asked_to_stop();
        outputs.event(&format!("listens on http://{own}, in front of {}", addresses.to));
        let router = Router::new().fallback(exchange::handle).with_state(guarded);
        // Without it a small answer would wait for the acknowledgement of the one before.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let server = axum::serve(listener, router);
        tokio::select! {
            served = async { server.await } => served.map_err(refused),
            () = stopped => Ok(()),
        }
    })
}

/// Waits for the signal with which a user or a supervisor stops a program. Streams that are open are cut, as they would be
/// if the server stopped.
fn asked_to_stop() -> impl Future<Output = ()> {
    let terminated = terminated();
    async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated => {}
        }
    }
}

/// Waits for the signal TERM. It is heard from the call on.
#[cfg(unix)]
fn terminated() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};

    let signal = signal(SignalKind::terminate());
    async {
        match signal {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
}

/// Never returns: the system does not have the signal.
#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
