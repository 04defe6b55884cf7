//! A client of `mcp-kit` whose connections are cut, or cannot be opened.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_kit::{Client, ConnectOptions, Era, Failure, Resource, Server, text_at};
use mcp_runtime::Error;
use mcp_runtime::transport::http::ServerOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A note
#[derive(Deserialize, JsonSchema)]
struct Note {
    id: u32,
}

impl Resource<()> for Note {
    const URI: &'static str = "notes://{id}";
    type Needs = ();

    async fn read(self, _: &(), uri: &str, _: Client) -> Result<mcp_kit::types::ResourceContents, Failure> {
        Ok(text_at(uri, self.id.to_string()))
    }
}

/// Stands between a client and a server, and cuts connections.
struct Relay {
    address: SocketAddr,
    connections: Arc<Mutex<JoinSet<()>>>,
    accepting: JoinHandle<()>,
}

impl Relay {
    async fn to(server: SocketAddr) -> Relay {
        Relay::at("127.0.0.1:0".parse().unwrap(), server).await
    }

    async fn at(address: SocketAddr, server: SocketAddr) -> Relay {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let accepted = Arc::clone(&connections);
        let accepting = test_support::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                accepted.lock().unwrap().spawn(async move {
                    let mut far = TcpStream::connect(server).await.unwrap();
                    // How it ends is what the test is about.
                    drop(copy_bidirectional(&mut near, &mut far).await);
                });
            }
        });
        Relay { address, connections, accepting }
    }

    /// Nothing is accepted at its address any more, and all that was is cut.
    async fn close(self) -> SocketAddr {
        self.accepting.abort();
        assert!(self.accepting.await.unwrap_err().is_cancelled());
        Relay::cut_all(&self.connections).await;
        self.address
    }

    async fn cut_all(connections: &Mutex<JoinSet<()>>) {
        let mut connections = std::mem::take(&mut *connections.lock().unwrap());
        connections.shutdown().await;
    }
}

/// A server until the test ends, and its address.
async fn serve(server: Server<()>) -> SocketAddr {
    let http = server.http(ServerOptions::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().route("/mcp", http.method_router());
    test_support::spawn(async move {
        http.serve(listener, router, std::future::pending()).await.unwrap();
    });
    address
}

#[tokio::test]
async fn a_subscription_whose_connection_is_cut_is_made_again() {
    let server = Server::new("notes", "1.0.0", ()).resource::<Note>();
    let changes = server.changes();
    let address = serve(server).await;
    let relay = Relay::to(address).await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reports);
    let options = ConnectOptions::new("test", "1")
        .era(Era::Requests)
        .resubscribe_after(Duration::from_millis(200))
        .on_report(move |report| heard.lock().unwrap().push(report.to_string()));
    let url = format!("http://{}/mcp", relay.address);
    let notes = options.connect_url(&url).await.unwrap();
    let mut subscription = notes.subscribe(["notes://0"]).await.unwrap();
    let mut resources = notes.live_resources().await.unwrap();
    changes.resource("notes://0");
    assert_eq!(subscription.next().await.unwrap().unwrap(), "notes://0");

    Relay::cut_all(&relay.connections).await;
    // It may have changed in the meantime.
    let (changed, listed) = tokio::join!(subscription.next(), resources.changed());
    assert_eq!(changed.unwrap().unwrap(), "notes://0");
    assert!(listed.unwrap().is_some());
    changes.resource("notes://0");
    assert_eq!(subscription.next().await.unwrap().unwrap(), "notes://0");
    changes.resources();
    assert!(resources.changed().await.unwrap().is_some());

    // A server that is down is asked again until it is there, and the program learns of it once.
    let at = relay.close().await;
    let back = async {
        while reports.lock().unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Relay::at(at, address).await
    };
    let (changed, listed, relay) = tokio::join!(subscription.next(), resources.changed(), back);
    assert_eq!(changed.unwrap().unwrap(), "notes://0");
    assert!(listed.unwrap().is_some());
    let reported = std::mem::take(&mut *reports.lock().unwrap());
    assert_eq!(reported.len(), 2, "one of each: {reported:?}");
    assert!(reported.iter().all(|report| report.contains("the server cannot be reached")), "{reported:?}");

    // Where it refuses, the program learns why.
    let at = relay.close().await;
    let _relay = Relay::at(at, serve(Server::new("other", "1.0.0", ())).await).await;
    let changed = subscription.next().await;
    assert!(matches!(changed, Some(Err(Error::Refused(_)))), "{changed:?}");
    assert!(subscription.next().await.is_none());
}

#[tokio::test]
async fn a_subscription_goes_on_with_the_server_that_takes_the_place_of_one_that_stops() {
    let notes = || Server::new("notes", "1.0.0", ()).resource::<Note>();
    let http = notes().http(ServerOptions::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::to(listener.local_addr().unwrap()).await;
    let router = axum::Router::new().route("/mcp", http.method_router());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let first = test_support::spawn(async move {
        http.serve(listener, router, async move { drop(stopped.await) }).await.unwrap();
    });

    let url = format!("http://{}/mcp", relay.address);
    let client = ConnectOptions::new("test", "1").era(Era::Requests).connect_url(&url).await.unwrap();
    let mut subscription = client.subscribe(["notes://0"]).await.unwrap();
    let mut resources = client.live_resources().await.unwrap();
    let replacing = async {
        // It ends its subscriptions with their replies.
        drop(stop);
        first.await.unwrap();
        let second = notes();
        let changes = second.changes();
        let at = relay.close().await;
        (Relay::at(at, serve(second).await).await, changes)
    };
    let (changed, listed, (_relay, changes)) =
        tokio::join!(subscription.next(), resources.changed(), replacing);
    assert_eq!(changed.unwrap().unwrap(), "notes://0");
    assert!(listed.unwrap().is_some());
    changes.resource("notes://0");
    changes.resources();
    assert_eq!(subscription.next().await.unwrap().unwrap(), "notes://0");
    assert!(resources.changed().await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_not_said_to_lack_something() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let connecting = ConnectOptions::new("test", "1").era(Era::Requests).connect_url(&url).await;
    let error = connecting.unwrap_err().to_string();
    assert!(error.starts_with("the server could not be asked what it speaks"), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
}
