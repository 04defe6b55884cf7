//! A server behind the gateway, which is started again when it has ended.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mcp_kit::prelude::*;
use serde::Deserialize;
use tokio::sync::watch;

/// How long after a server could not be reached, or has ended, it is started again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a request waits for a server that is being started.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a server is reached.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Entry {
    Child {
        command: String,
        #[serde(default)]
        args: Vec<String>,
    },
    Url {
        url: String,
    },
}

/// A server behind, and the connection to it while there is one.
pub(crate) struct Behind {
    pub(crate) name: String,
    connection: watch::Receiver<Option<Arc<Connection>>>,
}

impl Behind {
    /// Starts a server.
    pub(crate) fn start(name: String, entry: Entry, changes: Changes) -> Arc<Behind> {
        let (connected, connection) = watch::channel(None);
        tokio::spawn(keep(name.clone(), entry, changes, connected));
        Arc::new(Behind { name, connection })
    }

    /// The connection, if there is one in time.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        let mut connection = self.connection.clone();
        let connected = tokio::time::timeout(PATIENCE, connection.wait_for(Option::is_some)).await;
        let connected = connected.ok().and_then(Result::ok).and_then(|connected| connected.clone());
        Ok(connected.ok_or_else(|| format!("the server `{}` cannot be reached", self.name))?)
    }
}

/// Connects to a server, and again when the connection has ended.
async fn keep(
    name: String,
    entry: Entry,
    changes: Changes,
    connected: watch::Sender<Option<Arc<Connection>>>,
) {
    loop {
        match connect(&entry).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                for uri in changes.watched() {
                    // Another server has it, if this one does not.
                    let _ = connection.pass_on_watch(uri, &changes).await;
                }
                connected.send_replace(Some(Arc::clone(&connection)));
                // It has other tools than the one before, and than none.
                changes.tools();
                changes.prompts();
                changes.resources();
                if let Err(error) = connection.pass_on_changes(&changes).await {
                    eprintln!("{name}: {error}");
                }
                connected.send_replace(None);
            }
            Err(error) => eprintln!("{name}: {error}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn connect(entry: &Entry) -> Result<Connection, Failure> {
    // The gateway's client answers; what is declared here is what servers may ask.
    let options = ConnectOptions::new("gateway", env!("CARGO_PKG_VERSION"))
        .on_elicitation(|_| async { Ok(ElicitResult::new(ElicitAction::Decline)) })
        .on_sampling(|_| async { Err("no call is under way for which a client could be asked".into()) })
        .on_roots(|| async { Ok(Vec::new()) })
        .on_log(LoggingLevel::Debug, |_| {});
    Ok(match entry {
        Entry::Child { command, args } => {
            let open = || {
                let mut child = Command::new(command);
                child.args(args);
                Child::spawn(child)
            };
            options.connect_to(command, open).await?
        }
        Entry::Url { url } => options.connect_url(url).await?,
    })
}
