//! A server behind the gateway, which is started again when it has ended.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mcp_kit::prelude::*;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// How long after a server could not be reached, or has ended, it is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a request waits for the one server that can answer it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a request that is for all servers waits for those that have just been started, and for a list of one.
const FOR_ALL: Duration = Duration::from_secs(3);

/// A server as the file has it.
#[derive(Deserialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    address: Address,
    /// How long, in seconds, the server may take to answer what any of them may have. A client that asks the gateway is
    /// to hear of it before it loses patience itself.
    #[serde(default = "ten")]
    timeout: u64,
}

fn ten() -> u64 {
    10
}

/// How a server is reached.
#[derive(Deserialize)]
#[serde(untagged)]
enum Address {
    Child {
        command: String,
        #[serde(default)]
        args: Vec<String>,
    },
    Url {
        url: String,
    },
}

/// Whether a server can be called.
enum State {
    Starting,
    Connected(Arc<Connection>),
    Gone,
}

/// A server behind, and the connection to it while there is one.
pub(crate) struct Behind {
    pub(crate) name: String,
    state: watch::Receiver<State>,
    /// Requests for all servers do without this one from then on, if it has not been reached.
    awaited_until: Instant,
    /// How long it may take to answer what another server may have as well.
    timeout: Duration,
}

impl Behind {
    /// Starts a server.
    pub(crate) fn start(name: String, entry: Entry, changes: Changes) -> Arc<Behind> {
        let (states, state) = watch::channel(State::Starting);
        let timeout = Duration::from_secs(entry.timeout);
        tokio::spawn(keep(name.clone(), entry, changes, states));
        Arc::new(Behind { name, state, awaited_until: Instant::now() + FOR_ALL, timeout })
    }

    /// The connection, for a request that no other server can answer: if there is one in time.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        let mut state = self.state.clone();
        let connected = timeout(PATIENCE, state.wait_for(|state| matches!(state, State::Connected(_)))).await;
        match connected.ok().and_then(Result::ok).as_deref() {
            Some(State::Connected(connection)) => Ok(Arc::clone(connection)),
            _ => Err(format!("the server `{}` cannot be reached", self.name).into()),
        }
    }

    /// The connection, for a request that is for all servers: if there is one, or the server has just been started and
    /// there soon is.
    pub(crate) async fn connected(&self) -> Option<Arc<Connection>> {
        let mut state = self.state.clone();
        let started = state.wait_for(|state| !matches!(state, State::Starting));
        let _ = timeout_at(self.awaited_until, started).await;
        match &*self.state.borrow() {
            State::Connected(connection) => Some(Arc::clone(connection)),
            State::Starting | State::Gone => None,
        }
    }

    /// What the server answers to a request that another one may answer as well: nothing if it cannot be reached or does
    /// not have that. Fails if it does not answer in time.
    pub(crate) async fn ask<T, F>(&self, ask: impl FnOnce(Arc<Connection>) -> F) -> Result<Option<T>, Failure>
    where
        F: Future<Output = Result<T, RpcError>>,
    {
        let Some(connection) = self.connected().await else { return Ok(None) };
        match timeout(self.timeout, ask(connection)).await {
            Ok(answer) => Ok(answer.ok()),
            Err(_) => Err(format!("the server `{}` does not answer", self.name).into()),
        }
    }

    /// A list of the server, or a page of one: nothing if it cannot be reached, or does not answer in time.
    pub(crate) async fn list<L, F>(&self, list: impl FnOnce(Arc<Connection>) -> F) -> L
    where
        L: Default,
        F: Future<Output = Result<L, Error>>,
    {
        let Some(connection) = self.connected().await else { return L::default() };
        match timeout(FOR_ALL, list(connection)).await {
            Ok(Ok(listed)) => return listed,
            Ok(Err(error)) => eprintln!("{}: {error}", self.name),
            Err(_) => eprintln!("{}: a list was not answered in time", self.name),
        }
        L::default()
    }
}

/// Connects to a server, and again when the connection has ended.
async fn keep(name: String, entry: Entry, changes: Changes, states: watch::Sender<State>) {
    loop {
        match connect(&entry.address).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let watch = changes.watched().into_iter().map(|uri| connection.pass_on_watch(uri, &changes));
                // Another server has it, if this one does not.
                let _ = timeout(Duration::from_secs(entry.timeout), join_all(watch)).await;
                states.send_replace(State::Connected(Arc::clone(&connection)));
                // It has other tools than the one before, and than none.
                changes.tools();
                changes.prompts();
                changes.resources();
                if let Err(error) = connection.pass_on_changes(&changes).await {
                    eprintln!("{name}: {error}");
                }
            }
            Err(error) => eprintln!("{name}: {error}"),
        }
        states.send_replace(State::Gone);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn connect(address: &Address) -> Result<Connection, Failure> {
    let options = ConnectOptions::new("gateway", env!("CARGO_PKG_VERSION")).as_proxy();
    Ok(match address {
        Address::Child { command, args } => {
            let open = || {
                let mut child = Command::new(command);
                child.args(args);
                Child::spawn(child)
            };
            options.connect_to(command, open).await?
        }
        Address::Url { url } => options.connect_url(url).await?,
    })
}
