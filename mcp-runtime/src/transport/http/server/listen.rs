//! A listener with limits on time and on connections.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::clients::Clients;
use super::quotas::{Client, part};
use super::service::HttpServer;
use super::timed::Timed;
use crate::budget::{Account, Budget, Holder};

/// How long accepting rests when the system has no room for a connection.
const REST: Duration = Duration::from_millis(50);

/// The settings of a listener.
///
/// ```no_run
/// use mcp_runtime::transport::http::{HttpServer, ListenOptions};
///
/// # async fn example(server: HttpServer) -> std::io::Result<()> {
/// let app = axum::Router::new().route("/weather", server.method_router());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// let options = ListenOptions::default().max_connections(64);
/// server.serve_with(listener, app, options, std::future::pending()).await
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ListenOptions {
    /// How long the head of each request may take to arrive, and so how long a connection may be idle between two
    /// requests. Default: 75 seconds.
    pub head_within: Duration,
    /// The longest head of a request, in bytes, 8192 at least. A longer one is refused with 431. A connection also
    /// buffers as much of a body and of an answer. Default: 32 KiB.
    pub max_head_bytes: usize,
    /// How many connections are served at the same time; further ones wait. One of a client that has its share of them
    /// ([`ServerOptions::client_share`](super::ServerOptions::client_share)) is closed at once. Default: 16,384.
    pub max_connections: usize,
    /// How long a client may not read from its connection before the connection is closed. Default: 30 seconds.
    pub write_within: Duration,
    /// How long sessions and connections may take to end once the server is to stop. Default: 5 seconds.
    pub shutdown_within: Duration,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            head_within: Duration::from_secs(75),
            max_head_bytes: 32 * 1024,
            max_connections: 16_384,
            write_within: Duration::from_secs(30),
            shutdown_within: Duration::from_secs(5),
        }
    }
}

impl ListenOptions {
    /// Sets [`head_within`](Self::head_within).
    #[must_use]
    pub fn head_within(mut self, wait: Duration) -> ListenOptions {
        self.head_within = wait;
        self
    }

    /// Sets [`max_head_bytes`](Self::max_head_bytes).
    #[must_use]
    pub fn max_head_bytes(mut self, bytes: usize) -> ListenOptions {
        self.max_head_bytes = bytes;
        self
    }

    /// Sets [`max_connections`](Self::max_connections).
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> ListenOptions {
        self.max_connections = connections;
        self
    }

    /// Sets [`write_within`](Self::write_within).
    #[must_use]
    pub fn write_within(mut self, wait: Duration) -> ListenOptions {
        self.write_within = wait;
        self
    }

    /// Sets [`shutdown_within`](Self::shutdown_within).
    #[must_use]
    pub fn shutdown_within(mut self, wait: Duration) -> ListenOptions {
        self.shutdown_within = wait;
        self
    }
}

impl HttpServer {
    /// Serves a router that this server is mounted in, until `stop` completes. Then it ends the sessions, closes the
    /// connections, and returns. Requests carry their sender's address as axum's `ConnectInfo<SocketAddr>`. HTTP/1.1
    /// without TLS, with `TCP_NODELAY`; for anything else, serve the router by other means and call
    /// [`shutdown`](Self::shutdown) at the end. `docs/http.md` in the repository shows how, under *TLS and HTTP/2*.
    ///
    /// ```no_run
    /// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
    /// use mcp_runtime::RpcError;
    /// use mcp_runtime::transport::http::{HttpServer, HttpSession, ServerOptions};
    /// use serde_json::{Value, json};
    /// use weather::{WeatherServer, server};
    ///
    /// struct Service;
    ///
    /// impl server::Handler for Service {
    ///     async fn forecast(&self, _: server::Context, params: Value) -> Result<Value, RpcError> {
    ///         Ok(json!({ "city": params["city"], "celsius": 4 }))
    ///     }
    /// }
    ///
    /// /// One session, from its first message on.
    /// async fn session(transport: HttpSession) -> Result<(), mcp_runtime::Error> {
    ///     let (_params, server) = WeatherServer::new(transport).recv_open().await?;
    ///     let server = server.send_opened(json!({ "name": "north" })).await?;
    ///     server.incoming().serve(Service).await;
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let options = ServerOptions::new().opens_with("weather/open");
    /// let server = HttpServer::new(options, |transport| async move {
    ///     if let Err(error) = session(transport).await {
    ///         eprintln!("{error}");
    ///     }
    /// });
    /// let app = axum::Router::new().route("/weather", server.method_router());
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    /// let stop = async { drop(tokio::signal::ctrl_c().await) };
    /// server.serve(listener, app, stop).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// None at present but those of a listener that fails for good.
    pub async fn serve(
        &self,
        listener: TcpListener,
        router: Router,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        self.serve_with(listener, router, ListenOptions::default(), stop).await
    }

    /// The same with other settings.
    ///
    /// # Errors
    /// None at present but those of a listener that fails for good.
    pub async fn serve_with(
        &self,
        listener: TcpListener,
        router: Router,
        options: ListenOptions,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(options.head_within);
        builder.max_buf_size(options.max_head_bytes.max(8 * 1024));
        let graceful = GracefulShutdown::new();
        let shares = Clients::new();
        let share = part(options.max_connections.max(1), self.server.options.client_share.min(100));
        let room = Arc::new(Semaphore::new(options.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut stop = std::pin::pin!(stop);
        // Dropping it drops the connections that are left at the end.
        let mut connections = JoinSet::new();
        loop {
            let accepted = async {
                let permit = Arc::clone(&room).acquire_owned().await;
                (listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = accepted => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_connection(&error) => continue,
                // Most likely the process has run out of descriptors, which passes.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            let client = Client::at(address.ip());
            // A proxy forwards the requests of many clients; its headers distinguish them.
            let client = Some(client).filter(|_| !self.server.options.is_trusted(address.ip()));
            let own: Option<Arc<Budget>> = client.map(|client| {
                let make = || Budget::new(Holder::Client, "max_connections", share);
                shares.get(client, |own: &Budget| own.held() == 0, make)
            });
            let Ok(own) = Account::of(own.as_deref().cloned()).take(1) else {
                if let Some(more) = self.server.log.line(tokio::time::Instant::now().into_std()) {
                    tracing::warn!(more, "a connection was closed: its client has its share of them already");
                }
                continue;
            };
            // Without it a small answer would wait for the acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            let service = TowerToHyperService::new(router.clone());
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(address));
                service.call(request)
            });
            let stream = TokioIo::new(Timed::new(stream, options.write_within));
            let connection = graceful.watch(builder.serve_connection(stream, service));
            connections.spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection has failed");
                }
                drop((permit, own));
            });
        }
        drop(listener);
        let end = async {
            self.shutdown(options.shutdown_within).await;
            graceful.shutdown().await;
        };
        if tokio::time::timeout(options.shutdown_within.saturating_mul(2), end).await.is_err() {
            tracing::warn!("connections were still open when the server stopped");
        }
        Ok(())
    }
}

/// Whether an error of accepting says only that one client went away.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
