//! [`Connector`]: finds out which era a server speaks.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use mcp_runtime::session::StepError;
use mcp_runtime::transport::Successive;
use mcp_runtime::{DisconnectReason, Error, Options, RpcError, Transport};
use tokio::sync::{broadcast, watch};

use super::super::changes::BEHIND;
use super::super::era::{Era, VERSION};
use super::super::handler::Offer;
use super::super::older;
use super::answerers::{OnLog, RunningCalls};
use super::connected::{Client, Way};
use super::user::{Log, SessionUser};
use super::watching::Session;
use crate::mcp_2025_11_25 as handshake;
use crate::mcp_2025_11_25::types::{InitializeParams, SetLevelParams};
use crate::mcp_2026_07_28 as requests;
use crate::mcp_2026_07_28::types::{
    ClientCapabilities, DiscoverResult, Implementation, LoggingLevel, LoggingMessageParams, RequestMeta,
    RequestParams, UnsupportedVersionData,
};
use crate::revisions::{REVISIONS, VERSIONS};
use crate::rounds::{Answering, User};

/// How long a server has to answer `server/discover`, unless the program says otherwise.
const PROBE: Duration = Duration::from_secs(10);

/// How long a server has to answer `initialize`, if neither the program nor its options say otherwise.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// The errors that only a server of the newer era has: a header does not fit, the client cannot do what is needed, and the
/// revision is another one.
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The ids of a session begin behind those of the requests with which the server was probed: their replies may be late.
const FIRST_ID: i64 = 1_000;

/// Connects to servers of both eras: it asks a server to `server/discover`, and begins a session with `initialize` if the
/// server does not know that, as the revisions want it.
///
/// ```no_run
/// use mcp_protocols::eras::Connector;
/// use mcp_protocols::eras::types::*;
/// use mcp_protocols::rounds::User;
/// use mcp_runtime::{RpcError, transport::Child};
///
/// struct Ada;
///
/// impl User for Ada {
///     async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, RpcError> {
///         Ok(ElicitResult::new(ElicitAction::Decline))
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
/// let connector = Connector::new(Implementation::new("notes", "1.0.0"), can, Ada);
/// let client = connector.connect(Child::spawn(std::process::Command::new("a-server"))?).await?;
/// let result = client.call_tool(CallToolParams::new("greet", client.meta())).await?;
/// println!("{} says {:?}", client.offer().server_info.name, result.first_text());
/// # Ok(())
/// # }
/// ```
///
/// A clone connects in the same way, and shares what is remembered of servers.
pub struct Connector<U> {
    client_info: Implementation,
    capabilities: ClientCapabilities,
    user: Arc<U>,
    options: Options,
    era: Option<Era>,
    probe: Duration,
    handshake: Option<Duration>,
    most_rounds: Option<usize>,
    log: Option<(LoggingLevel, OnLog)>,
    remembered: Arc<Mutex<HashMap<String, Era>>>,
}

impl<U: User + 'static> Connector<U> {
    /// A client that can do this, and has this user. Declare only what the user answers.
    pub fn new(client_info: Implementation, capabilities: ClientCapabilities, user: U) -> Connector<U> {
        Connector {
            client_info,
            capabilities,
            user: Arc::new(user),
            options: Options::new(),
            era: None,
            probe: PROBE,
            handshake: None,
            most_rounds: None,
            log: None,
            remembered: Arc::default(),
        }
    }

    /// Speaks this era, and does not find out. A server of the other one refuses what the client sends.
    #[must_use]
    pub fn era(mut self, era: Era) -> Self {
        self.era = Some(era);
        self
    }

    /// How long a server has to answer `server/discover` before it is taken for one that does not know it. Ten seconds, if the
    /// program does not say otherwise; a server that is slow to start may need more.
    #[must_use]
    pub fn probe_within(mut self, most: Duration) -> Self {
        self.probe = most;
        self
    }

    /// How long a server has to answer `initialize`. If the program does not say, what [`Options::timeout`] says for all
    /// requests, and a minute otherwise: a server that never answers does not keep the program waiting.
    #[must_use]
    pub fn handshake_within(mut self, most: Duration) -> Self {
        self.handshake = Some(most);
        self
    }

    /// How many rounds a call may take: 16, if the program does not say otherwise.
    #[must_use]
    pub fn most_rounds(mut self, most: usize) -> Self {
        self.most_rounds = Some(most);
        self
    }

    /// The settings of each connection. The revisions are those of this crate.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Asks servers for the messages of their log, from this severity on.
    #[must_use]
    pub fn on_log(
        mut self,
        least: LoggingLevel,
        on_log: impl Fn(LoggingMessageParams) + Send + Sync + 'static,
    ) -> Self {
        self.log = Some((least, Arc::new(on_log)));
        self
    }

    /// Connects over a connection that carries its messages in order, such as the standard streams of a child. If the server
    /// does not know `server/discover`, the session begins on the same connection.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(&self, transport: impl Transport) -> Result<Client<U>, ConnectError> {
        let mut connection = Successive::new(transport);
        if self.era == Some(Era::Handshake) {
            return self.begin_session(connection.begin()).await;
        }
        // An answer that cannot be read ends the session that asks, and not the connection.
        match self.discover(connection.begin_kept()).await? {
            Found::Requests(client) => Ok(client),
            Found::Session(asked) => {
                // Begins before the one that has asked is dropped, which would end the connection.
                let session = connection.begin();
                drop(asked);
                self.begin_session(session).await
            }
        }
    }

    /// Connects to the server of this name, with a connection for each attempt: over HTTP, and to children that do not survive
    /// a request that they do not know. Which era the server speaks is remembered by its name, as long as it goes on to
    /// speak it.
    ///
    /// ```ignore
    /// let client = connector.connect_to("notes", || HttpClient::new("http://127.0.0.1:8080/mcp")).await?;
    /// ```
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect_to<T: Transport, E: Into<Box<dyn StdError + Send + Sync>>>(
        &self,
        name: &str,
        mut open: impl FnMut() -> Result<T, E>,
    ) -> Result<Client<U>, ConnectError> {
        let mut open = || open().map_err(|error| ConnectError::Open(error.into()));
        let remembered = self.era.or_else(|| self.remembered().get(name).copied());
        if remembered == Some(Era::Handshake) {
            match self.begin_session(open()?).await {
                // The server may have been replaced by one that has no sessions.
                Err(ConnectError::Handshake(_)) if self.era.is_none() => {
                    self.remembered().remove(name);
                }
                connected => return connected,
            }
        }
        let client = match self.discover(open()?).await {
            Ok(Found::Requests(client)) => client,
            Ok(Found::Session(asked)) => {
                drop(asked);
                self.begin_session(open()?).await?
            }
            // A server that ends when it is asked what it does not know.
            Err(ConnectError::Ended(_)) if self.era.is_none() => self.begin_session(open()?).await?,
            Err(error) => return Err(error),
        };
        self.remembered().insert(name.to_owned(), client.era());
        Ok(client)
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, Era>> {
        // What is held is one insertion or removal.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_log_of(&self) -> Option<OnLog> {
        self.log.as_ref().map(|(_, on_log)| Arc::clone(on_log))
    }

    fn answering(&self) -> Answering<Arc<U>> {
        let answering = Answering::new(Arc::clone(&self.user));
        match self.most_rounds {
            Some(most) => answering.most_rounds(most),
            None => answering,
        }
    }

    /// Asks the server what it speaks.
    async fn discover(&self, transport: impl Transport) -> Result<Found<U>, ConnectError> {
        let is_ordered = transport.is_ordered();
        let client = requests::McpClient::with_options(transport, self.options.clone());
        let calls: Arc<RunningCalls> = Arc::default();
        let (_running, over) = watch::channel(());
        let log = Log { calls: Arc::clone(&calls), on_log: self.on_log_of(), _running };
        tokio::spawn(client.incoming().serve(log));
        let mut meta =
            RequestMeta::new(VERSION, self.capabilities.clone()).client_info(self.client_info.clone());
        if let Some((least, _)) = &self.log {
            meta = meta.log_level(*least);
        }
        let mut retried = false;
        loop {
            // A server that does not know the request does not know its cancellation either, so that it is kept until the
            // session begins, even if it takes too long.
            let mut probe =
                Box::pin(client.handle().discover(RequestParams::new(meta.clone())).into_future());
            let Ok(found) = tokio::time::timeout(self.probe, &mut probe).await else {
                return match self.era {
                    None => Ok(Found::Session(FirstQuestion { _client: client, _probe: Some(probe) })),
                    Some(_) => Err(ConnectError::NoAnswer { within: self.probe }),
                };
            };
            return match found {
                Ok(found) if speaks(&found.supported_versions) => {
                    let offer = offer_of(found);
                    let (way, answering) = (Way::Requests(client), self.answering());
                    let closing = watch::Sender::default();
                    Ok(Found::Requests(Client {
                        way,
                        answering,
                        calls,
                        meta,
                        offer,
                        is_ordered,
                        closing,
                        over,
                    }))
                }
                Ok(found) => self.or_session(client, found.supported_versions),
                Err(Error::Refused(error)) if error.code == UNSUPPORTED_VERSION => {
                    let supported = supported(&error);
                    // It refuses the revision, and names it: perhaps another server has answered, behind the same address.
                    if speaks(&supported) && !retried {
                        retried = true;
                        continue;
                    }
                    self.or_session(client, supported)
                }
                Err(Error::Refused(error)) if [HEADER_MISMATCH, MISSING_CAPABILITY].contains(&error.code) => {
                    Err(ConnectError::Refused(error))
                }
                Err(Error::Disconnected { reason }) => {
                    Err(ConnectError::Ended(Error::Disconnected { reason }))
                }
                // It would not reach the server with a handshake either, and a user would be asked to log in once more.
                Err(error) if error.is_unsent() => Err(ConnectError::NotDiscovered(error)),
                // Whatever else it is: the server does not know the request.
                Err(_) if self.era.is_none() => {
                    Ok(Found::Session(FirstQuestion { _client: client, _probe: None }))
                }
                Err(error) => Err(ConnectError::NotDiscovered(error)),
            };
        }
    }

    /// The server does not speak the revision of the newer era. It may speak one that has sessions.
    fn or_session(
        &self,
        client: requests::McpClient<requests::Start>,
        supported: Vec<String>,
    ) -> Result<Found<U>, ConnectError> {
        let has_sessions = supported.iter().any(|version| VERSIONS.contains(&&**version));
        match has_sessions && self.era.is_none() {
            true => Ok(Found::Session(FirstQuestion { _client: client, _probe: None })),
            false => Err(ConnectError::NoCommonVersion { supported }),
        }
    }

    /// Performs the handshake.
    async fn begin_session(&self, transport: impl Transport) -> Result<Client<U>, ConnectError> {
        let options = self.options.clone().revisions(REVISIONS).first_id(FIRST_ID);
        let is_ordered = transport.is_ordered();
        let client = handshake::McpClient::with_options(transport, options);
        let changes = broadcast::Sender::new(BEHIND);
        let unasked = changes.downgrade();
        let calls: Arc<RunningCalls> = Arc::default();
        let (user, on_log) = (Arc::clone(&self.user), self.on_log_of());
        let (_running, over) = watch::channel(());
        let handler = SessionUser { user, calls: Arc::clone(&calls), on_log, changes, _running };
        tokio::spawn(client.incoming().serve(handler));
        let latest = VERSIONS.last().copied().unwrap_or_default();
        let can = older::client_capabilities(&self.capabilities).map_err(ConnectError::Capabilities)?;
        let params = InitializeParams::new(latest, can, self.client_info.clone());
        let within = self.handshake.or(self.options.timeout).unwrap_or(HANDSHAKE);
        let (found, client) = client.initialize(params).timeout(within).await.map_err(handshake_failed)?;
        let client = client.send_initialized().await.map_err(handshake_failed)?;
        if let Some((least, _)) = self.log.as_ref().filter(|_| found.capabilities.logging.is_some()) {
            // A server that has a log and no levels sends all of it.
            let _ = client.set_level(SetLevelParams::new(*least)).timeout(within).await;
        }
        let meta = RequestMeta::new(found.protocol_version, self.capabilities.clone());
        let meta = meta.client_info(self.client_info.clone());
        let capabilities = older::recast(&found.capabilities).unwrap_or_default();
        let offer = Offer { instructions: found.instructions, ..Offer::new(found.server_info, capabilities) };
        Ok(Client {
            way: Way::Session(Session::new(client, unasked)),
            answering: self.answering(),
            calls,
            meta,
            offer,
            is_ordered,
            closing: watch::Sender::default(),
            over,
        })
    }
}

/// What a server speaks.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum Found<U> {
    Requests(Client<U>),
    /// A revision with a handshake.
    Session(FirstQuestion),
}

/// What has asked the server what it speaks. It is dropped when it cannot say anything to the server any more.
struct FirstQuestion {
    _client: requests::McpClient<requests::Start>,
    _probe: Option<BoxFuture<'static, Result<DiscoverResult, Error>>>,
}

/// Whether a server that speaks these revisions speaks the one of the newer era.
fn speaks(supported: &[String]) -> bool {
    supported.iter().any(|version| version == VERSION)
}

/// The revisions that an error says the server speaks.
fn supported(error: &RpcError) -> Vec<String> {
    let data = error.data.as_ref().map(older::recast::<UnsupportedVersionData>);
    data.and_then(Result::ok).map(|data| data.supported).unwrap_or_default()
}

fn offer_of(found: DiscoverResult) -> Offer {
    // The revision only advises a server to say who it is.
    let named = found.meta.and_then(|meta| meta.server_info);
    let server_info = named.unwrap_or_else(|| Implementation::new("", ""));
    Offer { instructions: found.instructions, ..Offer::new(server_info, found.capabilities) }
}

fn handshake_failed<S>(error: StepError<S>) -> ConnectError {
    ConnectError::Handshake(error.into())
}

impl<U> Clone for Connector<U> {
    fn clone(&self) -> Connector<U> {
        Connector {
            client_info: self.client_info.clone(),
            capabilities: self.capabilities.clone(),
            user: Arc::clone(&self.user),
            options: self.options.clone(),
            era: self.era,
            probe: self.probe,
            handshake: self.handshake,
            most_rounds: self.most_rounds,
            log: self.log.clone(),
            remembered: Arc::clone(&self.remembered),
        }
    }
}

impl<U> fmt::Debug for Connector<U> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Connector");
        shown.field("client_info", &self.client_info).field("era", &self.era).finish_non_exhaustive()
    }
}

/// Why connecting failed.
#[non_exhaustive]
pub enum ConnectError {
    /// The connection could not be opened.
    Open(Box<dyn StdError + Send + Sync>),
    /// The server ended the connection when it was asked what it speaks.
    Ended(Error),
    /// The server speaks the newer era, and refuses the client.
    Refused(RpcError),
    /// The server could not be asked; or it does not know `server/discover`, and the program speaks no other era.
    NotDiscovered(Error),
    /// The server does not answer `server/discover` in time, and the program speaks no other era.
    NoAnswer {
        /// How long it had.
        within: Duration,
    },
    /// The server speaks only revisions that the client does not.
    NoCommonVersion {
        /// What the server speaks.
        supported: Vec<String>,
    },
    /// The handshake failed.
    Handshake(Error),
    /// What the client can do cannot be announced in a handshake.
    Capabilities(serde_json::Error),
    /// Connecting failed, and the server had sent what is not a message, such as its log.
    NotMessages {
        /// What is wrong with the first of it.
        first: RpcError,
        /// How connecting failed.
        failed: Box<ConnectError>,
    },
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ConnectError").field(&self.to_string()).finish()
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Open(error) => write!(formatter, "the connection could not be opened: {error}"),
            // It cannot be known whether it has read the question.
            ConnectError::Ended(Error::Disconnected { reason: DisconnectReason::Exited(status) }) => write!(
                formatter,
                "the server's process has ended ({status}) before it said what it speaks: what it wrote to its \
                 standard error says why. If it ends because it does not know `server/discover`, connect with `connect_to`, \
                 which starts it again"
            ),
            ConnectError::Ended(error) => write!(
                formatter,
                "the server ended the connection when it was asked what it speaks: {error}. If it speaks a revision with a \
                 handshake, say so with `era(Era::Handshake)` before you connect, or connect with `connect_to`"
            ),
            ConnectError::Refused(error) => write!(formatter, "the server refuses the client: {error}"),
            ConnectError::NotDiscovered(error @ Error::Refused(_)) => {
                write!(formatter, "the server does not know `server/discover`: {error}")
            }
            ConnectError::NotDiscovered(error) => {
                write!(formatter, "the server could not be asked what it speaks: {error}")
            }
            ConnectError::NoAnswer { within } => write!(
                formatter,
                "the server does not answer `server/discover` within {within:?}: see `probe_within`"
            ),
            ConnectError::NoCommonVersion { supported } => write!(
                formatter,
                "the server speaks {}, and the client {VERSION} and {}",
                if supported.is_empty() {
                    "no revision that it names".to_owned()
                } else {
                    supported.join(", ")
                },
                VERSIONS.join(", ")
            ),
            ConnectError::Handshake(error) if error.is_timeout() => {
                write!(
                    formatter,
                    "the handshake failed: {error}. A server that needs longer to start gets it with `handshake_within`"
                )
            }
            ConnectError::Handshake(error) => write!(formatter, "the handshake failed: {error}"),
            ConnectError::Capabilities(error) => {
                write!(formatter, "the client's capabilities cannot be announced in a handshake: {error}")
            }
            ConnectError::NotMessages { first, failed } => write!(
                formatter,
                "the server sent what is not a message of MCP: {}. A server that is a child writes its log to its \
                 standard error. Then {failed}",
                first.message
            ),
        }
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            ConnectError::Open(error) => Some(&**error),
            ConnectError::Ended(error)
            | ConnectError::NotDiscovered(error)
            | ConnectError::Handshake(error) => Some(error),
            ConnectError::Refused(error) => Some(error),
            ConnectError::Capabilities(error) => Some(error),
            ConnectError::NotMessages { failed, .. } => Some(&**failed),
            ConnectError::NoCommonVersion { .. } | ConnectError::NoAnswer { .. } => None,
        }
    }
}
